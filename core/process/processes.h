/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process manager: which processes there are, what they map, what is published to BPF of that;
 * and the samples that need what BPF did not know.
 *
 *	kernel's records, in order of time          /proc, on workers
 *	    │ fork exec exit mapping lost sample        │ reads, files
 *	    ▼                                           ▼
 *	  table: programs (pid, start, image) ── areas ── executables (analysed once)
 *	    │                                       │
 *	    │ dirty ones, at the end of the turn    ▼
 *	    ├──► publisher ──► rows, ep_procs ──► BPF
 *	    └──► held ──► samples that wait, walked late ──► `pass`
 *
 * Promises, if the caller hands over all records in order of time (core/bpf/order.h):
 *  1. A sample is booked on the program that ran when it was taken, or on none.
 *  2. What was learned is published in the turn of the loop in which it was learned, but for what a
 *     process's own budget puts off, or that of looks for who maps an executable.
 *  3. A sample with a copy of its stack is as whole as what is known of its program within
 *     EP_HELD_MAX_NS allows, whether the program still runs or not.
 *  4. After a loss of records nothing that was known of mappings is trusted, of programs that ended
 *     neither. Where processes that flood have filled the ring, that holds for these. Others are
 *     read once more at their next sample, once in EP_CHECK_NS at most, and what was known of them
 *     holds meanwhile.
 *  5. Records of a process's mappings cost 5 % of a CPU at most; one that writes more floods.
 * "Mappings at that time" is approximate: the kernel tells of no unmapping.
 *
 * A child shares its parent's mappings until one of both changes them: then it has a copy. A
 * process may have a hundred thousand, and thousands of children: beyond EP_MAX_AREAS of all
 * programs, running or just ended and counted as if each had a copy, children get none. They are
 * unknown, and read from /proc at their first sample; that the budget of reads bounds.
 *
 * Loop's thread only.
 */
#ifndef EP_PROCESS_PROCESSES_H
#define EP_PROCESS_PROCESSES_H

#include "bpf/shared.h"
#include "core/base/clock.h"
#include "core/trace/program.h"

#include <stdio.h>
#include <sys/types.h>

struct ep_processes;
struct ep_delta_store;
struct ep_executable;
struct ep_executables;
struct ep_identity;
struct ep_instance;
struct ep_mapping_event;
struct ep_memory_budget;
struct ep_procs_ops;
struct ep_languages;
struct ep_timer;
struct uv_loop_s;

#define EP_HELD_MAX_NS (2 * EP_NS_PER_SEC)
/* Of 96 bytes each, and a quarter more where vectors have grown. */
#define EP_MAX_AREAS   (1u << 20)
#define EP_CHECK_NS    EP_NS_PER_SEC

struct ep_processes_options {
	struct uv_loop_s *loop;
	struct ep_timer *timer; /* of the loop; stopped after the processes */
	struct ep_delta_store *store;
	const struct ep_rule *rules;	/* the store's */
	struct ep_languages *languages; /* NULL: native frames only */
	struct ep_control *control;	/* of the BPF programs */
	int procs_fd;			/* the map ep_procs */
	const struct ep_procs_ops *procs; /* instead of it (publisher.h); NULL: procs_fd */
	void *procs_arg;
	uint32_t reads_per_second; /* budget for reading /proc/PID, sustained */
	uint32_t max_processes;
	size_t held_bytes;   /* of samples that wait */
	size_t max_files;    /* of executables that stay open at once; 0: 65536 */
	struct ep_memory_budget *memory; /* of what is read of files; NULL: as much as there is */
	/* Nobody maps it any more, and its file is about to be closed. May be NULL. */
	void (*leaving)(void *arg, struct ep_executable *executable);
	bool divides;	     /* tables of parts of large libraries are enough: text_parts.h */
	bool hears_mappings; /* ep_processes_on_mapping will be called */
	/* A sample as whole as it could be made. Borrowed for the call. */
	void (*pass)(void *arg, const void *event, size_t bytes);
	/* Hands over all records up to now: before something read from /proc is trusted. */
	void (*catch_up)(void *arg);
	/* A process that is not wanted is not even read; NULL: all are. */
	bool (*wanted)(void *arg, pid_t pid);
	void *arg;
};

