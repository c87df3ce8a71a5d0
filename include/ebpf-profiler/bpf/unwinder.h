/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What the BPF side of a language unwinder is written with. One program:
 *
 *	#include "ebpf-profiler/bpf/unwinder.h"
 *	EP_UNWINDER();
 *
 *	SEC("perf_event")
 *	int toy_unwind(struct bpf_perf_event_data *ctx)
 *	{
 *		struct ep_record *rec = ep_get_record();
 *		const struct toy_state *state = rec ? ep_get_state(rec) : NULL;
 *		...
 *		ep_push_frame(rec, EP_FRAME_ENTRY, 0, word0, word1);
 *		...
 *		ep_next(ctx, rec);
 *		return 0;
 *	}
 *
 * Rules: loops have constant bounds; when one runs out, ep_run_again jumps to the program's start,
 * with what it must remember in a per-CPU map of its own (EP_SCRATCH). Every read of the target
 * may fail and gives what the target wants us to see. Only the maps declared here and maps of its
 * own are used; names of programs and maps have at most 15 characters.
 */
#ifndef EP_BPF_UNWINDER_H
#define EP_BPF_UNWINDER_H

#include "ebpf-profiler/bpf/base.h"
#include "ebpf-profiler/bpf/code.h"
#include "ebpf-profiler/bpf/frames.h"
#include "ebpf-profiler/bpf/record.h"
#include "ebpf-profiler/bpf/self.h"
#include "ebpf-profiler/bpf/tls.h"

#include "ebpf-profiler/bpf/internal/language.h"

extern const volatile struct ep_self ep_self;
#define EP_UNWINDER()                                                                              \
	const volatile struct ep_self ep_self SEC(EP_SELF_SECTION) = {.bpf_abi = EP_BPF_ABI};                       \
	char LICENSE[] SEC("license") = "GPL"

/* --- the record ------------------------------------------------------------------------------- */

static __always_inline struct ep_record *ep_get_record(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&ep_records, &zero);
}

/* What user space says of this process: at least EP_STATE_BYTES. NULL: nothing (yet). */
static __always_inline const void *ep_get_state(const struct ep_record *rec)
{
	__u32 index = 0;

	for (__u32 i = 0; i < EP_MAX_LANGUAGES; i++) {
		if (rec->walk.core.slots[i] == ep_self.slot)
			index = rec->walk.core.states[i];
	}
	return index ? bpf_map_lookup_elem(&ep_states, &index) : NULL;
}

/*
 * State of the program itself that survives tail calls: a per-CPU map of one struct, which begins with
 * a __u64 `sequence`, and ep_get_scratch(). It is zeroed for each sample: all of it, or up to a member;
 * what begins there stays as it is from sample to sample, such as buffers and tables.
 */
#define EP_SCRATCH(struct_type) EP_SCRATCH_OF(struct_type, sizeof(struct_type))
#define EP_SCRATCH_UP_TO(struct_type, member) EP_SCRATCH_OF(struct_type, offsetof(struct_type, member))

#define EP_SCRATCH_OF(struct_type, zeroed_bytes)							   \
	struct {										   \
		__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);					   \
		__uint(max_entries, 1);								   \
		__type(key, __u32);								   \
		__type(value, struct_type);							   \
	} ep_scratch SEC(".maps");								   \
	static __always_inline struct_type *ep_get_scratch(const struct ep_record *rec)		   \
	{											   \
		__u32 zero = 0;									   \
		struct_type *scratch = bpf_map_lookup_elem(&ep_scratch, &zero);			   \
												   \
		if (scratch && scratch->sequence != rec->walk.sequence) {			   \
			__builtin_memset(scratch, 0, zeroed_bytes);					   \
			scratch->sequence = rec->walk.sequence;					   \
		}										   \
		return scratch;									   \
	}

/* --- frames ---------------------------------------------------------------------------------- */

/* Adds a frame of this language. `flags`: EP_FRAME_ENTRY, EP_FRAME_INTERRUPTED, bits of its own. */
static __always_inline bool ep_push_frame(struct ep_record *rec, __u32 flags, __u32 aux,
					  __u64 word0, __u64 word1)
{
	return ep_push_words(rec, EP_FRAME_HEADER(ep_self.kind, flags, 2, aux), 2, word0, word1, 0);
}

