/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at the files of mapping records, on a worker: which file is it that this process maps
 * (or did, if it is gone), and is it still the one the record means? Nearly all are files that are
 * known already, which takes one look at each; the others come back open, for their analysis.
 *
 * Tried in this order, and judged by what the record has (a build id, or device and inode):
 *
 *	/proc/PID/map_files	while the process runs
 *	its path in /proc/PID/root of the process, its parents, and ourselves
 *
 * in the latter as far as they are the process that is meant (pids are used again) and speak for
 * the mount namespace of the record.
 *
 * Bounded in files under way, of all processes and of each; what does not fit is not looked at.
 * Loop's thread only.
 */
#ifndef EP_PROCESS_FILE_LOOK_H
#define EP_PROCESS_FILE_LOOK_H

#include "core/base/map.h"
#include "core/bpf/events.h"
#include "core/plugin/timer.h"
#include "core/proc/open.h"
#include "core/process/mappings.h"
#include "core/trace/program.h"

#include <sys/queue.h>

#define EP_FILE_MAX_ROOTS    5
#define EP_FILE_MAX_PATH     1024
#define EP_FILE_BUILD_ID_MAX 20

/* What a mapping record says of its file, but for the path. */
struct ep_file_key {
	uint64_t mount_ns; /* 0: unknown */
	uint64_t inode;	   /* 0, as the next three: it has a build id, or the record does not say */
	uint64_t generation;
	uint32_t dev_major, dev_minor;
	uint8_t build_id[EP_FILE_BUILD_ID_MAX];
	uint32_t build_id_bytes;
};
_Static_assert(sizeof(struct ep_file_key) == 56, "without padding: it is hashed and compared");

struct ep_file_key ep_file_key_of(const struct ep_mapping_event *event, uint64_t mount_ns);

/* One look, and what it has found. */
struct ep_file_look {
	TAILQ_ENTRY(ep_file_look) link;
	struct ep_due later; /* not before then */
	struct ep_file_uses waiters;
	/* in */
	struct ep_program program;
	uint64_t addr, end, time_ns;
	/* In whose roots it is looked for by its path; pid 0 ends them. */
	struct ep_program roots[EP_FILE_MAX_ROOTS];
	uint64_t mount_ns;	   /* in which it was mapped: the inode number; 0: unknown */
	struct ep_file_key key;	   /* what the record says */
	struct ep_proc_file known; /* its identity is that file's; no bytes: none is known */
	/* out */
	int result;  /* 0, -ENOENT: not found, or not the one that was mapped, -ENOTSUP: no file */
	pid_t root;  /* where it was found */
	bool counts; /* for others in that mount namespace: whoever was asked speaks for it */
	uint64_t looked_ns;	  /* before the look */
	struct ep_proc_file file; /* open: whoever takes it sets fd to -1 */
	char path[EP_FILE_MAX_PATH];
};

TAILQ_HEAD(ep_file_look_list, ep_file_look);

struct ep_file_looks {
	struct uv_loop_s *loop;
	struct ep_file_look_list waiting;
	struct ep_due_queue later;
	size_t n_waiting, n_later, running; /* running: jobs */
	struct ep_map waiting_by_pid;	    /* how many of each process's */
	struct ep_timer *timer;
	struct ep_timeout tick; /* the first of `later` */
	bool stopped;
	/* Borrowed; has no waiters when it returns. */
	void (*done)(void *arg, struct ep_file_look *look);
	void *arg;
	uint64_t asked, found, refused; /* refused: too many at once */
};

void ep_file_looks_init(struct ep_file_looks *looks, struct uv_loop_s *loop, struct ep_timer *timer,
			void (*done)(void *arg, struct ep_file_look *look), void *arg);
/* Drops what waits; who waited for that knows nothing. */
void ep_file_looks_stop(struct ep_file_looks *looks);
/*
 * Begins one like `asked`, whose path is the record's, not before `due_ns`; or the one before,
 * while that waits and is of the same program and file. A file that is as `asked->known` says is
 * not read. 0; it will not be done: -E2BIG when too many wait, of all or of this process,
 * -ESHUTDOWN, -ENOMEM.
 */
int ep_file_looks_add(struct ep_file_looks *looks, const struct ep_file_look *asked,
		      uint64_t due_ns, struct ep_file_look **ret_look);
/* Starts a job for what waits. Once a turn. */
void ep_file_looks_run(struct ep_file_looks *looks);

#endif
