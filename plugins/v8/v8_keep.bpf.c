/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the names of a recently started program's functions are made of, as symbolize/ reads it:
 *
 *	frame ──► SharedFunctionInfo ─┬─► name, or ScopeInfo ──► name, inferred name
 *				      └─► Script ──► name, source URL
 *
 * and the map of each object, and of that. Not kept are sources and tables of positions, which are
 * long, and a class's other functions, which tell its name: what is named by this has neither line
 * nor class.
 *
 * Each step keeps one object, and what that refers to waits. A function is kept once, by its
 * cookie; a Script and a map once, since they live as long as their functions. Names and scopes are
 * kept with each function.
 */
#include "ebpf-profiler/bpf/keeper.h"
#include "plugins/shared/bpf/step.bpf.h"
#include "plugins/v8/v8_shared.h"

EP_KEEPER();

#define V8_KEEP_ROUNDS	  128 /* frames of a sample that are looked at */
#define V8_KEEP_FUNCTIONS 16  /* new ones of a sample; others come with the next */
#define V8_KEEP_STEPS	  60
#define V8_KEEP_WAITING	  32

/* objects/instance-type.h, 8.4 to 14.6: of a string's type. */
#define V8_STRING_SHAPE	   7u
#define V8_STRING_ONE_BYTE 8u
enum { V8_SEQUENTIAL = 0, V8_CONS = 1, V8_EXTERNAL = 2 };

#define V8_TAG_BITS	    3u
#define V8_IS_FUNCTION	    2u /* of a word that waits */
#define V8_HEAD_WORDS	    9
#define V8_MAP_BYTES	    16
#define V8_SCOPE_HEAD_SLOTS 5
#define V8_SCOPE_TAIL_BYTES 48 /* name, index, inferred name, start, end, outer scope */

/* In a map, not on the stack, of which a verifier remembers what was read where. */
struct v8_keeper {
	__u64 sequence;
	__u64 word;	/* tagged: the object of this step */
	__u64 head[16]; /* of it: V8_HEAD_WORDS, then zeros */
	__u64 map[V8_MAP_BYTES / 8];
	__u64 bytes;   /* of it that are kept */
	__u64 key;     /* what else tells it; */
	__u64 is_once; /* then it is kept once */
	__u64 is_function, is_scope;
	__u64 script; /* of the last function */
	__u64 waiting[V8_KEEP_WAITING]; /* tagged */
	__u64 n_waiting;
};

EP_SCRATCH(struct v8_keeper);

/* What a step works with. */
struct v8_keeping {
	const struct ep_record *rec;
	const struct v8_keep_layout *layout;
	struct ep_keep *keep;
	struct v8_keeper *s;
};

static __always_inline __u64 is_below(__u64 a, __u64 b)
{
	__u64 below = a - b; /* both are small */

	EP_OPAQUE(below);
	below >>= 63;
	EP_OPAQUE(below);
	return below;
}

/* If `is` is 1, and it is an object's. */
static __always_inline void keep_later(struct v8_keeper *s, __u64 is, __u64 word)
{
	__u64 n = s->n_waiting & (V8_KEEP_WAITING - 1);

	s->waiting[n] = word;
	s->n_waiting = n + (is & ep_is_same(word & V8_TAG_BITS, 1));
}

static __always_inline void list_functions(const struct v8_keeping *k)
{
	for (__u64 i = 0; i < V8_KEEP_ROUNDS; i++) {
		const __u64 *frame = ep_keep_list(k->rec, k->keep);
		__u64 n = k->s->n_waiting;

		if (!frame || n >= V8_KEEP_FUNCTIONS)
			break;
		if (!ep_keep_is_mine(frame) || EP_FRAME_WORDS(frame[0]) != 3 ||
		    !ep_keep_is_new(k->rec, k->keep, frame[1], frame[2]))
			continue;
		k->s->waiting[n] = frame[1] | V8_IS_FUNCTION | 1;
		k->s->n_waiting = n + 1;
	}
}

