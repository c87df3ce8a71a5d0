/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel is and what it really does: features are tried, not guessed from a version. */
#include "core/cli/parts/check.h"
#include "core/cli/parts/explain.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

static void check_version(const struct ep_check_env *env, struct ep_check_result *ret)
{
	if (env->version.major == 0)
		ep_check_warn(ret, "mount /proc", "the kernel's version cannot be read");
	else if (ep_check_older_than(env, 5, 10))
		ep_check_fail(ret, EP_EXIT_KERNEL, "boot Linux 5.10 or newer",
			      "Linux %s is too old", env->release);
	else
		ep_check_ok(ret, "Linux %s, upstream's %u.%u.%u", env->release, env->version.major,
			    env->version.minor, env->version.patch);
}

/*
 * Linux 5.19 to 6.3 have a bug in copy_from_user_nofault, by which BPF programs read user memory;
 * fixed in 6.1.36, 6.3.10 and 6.4. The OpenTelemetry eBPF profiler refuses to run without the fix.
 */
static void check_nofault(const struct ep_check_env *env, struct ep_check_result *ret)
{
	const struct ep_kernel_version *v = &env->version;
	bool affected = !ep_check_older_than(env, 5, 19) && ep_check_older_than(env, 6, 4);

	if (v->major == 6 &&
	    ((v->minor == 1 && v->patch >= 36) || (v->minor == 3 && v->patch >= 10)))
		affected = false;
	if (affected)
		ep_check_warn(ret, "boot 6.1.36, 6.3.10, 6.4 or newer, or what your vendor fixed",
			      "Linux %u.%u.%u reads user memory from BPF with a known bug "
			      "(copy_from_user_nofault)",
			      v->major, v->minor, v->patch);
	else
		ep_check_ok(ret, "not one of the kernels (5.19 to 6.3) with the bug of "
				 "copy_from_user_nofault");
}

static void check_machine(const struct ep_check_env *env, struct ep_check_result *ret)
{
	struct utsname name;

	(void)env;
	if (uname(&name) < 0 || strcmp(name.machine, "x86_64") != 0)
		ep_check_fail(ret, EP_EXIT_KERNEL, "profile an x86-64 machine",
			      "there are no unwind rules for %s yet", name.machine);
	else
		ep_check_ok(ret, "x86_64");
}

static void explain_failure(struct ep_check_result *ret, enum ep_attempt attempt, int err)
{
	char text[512];
	enum ep_exit blame = ep_explain(attempt, err, text, sizeof(text));
	char *fix = strstr(text, "; ");

	if (fix)
		*fix = '\0';
	ep_check_fail(ret, blame, fix ? fix + 2 : "", "%s", text);
}

static void try_map(enum bpf_map_type type, uint32_t key_bytes, uint32_t value_bytes,
		    uint32_t entries, const char *works, struct ep_check_result *ret)
{
	int fd = bpf_map_create(type, "ep_doctor", key_bytes, value_bytes, entries, NULL);
	int err = errno;

	if (fd < 0) {
		explain_failure(ret, EP_ATTEMPT_MAP, -err);
		return;
	}
	close(fd);
	ep_check_ok(ret, "%s", works);
}

static void check_map(const struct ep_check_env *env, struct ep_check_result *ret)
{
	(void)env;
	try_map(BPF_MAP_TYPE_ARRAY, 4, 8, 1, "a BPF map can be created", ret);
}

static void check_ring(const struct ep_check_env *env, struct ep_check_result *ret)
{
	(void)env;
	try_map(BPF_MAP_TYPE_RINGBUF, 0, 0, (uint32_t)sysconf(_SC_PAGESIZE),
		"a BPF ring buffer can be created", ret);
}

/* r0 = 0; exit */
static const struct bpf_insn nothing[] = {
	{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
	{.code = BPF_JMP | BPF_EXIT},
};

static void check_program(const struct ep_check_env *env, struct ep_check_result *ret)
{
	int fd, err;

	(void)env;
	fd = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "ep_doctor", "GPL", nothing, EP_LEN(nothing),
			   NULL);
	err = errno;
	if (fd < 0) {
		explain_failure(ret, EP_ATTEMPT_PROGRAM, -err);
		return;
	}
	close(fd);
	ep_check_ok(ret, "a BPF program for perf events can be loaded");
}

static void check_btf(const struct ep_check_env *env, struct ep_check_result *ret)
{
	char text[4];
	int r = ep_check_read(env, "/sys/kernel/btf/vmlinux", text, sizeof(text));

	if (r < 0)
		explain_failure(ret, EP_ATTEMPT_BTF, r);
	else
		ep_check_ok(ret,
			    "/sys/kernel/btf/vmlinux is there, with the layout of task_struct");
}

