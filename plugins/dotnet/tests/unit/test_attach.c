/* SPDX-License-Identifier: Apache-2.0 */
/* Files and processes that are made up: probe, the layout, attach. */
#include "core/base/util.h"
#include "plugins/dotnet/tests/unit/made_dotnet.h"
#include "tests/kit/test.h"

#include <errno.h>

static struct made_dotnet made;

/* --- probe --------------------------------------------------------------------------------------------- */

static int probe(const char *text, bool exports, struct dotnet_executable **ret)
{
	static const struct fake_symbol symbols[] = {{"DotNetRuntimeContractDescriptor", {0x5000, 40}},
						      {"g_dacTable", {MADE_TABLE_VA, 1032}}};
	static const struct fake_symbol sections[] = {{".data", {0x9000, 128}}};
	static uint8_t data[128];
	void *executable = NULL;
	int r;

	made_init(&made, 10);
	memset(data, 0, sizeof(data));
	memcpy(data + 7, text, strlen(text));
	fake_memory_add(&made.host.contents, 0x9000, data, sizeof(data));
	made.host.symbols = symbols;
	made.host.n_symbols = exports ? 2 : 1;
	made.host.sections = sections;
	made.host.n_sections = 1;
	r = dotnet_probe(fake_host_services(&made.host), &made.host.file, &executable);
	*ret = executable;
	return r;
}

EP_TEST(a_runtime_is_known_by_what_it_exports)
{
	struct dotnet_executable *exe;

	assert_int_equal(probe("", false, &exe), EP_NOT_MINE);
#ifdef __x86_64__
	assert_int_equal(probe("@(#)Version 8.0.3126.42015 @Commit: 0", true, &exe), 0);
	assert_int_equal(exe->major, 8);
	assert_int_equal(exe->minor, 0);
	assert_int_equal(exe->table_va, MADE_TABLE_VA);
	assert_int_equal(exe->descriptor_va, 0x5000);
	assert_false(exe->is_host);
	dotnet_unload(exe);
	assert_int_equal(probe("@(#)Version x.0 @(#)Version 11.2.1", true, &exe), 0);
	assert_int_equal(exe->major, 11);
	assert_int_equal(exe->minor, 2);
	dotnet_unload(exe);
	assert_int_equal(probe("no version", true, &exe), 0);
	assert_int_equal(exe->major, 0);
	dotnet_unload(exe);
#endif
}

/* --- the layout ---------------------------------------------------------------------------------------- */

EP_TEST(what_is_published_goes_before_the_table)
{
	static const char text[] =
		"{\"version\":0,\"baseline\":\"empty\",\"x\":[1,{\"types\":{}}],"
		"\"types\":{\"Module\":{\"Base\":[240,\"pointer\",7],\"Flags\": 8\n},\"MethodDescChunk\":{\"!\":32}},"
		"\"globals\":{\"MethodDescTokenRemainderBitCount\":[\"0xe\",\"uint8\"],\"AppDomain\":[[1],\"pointer\"],"
		"\"Architecture\":[\"x64\",\"string\"]}}";
	struct dotnet_layout layout;
	uint32_t n = 0;

	assert_false(dotnet_layout_find(7, &layout));
	assert_true(dotnet_layout_find(8, &layout));
	assert_int_equal(layout.dynamic_name, 0x18);
	assert_true(dotnet_layout_find(12, &layout));
	assert_int_equal(layout.dynamic_name, 0x20);
	assert_int_equal(dotnet_layout_publish(&layout, text, sizeof(text) - 1, &n), 0);
	assert_int_equal(n, 3);
	assert_int_equal(layout.module_base, 240);
	assert_int_equal(layout.chunk_bytes, 32);
	assert_int_equal(layout.token_bits, 14);
	assert_int_equal(layout.image_layout, 0x80);
}

EP_TEST(what_cannot_be_is_not_believed)
{
	static const char *const texts[] = {
		"", "[]", "{\"types\":{\"Module\":{\"Base\":240}}", "{\"types\":{\"Module\":{\"Base\":99999}}}",
		"{\"types\":{\"RangeSection\":{\"Flags\":60}}}", "{\"types\":{\"MethodTable\":{\"Module\":32}}}",
		"{\"globals\":{\"MethodDescTokenRemainderBitCount\":4}}", "{\"types\":{\"Module\":{\"Base\":\"8}}}",
		"{\"a\":[[[[", "{\"a\":1 2}", "{\"a\":[1,]}", "{\"a\" 1}", "{\"a\":[1}",
		"{\"a\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}",
	};

	for (size_t i = 0; i < EP_LEN(texts); i++) {
		struct dotnet_layout layout, before;

		assert_true(dotnet_layout_find(10, &layout));
		before = layout;
		assert_int_equal(dotnet_layout_publish(&layout, texts[i], strlen(texts[i]), NULL), -EBADMSG);
		assert_memory_equal(&layout, &before, sizeof(layout));
	}
}

/* --- attach -------------------------------------------------------------------------------------------- */

static int attach(void **instance)
{
	*instance = NULL;
	return dotnet_attach(&made.exe, &made.host.target, instance);
}

EP_TEST_EACH(a_process_of_each_release_is_proven, uint32_t, major, 3)
{
	void *instance;

	made_init(&made, 8 + major);
	assert_int_equal(attach(&instance), 0);
	assert_int_equal(made.state.range_map, MADE_DATA + AT_TABLES);
	assert_int_equal(made.state.module_r2r, made.layout.module_r2r);
	assert_int_equal(made.host.n_ranges, 1);
	assert_int_equal(made.host.ranges[0].flags, EP_RANGE_ANONYMOUS);
	assert_int_equal(dotnet_refresh(instance), 0);
	dotnet_detach(instance);
}

