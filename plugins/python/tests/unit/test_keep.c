/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the snapshot program sends of code objects is what the symbolizer names them by, when
 * nothing else of the process is left. The program is compiled for user space.
 */
#define EP_SHIM_OBJECT "python_keep"
#include "plugins/python/python_keep.bpf.c"

#define WORLD_STATE struct py_state
#include "tests/kit/kept.h"

#include "plugins/python/tests/unit/objects.h"

#define SLOT  5
#define OTHER (HEAP_ADDR + 0x5000)

static struct py_code_layout layout;
static struct fake_host host; /* of `name` */

static void set_state(void)
{
	struct py_state *state = &world.state;

	state->head_bytes = (uint16_t)py_code_head_bytes(&layout);
	state->code_name = layout.co_qualname ? layout.co_qualname : layout.co_name;
	state->code_file = layout.co_filename;
	state->code_lines = layout.co_lines;
	state->bytes_size = layout.bytes_size;
	state->bytes_data = layout.bytes_data;
	state->str_length = layout.str_length;
	state->str_state = layout.str_state;
	state->str_kind_shift = layout.str_kind_shift;
	state->str_ascii_data = layout.str_ascii_data;
	state->str_compact_data = layout.str_compact_data;
}

/* n times five instructions on the first line, as 3.11 and newer have it (symbolize/lines.c). */
static void put_lines(size_t n)
{
	uint8_t lines[3 * 400];

	for (size_t i = 0; i < n; i++)
		memcpy(lines + 3 * i, (const uint8_t[]){0xd4, 1, 2}, 3);
	put_bytes(&layout, LINE_ADDR, lines, 3 * n);
}

static void begin(uint32_t version)
{
	assert_int_equal(py_code_layout_find(version, false, &layout), 0);
	layout.code_type_addr = TYPE_ADDR;
	memset(heap, 0, sizeof(heap));
	put_code(&layout, CODE_ADDR, 7);
	world_begin(SLOT, 40);
	kept_begin(SLOT);
	fake_memory_add(&world.memory, HEAP_ADDR, heap, HEAP_BYTES);
	set_state();
}

static void push(uint64_t code)
{
	kept_push(&(struct ep_raw_frame){.aux = heap_check(&layout, code),
					 .n_words = 1,
					 .words = {code | 4ull << PY_INSTRUCTION_SHIFT}});
}

static bool keep(void)
{
	return kept_run(python_keep) > 0;
}

/* By what was kept of the process. */
static int name(uint64_t code)
{
	struct py_namer namer = {.memory = {.read = kept_read}, .layout = layout};
	int r;

	fake_host_init(&host, NULL, 0);
	namer.host = fake_host_services(&host);
	assert_int_equal(py_namer_init(&namer), 0);
	r = py_names_add(&namer,
			 &(struct ep_raw_frame){.aux = heap_check(&layout, code),
						.n_words = 2,
						.words = {code, 4}},
			 &host.names);
	py_namer_fini(&namer);
	return r;
}

EP_TEST(code_is_sent_once_for_each_program)
{
	begin(PY_VERSION(3, 12));
	push(CODE_ADDR);
	assert_true(keep());
	assert_false(keep());
	REC->sample.image++;
	assert_true(keep());
	REC->sample.start_ns += 1000; /* the same pid, used again */
	assert_true(keep());
	/* Other code at that address. */
	heap_put_word(CODE_ADDR + layout.co_lines, LINE_ADDR + 16);
	REC->sample.n_words = 0;
	push(CODE_ADDR);
	assert_true(keep());
}

