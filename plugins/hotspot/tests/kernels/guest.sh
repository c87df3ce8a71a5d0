# Sourced by scripts/kernels.
# SPDX-License-Identifier: Apache-2.0

verifier_frames='64 48 24 12'	# its wish is 48, which the loader halves
