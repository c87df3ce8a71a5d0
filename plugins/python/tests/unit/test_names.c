/* SPDX-License-Identifier: Apache-2.0 */
/* Naming a frame: what is there, what is gone, what breaks off. */
#include "plugins/python/tests/unit/objects.h"
#include "tests/kit/heap.h"
#include "tests/kit/test.h"

struct fixture {
	struct fake_host host;
	struct py_namer namer;
	uint32_t check;
};

/* 10 + 2 instructions, on lines 7 and 9. */
static const uint8_t locations[] = {0xd4, 1, 2, 0xe1, 4};
#define FIRST_LINE 7

static struct fixture fixture;

static int setup(void **state)
{
	struct fixture *fx = *state = &fixture;

	fx->namer.cache = NULL;
	heap_host(&fx->host);
	assert_int_equal(py_code_layout_find(PY_VERSION(3, 12), false, &fx->namer.layout), 0);
	fx->namer.layout.code_type_addr = TYPE_ADDR;
	put_code(&fx->namer.layout, CODE_ADDR, FIRST_LINE);
	put_bytes(&fx->namer.layout, LINE_ADDR, locations, sizeof(locations));
	fx->check = heap_check(&fx->namer.layout, CODE_ADDR);
	fx->namer.memory = (struct memory){fake_memory_read, &fx->host.memory};
	fx->namer.host = fake_host_services(&fx->host);
	return py_namer_init(&fx->namer);
}

static int teardown(void **state)
{
	struct fixture *fx = *state;

	py_namer_fini(&fx->namer);
	return 0;
}

static int symbolize(struct fixture *fx, uint64_t addr, uint32_t check, uint32_t off)
{
	fx->host.n_names = 0;
	return py_names_add(&fx->namer,
			    &(struct ep_raw_frame){
				    .aux = check, .n_words = 2, .words = {addr, off}},
			    &fx->host.names);
}

#define FIXTURE_TEST(name) EP_TEST_ON(name, struct fixture *fx, setup, teardown)

FIXTURE_TEST(a_frame_gets_its_name)
{
	assert_int_equal(symbolize(fx, CODE_ADDR, fx->check, 10), 0);
	assert_int_equal(fx->host.n_names, 1);
	assert_string_equal(fx->host.function, "name");
	assert_string_equal(fx->host.file_name, "file.py");
	assert_int_equal(fx->host.start_line, 7);
	assert_int_equal(fx->host.line, 9);
	assert_int_equal(symbolize(fx, CODE_ADDR, fx->check, 8), 0);
	assert_int_equal(fx->host.line, 7);
}

FIXTURE_TEST(offsets_outside_have_a_meaning)
{
	assert_int_equal(symbolize(fx, CODE_ADDR, fx->check, (uint32_t)-2), 0);
	assert_int_equal(fx->host.line, FIRST_LINE);
	assert_int_equal(symbolize(fx, CODE_ADDR, fx->check, PY_INSTRUCTION_UNKNOWN), 0);
	assert_int_equal(fx->host.line, 0);
	assert_int_equal(symbolize(fx, CODE_ADDR, fx->check, 5000), 0);
	assert_int_equal(fx->host.line, 0);
}

FIXTURE_TEST(known_code_is_not_read_again)
{
	unsigned int reads;

	assert_int_equal(symbolize(fx, CODE_ADDR, fx->check, 0), 0);
	reads = fx->host.memory.n_reads;
	for (uint32_t off = 0; off < 16; off += 2)
		assert_int_equal(symbolize(fx, CODE_ADDR, fx->check, off), 0);
	assert_int_equal(fx->host.memory.n_reads, reads);
}

