/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the frames of processes that are made up, of each release. */
#include "plugins/php/tests/unit/made_php.h"

static void expect(struct made *made, const struct ep_raw_frame *frame, const char *function,
		   const char *file, uint32_t line)
{
	assert_int_equal(name_frame(made, frame), 0);
	assert_string_equal(made->host.function, function);
	assert_string_equal(made->host.file_name, file);
	assert_int_equal(made->host.line, line);
	assert_int_equal(made->host.unnamed, 0);
}

static void expect_freed(struct made *made, const struct ep_raw_frame *frame)
{
	uint64_t before = made->host.counts[PHP_COUNT_GONE];

	assert_int_equal(name_frame(made, frame), 0);
	assert_string_equal(made->host.function, "(freed function)");
	assert_int_equal(made->host.unnamed, EP_UNNAMED_GONE);
	assert_int_equal(made->host.name_flags, EP_NAME_STANDS_IN);
	assert_int_equal(made->host.counts[PHP_COUNT_GONE], before + 1);
}

EP_TEST_EACH(frames_of_each_release_have_names, size_t, i, MADE_RELEASES)
{
	struct made *made = made_new(made_releases[i]);

	for (uint32_t k = 0; k < MADE_CASES; k++) {
		struct made_case one = made_case(made, k);

		for (int again = 0; again < 2; again++) {
			expect(made, &one.frame, one.name, one.file, one.line);
			assert_int_equal(made->host.start_line, one.start_line);
		}
		one.frame.aux |= PHP_NO_LINE;
		expect(made, &one.frame, one.name, one.file, 0);
	}
}

EP_TEST(code_of_files_says_how_it_came_in)
{
	static const char *const names[] = {
		[PHP_CAME_MAIN] = "{main}",
		[PHP_CAME_EVAL] = "eval",
		[PHP_CAME_INCLUDE] = "include /srv/b.php",
		[PHP_CAME_INCLUDE_ONCE] = "include_once /srv/b.php",
		[PHP_CAME_REQUIRE] = "require /srv/b.php",
		[PHP_CAME_REQUIRE_ONCE] = "require_once /srv/b.php",
		[PHP_CAME_OTHERWISE] = "include /srv/b.php",
	};
	struct made *made = made_new(PHP_RELEASE(8, 2));
	struct made_function function = make_function_of(made, NULL, NULL, "/srv/b.php", 0);
	struct ep_raw_frame frame = make_frame(made, &function, 17);

	/* The line is in the frame: its oplines may be gone. */
	for (uint32_t i = 0; i < EP_LEN(names); i++) {
		frame.flags = i << PHP_CAME_SHIFT;
		expect(made, &frame, names[i], "/srv/b.php", 17);
	}
	memset(made->bytes + (function.opcodes - HEAP), 0xff, OPS * PHP_OP_BYTES);
	memset(made->bytes + (function.addr - HEAP), 0xff, PHP_FUNCTION_BYTES);
	frame.flags = 0;
	expect(made, &frame, "{main}", "/srv/b.php", 17);
	frame.aux = php_aux(PHP_KIND_CODE, PHP_NO_LINE);
	expect(made, &frame, "{main}", "/srv/b.php", 0);
}

/* Two scripts whose closures are at the same places, one after the other: each of the 20 bits tells
 * them apart. */
EP_TEST(closures_of_two_scripts_have_their_own_names)
{
	struct made *made = made_new(PHP_RELEASE(8, 2));
	struct made_function function = make_function_of(made, "{closure}", NULL, "/srv/a.php", 0);
	struct ep_raw_frame frame = make_closure_frame(made, &function, 4), other;

	expect(made, &frame, "{closure:/srv/a.php:100}", "/srv/a.php", FIRST_LINE + 2);
	for (uint32_t bit = 0; bit < PHP_CLOSURE_CHECK; bit++) {
		other = frame;
		if (bit < PHP_SHORT_CHECK)
			other.words[0] ^= 1ull << (PHP_ADDRESS_BITS + bit);
		else
			other.aux ^= 1u << (PHP_INDEX_BITS + bit - PHP_SHORT_CHECK);
		expect_freed(made, &other);
	}
	put(made, function.file, &made->bytes[make_string(made, "/srv/b.php") - HEAP],
	    PHP_STRING_BYTES + 10);
	other = make_closure_frame(made, &function, 4);
	expect(made, &other, "{closure:/srv/b.php:100}", "/srv/b.php", FIRST_LINE + 2);
	expect(made, &frame, "{closure:/srv/a.php:100}", "/srv/a.php", FIRST_LINE + 2);
}

