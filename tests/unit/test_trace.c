/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf-profiler/unwinder.h"
#include "tests/kit/test.h"
#include "tests/unit/trace_store.h"

static struct event event, known; /* those that a test writes */

/* A trace of two native frames, one kernel frame on top. */
static void make_trace(struct event *to, uint64_t hash, uint32_t pid, uint64_t va)
{
	event_init(to, EP_EVENT_TRACE, hash, pid);
	event_kernel(to, 0xffffffff81000010);
	event_user(to, EP_FRAME_NATIVE, 0, 5, va);
	event_user(to, EP_FRAME_NATIVE, EP_FRAME_RETURN_ADDRESS, 5, va + 0x100);
}

static void add_trace(struct ep_store *store, uint64_t hash, uint32_t pid, uint64_t va)
{
	make_trace(&event, hash, pid, va);
	add_event(store, &event);
}

#define STORE_TEST(name) EP_TEST_OF(name, struct ep_store *store, new_store(100, NULL))

STORE_TEST(known_trace_counts_on_its_row)
{
	struct ep_interval *iv;

	make_trace(&event, 42, 7, 0x1000);
	event_init(&known, EP_EVENT_KNOWN, 42, 7);
	add_event(store, &event);
	for (int i = 0; i < 9; i++)
		add_event(store, &known);
	iv = seal(store, 2000);
	assert_int_equal(ep_interval_n_traces(iv), 1);
	assert_int_equal(ep_interval_n_rows(iv), 1);
	assert_int_equal(ep_interval_row(iv, 0)->count, 10);
	assert_int_equal(ep_interval_samples(iv), 10);
	assert_int_equal(ep_interval_trace(iv, 1)->n_frames, 3);
	assert_int_equal(ep_interval_trace(iv, 1)->error, 0);
}

/* Sampling begins later than the store was made; a sample that is there holds the beginning. */
STORE_TEST(an_interval_begins_when_sampling_does)
{
	struct ep_interval *iv;

	ep_store_begin(store, 700);
	add_trace(store, 42, 7, 0x1000);
	ep_store_begin(store, 900);
	iv = seal(store, 2000);
	assert_int_equal(ep_interval_start_ns(iv), 700);
	assert_int_equal(ep_interval_end_ns(iv), 2000);
}

STORE_TEST(what_is_complete_and_what_was_due_is_known_before_the_seal)
{
	const struct ep_interval *current = ep_store_current(store);
	struct ep_interval *iv;

	add_trace(store, 42, 7, 0x1000);
	make_trace(&event, 43, 7, 0x1000);
	event.sample.error = EP_ERROR_BAD_READ;
	add_event(store, &event);
	ep_store_add_due(store, 10);
	ep_store_add_due(store, 5);
	assert_int_equal(ep_interval_samples(current), 2);
	assert_int_equal(ep_interval_complete(current), 1);
	assert_int_equal(ep_interval_due(current), 15);
	iv = seal(store, 2000);
	assert_int_equal(ep_interval_due(iv), 15);
	assert_int_equal(ep_interval_due(ep_store_current(store)), 0);
}

STORE_TEST(rows_differ_by_thread_cpu_and_comm)
{
	struct ep_interval *iv;

	add_trace(store, 42, 7, 0x1000);
	event_init(&known, EP_EVENT_KNOWN, 42, 7);
	known.sample.tid = 8;
	add_event(store, &known);
	known.sample.event.cpu = 3;
	add_event(store, &known);
	memcpy(known.sample.comm, "other", 6);
	add_event(store, &known);
	add_event(store, &known);
	iv = seal(store, 2000);
	assert_int_equal(ep_interval_n_rows(iv), 4);
	assert_int_equal(ep_interval_row(iv, 3)->count, 2);
}

STORE_TEST(equal_hash_of_different_stacks_stays_apart)
{
	static struct event a, b;
	struct ep_interval *iv;

	make_trace(&a, 42, 7, 0x1000);
	make_trace(&b, 42, 7, 0x2000);
	add_event(store, &a);
	add_event(store, &b);
	add_event(store, &b);
	assert_int_equal(ep_store_counters(store)->collisions, 1);
	iv = seal(store, 2000);
	assert_int_equal(ep_interval_n_traces(iv), 2);
	assert_int_equal(ep_interval_row(iv, 0)->count, 1);
	assert_int_equal(ep_interval_row(iv, 1)->count, 2);
}

/* A pid that is used again is another process, even with an equal hash. */
STORE_TEST(equal_hash_of_different_processes_stays_apart)
{
	static struct event a, b;
	struct ep_interval *iv;

	make_trace(&a, 42, 7, 0x1000);
	make_trace(&b, 42, 7, 0x1000);
	b.sample.start_ns++;
	add_event(store, &a);
	add_event(store, &b);
	event_init(&a, EP_EVENT_KNOWN, 42, 7);
	a.sample.start_ns += 5;
	add_event(store, &a);
	assert_int_equal(ep_store_counters(store)->unknown, 1);
	iv = seal(store, 2000);
	assert_int_equal(ep_interval_n_processes(iv), 3);
	assert_int_equal(ep_interval_n_traces(iv), 3);
}

