# SPDX-License-Identifier: Apache-2.0
#
# Sourced by what is run in a guest: the lines that scripts/kernels counts.

ok() {
	echo "ok $1"
}

failed() {
	echo "FAILED $1: $2"
}
