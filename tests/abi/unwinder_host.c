/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes an unwinder plugin through its life as the agent does, but for BPF, which needs privileges:
 * probes a program's file, runs the program, attaches, walks the frames of one thread by hand as
 * the plugin's state says, has them named, detaches.
 *
 *	unwinder_host DIR NAME PROGRAM [ARG...]
 *
 * PROGRAM is plugins/template/tests/programs/toy.c. Prints a line FUNCTION FILE LINE for each frame, leaf
 * first.
 */
#include "core/elf/file.h"
#include "core/plugin/attached.h"
#include "core/plugin/description.h"
#include "core/plugin/elf_file.h"
#include "core/plugin/host.h"
#include "core/plugin/process_target.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <uv.h>

#define MAX_FRAMES 100
#define TRIES	   200 /* of 10 ms each */

struct seen {
	struct ep_process_target process;
	struct ep_attached attached;
	size_t n_advice;
};

/* --- its life -------------------------------------------------------------------------------- */

static int add_name(void *arg, const struct ep_name *name)
{
	(void)arg;
	printf("%s %s %u%s%s\n", name->function ? name->function : "?",
	       name->file ? name->file : "?", name->line, EP_HAS(name, system_name) ? " " : "",
	       EP_HAS(name, system_name) ? name->system_name : "");
	return 0;
}

static pid_t start(char **argv)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)freopen("/dev/null", "w", stdout);
		execv(argv[0], argv);
		_exit(127);
	}
	return pid;
}

struct mapping_search {
	const char *path;
	uint64_t addr, first_addr;
};

static int find_program(void *arg, const struct ep_target_mapping *mapping)
{
	struct mapping_search *search = arg;

	if (strcmp(mapping->path, search->path) != 0)
		return 0;
	if (!search->first_addr)
		search->first_addr = mapping->start;
	search->addr = mapping->start;
	return 1;
}

/* Until the program has been loaded and says that it is ready. */
static int attach(struct seen *seen, const char *path, const struct ep_elf *elf)
{
	struct ep_elf_segment first = {0};
	int r = EP_NOT_YET;

	(void)ep_elf_load_segments(elf, &first, 1);
	for (int i = 0; i < TRIES && r != 0; i++) {
		struct mapping_search search = {.path = path};

		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
		ep_process_target_end_job(&seen->process);
		if (ep_process_target_ops.mappings(&seen->process, find_program, &search) < 0 ||
		    !search.addr)
			continue;
		seen->process.module_addr = search.addr;
		seen->process.bias = search.first_addr - first.va;
		seen->attached.target.bias = seen->process.bias;
		(void)ep_attached_attach(&seen->attached);
		r = seen->attached.result;
		if (r < 0 && r != -EFAULT)
			break;
	}
	return r;
}

/* fs base of the main thread, which is stopped from here on. */
static int stop(pid_t pid, uint64_t *ret_thread_pointer)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_ATTACH, pid, NULL, NULL) < 0 || waitpid(pid, NULL, 0) != pid ||
	    ptrace(PTRACE_GETREGS, pid, NULL, &regs) < 0)
		return -errno;
#if defined(__x86_64__)
	*ret_thread_pointer = regs.fs_base;
	return 0;
#else
	return -ENOTSUP;
#endif
}

/* What every_service_unwind.bpf.c does: its state begins with the path to the first frame. */
static int walk(struct seen *seen, uint64_t thread_pointer)
{
	struct ep_names names = {.add = add_name};
	struct {
		uint64_t previous, function;
		uint32_t line, entry;
	} frame;
	uint64_t at = thread_pointer;
	struct ep_tls tls;
	int n = 0;

	memcpy(&tls, seen->attached.holds.state, sizeof(tls));
	for (uint32_t i = 0; i < tls.steps && i < EP_TLS_MAX_STEPS; i++) {
		at += (uint64_t)(int64_t)tls.off[i];
		if (ep_process_target_ops.read(&seen->process, at, &at, sizeof(at)) < 0)
			return -EFAULT;
	}
	for (; at && n < MAX_FRAMES; at = frame.previous, n++) {
		struct ep_raw_frame raw = {.n_words = 2};
		int r;

		if (ep_process_target_ops.read(&seen->process, at, &frame, sizeof(frame)) < 0)
			return -EFAULT;
		raw.aux = frame.line << 8;
		raw.flags = frame.entry ? EP_FRAME_ENTRY : 0;
		raw.words[0] = frame.function;
		raw.words[1] = 0x1122334455667788ull;
		(void)ep_attached_symbolize(&seen->attached, &raw, &names);
		r = seen->attached.result;
		if (r != 0)
			return r < 0 ? r : -EPROTO;
	}
	return n;
}

