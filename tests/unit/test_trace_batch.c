/* SPDX-License-Identifier: Apache-2.0 */
#include "core/trace/kinds.h"
#include "tests/unit/profile_batch.h"
#include "tests/unit/trace_source.h"

#define STORE_TEST(name) EP_TEST_OF(name, struct ep_store *store, new_store(100, NULL))

/* A location's lines: "NAME=SYSTEM_NAME FILE:LINE:COLUMN from START", without what is not there or 0. */
static void print_lines(FILE *out, const struct ep_batch *batch, uint32_t location)
{
	for (uint32_t i = batch->location_line_first[location]; i < batch->location_line_first[location + 1]; i++) {
		uint32_t function = batch->line_function[i];
		const char *name = text_in(batch, batch->function_name[function]);
		const char *system_name = text_in(batch, batch->function_system_name[function]);

		fprintf(out, "%s%s", i > batch->location_line_first[location] ? ", " : " ", name);
		if (system_name[0] && strcmp(system_name, name) != 0)
			fprintf(out, "=%s", system_name);
		if (batch->function_file[function])
			fprintf(out, " %s:%u", text_in(batch, batch->function_file[function]), batch->line_line[i]);
		if (batch->line_column[i])
			fprintf(out, ":%u", batch->line_column[i]);
		if (batch->function_line[function])
			fprintf(out, " from %u", batch->function_line[function]);
	}
}

/* A stack, leaf first: "KIND ADDRESS LINES in PATH BUILD_ID START+OFFSET flags FLAGS, flags FLAGS", one line each. */
static void assert_stack(const struct ep_batch *batch, uint32_t sample, const char *expected)
{
	FILE *out = ep_test_print();

	for (uint32_t i = 0; i < depth_in(batch, sample); i++) {
		uint32_t at = location_in(batch, sample, i), mapping = batch->location_mapping[at];

		fprintf(out, "%s 0x%" PRIx64, kind_in(batch, sample, i), batch->location_address[at]);
		print_lines(out, batch, at);
		if (mapping)
			fprintf(out, " in %s %s 0x%" PRIx64 "+0x%" PRIx64 " flags %x", text_in(batch, batch->mapping_path[mapping]),
				text_in(batch, batch->mapping_build_id[mapping]), batch->mapping_start_va[mapping],
				batch->mapping_file_off[mapping], batch->mapping_flags[mapping]);
		if (batch->location_flags[at])
			fprintf(out, ", flags %x", batch->location_flags[at]);
		fputc('\n', out);
	}
	assert_string_equal(ep_test_printed(out), expected);
}

STORE_TEST(mixed_stack_has_all_its_names)
{
	static const struct ep_frame_line kernel = {.function = "schedule"};
	static const struct ep_frame_line inlined[] = {
		{.function = "inner()", .system_name = "_Z5innerv", .file = "a.cc", .line = 3},
		{.function = "outer()", .system_name = "_Z5outerv", .file = "a.cc", .line = 9},
	};
	struct ep_batch *batch;

	event_init(&event, EP_EVENT_TRACE, 1, 7);
	event_kernel(&event, 0xffffffff81000010);
	event_kernel(&event, 0xffffffffc0000020);
	event_user(&event, EP_FRAME_NATIVE, 0, 5, 0x1234);
	event_user(&event, EP_FRAME_NATIVE, EP_FRAME_RETURN_ADDRESS, 5, 0x1300);
	event_user(&event, EP_FRAME_ERROR, 0, EP_ERROR_BAD_READ, 0);
	add_event(store, &event);
	resolve(store, 1, &kernel, 1, NULL);
	resolve(store, 2, &kernel, 1, "ext4");
	resolve(store, 3, inlined, 2, NULL);
	resolve(store, 4, NULL, 0, NULL);
	batch = finish(store);

	assert_int_equal(batch->n_samples, 1);
	assert_stack(batch, 0,
		     "kernel 0xffffffff81000010 schedule in [kernel.kallsyms] feed 0x8000000000000000+0x0 flags 3\n"
		     "kernel 0xffffffffc000001f schedule in [ext4]  0x8000000000000000+0x0 flags 3\n"
		     "native 0x1234 inner()=_Z5innerv a.cc:3, outer()=_Z5outerv a.cc:9 "
		     "in /usr/lib/libx.so abcd 0x1000+0x1000 flags 2\n"
		     "native 0x12ff libx.so+0x12ff in /usr/lib/libx.so abcd 0x1000+0x1000 flags 2, flags 4\n"
		     "error 0x0 [truncated: stack memory unreadable], flags 2\n");
	assert_int_equal(batch->stack_error[batch->sample_stack[0]], EP_ERROR_BAD_READ);
}

