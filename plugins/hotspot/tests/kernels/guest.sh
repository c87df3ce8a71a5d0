# Sourced by scripts/kernels: a JVM for the guest.
# SPDX-License-Identifier: Apache-2.0

n_language_checks=2
verifier_frames='64 48 24 12'	# its wish is 48, which the loader halves

put_into_guest() {
	:
}

judge_language() {
	:
}