/* Closure::call runs a copy that is none. */
EP_TEST(a_closure_that_is_called_as_a_function_has_its_name)
{
	struct made *made = made_new(PHP_RELEASE(7, 4));
	struct made_function function =
		make_function_of(made, "A\\{closure}", "B", "/srv/b.php", 0);
	struct ep_raw_frame frame = make_frame(made, &function, 4);

	expect(made, &frame, "{closure:/srv/b.php:100}", "/srv/b.php", FIRST_LINE + 2);
}

/* 7.4: two copies of one method, of which the class knows the names. */
EP_TEST_EACH(methods_of_traits_have_the_name_that_the_class_has, uint32_t, i, 2)
{
	struct made *made = made_new(i ? PHP_RELEASE(7, 4) : PHP_RELEASE(8, 0));
	struct made_function one = make_function_of(made, "method", NULL, "/srv/b.php", 1u << 27),
			     two;
	uint64_t buckets = make(made, 3 * 32), aliases = make(made, 16), alias = make(made, 32);
	struct ep_raw_frame first, second;

	one.class = make(made, 512);
	put_word(made, one.class + PHP_CLASS_NAME, make_string(made, "A"));
	two = one;
	two.addr = make(made, PHP_FUNCTION_BYTES);
	put_function(made, &one);
	put_function(made, &two);
	put_word(made, one.class + 64 + 16, buckets);
	put_int(made, one.class + 64 + 24, 3);
	put_word(made, buckets + 32, one.addr);
	put_word(made, buckets + 32 + 24, make_string(made, "method"));
	put_word(made, buckets + 64, two.addr);
	put_word(made, buckets + 64 + 24, make_string(made, "another"));
	put_word(made, one.class + 416, aliases);
	put_word(made, aliases, alias);
	put_word(made, alias + 16, make_string(made, "Another"));
	first = make_frame(made, &one, 3);
	second = make_frame(made, &two, 3);
	for (int again = 0; again < 2; again++) {
		expect(made, &first, "A::method", "/srv/b.php", FIRST_LINE + 1);
		expect(made, &second, i ? "A::Another" : "A::method", "/srv/b.php", FIRST_LINE + 1);
	}
	/* Without a list of them it is what it says. */
	two.addr = make(made, PHP_FUNCTION_BYTES);
	put_function(made, &two);
	put_word(made, one.class + 416, 0x10);
	second = make_frame(made, &two, 3);
	expect(made, &second, "A::method", "/srv/b.php", FIRST_LINE + 1);
}

/* A closure of a method: its name is the method's. */
EP_TEST(closures_of_functions_have_their_names)
{
	struct made *made = made_new(PHP_RELEASE(8, 4));
	struct made_function function = make_function_of(made, "m", "A", "/srv/b.php", 0);
	struct ep_raw_frame frame = make_closure_frame(made, &function, 4);

	expect(made, &frame, "A::m", "/srv/b.php", FIRST_LINE + 2);
}

