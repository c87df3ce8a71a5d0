/* SPDX-License-Identifier: Apache-2.0 */
/* A language in one process: what its plugin's answers lead to. */
#include "tests/unit/scripted_language.h"

HOST_TEST(what_may_pass_is_tried_again)
{
	begin(.attach = {-EFAULT, -ENOMEM, EP_NOT_YET, -EIO});
	run_until(&script.n_attached, 4);
	assert_int_equal(ep_instance_state(host.instance), 0);
	assert_int_equal(script.n_told, 0);
	run_until(&script.n_told, 1);
	assert_int_equal(script.n_attached, 5);
	assert_true(ep_instance_state(host.instance) > 0);
	assert_int_equal(host.languages->refused, 0);
	end_host();
	assert_int_equal(script.n_detached, 1);
}

/* Also of one that failed: the next one reads them anew. */
HOST_TEST(mappings_are_kept_until_the_job_ends)
{
	begin(.attach = {-EFAULT});
	run_until(&script.n_attached, 1);
	assert_false(host.instance->job.target.has_maps);
	run_until(&script.n_told, 1);
	assert_false(host.instance->job.target.has_maps);
}

HOST_TEST(a_layout_that_is_not_known_is_final)
{
	begin(.attach = {-ENOTSUP, END});
	run_until(&script.n_attached, 1);
	assert_int_equal(host.languages->refused, 1);
	assert_false(ep_timeout_is_set(&host.instance->due));
	assert_true(ep_instance_is_missed(host.instance, false));
	end_host();
	assert_int_equal(script.n_attached, 1);
}

HOST_TEST(what_is_refused_is_called_no_more)
{
	uint32_t id;

	begin_attached(.changed = {-ENOTSUP, END});
	ep_instance_refresh(host.instance);
	run_until(&script.n_told, 2);
	id = add_frame(1);
	assert_int_equal(ep_instance_symbolize(host.instance, host.frames, &id, 1), -ENODATA);
	ep_instance_refresh(host.instance);
	ep_instance_ask_refresh(host.instance);
	ep_languages_rest(host.languages, UINT64_MAX, 0);
	assert_int_equal(ep_languages_busy(host.languages), 0);
	assert_false(ep_timeout_is_set(&host.instance->due));
	assert_int_equal(host.instance->job.attached.state, EP_ATTACHMENT_REFUSED);
	assert_int_equal(script.n_attached, 1);
	assert_int_equal(script.n_changed, 1);
	assert_int_equal(host.languages->refused, 1);
}

HOST_TEST(what_rests_is_attached_again_for_a_name)
{
	uint32_t id, told;

	begin_attached(.symbolize = {0, END}, .stays = true);
	told = ep_instance_state(host.instance);
	ep_languages_rest(host.languages, UINT64_MAX, 0);
	assert_int_equal(script.n_detached, 1);
	assert_int_equal(ep_instance_state(host.instance), told);
	assert_false(ep_instance_is_missed(host.instance, false));
	assert_true(ep_instance_is_missed(host.instance, true));
	ep_instance_ask_refresh(host.instance);
	assert_int_equal(ep_languages_busy(host.languages), 0);
	id = add_frame(1);
	assert_int_equal(ep_instance_symbolize(host.instance, host.frames, &id, 1), -EBUSY);
	run_until(&script.n_attached, 2);
	assert_int_equal(ask(host.instance, id), EP_FRAME_RESOLVED);
	assert_int_equal(script.n_told, 1); /* it is what BPF knows */
	assert_int_equal(ep_instance_state(host.instance), told);
	assert_int_equal(host.languages->attached, 1);
	end_host();
	assert_int_equal(script.n_detached, 2);
}

HOST_TEST(a_runtime_is_told_by_where_it_is_loaded)
{
	struct ep_claim other = {.refs = 1};

	begin_attached();
	assert_true(ep_instance_is(host.instance, host.claim, 0));
	assert_false(ep_instance_is(host.instance, host.claim, 0x1000));
	assert_false(ep_instance_is(host.instance, &other, 0));
}

HOST_TEST(what_changes_meanwhile_is_looked_at_afterwards)
{
	begin();
	assert_int_equal(ep_languages_busy(host.languages), 2); /* one loads the program */
	ep_instance_refresh(host.instance);
	ep_instance_ask_refresh(host.instance);
	run_until(&script.n_changed, 1);
	assert_int_equal(script.n_changed, 1);
}

HOST_TEST(what_is_released_meanwhile_is_detached_afterwards)
{
	begin();
	ep_instance_release(host.instance);
	host.instance = NULL;
	run_until(&script.n_detached, 1);
	assert_int_equal(ep_languages_attaching(host.languages), 0);
	assert_int_equal(script.n_told, 0);
	end_host();
	assert_int_equal(script.n_detached, 1);
}

/* It is tried again, but nobody waits for it any more: the process's native code is walked as any other. */
HOST_TEST(a_language_that_fails_and_fails_is_given_up)
{
	begin(.attach = {EP_NOT_YET, EP_NOT_YET, EP_NOT_YET, -EFAULT});
	run_until(&script.n_attached, 3);
	assert_false(ep_instance_is_given_up(host.instance)); /* it has just begun */
	assert_true(ep_instance_is_awaited(host.instance));
	host.instance->born_ns -= EP_MIN(host.instance->born_ns, 10 * EP_NS_PER_SEC);
	assert_true(ep_instance_is_given_up(host.instance));
	assert_false(ep_instance_is_missed(host.instance, false));
	assert_false(ep_instance_is_awaited(host.instance));
	run_until(&script.n_told, 2); /* that it is given up, and that it is attached */
	assert_false(ep_instance_is_given_up(host.instance));
	assert_false(ep_instance_is_awaited(host.instance)); /* BPF is informed of it */
}

/* Its pid may have another program's memory by now. */
HOST_TEST(an_attach_that_waits_is_given_up_when_the_program_ends)
{
	begin(.attach = {EP_NOT_YET, END});
	run_until(&script.n_attached, 1);
	assert_true(ep_timeout_is_set(&host.instance->due));
	ep_instance_end(host.instance);
	assert_false(ep_timeout_is_set(&host.instance->due));
	assert_int_equal(ep_instance_wake(host.instance), -ESRCH);
	ep_instance_refresh(host.instance);
	ep_instance_act(host.instance);
	assert_int_equal(ep_languages_busy(host.languages), 0);
	assert_int_equal(host.languages->refused, 0);
}

HOST_TEST(an_attach_that_is_under_way_when_the_program_ends_is_the_last_one)
{
	begin(.attach = {EP_NOT_YET, END});
	ep_instance_end(host.instance);
	run_until(&script.n_attached, 1);
	assert_int_equal(ep_languages_busy(host.languages), 0);
	assert_false(ep_timeout_is_set(&host.instance->due));
	assert_int_equal(ep_instance_wake(host.instance), -ESRCH);
}

HOST_TEST(a_process_that_is_gone_is_not_refused)
{
	begin(.attach = {-EFAULT, -ESRCH, END});
	run_until(&script.n_attached, 2);
	assert_int_equal(host.languages->refused, 0);
	assert_false(ep_timeout_is_set(&host.instance->due));
	assert_true(ep_instance_is_missed(host.instance, false));
	end_host();
	assert_int_equal(script.n_attached, 2);
}
