/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last mapping records and exits, by value. A birth or an exec that comes late (core/bpf/order.h)
 * is followed once more by what was handed over before it: nobody knew then whose it was. Bounded;
 * what is pushed out is too old to be needed. Loop's thread only.
 */
#ifndef EP_PROCESS_RECENT_H
#define EP_PROCESS_RECENT_H

#include "bpf/shared.h"
#include "core/process/file_look.h"

#define EP_RECENT_MAPPINGS 512
#define EP_RECENT_EXITS	   256

struct ep_recent_mapping {
	struct ep_mapping_event event; /* name: owned; pid 0: no record */
	uint8_t build_id[EP_FILE_BUILD_ID_MAX];
};

struct ep_recent_records {
	struct ep_recent_mapping mappings[EP_RECENT_MAPPINGS];
	struct ep_process_event exits[EP_RECENT_EXITS];
	size_t n_mappings, n_exits; /* ever added */
};

void ep_recent_fini(struct ep_recent_records *recent); /* of one that was zeroed */
void ep_recent_add_mapping(struct ep_recent_records *recent, const struct ep_mapping_event *event);
void ep_recent_add_exit(struct ep_recent_records *recent, const struct ep_process_event *event);
/* The exit of this process at or after a time; NULL: none. */
const struct ep_process_event *ep_recent_find_exit(const struct ep_recent_records *recent, uint32_t pid,
						   uint64_t start_ns, uint64_t since_ns);
/* Those of a pid that are not older than a time. `visit` must add none. */
void ep_recent_each_mapping(const struct ep_recent_records *recent, uint32_t pid, uint64_t since_ns,
			    ep_mapping_visit visit, void *arg);

#endif
