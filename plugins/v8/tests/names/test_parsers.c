/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/v8/symbolize/bytecodes.h"
#include "plugins/v8/symbolize/codes.h"
#include "plugins/v8/symbolize/lines.h"
#include "plugins/v8/symbolize/scripts.h"
#include "plugins/v8/symbolize/deopts.h"
#include "plugins/v8/symbolize/translations.h"
#include "plugins/v8/symbolize/wasm.h"
#include "plugins/v8/tests/names/made_heap.h"
#include "tests/kit/test.h"

#define MAX_UNITS 4096

/* ---- lines ---- */

/* As String::CalculateLineEnds does it, unit by unit. */
static void find_slowly(const uint16_t *units, uint32_t n, uint32_t position, uint32_t *line,
			uint32_t *column)
{
	uint32_t start = 0;

	*line = 0;
	for (uint32_t i = 0; i < n && i < position; i++) {
		bool ends = units[i] == '\n' || units[i] == 0x2028 || units[i] == 0x2029 ||
			    (units[i] == '\r' && (i + 1 == n || units[i + 1] != '\n'));

		if (ends) {
			start = i + 1;
			(*line)++;
		}
	}
	*column = position - start;
}

static void check_lines(const uint16_t *units, uint32_t n, bool two_bytes, uint32_t piece)
{
	ep_cleanup(v8_lines_fini) struct v8_lines lines = {0};
	uint8_t bytes[MAX_UNITS];

	for (uint32_t i = 0; i < n; i++)
		bytes[i] = (uint8_t)units[i];
	for (uint32_t i = 0; i < n; i += piece) {
		const void *from = two_bytes ? (const void *)(units + i) : bytes + i;

		assert_int_equal(v8_lines_add(&lines, from, EP_MIN(piece, n - i), two_bytes), 0);
	}
	assert_int_equal(v8_lines_end(&lines), 0);
	for (uint32_t i = 0; i <= n; i++) {
		uint32_t line, column, want_line, want_column;

		v8_lines_find(&lines, i, &line, &column);
		find_slowly(units, n, i, &want_line, &want_column);
		assert_int_equal(line, want_line);
		assert_int_equal(column, want_column);
	}
}

/* Texts of few different units, so that each end of a line meets each other, at each place of a
 * piece. */
EP_TEST(finds_lines_as_v8_does)
{
	static const uint16_t choice[] = {'\n',	  '\r',	  'a',	  'b',	 'c',
					  0x2028, 0x2029, 0x0a0d, 0x2029};
	uint16_t units[MAX_UNITS] = {0};
	uint32_t seed = 7;

	for (uint32_t round = 0; round < 60; round++) {
		bool two_bytes = round & 1;
		uint32_t n = round < 50 ? round : 1000, rare = round % 3 ? 1 : 40;

		for (uint32_t i = 0; i < n; i++) {
			seed = seed * 1664525 + 1013904223;
			units[i] = choice[(seed >> 16) % (two_bytes ? 9 : 5)];
			if (seed >> 8 & 0xff && seed % rare)
				units[i] = 'x';
		}
		check_lines(units, n, two_bytes, 1 + round % 33);
		check_lines(units, n, two_bytes, MAX_UNITS);
	}
}

EP_TEST(has_one_line_of_nothing)
{
	ep_cleanup(v8_lines_fini) struct v8_lines lines = {0};
	uint32_t line = 9, column = 9;

	v8_lines_find(&lines, 5, &line, &column);
	assert_int_equal(line, 0);
	assert_int_equal(column, 5);
	assert_int_equal(v8_lines_end(&lines), 0);
	v8_lines_find(&lines, 0, &line, &column);
	assert_int_equal(line, 0);
}

/* ---- positions ---- */

EP_TEST(finds_positions)
{
	for (size_t v = 0; v < N_VERSIONS; v++) {
		struct v8_layout layout = layout_of(v);
		struct table table = {0};
		struct v8_neighbours near;

		add_position(&table, &layout, 0, 100, -1, true);
		add_position(&table, &layout, 7, 50, -1, false);
		add_position(&table, &layout, 7, 60, 3, false);
		add_position(&table, &layout, 300, 100000, 60000, true);
		v8_positions_find(&layout, table.bytes, table.n, 6, &near);
		assert_true(near.has_before && near.has_after);
		assert_int_equal(near.before.script_off, 100);
		assert_int_equal(near.after.code_off, 7);
		v8_positions_find(&layout, table.bytes, table.n, 7,
				  &near); /* the last of equal ones */
		assert_int_equal(near.before.script_off, 60);
		assert_int_equal(near.before.inlining, 3);
		v8_positions_find(&layout, table.bytes, table.n, 5000, &near);
		assert_false(near.has_after);
		assert_int_equal(near.before.script_off, 100000);
		assert_int_equal(near.before.inlining, 60000);
		v8_positions_find(&layout, table.bytes, table.n, -1, &near);
		assert_false(near.has_before);
		v8_positions_find(&layout, table.bytes, 1, 5, &near); /* cut off */
		assert_false(near.has_before);
	}
}

