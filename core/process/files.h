/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at the files behind mapping records, on a worker: which file is it that this process maps
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
#ifndef EP_PROCESS_FILES_H
#define EP_PROCESS_FILES_H

#include "core/base/map.h"
#include "core/base/vec.h"
#include "core/plugin/timer.h"
#include "core/proc/open.h"
#include "core/process/hints.h"
#include "core/trace/program.h"

#include <sys/queue.h>

#define EP_FILE_MAX_ROOTS     5
#define EP_FILE_MAX_PATH      1024

/* One question, and its answer. */
struct ep_file_question {
	TAILQ_ENTRY(ep_file_question) link;
	struct ep_due later; /* not before then */
	/* in */
	uint32_t number; /* of this question; never 0 */
	struct ep_program program;
	uint64_t addr, end, time_ns;
	/* In whose roots it is looked for by its path; pid 0 ends them. */
	struct ep_program roots[EP_FILE_MAX_ROOTS];
	uint64_t mount_ns;		/* in which it was mapped: the inode number; 0: unknown */
	struct ep_file_key key;		/* what the record says */
	struct ep_proc_file known;	/* its identity is that file's; no bytes: none is known */
	/* out */
	int result; /* 0, -ENOENT: not found, or not the one that was mapped, -ENOTSUP: no file */
	pid_t root; /* where it was found */
	bool counts; /* for others in that mount namespace: whoever was asked speaks for it */
	uint64_t looked_ns;	  /* before the look */
	struct ep_proc_file file; /* open: whoever takes it sets fd to -1 */
	char path[EP_FILE_MAX_PATH];
};

TAILQ_HEAD(ep_file_list, ep_file_question);

struct ep_files {
	struct uv_loop_s *loop;
	struct ep_file_list waiting;
	struct ep_due_queue later;
	size_t n_waiting, n_later, running; /* running: jobs */
	struct ep_map waiting_by_pid;	    /* how many of each process's */
	struct ep_timer *timer;
	struct ep_timeout tick;		    /* the first of `later` */
	uint32_t last_number;
	bool stopped;
	void (*answered)(void *arg, struct ep_file_question *question); /* borrowed */
	void *arg;
	uint64_t asked, found, refused; /* refused: too many at once */
};

void ep_files_init(struct ep_files *files, struct uv_loop_s *loop, struct ep_timer *timer,
		   void (*answered)(void *arg, struct ep_file_question *question), void *arg);
/* Drops what waits. */
void ep_files_stop(struct ep_files *files);
/*
 * Copies the record and gives the question's number, which is that of the one before while that
 * waits and is of the same program and file. It is not looked at before `due_ns`. A file that is as
 * `known` says (may be NULL) is not read. 0; it will not be answered: -E2BIG when too many wait, of
 * all or of this process, -ESHUTDOWN, -ENOMEM.
 */
int ep_files_ask(struct ep_files *files, const struct ep_mapping_event *event,
		 const struct ep_file_key *key, struct ep_program program,
		 const struct ep_program *roots, size_t n_roots, uint64_t mount_ns,
		 const struct ep_proc_file *known, uint64_t due_ns, uint32_t *ret_number);
/* Starts a job for what waits. Once a turn. */
void ep_files_run(struct ep_files *files);

#endif
