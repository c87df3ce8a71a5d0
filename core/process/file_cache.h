/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which executable a mapping record means. A record has a path, and a build id or an inode; anybody
 * can write a file with libc's build id, and other code into a file that keeps its inode. So what a
 * look at the file has reported (file_look.h) is a hint: it holds in the mount namespace of a
 * process that speaks for it (core/proc/root.h), for a second; then the next mapping takes another
 * look. Mappings within that second are trusted, and looked at when it is over.
 *
 *	  ── a look ──► FRESH ── a second ──► OLD ── mapped: a look ──► FRESH
 *	                    │
 *	                    └── a look finds another file ──► CONTESTED: every mapping takes a look
 *
 * Two files that contest an entry have the same path, namespace and build id: one of the processes
 * has another root, or somebody wants to be taken for another. It ends when the first file is known
 * no more. Bounded; those looked at longest ago go. Loop's thread only.
 */
#ifndef EP_PROCESS_FILE_CACHE_H
#define EP_PROCESS_FILE_CACHE_H

#include "core/base/map.h"
#include "core/process/file_look.h"
#include "core/process/table.h"

#include <sys/queue.h>

/* So long a look is trusted. */
#define EP_FILE_FRESH_NS EP_NS_PER_SEC

struct ep_file_entry {
	struct ep_map_link link;
	TAILQ_ENTRY(ep_file_entry) age;
	struct ep_file_key key;
	uint32_t executable; /* id; 0: none yet */
	uint32_t other;	     /* id of the one that was found before; 0: it is not contested */
	uint64_t looked_ns;
	bool is_due; /* it was trusted, and will be looked at */
	char path[];
};

struct ep_file_cache {
	struct ep_map map;
	TAILQ_HEAD(ep_file_entry_list, ep_file_entry) by_age; /* of the last look, oldest first */
	size_t n;
	uint64_t seed;
	struct ep_file_looks looks;
	struct ep_executables *executables;
	const struct ep_table *table;
	/* What a look has found, borrowed; NULL: nothing. Tells those who wait for it. */
	void (*found)(void *arg, struct ep_file_look *look, struct ep_executable *executable);
	/* Who was trusted to map what is replaced, since the last look, maps the other one. */
	void (*replaced)(void *arg, const struct ep_replacement *replacement);
	void *arg;
};

/* The caller has filled in executables, table, found, replaced and arg. */
void ep_file_cache_init(struct ep_file_cache *cache, struct uv_loop_s *loop,
			struct ep_timer *timer);
void ep_file_cache_fini(struct ep_file_cache *cache);
/*
 * The file of a mapping record of a process, as a use in `mappings`: known, or waiting for a look.
 * NULL: it will not be looked at, since too many wait, or there is no memory; the process must be
 * read.
 */
struct ep_file_use *ep_file_cache_get(struct ep_file_cache *cache, const struct ep_process *process,
				      struct ep_mappings *mappings,
				      const struct ep_mapping_event *event);
/* NULL: none. */
const struct ep_file_entry *ep_file_cache_find(const struct ep_file_cache *cache,
					       const struct ep_file_key *key, const char *path);

#endif
