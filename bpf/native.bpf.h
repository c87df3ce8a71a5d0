/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The native unwinder: for each frame find the mapping, the rule for the address, and from the
 * rule the caller's pc, sp and fp. Only sp and fp are followed through frames. The other registers
 * are known in the sampled frame and in one interrupted by a signal, and from there on as long as
 * no frame changes them (bpf/rule.h).
 */
#ifndef EP_BPF_NATIVE_H
#define EP_BPF_NATIVE_H

#include "bpf/remembered.bpf.h"
#include "bpf/resume.bpf.h"
#include "bpf/uretprobe.bpf.h"

/*
 * Frames in one run; ep_config.frames_per_run lowers it where the verifier refuses. A frame is
 * about 250 instructions and two search loops.
 */
#define EP_MAX_FRAMES_PER_RUN 64
#define EP_ROW_STEPS	      15 /* EP_MAX_ROWS is below 2^14 */
#define EP_DELTA_STEPS	      13 /* a page has at most 2^12 deltas */

/* x86-64 user addresses end below 2^47, with 5-level tables below 2^56. */
#define USER_LIMIT (1ULL << 56)

/*
 * Keys of maps have 32 bits, the lower half of what is on the stack here: the verifier keeps in
 * mind what lies in each eight bytes of it, and only a write to all of them makes it forget. With
 * halves that are written in turn it takes what is the same state for many.
 */

/* First byte of a chunk, or NULL. The chunk's size is EP_CHUNK_BYTES. */
static __always_inline __u8 *get_chunk(__u32 ref)
{
	__u64 index = EP_REF_CHUNK(ref), zero = 0;
	void *chunk = bpf_map_lookup_elem(&ep_chunks, &index);

	if (!chunk)
		return NULL;
	return bpf_map_lookup_elem(chunk, &zero);
}

static __always_inline const struct ep_row *row_at(const __u8 *chunk, __u32 base, __u32 index)
{
	__u32 word = (base + index * (sizeof(struct ep_row) / 4)) & (EP_CHUNK_WORDS - 8);

	return (const struct ep_row *)(chunk + (__u64)word * 4);
}

/*
 * The last row with start <= addr, copied to rec->row. The search keeps [lo, lo + len) and halves
 * len alike on both outcomes; lo starts as a zero the verifier does not know to be one, so that
 * the states of all rounds look the same to it.
 */
static __always_inline bool find_row(struct ep_core_record *rec, __u64 addr)
{
	__u32 lo = rec->zero, len = rec->walk.core.n_rows, base = EP_REF_WORD(rec->walk.core.rows);
	const struct ep_row *row;
	__u8 *chunk;

	if (addr - rec->row.start < rec->row.end - rec->row.start)
		return true;
	chunk = get_chunk(rec->walk.core.rows);
	if (!chunk || !len)
		return false;
	for (__u32 i = 0; i < EP_ROW_STEPS; i++) {
		__u32 half = len >> 1;

		if (!half)
			break;
		row = row_at(chunk, base, lo + half);
		lo += half * (__u32)not_above(row->start, addr);
		len -= half;
	}
	row = row_at(chunk, base, lo);
	if (addr < row->start || addr >= row->end)
		return false;
	rec->row = *row;
	return true;
}

static __always_inline __u32 delta_at(const __u8 *chunk, __u32 base, __u32 index)
{
	return *(const __u32 *)(chunk + (__u64)((base + index) & (EP_CHUNK_WORDS - 1)) * 4);
}

/* The rule that holds at `va` in the current row. */
static __always_inline __u32 find_rule(struct ep_core_record *rec, __u64 va)
{
	const struct ep_row *row = &rec->row;
	__u32 index = (__u32)((va >> EP_PAGE_SHIFT) - (row->va >> EP_PAGE_SHIFT));
	__u32 word = (EP_REF_WORD(row->pages) + index * 2) & (EP_CHUNK_WORDS - 2);
	__u32 key = ((__u32)va & (EP_PAGE_BYTES - 1)) << 20 | 0xfffff;
	__u32 lo = rec->zero, len, ref;
	__u8 *chunk = get_chunk(row->pages);
	__u64 page;

	if (!chunk)
		return EP_RULE_NONE;
	page = *(const __u64 *)(chunk + (__u64)word * 4);
	len = EP_PAGE_COUNT(page);
	ref = EP_PAGE_REF(page);
	if (!len)
		return ref;
	chunk = get_chunk(ref);
	if (!chunk)
		return EP_RULE_NONE;
	/* The last delta with an offset at or below ours; the first one has offset 0. */
	for (__u32 i = 0; i < EP_DELTA_STEPS; i++) {
		__u32 half = len >> 1;

		if (!half)
			break;
		lo += half * (__u32)not_above(delta_at(chunk, ref, lo + half), key);
		len -= half;
	}
	return EP_DELTA_RULE(delta_at(chunk, ref, lo));
}

