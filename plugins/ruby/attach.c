/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process. The offsets are those of the release; whether they hold is asked of each process: the
 * class that rb_cObject points to is named "Object", and the frames of the main thread lie in the
 * VM's stack, each with its pc in the code of its iseq.
 *
 * Most is known from the file, so a process is armed at once: BPF looks itself whether frames lie
 * in the stack until user space has seen it (ruby_state.unproven).
 */
#include "plugins/ruby/ruby.h"
#include "plugins/ruby/symbolize/names.h"
#include "plugins/shared/attach/attach.h"

#include <errno.h>
#include <stdlib.h>

#define LAYOUT_LOOKS	4
#define THREAD_WORDS	16 /* of rb_thread_t: ec is the fifth to seventh */
#define OUTER_FRAMES	4
#define MAX_STACK_WORDS (1u << 28)

struct instance {
	struct attach process;
	struct ruby_executable *exe;
	struct ruby_namer namer;
	struct ruby_state state;
	bool has_jit; /* it has memory where a JIT's code may be */
};

/* --- what the file says ----------------------------------------------------------------------- */

/* In the process, of a variable that the file's code names directly or by the loader's table. */
static uint64_t find_variable(const struct instance *inst, uint64_t va, bool in_got)
{
	uint64_t addr = attach_addr(&inst->process, va);

	return in_got ? attach_word(&inst->process, addr) : addr;
}

/* Not before the loader has filled its table. */
static void fill_collector(struct instance *inst)
{
	const struct ruby_collector *collector = &inst->exe->collector;
	struct ruby_state *state = &inst->state;
	uint64_t addr = attach_addr(&inst->process, collector->vm_va);

	state->vm_unread = collector->vm_in_got && attach_read(inst, addr, &addr, sizeof(addr)) < 0;
	state->vm_addr = state->vm_unread ? 0 : addr;
	state->objspace_off = collector->objspace_off;
	state->collector_off = collector->flag_off;
	state->collector_bit = collector->bit;
	state->blocking_off = inst->exe->blocking_off;
}

static void fill_state(struct instance *inst)
{
	const struct ruby_executable *exe = inst->exe;
	const struct ruby_layout *layout = &exe->layout;
	struct ruby_state *state = &inst->state;

	state->unproven = 1;
	state->ec_addr = attach_addr(&inst->process, exe->ec_va);
	state->thread_off = exe->thread_off;
	state->thread_id_off = layout->thread_id;
	state->cfp_bytes = layout->frame.bytes;
	state->cfp_jit_return = layout->frame.jit_return;
	state->body_info = layout->body.info;
	state->def_serial = layout->def_serial;
	state->code_start = attach_addr(&inst->process, exe->text.va);
	state->code_end = state->code_start + exe->text.bytes;
	state->exec_start = attach_addr(&inst->process, exe->exec.va);
	state->exec_end = state->exec_start + (exe->prologue.frame ? exe->exec.bytes : 0);
	state->exec_frame = exe->prologue.frame;
	state->exec_saved = exe->prologue.saved;
	state->exec_has_fp = exe->prologue.has_fp;
}

static void fill_namer(struct instance *inst)
{
	struct ruby_executable *exe = inst->exe;

	inst->namer.host = exe->host;
	inst->namer.memory = (struct memory){.read = attach_read, .arg = inst};
	inst->namer.layout = &exe->layout;
	inst->namer.object_addr = attach_addr(&inst->process, exe->object_va);
	inst->namer.string_addr = attach_addr(&inst->process, exe->string_va);
	inst->namer.symbols_addr = attach_addr(&inst->process, exe->symbols_va);
	inst->namer.last_op_id = exe->last_op_id;
	inst->namer.ids = &exe->ids;
}

static int find_path(void *instance)
{
	struct instance *inst = instance;
	int r;

	if (inst->state.ec_addr || inst->state.ec.steps)
		return 0;
	r = inst->exe->host->tls_path(inst->process.target, &inst->exe->ec, &inst->state.ec);
	return r == -ENODATA ? EP_NOT_YET : r;
}

/* --- does the layout hold? -------------------------------------------------------------------- */

/* A thread's ec is the pointer in it that points back to it. */
static uint64_t find_thread_context(struct instance *inst, uint64_t thread)
{
	uint32_t off = inst->state.thread_off;
	uint64_t words[THREAD_WORDS];

	if (!thread || attach_read(inst, thread, words, sizeof(words)) < 0)
		return 0;
	for (uint32_t i = 0; i < THREAD_WORDS; i++) {
		if (words[i] && words[i] % 8 == 0 &&
		    attach_word(&inst->process, words[i] + off) == thread)
			return words[i];
	}
	return 0;
}

/* That of the main thread, or to 2.7 of the one that has the lock; 0: not known. */
static uint64_t find_context(struct instance *inst)
{
	const struct ruby_main_thread *main = &inst->exe->main;
	uint64_t ractor;

	if (inst->state.ec_addr)
		return attach_word(&inst->process, inst->state.ec_addr);
	ractor = attach_word(&inst->process,
			     find_variable(inst, main->ractor_va, main->ractor_in_got));
	return find_thread_context(
		inst, ractor ? attach_word(&inst->process, ractor + main->thread_off) : 0);
}

