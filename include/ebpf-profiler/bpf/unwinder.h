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

#include "ebpf-profiler/bpf/code.h"
#include "ebpf-profiler/bpf/native.h"
#include "ebpf-profiler/bpf/record.h"
#include "ebpf-profiler/bpf/self.h"
#include "ebpf-profiler/bpf/tls.h"

#include <stdbool.h>
#include <stddef.h>

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <bpf/bpf_helpers.h>

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#ifndef EP_BPF_CORE
extern const volatile struct ep_self ep_self;
#define EP_UNWINDER()                                                                              \
	const volatile struct ep_self ep_self SEC(".rodata.ep_self") = {0};                        \
	char LICENSE[] SEC("license") = "GPL"

/* --- maps of the core; the host puts the real ones in their place ----------------------------- */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ep_record);
} ep_records SEC(".maps");
#endif

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, EP_SLOT_COUNT);
	__type(key, __u32);
	__type(value, __u32);
} ep_progs SEC(".maps");

/*
 * What user space writes of processes and executables (ebpf-profiler/bpf/code.h). Outer and inner
 * maps are filled by user space; the inner map is described by sizes alone, since a type would reach
 * BTF as a forward declaration.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, EP_MAX_CHUNKS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
	__array(values, struct {
		__uint(type, BPF_MAP_TYPE_ARRAY);
		__uint(max_entries, 1);
		__uint(map_flags, BPF_F_MMAPABLE);
		__uint(key_size, sizeof(__u32));
		__uint(value_size, EP_CHUNK_BYTES);
	});
} ep_chunks SEC(".maps");

struct ep_state_cell {
	__u8 bytes[EP_STATE_BYTES];
} __attribute__((aligned(8)));

#ifndef EP_BPF_CORE
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, EP_MAX_STATES);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct ep_state_cell);
} ep_states SEC(".maps");

/* Of each CPU EP_MEMO_SETS (native.h). */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, EP_MEMO_SETS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct ep_memo_set);
} ep_memo SEC(".maps");

/* Counters of all languages; see struct ep_unwinder_ops: counters. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, EP_MAX_LANGUAGE_COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} ep_lang_counts SEC(".maps");
#endif

/* --- the record ------------------------------------------------------------------------------- */

#ifndef EP_BPF_CORE
static __always_inline struct ep_record *ep_get_record(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&ep_records, &zero);
}
#endif

/* One word into the trace hash: each step is a bijection of the hash, so no word is forgotten. */
static __always_inline __u64 ep_hash_word(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9fb21c651e98df25ULL;
	return hash ^ hash >> 32;
}

/* Hides from the compiler how a value came about: it is computed here, neither earlier nor later. */
#define EP_OPAQUE(value) __asm__ volatile("" : "+r"(value))

/*
 * Adds a frame given by its header (words must be `n`) and up to three words. False when full.
 *
 * What is compared must be what the address is made of: verifiers of 5.10 and 6.1 know no bounds of
 * a number that is read back from the stack, where clang 14 had put it before it compared. So what
 * else is needed is made before. The order also decides how many paths a verifier sees, up to eight
 * times more: measure it on all kernels (scripts/kernels --verifier) before it is changed.
 */
static __always_inline bool ep_push_words(struct ep_record *rec, __u64 header, __u32 n, __u64 word0,
					  __u64 word1, __u64 word2)
{
	__u32 used = rec->sample.n_words;
	__u64 hash = ep_hash_word(rec->walk.hash, header), at = used + rec->sample.n_kernel, *words;

	EP_OPAQUE(header);
	EP_OPAQUE(hash);
	EP_OPAQUE(at);
	/* Two words stay free for an error frame. */
	if (used > EP_MAX_WORDS - 6 || at > EP_RECORD_WORDS - 6)
		return false;
	words = rec->words + at;
	words[0] = header;
	if (n > 0) {
		words[1] = word0;
		hash = ep_hash_word(hash, word0);
	}
	if (n > 1) {
		words[2] = word1;
		hash = ep_hash_word(hash, word1);
	}
	if (n > 2) {
		words[3] = word2;
		hash = ep_hash_word(hash, word2);
	}
	rec->sample.n_words = used + 1 + n;
	rec->sample.n_frames++;
	rec->walk.hash = hash;
	return true;
}

/*
 * Says why the stack ends here: an error frame, and the sample is marked incomplete. Only the first
 * error of a sample is its error; later ones are frames all the same.
 */
