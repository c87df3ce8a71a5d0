/* SPDX-License-Identifier: Apache-2.0 */
/* Capabilities, one by one, and what else stands between us and other processes. */
#include "core/base/elevated.h"
#include "core/base/log.h"
#include "core/base/system_calls.h"
#include "core/cli/parts/check.h"
#include "core/cli/parts/privileges.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* The pid namespace a machine starts with: PROC_PID_INIT_INO, linux/include/linux/proc_ns.h */
#define INITIAL_PID_NAMESPACE 0xEFFFFFFCu

/*
 * `record` and `capture` read anybody's memory: not everybody may run such a file. What changes its
 * group takes its capabilities, so these come last.
 */
static const char fix_caps[] =
	"run as root (sudo), or let the members of a group run it, who can then read the memory of "
	"all users: p=$(command -v ebpf-profiler); sudo groupadd -f ebpf-profiler; "
	"sudo chgrp ebpf-profiler \"$p\"; sudo chmod 750 \"$p\"; "
	"sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search,cap_syslog,"
	"cap_checkpoint_restore+ep \"$p\"";
static const char fix_file[] =
	"p=$(command -v ebpf-profiler); sudo chown root:ebpf-profiler \"$p\"; sudo chmod 750 \"$p\"; "
	"then setcap again";

/* A file with capabilities that everybody may run lends them to everybody. */
static void check_file(const struct ep_check_env *env, struct ep_check_result *ret)
{
	struct stat st;

	(void)env;
	if (!ep_is_elevated())
		ep_check_ok(ret, "it may do what who starts it may, no more");
	else if (stat("/proc/self/exe", &st) < 0)
		ep_check_warn(ret, fix_file, "nobody knows who may run it: %s", ep_strerror(errno));
	else if (st.st_mode & S_IXOTH)
		ep_check_warn(ret, fix_file, "everybody may run it, and read the memory of all users "
			      "with it");
	else
		ep_check_ok(ret, "root and group %u may run it, with the capabilities it has", st.st_gid);
}

/* `or_admin`: CAP_SYS_ADMIN contains it, capabilities(7). */
static void check_cap(const struct ep_check_env *env, int cap, bool or_admin, const char *what_for,
		      struct ep_check_result *ret)
{
	if (ep_check_has_cap(env, cap))
		ep_check_ok(ret, "there, for %s", what_for);
	else if (or_admin && ep_check_has_cap(env, CAP_SYS_ADMIN))
		ep_check_ok(ret, "part of CAP_SYS_ADMIN, which is there, for %s", what_for);
	else
		ep_check_fail(ret, EP_EXIT_PERMISSION, fix_caps, "missing, needed for %s",
			      what_for);
}

/* Where profiling works without it, but says less. */
static void soften(struct ep_check_result *ret)
{
	if (ret->status == EP_CHECK_FAIL)
		ret->status = EP_CHECK_WARN;
}

static void check_bpf(const struct ep_check_env *env, struct ep_check_result *ret)
{
	check_cap(env, CAP_BPF, true, "loading BPF programs and maps", ret);
}

static void check_perfmon(const struct ep_check_env *env, struct ep_check_result *ret)
{
	check_cap(env, CAP_PERFMON, true, "sampling all processes on a CPU", ret);
}

static void check_ptrace(const struct ep_check_env *env, struct ep_check_result *ret)
{
	check_cap(env, CAP_SYS_PTRACE, false, "reading /proc/PID/maps of other users", ret);
}

static void check_dac(const struct ep_check_env *env, struct ep_check_result *ret)
{
	check_cap(env, CAP_DAC_READ_SEARCH, false, "reading executables only their owner can read",
		  ret);
	soften(ret);
}

static void check_syslog(const struct ep_check_env *env, struct ep_check_result *ret)
{
	check_cap(env, CAP_SYSLOG, false, "names of kernel functions", ret);
	soften(ret);
}

static void check_restore(const struct ep_check_env *env, struct ep_check_result *ret)
{
	check_cap(env, CAP_CHECKPOINT_RESTORE, true,
		  "executables that were deleted or replaced (/proc/PID/map_files)", ret);
	soften(ret);
}

/* Level 3 is a patch of Debian's, which asks for CAP_SYS_ADMIN where CAP_PERFMON is there: measured on 5.10 to 7.2. */
static void check_admin(const struct ep_check_env *env, struct ep_check_result *ret)
{
	if (ep_check_has_cap(env, CAP_SYS_ADMIN))
		ep_check_ok(ret, "there; needed only where kernel.perf_event_paranoid is 3");
	else if (env->perf_paranoid < 3)
		ep_check_ok(ret, "missing, and not needed: kernel.perf_event_paranoid is %d",
			    env->perf_paranoid);
	else
		ep_check_fail(ret, EP_EXIT_PERMISSION,
			      "run as root, or: sudo sysctl kernel.perf_event_paranoid=2",
			      "missing: with kernel.perf_event_paranoid %d CAP_PERFMON is not "
			      "enough for perf_event_open",
			      env->perf_paranoid);
}

/* Of the capabilities that are there now: what ep_privileges_drop leaves. */
static void check_kept(const struct ep_check_env *env, struct ep_check_result *ret)
{
	uint64_t kept = env->caps & ep_privileges_kept(env->perf_paranoid);

	ep_check_ok(ret, "the agent (--config) keeps %d of %d capabilities%s; it leaves no core file, and no program "
		    "gives it more", __builtin_popcountll(kept), __builtin_popcountll(env->caps),
		    kept >> CAP_SYS_ADMIN & 1 ? ", CAP_SYS_ADMIN among them, which kernel.perf_event_paranoid 3 asks for"
						  : "");
}

