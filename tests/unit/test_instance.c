/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A language in one process: what its plugin's answers lead to. The plugin is a script of answers; its
 * BPF program is never run, but the cells of its state are BPF's: without privileges this is a skip.
 */
#include "core/process/unwinders_internal.h"
#include "core/bpf/language_maps.h"
#include "core/trace/frames.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define SKIP 77
#define END  INT32_MAX /* of a script */

static struct {
	const int *attach, *changed; /* results, in turn; the last one before END for ever */
	uint64_t state;		     /* what is set before each result; counted up */
	struct ep_target *target;
	int n_attached, n_changed, n_detached;
	int n_told;
} script;

static int next(const int **results)
{
	int result = **results;

	if ((*results)[1] != END)
		(*results)++;
	return result;
}

static int attach(void *executable, struct ep_target *target, void **ret_instance)
{
	(void)executable;
	script.n_attached++;
	script.state++;
	script.target = target;
	*ret_instance = &script;
	assert_int_equal(target->ops->set_state(target->arg, &script.state, sizeof(script.state)), 0);
	return next(&script.attach);
}

static int changed(void *instance)
{
	(void)instance;
	script.n_changed++;
	script.state++;
	assert_int_equal(script.target->ops->set_state(script.target->arg, &script.state,
						       sizeof(script.state)), 0);
	return next(&script.changed);
}

static void detach(void *instance)
{
	(void)instance;
	script.n_detached++;
}

static void unload(void *executable)
{
	(void)executable;
}

/* Two lines with all there is. Of what begins at LONG_NAMES, more and longer ones than may be, and
 * every other time no word of it when they do not fit. */
#define LONG_NAMES 1000

static int add_long_names(uint64_t frame, struct ep_names *names)
{
	static char text[3 * EP_FRAME_MAX_NAME_BYTES];
	struct ep_name name = {.size = sizeof(name), .function = text, .file = text};
	int r = 0;

	memset(text, 'n', sizeof(text) - 1);
	for (name.line = 1; r == 0 && name.line <= 2 * EP_FRAME_MAX_LINES; name.line++)
		r = names->add(names->arg, &name);
	return frame % 2 ? r : 0;
}

static int symbolize(void *instance, const struct ep_raw_frame *frame, struct ep_names *names)
{
	static const struct ep_name inner = {.size = sizeof(inner), .line = 3, .column = 5,
					     .start_line = 2, .function = "C.m",
					     .system_name = "C.m(I)V", .file = "C.java"};
	static const struct ep_name outer = {.size = sizeof(outer), .function = "D.m"};

	(void)instance;
	if (frame->words[0] >= LONG_NAMES)
		return add_long_names(frame->words[0], names);
	assert_int_equal(names->add(names->arg, &inner), 0);
	assert_int_equal(names->add(names->arg, &outer), 0);
	return (int)frame->words[0];
}

static const struct ep_unwinder_ops ops = {
	.size = sizeof(ops),
	.attach = attach,
	.refresh = changed,
	.symbolize = symbolize,
	.detach = detach,
	.unload = unload,
};

/* --- its host ---------------------------------------------------------------------------------- */

static struct {
	uv_loop_t loop;
	struct ep_unwinders *unwinders;
	struct ep_claim *claim;
	struct ep_instance *instance;
} host;

static void on_changed(void *arg, pid_t pid)
{
	(void)arg;
	assert_int_equal(pid, getpid());
	script.n_told++;
}

static void on_named(void *arg)
{
	(void)arg;
}

static bool is_hurried(void *arg)
{
	(void)arg;
	return false;
}

static void begin(const int *attached, const int *changes)
{
	struct ep_unwinders_options options = {
		.loop = &host.loop, .changed = on_changed, .named = on_named, .hurried = is_hurried};
	struct ep_language_plugin *plugin;

	memset(&script, 0, sizeof(script));
	script.attach = attached;
	script.changed = changes;
	assert_int_equal(uv_loop_init(&host.loop), 0);
	assert_int_equal(ep_unwinders_new(&options, &host.unwinders), 0);
	plugin = &host.unwinders->plugins[0];
	*plugin = (struct ep_language_plugin){.unwinders = host.unwinders, .ops = &ops,
					      .name = "script", .slot = 2, .tried = true};
	uv_mutex_init(&plugin->mutex);
	plugin->program = (void *)plugin; /* is loaded */
	host.claim = calloc(1, sizeof(*host.claim));
	host.claim->refs = 1;
	host.claim->plugin = plugin;
	host.instance = ep_instance_new(host.unwinders, host.claim, getpid(), 0, 0);
	assert_non_null(host.instance);
}