/*
 * No rule: the caller's fp and return address are where fp points, if the function keeps one. fp 0
 * ends such a chain; but where nothing was found that way yet it may as well be a plain register.
 */
static __always_inline __u32 plan_frame_pointer(struct ep_core_record *rec, __u32 error,
						    struct ep_plan *plan)
{
	struct ep_walk *walk = &rec->walk;
	__u64 fp = walk->regs[EP_REG_FP];

	if (fp == 0 && walk->by_pointer && !rec->guessed && error == EP_ERROR_BAD_FRAME_POINTER)
		return STEP_ROOT;
	if (fp < walk->regs[EP_REG_SP] || (fp & 7) || fp >= USER_LIMIT)
		return error;
	plan->cfa = fp + 16;
	plan->fp_addr = fp;
	plan->pc_addr = fp + 8;
	plan->by_pointer = 1;
	plan->keeps = EP_KNOWN_ALWAYS;
	return STEP_AGAIN;
}

/* A DWARF register of the current frame. False when its value was not kept. */
static __always_inline bool get_reg(const struct ep_walk *walk, __u32 reg, __u64 *value)
{
	*value = walk->regs[reg & 15];
	return walk->known_regs >> (reg & 31) & 1;
}

static __always_inline __u32 plan_table_cfa(struct ep_core_record *rec, const struct ep_rule *rule,
						__u64 *cfa)
{
	__u64 base;

	if (!get_reg(&rec->walk, rule->cfa_reg, &base))
		return EP_ERROR_BAD_REGISTER;
	base += (__s64)rule->cfa_off;
	if (rule->cfa_kind == EP_CFA_PLT && (rec->walk.pc & 15) >= (__u32)rule->cfa_add)
		base += 8;
	if (rule->cfa_kind == EP_CFA_DEREF || rule->cfa_kind == EP_CFA_DEREF_TWICE) {
		rec->stack_reads++;
		if (bpf_probe_read_user(&base, sizeof(base), (void *)base))
			return EP_ERROR_BAD_READ;
	}
	if (rule->cfa_kind == EP_CFA_DEREF_TWICE) {
		rec->stack_reads++;
		if (bpf_probe_read_user(&base, sizeof(base), (void *)(base + EP_CFA_ADD_BETWEEN(rule->cfa_add))))
			return EP_ERROR_BAD_READ;
		base += EP_CFA_ADD_AFTER(rule->cfa_add);
	} else if (rule->cfa_kind == EP_CFA_DEREF) {
		base += (__s64)rule->cfa_add;
	}
	*cfa = base;
	return STEP_AGAIN;
}

static __always_inline bool plan_table_fp(struct ep_core_record *rec, const struct ep_rule *rule,
					  struct ep_plan *plan)
{
	__u64 base = plan->cfa;

	if (rule->fp_kind == EP_REG_SAME)
		return true;
	if (rule->fp_kind == EP_REG_IN_REG)
		return get_reg(&rec->walk, rule->fp_reg, &plan->fp);
	if (rule->fp_kind == EP_REG_UNDEFINED)
		plan->fp = 0;
	else if (rule->fp_kind == EP_REG_IS_CFA)
		plan->fp = base + (__s64)rule->fp_off;
	else if (rule->fp_kind == EP_REG_AT_REG && !get_reg(&rec->walk, rule->fp_reg, &base))
		return false;
	else
		plan->fp_addr = base + (__s64)rule->fp_off;
	return true;
}

