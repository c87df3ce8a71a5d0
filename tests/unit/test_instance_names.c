/* SPDX-License-Identifier: Apache-2.0 */
/* Names of a language's frames: of its process, and of what was kept of it. */
#include "tests/unit/scripted_language.h"
#include "core/process/process_languages.h"
#include "core/process/table.h"

HOST_TEST(frames_are_asked_for_again_when_it_is_too_early)
{
	uint32_t id;

	begin_attached(.symbolize = {EP_NOT_YET, EP_NOT_YET, 0, END});
	id = add_frame(1);
	assert_int_equal(ask(host.instance, id), EP_FRAME_PENDING);
	assert_int_equal(ask(host.instance, id), EP_FRAME_PENDING);
	assert_int_equal(ask(host.instance, id), EP_FRAME_RESOLVED);
	assert_int_equal(host.languages->symbolized, 1);
	assert_false(ep_instance_is_missed(host.instance, false));
}

/* What the plugin remembers still names frames, but its process is not looked at any more. */
HOST_TEST(a_process_that_is_gone_is_asked_for_names_only)
{
	uint32_t id, told;

	begin_attached(.symbolize = {-ESRCH, -ESRCH, EP_NOT_YET, 0, END});
	told = ep_instance_state(host.instance);
	id = add_frame(1);
	assert_int_equal(ask(host.instance, id), EP_FRAME_PENDING);
	assert_true(ep_instance_is_missed(host.instance, false));
	assert_int_equal(ask(host.instance, id), EP_FRAME_RESOLVED);
	assert_int_equal(ask(host.instance, add_frame(2)), EP_FRAME_RESOLVED);
	assert_int_equal(host.languages->unnamed, 2);
	assert_int_equal(ask(host.instance, add_frame(3)), EP_FRAME_RESOLVED);
	assert_int_equal(host.languages->symbolized, 1);
	ep_instance_refresh(host.instance);
	assert_int_equal(ep_languages_busy(host.languages), 0);
	assert_int_equal(script.n_changed, 0);
	assert_int_equal(ep_instance_state(host.instance), told);
	assert_int_equal(script.n_detached, 0);
	ep_languages_rest(host.languages, UINT64_MAX, 0);
	assert_int_equal(script.n_detached, 1);
	assert_int_equal(ep_frames_unnamed(host.frames, id), EP_UNNAMED_GONE);
	assert_int_equal(ep_instance_symbolize(host.instance, host.frames, &id, 1), -ESRCH);
	end_host();
	assert_int_equal(script.n_detached, 1);
}

NAMES_TEST(names_have_all_that_was_said)
{
	uint32_t named = add_frame(0), gone = add_frame(EP_FRAME_GONE), module;
	uint32_t waits = add_frame(EP_NOT_YET), after = add_frame(0);
	const struct ep_frame_name *names;

	run_names();
	assert_int_equal(ep_frames_names(host.frames, gone, &names, &module), 0);
	assert_int_equal(ep_frames_state(host.frames, gone), EP_FRAME_RESOLVED);
	assert_int_equal(ep_frames_state(host.frames, waits), EP_FRAME_PENDING);
	assert_int_equal(ep_frames_names(host.frames, after, &names, &module), 2);
	assert_int_equal(ep_frames_names(host.frames, named, &names, &module), 2);
	assert_string_equal(text_of(names[0].function), "C.m");
	assert_string_equal(text_of(names[0].system_name), "C.m(I)V");
	assert_string_equal(text_of(names[0].file), "C.java");
	assert_int_equal(names[0].line, 3);
	assert_int_equal(names[0].column, 5);
	assert_int_equal(names[0].start_line, 2);
	assert_string_equal(text_of(names[1].function), "D.m");
	assert_string_equal(text_of(names[1].system_name), "D.m");
	assert_int_equal(names[1].file, 0);
}

NAMES_TEST(what_never_comes_is_not_asked_for_for_ever)
{
	uint32_t id = add_frame(EP_NOT_YET);

	for (uint32_t i = 0; i < 5; i++) {
		run_names();
		assert_int_equal(ep_frames_state(host.frames, id), EP_FRAME_PENDING);
		assert_int_equal(ep_frames_tries(host.frames, id), i + 1);
	}
	run_names();
	assert_int_equal(ep_frames_state(host.frames, id), EP_FRAME_RESOLVED);
	assert_int_equal(ep_frames_unnamed(host.frames, id), EP_UNNAMED_GONE);
}

