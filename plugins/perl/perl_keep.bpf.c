/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the names of a recently started program's frames are made of, as symbolize/ reads it:
 *
 *	frame ─┬─► CV ─┬─► its effective GV ─► HEK, stash ─► HEK	of a sub
 *	       │       ├─► HEK, stash ─► HEK				of one that has no glob
 *	       │       └─► first statement ─► file
 *	       ├─► GV ─► HEK, stash ─► HEK; HEK				of a closure
 *	       ├─► stash ─► HEK						of BEGIN
 *	       └─► statement ─► file; or the file's name itself
 *
 * All that a frame needs is sent with it, once more if it was sent with another one: code and what
 * has its name are freed apart, and what is sent at different times may not belong together
 * (EP_BPF_KEEPS_WHOLE). The check in the frame is that of its CV or statement, which are in it.
 *
 * Not kept are all ops of long statements, by which the line within one is found, those by which a
 * closure's first statement is found, and what has the files' names of builds without threads.
 */
#include "plugins/perl/perl_shared.h"
#include "plugins/shared/bpf/keep.bpf.h"

EP_KEEPER();

#define PL_KEEP_FRAMES 20 /* new ones of Perl; others come with the next */

/* hv.h, gv.h, cop.h, op.h: the same in v5.28.3 to v5.44.0; symbolize/objects.c says what they
 * are. */
#define SV_BYTES	24
#define GP_EGV		56
#define HV_MAX		24
#define HV_BYTES	40 /* from HV_MAX on, with the head of an aux after it */
#define AUX_BYTES	32
#define STATEMENT_BYTES 64 /* struct cop up to cop_seq, whole */
#define OPS_BYTES	448
#define OP_SIBLING	8
#define OP_BITS		32
#define OP_MORESIB	14 /* a bit of it */

/* Bytes of a HEK that are read at once, nearly always all of it; and at most. */
#define HEK_BYTES     64
#define HEK_MAX_BYTES 320
#define TEXT_BYTES    256

/* In a map, not on the stack: see step.bpf.h. */
struct pl_keeper {
	__u64 sequence;
	__u64 n;
	/* Of the frame in hand; 0: none. */
	__u64 file, start, start_file, glob, hek, stash;
	__u64 is_effective;
	/* That were kept in this event, the last ones. */
	__u64 last_file, last_stash;
	/* What is here is not zeroed. */
	__u8 text[TEXT_BYTES];
	struct ep_kept_frame frames[EP_KEEP_LISTED];
};

EP_SCRATCH_UP_TO(struct pl_keeper, text)

/* What a frame is kept with. */
struct pl_keeping {
	const struct ep_record *rec;
	const struct pl_state *state;
	struct ep_keep *keep;
	struct pl_keeper *s;
};

/* --- texts ------------------------------------------------------------------------------------ */

static __always_inline void keep_hek(const struct pl_keeping *k, __u64 addr)
{
	const __u8 *hek;
	__u64 bytes;

	if (!addr)
		return;
	hek = ep_keep_memory(k->keep, addr, HEK_BYTES);
	if (!hek)
		return;
	/* Hash, length, the key, a NUL, flags. */
	bytes = 8 + (__u64)*(const __u32 *)(hek + 4) + 2;
	if (bytes > HEK_BYTES)
		ep_keep_longer(k->keep, addr, HEK_BYTES,
			       bytes < HEK_MAX_BYTES ? bytes : HEK_MAX_BYTES);
}

/* Up to where a text of that length is read (pl_read_text). */
static __always_inline void keep_text(const struct pl_keeping *k, __u64 addr)
{
	__u64 n;

	if (!addr || addr == k->s->last_file)
		return;
	k->s->last_file = addr;
	n = (__u64)bpf_probe_read_user_str(k->s->text, TEXT_BYTES, (void *)addr);
	if (n > TEXT_BYTES)
		return;
	n = (addr + n + PL_TEXT_STEP - 1) & ~(PL_TEXT_STEP - 1ull);
	ep_keep_memory(k->keep, addr, n - addr);
}

/* --- what has names --------------------------------------------------------------------------- */

static __always_inline void keep_stash(const struct pl_keeping *k, __u64 stash)
{
	const __u8 *head, *aux;
	__u64 array, max, hek, count;

	if (!stash || stash == k->s->last_stash)
		return;
	k->s->last_stash = stash;
	head = ep_keep_memory(k->keep, stash, SV_BYTES);
	if (!head)
		return;
	array = ep_kept_word(head, 16);
	aux = ep_keep_memory(k->keep, ep_kept_word(head, 0) + HV_MAX, HV_BYTES);
	if (!aux)
		return;
	max = ep_kept_word(aux, 0);
	aux += 8;
	if (!k->state->aux_in_body)
		aux = ep_keep_memory(k->keep, array + 8 * (max + 1), AUX_BYTES);
	if (!aux)
		return;
	hek = ep_kept_word(aux, 0);
	count = ep_kept_word(aux, 24) >> 32;
	/* Of several names the first. */
	if (hek && count) {
		aux = ep_keep_memory(k->keep, hek, 8);
		hek = aux ? ep_kept_word(aux, 0) : 0;
	}
	keep_hek(k, hek);
}

