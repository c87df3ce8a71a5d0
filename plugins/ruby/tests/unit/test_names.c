/* SPDX-License-Identifier: Apache-2.0 */
/* Names and places of frames, over a process that is made up, as each release has it. */
#include "plugins/ruby/tests/unit/made_ruby.h"

/* classes have names that can be read */
#define NAMED(made) ((made)->layout.release != RUBY_RELEASE(3, 2))

static void expect(struct made *made, const struct ep_raw_frame *frame, const char *function,
		   const char *file, uint32_t line)
{
	assert_int_equal(name_frame(made, frame), 0);
	assert_string_equal(made->host.function, function);
	assert_string_equal(made->host.file_name, file);
	assert_int_equal(made->host.line, line);
}

EP_TEST_EACH(labels_get_the_class_of_the_owner, size_t, i, MADE_RELEASES)
{
	static const struct {
		const char *label, *want, *without;
	} rows[] = {
		{"m", "A::B#m", "m"},
		{"block (2 levels) in m", "block (2 levels) in A::B#m", "block (2 levels) in m"},
		{"ensure in rescue in block in m", "block in A::B#m", "block in m"},
		{"<=>", "A::B#<=>", "<=>"},
		{"<", "A::B#<", "<"},
		{"gr\xc3\xb6\xc3\x9f"
		 "e?",
		 "A::B#gr\xc3\xb6\xc3\x9f"
		 "e?",
		 "gr\xc3\xb6\xc3\x9f"
		 "e?"},
		{"<top (required)>", "<top (required)>", "<top (required)>"},
		{"singleton class", "singleton class", "singleton class"},
		{"rescue in <main>", "<main>", "<main>"},
	};
	struct made *made = made_new(made_releases[i]);
	uint64_t class = make_class(made, RUBY_TYPE_CLASS, "A::B"),
		 path = make_string(made, "(eval)");
	uint64_t entry = make_entry(made, class, EACH);

	for (size_t j = 0; j < sizeof(rows) / sizeof(rows[0]); j++) {
		struct ep_raw_frame frame =
			make_frame(made, make_body(made, rows[j].label, path), entry, 1);

		expect(made, &frame, NAMED(made) ? rows[j].want : rows[j].without, "(eval)", 10);
		assert_int_equal(made->host.start_line, 9);
		frame = make_frame(made, make_body(made, rows[j].label, path), 0, 1);
		expect(made, &frame, rows[j].without, "(eval)", 10);
	}
}

EP_TEST_EACH(what_has_no_permanent_name_is_left_out, size_t, i, MADE_RELEASES)
{
	struct made *made = made_new(made_releases[i]);
	uint64_t module = make_class(made, RUBY_TYPE_MODULE, "Long::Enough::To::Be::Elsewhere");
	uint64_t anonymous = make_class(made, RUBY_TYPE_CLASS, NULL);
	uint64_t temporary = make_class(made, RUBY_TYPE_CLASS, "#<Class:0x01>::A");
	uint64_t included = make_class_with(made, RUBY_TYPE_ICLASS, 0, 0, 0);
	const struct {
		uint64_t owner;
		const char *want;
	} rows[] = {
		{module, "Long::Enough::To::Be::Elsewhere#m"},
		{make_singleton(made, module), "Long::Enough::To::Be::Elsewhere.m"},
		{included, "Long::Enough::To::Be::Elsewhere#m"},
		{anonymous, "m"},
		{temporary, "m"},
		{make_singleton(made, anonymous), "m"},
		{make_singleton(made, make_string(made, "an object")), "m"},
		{make_singleton(made, make_singleton(made, module)), "m"},
	};

	put_word(made, included + 8, module);
	for (size_t j = 0; j < sizeof(rows) / sizeof(rows[0]); j++) {
		uint64_t entry = make_entry(made, rows[j].owner, EACH);
		struct ep_raw_frame frame =
			make_frame(made, make_body(made, "m", make_string(made, "/f")), entry, 1);

		expect(made, &frame, NAMED(made) ? rows[j].want : "m", "/f", 10);
	}
}

/* A body that was freed, and is as it was: its iseq is cleared, or another one's. */
EP_TEST_EACH(what_is_freed_and_not_changed_has_no_name, size_t, i, MADE_RELEASES)
{
	struct made *made = made_new(made_releases[i]);

	for (uint64_t change = 0; change < 2; change++) {
		uint64_t body = make_body(made, "<main>", make_string(made, "/f"));
		struct ep_raw_frame frame = make_frame(made, body, 0, 1);

		put_word(made,
			 fake_host_word(&made->host, body + made->layout.body.local) + 16 * change,
			 0);
		assert_int_equal(name_frame(made, &frame), EP_FRAME_GONE);
	}
}

