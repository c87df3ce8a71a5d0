/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An unwinder for the toy JIT of tests/programs/jit.h, to be changed into one for a real JIT;
 * docs/adding-a-language.md walks through it. What the JIT publishes of itself:
 *
 *	jit_about	symbol: struct jit_about, where its heaps are and the offsets of its fields
 *	jit_self	thread-local symbol: struct jit_thread *, where the thread is when it runs C
 */
#include "jit_shared.h"

#include <ebpf-profiler/plugin.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "jit_bpf.inc.h" /* jit_bpf_object: the bytes of the BPF object */

#define JIT_VERSION    1
#define JIT_HEAPS      2
#define JIT_NAME_BYTES 256
#define JIT_MAX_OFFSET 4096
#define JIT_HEAP_MAX   (1ull << 32)

/* struct jit_about of tests/programs/jit.h. */
struct jit_heap {
	uint64_t start, end, map;
};

struct jit_about {
	uint32_t version;
	uint32_t ready; /* 0 until all below is there */
	struct jit_heap heaps[JIT_HEAPS];
	uint64_t entry_stub, call_stub;
	uint32_t unit_bytes, max_block_bytes;
	uint32_t anywhere;
	uint32_t thread_anchor;
	uint32_t anchor_pc, anchor_sp;
	uint32_t block_bytes;
	uint32_t block_magic, block_unique_id, block_function, block_size, block_kind;
	uint32_t block_code_off, block_code_bytes, block_pcs_off, block_n_pcs;
	uint32_t block_scopes_off, block_n_scopes;
	uint32_t pc_bytes, pc_code_off, pc_depth, pc_line, pc_scope, pc_flags;
	uint32_t scope_bytes, scope_function, scope_caller, scope_line;
	uint32_t function_name, function_file, function_line;
	uint32_t fp_depth, anchor_depth;
};

/* One ELF file that has the JIT; does not change after probe. Addresses are of the file. */
struct jit_executable {
	const struct ep_unwinder_host *host;
	struct ep_symbol about, self;
};

/* One process that runs it. */
struct jit_instance {
	const struct jit_executable *executable;
	struct ep_target *target;
	struct jit_about about;
};

/* --- probe: is it the JIT? ------------------------------------------------------------------- */

static int probe(const struct ep_unwinder_host *host, const struct ep_file *file,
		 void **ret_executable)
{
	struct jit_executable *executable;
	struct ep_symbol about, self;

	/* Nearly every file is somebody else's: the first look-up says so, and it is cheap. */
	if (host->file_symbol(file, "jit_about", &about) < 0 ||
	    about.bytes < sizeof(struct jit_about) ||
	    host->file_symbol(file, "jit_self", &self) < 0)
		return EP_NOT_MINE;
	executable = malloc(sizeof(*executable));
	if (!executable)
		return -ENOMEM;
	*executable = (struct jit_executable){host, about, self};
	*ret_executable = executable;
	return 0;
}

static void unload(void *arg)
{
	free(arg);
}

/* --- attach: where is its code in this process? ---------------------------------------------- */

static bool is_heap(const struct jit_heap *heap)
{
	return heap->start < heap->end && heap->end - heap->start <= JIT_HEAP_MAX && heap->map;
}

static bool are_offsets_in(const uint32_t *offsets, size_t n, uint32_t bytes, uint32_t width)
{
	for (size_t i = 0; i < n; i++) {
		if (offsets[i] % width || offsets[i] > bytes - width)
			return false;
	}
	return true;
}

