/* SPDX-License-Identifier: Apache-2.0 */
/* The one timer of all instances, and of names that are waited for. */
#include "core/base/clock.h"
#include "core/language/internal.h"

/* Another wait for the same is not put off by this one. */
static void schedule_at(struct ep_languages *languages, uint64_t *due_ns, uint64_t wait_ns)
{
	uint64_t at_ns = ep_clock_mono_ns() + wait_ns, wait_ms = wait_ns / EP_NS_PER_MS + 1;
	uv_timer_t *timer = &languages->retry_timer;

	if (!*due_ns || at_ns < *due_ns)
		*due_ns = at_ns;
	if (!languages->stopped &&
	    (!uv_is_active((uv_handle_t *)timer) || uv_timer_get_due_in(timer) > wait_ms))
		uv_timer_start(timer, ep_instances_on_retry, wait_ms, 0);
}

void ep_instance_schedule(struct ep_instance *instance, uint64_t wait_ns)
{
	schedule_at(instance->languages, &instance->retry_ns, wait_ns);
}

void ep_languages_name_later(struct ep_languages *languages, uint64_t wait_ns)
{
	schedule_at(languages, &languages->names_due_ns, wait_ns);
}

/* The timer runs for the one that is due first; one that is due earlier does not wait long. */
void ep_instances_on_retry(uv_timer_t *timer)
{
	struct ep_languages *languages = timer->data;
	uint64_t now_ns = ep_clock_mono_ns(), next_ns = UINT64_MAX;
	struct ep_instance *instance;

	LIST_FOREACH (instance, &languages->instances, link) {
		if (!instance->retry_ns)
			continue;
		if (!instance->busy && now_ns >= instance->retry_ns)
			ep_instance_retry(instance);
		else
			next_ns = EP_MIN(next_ns, EP_MAX(instance->retry_ns, now_ns));
	}
	if (languages->names_due_ns && now_ns >= languages->names_due_ns) {
		languages->names_due_ns = 0;
		languages->options.named(languages->options.arg);
	}
	if (languages->names_due_ns)
		next_ns = EP_MIN(next_ns, EP_MAX(languages->names_due_ns, now_ns));
	if (next_ns != UINT64_MAX && !languages->stopped)
		uv_timer_start(timer, ep_instances_on_retry, (next_ns - now_ns) / EP_NS_PER_MS + 2,
			       0);
}
