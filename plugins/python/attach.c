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
#include "core/base/util.h"
#include "plugins/python/python.h"
#include "plugins/shared/attach/attach.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LAYOUT_LOOKS 8
/* Versions whose layout has been seen; newer ones are validated before they are walked. */
#define NEWEST_KNOWN PY_VERSION(3, 15)

struct instance {
	struct attach process;
	const struct py_executable *exe;
	struct py_namer namer;
	struct py_state state;
};

/* --- what BPF gets to know -------------------------------------------------------------------- */

static uint32_t known(uint32_t off)
{
	return off == PY_NONE ? 0 : off;
}

static void fill_frames(struct py_state *state, const struct py_layout *offsets)
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

static void fill_code(struct py_state *state, const struct py_layout *offsets)
{
	uint32_t end = offsets->code.check_off + PY_CHECK_BYTES;

	end = EP_MAX(end, offsets->object_type + 8);
	if (offsets->code_first_traceable)
		end = EP_MAX(end, offsets->code_first_traceable + 4);
	if (offsets->code_copies != PY_NONE)
		end = EP_MAX(end, offsets->code_copies + 8);
	state->code_bytes = end;
	state->code_object_type = offsets->object_type;
	state->code_check = offsets->code.check_off;
	state->code_check_mask = offsets->code.check_mask;
	state->code_first_traceable = offsets->code_first_traceable;
	state->code_instructions = offsets->code_instructions;
	state->code_copies = known(offsets->code_copies);
}

static void fill_names(struct py_state *state, const struct py_code_layout *layout)
{
	size_t bytes = py_code_head_bytes(layout);

	state->head_bytes = bytes <= PY_CODE_BYTES ? (uint16_t)bytes : 0;
	state->code_name = layout->co_qualname ? layout->co_qualname : layout->co_name;
	state->code_file = layout->co_filename;
	state->code_lines = layout->co_lines;
	state->bytes_size = layout->bytes_size;
	state->bytes_data = layout->bytes_data;
	state->str_length = layout->str_length;
	state->str_state = layout->str_state;
	state->str_kind_shift = layout->str_kind_shift;
	state->str_ascii_data = layout->str_ascii_data;
	state->str_compact_data = layout->str_compact_data;
}

/* 0 or -ENOTSUP: BPF's windows are too small for it. */
static int fill_state(struct instance *inst)
{
	const struct py_executable *exe = inst->exe;
	const struct py_layout *offsets = &exe->layout;
	struct py_state *state = &inst->state;

	state->holder_addr = attach_addr(&inst->process, exe->holder_va);
	state->interpreters_addr = attach_addr(&inst->process, exe->interpreters_va);
	state->code_type = attach_addr(&inst->process, exe->code_type_va);
	inst->namer.layout = offsets->code;
	inst->namer.layout.code_type_addr = state->code_type;
	state->flags = (offsets->cframe_frame != PY_NONE ? PY_CFRAME : 0) |
		       (offsets->frame_copy != PY_NONE ? PY_BYTECODE_COPIES : 0);
	state->interp_next = offsets->interp_next;
	state->interp_threads = offsets->interp_threads;
	state->thread_next = offsets->thread_next;
	state->thread_frame = offsets->thread_frame;
	state->thread_id = offsets->thread_id;
	state->cframe_frame = known(offsets->cframe_frame);
	fill_frames(state, offsets);
	fill_code(state, offsets);
	fill_names(state, &offsets->code);
	/* What calls JIT code, and how that is found. */
	state->jit = exe->jit;
	for (uint32_t i = 0; i < PY_EVAL_RANGES && i < exe->n_code; i++) {
		state->eval_addr[i] = attach_addr(&inst->process, exe->code[i].va);
		state->eval_bytes[i] = (uint32_t)exe->code[i].bytes;
	}
	return state->frame_bytes <= PY_FRAME_BYTES && state->code_bytes <= PY_CODE_BYTES
		       ? 0
		       : -ENOTSUP;
}

/* --- the way to a thread's state -------------------------------------------------------------- */

static int find_paths(void *instance)
{
	struct instance *inst = instance;
	const struct py_executable *exe = inst->exe;
	struct ep_tls *paths = inst->state.paths;
	bool all = true;
	uint64_t created;
	uint32_t n = 0;
	int r;

	for (uint32_t i = 0; i < PY_TLS_PATHS; i++) {
		if (!exe->variables[i].kind)
			continue;
		r = attach_thread(&inst->process, 0, &exe->variables[i], &paths[n++]);
		all = all && (r == 0 || r == -ENOTSUP);
	}
	if (exe->key_va && n < PY_TLS_PATHS) {
		r = -ENODATA;
		/* 3.6 has -1 there until it is created; later ones have an int that is 1 then. */
		created = attach_addr(&inst->process, exe->key_created_va);
		if (!created || (uint32_t)attach_word(&inst->process, created) == 1)
			r = attach_thread(&inst->process, exe->key_va, NULL, &paths[n]);
		all = all && (r == 0 || r == -ENOTSUP);
	}
	return all ? 0 : EP_NOT_YET;
}

/* --- does the layout hold? -------------------------------------------------------------------- */