/* What comes from a process is checked before anything is built on it. */
static bool is_sound(const struct jit_about *a)
{
	const uint32_t header[] = {a->block_code_off, a->block_code_bytes, a->block_pcs_off,
				   a->block_n_pcs, a->block_scopes_off, a->block_n_scopes};
	const uint32_t pc[] = {a->pc_code_off, a->pc_depth, a->pc_line, a->scope_caller,
			       a->scope_line};
	const uint32_t halves[] = {a->pc_scope, a->pc_flags};
	const uint32_t others[] = {a->thread_anchor, a->anchor_pc, a->anchor_sp,   a->function_name,
				   a->function_file, a->fp_depth,  a->anchor_depth};

	return a->version == JIT_VERSION && a->block_bytes == JIT_BLOCK_BYTES &&
	       a->pc_bytes == JIT_PC_BYTES && a->scope_bytes == JIT_PC_BYTES &&
	       a->unit_bytes > 0 && is_heap(&a->heaps[0]) && is_heap(&a->heaps[1]) &&
	       are_offsets_in(header, sizeof(header) / 4, JIT_BLOCK_BYTES, 4) &&
	       are_offsets_in(&a->block_magic, 1, JIT_BLOCK_BYTES, 8) &&
	       are_offsets_in(pc, sizeof(pc) / 4, JIT_PC_BYTES, 4) &&
	       are_offsets_in(halves, sizeof(halves) / 4, JIT_PC_BYTES, 2) &&
	       are_offsets_in(&a->scope_function, 1, JIT_PC_BYTES, 8) &&
	       are_offsets_in(others, sizeof(others) / 4, JIT_MAX_OFFSET, 8);
}

static int check_about(const struct jit_executable *executable, const struct ep_target *target,
		       const struct jit_about *about)
{
	if (is_sound(about))
		return 0;
	executable->host->host->log(EP_HOST_WARN,
				    "jit: pid %d: version %u is not known, its frames stay native",
				    executable->host->target_pid(target), about->version);
	return -ENOTSUP;
}

static int publish_state(const struct jit_executable *executable, struct ep_target *target,
		      const struct jit_about *a)
{
	struct jit_state state = {
		.anywhere = a->anywhere,
		.unit_bytes = a->unit_bytes,
		.thread_anchor = a->thread_anchor,
		.anchor_pc = a->anchor_pc,
		.anchor_sp = a->anchor_sp,
		.block_magic = a->block_magic,
		.block_code_off = a->block_code_off,
		.block_code_bytes = a->block_code_bytes,
		.block_pcs_off = a->block_pcs_off,
		.block_n_pcs = a->block_n_pcs,
		.block_scopes_off = a->block_scopes_off,
		.block_n_scopes = a->block_n_scopes,
		.pc_code_off = a->pc_code_off,
		.pc_depth = a->pc_depth,
		.pc_line = a->pc_line,
		.pc_scope = a->pc_scope,
		.pc_flags = a->pc_flags,
		.scope_function = a->scope_function,
		.scope_caller = a->scope_caller,
		.scope_line = a->scope_line,
		.fp_depth = a->fp_depth,
		.anchor_depth = a->anchor_depth,
	};
	int r = executable->host->tls_variable(target, executable->self.va, &state.self);

	return r < 0 ? r : executable->host->set_state(target, &state, sizeof(state));
}

/*
 * The heaps as they are reserved: they grow, and functions move in them, and nobody needs to be
 * informed. Pages anywhere are anonymous code, of which BPF finds out whether it is ours.
 */
static int publish_ranges(const struct jit_executable *executable, struct ep_target *target,
		       const struct jit_about *about)
{
	struct ep_range ranges[JIT_HEAPS + 1];
	size_t n = 0;

	for (size_t i = 0; i < JIT_HEAPS; i++)
		ranges[n++] = (struct ep_range){
			.start = about->heaps[i].start,
			.end = about->heaps[i].end,
			.mode = EP_RANGE_ENTER,
			.data = about->heaps[i].map,
		};
	if (about->anywhere)
		ranges[n++] = (struct ep_range){
			.end = UINT64_MAX,
			.mode = EP_RANGE_ENTER,
			.flags = EP_RANGE_ANONYMOUS,
		};
	return executable->host->set_ranges(target, ranges, n);
}

static int attach(void *arg, struct ep_target *target, void **ret_instance)
{
	const struct jit_executable *executable = arg;
	const struct ep_unwinder_host *host = executable->host;
	struct jit_instance *instance;
	struct jit_about about;
	int r;

	r = host->target_read(target, host->target_bias(target) + executable->about.va, &about,
			      sizeof(about));
	if (r < 0)
		return r;
	if (!about.ready)
		return EP_NOT_YET;
	r = check_about(executable, target, &about);
	if (r == 0)
		r = publish_state(executable, target, &about);
	if (r == 0)
		r = publish_ranges(executable, target, &about);
	if (r < 0)
		return r == -ENODATA ? EP_NOT_YET : r; /* thread storage is not there yet */
	instance = malloc(sizeof(*instance));
	if (!instance)
		return -ENOMEM;
	*instance = (struct jit_instance){executable, target, about};
	*ret_instance = instance;
	return 0;
}

