# Sourced by tests/kernels/smoke.sh in the guest.
# SPDX-License-Identifier: Apache-2.0
#
# Python functions, by a program that BPF walks in several runs; it rests until it is attached to.
check_record "${prefix}python" 'spin climb climb_or_not main' /t/cpython -I -S /t/climb.py $seconds 3
