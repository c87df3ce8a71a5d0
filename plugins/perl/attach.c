/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process. The offsets are those of the release; whether they hold is asked of each interpreter:
 * PL_defstash is a hash whose name is "main", PL_curstackinfo the first of a list of stackinfos whose
 * contexts can be read, and the ops have the numbers that the release gave them.
 *
 * Many a Perl lives for less time than it takes to find that out, so a process is armed at once, by
 * what its file says: BPF finds the main thread's interpreter by PL_curinterp, and asks the first two
 * questions at each sample itself, until they have been answered here (pl_state.unproven). Then
 * other threads are known, too.
 */
#include "plugins/perl/perl.h"
#include "plugins/perl/symbolize/names.h"

#include "core/base/util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_KEYS       4096 /* PTHREAD_KEYS_MAX is 1024 in glibc, 128 in musl */
#define MAX_STACKS     64   /* stackinfos that are looked at */
#define LAYOUT_LOOKS   4
#define LOOK_NS	       2000000 /* between two that failed */
#define MAX_CONTEXTS   (1 << 24)
#define OP_NAME_BYTES  16
#define MAX_COMPLETIONS 64 /* attempts made by the way, in symbolize */

/* The newest release whose layout was read; later ones are looked at before they are walked. */
#define NEWEST_KNOWN 44

struct instance {
	const struct pl_executable *exe;
	struct ep_target *target;
	struct pl_layout layout; /* with this build's op numbers */
	struct pl_names_cache *cache;
	struct pl_files *files;
	struct pl_state state;
	bool armed;    /* BPF has the state and the ranges */
	bool complete; /* nothing is left to find out */
	uint32_t completions;
	uint64_t interp_addr; /* the first one; 0: not known, or members are variables */
	uint64_t defstash_addr; /* of the variable or member */
	uint64_t incgv_addr;	/* the same, of PL_incgv: %INC */
	uint64_t origfile_addr;	/* of PL_origfilename */
};

/* cop.h: struct stackinfo, up to si_cxmax. */
struct stackinfo {
	uint64_t stack, contexts, previous, next;
	int32_t index, max;
};

static int read_target(const struct instance *inst, uint64_t addr, void *buf, size_t bytes)
{
	return inst->exe->host->target_read(inst->target, addr, buf, bytes);
}

static uint64_t target_addr(const struct instance *inst, uint64_t va)
{
	return va ? va + inst->exe->host->target_bias(inst->target) : 0;
}

/* --- what the file says ---------------------------------------------------------------------------- */

/* Members of the interpreter that PL_curinterp points to: the first one, which is the main thread's. */
static void fill_members(struct instance *inst)
{
	const struct pl_members *members = &inst->layout.members;
	struct pl_state *state = &inst->state;

	state->op_off = members->op;
	state->cop_off = members->cop;
	state->stack_off = members->stack;
	state->defstash_off = members->defstash;
	state->dbsub_off = members->dbsub;
	state->compiling_off = members->compiling;
	state->holder_addr = target_addr(inst, inst->exe->curinterp_va);
	state->holder_of_main = inst->exe->key_va != 0;
}

static void fill_variables(struct instance *inst)
{
	const struct pl_executable *exe = inst->exe;
	struct pl_state *state = &inst->state;

	state->op_off = target_addr(inst, exe->op_va);
	state->cop_off = target_addr(inst, exe->cop_va);
	state->stack_off = target_addr(inst, exe->stack_va);
	state->defstash_off = target_addr(inst, exe->defstash_va);
	state->dbsub_off = target_addr(inst, exe->dbsub_va);
	state->compiling_off = target_addr(inst, exe->compiling_va);
	inst->defstash_addr = state->defstash_off;
	inst->incgv_addr = target_addr(inst, exe->incgv_va);
	inst->origfile_addr = target_addr(inst, exe->origfile_va);
}

static void fill_layout(struct instance *inst)
{
	const struct pl_layout *layout = &inst->layout;
	struct pl_state *state = &inst->state;

	state->cx_bytes = layout->contexts.bytes;
	state->cx_sub_cv = layout->contexts.sub_cv;
	state->cx_eval_cv = layout->contexts.eval_cv;
	state->cx_eval_env = layout->contexts.eval_env;
	state->threads = layout->threads;
	state->op_entersub = layout->ops.entersub;
	state->op_require = layout->ops.require;
	state->op_entereval = layout->ops.entereval;
}

static void fill_state(struct instance *inst)
{
	inst->state.unproven = 1;
	fill_layout(inst);
	if (inst->exe->op_va)
		fill_variables(inst);
	else
		fill_members(inst);
}

/* --- where the interpreter is ------------------------------------------------------------------- */