static __always_inline void ep_push_error(struct ep_record *rec, __u32 error, __u64 addr)
{
	__u32 used = rec->sample.n_words, at = rec->sample.n_kernel + used;
	__u64 header = EP_FRAME_HEADER(EP_FRAME_ERROR, 0, 1, error);

	if (!rec->sample.error)
		rec->sample.error = error;
	if (used > EP_MAX_WORDS - 2 || at > EP_RECORD_WORDS - 2)
		return;
	rec->words[at] = header;
	rec->words[at + 1] = addr;
	rec->sample.n_words = used + 2;
	rec->sample.n_frames++;
	rec->walk.hash = ep_hash_word(ep_hash_word(rec->walk.hash, header), addr);
}

/* --- going on ---------------------------------------------------------------------------------- */

/* Continues in another program. Falls through when the tail call fails. */
static __always_inline void ep_go_to(void *ctx, struct ep_record *rec, __u32 slot)
{
	rec->walk.tail_calls++;
	bpf_tail_call(ctx, &ep_progs, slot);
}

/* Where the stack could not be walked to its root, frames that are marked may be behind. */
static __always_inline void ep_ask_all(struct ep_record *rec)
{
	__u32 pending = 0;

#pragma unroll
	for (__u32 i = 0; i < EP_MAX_LANGUAGES; i++) {
		__u64 none = (rec->walk.slots[i] - 1ULL) >> 63;

		EP_OPAQUE(none); /* or it becomes a branch */
		pending |= (1 - (__u32)none) << i;
	}
	rec->walk.pending = pending;
}

/*
 * The next language that has frames to push, else the end of the sample. Last statement. A language
 * whose program is not there is passed over; when no tail call is left for one, the stack says so.
 */
static __always_inline void ep_next(void *ctx, struct ep_record *rec)
{
	if (rec->walk.entered == EP_FAILED) {
		/* This language does not know more: maybe another one. */
		ep_go_to(ctx, rec, EP_SLOT_NATIVE);
		ep_push_error(rec, EP_ERROR_TAIL_CALLS, rec->walk.pc);
	}
	rec->walk.entered = EP_NOT_ENTERED;
#pragma unroll
	for (__u32 i = 0; i < EP_MAX_LANGUAGES; i++) {
		if (!(rec->walk.pending >> i & 1))
			continue;
		rec->walk.pending &= ~(1u << i);
		if (rec->walk.tail_calls < EP_MAX_TAIL_CALLS)
			ep_go_to(ctx, rec, rec->walk.slots[i]);
		else
			ep_push_error(rec, EP_ERROR_TAIL_CALLS, rec->walk.pc);
	}
	ep_go_to(ctx, rec, EP_SLOT_FINISH);
}

/* The stack ends here: says why, and asks for frames that are marked. Last statement. */
static __always_inline void ep_end(void *ctx, struct ep_record *rec, __u32 error, __u64 addr)
{
	ep_push_error(rec, error, addr);
	if (rec->walk.entered != EP_NOT_ENTERED)
		ep_ask_all(rec);
	rec->walk.entered = EP_NOT_ENTERED;
	ep_next(ctx, rec);
}

#ifndef EP_BPF_CORE
/* Adds a frame of this language. `flags`: EP_FRAME_ENTRY, EP_FRAME_INTERRUPTED, bits of its own. */
static __always_inline bool ep_push_frame(struct ep_record *rec, __u32 flags, __u32 aux,
					  __u64 word0, __u64 word1)
{
	return ep_push_words(rec, EP_FRAME_HEADER(ep_self.kind, flags, 2, aux), 2, word0, word1, 0);
}

/* What user space says of this process: at least EP_STATE_BYTES. NULL: nothing (yet). */
static __always_inline const void *ep_get_state(const struct ep_record *rec)
{
	__u32 index = 0;

	for (__u32 i = 0; i < EP_MAX_LANGUAGES; i++) {
		if (rec->walk.slots[i] == ep_self.slot)
			index = rec->walk.states[i];
	}
	return index ? bpf_map_lookup_elem(&ep_states, &index) : NULL;
}

/* --- its code in this process ------------------------------------------------------------------ */

/* Where entry `index` behind the first row is; both numbers may be anything. */
static __always_inline const void *ep_entry_at(const __u8 *chunk, __u64 rows, __u64 index)
{
	__u64 word = (EP_REF_WORD(rows) + index * EP_ENTRY_WORDS) & (EP_CHUNK_WORDS - EP_ENTRY_WORDS);

	return chunk + word * 4;
}