EP_TEST(strange_names_are_one_line)
{
	struct made *made = made_new(PHP_RELEASE(8, 2));
	struct made_function function =
		make_function_of(made, "\xc3\xa9t\xc3\xa9", "A", "/srv/\xff\n.php", 0);
	static const char anonymous[] = "A@anonymous\0/srv/b.php:12$0";
	struct ep_raw_frame frame = make_frame(made, &function, 0);
	static char path[1500];

	expect(made, &frame, "A::\xc3\xa9t\xc3\xa9", "/srv/\xef\xbf\xbd\xef\xbf\xbd.php",
	       FIRST_LINE);
	put_word(made, function.class + PHP_CLASS_NAME,
		 make_bytes(made, anonymous, sizeof(anonymous) - 1));
	frame = make_frame(made, &function, 0);
	expect(made, &frame, "A@anonymous::\xc3\xa9t\xc3\xa9", "/srv/\xef\xbf\xbd\xef\xbf\xbd.php",
	       FIRST_LINE);
	memset(path, 'p', sizeof(path) - 1);
	function = make_function_of(made, "f", NULL, path, 0);
	frame = make_frame(made, &function, 0);
	assert_int_equal(name_frame(made, &frame), 0);
	assert_memory_equal(made->host.file_name, path, 900);
	assert_non_null(strstr(made->host.file_name, "\xe2\x80\xa6"));
}

/* --- what is known ---------------------------------------------------------------------------- */

EP_TEST_EACH(a_known_name_needs_no_read, int, i, 5)
{
	struct made *made = made_new(i == 3 ? PHP_RELEASE(8, 2) : PHP_RELEASE(8, 4));
	struct made_function function = make_function_of(made, i == 2 ? NULL : "{closure:f():100}",
							 "A", i == 1 ? NULL : "/srv/b.php", 0);
	struct ep_raw_frame frame =
		i < 3 ? make_frame(made, &function, 5) : make_closure_frame(made, &function, 5);
	uint32_t reads;

	made->host.memory.n_reads = 0;
	assert_int_equal(name_frame(made, &frame), 0);
	reads = made->host.memory.n_reads;
	/* The function, a string each, the class, a block of oplines. */
	assert_true(reads <= 6);
	assert_int_equal(name_frame(made, &frame), 0);
	if (i != 1 && i != 2)
		frame.aux += 1; /* the same block */
	assert_int_equal(name_frame(made, &frame), 0);
	assert_int_equal(made->host.memory.n_reads, reads);
}

EP_TEST(the_next_block_of_lines_is_read_when_it_is_needed)
{
	struct made *made = made_new(PHP_RELEASE(8, 4));
	struct made_function function = make_function_of(made, "f", NULL, "/srv/b.php", 0);

	uint64_t reads = 0;

	for (uint32_t i = 0; i < OPS; i++) {
		struct ep_raw_frame frame = make_frame(made, &function, i);

		made->host.memory.n_reads = 0;
		expect(made, &frame, "f", "/srv/b.php", FIRST_LINE + i / 2);
		assert_int_equal(made->host.name_flags, 0);
		reads += made->host.memory.n_reads;
	}
	/* Three blocks. */
	assert_true(reads <= 10);
}

/* A part of its block cannot be read: each line is read alone, once. */
EP_TEST(lines_that_are_read_alone_are_remembered)
{
	struct made *made = made_new(PHP_RELEASE(8, 4));
	struct made_function function = make_function_of(made, "f", NULL, "/srv/b.php", 0);
	uint32_t reads = 0;

	made->host.memory.hole = function.opcodes + (PHP_BLOCK_OPS - 1) * PHP_OP_BYTES;
	made->host.memory.hole_bytes = PHP_OP_BYTES;
	for (uint32_t i = 0; i < 8; i++) {
		struct ep_raw_frame frame = make_frame(made, &function, i % 4);

		expect(made, &frame, "f", "/srv/b.php", FIRST_LINE + i % 4 / 2);
		reads = i < 4 ? made->host.memory.n_reads : reads;
	}
	assert_int_equal(made->host.memory.n_reads, reads);
}

