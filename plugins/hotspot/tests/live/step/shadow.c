/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who called whom, from the instructions that were executed. An entry is a return address and the
 * slot where it lies. Beside call and ret, HotSpot's code does this with it:
 *
 *	adapters, interpreter's entries	pop it, move sp, push it again (i2c of some releases reads
 *					it and pushes a copy further down)
 *	interpreter			pushes an entry of its own, then jumps to the method; leaves
 *					a method by pop and jump
 *	exceptions			pop it, jump to a handler in the caller
 *	exception blob			is jumped to, and pushes rdx, where the exception was thrown
 *	deoptimization			replaces it by the address of a handler
 *
 * (src/hotspot/cpu/x86: sharedRuntime_x86_64.cpp, templateInterpreterGenerator_x86.cpp,
 * interp_masm_x86.cpp, stubGenerator_x86_64.cpp, runtime_x86_64.cpp, 8 to 27.) What does not fit
 * ends what is known: sp above a slot whose address nobody took. The first frame of a stretch was
 * called before: its caller is known when it returns.
 */
#include "core/base/log.h"
#include "plugins/hotspot/tests/live/step/step.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define MAX_CALLERS (4u << 20)
#define PUSH_RBX    0x53
#define PUSH_RDX    0x52

enum op { OP_OTHER, OP_CALL, OP_RET, OP_PUSH, OP_POP, OP_JUMP };

/* Intel SDM volume 2, appendix A: one-byte opcodes; of group 5 (ff) the reg field says which. */
static enum op op_of(const uint8_t *code)
{
	static const enum op groups[8] = {[2] = OP_CALL, [4] = OP_JUMP, [6] = OP_PUSH};
	size_t i = 0;

	while (i < 4 && (memchr("\x66\xf2\xf3\x2e\x3e\x64\x65", code[i], 7) ||
			 (code[i] & 0xf0) == 0x40))
		i++;
	if (code[i] == 0xe8)
		return OP_CALL;
	if (code[i] == 0xc3 || code[i] == 0xc2)
		return OP_RET;
	if ((code[i] & 0xf8) == 0x50 || code[i] == 0x68 || code[i] == 0x6a)
		return OP_PUSH;
	if ((code[i] & 0xf8) == 0x58 || code[i] == 0x8f)
		return OP_POP;
	return code[i] == 0xff ? groups[code[i + 1] >> 3 & 7] : OP_OTHER;
}

void shadow_init(struct shadow *shadow, struct tracee *tracee, struct blobs *blobs)
{
	*shadow = (struct shadow){.tracee = tracee, .blobs = blobs};
	ep_vec_init(&shadow->callers, sizeof(struct shadow_caller), MAX_CALLERS);
}

void shadow_fini(struct shadow *shadow)
{
	ep_vec_fini(&shadow->callers);
}

static int push(struct shadow *shadow, uint64_t addr, uint64_t slot, enum shadow_where where)
{
	struct shadow_caller *caller = ep_vec_push(&shadow->callers);

	if (!caller || shadow->n == SHADOW_MAX)
		return -E2BIG;
	*caller = (struct shadow_caller){addr, where == SHADOW_UNKNOWN ? FATE_UNKNOWN : FATE_OPEN};
	shadow->entries[shadow->n++] = (struct shadow_entry){
		.slot = slot,
		.caller = (uint32_t)shadow->callers.len - 1,
		.where = where,
	};
	return 0;
}

/* The frame that runs now was called before anything is known. `blob`: 0 if it is not sure. */
static int push_unknown(struct shadow *shadow, uint64_t blob)
{
	int r = push(shadow, 0, 0, SHADOW_UNKNOWN);

	if (r == 0)
		shadow_top(shadow)->blob = blob;
	return r;
}

static uint64_t blob_at(struct shadow *shadow, uint64_t addr)
{
	struct blob blob;

	return blobs_find(shadow->blobs, addr, &blob) ? blob.start : 0;
}

/* Compiled frames and stubs; in others a stretch may begin between two frames. */
static uint64_t sure_blob_at(struct shadow *shadow, uint64_t addr)
{
	struct blob blob;

	if (!blobs_find(shadow->blobs, addr, &blob) || blob.kind == BLOB_INTERPRETER ||
	    blob.kind == BLOB_ADAPTER || blob.kind == BLOB_DEOPT)
		return 0;
	return blob.start;
}

int shadow_begin(struct shadow *shadow)
{
	shadow->n = 0;
	shadow->pushed_at = 0;
	return push_unknown(shadow, sure_blob_at(shadow, shadow->tracee->regs.rip));
}