static void end(void)
{
	ep_instance_release(host.instance);
	ep_claim_unref(host.claim);
	uv_mutex_destroy(&host.unwinders->plugins[0].mutex);
	ep_unwinders_stop(host.unwinders);
	(void)uv_run(&host.loop, UV_RUN_DEFAULT);
	ep_unwinders_free(host.unwinders);
	assert_int_equal(uv_loop_close(&host.loop), 0);
}

/* Until a count is reached, and nothing is under way. */
static void run_until(const int *count, int wanted)
{
	while (*count < wanted || ep_unwinders_busy(host.unwinders) > 0)
		(void)uv_run(&host.loop, UV_RUN_ONCE);
}

/* --- tests --------------------------------------------------------------------------------------- */

static void what_may_pass_is_tried_again(void **state)
{
	static const int attached[] = {-EFAULT, -ENOMEM, EP_NOT_YET, -EIO, 0, END};

	(void)state;
	begin(attached, NULL);
	run_until(&script.n_attached, 4);
	assert_int_equal(ep_instance_state(host.instance), 0);
	assert_int_equal(script.n_told, 0);
	run_until(&script.n_told, 1);
	assert_int_equal(script.n_attached, 5);
	assert_true(ep_instance_state(host.instance) > 0);
	assert_int_equal(host.unwinders->refused, 0);
	end();
	assert_int_equal(script.n_detached, 1);
}

static void a_layout_that_is_not_known_is_final(void **state)
{
	static const int attached[] = {-ENOTSUP, END};

	(void)state;
	begin(attached, NULL);
	run_until(&script.n_attached, 1);
	assert_int_equal(host.unwinders->refused, 1);
	assert_int_equal(host.instance->retry_ns, 0);
	assert_true(ep_instance_is_missed(host.instance, false));
	end();
	assert_int_equal(script.n_attached, 1);
}

/* What was set by a call that did not succeed is not what holds. */
static void a_change_takes_effect_when_it_succeeds(void **state)
{
	static const int attached[] = {0, END};
	static const int changes[] = {EP_NOT_YET, -EFAULT, 0, END};
	uint32_t told;

	(void)state;
	begin(attached, changes);
	run_until(&script.n_told, 1);
	told = ep_instance_state(host.instance);
	ep_instance_refresh(host.instance);
	run_until(&script.n_changed, 2);
	assert_int_equal(script.n_told, 1);
	assert_int_equal(ep_instance_state(host.instance), told);
	run_until(&script.n_told, 2);
	assert_int_equal(script.n_changed, 3);
	assert_int_not_equal(ep_instance_state(host.instance), told);
	end();
}

static void a_change_that_is_final_detaches(void **state)
{
	static const int attached[] = {0, END}, changes[] = {-ENOTSUP, END};

	(void)state;
	begin(attached, changes);
	run_until(&script.n_told, 1);
	ep_instance_refresh(host.instance);
	run_until(&script.n_told, 2);
	assert_int_equal(ep_instance_state(host.instance), 0);
	assert_int_equal(script.n_detached, 1);
	end();
}

/* --- names --------------------------------------------------------------------------------------- */

static struct ep_frames *begin_names(void)
{
	static const int attached[] = {0, END};
	struct ep_frames *frames;

	begin(attached, NULL);
	run_until(&script.n_told, 1);
	assert_int_equal(ep_frames_new(1000, 8 << 20, 1 << 20, &frames), 0);
	return frames;
}

static uint32_t add_frame(struct ep_frames *frames, uint64_t word)
{
	uint32_t id = 0;

	assert_int_equal(ep_frames_add(frames, EP_FRAME_HEADER(EP_FRAME_FIRST_DYNAMIC + 2, 0, 1, 0),
				       &word, (struct ep_program){.pid = 1}, &id),
			 0);
	return id;
}