/* A single-file program has its images in a mapping of the executable. */
EP_TEST(images_of_a_bundle_are_exact_ranges)
{
	void *instance;

	made_init(&made, 9);
	made.exe.is_host = true;
	assert_int_equal(attach(&instance), 0);
	assert_int_equal(made.host.n_ranges, 2);
	assert_int_equal(made.host.ranges[0].start, MADE_IMAGE);
	assert_int_equal(made.host.ranges[0].end, MADE_IMAGE + 0x4000);
	assert_int_equal(made.host.ranges[0].mode, EP_RANGE_ENTER);
	dotnet_detach(instance);
}

EP_TEST(a_runtime_that_starts_is_asked_again)
{
	void *instance;

	made_init(&made, 10);
	made_word(&made, AT_DAC, 0);
	assert_int_equal(attach(&instance), EP_NOT_YET);
	made_init(&made, 10);
	memset(made.data + AT_TABLES, 0, 0x800); /* no range */
	assert_int_equal(attach(&instance), EP_NOT_YET);
	made_init(&made, 10);
	memset(made.data + AT_NIBBLES, 0, 0x40); /* no method, */
	memset(made.data + AT_MAP, 0, 0x100);	 /* and none of the image ran */
	assert_int_equal(attach(&instance), EP_NOT_YET);
	made_init(&made, 10);
	memset(made.data + AT_NIBBLES, 0, 0x40);
	made_word(&made, AT_CHUNK + made.layout.chunk_table, 0x10); /* it is being loaded */
	assert_int_equal(attach(&instance), EP_NOT_YET);
	assert_int_equal(made.host.n_warnings, 0);
}

/* Images run before anything is compiled. What is compiled is proven when it is there. */
EP_TEST_EACH(code_of_an_image_is_enough_to_begin_with, int, holds, 2)
{
	uint8_t nibbles[0x40];
	void *instance;

	made_init(&made, 10);
	memcpy(nibbles, made.data + AT_NIBBLES, sizeof(nibbles));
	memset(made.data + AT_NIBBLES, 0, sizeof(nibbles));
	assert_int_equal(attach(&instance), 0);
	assert_int_equal(dotnet_refresh(instance), 0);
	memcpy(made.data + AT_NIBBLES, nibbles, sizeof(nibbles));
	if (!holds)
		made_word(&made, AT_CHUNK + made.layout.chunk_table, 0x10);
	assert_int_equal(dotnet_refresh(instance), holds ? 0 : -ENOTSUP);
	assert_int_equal(made.host.n_warnings, holds ? 0 : 1);
	dotnet_detach(instance);
}

EP_TEST_EACH(a_layout_that_does_not_hold_is_refused, int, i, 5)
{
	void *instance;

	made_init(&made, 10);
	if (i == 0)
		made_word(&made, AT_LAYOUT + made.layout.layout_base, MADE_DATA);
	else if (i == 1)
		made_word(&made, AT_CHUNK + made.layout.chunk_table, 0x10);
	else if (i == 2)
		made_int(&made, AT_TYPE + made.layout.table_flags2, 9u << 8);
	else if (i == 3)
		made.exe.major = 7;
	else
		made_word(&made, AT_TABLES + 0x800, MADE_DATA + MADE_BYTES);
	assert_int_equal(attach(&instance), -ENOTSUP);
	assert_int_equal(made.host.n_warnings, 1);
	assert_int_equal(made.host.n_states, 0);
}

/* The map leads in circles: it ends. */
EP_TEST(a_cyclic_map_is_bounded)
{
	void *instance;

	made_init(&made, 10);
	for (uint32_t i = 0; i < 256; i++)
		made_word(&made, AT_TABLES + 8 * i, MADE_DATA + AT_TABLES);
	assert_int_equal(attach(&instance), -ENOTSUP);
	assert_true(made.host.memory.n_reads < 2000000);
}

/* Each read may fail: nothing is left behind, and the process may be asked again. */
EP_TEST(a_read_that_fails_leaves_nothing)
{
	void *instance;
	uint32_t n, n_failed = 0;

	made_init(&made, 10);
	assert_int_equal(attach(&instance), 0);
	dotnet_detach(instance);
	n = made.host.memory.n_reads;
	for (uint32_t i = 1; i <= n; i++) {
		int r;

		made_init(&made, 10);
		made.host.memory.fail_at = i;
		made.host.memory.fail_with = -ESRCH;
		r = attach(&instance);
		if (r == 0) /* of a table that is read to bring it into memory */
			dotnet_detach(instance);
		else
			assert_int_equal(r, -ESRCH);
		n_failed += r != 0;
	}
	assert_in_range(n_failed, n - 8, n);
}

/* What the process publishes is used: there the name of a DynamicMethod is elsewhere. */
EP_TEST(the_data_contract_of_the_process_is_read)
{
	static const char text[] = "{\"types\":{\"DynamicMethodDesc\":{\"MethodName\":40}}}";
	void *instance;

	made_init(&made, 10);
	made.exe.descriptor_va = MADE_TABLE_VA + AT_DESCRIPTOR;
	made_word(&made, AT_DESCRIPTOR, 0x0043414443434e44ull);
	made_int(&made, AT_DESCRIPTOR + 12, sizeof(text) - 1);
	made_word(&made, AT_DESCRIPTOR + 16, MADE_DATA + AT_TEXT);
	made_put(&made, AT_TEXT, text, sizeof(text));
	assert_int_equal(attach(&instance), 0);
	assert_int_equal(made.state.dynamic_name, 40);
	dotnet_detach(instance);
}
