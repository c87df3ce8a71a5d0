/* SPDX-License-Identifier: Apache-2.0 */
/* What an instance's jobs cost its process, and whether they are worth it. */
#include "core/language/internal.h"
#include "core/plugin/job.h"
#include "core/base/clock.h"
#include "core/proc/process.h"
#include "core/proc/subuids.h"

uint64_t ep_instance_budget_wait_ns(const struct ep_instance *instance)
{
	return ep_account_wait_ns(&instance->languages->accounts, instance->account, ep_clock_mono_ns());
}

bool ep_instance_is_within_budget(const struct ep_instance *instance)
{
	return ep_account_is_within_budget(&instance->languages->accounts, instance->account, ep_clock_mono_ns());
}

uint64_t ep_instance_spent_ns(const struct ep_instance *instance)
{
	uint64_t now_ns = ep_clock_mono_ns();

	return ep_instance_is_within_budget(instance) ? 0 : ep_account_spent_ns(instance->account, now_ns);
}

bool ep_instance_has_budget(const struct ep_instance *instance)
{
	return ep_instance_budget_wait_ns(instance) == 0;
}

void ep_languages_drain(struct ep_languages *languages, uint64_t cpu_ns)
{
	languages->max_naming = EP_LAST_NAME_JOBS;
	ep_accounts_drain(&languages->accounts, cpu_ns);
}

void ep_instance_find_owner(struct ep_instance *instance)
{
	uint32_t uid;

	if (!instance->account->owner && ep_process_read_owner(instance->pid, &uid) == 0)
		instance->account->owner = ep_subuids_owner(&instance->languages->subuids, uid);
}

/* Root's may be somebody else's by now: who forks from root and changes its user then is no owner's until it is charged. */
void ep_instance_charge(struct ep_instance *instance)
{
	if (instance->cost.owner_ns > 0 && !instance->ended && !instance->released)
		ep_instance_find_owner(instance);
	ep_account_charge(&instance->languages->accounts, instance->account, &instance->cost, ep_clock_mono_ns());
	instance->cost = (struct ep_cost){0};
	instance->languages->n_over_budget -= instance->is_over_budget;
	instance->is_over_budget = false;
}

/* What is found is what it was at the begin, or later. */
uint64_t ep_instance_begin_look(struct ep_instance *instance)
{
	if (ep_process_read_cpu(instance->pid, &instance->ran_ns) < 0)
		instance->ran_ns = 0;
	return ep_clock_thread_cpu_ns();
}

/* In the CPU time of its process there is not a nanosecond more: its memory is what it was. 0 is not known. */
bool ep_instance_has_slept(const struct ep_instance *instance)
{
	uint64_t ran_ns;

	return instance->ran_ns && instance->again && !ep_is_transient(instance->attached.result) &&
	       ep_process_read_cpu(instance->pid, &ran_ns) == 0 && ran_ns == instance->ran_ns;
}