FIXTURE_TEST(another_check_is_another_object)
{
	assert_int_equal(symbolize(fx, CODE_ADDR, fx->check + 1, 0), EP_FRAME_GONE);
	assert_int_equal(fx->host.n_names, 0);
	/* known by now, and replaced: the old frame keeps its name, the new one gets its own */
	assert_int_equal(symbolize(fx, CODE_ADDR, fx->check, 0), 0);
	put_code(&fx->namer.layout, CODE_ADDR, 1000);
	put_str(&fx->namer.layout, NAME_ADDR, 1, true, true, "other", 5);
	assert_int_not_equal(heap_check(&fx->namer.layout, CODE_ADDR), fx->check);
	assert_int_equal(symbolize(fx, CODE_ADDR, heap_check(&fx->namer.layout, CODE_ADDR), 0), 0);
	assert_string_equal(fx->host.function, "other");
	assert_int_equal(symbolize(fx, CODE_ADDR, fx->check, 0), 0);
	assert_string_equal(fx->host.function, "name");
}

/* The words of the check, each of them. */
FIXTURE_TEST(every_word_of_the_check_counts)
{
	for (unsigned int byte = 0; byte < PY_CHECK_BYTES; byte++) {
		heap[CODE_ADDR + fx->namer.layout.check_off + byte - HEAP_ADDR] ^= 0x10;
		assert_int_not_equal(heap_check(&fx->namer.layout, CODE_ADDR), fx->check);
		heap[CODE_ADDR + fx->namer.layout.check_off + byte - HEAP_ADDR] ^= 0x10;
	}
	fx->namer.layout.check_mask = 0x1fe;
	fx->check = heap_check(&fx->namer.layout, CODE_ADDR);
	heap[CODE_ADDR + fx->namer.layout.check_off - HEAP_ADDR] ^= 0x10;
	heap[CODE_ADDR + fx->namer.layout.check_off + 72 - HEAP_ADDR] ^= 0x10;
	assert_int_equal(heap_check(&fx->namer.layout, CODE_ADDR), fx->check);
}

FIXTURE_TEST(freed_code_is_gone)
{
	static const uint64_t counts[] = {
		0,		   /* the last block of its pool, or being freed */
		0x7f1234561230ULL, /* pymalloc: the next free block */
		0x00007f1200000000ULL,
	};

	for (size_t i = 0; i < EP_LEN(counts); i++) {
		heap_put_word(CODE_ADDR + fx->namer.layout.ob_refcnt, counts[i]);
		assert_int_equal(symbolize(fx, CODE_ADDR, fx->check, 0), EP_FRAME_GONE);
	}
	heap_put_word(CODE_ADDR + fx->namer.layout.ob_refcnt, 3);
	heap_put_word(CODE_ADDR + fx->namer.layout.ob_type,
		      0x8a7b6c5d4e3f2a1bULL); /* glibc's key */
	assert_int_equal(symbolize(fx, CODE_ADDR, fx->check, 0), EP_FRAME_GONE);
	fx->namer.layout.code_type_addr = 0; /* not known: not compared */
	assert_int_equal(symbolize(fx, CODE_ADDR, fx->check, 0), 0);
}

FIXTURE_TEST(immortal_code_is_alive)
{
	static const uint64_t counts[] = {
		0xffffffff,	       /* 3.12, 3.13 */
		0xc0000000,	       /* 3.14 */
		0x0080000000000001ULL, /* 3.14: statically allocated */
	};

	for (size_t i = 0; i < EP_LEN(counts); i++) {
		heap_put_word(CODE_ADDR, counts[i]);
		heap_put_word(CODE_ADDR + 80, i); /* a new one, so that it is read */
		assert_int_equal(
			symbolize(fx, CODE_ADDR, heap_check(&fx->namer.layout, CODE_ADDR), 0), 0);
	}
}

static void change_code(void *arg)
{
	heap[CODE_ADDR + 120 - HEAP_ADDR] ^= 8;
}

static void free_code(void *arg)
{
	heap_put_word(CODE_ADDR, HEAP_ADDR + 0x9000);
}

/* Whatever happens between two reads, no name comes of it but the right one. */
EP_TEST_WITH(code_that_goes_while_it_is_read_is_gone, setup, teardown)
{
	struct fixture *fx = *state;
	unsigned int n_reads;

	assert_int_equal(symbolize(fx, CODE_ADDR, fx->check, 0), 0);
	n_reads = fx->host.memory.n_reads;
	for (int way = 0; way < 2; way++) {
		for (unsigned int at = 1; at <= n_reads; at++) {
			teardown(state);
			assert_int_equal(setup(state), 0);
			fx->host.memory.change = way ? free_code : change_code;
			fx->host.memory.change_at = at;
			assert_int_equal(symbolize(fx, CODE_ADDR, fx->check, 0), EP_FRAME_GONE);
			assert_int_equal(fx->host.n_names, 0);
		}
	}
}

