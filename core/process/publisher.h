/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells BPF of processes: their mappings as rows in the delta store, and an entry of ep_procs that
 * refers to them. A process is marked dirty by whoever learned something; all of them are written
 * at the end of the turn. What a process costs is bounded: one whose rows take long pauses before
 * they are written again, and meanwhile its stacks are copied. Loop's thread only.
 */
#ifndef EP_PROCESS_PUBLISHER_H
#define EP_PROCESS_PUBLISHER_H

#include "core/base/vec.h"
#include "core/process/process.h"
#include "core/process/room.h"
#include "core/process/rows.h"

struct ep_publisher_stats {
	uint64_t published, unchanged, put_off;
	uint64_t cut;	  /* of them, with more executable mappings than there may be rows */
	uint64_t refused; /* ep_procs was full */
};

/*
 * How the map ep_procs is reached: a test sees what would be published to BPF. 0 or a negative
 * errno.
 */
struct ep_procs_ops {
	int (*update)(void *arg, uint32_t pid, const struct ep_proc *proc);
	int (*find)(void *arg, uint32_t pid, struct ep_proc *ret_proc);
	int (*remove)(void *arg, uint32_t pid);
};

struct ep_publisher {
	struct ep_room *room;
	const struct ep_procs_ops *procs;
	void *procs_arg;
	TAILQ_HEAD(, ep_process) dirty;
	size_t n_dirty;
	struct ep_row_set set; /* scratch */
	struct ep_publisher_stats stats;
};

/* `ops` NULL: the map of descriptor *(int *)arg, which stays where it is. */
void ep_publisher_init(struct ep_publisher *publisher, struct ep_room *room,
		       const struct ep_procs_ops *ops, void *arg);
void ep_publisher_fini(struct ep_publisher *publisher);

void ep_publisher_mark(struct ep_publisher *publisher, struct ep_process *process);
void ep_publisher_unmark(struct ep_publisher *publisher, struct ep_process *process);
/* Writes what is dirty and may be written. True when something was. */
bool ep_publisher_run(struct ep_publisher *publisher, uint64_t now_ns);
/* BPF forgets the process: it is unknown to it from here on. */
void ep_publisher_forget(struct ep_publisher *publisher, struct ep_process *process);
void ep_publisher_forget_pid(struct ep_publisher *publisher, uint32_t pid);
/* Lets go of its rows. BPF forgot the process by itself, unless it was reported after its end. */
void ep_publisher_end(struct ep_publisher *publisher, struct ep_process *process);
/* A child has what BPF gave it: its parent's rows, if they were the same at the fork. */
void ep_publisher_fork(struct ep_publisher *publisher, struct ep_process *child,
		       const struct ep_process *parent);
/*
 * When the space is full: without new rows BPF would go on with old ones, whose tables may be gone.
 */
void ep_publisher_forget_starved(struct ep_publisher *publisher);

/* The rows of a process as BPF would get them; borrowed until the next call. */
const struct ep_vec *ep_publisher_build(struct ep_publisher *publisher,
					const struct ep_process *process);

#endif
