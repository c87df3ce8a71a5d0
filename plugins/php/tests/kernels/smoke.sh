# Sourced by tests/kernels/smoke.sh in the guest.
# SPDX-License-Identifier: Apache-2.0
#
# PHP functions with C between, by a program that BPF walks in several runs; it rests until it is attached to, which the
# verifier of an emulated machine lets take many seconds.
before=$complete complete=98
check_record "${prefix}php" 'spin climb array_map' /t/php -n /t/climb.php $((seconds * 2)) 25
complete=$before