STORE_TEST(known_of_previous_interval_is_copied)
{
	struct ep_interval *first, *second;

	make_trace(&event, 42, 7, 0x1000);
	event_init(&known, EP_EVENT_KNOWN, 42, 7);
	add_event(store, &event);
	first = seal(store, 2000);
	add_event(store, &known);
	add_event(store, &known);
	second = seal(store, 2000);
	assert_int_equal(ep_store_counters(store)->copied, 1);
	assert_int_equal(ep_store_counters(store)->unknown, 0);
	assert_int_equal(ep_interval_trace(second, 1)->n_frames, 3);
	assert_int_equal(ep_interval_row(second, 0)->count, 2);
	assert_memory_equal(ep_interval_frame_ids(first, ep_interval_trace(first, 1)),
			    ep_interval_frame_ids(second, ep_interval_trace(second, 1)),
			    3 * sizeof(uint32_t));
}

STORE_TEST(unknown_hash_becomes_an_error_frame)
{
	struct ep_interval *iv;

	event_init(&known, EP_EVENT_KNOWN, 42, 7);
	add_event(store, &known);
	known.sample.hash = 43;
	add_event(store, &known);
	add_trace(store, 42, 7, 0x1000); /* its frames come late */
	known.sample.hash = 42;
	add_event(store, &known);
	assert_int_equal(ep_store_counters(store)->collisions, 0);
	assert_int_equal(ep_store_counters(store)->unknown, 2);
	iv = seal(store, 2000);
	assert_int_equal(ep_interval_samples(iv), 4);
	assert_int_equal(ep_interval_n_traces(iv), 2);
	assert_int_equal(ep_interval_trace(iv, 1)->error, EP_ERROR_LOST);
	assert_int_equal(*ep_interval_frame_ids(iv, ep_interval_trace(iv, 1)), EP_ERROR_LOST);
	assert_int_equal(ep_interval_row(iv, 0)->count, 2);
	assert_int_equal(ep_interval_row(iv, 1)->count, 2);
}

STORE_TEST(incomplete_stack_ends_in_its_error_frame_once)
{
	static struct event said, sent;
	struct ep_interval *iv;

	make_trace(&said, 1, 7, 0x1000);
	said.sample.error = EP_ERROR_BAD_READ;
	make_trace(&sent, 2, 7, 0x1000);
	sent.sample.error = EP_ERROR_BAD_READ;
	event_user(&sent, EP_FRAME_ERROR, 0, EP_ERROR_BAD_READ, 0xdead);
	add_event(store, &said);
	add_event(store, &sent);
	iv = seal(store, 2000);
	for (uint32_t id = 1; id <= 2; id++) {
		const struct ep_trace *trace = ep_interval_trace(iv, id);

		assert_int_equal(trace->n_frames, 4);
		assert_int_equal(trace->error, EP_ERROR_BAD_READ);
		assert_int_equal(ep_interval_frame_ids(iv, trace)[3], EP_ERROR_BAD_READ);
	}
}

/* The frame that tells of the kernel's part is there, and says nothing of the user's. */
STORE_TEST(kernels_part_is_cut_and_the_stack_is_incomplete)
{
	struct ep_interval *iv;
	const uint32_t *ids;

	event_init(&event, EP_EVENT_TRACE, 1, 7);
	event_user(&event, EP_FRAME_ERROR, 0, EP_ERROR_KERNEL_DEPTH, 0);
	event_user(&event, EP_FRAME_NATIVE, 0, 5, 0x1000);
	event.sample.error = EP_ERROR_KERNEL_DEPTH;
	add_event(store, &event);
	event.sample.hash = 2;
	event.sample.error = EP_ERROR_NOT_ANALYSED;
	add_event(store, &event);
	iv = seal(store, 2000);
	assert_int_equal(ep_interval_trace(iv, 1)->n_frames, 2);
	assert_int_equal(ep_interval_trace(iv, 1)->error, EP_ERROR_KERNEL_DEPTH);
	assert_int_equal(ep_interval_trace(iv, 2)->n_frames, 3);
	assert_int_equal(ep_interval_trace(iv, 2)->error, EP_ERROR_NOT_ANALYSED);
	ids = ep_interval_frame_ids(iv, ep_interval_trace(iv, 2));
	assert_int_equal(ids[0], EP_ERROR_KERNEL_DEPTH);
	assert_int_equal(ids[2], EP_ERROR_NOT_ANALYSED);
}

/* Samples of a process that is being analysed: their addresses are placed one by one. */
STORE_TEST(raw_samples_that_changed_are_no_collision)
{
	struct ep_interval *iv;

	for (uint32_t executable = 0; executable < 2; executable++) {
		event_init(&event, EP_EVENT_TRACE, 1, 7);
		event.sample.flags = EP_SAMPLE_RAW;
		event_user(&event, EP_FRAME_NATIVE, 0, executable, 0x1000);
		add_event(store, &event);
	}
	assert_int_equal(ep_store_counters(store)->collisions, 0);
	iv = seal(store, 2000);
	assert_int_equal(ep_interval_n_traces(iv), 2);
}

STORE_TEST(stack_without_any_frame_says_so)
{
	struct ep_interval *iv;

	event_init(&event, EP_EVENT_TRACE, 9, 7);
	add_event(store, &event);
	iv = seal(store, 2000);
	assert_int_equal(ep_interval_trace(iv, 1)->error, EP_ERROR_LOST);
}