/* The next frame is that of the function which this code runs in; what is between them is not known. */
static __always_inline __u32 plan_outer(struct ep_core_record *rec, const struct ep_rule *rule,
					struct ep_plan *plan)
{
	plan->pc = (__u32)rule->ra_off + rec->row.start - rec->row.va;
	rec->has_gap = 1;
	return ep_push_words(&rec->record, EP_FRAME_HEADER(EP_FRAME_GAP, 0, 0, EP_ERROR_BAD_FRAME_POINTER), 0, 0, 0, 0)
		       ? STEP_AGAIN
		       : EP_ERROR_TOO_DEEP;
}

/* A rule that did not fit into its delta. */
static __always_inline __u32 plan_table(struct ep_core_record *rec, __u32 number, struct ep_plan *plan)
{
	__u64 index = number - EP_RULE_FIRST_TABLE; /* a key: see get_chunk */
	const struct ep_rule *rule = bpf_map_lookup_elem(&ep_rules, &index);
	__u32 error;

	if (!rule)
		return EP_ERROR_UNSUPPORTED_RULE;
	if (rule->ra_kind == EP_REG_UNDEFINED)
		return STEP_ROOT;
	error = plan_table_cfa(rec, rule, &plan->cfa);
	if (error)
		return error;
	if (!plan_table_fp(rec, rule, plan))
		return EP_ERROR_BAD_REGISTER;
	plan->keeps = EP_KNOWN_ALWAYS | (rule->others >> 4 & 1) * EP_CALLEE_REGS |
		      (rule->others >> 5 & 1) * EP_CALLER_REGS;
	plan->base_reg = EP_OTHERS_REG(rule->others);
	plan->return_address = 1 - (rule->others >> 6 & 1);
	plan->switches = rule->others >> 7;
	if (rule->base_slot)
		plan->base_addr = plan->cfa - 8 * (__u64)rule->base_slot;
	if (rule->ra_kind == EP_REG_IS_CODE)
		return plan_outer(rec, rule, plan);
	if (rule->ra_kind != EP_REG_IN_REG)
		plan->pc_addr = plan->cfa + (__s64)rule->ra_off;
	else if (!get_reg(&rec->walk, rule->ra_reg, &plan->pc))
		return EP_ERROR_BAD_REGISTER;
	return STEP_AGAIN;
}

static __always_inline __u32 plan_immediate(struct ep_core_record *rec, __u32 rule,
						struct ep_plan *plan)
{
	struct ep_walk *walk = &rec->walk;
	__u32 slot = EP_RULE_FP_SLOT(rule);

	plan->cfa = (rule & EP_RULE_BASE_FP ? walk->regs[EP_REG_FP] : walk->regs[EP_REG_SP]) + EP_RULE_CFA_OFF(rule);
	plan->pc_addr = plan->cfa - 8;
	plan->keeps = EP_KNOWN_ALWAYS | EP_CALLER_REGS | (rule & EP_RULE_KEEPS) * EP_CALLEE_REGS;
	if (slot)
		plan->fp_addr = plan->cfa - 8 * (__u64)slot;
	return STEP_AGAIN;
}

static __always_inline __u32 plan_rule(struct ep_core_record *rec, __u32 rule, __u32 error,
					   struct ep_plan *plan)
{
	if (rule & EP_RULE_IMMEDIATE)
		return plan_immediate(rec, rule, plan);
	if (rule == EP_RULE_NONE)
		return plan_frame_pointer(rec, error, plan);
	if (rule == EP_RULE_STOP)
		return STEP_ROOT;
	if (rule == EP_RULE_UNSUPPORTED)
		return error == EP_ERROR_NO_MAPPING ? error : EP_ERROR_UNSUPPORTED_RULE;
	return plan_table(rec, rule, plan);
}

/*
 * vfork's child and parent return through the same stack, so it keeps its return address in a
 * register, and its frame is empty. Nothing else may be: a walk that does not get on does not end.
 */
static __always_inline bool may_stand(struct ep_core_record *rec, const struct ep_plan *plan)
{
	const struct ep_walk *walk = &rec->walk;

	if (plan->cfa != walk->regs[EP_REG_SP] || plan->pc_addr || !walk->interrupted ||
	    rec->stood)
		return false;
	rec->stood = 1;
	return true;
}