/* Where the header of the frame that is pushed next will be, for ep_add_flags. */
static __always_inline __u64 ep_next_header(const struct ep_record *rec)
{
	return rec->sample.n_kernel + rec->sample.n_words;
}

/* More is known of a frame than when it was pushed: flags of the language's own. False: it has them. */
static __always_inline bool ep_add_flags(struct ep_record *rec, __u64 header_at, __u32 flags)
{
	__u64 added = (__u64)flags << 8;

	if (header_at > EP_RECORD_WORDS - 1 || rec->words[header_at] & added)
		return false;
	rec->words[header_at] |= added;
	rec->sample.flags |= EP_SAMPLE_ADDED;
	rec->walk.core.hash = ep_hash_word(rec->walk.core.hash, added);
	return true;
}

/* The frame that was pushed last, its header and its word; NULL: it has another number of words. */
static __always_inline const __u64 *ep_last_frame_of_a_word(const struct ep_record *rec)
{
	__u64 at = ep_next_header(rec) - 2;

	EP_OPAQUE(at);
	if (rec->sample.n_words < 2 || at > EP_RECORD_WORDS - 2 || EP_FRAME_WORDS(rec->words[at]) != 1)
		return NULL;
	return rec->words + at;
}

/* Takes that frame back, as if it had not been pushed. */
static __always_inline void ep_take_back(struct ep_record *rec, const __u64 *frame)
{
	rec->walk.core.hash = ep_unhash_word(ep_unhash_word(rec->walk.core.hash, frame[1]), frame[0]);
	rec->sample.n_words -= 2;
	rec->sample.n_frames--;
	if (EP_FRAME_KIND(frame[0]) == EP_FRAME_NATIVE)
		rec->walk.core.left_at -= 2;
}

/*
 * The record as it is now, for ep_go_back: frames that were pushed since then are taken back, native ones too,
 * as if they had not been pushed. Both in the program that is entered.
 */
struct ep_mark {
	__u64 hash;
	__u32 n_words, n_frames, left_at, language_words;
};

static __always_inline void ep_set_mark(const struct ep_record *rec, struct ep_mark *mark)
{
	mark->hash = rec->walk.core.hash;
	mark->n_words = rec->sample.n_words;
	mark->n_frames = rec->sample.n_frames;
	mark->left_at = rec->walk.core.left_at;
	mark->language_words = rec->walk.core.language_words;
}

static __always_inline void ep_go_back(struct ep_record *rec, const struct ep_mark *mark)
{
	rec->walk.core.hash = mark->hash;
	rec->sample.n_words = mark->n_words;
	rec->sample.n_frames = mark->n_frames;
	rec->walk.core.left_at = (__u16)mark->left_at;
	rec->walk.core.language_words = (__u16)mark->language_words;
}

/* --- going on and counting -------------------------------------------------------------------- */

/*
 * Runs this program from its start, and does not come back; it does when no tail call is left:
 * then push EP_ERROR_TAIL_CALLS. Where ep_push_frame returns false, push EP_ERROR_TOO_DEEP: a stack
 * that ends without an error counts as complete.
 */
static __always_inline void ep_run_again(void *ctx, struct ep_record *rec)
{
	/* Some are kept for those whose frames are pushed after the native ones. */
	__u32 max = rec->walk.core.entered == EP_ENTERED ? rec->walk.core.max_calls : EP_MAX_TAIL_CALLS;

	if (rec->walk.core.tail_calls < max)
		ep_go_to(ctx, rec, ep_self.slot);
}

/*
 * What user space reported of this process is not true any more, or not all: its languages'
 * refresh.
 */
static __always_inline void ep_ask_refresh(struct ep_record *rec)
{
	rec->sample.flags |= EP_SAMPLE_REFRESH;
}

/*
 * Code of this sample lives for a moment only (an eval, a script of one request): its new frames are
 * kept (keeper.h) as those of a recently started program are.
 */
static __always_inline void ep_ask_keep(struct ep_record *rec)
{
	rec->sample.flags |= EP_SAMPLE_KEEP;
}

static __always_inline void ep_count(__u32 counter)
{
	__u32 index = ep_self.first_counter + counter;
	__u64 *value = bpf_map_lookup_elem(&ep_lang_counts, &index);

	if (value)
		(*value)++;
}

