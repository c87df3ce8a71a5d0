/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plugin attaches to a Java VM from its first instruction on, and what it tells BPF is true: each
 * thread's anchor, found by the thread variable, is in the heaps of code, and from there up interpreted
 * frames have a method and a bytecode index in it.
 *
 *	test_attach_live ENTER ROOT...		JVMs of this machine, and in the root file systems ROOT
 *	test_attach_live -- PROGRAM ARG...	this one
 *
 * The first looks at each with a class of its own, which sleeps.
 */
#include "core/base/util.h"
#include "core/elf/file.h"
#include "core/plugin/elf_file.h"
#include "core/plugin/process_target.h"
#include "plugins/hotspot/hotspot.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#ifdef __SANITIZE_ADDRESS__
#define SLOWER 8
#else
#define SLOWER 1
#endif
#define PROBE_BAR_MS  (60.0 * SLOWER) /* once per file, its whole symbol tables among it */
#define ATTACH_BAR_MS (10.0 * SLOWER)
#define MAX_BYTES     (1u << 20) /* read of one process */
#define WAIT_MS	      30000
#define MAX_FRAMES    64

/* class Sleep { public static void main(String[] a) throws Exception { Thread.sleep(Long.MAX_VALUE); } },
 * javac -g:none --release 8 */
static const uint8_t sleep_class[] = {
	0xca, 0xfe, 0xba, 0xbe, 0x00, 0x00, 0x00, 0x34, 0x00, 0x19, 0x0a, 0x00, 0x02, 0x00, 0x03, 0x07,
	0x00, 0x04, 0x0c, 0x00, 0x05, 0x00, 0x06, 0x01, 0x00, 0x10, 0x6a, 0x61, 0x76, 0x61, 0x2f, 0x6c,
	0x61, 0x6e, 0x67, 0x2f, 0x4f, 0x62, 0x6a, 0x65, 0x63, 0x74, 0x01, 0x00, 0x06, 0x3c, 0x69, 0x6e,
	0x69, 0x74, 0x3e, 0x01, 0x00, 0x03, 0x28, 0x29, 0x56, 0x07, 0x00, 0x08, 0x01, 0x00, 0x0e, 0x6a,
	0x61, 0x76, 0x61, 0x2f, 0x6c, 0x61, 0x6e, 0x67, 0x2f, 0x4c, 0x6f, 0x6e, 0x67, 0x05, 0x7f, 0xff,
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0a, 0x00, 0x0c, 0x00, 0x0d, 0x07, 0x00, 0x0e, 0x0c, 0x00,
	0x0f, 0x00, 0x10, 0x01, 0x00, 0x10, 0x6a, 0x61, 0x76, 0x61, 0x2f, 0x6c, 0x61, 0x6e, 0x67, 0x2f,
	0x54, 0x68, 0x72, 0x65, 0x61, 0x64, 0x01, 0x00, 0x05, 0x73, 0x6c, 0x65, 0x65, 0x70, 0x01, 0x00,
	0x04, 0x28, 0x4a, 0x29, 0x56, 0x07, 0x00, 0x12, 0x01, 0x00, 0x05, 0x53, 0x6c, 0x65, 0x65, 0x70,
	0x01, 0x00, 0x04, 0x43, 0x6f, 0x64, 0x65, 0x01, 0x00, 0x04, 0x6d, 0x61, 0x69, 0x6e, 0x01, 0x00,
	0x16, 0x28, 0x5b, 0x4c, 0x6a, 0x61, 0x76, 0x61, 0x2f, 0x6c, 0x61, 0x6e, 0x67, 0x2f, 0x53, 0x74,
	0x72, 0x69, 0x6e, 0x67, 0x3b, 0x29, 0x56, 0x01, 0x00, 0x0a, 0x45, 0x78, 0x63, 0x65, 0x70, 0x74,
	0x69, 0x6f, 0x6e, 0x73, 0x07, 0x00, 0x18, 0x01, 0x00, 0x13, 0x6a, 0x61, 0x76, 0x61, 0x2f, 0x6c,
	0x61, 0x6e, 0x67, 0x2f, 0x45, 0x78, 0x63, 0x65, 0x70, 0x74, 0x69, 0x6f, 0x6e, 0x00, 0x20, 0x00,
	0x11, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x05, 0x00, 0x06, 0x00,
	0x01, 0x00, 0x13, 0x00, 0x00, 0x00, 0x11, 0x00, 0x01, 0x00, 0x01, 0x00, 0x00, 0x00, 0x05, 0x2a,
	0xb7, 0x00, 0x01, 0xb1, 0x00, 0x00, 0x00, 0x00, 0x00, 0x09, 0x00, 0x14, 0x00, 0x15, 0x00, 0x02,
	0x00, 0x13, 0x00, 0x00, 0x00, 0x13, 0x00, 0x02, 0x00, 0x01, 0x00, 0x00, 0x00, 0x07, 0x14, 0x00,
	0x09, 0xb8, 0x00, 0x0b, 0xb1, 0x00, 0x00, 0x00, 0x00, 0x00, 0x16, 0x00, 0x00, 0x00, 0x04, 0x00,
	0x01, 0x00, 0x17, 0x00, 0x00,
};