/* ---- bytecodes ---- */

static const struct v8_version node_22 = {12, 4, 254, 21};

EP_TEST(knows_lengths_of_bytecodes)
{
	static const uint8_t bytes[] = {0, 13, 1, 2, 12, 1, 13, 1, 2, 3, 4, 9, 1};
	static const struct v8_version other = {12, 5, 0, 0};

	assert_int_equal(v8_bytecode_length(&node_22, bytes, sizeof(bytes), 0),
			 4); /* Wide LdaSmi */
	assert_int_equal(v8_bytecode_length(&node_22, bytes, sizeof(bytes), 4), 1); /* LdaZero */
	assert_int_equal(v8_bytecode_length(&node_22, bytes, sizeof(bytes), 5), 6); /* ExtraWide */
	assert_int_equal(v8_bytecode_length(&node_22, bytes, sizeof(bytes), 11), 0); /* cut off */
	assert_int_equal(v8_bytecode_length(&node_22, bytes, sizeof(bytes), 13), 0);
	assert_int_equal(v8_bytecode_length(&other, bytes, sizeof(bytes), 4), 0);
}

EP_TEST(finds_bytecode_of_baseline_code)
{
	static const uint8_t bytes[] = {12, 0, 13, 1, 2, 12}, sizes[] = {10, 0x85, 1, 0, 5};
	static const struct v8_version other = {12, 5, 0, 0};
	const struct v8_bytecodes code = {bytes, sizeof(bytes), sizes, sizeof(sizes)};
	/*	off  return  bytecode */
	static const int32_t want[][3] = {{0, 0, -1},	{9, 0, -1},   {10, 0, 0},  {10, 1, -1},
					  {11, 1, 0},	{142, 0, 0},  {143, 1, 0}, {143, 0, 5},
					  {144, 1, 5},	{147, 0, 5},  {148, 1, 5}};
	int32_t found;

	for (size_t i = 0; i < EP_LEN(want); i++) {
		assert_int_equal(v8_bytecodes_find(&node_22, &code, (uint32_t)want[i][0],
						   want[i][1], &found), 0);
		assert_int_equal(found, want[i][2]);
	}
	assert_int_equal(v8_bytecodes_find(&node_22, &code, 149, true, &found), -EBADMSG);
	assert_int_equal(v8_bytecodes_find(&other, &code, 5, true, &found), -ENOTSUP);
}

/* ---- inlining ---- */

EP_TEST(climbs_out_of_inlined_calls)
{
	struct v8_layout layout = layout_of(N_VERSIONS - 1);
	struct {
		uint64_t raw;
		int32_t literal, pad;
	} at[3] = {{raw_position(&layout, 1, -1), 0, 0},
		   {raw_position(&layout, 2, 0), 1, 0},
		   {raw_position(&layout, 3, 2), 2, 0}}; /* within itself */
	const struct v8_inlining inlining = {(const uint8_t *)at, 3};
	int32_t chain[V8_MAX_INLINED];
	uint32_t n = 9;

	assert_true(v8_inlining_chain(&layout, &inlining, 1, chain, &n));
	assert_int_equal(n, 2);
	assert_int_equal(chain[0], 1);
	assert_int_equal(chain[1], 0);
	assert_true(v8_inlining_chain(&layout, &inlining, -1, chain, &n));
	assert_int_equal(n, 0);
	assert_false(v8_inlining_chain(&layout, &inlining, 2, chain, &n));
	assert_false(v8_inlining_chain(&layout, &inlining, 3, chain, &n));
}

/* ---- translations ---- */

/*
 * At 0 a translation of two frames: bytecodes 5 and 300 of the functions 2 and 7; at 20 the same
 * but for the second's bytecode, 6 of what is before it left out in the short form; at 26 the same,
 * in the long form.
 */
static const uint8_t translations[] = {
	14, 0, 4, 4, 1, 10, 4, 6, 1, 31 + 9, 3, 37, 0, 0xd8, 4, 14, 6, 2, 0, 2,
	14, 20, 4, 4, 45 + 3, 0, 13, 14, 6, 2, 0, 2,
	15, 32, 4, 4, 44, 3, 1, 16, 14, 6, 2,
	14, 60, 2, 2,
};