/* One job for all that have no names yet. */
static void run_names(struct ep_frames *frames)
{
	uint32_t ids[100], cursor = 0, id;
	size_t n = 0;

	while ((id = ep_frames_next_pending(frames, &cursor)) != 0)
		ids[n++] = id;
	assert_int_equal(ep_instance_symbolize(host.instance, frames, ids, n), 0);
	run_until(&script.n_told, 1);
}

static const char *text_of(const struct ep_frames *frames, uint32_t string)
{
	return ep_strings_get(ep_frames_strings(frames), string);
}

static void names_have_all_that_was_said(void **state)
{
	struct ep_frames *frames = begin_names();
	uint32_t named = add_frame(frames, 0), gone = add_frame(frames, EP_FRAME_GONE), module;
	uint32_t waits = add_frame(frames, EP_NOT_YET), after = add_frame(frames, 0);
	const struct ep_frame_name *names;

	(void)state;
	run_names(frames);
	assert_int_equal(ep_frames_names(frames, gone, &names, &module), 0);
	assert_int_equal(ep_frames_state(frames, gone), EP_FRAME_RESOLVED);
	assert_int_equal(ep_frames_state(frames, waits), EP_FRAME_PENDING);
	assert_int_equal(ep_frames_names(frames, after, &names, &module), 2);
	assert_int_equal(ep_frames_names(frames, named, &names, &module), 2);
	assert_string_equal(text_of(frames, names[0].function), "C.m");
	assert_string_equal(text_of(frames, names[0].system_name), "C.m(I)V");
	assert_string_equal(text_of(frames, names[0].file), "C.java");
	assert_int_equal(names[0].line, 3);
	assert_int_equal(names[0].column, 5);
	assert_int_equal(names[0].start_line, 2);
	assert_string_equal(text_of(frames, names[1].function), "D.m");
	assert_string_equal(text_of(frames, names[1].system_name), "D.m");
	assert_int_equal(names[1].file, 0);
	ep_frames_unref(frames);
	end();
}

static void what_does_not_fit_is_asked_for_again(void **state)
{
	struct ep_frames *frames = begin_names();
	const struct ep_frame_name *names;
	uint32_t first = 0, module;
	int n_jobs = 0;

	(void)state;
	for (uint64_t i = 0; i < 40; i++)
		first = add_frame(frames, LONG_NAMES + i) - (uint32_t)i;
	for (; ep_frames_unresolved(frames) > 0 && n_jobs < 40; n_jobs++)
		run_names(frames);
	assert_int_equal(n_jobs, 3); /* 15 frames of 1 MiB each, kept for the way */
	for (uint32_t i = 0; i < 40; i++) {
		size_t n = ep_frames_names(frames, first + i, &names, &module);

		assert_int_equal(n, 3); /* of 16 KiB: 64 KiB are one frame's */
		assert_int_equal(names[1].line, 2);
		assert_int_equal(names[2].line, 2 * EP_FRAME_MAX_LINES);
		assert_int_equal(strlen(text_of(frames, names[0].function)),
				 EP_FRAME_MAX_NAME_BYTES);
	}
	assert_int_equal(host.unwinders->symbolized, 40);
	assert_int_equal(host.unwinders->unnamed, 0);
	assert_int_equal(host.unwinders->lines_left_out, 40 * (2 * EP_FRAME_MAX_LINES - 3));
	assert_false(ep_frames_is_full(frames));
	ep_frames_unref(frames);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_may_pass_is_tried_again),
		cmocka_unit_test(a_layout_that_is_not_known_is_final),
		cmocka_unit_test(a_change_takes_effect_when_it_succeeds),
		cmocka_unit_test(a_change_that_is_final_detaches),
		cmocka_unit_test(names_have_all_that_was_said),
		cmocka_unit_test(what_does_not_fit_is_asked_for_again),
	};
	struct ep_language_maps *maps = NULL;
	int r = ep_language_maps_new(&maps);

	ep_language_maps_free(maps);
	if (r == -EPERM || r == -EACCES) {
		printf("skip: no BPF maps for who is not root\n");
		return SKIP;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