EP_TEST_WITH(every_failing_read_is_passed_on, setup, teardown)
{
	static const int errors[] = {-EFAULT, -ESRCH, -EPERM};
	struct fixture *fx = *state;
	unsigned int n_reads;

	assert_int_equal(symbolize(fx, CODE_ADDR, fx->check, 0), 0);
	n_reads = fx->host.memory.n_reads;
	assert_in_range(n_reads, 4, 12);
	for (size_t e = 0; e < EP_LEN(errors); e++) {
		for (unsigned int at = 1; at <= n_reads; at++) {
			bool object = at == 1 || at == n_reads,
			     lines = at >= n_reads - 2 && !object;
			int r;

			teardown(state);
			assert_int_equal(setup(state), 0);
			fx->host.memory.fail_at = at;
			fx->host.memory.fail_with = errors[e];
			r = symbolize(fx, CODE_ADDR, fx->check, 0);
			if (errors[e] != -EFAULT)
				assert_int_equal(r, errors[e]);
			else
				assert_int_equal(r, object ? EP_FRAME_GONE : lines ? 0 : -EBADMSG);
			/* A name without a line is better than none. */
			assert_int_equal(fx->host.n_names, r == 0);
			if (r == 0)
				assert_int_equal(fx->host.line, 0);
			/* nothing of it was kept */
			fx->host.memory.fail_at = 0;
			assert_int_equal(symbolize(fx, CODE_ADDR, fx->check, 0), 0);
		}
	}
}

EP_TEST_WITH(every_failing_allocation_is_passed_on, setup, teardown)
{
	struct fixture *fx = *state;
	struct py_namer namer = {0};
	uint32_t needed;

	heap_arm(0);
	assert_int_equal(symbolize(fx, CODE_ADDR, fx->check, 0), 0);
	needed = heap_wrapped.calls;
	assert_in_range(needed, 3, 8);
	for (unsigned int i = 1; i <= needed; i++) {
		teardown(state);
		assert_int_equal(setup(state), 0);
		heap_arm(i);
		assert_int_equal(symbolize(fx, CODE_ADDR, fx->check, 0), -ENOMEM);
		assert_int_equal(fx->host.n_names, 0);
		(void)heap_disarm();
		assert_int_equal(symbolize(fx, CODE_ADDR, fx->check, 0), 0);
	}
	for (unsigned int i = 1; i <= 2; i++) {
		heap_arm(i);
		assert_int_equal(py_namer_init(&namer), -ENOMEM);
		assert_null(namer.cache);
	}
	(void)heap_disarm();
}

FIXTURE_TEST(code_nowhere_is_gone)
{
	static const uint64_t addrs[] = {
		1, 8, UINT64_MAX, UINT64_MAX - 63, HEAP_ADDR + HEAP_BYTES - 8, 1ULL << 63};

	for (size_t i = 0; i < EP_LEN(addrs); i++)
		assert_int_equal(symbolize(fx, addrs[i], fx->check, 0), EP_FRAME_GONE);
}

