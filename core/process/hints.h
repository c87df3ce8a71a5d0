/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What mapping records say of their files, and which executables those were when somebody looked. A
 * record has a path, and a build id or an inode; anybody can write a file with libc's build id, and
 * other code into a file that keeps its inode. So this is a hint: it holds in the mount namespace it
 * was confirmed in by a look at the file (files.h), in a process that speaks for that namespace
 * (core/proc/root.h), for a second; then the next mapping takes another look. Mappings within that
 * second are believed, and looked at when it is over.
 *
 *	  ── a look ──► CONFIRMED ── a second ──► OLD ── mapped: a look ──► CONFIRMED
 *	                    │
 *	                    └── a look finds another file ──► CONTESTED: every mapping takes a look
 *
 * Two files that contest a hint have the same path, namespace and build id: one of the processes
 * has another root, or somebody wants to be taken for another. It ends when the first file is known
 * no more. Bounded; those looked at longest ago go. Loop's thread only.
 */
#ifndef EP_PROCESS_HINTS_H
#define EP_PROCESS_HINTS_H

#include "core/base/map.h"
#include "core/bpf/events.h"

#include <sys/queue.h>

#define EP_FILE_BUILD_ID_MAX 20
/* So long a look is believed. */
#define EP_HINT_FRESH_NS EP_NS_PER_SEC

struct ep_file_key {
	uint64_t mount_ns; /* 0: unknown; such a hint is never believed */
	uint64_t inode;	   /* 0, as the next three: it has a build id, or the record does not say */
	uint64_t generation;
	uint32_t dev_major, dev_minor;
	uint8_t build_id[EP_FILE_BUILD_ID_MAX];
	uint32_t build_id_bytes;
};
_Static_assert(sizeof(struct ep_file_key) == 56, "without padding: it is hashed and compared");

struct ep_hint {
	struct ep_map_link link;
	TAILQ_ENTRY(ep_hint) age;
	struct ep_file_key key;
	uint32_t executable; /* id; 0: none yet */
	uint32_t other;	     /* id of the one that was found before; 0: it is not contested */
	uint64_t looked_ns;
	bool is_due; /* it was believed, and will be looked at */
	char path[];
};

struct ep_hints {
	struct ep_map map;
	TAILQ_HEAD(ep_hint_list, ep_hint) by_age; /* of the last look, oldest first */
	size_t n;
	uint64_t seed;
};

void ep_hints_init(struct ep_hints *hints);
void ep_hints_fini(struct ep_hints *hints);
struct ep_file_key ep_file_key_of(const struct ep_mapping_event *event, uint64_t mount_ns);
struct ep_hint *ep_hints_find(const struct ep_hints *hints, const struct ep_file_key *key,
			      const char *path);
/* The same; made if there is none. NULL: no memory, or the namespace is unknown. */
struct ep_hint *ep_hints_get(struct ep_hints *hints, const struct ep_file_key *key,
			     const char *path);
/* A look at `time_ns` has found this executable. */
void ep_hint_confirm(struct ep_hints *hints, struct ep_hint *hint, uint32_t executable,
		     uint64_t time_ns);

#endif
