/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process. The offsets are those of the release; whether they hold is asked of each interpreter:
 * PL_defstash is a hash whose name is "main", PL_curstackinfo the first of a list of stackinfos
 * whose contexts can be read, and the ops have the numbers that the release gave them.
 *
 * Many a Perl lives for less time than it takes to find that out, so a process is armed at once, by
 * what its file says: BPF finds the main thread's interpreter by PL_curinterp, and asks the first
 * two questions at each sample itself, until they have been answered here (pl_state.unproven). Then
 * other threads are known, too.
 */
#include "plugins/perl/perl.h"
#include "plugins/perl/symbolize/names.h"
#include "plugins/shared/attach/attach.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_STACKS    64 /* stackinfos that are looked at */
#define LAYOUT_LOOKS  4
#define MAX_CONTEXTS  (1 << 24)
#define OP_NAME_BYTES 16

/* The newest release whose layout was read; later ones are looked at before they are walked. */
#define NEWEST_KNOWN 44

struct instance {
	struct attach process;
	const struct pl_executable *exe;
	struct pl_layout layout; /* with this build's op numbers */
	struct pl_namer namer;
	struct pl_state state;
	const struct pl_members *members; /* the file's variables, or the layout's */
	uint64_t interp_addr; /* the first one; 0: not known, or its members are variables */
	uint64_t defstash_addr; /* of the variable or member */
};

/* cop.h: struct stackinfo, up to si_cxmax. */
struct stackinfo {
	uint64_t stack, contexts, previous, next;
	int32_t index, max;
};

/* --- what the file says ----------------------------------------------------------------------- */

static void fill_layout(struct instance *inst)
{
	const struct pl_layout *layout = &inst->layout;
	struct pl_state *state = &inst->state;

	state->cx_bytes = layout->contexts.bytes;
	state->cx_sub_cv = layout->contexts.sub_cv;
	state->cx_eval_cv = layout->contexts.eval_cv;
	state->cx_eval_env = layout->contexts.eval_env;
	state->threads = layout->threads;
	state->aux_in_body = layout->aux_in_body;
	state->op_entersub = layout->ops.entersub;
	state->op_require = layout->ops.require;
	state->op_entereval = layout->ops.entereval;
}

/* Where a variable is; a member keeps its offset in the interpreter. */
static uint64_t find_member(const struct instance *inst, uint64_t member)
{
	return inst->exe->variables.op ? attach_addr(&inst->process, member) : member;
}

/* Members are those of the first interpreter, the main thread's: PL_curinterp points to it. */
static void fill_state(struct instance *inst)
{
	const struct pl_executable *exe = inst->exe;
	const struct pl_members *members =
		exe->variables.op ? &exe->variables : &exe->layout.members;
	struct pl_state *state = &inst->state;

	inst->members = members;
	state->unproven = 1;
	fill_layout(inst);
	state->op_off = find_member(inst, members->op);
	state->cop_off = find_member(inst, members->cop);
	state->stack_off = find_member(inst, members->stack);
	state->defstash_off = find_member(inst, members->defstash);
	state->dbsub_off = find_member(inst, members->dbsub);
	state->compiling_off = find_member(inst, members->compiling);
	if (exe->variables.op)
		return;
	state->holder_addr = attach_addr(&inst->process, exe->curinterp_va);
	state->holder_of_main = exe->key_va != 0;
}

static int find_interpreter(struct instance *inst)
{
	uint64_t incgv = find_member(inst, inst->members->incgv);
	uint64_t origfile = find_member(inst, inst->members->origfile);
	int r = 0;

	if (inst->state.holder_addr)
		r = attach_read(inst, inst->state.holder_addr, &inst->interp_addr,
				sizeof(inst->interp_addr));
	if (r < 0)
		return r;
	if (inst->state.holder_addr && !inst->interp_addr)
		return EP_NOT_YET;
	inst->defstash_addr = inst->interp_addr + inst->state.defstash_off;
	inst->namer.incgv_addr = incgv ? inst->interp_addr + incgv : 0;
	inst->namer.origfile_addr = origfile ? inst->interp_addr + origfile : 0;
	return 0;
}

/* The path of a thread. The key is made after PL_curinterp is set (perl.h: INIT_TLS_AND_INTERP). */
static int find_path(void *instance)
{
	struct instance *inst = instance;
	const struct pl_executable *exe = inst->exe;
	struct ep_tls path = {0};
	int r = -ENODATA;

	if (inst->state.unproven)
		return EP_NOT_YET;
	if (!exe->key_va || exe->variables.op)
		return 0;
	if (exe->has_context)
		r = exe->host->tls_variable(inst->process.target, exe->context_off, &path);
	if (r < 0)
		r = attach_key(&inst->process, exe->key_va, &path);
	if (r == 0)
		inst->state.interp = path;
	/* A C library that we do not know has a main thread all the same. */
	return r == -ENOTSUP ? 0 : r;
}

/* --- does the layout hold? -------------------------------------------------------------------- */

/* Outcomes of a look: 0, EP_NOT_YET, -ENOTSUP, or what reading returned. */
static int look_at_stacks(struct instance *inst, uint64_t stack)
{
	struct stackinfo info;
	uint8_t context;

	if (!stack)
		return EP_NOT_YET;
	for (uint32_t i = 0; stack && i < MAX_STACKS; i++) {
		if (attach_read(inst, stack, &info, sizeof(info)) < 0)
			return -ENOTSUP;
		if (info.index < -1 || info.index > info.max || info.max > MAX_CONTEXTS ||
		    attach_read(inst, info.contexts, &context, 1) < 0)
			return -ENOTSUP;
		stack = info.previous;
	}
	return 0;
}