FIXTURE_TEST(a_table_that_is_too_long_is_read_to_the_limit)
{
	static uint8_t table[PY_LINES_MAX_BYTES];
	unsigned int reads;

	memset(table, 0xdf, sizeof(table)); /* a line and 16 bytes of code in each byte */
	fake_memory_add(&fx->host.memory, LINE_ADDR + HEAP_BYTES * 16, heap, 64);
	fake_memory_add(&fx->host.memory, LINE_ADDR + HEAP_BYTES * 16 + fx->namer.layout.bytes_data,
			table, sizeof(table));
	heap_put_word(HEAP_ADDR + fx->namer.layout.bytes_size, 1ULL << 40);
	heap_put_word(CODE_ADDR + fx->namer.layout.co_lines, LINE_ADDR + HEAP_BYTES * 16);
	fx->check = heap_check(&fx->namer.layout, CODE_ADDR);
	assert_int_equal(symbolize(fx, CODE_ADDR, fx->check, 16 * 1000), 0);
	assert_int_equal(fx->host.line, FIRST_LINE + 1001);
	assert_int_equal(symbolize(fx, CODE_ADDR, fx->check, 16 * PY_LINES_MAX_BYTES + 2), 0);
	assert_int_equal(fx->host.line, 0);
	/* it is larger than what the cache takes: its bytes are not there */
	assert_in_range(names_cache_bytes(fx->namer.cache), 1, 65536);
	heap_put_word(HEAP_ADDR + fx->namer.layout.bytes_size, PY_LINES_MAX_BYTES / 4);
	assert_int_equal(symbolize(fx, CODE_ADDR, fx->check, 0), 0);
	reads = fx->host.memory.n_reads;
	assert_int_equal(symbolize(fx, CODE_ADDR, fx->check, 16 * 1000), 0);
	assert_int_equal(fx->host.line, FIRST_LINE + 1001);
	assert_int_equal(fx->host.memory.n_reads, reads);
	names_cache_remove(names_cache_peek(fx->namer.cache, 0, CODE_ADDR, fx->check, 0));
	heap_put_word(HEAP_ADDR + fx->namer.layout.bytes_size, UINT64_MAX);
	assert_int_equal(symbolize(fx, CODE_ADDR, fx->check, 0), -EBADMSG);
}

/* ---- layouts ---- */

/* 3.13.0, x86-64. */
static const struct py_code_debug_offsets debug_offsets = {
	.version = PY_VERSION(3, 13),
	.ob_type = 8,
	.co_filename = 112,
	.co_name = 120,
	.co_qualname = 128,
	.co_linetable = 136,
	.co_firstlineno = 68,
	.co_localsplusnames = 96,
	.co_localspluskinds = 104,
	.co_code_adaptive = 200,
	.bytes_ob_size = 16,
	.bytes_ob_sval = 32,
	.unicode_size = 64,
	.unicode_state = 32,
	.unicode_length = 16,
	.unicode_asciiobject_size = 40,
};

EP_TEST(a_new_version_is_checked_by_what_is_told)
{
	struct py_code_debug_offsets in = debug_offsets;
	struct py_code_layout layout;

	in.version = PY_VERSION(3, 16);
	assert_int_equal(py_code_layout_from_debug_offsets(&in, &layout), 0);
	assert_int_equal(layout.check_off, 64);
	assert_int_equal(layout.check_mask, 0x3f0);
	in.version = PY_VERSION(3, 14);
	in.co_linetable = 400; /* moved away: the others are out of reach, and do not count */
	assert_int_equal(py_code_layout_from_debug_offsets(&in, &layout), 0);
	assert_int_equal(layout.check_off, 328);
	assert_int_equal(layout.check_mask, 0x200);
	in.free_threaded = true;
	in.ob_type = 0;
	assert_int_equal(py_code_layout_from_debug_offsets(&in, &layout), 0);
	assert_int_equal(layout.str_kind_shift, 8);
	assert_int_equal(layout.ob_type, 24);
	assert_int_equal(layout.has_refcnt, 0);
}

EP_TEST(nonsense_is_no_layout)
{
	static const uint64_t values[] = {0,	1,	     7,		 1004,
					  4096, 65536 + 112, UINT64_MAX, UINT64_MAX - 7};
	const size_t first = offsetof(struct py_code_debug_offsets, co_filename);

	for (size_t at = first; at < sizeof(debug_offsets); at += sizeof(uint64_t)) {
		for (size_t i = 0; i < EP_LEN(values); i++) {
			struct py_code_debug_offsets in = debug_offsets;
			struct py_code_layout layout;

			memcpy((uint8_t *)&in + at, &values[i], sizeof(values[i]));
			assert_int_equal(py_code_layout_from_debug_offsets(&in, &layout), -ENOTSUP);
		}
	}
}
