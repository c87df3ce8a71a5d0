/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who a process is, from /proc: identity (pid and start time, since pids are re-used), parent,
 * name, executable, container, cgroup, user. Pids are those of our own pid namespace. Everything
 * here may race with the process's exit: then the answer is -ESRCH.
 */
#ifndef EP_PROC_PROCESS_H
#define EP_PROC_PROCESS_H

#include "core/base/vec.h"
#include "core/proc/container.h"

#include <sys/types.h>

#define EP_PROCESS_COMM_BYTES 16 /* TASK_COMM_LEN of the kernel, with the NUL */

struct ep_process_info {
	pid_t pid;
	pid_t parent_pid;
	char state; /* R, S, D, Z, ... */
	bool kernel_thread;
	bool exe_deleted;
	uint64_t start_ns;		  /* CLOCK_BOOTTIME, rounded down to a clock tick (10 ms) */
	uint64_t pid_ns;		  /* inode of its pid namespace; 0: unknown */
	char comm[EP_PROCESS_COMM_BYTES]; /* of the main thread; may hold any byte but NUL */
	char *exe_path; /* never NULL after a read; "" when unknown or a kernel thread */
	char container_id[EP_CONTAINER_ID_BYTES]; /* "" outside a container */
	char *cgroup_path; /* in the tree of v2 (cgroups.h); never NULL after a read; "": unknown */
	uint64_t cgroup;   /* its number; 0: unknown */
	uint32_t user;	   /* the effective one, as our user namespace sees it */
};

/* Reads all of it. Gives ret_info, to be released by fini. 0, -ESRCH, -EACCES, -ENOMEM. */
int ep_process_read(pid_t pid, struct ep_process_info *ret_info);
void ep_process_info_fini(struct ep_process_info *info); /* accepts a zeroed struct */

/* pid, parent_pid, state, kernel_thread, start_ns and comm only: one small read. */
int ep_process_read_stat(pid_t pid, struct ep_process_info *ret_info);
/* The text of /proc/PID/stat. 0, -EBADMSG. */
int ep_process_parse_stat(const char *text, size_t bytes, struct ep_process_info *ret_info);

/*
 * True when a task's start_boottime from the kernel and a start_ns from here are the same moment:
 * /proc rounds down to a clock tick, which in a time namespace may begin anywhere.
 */
bool ep_process_same_start(uint64_t a_ns, uint64_t b_ns);

/*
 * CPU time of all of its threads, also of those that have ended: exact, and read without /proc. While it is the
 * same nothing of the process has run. 0, -ESRCH, -errno.
 */
int ep_process_read_cpu(pid_t pid, uint64_t *ret_ns);

/*
 * The effective user id, as our user namespace sees it: /proc/PID itself belongs to it also where the process is not
 * dumpable (fs/proc/base.c, task_dump_owner). 0, -ESRCH, -errno.
 */
int ep_process_read_owner(pid_t pid, uint32_t *ret_uid);

/* The process of a thread; a process's main thread has its id. 0, -ESRCH, -EBADMSG, -errno. */
int ep_process_of_thread(pid_t tid, pid_t *ret_pid);

/* Name of one thread. 0, -ESRCH. */
int ep_process_read_thread_name(pid_t pid, pid_t tid, char name[EP_PROCESS_COMM_BYTES]);

/* Appends all pids (pid_t) to `pids`, in the order of /proc. 0, -E2BIG, -ENOMEM, -errno. */
int ep_process_list(struct ep_vec *pids);
/* The same for the threads of one process; -ESRCH. */
int ep_process_list_threads(pid_t pid, struct ep_vec *tids);

/*
 * A thread other than the main one that still runs: when the main thread has called pthread_exit,
 * /proc/PID/maps and exe are empty, but those of /proc/TID are not. 0, -ESRCH when there is none.
 */
int ep_process_find_live_thread(pid_t pid, pid_t *ret_tid);

#endif