static int look_at_members(void *instance)
{
	struct instance *inst = instance;
	uint64_t stack_addr = inst->interp_addr + inst->state.stack_off, stash, stack;
	char name[32];
	int r;

	r = attach_read(inst, inst->defstash_addr, &stash, sizeof(stash));
	if (r == 0)
		r = attach_read(inst, stack_addr, &stack, sizeof(stack));
	if (r < 0)
		return r;
	if (!stash)
		return EP_NOT_YET; /* not constructed yet, or destructed */
	r = pl_stash_name(&inst->namer, stash, name, sizeof(name));
	if (r < 0)
		return r == -ESRCH ? r : -ENOTSUP;
	return strcmp(name, "main") == 0 ? look_at_stacks(inst, stack) : -ENOTSUP;
}

static bool is_op(struct instance *inst, uint32_t number, const char *name)
{
	const struct pl_executable *exe = inst->exe;
	uint64_t names = attach_addr(&inst->process, exe->op_name_va), addr;
	char text[OP_NAME_BYTES];

	if (number >= exe->n_op_names ||
	    attach_read(inst, names + 8ull * number, &addr, sizeof(addr)) < 0)
		return false;
	return exe->host->target_string(inst->process.target, addr, text, sizeof(text)) == 0 &&
	       strcmp(text, name) == 0;
}

/* The release's number, or another one where PL_op_name says so; 0: there is none. */
static uint32_t find_op(struct instance *inst, uint32_t number, const char *name)
{
	for (uint32_t i = 0; i < inst->exe->n_op_names; i++) {
		uint32_t op = i ? i : number;

		if (is_op(inst, op, name))
			return op;
	}
	return 0;
}

static int check_ops(struct instance *inst)
{
	struct pl_ops *ops = &inst->layout.ops;

	if (!inst->exe->n_op_names)
		return 0;
	ops->entersub = find_op(inst, ops->entersub, "entersub");
	ops->require = find_op(inst, ops->require, "require");
	ops->entereval = find_op(inst, ops->entereval, "entereval");
	ops->nextstate = find_op(inst, ops->nextstate, "nextstate");
	ops->dbstate = find_op(inst, ops->dbstate, "dbstate");
	if (!ops->entersub || !ops->require || !ops->entereval || !ops->nextstate || !ops->dbstate)
		return -ENOTSUP;
	return 0;
}

/* --- operations ------------------------------------------------------------------------------- */

static int set_ranges(void *instance)
{
	const struct instance *inst = instance;

	return attach_mark(&inst->process, inst->exe->code, inst->exe->n_code, NULL, 0);
}

/* 0: all of it holds, EP_NOT_YET, -ENOTSUP, or what reading returned. */
static int prove(void *instance)
{
	struct instance *inst = instance;
	int r = find_interpreter(inst), gone;
	uint64_t stash;

	if (r == 0)
		r = attach_look(look_at_members, inst, LAYOUT_LOOKS);
	if (r == 0)
		r = check_ops(inst);
	if (r == 0)
		fill_layout(inst);
	inst->state.unproven = r != 0;
	/* What a process that ends has left to read proves nothing. */
	gone = r == -ENOTSUP ? attach_read(inst, inst->defstash_addr, &stash, sizeof(stash)) : 0;
	return gone < 0 ? gone : r;
}

static const struct attach_language language = {
	.plugin = "perl",
	.frames = "Perl",
	.runtime = "Perl",
	.prove = prove,
	.find_paths = find_path,
	.set_ranges = set_ranges,
	.state_off = offsetof(struct instance, state),
	.state_bytes = sizeof(struct pl_state),
};

void pl_detach(void *instance)
{
	struct instance *inst = instance;

	pl_namer_fini(&inst->namer);
	free(inst);
}

int pl_attach(void *executable, struct ep_target *target, void **ret_instance)
{
	const struct pl_executable *exe = executable;
	struct instance *inst = attach_new(sizeof(*inst), &language, exe->host, target);
	int r;

	if (!inst)
		return -ENOMEM;
	inst->exe = exe;
	inst->layout = exe->layout;
	inst->namer.host = exe->host;
	inst->namer.target = target;
	inst->namer.memory = (struct memory){.read = attach_read, .arg = inst};
	inst->namer.layout = &inst->layout;
	inst->process.major = 5;
	inst->process.minor = (uint16_t)inst->layout.minor;
	inst->process.is_certain = inst->layout.minor <= NEWEST_KNOWN;
	fill_state(inst);
	r = pl_namer_init(&inst->namer);
	if (r == 0)
		r = attach_arm(inst);
	return attach_give(r, inst, pl_detach, ret_instance);
}

int pl_symbolize(void *instance, const struct ep_raw_frame *frame, struct ep_names *names)
{
	struct instance *inst = instance;
	const struct ep_unwinder_host *host = inst->exe->host;
	bool placed = true;
	int r;

	attach_prove_aside(inst);
	r = pl_names_add(&inst->namer, frame, names, &placed);
	if (r == EP_FRAME_GONE)
		host->count(inst->process.target, PL_COUNT_GONE, 1);
	else if (r == 0 && !placed)
		host->count(inst->process.target, PL_COUNT_PLACE_GONE, 1);
	return r;
}
