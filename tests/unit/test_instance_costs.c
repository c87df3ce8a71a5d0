/* SPDX-License-Identifier: Apache-2.0 */
/* What a language's frames and attaches may cost, and who waits for whom. */
#include "tests/unit/scripted_language.h"
#include "core/base/clock.h"
#include "core/proc/process.h"

#include <sys/wait.h>

/* All are named, a few in each turn: what others want of the workers comes between two. */
NAMES_TEST(a_job_of_many_frames_makes_room_for_others)
{
	uint64_t asked_ns, attached_ns = host.languages->accounts.spent_ns;

	script.reads_ns = 5 * EP_NS_PER_MS;
	for (uint64_t i = 0; i < 40; i++)
		(void)add_frame(SLOW + i);
	asked_ns = ep_clock_mono_ns();
	name_all();
	assert_int_equal(ep_frames_unresolved(host.frames), 0);
	assert_in_range(script.n_named, 40 / 5, 40);
	assert_int_equal(host.languages->symbolized, 40);
	assert_in_range(host.languages->accounts.spent_ns - attached_ns, 1, ep_clock_mono_ns() - asked_ns);
}

NAMES_TEST(a_frame_that_takes_long_stays_unnamed)
{
	const struct ep_frame_name *names;
	uint64_t start_ns = ep_clock_mono_ns();
	uint32_t id = add_frame(SLOW), other = add_frame(0), module;

	script.reads_ns = 60 * EP_NS_PER_SEC;
	name_all();
	assert_in_range(ep_clock_mono_ns() - start_ns, 100 * EP_NS_PER_MS, 10 * EP_NS_PER_SEC);
	assert_int_equal(ep_frames_state(host.frames, id), EP_FRAME_RESOLVED);
	assert_int_equal(ep_frames_names(host.frames, id, &names, &module), 0);
	assert_true(ep_frames_names(host.frames, other, &names, &module) > 0);
	assert_int_equal(host.languages->late, 1);
	assert_int_equal(host.languages->unnamed, 1);
}

/* Time passes where the agent gets little of a CPU: that says nothing of the frame. */
NAMES_TEST(a_frame_is_late_by_its_cpu_time)
{
	const struct ep_frame_name *names;
	uint64_t start_ns = ep_clock_mono_ns();
	uint32_t id = add_frame(SLOW), module;

	script.waits = true;
	script.reads_ns = 200 * EP_NS_PER_MS;
	name_all();
	if (ep_clock_mono_ns() - start_ns >= EP_FRAME_WALL_NS)
		return; /* then it is late, by rights: see below */
	assert_true(ep_frames_names(host.frames, id, &names, &module) > 0);
	assert_int_equal(host.languages->late, 0);
	assert_true(host.languages->accounts.spent_ns < script.reads_ns / 2);
}

/* But nobody may have a worker for longer than a second, and who has is no better than who computes. */
NAMES_TEST(a_frame_is_late_after_a_second)
{
	uint64_t start_ns = ep_clock_mono_ns();
	uint32_t id = add_frame(SLOW);

	script.waits = true;
	script.reads_ns = 60 * EP_NS_PER_SEC;
	name_all();
	assert_in_range(ep_clock_mono_ns() - start_ns, EP_FRAME_WALL_NS, 30 * EP_NS_PER_SEC);
	assert_int_equal(ep_frames_unnamed(host.frames, id), EP_UNNAMED_SLOW);
	assert_int_equal(host.languages->late, 1);
	assert_true(ep_instance_spent_ns(host.instance) >= EP_FRAME_WALL_NS / 2);
	assert_true(host.languages->accounts.spent_ns < EP_FRAME_WALL_NS);
}

/* So much expensive work was done for it, and so much for all that have had more than their share. */
static void spend(struct ep_account *account, uint64_t own_ns, uint64_t shared_ns)
{
	const struct ep_cost cost = {.expensive_ns = own_ns};

	ep_account_charge(NULL, account, &cost, ep_clock_mono_ns());
	host.languages->accounts.shared.paid_ns = ep_clock_mono_ns() + 25 * shared_ns;
}

NAMES_TEST(who_has_spent_its_share_waits_until_it_is_paid)
{
	uint32_t id = add_frame(0);
	uint64_t start_ns = ep_clock_mono_ns();

	assert_int_equal(ep_instance_spent_ns(host.instance), 0);
	host.instance->account->was_sampled = true;
	spend(host.instance->account, 100 * EP_NS_PER_MS, EP_ACCOUNT_SHARED_NS + 8 * EP_NS_PER_MS);
	assert_true(ep_instance_spent_ns(host.instance) > 0);
	assert_int_equal(ep_instance_symbolize(host.instance, host.frames, &id, 1), -EDQUOT);
	run_until(&script.n_named, 1);
	assert_true(ep_clock_mono_ns() - start_ns >= 200 * EP_NS_PER_MS);
	assert_int_equal(ep_instance_symbolize(host.instance, host.frames, &id, 1), 0);
	run_until(&script.n_named, 2);
	assert_int_equal(ep_frames_state(host.frames, id), EP_FRAME_RESOLVED);
}

NAMES_TEST(who_is_over_budget_leaves_a_worker_to_others)
{
	uint32_t id = add_frame(0);

	*host.languages->naming = 2; /* of two other processes */
	assert_int_equal(ep_instance_symbolize(host.instance, host.frames, &id, 1), -EBUSY);
	*host.languages->naming = 1;
	spend(host.instance->account, 100 * EP_NS_PER_MS, 0);
	assert_int_equal(ep_instance_symbolize(host.instance, host.frames, &id, 1), -EBUSY);
	*host.languages->naming = 0;
	host.languages->n_over_budget = 1; /* it is attached to */
	assert_int_equal(ep_instance_symbolize(host.instance, host.frames, &id, 1), -EBUSY);
	host.languages->n_over_budget = 0;
	assert_int_equal(ep_instance_symbolize(host.instance, host.frames, &id, 1), 0);
	assert_int_equal(host.languages->n_over_budget, 1);
	run_until(&script.n_named, 1);
	assert_int_equal(*host.languages->naming, 0);
	assert_int_equal(host.languages->n_over_budget, 0);
}

