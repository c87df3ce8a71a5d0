/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/recent.h"

#include <string.h>

void ep_recent_fini(struct ep_recent_records *recent)
{
	for (size_t i = 0; i < EP_RECENT_MAPPINGS; i++)
		free((char *)recent->mappings[i].event.name);
}

void ep_recent_add_mapping(struct ep_recent_records *recent, const struct ep_mapping_event *event)
{
	size_t i = recent->n_mappings++ % EP_RECENT_MAPPINGS;
	struct ep_recent_mapping *slot = &recent->mappings[i];

	free((char *)slot->event.name);
	slot->event = *event;
	slot->event.name = strdup(event->name);
	if (!slot->event.name) {
		slot->event.pid = 0;
		return;
	}
	slot->event.build_id_bytes = EP_MIN(event->build_id_bytes, sizeof(slot->build_id));
	if (event->build_id)
		slot->event.build_id = memcpy(slot->build_id, event->build_id,
					      slot->event.build_id_bytes);
}

void ep_recent_add_exit(struct ep_recent_records *recent, const struct ep_process_event *event)
{
	recent->exits[recent->n_exits++ % EP_RECENT_EXITS] = *event;
}

const struct ep_process_event *ep_recent_find_exit(const struct ep_recent_records *recent, uint32_t pid,
						   uint64_t start_ns, uint64_t since_ns)
{
	for (size_t i = 0; i < EP_MIN(recent->n_exits, (size_t)EP_RECENT_EXITS); i++) {
		const struct ep_process_event *event = &recent->exits[i];

		if (event->pid == pid && event->start_ns == start_ns &&
		    event->event.time_ns >= since_ns)
			return event;
	}
	return NULL;
}

void ep_recent_each_mapping(const struct ep_recent_records *recent, uint32_t pid, uint64_t since_ns,
			    ep_mapping_visit visit, void *arg)
{
	size_t n = EP_MIN(recent->n_mappings, (size_t)EP_RECENT_MAPPINGS);

	for (size_t i = recent->n_mappings - n; i < recent->n_mappings; i++) {
		const struct ep_mapping_event *event =
			&recent->mappings[i % EP_RECENT_MAPPINGS].event;

		if (pid && event->pid == (pid_t)pid && event->time_ns >= since_ns)
			visit(arg, event);
	}
}