struct vm {
	pid_t pid;
	uint64_t base; /* of libjvm.so */
	char library[64];
	struct ep_elf *elf;
	struct ep_process_target process;
	struct ep_target target;
	struct hotspot_state state;
	struct ep_range ranges[EP_MAX_RANGES];
	size_t n_ranges;
	uint32_t n_reads;
	uint64_t n_bytes;
};

static double cpu_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static bool expect(bool holds, const char *what)
{
	if (!holds)
		printf("    FAILED: %s\n", what);
	return holds;
}

/* --- the host's side -------------------------------------------------------------------------- */

static int vm_read(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	struct vm *vm = arg;

	vm->n_reads++;
	vm->n_bytes += bytes;
	return ep_process_target_read(vm->pid, addr, buf, bytes);
}

static int vm_mappings(void *arg, int (*visit)(void *arg, const struct ep_target_mapping *mapping),
		       void *visit_arg)
{
	return ep_process_target_mappings(&((struct vm *)arg)->process, visit, visit_arg);
}

static int vm_tls_variable(void *arg, uint64_t off, struct ep_tls *ret)
{
	struct vm *vm = arg;

	return ep_process_target_tls_variable(&vm->process, vm->elf, vm->base, vm->base, off, ret);
}

static int vm_tls_key(void *arg, uint32_t key, struct ep_tls *ret)
{
	return ep_process_target_tls_key(&((struct vm *)arg)->process, key, ret);
}

static int vm_set_state(void *arg, const void *state, size_t bytes)
{
	struct vm *vm = arg;

	if (bytes != sizeof(vm->state))
		return -E2BIG;
	memcpy(&vm->state, state, bytes);
	return 0;
}

static int vm_set_ranges(void *arg, const struct ep_range *ranges, size_t n)
{
	struct vm *vm = arg;

	if (n > EP_MAX_RANGES)
		return -E2BIG;
	memcpy(vm->ranges, ranges, n * sizeof(*ranges));
	vm->n_ranges = n;
	return 0;
}

static void vm_count(void *arg, uint32_t counter, uint64_t n)
{
	(void)arg;
	(void)counter;
	(void)n;
}

static const struct ep_target_ops vm_ops = {
	.read = vm_read,
	.mappings = vm_mappings,
	.tls_variable = vm_tls_variable,
	.tls_key = vm_tls_key,
	.set_state = vm_set_state,
	.set_ranges = vm_set_ranges,
	.count = vm_count,
};

EP_PRINTF(2, 3) static void take_log(enum ep_host_level level, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	printf("    log %d: ", (int)level);
	vprintf(fmt, args);
	printf("\n");
	va_end(args);
}

static const struct ep_unwinder_host *test_host(void)
{
	static const struct ep_host host = {.size = sizeof(host), .log = take_log};
	static struct ep_unwinder_host unwinder_host;

	unwinder_host = *ep_unwinder_host_get();
	unwinder_host.host = &host;
	return &unwinder_host;
}

/* --- a VM ------------------------------------------------------------------------------------- */

static pid_t start(const char *const *argv)
{
	pid_t pid = fork();

	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(null, 0);
		dup2(null, 1);
		dup2(null, 2);
		execvp(argv[0], (char *const *)argv);
		_exit(77);
	}
	return pid;
}