static __always_inline void keep_glob(const struct pl_keeping *k, __u64 gv)
{
	const __u8 *head, *names;
	__u64 body, other;

	if (!gv)
		return;
	head = ep_keep_memory(k->keep, gv, SV_BYTES);
	if (!head)
		return;
	body = ep_kept_word(head, 0);
	if (k->s->is_effective) {
		head = ep_keep_memory(k->keep, ep_kept_word(head, 16) + GP_EGV, 8);
		other = head ? ep_kept_word(head, 0) : 0;
		if (other && other != gv) {
			head = ep_keep_memory(k->keep, other, SV_BYTES);
			body = head ? ep_kept_word(head, 0) : 0;
		}
	}
	names = ep_keep_memory(k->keep, body + PL_GV_NAME_AT, 16);
	if (!names)
		return;
	k->s->hek = ep_kept_word(names, 0);
	k->s->stash = ep_kept_word(names, 8);
}

/* --- frames ----------------------------------------------------------------------------------- */

/* cop_file, from cop_line on. */
static __always_inline __u64 file_of(const struct pl_keeping *k, const __u8 *ints)
{
	const __u32 *file = (const __u32 *)ints + PL_COP_FILE;

	return k->state->threads ? file[0] | (__u64)file[1] << 32 : 0;
}

/*
 * With the outer ops of its tree, which tell the line within it: the root is made last, and each op
 * is put before the one that was made before it (op.c: Slab_Alloc).
 */
static __always_inline void keep_statement(const struct pl_keeping *k, __u64 cop)
{
	const __u8 *op;

	if (!cop)
		return;
	op = ep_keep_memory(k->keep, cop, STATEMENT_BYTES);
	if (!op)
		return;
	k->s->file = file_of(k, op + PL_COP_AT);
	if (ep_kept_word(op, OP_BITS) >> OP_MORESIB & 1)
		ep_keep_memory(k->keep, ep_kept_word(op, OP_SIBLING), OPS_BYTES);
}

static __always_inline void keep_start(const struct pl_keeping *k, __u64 start)
{
	const __u8 *op;

	if (!start)
		return;
	op = ep_keep_memory(k->keep, start, STATEMENT_BYTES);
	if (op)
		k->s->start_file = file_of(k, op + PL_COP_AT);
}

static __always_inline void keep_cv(const struct pl_keeping *k, __u64 cv)
{
	const __u8 *piece = ep_keep_memory(k->keep, cv, SV_BYTES);
	__u64 named, gv;

	if (!piece)
		return;
	piece = ep_keep_memory(k->keep, ep_kept_word(piece, 0) + PL_CV_AT, PL_CV_WORDS * 8);
	if (!piece)
		return;
	named = ep_is_set(ep_kept_word(piece, 8 * PL_CV_SEQ_FLAGS) >> 32 & PL_CVF_NAMED);
	gv = ep_kept_word(piece, 8 * PL_CV_GV);
	k->s->glob = (1 ^ named) * gv;
	k->s->hek = named * gv;
	k->s->stash = named * ep_kept_word(piece, 8 * PL_CV_STASH);
	k->s->start = ep_kept_word(piece, 8 * PL_CV_START);
	k->s->is_effective = 1;
}

/* What its words say. */
static __always_inline void begin_frame(const struct pl_keeping *k, __u64 kind, __u64 what,
					__u64 flags)
{
	__u64 closure = ep_is_same(kind, PL_KIND_CLOSURE),
	      named = ep_is_set(flags & PL_FRAME_NAMED);
	struct pl_keeper *s = k->s;

	s->file = 0;
	s->start = 0;
	s->start_file = 0;
	s->is_effective = 0;
	s->glob = closure * (1 ^ named) * what;
	s->hek = closure * named * what;
	s->stash = ep_is_same(kind, PL_KIND_BEGIN) * what;
}

static __always_inline void keep_frame(const struct pl_keeping *k,
				       const struct ep_kept_frame *frame)
{
	__u64 word0 = frame->word0, word1 = frame->word1, flags = EP_FRAME_FLAGS(frame->header);
	__u64 kind = word0 >> PL_KIND_SHIFT & 15, what = (word0 & PL_ADDRESS_MASK) << 3;

	begin_frame(k, kind, what, flags);
	EP_MEET();
	if (flags & PL_FRAME_FILE)
		k->s->file = word1;
	else
		keep_statement(k, (word1 & PL_ADDRESS_MASK) << 3);
	EP_MEET();
	keep_text(k, k->s->file);
	EP_MEET();
	if (kind == PL_KIND_SUB || kind == PL_KIND_FORMAT)
		keep_cv(k, what);
	EP_MEET();
	keep_start(k, k->s->start);
	EP_MEET();
	keep_text(k, k->s->start_file);
	EP_MEET();
	keep_glob(k, k->s->glob);
	EP_MEET();
	keep_hek(k, k->s->hek);
	EP_MEET();
	keep_stash(k, k->s->stash);
	EP_MEET();
}

static __always_inline void forget(struct pl_keeper *s)
{
	s->last_file = 0;
	s->last_stash = 0;
}

SEC("perf_event")
int perl_keep(struct bpf_perf_event_data *ctx)
{
	struct pl_keeping k = {};

	EP_KEEP_FRAMES(ctx, k, PL_KEEP_FRAMES, EP_KEEP_ITEM_BYTES, 0, forget, keep_frame);
	return 0;
}
