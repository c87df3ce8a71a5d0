/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/util.h"
#include "plugins/hotspot/symbolize/lines.h"
#include "plugins/hotspot/symbolize/scopes.h"
#include "plugins/hotspot/symbolize/smap.h"
#include "plugins/hotspot/symbolize/text.h"
#include "plugins/hotspot/symbolize/unsigned5.h"
#include "plugins/hotspot/tests/unit/made_vm.h"
#include "tests/kit/test.h"

EP_TEST(decodes_integers)
{
	static const uint32_t values[] = {0,	 1,	190,	  191,	    192,       255,
					  12000, 70000, 1u << 20, 1u << 27, UINT32_MAX};
	struct made_vm vm = {0};

	for (vm.excluded = 0; vm.excluded < 2; vm.excluded++) {
		for (size_t i = 0; i < EP_LEN(values); i++) {
			uint8_t bytes[8];
			size_t n = made_unsigned5(&vm, values[i], bytes), pos = 0;
			uint32_t value;

			assert_true(hotspot_unsigned5(bytes, n, &pos, vm.excluded, &value));
			assert_int_equal(value, values[i]);
			assert_int_equal(pos, n);
			pos = 0;
			assert_false(hotspot_unsigned5(bytes, n - 1, &pos, vm.excluded, &value));
		}
	}
}

struct line_case {
	uint32_t bci, line;
};

/* Not sorted, two lines for bci 8: exactly it is the first one's, after it the last one's. */
EP_TEST(finds_lines)
{
	static const struct made_pair pairs[] = {{0, 100}, {8, 103}, {20, 90}, {8, 104}, {12, 200}};
	static const struct line_case cases[] = {{0, 100}, {7, 100}, {8, 103}, {9, 104}, {12, 200},
						 {19, 200}, {20, 90}, {99, 90}};
	struct made_vm vm = {0};

	for (uint32_t i = 0; i < 4; i++) {
		struct hotspot_lines lines;
		uint32_t excluded = i & 1; /* a guess, right or wrong */
		uint8_t bytes[64];
		size_t n;

		vm.excluded = i >> 1;
		n = made_lines(&vm, pairs, EP_LEN(pairs), bytes);
		assert_int_equal(hotspot_lines_parse(bytes, n, 100, &excluded, &lines), 0);
		assert_int_equal(excluded, vm.excluded);
		for (size_t k = 0; k < EP_LEN(cases); k++) {
			const struct hotspot_line *line =
				hotspot_lines_find(lines.runs, lines.len, cases[k].bci);

			assert_non_null(line);
			assert_int_equal(line->line, cases[k].line);
		}
		hotspot_lines_fini(&lines);
		assert_int_equal(hotspot_lines_parse(bytes, n - 1, 100, &excluded, &lines),
				 -EBADMSG);
		assert_int_equal(hotspot_lines_parse(bytes, n, 20, &excluded, &lines), -EBADMSG);
	}
	assert_null(hotspot_lines_find(NULL, 0, 3));
}

EP_TEST(maps_lines)
{
	static const char text[] = "SMAP\nA.kt\nKotlin\n*S KotlinDebug\n*F\n1 No.kt\n*L\n1#1,99:1\n"
				   "*S Kotlin\n*F\n+ 1 A.kt\na/A\n2 B.kt\n*L\n1#1,10:1\n"
				   "5#2,3:11,2\n7:30\n3#9:40\n*E\n9#2:50\n";
	static const struct {
		uint32_t line, source;
		const char *file;
	} cases[] = {{1, 1, "A.kt"},  {10, 10, "A.kt"}, {11, 5, "B.kt"}, {12, 5, "B.kt"},
		     {16, 7, "B.kt"}, {17, 0, NULL},	{30, 7, "B.kt"}, {31, 0, NULL},
		     {40, 0, NULL},   {50, 0, NULL},	{0, 0, NULL}};
	struct hotspot_smap smap;

	assert_int_equal(hotspot_smap_parse(text, strlen(text), &smap), 0);
	for (size_t i = 0; i < EP_LEN(cases); i++) {
		uint32_t source = 0;
		const struct hotspot_smap_file *file =
			hotspot_smap_find(&smap, cases[i].line, &source);

		assert_int_equal(file != NULL, cases[i].file != NULL);
		if (!file)
			continue;
		assert_int_equal(source, cases[i].source);
		assert_int_equal(file->name_bytes, strlen(cases[i].file));
		assert_memory_equal(file->name, cases[i].file, file->name_bytes);
	}
	hotspot_smap_fini(&smap);
	assert_int_equal(hotspot_smap_parse(text, 30, &smap), -EBADMSG);
	assert_int_equal(hotspot_smap_parse("SMAP\nA\nB\n*S C\n", 14, &smap), -EBADMSG);
}