/*
 * The caller is on another stack, which may lie lower. sp cannot tell where that ends, so the switches are counted; and
 * no two frames have one CFA: a switch is compared with the one whose number was the last power of two, which finds
 * each cycle (Brent's algorithm).
 */
static __always_inline bool may_switch(struct ep_core_record *rec, __u64 cfa)
{
	__u32 n = rec->walk.core.switches;

	if (n >= EP_MAX_SWITCHES || cfa == rec->switch_cfa)
		return false;
	if (!(n & (n - 1)))
		rec->switch_cfa = cfa;
	rec->walk.core.switches = n + 1;
	if (rec->may_resume)
		forget_bound(rec);
	return true;
}

/*
 * A caller's frame is above its callee's, unless they are on two stacks: then rules lead from one to the other. So it
 * is with OCaml 5's fibers, Rust's psm and stacker, Boost.Context, and whoever calls a function on a stack of its own.
 * Where a frame pointer was followed without a rule, rules may start from a register that is none.
 */
static __always_inline bool makes_progress(struct ep_core_record *rec, const struct ep_plan *plan)
{
	__u64 sp = rec->walk.regs[EP_REG_SP];

	if (plan->switches)
		return may_switch(rec, plan->cfa);
	if (plan->cfa > sp)
		return true;
	if (plan->cfa < sp && !plan->by_pointer && !rec->pointer_frames)
		return may_switch(rec, plan->cfa);
	return may_stand(rec, plan);
}

/* Makes the caller's registers the current ones. The lower address is read first: the window is
 * read upwards from it. */
static __always_inline __u32 follow_plan(struct ep_core_record *rec, struct ep_plan *plan)
{
	struct ep_walk *walk = &rec->walk;

	if (!makes_progress(rec, plan))
		return EP_ERROR_NO_PROGRESS;
	if (is_behind_bound(rec, plan->cfa))
		return EP_ERROR_BAD_FRAME_POINTER;
	if (plan->fp_addr && !read_stack(rec, plan->fp_addr, &plan->fp))
		return EP_ERROR_BAD_READ;
	if (plan->pc_addr && !read_stack(rec, plan->pc_addr, &plan->pc))
		return EP_ERROR_BAD_READ;
	if (plan->by_pointer) {
		/*
		 * A caller that has a rule may keep anything in its fp; the look-up of its pc then
		 * tells whether it is code. Where nothing can be looked up the chain must ascend.
		 */
		if (plan->pc < EP_PAGE_BYTES || plan->pc >= USER_LIMIT ||
		    (!rec->known && plan->fp && plan->fp < plan->cfa))
			return rec->place.error;
		begin_doubt(rec);
		rec->leaf_sp = walk->regs[EP_REG_SP] & -(__u64)walk->interrupted;
		rec->leaf_fp = walk->regs[EP_REG_FP];
		rec->guessed = 0;
	}
	walk->by_pointer = plan->by_pointer;
	rec->pointer_frames += plan->by_pointer;
	walk->pc = plan->pc;
	walk->regs[EP_REG_SP] = plan->cfa;
	walk->regs[EP_REG_FP] = plan->fp;
	walk->return_address = plan->return_address;
	walk->interrupted = 0;
	walk->known_regs &= plan->keeps;
	if (plan->base_addr) {
		rec->stack_reads++;
		if (bpf_probe_read_user(&walk->regs[plan->base_reg & 15], 8,
					(void *)plan->base_addr) == 0)
			walk->known_regs |= 1u << (plan->base_reg & 15);
	}
	return plan->pc ? STEP_AGAIN : STEP_ROOT; /* some runtimes end a stack with 0 */
}

static __always_inline __u32 step_rule(struct ep_core_record *rec, __u32 rule, __u32 error)
{
	struct ep_plan *plan = &rec->plan;
	__u32 step;

	plan->fp = rec->walk.regs[EP_REG_FP];
	plan->fp_addr = 0;
	plan->pc_addr = 0;
	plan->base_addr = 0;
	plan->by_pointer = 0;
	plan->return_address = 1;
	plan->switches = 0;
	step = plan_rule(rec, rule, error, plan);
	return step == STEP_AGAIN ? follow_plan(rec, plan) : step;
}

