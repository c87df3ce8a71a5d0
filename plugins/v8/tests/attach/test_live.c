/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plugin attaches to each Node of this machine from its first instruction on, and what it tells BPF is
 * true of the stack of known.js, which waits: functions, bytecode offsets, the interpreter's return address,
 * the isolate. Debian's libraries are probed only.
 *
 *	test_live known.js [NODE...]
 */
#include "core/base/util.h"
#include "core/elf/file.h"
#include "core/plugin/elf_file.h"
#include "plugins/v8/v8.h"
#include "tests/kit/host.h"
#include "tests/kit/process.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__
#define SLOWER 10
#else
#define SLOWER 1
#endif
#define SKIP	       77
#define WAIT_MS	       (10000 * SLOWER)
#define ATTACH_BAR_MS  (20.0 * SLOWER) /* of CPU time, the last one: one that succeeds */
#define MAX_READ_BYTES (18u << 20)
#define STACK_BYTES    (64u << 10)
#define CALLER_LINE    9
#define RUNTIMES       "/var/tmp/ebpf-profiler-runtimes"

static const char *const node_patterns[] = {RUNTIMES "/npm-node*/bin/node", "/usr/bin/node"};
/* With EBPF_PROFILER_TEST_FEW in the environment. */
static const char *const few_patterns[] = {
	RUNTIMES "/npm-node8/bin/node",
	RUNTIMES "/npm-node16/bin/node",
	RUNTIMES "/npm-node26/bin/node",
};
static const char *const library_patterns[] = {
	RUNTIMES "/*/usr/lib/x86_64-linux-gnu/libnode.so.*",
	"/usr/lib/x86_64-linux-gnu/libnode.so.*",
};

struct node {
	pid_t pid;
	int out; /* what it prints */
	struct ep_elf *elf;
	struct v8_executable *exe;
	struct v8_state state;
	struct fake_host host;
};

/* --- a node ----------------------------------------------------------------------------------- */

static bool start(struct node *node, const char *path, const char *script)
{
	int pipes[2];

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return false;
	node->pid = process_start((const char *const[]){path, script, NULL}, pipes[1]);
	close(pipes[1]);
	node->out = pipes[0];
	fake_host_be_live(&node->host, node->pid);
	return node->pid > 0;
}

static void stop(struct node *node)
{
	process_stop(node->pid);
	fake_host_end_job(&node->host);
	ep_elf_close(node->elf);
	close(node->out);
}

/* Of a PIE: where its first page is. */
static int find_base(void *arg, const struct ep_target_mapping *mapping)
{
	struct node *node = arg;

	if (!mapping->is_file || mapping->file_off != 0 || !strstr(mapping->path, "node"))
		return 0;
	node->host.target.bias = mapping->start;
	return 1;
}

static bool find_bias(struct node *node, const char *path)
{
	Elf64_Ehdr header = {0};
	unsigned int waited = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool read = fd >= 0 && pread(fd, &header, sizeof(header), 0) == (ssize_t)sizeof(header);

	if (fd >= 0)
		close(fd);
	while (read && header.e_type == ET_DYN && !node->host.target.bias && waited++ < WAIT_MS) {
		fake_host_end_job(&node->host);
		(void)node->host.ops.mappings(&node->host, find_base, node);
		usleep(1000);
	}
	node->host.module_addr = node->host.target.bias ? node->host.target.bias : 0x400000;
	return read;
}

