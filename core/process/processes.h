/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process manager: which processes there are, what they map, and the rows that tell BPF so.
 *
 *	scan, unknown pid or address, mapping of an unknown file ──► queue ──► worker reads /proc/PID
 *	    ──► places in memory ──► executables (analysed once) ──► rows ──► ep_procs
 *	fork, exec, mapping of a known file ──► places in memory, at once
 *
 * A process is (pid, start time). Reading /proc is paid from a budget, so that a storm of
 * short-lived processes costs no more than a quiet machine: when it is used up, a process is read
 * once it is sampled, and an unknown address is looked after with growing delay.
 *
 * Loop's thread only.
 */
#ifndef EP_PROCESS_PROCESSES_H
#define EP_PROCESS_PROCESSES_H

#include "bpf/shared.h"
#include "core/base/util.h"
#include "core/trace/program.h"

#include <sys/types.h>

struct ep_processes;
struct ep_delta_store;
struct ep_executable;
struct ep_instance;
struct ep_mapping_event;
struct ep_proc_file;
struct ep_unwinders;
struct uv_loop_s;

struct ep_processes_options {
	struct uv_loop_s *loop;
	struct ep_delta_store *store;
	struct ep_unwinders *unwinders; /* NULL: native frames only */
	int procs_fd;		  /* the map ep_procs */
	uint32_t reads_per_second; /* budget for reading /proc/PID, sustained */
	uint32_t max_processes;
	bool hears_mappings; /* ep_processes_on_mapping will be called */
	/* Called when a process's samples can be named: read, executables analysed; or gone. */
	void (*settled)(void *arg, pid_t pid);
	/* A process that is not wanted is not even read; NULL: all are. */
	bool (*wanted)(void *arg, pid_t pid);
	void *arg;
};

/* What a batch says of a process. Borrowed until the next call. */
struct ep_process_description {
	const char *comm, *exe_path, *container_id;
	const char *environment; /* variables that were asked for, "NAME=value" with NUL each */
	size_t environment_bytes;
};

struct ep_processes_stats {
	uint64_t live;
	uint64_t reads;	    /* of /proc/PID/maps */
	uint64_t gone;	    /* died while they were read */
	uint64_t refused;   /* more processes than max_processes */
	uint64_t deferred;  /* reads put off for want of budget */
	uint64_t cut;	    /* processes with more executable mappings than rows */
	uint64_t forks, execs, exits;
	uint64_t mappings, mappings_placed; /* records, and those that needed no read */
};

int ep_processes_new(const struct ep_processes_options *options, struct ep_processes **ret);
/* Stops timers; the loop must run once more, and no job may be under way, before free. */
void ep_processes_stop(struct ep_processes *processes);
void ep_processes_free(struct ep_processes *processes);

/* Reads every process there is. 0 or a negative errno. */
int ep_processes_scan(struct ep_processes *processes);

/* A file that will be mapped soon; see ep_executables_prepare. */
int ep_processes_prepare(struct ep_processes *processes, const char *path,
			 struct ep_proc_file *file);

/* What the kernel said. */
void ep_processes_on_fork(struct ep_processes *processes, pid_t parent, pid_t pid,
			  uint64_t start_ns);
void ep_processes_on_exec(struct ep_processes *processes, pid_t pid, uint64_t start_ns,
			  uint64_t time_ns);
void ep_processes_on_exit(struct ep_processes *processes, pid_t pid);
/* A mapping of an executable that is known by build id needs no read. */
void ep_processes_on_mapping(struct ep_processes *processes, const struct ep_mapping_event *event);
/* A sample was taken in a process; who it is now is found out if it was not worth it before. */
void ep_processes_on_sampled(struct ep_processes *processes, pid_t pid);
void ep_processes_on_unknown(struct ep_processes *processes, pid_t pid, uint64_t start_ns);
void ep_processes_on_unknown_address(struct ep_processes *processes, pid_t pid);

/* True when nothing is being found out about this process at the moment. */
bool ep_processes_is_settled(struct ep_processes *processes, pid_t pid, uint64_t start_ns);
/*
 * Places a target address: 0 with executable id and ELF virtual address; EP_PLACE_ANONYMOUS in code
 * that is no ELF file's, as a JIT makes it; -ENODATA in no executable mapping.
 */
#define EP_PLACE_ANONYMOUS 1
int ep_processes_place(struct ep_processes *processes, pid_t pid, uint64_t start_ns, uint64_t addr,
		       uint32_t *ret_executable, uint64_t *ret_va);

/* Also of processes that ended in the last minutes. 0 or -ENODATA. */
int ep_processes_describe(struct ep_processes *processes, struct ep_program program,
			  struct ep_process_description *ret);
struct ep_executable *ep_processes_executable(struct ep_processes *processes, uint32_t id);

/* A language has something new to tell BPF of a process. */
void ep_processes_on_language(struct ep_processes *processes, pid_t pid);
/* The language of this slot in a process, for the names of its frames; NULL: none, or long gone. */
struct ep_instance *ep_processes_language(struct ep_processes *processes,
					  struct ep_program program, uint32_t slot);

/* Housekeeping, once a second or so: memory of what is gone, at most `keep_ns` after its end. */
void ep_processes_sweep(struct ep_processes *processes, uint64_t keep_ns);
/* Drops the unwind tables that were hit longest ago. False when there are none. */
bool ep_processes_evict_one(struct ep_processes *processes);
/* Builds tables again that were dropped and are hit, if others are not; see executables.h. */
void ep_processes_restore_one(struct ep_processes *processes);
/* Reads or analyses under way or queued. */
size_t ep_processes_busy(const struct ep_processes *processes);

const struct ep_processes_stats *ep_processes_stats(const struct ep_processes *processes);
const struct ep_executables_stats *ep_processes_executables_stats(struct ep_processes *processes);

#endif
