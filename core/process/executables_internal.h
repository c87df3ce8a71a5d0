/* SPDX-License-Identifier: Apache-2.0 */
/* What executables.c (entries, analysis) and eviction.c (whose tables stay) share. */
#ifndef EP_PROCESS_EXECUTABLES_INTERNAL_H
#define EP_PROCESS_EXECUTABLES_INTERNAL_H

#include "core/base/clock.h"
#include "core/base/map.h"
#include "core/process/executables.h"
#include "core/process/open_files.h"

#include <sys/queue.h>

/* An evicted executable's tables are built again at most this often. */
#define EP_EXECUTABLE_RETRY_NS (30 * EP_NS_PER_SEC)

struct ep_executables_task;

struct ep_executables {
	struct uv_loop_s *loop;
	TAILQ_HEAD(ep_task_list, ep_executables_task) waiting;
	struct ep_task_list alone; /* these wait until nothing else runs */
	TAILQ_HEAD(, ep_executable) idle; /* those longest first */
	size_t running;
	size_t since_alone; /* others that were started since one ran alone */
	bool is_alone;	    /* what runs */
	struct ep_delta_store *store;
	struct ep_memory_budget *memory;
	bool divides; /* large libraries: text_parts.h */
	struct ep_open_files files;
	struct ep_languages *languages; /* may be NULL */
	void (*changed)(void *arg, struct ep_executable *executable);
	void (*replaced)(void *arg, struct ep_executable *old, struct ep_executable *executable);
	void *arg;
	void (*leaving)(void *arg, struct ep_executable *executable);
	void *leaving_arg;
	struct ep_map by_file; /* chains by device, inode and generation */
	struct ep_map by_id;   /* id -> struct ep_executable * */
	size_t max_entries;
	uint64_t keep_ns; /* so long batches may name one that nobody maps any more */
	uint32_t vdso;	       /* id, 0: not seen yet */
	uint32_t last_id;
	bool stopped;
	struct ep_executables_stats stats;
};

/* fd: the file, taken in every case; -1: to be opened by process and mapping. 0, -ENOMEM. */
int ep_executables_analyse(struct ep_executables *executables, struct ep_executable *executable,
			   pid_t pid, const struct ep_mapping *mapping, int fd);

#endif