/* Stack at the return from a handler: struct rt_sigframe without pretcode; uc_mcontext is at 40 of
 * struct ucontext, in the order of struct sigcontext_64 (arch/x86/include/uapi/asm/sigcontext.h). */
#define SIGNAL_REGS_OFF 40
static __always_inline __u32 step_signal(struct ep_core_record *rec)
{
	/* DWARF numbers of r8-r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp. */
	static const __u8 order[] = {8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7};
	struct ep_walk *walk = &rec->walk;
	__u64 *gregs = rec->window;

	rec->window_base = ~0ULL;
	rec->stack_reads++;
	if (bpf_probe_read_user(gregs, EP_REGS * 8, (void *)(walk->regs[EP_REG_SP] + SIGNAL_REGS_OFF)))
		return EP_ERROR_BAD_READ;
#pragma unroll
	for (__u32 i = 0; i < sizeof(order); i++)
		walk->regs[order[i]] = gregs[i];
	walk->pc = gregs[16];
	walk->return_address = 0;
	walk->interrupted = 1;
	walk->by_pointer = 0;
	walk->known_regs = EP_KNOWN_ALL;
	return STEP_AGAIN;
}

/* mov $15, %rax; syscall: rt_sigreturn. musl's restorer has no unwind rule. */
static __always_inline bool is_sigreturn(struct ep_core_record *rec)
{
	__u64 code = 0;

	rec->stack_reads++;
	return bpf_probe_read_user(&code, sizeof(code), (void *)rec->walk.pc) == 0 &&
	       code == 0x0f0000000fc0c748ULL;
}

/* Looks the current pc up; at a return address, what counts is the call before it. */
static __always_inline void find_place(struct ep_core_record *rec, struct ep_place *place)
{
	struct ep_walk *walk = &rec->walk;
	__u64 addr = walk->pc - walk->return_address;

	if (!find_row(rec, addr)) {
		place->owner = rec->takers ? EP_ROW_ANONYMOUS : 0;
		place->rule = EP_RULE_UNSUPPORTED;
		place->error = EP_ERROR_NO_MAPPING;
		return;
	}
	if (rec->row.pages == EP_PAGES_PENDING || rec->row.pages == EP_PAGES_DROPPED)
		place->error = EP_ERROR_NO_TABLES;
	if (rec->row.pages == EP_PAGES_GONE)
		place->error = EP_ERROR_FILE_GONE;
	place->owner = rec->row.executable & ~EP_ROW_MAX_ID;
	if (EP_ROW_ID(rec->row.executable)) {
		place->executable = EP_ROW_ID(rec->row.executable);
		place->word = walk->pc - rec->row.start + rec->row.va;
	}
	if (rec->row.pages > EP_PAGES_LAST)
		place->rule = find_rule(rec, addr - rec->row.start + rec->row.va);
	if (place->rule == EP_RULE_NONE && walk->return_address && is_sigreturn(rec))
		place->rule = EP_RULE_SIGNAL;
	remember(rec, addr, place);
}

/*
 * Native code that runs a language: that language's frames take the place of this one, whichever
 * of its instructions it is at. The language's program runs when the native stack is done.
 */
static __always_inline __u32 mark_frame(struct ep_core_record *rec, struct ep_place *place)
{
	__u32 slot = EP_ROW_SLOT(place->owner), pending = 0;

#pragma unroll
	for (__u32 i = 0; i < EP_MAX_LANGUAGES; i++)
		pending |= (__u32)not_above(rec->walk.core.slots[i] ^ slot, 0) << i;
	rec->walk.core.pending |= pending;
	place->word = rec->row.va;
	return slot << EP_FRAME_SLOT_SHIFT;
}

/* What user space does not know yet: the process, the mapping, or its tables. */
static __always_inline bool is_unknown(const struct ep_core_record *rec,
				       const struct ep_place *place)
{
	if (!rec->known || place->error == EP_ERROR_NO_MAPPING)
		return true;
	return place->error == EP_ERROR_NO_TABLES && rec->row.pages == EP_PAGES_PENDING;
}