EP_TEST(reads_translations)
{
	struct v8_translated frames[V8_MAX_TRANSLATED];
	static const struct v8_version version = {13, 6, 0, 0};
	const struct v8_translation_form *form = v8_translation_form_of(&version);
	uint32_t n = sizeof(translations), left = 100;

	assert_int_equal(v8_translation_frames(form, translations, n, 0, &left, frames), 2);
	assert_int_equal(frames[0].bytecode_off, 5);
	assert_int_equal(frames[0].literal, 2);
	assert_int_equal(frames[1].bytecode_off, 300);
	assert_int_equal(frames[1].literal, 7);
	assert_int_equal(v8_translation_frames(form, translations, n, 20, &left, frames), 2);
	assert_int_equal(frames[0].bytecode_off, 5);
	assert_int_equal(frames[1].bytecode_off, -6);
	assert_int_equal(v8_translation_frames(form, translations, n, 32, &left, frames), 2);
	assert_int_equal(frames[0].literal, 2);
	assert_int_equal(frames[1].bytecode_off, 8);
	/* Before the first, in the middle, cut off. */
	assert_int_equal(v8_translation_frames(form, translations, n, 43, &left, frames), 0);
	assert_int_equal(v8_translation_frames(form, translations, n, 5, &left, frames), 0);
	assert_int_equal(v8_translation_frames(form, translations, 12, 0, &left, frames), 0);
	assert_int_equal(v8_translation_frames(form, translations, n, n, &left, frames), 0);
	/* Four instructions, of which two may be looked at. */
	left = 2;
	assert_int_equal(v8_translation_frames(form, translations, n, 0, &left, frames), 0);
	assert_int_equal(left, 0);
}

EP_TEST(finds_jumps_to_exits)
{
	/* jne 20; jmp 26; jne 21, which is no exit; jmp of one byte more than there is */
	static const uint8_t code[] = {0x90, 0x0f, 0x85, 13, 0, 0, 0, 0xe9, 14, 0, 0, 0,
				       0x0f, 0x84, 3, 0, 0, 0, 0xe9, 3, 0, 0};
	static const uint32_t exits[] = {20, 26, 32};
	struct v8_deopt_point points[4];

	assert_int_equal(v8_deopt_jumps(code, sizeof(code), exits, 3, points, 4), 2);
	assert_int_equal(points[0].pc, 1);
	assert_int_equal(points[0].entry, 0);
	assert_int_equal(points[1].pc, 7);
	assert_int_equal(points[1].entry, 1);
	assert_int_equal(v8_deopt_jumps(code, sizeof(code), exits, 3, points, 1), 1);
	assert_int_equal(v8_deopt_jumps(code, sizeof(code), exits, 0, points, 4), 0);
	assert_int_equal(v8_deopt_jumps(code, 6, exits, 3, points, 4), 0);
}

EP_TEST(knows_no_translations_of_other_versions)
{
	static const struct v8_version other = {12, 5, 0, 0};

	assert_null(v8_translation_form_of(&other));
	for (size_t i = 0; i < N_VERSIONS; i++)
		assert_non_null(v8_translation_form_of(&versions[i]));
}

/* ---- names of files ---- */

EP_TEST(shows_files_as_people_know_them)
{
	static const char *const want[][2] = {
		{"/a/b.js", "/a/b.js"},
		{"node:internal/util", "node:internal/util"},
		{"file:///home/x/a%20b.mjs", "/home/x/a b.mjs"},
		{"file:///%E2%82%AC%20b", "/€ b"},
		{"file:///%E2%82%20b", "/%E2%82 b"},
		{"file:///%C2%85%ED%A0%80", "/%C2%85%ED%A0%80"},
		{"file:///a%2", "/a%2"},
		{"file:///a%0Ab%", "/a%0Ab%"},
		{"file://host/a", "file://host/a"},
		{"", ""},
	};

	for (size_t i = 0; i < EP_LEN(want); i++) {
		char name[64];

		snprintf(name, sizeof(name), "%s", want[i][0]);
		v8_file_name(name);
		assert_string_equal(name, want[i][1]);
	}
}

/* ---- WebAssembly ---- */

static const uint8_t module[] = {
	0, 'a', 's', 'm', 1, 0, 0, 0,
	2, 14, 2, 1, 'm', 1, 'f', 0, 0, 1, 'm', 1, 'x', 2, 0, 1, /* imports: a function, a memory */
	3, 3, 2, 0, 0,						 /* two functions */
	0, 14, 4, 'n', 'a', 'm', 'e', 1, 7, 1, 2, 4, 'l', 'o', 'o', 'p', /* the second is "loop" */
};

EP_TEST(reads_names_of_wasm)
{
	char name[16];
	uint32_t imported, own;

	v8_wasm_counts(module, sizeof(module), &imported, &own);
	assert_int_equal(imported, 1);
	assert_int_equal(own, 2);
	for (size_t cut = 0; cut < sizeof(module); cut++) {
		v8_wasm_counts(module, cut, &imported, &own);
		v8_wasm_name_in(module, cut, 2, name, sizeof(name));
		assert_string_equal(name, "");
	}
	v8_wasm_name_in(module, sizeof(module), 1, name, sizeof(name));
	assert_string_equal(name, "");
	v8_wasm_name_in(module, sizeof(module), 2, name, sizeof(name));
	assert_string_equal(name, "loop");
	v8_wasm_name_in(module, sizeof(module), 2, name, 4);
	assert_string_equal(name, "loo");
}
