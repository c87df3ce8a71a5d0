/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process. The offsets are those of the file; whether they hold is asked of each process: each
 * frame that runs has a function with a name that is a string, and an opline in its oplines, and
 * the chain of them ends.
 *
 * All is known from the file, so a process is armed at once: BPF looks itself whether oplines lie
 * in their functions until user space has seen it (php_state.unproven). With threads it always
 * does: their globals are found by their thread pointers, which user space does not know.
 */
#include "plugins/php/php.h"
#include "plugins/php/static.h"
#include "plugins/shared/attach/attach.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LAYOUT_LOOKS	4
#define MAX_FRAMES	1000
#define MAX_NAME_BYTES	65536
#define FRAME_WORDS	7
#define FIRST_JIT	PHP_RELEASE(8, 0)
#define FIRST_CLOSURE	PHP_RELEASE(8, 4) /* whose name tells it from others */

struct instance {
	struct attach process;
	struct php_executable *exe;
	struct php_namer namer;
	struct php_state state;
};

/* --- what the file says ----------------------------------------------------------------------- */

static void fill_state(struct instance *inst)
{
	const struct php_executable *exe = inst->exe;
	const struct php_layout *layout = &exe->layout;
	struct php_state *state = &inst->state;

	state->unproven = 1;
	state->release = layout->release;
	state->globals_addr = attach_addr(&inst->process, exe->globals_va);
	state->globals_bytes = exe->globals_bytes;
	state->current_off = exe->current;
	state->before_exception_off = exe->before_exception;
	state->loop_start = attach_addr(&inst->process, exe->loop.va);
	state->loop_end = state->loop_start + exe->loop.bytes;
	state->loop_frame = exe->prologue.frame;
	state->loop_saved = exe->prologue.saved;
	state->loop_has_fp = exe->prologue.has_fp;
	state->hybrid = exe->vm_kind == PHP_VM_HYBRID;
	state->code_start = attach_addr(&inst->process, exe->text.va);
	state->code_end = state->code_start + exe->text.bytes;
	for (uint32_t i = 0; i < PHP_MAKERS; i++) {
		state->makers[i].first = (uint32_t)(exe->makers[i].va - exe->text.va);
		state->makers[i].bytes = (uint32_t)exe->makers[i].bytes;
	}
	state->finish_addr = attach_addr(&inst->process, exe->fibers.finish_va);
	state->fiber_off = exe->fiber;
	state->fiber_caller_off = layout->fiber_caller;
	state->frameless_addr = attach_addr(&inst->process, exe->frameless_va);
	state->copy_flags = layout->function.closure | layout->function.fake_closure |
			    layout->function.trampoline;
	state->old_closure = layout->release < FIRST_CLOSURE ? layout->function.closure : 0;
	state->fake_closure = layout->function.fake_closure;
	for (uint32_t i = 0; i < PHP_RETURNS; i++)
		state->returns[i] = attach_addr(&inst->process, exe->returns[i]);
	state->op_last = (uint16_t)layout->function.last;
	state->op_opcodes = (uint16_t)layout->function.opcodes;
	state->op_file = (uint16_t)layout->function.filename;
	state->op_line = (uint16_t)layout->function.line_start;
	state->generator_data = (uint16_t)layout->generator.execute_data;
	state->generator_parent = (uint16_t)layout->generator.parent;
}

static void fill_namer(struct instance *inst)
{
	inst->namer.host = inst->exe->host;
	inst->namer.target = inst->process.target;
	inst->namer.target = inst->process.target;
	inst->namer.memory = (struct memory){.read = attach_read, .arg = inst};
	inst->namer.layout = &inst->exe->layout;
}

/* --- does the layout hold? -------------------------------------------------------------------- */

/* Functions without a name are files. */
static bool name_holds(struct instance *inst, uint64_t name)
{
	uint64_t len;

	return !name || (attach_read(inst, name + PHP_STRING_LEN, &len, sizeof(len)) == 0 &&
			 len < MAX_NAME_BYTES);
}

/* The opline of a user function's frame. While PHP handles an exception, it is one of the
 * globals. */
static bool opline_holds(struct instance *inst, const uint64_t *frame, const uint8_t *function)
{
	const struct php_function_layout *layout = &inst->exe->layout.function;
	uint64_t opcodes, off, opline = frame[0];
	uint32_t last;

	memcpy(&opcodes, function + layout->opcodes, sizeof(opcodes));
	memcpy(&last, function + layout->last, sizeof(last));
	off = opline - opcodes;
	return opline - inst->state.globals_addr < inst->state.globals_bytes ||
	       (off % PHP_OP_BYTES == 0 && off / PHP_OP_BYTES < last);
}

static bool frame_holds(struct instance *inst, const uint64_t *frame, bool *ret_is_user)
{
	uint8_t function[PHP_FUNCTION_BYTES] = {0};
	uint64_t func = frame[3], name;

	if (!func)
		return true;
	if (attach_read(inst, func, function, sizeof(function)) < 0 &&
	    attach_read(inst, func, function, PHP_FUNCTION_SCOPE + 8) < 0)
		return false;
	memcpy(&name, function + PHP_FUNCTION_NAME, sizeof(name));
	if (function[0] == PHP_TYPE_INTERNAL)
		return name_holds(inst, name);
	*ret_is_user = true;
	return (function[0] == PHP_TYPE_USER || function[0] == PHP_TYPE_EVAL) &&
	       name_holds(inst, name) && opline_holds(inst, frame, function);
}