/* Programs choose them, and other readers print what a profile has. */
STORE_TEST(thread_names_do_not_drive_terminals)
{
	struct ep_batch *batch;

	event_init(&event, EP_EVENT_TRACE, 1, 7);
	memcpy(event.sample.comm, "\x1b[2J\xc2\x9b" "1m\n", 10);
	event_user(&event, EP_FRAME_NATIVE, 0, 5, 0x1234);
	add_event(store, &event);
	batch = finish(store);
	assert_string_equal(text_in(batch, batch->sample_thread_name[0]), "?[2J??1m?");
}

/* As a worker gives them: what is known of each inlined function of a native frame. */
STORE_TEST(native_frames_have_all_their_lines)
{
	static const struct ep_frame_line said[] = {
		{.function = "main.(*T).get", .system_name = "main.(*T).get[go.shape.int]",
		 .file = "t.go", .line = 3, .column = 5, .start_line = 2},
		{.function = "main.(*T).get", .system_name = "main.(*T).get[go.shape.string]",
		 .file = "t.go", .line = 4, .start_line = 2},
		{.function = "main.main", .file = "main.go", .line = 30, .column = 7,
		 .start_line = 28, .start_va = 0x1200},
	};
	struct ep_frame_line lines[EP_FRAME_MAX_LINES];
	struct ep_batch *batch;
	struct ep_lines list;

	add_native(store, 1, 7, 0x1234);
	assert_int_equal(ep_lines_init(&list, 1), 0);
	for (size_t i = 0; i < EP_LEN(said); i++)
		assert_int_equal(ep_lines_add(&list, &said[i]), 0);
	ep_lines_end(&list);
	resolve(store, 1, lines, ep_lines_get(&list, 0, lines), NULL);
	ep_lines_fini(&list);
	batch = finish(store);

	assert_stack(batch, 0,
		     "native 0x1234 main.(*T).get=main.(*T).get[go.shape.int] t.go:3:5 from 2, "
		     "main.(*T).get=main.(*T).get[go.shape.string] t.go:4 from 2, "
		     "main.main main.go:30:7 from 28 in /usr/lib/libx.so abcd 0x1000+0x1000 flags 2\n");
	assert_int_equal(batch->n_functions, 4); /* one name, two functions; row 0 */
}

/* Text of all lines of a sample's stack, leaf first: "a,b | c". */
static void write_stack(const struct ep_batch *batch, uint32_t sample, char *said, size_t len)
{
	uint32_t stack = batch->sample_stack[sample];
	uint32_t first = batch->stack_location_first[stack];
	size_t used = 0;

	for (uint32_t at = first; at < batch->stack_location_first[stack + 1]; at++) {
		uint32_t location = batch->stack_location[at];
		uint32_t line = batch->location_line_first[location];
		const char *before = at > first ? " | " : "";

		for (; line < batch->location_line_first[location + 1]; line++, before = ",") {
			uint32_t name = batch->function_name[batch->line_function[line]];

			used += (size_t)snprintf(said + used, len - used, "%s%s", before,
						 batch->string_text[name]);
		}
	}
	assert_true(used > 0 && used < len);
}

