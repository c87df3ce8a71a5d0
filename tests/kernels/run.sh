# SPDX-License-Identifier: Apache-2.0
#
# Run in a guest when it is up: runs what /t/job says, sends /t/out back through the second serial
# port, and powers off.
echo "guest: Linux $(uname -r) after $(cut -d ' ' -f 1 /proc/uptime) s"
mkdir -p /t/out
cd /t
sh ./job </dev/null 2>&1
echo "guest: done after $(cut -d ' ' -f 1 /proc/uptime) s"
stty -F /dev/ttyS1 raw
tar -c -C /t/out . >/dev/ttyS1
sync
busybox poweroff -f