NAMES_TEST(a_name_that_is_not_known_says_why)
{
	static const struct {
		int result;
		enum ep_unnamed why;
	} rows[] = {
		{0, EP_UNNAMED_NONE},		       {EP_FRAME_GONE, EP_UNNAMED_GONE},
		{STAND_IN, EP_UNNAMED_GONE},	       {-EFAULT, EP_UNNAMED_UNREADABLE},
		{-EBADMSG, EP_UNNAMED_UNREADABLE},     {-ENOTSUP, EP_UNNAMED_UNREADABLE},
		{EP_NOT_YET, EP_UNNAMED_PENDING},
	};
	uint32_t ids[EP_LEN(rows)];

	for (size_t i = 0; i < EP_LEN(rows); i++)
		ids[i] = add_frame((uint64_t)rows[i].result);
	run_names();
	for (size_t i = 0; i < EP_LEN(rows); i++)
		if (ep_frames_unnamed(host.frames, ids[i]) != rows[i].why)
			fail_msg("%d: %d", rows[i].result, ep_frames_unnamed(host.frames, ids[i]));
}

NAMES_TEST(what_does_not_fit_is_asked_for_again)
{
	const struct ep_frame_name *names;
	uint32_t first = 0, module;

	for (uint64_t i = 0; i < 40; i++)
		first = add_frame(LONG_NAMES + i) - (uint32_t)i;
	name_all();
	assert_int_equal(ep_frames_unresolved(host.frames), 0);
	assert_true(script.n_named >= 3); /* 15 frames of 1 MiB each, kept for the way */
	for (uint32_t i = 0; i < 40; i++) {
		size_t n = ep_frames_names(host.frames, first + i, &names, &module);

		assert_int_equal(n, 3); /* of 16 KiB: 64 KiB are one frame's */
		assert_int_equal(names[1].line, 2);
		assert_int_equal(names[2].line, 2 * EP_FRAME_MAX_LINES);
		assert_int_equal(strlen(text_of(names[0].function)), EP_FRAME_MAX_NAME_BYTES);
	}
	assert_int_equal(host.languages->symbolized, 40);
	assert_int_equal(host.languages->unnamed, 0);
	assert_int_equal(host.languages->lines_left_out, 40 * (2 * EP_FRAME_MAX_LINES - 3));
	assert_false(ep_frames_is_full(host.frames));
}

static void keep_text(const char text[8])
{
	struct {
		struct ep_kept kept;
		struct ep_kept_piece piece;
		char text[8];
	} event = {.piece = {.addr = KEPT_ADDR, .bytes = 8}};

	event.kept.bytes = sizeof(event) - sizeof(event.kept);
	memcpy(event.text, text, sizeof(event.text));
	ep_instance_keep(host.instance, &event.kept, sizeof(event));
}

NAMES_TEST(what_was_kept_names_frames_of_young_programs)
{
	uint32_t young = add_frame(NAMED), half = add_frame(HALF_NAMED), old, module;
	const struct ep_frame_name *names;

	keep_text("kept\0\0\0");
	run_names();
	assert_int_equal(ep_frames_names(host.frames, young, &names, &module), 1);
	assert_string_equal(text_of(names[0].function), "kept");
	/* What fails half way leaves nothing but what stands in. */
	assert_int_equal(ep_frames_names(host.frames, half, &names, &module), 1);
	assert_string_equal(text_of(names[0].function), "(freed)");
	assert_int_equal(host.languages->named_by_kept, 1);
	host.instance->job.kept_ns -= EP_KEPT_NS;
	assert_int_equal(ep_frames_add(host.frames,
				       EP_FRAME_HEADER(EP_FRAME_FIRST_DYNAMIC + SLOT, 0, 1, 1),
				       &(uint64_t){NAMED},
				       (struct ep_program){.pid = (uint32_t)getpid()}, &old), 0);
	assert_int_equal(ask(host.instance, old), EP_FRAME_RESOLVED);
	assert_int_equal(ep_frames_names(host.frames, old, &names, &module), 0);
}

/* Code that lives for a moment is kept however old its process is (ep_ask_keep), but not for ever. */
NAMES_TEST(what_was_kept_names_frames_of_old_programs)
{
	const struct ep_frame_name *names;
	uint32_t frame, module;

	host.instance->born_ns -= 2 * EP_KEPT_NS;
	frame = add_frame(NAMED);
	keep_text("kept\0\0\0");
	run_names();
	assert_int_equal(ep_frames_names(host.frames, frame, &names, &module), 1);
	assert_string_equal(text_of(names[0].function), "kept");
	assert_true(host.instance->job.kept_bytes > 0);
	host.instance->job.kept_ns -= EP_KEPT_NS;
	assert_int_equal(ask(host.instance, add_frame(HALF_NAMED)), EP_FRAME_RESOLVED);
	assert_int_equal(host.instance->job.kept_bytes, 0);
	assert_int_equal(host.languages->kept_bytes, 0);
}

