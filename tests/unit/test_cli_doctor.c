/* SPDX-License-Identifier: Apache-2.0 */
/* Machines as directories with a few files of /proc and /sys; what is tried is tried for real. */
#include "core/cli/parts/check.h"
#include "core/cli/parts/doctor.h"
#include "core/cli/parts/explain.h"
#include "tests/kit/test.h"

#include <sys/wait.h>
#include <unistd.h>

#define ALL_CAPS "1ffffffffff"

struct machine {
	const char *label;
	const char *release, *build, *caps, *paranoid, *pid_namespace, *mounts, *lockdown;
	const char *expect[12]; /* parts of the text that must be there */
	bool kernel;	       /* exit status 4 whatever the real kernel says */
};

static const struct machine machines[] = {
	{
		.label = "old kernel",
		.release = "5.4.0-200-generic",
		.caps = ALL_CAPS,
		.expect = {"fail  kernel                  Linux 5.4.0-200-generic is too old\n",
			   "fix: boot Linux 5.10 or newer\n", "ok    CAP_BPF "},
		.kernel = true,
	},
	{
		.label = "no capabilities, Debian's level",
		.release = "6.1.0-50-cloud-amd64",
		.build = "#1 SMP Debian 6.1.176-1 (2026-01-01)",
		.caps = "0",
		.paranoid = "3",
		.expect =
			{"upstream's 6.1.176\n", "ok    user memory",
			 "ok    who may run it          it may do what",
			 "fail  CAP_BPF                 missing, needed for loading BPF", "chmod 750",
			 "fail  CAP_PERFMON ", "fail  CAP_SYS_PTRACE ", "warn  CAP_SYSLOG ",
			 "fail  CAP_SYS_ADMIN           missing: with kernel.perf_event_paranoid 3 "
			 "CAP_PERFMON is not enough"},
	},
	{
		.label = "the capabilities that are enough at level 2",
		.release = "6.12.0",
		.caps = "1c400080004", /* 2, 19, 34, 38, 39, 40 */
		.paranoid = "2",
		.expect = {"ok    CAP_BPF                 there",
			   "ok    CAP_PERFMON             there",
			   "ok    CAP_SYSLOG              there",
			   "ok    CAP_CHECKPOINT_RESTORE  there",
			   "ok    CAP_SYS_ADMIN           missing, and not needed"},
	},
	{
		.label = "kernel with the user memory bug",
		.release = "6.1.0-9-amd64",
		.build = "#1 SMP Debian 6.1.27-1",
		.caps = ALL_CAPS,
		.expect = {"warn  user memory             Linux 6.1.27 reads user memory",
			   "fix: boot 6.1.36, 6.3.10, 6.4"},
	},
	{
		.label = "container",
		.release = "6.1.99",
		.caps = ALL_CAPS,
		.pid_namespace = "pid:[4026532281]",
		.mounts = "22 27 0:21 / /proc rw - proc proc rw,hidepid=invisible\n"
			  "31 23 0:28 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
		.expect = {"fail  pid namespace           this is a container's",
			   "fix: start the container with the host's: --pid=host",
			   "ok    hidepid                 /proc hides processes of others, but not",
			   "info  cgroup                  cgroup v2:"},
	},
	{
		.label = "hidepid without ptrace",
		.release = "6.1.99",
		.caps = "0",
		.pid_namespace = "pid:[4026531836]",
		.mounts = "22 27 0:21 / /proc rw - proc proc rw,hidepid=2\n",
		.expect = {"ok    pid namespace ",
			   "fail  hidepid                 /proc is mounted with"},
	},
	{
		.label = "lockdown",
		.release = "6.8.0",
		.caps = ALL_CAPS,
		.lockdown = "none integrity [confidentiality]",
		.expect = {"fail  lockdown                kernel lockdown is at confidentiality"},
		.kernel = true,
	},
};

static void write_file(const char *root, const char *path, const char *format, const char *text)
{
	char content[1024];

	if (!text)
		return;
	snprintf(content, sizeof(content), format, text);
	ep_test_write(ep_test_path(root, "%s", path), content);
}

/* Its root directory. */
static const char *build_machine(const struct machine *machine)
{
	const char *root = ep_test_directory();

	write_file(root, "proc/sys/kernel/osrelease", "%s\n", machine->release);
	write_file(root, "proc/sys/kernel/version", "%s\n", machine->build);
	write_file(root, "proc/self/status", "Name:\tx\nCapEff:\t%s\nCapBnd:\t0\n", machine->caps);
	write_file(root, "proc/sys/kernel/perf_event_paranoid", "%s\n", machine->paranoid);
	write_file(root, "proc/self/mountinfo", "%s", machine->mounts);
	write_file(root, "sys/kernel/security/lockdown", "%s\n", machine->lockdown);
	write_file(root, "proc/self/ns/none", "%s", "");
	if (machine->pid_namespace)
		assert_int_equal(symlink(machine->pid_namespace, ep_test_path(root, "proc/self/ns/pid")), 0);
	return root;
}

static const char *run_doctor(const struct ep_doctor_options *options, enum ep_exit *ret_status)
{
	FILE *out = ep_test_print();

	*ret_status = ep_doctor_run(options, out);
	return ep_test_printed(out);
}

static void check_machine(const struct machine *machine)
{
	struct ep_doctor_options options = {.root = build_machine(machine)};
	enum ep_exit status;
	const char *text = run_doctor(&options, &status);

	for (size_t i = 0; i < EP_LEN(machine->expect) && machine->expect[i]; i++) {
		if (!strstr(text, machine->expect[i]))
			print_error("%s: not found: %s\nin\n%s\n", machine->label,
				    machine->expect[i], text);
		assert_non_null(strstr(text, machine->expect[i]));
	}
	if (machine->kernel)
		assert_int_equal(status, EP_EXIT_KERNEL);
	assert_true((status == EP_EXIT_OK) == (strstr(text, "\nprofiling can work") != NULL));
	assert_true((status == EP_EXIT_OK) == (strstr(text, "\nfail") == NULL));
}