static bool find_library(struct vm *vm)
{
	char path[64], line[4352];
	bool found = false;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)vm->pid);
	maps = fopen(path, "re");
	while (maps && !found && fgets(line, sizeof(line), maps)) {
		unsigned long start, end, off;

		if (!strstr(line, "/libjvm.so") ||
		    sscanf(line, "%lx-%lx %*s %lx", &start, &end, &off) != 3 || off != 0)
			continue;
		vm->base = start;
		snprintf(vm->library, sizeof(vm->library), "/proc/%d/map_files/%lx-%lx",
			 (int)vm->pid, start, end);
		found = ep_elf_open(vm->library, &vm->elf) == 0;
	}
	if (maps)
		fclose(maps);
	return found;
}

static bool sleep_ms(unsigned int ms, unsigned int *waited)
{
	usleep(ms * 1000);
	*waited += ms;
	return *waited < WAIT_MS;
}

/* 0, 77 or -1. */
static int wait_for_library(struct vm *vm)
{
	unsigned int waited = 0;
	int status;

	while (!find_library(vm)) {
		if (waitpid(vm->pid, &status, WNOHANG) == vm->pid) {
			vm->pid = 0;
			return WIFEXITED(status) && WEXITSTATUS(status) == 77 ? 77 : -1;
		}
		if (!sleep_ms(1, &waited))
			return -1;
	}
	return 0;
}

/* From before it is initialised on. */
static int attach(struct vm *vm, void *executable, void **ret_instance, double *ret_ms)
{
	unsigned int waited = 0, n = 0;
	int r;

	do {
		double before = cpu_ms();

		vm->n_reads = 0;
		vm->n_bytes = 0;
		ep_process_target_end_job(&vm->process);
		r = hotspot_attach(executable, &vm->target, ret_instance);
		*ret_ms = cpu_ms() - before;
		n++;
	} while (r != 0 && r != -ENOTSUP && r != -ESRCH && sleep_ms(2, &waited));
	printf("    attached (%d) at attempt %u, %u reads, %" PRIu64 " bytes, %.2f ms\n", r, n,
	       vm->n_reads, vm->n_bytes, *ret_ms);
	return r;
}

/* --- is it true? ------------------------------------------------------------------------------ */

static bool in_heaps(const struct vm *vm, uint64_t addr)
{
	for (size_t i = 0; i < vm->n_ranges; i++) {
		if (addr >= vm->ranges[i].start && addr < vm->ranges[i].end)
			return true;
	}
	return false;
}

static uint64_t read_word(struct vm *vm, uint64_t addr)
{
	uint64_t value = 0;

	return vm_read(vm, addr, &value, sizeof(value)) == 0 ? value : 0;
}

static bool thread_regs(pid_t tid, struct user_regs_struct *ret)
{
	int status;
	bool done;

	if (ptrace(PTRACE_SEIZE, tid, 0, 0) < 0)
		return false;
	done = ptrace(PTRACE_INTERRUPT, tid, 0, 0) == 0 && waitpid(tid, &status, __WALL) == tid &&
	       ptrace(PTRACE_GETREGS, tid, 0, ret) == 0;
	(void)ptrace(PTRACE_DETACH, tid, 0, 0);
	return done;
}

/* The BPF side's ep_read_tls. */
static uint64_t read_tls(struct vm *vm, uint64_t thread_pointer)
{
	uint64_t value = thread_pointer;

	for (uint32_t i = 0; i < vm->state.thread.steps && value; i++)
		value = read_word(vm, value + (uint64_t)(int64_t)vm->state.thread.off[i]);
	return value;
}

/* A frame that calls: its method's bytecodes hold its bcp. */
static bool is_interpreted(struct vm *vm, uint64_t fp)
{
	const struct hotspot_state *state = &vm->state;
	uint64_t method = read_word(vm, fp + (uint64_t)(8 * (int64_t)state->method_slot));
	uint64_t bcp = read_word(vm, fp + (uint64_t)(8 * (int64_t)state->bcp_slot));
	uint64_t constant = method ? read_word(vm, method + state->method_const) : 0;
	uint16_t size = (uint16_t)(constant ? read_word(vm, constant + state->const_code_size) : 0);
	uint64_t code = constant + state->const_bytes;

	return constant && bcp >= code && bcp < code + size;
}

