/* SPDX-License-Identifier: Apache-2.0 */
/* What is published to BPF of a language in a process, and who has a cell for its state. */
#include "tests/unit/scripted_language.h"
#include "core/base/clock.h"
#include "core/bpf/language_maps.h"

/* What was set by a call that did not succeed is not what holds. */
HOST_TEST(a_change_takes_effect_when_it_succeeds)
{
	uint32_t told;

	begin_attached(.changed = {EP_NOT_YET, -EFAULT});
	told = ep_instance_state(host.instance);
	ep_instance_refresh(host.instance);
	run_until(&script.n_changed, 2);
	assert_int_equal(script.n_told, 1);
	assert_int_equal(ep_instance_state(host.instance), told);
	run_until(&script.n_told, 2);
	assert_int_equal(script.n_changed, 3);
	assert_int_not_equal(ep_instance_state(host.instance), told);
}

/* It is of the process, and holds whatever becomes of the frame. */
HOST_TEST(what_is_said_with_a_name_is_told)
{
	begin_attached(.symbolize = {EP_FRAME_GONE, -EFAULT, 0, EP_NOT_YET, -ESRCH, END}, .says = {1, END});
	for (int i = 1; i <= 5; i++) {
		uint32_t told = ep_instance_state(host.instance);

		(void)ask(host.instance, add_frame((uint64_t)i));
		assert_int_equal(script.n_told, 1 + i);
		assert_int_not_equal(ep_instance_state(host.instance), told);
	}
}

/* Each of a job's frames sets the state; the last one's names do not fit any more. */
HOST_TEST(what_is_said_with_names_that_do_not_fit_is_told)
{
	begin_attached(.says = {1, END});
	for (uint64_t i = 0; i < 40; i++)
		(void)add_frame(LONG_NAMES + 2 * i);
	name_all();
	assert_true(script.n_symbolized >= 40); /* those that did not fit twice */
	assert_int_equal(script.state, 1 + script.n_symbolized);
	assert_int_equal(host.instance->job.attached.holds.state[0], script.state);
	assert_int_equal(script.n_told, 1 + script.n_named);
}

/* While it cannot be attached to BPF goes on with what it was given of the parent. */
HOST_TEST(a_child_has_what_its_parent_has_until_it_is_refused)
{
	struct ep_instance *child;
	uint32_t id;

	begin_attached(.attach = {0, -EFAULT, EP_NOT_YET, -ENOTSUP, END});
	child = ep_instance_fork(host.instance, getpid(), NULL);
	assert_non_null(child);
	assert_int_equal(ep_instance_state(child), ep_instance_state(host.instance));
	assert_int_equal(script.n_attached, 1);
	id = add_frame(1);
	assert_int_equal(ep_instance_symbolize(child, host.frames, &id, 1), -EBUSY);
	run_until(&script.n_attached, 3);
	assert_int_equal(ep_instance_state(child), ep_instance_state(host.instance));
	assert_int_equal(ep_instance_symbolize(child, host.frames, &id, 1), -EBUSY);
	run_until(&script.n_told, 2);
	assert_int_equal(ep_instance_state(child), 0);
	assert_true(ep_instance_is_missed(child, false));
	assert_true(ep_instance_state(host.instance) > 0);
	ep_instance_release(child);
}

/* What a child's attach does not say is not its parent's any more. */
HOST_TEST(a_child_that_is_attached_has_its_own)
{
	struct ep_instance *child;

	begin_attached(.says = {1, 0, END});
	child = ep_instance_fork(host.instance, getpid(), NULL);
	assert_non_null(child);
	assert_true(ep_instance_state(child) > 0);
	ep_instance_refresh(child);
	run_until(&script.n_told, 2);
	assert_int_equal(ep_instance_state(child), 0);
	ep_instance_release(child);
}

/* Another may get it, once BPF is done with it. */
HOST_TEST(a_cell_that_was_freed_has_no_state)
{
	struct ep_language_maps *maps;
	const uint64_t value = 77;
	int first, second;

	begin_attached();
	maps = host.languages->maps;
	first = ep_language_maps_get_state(maps, &value, sizeof(value), 1);
	assert_int_equal(ep_language_maps_get_state(maps, &value, sizeof(value), 1), first);
	ep_language_maps_put_state(maps, (uint32_t)first);
	ep_language_maps_put_state(maps, (uint32_t)first);
	second = ep_language_maps_get_state(maps, &value, sizeof(value), 1);
	assert_true(second > 0 && second != first);
	ep_language_maps_put_state(maps, (uint32_t)second);
}

