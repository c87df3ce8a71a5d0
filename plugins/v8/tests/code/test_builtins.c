/* SPDX-License-Identifier: Apache-2.0 */
/* Embedded builtins of made-up files, in each layout; Nodes' are test_files.c's. */
#include "plugins/v8/code/file.h"
#include "plugins/v8/tests/code/made_blob.h"
#include "tests/kit/test.h"

static struct made_file made;

static struct ep_vec rows; /* struct v8_builtin_row: of what was read last */

static int make_rows(const struct v8_builtins *builtins)
{
	ep_vec_fini(&rows);
	return v8_builtins_make_rows(builtins, ep_unwinder_host_get(), &made.file, &rows);
}

static int read_made(struct v8_builtins **ret)
{
	int r;

	*ret = NULL;
	r = v8_builtins_read(ep_unwinder_host_get(), &made.file, ret);
	return r ? r : make_rows(*ret);
}

static const struct v8_builtin_row *row_at(uint64_t va)
{
	const struct v8_builtin_row *row;

	ep_vec_each (&rows, row)
		if (va >= row->va && va < row->va_end)
			return row;
	return NULL;
}

static void expect_row(uint64_t va, unsigned int base, int offset, int rbp_at)
{
	const struct v8_builtin_row *row = row_at(va);

	assert_non_null(row);
	assert_int_equal(row->base, base);
	assert_int_equal(row->offset, offset);
	assert_int_equal(row->rbp_at, rbp_at);
	assert_int_equal(row->return_in, V8_RETURN_ON_STACK);
}

static void expect_builtin(const struct v8_builtins *builtins, unsigned int id)
{
	uint64_t va = made.code_va + made.offs[id];
	const struct v8_builtin *builtin;
	char name[64];

	snprintf(name, sizeof(name), "%s", made.names[id]);
	if (made_is_nameless(&made, id))
		snprintf(name, sizeof(name), "Cpp%u", id);
	builtin = v8_builtins_find(builtins, name);
	assert_non_null(builtin);
	assert_int_equal(builtin->id, id);
	assert_int_equal(builtin->va, va);
	assert_int_equal(builtin->bytes, made.sizes[id]);
	assert_int_equal(builtin->flags, id == 4 || id == 5 ? V8_BUILTIN_HANDLER : 0);
	assert_ptr_equal(v8_builtins_at(builtins, va + builtin->bytes - 1), builtin);
	expect_row(va, V8_ROW_RSP, 8, 0);
	if (made_code_of(id).code != made_framed)
		return;
	expect_row(va + 1, V8_ROW_RSP, 16, 0);
	expect_row(va + 4, V8_ROW_RBP, 16, -16);
	expect_row(va + 10, V8_ROW_RSP, 8, 0);
}

static void expect_all(const struct v8_builtins *builtins)
{
	struct v8_entry_offsets offsets;

	assert_int_equal(v8_builtins_count(builtins), MADE_BUILTINS);
	assert_int_equal(v8_builtins_va(builtins), made.code_va);
	for (unsigned int i = 0; i < MADE_BUILTINS; i++)
		expect_builtin(builtins, i);
	for (size_t i = 1; i < MADE_BUILTINS; i++)
		assert_true(v8_builtins_get(builtins, i - 1)->va <
			    v8_builtins_get(builtins, i)->va);
	assert_int_equal(v8_builtins_dispatch_return(builtins),
			 made.code_va + made.offs[1] + MADE_DISPATCH);
	v8_builtins_entry_offsets(builtins, &offsets);
	assert_int_equal(offsets.isolate, -0x80);
	assert_int_equal(offsets.c_entry_fp, MADE_C_ENTRY_FP);
	assert_int_equal(offsets.js_entry_sp, MADE_JS_ENTRY_SP);
	assert_int_equal(offsets.fast_c_call_fp, 0);
	assert_null(v8_builtins_find(builtins, "Made"));
	assert_null(v8_builtins_at(builtins, made.code_va - 1));
	assert_null(v8_builtins_at(builtins, made.code_va + v8_builtins_bytes(builtins)));
}

EP_TEST(each_layout_is_read)
{
	static const unsigned int flags[] = {
		0, MADE_SYMBOLS, MADE_LIBRARY, MADE_NAMELESS, MADE_LIBRARY | MADE_NAMELESS,
	};

	for (unsigned int layout = 0; layout < MADE_LAYOUTS; layout++)
		for (size_t i = 0; i < EP_LEN(flags); i++) {
			struct v8_builtins *builtins;

			made_init(&made, layout, flags[i]);
			assert_int_equal(read_made(&builtins), 0);
			expect_all(builtins);
			v8_builtins_free(builtins);
		}
}

EP_TEST(no_builtins_are_none)
{
	struct v8_builtins *builtins;

	made_init(&made, MADE_22, 0);
	made.len[MADE_RODATA] = 0;
	assert_int_equal(read_made(&builtins), -ENODATA);
	made_init(&made, MADE_22, 0);
	made.len[MADE_TEXT] = 0;
	assert_int_equal(read_made(&builtins), -ENODATA);
	assert_null(builtins);
}

/* A byte of code in the place of int3, a descriptor, a name, an end: with symbols it is a blob that
 * no layout fits. */