static int attach(struct node *node, void **ret_instance)
{
	unsigned int waited = 0, n = 0;
	double ms;
	int r;

	do {
		double before = cpu_ms();

		node->host.memory.n_reads = node->host.memory.n_bytes = 0;
		fake_host_end_job(&node->host);
		r = v8_attach(node->exe, &node->host.target, ret_instance);
		ms = cpu_ms() - before;
		n++;
		usleep(2000);
	} while (r != 0 && r != -ENOTSUP && r != -ESRCH && (waited += 2) < WAIT_MS);
	printf("    attached (%d) at attempt %u, %" PRIu32 " reads, %" PRIu64 " bytes, %.2f ms\n", r, n,
	       node->host.memory.n_reads, node->host.memory.n_bytes, ms);
	if (!expect(r == 0, "attach"))
		return -1;
	(void)expect(ms < ATTACH_BAR_MS && node->host.memory.n_bytes < MAX_READ_BYTES, "what attach costs");
	return ms < ATTACH_BAR_MS && node->host.memory.n_bytes < MAX_READ_BYTES ? 0 : -1;
}

/* What known.js prints before it waits: V8's version. */
static bool check_version(struct node *node)
{
	const struct v8_version *found = &node->exe->layout.version;
	struct pollfd out = {.fd = node->out, .events = POLLIN};
	struct v8_version version = {0};
	char line[64] = "";

	if (poll(&out, 1, WAIT_MS) != 1 || read(node->out, line, sizeof(line) - 1) <= 0)
		return expect(false, "the version that it prints");
	line[strcspn(line, "\n")] = '\0';
	printf("    V8 %s\n", line);
	return expect(v8_version_parse(line, &version) && version.major == found->major &&
			      version.minor == found->minor && version.build == found->build &&
			      version.patch == found->patch,
		      "V8's version");
}

/* --- its stack -------------------------------------------------------------------------------- */

struct stack {
	struct user_regs_struct regs;
	uint64_t words[STACK_BYTES / 8];
};

static bool take_stack(struct node *node, struct stack *stack)
{
	bool done = process_registers(node->pid, &stack->regs);

	memset(stack->words, 0, sizeof(stack->words));
	/* It is at least as deep. */
	for (size_t i = 0; done && i < EP_LEN(stack->words); i += 64)
		(void)node->host.ops.read(&node->host, stack->regs.rsp + 8 * i, stack->words + i, 512);
	return done;
}

static int type_of(struct node *node, uint64_t object)
{
	const struct v8_layout *layout = &node->exe->layout;
	uint64_t map = v8_is_object(object) ? fake_host_word(&node->host, object - V8_TAG) : 0;
	uint64_t word = v8_is_object(map) ? fake_host_word(&node->host, map - V8_TAG + (uint64_t)layout->map_type) : 0;

	if (!word)
		return -1;
	return layout->map_type_bytes == 1 ? (uint8_t)word : (uint16_t)word;
}

struct named {
	char function[64], file[256];
	uint32_t line, n;
};

static int take_name(void *arg, const struct ep_name *name)
{
	struct named *named = arg;

	if (named->n++)
		return 0;
	snprintf(named->function, sizeof(named->function), "%s", name->function ? name->function : "");
	snprintf(named->file, sizeof(named->file), "%s", name->file ? name->file : "");
	named->line = name->line;
	return 0;
}

/* As the BPF program would push it: a frame of the interpreter whose rbp is fp. */
static bool name_frame(struct node *node, void *instance, uint64_t fp, struct named *named)
{
	const struct v8_state *state = &node->state;
	uint64_t function = fake_host_word(&node->host, fp + (uint64_t)(8 * (int64_t)state->function_slot));
	uint64_t array = fake_host_word(&node->host, fp + (uint64_t)(8 * (int64_t)state->array_slot));
	uint64_t off = fake_host_word(&node->host, fp + (uint64_t)(8 * (int64_t)state->offset_slot));
	uint64_t sfi;
	__u64 words[V8_COOKIE_WORDS], masks[V8_COOKIE_WORDS];
	struct ep_raw_frame frame = {.n_words = 3, .flags = V8_FRAME_INTERPRETED << V8_FRAME_SHIFT};
	struct ep_names names = {.add = take_name, .arg = named};

	*named = (struct named){0};
	if (type_of(node, array) != node->exe->layout.type_bytecode_array || !v8_is_smi(off))
		return false;
	sfi = fake_host_word(&node->host, function - V8_TAG + state->js_function_shared) - V8_TAG;
	if (node->host.ops.read(&node->host, sfi + state->cookie_at, words, sizeof(words)) < 0)
		return false;
	memcpy(masks, state->cookie_masks, sizeof(masks));
	frame.words[0] = sfi;
	frame.words[1] = v8_cookie(words, masks, (state->flags & V8_STATE_UNIQUE_ID) != 0);
	frame.words[2] = array - V8_TAG;
	frame.aux = (uint32_t)v8_smi(off) - (state->bytecode_header - 1u);
	return v8_symbolize(instance, &frame, &names) == 0;
}