static void detach(void *arg)
{
	free(arg);
}

/* --- advise: what `doctor` tells who runs it -------------------------------------------------- */

/* Optional: for what costs users something, or hides something from them, and can be changed. */
static int advise(void *arg, void (*say)(void *arg, const char *found, const char *fix),
		  void *say_arg)
{
	const struct jit_instance *instance = arg;

	if (instance->about.anywhere)
		say(say_arg,
		    "its code is in pages of its own, too, which takes longer to tell from others'",
		    "run it in another mode than anywhere and fresh, such as plain");
	return 0;
}

/* --- symbolize: names for a frame that BPF pushed -------------------------------------------- */

static int read_text(const struct jit_instance *instance, uint64_t pointer_addr,
		     char text[JIT_NAME_BYTES])
{
	const struct ep_unwinder_host *host = instance->executable->host;
	uint64_t addr = 0;
	int r = host->target_read(instance->target, pointer_addr, &addr, sizeof(addr));

	return r < 0 ? r : host->target_string(instance->target, addr, text, JIT_NAME_BYTES);
}

static int add_function(const struct jit_instance *instance, uint64_t function, uint32_t line,
			struct ep_names *names)
{
	const struct ep_unwinder_host *host = instance->executable->host;
	char text[JIT_NAME_BYTES], file[JIT_NAME_BYTES];
	struct ep_name name = {.size = sizeof(name), .function = text, .file = file, .line = line};
	int r = read_text(instance, function + instance->about.function_name, text);

	if (r < 0)
		return r;
	if (read_text(instance, function + instance->about.function_file, file) < 0)
		name.file = NULL;
	if (host->target_read(instance->target, function + instance->about.function_line,
			      &name.start_line, sizeof(name.start_line)) < 0)
		name.start_line = 0;
	return host->add_name(names, &name);
}

/* Inlined functions are names of one frame, innermost first. */
static int symbolize(void *arg, const struct ep_raw_frame *frame, struct ep_names *names)
{
	const struct jit_instance *instance = arg;
	int r = frame->n_words ? 0 : -EBADMSG;

	for (uint32_t i = 0; r == 0 && i < frame->n_words; i++)
		r = add_function(instance, JIT_FUNCTION(frame->words[i]), JIT_LINE(frame->words[i]),
				 names);
	return r == -EFAULT ? EP_FRAME_GONE : r; /* functions stay: this was none */
}

/* --- the descriptor -------------------------------------------------------------------------- */

/* As enum jit_error. */
static const char *const errors[] = {
	"tables of a block that do not hold",
	NULL,
};

/* As enum jit_counter. */
static const char *const counters[] = {
	"anchors told, for walks through code without unwind rules",
	"native frames skipped for want of tail calls",
	NULL,
};

static const struct ep_bpf_image bpf = {
	.size = sizeof(bpf),
	.max_frames_per_run = JIT_MAX_FRAMES_PER_RUN,
	.object = jit_bpf_object,
	.object_bytes = sizeof(jit_bpf_object),
	.program = "jit_unwind",
	.flags = EP_BPF_RESUMES,
};

static const struct ep_unwinder_ops ops = {
	.size = sizeof(ops),
	.errors = errors,
	.counters = counters,
	.bpf = &bpf,
	.probe = probe,
	.attach = attach,
	.symbolize = symbolize,
	.detach = detach,
	.unload = unload,
	.frame_type = "jit",
	.advise = advise,
};

EP_PLUGIN_DEFINE = {
	.size = sizeof(struct ep_plugin),
	.abi_major = EP_ABI_MAJOR,
	.abi_minor = EP_ABI_MINOR,
	.kind = EP_PLUGIN_UNWINDER,
	.name = "jit",
	.version = "1.0",
	.unwinder = &ops,
};
