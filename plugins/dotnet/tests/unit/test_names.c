/* SPDX-License-Identifier: Apache-2.0 */
/* Names of frames in a process that is made up. */
#include "core/base/util.h"
#include "plugins/dotnet/tests/unit/made_dotnet.h"
#include "tests/kit/test.h"

#include <errno.h>

static struct made_dotnet made;
static void *instance;

static void begin(uint32_t major)
{
	made_init(&made, major);
	assert_int_equal(dotnet_attach(&made.exe, &made.host.target, &instance), 0);
}

static int name(uint32_t what, uint64_t word0, uint64_t word1)
{
	const struct ep_raw_frame frame = {
		.n_words = what == DOTNET_FRAME_COLLECTIBLE ? 2 : 1,
		.flags = what << DOTNET_FRAME_SHIFT,
		.aux = what == DOTNET_FRAME_STUB ? (uint32_t)word1 : 0,
		.words = {word0, word1},
	};

	made.host.n_names = 0;
	return dotnet_symbolize(instance, &frame, &made.host.names);
}

static struct dotnet_reader reader(void)
{
	return (struct dotnet_reader){.memory = {fake_memory_read, &made.host.memory},
				      .layout = &made.layout,
				      .range_map = MADE_DATA + AT_TABLES};
}

EP_TEST_EACH(a_method_has_its_types_and_namespace, uint32_t, i, 3)
{
	begin(8 + i);
	assert_int_equal(name(DOTNET_FRAME_JIT, MADE_START, 0), 0);
	assert_string_equal(made.host.function, "Made.Outer.Inner.Run");
	/* Once more, from what is remembered. */
	made.host.memory.n_reads = 0;
	assert_int_equal(name(DOTNET_FRAME_JIT, MADE_START, 0), 0);
	assert_string_equal(made.host.function, "Made.Outer.Inner.Run");
	assert_int_equal(made.host.memory.n_reads, 0);
	dotnet_detach(instance);
}

EP_TEST_EACH(code_of_an_image_is_named_by_its_entry, uint32_t, i, 3)
{
	begin(8 + i);
	assert_int_equal(name(DOTNET_FRAME_R2R, MADE_IMAGE + MADE_FUNCTION, 0), 0);
	assert_string_equal(made.host.function, "Made.Outer.Inner..ctor");
	/* A funclet is its method's. */
	assert_int_equal(name(DOTNET_FRAME_R2R, MADE_IMAGE + MADE_FUNCLET, 0), 0);
	assert_string_equal(made.host.function, "Made.Outer.Inner..ctor");
	/* What the map does not have is unknown. */
	made_word(&made, AT_MAP + 64, 1);
	made_word(&made, AT_MAP + 128, 1);
	assert_int_equal(name(DOTNET_FRAME_R2R, MADE_IMAGE + MADE_FUNCLET + 0x10, 0), EP_FRAME_GONE);
	assert_int_equal(name(DOTNET_FRAME_R2R, MADE_CODE + 0x40, 0), EP_FRAME_GONE);
	assert_int_equal(name(DOTNET_FRAME_R2R, 0x1234, 0), EP_FRAME_GONE);
	assert_int_equal(made.host.counts[DOTNET_COUNT_GONE], 3);
	dotnet_detach(instance);
}

/* A DynamicMethod has its own name, as long as it is the one that was sampled. */
EP_TEST(what_was_freed_has_no_name)
{
	struct dotnet_reader r;
	uint64_t method, check;

	begin(10);
	r = reader();
	method = made_method(&made, 1);
	check = dotnet_method_check(&r, method);
	assert_int_not_equal(check, 0);
	assert_int_equal(name(DOTNET_FRAME_COLLECTIBLE, MADE_OTHER, check), 0);
	assert_string_equal(made.host.function, "lcg");
	memcpy(made.data + AT_NAME, "lcx", 4); /* another one's name in the same memory */
	assert_int_equal(name(DOTNET_FRAME_COLLECTIBLE, MADE_OTHER, check), EP_FRAME_GONE);
	memcpy(made.data + AT_NAME, "lcg", 4);
	method = made_method(&made, 0);
	check = dotnet_method_check(&r, method);
	assert_int_equal(name(DOTNET_FRAME_COLLECTIBLE, MADE_START, check), 0);
	assert_string_equal(made.host.function, "Made.Outer.Inner.Run");
	memcpy(made.data + AT_SIMPLE, "Mode", 5);
	assert_int_equal(name(DOTNET_FRAME_COLLECTIBLE, MADE_START, check), EP_FRAME_GONE);
	dotnet_detach(instance);
}