/* Its pc is in the code of its iseq; true also of what is no frame of Ruby. */
static bool frame_holds(struct instance *inst, const uint64_t *frame)
{
	uint64_t pc = frame[0], body, words[2];

	if (!pc || !frame[2])
		return true;
	body = attach_word(&inst->process, frame[2] + 16);
	return body && attach_read(inst, body, words, sizeof(words)) == 0 &&
	       pc - words[1] <= 8 * (words[0] >> 32);
}

/* The outermost frames, which stay longest: they fill the end of the VM's stack. */
static int look_at_frames(struct instance *inst)
{
	uint64_t context = find_context(inst), ec[3], end, bytes = inst->state.cfp_bytes;
	uint64_t frames[OUTER_FRAMES * RUBY_CFP_BYTES / 8];

	if (!context || attach_read(inst, context, ec, sizeof(ec)) < 0)
		return 0;
	end = ec[0] + 8 * ec[1];
	if (ec[1] > MAX_STACK_WORDS || end - ec[2] > 8 * ec[1] || (end - ec[2]) % bytes)
		return -ENOTSUP;
	if (end - ec[2] < OUTER_FRAMES * bytes)
		return 0;
	if (attach_read(inst, end - OUTER_FRAMES * bytes, frames, OUTER_FRAMES * bytes) < 0)
		return -ENOTSUP;
	for (uint32_t i = 0; i < OUTER_FRAMES; i++) {
		if (!frame_holds(inst, frames + i * bytes / 8))
			return -ENOTSUP;
	}
	return 0;
}

static int look(void *instance)
{
	struct instance *inst = instance;
	uint64_t object;
	int r = attach_read(inst, inst->namer.object_addr, &object, sizeof(object));

	if (r < 0)
		return r;
	/* It is named a moment after it is made. */
	r = object ? ruby_names_is_class(&inst->namer, object, "Object") : EP_NOT_YET;
	return r == 0 ? look_at_frames(inst) : r;
}

static int prove(void *instance)
{
	struct instance *inst = instance;
	int r = attach_look(look, inst, LAYOUT_LOOKS);

	fill_collector(inst);
	ruby_names_state(&inst->namer, &inst->state);
	if (r == 0 && inst->state.vm_unread)
		r = EP_NOT_YET;
	inst->state.unproven = r != 0;
	return r;
}

/* --- operations ------------------------------------------------------------------------------- */

/*
 * A JIT's code. That of MJIT (to 3.2) is in libraries with unwind rules. While there is no memory
 * for it, code that nobody knows yet is that of a library, which is about to be known.
 */
static int set_ranges(void *instance)
{
	static const struct ep_range jit = {
		.end = UINT64_MAX, .mode = EP_RANGE_ENTER, .flags = EP_RANGE_ANONYMOUS};
	struct instance *inst = instance;

	if (!inst->has_jit && inst->exe->layout.frame.jit_return)
		inst->has_jit = attach_has_anonymous_code(&inst->process);
	return attach_mark(&inst->process, inst->exe->code, inst->exe->n_code, &jit, inst->has_jit);
}

static const struct attach_language language = {
	.plugin = "ruby",
	.frames = "Ruby",
	.runtime = "Ruby",
	.prove = prove,
	.find_paths = find_path,
	.set_ranges = set_ranges,
	.state_off = offsetof(struct instance, state),
	.state_bytes = sizeof(struct ruby_state),
	.max_doubts = 64, /* a frame that is being made, on a slow machine */
};

void ruby_detach(void *instance)
{
	struct instance *inst = instance;

	ruby_namer_fini(&inst->namer);
	free(inst);
}

int ruby_attach(void *executable, struct ep_target *target, void **ret_instance)
{
	struct ruby_executable *exe = executable;
	struct instance *inst = attach_new(sizeof(*inst), &language, exe->host, target);
	int r;

	if (!inst)
		return -ENOMEM;
	inst->exe = exe;
	inst->process.major = (uint16_t)(exe->layout.release / 100);
	inst->process.minor = exe->layout.release % 100;
	inst->process.is_certain = exe->layout.release <= RUBY_NEWEST_KNOWN;
	fill_state(inst);
	fill_namer(inst);
	ruby_names_state(&inst->namer, &inst->state);
	r = ruby_namer_init(&inst->namer);
	if (r == 0)
		r = attach_arm(inst);
	return attach_give(r, inst, ruby_detach, ret_instance);
}

/* A process that has gone is still attached: what is remembered of it names frames. */
int ruby_refresh(void *instance)
{
	struct instance *inst = instance;
	int r = 0;

	if (inst->process.armed && !inst->has_jit)
		r = set_ranges(inst);
	if (r == 0)
		r = attach_arm(inst);
	return r == -ESRCH ? 0 : r;
}

int ruby_symbolize(void *instance, const struct ep_raw_frame *frame, struct ep_names *names)
{
	struct instance *inst = instance;
	int r;

	attach_prove_aside(inst);
	r = ruby_names_add(&inst->namer, frame, names);
	if (r == EP_FRAME_GONE)
		inst->exe->host->count(inst->process.target, RUBY_COUNT_GONE, 1);
	return r;
}