/* With -Xint all frames up to the call stub are the interpreter's: how many hold. */
static unsigned int count_interpreted(struct vm *vm, uint64_t fp)
{
	unsigned int n = 0;

	for (int i = 0; i < MAX_FRAMES; i++) {
		uint64_t pc = read_word(vm, fp + 8);

		fp = read_word(vm, fp);
		if (!in_heaps(vm, pc) || pc == vm->state.call_stub_return || !fp)
			break;
		if (!expect(is_interpreted(vm, fp), "a frame of the interpreter"))
			return 0;
		n++;
	}
	return n;
}

static void check_thread(struct vm *vm, pid_t tid, unsigned int *n_anchors, unsigned int *n_frames)
{
	const struct hotspot_state *state = &vm->state;
	struct user_regs_struct regs;
	uint64_t thread, anchor, sp, pc;

	if (!thread_regs(tid, &regs))
		return;
	thread = read_tls(vm, regs.fs_base);
	if (!thread)
		return;
	anchor = thread + state->thread_anchor;
	sp = read_word(vm, anchor + state->anchor_sp);
	/* Other threads' objects end before that: what is behind them is no stack. */
	if (sp < regs.rsp || sp - regs.rsp > (8u << 20))
		return;
	pc = read_word(vm, anchor + state->anchor_pc);
	if (!pc)
		pc = read_word(vm, sp - 8);
	if (!in_heaps(vm, pc))
		return;
	(*n_anchors)++;
	*n_frames += count_interpreted(vm, read_word(vm, anchor + state->anchor_fp));
}

static bool check_threads(struct vm *vm)
{
	unsigned int n_anchors = 0, n_frames = 0;
	char pattern[64];
	glob_t found = {0};

	snprintf(pattern, sizeof(pattern), "/proc/%d/task/*", (int)vm->pid);
	(void)glob(pattern, 0, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++)
		check_thread(vm, (pid_t)strtol(strrchr(found.gl_pathv[i], '/') + 1, NULL, 10),
			     &n_anchors, &n_frames);
	printf("    %zu threads, %u anchors, %u interpreted frames\n", found.gl_pathc, n_anchors,
	       n_frames);
	globfree(&found);
	return expect(n_anchors >= 2, "threads with anchors") &&
	       expect(n_frames >= 2, "interpreted frames");
}

/* Each block of a heap up to where nothing is committed: how many. */
static unsigned int count_blocks(struct vm *vm, const struct ep_range *heap)
{
	const struct hotspot_state *state = &vm->state;
	uint32_t shift = (uint32_t)(heap->data >> HOTSPOT_SEGMENT_SHIFT) & 0xfff;
	uint64_t at = heap->start;
	unsigned int n = 0;

	while (at < heap->end && n < 100000) {
		uint64_t length = read_word(vm, at) << state->block_length_shift >>
				  state->block_length_shift;
		uint8_t used = (uint8_t)read_word(vm, at + state->block_used_off);
		uint64_t blob = at + state->block_header_bytes;
		char name[64];

		if (!length)
			return n;
		if (used > 1)
			return 0;
		if (used && ep_unwinder_host_get()->target_string(
				    &vm->target, read_word(vm, blob + state->name.off), name,
				    sizeof(name)) < 0)
			return 0;
		at += length << shift;
		n++;
	}
	return n;
}

static bool check_blocks(struct vm *vm)
{
	unsigned int n = 0;

	for (size_t i = 0; i < vm->n_ranges; i++) {
		if (HOTSPOT_CODE(vm->ranges[i].data) == HOTSPOT_CODE_HEAP)
			n += count_blocks(vm, &vm->ranges[i]);
	}
	printf("    %zu ranges, %u blocks of code\n", vm->n_ranges, n);
	return expect(n >= 20, "blocks of code");
}