STORE_TEST(malformed_events_are_refused)
{
	static const struct {
		const char *label;
		uint32_t type;
		uint64_t hash;
		uint16_t n_kernel, n_frames, n_words;
		uint64_t header;
		size_t bytes;
	} rows[] = {
		{"no header", EP_EVENT_KNOWN, 1, 0, 0, 0, 0, 63},
		{"hash 0", EP_EVENT_KNOWN, 0, 0, 0, 0, 0, 64},
		{"no sample", EP_EVENT_EXIT, 1, 0, 0, 0, 0, 64},
		{"kernel words missing", EP_EVENT_TRACE, 1, 2, 0, 0, 0, 72},
		{"too many kernel", EP_EVENT_TRACE, 1, EP_MAX_KERNEL + 1, 0, 0, 0, 20000},
		{"too many words", EP_EVENT_TRACE, 1, 0, 0, EP_MAX_WORDS + 1, 0, 30000},
		{"more frames than words", EP_EVENT_TRACE, 1, 0, 2, 1, 3 | 1ull << 32, 80},
		{"words after the last frame", EP_EVENT_TRACE, 1, 0, 1, 2, 3 | 1ull << 32, 80},
		{"4 words in a frame", EP_EVENT_TRACE, 1, 0, 1, 5, 2 | 4 << 16, 200},
		{"frame crosses the end", EP_EVENT_TRACE, 1, 0, 1, 1, 2 | 1 << 16, 80},
		{"kind none", EP_EVENT_TRACE, 1, 0, 1, 1, 0, 72},
		{"kind reserved", EP_EVENT_TRACE, 1, 0, 1, 1, 9, 72},
		{"native without address", EP_EVENT_TRACE, 1, 0, 1, 1, 2, 72},
		{"error that does not exist", EP_EVENT_TRACE, 1, 0, 1, 1, 3 | 99ull << 32, 72},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		event_init(&event, rows[i].type, rows[i].hash, 1);
		memset(event.words, 0, sizeof(event.words));
		event.sample.n_kernel = rows[i].n_kernel;
		event.sample.n_frames = rows[i].n_frames;
		event.sample.n_words = rows[i].n_words;
		event.words[0] = rows[i].header;
		event.bytes = EP_MIN(rows[i].bytes, sizeof(event.sample) + sizeof(event.words));
		if (event_add(store, &event) != -EBADMSG)
			fail_msg("%s: accepted", rows[i].label);
	}
	assert_int_equal(ep_store_counters(store)->malformed, EP_LEN(rows));
	assert_int_equal(ep_store_counters(store)->samples, 0);
}

EP_TEST(frames_are_shared_where_they_are_equal)
{
	const uint64_t raw = EP_FRAME_HEADER(EP_FRAME_NATIVE, 0, 1, 0);
	struct ep_frames *frames = new_frames(100000, 1 << 20, 1 << 20);
	uint32_t a, b, kind;
	const struct {
		const char *label;
		uint64_t header_a, header_b, word_a, word_b;
		uint32_t pid_a, pid_b;
		bool equal;
	} rows[] = {
#define H(kind, flags, aux) EP_FRAME_HEADER(kind, flags, 1, aux)
		{"native of two processes", H(2, 0, 5), H(2, 0, 5), 1, 1, 1, 2, true},
		{"signal flag names nothing", H(2, 0, 5), H(2, EP_FRAME_SIGNAL, 5), 2, 2, 1, 1,
		 true},
		{"return address", H(2, 0, 5), H(2, EP_FRAME_RETURN_ADDRESS, 5), 3, 3, 1, 1, false},
		{"executable", H(2, 0, 5), H(2, 0, 6), 4, 4, 1, 1, false},
		{"raw address of two processes", H(2, 0, 0), H(2, 0, 0), 5, 5, 1, 2, false},
		{"dynamic of two processes", H(16, 0, 0), H(16, 0, 0), 6, 6, 1, 2, false},
		{"dynamic of one process", H(16, 0, 0), H(16, 0, 0), 7, 7, 1, 1, true},
		{"entry says where", H(16, 0, 0), H(16, EP_FRAME_ENTRY, 0), 10, 10, 1, 1, true},
		{"interrupted or not", H(16, 0, 0), H(16, EP_FRAME_INTERRUPTED, 0), 11, 11, 1, 1, false},
		{"the language's own", H(16, 0x80, 0), H(16, 0x40, 0), 12, 12, 1, 1, false},
		{"error at two addresses", H(3, 0, 2), H(3, 0, 2), 8, 9, 1, 2, true},
#undef H
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		a = add_frame(frames, rows[i].header_a, rows[i].word_a, rows[i].pid_a);
		b = add_frame(frames, rows[i].header_b, rows[i].word_b, rows[i].pid_b);
		if ((a == b) != rows[i].equal)
			fail_msg("%s: %u and %u", rows[i].label, a, b);
		/* The process has ended, and its pid is used again. */
		assert_int_equal(ep_frames_add(frames, rows[i].header_a, &rows[i].word_a,
					       (struct ep_program){.pid = rows[i].pid_a, .start_ns = 2}, &b),
				 0);
		kind = EP_FRAME_KIND(rows[i].header_a);
		assert_int_equal(a != b, kind >= EP_FRAME_FIRST_DYNAMIC || rows[i].header_a == raw);
	}
}