EP_TEST(long_names_are_kept_whole)
{
	static const struct {
		size_t n;
		uint32_t kind; /* bytes of a character */
		int result;
	} rows[] = {{87, 1, 0},	{89, 1, 0},  {200, 1, 0}, {280, 1, 0}, {281, 1, -EBADMSG},
		    {66, 4, 0}, {120, 2, 0}, {132, 2, 0}, {133, 2, -EBADMSG}};
	char text[300], file[300];

	memset(text, 'n', sizeof(text));
	memset(file, 'f', sizeof(file));
	for (size_t i = 0; i < EP_LEN(rows); i++) {
		begin(PY_VERSION(3, 12));
		put_str(&layout, NAME_ADDR, rows[i].kind, true, rows[i].kind == 1, text, rows[i].n);
		put_str(&layout, FILE_ADDR, 1, true, true, file, rows[i].n);
		push(CODE_ADDR);
		assert_true(keep());
		assert_int_equal(name(CODE_ADDR), rows[i].result);
		if (rows[i].result == 0)
			assert_int_equal(strlen(host.function),
					 rows[i].n * (rows[i].kind == 1 ? 1 : 3));
	}
}

EP_TEST(the_ring_is_for_samples)
{
	begin(PY_VERSION(3, 12));
	push(CODE_ADDR);
	world.ring_used = WORLD_RING_BYTES / 2;
	assert_false(keep());
	world.ring_used = 0;
	assert_true(keep());
}

EP_TEST(tables_of_lines_are_kept_whole_or_not_at_all)
{
	static const size_t rows[] = {1, 53, 54, 330, 331, 400};
	for (size_t i = 0; i < EP_LEN(rows); i++) {
		begin(PY_VERSION(3, 12));
		put_lines(rows[i]);
		push(CODE_ADDR);
		assert_true(keep());
		assert_int_equal(name(CODE_ADDR), 0);
		assert_string_equal(host.function, "name");
		assert_int_equal(host.start_line, 7);
		assert_int_equal(host.line, rows[i] <= 330 ? 7 : 0);
	}
}

/* 40 frames. */
static void push_many(void)
{
	for (uint64_t i = 0; i < 40; i++) {
		put_code(&layout, OTHER + 512 * i, (int32_t)i);
		push(OTHER + 512 * i);
	}
}

static void assert_many_have_names(void)
{
	for (uint64_t i = 0; i < 40; i++)
		assert_int_equal(name(OTHER + 512 * i), 0);
}

EP_TEST(a_deep_stack_is_sent_in_parts)
{
	begin(PY_VERSION(3, 12));
	for (uint64_t i = 0; i < 100; i++)
		kept_push_native();
	push_many();
	assert_true(keep());
	assert_in_range(kept_events, 2, EP_KEEP_MAX_SENT + 1);
	assert_false(keep());
	assert_many_have_names();
}

EP_TEST(what_does_not_fit_comes_with_the_next_sample)
{
	char text[280];

	memset(text, 'n', sizeof(text));
	begin(PY_VERSION(3, 12));
	push_many();
	put_str(&layout, NAME_ADDR, 1, true, true, text, sizeof(text));
	put_str(&layout, FILE_ADDR, 1, true, true, text, sizeof(text));
	put_lines(200);
	assert_true(keep());
	assert_int_equal(kept_events, EP_KEEP_MAX_SENT + 1);
	assert_true(keep());
	assert_false(keep());
	assert_many_have_names();
}

EP_TEST(what_cannot_be_read_is_not_kept)
{
	begin(PY_VERSION(3, 11));
	push(CODE_ADDR);
	world.memory.fail_at = 1;
	world.memory.fail_with = -EFAULT;
	assert_false(keep());
	begin(PY_VERSION(3, 11));
	push(CODE_ADDR);
	heap_put_word(CODE_ADDR + layout.co_filename, 0x1000);
	assert_true(keep());
	assert_int_equal(name(CODE_ADDR), -EBADMSG);
	assert_int_equal(host.n_names, 0);
}

/* Nonsense as lengths and as what kind of characters they are of. */
EP_TEST(sizes_are_bounded)
{
	for (uint32_t bits = 0; bits < 256; bits++) {
		begin(PY_VERSION(3, 12));
		heap_put(NAME_ADDR + layout.str_state, &bits, sizeof(bits));
		heap_put_word(NAME_ADDR + layout.str_length,
			      bits % 3 ? 1ull << (bits % 64) : ~0ull);
		push(CODE_ADDR);
		(void)keep();
		assert_in_range(keeps.kept.bytes, 0, EP_KEEP_ITEM_BYTES);
	}
}