/* What cannot be read is zeros. What has moved since is not followed. */
static __always_inline void read_head(const struct v8_keeping *k)
{
	struct v8_keeper *s = k->s;

	bpf_probe_read_user(s->head, 8 * V8_HEAD_WORDS, (void *)(s->word - 1));
	bpf_probe_read_user(s->map, sizeof(s->map), (void *)(s->head[0] - 1));
}

static __always_inline __u64 get_head(const struct v8_keeper *s, __u64 off)
{
	return *(const __u64 *)((const __u8 *)s->head + (off & 0x78));
}

/* What it is, how much of it is kept, and, of its bytes there, what is kept then. Hardly a branch:
 * see step.bpf.h. */
struct v8_what {
	__u64 is_string, is_flat, is_cons, is_linked, is_script;
};

static __always_inline void describe(const struct v8_keeping *k, struct v8_what *what)
{
	const struct v8_keep_layout *layout = k->layout;
	struct v8_keeper *s = k->s;
	__u64 type = *(const __u16 *)((const __u8 *)s->map + (layout->map_type & 14));
	__u64 other = 1 ^ s->is_function, shape = type & V8_STRING_SHAPE;
	__u64 length =
		get_head(s, layout->string_len & 0xf8) >> 8 * (layout->string_len & 4) & 0xffffffff;
	__u64 two_bytes = ep_is_same(type & V8_STRING_ONE_BYTE, 0);

	s->is_scope = other & ep_is_same(type, layout->type_scope_info);
	what->is_script = other & ep_is_same(type, layout->type_script);
	what->is_string = other & is_below(type, layout->type_nonstring);
	what->is_flat = what->is_string & ep_is_same(shape, V8_SEQUENTIAL);
	what->is_cons = what->is_string & ep_is_same(shape, V8_CONS);
	what->is_linked = what->is_string & ep_is_set(shape) & (1 ^ ep_is_same(shape, V8_EXTERNAL));
	s->bytes = 8 + s->is_function * (layout->sfi_bytes - 8ull) +
		   what->is_script * (layout->script_bytes - 8ull) +
		   s->is_scope * (layout->scope_first + 8 * (V8_SCOPE_HEAD_SLOTS - 1)) +
		   what->is_flat * (layout->string_chars - 8ull + length + two_bytes * length) +
		   (what->is_string ^ what->is_flat) * layout->string_second;
	s->key = ep_pick(what->is_script, get_head(s, layout->script_id), s->head[0]);
	s->is_once = 1 ^ (what->is_string | s->is_scope | s->is_function);
}

static __always_inline __u64 get_kept(const __u8 *kept, __u64 off)
{
	return *(const __u64 *)(kept + (off & 0xf8));
}

static __always_inline bool keep_pieces(const struct v8_keeping *k, const struct v8_what *what)
{
	const struct v8_keep_layout *layout = k->layout;
	struct v8_keeper *s = k->s;
	__u64 second, is_other;
	const __u8 *kept;

	if (s->is_once && !ep_keep_is_new(k->rec, k->keep, s->word, s->key))
		s->bytes = 0; /* none */
	EP_MEET();
	kept = ep_keep_memory(k->keep, s->word - 1, s->bytes);
	if (!kept)
		return false;
	keep_later(s, what->is_linked, get_kept(kept, layout->string_first));
	second = get_kept(kept, ep_pick(s->is_function, layout->sfi_script, layout->string_second));
	/* Functions of one Script often follow each other. */
	is_other = 1 ^ ep_is_same(second, s->script);
	keep_later(s, (s->is_function & is_other) | what->is_cons, second);
	s->script = ep_pick(s->is_function, second, s->script);
	keep_later(s, s->is_function | what->is_script,
		   get_kept(kept, ep_pick(s->is_function, layout->sfi_name, layout->script_name)));
	keep_later(s, what->is_script, get_kept(kept, layout->script_url));
	return true;
}

