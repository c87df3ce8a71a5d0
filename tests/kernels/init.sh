#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
#
# The first process of a guest: mounts what the profiler looks at, and runs run.sh.
export PATH=/bin
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mount -t cgroup2 cgroup /sys/fs/cgroup
ifconfig lo 127.0.0.1
. /t/run.sh
