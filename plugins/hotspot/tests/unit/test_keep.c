/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the snapshot program sends of interpreted methods is what they are named by when nothing
 * else of the JVM is left. The program is compiled for user space, and looks at the VM that is made
 * up; replay_kept does the same over recorded ones.
 */
#define EP_SHIM_OBJECT "hotspot_keep"
#include "plugins/hotspot/hotspot_keep.bpf.c"

#define WORLD_STATE struct hotspot_state
#include "tests/kit/kept.h"

#include "plugins/hotspot/symbolize/names.h"
#include "plugins/hotspot/tests/unit/made_app.h"

#define SLOT 5

static struct made_vm vm;
static struct made_app app;
static char shown[256];
static uint32_t line;

const char *hotspot_stubs_name(const struct hotspot_stubs *stubs, uint64_t addr)
{
	return NULL;
}

static uint16_t offset(enum hotspot_field_id id)
{
	return hotspot_has(&vm.layout, id) ? (uint16_t)hotspot_off(&vm.layout, id) : 0;
}

static void set_state(void)
{
	world.state = (struct hotspot_state){
		.method_const = offset(HOTSPOT_F_names_method_const),
		.const_bytes = (uint16_t)vm.layout.sizes[HOTSPOT_Z_names_const_bytes],
		.const_code_size = offset(HOTSPOT_F_names_const_code_bytes),
		.const_words = offset(HOTSPOT_F_names_const_words),
		.const_pool = offset(HOTSPOT_F_names_const_pool),
		.pool_bytes = (uint16_t)vm.layout.sizes[HOTSPOT_Z_names_pool_bytes],
		.pool_holder = offset(HOTSPOT_F_names_pool_holder),
		.pool_file = offset(HOTSPOT_F_names_pool_file),
		.class_file = offset(HOTSPOT_F_names_class_file),
		.class_name = offset(HOTSPOT_F_names_class_name),
		.class_bytes = (uint16_t)hotspot_class_bytes(&vm.layout),
		.symbol_length = (uint8_t)offset(HOTSPOT_F_names_symbol_bytes),
		.symbol_body = (uint8_t)offset(HOTSPOT_F_names_symbol_body),
	};
}

static void begin(enum made_family family)
{
	made_init(&vm, family);
	app = made_app(&vm, 0);
	world_begin(SLOT, 40);
	kept_begin(SLOT);
	world.memory = vm.reads;
	set_state();
}

/* Interpreted, at bytecode 5. */
static struct ep_raw_frame frame_of(uint64_t method)
{
	return (struct ep_raw_frame){
		.aux = 5,
		.n_words = 2,
		.flags = HOTSPOT_FRAME_INTERPRETED << HOTSPOT_FRAME_SHIFT,
		.words = {method, made_interpreted_word(&vm, method)},
	};
}

static void push(uint64_t method)
{
	const struct ep_raw_frame frame = frame_of(method);

	kept_push(&frame);
}

static size_t keep(void)
{
	return kept_run(hotspot_keep);
}

static int add(struct ep_names *to, const struct ep_name *name)
{
	snprintf(shown, sizeof(shown), "%s", name->function);
	line = name->line;
	return 0;
}

static int name(uint64_t method)
{
	const struct memory memory = {.read = kept_read};
	const struct ep_raw_frame frame = frame_of(method);
	struct hotspot_names *names = NULL;
	int r;

	*shown = '\0';
	assert_int_equal(hotspot_names_new(&memory, &vm.layout, &names), 0);
	r = hotspot_names_of(names, NULL, &frame, add, NULL);
	hotspot_names_free(names);
	return r;
}

/* Lines of such a class mean others without its map, which is not kept. */
EP_TEST(without_its_map_a_class_has_no_lines)
{
	begin(MADE_17);
	push(app.run);
	assert_true(keep() > 0);
	assert_int_equal(name(app.run), 0);
	assert_string_equal(shown, "com.example.Main.run");
	assert_int_equal(line, 0);
}

/* Of a long one its head alone: it has a name, and no line. */
EP_TEST(long_methods_are_named)
{
	static const uint32_t lengths[] = {100, 400, 500, 1100, 4000};
	static const struct made_pair lines[] = {{0, 7}};

	for (size_t i = 0; i < EP_LEN(lengths); i++) {
		struct made_class class;
		uint64_t method;

		begin(MADE_17);
		class = made_class(&vm, "Long", "Long.java", NULL);
		method = made_method(&vm, &class, "run", "()V", lengths[i], lines, 1);
		push(method);
		assert_true(keep() > 0);
		assert_int_equal(name(method), 0);
		assert_string_equal(shown, "Long.run");
		assert_int_equal(line, lengths[i] <= 400 ? 7 : 0);
	}
}

EP_TEST(a_method_and_its_class_are_sent_once)
{
	uint32_t first, second;

	begin(MADE_25);
	push(app.run);
	first = keep();
	assert_true(first > 0);
	assert_int_equal(keep(), 0);
	push(app.inner);
	second = keep();
	assert_true(second > 0);
	REC->sample.image++;
	assert_int_equal(keep(), first + second);
}

EP_TEST(what_is_not_there_is_not_kept)
{
	for (uint32_t at = 1; at < 16; at++) {
		begin(MADE_17);
		push(app.inner);
		world.memory.fail_at = at;
		world.memory.fail_with = -EFAULT;
		(void)keep();
		world.memory.fail_at = 0;
		assert_in_range(keeps.kept.bytes, 0, EP_KEEP_ITEM_BYTES);
		if (name(app.inner) == 0)
			assert_string_equal(shown, "com.example.Main$Inner.inner");
		else
			assert_string_equal(shown, "");
	}
}
