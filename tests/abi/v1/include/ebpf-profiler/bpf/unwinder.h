/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
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

static __always_inline struct ep_record *ep_get_record(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&ep_records, &zero);
}

static __always_inline const void *ep_get_state(const struct ep_record *rec)
{
	__u32 index = 0;

	for (__u32 i = 0; i < EP_MAX_LANGUAGES; i++) {
		if (rec->walk.core.slots[i] == ep_self.slot)
			index = rec->walk.core.states[i];
	}
	return index ? bpf_map_lookup_elem(&ep_states, &index) : NULL;
}

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

static __always_inline bool ep_push_frame(struct ep_record *rec, __u32 flags, __u32 aux,
					  __u64 word0, __u64 word1)
{
	return ep_push_words(rec, EP_FRAME_HEADER(ep_self.kind, flags, 2, aux), 2, word0, word1, 0);
}

static __always_inline __u64 ep_next_header(const struct ep_record *rec)
{
	return rec->sample.n_kernel + rec->sample.n_words;
}

static __always_inline bool ep_add_flags(struct ep_record *rec, __u64 header_at, __u32 flags)
{
	__u64 added = (__u64)flags << 8;

	if (header_at > EP_RECORD_WORDS - 1 || rec->words[header_at] & added)
		return false;
	rec->words[header_at] |= added;
	rec->walk.core.hash = ep_hash_word(rec->walk.core.hash, added);
	return true;
}

static __always_inline const __u64 *ep_last_frame_of_a_word(const struct ep_record *rec)
{
	__u64 at = ep_next_header(rec) - 2;

	EP_OPAQUE(at);
	if (rec->sample.n_words < 2 || at > EP_RECORD_WORDS - 2 || EP_FRAME_WORDS(rec->words[at]) != 1)
		return NULL;
	return rec->words + at;
}

static __always_inline void ep_take_back(struct ep_record *rec, const __u64 *frame)
{
	rec->walk.core.hash = ep_unhash_word(ep_unhash_word(rec->walk.core.hash, frame[1]), frame[0]);
	rec->sample.n_words -= 2;
	rec->sample.n_frames--;
	if (EP_FRAME_KIND(frame[0]) == EP_FRAME_NATIVE)
		rec->walk.core.left_at -= 2;
}

static __always_inline void ep_run_again(void *ctx, struct ep_record *rec)
{
	__u32 max = rec->walk.core.entered == EP_ENTERED ? rec->walk.core.max_calls : EP_MAX_TAIL_CALLS;

	if (rec->walk.core.tail_calls < max)
		ep_go_to(ctx, rec, ep_self.slot);
}

static __always_inline void ep_ask_refresh(struct ep_record *rec)
{
	rec->sample.flags |= EP_SAMPLE_REFRESH;
}

static __always_inline void ep_count(__u32 counter)
{
	__u32 index = ep_self.first_counter + counter;
	__u64 *value = bpf_map_lookup_elem(&ep_lang_counts, &index);

	if (value)
		(*value)++;
}

static __always_inline const __u8 *ep_get_codes(const struct ep_record *rec)
{
	__u32 index = EP_REF_CHUNK(rec->walk.core.rows), zero = 0;
	void *chunk = bpf_map_lookup_elem(&ep_chunks, &index);

	if (!chunk || !rec->walk.core.slots[0])
		return NULL;
	return bpf_map_lookup_elem(chunk, &zero);
}

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

static __always_inline bool ep_is_entered(const struct ep_record *rec)
{
	return rec->walk.core.entered == EP_ENTERED;
}

static __always_inline bool ep_is_interrupted(const struct ep_record *rec)
{
	return rec->walk.interrupted;
}

static __always_inline bool ep_set_caller(struct ep_record *rec, __u64 pc, __u64 sp, __u64 fp)
{
	if (sp <= rec->walk.regs[EP_REG_SP])
		return false;
	ep_be_caller(&rec->walk, pc, sp, fp);
	return true;
}

static __always_inline bool ep_switch_stack(struct ep_record *rec, __u64 pc, __u64 sp, __u64 fp)
{
	if (rec->walk.core.switches >= EP_MAX_SWITCHES)
		return false;
	rec->walk.core.switches++;
	ep_be_caller(&rec->walk, pc, sp, fp);
	return true;
}