EP_TEST(encodes_text)
{
	static const struct {
		const char *from, *to;
	} cases[] = {
		{"plain", "plain"},
		{"\xc3\xa4\xe2\x82\xac", "\xc3\xa4\xe2\x82\xac"},
		{"a\xc0\x80z", "a\xef\xbf\xbdz"},
		{"\xed\xa0\xbd\xed\xb8\x80", "\xf0\x9f\x98\x80"}, /* U+1F600 in two surrogates */
		{"\xed\xa0\xbdx", "\xef\xbf\xbdx"},
		{"\n\x7f", "\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xff\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
	};
	char buf[64];

	for (size_t i = 0; i < EP_LEN(cases); i++) {
		hotspot_text_encode((const uint8_t *)cases[i].from, strlen(cases[i].from), false,
				    buf, sizeof(buf));
		assert_string_equal(buf, cases[i].to);
	}
	hotspot_text_encode((const uint8_t *)"abcdefghij", 10, false, buf, 8);
	assert_string_equal(buf, "abcd\u2026");
}

EP_TEST(masks_what_differs)
{
	static const struct {
		const char *from, *to;
	} cases[] = {
		{"java/lang/String", "java.lang.String"},
		{"Main$$Lambda$17", "Main$$Lambda"},
		{"Main$$Lambda$17+0x0000000800c2000a", "Main$$Lambda"},
		{"a/Main$$Lambda+0x80000001c", "a.Main$$Lambda"},
		{"java/lang/invoke/LambdaForm$MH+0x00007f", "java.lang.invoke.LambdaForm$MH"},
		{"Main$1", "Main$1"},
		{"a+0xyz", "a+0xyz"},
		{"a+b", "a+b"},
		{"+0x", "+0x"},
		{"Lambda$1", "Lambda$1"},
	};

	for (size_t i = 0; i < EP_LEN(cases); i++) {
		char name[64];

		snprintf(name, sizeof(name), "%s", cases[i].from);
		hotspot_class_name(name);
		assert_string_equal(name, cases[i].to);
	}
}

/* Scopes that are none: each is wrong in both codes. */
EP_TEST(refuses_scopes)
{
	static const struct {
		const char *label, *data;
		size_t n;
		int32_t pc, scope;
	} cases[] = {
		{"behind the data", "\xff\0\1\1\0\0\0", 7, 8, 7},
		{"a caller behind", "\xff\x05\1\1\0\0\0", 7, 8, 1},
		{"no such method", "\xff\0\3\1\0\0\0", 7, 8, 1},
		{"method 0", "\xff\0\0\1\0\0\0", 7, 8, 1},
		{"another outermost method", "\xff\0\2\1\0\0\0", 7, 8, 1},
		{"cut", "\xff\0\1", 3, 8, 1},
		{"negative scope", "\xff\0\1\1\0\0\0", 7, 8, -2},
		{"negative pc", "\xff\0\1\1\0\0\0", 7, -8, 1},
	};
	static const uint64_t metadata[] = {0x1000, 0x2000};

	for (size_t i = 0; i < EP_LEN(cases); i++) {
		const int32_t pcs[3][4] = {{-1}, {cases[i].pc, cases[i].scope}, {99}};
		struct hotspot_scopes_input input = {
			.pcs = (const uint8_t *)pcs, .n_pcs = 3, .pc_bytes = 16, .pc_scope = 4,
			.data = (const uint8_t *)cases[i].data, .data_bytes = cases[i].n,
			.metadata = metadata, .n_metadata = 2, .method = 0x1000,
		};
		struct hotspot_scopes scopes;
		uint32_t excluded = 0;

		if (hotspot_scopes_parse(&input, &excluded, &scopes) != -EBADMSG)
			fail_msg("%s", cases[i].label);
	}
}