EP_TEST(pending_frames_are_handed_out_once)
{
	struct ep_frame_line line = {.function = "main", .line = 3};
	const struct ep_frame_name *names;
	struct ep_frames *frames = new_frames(100000, 1 << 20, 1 << 20);
	uint32_t id, module;

	assert_int_equal(ep_frames_unresolved(frames), 0);
	assert_int_equal(ep_frames_take(frames), 0);
	id = add_native_frame(frames, 3, 0x1000, 1);
	assert_int_equal(ep_frames_take(frames), id);
	assert_int_equal(ep_frames_take(frames), 0);
	ep_frames_put_back(frames, id);
	assert_int_equal(ep_frames_take(frames), id);
	ep_frames_resolve(frames, id, &line, 1, NULL);
	assert_int_equal(ep_frames_unresolved(frames), 0);
	assert_int_equal(ep_frames_state(frames, id), EP_FRAME_RESOLVED);
	line.function = "again";
	ep_frames_resolve(frames, id, &line, 1, NULL);
	assert_int_equal(ep_frames_names(frames, id, &names, &module), 1);
	assert_string_equal(ep_strings_get(ep_frames_strings(frames), names[0].function), "main");
}

STORE_TEST(sealed_interval_is_named_without_later_frames)
{
	struct ep_frames *frames = ep_store_frames(store);
	uint32_t first, second, later;
	struct ep_interval *iv;

	event_init(&event, EP_EVENT_TRACE, 1, 7);
	event_user(&event, EP_FRAME_NATIVE, 0, 5, 0x1000);
	event_user(&event, EP_FRAME_NATIVE, 0, 5, 0x2000);
	add_event(store, &event);
	iv = seal(store, 2000);
	add_native(store, 2, 7, 0x3000);
	first = ep_frames_take(frames);
	second = ep_frames_take(frames);
	assert_false(ep_interval_is_named(iv));
	ep_frames_resolve(frames, second, NULL, 0, NULL);
	assert_false(ep_interval_is_named(iv));
	ep_frames_put_back(frames, first);
	assert_int_equal(ep_frames_take(frames), first);
	ep_frames_resolve(frames, first, NULL, 0, NULL);
	assert_true(ep_interval_is_named(iv));
	later = ep_frames_take(frames);
	assert_true(later > second);
	assert_int_equal(ep_frames_first_unresolved(frames), later);
}

/* Of too many lines the innermost are kept and the outermost; of too much text likewise. */
EP_TEST(lines_of_one_frame_are_cut_in_the_middle)
{
	static char long_name[3000];
	static const struct {
		const char *label, *name;
		size_t n, kept;
	} rows[] = {
		{"none", "f", 0, 0},
		{"one", "f", 1, 1},
		{"all there may be", "f", EP_FRAME_MAX_LINES, EP_FRAME_MAX_LINES},
		{"one more", "f", EP_FRAME_MAX_LINES + 1, EP_FRAME_MAX_LINES},
		{"many", "f", 1000, EP_FRAME_MAX_LINES},
		{"text that fits", long_name, 21, 21},
		{"too much text", long_name, 1000, EP_FRAME_MAX_TEXT_BYTES / sizeof(long_name)},
	};
	static struct ep_frame_line lines[1000];
	struct ep_frames *frames = new_frames(100000, 1 << 20, 1 << 20);

	memset(long_name, 'n', sizeof(long_name) - 1);
	for (size_t i = 0; i < EP_LEN(rows); i++) {
		uint32_t id = add_native_frame(frames, 3, 0x1000 * (i + 1), 1), module;
		const struct ep_frame_name *names;

		for (size_t n = 0; n < rows[i].n; n++)
			lines[n] = (struct ep_frame_line){.function = rows[i].name,
							  .line = (uint32_t)n + 1};
		if (ep_frames_resolve(frames, id, lines, rows[i].n, NULL) !=
			    rows[i].n - rows[i].kept ||
		    ep_frames_names(frames, id, &names, &module) != rows[i].kept)
			fail_msg("%s: %zu lines", rows[i].label,
				 ep_frames_names(frames, id, &names, &module));
		for (size_t n = 0; n + 1 < rows[i].kept; n++)
			assert_int_equal(names[n].line, n + 1);
		if (rows[i].kept)
			assert_int_equal(names[rows[i].kept - 1].line, rows[i].n);
	}
	assert_false(ep_frames_is_full(frames));
}

EP_TEST(long_names_are_cut_between_characters)
{
	static const struct {
		const char *label, *text;
		size_t at, bytes; /* where the text is in a name of 'n'; what is kept */
	} rows[] = {
		{"short of it", "", 0, EP_FRAME_MAX_NAME_BYTES},
		{"two bytes, one fits", "\u00e9", EP_FRAME_MAX_NAME_BYTES - 1,
		 EP_FRAME_MAX_NAME_BYTES - 1},
		{"two bytes, both fit", "\u00e9", EP_FRAME_MAX_NAME_BYTES - 2,
		 EP_FRAME_MAX_NAME_BYTES},
		{"four bytes, three fit", "\U0001f525", EP_FRAME_MAX_NAME_BYTES - 3,
		 EP_FRAME_MAX_NAME_BYTES - 3},
		{"no UTF-8", "\x80\x80\x80\x80\x80\x80", EP_FRAME_MAX_NAME_BYTES - 5,
		 EP_FRAME_MAX_NAME_BYTES - 3},
	};
	ep_autofree char *name = malloc(1 << 20);

	assert_non_null(name);
	for (size_t i = 0; i < EP_LEN(rows); i++) {
		memset(name, 'n', (1 << 20) - 1);
		name[(1 << 20) - 1] = '\0';
		memcpy(name + rows[i].at, rows[i].text, strlen(rows[i].text));
		if (ep_name_bytes(name) != rows[i].bytes)
			fail_msg("%s: %zu", rows[i].label, ep_name_bytes(name));
	}
	name[EP_FRAME_MAX_NAME_BYTES] = '\0';
	assert_int_equal(ep_name_bytes(name), EP_FRAME_MAX_NAME_BYTES);
	assert_int_equal(ep_name_bytes(""), 0);
}