/* Of the languages that take anonymous code, the next one's slot; 0: all were asked. */
static __always_inline __u32 next_taker(struct ep_core_record *rec)
{
	const struct ep_walk *walk = &rec->walk;
	__u32 left, slot = 0;

	if (walk->core.entered != EP_GIVEN_BACK)
		rec->offered = 0;
	left = rec->takers & ~rec->offered;
#pragma unroll
	for (__u32 i = 0; i < EP_MAX_LANGUAGES; i++) {
		if (left & 1u << i) {
			rec->offered |= 1u << i;
			slot = walk->core.slots[i];
			break;
		}
	}
	return slot;
}

/* The language that is to unwind this code, in place->owner. False: it is native, or was given back. */
static __always_inline bool find_unwinder(struct ep_core_record *rec, struct ep_place *place)
{
	__u32 slot = EP_ROW_SLOT(place->owner);

	if (!(place->owner & EP_ROW_ENTER))
		return false;
	if (slot != EP_ROW_SLOT_ANY)
		return rec->walk.core.entered != EP_GIVEN_BACK;
	slot = next_taker(rec);
	place->owner = slot << EP_ROW_SLOT_SHIFT | EP_ROW_ENTER;
	return slot != 0;
}

/* One frame: push it, then step to its caller. */
static __always_inline __u32 step_frame(struct ep_core_record *rec)
{
	struct ep_place *place = &rec->place;
	__u32 flags;

	if (may_be_trampoline(rec))
		return STEP_TRAMPOLINE;
	place->word = rec->walk.pc;
	place->executable = 0;
	place->owner = 0;
	place->rule = EP_RULE_NONE;
	place->error = rec->known ? EP_ERROR_BAD_FRAME_POINTER : EP_ERROR_NOT_ANALYSED;
	if (rec->known)
		find_place(rec, place);
	if (find_unwinder(rec, place))
		return STEP_ENTER;
	rec->walk.core.entered = 0;
	if (place->error == EP_ERROR_NO_MAPPING) {
		rec->sample.flags |= EP_SAMPLE_UNKNOWN_ADDRESS;
		/* Where a frame pointer led us to no code, it was none: do not show it. */
		if (rec->walk.by_pointer || is_doubtful(rec))
			return EP_ERROR_BAD_FRAME_POINTER;
	}
	if (!rec->no_copy && is_unknown(rec, place))
		return STEP_LATE;
	/*
	 * A known row without an executable is memory of no file, of which user space knows no
	 * more; it does of all others, whose errors differ.
	 */
	if (!place->executable && place->error != EP_ERROR_BAD_FRAME_POINTER)
		rec->sample.flags |= EP_SAMPLE_RAW;
	if (EP_ROW_SLOT(place->owner) && !(place->owner & EP_ROW_ENTER))
		flags = mark_frame(rec, place);
	else
		flags = frame_flags(rec) +
			(__u32)not_above(place->rule ^ EP_RULE_SIGNAL, 0) * EP_FRAME_SIGNAL;
	if (place->rule == EP_RULE_NONE && must_ask(rec))
		return STEP_ASK;
	if (!push_native(rec, flags, place->executable, place->word))
		return EP_ERROR_TOO_DEEP;
	if (place->rule == EP_RULE_SIGNAL)
		return step_signal(rec);
	return step_rule(rec, place->rule, place->error);
}

static __always_inline bool may_run_again(const struct ep_core_record *rec)
{
	return rec->walk.core.tail_calls < rec->walk.core.max_calls;
}

/* Frames that are marked may be where some are missing. */
static __always_inline void end_walk(void *ctx, struct ep_core_record *rec, __u32 step)
{
	rec->walk.core.entered = EP_NOT_ENTERED;
	if (step != STEP_ROOT)
		ep_push_error(&rec->record, step, rec->walk.pc);
	if (step != STEP_ROOT || (rec->may_resume && rec->has_gap))
		ep_ask_all(&rec->record);
	ep_next(ctx, &rec->record);
}

/*
 * What a copy of the stack needs besides it; ep_finish makes it when languages have pushed their
 * frames. Half of the ring is kept for samples without one. leaf_sp need not go along: an address
 * that a frame pointer led to and no mapping has is no reason for a copy.
 */