/* "f": a function, "w*": a wrapper, "p!": one that shows the wrapper that called it. */
static size_t parse_lines(const char *spec, struct ep_frame_line *lines, char (*names)[8])
{
	size_t n = 0;

	for (; *spec; n++) {
		size_t len = strcspn(spec, "*!,");

		memcpy(names[n], spec, len);
		names[n][len] = '\0';
		lines[n] = (struct ep_frame_line){.function = names[n], .file = "x.go"};
		lines[n].flags = spec[len] == '*'   ? EP_LINE_WRAPPER
				 : spec[len] == '!' ? EP_LINE_SHOWS_WRAPPER
						    : 0;
		spec += strcspn(spec, ",");
		spec += *spec == ',';
	}
	return n;
}

/* The frame at 0x1000 * n gets the lines of the nth text. */
static void resolve_all(struct ep_frames *frames, const char *const *specs)
{
	uint32_t id;

	while ((id = ep_frames_take(frames)) != 0) {
		struct ep_frame_line lines[8];
		struct ep_frame frame;
		char names[8][8];

		ep_frames_get(frames, id, &frame);
		if (frame.kind == EP_FRAME_KERNEL)
			(void)ep_frames_resolve(frames, id, NULL, 0, "m");
		else
			(void)ep_frames_resolve_as(
				frames, id, EP_FRAME_TYPE_GO, lines,
				parse_lines(specs[frame.words[0] / 0x1000 - 1], lines, names));
	}
}

static void add_gap(void)
{
	event_word(&event, EP_FRAME_HEADER(EP_FRAME_GAP, 0, 0, EP_ERROR_BAD_READ));
	event.sample.n_words++;
	event.sample.n_frames++;
}

/* A stack of frames by their numbers, 'k' for the kernel's and '?' for a gap. */
static void add_stack(struct ep_store *store, uint64_t hash, const char *frames)
{
	event_init(&event, EP_EVENT_TRACE, hash, 7);
	for (; *frames; frames++) {
		if (*frames == 'k') {
			event_kernel(&event, 0xffffffff81000010);
		} else if (*frames == '?') {
			add_gap();
		} else {
			event_user(&event, EP_FRAME_NATIVE, 0, 5,
				   0x1000 * (uint64_t)(*frames - '0'));
		}
	}
	add_event(store, &event);
}

EP_TEST(wrappers_are_left_out_but_where_their_callee_shows_them)
{
	static const struct {
		const char *label, *frames, *expected;
		const char *lines[9];
	} rows[] = {
		{"between two functions", "123", "f | g", {"f", "w*", "g"}},
		{"behind one that shows it", "123", "p | w | g", {"p!", "w*", "g"}},
		{"the innermost", "12", "g", {"w*", "g"}},
		{"behind the kernel's part", "k12", "[kernel]+0xffffffff81000010 | g", {"w*", "g"}},
		{"behind a gap", "1?23", "p | [gap: stack memory unreadable] | g", {"p!", "w*", "g"}},
		{"within a frame", "12", "f,g | h", {"f,w*,g", "h"}},
		{"within a frame, shown", "12", "f,p,w,g | h", {"f,p!,w*,g", "h"}},
		{"first of its frame", "12", "f | g", {"f", "w*,g"}},
		{"first of its frame, shown", "12", "p | w,g", {"p!", "w*,g"}},
		{"the last line calls", "12", "p,f | g", {"p!,f", "w*,g"}},
		{"a wrapper shows none", "123", "p | w | g", {"p!", "w*", "v*,g"}},
		{"nothing else", "12", "v", {"w*", "v*"}},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct ep_store *store = new_store(100, NULL);
		struct ep_batch *batch;
		char said[128];

		add_stack(store, 1, rows[i].frames);
		resolve_all(ep_store_frames(store), rows[i].lines);
		batch = finish(store);
		write_stack(batch, 0, said, sizeof(said));
		if (strcmp(said, rows[i].expected) != 0)
			fail_msg("%s: %s", rows[i].label, said);
	}
}