EP_TEST(each_machine_gets_its_verdict)
{
	for (size_t i = 0; i < EP_LEN(machines); i++)
		check_machine(&machines[i]);
}

/* Without BTF in the directory the status of a machine can only be 4. */
EP_TEST(a_kernel_without_btf_cannot)
{
	struct ep_doctor_options options = {.root = build_machine(&machines[2]), .json = true};
	enum ep_exit status;

	(void)run_doctor(&options, &status);
	assert_int_equal(status, EP_EXIT_KERNEL);
}

EP_TEST(json_is_read_by_another_parser)
{
	static const char script[] =
		"import json, sys\n"
		"rows = json.load(sys.stdin)\n"
		"assert len(rows) > 20\n"
		"for row in rows:\n"
		"    assert list(row) == [\"check\", \"status\", \"detail\", \"fix\"], row\n"
		"    assert row[\"status\"] in (\"ok\", \"info\", \"warn\", \"fail\"), row\n"
		"    assert row[\"detail\"] and (row[\"fix\"] or row[\"status\"] in (\"ok\", "
		"\"info\")), row\n"
		"assert rows[-1][\"detail\"].startswith(\"/no/\\\"such\\\\?/dir\"), rows[-1]\n";
	struct ep_doctor_options options = {.json = true, .plugin_dir = "/no/\"such\\\n/dir"};
	char command[1024];
	FILE *reader;
	int status;

	snprintf(command, sizeof(command), "python3 -c '%s'", script);
	reader = popen(command, "w");
	assert_non_null(reader);
	ep_doctor_run(&options, reader);
	status = pclose(reader);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		skip();
	assert_int_equal(status, 0);
}

static void advise(void *arg, const struct ep_doctor_rows *rows)
{
	struct ep_check_result result = {.status = EP_CHECK_WARN};

	snprintf(result.detail, sizeof(result.detail), "pid 7: an option is off");
	snprintf(result.fix, sizeof(result.fix), "set \"it\"");
	rows->say(rows, arg, &result);
	rows->say(rows, arg, &(struct ep_check_result){.detail = "pid 8: nothing to advise"});
}

/* It comes last, counts as other rows do, and fails nothing. */
EP_TEST(advice_is_printed_behind_the_checks)
{
	struct ep_doctor_options options = {.advise = advise, .advise_arg = (void *)"a_language"};
	enum ep_exit status;
	const char *text = run_doctor(&options, &status), *json;

	assert_non_null(strstr(text, "warn  a_language              pid 7: an option is off\n"
				     "                              fix: set \"it\"\n"
				     "ok    a_language              pid 8: nothing to advise\n\n"
				     "profiling can"));
	assert_null(strstr(text, " 0 warnings"));
	options.json = true;
	json = run_doctor(&options, &status);
	assert_non_null(strstr(json, "{\"check\": \"a_language\", \"status\": \"warn\", \"detail\": "
				     "\"pid 7: an option is off\", \"fix\": \"set \\\"it\\\"\"},\n"));
}

EP_TEST(failures_are_explained_with_a_fix)
{
	char text[512];

	assert_int_equal(ep_explain(EP_ATTEMPT_MAP, -EPERM, text, sizeof(text)),
			 EP_EXIT_PERMISSION);
	assert_non_null(strstr(text, "a BPF map cannot be created: "));
	assert_non_null(strstr(text, "; "));
	assert_int_equal(ep_explain(EP_ATTEMPT_PERF, -EACCES, text, sizeof(text)),
			 EP_EXIT_PERMISSION);
	assert_int_equal(ep_explain(EP_ATTEMPT_PROGRAM, -ENOSYS, text, sizeof(text)),
			 EP_EXIT_KERNEL);
	assert_int_equal(ep_explain(EP_ATTEMPT_BTF, -ENOENT, text, sizeof(text)),
			 EP_EXIT_KERNEL);
	assert_string_equal(text, "the kernel's type information cannot be read: "
				  "/sys/kernel/btf/vmlinux is absent or incomplete (No such file "
				  "or directory); boot a kernel with CONFIG_DEBUG_INFO_BTF");
	assert_int_equal(ep_explain(EP_ATTEMPT_PERF, -EMFILE, text, sizeof(text)),
			 EP_EXIT_FAILED);
	assert_non_null(strstr(text, "ulimit -n"));
	assert_int_equal(ep_explain(EP_ATTEMPT_ATTACH, -EBUSY, text, sizeof(text)),
			 EP_EXIT_FAILED);
	assert_non_null(strstr(text, "ebpf-profiler doctor"));
}

EP_TEST(versions_are_read)
{
	struct ep_kernel_version v;

	assert_true(ep_kernel_version_parse("5.10.0-32-cloud-amd64", &v));
	assert_true(v.major == 5 && v.minor == 10 && v.patch == 0);
	assert_true(ep_kernel_version_parse("Debian 6.1.176-1 (2026)", &v));
	assert_true(v.major == 6 && v.minor == 1 && v.patch == 176);
	assert_true(ep_kernel_version_parse("7.2", &v));
	assert_true(v.major == 7 && v.minor == 2 && v.patch == 0);
	assert_false(ep_kernel_version_parse("", &v));
	assert_false(ep_kernel_version_parse("rolling 7", &v));
}
