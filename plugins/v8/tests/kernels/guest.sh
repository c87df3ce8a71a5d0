# Sourced by scripts/kernels: a Node for the guest.
# SPDX-License-Identifier: Apache-2.0

# Its start, which is in the samples, is in none of the stacks that climb.js knows.
recorded=node judged_by='--threshold 80'

# The system's Node, or one of tests/runtimes/install, as /t/node, with its libraries at their places.
find_node() {
	for node in /usr/bin/node "${EBPF_PROFILER_RUNTIMES:-/var/tmp/ebpf-profiler-runtimes}"/npm-node*/bin/node; do
		[ ! -x "$node" ] || break
	done
	[ -x "$node" ] || die "no node: tests/runtimes/install npm-node22, or apt-get install nodejs"
}

put_into_guest() {
	find_node
	put_program "$node" node climb.js
}
