# Sourced by tests/kernels/smoke.sh in the guest.
# SPDX-License-Identifier: Apache-2.0
#
# JavaScript with builtins between, by a program that BPF walks in several runs; it rests until it is attached to.
# An emulated machine takes seconds to start it, which are to be a small part, and as long to attach to it.
check_record "${prefix}node" 'spin climb mapped main' /t/node --single-threaded /t/climb.js $((seconds * 3)) 15
