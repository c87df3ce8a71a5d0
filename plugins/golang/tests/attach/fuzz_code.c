/* SPDX-License-Identifier: Apache-2.0 */
/* The code of functions that probe reads: what is found in it lies in it. */
#include "plugins/golang/golang.h"
#include "tests/kit/fuzz.h"

static void check_codes(const struct x86_code *function, uint32_t kind)
{
	struct go_code codes[GO_MAX_CODES];
	uint32_t n = go_code_switched(function, kind, codes, GO_MAX_CODES);
	uint64_t end = function->va;

	assert(n <= GO_MAX_CODES);
	for (uint32_t i = 0; i < n; i++) {
		assert(codes[i].start >= end && codes[i].kind == kind);
		end = codes[i].start + codes[i].bytes;
		assert(end <= function->va + function->n);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct x86_code function = {.va = 0x401000};
	struct go_offsets offsets = {0};
	struct ep_variable g = {0};
	uint32_t off;

	function.n = size < sizeof(function.bytes) ? size : sizeof(function.bytes);
	memcpy(function.bytes, data, function.n);
	if (go_code_g(&function, &g) == 0)
		assert(g.kind == EP_VARIABLE_POINTER || g.kind == EP_VARIABLE_WORD);
	if (go_code_offsets(&function, &offsets) == 0)
		assert(offsets.g_m < GO_G_BYTES && offsets.g_sched_sp < GO_G_BYTES &&
		       offsets.m_curg % 8 == 0);
	if (go_code_bp(&function, &off) == 0)
		assert(off < GO_G_BYTES && off % 8 == 0);
	if (go_code_depth(&function, &off) == 0)
		assert(off < 256);
	for (uint32_t kind = GO_CODE_SYSTEMSTACK; kind <= GO_CODE_CGOCALLBACK; kind++)
		check_codes(&function, kind);
	return 0;
}