EP_TEST(a_new_method_of_a_known_class_needs_three_reads)
{
	struct made *made = made_new(PHP_RELEASE(8, 4));
	struct made_function function = make_function_of(made, "one", "A", "/srv/b.php", 0);
	struct ep_raw_frame frame = make_frame(made, &function, 5);

	expect(made, &frame, "A::one", "/srv/b.php", FIRST_LINE + 2);
	function.name = make_string(made, "two");
	function.addr = make(made, PHP_FUNCTION_BYTES);
	put_function(made, &function);
	frame = make_frame(made, &function, 5);
	made->host.memory.n_reads = 0;
	expect(made, &frame, "A::two", "/srv/b.php", FIRST_LINE + 2);
	assert_int_equal(made->host.memory.n_reads, 3);
	/* Another file, and another class of it, at their addresses. */
	put_word(made, function.class + PHP_CLASS_NAME, make_string(made, "B"));
	function.name = make_string(made, "three");
	function.addr = make(made, PHP_FUNCTION_BYTES);
	put_function(made, &function);
	frame = make_frame(made, &function, 5);
	expect(made, &frame, "B::three", "/srv/b.php", FIRST_LINE + 2);
	put(made, function.file, &made->bytes[make_string(made, "/srv/c.php") - HEAP],
	    PHP_STRING_BYTES + 10);
	frame = make_frame(made, &function, 6);
	expect(made, &frame, "B::three", "/srv/c.php", FIRST_LINE + 3);
}

/* Nobody has wanted the hash of an eval's file. */
EP_TEST(texts_without_a_hash_are_told_by_their_place)
{
	struct made *made = made_new(PHP_RELEASE(8, 4));
	struct made_function function =
		make_function_of(made, "f", NULL, "/srv/b.php(3) : eval()'d code", 0);
	struct ep_raw_frame frame;

	put_word(made, function.file + PHP_STRING_HASH, 0);
	frame = make_frame(made, &function, 5);
	expect(made, &frame, "f", "/srv/b.php(3) : eval()'d code", FIRST_LINE + 2);
	/* Another text, with a class where the first one's was. */
	function.class = make_class(made, "A");
	function.name = make_string(made, "g");
	put_function(made, &function);
	frame = make_frame(made, &function, 5);
	expect(made, &frame, "A::g", "/srv/b.php(3) : eval()'d code", FIRST_LINE + 2);
	put(made, fake_host_word(&made->host, function.class + PHP_CLASS_NAME),
	    &made->bytes[make_string(made, "B") - HEAP], PHP_STRING_BYTES + 1);
	function.name = make_string(made, "h");
	put_function(made, &function);
	frame = make_frame(made, &function, 5);
	expect(made, &frame, "B::h", "/srv/b.php(3) : eval()'d code", FIRST_LINE + 2);
	function.file = make_string(made, "/srv/c.php(3) : eval()'d code");
	put_word(made, function.file + PHP_STRING_HASH, 0);
	put_function(made, &function);
	frame = make_frame(made, &function, 5);
	expect(made, &frame, "B::h", "/srv/c.php(3) : eval()'d code", FIRST_LINE + 2);
}

/* Without opcache a request's code is gone with it, and the same script comes back, there or
 * elsewhere. */
EP_TEST(what_had_the_same_check_before_gives_the_name)
{
	struct made *made = made_new(PHP_RELEASE(8, 4));
	struct made_function function = make_function_of(made, "f", "A", "/srv/b.php", 0);
	struct made_function other = function;
	struct ep_raw_frame frame, moved;

	other.addr = make(made, PHP_FUNCTION_BYTES);
	other.opcodes = make_ops(made);
	put_function(made, &other);
	frame = make_frame(made, &function, 3);
	moved = make_frame(made, &other, 3);
	expect(made, &frame, "A::f", "/srv/b.php", FIRST_LINE + 1);
	memset(made->bytes, 0x55, sizeof(made->bytes));
	expect(made, &frame, "A::f", "/srv/b.php", FIRST_LINE + 1);
	/* But not a line that nobody has read, there. */
	expect(made, &moved, "A::f", "/srv/b.php", 0);
	assert_int_equal(made->host.name_flags, EP_NAME_STANDS_IN);
	frame.aux += PHP_BLOCK_OPS;
	expect(made, &frame, "A::f", "/srv/b.php", 0);
	assert_int_equal(made->host.name_flags, EP_NAME_STANDS_IN);
}

