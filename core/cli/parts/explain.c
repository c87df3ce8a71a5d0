/* SPDX-License-Identifier: Apache-2.0 */
/* "WHAT cannot be done: WHY; FIX": the doctor splits at "; ", users read it whole. */
#include "core/cli/parts/explain.h"
#include "core/base/log.h"
#include "core/cli/parts/check.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>

static const char *const whats[] = {
	[EP_ATTEMPT_MAP] = "a BPF map cannot be created",
	[EP_ATTEMPT_PROGRAM] = "a BPF program cannot be loaded",
	[EP_ATTEMPT_ATTACH] = "a BPF program cannot be attached",
	[EP_ATTEMPT_PERF] = "a CPU cannot be sampled",
	[EP_ATTEMPT_BTF] = "the kernel's type information cannot be read",
};

struct reason {
	enum ep_exit blame;
	const char *why, *fix;
};

/* EPERM or EACCES: which of the gates was it? */
static struct reason explain_refusal(const struct ep_check_env *env, enum ep_attempt attempt)
{
	bool admin = ep_check_has_cap(env, CAP_SYS_ADMIN);
	int cap = attempt == EP_ATTEMPT_PERF ? CAP_PERFMON : CAP_BPF;

	if (attempt == EP_ATTEMPT_PERF && !admin && env->perf_paranoid >= 3)
		return (struct reason){
			EP_EXIT_PERMISSION,
			"kernel.perf_event_paranoid is 3, which asks for CAP_SYS_ADMIN",
			"run as root, or: sudo sysctl kernel.perf_event_paranoid=2"};
	if (!admin && !ep_check_has_cap(env, cap))
		return (struct reason){EP_EXIT_PERMISSION,
				       cap == CAP_BPF ? "CAP_BPF is missing"
						      : "CAP_PERFMON is missing",
				       "run as root (sudo)"};
	if (attempt == EP_ATTEMPT_MAP && ep_check_older_than(env, 5, 11))
		return (struct reason){EP_EXIT_PERMISSION,
				       "RLIMIT_MEMLOCK is too low for Linux before 5.11",
				       "run as root, or after: ulimit -l unlimited"};
	return (struct reason){
		EP_EXIT_PERMISSION,
		"refused in spite of the capabilities, so by seccomp or a security "
		"module",
		"in a container: --privileged, or --security-opt seccomp=unconfined"};
}

static struct reason explain_errno(const struct ep_check_env *env, enum ep_attempt attempt, int err)
{
	switch (err) {
	case -EPERM:
	case -EACCES:
		return explain_refusal(env, attempt);
	case -ENOSYS:
		return (struct reason){EP_EXIT_KERNEL, "this kernel was built without it",
				       "boot one with CONFIG_BPF_SYSCALL and CONFIG_PERF_EVENTS"};
	case -ENOENT:
	case -ENODATA:
	case -ENODEV:
	case -EINVAL:
	case -EOPNOTSUPP:
	case -E2BIG:
		if (attempt == EP_ATTEMPT_BTF)
			return (struct reason){EP_EXIT_KERNEL,
					       "/sys/kernel/btf/vmlinux is absent or incomplete",
					       "boot a kernel with CONFIG_DEBUG_INFO_BTF"};
		return (struct reason){EP_EXIT_KERNEL, "this kernel does not support it",
				       "boot Linux 5.10 or newer"};
	case -EMFILE:
	case -ENFILE:
		return (struct reason){EP_EXIT_FAILED, "too many open files",
				       "raise the limit: ulimit -n 65536"};
	case -ENOMEM:
		return (struct reason){EP_EXIT_FAILED, "out of memory",
				       "free some, or set [limits] memory lower"};
	}
	return (struct reason){EP_EXIT_FAILED, "the kernel said no", "run: ebpf-profiler doctor"};
}

enum ep_exit ep_explain(enum ep_attempt attempt, int err, char *buf, size_t size)
{
	struct ep_check_env env;
	struct reason reason;

	ep_check_env_read(NULL, &env);
	reason = explain_errno(&env, attempt, err);
	snprintf(buf, size, "%s: %s (%s); %s", whats[attempt], reason.why, ep_strerror(err),
		 reason.fix);
	return reason.blame;
}
