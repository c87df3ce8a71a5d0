/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables by themselves; the first byte says which. Positions are found as going through the table
 * finds them, lines as V8 counts them; chains of inlined calls end; modules of WebAssembly are
 * bounded by their bytes.
 */
#include "core/base/util.h"
#include "plugins/v8/symbolize/bytecodes.h"
#include "plugins/v8/symbolize/codes.h"
#include "plugins/v8/symbolize/deopts.h"
#include "plugins/v8/symbolize/lines.h"
#include "plugins/v8/symbolize/positions.h"
#include "plugins/v8/symbolize/translations.h"
#include "plugins/v8/symbolize/wasm.h"
#include "plugins/v8/tests/names/versions.h"
#include "tests/kit/fuzz.h"

static void fuzz_positions(const struct v8_layout *layout, const uint8_t *data, size_t size)
{
	struct v8_positions positions;
	struct v8_position position, last = {.code_off = -1};
	struct v8_neighbours near;
	uint32_t n = 0;

	v8_positions_init(&positions, layout, data, (uint32_t)size);
	while (v8_positions_next(&positions, &position)) {
		if (++n > size || position.code_off < last.code_off || position.script_off < -1 ||
		    position.inlining < -1 || position.inlining > 0xfffe)
			abort();
		v8_positions_find(layout, data, (uint32_t)size, position.code_off, &near);
		if (!near.has_before || near.before.code_off != position.code_off)
			abort();
		last = position;
		if (n > 64)
			break;
	}
}

static void fuzz_lines(const uint8_t *data, size_t size)
{
	ep_cleanup(v8_lines_fini) struct v8_lines lines = {0};
	uint32_t n = (uint32_t)EP_MIN(size, (size_t)2000), line = 0, start = 0;

	for (uint32_t i = 0; i < n; i += 70)
		(void)v8_lines_add(&lines, data + i, EP_MIN(70u, n - i), false);
	(void)v8_lines_end(&lines);
	for (uint32_t i = 0; i <= n; i++) {
		uint32_t found, column;

		v8_lines_find(&lines, i, &found, &column);
		if (found != line || column != i - start)
			abort();
		if (i < n && (data[i] == '\n' ||
			      (data[i] == '\r' && (i + 1 == n || data[i + 1] != '\n')))) {
			line++;
			start = i + 1;
		}
	}
}

static void fuzz_code(const struct v8_layout *layout, const uint8_t *data, size_t size)
{
	struct v8_inlining inlining = {.bytes = data, .n = (uint32_t)(size / 16)};
	struct v8_bytecodes code = {.sizes = data,
				    .n_sizes = (uint32_t)(size / 2),
				    .bytes = data + size / 2,
				    .n_bytes = (uint32_t)(size - size / 2)};
	int32_t chain[V8_MAX_INLINED], bytecode;
	uint32_t n = 0;

	for (int32_t id = -1; id < (int32_t)inlining.n + 1; id++) {
		if (!v8_inlining_chain(layout, &inlining, id, chain, &n))
			continue;
		for (uint32_t i = 0; i < n; i++) {
			if (chain[i] < 0 || (uint32_t)chain[i] >= inlining.n ||
			    (i && chain[i] >= chain[i - 1]))
				abort();
		}
	}
	for (uint32_t off = 0; off < 4; off++) {
		uint32_t exits[] = {off, off + 40, off + 300};
		struct v8_deopt_point points[8];
		uint32_t found = v8_deopt_jumps(data, (uint32_t)size, exits, 3, points, 8);

		for (uint32_t i = 0; i < found; i++) {
			if (points[i].entry >= 3 || points[i].pc >= size)
				abort();
		}
	}
	for (uint32_t off = 0; off < 64; off++) {
		struct v8_translated frames[V8_MAX_TRANSLATED];
		int32_t deopt;
		uint32_t left = 1000;

		(void)v8_safepoint_return(layout, off & 1, data, (uint32_t)size, off, &deopt);
		if (v8_translation_frames(v8_translation_form_of(&layout->version), data,
					  (uint32_t)size, off, &left, frames) > V8_MAX_TRANSLATED)
			abort();
		if (v8_bytecodes_find(&layout->version, &code, off, off & 1, &bytecode) == 0 &&
		    (bytecode < -1 || bytecode >= (int32_t)code.n_bytes))
			abort();
	}
}

static void fuzz_wasm(const uint8_t *data, size_t size)
{
	uint32_t imported, own;
	char name[24];

	v8_wasm_counts(data, size, &imported, &own);
	for (uint32_t i = 0; i < 4; i++) {
		v8_wasm_name_in(data, size, i, name, sizeof(name));
		if (strlen(name) >= sizeof(name))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct v8_layout layout;

	if (size < 2)
		return 0;
	layout = layout_of(data[1] % N_VERSIONS);
	switch (data[0] & 3) {
	case 0:
		fuzz_positions(&layout, data + 2, size - 2);
		break;
	case 1:
		fuzz_lines(data + 2, size - 2);
		break;
	case 2:
		fuzz_code(&layout, data + 2, size - 2);
		break;
	default:
		fuzz_wasm(data + 2, size - 2);
	}
	return 0;
}