/* Wrapper 2 is shown after 1, and left out after 3; either way it is asked for twice. */
STORE_TEST(one_wrapper_is_in_some_stacks_only)
{
	static const char *const lines[] = {"p!", "w*,g", "f", "v*"};
	static const struct {
		const char *frames, *expected;
	} rows[] = {
		{"12", "p | w,g"},	     {"32", "f | g"}, {"312", "f | p | w,g"},
		{"3212", "f | g | p | w,g"}, {"34", "f"},     {"14", "p | v"},
	};
	struct ep_batch *batch;
	char said[128];

	for (size_t i = 0; i < EP_LEN(rows); i++)
		add_stack(store, 1 + i, rows[i].frames);
	resolve_all(ep_store_frames(store), lines);
	batch = finish(store);
	assert_int_equal(batch->n_samples, EP_LEN(rows));
	for (uint32_t i = 0; i < EP_LEN(rows); i++) {
		write_stack(batch, i, said, sizeof(said));
		assert_string_equal(said, rows[i].expected);
	}
	/* p, "w,g", g, f, v; row 0 */
	assert_int_equal(batch->n_locations, 6);
}

/* A type is the frame's: what C code is among them stays native. */
STORE_TEST(frames_of_a_type_are_called_by_it)
{
	static const struct ep_frame_line said = {.function = "f"};
	struct ep_batch *batch;
	uint32_t id;

	add_stack(store, 1, "123");
	for (uint32_t n = 0; (id = ep_frames_take(ep_store_frames(store))) != 0;
	     n++)
		(void)ep_frames_resolve_as(ep_store_frames(store), id,
					   n == 1 ? EP_FRAME_TYPE_OF_KIND : EP_FRAME_TYPE_GO, &said,
					   n < 2);
	batch = finish(store);
	assert_stack(batch, 0,
		     "go 0x1000 f in /usr/lib/libx.so abcd 0x1000+0x1000 flags 2\n"
		     "native 0x2000 f in /usr/lib/libx.so abcd 0x1000+0x1000 flags 2\n"
		     "go 0x3000 libx.so+0x3000 in /usr/lib/libx.so abcd 0x1000+0x1000 flags 2, flags 4\n");
}

STORE_TEST(gap_says_why_and_the_stack_is_complete)
{
	struct ep_batch *batch;

	event_init(&event, EP_EVENT_TRACE, 1, 7);
	event_user(&event, EP_FRAME_NATIVE, 0, 5, 0x1234);
	add_gap();
	event_user(&event, EP_FRAME_NATIVE, EP_FRAME_RETURN_ADDRESS, 5, 0x1300);
	add_event(store, &event);
	batch = finish(store);

	assert_int_equal(batch->n_samples, 1);
	assert_stack(batch, 0,
		     "native 0x1234 libx.so+0x1234 in /usr/lib/libx.so abcd 0x1000+0x1000 flags 0, flags 4\n"
		     "gap 0x0 [gap: stack memory unreadable], flags 8\n"
		     "native 0x12ff libx.so+0x12ff in /usr/lib/libx.so abcd 0x1000+0x1000 flags 0, flags 4\n");
	assert_int_equal(batch->stack_error[batch->sample_stack[0]], 0);
}

STORE_TEST(mappings_are_those_of_the_file)
{
	static const struct ep_frame_line line = {.function = "f"};
	struct ep_batch *batch;

	event_init(&event, EP_EVENT_TRACE, 1, 7);
	event_kernel(&event, 0xffffffff81000010);
	event_kernel(&event, 0xffffffffc0000020);
	event_user(&event, EP_FRAME_NATIVE, 0, 5, 0x1234);
	event_user(&event, EP_FRAME_NATIVE, 0, 5, 0x8010);
	event_user(&event, EP_FRAME_NATIVE, 0, 6, 0x10);
	event_user(&event, EP_FRAME_NATIVE, 0, 0, 0x7f0000001000);
	add_event(store, &event);
	resolve(store, 1, &line, 1, NULL);
	resolve(store, 2, &line, 1, "ext4");
	resolve(store, 3, &line, 1, NULL);
	batch = finish(store);
	assert_stack(batch, 0,
		     "kernel 0xffffffff81000010 f in [kernel.kallsyms] feed 0x8000000000000000+0x0 flags 3\n"
		     "kernel 0xffffffffc000001f f in [ext4]  0x8000000000000000+0x0 flags 3\n"
		     "native 0x1234 f in /usr/lib/libx.so abcd 0x1000+0x1000 flags 2\n"
		     "native 0x8010 libx.so+0x8010 in /usr/lib/libx.so abcd 0x8000+0x6000 flags 0, flags 4\n"
		     "native 0x10 [unknown]+0x10, flags 4\n"
		     "native 0x7f0000001000 0x7f0000001000, flags 4\n");
}