static int find_interpreter(struct instance *inst)
{
	const struct pl_members *members = &inst->layout.members;
	int r;

	if (inst->exe->op_va)
		return 0;
	r = read_target(inst, inst->state.holder_addr, &inst->interp_addr,
			sizeof(inst->interp_addr));
	if (r < 0)
		return r;
	if (!inst->interp_addr)
		return EP_NOT_YET;
	inst->defstash_addr = inst->interp_addr + members->defstash;
	inst->incgv_addr = inst->interp_addr + members->incgv;
	inst->origfile_addr = inst->interp_addr + members->origfile;
	return 0;
}

static int key_path(const struct instance *inst, struct ep_tls *ret)
{
	int32_t key;
	int r = read_target(inst, target_addr(inst, inst->exe->key_va), &key, sizeof(key));

	if (r < 0)
		return r;
	if (key < 0 || key >= MAX_KEYS)
		return -ENODATA;
	return inst->exe->host->tls_key(inst->target, (uint32_t)key, ret);
}

/* Of a thread. The key is made after PL_curinterp is set (perl.h: INIT_TLS_AND_INTERP). */
static int find_path(struct instance *inst)
{
	const struct pl_executable *exe = inst->exe;
	struct ep_tls path = {0};
	int r = -ENODATA;

	if (!exe->key_va || exe->op_va)
		return 0;
	if (exe->has_context)
		r = exe->host->tls_variable(inst->target, exe->context_off, &path);
	if (r < 0)
		r = key_path(inst, &path);
	if (r == 0)
		inst->state.interp = path;
	return r == -ENODATA ? EP_NOT_YET : r;
}

/* --- does the layout hold? ---------------------------------------------------------------------- */

/* Outcomes of a look: 0, EP_NOT_YET, -ENOTSUP, or what reading said. */
static int look_at_stacks(const struct instance *inst, uint64_t stack)
{
	struct stackinfo info;
	uint8_t context;

	if (!stack)
		return EP_NOT_YET;
	for (uint32_t i = 0; stack && i < MAX_STACKS; i++) {
		if (read_target(inst, stack, &info, sizeof(info)) < 0)
			return -ENOTSUP;
		if (info.index < -1 || info.index > info.max || info.max > MAX_CONTEXTS ||
		    read_target(inst, info.contexts, &context, 1) < 0)
			return -ENOTSUP;
		stack = info.previous;
	}
	return 0;
}

static int look_at_members(const struct instance *inst)
{
	const struct pl_executable *exe = inst->exe;
	uint64_t stack_addr = inst->interp_addr + inst->state.stack_off, stash, stack;
	char name[32];
	int r;

	r = read_target(inst, inst->defstash_addr, &stash, sizeof(stash));
	if (r == 0)
		r = read_target(inst, stack_addr, &stack, sizeof(stack));
	if (r < 0)
		return r;
	if (!stash)
		return EP_NOT_YET; /* not constructed yet, or destructed */
	r = pl_stash_name(exe->host, inst->target, &inst->layout, stash, name, sizeof(name));
	if (r < 0)
		return r == -ESRCH ? r : -ENOTSUP;
	return strcmp(name, "main") == 0 ? look_at_stacks(inst, stack) : -ENOTSUP;
}

/* The target runs meanwhile: one look that fails proves nothing. */
static int check_members(const struct instance *inst)
{
	int r = -ENOTSUP;

	for (uint32_t i = 0; i < LAYOUT_LOOKS && r == -ENOTSUP; i++) {
		if (i)
			(void)nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
		r = look_at_members(inst);
	}
	return r;
}

static bool is_op(const struct instance *inst, uint32_t number, const char *name)
{
	char text[OP_NAME_BYTES];
	uint64_t addr;

	if (number >= inst->exe->n_op_names ||
	    read_target(inst, target_addr(inst, inst->exe->op_name_va) + 8ull * number, &addr,
			sizeof(addr)) < 0)
		return false;
	return inst->exe->host->target_string(inst->target, addr, text, sizeof(text)) == 0 &&
	       strcmp(text, name) == 0;
}