static void free_name(void *arg)
{
	(void)arg;
	memcpy(made.data + AT_NAME, "new", 4);
}

/* It is replaced while its name is read, at each read. */
EP_TEST(what_is_replaced_meanwhile_has_no_name)
{
	for (uint32_t at = 1; at < 8; at++) {
		struct dotnet_reader r;
		uint64_t check;
		int result;

		begin(9);
		r = reader();
		check = dotnet_method_check(&r, made_method(&made, 1));
		made.host.memory.n_reads = 0;
		made.host.memory.change_at = at;
		made.host.memory.change = free_name;
		result = name(DOTNET_FRAME_COLLECTIBLE, MADE_OTHER, check);
		if (result == 0)
			assert_string_equal(made.host.function, "lcg");
		else
			assert_int_equal(result, EP_FRAME_GONE);
		dotnet_detach(instance);
	}
}

EP_TEST(stubs_of_il_and_of_code_say_what_they_are)
{
	struct dotnet_reader r;
	uint64_t method;

	begin(10);
	r = reader();
	method = made_method(&made, 1);
	memcpy(made.data + AT_NAME, "IL_STUB_PInvoke", 16);
	assert_int_equal(name(DOTNET_FRAME_COLLECTIBLE, MADE_OTHER, dotnet_method_check(&r, method)), 0);
	assert_string_equal(made.host.function, "[IL stub]");
	assert_int_equal(name(DOTNET_FRAME_STUB, MADE_OTHER, 7), 0);
	assert_string_equal(made.host.function, "[resolve stub]");
	assert_int_equal(name(DOTNET_FRAME_STUB, MADE_OTHER, 99), 0);
	assert_string_equal(made.host.function, "[stub]");
	dotnet_detach(instance);
}

/* Memory of anything else gives no name, and no endless search. */
EP_TEST(rows_that_are_not_there_are_no_names)
{
	begin(10);
	made_half(&made, made_method(&made, 0) - MADE_DATA + made.layout.method_token, 77);
	assert_int_equal(name(DOTNET_FRAME_JIT, MADE_START, 0), EP_FRAME_GONE);
	assert_int_equal(name(DOTNET_FRAME_JIT, 0x10, 0), EP_FRAME_GONE);
	assert_int_equal(name(DOTNET_FRAME_JIT, MADE_START + 4, 0), EP_FRAME_GONE);
	dotnet_detach(instance);
}

/* In 8 the word of a MethodTable may be the loader's module: then a slot has the definition's. */
EP_TEST(a_module_of_8_may_be_in_a_slot)
{
	const uint64_t other = AT_TYPE + 0x100;

	begin(8);
	made_int(&made, AT_TYPE, 0x10); /* generic */
	made_word(&made, AT_TYPE + made.layout.table_canonical, (MADE_DATA + other) | 1);
	made_word(&made, AT_TYPE + made.layout.table_module, 0x18);
	made_half(&made, other + made.layout.table_flags2, 0x10 | 0x3);
	made_half(&made, other + made.layout.table_virtuals, 9);
	made_word(&made, other + 0x40 + 8 * 2, MADE_DATA + AT_MODULE);
	assert_int_equal(name(DOTNET_FRAME_JIT, MADE_START, 0), 0);
	assert_string_equal(made.host.function, "Made.Outer.Inner.Run");
	dotnet_detach(instance);
}