STORE_TEST(processes_and_times_are_wall_clock)
{
	struct ep_batch *batch;
	uint32_t process;

	event_init(&event, EP_EVENT_TRACE, 1, 7);
	event_user(&event, EP_FRAME_NATIVE, 0, 5, 0x1234);
	for (uint64_t i = 0; i < 3; i++) {
		event.sample.event.time_ns = 200 + i;
		event.sample.event.cpu = i == 1;
		add_event(store, &event);
	}
	ep_store_add_lost(store, 4);
	batch = finish(store);

	assert_int_equal(batch->start_ns, 1000100);
	assert_int_equal(batch->duration_ns, 5000);
	assert_int_equal(batch->period_ns, 50000000);
	assert_int_equal(batch->lost_samples, 4);
	assert_int_equal(batch->n_samples, 2);
	assert_int_equal(batch->sample_count[0], 2);
	assert_int_equal(batch->sample_weight_ns[0], 2 * 50000000);
	assert_int_equal(batch->sample_time_first[2], 3);
	assert_int_equal(batch->sample_time_ns[0], 1000200);
	assert_int_equal(batch->sample_time_ns[1], 1000202);
	assert_int_equal(batch->sample_time_ns[2], 1000201);
	process = batch->sample_process[0];
	assert_int_equal(batch->process_pid[process], 7);
	assert_int_equal(batch->process_start_ns[process], 2000077);
	assert_string_equal(text_in(batch, batch->process_comm[process]), "bad?comm");
	assert_string_equal(text_in(batch, batch->process_exe_path[process]), "/usr/bin/?]0;prog?");
	assert_string_equal(text_in(batch, batch->process_container_id[process]), "c0ffee");
	assert_string_equal(text_in(batch, batch->sample_thread_name[0]), "prog");
	assert_string_equal(batch->host_name, "host");
}

STORE_TEST(equal_stacks_of_two_processes_share_a_row)
{
	struct ep_batch *batch;

	add_native(store, 7, 7, 0x1234);
	event_init(&event, EP_EVENT_TRACE, 8, 8);
	event_user(&event, EP_FRAME_NATIVE, 0, 5, 0x1234);
	add_event(store, &event);
	event_user(&event, EP_FRAME_NATIVE, 0, 5, 0x1234);
	event.sample.hash = 99;
	add_event(store, &event);
	batch = finish(store);
	assert_int_equal(batch->n_samples, 3);
	assert_int_equal(batch->n_stacks, 3); /* row 0, one frame, two frames */
	assert_int_equal(batch->sample_stack[0], batch->sample_stack[1]);
	assert_int_not_equal(batch->sample_process[0], batch->sample_process[1]);
	assert_int_not_equal(batch->sample_stack[0], batch->sample_stack[2]);
}

STORE_TEST(frames_of_a_language_have_their_lines_and_no_mapping)
{
	static const struct ep_frame_line inlined[] = {
		{.function = "leaf", .file = "a.py", .line = 3, .column = 9, .start_line = 1},
		{.function = "caller", .file = "b.py", .line = 30, .start_line = 20},
	};
	struct ep_batch *batch;

	event_init(&event, EP_EVENT_TRACE, 1, 7);
	event_user(&event, TOY, 0, 0, 0x1000);
	event_user(&event, TOY, EP_FRAME_ENTRY, 0, 0x2000);
	event_user(&event, TOY + 1, 0, 0, 0x3000);
	add_event(store, &event);
	resolve(store, 1, inlined, 2, "a module that is not a file");
	resolve(store, 2, NULL, 0, NULL);
	resolve(store, 3, NULL, 0, NULL);
	batch = finish(store);
	assert_stack(batch, 0,
		     "toyscript 0x0 leaf a.py:3:9 from 1, caller b.py:30 from 20\n"
		     "toyscript 0x0 [toy: unknown function], flags 4\n"
		     "unknown 0x0 [unknown: unknown function], flags 4\n");
}