/* The chunk that a process's rows and codes are in; NULL: its language is not told yet. */
static __always_inline const __u8 *ep_get_codes(const struct ep_record *rec)
{
	__u32 index = EP_REF_CHUNK(rec->walk.rows), zero = 0;
	void *chunk = bpf_map_lookup_elem(&ep_chunks, &index);

	if (!chunk || !rec->walk.slots[0])
		return NULL;
	return bpf_map_lookup_elem(chunk, &zero);
}

/*
 * The last of the entries [lo, lo + len) that begins at or below an address, or the first one; len is
 * not 0. Rows and codes begin with their start. [lo, lo + len) is halved, with no branch on what it is.
 */
static __always_inline const void *ep_find_entry(const __u8 *chunk, __u64 rows, __u64 lo, __u64 len,
						 __u64 addr)
{
	for (__u64 i = 0; i < EP_ENTRY_STEPS; i++) {
		__u64 half = len >> 1, below;

		below = (*(const __u64 *)ep_entry_at(chunk, rows, lo + half) - addr - 1) >> 63;
		EP_OPAQUE(below); /* start <= addr: both are below 2^63 */
		lo += half & -below;
		len -= half;
	}
	return ep_entry_at(chunk, rows, lo);
}

/*
 * The range of this language that holds an address (struct ep_unwinder_host: set_ranges). False:
 * none does. 15 steps of a binary search at most.
 */
static __always_inline bool ep_find_code(const struct ep_record *rec, __u64 addr,
					 struct ep_code *ret_code)
{
	__u32 rows = rec->walk.rows, lo = 0, len = 0;
	const struct ep_code_index *index;
	const struct ep_code *code;
	const __u8 *chunk = ep_get_codes(rec);