static __always_inline void ep_go_native(void *ctx, struct ep_record *rec)
{
	ep_go_to(ctx, rec, EP_SLOT_NATIVE);
}

static __always_inline void ep_give_back(void *ctx, struct ep_record *rec)
{
	rec->walk.core.entered = EP_GIVEN_BACK;
	ep_go_to(ctx, rec, EP_SLOT_NATIVE);
}

static __always_inline __s32 ep_calls_left(const struct ep_record *rec)
{
	return (__s32)rec->walk.core.max_calls - (__s32)rec->walk.core.tail_calls;
}

static __always_inline bool ep_skip_to(struct ep_record *rec, __u32 error, __u64 pc, __u64 sp, __u64 fp)
{
	__u32 why = error ? error : EP_ERROR_LOST;

	if (sp <= rec->walk.regs[EP_REG_SP] || !ep_is_entered(rec) ||
	    !ep_push_words(rec, EP_FRAME_HEADER(EP_FRAME_GAP, 0, 0, why), 0, 0, 0, 0))
		return false;
	ep_ask_all(rec);
	return ep_set_caller(rec, pc, sp, fp);
}

static __always_inline void ep_ask_place(struct ep_record *rec)
{
	rec->sample.flags |= EP_SAMPLE_RAW;
}

static __always_inline bool ep_push_native_words(struct ep_record *rec, __u32 executable,
						 __u64 word)
{
	__u32 flags = rec->walk.return_address * EP_FRAME_RETURN_ADDRESS +
		      rec->walk.by_pointer * EP_FRAME_POINTER_WALK;
	__u32 native = rec->walk.core.left_at - rec->walk.core.language_words;

	if (!ep_is_entered(rec) || native >= EP_MAX_WORDS - 8u - rec->walk.core.keep_words ||
	    !ep_push_words(rec, EP_FRAME_HEADER(EP_FRAME_NATIVE, flags, 1, executable), 1, word, 0, 0))
		return false;
	rec->walk.core.left_at += 2;
	return true;
}

static __always_inline const struct ep_row *ep_last_row(const struct ep_record *rec, const __u8 *chunk,
							__u64 addr)
{
	return ep_find_entry(chunk, rec->walk.core.rows, 0, rec->walk.core.n_rows, addr);
}

static __always_inline const struct ep_row *ep_find_row(const struct ep_record *rec, __u64 addr)
{
	const __u8 *chunk = rec->walk.core.n_rows ? ep_get_codes(rec) : NULL;
	const struct ep_row *row;

	if (!chunk)
		return NULL;
	row = ep_last_row(rec, chunk, addr);
	return addr - row->start < row->end - row->start ? row : NULL;
}

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
	known = walk->known_regs;
	ep_set_caller(rec, walk->next_pc, walk->next_sp, walk->next_fp);
	walk->known_regs = known & (EP_KNOWN_ALWAYS | EP_CALLER_REGS |
					(rule & EP_RULE_KEEPS) * EP_CALLEE_REGS);
	return EP_STEP_CALLER;
}

static __always_inline bool ep_is_remembered_by_fp(struct ep_record *rec)
{
	const struct ep_memo *memo = ep_recall(rec, rec->walk.pc - rec->walk.return_address);

	return memo && memo->rule & EP_RULE_BASE_FP;
}

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

static __always_inline bool ep_has_failed(const struct ep_record *rec)
{
	return rec->walk.core.entered == EP_FAILED;
}

static __always_inline void ep_resume(void *ctx, struct ep_record *rec, __u64 pc, __u64 sp, __u64 fp)
{
	rec->walk.next_pc = pc;
	rec->walk.next_sp = sp;
	rec->walk.next_fp = fp;
	rec->walk.core.entered = EP_RESUMED;
	ep_go_to(ctx, rec, EP_SLOT_NATIVE);
	ep_end(ctx, rec, EP_ERROR_TAIL_CALLS, rec->walk.pc);
}

static __always_inline __u64 ep_thread_pointer(void)
{
	__u64 task = bpf_get_current_task(), value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), (void *)(task + ep_self.task_tls_off));
	return value;
}

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
