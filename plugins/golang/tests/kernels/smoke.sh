# Sourced by tests/kernels/smoke.sh in the guest.
# SPDX-License-Identifier: Apache-2.0
#
# Go functions by a program that BPF walks in several runs, and stacks that grow; it rests until it is attached to and the
# longer runs are loaded.
before=$complete complete=98
check_record "${prefix}golang" 'main.spin main.climb runtime.newstack runtime.goexit' /t/golang $((seconds * 2)) 25
complete=$before