/* A path that was freed before its code may be another string now. */
EP_TEST(path_looks_like_a_file)
{
	static const struct {
		const char *path;
		uint32_t type;
		int want;
	} rows[] = {
		{"block in m", 1, -EBADMSG},
		{"block (2 levels) in m", 1, -EBADMSG},
		{"<class:A>", 1, -EBADMSG},
		{"<top (required)>", 1, -EBADMSG},
		{"(erb)", 6, 0},
		{"/a/Gemfile", 6, 0},
		{"a.rb", 6, 0},
		{"-e", 6, 0},
		{"<main>", 6, 0},
		{"3804", 6, -EBADMSG},
		{"number 3584", 6, -EBADMSG},
	};
	struct made *made = made_new(RUBY_RELEASE(3, 1));

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t body = make_body(made, "m", make_string(made, rows[i].path));
		struct ep_raw_frame frame;

		put_int(made, body, rows[i].type);
		frame = make_frame(made, body, 0, 1);
		assert_int_equal(name_frame(made, &frame), rows[i].want);
	}
}

EP_TEST_EACH(what_was_moved_is_followed, size_t, i, MADE_RELEASES)
{
	struct made *made = made_new(made_releases[i]);
	uint64_t class = make_class(made, RUBY_TYPE_CLASS, "A"), path = make_string(made, "/f");
	uint64_t body = make_body(made, "m", path), entry = make_entry(made, class, EACH);
	struct ep_raw_frame frame = make_frame(made, body, entry, 1), old;
	uint64_t entry_now = make(made, 40), class_now = make(made, 192),
		 path_now = make_string(made, "/g");
	const char *want = NAMED(made) ? "A#m" : "m";

	put(made, class_now, fake_memory_find(&made->host.memory, class, 192), 192);
	put(made, entry_now, fake_memory_find(&made->host.memory, entry, 40), 40);
	make_moved(made, class, class_now);
	make_moved(made, entry, entry_now);
	make_moved(made, path, path_now);
	expect(made, &frame, want, "/g", 10);
	/* Its name is known, wherever the entry was and is. */
	old = make_frame(made, body, entry_now, 1);
	assert_int_equal(old.words[0], frame.words[0]);
	put_word(made, entry, 0);
	made->host.memory.n_reads = 0;
	expect(made, &frame, want, "/g", 10);
	expect(made, &old, want, "/g", 10);
	assert_int_equal(made->host.memory.n_reads, 0);
	/* For ever. */
	made->next += 16;
	entry = make_entry(made, class_now, EACH);
	frame = make_frame(made, body, entry, 1);
	make_moved(made, entry, entry);
	assert_int_equal(name_frame(made, &frame), EP_FRAME_GONE);
}

/* The collector compacts and has protected an object's page: its name is there once it is done. */
EP_TEST_EACH(what_is_protected_is_asked_for_again, size_t, i, MADE_RELEASES)
{
	struct made *made = made_new(made_releases[i]);
	uint64_t class = make_class(made, RUBY_TYPE_CLASS, "A"), path = make_string(made, "/f");
	uint64_t body = make_body(made, "m", path), entry = make_entry(made, class, EACH);
	const uint64_t protected[] = {class, path, entry, fake_host_word(&made->host, body + 80)};
	struct ep_raw_frame frame = make_frame(made, body, entry, 1);

	for (size_t j = NAMED(made) ? 0 : 1; j < sizeof(protected) / sizeof(protected[0]); j++) {
		made->host.memory.hole = protected[j];
		made->host.memory.hole_bytes = 16;
		assert_int_equal(name_frame(made, &frame), EP_NOT_YET);
	}
	made->host.memory.hole = body; /* no object: it is freed when its code is */
	assert_int_equal(name_frame(made, &frame), EP_FRAME_GONE);
	made->host.memory.hole_bytes = 0;
	expect(made, &frame, NAMED(made) ? "A#m" : "m", "/f", 10);
}

EP_TEST(frames_that_are_no_methods)
{
	static const struct {
		uint32_t kind;
		uint64_t word;
		const char *want;
		uint32_t unnamed;
	} rows[] = {
		{RUBY_KIND_COLLECTOR, RUBY_MARKING, "(garbage collection: marking)", 0},
		{RUBY_KIND_COLLECTOR, RUBY_SWEEPING, "(garbage collection: sweeping)", 0},
		{RUBY_KIND_COLLECTOR, RUBY_COMPACTING, "(garbage collection: compacting)", 0},
		{RUBY_KIND_COLLECTOR, 77, "(garbage collection)", 0},
		{RUBY_KIND_UNREADABLE, 0x1000, "(unreadable)", EP_UNNAMED_UNREADABLE},
	};
	struct made *made = made_new(RUBY_RELEASE(3, 1));
	struct ep_raw_frame frame = {.n_words = 2, .aux = ruby_aux(9, 0)};

	for (size_t j = 0; j < sizeof(rows) / sizeof(rows[0]); j++) {
		struct ep_raw_frame one = {
			.aux = ruby_aux(rows[j].kind, 0), .n_words = 1, .words = {rows[j].word}};

		expect(made, &one, rows[j].want, "", 0);
		assert_int_equal(made->host.unnamed, rows[j].unnamed);
	}
	assert_int_equal(name_frame(made, &frame), -EBADMSG);
	frame.aux = ruby_aux(RUBY_KIND_ISEQ, 0); /* no body */
	assert_int_equal(name_frame(made, &frame), -EBADMSG);
	frame.n_words = 0;
	assert_int_equal(name_frame(made, &frame), -EBADMSG);
}

