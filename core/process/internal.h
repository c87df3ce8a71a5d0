/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process manager's own: a live process, and the manager's fields, shared by the files that
 * make it up.
 *
 *	processes.c	the public calls, housekeeping
 *	table.c		which processes there are
 *	events.c	what the kernel said
 *	reads.c		reading /proc, paid from the budget
 *	publish.c	telling BPF
 *	languages.c	the languages that run in a process
 */
#ifndef EP_PROCESS_INTERNAL_H
#define EP_PROCESS_INTERNAL_H

#include "core/process/budget.h"
#include "core/process/places.h"
#include "core/process/processes.h"
#include "core/process/unwinders.h"
#include "core/base/map.h"

#include <sys/queue.h>
#include <uv.h>

/* ld.so maps its libraries within a few ms of an exec: wait until most are there. */
#define EP_SETTLE_NS (2 * EP_NS_PER_MS)

struct ep_live {
	TAILQ_ENTRY(ep_live) queue; /* waiting to be read */
	pid_t pid;
	uint64_t start_ns; /* CLOCK_BOOTTIME; 0: not known yet */
	char *comm, *exe_path, *container_id;
	char *environment; /* "NAME=value" with NUL, one after the other; NULL: none */
	size_t environment_bytes;
	struct ep_vec places; /* struct ep_place_in_memory, sorted by start */
	uint32_t rows, n_rows; /* in the delta store */
	uint64_t due_ns;       /* when to read, while queued */
	uint64_t backoff_ns, next_retry_ns;
	uint64_t ended_ns; /* monotonic; 0: alive */
	bool queued, reading, stale; /* stale: changed while it was read */
	uint64_t exec_ns; /* CLOCK_MONOTONIC: of its last exec */
	bool read_once;	  /* named, by a read or from its parent */
	bool unnamed;	  /* executed something else since: comm and path are old */
	bool hurried;	  /* see ep_live_hurry */
	bool publish; /* rows are to be written */
	uint32_t no_room; /* the room_turn in which they found none */
	bool sampled; /* batches may ask for its name */
	bool remapped; /* its mappings changed since its languages were told */
	pid_t parent_pid; /* it was forked from, and has not executed anything since; 0: none */
	uint64_t parent_start_ns;
	struct ep_instance *languages[EP_MAX_LANGUAGES];
	size_t n_languages;
};

TAILQ_HEAD(ep_live_queue, ep_live);

struct ep_processes {
	struct ep_processes_options options;
	struct ep_executables *executables;
	struct ep_map live;  /* pid -> struct ep_live * */
	struct ep_vec ended; /* struct ep_live *, by time of their end */
	size_t check_pos;    /* in live: the next one to look after, in case its exit was missed */
	struct ep_live_queue queue;
	size_t queued, reading;
	struct ep_budget budget;
	uv_timer_t tick;
	uv_check_t publisher; /* writes rows once a loop turn, after all events were seen */
	bool ticking, publish, growing, stopped;
	/* The delta store has no room for some rows, and (full) cannot grow; tried once a second. */
	bool full, small_starved;
	uint32_t room_turn; /* from 1: so often there may have been room again */
	uint32_t room_words;
	int room_result;
	struct ep_vec rows, marked; /* scratch: struct ep_row */
	struct ep_processes_stats stats;
};

/* table.c */
struct ep_live *ep_live_find(const struct ep_processes *processes, pid_t pid);
/* Same process, as far as a start time in clock ticks can tell. */
bool ep_live_is_same(const struct ep_live *process, uint64_t start_ns);
struct ep_live *ep_live_add(struct ep_processes *processes, pid_t pid, uint64_t start_ns);
/* The process has ended; its name is kept for batches that still have samples of it. */
void ep_live_end(struct ep_processes *processes, struct ep_live *process);
void ep_live_free(struct ep_live *process);
void ep_live_take_text(char **field, const char *text);
void ep_live_take_environment(struct ep_live *process, const char *text, size_t bytes);

/* publish.c */
void ep_live_drop_rows(struct ep_processes *processes, struct ep_live *process);
/* Its rows will be written at the end of this loop turn. */
void ep_live_mark(struct ep_processes *processes, struct ep_live *process);
void ep_live_publish_marked(uv_check_t *check);
/* Rows for which there was no room are tried again. */
void ep_live_retry_rows(struct ep_processes *processes);
/* An executable was analysed or lost its tables: whoever maps it gets new rows. */
void ep_live_executable_changed(void *arg, struct ep_executable *executable);

/* languages.c */
/* Attaches what runs in it now, lets go of what does not any more. */
void ep_live_sync_languages(struct ep_processes *processes, struct ep_live *process);
void ep_live_fork_languages(struct ep_live *child, const struct ep_live *parent);
void ep_live_drop_languages(struct ep_live *process);
/* Marks the rows in processes->rows that belong to languages. */
void ep_live_mark_rows(struct ep_processes *processes, const struct ep_live *process);
void ep_live_tell_languages(const struct ep_live *process, struct ep_proc *proc);

/* reads.c */
void ep_live_enqueue(struct ep_processes *processes, struct ep_live *process, uint64_t delay_ns);
/* The same, if the budget pays for it. */
void ep_live_request(struct ep_processes *processes, struct ep_live *process, uint64_t delay_ns);
/* A sample waits for it: it is read next, and its executables are analysed first. */
void ep_live_hurry(struct ep_processes *processes, struct ep_live *process);
void ep_live_unqueue(struct ep_processes *processes, struct ep_live *process);
void ep_live_start_reads(struct ep_processes *processes);

#endif