/* EP_NOT_YET: no PHP runs. */
static int look(void *instance)
{
	struct instance *inst = instance;
	uint64_t at, frame[FRAME_WORDS];
	bool has_user = false;
	int r = attach_read(inst, inst->state.globals_addr + inst->state.current_off, &at,
			    sizeof(at));

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < MAX_FRAMES && at; i++) {
		if (attach_read(inst, at, frame, sizeof(frame)) < 0 ||
		    !frame_holds(inst, frame, &has_user))
			return -ENOTSUP;
		at = frame[FRAME_WORDS - 1];
	}
	return has_user ? 0 : EP_NOT_YET;
}

/* In a static build. */
static int find_globals(struct instance *inst)
{
	const struct php_executable *exe = inst->exe;

	if (!exe->bss.va || inst->state.globals_addr)
		return 0;
	return php_static_globals(&inst->namer.memory, attach_addr(&inst->process, exe->bss.va),
				  exe->bss.bytes, &inst->state.globals_addr);
}

static int prove(void *instance)
{
	struct instance *inst = instance;
	int r = find_globals(inst);

	if (r != 0)
		return r;

	/* With threads: those of a release that is known hold. */
	if (!inst->state.globals_addr)
		return inst->process.is_certain ? 0 : -ENOTSUP;
	r = attach_look(look, inst, LAYOUT_LOOKS);
	inst->state.unproven = r != 0;
	return r;
}

/* With threads: where their globals are, once the runtime has allocated a place for them. */
static int find_path(void *instance)
{
	struct instance *inst = instance;
	const struct php_executable *exe = inst->exe;
	struct php_state *state = &inst->state;
	int r;

	if (state->globals_addr || (state->globals_off && state->cache.steps))
		return 0;
	if (exe->bss.va)
		return EP_NOT_YET;
	state->globals_off =
		attach_word(&inst->process, attach_addr(&inst->process, exe->offset_va));
	r = attach_thread(&inst->process, exe->key_va, &exe->cache, &state->cache);
	if (r == -ENODATA || (r == 0 && !state->globals_off))
		return EP_NOT_YET;
	return r;
}

/* --- operations ------------------------------------------------------------------------------- */

/* The JIT's code is in opcache's memory, and in none of its own (8.5 on); to it PHP jumps from the
 * loop alone. */
static int set_ranges(void *instance)
{
	const struct instance *inst = instance;
	const struct php_executable *exe = inst->exe;
	struct ep_range more[2];
	uint32_t n = 0;

	if (exe->fibers.finish_va)
		more[n++] = (struct ep_range){.start = inst->state.finish_addr - 1,
					      .end = inst->state.finish_addr + 1,
					      .mode = EP_RANGE_ENTER};
	if (exe->layout.release >= FIRST_JIT && inst->state.hybrid && exe->prologue.frame &&
	    exe->returns[0])
		more[n++] = (struct ep_range){
			.end = UINT64_MAX, .mode = EP_RANGE_ENTER, .flags = EP_RANGE_ANONYMOUS};
	return attach_mark(&inst->process, exe->code, exe->n_code, more, n);
}

static const struct attach_language language = {
	.plugin = "php",
	.frames = "PHP",
	.runtime = "PHP",
	.prove = prove,
	.find_paths = find_path,
	.set_ranges = set_ranges,
	.state_off = offsetof(struct instance, state),
	.state_bytes = sizeof(struct php_state),
	.max_doubts = 64, /* a frame that is being made, on a slow machine */
};

int php_advise(void *instance, void (*say)(void *arg, const char *found, const char *fix),
	       void *arg)
{
	const struct instance *inst = instance;

	return php_say_advice(&inst->namer, attach_addr(&inst->process, inst->exe->sapi_va),
			      &inst->state, say, arg);
}

void php_detach(void *instance)
{
	struct instance *inst = instance;

	php_namer_fini(&inst->namer);
	free(inst);
}

int php_attach(void *executable, struct ep_target *target, void **ret_instance)
{
	struct php_executable *exe = executable;
	struct instance *inst = attach_new(sizeof(*inst), &language, exe->host, target);
	int r;

	if (!inst)
		return -ENOMEM;
	inst->exe = exe;
	inst->process.major = (uint16_t)(exe->layout.release / 100);
	inst->process.minor = exe->layout.release % 100;
	inst->process.is_certain = exe->layout.release <= PHP_NEWEST_KNOWN;
	fill_state(inst);
	fill_namer(inst);
	r = php_namer_init(&inst->namer);
	if (r == 0)
		r = attach_arm(inst);
	return attach_give(r, inst, php_detach, ret_instance);
}

int php_symbolize(void *instance, const struct ep_raw_frame *frame, struct ep_names *names)
{
	struct instance *inst = instance;

	attach_prove_aside(inst);
	return php_names_add(&inst->namer, frame, names);
}