/* The same code is known wherever a request puts it: its lines are read. */
EP_TEST(the_same_function_elsewhere_is_known)
{
	struct made *made = made_new(PHP_RELEASE(8, 4));
	struct made_function function = make_function_of(made, "f", "A", "/srv/b.php", 0), other;
	struct ep_raw_frame frame = make_frame(made, &function, 3), moved;

	other = make_function_of(made, "f", "A", "/srv/b.php", 0);
	moved = make_frame(made, &other, 3);
	expect(made, &frame, "A::f", "/srv/b.php", FIRST_LINE + 1);
	expect(made, &moved, "A::f", "/srv/b.php", FIRST_LINE + 1);
	assert_int_equal(names_cache_len(made->namer.cache), 7);
	assert_int_equal(frame.words[0] >> PHP_ADDRESS_BITS, moved.words[0] >> PHP_ADDRESS_BITS);
}

EP_TEST(lines_of_closures_whose_file_is_gone_are_not_read)
{
	struct made *made = made_new(PHP_RELEASE(8, 4));
	struct made_function function =
		make_function_of(made, "{closure:f():100}", NULL, "/srv/b.php", 0);
	struct ep_raw_frame frame = make_closure_frame(made, &function, 3);

	expect(made, &frame, "{closure:f():100}", "/srv/b.php", FIRST_LINE + 1);
	put_word(made, function.file + PHP_STRING_LEN, 3);
	frame.aux += PHP_BLOCK_OPS;
	expect(made, &frame, "{closure:f():100}", "/srv/b.php", 0);
	assert_int_equal(made->host.name_flags, EP_NAME_STANDS_IN);
}

/* --- what has changed ------------------------------------------------------------------------- */

EP_TEST_EACH(what_is_something_else_now_has_no_name, size_t, i, 8)
{
	struct made *made = made_new(PHP_RELEASE(8, 4));
	struct made_function function = make_function_of(made, "name", "A", "/srv/b.php", 0);
	const struct php_function_layout *layout = &made->layout.function;
	struct ep_raw_frame frame = make_frame(made, &function, 5);
	uint64_t class_name = fake_host_word(&made->host, function.class + PHP_CLASS_NAME);
	const struct {
		uint64_t addr, value;
		size_t bytes;
	} changes[] = {
		{function.addr + PHP_FUNCTION_NAME, make_string(made, "mean"), 8},
		{function.name + PHP_STRING_HASH, 1ull << 63, 8},
		{function.name + PHP_STRING_BYTES, 'g', 1}, /* another text with the old hash */
		{class_name + PHP_STRING_BYTES, 'B', 1},
		{function.addr + layout->opcodes, make_ops(made), 8},
		{function.addr + layout->line_start, 7, 4},
		{function.file + PHP_STRING_LEN, 5, 8},
		{function.addr + PHP_FUNCTION_SCOPE, 0x10, 8},
	};

	put(made, changes[i].addr, &changes[i].value, changes[i].bytes);
	expect_freed(made, &frame);
}

static void change(void *arg)
{
	struct made *made = arg;

	memset(made->bytes, 0x11, sizeof(made->bytes));
}

/* The program goes on while it is read: the right name, or none. */
EP_TEST(a_function_that_goes_while_it_is_read_has_no_wrong_name)
{
	for (uint32_t at = 1; at < 8; at++) {
		struct made *made = made_new(PHP_RELEASE(8, 4));
		struct made_function function =
			make_function_of(made, "name", "A", "/srv/b.php", 0);
		struct ep_raw_frame frame = make_frame(made, &function, 5);

		made->host.memory.n_reads = 0;
		made->host.memory.change_at = at;
		made->host.memory.change = change;
		made->host.memory.change_arg = made;
		if (at < 6) {
			expect_freed(made, &frame);
		} else {
			assert_int_equal(name_frame(made, &frame), 0);
			assert_string_equal(made->host.function, "A::name");
			assert_true(made->host.line == (at == 6 ? 0 : FIRST_LINE + 2));
		}
	}
}

