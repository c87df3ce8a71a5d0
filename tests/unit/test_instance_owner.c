/* SPDX-License-Identifier: Apache-2.0 */
/* Who is charged for a process that is not who it was. */
#include "tests/unit/scripted_language.h"
#include "core/base/clock.h"
#include "core/proc/process.h"

static uint32_t owner;

int __wrap_ep_process_read_owner(pid_t pid, uint32_t *ret_uid);
int __wrap_ep_process_read_owner(pid_t pid, uint32_t *ret_uid)
{
	assert_int_equal(pid, getpid());
	*ret_uid = owner;
	return 0;
}

static uint64_t paid_ns(uint32_t id)
{
	const struct ep_accounts *all = &host.languages->accounts;

	for (size_t i = 0; i < EP_LEN(all->owners); i++) {
		if (all->owners[i].id == id)
			return all->owners[i].bucket.paid_ns;
	}
	return 0;
}

/* Most servers do that: after the attach, or in a child that is not attached to before it has a
 * frame. */
HOST_TEST(who_gives_up_root_is_charged_as_who_it_becomes)
{
	owner = 0;
	begin_attached();
	assert_int_equal(host.instance->account->owner, 0);
	owner = 1000;
	script.reads_ns = 5 * EP_NS_PER_MS;
	(void)add_frame(SLOW);
	name_all();
	assert_int_equal(host.instance->account->owner, 1000);
	assert_true(paid_ns(1000) > ep_clock_mono_ns());
}

/* Its pid may be another's by now. */
HOST_TEST(who_has_ended_is_nobody_else)
{
	owner = 0;
	begin_attached();
	ep_instance_end(host.instance);
	owner = 1000;
	host.instance->job.cost.owner_ns = EP_NS_PER_MS;
	ep_instance_charge(host.instance);
	assert_int_equal(host.instance->account->owner, 0);
	assert_int_equal(paid_ns(1000), 0);
}