HOST_TEST(a_new_state_gives_back_the_cell_of_the_old_one)
{
	uint64_t value;
	uint32_t told;
	int again;

	begin_attached();
	value = script.state;
	told = ep_instance_state(host.instance);
	ep_instance_refresh(host.instance);
	run_until(&script.n_told, 2);
	again = ep_language_maps_get_state(host.languages->maps, &value, sizeof(value), 1);
	assert_true(again > 0 && (uint32_t)again != told);
	ep_language_maps_put_state(host.languages->maps, (uint32_t)again);
}

/* As many processes that only sleep as anybody may start, each with a state of its own. */
#define SLEEPERS 4200

static struct ep_instance *sleepers[SLEEPERS];

static struct ep_instance *new_attached(void)
{
	uint64_t wanted = host.languages->attached + 1;
	struct ep_instance *instance = ep_instance_new(host.languages, host.claim, getpid(), NULL, 0, 0);

	assert_non_null(instance);
	while (host.languages->attached < wanted || ep_languages_busy(host.languages) > 0)
		(void)uv_run(&host.loop, UV_RUN_ONCE);
	return instance;
}

/* Whoever is sampled meanwhile has a state all the time. */
static void start_sleepers(struct ep_instance *sampled)
{
	for (size_t i = 0; i < SLEEPERS; i++) {
		sleepers[i] = new_attached();
		ep_instance_on_sample(sampled, ep_clock_mono_ns());
		assert_true(ep_instance_state(sampled) > 0);
	}
}

static void end_sleepers(void)
{
	for (size_t i = 0; i < SLEEPERS; i++)
		ep_instance_release(sleepers[i]);
}

HOST_TEST(processes_that_sleep_leave_states_to_those_that_run)
{
	struct ep_instance *asleep, *parent, *child, *late;

	begin_attached(.stays = false);
	asleep = new_attached();
	parent = new_attached();
	child = ep_instance_fork(parent, getpid(), NULL);
	ep_instance_on_sample(child, ep_clock_mono_ns());
	start_sleepers(host.instance);
	assert_true(host.languages->states_taken_back > 0);
	assert_int_equal(ep_instance_state(asleep), 0);
	/* Of those that share a state one that is sampled keeps it for all. */
	assert_true(ep_instance_state(parent) > 0);
	assert_int_equal(ep_instance_state(child), ep_instance_state(parent));
	/* One that starts now has what it needs with its first sample, at the latest, and so has the next one. */
	for (int i = 0; i < 100; i++) {
		late = new_attached();
		ep_instance_on_sample(late, ep_clock_mono_ns());
		assert_true(ep_instance_state(late) > 0);
		ep_instance_release(late);
	}
	ep_instance_release(asleep);
	ep_instance_release(parent);
	ep_instance_release(child);
	end_sleepers();
}

/* It was forgotten while it slept, and runs again. */
HOST_TEST(a_state_that_was_taken_back_comes_with_the_next_sample)
{
	struct ep_instance *child;
	uint64_t n = 0;

	begin_attached(.stays = false);
	start_sleepers(host.instance);
	while (n < SLEEPERS && ep_instance_state(sleepers[n]) > 0)
		n++;
	assert_true(n < SLEEPERS);
	script.n_told = 0;
	ep_instance_on_sample(sleepers[n], ep_clock_mono_ns());
	assert_true(ep_instance_state(sleepers[n]) > 0);
	assert_true(script.n_told > 0);
	for (n++; n < SLEEPERS && ep_instance_state(sleepers[n]) > 0;)
		n++;
	assert_true(n < SLEEPERS);
	/* A child of one that is forgotten is attached to when it is sampled. */
	child = ep_instance_fork(sleepers[n], getpid(), NULL);
	assert_non_null(child);
	assert_int_equal(ep_languages_busy(host.languages), 0);
	script.n_told = 0;
	ep_instance_on_sample(child, ep_clock_mono_ns());
	run_until(&script.n_told, 1);
	assert_true(ep_instance_state(child) > 0);
	ep_instance_release(child);
	end_sleepers();
}
