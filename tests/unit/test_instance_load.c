/* SPDX-License-Identifier: Apache-2.0 */
/* The program of a language: when it is loaded, and what instances do meanwhile and without it. */
#include "tests/unit/scripted_language.h"
#include "core/base/clock.h"

/*
 * The verifier takes its time, and a process can be read meanwhile; BPF is informed when there is a
 * program.
 */
HOST_TEST(what_attaches_while_the_program_is_loaded_is_told_after_that)
{
	struct ep_instance *second;

	begin(.loads_slowly = true);
	second = ep_instance_new(host.languages, host.claim, getpid(), NULL, 0, 0);
	assert_int_equal(ep_languages_busy(host.languages), 3);
	while (host.languages->attached < 2) {
		/* The load may be over when the second one is attached. */
		assert_true(__atomic_load_n(&script.n_loaded, __ATOMIC_ACQUIRE) > 0 ||
			    ep_instance_state(host.instance) == 0);
		(void)uv_run(&host.loop, UV_RUN_ONCE);
	}
	run_until(&script.n_loaded, 1);
	assert_int_equal(script.n_loaded, 1);
	assert_true(script.n_told >= 2);
	assert_true(ep_instance_state(host.instance) > 0 && ep_instance_state(second) > 0);
	assert_int_equal(ep_languages_attaching(host.languages), 0);
	ep_instance_release(second);
}

/* One that is attached meanwhile waits as well, and nobody waits for it to be attached. */
HOST_TEST(a_load_without_memory_or_descriptors_is_repeated)
{
	uint64_t start_ns = ep_clock_mono_ns();
	struct ep_instance *second;

	begin(.load = {-ENOMEM, -EMFILE});
	run_until(&script.n_loaded, 1);
	second = ep_instance_new(host.languages, host.claim, getpid(), NULL, 0, 0);
	assert_int_equal(ep_languages_attaching(host.languages), 0);
	run_until(&script.n_loaded, 2);
	assert_int_equal(ep_instance_state(host.instance), 0);
	assert_int_equal(script.n_detached, script.n_attached);
	run_until(&script.n_loaded, 3);
	while (ep_instance_state(host.instance) == 0 || ep_instance_state(second) == 0)
		(void)uv_run(&host.loop, UV_RUN_ONCE);
	assert_int_equal(script.n_loaded, 3);
	assert_true(ep_clock_mono_ns() - start_ns > 700 * EP_NS_PER_MS); /* 250, then 500 */
	assert_int_equal(host.languages->refused, 0);
	ep_instance_release(second);
}

HOST_TEST(a_program_that_is_refused_is_not_loaded_again)
{
	struct ep_instance *second;

	begin(.load = {-EACCES});
	while (host.languages->refused == 0)
		(void)uv_run(&host.loop, UV_RUN_ONCE);
	second = ep_instance_new(host.languages, host.claim, getpid(), NULL, 0, 0);
	assert_int_equal(host.languages->refused, 2);
	assert_int_equal(script.n_loaded, 1);
	assert_int_equal(script.n_attached, 1); /* before that was known */
	assert_int_equal(script.n_detached, 1);
	assert_int_equal(ep_instance_state(host.instance), 0);
	assert_true(ep_instance_is_missed(host.instance, false));
	assert_true(ep_instance_is_missed(second, false));
	assert_int_equal(ep_languages_attaching(host.languages), 0);
	ep_instance_release(second);
}

#define begin_short(...)                                                                           \
	do {                                                                                       \
		begin_attached(.is_short = true, __VA_ARGS__);                                     \
		host.languages->n = 1;                                                             \
	} while (0)

HOST_TEST(a_longer_program_is_loaded_after_a_second)
{
	uint64_t start_ns;

	begin_short();
	start_ns = host.languages->all[0].loaded_ns;
	while (script.n_lengthened == 0) {
		ep_languages_lengthen(host.languages, false);
		(void)uv_run(&host.loop, UV_RUN_NOWAIT);
	}
	assert_true(ep_clock_mono_ns() - start_ns >= EP_NS_PER_SEC);
	run_until(&script.n_lengthened, 1);
	ep_languages_lengthen(host.languages, true);
	assert_int_equal(ep_languages_busy(host.languages), 0);
	assert_int_equal(script.n_loaded, 1);
	assert_true(ep_instance_state(host.instance) > 0);
}

HOST_TEST(a_command_that_waits_gets_the_longer_program)
{
	begin_short();
	host.languages->all[0].program = NULL; /* nobody has loaded it yet */
	ep_claim_load(host.claim, true);
	while (ep_languages_attaching(host.languages) > 0)
		(void)uv_run(&host.loop, UV_RUN_ONCE);
	assert_int_equal(script.n_loaded, 2);
	assert_int_equal(script.n_lengthened, 1);
	assert_int_equal(ep_languages_busy(host.languages), 0);
}

/* Not again when it is refused; when there was no memory for it, but after a while. */
HOST_TEST(a_stack_without_calls_does_not_wait_for_that)
{
	uint64_t start_ns;

	begin_short(.lengthen = {-ENOMEM, -E2BIG, END});
	ep_languages_lengthen(host.languages, false);
	assert_int_equal(ep_languages_busy(host.languages), 0);
	start_ns = ep_clock_mono_ns();
	ep_languages_lengthen(host.languages, true);
	ep_languages_lengthen(host.languages, true);
	assert_int_equal(ep_languages_busy(host.languages), 1);
	run_until(&script.n_lengthened, 1);
	assert_true(ep_clock_mono_ns() - start_ns < 500 * EP_NS_PER_MS);
	while (script.n_lengthened < 2) {
		ep_languages_lengthen(host.languages, true);
		(void)uv_run(&host.loop, UV_RUN_NOWAIT);
	}
	assert_true(ep_clock_mono_ns() - start_ns >= 250 * EP_NS_PER_MS);
	run_until(&script.n_lengthened, 2);
	ep_languages_lengthen(host.languages, true);
	assert_int_equal(ep_languages_busy(host.languages), 0);
	assert_true(ep_instance_state(host.instance) > 0);
}