static void pop(struct shadow *shadow, enum fate fate)
{
	struct shadow_caller *caller = shadow_caller(shadow, shadow_top(shadow)->caller);

	if (caller->fate == FATE_OPEN)
		caller->fate = fate;
	shadow->n--;
}

static int forget(struct shadow *shadow)
{
	shadow->lost++;
	while (shadow->n > 0)
		pop(shadow, FATE_UNWOUND);
	shadow->pushed_at = 0;
	return push_unknown(shadow, 0);
}

/* Entries below sp are gone, and nobody returned to them. */
static int cut(struct shadow *shadow, uint64_t sp)
{
	bool is_cut = false;

	while (shadow_top(shadow)->where == SHADOW_AT_SLOT && shadow_top(shadow)->slot < sp) {
		pop(shadow, FATE_UNWOUND);
		is_cut = true;
	}
	return is_cut && shadow_top(shadow)->where == SHADOW_UNKNOWN ? forget(shadow) : 0;
}

/* The first frame returns: now its caller is known, if it is still the one that it was. */
static int return_from_unknown(struct shadow *shadow, uint64_t target, const struct blob *blob)
{
	const struct shadow_entry *top = shadow_top(shadow);

	if (top->blob && top->blob == blob->start)
		*shadow_caller(shadow, top->caller) = (struct shadow_caller){target, FATE_RETURNED};
	shadow->n = 0;
	return push_unknown(shadow, sure_blob_at(shadow, target));
}

static int step_return(struct shadow *shadow, uint64_t slot, const struct blob *blob)
{
	uint64_t target = shadow->tracee->regs.rip;
	int r = cut(shadow, slot);
	struct shadow_entry *top = shadow_top(shadow);

	if (r < 0)
		return r;
	if (top->where == SHADOW_UNKNOWN)
		return return_from_unknown(shadow, target, blob);
	shadow->returns++;
	if (top->slot != slot) {
		shadow->returns_elsewhere++;
		ep_log(EP_LOG_DEBUG, "shadow: ret at %#llx (%s) to %#" PRIx64 ", sp %#" PRIx64
		       " but slot %#" PRIx64, shadow->tracee->regs.rip, blob->name, target, slot,
		       top->slot);
		return top->where == SHADOW_IN_REGISTER ? forget(shadow) : 0;
	}
	pop(shadow, shadow_caller(shadow, top->caller)->addr == target ? FATE_RETURNED
								      : FATE_PATCHED);
	return 0;
}

/* MacroAssembler::call_VM calls what is after the next instruction, to have a pc of its own. */
static int step_call(struct shadow *shadow, uint64_t return_addr, const struct blob *blob)
{
	const struct user_regs_struct *regs = &shadow->tracee->regs;
	int r = push(shadow, return_addr, regs->rsp, SHADOW_AT_SLOT);

	if (r < 0)
		return r;
	shadow_top(shadow)->is_call_next = regs->rip == return_addr;
	shadow_top(shadow)->is_within = blob->kind == BLOB_INTERPRETER &&
					blob_at(shadow, regs->rip) == blob->start;
	return 0;
}

const struct shadow_entry *shadow_calling(const struct shadow *shadow, const struct blob *blob)
{
	size_t n = shadow->n - 1;

	while (n > 0 && blob->kind == BLOB_INTERPRETER && shadow->entries[n].is_within)
		n--;
	return &shadow->entries[n];
}

static void step_push(struct shadow *shadow, uint64_t value, const struct blob *blob)
{
	struct shadow_entry *top = shadow_top(shadow);
	uint64_t slot = shadow->tracee->regs.rsp;
	bool is_top = top->where != SHADOW_UNKNOWN &&
		      shadow_caller(shadow, top->caller)->addr == value;

	if (is_top && (top->where == SHADOW_IN_REGISTER || blob->kind == BLOB_ADAPTER)) {
		top->slot = slot;
		top->where = SHADOW_AT_SLOT;
	} else if (blob->kind == BLOB_INTERPRETER) {
		shadow->pushed = value;
		shadow->pushed_at = slot;
	}
}

static void step_pop(struct shadow *shadow, uint64_t slot)
{
	struct shadow_entry *top = shadow_top(shadow);

	if (top->where != SHADOW_AT_SLOT || top->slot != slot)
		return;
	if (top->is_call_next)
		shadow->n--;
	else
		top->where = SHADOW_IN_REGISTER;
}

