/* SPDX-License-Identifier: Apache-2.0 */
/* What is done next for a language in a process, by all that is known of it: nothing runs here. */
#include "core/base/clock.h"
#include "core/language/internal.h"
#include "tests/kit/test.h"

#define NOW   (1000 * EP_NS_PER_SEC)
#define NEVER UINT64_MAX
#define MS    EP_NS_PER_MS

static bool tables_are_missing;

static bool is_hurried(void *arg)
{
	(void)arg;
	return tables_are_missing;
}

struct known {
	struct ep_languages languages;
	struct ep_language language;
	struct ep_claim claim;
	struct ep_instance instance;
};

/*
 * A runtime that was found ten seconds ago in a process that was sampled, whose language's program
 * is loaded.
 */
static struct known *known_new(void)
{
	static struct known known;

	tables_are_missing = false;
	known = (struct known){.languages.options.hurried = is_hurried,
			       .language.loading = true,
			       .instance.born_ns = NOW - 10 * EP_NS_PER_SEC,
			       .instance.account = &known.instance.own_account,
			       .instance.own_account.was_sampled = true,
			       .instance.languages = &known.languages,
			       .instance.claim = &known.claim,
			       .claim.language = &known.language};
	return &known;
}

static void assert_waits(const struct known *known, enum ep_wait why, uint64_t at_ns)
{
	struct ep_plan plan = ep_instance_next(&known->instance, NOW);

	assert_int_equal(plan.step, EP_STEP_NONE);
	assert_int_equal(plan.why, why);
	assert_int_equal(plan.at_ns, at_ns);
}

static void assert_step(const struct known *known, enum ep_step step)
{
	assert_int_equal(ep_instance_next(&known->instance, NOW).step, step);
}

EP_TEST(what_is_found_is_attached_to_and_what_rests_when_somebody_wants_it)
{
	struct known *known = known_new();

	assert_step(known, EP_STEP_ATTACH);
	known->instance.job.attached.state = EP_ATTACHMENT_DORMANT;
	assert_waits(known, EP_WAIT_EVENT, NEVER);
	known->instance.flags = EP_INSTANCE_WANTED;
	assert_step(known, EP_STEP_ATTACH);
}

EP_TEST(nothing_is_done_while_a_job_runs_or_after_the_end)
{
	const uint32_t flags[] = {EP_INSTANCE_BUSY, EP_INSTANCE_RELEASED, EP_INSTANCE_ENDED};
	const enum ep_attachment states[] = {EP_ATTACHMENT_REFUSED, EP_ATTACHMENT_GONE};
	struct known *known = known_new();

	for (size_t i = 0; i < EP_LEN(flags); i++) {
		known->instance.flags = flags[i] | EP_INSTANCE_REFRESH | EP_INSTANCE_WANTED;
		assert_waits(known, EP_WAIT_EVENT, NEVER);
	}
	for (size_t i = 0; i < EP_LEN(states); i++) {
		known = known_new();
		known->instance.job.attached.state = states[i];
		assert_waits(known, EP_WAIT_EVENT, NEVER);
	}
	known = known_new();
	known->languages.stopped = true;
	assert_waits(known, EP_WAIT_EVENT, NEVER);
}

EP_TEST(a_change_is_looked_at_after_a_rest_and_what_was_too_early_after_its_wait)
{
	struct known *known = known_new();

	known->instance.job.attached.state = EP_ATTACHMENT_ATTACHED;
	assert_waits(known, EP_WAIT_RETRY, NEVER);
	known->instance.flags = EP_INSTANCE_REFRESH;
	known->instance.last.began_ns = NOW - 10 * MS;
	assert_waits(known, EP_WAIT_RETRY, NOW + 40 * MS);
	known->instance.born_ns = NOW - 80 * MS; /* a recently started one may have ended by then */
	assert_waits(known, EP_WAIT_RETRY, NOW + 10 * MS);
	known->instance.last.took_ns = 3 * MS; /* not more than a ninth of the time */
	assert_waits(known, EP_WAIT_RETRY, NOW + 14 * MS);
	known->instance.last.began_ns = NOW - 30 * MS;
	assert_step(known, EP_STEP_REFRESH);
	known->instance.flags = 0;
	known->instance.job.again = true;
	known->instance.retry.at_ns = NOW + 5 * MS;
	assert_waits(known, EP_WAIT_RETRY, NOW + 5 * MS);
	known->instance.retry.at_ns = NOW;
	assert_step(known, EP_STEP_REFRESH);
}

EP_TEST(an_attach_waits_for_its_time_its_program_and_tables)
{
	struct known *known = known_new();

	known->instance.retry.at_ns = NOW + MS;
	assert_waits(known, EP_WAIT_RETRY, NOW + MS);
	known->instance.retry.at_ns = 0;
	known->language.loading = false;
	known->language.load_after_ns = NOW + 3 * MS;
	assert_waits(known, EP_WAIT_PROGRAM, NOW + 3 * MS);
	known->language.load_after_ns = NOW;
	tables_are_missing = true;
	assert_step(known, EP_STEP_ATTACH); /* they have had a second */
	known->instance.born_ns = NOW - 10 * MS;
	assert_waits(known, EP_WAIT_TABLES, NOW + 2 * MS);
	known->language.loading = true;
	assert_step(known, EP_STEP_ATTACH);
}

EP_TEST(a_program_that_cannot_be_loaded_makes_an_instance_rest_or_ends_it)
{
	struct known *known = known_new();

	known->language.loading = false;
	known->instance.job.attached.state = EP_ATTACHMENT_ATTACHED;
	assert_step(known, EP_STEP_REST);
	known->language.failed = true;
	assert_step(known, EP_STEP_REFUSE);
	known->instance.job.attached.state = EP_ATTACHMENT_WAITING;
	known->instance.retry.at_ns = NOW + MS;
	assert_step(known, EP_STEP_REFUSE);
}

/* Whose account is exhausted waits until it has budget again, but is seen to each second. */
EP_TEST(an_attach_waits_for_its_budget)
{
	struct known *known = known_new();
	struct ep_account *account = &known->instance.own_account;

	account->expensive.paid_ns = NOW + 100 * EP_NS_PER_SEC; /* 50 ms */
	assert_step(known, EP_STEP_ATTACH);			/* the shared budget is charged */
	known->languages.n_over_budget = 1;
	assert_waits(known, EP_WAIT_BUDGET, NOW + 50 * MS);
	known->languages.accounts.shared.paid_ns = NOW + 25 * (EP_ACCOUNT_SHARED_NS + 4 * MS);
	assert_waits(known, EP_WAIT_BUDGET, NOW + 100 * MS);
	known->languages.accounts.shared.paid_ns = NOW + 1000 * EP_NS_PER_SEC;
	assert_waits(known, EP_WAIT_BUDGET, NOW + EP_NS_PER_SEC);
	account->expensive.paid_ns = 0;
	assert_step(known, EP_STEP_ATTACH);
}

EP_TEST(who_was_never_sampled_waits_for_a_turn)
{
	struct known *known = known_new();

	known->languages.n_unsampled = 2;
	assert_step(known, EP_STEP_ATTACH);
	known->instance.own_account.was_sampled = false;
	assert_waits(known, EP_WAIT_SAMPLED, NEVER);
	known->languages.n_unsampled = 1;
	assert_step(known, EP_STEP_ATTACH);
}