/* The release's number, or another one where PL_op_name says so; 0: there is none. */
static uint32_t find_op(const struct instance *inst, uint32_t number, const char *name)
{
	if (is_op(inst, number, name))
		return number;
	for (uint32_t i = 1; i < inst->exe->n_op_names; i++) {
		if (is_op(inst, i, name))
			return i;
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
	return ops->entersub && ops->require && ops->entereval && ops->nextstate && ops->dbstate
		       ? 0
		       : -ENOTSUP;
}

static void warn_layout(const struct instance *inst)
{
	inst->exe->host->host->log(EP_HOST_WARN,
				   "perl: pid %d: the structures of Perl 5.%u are not as expected: "
				   "its Perl frames are missing, native ones stay",
				   inst->exe->host->target_pid(inst->target), inst->layout.minor);
}

/* --- operations --------------------------------------------------------------------------------- */

static int set_ranges(const struct instance *inst)
{
	const struct pl_executable *exe = inst->exe;
	struct ep_range ranges[PL_MAX_CODE];

	for (uint32_t i = 0; i < exe->n_code; i++) {
		uint64_t start = target_addr(inst, exe->code[i].va);

		ranges[i] = (struct ep_range){
			.start = start,
			.end = start + exe->code[i].bytes,
			.mode = EP_RANGE_MARK,
		};
	}
	return exe->host->set_ranges(inst->target, ranges, exe->n_code);
}

/* 0: all of it holds, EP_NOT_YET, -ENOTSUP, or what reading said. */
static int prove(struct instance *inst)
{
	int r = find_interpreter(inst), gone;
	uint64_t stash;

	if (r == 0)
		r = check_members(inst);
	if (r == 0)
		r = check_ops(inst);
	if (r == 0)
		fill_layout(inst);
	inst->state.unproven = r != 0;
	/* What a process that ends has left to read proves nothing. */
	gone = r == -ENOTSUP ? read_target(inst, inst->defstash_addr, &stash, sizeof(stash)) : 0;
	return gone < 0 ? gone : r;
}

static int tell(struct instance *inst)
{
	int r = inst->exe->host->set_state(inst->target, &inst->state, sizeof(inst->state));

	if (r == 0 && !inst->armed)
		r = set_ranges(inst);
	inst->armed = inst->armed || r == 0;
	return r;
}

/*
 * 0, EP_NOT_YET (more may be known later), -ENOTSUP, or a negative errno. While names are looked for
 * (aside), a layout that does not hold is that of a process that ends.
 */
static int complete(struct instance *inst, bool aside)
{
	int proof = prove(inst), path = proof == 0 ? find_path(inst) : EP_NOT_YET, r;

	if (proof == -ENOTSUP && !aside) {
		warn_layout(inst);
		return proof;
	}
	if (proof == -ESRCH || (proof != 0 && inst->layout.minor > NEWEST_KNOWN))
		return proof;
	r = tell(inst);
	if (r < 0)
		return r;
	/* A C library that we do not know has a main thread all the same. */
	inst->complete = proof == 0 && (path == 0 || path == -ENOTSUP);
	return inst->complete ? 0 : EP_NOT_YET;
}

static int attach(struct instance *inst)
{
	int r = pl_names_cache_new(0, &inst->cache);

	if (r == 0)
		r = pl_files_new(&inst->files);
	if (r < 0)
		return r;
	fill_state(inst);
	r = complete(inst, false);
	/* What is armed is attached: its samples ask for the rest. */
	return r == EP_NOT_YET && inst->armed ? 0 : r;
}

static void instance_free(struct instance *inst)
{
	if (!inst)
		return;
	pl_names_cache_free(inst->cache);
	pl_files_free(inst->files);
	free(inst);
}

int pl_attach(void *executable, struct ep_target *target, void **ret_instance)
{
	struct instance *inst = calloc(1, sizeof(*inst));
	int r;

	if (!inst)
		return -ENOMEM;
	inst->exe = executable;
	inst->target = target;
	inst->layout = inst->exe->layout;
	r = attach(inst);
	if (r != 0) {
		instance_free(inst);
		return r;
	}
	*ret_instance = inst;
	return 0;
}

/* A process that has gone is still attached: what is remembered of it names frames. */
int pl_refresh(void *instance)
{
	struct instance *inst = instance;
	int r = inst->complete ? 0 : complete(inst, false);

	return r == -ESRCH ? 0 : r;
}

int pl_symbolize(void *instance, const struct ep_raw_frame *frame, struct ep_names *names)
{
	struct instance *inst = instance;
	const struct ep_unwinder_host *host = inst->exe->host;
	bool placed = true;
	int r;

	if (!inst->complete && inst->completions++ < MAX_COMPLETIONS)
		(void)complete(inst, true);
	r = pl_names_add(&(struct pl_namer){
				 .host = host,
				 .target = inst->target,
				 .layout = &inst->layout,
				 .cache = inst->cache,
				 .files = inst->files,
				 .incgv_addr = inst->incgv_addr,
				 .origfile_addr = inst->origfile_addr,
			 },
			 frame, names, &placed);
	if (r == EP_FRAME_GONE)
		host->count(inst->target, PL_COUNT_GONE, 1);
	else if (r == 0 && !placed)
		host->count(inst->target, PL_COUNT_PLACE_GONE, 1);
	return r;
}

void pl_detach(void *instance)
{
	instance_free(instance);
}
