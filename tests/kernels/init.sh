#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
#
# The first process of a guest: mounts what the profiler looks at, runs what /t/job says, sends
# /t/out back through the second serial port, and powers off.
export PATH=/bin
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mount -t cgroup2 cgroup /sys/fs/cgroup
ifconfig lo 127.0.0.1
echo "guest: Linux $(uname -r) after $(cut -d ' ' -f 1 /proc/uptime) s"
mkdir -p /t/out
cd /t
sh ./job </dev/null 2>&1
echo "guest: done after $(cut -d ' ' -f 1 /proc/uptime) s"
stty -F /dev/ttyS1 raw
tar -c -C /t/out . >/dev/ttyS1
sync
poweroff -f