NAMES_TEST(what_is_kept_is_given_back)
{
	keep_text("kept\0\0\0");
	assert_true(host.instance->arrived.bytes > 0);
	assert_int_equal(host.languages->kept_bytes, host.instance->arrived.bytes);
	ep_instance_forget_kept(host.instance);
	assert_int_equal(host.instance->arrived.bytes, 0);
	assert_int_equal(host.languages->kept_bytes, 0);
	host.languages->kept_bytes = EP_KEPT_ALL_BYTES; /* of others */
	keep_text("kept\0\0\0");
	assert_int_equal(host.languages->kept_refused, 1);
	host.languages->kept_bytes = 0;
}

/* It ended before anybody looked into it; its parent can still be read. */
HOST_TEST(frames_of_a_child_that_has_ended_are_its_parents)
{
	const struct ep_program parent_is = {.pid = 1000, .image = 1, .start_ns = 10};
	const struct ep_program child_is = {.pid = 1001, .image = 1, .start_ns = 20};
	struct ep_process *parent = ep_process_new(parent_is), *child = ep_process_new(child_is);
	struct ep_table table;

	begin_attached();
	ep_table_init(&table, 10);
	assert_int_equal(ep_table_add(&table, parent), 0);
	assert_int_equal(ep_table_add(&table, child), 0);
	parent->languages.instances[parent->languages.n++] = host.instance;
	ep_process_languages_fork(child, parent);
	assert_int_equal(child->languages.n, 1);
	assert_ptr_equal(ep_process_languages_find(&table, child_is, SLOT),
			 child->languages.instances[0]);
	ep_process_languages_end(child);
	ep_table_end(&table, child, 30);
	assert_ptr_equal(ep_process_languages_find(&table, child_is, SLOT), host.instance);
	ep_process_languages_drop(child);
	parent->languages.n = 0;
	ep_table_remove_ended(&table, child, &table.recent);
	ep_table_fini(&table);
	ep_process_free(child);
	ep_process_free(parent);
}

/* One piece of so many bytes, at KEPT_ADDR. */
static void keep(uint32_t bytes)
{
	static struct {
		struct ep_kept kept;
		struct ep_kept_piece piece;
		uint8_t bytes[EP_KEPT_PIECE_BYTES];
	} event;

	event.kept.bytes = (uint32_t)sizeof(event.piece) + bytes;
	event.piece = (struct ep_kept_piece){.addr = KEPT_ADDR, .bytes = bytes};
	ep_instance_keep(host.instance, &event.kept, sizeof(event.kept) + event.kept.bytes);
}

HOST_TEST(what_was_kept_names_a_frame_that_is_gone)
{
	begin_attached();
	assert_int_equal(ask(host.instance, add_frame(KEPT)), EP_FRAME_RESOLVED);
	assert_int_equal(host.languages->gone, 1);
	keep(8);
	assert_int_equal(ask(host.instance, add_frame(KEPT + 1)), EP_FRAME_RESOLVED);
	assert_int_equal(host.languages->named_by_kept, 1);
	assert_int_equal(script.n_read, 3); /* the process first */
}

HOST_TEST(a_process_that_has_ended_is_not_looked_at)
{
	begin_attached();
	ep_instance_end(host.instance);
	keep(8);
	assert_int_equal(ask(host.instance, add_frame(KEPT)), EP_FRAME_RESOLVED);
	assert_int_equal(host.languages->named_by_kept, 1);
	assert_int_equal(script.n_read, 1);
	ep_instance_refresh(host.instance);
	ep_instance_ask_refresh(host.instance);
	assert_int_equal(ep_languages_busy(host.languages), 0);
	assert_int_equal(script.n_changed, 0);
}

HOST_TEST(where_much_is_kept_of_others_an_ended_process_is_forgotten_once_it_is_named)
{
	begin_attached();
	ep_instance_end(host.instance);
	for (uint64_t i = 0; i < 2; i++) {
		keep(EP_KEPT_PIECE_BYTES);
		assert_int_equal(ask(host.instance, add_frame(KEPT + i)), EP_FRAME_RESOLVED);
		assert_true(host.instance->job.kept_bytes > 0);
	}
	host.languages->kept_bytes += EP_KEPT_MUCH_BYTES;
	assert_int_equal(ask(host.instance, add_frame(KEPT + 2)), EP_FRAME_RESOLVED);
	assert_int_equal(host.languages->named_by_kept, 3);
	assert_int_equal(host.instance->job.kept_bytes, 0);
	assert_int_equal(host.languages->kept_bytes, EP_KEPT_MUCH_BYTES);
	host.languages->kept_bytes = 0;
}