/* Each a stack of its own: a function of C that has a name, then a frame, then another C function. */
EP_TEST(a_stack_says_why_it_is_not_fully_named)
{
	static const struct ep_frame_line f = {.function = "f"}, empty = {.function = "", .start_va = 1};
#define WHY(reason) EP_UNNAMED_##reason
	static const struct {
		const char *label;
		uint32_t kind, aux;
		enum ep_unnamed given; /* PENDING: nothing yet */
		const struct ep_frame_line *line;
		enum ep_unnamed location; /* and the stack, but for native code without a symbol */
		const char *text;
	} rows[] = {
		{"named", TOY, 0, WHY(NONE), &f, WHY(NONE), ""},
		{"gone", TOY, 0, WHY(GONE), NULL, WHY(GONE), "toy: gone before it was named"},
		{"a text instead", TOY, 0, WHY(GONE), &f, WHY(GONE), "toy: gone before it was named"},
		{"unreadable", TOY, 0, WHY(UNREADABLE), NULL, WHY(UNREADABLE), "toy: could not be read"},
		{"no reason", TOY, 0, WHY(NONE), NULL, WHY(UNREADABLE), "toy: could not be read"},
		{"a file alone", TOY, 0, WHY(NONE), &empty, WHY(UNREADABLE), "toy: could not be read"},
		{"not attached", TOY, 0, WHY(NOT_ATTACHED), NULL, WHY(NOT_ATTACHED),
		 "toy: language not attached"},
		{"in time", TOY, 0, WHY(PENDING), NULL, WHY(PENDING), "toy: not named in time"},
		{"stripped", EP_FRAME_NATIVE, 5, WHY(NONE), NULL, WHY(NO_SYMBOL), ""},
		{"stripped, with bounds", EP_FRAME_NATIVE, 5, WHY(NONE), &empty, WHY(NO_SYMBOL), ""},
		{"native in time", EP_FRAME_NATIVE, 5, WHY(PENDING), NULL, WHY(NO_SYMBOL), ""},
		{"of no file", EP_FRAME_NATIVE, 0, WHY(NONE), NULL, WHY(NO_FILE), "code of no known file"},
		{"error", EP_FRAME_ERROR, EP_ERROR_BAD_READ, WHY(NONE), NULL, WHY(MISSING), "frames missing"},
		{"late", EP_FRAME_ERROR, EP_ERROR_LATE, WHY(NONE), NULL, WHY(NOT_ATTACHED),
		 "language not attached"},
		{"gap", EP_FRAME_GAP, EP_ERROR_BAD_READ, WHY(NONE), NULL, WHY(MISSING), "frames missing"},
		{"task", EP_FRAME_TASK, EP_TASK_EXIT, WHY(NONE), NULL, WHY(NONE), ""},
	};
#undef WHY

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct ep_store *store = new_store(100, NULL);
		struct ep_frames *frames = ep_store_frames(store);
		struct ep_batch *batch;
		bool has_no_symbol = rows[i].location == EP_UNNAMED_NO_SYMBOL;
		uint32_t id, stack, at;

		event_init(&event, EP_EVENT_TRACE, 1, 7);
		event_user(&event, EP_FRAME_NATIVE, 0, 5, 0x9000);
		event_user(&event, rows[i].kind, 0, rows[i].aux, 0x1000);
		add_event(store, &event);
		while ((id = ep_frames_take(frames)) != 0) {
			struct ep_frame frame;

			ep_frames_get(frames, id, &frame);
			if (frame.words[0] == 0x9000)
				(void)ep_frames_resolve(frames, id, &f, 1, NULL);
			else if (rows[i].given != EP_UNNAMED_PENDING)
				(void)ep_frames_resolve_unnamed(frames, id, rows[i].given, rows[i].line,
								rows[i].line ? 1 : 0);
		}
		batch = finish(store);
		stack = batch->sample_stack[0];
		at = location_in(batch, 0, 1);
		if (batch->location_unnamed[at] != rows[i].location ||
		    batch->stack_unnamed[stack] != (has_no_symbol ? EP_UNNAMED_NONE : rows[i].location) ||
		    strcmp(text_in(batch, batch->stack_unnamed_text[stack]), rows[i].text) != 0)
			fail_msg("%s: %u, %u, \"%s\"", rows[i].label, batch->location_unnamed[at],
				 batch->stack_unnamed[stack],
				 text_in(batch, batch->stack_unnamed_text[stack]));
		assert_int_equal(batch->location_unnamed[location_in(batch, 0, 0)], EP_UNNAMED_NONE);
		assert_int_equal(ep_batch_has_no_symbol(batch, stack), has_no_symbol);
		assert_int_equal(ep_batch_has_raw_code(batch, stack),
				 rows[i].location == EP_UNNAMED_NO_FILE);
	}
}

