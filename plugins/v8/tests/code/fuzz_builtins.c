/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Made-up files with embedded builtins, in which bytes are changed: what is found lies within the
 * blob, rows are in order, and nothing is read that is not there.
 *
 *	input	layout, flags | changes: section, offset (4 bytes), value
 */
#include "plugins/v8/tests/code/made_blob.h"
#include "tests/kit/fuzz.h"

#define CHANGE 6

static void change(struct made_file *made, const uint8_t *data)
{
	unsigned int section = data[0] % MADE_SECTIONS;
	uint32_t off;

	memcpy(&off, data + 1, 4);
	if (made->len[section])
		made->bytes[section][off % made->len[section]] = data[5];
	if (data[0] & 0x80) /* cut */
		made->len[section] = off % (made->len[section] + 1);
}

static void check_list(const struct v8_builtins *builtins)
{
	uint64_t va = v8_builtins_va(builtins), bytes = v8_builtins_bytes(builtins), before = 0;

	for (size_t i = 0; i < v8_builtins_count(builtins); i++) {
		const struct v8_builtin *builtin = v8_builtins_get(builtins, i);

		assert(builtin->va >= va && ep_in_bounds(builtin->va - va, builtin->bytes, bytes));
		assert(builtin->va >= before && strlen(builtin->name) < 128);
		assert(v8_builtins_at(builtins, builtin->va));
		before = builtin->va;
	}
}

static void check_rows(const struct v8_builtins *builtins, const struct ep_file *file)
{
	uint64_t va = v8_builtins_va(builtins), bytes = v8_builtins_bytes(builtins), before = va;
	struct v8_builtin_row *row;
	struct ep_vec rows = { 0 };

	assert(v8_builtins_make_rows(builtins, ep_unwinder_host_get(), file, &rows) == 0);
	assert(rows.len <= V8_MAX_BUILTIN_ROWS);
	ep_vec_each (&rows, row) {
		assert(row->va >= before && row->va_end > row->va && row->va_end - va <= bytes);
		before = row->va_end;
	}
	ep_vec_fini(&rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct made_file made;
	struct v8_builtins *builtins = NULL;
	int r;

	if (size < 2)
		return 0;
	made_init(&made, data[0] % MADE_LAYOUTS, data[1] & 7);
	for (size_t at = 2; at + CHANGE <= size && at < 2 + 64 * CHANGE; at += CHANGE)
		change(&made, data + at);
	r = v8_builtins_read(ep_unwinder_host_get(), &made.file, &builtins);
	assert(r <= 0 && !builtins == !!r);
	if (r)
		return 0;
	check_list(builtins);
	check_rows(builtins, &made.file);
	v8_builtins_free(builtins);
	return 0;
}