static void take_advice(void *arg, const char *found, const char *fix)
{
	struct seen *seen = arg;

	seen->n_advice += found && *found && strlen(found) <= 160 && (!fix || strlen(fix) <= 160);
}

/* Who advises here has something to say. */
static int advise(const struct ep_unwinder_ops *ops, struct seen *seen)
{
	int r = EP_HAS(ops, advise) ? ops->advise(seen->attached.instance, take_advice, seen) : 0;

	if (r == 0 && EP_HAS(ops, advise) && seen->n_advice == 0)
		r = -EPROTO;
	return r;
}

/* Who describes code here says something of it. */
static int describe(const struct ep_unwinder_ops *ops, void *executable, const struct ep_file *file)
{
	ep_cleanup(ep_description_fini) struct ep_description description;
	int r;

	ep_description_init(&description);
	r = ep_description_ask(&description, ops, executable, file);
	ep_description_end(&description);
	if (r == 0 && EP_HAS(ops, describe) && (description.rows.len == 0 || !description.symbols))
		r = -EPROTO;
	return r;
}

static int live(const struct ep_unwinder_ops *ops, char **argv)
{
	struct seen seen = {0};
	void *executable = NULL;
	uint64_t thread_pointer = 0;
	struct ep_elf_file file;
	struct ep_elf *elf = NULL;
	int r = ep_elf_open(argv[0], &elf);

	if (r < 0)
		return r;
	ep_elf_file_init(&file, elf, "", argv[0]);
	r = ops->probe(ep_unwinder_host_get(), &file.file, &executable);
	if (r == 0)
		r = describe(ops, executable, &file.file);
	ep_elf_file_fini(&file);
	if (r == 0) {
		ep_process_target_init(&seen.process, start(argv));
		ep_attached_init(&seen.attached, ops, executable, &ep_process_target_ops,
				 &seen.process, seen.process.pid, 0);
		r = attach(&seen, argv[0], elf);
	}
	if (r == 0) {
		(void)ep_attached_refresh(&seen.attached);
		r = seen.attached.result;
	}
	if (r == 0)
		r = advise(ops, &seen);
	if (r == 0)
		r = stop(seen.process.pid, &thread_pointer);
	if (r == 0)
		r = walk(&seen, thread_pointer);
	if (r == 0 || (r > 0 && seen.attached.holds.ranges.len == 0))
		r = -EPROTO; /* it had nothing to say */
	if (seen.process.pid > 0)
		(void)kill(seen.process.pid, SIGKILL);
	ep_process_target_end_job(&seen.process);
	ep_attached_fini(&seen.attached);
	if (executable)
		ops->unload(executable);
	ep_elf_close(elf);
	return r;
}

int main(int argc, char **argv)
{
	char reason[EP_REASON_BYTES] = "";
	struct ep_module *module = NULL;
	int r;

	char path[PATH_MAX];

	if (argc < 4 || !realpath(argv[3], path)) {
		fprintf(stderr, "usage: unwinder_host DIR NAME PROGRAM [ARG...]\n");
		return 2;
	}
	argv[3] = path; /* as the kernel names it */
	ep_host_init(uv_default_loop(), "test");
	if (ep_module_load(argv[1], argv[2], &module, reason) < 0) {
		fprintf(stderr, "%s\n", reason);
		return 1;
	}
	r = live(ep_module_plugin(module)->unwinder, argv + 3);
	if (r == -EPERM || r == -ENOTSUP)
		printf("skip: %s\n", strerror(-r));
	else if (r < 0)
		fprintf(stderr, "%s: %s\n", argv[2], strerror(-r));
	ep_module_unload(module);
	return r == -EPERM || r == -ENOTSUP ? 77 : r < 0;
}