static bool is_iet_return(const struct node *node, uint64_t addr)
{
	const struct v8_state *state = &node->state;

	if (state->iet_return)
		return addr == state->iet_return;
	for (size_t i = 0; i < node->host.n_ranges; i++) {
		const struct ep_range *range = &node->host.ranges[i];

		if (!(range->flags & EP_RANGE_ANONYMOUS) && addr == range->start + state->iet_return_off)
			return true;
	}
	return false;
}

/* The frame of the interpreter that has the name, from rsp on; 0: none. */
static uint64_t find_frame(struct node *node, void *instance, const struct stack *stack,
			   const char *function, struct named *ret)
{
	for (size_t i = 0; i < EP_LEN(stack->words); i++) {
		uint64_t addr = stack->regs.rsp + 8 * i;
		uint64_t fp = addr - (uint64_t)(8 * (int64_t)node->state.function_slot);

		if (v8_is_object(stack->words[i]) &&
		    type_of(node, stack->words[i]) >= node->exe->layout.type_function &&
		    type_of(node, stack->words[i]) <= node->exe->layout.type_function + 17 &&
		    name_frame(node, instance, fp, ret) && strcmp(ret->function, function) == 0)
			return fp;
	}
	return 0;
}

static bool check_frames(struct node *node, void *instance, const struct stack *stack)
{
	struct named sleeper, caller;
	uint64_t fp = find_frame(node, instance, stack, "knownSleeper", &sleeper);

	if (!expect(fp != 0, "a frame of knownSleeper"))
		return false;
	if (!expect(name_frame(node, instance, fake_host_word(&node->host, fp), &caller), "its caller's frame"))
		return false;
	printf("    %s, called by %s at %s:%u\n", sleeper.function, caller.function, caller.file,
	       caller.line);
	return expect(strcmp(caller.function, "knownCaller") == 0 && caller.line == CALLER_LINE &&
			      strstr(caller.file, "known.js"),
		      "knownCaller and its line") &&
	       expect(is_iet_return(node, fake_host_word(&node->host, fp + 8)), "the interpreter's return address");
}

/* It is in C++, called by a builtin. */
static bool check_isolate(struct node *node, const struct stack *stack)
{
	const struct v8_state *state = &node->state;
	uint64_t isolate = fake_host_read_tls(&node->host, &state->isolate_tls, stack->regs.fs_base);
	uint64_t fp = 0, vm_state = 0;
	bool right = expect(isolate != 0, "the isolate of its thread");

	if (!right || !node->exe->builtins)
		return right;
	fp = fake_host_word(&node->host, isolate + state->c_entry_fp);
	vm_state = fake_host_word(&node->host, isolate + state->vm_state) & UINT16_MAX;
	printf("    root +%u, exit frame %llu above rsp, VM state %" PRIu64 "\n", state->root_off,
	       (unsigned long long)(fp - stack->regs.rsp), vm_state);
	return expect(state->c_entry_fp && fp > stack->regs.rsp && fp - stack->regs.rsp < STACK_BYTES,
		      "the exit frame") &&
	       expect(state->vm_state && vm_state != state->gc_state && vm_state < 10, "V8's state");
}