EP_TEST(what_does_not_fit_is_refused)
{
	struct v8_builtins *builtins;

	for (unsigned int layout = 0; layout < MADE_LAYOUTS; layout++) {
		unsigned int data = layout == MADE_12 ? MADE_TEXT : MADE_RODATA;
		uint64_t header = layout == MADE_12 ? 16 : 24;

		made_init(&made, layout, MADE_SYMBOLS);
		made.bytes[MADE_TEXT][made.code_va - made_va(MADE_TEXT) + made.offs[200] +
				      made.sizes[200]] = 0x90;
		assert_int_equal(read_made(&builtins), -EBADMSG);
		made_init(&made, layout, MADE_SYMBOLS);
		made.bytes[data][made.data_va - made_va(data) + header] += 32;
		assert_int_equal(read_made(&builtins), -EBADMSG);
		made_init(&made, layout, MADE_SYMBOLS);
		made.len[MADE_TEXT] = made.code_va - made_va(MADE_TEXT) + 4096;
		assert_int_equal(read_made(&builtins), -EBADMSG);
	}
}

EP_TEST(another_number_of_names_is_refused)
{
	struct v8_builtins *builtins;

	made_init(&made, MADE_22, 0);
	memset(made.bytes[MADE_RODATA] + (made.metadata_va - made_va(MADE_RODATA)) +
		       24 * (MADE_BUILTINS - 1),
	       0, 24);
	assert_int_equal(read_made(&builtins), -ENODATA);
}

/* A section may say that it is larger than the file: what is after that reads as zeros. */
EP_TEST(endless_sections_are_not_read_to_their_end)
{
	struct v8_builtins *builtins;

	made_init(&made, MADE_22, 0);
	made.zeros = 1ull << 40;
	assert_int_equal(read_made(&builtins), 0);
	expect_all(builtins);
	v8_builtins_free(builtins);
	/* The code is not in what is looked at. */
	made.bytes[MADE_TEXT][made.code_va - made_va(MADE_TEXT)] = 0xcc;
	made.read_bytes = 0;
	assert_int_not_equal(read_made(&builtins), 0);
	assert_in_range(made.read_bytes, 1u << 20, 8ull * FILE_MAX_SCAN);
}

#define MANY_ROWS 9000

/*
 * More rows than builtin_metadata can have, around each of those that it is looked for by; their
 * names are at the section's end, which takes five reads.
 */
EP_TEST(endless_rows_are_not_read_to_their_end)
{
	static const char name[32] = "InterpreterEntryTrampoline";
	struct v8_builtins *builtins;

	made_init(&made, MADE_16, 0);
	made.len[MADE_RODATA] = 0;
	for (unsigned int i = 0; i < MANY_ROWS; i++) {
		uint64_t row[3] = { made_va(MADE_RODATA) + MANY_ROWS * 24, 6, 1 };

		row[0] += i < 64 ? strlen("Interpreter") : 0;
		(void)made_put(&made, MADE_RODATA, row, sizeof(row));
	}
	(void)made_put(&made, MADE_RODATA, name, sizeof(name));
	assert_int_equal(read_made(&builtins), -ENODATA);
	assert_in_range(made.n_reads, 100000, 201000);
}

/* rows: neighbours that say the same are one, with what fills up between them. */
EP_TEST(rows_are_few)
{
	struct v8_builtins *builtins;

	made_init(&made, MADE_16, 0);
	assert_int_equal(read_made(&builtins), 0);
	assert_in_range(rows.len, MADE_BUILTINS, 3 * MADE_BUILTINS);
	v8_builtins_free(builtins);
	v8_builtins_free(NULL);
}

/* Those after one that is too large have rows all the same. */
EP_TEST(one_that_is_too_large_has_no_rows)
{
	struct v8_builtins *builtins;
	uint64_t va;

	made_init(&made, MADE_16, MADE_LARGE);
	assert_int_equal(read_made(&builtins), 0);
	va = made.code_va + made.offs[MADE_LARGE_ID];
	for (uint64_t at = 0; at < MADE_LARGE_BYTES; at += 1024)
		assert_null(row_at(va + at));
	for (unsigned int id = 0; id < MADE_BUILTINS; id++) {
		if (id != MADE_LARGE_ID)
			expect_builtin(builtins, id);
	}
	v8_builtins_free(builtins);
}

/* What is kept of a file are places and names: rows are of its code as it is when they are
 * wanted. */
EP_TEST(rows_are_made_when_they_are_wanted)
{
	static const uint8_t popping[] = {0x5a, 0xff,
					  0xe2}; /* pop rdx | jmp rdx, for xor eax, eax | ret */
	struct v8_builtins *builtins;
	uint64_t va;

	made_init(&made, MADE_22, 0);
	assert_int_equal(read_made(&builtins), 0);
	va = made.code_va + made.offs[4];
	expect_row(va + 2, V8_ROW_RSP, 8, 0);
	memcpy(made.bytes[MADE_TEXT] + (va - made_va(MADE_TEXT)), popping, sizeof(popping));
	made.read_bytes = 0;
	assert_int_equal(make_rows(builtins), 0);
	assert_int_equal(made.read_bytes, v8_builtins_bytes(builtins));
	assert_int_equal(row_at(va + 1)->return_in, 1);
	made.len[MADE_TEXT] = 192;
	assert_int_equal(make_rows(builtins), -ENODATA);
	assert_int_equal(rows.len, 0);
	v8_builtins_free(builtins);
}