static __always_inline void keep_map(const struct v8_keeping *k)
{
	__u64 map = k->s->head[0];

	if (!ep_keep_is_new(k->rec, k->keep, map, k->s->map[1]))
		return;
	ep_keep_memory(k->keep, map - 1, V8_MAP_BYTES);
	keep_later(k->s, 1, k->s->map[0]);
}

/* symbolize/scopes.c: what is after the names of locals. */
static __always_inline void keep_tail(const struct v8_keeping *k)
{
	const struct v8_keep_layout *layout = k->layout;
	__u64 flags = get_head(k->s, layout->scope_first);
	__u64 n = get_head(k->s, layout->scope_first + 16) >> 32 & 0xffff;
	__u64 slot = layout->scope_head, receiver, has_name, is_hashed;
	const __u8 *tail;

	flags >>= 32 * (1 ^ (layout->flags & V8_KEEP_SCOPE_RAW));
	receiver = flags >> V8_KEEP_SCOPE_RECEIVER & 3;
	has_name = ep_is_set(flags >> V8_KEEP_SCOPE_FUNCTION & 3);
	is_hashed = 1 ^ is_below(n, layout->scope_hash_at);
	slot += ep_pick(is_hashed, 1 + n, 2 * n);
	slot += flags >> V8_KEEP_SCOPE_SAVED_CLASS & 1;
	slot += (layout->flags >> 1 & 1) * (ep_is_same(receiver, 1) | ep_is_same(receiver, 2));
	slot += ep_is_same(flags & 15, layout->scope_module);
	tail = ep_keep_memory(k->keep, k->s->word - 1 + layout->scope_first + 8 * slot,
			      V8_SCOPE_TAIL_BYTES);
	if (!tail)
		return;
	keep_later(k->s, has_name, get_kept(tail, 0));
	keep_later(k->s, flags >> V8_KEEP_SCOPE_INFERRED & 1, get_kept(tail, 16 * has_name));
}

/*
 * Space for the largest piece and the others of a step: what is beyond EP_KEPT_BYTES is not sent.
 */
static __always_inline bool has_room(const struct v8_keeping *k)
{
	return k->keep->kept.bytes <= EP_KEPT_BYTES - EP_KEEP_ITEM_BYTES;
}

/* The object that waits last. False: none does. */
static __always_inline bool take_next(struct v8_keeper *s)
{
	__u64 n = s->n_waiting - 1, word;

	if (n >= V8_KEEP_WAITING)
		return false;
	word = s->waiting[n];
	s->n_waiting = n;
	s->is_function = word >> 1 & 1;
	s->word = word & ~(__u64)V8_IS_FUNCTION;
	return true;
}

static __always_inline void keep_object(const struct v8_keeping *k)
{
	struct v8_what what;

	read_head(k);
	describe(k, &what);
	EP_MEET();
	if (!keep_pieces(k, &what))
		return;
	EP_MEET();
	keep_map(k);
	EP_MEET();
	if (k->s->is_scope)
		keep_tail(k);
}

SEC("perf_event")
int v8_keep(struct bpf_perf_event_data *ctx)
{
	struct ep_record *rec = ep_get_record();
	const struct v8_state *state = rec ? ep_get_state(rec) : NULL;
	struct v8_keeping k = {.rec = rec};

	k.s = rec ? ep_get_scratch(rec) : NULL;
	k.keep = rec ? ep_keep_begin(rec) : NULL;
	if (state && k.s && k.keep && state->keep.sfi_bytes) {
		k.layout = &state->keep;
		list_functions(&k);
		for (__u64 i = 0; i < V8_KEEP_STEPS && has_room(&k) && take_next(k.s); i++)
			keep_object(&k);
		ep_keep_send(rec, k.keep);
	}
	ep_keep_end(ctx, rec);
	return 0;
}