int ep_processes_new(const struct ep_processes_options *options, struct ep_processes **ret);
/* Stops timers; the loop must run once more, and no job may be under way, before free. */
void ep_processes_stop(struct ep_processes *processes);
void ep_processes_free(struct ep_processes *processes);

/* Reads every process there is. 0 or a negative errno. */
int ep_processes_scan(struct ep_processes *processes);

/* What the kernel reported, in order of time. */
void ep_processes_on_event(struct ep_processes *processes, const struct ep_process_event *event);
void ep_processes_on_mapping(struct ep_processes *processes, const struct ep_mapping_event *event);
/* Does a program run under this pid that mappings are kept of? */
bool ep_processes_know(const struct ep_processes *processes, pid_t pid);
/* Records were lost: of mappings, or of births and deaths. */
void ep_processes_on_lost(struct ep_processes *processes);
/* It maps more than can be followed (core/bpf/floods.h): records of its mappings were left out. */
void ep_processes_on_flood(struct ep_processes *processes, pid_t pid, uint64_t now_ns);
/* Records were lost in a ring that processes filled which flood: few are of others. */
void ep_processes_on_crowded(struct ep_processes *processes);
/*
 * A sample as it came. It is given to `pass`, now or within EP_HELD_MAX_NS. `bytes` at least those
 * of the struct; what follows is not trusted.
 */
void ep_processes_on_sample(struct ep_processes *processes, const struct ep_sample *sample,
			    size_t bytes);
/* All records up to this time were handed over: what follows from them is done. */
void ep_processes_end_turn(struct ep_processes *processes, uint64_t time_ns);
/* Passes on all samples that wait. */
void ep_processes_release(struct ep_processes *processes);

/* Also of programs that ended in the last minutes. Borrowed until the next call. NULL: unknown. */
const struct ep_identity *ep_processes_identity(const struct ep_processes *processes,
						struct ep_program program);
struct ep_executables *ep_processes_executables(struct ep_processes *processes);
struct ep_executable *ep_processes_executable(struct ep_processes *processes, uint32_t id);

/* Where the region of a program's code begins that has this address (ep_areas_region); 0: it is not known. */
uint64_t ep_processes_region(const struct ep_processes *processes, struct ep_program program, uint64_t addr);

/* A language has something new to tell BPF of a process. */
void ep_processes_on_language(struct ep_processes *processes, pid_t pid);
/* The language of this slot in a program, for the names of its frames; NULL: none, or long gone. */
struct ep_instance *ep_processes_language(struct ep_processes *processes,
					  struct ep_program program, uint32_t slot);

/* Since its fork or exec; UINT64_MAX: it was there before us, or is not known. */
uint64_t ep_processes_age_ns(const struct ep_processes *processes, struct ep_program program);

/* Housekeeping, once a second or so: memory of what is gone, at most `keep_ns` after its end. */
void ep_processes_sweep(struct ep_processes *processes, uint64_t keep_ns);
/* Once a second, while no ep_delta_store_collect is under way: see ep_room_compact. */
void ep_processes_compact(struct ep_processes *processes);
/* Reads or analyses under way or queued. */
size_t ep_processes_busy(const struct ep_processes *processes);
size_t ep_processes_waiting_bytes(const struct ep_processes *processes); /* of samples */
/* Heap of all programs, running and ended, and of their mappings. */
struct ep_processes_bytes {
	size_t programs, mappings;
};
struct ep_processes_bytes ep_processes_bytes(const struct ep_processes *processes);
void ep_processes_print_counters(const struct ep_processes *processes, FILE *out);

#endif
