/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the names of a recently started program's frames are made of, as symbolize/ reads it:
 *
 *	frame ─┬─► zend_function ─┐
 *	       └──────────────────┼─► function_name
 *	                          ├─► scope ─► its name
 *	                          ├─► filename
 *	                          └─► oplines around the one that runs
 *
 * All that a frame needs is sent with it, once more if it was sent with another one: code that is
 * gone has others at its addresses (EP_BPF_KEEPS_WHOLE). A function whose next block of oplines is
 * met is sent again.
 */
#include "plugins/php/php_shared.h"
#include "plugins/shared/bpf/keep.bpf.h"

EP_KEEPER();

#define KEPT_FRAMES 24	 /* new ones; others come with the next sample */
#define ITEM_BYTES  4608 /* of a frame at most, with its pieces' heads */
#define PAGE_BYTES  4096

/* In a map, not on the stack: see step.bpf.h. */
struct php_keeper {
	__u64 sequence;
	__u64 n;
	/* Of the frame in hand; 0: none. */
	__u64 string, name, class, file, ops, ops_bytes;
	/* That were kept in this event, the last ones. */
	__u64 last_file, last_class;
	/* What is here is not zeroed. */
	struct ep_kept_frame frames[EP_KEEP_LISTED];
};

EP_SCRATCH_UP_TO(struct php_keeper, frames)

struct php_keeping {
	const struct ep_record *rec;
	const struct php_state *state;
	struct ep_keep *keep;
	struct php_keeper *s;
};

/* Its head; where memory ends after it, up to the end of its page. */
static __always_inline const __u8 *keep_head(const struct php_keeping *k, __u64 addr)
{
	const __u8 *head = ep_keep_memory(k->keep, addr, PHP_HEAD_BYTES);
	__u64 in_page = PAGE_BYTES - addr % PAGE_BYTES;

	return head ? head : ep_keep_memory(k->keep, addr, ep_at_most(in_page, PHP_HEAD_BYTES));
}

/* `string`: its head, and its text where that is not in it. */
static __always_inline void keep_string(const struct php_keeping *k)
{
	__u64 addr = k->s->string, bytes;
	const __u8 *head;

	if (!addr)
		return;
	head = keep_head(k, addr);
	if (!head)
		return;
	bytes = ep_at_most(ep_kept_word(head, PHP_STRING_LEN), PHP_TEXT_BYTES);
	EP_MEET();
	if (bytes > PHP_HEAD_BYTES - PHP_STRING_BYTES)
		ep_keep_memory(k->keep, addr + PHP_STRING_BYTES, bytes);
}

static __always_inline void keep_class(const struct php_keeping *k)
{
	const __u8 *piece;

	if (!k->s->class || k->s->class == k->s->last_class)
		return;
	k->s->last_class = k->s->class;
	piece = ep_keep_memory(k->keep, k->s->class + PHP_CLASS_NAME, 8);
	if (!piece)
		return;
	k->s->string = ep_kept_word(piece, 0);
	EP_MEET();
	keep_string(k);
}

static __always_inline void keep_file(const struct php_keeping *k)
{
	if (k->s->file == k->s->last_file)
		return;
	k->s->last_file = k->s->file;
	k->s->string = k->s->file;
	EP_MEET();
	keep_string(k);
}

/* `ops`, the block that is looked for. Of a function's last block the part that there is; others
 * may end before. */
static __always_inline void keep_ops(const struct php_keeping *k, __u64 index)
{
	__u64 first = index & ~(PHP_BLOCK_OPS - 1ull);

	if (!k->s->ops || index == PHP_NO_LINE)
		return;
	if (!ep_keep_memory(k->keep, k->s->ops + first * PHP_OP_BYTES, k->s->ops_bytes))
		ep_keep_memory(k->keep, k->s->ops + index * PHP_OP_BYTES, PHP_OP_BYTES);
}

static __always_inline __u64 bytes_of_ops(__u64 index, __u64 last)
{
	return ep_at_most(last - (index & ~(PHP_BLOCK_OPS - 1ull)), PHP_BLOCK_OPS) * PHP_OP_BYTES;
}

/* What the function says. */
static __always_inline void keep_function(const struct php_keeping *k, __u64 addr, __u64 index)
{
	const struct php_state *state = k->state;
	struct php_keeper *s = k->s;
	const __u8 *piece = ep_keep_memory(k->keep, addr, PHP_FUNCTION_BYTES);

	if (!piece)
		return;
	s->name = ep_kept_word(piece, PHP_FUNCTION_NAME);
	s->class = ep_kept_word(piece, PHP_FUNCTION_SCOPE);
	s->file = ep_kept_word(piece, state->op_file & 255);
	s->ops = ep_kept_word(piece, state->op_opcodes & 255);
	s->ops_bytes = bytes_of_ops(index, ep_kept_word(piece, state->op_last & 255) & 0xffffffff);
}

/* What the words say. */
static __always_inline void take_words(const struct php_keeping *k,
				       const struct ep_kept_frame *frame, __u64 kind)
{
	__u64 is_closure = ep_is_same(kind, PHP_KIND_CLOSURE),
	      is_old = ep_is_same(kind, PHP_KIND_OLD_CLOSURE);
	__u64 is_internal = ep_is_same(kind, PHP_KIND_INTERNAL),
	      is_code = ep_is_same(kind, PHP_KIND_CODE);
	__u64 first = php_address(frame->word0), second = php_address(frame->word1);
	struct php_keeper *s = k->s;

	s->ops_bytes = PHP_BLOCK_OPS * PHP_OP_BYTES;
	s->ops = first * (is_closure | is_old);
	s->name = first * is_internal + second * is_closure;
	s->class = second * is_internal + php_address(frame->word2) * (is_closure | is_old);
	s->file = second * is_code + php_closure_file(frame->word0, frame->word1, frame->word2) *
					     (is_closure | is_old);
}

static __always_inline void keep_frame(const struct php_keeping *k,
				       const struct ep_kept_frame *frame)
{
	__u64 kind = php_kind(EP_FRAME_AUX(frame->header)),
	      index = php_index(EP_FRAME_AUX(frame->header));

	take_words(k, frame, kind);
	EP_MEET();
	if (kind == PHP_KIND_FUNCTION)
		keep_function(k, php_address(frame->word1), index);
	EP_MEET();
	k->s->string = k->s->name;
	keep_string(k);
	EP_MEET();
	keep_class(k);
	EP_MEET();
	keep_file(k);
	EP_MEET();
	keep_ops(k, index);
	EP_MEET();
}

static __always_inline void forget(struct php_keeper *s)
{
	s->last_file = 0;
	s->last_class = 0;
}

SEC("perf_event")
int php_keep(struct bpf_perf_event_data *ctx)
{
	struct php_keeping k = {};

	EP_KEEP_FRAMES(ctx, k, KEPT_FRAMES, ITEM_BYTES, ~(PHP_BLOCK_OPS - 1), forget, keep_frame);
	return 0;
}