/* --- its code in this process ------------------------------------------------------------------ */

/* The chunk that a process's rows and codes are in; NULL: its language is not known yet. */
static __always_inline const __u8 *ep_get_codes(const struct ep_record *rec)
{
	__u32 index = EP_REF_CHUNK(rec->walk.core.rows), zero = 0;
	void *chunk = bpf_map_lookup_elem(&ep_chunks, &index);

	if (!chunk || !rec->walk.core.slots[0])
		return NULL;
	return bpf_map_lookup_elem(chunk, &zero);
}

/*
 * The range of this language that holds an address (struct ep_unwinder_host: set_ranges). False:
 * none does. 15 steps of a binary search at most.
 */
static __always_inline bool ep_find_code(const struct ep_record *rec, __u64 addr,
					 struct ep_code *ret_code)
{
	__u32 rows = rec->walk.core.rows, lo = 0, len = 0;
	const struct ep_code_index *index;
	const struct ep_code *code;
	const __u8 *chunk = ep_get_codes(rec);

	if (!chunk)
		return false;
	index = ep_entry_at(chunk, rows, rec->walk.core.n_rows);
	for (__u32 i = 0; i < EP_MAX_LANGUAGES; i++) {
		if (rec->walk.core.slots[i] == ep_self.slot) {
			lo = index->of[i].first;
			len = index->of[i].n;
		}
	}
	if (!len)
		return false;
	code = ep_find_entry(chunk, rows, lo, len, addr);
	*ret_code = *code;
	return addr - code->start < code->end - code->start;
}

/* --- "enter": from frame to frame -------------------------------------------------------------- */

/* True when it is to unwind the code at the walk's pc; else to push the frames of what is marked. */
static __always_inline bool ep_is_entered(const struct ep_record *rec)
{
	return rec->walk.core.entered == EP_ENTERED;
}

/* True when the code at pc was sampled, or a signal came there; else pc is after a call. */
static __always_inline bool ep_is_interrupted(const struct ep_record *rec)
{
	return rec->walk.interrupted;
}

/*
 * Makes the caller's registers the walk's; pc is where the call returns to. False, and nothing is
 * done, when sp does not grow, of which there would be no end: EP_ERROR_NO_PROGRESS. (Who has return
 * addresses elsewhere, and nothing on this stack, sets the walk's registers, and bounds itself.)
 */
static __always_inline bool ep_set_caller(struct ep_record *rec, __u64 pc, __u64 sp, __u64 fp)
{
	if (sp <= rec->walk.regs[EP_REG_SP])
		return false;
	ep_be_caller(&rec->walk, pc, sp, fp);
	return true;
}

/*
 * The same for a caller on another stack of the thread: sp may be less than it was. False, and nothing is
 * done, when there were EP_MAX_SWITCHES: EP_ERROR_NO_PROGRESS.
 */
static __always_inline bool ep_switch_stack(struct ep_record *rec, __u64 pc, __u64 sp, __u64 fp)
{
	if (rec->walk.core.switches >= EP_MAX_SWITCHES)
		return false;
	rec->walk.core.switches++;
	ep_be_caller(&rec->walk, pc, sp, fp);
	return true;
}

/* The native unwinder goes on from the walk's registers. */
static __always_inline void ep_go_native(void *ctx, struct ep_record *rec)
{
	ep_go_to(ctx, rec, EP_SLOT_NATIVE);
}

/*
 * This pc is not ours after all: let the native unwinder take it. `entered` keeps it from coming back
 * here for this frame.
 */
static __always_inline void ep_give_back(void *ctx, struct ep_record *rec)
{
	rec->walk.core.entered = EP_GIVEN_BACK;
	ep_go_to(ctx, rec, EP_SLOT_NATIVE);
}

/* Tail calls that are left for this walk, maybe below 0; ep_go_native and the way back take two. */
static __always_inline __s32 ep_calls_left(const struct ep_record *rec)
{
	return (__s32)rec->walk.core.max_calls - (__s32)rec->walk.core.tail_calls;
}

/*
 * Native code between two frames of the language is skipped, which may be marked: for a stub of its own
 * that knows what called it, when ep_calls_left runs out. False, and nothing is done, when sp does not
 * grow or the record is full.
 */
