/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process. Nearly all of what BPF needs is known before the interpreter has started: the file
 * tells offsets and where globals are. Only the numbers of pthread keys come later, so a process is
 * armed at once, and completed when there is more to know.
 *
 * A thread's state is found, in this order,
 *	up to 3.11	as _PyRuntime.gilstate.tstate_current, if that is this thread's
 *	3.12 on		in the thread variable _Py_tss_tstate, while it holds the GIL
 *	else		in its value of the pthread key autoTSSkey; 3.15 on: in _Py_tss_gilstate
 *	else		in the list of all threads
 * Whatever the way, thread_id (pthread_self()) must be that of the sampled thread.
 */
#include "plugins/python/python.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_KEYS	4096 /* PTHREAD_KEYS_MAX is 1024 in glibc, 128 in musl */
#define MAX_COMPLETIONS 64   /* attempts made by the way, in symbolize */
#define LAYOUT_ATTEMPTS 8
#define ATTEMPT_NS	2000000 /* between two that failed */
#define MAX_DOUBTS	3 /* an interpreter that is just being torn down is not refused for ever */

/* Versions whose layout has been seen; newer ones are validated before they are walked. */
#define NEWEST_KNOWN PY_VERSION(3, 15)

enum validity {
	UNDECIDED = 0, /* nothing runs yet */
	VALID,
	INVALID,
};

struct instance {
	const struct py_executable *exe;
	struct ep_target *target;
	struct py_code_cache *cache;
	struct py_state state;
	bool armed;    /* BPF has the state and the ranges */
	bool complete; /* nothing is left to find out */
	uint32_t completions, doubts;
	struct py_code_layout code_layout; /* with what the process adds to the file's */
};

static uint64_t target_addr(const struct instance *inst, uint64_t va)
{
	return va ? va + inst->exe->host->target_bias(inst->target) : 0;
}

static int read_target(const struct instance *inst, uint64_t addr, void *buf, size_t bytes)
{
	return inst->exe->host->target_read(inst->target, addr, buf, bytes);
}

/* 0 when it cannot be read. */
static uint64_t read_word(const struct instance *inst, uint64_t addr)
{
	uint64_t value = 0;

	return addr && read_target(inst, addr, &value, sizeof(value)) == 0 ? value : 0;
}

/* --- what BPF gets to know -------------------------------------------------------------------- */

static uint32_t state_flags(const struct py_offsets *offsets)
{
	return (offsets->cframe_frame != PY_NONE ? PY_CFRAME : 0) |
	       (offsets->frame_copy != PY_NONE ? PY_BYTECODE_COPIES : 0);
}

static uint32_t known(uint32_t off)
{
	return off == PY_NONE ? 0 : off;
}

static void fill_frames(struct py_state *state, const struct py_offsets *offsets)
{
	/* The head of a frame object is of no interest. */
	bool objects = offsets->version < PY_VERSION(3, 11);
	uint32_t start = objects ? offsets->frame_previous : 0;

	state->frame_start = start;
	state->frame_bytes = offsets->frame_bytes - start;
	state->frame_previous = offsets->frame_previous - start;
	state->frame_code = offsets->frame_code - start;
	state->frame_instruction = offsets->frame_instruction - start;
	state->frame_owner = known(offsets->frame_owner);
	state->frame_entry = known(offsets->frame_entry);
	state->frame_copy = known(offsets->frame_copy);
	state->first_shim = offsets->first_shim ? offsets->first_shim : PY_NO_SHIM;
	state->entry_mask = offsets->frame_entry != PY_NONE;
	state->entry_always = objects;
	state->index_shift = offsets->version == PY_VERSION(3, 10);
	state->address_mask = objects ? 0 : ~0ull;
	state->always_traceable = objects ? INT64_MIN : 0;
}

