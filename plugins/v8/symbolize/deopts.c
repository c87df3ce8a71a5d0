/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/v8/symbolize/deopts.h"

#include "plugins/shared/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES (4u << 20)
#define ENTRY	  3u /* bytecode, index of its translation, address */
/* of all entries that are looked at for a frame: some milliseconds */
#define MAX_INSTRUCTIONS (1u << 20)

int v8_deopts_init(struct v8_deopts *deopts)
{
	const struct v8_layout *layout = deopts->heap->layout;
	uint32_t first = (uint32_t)layout->deopt_first_entry;
	uint64_t bytes;
	int r;

	deopts->form = v8_translation_form_of(&layout->version);
	if (!deopts->form || deopts->n_data < first + ENTRY)
		return -EBADMSG;
	deopts->left = MAX_INSTRUCTIONS;
	deopts->n_entries = (deopts->n_data - first) / ENTRY;
	r = v8_array_get(deopts->heap, deopts->data, deopts->n_data, 0, &bytes);
	return r < 0 ? r : v8_bytes_read(deopts->heap, bytes, MAX_BYTES, &deopts->bytes,
					 &deopts->n_bytes);
}

void v8_deopts_fini(struct v8_deopts *deopts)
{
	free(deopts->bytes);
	deopts->bytes = NULL;
}

static bool get_smi(const struct v8_deopts *deopts, uint32_t entry, uint32_t which, uint32_t *ret)
{
	uint32_t at = (uint32_t)deopts->heap->layout->deopt_first_entry + ENTRY * entry + which;
	uint64_t word;

	if (entry >= deopts->n_entries ||
	    v8_array_get(deopts->heap, deopts->data, deopts->n_data, at, &word) < 0 ||
	    !v8_is_smi(word) || v8_smi(word) < 0)
		return false;
	*ret = (uint32_t)v8_smi(word);
	return true;
}

uint32_t v8_deopts_frames(struct v8_deopts *deopts, uint32_t entry,
			  struct v8_translated ret[V8_MAX_TRANSLATED])
{
	uint32_t at;

	if (!deopts->bytes || !get_smi(deopts, entry, 1, &at))
		return 0;
	return v8_translation_frames(deopts->form, deopts->bytes, deopts->n_bytes, at,
				     &deopts->left, ret);
}

uint32_t v8_deopts_exit(const struct v8_deopts *deopts, uint32_t entry)
{
	uint32_t pc;

	return get_smi(deopts, entry, 2, &pc) ? pc : 0;
}

/* ---- safepoints ---- */

#define FIXED_ENTRY	 12u
#define OLD_INDEX_BITS	 0x0fffffffu /* SafepointEntry::DeoptIndexBits, up to 6.8 */

static uint32_t get_bytes(const uint8_t *table, uint32_t at, uint32_t n)
{
	uint32_t value = 0;

	for (uint32_t i = 0; i < n; i++)
		value |= (uint32_t)table[at + i] << (8 * i);
	return value;
}

/* Entries of {u32 pc, u32 deoptimization index, i32 trampoline}, after a length and the size of
 * what follows. */
static bool get_fixed(const struct v8_layout *layout, const uint8_t *table, uint32_t n, uint32_t i,
		      struct v8_safepoint *ret)
{
	uint32_t mask = layout->version.major < 7 ? OLD_INDEX_BITS : UINT32_MAX, index;
	uint64_t at = 8 + (uint64_t)FIXED_ENTRY * i;

	if (n < 8 || i >= get_bytes(table, 0, 4) || at + FIXED_ENTRY > n)
		return false;
	index = get_bytes(table, (uint32_t)at + 4, 4) & mask;
	*ret = (struct v8_safepoint){
		.pc = get_bytes(table, (uint32_t)at, 4),
		.trampoline = (int32_t)get_bytes(table, (uint32_t)at + 8, 4),
		.entry = index == mask || index > INT32_MAX ? -1 : (int32_t)index,
	};
	return true;
}

/* 10.2 to 14.6: as small as the configuration says. */
static bool get_packed(const struct v8_layout *layout, bool is_maglev, const uint8_t *table,
		       uint32_t n, uint32_t i, struct v8_safepoint *ret)
{
	uint32_t begin = layout->safepoint_shape == 2 ? 4 : 0, head = is_maglev ? 16 : begin + 8;
	uint32_t config, pc_bytes, index_bytes, entry_bytes, at;

	if (n < head || i >= get_bytes(table, begin, 4))
		return false;
	config = get_bytes(table, begin + 4, 4);
	pc_bytes = config >> 4 & 7;
	index_bytes = config >> 7 & 7;
	entry_bytes = 2 * pc_bytes + index_bytes + (config >> 1 & 7) + is_maglev;
	if (!(config & 1) || pc_bytes == 0 || pc_bytes > 4 || index_bytes > 4 ||
	    head + ((uint64_t)i + 1) * entry_bytes > n)
		return false;
	at = head + i * entry_bytes;
	*ret = (struct v8_safepoint){
		.pc = get_bytes(table, at, pc_bytes),
		.entry = (int32_t)(get_bytes(table, at + pc_bytes, index_bytes) - 1),
		.trampoline = (int64_t)get_bytes(table, at + pc_bytes + index_bytes, pc_bytes) - 1,
	};
	return true;
}

bool v8_safepoint_get(const struct v8_layout *layout, bool is_maglev, const uint8_t *table,
		      uint32_t n, uint32_t i, struct v8_safepoint *ret)
{
	return layout->safepoint_shape == 0 ? get_fixed(layout, table, n, i, ret) :
					      get_packed(layout, is_maglev, table, n, i, ret);
}

/* ---- jumps ---- */

/* The exit that begins at an address; -1: none. They ascend. */
static int64_t find_exit(const uint32_t *exits, uint32_t n, uint32_t addr)
{
	size_t at = search_sorted(n, i, exits[i] < addr);

	return at < n && exits[at] == addr ? (int64_t)at : -1;
}

/* jcc rel32, jmp rel32. What only looks like one hardly ever leads to just where an exit begins. */
uint32_t v8_deopt_jumps(const uint8_t *code, uint32_t n, const uint32_t *exits, uint32_t n_exits,
			struct v8_deopt_point *ret, uint32_t max)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i + 6 <= n && used < max; i++) {
		bool is_jcc = code[i] == 0x0f && (code[i + 1] & 0xf0) == 0x80;
		uint32_t bytes = is_jcc ? 6 : 5;
		int64_t exit;

		if (!is_jcc && code[i] != 0xe9)
			continue;
		exit = find_exit(exits, n_exits, i + bytes + get_bytes(code, i + bytes - 4, 4));
		if (exit >= 0)
			ret[used++] = (struct v8_deopt_point){.pc = i, .entry = (uint32_t)exit};
	}
	return used;
}