/* Frames of ten lines each, as inlining makes them, until the lines they may have are used up. */
EP_TEST(a_table_is_full_when_its_lines_are)
{
	static const struct ep_frame_line lines[10] = {{.function = "f"}};
	const struct ep_frame_name *names;
	struct ep_frames *frames = new_frames(100000, 1 << 20, 1000 * sizeof(struct ep_frame_name));
	uint32_t id, module, n = 0;
	size_t bytes;

	bytes = ep_frames_bytes(frames);
	while (!ep_frames_is_full(frames)) {
		id = add_native_frame(frames, 3, ++n, 1);
		(void)ep_frames_resolve(frames, id, lines, EP_LEN(lines), NULL);
		assert_int_equal(ep_frames_names(frames, id, &names, &module), EP_LEN(lines));
	}
	assert_int_equal(n, 44); /* 7/8 of the half that one program may have */
	assert_true(ep_frames_bytes(frames) - bytes > 440 * sizeof(*names));
	for (; n < 101; n++)
		(void)ep_frames_resolve(frames, add_native_frame(frames, 3, n + 1, 1), lines, EP_LEN(lines), NULL);
	id = ep_frames_count(frames);
	assert_int_equal(ep_frames_names(frames, id, &names, &module), 0);
	assert_int_equal(ep_frames_state(frames, id), EP_FRAME_RESOLVED);
}

/* --- lines on their way to the table --- */

/* A text that stands for a name says so of its frame alone, and is forgotten with it. */
EP_TEST(lists_keep_why_a_name_is_not_known)
{
	static const struct ep_name stand_in = {
		.size = sizeof(stand_in), .function = "(freed sub)", .unnamed = EP_UNNAMED_GONE};
	static const struct ep_name later = {
		.size = sizeof(later), .function = "?", .unnamed = EP_UNNAMED_COUNT + 7};
	static const struct ep_name name = {.size = sizeof(name), .function = "f"};
	static const struct ep_name old = {
		.size = offsetof(struct ep_name, unnamed), .function = "f", .unnamed = EP_UNNAMED_GONE};
	static const struct {
		const struct ep_name *names[2];
		bool is_dropped;
		enum ep_unnamed why;
	} rows[] = {
		{{&stand_in}, false, EP_UNNAMED_GONE},
		{{&name}, false, EP_UNNAMED_NONE},
		{{&stand_in, &name}, false, EP_UNNAMED_GONE},
		{{&stand_in}, true, EP_UNNAMED_NONE},
		{{&later}, false, EP_UNNAMED_UNREADABLE},
		{{&old}, false, EP_UNNAMED_NONE},
	};
	ep_cleanup(ep_lines_fini) struct ep_lines list;

	assert_int_equal(ep_lines_init(&list, EP_LEN(rows)), 0);
	for (size_t i = 0; i < EP_LEN(rows); i++) {
		for (size_t k = 0; k < 2 && rows[i].names[k]; k++)
			assert_int_equal(ep_lines_add_name(&list, rows[i].names[k]), 0);
		if (rows[i].is_dropped)
			ep_lines_drop(&list);
		ep_lines_end(&list);
	}
	for (size_t i = 0; i < EP_LEN(rows); i++)
		assert_int_equal(ep_lines_unnamed(&list, i), rows[i].why);
}

EP_TEST(what_stood_in_for_a_name_can_be_dropped)
{
	static const struct ep_name unknown = {.size = sizeof(unknown), .function = "(freed)", .unnamed = EP_UNNAMED_GONE};
	static const struct ep_name own = {.size = sizeof(known), .function = "work", .file = "work.pl"};
	struct ep_frame_line lines[EP_FRAME_MAX_LINES];
	ep_cleanup(ep_lines_fini) struct ep_lines list;

	assert_int_equal(ep_lines_init(&list, 4), 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(ep_lines_add_name(&list, &unknown), 0);
		assert_int_equal(ep_lines_add_name(&list, &own), 0);
		assert_int_equal(ep_lines_in_hand(&list), 2);
		if (i & 1)
			ep_lines_drop_before(&list, 1);
		else
			ep_lines_drop_from(&list, 1);
		assert_int_equal(ep_lines_in_hand(&list), 1);
		ep_lines_end(&list);
	}
	for (int i = 0; i < 4; i++) {
		assert_int_equal(ep_lines_get(&list, (size_t)i, lines), 1);
		assert_string_equal(lines[0].function, i & 1 ? "work" : "(freed)");
		assert_int_equal(ep_lines_unnamed(&list, (size_t)i), i & 1 ? EP_UNNAMED_NONE : EP_UNNAMED_GONE);
	}
	/* All of a frame, after some of it. */
	assert_int_equal(ep_lines_add_name(&list, &unknown), 0);
	assert_int_equal(ep_lines_add_name(&list, &own), 0);
	ep_lines_drop_before(&list, 1);
	ep_lines_drop(&list);
	assert_int_equal(ep_lines_in_hand(&list), 0);
}