static uint32_t largest(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static void fill_code(struct py_state *state, const struct py_offsets *offsets)
{
	uint32_t end = offsets->code.check_off + PY_CHECK_BYTES;

	end = largest(end, offsets->object_type + 8);
	if (offsets->code_first_traceable)
		end = largest(end, offsets->code_first_traceable + 4);
	if (offsets->code_copies != PY_NONE)
		end = largest(end, offsets->code_copies + 8);
	state->code_bytes = end;
	state->code_object_type = offsets->object_type;
	state->code_check = offsets->code.check_off;
	state->code_check_mask = offsets->code.check_mask;
	state->code_first_traceable = offsets->code_first_traceable;
	state->code_instructions = offsets->code_instructions;
	state->code_copies = known(offsets->code_copies);
}

/* What calls JIT code, and how that is found. */
static void fill_jit(struct py_state *state, const struct instance *inst)
{
	state->jit = inst->exe->jit;
	for (uint32_t i = 0; i < PY_EVAL_RANGES && i < inst->exe->n_code; i++) {
		state->eval_addr[i] = target_addr(inst, inst->exe->code[i].va);
		state->eval_bytes[i] = (uint32_t)inst->exe->code[i].bytes;
	}
}

/* 0 or -ENOTSUP: BPF's windows are too small for it. */
static int fill_state(struct instance *inst)
{
	const struct py_offsets *offsets = &inst->exe->offsets;
	struct py_state *state = &inst->state;

	state->holder_addr = target_addr(inst, inst->exe->holder_va);
	state->interpreters_addr = target_addr(inst, inst->exe->interpreters_va);
	state->code_type = target_addr(inst, inst->exe->code_type_va);
	inst->code_layout = offsets->code;
	inst->code_layout.code_type_addr = state->code_type;
	state->flags = state_flags(offsets);
	state->interp_next = offsets->interp_next;
	state->interp_threads = offsets->interp_threads;
	state->thread_next = offsets->thread_next;
	state->thread_frame = offsets->thread_frame;
	state->thread_id = offsets->thread_id;
	state->cframe_frame = known(offsets->cframe_frame);
	fill_frames(state, offsets);
	fill_code(state, offsets);
	fill_jit(state, inst);
	return state->frame_bytes <= PY_FRAME_BYTES && state->code_bytes <= PY_CODE_BYTES
		       ? 0
		       : -ENOTSUP;
}

/* --- the way to a thread's state -------------------------------------------------------------- */

static int key_path(const struct instance *inst, struct ep_tls *ret)
{
	const struct py_executable *exe = inst->exe;
	int32_t created = 1, key;
	int r;

	if (exe->key_created_va) {
		r = read_target(inst, target_addr(inst, exe->key_created_va), &created,
				sizeof(created));
		if (r < 0)
			return r;
	}
	r = read_target(inst, target_addr(inst, exe->key_va), &key, sizeof(key));
	if (r < 0)
		return r;
	/* 3.6 has -1 there until it is created. */
	if (created != 1 || key < 0 || key >= MAX_KEYS)
		return -ENODATA;
	return exe->host->tls_key(inst->target, (uint32_t)key, ret);
}

/* True when all paths that can be had are there. */
static bool find_paths(struct instance *inst)
{
	const struct py_executable *exe = inst->exe;
	struct ep_tls *paths = inst->state.paths;
	bool all = true;
	uint32_t n = 0;
	int r;

	for (uint32_t i = 0; i < PY_TLS_PATHS; i++) {
		if (!exe->variables[i].kind)
			continue;
		r = paths[n].steps ? 0 : exe->host->tls_path(inst->target, &exe->variables[i],
						    &paths[n]);
		all = all && (r == 0 || r == -ENOTSUP);
		n++;
	}
	if (exe->key_va && n < PY_TLS_PATHS) {
		r = paths[n].steps ? 0 : key_path(inst, &paths[n]);
		all = all && (r == 0 || r == -ENOTSUP);
	}
	return all;
}

/* --- does the layout hold? -------------------------------------------------------------------- */

/* The innermost frame of any thread; 0: none runs Python. */
static uint64_t find_frame(const struct instance *inst)
{
	const struct py_state *state = &inst->state;
	uint64_t interp = read_word(inst, state->interpreters_addr);
	uint64_t thread = interp ? read_word(inst, interp + state->interp_threads) : 0;
	uint64_t frame = 0;

	if (!state->interpreters_addr)
		thread = read_word(inst, state->holder_addr);
	for (uint32_t i = 0; thread && !frame && i < 64; i++) {
		frame = read_word(inst, thread + state->thread_frame);
		if (frame && state->flags & PY_CFRAME)
			frame = read_word(inst, frame + state->cframe_frame);
		thread = read_word(inst, thread + state->thread_next);
	}
	return frame;
}

/* The target runs meanwhile: one look that fails proves nothing. */
static enum validity look_at_frames(const struct instance *inst, uint64_t frame)
{
	const struct py_state *state = &inst->state;
	uint8_t bytes[PY_FRAME_BYTES];
	uint64_t code, type;

	for (uint32_t i = 0; frame && i < 64; i++) {
		if (read_target(inst, frame + state->frame_start, bytes, state->frame_bytes) < 0)
			return INVALID;
		memcpy(&code, bytes + state->frame_code, sizeof(code));
		memcpy(&frame, bytes + state->frame_previous, sizeof(frame));
		if (bytes[state->frame_owner] >= state->first_shim)
			continue;
		type = read_word(inst, (code & ~7ull) + state->code_object_type);
		return type == state->code_type ? VALID : INVALID;
	}
	return UNDECIDED;
}

/* PyCode_Type is an object too, and its type is PyType_Type (Objects/codeobject.c). */
static enum validity look_at_head(const struct instance *inst)
{
	const struct py_executable *exe = inst->exe;
	uint64_t type = read_word(inst, inst->state.code_type + inst->state.code_object_type);

	if (!type)
		return UNDECIDED; /* the process or the library is gone */
	return !exe->type_type_va || type == target_addr(inst, exe->type_type_va) ? VALID : INVALID;
}

static enum validity check_layout(const struct instance *inst)
{
	enum validity head, validity = UNDECIDED;

	if (!find_frame(inst))
		return UNDECIDED;
	head = look_at_head(inst);
	if (head != VALID)
		return head;
	for (uint32_t i = 0; i < LAYOUT_ATTEMPTS && validity != VALID; i++) {
		/* What was looked at may be just changing, and its thread waiting for a CPU. */
		if (validity == INVALID)
			(void)nanosleep(&(struct timespec){.tv_nsec = ATTEMPT_NS}, NULL);
		validity = look_at_frames(inst, find_frame(inst));
	}
	/* What a process that ends has left to read proves nothing either. */
	return validity == INVALID && look_at_head(inst) != VALID ? UNDECIDED : validity;
}

/* --- operations ------------------------------------------------------------------------------- */

/*
 * The evaluation loop; and what the JIT makes, in an anonymous mapping for each executor
 * (_PyJIT_Compile, 3.13 and newer Python/jit.c): BPF tells it from what others make.
 */
static int set_ranges(const struct instance *inst)
{
	const struct py_executable *exe = inst->exe;
	struct ep_range ranges[PY_MAX_CODE_RANGES + 1] = {0};
	uint32_t n = 0;

	for (; n < exe->n_code; n++) {
		ranges[n].start = target_addr(inst, exe->code[n].va);
		ranges[n].end = ranges[n].start + exe->code[n].bytes;
		ranges[n].mode = EP_RANGE_MARK;
	}
	if (inst->state.jit != PY_JIT_NONE)
		ranges[n++] = (struct ep_range){.end = UINT64_MAX,
						.mode = EP_RANGE_ENTER,
						.flags = EP_RANGE_ANONYMOUS};
	return exe->host->set_ranges(inst->target, ranges, n);
}

/* Versions that were seen are walked before anything runs in them. */
static bool is_certain(const struct py_offsets *offsets)
{
	return offsets->version <= NEWEST_KNOWN && !offsets->free_threaded;
}

static void warn_layout(const struct instance *inst)
{
	const struct py_offsets *offsets = &inst->exe->offsets;

	inst->exe->host->host->log(EP_HOST_WARN,
				   "python: pid %d: the structures of CPython %u.%u%s are not as "
				   "expected: its Python frames are missing, native ones stay",
				   inst->exe->host->target_pid(inst->target), offsets->version >> 8,
				   offsets->version & 0xff,
				   offsets->free_threaded ? " (free-threaded)" : "");
}

/*
 * One look that fails proves nothing: of a known version not even several, when its interpreter is
 * torn down. While names are looked for (aside), another library may be where this one was.
 */
static enum validity decide(struct instance *inst, bool aside)
{
	enum validity validity = check_layout(inst);

	if (validity != INVALID)
		return validity;
	if (aside || (is_certain(&inst->exe->offsets) && inst->doubts++ < MAX_DOUBTS))
		return UNDECIDED;
	return INVALID;
}

/* 0, EP_NOT_YET (more may be known later), -ENOTSUP, or a negative errno. */
static int complete(struct instance *inst, bool aside)
{
	bool all = find_paths(inst);
	enum validity validity = decide(inst, aside);
	int r;

	if (validity == INVALID) {
		warn_layout(inst);
		return -ENOTSUP;
	}
	if (validity == UNDECIDED && !is_certain(&inst->exe->offsets))
		return EP_NOT_YET;
	r = inst->exe->host->set_state(inst->target, &inst->state, sizeof(inst->state));
	if (r == 0 && !inst->armed)
		r = set_ranges(inst);
	if (r < 0)
		return r;
	inst->armed = true;
	inst->complete = all && validity == VALID;
	return inst->complete ? 0 : EP_NOT_YET;
}

static void instance_free(struct instance *inst)
{
	if (!inst)
		return;
	py_code_cache_free(inst->cache);
	free(inst);
}

static int attach(struct instance *inst)
{
	int r = py_code_cache_new(0, &inst->cache);

	if (r < 0)
		return r;
	r = fill_state(inst);
	if (r < 0) {
		warn_layout(inst);
		return r;
	}
	r = complete(inst, false);
	/* What is armed is attached: the rest follows when mappings change. */
	return r == EP_NOT_YET && inst->armed ? 0 : r;
}

int py_attach(void *executable, struct ep_target *target, void **ret_instance)
{
	struct instance *inst = calloc(1, sizeof(*inst));
	int r;

	if (!inst)
		return -ENOMEM;
	inst->exe = executable;
	inst->target = target;
	r = attach(inst);
	if (r != 0) {
		instance_free(inst);
		return r;
	}
	*ret_instance = inst;
	return 0;
}

int py_refresh(void *instance)
{
	struct instance *inst = instance;

	return inst->complete ? 0 : complete(inst, false);
}

static int symbolize(struct instance *inst, const struct ep_raw_frame *frame,
		     struct ep_names *names)
{
	const struct ep_unwinder_host *host = inst->exe->host;
	uint64_t code = frame->words[0];
	uint32_t instruction = (uint32_t)frame->words[1];
	int r;

	if (frame->n_words == 1) {
		instruction = (uint32_t)(code >> PY_INSTRUCTION_SHIFT);
		code &= PY_ADDRESS_MASK;
	}
	if (frame->n_words < 1)
		return -EBADMSG;
	if (frame->words[0] == PY_FRAME_CLEANUP) {
		struct ep_name name = {.size = sizeof(name), .function = "<frame cleanup>"};

		return host->add_name(names, &name);
	}
	r = py_code_symbolize(inst->cache, host, inst->target, &inst->code_layout, code, frame->aux,
			      instruction, names);
	if (r == EP_FRAME_GONE)
		host->count(inst->target, PY_COUNT_CODE_GONE, 1);
	return r;
}

int py_symbolize(void *instance, const struct ep_raw_frame *frame, struct ep_names *names)
{
	struct instance *inst = instance;
	bool was_complete = inst->complete;
	int r;

	if (!was_complete && inst->doubts == 0 && inst->completions++ < MAX_COMPLETIONS)
		(void)complete(inst, true);
	r = symbolize(inst, frame, names);
	if (r != 0)
		inst->complete = was_complete;
	return r;
}

void py_detach(void *instance)
{
	instance_free(instance);
}