/* The innermost frame of any thread; 0: none runs Python. */
static uint64_t find_frame(const struct instance *inst)
{
	const struct py_state *state = &inst->state;
	uint64_t interp = attach_word(&inst->process, state->interpreters_addr);
	uint64_t thread = interp ? attach_word(&inst->process, interp + state->interp_threads) : 0;
	uint64_t frame = 0;

	if (!state->interpreters_addr)
		thread = attach_word(&inst->process, state->holder_addr);
	for (uint32_t i = 0; thread && !frame && i < 64; i++) {
		frame = attach_word(&inst->process, thread + state->thread_frame);
		if (frame && state->flags & PY_CFRAME)
			frame = attach_word(&inst->process, frame + state->cframe_frame);
		thread = attach_word(&inst->process, thread + state->thread_next);
	}
	return frame;
}

/* Outcomes of a look: 0, EP_NOT_YET, -ENOTSUP. */
static int look_at_frames(void *instance)
{
	struct instance *inst = instance;
	const struct py_state *state = &inst->state;
	uint64_t frame = find_frame(inst), code, type;
	uint8_t bytes[PY_FRAME_BYTES];

	for (uint32_t i = 0; frame && i < 64; i++) {
		if (attach_read(inst, frame + state->frame_start, bytes, state->frame_bytes) < 0)
			return -ENOTSUP;
		memcpy(&code, bytes + state->frame_code, sizeof(code));
		memcpy(&frame, bytes + state->frame_previous, sizeof(frame));
		if (bytes[state->frame_owner] >= state->first_shim)
			continue;
		type = attach_word(&inst->process, (code & ~7ull) + state->code_object_type);
		return type == state->code_type ? 0 : -ENOTSUP;
	}
	return EP_NOT_YET;
}

/* PyCode_Type is an object too, and its type is PyType_Type (Objects/codeobject.c). */
static int look_at_head(const struct instance *inst)
{
	const struct py_executable *exe = inst->exe;
	uint64_t type = attach_word(&inst->process,
				    inst->state.code_type + inst->state.code_object_type);

	if (!type)
		return EP_NOT_YET; /* the process or the library is gone */
	if (exe->type_type_va && type != attach_addr(&inst->process, exe->type_type_va))
		return -ENOTSUP;
	return 0;
}

static int prove(void *instance)
{
	struct instance *inst = instance;
	int r = find_frame(inst) ? look_at_head(inst) : EP_NOT_YET;

	if (r != 0)
		return r;
	r = attach_look(look_at_frames, inst, LAYOUT_LOOKS);
	/* What a process that ends has left to read proves nothing either. */
	return r == -ENOTSUP && look_at_head(inst) != 0 ? EP_NOT_YET : r;
}

/*
 * The evaluation loop; and what the JIT makes, in an anonymous mapping for each executor
 * (_PyJIT_Compile, 3.13 and newer Python/jit.c): BPF tells it from what others make.
 */
static int set_ranges(void *instance)
{
	const struct instance *inst = instance;
	const struct ep_range anonymous = {
		.end = UINT64_MAX, .mode = EP_RANGE_ENTER, .flags = EP_RANGE_ANONYMOUS};

	return attach_mark(&inst->process, inst->exe->code, inst->exe->n_code,
			   &anonymous, inst->state.jit != PY_JIT_NONE);
}

static const struct attach_language language = {
	.plugin = "python",
	.frames = "Python",
	.runtime = "CPython",
	.prove = prove,
	.find_paths = find_paths,
	.set_ranges = set_ranges,
	.state_off = offsetof(struct instance, state),
	.state_bytes = sizeof(struct py_state),
	.max_doubts = 3, /* one that is just being torn down is not refused for ever */
};

void py_detach(void *instance)
{
	struct instance *inst = instance;

	py_namer_fini(&inst->namer);
	free(inst);
}

int py_attach(void *executable, struct ep_target *target, void **ret_instance)
{
	const struct py_executable *exe = executable;
	struct instance *inst = attach_new(sizeof(*inst), &language, exe->host, target);
	int r;

	if (!inst)
		return -ENOMEM;
	inst->exe = exe;
	inst->process.major = (uint16_t)(exe->layout.version >> 8);
	inst->process.minor = exe->layout.version & 0xff;
	inst->process.variant = exe->layout.free_threaded ? " (free-threaded)" : NULL;
	/* Versions that were seen are walked before anything runs in them. */
	inst->process.is_certain =
		exe->layout.version <= NEWEST_KNOWN && !exe->layout.free_threaded;
	inst->namer.host = exe->host;
	inst->namer.memory = (struct memory){.read = attach_read, .arg = inst};
	r = py_namer_init(&inst->namer);
	if (r == 0 && fill_state(inst) < 0)
		r = attach_refuse_release(&inst->process);
	if (r == 0)
		r = attach_arm(inst);
	return attach_give(r, inst, py_detach, ret_instance);
}

int py_symbolize(void *instance, const struct ep_raw_frame *frame, struct ep_names *names)
{
	struct instance *inst = instance;
	int r;

	attach_prove_aside(inst);
	r = py_names_add(&inst->namer, frame, names);
	if (r == EP_FRAME_GONE)
		inst->exe->host->count(inst->process.target, PY_COUNT_CODE_GONE, 1);
	return r;
}