/* The address stays with the location, which has one: what reads it may look there. */
STORE_TEST(code_of_one_region_is_one_function)
{
	static const uint64_t address[] = {0x7f0000011234, 0x7f0000015678, 0x7f0000021234, 0x7f0000031234};
	static const uint64_t region[] = {0x7f0000010000, 0x7f0000010000, 0x7f0000020000, 0};
	uint32_t function[EP_LEN(address)];
	struct ep_batch *batch;

	event_init(&event, EP_EVENT_TRACE, 1, 7);
	for (size_t i = 0; i < EP_LEN(address); i++)
		event_user(&event, EP_FRAME_NATIVE, 0, 0, address[i]);
	add_event(store, &event);
	for (uint32_t i = 0; i < EP_LEN(address); i++) {
		struct ep_frame_line line = {.start_va = region[i]};

		resolve(store, i + 1, &line, region[i] ? 1 : 0, NULL);
	}
	batch = finish(store);
	for (uint32_t i = 0; i < EP_LEN(address); i++) {
		uint32_t at = location_in(batch, 0, i);

		assert_int_equal(batch->location_address[at], address[i]);
		assert_int_equal(batch->location_unnamed[at], EP_UNNAMED_NO_FILE);
		assert_int_equal(batch->location_flags[at] & EP_LOCATION_UNNAMED, EP_LOCATION_UNNAMED);
		function[i] = batch->line_function[batch->location_line_first[at]];
	}
	assert_int_equal(function[0], function[1]);
	assert_string_equal(text_in(batch, batch->function_name[function[0]]), "0x7f0000010000");
	assert_string_equal(text_in(batch, batch->function_name[function[2]]), "0x7f0000020000");
	assert_string_equal(text_in(batch, batch->function_name[function[3]]), "0x7f0000031234");
	assert_true(ep_batch_has_raw_code(batch, batch->sample_stack[0]));
}

/* Ten frames at ten addresses and in two processes, of which four differ in what they say. */
STORE_TEST(equal_frames_of_a_language_are_one_location)
{
	static const struct ep_frame_line lines[] = {
		{.function = "f", .file = "a.py", .line = 3},
		{.function = "f", .file = "a.py", .line = 4},
		{.function = "g", .file = "a.py", .line = 3},
	};
	struct ep_batch *batch;

	for (uint32_t pid = 7; pid < 9; pid++) {
		event_init(&event, EP_EVENT_TRACE, pid, pid);
		for (uint64_t i = 0; i < 5; i++)
			event_user(&event, TOY, 0, 0, pid * 0x10000 + i);
		add_event(store, &event);
	}
	for (uint32_t i = 0; i < 10; i++)
		resolve(store, i + 1, &lines[i % 5 % 3], 1 + (i % 5 == 4), NULL);
	batch = finish(store);
	/* f:3, f:4, g:3 and, inlined, f:4 in g:3; row 0 */
	assert_int_equal(batch->n_locations, 5);
	assert_int_equal(batch->n_lines, 5);
	assert_int_equal(location_in(batch, 0, 0), location_in(batch, 0, 3));
	assert_int_equal(batch->n_stacks, 2);
	assert_int_equal(batch->n_samples, 2);
}