	if (!chunk)
		return false;
	index = ep_entry_at(chunk, rows, rec->walk.n_rows);
	for (__u32 i = 0; i < EP_MAX_LANGUAGES; i++) {
		if (rec->walk.slots[i] == ep_self.slot) {
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

static __always_inline void ep_count(__u32 counter)
{
	__u32 index = ep_self.first_counter + counter;
	__u64 *value = bpf_map_lookup_elem(&ep_lang_counts, &index);

	if (value)
		(*value)++;
}

/*
 * Runs this program from its start, and does not come back; it does when no tail call is left:
 * then push EP_ERROR_TAIL_CALLS. Where ep_push_frame returns false, push EP_ERROR_TOO_DEEP: a stack
 * that ends without an error counts as complete.
 */
static __always_inline void ep_run_again(void *ctx, struct ep_record *rec)
{
	/* Some are kept for those whose frames are pushed behind the native ones. */
	__u32 max = rec->walk.entered == EP_ENTERED ? rec->walk.max_calls : EP_MAX_TAIL_CALLS;

	if (rec->walk.tail_calls < max)
		ep_go_to(ctx, rec, ep_self.slot);
}

/* What user space said of this process is not true any more, or not all: its languages' refresh. */
static __always_inline void ep_ask_refresh(struct ep_record *rec)
{
	rec->sample.flags |= EP_SAMPLE_REFRESH;
}

/* --- "enter": from frame to frame -------------------------------------------------------------- */

/* True when it is to unwind the code at the walk's pc; else to push the frames of what is marked. */
static __always_inline bool ep_is_entered(const struct ep_record *rec)
{
	return rec->walk.entered == EP_ENTERED;
}

/* True when the code at pc was sampled, or a signal came there; else pc is behind a call. */
static __always_inline bool ep_is_interrupted(const struct ep_record *rec)
{
	return rec->walk.interrupted;
}

static __always_inline void ep_be_caller(struct ep_walk *walk, __u64 pc, __u64 sp, __u64 fp)
{
	walk->pc = pc;
	walk->regs[EP_REG_SP] = sp;
	walk->regs[EP_REG_FP] = fp;
	walk->known_regs = EP_KNOWN_ALWAYS;
	walk->return_address = 1;
	walk->by_pointer = 0;
	walk->interrupted = 0;
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
	if (rec->walk.switches >= EP_MAX_SWITCHES)
		return false;
	rec->walk.switches++;
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
	rec->walk.entered = EP_GIVEN_BACK;
	ep_go_to(ctx, rec, EP_SLOT_NATIVE);
}

/* Tail calls that are left for this walk, maybe below 0; ep_go_native and the way back take two. */
static __always_inline __s32 ep_calls_left(const struct ep_record *rec)
{
	return (__s32)rec->walk.max_calls - (__s32)rec->walk.tail_calls;
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

/* Of what is entered. These are no words of the language. False when full. */
static __always_inline bool ep_push_native_words(struct ep_record *rec, __u32 executable,
						 __u64 word)
{
	__u32 flags = rec->walk.return_address * EP_FRAME_RETURN_ADDRESS +
		      rec->walk.by_pointer * EP_FRAME_POINTER_WALK;
	__u32 native = rec->walk.left_at - rec->walk.language_words;

	if (!ep_is_entered(rec) || native >= EP_MAX_WORDS - 8u - rec->walk.keep_words ||
	    !ep_push_words(rec, EP_FRAME_HEADER(EP_FRAME_NATIVE, flags, 1, executable), 1, word, 0, 0))
		return false;
	rec->walk.left_at += 2;
	return true;
}

/* The mapping that holds an address; NULL: none that is known. EP_ROW_ID 0: memory of no file. */
static __always_inline const struct ep_row *ep_find_row(const struct ep_record *rec, __u64 addr)
{
	const __u8 *chunk = rec->walk.n_rows ? ep_get_codes(rec) : NULL;
	const struct ep_row *row;

	if (!chunk)
		return NULL;
	row = ep_find_entry(chunk, rec->walk.rows, 0, rec->walk.n_rows, addr);
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
	if (!row) /* user space may come to know it */
		rec->sample.flags |= EP_SAMPLE_RAW;
	return ep_push_native_words(rec, 0, pc);
}

/* The key is not on the stack, where a verifier takes what was there before for a state of its own. */
static __always_inline const struct ep_memo *ep_recall(struct ep_record *rec, __u64 addr)
{
	const struct ep_memo_set *set;

	rec->walk.memo_key = EP_MEMO_SET(rec->sample.event.cpu, addr, rec->walk.memo_tag);
	set = bpf_map_lookup_elem(&ep_memo, &rec->walk.memo_key);
	if (!set)
		return NULL;
	if (set->ways[0].addr == addr && set->ways[0].tag == rec->walk.memo_tag)
		return &set->ways[0];
	if (set->ways[1].addr == addr && set->ways[1].tag == rec->walk.memo_tag)
		return &set->ways[1];
	return NULL;
}

/*
 * The caller's registers by a rule, into next_pc, next_sp and next_fp; not on the stack, of which a
 * verifier remembers what was read where. False: it cannot be followed.
 */
static __always_inline bool ep_read_caller(struct ep_walk *walk, __u64 rule)
{
	__u64 cfa = rule & EP_RULE_BASE_FP ? walk->regs[EP_REG_FP] : walk->regs[EP_REG_SP];
	__u64 slot = EP_RULE_FP_SLOT(rule);

	cfa += EP_RULE_CFA_OFF(rule);
	walk->next_sp = cfa;
	walk->next_fp = walk->regs[EP_REG_FP];
	return cfa > walk->regs[EP_REG_SP] &&
	       bpf_probe_read_user(&walk->next_pc, 8, (void *)(cfa - 8)) == 0 &&
	       (!slot || bpf_probe_read_user(&walk->next_fp, 8, (void *)(cfa - 8 * slot)) == 0);
}

/*
 * Native code that is remembered (native.h): what ep_go_native would do of it, without a tail call. So
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

/* --- where the native walk cannot go on (EP_BPF_RESUMES) ------------------------------------------ */

/*
 * True when the program was called for that alone: to ep_resume, or to ep_next. It is asked before the
 * native unwinder follows a frame pointer where it has no rule, and where it fails.
 */
static __always_inline bool ep_has_failed(const struct ep_record *rec)
{
	return rec->walk.entered == EP_FAILED;
}

/*
 * Native code without rules has called, and the language keeps where its last frame was left: these are
 * that frame's registers. The native unwinder will not pass them; where it fails before it comes there,
 * the walk goes on from there, behind a frame that says that some are missing. Last statement.
 */
static __always_inline void ep_resume(void *ctx, struct ep_record *rec, __u64 pc, __u64 sp, __u64 fp)
{
	rec->walk.next_pc = pc;
	rec->walk.next_sp = sp;
	rec->walk.next_fp = fp;
	rec->walk.entered = EP_RESUMED;
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

/*
 * State of the program itself that survives tail calls: a per-CPU map of one `type`, and
 * ep_get_scratch(), which is zeroed for each sample. The type begins with a __u64 `sequence`.
 */
#define EP_SCRATCH(struct_type)									   \
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
			__builtin_memset(scratch, 0, sizeof(*scratch));				   \
			scratch->sequence = rec->walk.sequence;					   \
		}										   \
		return scratch;									   \
	}
#endif

#endif
