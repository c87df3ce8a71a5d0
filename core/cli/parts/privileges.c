/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/parts/privileges.h"
#include "core/base/elevated.h"
#include "core/base/log.h"
#include "core/base/parse.h"
#include "core/base/system_calls.h"
#include "core/base/util.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PARANOID_PATH	 "/proc/sys/kernel/perf_event_paranoid"
#define PARANOID_DEFAULT 2
#define PARANOID_ADMIN	 3  /* Debian's: CAP_PERFMON is not enough then (check_privileges.c) */
#define MOST_NICE	 40 /* RLIMIT_NICE, getrlimit(2): 20 - nice, so all of -20 */
#define CAP_WORDS	 _LINUX_CAPABILITY_U32S_3

const uint64_t ep_privileges_of_commands = 1ull << CAP_CHOWN | 1ull << CAP_DAC_OVERRIDE | 1ull << CAP_FOWNER |
					   1ull << CAP_KILL;

uint64_t ep_privileges_kept(int perf_paranoid)
{
	static const int kept[] = {CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_SYSLOG,
				   CAP_CHECKPOINT_RESTORE};
	uint64_t caps = perf_paranoid >= PARANOID_ADMIN ? 1ull << CAP_SYS_ADMIN : 0;

	for (size_t i = 0; i < EP_LEN(kept); i++)
		caps |= 1ull << kept[i];
	return caps;
}

uint64_t ep_privileges_of_capture(void)
{
	bool has_checkpoint = prctl(PR_CAPBSET_READ, CAP_CHECKPOINT_RESTORE, 0, 0, 0) >= 0;

	return 1ull << CAP_SYS_PTRACE | 1ull << CAP_DAC_READ_SEARCH | 1ull << CAP_DAC_OVERRIDE |
	       1ull << (has_checkpoint ? CAP_CHECKPOINT_RESTORE : CAP_SYS_ADMIN);
}

int ep_privileges_paranoid(void)
{
	uint64_t level = PARANOID_DEFAULT;
	struct ep_vec text;

	ep_vec_init(&text, 1, 64);
	if (ep_read_file(PARANOID_PATH, &text) == 0) {
		((char *)text.data)[strcspn(text.data, "\n")] = '\0';
		if (*(char *)text.data == '-')
			level = 0;
		else
			(void)ep_parse_u64_str(text.data, &level);
	}
	ep_vec_fini(&text);
	return (int)EP_MIN(level, (uint64_t)PARANOID_ADMIN + 1);
}

/*
 * Memory of BPF and perf (the former before 5.11), and the moment of higher priority in which an unwinder is
 * loaded: they are limits from here on, and no capabilities.
 */
static void raise_limits(void)
{
	static const struct rlimit endless = {RLIM_INFINITY, RLIM_INFINITY}, nice = {MOST_NICE, MOST_NICE};

	(void)setrlimit(RLIMIT_MEMLOCK, &endless);
	(void)setrlimit(RLIMIT_NICE, &nice);
}

/*
 * Files are made as who called sudo, in directories that are his: without CAP_SETUID a thread's file ids can
 * only be set to those that the process has, of which the saved ones are free (setfsuid(2)).
 */
static int save_sudo_caller(void)
{
	struct ep_sudo_caller caller;
	int r = ep_sudo_caller(&caller);

	if (r != 0)
		return r < 0 ? r : 0;
	return setresgid((gid_t)-1, (gid_t)-1, caller.gid) < 0 || setresuid((uid_t)-1, (uid_t)-1, caller.uid) < 0
		       ? -errno
		       : 0;
}

static int keep(uint64_t caps)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[CAP_WORDS];

	if (syscall(SYS_capget, &header, data) < 0)
		return -errno;
	for (size_t i = 0; i < CAP_WORDS; i++) {
		uint32_t word = (uint32_t)(caps >> 32 * i);

		data[i].permitted &= word;
		data[i].effective &= word;
		data[i].inheritable = 0;
	}
	return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

static int drop(uint64_t caps)
{
	int r;

	raise_limits();
	r = save_sudo_caller();
	if (r < 0 && r != -EPERM) /* root of a container, without the right to change users: it stays itself */
		return r;
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	/* Without CAP_SETPCAP it stays: then there is little in it that could be gained without new privileges. */
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	r = keep(caps);
	if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		r = -errno;
	ep_privileges_leave_no_core();
	return r;
}

static uint64_t of_agent(void)
{
	return ep_privileges_kept(ep_privileges_paranoid());
}

int ep_privileges_drop_all_but(uint64_t caps)
{
	int r = drop(caps);

	if (r < 0)
		fprintf(stderr, "ebpf-profiler: privileges cannot be given up: %s\n", ep_strerror(r));
	return r;
}

int ep_privileges_drop(uint64_t more)
{
	return ep_privileges_drop_all_but(of_agent() | more);
}

void ep_privileges_leave_no_core(void)
{
	static const struct rlimit none = {0, 0};

	(void)setrlimit(RLIMIT_CORE, &none);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* --- what is left ---------------------------------------------------------------------------- */

/* In the child. */
static int give_up_all(struct ep_privileges_left *ret_left)
{
	int r = drop(of_agent());

	if (r < 0)
		return r;
	ret_left->limited = ep_system_calls_limit(EP_CALLERS_AGENT);
	for (int cap = 0; (r = prctl(PR_CAPBSET_READ, cap, 0, 0, 0)) >= 0; cap++)
		ret_left->n_bounding += r;
	ret_left->no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
	ret_left->dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
	ret_left->filters = prctl(PR_GET_SECCOMP, 0, 0, 0, 0);
	return 0;
}

static void run_try(int fd)
{
	struct ep_privileges_left left = {0};

	if (give_up_all(&left) == 0)
		(void)!write(fd, &left, sizeof(left));
	_exit(0);
}

int ep_privileges_try(struct ep_privileges_left *ret_left)
{
	struct ep_privileges_left left;
	int pair[2];
	ssize_t n;
	pid_t pid;

	if (pipe2(pair, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		run_try(pair[1]);
	close(pair[1]);
	n = pid < 0 ? -1 : read(pair[0], &left, sizeof(left));
	close(pair[0]);
	if (pid < 0 || waitpid(pid, NULL, 0) < 0)
		return -errno;
	if (n != sizeof(left))
		return -EPERM;
	*ret_left = left;
	return 0;
}
