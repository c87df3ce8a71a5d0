#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
#
# The first process of a guest that systemd boots. The root of an initrd is none that pivot_root(2) leaves, which the
# sandbox of a unit wants: all moves into a file system of its own.
export PATH=/bin
/bin/busybox --install -s /bin
mkdir /root.new
mount -t tmpfs -o mode=755,size=100% root /root.new
for entry in /*; do
	[ "$entry" = /root.new ] || [ "$entry" = /init ] || cp -a "$entry" /root.new
done
exec switch_root /root.new /lib/systemd/systemd