static __always_inline bool ep_skip_to(struct ep_record *rec, __u32 error, __u64 pc, __u64 sp, __u64 fp)
{
	__u32 why = error ? error : EP_ERROR_LOST;

	if (sp <= rec->walk.regs[EP_REG_SP] || !ep_is_entered(rec) ||
	    !ep_push_words(rec, EP_FRAME_HEADER(EP_FRAME_GAP, 0, 0, why), 0, 0, 0, 0))
		return false;
	ep_ask_all(rec);
	return ep_set_caller(rec, pc, sp, fp);
}

/* A target address in no known mapping is pushed, which user space may come to know. */
static __always_inline void ep_ask_place(struct ep_record *rec)
{
	rec->sample.flags |= EP_SAMPLE_RAW;
}

static __always_inline bool ep_push_native_with(struct ep_record *rec, __u32 flags, __u32 executable,
						__u64 word)
{
	__u32 native = rec->walk.core.left_at - rec->walk.core.language_words;

	if (!ep_is_entered(rec) || native >= EP_MAX_WORDS - 8u - rec->walk.core.keep_words ||
	    !ep_push_words(rec, EP_FRAME_HEADER(EP_FRAME_NATIVE, flags, 1, executable), 1, word, 0, 0))
		return false;
	rec->walk.core.left_at += 2;
	return true;
}

/* Adds a native frame to a stack that was entered; it does not count as words of the language. False when full. */
static __always_inline bool ep_push_native_words(struct ep_record *rec, __u32 executable,
						 __u64 word)
{
	__u32 flags = rec->walk.return_address * EP_FRAME_RETURN_ADDRESS +
		      rec->walk.by_pointer * EP_FRAME_POINTER_WALK;

	return ep_push_native_with(rec, flags, executable, word);
}

/*
 * For who looks at many addresses: the last mapping that begins at or below one, or the first one; it
 * need not hold the address. `chunk`: ep_get_codes, which is not NULL where a language is entered.
 */
static __always_inline const struct ep_row *ep_last_row(const struct ep_record *rec, const __u8 *chunk,
							__u64 addr)
{
	return ep_find_entry(chunk, rec->walk.core.rows, 0, rec->walk.core.n_rows, addr);
}

/* The mapping that holds an address; NULL: none that is known. EP_ROW_ID 0: memory of no file. */
static __always_inline const struct ep_row *ep_find_row(const struct ep_record *rec, __u64 addr)
{
	const __u8 *chunk = rec->walk.core.n_rows ? ep_get_codes(rec) : NULL;
	const struct ep_row *row;

	if (!chunk)
		return NULL;
	row = ep_last_row(rec, chunk, addr);
	return addr - row->start < row->end - row->start ? row : NULL;
}

/*
 * Adds the code at pc as a native frame, which its file names, for a language that knows better how to
 * go on from it: code that a compiler put into an executable without unwind rules. Its ranges say it
 * is to be entered. False when full.
 */
static __always_inline bool ep_push_native(struct ep_record *rec)
{
	__u64 pc = rec->walk.pc;
	const struct ep_row *row = ep_find_row(rec, pc - rec->walk.return_address);

	if (row && EP_ROW_ID(row->executable))
		return ep_push_native_words(rec, EP_ROW_ID(row->executable),
					    pc - row->start + row->va);
	if (!row)
		ep_ask_place(rec);
	return ep_push_native_words(rec, 0, pc);
}

/*
 * Adds the code at pc as a frame that runs the language, as the native unwinder does where it comes to code
 * that is marked: for a language that is both, and knows itself how to go on from there. False when full, or
 * where pc is in no file.
 */
static __always_inline bool ep_push_mark(struct ep_record *rec)
{
	const struct ep_row *row = ep_find_row(rec, rec->walk.pc - rec->walk.return_address);

	ep_ask_all(rec);
	return row && EP_ROW_ID(row->executable) &&
	       ep_push_native_with(rec, ep_self.slot << EP_FRAME_SLOT_SHIFT, EP_ROW_ID(row->executable), row->va);
}

/*
 * Native code that is remembered: what ep_go_native would do of it, without a tail call. So
 * a language that is called by native code, again and again, is walked in one run of its program:
 *
 *	for (...) {
 *		if (is_mine(rec->walk.pc))
 *			... push a frame, ep_set_caller ...
 *		else
 *			step = ep_step_native(rec);
 *	}
 */