static void check_jit(const struct ep_check_env *env, struct ep_check_result *ret)
{
	char text[16];
	int r = ep_check_read(env, "/proc/sys/net/core/bpf_jit_enable", text, sizeof(text));

	if (r == -ENOENT) /* no CONFIG_BPF_JIT, or another network namespace before 4.19 */
		ep_check_warn(ret, "boot a kernel with CONFIG_BPF_JIT",
			      "no net.core.bpf_jit_enable: BPF programs may be interpreted, and "
			      "cost more");
	else if (r < 0)
		ep_check_info(ret, "net.core.bpf_jit_enable cannot be read (%s)", strerror(-r));
	else if (text[0] == '0')
		ep_check_warn(ret, "sudo sysctl net.core.bpf_jit_enable=1",
			      "BPF programs are interpreted, and cost more");
	else
		ep_check_ok(ret, "BPF programs are compiled (net.core.bpf_jit_enable is %s)", text);
}

/* 0, or a negative errno. */
static int try_perf(uint32_t type, uint64_t config)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = type,
		.config = config,
		.disabled = 1,
		.freq = 1,
		.sample_freq = 20,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, sched_getcpu(), -1,
			      PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static void check_clock(const struct ep_check_env *env, struct ep_check_result *ret)
{
	int r = try_perf(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);

	(void)env;
	if (r < 0)
		explain_failure(ret, EP_ATTEMPT_PERF, r);
	else
		ep_check_ok(ret, "a CPU can be sampled with perf's cpu-clock");
}

static void check_cycles(const struct ep_check_env *env, struct ep_check_result *ret)
{
	int r = try_perf(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);

	(void)env;
	if (r == -EACCES || r == -EPERM)
		ep_check_info(ret, "hardware cycles cannot be tried (%s)", strerror(-r));
	else if (r < 0)
		ep_check_info(ret, "no hardware cycles here (%s): not needed, cpu-clock is used",
			      strerror(-r));
	else
		ep_check_info(ret, "hardware cycles are there: not needed, cpu-clock is used");
}

static bool kallsyms_has_addresses(const struct ep_check_env *env)
{
	char text[4096], *line, *rest = text;

	if (ep_check_read(env, "/proc/kallsyms", text, sizeof(text)) < 0)
		return false;
	while ((line = strsep(&rest, "\n")))
		if (line[strspn(line, "0")] != ' ' && line[0])
			return true;
	return false;
}

static void check_kallsyms(const struct ep_check_env *env, struct ep_check_result *ret)
{
	char level[16] = "?";

	(void)ep_check_read(env, "/proc/sys/kernel/kptr_restrict", level, sizeof(level));
	if (kallsyms_has_addresses(env))
		ep_check_ok(ret, "/proc/kallsyms has addresses: kernel functions get names");
	else
		ep_check_warn(
			ret,
			level[0] == '2' ? "sudo sysctl kernel.kptr_restrict=1"
					: "run as root or with CAP_SYSLOG",
			"/proc/kallsyms has no addresses (kernel.kptr_restrict is %s): kernel "
			"functions get no names",
			level);
}

/* Level confidentiality refuses bpf_probe_read_kernel and perf: linux/include/linux/security.h */
static void check_lockdown(const struct ep_check_env *env, struct ep_check_result *ret)
{
	char text[96];

	if (ep_check_read(env, "/sys/kernel/security/lockdown", text, sizeof(text)) < 0)
		ep_check_ok(ret, "no kernel lockdown to be seen");
	else if (strstr(text, "[confidentiality]"))
		ep_check_fail(ret, EP_EXIT_KERNEL, "boot with lockdown=integrity or without",
			      "kernel lockdown is at confidentiality: BPF may not read memory");
	else
		ep_check_ok(ret, "kernel lockdown allows BPF to read memory: %s", text);
}

const struct ep_check ep_kernel_checks[] = {
	{"kernel", check_version}, {"user memory", check_nofault},  {"architecture", check_machine},
	{"bpf maps", check_map},   {"bpf programs", check_program}, {"ring buffer", check_ring},
	{"btf", check_btf},	   {"bpf jit", check_jit},	    {"cpu-clock", check_clock},
	{"cycles", check_cycles},  {"kallsyms", check_kallsyms},    {"lockdown", check_lockdown},
};
const size_t ep_n_kernel_checks = EP_LEN(ep_kernel_checks);