/* The interpreter pushed where the method it jumps to will return to. */
static bool is_interpreter_call(const struct shadow *shadow, uint64_t sp, const struct blob *blob)
{
	return blob->kind == BLOB_INTERPRETER && shadow->pushed_at == sp &&
	       tracee_word(shadow->tracee, sp) == shadow->pushed;
}

static int step_jump(struct shadow *shadow, uint64_t sp, const struct blob *blob)
{
	const struct shadow_entry *top = shadow_top(shadow);
	uint64_t target = shadow->tracee->regs.rip;

	if (top->where == SHADOW_IN_REGISTER && blob->kind != BLOB_ADAPTER) {
		bool is_return = shadow_caller(shadow, top->caller)->addr == target;

		shadow->returns += is_return;
		pop(shadow, is_return ? FATE_RETURNED : FATE_THROWN);
		return shadow->n == 0 ? push_unknown(shadow, 0) : 0;
	}
	if (is_interpreter_call(shadow, sp, blob) && blob_at(shadow, shadow->pushed)) {
		uint64_t addr = shadow->pushed;

		shadow->pushed_at = 0;
		return push(shadow, addr, sp, SHADOW_AT_SLOT);
	}
	/* Out of the interpreter and of deoptimization, for a frame that was popped otherwise. */
	return blob->kind == BLOB_DEOPT ? forget(shadow) : 0;
}

/*
 * Compiled code, or in 28 the stub that found no handler in it, jumps to the exception blob with
 * the frame as it is; there rdx is pushed (OptoRuntime::generate_exception_blob,
 * runtime_x86_64.cpp, 8 to 27).
 */
static int enter_exception_blob(struct shadow *shadow, const struct blob *from)
{
	const struct user_regs_struct *regs = &shadow->tracee->regs;
	struct blob to;

	if (from->kind == BLOB_EXCEPTION || !blobs_find(shadow->blobs, regs->rip, &to) ||
	    to.kind != BLOB_EXCEPTION ||
	    (uint8_t)tracee_word(shadow->tracee, regs->rip) != PUSH_RDX)
		return 0;
	return push(shadow, regs->rdx, regs->rsp - 8, SHADOW_EXPECTED);
}

int shadow_step(struct shadow *shadow, const struct user_regs_struct *before, const uint8_t *code,
		const struct blob *blob)
{
	const struct user_regs_struct *regs = &shadow->tracee->regs;
	enum op op = op_of(code);
	int r = 0;

	if (op == OP_RET)
		return step_return(shadow, before->rsp, blob);
	if (op == OP_POP)
		step_pop(shadow, before->rsp);
	else if (op == OP_PUSH)
		step_push(shadow, tracee_word(shadow->tracee, regs->rsp), blob);
	else if (op == OP_CALL)
		r = step_call(shadow, tracee_word(shadow->tracee, regs->rsp), blob);
	else if (op == OP_JUMP)
		r = step_jump(shadow, before->rsp, blob);
	if (r == 0 && shadow_top(shadow)->where == SHADOW_EXPECTED &&
	    regs->rsp <= shadow_top(shadow)->slot)
		shadow_top(shadow)->where = SHADOW_AT_SLOT;
	if (r == 0)
		r = cut(shadow, regs->rsp);
	return r < 0 ? r : enter_exception_blob(shadow, blob);
}

void shadow_returned(struct shadow *shadow)
{
	shadow->returns++;
	pop(shadow, FATE_RETURNED);
}

/*
 * The handler of a safepoint poll lets the thread go on in a stub that makes itself a call from
 * where the poll was (SharedRuntime::generate_handler_blob, sharedRuntime_x86_64.cpp, 8 to 27): it
 * pushes rbx to make a slot, and stores the address there, or that of the next instruction. At a
 * return's poll (8, 11) the frame is gone, and the stub takes its return address. Else it is a
 * handler of the same frame, or not known.
 */
int shadow_moved(struct shadow *shadow, const struct user_regs_struct *before,
		 const struct blob *blob)
{
	const struct user_regs_struct *regs = &shadow->tracee->regs;
	struct blob to;

	if (!blobs_find(shadow->blobs, regs->rip, &to) || regs->rsp != before->rsp)
		return forget(shadow);
	if (to.start == blob->start)
		return 0;
	if (to.kind != BLOB_SAFEPOINT)
		return forget(shadow);
	if ((uint8_t)tracee_word(shadow->tracee, regs->rip) != PUSH_RBX)
		return 0;
	return push(shadow, before->rip, regs->rsp - 8, SHADOW_EXPECTED);
}