STORE_TEST(traces_that_look_alike_are_one_row)
{
	static const struct ep_frame_line line = {.function = "f", .file = "a.py", .line = 3};
	struct ep_batch *batch;

	for (uint64_t i = 0; i < 6; i++) {
		event_init(&event, EP_EVENT_TRACE, 1 + i % 3, 7);
		event.sample.event.time_ns = 200 + i;
		event.sample.event.cpu = i % 3 == 2;
		event_user(&event, TOY, 0, 0, 0x1000 * (1 + i % 3));
		add_event(store, &event);
	}
	for (uint32_t i = 1; i <= 3; i++)
		resolve(store, i, &line, 1, NULL);
	batch = finish(store);
	assert_int_equal(batch->n_locations, 2);
	assert_int_equal(batch->n_stacks, 2);
	assert_int_equal(batch->n_samples, 2); /* two CPUs */
	assert_int_equal(batch->sample_count[0], 4);
	assert_int_equal(batch->sample_count[1], 2);
	assert_int_equal(batch->sample_time_first[1], 4);
	assert_int_equal(batch->sample_time_first[2], 6);
	for (uint32_t i = 0; i < 6; i++) {
		static const uint64_t order[] = {0, 3, 1, 4, 2, 5}; /* trace by trace */

		assert_int_equal(batch->sample_time_ns[i], 1000200 + order[i]);
	}
}

static uint64_t period_of(void *arg, uint32_t cpu)
{
	return cpu == 0 ? 52000000 : cpu == 1 ? 48000000 : 0;
}

/* CPU 2 has no period of its own. */
STORE_TEST(rows_weigh_their_cpus_periods)
{
	struct ep_batch_source weighted = source;
	struct ep_batch *batch;

	event_init(&event, EP_EVENT_TRACE, 1, 7);
	event_user(&event, EP_FRAME_NATIVE, 0, 5, 0x1234);
	for (uint32_t i = 0; i < 9; i++) {
		event.sample.event.cpu = i < 5 ? 0 : i < 7 ? 1 : 2;
		add_event(store, &event);
	}
	weighted.cpu_period = period_of;
	weighted.period_ns = 50500000;
	batch = build_batch(store, 5100, &weighted);
	assert_int_equal(batch->period_hz, 20);
	assert_int_equal(batch->period_ns, 50500000);
	assert_int_equal(batch->n_samples, 3);
	assert_int_equal(batch->sample_weight_ns[0], 5 * 52000000ull);
	assert_int_equal(batch->sample_weight_ns[1], 2 * 48000000ull);
	assert_int_equal(batch->sample_weight_ns[2], 2 * 50500000ull);
	assert_int_equal(ep_batch_weight_ns(batch, 1), 2 * 48000000ull);
	/* as a host of 1.0 would have made it */
	batch->size = offsetof(struct ep_batch, mapping_go_build_id);
	assert_int_equal(ep_batch_weight_ns(batch, 1), 2 * 50500000ull);
}

EP_TEST(empty_interval_makes_an_empty_batch)
{
	struct ep_batch *batch = finish(new_store(100, NULL));

	assert_int_equal(batch->n_samples, 0);
	assert_int_equal(batch->n_stacks, 1);
	assert_int_equal(batch->sample_time_first[0], 0);
	assert_string_equal(batch->string_text[0], "");
	ep_batch_ref(batch);
	ep_batch_unref(batch);
	assert_int_equal(batch->n_stacks, 1);
}

int main(void)
{
	uint32_t first_error;

	if (ep_kind_add(TOY_SLOT, "toy", NULL, &first_error) < 0)
		return 1;
	ep_kind_set_frame_type(TOY_SLOT, "toyscript");
	return ep_test_run(NULL, NULL);
}