EP_TEST_EACH(a_class_proves_the_layout, size_t, i, MADE_RELEASES)
{
	struct made *made = made_new(made_releases[i]);
	uint64_t object = fake_host_word(&made->host, made->namer.object_addr);

	assert_int_equal(ruby_names_is_class(&made->namer, object, "Object"), 0);
	assert_int_equal(ruby_names_is_class(&made->namer, object, "String"),
			 NAMED(made) ? -ENOTSUP : 0);
	assert_int_equal(ruby_names_is_class(&made->namer, 0, "Object"), EP_NOT_YET);
	assert_int_equal(ruby_names_is_class(&made->namer, make_class(made, RUBY_TYPE_CLASS, NULL),
					     "Object"),
			 NAMED(made) ? EP_NOT_YET : 0);
	assert_int_equal(ruby_names_is_class(&made->namer, make_string(made, "Object"), "Object"),
			 -ENOTSUP);
	assert_int_equal(ruby_names_is_class(&made->namer, 0x50000000, "Object"), -EFAULT);
}

/* To 3.1: the two IDs are not known before both classes have their names. */
EP_TEST(ids_are_learned_when_they_are_there)
{
	struct made *made = made_new(RUBY_RELEASE(3, 1));
	uint64_t string = fake_host_word(&made->host, made->namer.string_addr), object;
	uint64_t ext = fake_host_word(&made->host, string + 24);

	put_word(made, string + 24, 0);
	object = fake_host_word(&made->host, made->namer.object_addr);
	assert_int_equal(ruby_names_is_class(&made->namer, object, "Object"), EP_NOT_YET);
	put_word(made, string + 24, ext);
	assert_int_equal(ruby_names_is_class(&made->namer, object, "Object"), 0);
	assert_int_equal(made->ids.path, PATH_ID);
	assert_int_equal(made->ids.attached, ATTACHED_ID);
}

/* vm_core.h: what no fixture has. 4.0 has lvar_states before local_iseq. */
EP_TEST(layouts_of_releases_without_a_fixture)
{
	static const struct {
		uint32_t major, minor, info, parent, local;
	} rows[] = {{2, 5, 112, 168, 176},
		    {3, 2, 112, 160, 168},
		    {4, 0, 112, 160, 176},
		    {4, 1, 112, 160, 176}};
	struct ruby_layout layout;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_true(ruby_layout_find(rows[i].major, rows[i].minor, &layout));
		assert_int_equal(layout.body.info, rows[i].info);
		assert_int_equal(layout.body.parent, rows[i].parent);
		assert_int_equal(layout.body.local, rows[i].local);
	}
	assert_false(ruby_layout_find(2, 4, &layout));
}

/* --- lines ------------------------------------------------------------------------------------ */

/* All positions of an iseq whose instructions have 1 to 5 words, and each its line. */
EP_TEST_EACH(tables_of_lines, size_t, i, MADE_RELEASES)
{
	static uint32_t starts[2000], lines[2000];
	struct made *made = made_new(made_releases[i]);
	uint32_t n = 0, positions = 0, at = 0;
	uint64_t body = make(made, 256);
	struct ruby_lines found;

	for (; n < 700; positions += n % 5 + 1) {
		starts[n] = positions;
		lines[n] = n % 7 ? 100 + n / 3 : 50;
		n++;
	}
	make_lines(made, body, starts, lines, n, positions);
	assert_int_equal(ruby_lines_read(&made->namer.memory, &made->layout,
					 fake_memory_find(&made->host.memory, body, 256), &found),
			 0);
	for (uint32_t position = 0; position < positions; position++) {
		at += at + 1 < n && starts[at + 1] == position;
		assert_int_equal(names_find_line(found.runs, found.len, position), lines[at]);
	}
	assert_int_equal(names_find_line(found.runs, found.len, UINT32_MAX), lines[n - 1]);
	ruby_lines_fini(&found);
}

EP_TEST(lengths_are_bounded)
{
	struct made *made = made_new(RUBY_RELEASE(3, 3));
	uint64_t body = make_body(made, "m", make_string(made, "/f"));
	struct ep_raw_frame frame;

	put_int(made, body + made->layout.body.info_size, UINT32_MAX);
	frame = make_frame(made, body, 0, 1);
	assert_int_equal(name_frame(made, &frame), 0);
	assert_true(made->host.memory.n_bytes < 1 << 20);
	body = make_body(made, "m", make_string(made, "/f"));
	put_word(made, fake_host_word(&made->host, body + 80) + 16, UINT64_MAX);
	frame = make_frame(made, body, 0, 1);
	assert_int_equal(name_frame(made, &frame), 0);
	assert_non_null(strstr(made->host.function, "\xe2\x80\xa6"));
}