static __always_inline __u32 ep_step_native(struct ep_record *rec)
{
	const struct ep_memo *memo = ep_recall(rec, rec->walk.pc - rec->walk.return_address);
	struct ep_walk *walk = &rec->walk;
	__u64 known, rule;

	if (!memo)
		return EP_STEP_UNKNOWN;
	rule = memo->rule;
	if (rule != EP_RULE_STOP && !ep_read_caller(walk, rule))
		return EP_STEP_UNKNOWN;
	if (!ep_push_native_words(rec, memo->executable, rec->walk.pc + memo->bias))
		return EP_ERROR_TOO_DEEP;
	if (rule == EP_RULE_STOP || !walk->next_pc)
		return EP_STEP_ROOT;
	/* Read here, and not before the calls above: on the stack it would be a state of its own to a verifier. */
	known = walk->known_regs;
	ep_set_caller(rec, walk->next_pc, walk->next_sp, walk->next_fp);
	walk->known_regs = known & (EP_KNOWN_ALWAYS | EP_CALLER_REGS |
					(rule & EP_RULE_KEEPS) * EP_CALLEE_REGS);
	return EP_STEP_CALLER;
}

/* The native frame at pc is remembered, and its caller is found by the frame pointer. */
static __always_inline bool ep_is_remembered_by_fp(struct ep_record *rec)
{
	const struct ep_memo *memo = ep_recall(rec, rec->walk.pc - rec->walk.return_address);

	return memo && memo->rule & EP_RULE_BASE_FP;
}

/* Where a walk goes whose last step has done anything but EP_STEP_CALLER. Last statement. */
static __always_inline void ep_leave(void *ctx, struct ep_record *rec, __u32 done)
{
	if (done == EP_STEP_UNKNOWN) {
		ep_go_native(ctx, rec);
		done = EP_ERROR_TAIL_CALLS;
	}
	if (done == EP_STEP_ROOT)
		ep_next(ctx, rec);
	else
		ep_end(ctx, rec, done, rec->walk.pc);
}

/* --- where the native walk cannot go on (EP_BPF_RESUMES) ------------------------------------------ */

/*
 * True when the program was called for that alone: to ep_resume, or to ep_next. It is asked before the
 * native unwinder follows a frame pointer where it has no rule, and where it fails.
 */
static __always_inline bool ep_has_failed(const struct ep_record *rec)
{
	return rec->walk.core.entered == EP_FAILED;
}

/*
 * Native code without rules has called, and the language keeps where its last frame was left: these are
 * that frame's registers. The native unwinder will not pass them; where it fails before it comes there,
 * the walk goes on from there, after a frame that says that some are missing. Last statement.
 */
static __always_inline void ep_resume(void *ctx, struct ep_record *rec, __u64 pc, __u64 sp, __u64 fp)
{
	rec->walk.next_pc = pc;
	rec->walk.next_sp = sp;
	rec->walk.next_fp = fp;
	rec->walk.core.entered = EP_RESUMED;
	ep_go_to(ctx, rec, EP_SLOT_NATIVE);
	ep_end(ctx, rec, EP_ERROR_TAIL_CALLS, rec->walk.pc);
}

/* --- the thread --------------------------------------------------------------------------------- */

/* 0 when it cannot be read. */
static __always_inline __u64 ep_thread_pointer(void)
{
	__u64 task = bpf_get_current_task(), value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), (void *)(task + ep_self.task_tls_off));
	return value;
}

/* The pointer at the end of a path (tls.h). False when there is none or it cannot be read. */
static __always_inline bool ep_read_tls(const struct ep_tls *tls, __u64 thread_pointer,
					__u64 *value)
{
	__u64 at = thread_pointer;
	__u32 steps = tls->steps;

	if (steps == 0 || thread_pointer == 0)
		return false;
	for (__u32 i = 0; i < EP_TLS_MAX_STEPS; i++) {
		if (i >= steps)
			break;
		if (bpf_probe_read_user(&at, sizeof(at), (void *)(at + (__s64)tls->off[i])))
			return false;
	}
	*value = at;
	return true;
}

#endif
