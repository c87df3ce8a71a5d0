/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/clock.h"
#include "core/plugin/process_target.h"
#include "core/proc/devices.h"
#include "core/proc/memory.h"
#include "core/proc/open.h"
#include "core/proc/process.h"
#include "core/proc/readers.h"
#include "core/replay/fixture.h"
#include "core/replay/snapshot.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#define MAX_ROUNDS   10 /* of looking for threads that are new */
#define STOP_WAIT_NS (2 * EP_NS_PER_SEC)
#define QUICK_NICE   -20 /* where we may: a process that stands still waits for us alone */

#if defined(__x86_64__)
#define HOST_MACHINE EM_X86_64
#else
#define HOST_MACHINE EM_AARCH64
#endif

struct tracee {
	pid_t tid;
	bool stopped;
	int signal; /* it was about to get, and gets when it is let go */
};

struct live {
	struct ep_snapshot snapshot;
	int nice; /* ours, before the process was stopped */
	pid_t access; /* through which /proc and memory are read: a thread that has not ended */
	struct ep_vec tracees; /* struct tracee */
};

static struct live *live_of(struct ep_snapshot *snapshot)
{
	return EP_CONTAINER(snapshot, struct live, snapshot);
}

/* --- stopping -------------------------------------------------------------------------------- */

static struct tracee *find_tracee(struct live *live, pid_t tid)
{
	struct tracee *tracee;

	ep_vec_each (&live->tracees, tracee) {
		if (tracee->tid == tid)
			return tracee;
	}
	return NULL;
}

/* Gone, or a zombie: a main thread that left by pthread_exit is one for long. */
static bool has_ended(pid_t tid)
{
	struct ep_process_info info;

	return ep_process_read_stat(tid, &info) < 0 || info.state == 'Z' || info.state == 'X';
}

static int seize(struct live *live, pid_t tid)
{
	struct tracee *tracee;

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0) {
		int r = -errno;

		return has_ended(tid) ? 0 : r;
	}
	tracee = ep_vec_push(&live->tracees);
	if (!tracee)
		return -E2BIG;
	*tracee = (struct tracee){.tid = tid};
	return ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0 && errno != ESRCH ? -errno : 0;
}

/* Threads may start new ones until they stand still. */
static int seize_new(struct live *live, bool *ret_found)
{
	struct ep_vec tids;
	pid_t *tid;
	int r;

	*ret_found = false;
	ep_vec_init(&tids, sizeof(pid_t), EP_FIXTURE_MAX_THREADS);
	r = ep_process_list_threads((pid_t)live->snapshot.pid, &tids);
	ep_vec_each (&tids, tid) {
		if (r < 0 || find_tracee(live, *tid))
			continue;
		*ret_found = true;
		r = seize(live, *tid);
	}
	ep_vec_fini(&tids);
	return r;
}

/* A thread in the kernel may not stop for long, and is then left out. */
static void wait_for(struct tracee *tracee, uint64_t end_ns)
{
	const struct timespec pause = {.tv_nsec = 100000};
	int status = 0;

	for (;;) {
		pid_t pid = waitpid(tracee->tid, &status, __WALL | WNOHANG);

		if (pid == tracee->tid && WIFSTOPPED(status)) {
			tracee->stopped = true;
			/* ptrace(2): a stop without an event is the delivery of a signal. */
			tracee->signal = status >> 16 ? 0 : WSTOPSIG(status);
			return;
		}
		if (pid != 0 || ep_clock_mono_ns() > end_ns)
			return;
		nanosleep(&pause, NULL);
	}
}

static int stop_all(struct live *live)
{
	uint64_t end_ns = ep_clock_mono_ns() + STOP_WAIT_NS;
	bool found = true;
	int r = 0;

	for (int round = 0; r == 0 && found && round < MAX_ROUNDS; round++) {
		struct tracee *tracee;

		r = seize_new(live, &found);
		ep_vec_each (&live->tracees, tracee) {
			if (!tracee->stopped)
				wait_for(tracee, end_ns);
		}
	}
	return r;
}