EP_TEST(lists_keep_lines_by_frame)
{
	static const struct ep_frame_line inner = {
		.function = "f(int)", .system_name = "_Z1fi", .file = "f.cc",
		.line = 3, .column = 5, .start_line = 2, .flags = EP_LINE_SHOWS_WRAPPER,
		.start_va = 0x1234};
	static const struct ep_frame_line outer = {.function = "g", .system_name = "g"};
	struct ep_frame_line lines[EP_FRAME_MAX_LINES];
	ep_cleanup(ep_lines_fini) struct ep_lines list;

	assert_int_equal(ep_lines_init(&list, 3), 0);
	assert_int_equal(ep_lines_add(&list, &inner), 0);
	assert_int_equal(ep_lines_add(&list, &outer), 0);
	ep_lines_end(&list);
	assert_int_equal(ep_lines_add(&list, &inner), 0);
	ep_lines_drop(&list);
	ep_lines_end(&list);
	assert_int_equal(ep_lines_add(&list, &outer), 0);
	ep_lines_end_as(&list, EP_FRAME_TYPE_GO);
	assert_int_equal(ep_lines_frames(&list), 3);
	assert_int_equal(ep_lines_type(&list, 1), EP_FRAME_TYPE_OF_KIND);
	assert_int_equal(ep_lines_type(&list, 2), EP_FRAME_TYPE_GO);
	assert_int_equal(ep_lines_get(&list, 1, lines), 0);
	assert_int_equal(ep_lines_get(&list, 2, lines), 1);
	assert_string_equal(lines[0].function, "g");
	assert_int_equal(ep_lines_get(&list, 0, lines), 2);
	assert_string_equal(lines[0].function, "f(int)");
	assert_string_equal(lines[0].system_name, "_Z1fi");
	assert_string_equal(lines[0].file, "f.cc");
	assert_int_equal(lines[0].line, 3);
	assert_int_equal(lines[0].column, 5);
	assert_int_equal(lines[0].start_line, 2);
	assert_int_equal(lines[0].start_va, 0x1234);
	assert_int_equal(lines[0].flags, EP_LINE_SHOWS_WRAPPER);
	assert_int_equal(lines[1].flags, 0);
	assert_string_equal(lines[1].function, "g");
	assert_null(lines[1].system_name);
	assert_null(lines[1].file);
}

/* One frame after the other takes all it may have, and then some. */
EP_TEST(full_lists_refuse_the_frame_in_hand)
{
	struct ep_frame_line lines[EP_FRAME_MAX_LINES], line = {0};
	ep_autofree char *name = malloc(1 << 20);
	ep_cleanup(ep_lines_fini) struct ep_lines list;
	int r = 0;

	assert_non_null(name);
	memset(name, 'n', (1 << 20) - 1);
	name[(1 << 20) - 1] = '\0';
	line.function = line.file = name;
	assert_int_equal(ep_lines_init(&list, 100), 0);
	while (r == 0 && ep_lines_frames(&list) < 100) {
		for (line.line = 1; r == 0 && line.line <= 100; line.line++)
			r = ep_lines_add(&list, &line);
		if (r == 0)
			ep_lines_end(&list);
	}
	assert_int_equal(r, -E2BIG);
	ep_lines_drop(&list);
	assert_int_equal(ep_lines_frames(&list), 15); /* of 1 MiB and 16 KiB */
	assert_int_equal(list.left_out, 15 * 36);
	for (size_t i = 0; i < 15; i++) {
		assert_int_equal(ep_lines_get(&list, i, lines), EP_FRAME_MAX_LINES);
		assert_int_equal(strlen(lines[0].file), EP_FRAME_MAX_NAME_BYTES);
		assert_int_equal(lines[62].line, 63);
		assert_int_equal(lines[63].line, 100);
	}
	line = (struct ep_frame_line){.function = "small"};
	assert_int_equal(ep_lines_add(&list, &line), 0);
}

EP_TEST(full_frame_table_is_replaced_at_the_seal)
{
	struct ep_store_limits limits = EP_STORE_DEFAULT_LIMITS;
	struct ep_interval *first, *second;
	struct ep_store *store;

	limits.max_frames = EP_ERROR_COUNT - 1 + 6;
	store = new_store(0, &limits);
	for (uint32_t i = 1; i <= 4; i++) /* of four programs: each has a share */
		add_trace(store, i, 6 + i, i * 0x1000);
	assert_true(ep_store_counters(store)->frames_full > 0);
	first = seal(store, 2000);
	assert_int_equal(ep_store_counters(store)->resets, 1);
	assert_int_equal(ep_interval_samples(first), 4);
	assert_ptr_not_equal(ep_interval_frames(first), ep_store_frames(store));
	event_init(&known, EP_EVENT_KNOWN, 1, 7); /* its frames are in the old table only */
	add_event(store, &known);
	second = seal(store, 2000);
	assert_int_equal(ep_store_counters(store)->copied, 1);
	assert_int_equal(ep_interval_trace(second, 1)->n_frames, 3);
}

EP_TEST(full_interval_counts_what_it_loses)
{
	struct ep_store_limits limits = EP_STORE_DEFAULT_LIMITS;
	struct ep_interval *iv;
	uint64_t taken = 0;
	struct ep_store *store;

	limits.max_interval_bytes = 32 * 1024;
	store = new_store(0, &limits);
	for (uint64_t i = 1; i <= 5000; i++) {
		make_trace(&event, i, 7, i * 16);
		taken += event_add(store, &event) == 0;
	}
	ep_store_add_lost(store, 3);
	iv = seal(store, 2000);
	assert_in_range(taken, 100, 4999);
	assert_int_equal(ep_interval_samples(iv), taken);
	assert_int_equal(ep_interval_lost(iv), 5003 - taken);
	assert_true(ep_interval_bytes(iv) < limits.max_interval_bytes + 1024);
}