static bool check_state(const struct node *node)
{
	const struct v8_state *state = &node->state;
	bool right = expect(state->types[1] == V8_TYPE_ENTRY && state->types[3] == V8_TYPE_EXIT,
			    "types of frames");

	right &= expect(node->host.n_ranges >= 1 &&
				node->host.ranges[node->host.n_ranges - 1].flags == EP_RANGE_ANONYMOUS,
			"the range of all code");
	if (!node->exe->builtins)
		return expect(state->iet_return != 0, "the interpreter in the heap") && right;
	right &= expect(state->iet_begin < state->iet_push && state->iet_push < state->iet_return_off &&
				state->iet_return_off < state->iet_end,
			"the interpreter's trampoline");
	right &= expect(state->iet_behind != 0, "the code behind the call of handlers");
	right &= expect(state->enter_offs[0] && state->enter_offs[1], "what goes on in the interpreter");
	right &= expect(node->host.n_ranges >= 2, "a range of builtins");
	printf("    %zu ranges, %s entries at %x to %x\n", node->host.n_ranges,
	       state->flags & V8_STATE_UNIQUE_ID ? "unique ids, deoptimization" : "deoptimization",
	       state->deopt_begin, state->deopt_end);
	return right;
}

static void print_advice(void *arg, const char *found, const char *fix)
{
	(*(uint32_t *)arg)++;
	printf("    advice: %s: %s\n", found, fix);
}

static bool check_advice(void *instance)
{
	uint32_t n = 0;
	bool right = expect(v8_advise(instance, print_advice, &n) == 0, "advice");

	/* Node's inspector makes V8 keep all positions. */
	return expect(n == 0, "that nothing is advised") && right;
}

/* 8 and 10: one in the heap has its name from the file. */
static bool check_heap_builtins(struct node *node, void *instance)
{
	struct ep_raw_frame frame = {.n_words = 1, .flags = V8_FRAME_CODE << V8_FRAME_SHIFT,
				     .words = {node->state.iet_return}};
	struct named named = {0};
	struct ep_names names = {.add = take_name, .arg = &named};

	if (node->exe->builtins)
		return true;
	return expect(v8_symbolize(instance, &frame, &names) == 0 &&
			      strcmp(named.function, "Builtins_InterpreterEntryTrampoline") == 0,
		      "the interpreter's name");
}

static bool check_process(struct node *node)
{
	ep_autofree struct stack *stack = calloc(1, sizeof(*stack));
	void *instance = NULL;
	bool right;

	if (!stack || attach(node, &instance) < 0)
		return false;
	right = check_version(node);
	usleep(100000); /* until it waits */
	fake_host_end_job(&node->host);
	right &= expect(v8_refresh(instance) == 0, "refresh");
	right &= expect(take_stack(node, stack), "its registers");
	right = check_frames(node, instance, stack) && right;
	right &= check_state(node);
	right &= check_isolate(node, stack);
	right &= check_heap_builtins(node, instance);
	right &= check_advice(instance);
	v8_detach(instance);
	return right;
}

/* Those of bytecodes, and nothing else, are where the state says that they are. */
static bool check_handlers(const struct v8_executable *exe)
{
	struct v8_state state;
	uint32_t n_wrong = 0;

	v8_state_fill(exe, &state);
	for (size_t i = 0; exe->builtins && i < v8_builtins_count(exe->builtins); i++) {
		const struct v8_builtin *builtin = v8_builtins_get(exe->builtins, i);
		uint64_t off = builtin->va - v8_builtins_va(exe->builtins);
		bool is_within = off >= state.handlers_begin && off < state.handlers_end;

		n_wrong += is_within != ((builtin->flags & V8_BUILTIN_HANDLER) != 0);
	}
	return expect(n_wrong == 0, "where the handlers are") &&
	       expect(!exe->builtins || state.handlers_end, "handlers");
}