static void live_resume(struct ep_snapshot *snapshot)
{
	struct live *live = live_of(snapshot);
	struct tracee *tracee;

	/* One that never stopped is let go by the kernel when we end: linux/kernel/ptrace.c. */
	ep_vec_each (&live->tracees, tracee)
		(void)ptrace(PTRACE_DETACH, tracee->tid, NULL, (void *)(intptr_t)tracee->signal);
	if (live->tracees.len > 0)
		(void)setpriority(PRIO_PROCESS, 0, live->nice);
	live->tracees.len = 0;
}

/* --- threads --------------------------------------------------------------------------------- */

static int read_thread(struct live *live, pid_t tid)
{
	struct ep_replay_thread thread = {
		.arch = live->snapshot.arch,
		.pid = live->snapshot.pid,
		.tid = (uint32_t)tid,
		.start_ns = live->snapshot.start_ns,
	};
	uint64_t regs[64] = {0};
	struct iovec iov = {regs, sizeof(regs)};

	if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &iov) < 0)
		return errno == ESRCH ? 0 : -errno;
	if (!ep_snapshot_take_regs(&thread, regs, iov.iov_len / sizeof(regs[0])))
		return -ENOTSUP; /* a 32-bit program */
#if defined(__aarch64__)
	iov = (struct iovec){&thread.thread_pointer, sizeof(thread.thread_pointer)};
	(void)ptrace(PTRACE_GETREGSET, tid, (void *)NT_ARM_TLS, &iov);
#endif
	(void)ep_process_read_thread_name((pid_t)live->snapshot.pid, tid, thread.comm);
	return ep_vec_append(&live->snapshot.threads, &thread, 1);
}

static void say_stop(const struct live *live, int r, char *reason)
{
	const char *why = strerror(-r);

	if (r == -EPERM)
		why = "not permitted; be root (CAP_SYS_PTRACE), and let no debugger be attached";
	else if (r == -ESRCH)
		why = "it has ended";
	else if (r == -ETIMEDOUT)
		why = "none of its threads stopped: it is frozen (by its cgroup), or waits in the kernel";
	else if (r == -ENOTSUP)
		why = "it is a 32-bit program, only 64-bit ones are supported";
	snprintf(reason, EP_SNAPSHOT_REASON_BYTES, "cannot stop process %u: %s", live->snapshot.pid,
		 why);
}

static bool is_any_left(struct live *live)
{
	struct tracee *tracee;

	ep_vec_each (&live->tracees, tracee) {
		if (!tracee->stopped && !has_ended(tracee->tid))
			return true;
	}
	return false;
}

int ep_snapshot_stop(struct ep_snapshot *snapshot, char reason[EP_SNAPSHOT_REASON_BYTES])
{
	struct live *live = live_of(snapshot);
	struct tracee *tracee;
	int r;

	live->nice = getpriority(PRIO_PROCESS, 0);
	(void)setpriority(PRIO_PROCESS, 0, QUICK_NICE);
	r = stop_all(live);
	snapshot->threads.len = 0;
	ep_vec_each (&live->tracees, tracee) {
		if (r == 0 && tracee->stopped)
			r = read_thread(live, tracee->tid);
	}
	if (r == 0 && snapshot->threads.len == 0)
		r = is_any_left(live) ? -ETIMEDOUT : -ESRCH;
	if (r == 0)
		r = ep_maps_read(&snapshot->maps, live->access, EP_MAPS_ALL);
	if (r < 0) {
		live_resume(snapshot);
		say_stop(live, r, reason);
	}
	return r;
}

/* --- memory and files ------------------------------------------------------------------------ */

static int live_read_block(struct ep_snapshot *snapshot, uint64_t addr, uint8_t *block)
{
	return ep_memory_read(live_of(snapshot)->access, addr, block, EP_FIXTURE_BLOCK_BYTES);
}

static int live_read(struct ep_snapshot *snapshot, uint64_t addr, void *buf, size_t bytes)
{
	return ep_memory_read(live_of(snapshot)->access, addr, buf, bytes);
}

static int live_open(struct ep_snapshot *snapshot, const struct ep_mapping *mapping)
{
	pid_t pid = live_of(snapshot)->access;
	struct ep_proc_file file;
	int r;

	r = mapping->kind == EP_MAPPING_VDSO ? ep_proc_open_vdso(pid, mapping, &file)
					     : ep_proc_open_mapping(pid, mapping, &file);
	return r < 0 ? r : file.fd;
}