STORE_TEST(intervals_are_used_again_when_released)
{
	struct ep_interval *first, *second, *third;

	first = seal(store, 2000);
	add_trace(store, 1, 7, 0x1000);
	second = seal(store, 2000); /* first is still held: not used again */
	assert_int_equal(ep_interval_samples(first), 0);
	assert_int_equal(ep_interval_samples(second), 1);
	ep_test_release(first);
	ep_test_release(second);
	third = seal(store, 2000);
	assert_int_equal(ep_interval_samples(third), 0);
	assert_int_equal(ep_interval_start_ns(third), 2000);
	assert_int_equal(ep_interval_samples(ep_store_current(store)), 0); /* the second one, anew */
	assert_int_equal(ep_interval_complete(ep_store_current(store)), 0);
}

#define MINUTE_NS ((uint64_t)60 * 1000 * 1000 * 1000)
#define STAYS	  7 /* pid of a program that goes on */

/* The name of a frame is its address. */
static void name_all(struct ep_frames *frames)
{
	uint32_t id;

	while ((id = ep_frames_take(frames)) != 0) {
		struct ep_frame frame;
		char name[32];
		struct ep_frame_line line = {.function = name, .file = "main.c", .line = 3, .start_line = 2};

		ep_frames_get(frames, id, &frame);
		snprintf(name, sizeof(name), "at_%llx", (unsigned long long)frame.words[0]);
		ep_frames_resolve(frames, id, &line, 1, frame.kind == EP_FRAME_KERNEL ? "module" : NULL);
	}
}

/* A minute in which so many programs come, have frames of their own and go, and one goes on;
 * finished. */
static void pass_minute(struct ep_store *store, uint64_t minute, uint32_t n_programs)
{
	add_trace(store, 1, STAYS, 0x1000);
	for (uint32_t i = 0; i < n_programs; i++) {
		uint32_t pid = (uint32_t)(1000 + minute * n_programs + i);

		event_init(&event, EP_EVENT_TRACE, pid, pid);
		for (uint64_t k = 1; k <= 20; k++)
			event_user(&event, EP_FRAME_NATIVE, 0, 0, pid * 64 + k);
		add_event(store, &event);
	}
	name_all(ep_store_frames(store));
	ep_test_release(seal(store, minute * MINUTE_NS));
}

EP_TEST(frames_of_programs_that_are_gone_go)
{
	struct ep_store *store = new_store(0, NULL);
	size_t early = 0, late = 0;

	for (uint64_t minute = 1; minute <= 60; minute++) {
		pass_minute(store, minute, 50);
		if (minute <= 10)
			early = EP_MAX(early, ep_store_bytes(store));
		else
			late = EP_MAX(late, ep_store_bytes(store));
	}
	assert_in_range(late, 1, early + early / 8);
	for (uint64_t minute = 61; minute <= 70; minute++)
		pass_minute(store, minute, 0);
	assert_int_equal(ep_store_counters(store)->unknown, 0);
	assert_true(ep_frames_count(ep_store_frames(store)) < 2 * 2048);
}

EP_TEST(a_table_that_was_replaced_goes_before_the_next_interval_ends)
{
	struct ep_store *store = new_store(0, NULL);
	uint64_t minute = 0;
	size_t with_old;

	while (ep_store_counters(store)->renewals == 0) {
		assert_true(minute < 60);
		pass_minute(store, ++minute, 50);
	}
	with_old = ep_store_bytes(store);
	event_init(&known, EP_EVENT_KNOWN, 1, STAYS);
	ep_store_rest(store, minute * MINUTE_NS + 1); /* samples of before may come */
	assert_int_equal(ep_store_bytes(store), with_old);
	add_event(store, &known);
	assert_int_equal(ep_store_counters(store)->copied, 1);
	ep_store_rest(store, minute * MINUTE_NS + MINUTE_NS / 2);
	assert_true(ep_store_bytes(store) < with_old * 3 / 4);
	add_event(store, &known);
	assert_int_equal(ep_interval_samples(seal(store, (minute + 1) * MINUTE_NS)), 2);
}

/* One ends its interval each minute, the other twelve times in it, as outputs with intervals of
 * their own do. */