HOST_TEST(a_process_without_a_budget_is_attached_to_later)
{
	struct ep_instance *second;
	struct ep_account exhausted = {0};

	begin_attached();
	spend(&exhausted, 100 * EP_NS_PER_MS, EP_ACCOUNT_SHARED_NS / 2 + 8 * EP_NS_PER_MS);
	second = ep_instance_new(host.languages, host.claim, getpid(), &exhausted, 0, 0);
	assert_int_equal(ep_languages_busy(host.languages), 0);
	assert_int_equal(ep_languages_attaching(host.languages), 0); /* no sample waits for it */
	run_until(&script.n_attached, 2);
	assert_int_equal(host.languages->put_off, 1);
	assert_true(ep_instance_state(second) > 0);
	ep_instance_release(second);
}

/* Its account is full, and that of the user who runs it is not. */
HOST_TEST(new_programs_of_an_owner_who_has_spent_all_wait)
{
	const struct ep_cost cost = {.owner_ns = EP_ACCOUNT_OWNER_NS + 160 * EP_NS_PER_MS};
	struct ep_account first = {.owner = 1000}, second = {.owner = 1000};
	struct ep_instance *instance;

	begin_attached();
	ep_account_charge(&host.languages->accounts, &first, &cost, ep_clock_mono_ns());
	instance = ep_instance_new(host.languages, host.claim, getpid(), &second, 0, 0);
	assert_int_equal(ep_languages_busy(host.languages), 0);
	run_until(&script.n_attached, 2);
	assert_true(host.languages->put_off > 0);
	ep_instance_release(instance);
}

/* As many as there may be that sleep: whoever runs is attached to before them. */
HOST_TEST(who_is_sampled_does_not_stand_in_line)
{
	struct ep_instance *asleep[50];

	begin_attached(.stays = true);
	for (size_t i = 0; i < EP_LEN(asleep); i++)
		asleep[i] = ep_instance_new(host.languages, host.claim, getpid(), NULL, 0, 0);
	assert_int_equal(ep_languages_busy(host.languages), 2);
	assert_int_equal(ep_languages_attaching(host.languages), EP_LEN(asleep));
	ep_instance_on_sample(asleep[10], ep_clock_mono_ns());
	assert_int_equal(ep_languages_busy(host.languages), 3);
	ep_instance_release(asleep[20]); /* while it waits */
	asleep[20] = NULL;
	while (ep_languages_attaching(host.languages) > 0)
		(void)uv_run(&host.loop, UV_RUN_ONCE);
	assert_int_equal(script.n_attached, EP_LEN(asleep)); /* without one, and with the first of all */
	for (size_t i = 0; i < EP_LEN(asleep); i++)
		ep_instance_release(asleep[i]);
}

/* A child that runs when a byte is written, and ends when the test does. */
static pid_t start_sleeper(int *ret_wake_fd)
{
	struct ep_process_info info;
	int wakes[2];
	pid_t child;
	char byte;

	assert_int_equal(pipe(wakes), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		close(wakes[1]);
		while (read(wakes[0], &byte, 1) == 1)
			;
		_exit(0);
	}
	close(wakes[0]);
	do { /* until it sleeps: on a busy machine that takes longer than all the script's attempts */
		usleep(1000);
		assert_int_equal(ep_process_read_stat(child, &info), 0);
	} while (info.state != 'S');
	*ret_wake_fd = wakes[1];
	return child;
}

/* Its memory is what it was. */
HOST_TEST(a_process_that_sleeps_is_not_looked_at_again)
{
	pid_t child;
	int wake_fd;

	child = start_sleeper(&wake_fd);
	begin_of(child, .attach = {EP_NOT_YET, EP_NOT_YET, EP_NOT_YET, 0, END});
	while (host.languages->slept < 4)
		(void)uv_run(&host.loop, UV_RUN_ONCE);
	assert_in_range(script.n_attached, 1, 3); /* it may just have begun to sleep */
	while (host.languages->attached == 0) {
		assert_int_equal(write(wake_fd, "", 1), 1);
		(void)uv_run(&host.loop, UV_RUN_ONCE);
	}
	assert_int_equal(script.n_attached, 4);
	end_host();
	close(wake_fd);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

NAMES_TEST(the_end_waits_for_no_frame)
{
	uint64_t start_ns;
	uint32_t ids[40];

	script.reads_ns = 60 * EP_NS_PER_SEC;
	for (size_t i = 0; i < EP_LEN(ids); i++) {
		(void)add_frame(SLOW + i);
		ids[i] = ep_frames_take(host.frames);
	}
	assert_int_equal(ep_instance_symbolize(host.instance, host.frames, ids, EP_LEN(ids)), 0);
	while (!*(volatile int *)&script.n_symbolized)
		(void)uv_run(&host.loop, UV_RUN_NOWAIT);
	start_ns = ep_clock_mono_ns();
	ep_languages_stop(host.languages);
	while (ep_languages_busy(host.languages) > 0)
		(void)uv_run(&host.loop, UV_RUN_ONCE);
	assert_true(ep_clock_mono_ns() - start_ns < 90 * EP_NS_PER_MS);
	assert_true(ep_frames_unresolved(host.frames) > 0);
}