/* A child becomes what the agent becomes. */
static void check_limits(const struct ep_check_env *env, struct ep_check_result *ret)
{
	struct ep_privileges_left left;
	int r = ep_privileges_try(&left);

	(void)env;
	if (r < 0)
		ep_check_warn(ret, "run doctor as root", "what the agent gives up cannot be tried: %s", ep_strerror(r));
	else if (left.limited < 0)
		ep_check_warn(ret, "a kernel with CONFIG_SECCOMP_FILTER, a container that allows seccomp(2)",
			      "the agent's system calls are not filtered: %s", ep_strerror(left.limited));
	else
		ep_check_ok(ret, "the agent's system calls are filtered (seccomp mode %d): %zu are allowed; no_new_privs "
			    "%d, dumpable %d, %d capabilities in its bounding set",
			    left.filters, ep_system_calls_allowed(EP_CALLERS_AGENT), left.no_new_privs, left.dumpable,
			    left.n_bounding);
}

static void check_paranoid(const struct ep_check_env *env, struct ep_check_result *ret)
{
	ep_check_info(ret, "kernel.perf_event_paranoid is %d: %s", env->perf_paranoid,
		      env->perf_paranoid >= 3	? "only CAP_SYS_ADMIN may sample (Debian's default)"
		      : env->perf_paranoid >= 1 ? "CAP_PERFMON may sample the machine"
						: "every user may sample the machine");
}

/* Before 5.11 BPF memory counted against RLIMIT_MEMLOCK, 64 KiB by default; then the cgroup's. */
static void check_memlock(const struct ep_check_env *env, struct ep_check_result *ret)
{
	struct rlimit limit = {0};

	if (!ep_check_older_than(env, 5, 11)) {
		ep_check_ok(ret, "RLIMIT_MEMLOCK does not matter from Linux 5.11 on");
		return;
	}
	getrlimit(RLIMIT_MEMLOCK, &limit);
	if (limit.rlim_max == RLIM_INFINITY || ep_check_has_cap(env, CAP_SYS_RESOURCE))
		ep_check_ok(ret, "RLIMIT_MEMLOCK can be raised");
	else
		ep_check_fail(ret, EP_EXIT_PERMISSION,
			      "run as root, with CAP_SYS_RESOURCE, or after: ulimit -l unlimited",
			      "RLIMIT_MEMLOCK is %" PRIu64 " KiB, too little for BPF maps before "
			      "Linux 5.11",
			      (uint64_t)limit.rlim_max / 1024);
}

static void check_pid_namespace(const struct ep_check_env *env, struct ep_check_result *ret)
{
	char path[512], link[64] = "";
	unsigned int inode = 0;

	snprintf(path, sizeof(path), "%s/proc/self/ns/pid", env->root);
	if (readlink(path, link, sizeof(link) - 1) < 0 || sscanf(link, "pid:[%u]", &inode) != 1)
		ep_check_warn(ret, "mount /proc", "the pid namespace cannot be read");
	else if (inode == INITIAL_PID_NAMESPACE)
		ep_check_ok(ret, "this is the machine's own pid namespace");
	else
		ep_check_fail(
			ret, EP_EXIT_PERMISSION,
			"start the container with the host's: --pid=host, or hostPID: true",
			"this is a container's pid namespace: samples carry pids that are not "
			"in its /proc");
}

/* The options of the mount at /proc, into buf; "" when there is none. */
static void read_proc_options(const struct ep_check_env *env, char *buf, size_t size)
{
	char path[512], line[1024];
	FILE *mounts;

	buf[0] = '\0';
	snprintf(path, sizeof(path), "%s/proc/self/mountinfo", env->root);
	mounts = fopen(path, "re");
	if (!mounts)
		return;
	while (fgets(line, sizeof(line), mounts)) {
		const char *at = strstr(line, " /proc ");

		if (at && strstr(at, " - proc "))
			snprintf(buf, size, "%s", strstr(at, " - proc "));
	}
	fclose(mounts);
}

static void check_hidepid(const struct ep_check_env *env, struct ep_check_result *ret)
{
	char options[256];
	const char *hidepid;

	read_proc_options(env, options, sizeof(options));
	hidepid = strstr(options, "hidepid=");
	if (!hidepid || strncmp(hidepid, "hidepid=0", 9) == 0 ||
	    strncmp(hidepid, "hidepid=off", 11) == 0)
		ep_check_ok(ret, "/proc shows the processes of all users");
	else if (ep_check_has_cap(env, CAP_SYS_PTRACE))
		ep_check_ok(ret, "/proc hides processes of others, but not from CAP_SYS_PTRACE");
	else
		ep_check_fail(ret, EP_EXIT_PERMISSION,
			      "run as root, or: sudo mount -o remount,hidepid=0 /proc",
			      "/proc is mounted with hidepid: processes of others are not there");
}

const struct ep_check ep_privilege_checks[] = {
	{"who may run it", check_file},
	{"CAP_BPF", check_bpf},		  {"CAP_PERFMON", check_perfmon},
	{"CAP_SYS_PTRACE", check_ptrace}, {"CAP_DAC_READ_SEARCH", check_dac},
	{"CAP_SYSLOG", check_syslog},	  {"CAP_CHECKPOINT_RESTORE", check_restore},
	{"CAP_SYS_ADMIN", check_admin},	  {"what is kept", check_kept},
	{"system calls", check_limits},
	{"perf_event_paranoid", check_paranoid},
	{"memlock", check_memlock},	  {"pid namespace", check_pid_namespace},
	{"hidepid", check_hidepid},
};
const size_t ep_n_privilege_checks = EP_LEN(ep_privilege_checks);