static int live_tls(struct ep_snapshot *snapshot, uint32_t question, const struct ep_elf *elf,
		    uint64_t module_addr, uint64_t bias, uint64_t value, struct ep_tls *ret)
{
	ep_cleanup(ep_process_target_end_job) struct ep_process_target process;

	ep_process_target_init(&process, live_of(snapshot)->access);
	process.elf = elf;
	process.module_addr = module_addr;
	process.bias = bias;
	return question == EP_FIXTURE_TLS_KEY
		       ? ep_process_target_ops.tls_key(&process, (uint32_t)value, ret)
		       : ep_process_target_ops.tls_variable(&process, value, ret);
}

static int live_file(struct ep_snapshot *snapshot, struct ep_target_file *file, uint64_t off, void *buf, size_t bytes)
{
	ep_cleanup(ep_process_target_end_job) struct ep_process_target process;

	ep_process_target_init(&process, live_of(snapshot)->access);
	return ep_process_target_ops.file(&process, file, off, buf, bytes);
}

static void live_close(struct ep_snapshot *snapshot)
{
	struct live *live = live_of(snapshot);

	live_resume(snapshot);
	ep_vec_fini(&live->tracees);
	ep_vec_fini(&snapshot->threads);
	ep_maps_fini(&snapshot->maps);
	free(live);
}

/*
 * Debug files are looked for below it, by ourselves: not where that may lead to a file system that never answers. What is
 * mounted in our own view is ours to mount.
 */
static void set_root(struct live *live)
{
	ep_cleanup(ep_proc_root_close) struct ep_proc_root root = {.fd = -1};
	bool is_ours = ep_proc_root_open(live->access, 0, &root) == 0 && ep_proc_view_is_ours(&root.view);

	if (!is_ours && ep_readers_are_there() && ep_devices_process_sees_suspect(live->access))
		snprintf(live->snapshot.root, sizeof(live->snapshot.root), EP_ROOT_GONE);
	else
		snprintf(live->snapshot.root, sizeof(live->snapshot.root), "/proc/%d/root",
			 (int)live->access);
}

int ep_snapshot_open_live(pid_t pid, struct ep_snapshot **ret_snapshot,
			  char reason[EP_SNAPSHOT_REASON_BYTES])
{
	static const struct ep_snapshot_ops ops = {
		.read_block = live_read_block,
		.read = live_read,
		.open = live_open,
		.tls = live_tls,
		.file = live_file,
		.resume = live_resume,
		.close = live_close,
	};
	struct live *live = calloc(1, sizeof(*live));
	struct ep_process_info info = {0};
	int r;

	if (!live)
		return -ENOMEM;
	live->snapshot.ops = &ops;
	live->snapshot.arch = ep_replay_arch_find(HOST_MACHINE);
	live->snapshot.origin = "process";
	live->snapshot.pid = (uint32_t)pid;
	ep_vec_init(&live->tracees, sizeof(struct tracee), EP_FIXTURE_MAX_THREADS);
	ep_vec_init(&live->snapshot.threads, sizeof(struct ep_replay_thread),
		    EP_FIXTURE_MAX_THREADS);
	ep_maps_init(&live->snapshot.maps, EP_FIXTURE_MAX_MAPPINGS);
	live->access = pid;
	r = ep_process_read_stat(pid, &info);
	if (r == 0 && info.state == 'Z')
		r = ep_process_find_live_thread(pid, &live->access);
	if (r == 0)
		r = ep_maps_read(&live->snapshot.maps, live->access, EP_MAPS_ALL);
	set_root(live);
	live->snapshot.start_ns = info.start_ns;
	if (r < 0) {
		snprintf(reason, EP_SNAPSHOT_REASON_BYTES,
			 r == -ESRCH ? "there is no process %d" : "cannot read process %d: be root",
			 (int)pid);
		live_close(&live->snapshot);
		return r;
	}
	*ret_snapshot = &live->snapshot;
	return 0;
}
