# Sourced by scripts/kernels: a Node for the guest.
# SPDX-License-Identifier: Apache-2.0

n_language_checks=2

# The system's Node, or one of tests/runtimes/install, as /t/node, with its libraries at their places.
find_node() {
	for node in /usr/bin/node "${EBPF_PROFILER_RUNTIMES:-/var/tmp/ebpf-profiler-runtimes}"/npm-node*/bin/node; do
		[ ! -x "$node" ] || break
	done
	[ -x "$node" ] || die "no node: tests/runtimes/install npm-node22, or apt-get install nodejs"
}

put_into_guest() {
	find_node
	cp -L "$node" "$guest/t/node"
	cp "$root/plugins/v8/tests/kernels/climb.js" "$guest/t"
	copy_libraries "$node"
}

# Its start, which is in the samples, is in none of the stacks that climb.js knows.
judge_language() {
	for name in node interpreted_node; do
		judge "$1" $name --threshold 80
	done
}