/* --- files ------------------------------------------------------------------------------------ */

static bool probe(struct fake_host *host, struct ep_elf *elf, const char *path, struct v8_executable **ret)
{
	struct ep_elf_file file = {0};
	double before = cpu_ms();
	void *executable = NULL;
	int r;

	ep_elf_file_init(&file, elf, NULL, path);
	r = v8_probe(fake_host_services(host), &file.file, &executable);
	ep_elf_file_fini(&file);
	if (!expect(r == 0, "probe"))
		return false;
	*ret = executable;
	printf("    probed in %.1f ms: V8 %u.%u%s, %zu builtins, flags %d%d, isolate by %s\n",
	       cpu_ms() - before, (*ret)->layout.version.major, (*ret)->layout.version.minor,
	       (*ret)->has_version ? "" : " perhaps",
	       (*ret)->builtins ? v8_builtins_count((*ret)->builtins) : 0, (*ret)->lines_flag_va != 0,
	       (*ret)->frames_flag_va != 0,
	       (*ret)->isolate_key_va ? "key" : (*ret)->isolate.kind ? "variable" : "nothing");
	return check_handlers(*ret);
}

static bool check_library(const char *path)
{
	static struct fake_host host;
	struct v8_executable *exe = NULL;
	struct ep_elf *elf = NULL;
	bool right;

	fake_host_init(&host, NULL, 0);
	host.prints = true;
	printf("%s\n", path);
	if (!expect(ep_elf_open(path, &elf) == 0, "the file"))
		return false;
	right = probe(&host, elf, path, &exe);
	if (right) {
		right = expect(exe->has_version, "its version");
		right &= expect(exe->builtins != NULL, "its builtins");
		right &= expect(exe->isolate_key_va || exe->isolate.kind, "its isolate");
		v8_unload(exe);
	}
	ep_elf_close(elf);
	return right;
}

static bool check_node(const char *path, const char *script)
{
	ep_autofree struct node *node = calloc(1, sizeof(*node));
	bool right = false;

	printf("%s\n", path);
	if (!node || !expect(ep_elf_open(path, &node->elf) == 0, "the file"))
		return false;
	fake_host_init(&node->host, &node->state, sizeof(node->state));
	node->host.prints = true;
	node->host.elf = node->elf;
	if (probe(&node->host, node->elf, path, &node->exe) && expect(start(node, path, script), "start") &&
	    find_bias(node, path))
		right = check_process(node);
	stop(node);
	if (node->exe)
		v8_unload(node->exe);
	return right;
}

/* Returns how many there are. */
static unsigned int check_all(const char *const *patterns, size_t n_patterns, const char *script, unsigned int *n_right)
{
	unsigned int n = 0;

	for (size_t i = 0; i < n_patterns; i++) {
		glob_t found = {0};

		(void)glob(patterns[i], 0, NULL, &found);
		for (size_t k = 0; k < found.gl_pathc; k++, n++)
			*n_right += script ? check_node(found.gl_pathv[k], script) :
					     check_library(found.gl_pathv[k]);
		globfree(&found);
	}
	return n;
}

int main(int argc, char **argv)
{
	bool few = getenv("EBPF_PROFILER_TEST_FEW") != NULL;
	unsigned int n = 0, n_right = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 2)
		return 1;
	for (int i = 2; i < argc; i++, n++)
		n_right += check_node(argv[i], argv[1]);
	if (argc == 2) {
		n += few ? check_all(few_patterns, EP_LEN(few_patterns), argv[1], &n_right) :
			   check_all(node_patterns, EP_LEN(node_patterns), argv[1], &n_right);
		n += check_all(library_patterns, EP_LEN(library_patterns), NULL, &n_right);
	}
	if (n == 0) {
		printf("SKIPPED: no Node on this machine\n");
		return SKIP;
	}
	printf("%u of %u\n", n_right, n);
	return n_right == n ? 0 : 1;
}