static bool check(struct vm *vm, double probe_ms, double attach_ms, uint64_t attach_bytes)
{
	const struct hotspot_state *state = &vm->state;
	bool right = true;

	right &= expect(state->call_stub_return && in_heaps(vm, state->call_stub_return),
			"the call stub's return address");
	right &= expect(state->thread.steps > 0, "the thread variable");
	right &= expect(!state->return_barrier || in_heaps(vm, state->return_barrier),
			"the return barrier");
	right &= expect(!state->return_barrier ||
				(state->thread_continuation && state->continuation_return_at),
			"continuations");
	/* Both by symbols of .symtab. */
	right &= expect(!state->return_barrier || state->safepoints_at, "the counter of safepoints");
	right &= expect(probe_ms < PROBE_BAR_MS, "probe's CPU time");
	right &= expect(attach_ms < ATTACH_BAR_MS, "attach's CPU time");
	right &= expect(attach_bytes < MAX_BYTES, "what attach read");
	right &= check_blocks(vm);
	right &= check_threads(vm);
	printf("    bcp slot %d, deopt %u/%u, barrier %d, continuation at %u, kinds %u\n",
	       state->bcp_slot, 64u - state->deopt.shift, state->deopt_relative,
	       state->return_barrier != 0, state->thread_continuation, state->has_kind);
	return right;
}

/* A file whose local symbols are stripped: C++ names are all that is not in .dynsym. */
static struct {
	const struct ep_file_ops *ops;
	void *arg;
} whole;

static int stripped_symbol(void *arg, const char *name, struct ep_symbol *ret)
{
	(void)arg;
	return strncmp(name, "_Z", 2) == 0 ? -ENODATA : whole.ops->symbol(whole.arg, name, ret);
}

static int stripped_symbols(void *arg, const char *prefix,
			    int (*visit)(void *arg, const char *name,
					 const struct ep_symbol *symbol),
			    void *visit_arg)
{
	(void)arg;
	(void)prefix;
	(void)visit;
	(void)visit_arg;
	return 0;
}

static int stripped_section(void *arg, const char *name, struct ep_symbol *ret)
{
	(void)arg;
	return whole.ops->section(whole.arg, name, ret);
}

static int stripped_read(void *arg, uint64_t va, void *buf, size_t bytes)
{
	(void)arg;
	return whole.ops->read(whole.arg, va, buf, bytes);
}

static bool check_stripped(struct vm *vm, const struct ep_file *file)
{
	static const struct ep_file_ops ops = {
		.symbol = stripped_symbol,
		.symbols = stripped_symbols,
		.section = stripped_section,
		.read = stripped_read,
	};
	struct ep_file stripped = *file;
	void *executable = NULL, *instance = NULL;
	double attach_ms = 0;
	bool right;

	whole.ops = file->ops;
	whole.arg = file->arg;
	stripped.ops = &ops;
	printf("    stripped:\n");
	right = expect(hotspot_probe(test_host(), &stripped, &executable) == 0, "probe") &&
		expect(attach(vm, executable, &instance, &attach_ms) == 0, "attach") &&
		expect(vm->state.thread.steps > 0, "the key of threads") && check_threads(vm);
	if (instance)
		hotspot_detach(instance);
	if (executable)
		hotspot_unload(executable);
	return right;
}

static bool run_plugin(struct vm *vm)
{
	struct ep_elf_file file = {0};
	void *executable = NULL, *instance = NULL;
	double before = cpu_ms(), probe_ms, attach_ms = 0;
	uint64_t attach_bytes = 0;
	unsigned int waited = 0;
	bool right = false;
	int r;

	ep_elf_file_init(&file, vm->elf, NULL, vm->library);
	r = hotspot_probe(test_host(), &file.file, &executable);
	probe_ms = cpu_ms() - before;
	if (expect(r == 0, "probe")) {
		const struct hotspot_executable *exe = executable;

		printf("    probed in %.2f ms, %zu places of names, %zu pointers\n", probe_ms,
		       hotspot_tables_places(exe->tables), exe->n_pointers);
		right = expect(attach(vm, executable, &instance, &attach_ms) == 0, "attach");
		attach_bytes = vm->n_bytes;
	}
	if (right) {
		(void)sleep_ms(1500, &waited); /* until its threads wait */
		ep_process_target_end_job(&vm->process);
		r = hotspot_refresh(instance);
		right = expect(r == 0, "refresh") && check(vm, probe_ms, attach_ms, attach_bytes) &&
			check_stripped(vm, &file.file);
		hotspot_detach(instance);
	}
	if (executable)
		hotspot_unload(executable);
	ep_elf_file_fini(&file);
	return right;
}

