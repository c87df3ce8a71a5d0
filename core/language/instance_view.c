/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is published to BPF of an instance: a copy of what its plugin has set
 * (core/plugin/attached.h), which is the loop's. Its state has a cell of a map
 * (core/bpf/language_maps.h), and there are fewer cells than processes.
 */
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/bpf/language_maps.h"
#include "core/language/internal.h"
#include "core/language/view.h"

#include <string.h>

#define CELL_WAIT_NS EP_NS_PER_SEC /* so long a cell waits that was taken back */

/*
 * One that was never sampled has what it reported taken with its first sample: nobody misses it
 * until then.
 */
static void wait_for_cell(struct ep_instance *instance)
{
	instance->languages->states_refused++;
	instance->view.wants_cell = true;
	if (!instance->sampled_ns)
		return;
	if (ep_log_limit_ok(&instance->languages->full_lines))
		ep_log(EP_LOG_WARN,
		       "%s: pid %d: more than %d processes at once, its frames stay "
		       "native for now",
		       instance->claim->language->name, (int)instance->pid, EP_MAX_STATES);
	instance->job.attached.is_changed = true;
	instance->view.again_ns = ep_clock_mono_ns() + CELL_WAIT_NS;
}

static void take_back(struct ep_instance *instance)
{
	struct ep_languages *languages = instance->languages;

	ep_language_maps_put_state(languages->maps, instance->view.cell);
	instance->view.cell = 0;
	instance->view.wants_cell = true;
	languages->states_taken_back++;
	if (!languages->stopped)
		languages->options.changed(languages->options.arg, instance->pid);
}

/* Before cells run out: those go whose processes were sampled longest ago. */
static void take_back_idle(struct ep_languages *languages)
{
	struct ep_instance *instance;

	if (!ep_language_maps_find_idle(languages->maps))
		return;
	LIST_FOREACH (instance, &languages->instances, link) {
		if (instance->view.cell && !(instance->flags & EP_INSTANCE_RELEASED) &&
		    ep_language_maps_is_idle(languages->maps, instance->view.cell))
			take_back(instance);
	}
}

/* Equal states share a cell: it is another one when the state is. */
static bool take_state(struct ep_instance *instance)
{
	const struct ep_attached_set *holds = &instance->job.attached.holds;
	struct ep_language_maps *maps = instance->languages->maps;
	uint32_t old = instance->view.cell;
	int state = 0;

	if (holds->has_state)
		state = ep_language_maps_get_state(maps, holds->state, holds->state_bytes,
						   instance->sampled_ns);
	instance->view.wants_cell = false;
	if (state < 0)
		wait_for_cell(instance);
	instance->view.cell = state > 0 ? (uint32_t)state : 0;
	ep_language_maps_put_state(maps, old);
	return instance->view.cell != old;
}

static bool take_ranges(struct ep_instance *instance)
{
	const struct ep_attached_set *holds = &instance->job.attached.holds;
	const struct ep_vec *set = &holds->ranges;
	struct ep_vec *copy = &instance->view.ranges;

	if (instance->view.anonymous == holds->anonymous && copy->len == set->len &&
	    (set->len == 0 ||
	     memcmp(copy->data, set->data, set->len * sizeof(struct ep_range)) == 0))
		return false;
	instance->view.anonymous = holds->anonymous;
	copy->len = 0;
	if (set->len > 0)
		(void)ep_vec_append(copy, set->data, set->len);
	return true;
}

/* The loop's copy of what holds: BPF is informed of what is new in it. */
void ep_instance_update_view(struct ep_instance *instance)
{
	struct ep_languages *languages = instance->languages;
	bool state, ranges;

	if (!instance->job.attached.is_changed)
		return;
	instance->view.again_ns = 0;
	instance->job.attached.is_changed = false;
	state = take_state(instance);
	ranges = take_ranges(instance);
	if ((state || ranges) && !languages->stopped)
		languages->options.changed(languages->options.arg, instance->pid);
	take_back_idle(languages);
}

void ep_instance_view_init(struct ep_instance *instance)
{
	ep_vec_init(&instance->view.ranges, sizeof(struct ep_range), EP_MAX_RANGES);
}

void ep_instance_view_inherit(struct ep_instance *instance, const struct ep_instance *parent)
{
	struct ep_instance_view *copy = &instance->view;

	if (parent->view.ranges.len > 0)
		(void)ep_vec_append(&copy->ranges, parent->view.ranges.data,
				    parent->view.ranges.len);
	copy->anonymous = parent->view.anonymous;
	if (parent->view.cell)
		copy->cell =
			ep_language_maps_share_state(instance->languages->maps, parent->view.cell);
	copy->wants_cell = parent->view.wants_cell;
}

void ep_instance_view_fini(struct ep_instance *instance)
{
	ep_language_maps_put_state(instance->languages->maps, instance->view.cell);
	ep_vec_fini(&instance->view.ranges);
}

uint32_t ep_instance_slot(const struct ep_instance *instance)
{
	return instance->claim->language->slot;
}

uint32_t ep_instance_state(const struct ep_instance *instance)
{
	const struct ep_language *language = instance->claim->language;

	return !language->loading && language->program ? instance->view.cell : 0;
}

void ep_instance_get_view(const struct ep_instance *instance, struct ep_language_view *ret)
{
	const struct ep_language *language = instance->claim->language;

	*ret = (struct ep_language_view){
		.ranges = instance->view.ranges.data,
		.n_ranges = instance->view.ranges.len,
		.slot = language->slot,
		.state = instance->view.cell,
		.anonymous = instance->view.anonymous,
		.resumes = ep_bpf_image_resumes(language->ops->bpf),
	};
}