static __always_inline bool keep_walk(struct ep_core_record *rec)
{
	struct ep_copy *copy = &rec->copy;

	rec->no_copy = 1;
	if (!rec->walk.pc) /* a call through NULL: there is nothing to learn, and 0 says no copy */
		return false;
	if (bpf_ringbuf_query(&ep_ring, BPF_RB_AVAIL_DATA) > ep_config.ring_bytes / 2) {
		count(EP_COUNTER_COPIES_REFUSED);
		return false;
	}
	copy->pc = rec->walk.pc;
	copy->at_word = rec->sample.n_words;
	copy->known_regs = rec->walk.known_regs;
	copy->return_address = rec->walk.return_address;
	copy->by_pointer = rec->walk.by_pointer;
	copy->interrupted = rec->walk.interrupted;
	copy->stood = rec->stood;
	copy->guessed = rec->guessed;
	__builtin_memcpy(copy->slots, rec->walk.core.slots, sizeof(copy->slots));
	__builtin_memcpy(copy->regs, rec->walk.regs, sizeof(copy->regs));
	rec->sample.error = rec->place.error;
	ep_ask_all(&rec->record);
	return true;
}

#include "bpf/leaf.bpf.h"

/* What the run begins with: STEP_AGAIN, or how the walk has ended before. */
static __always_inline __u32 begin_run(struct ep_core_record *rec)
{
	__u32 entered = rec->walk.core.entered, step = rec->first_step;

	rec->first_step = STEP_AGAIN;
	if (entered)
		rec->walk.core.language_words += rec->sample.n_words - rec->walk.core.left_at;
	/* A language has unwound the frame that was interrupted. */
	if (entered == EP_ENTERED)
		rec->walk.interrupted = 0;
	if (rec->may_resume)
		step = resume(rec, step);
	if (entered >= EP_FAILED)
		rec->walk.core.entered = EP_NOT_ENTERED;
	return step;
}

SEC("perf_event")
int ep_native(struct bpf_perf_event_data *ctx)
{
	struct ep_core_record *rec = get_record();
	__u32 step;

	if (!rec)
		return 0;
	step = begin_run(rec);
	/*
	 * The counter is 64 bits wide: spilled as 32 bits it would share a stack slot with a map
	 * key, and the verifier forgets what else is in a slot that is partly written.
	 */
	for (__u64 i = 0; i < EP_MAX_FRAMES_PER_RUN; i++) {
		if (step != STEP_AGAIN || i >= ep_config.frames_per_run)
			break;
		step = step_remembered(rec);
		if (step == STEP_LONG)
			step = step_frame(rec);
	}
	if (step == EP_ERROR_BAD_FRAME_POINTER && guess_caller(rec))
		step = STEP_AGAIN;
	if (step == STEP_TRAMPOLINE) {
		leave_trampoline(rec);
		step = STEP_AGAIN;
	}
	if (step == STEP_LATE && keep_walk(rec)) {
		ep_next(ctx, &rec->record);
		return 0;
	}
	if (rec->may_resume && may_run_again(rec) && (step == STEP_ASK || has_failed(step))) {
		if (!rec->asked)
			ask_resumers(ctx, rec, step);
		if (step == STEP_ASK)
			step = STEP_AGAIN;
		if (rec->bound_pc) {
			rec->first_step = step;
			ep_go_to(ctx, &rec->record, EP_SLOT_NATIVE);
		}
	}
	/* Without a copy the walk goes on as far as it can: by frame pointers. */
	if ((step == STEP_AGAIN || step == STEP_LATE) && may_run_again(rec))
		ep_go_to(ctx, &rec->record, EP_SLOT_NATIVE);
	if (step == STEP_ENTER && may_run_again(rec)) {
		if (rec->may_resume)
			forget_bound(rec);
		rec->walk.core.entered = EP_ENTERED;
		rec->walk.core.left_at = rec->sample.n_words;
		ep_go_to(ctx, &rec->record, EP_ROW_SLOT(rec->place.owner));
		step = EP_ERROR_NO_TABLES; /* its program is not loaded */
	}
	if (step == STEP_AGAIN || step == STEP_ENTER || step == STEP_LATE || step == STEP_ASK)
		step = EP_ERROR_TAIL_CALLS;
	end_walk(ctx, rec, step);
	return 0;
}

#endif