/* 0, 77, 1. */
static int run(const char *const *argv, const char *name)
{
	ep_autofree struct vm *vm = calloc(1, sizeof(*vm));
	int r;

	if (!vm)
		return 1;
	vm->pid = start(argv);
	ep_process_target_init(&vm->process, vm->pid);
	vm->target = (struct ep_target){.ops = &vm_ops, .arg = vm, .pid = vm->pid};
	printf("%s\n", name);
	r = wait_for_library(vm);
	if (r == 0) {
		vm->target.bias = vm->base;
		r = run_plugin(vm) ? 0 : 1;
	} else if (r != 77) {
		printf("    FAILED: no libjvm.so\n");
		r = 1;
	}
	if (vm->pid) {
		kill(vm->pid, SIGKILL);
		waitpid(vm->pid, NULL, 0);
	}
	ep_process_target_end_job(&vm->process);
	ep_elf_close(vm->elf);
	if (r == 77)
		printf("    SKIPPED: cannot be run here\n");
	return r;
}

/* --- which ------------------------------------------------------------------------------------ */

struct outcome {
	unsigned int n_right, n_wrong;
};

static void note(struct outcome *outcome, int r)
{
	outcome->n_right += r == 0;
	outcome->n_wrong += r != 0 && r != 77;
}

/* In a root file system: 8 has its java in jre/bin as well. */
static void run_root(struct outcome *outcome, const char *enter, const char *root, const char *classes)
{
	char pattern[1024];
	glob_t found = {0};

	snprintf(pattern, sizeof(pattern), "%s/usr/lib/jvm/java-[0-9]*-openjdk-*/bin/java", root);
	(void)glob(pattern, 0, NULL, &found);
	snprintf(pattern, sizeof(pattern), "%s/usr/lib/jvm/java-8-openjdk-*/jre/bin/java", root);
	(void)glob(pattern, found.gl_pathc ? GLOB_APPEND : 0, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *java = found.gl_pathv[i] + strlen(root);
		const char *argv[] = {"python3", enter, "chroot", root, classes, java, "-Xint",
				      "-cp", classes, "Sleep", NULL};

		if (strstr(java, "java-1.") || strstr(java, "java-8-openjdk-amd64/bin"))
			continue; /* links to one of the others */
		note(outcome, run(argv, found.gl_pathv[i]));
	}
	globfree(&found);
}

static void run_host(struct outcome *outcome, const char *classes)
{
	glob_t found = {0};

	(void)glob("/usr/lib/jvm/*/bin/java", 0, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *argv[] = {found.gl_pathv[i], "-Xint", "-cp", classes, "Sleep", NULL};

		if (!strstr(found.gl_pathv[i], "java-1."))
			note(outcome, run(argv, found.gl_pathv[i]));
	}
	globfree(&found);
}

static void run_all(struct outcome *outcome, int argc, char **argv)
{
	char classes[] = "/tmp/hotspot-attach-XXXXXX", path[sizeof(classes) + 16];
	FILE *file;

	if (!mkdtemp(classes))
		return;
	snprintf(path, sizeof(path), "%s/Sleep.class", classes);
	file = fopen(path, "we");
	if (file && fwrite(sleep_class, sizeof(sleep_class), 1, file) == 1 && fclose(file) == 0) {
		run_host(outcome, classes);
		for (int i = 2; i < argc; i++)
			run_root(outcome, argv[1], argv[i], classes);
	}
	unlink(path);
	rmdir(classes);
}

int main(int argc, char **argv)
{
	struct outcome outcome = {0};

	setlinebuf(stdout);
	if (argc > 2 && strcmp(argv[1], "--") == 0)
		note(&outcome, run((const char *const *)argv + 2, argv[2]));
	else
		run_all(&outcome, argc, argv);
	printf("%u right, %u wrong\n", outcome.n_right, outcome.n_wrong);
	if (outcome.n_wrong)
		return 1;
	if (!outcome.n_right)
		printf("SKIPPED: no Java runtime\n");
	return outcome.n_right ? 0 : 77;
}
