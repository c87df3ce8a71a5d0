/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A language in one process: what its plugin's answers lead to. The plugin is a script of answers; its
 * BPF program is never run, but the cells of its state are BPF's: without privileges this is a skip.
 */
#include "core/process/unwinders_internal.h"
#include "core/bpf/language_maps.h"

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

static int see_mapping(void *arg, const struct ep_target_mapping *mapping)
{
	(void)arg;
	assert_true(mapping->start < mapping->end);
	return 0;
}

static int attach(void *executable, struct ep_target *target, void **ret_instance)
{
	(void)executable;
	script.n_attached++;
	script.state++;
	script.target = target;
	assert_int_equal(target->ops->mappings(target->arg, see_mapping, NULL), 0);
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

static const struct ep_unwinder_ops ops = {
	.size = sizeof(ops),
	.attach = attach,
	.refresh = changed,
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

/* Also of one that failed: the next one reads them anew. */
static void mappings_are_kept_until_the_job_ends(void **state)
{
	static const int attached[] = {-EFAULT, 0, END};

	(void)state;
	begin(attached, NULL);
	run_until(&script.n_attached, 1);
	assert_false(host.instance->process.has_maps);
	run_until(&script.n_told, 1);
	assert_false(host.instance->process.has_maps);
	end();
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_may_pass_is_tried_again),
		cmocka_unit_test(mappings_are_kept_until_the_job_ends),
		cmocka_unit_test(a_layout_that_is_not_known_is_final),
		cmocka_unit_test(a_change_takes_effect_when_it_succeeds),
		cmocka_unit_test(a_change_that_is_final_detaches),
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