EP_TEST(stores_of_the_same_samples_have_one_table)
{
	struct ep_store *slow = new_store(0, NULL), *quick = NULL;
	struct ep_store_limits limits = EP_STORE_DEFAULT_LIMITS;

	assert_int_equal(ep_store_new_beside(slow, &limits, 0, &quick), 0);
	for (uint64_t minute = 1; minute <= 20; minute++) {
		for (uint32_t nth = 0; nth < 12; nth++) {
			event_init(&event, EP_EVENT_TRACE, 1, STAYS);
			event_user(&event, EP_FRAME_NATIVE, 0, 0, 0x1000);
			for (uint64_t k = 1; k <= 100; k++)
				event_user(&event, EP_FRAME_NATIVE, 0, 0, (minute * 12 + nth) * 4096 + k * 16);
			add_event(slow, &event);
			add_event(quick, &event);
			name_all(ep_store_frames(quick));
			ep_test_release(seal(quick, (minute - 1) * MINUTE_NS + (nth + 1) * MINUTE_NS / 12));
		}
		ep_test_release(seal(slow, minute * MINUTE_NS));
		/* with the old table for one short interval at most */
		ep_test_release(seal(quick, minute * MINUTE_NS + 1));
		assert_ptr_equal(ep_store_frames(slow), ep_store_frames(quick));
		assert_int_equal(ep_frames_unresolved(ep_store_frames(slow)), 0);
		ep_store_rest(slow, minute * MINUTE_NS + MINUTE_NS / 10);
		ep_store_rest(quick, minute * MINUTE_NS + MINUTE_NS / 10);
		assert_int_equal(ep_store_frames_bytes(slow) + ep_store_frames_bytes(quick),
				 ep_frames_bytes(ep_store_frames(slow)));
	}
	assert_true(ep_store_counters(slow)->renewals > 0);
	assert_int_equal(ep_store_counters(quick)->renewals, 0);
	ep_store_free(quick);
	add_trace(slow, 1, STAYS, 0x1000);
	assert_int_equal(ep_interval_samples(seal(slow, 21 * MINUTE_NS)), 1);
}

/* A frame of a language, of the kernel, one without a name, one that waits for its name, and one that is looked for. */
EP_TEST(frames_that_are_used_go_on_in_a_new_table_with_their_names)
{
	const struct ep_frame_line inlined[] = {{.function = "inner", .file = "a.h", .line = 8, .column = 5},
						{.function = "outer", .system_name = "_outer", .start_va = 0x100}};
	struct ep_frames *frames = new_frames(100000, 1 << 20, 1 << 20), *renewed = NULL;
	uint32_t language = add_frame(frames, EP_FRAME_HEADER(EP_FRAME_FIRST_DYNAMIC + 2, 4, 1, 9), 0x10, 5);
	uint32_t kernel = add_frame(frames, EP_FRAME_HEADER(EP_FRAME_KERNEL, 0, 1, 0), 0xffffffff81000010, 0);
	uint32_t nameless = add_native_frame(frames, 3, 0x2000, 5), old = add_native_frame(frames, 3, 0x3000, 5), id;
	uint32_t waiting, taken = add_native_frame(frames, 3, 0x4000, 5), module;
	const struct ep_frame_name *names;

	ep_frames_resolve_as(frames, language, EP_FRAME_TYPE_GO, inlined, EP_LEN(inlined));
	ep_frames_resolve(frames, kernel, inlined, 1, "ext4");
	ep_frames_resolve_unnamed(frames, nameless, EP_UNNAMED_GONE, NULL, 0);
	ep_frames_resolve(frames, old, inlined, 1, NULL);
	assert_int_equal(ep_frames_take(frames), taken);
	waiting = add_native_frame(frames, 3, 0x5000, 5);
	for (int i = 0; i < EP_FRAMES_OLD; i++) {
		for (id = EP_ERROR_COUNT; id <= ep_frames_count(frames); id++)
			if (id != old)
				ep_frames_use(frames, &id, 1);
		assert_int_equal(ep_frames_age(frames), 5 + (i < EP_FRAMES_OLD - 1) * EP_ERROR_COUNT);
	}
	assert_int_equal(ep_frames_renew(frames, &renewed), 0);
	ep_test_owns(renewed, ep_frames_unref_made);
	assert_int_equal(ep_frames_count(renewed), EP_ERROR_COUNT - 1 + 5);
	assert_int_equal(ep_frames_unresolved(renewed), 2);
	id = add_frame(renewed, EP_FRAME_HEADER(EP_FRAME_FIRST_DYNAMIC + 2, 4, 1, 9), 0x10, 5);
	assert_int_equal(ep_frames_count(renewed), EP_ERROR_COUNT - 1 + 5);
	assert_int_equal(ep_frames_type(renewed, id), EP_FRAME_TYPE_GO);
	assert_int_equal(ep_frames_names(renewed, id, &names, &module), 2);
	assert_string_equal(ep_strings_get(ep_frames_strings(renewed), names[0].file), "a.h");
	assert_int_equal(names[0].line, 8);
	assert_int_equal(names[0].column, 5);
	assert_string_equal(ep_strings_get(ep_frames_strings(renewed), names[1].function), "outer");
	assert_string_equal(ep_strings_get(ep_frames_strings(renewed), names[1].system_name), "_outer");
	assert_int_equal(names[1].start_va, 0x100);
	id = add_frame(renewed, EP_FRAME_HEADER(EP_FRAME_KERNEL, 0, 1, 0), 0xffffffff81000010, 0);
	assert_int_equal(ep_frames_names(renewed, id, &names, &module), 1);
	assert_string_equal(ep_strings_get(ep_frames_strings(renewed), module), "ext4");
	assert_int_equal(ep_frames_unnamed(renewed, add_native_frame(renewed, 3, 0x2000, 5)), EP_UNNAMED_GONE);
	assert_int_equal(ep_frames_state(renewed, add_native_frame(renewed, 3, 0x4000, 5)), EP_FRAME_PENDING);
	assert_int_equal(ep_frames_state(renewed, add_native_frame(renewed, 3, 0x5000, 5)), EP_FRAME_PENDING);
	assert_int_equal(ep_frames_count(renewed), EP_ERROR_COUNT - 1 + 5);
	assert_int_equal(waiting, ep_frames_count(frames));
}