EP_TEST(a_process_that_is_gone_is_told_until_something_is_known)
{
	struct made *made = made_new(PHP_RELEASE(8, 4));
	struct made_function function = make_function_of(made, "f", NULL, "/srv/b.php", 0);
	struct ep_raw_frame frame = make_frame(made, &function, 5), other;

	made->host.memory.n_reads = 0;
	made->host.memory.fail_at = 1;
	made->host.memory.fail_with = -ESRCH;
	assert_int_equal(name_frame(made, &frame), -ESRCH);
	assert_int_equal(made->host.counts[PHP_COUNT_GONE], 0);
	assert_int_equal(name_frame(made, &frame), 0);
	function = make_function_of(made, "g", NULL, "/srv/b.php", 0);
	other = make_frame(made, &function, 5);
	made->host.memory.fail_at = made->host.memory.n_reads + 1;
	expect_freed(made, &other);
	expect(made, &frame, "f", "/srv/b.php", FIRST_LINE + 2);
}

EP_TEST(frames_that_are_none_are_refused)
{
	struct made *made = made_new(PHP_RELEASE(8, 4));
	struct ep_raw_frame frame = {.aux = php_aux(PHP_KIND_CLOSURE, 0), .n_words = 2};

	assert_int_equal(name_frame(made, &frame), -EBADMSG);
	frame = (struct ep_raw_frame){.aux = php_aux(PHP_N_KINDS, 0), .n_words = 3};
	assert_int_equal(name_frame(made, &frame), -EBADMSG);
	frame = (struct ep_raw_frame){.aux = php_aux(PHP_KIND_FUNCTION, 0), .n_words = 1};
	assert_int_equal(name_frame(made, &frame), -EBADMSG);
	frame = (struct ep_raw_frame){.aux = php_aux(PHP_KIND_UNREADABLE, PHP_NO_LINE),
				      .n_words = 1};
	assert_int_equal(name_frame(made, &frame), 0);
	assert_string_equal(made->host.function, "(unreadable function)");
	assert_int_equal(made->host.unnamed, EP_UNNAMED_UNREADABLE);
	/* The op that brought the code in could not be read. */
	frame = (struct ep_raw_frame){.aux = php_aux(PHP_KIND_CODE, 1),
				      .n_words = 2,
				      .flags = PHP_CAME_UNKNOWN << PHP_CAME_SHIFT};
	made->host.unnamed = 0;
	assert_int_equal(name_frame(made, &frame), 0);
	assert_string_equal(made->host.function, "(unreadable function)");
	assert_int_equal(made->host.unnamed, EP_UNNAMED_UNREADABLE);
}

EP_TEST(lengths_and_lines_are_bounded)
{
	struct made *made = made_new(PHP_RELEASE(8, 4));
	struct made_function function = make_function_of(made, "f", NULL, "/srv/b.php", 0);
	struct ep_raw_frame frame;

	/* Before its first line: no opline of this function. */
	put_int(made, function.opcodes + 5 * PHP_OP_BYTES + PHP_OP_LINENO, FIRST_LINE - 1);
	put_int(made, function.opcodes + 6 * PHP_OP_BYTES + PHP_OP_LINENO, UINT32_MAX);
	for (uint32_t i = 5; i < 7; i++) {
		frame = make_frame(made, &function, i);
		expect(made, &frame, "f", "/srv/b.php", 0);
	}
	/* The last string before memory ends. */
	function.file = HEAP + HEAP_BYTES - 40;
	put_word(made, function.file + PHP_STRING_LEN, 2);
	put(made, function.file + PHP_STRING_BYTES, "/f", 2);
	put_function(made, &function);
	frame = make_frame(made, &function, 0);
	expect(made, &frame, "f", "/f", FIRST_LINE);
	put_word(made, function.file + PHP_STRING_LEN, UINT64_MAX);
	frame = make_frame(made, &function, 0);
	expect_freed(made, &frame);
}
