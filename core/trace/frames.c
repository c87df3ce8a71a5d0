/* SPDX-License-Identifier: Apache-2.0 */
#include "core/trace/frames.h"
#include "core/base/vec.h"
#include "core/base/index.h"
#include "core/trace/quotas.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <xxhash.h>

/*
 * A key is an array of u64: header, words, and for frames of one program that program.
 *
 *	header | word 0 .. n_words - 1 | image, pid | start_ns
 */
#define KEY_MAX (1 + EP_FRAME_MAX_WORDS + 2)

#define MAX_TRIES 63 /* in six bits */
#define FIRST_OWNERS 64

struct frame {
	uint32_t key_first; /* into keys */
	uint32_t line_first;
	uint32_t module; /* string */
	uint8_t n_key : 6;
	uint8_t age : 2; /* EP_FRAMES_OLD at most */
	uint8_t n_lines;
	uint8_t state : 2; /* enum ep_frame_state */
	uint8_t tries : 6;
	uint8_t type : 4;    /* enum ep_frame_type */
	uint8_t unnamed : 4; /* enum ep_unnamed */
};

_Static_assert(sizeof(struct frame) == 16, "there are many of them");
_Static_assert(KEY_MAX < 1 << 6 && EP_FRAMES_OLD < 1 << 2, "their bits");
_Static_assert((int)EP_FRAME_TYPE_COUNT <= 16 && (int)EP_UNNAMED_COUNT <= 16, "both in four bits");

struct ep_frames {
	uint32_t refs;
	uint32_t unresolved;
	uint32_t n_taken;     /* frames 1 .. n_taken are not PENDING, but those in put_back */
	uint32_t n_resolved;  /* frames 1 .. n_resolved are RESOLVED */
	bool refused;	      /* a frame or a name did not fit */
	uint32_t most_frames, most_lines; /* that one program has */
	uint64_t names_over_share;
	struct ep_vec frames; /* struct frame; id - 1 is the position */
	struct ep_vec owners; /* uint32_t, of each frame: whose share it is of (quotas.h) */
	struct ep_vec keys;   /* uint64_t */
	struct ep_vec lines;  /* struct ep_frame_name */
	struct ep_vec put_back; /* uint32_t: ids */
	struct ep_index index;
	struct ep_strings *strings;
	size_t max_string_bytes;
	struct ep_quotas quotas;
};

static void frames_free(struct ep_frames *f)
{
	ep_vec_fini(&f->frames);
	ep_vec_fini(&f->owners);
	ep_vec_fini(&f->keys);
	ep_vec_fini(&f->lines);
	ep_vec_fini(&f->put_back);
	ep_index_fini(&f->index);
	ep_quotas_fini(&f->quotas);
	ep_strings_free(f->strings);
	free(f);
}

struct ep_frames *ep_frames_ref(struct ep_frames *f)
{
	f->refs++;
	return f;
}

void ep_frames_unref(struct ep_frames *f)
{
	if (f && --f->refs == 0)
		frames_free(f);
}

/* Error frame e gets id e, and needs no resolver: its text is in errors.def. */
static int add_error_frames(struct ep_frames *f)
{
	for (uint32_t error = 1; error < EP_ERROR_COUNT; error++) {
		uint32_t id = 0;
		int r = ep_frames_add(f, EP_FRAME_HEADER(EP_FRAME_ERROR, 0, 0, error), NULL,
				      (struct ep_program){0},
				      &id);

		if (r < 0)
			return r;
		assert(id == error);
	}
	return 0;
}

int ep_frames_new(uint32_t max_frames, size_t max_string_bytes, size_t max_line_bytes,
		  struct ep_frames **ret_frames)
{
	struct ep_frames *f = calloc(1, sizeof(*f));
	int r;

	assert(max_frames >= EP_ERROR_COUNT);
	if (!f)
		return -ENOMEM;
	f->refs = 1;
	ep_vec_init(&f->frames, sizeof(struct frame), max_frames);
	ep_vec_init(&f->owners, sizeof(uint32_t), max_frames);
	ep_vec_init(&f->keys, sizeof(uint64_t), (size_t)max_frames * KEY_MAX);
	ep_vec_init(&f->lines, sizeof(struct ep_frame_name),
		    max_line_bytes / sizeof(struct ep_frame_name));
	ep_vec_init(&f->put_back, sizeof(uint32_t), max_frames);
	ep_quotas_init(&f->quotas, max_frames);
	f->max_string_bytes = max_string_bytes;
	r = ep_strings_new(max_string_bytes, &f->strings);
	if (r == 0)
		r = add_error_frames(f);
	if (r < 0) {
		ep_frames_unref(f);
		return r;
	}
	*ret_frames = f;
	return 0;
}

static struct frame *frame_at(const struct ep_frames *f, uint32_t id)
{
	assert(id > 0 && id <= f->frames.len);
	return ep_vec_at(&f->frames, struct frame, id - 1);
}

/* True for frames whose words mean something in one process only. */
static bool belongs_to_process(uint32_t kind, uint32_t aux)
{
	return kind >= EP_FRAME_FIRST_DYNAMIC || (kind == EP_FRAME_NATIVE && aux == 0);
}

static bool has_fixed_name(uint32_t kind)
{
	return kind == EP_FRAME_ERROR || kind == EP_FRAME_TASK || kind == EP_FRAME_GAP;
}

/* Writes the key, returns its length. What does not name the frame is masked out. */
static size_t make_key(uint64_t header, const uint64_t *words, struct ep_program program,
		       uint64_t key[KEY_MAX])
{
	uint32_t kind = EP_FRAME_KIND(header), aux = EP_FRAME_AUX(header);
	uint32_t flags = EP_FRAME_FLAGS(header) & (EP_FRAME_RETURN_ADDRESS | EP_FRAME_POINTER_WALK);
	uint32_t n_words = EP_FRAME_WORDS(header);
	size_t n = 0;

	if (has_fixed_name(kind))
		flags = n_words = 0;
	if (kind >= EP_FRAME_FIRST_DYNAMIC)
		flags = EP_FRAME_FLAGS(header) & ~(uint32_t)EP_FRAME_ENTRY;
	key[n++] = EP_FRAME_HEADER(kind, flags, n_words, aux);
	for (uint32_t i = 0; i < n_words; i++)
		key[n++] = words[i];
	if (belongs_to_process(kind, aux)) {
		key[n++] = (uint64_t)program.image << 32 | program.pid;
		key[n++] = program.start_ns;
	}
	return n;
}

static uint32_t find(const struct ep_frames *f, uint64_t hash, const uint64_t *key, size_t n_key)
{
	size_t pos;

	for (uint32_t id = ep_index_first(&f->index, hash, &pos); id;
	     id = ep_index_next(&f->index, hash, &pos)) {
		const struct frame *frame = frame_at(f, id);

		if (frame->n_key == n_key && memcmp(ep_vec_at(&f->keys, uint64_t, frame->key_first),
						    key, n_key * sizeof(*key)) == 0)
			return id;
	}
	return 0;
}

/* Whose share a new frame is of. 0, -EDQUOT: the program has as much as it may, -ENOMEM. */
static int find_owner(struct ep_frames *f, uint32_t kind, struct ep_program program, uint32_t *ret_owner)
{
	size_t left = f->frames.max - f->frames.len;
	uint32_t owner = EP_QUOTA_NOBODY;
	int r = 0;

	if (left > 0 && kind != EP_FRAME_KERNEL && !has_fixed_name(kind)) {
		r = ep_quotas_add(&f->quotas, program, &owner);
		if (r == 0 && !ep_quota_allows(ep_quotas_at(&f->quotas, owner)->n_frames, left))
			r = -EDQUOT;
	}
	*ret_owner = owner;
	return r;
}

/* Cannot fail: there is space. */
static void count_frame(struct ep_frames *f, uint32_t owner)
{
	struct ep_quota *share;

	(void)ep_vec_append(&f->owners, &owner, 1);
	if (owner == EP_QUOTA_NOBODY)
		return;
	share = ep_quotas_at(&f->quotas, owner);
	share->n_frames++;
	f->most_frames = EP_MAX(f->most_frames, share->n_frames);
}

static int append(struct ep_frames *f, uint64_t hash, const uint64_t *key, size_t n_key,
		  struct ep_program program)
{
	uint8_t state = has_fixed_name(EP_FRAME_KIND(key[0])) ? EP_FRAME_RESOLVED : EP_FRAME_PENDING;
	struct frame frame = {
		.key_first = (uint32_t)f->keys.len, .n_key = n_key & 0x3f, .state = state};
	uint32_t owner;
	int r = find_owner(f, EP_FRAME_KIND(key[0]), program, &owner);

	if (r == 0 && f->owners.len == f->owners.cap)
		r = ep_vec_reserve(&f->owners, EP_MIN(f->owners.cap + f->owners.cap / 2 + FIRST_OWNERS,
						      f->owners.max));
	if (r == 0)
		r = ep_vec_append(&f->keys, key, n_key);
	if (r < 0)
		return r;
	r = ep_vec_append(&f->frames, &frame, 1);
	if (r == 0) {
		r = ep_index_add(&f->index, hash, (uint32_t)f->frames.len);
		f->frames.len -= r < 0;
	}
	if (r < 0) {
		f->keys.len -= n_key;
		return r;
	}
	f->unresolved += state == EP_FRAME_PENDING;
	count_frame(f, owner);
	return 0;
}

/* Nearly all frames are known: they are not to bear what this costs. */
static __attribute__((noinline)) int add_new(struct ep_frames *f, uint64_t hash, const uint64_t *key,
					     size_t n_key, const struct ep_program *program,
					     uint32_t *ret_id)
{
	int r = append(f, hash, key, n_key, *program);

	if (r < 0)
		f->refused = true;
	else
		*ret_id = (uint32_t)f->frames.len;
	return r;
}

int ep_frames_add(struct ep_frames *f, uint64_t header, const uint64_t *words,
		  struct ep_program program, uint32_t *ret_id)
{
	uint64_t key[KEY_MAX], hash;
	size_t n_key;
	uint32_t id;

	assert(EP_FRAME_WORDS(header) <= EP_FRAME_MAX_WORDS);
	n_key = make_key(header, words, program, key);
	hash = XXH3_64bits(key, n_key * sizeof(*key));
	id = find(f, hash, key, n_key);
	if (!id)
		return add_new(f, hash, key, n_key, &program, ret_id);
	*ret_id = id;
	return 0;
}

void ep_frames_get(const struct ep_frames *f, uint32_t id, struct ep_frame *ret_frame)
{
	const struct frame *frame = frame_at(f, id);
	const uint64_t *key = ep_vec_at(&f->keys, uint64_t, frame->key_first);

	*ret_frame = (struct ep_frame){
		.kind = EP_FRAME_KIND(key[0]),
		.flags = EP_FRAME_FLAGS(key[0]),
		.aux = EP_FRAME_AUX(key[0]),
		.n_words = EP_FRAME_WORDS(key[0]),
	};
	memcpy(ret_frame->words, key + 1, ret_frame->n_words * sizeof(*key));
	if (belongs_to_process(ret_frame->kind, ret_frame->aux)) {
		uint64_t image_pid = key[1 + ret_frame->n_words];

		ret_frame->program = (struct ep_program){
			.start_ns = key[2 + ret_frame->n_words],
			.pid = (uint32_t)image_pid,
			.image = (uint32_t)(image_pid >> 32),
		};
	}
}

uint32_t ep_frames_count(const struct ep_frames *f)
{
	return (uint32_t)f->frames.len;
}

/* One program may have half of it. */
static bool is_nearly_full(const struct ep_vec *vec, size_t most)
{
	return vec->len >= vec->max - vec->max / 8 || most >= vec->max / 2 - vec->max / 16;
}

bool ep_frames_is_full(const struct ep_frames *f)
{
	return f->refused || is_nearly_full(&f->frames, f->most_frames) ||
	       is_nearly_full(&f->lines, f->most_lines);
}

uint64_t ep_frames_names_over_share(const struct ep_frames *f)
{
	return f->names_over_share;
}

size_t ep_frames_bytes(const struct ep_frames *f)
{
	return sizeof(*f) + f->frames.cap * sizeof(struct frame) +
	       f->owners.cap * sizeof(uint32_t) + f->keys.cap * sizeof(uint64_t) +
	       f->lines.cap * sizeof(struct ep_frame_name) + f->put_back.cap * sizeof(uint32_t) +
	       ep_index_bytes(&f->index) + ep_quotas_bytes(&f->quotas) + ep_strings_bytes(f->strings);
}

uint64_t ep_frame_lookup_addr(const struct ep_frame *frame)
{
	uint64_t address = frame->n_words ? frame->words[0] : 0;

	return frame->flags & EP_FRAME_RETURN_ADDRESS && address ? address - 1 : address;
}

static bool take(struct ep_frames *f, uint32_t id)
{
	struct frame *frame = frame_at(f, id);

	if (frame->state != EP_FRAME_PENDING)
		return false;
	frame->state = EP_FRAME_TAKEN;
	return true;
}

uint32_t ep_frames_take(struct ep_frames *f)
{
	while (f->put_back.len > 0) {
		uint32_t id = *ep_vec_at(&f->put_back, uint32_t, --f->put_back.len);

		if (take(f, id))
			return id;
	}
	while (f->n_taken < f->frames.len) {
		if (take(f, ++f->n_taken))
			return f->n_taken;
	}
	return 0;
}

/* Without memory all from there on are looked through once more. */
void ep_frames_put_back(struct ep_frames *f, uint32_t id)
{
	struct frame *frame = frame_at(f, id);

	if (frame->state != EP_FRAME_TAKEN)
		return;
	frame->state = EP_FRAME_PENDING;
	if (ep_vec_append(&f->put_back, &id, 1) < 0)
		f->n_taken = EP_MIN(f->n_taken, id - 1);
}

void ep_frames_put_off(struct ep_frames *f, uint32_t id)
{
	struct frame *frame = frame_at(f, id);

	frame->tries += frame->tries < MAX_TRIES;
	ep_frames_put_back(f, id);
}

uint32_t ep_frames_tries(const struct ep_frames *f, uint32_t id)
{
	return frame_at(f, id)->tries;
}

bool ep_frames_is_shared(const struct ep_frames *f)
{
	return f->refs > 1;
}

uint32_t ep_frames_first_unresolved(struct ep_frames *f)
{
	while (f->n_resolved < f->frames.len &&
	       frame_at(f, f->n_resolved + 1)->state == EP_FRAME_RESOLVED)
		f->n_resolved++;
	return f->n_resolved + 1;
}

uint32_t ep_frames_unresolved(const struct ep_frames *f)
{
	return f->unresolved;
}

static int add_string(struct ep_frames *f, const char *str, uint32_t *ret_id)
{
	*ret_id = 0;
	return str ? ep_strings_add(f->strings, str, ep_name_bytes(str), ret_id) : 0;
}

#define MAX_START_LINE ((1u << 30) - 1)
#define LINE_FLAGS     (EP_LINE_WRAPPER | EP_LINE_SHOWS_WRAPPER)
_Static_assert(LINE_FLAGS < 1 << 2, "they have two bits");

static int add_line(struct ep_frames *f, const struct ep_frame_line *line)
{
	struct ep_frame_name name = {
		.line = line->line,
		.column = line->column,
		.start_line = line->start_line <= MAX_START_LINE ? line->start_line : 0,
		.flags = line->flags & LINE_FLAGS,
		.start_va = line->start_va,
	};
	int r;

	r = add_string(f, line->function, &name.function);
	if (r == 0)
		r = add_string(f, line->system_name ? line->system_name : line->function,
			       &name.system_name);
	if (r == 0)
		r = add_string(f, line->file, &name.file);
	return r < 0 ? r : ep_vec_append(&f->lines, &name, 1);
}

/* Bytes of its strings at most: of those that are known already there is one copy. */
static size_t text_bytes(const struct ep_frame_line *line)
{
	const char *const strings[] = {line->function, line->system_name, line->file};
	size_t bytes = 0;

	for (size_t i = 0; i < EP_LEN(strings); i++)
		bytes += strings[i] ? ep_name_bytes(strings[i]) + 1 : 0;
	return bytes;
}

/* How many lines are kept before the last one. */
static size_t count_inlined(const struct ep_frame_line *lines, size_t n_lines)
{
	size_t max = EP_MIN(n_lines, (size_t)EP_FRAME_MAX_LINES) - 1, n = 0;
	size_t bytes = text_bytes(&lines[n_lines - 1]);

	for (; n < max; n++) {
		bytes += text_bytes(&lines[n]);
		if (bytes > EP_FRAME_MAX_TEXT_BYTES)
			break;
	}
	return n;
}

/* Adds the first n_inlined lines and the last one. */
static int add_lines(struct ep_frames *f, const struct ep_frame_line *lines, size_t n_lines,
		     size_t n_inlined)
{
	size_t first = f->lines.len;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n_inlined; i++)
		r = add_line(f, &lines[i]);
	if (r == 0)
		r = add_line(f, &lines[n_lines - 1]);
	if (r < 0)
		f->lines.len = first;
	return r;
}

static bool has_function(const struct ep_frame_line *lines, size_t n_lines)
{
	for (size_t i = 0; i < n_lines; i++) {
		if (lines[i].function && lines[i].function[0])
			return true;
	}
	return false;
}

/* Of a frame that nobody gave a reason for. */
static enum ep_unnamed find_reason(const struct ep_frames *f, const struct frame *frame)
{
	uint64_t header = *ep_vec_at(&f->keys, uint64_t, frame->key_first);

	if (EP_FRAME_KIND(header) >= EP_FRAME_FIRST_DYNAMIC)
		return EP_UNNAMED_UNREADABLE;
	return EP_FRAME_KIND(header) == EP_FRAME_NATIVE && EP_FRAME_AUX(header) == 0 && !frame->module
		       ? EP_UNNAMED_NO_FILE
		       : EP_UNNAMED_NO_SYMBOL;
}

static uint32_t owner_of(const struct ep_frames *f, const struct frame *frame)
{
	return *ep_vec_at(&f->owners, uint32_t, frame - ep_vec_at(&f->frames, struct frame, 0));
}

/* May this frame's program have more names? */
static bool may_be_named(struct ep_frames *f, const struct frame *frame)
{
	size_t used = ep_strings_bytes(f->strings);
	uint32_t owner = owner_of(f, frame);
	const struct ep_quota *share;

	if (owner == EP_QUOTA_NOBODY)
		return true;
	share = ep_quotas_at(&f->quotas, owner);
	if (ep_quota_allows(share->n_lines, f->lines.max - f->lines.len) &&
	    ep_quota_allows(share->text_bytes, f->max_string_bytes - EP_MIN(used, f->max_string_bytes)))
		return true;
	f->names_over_share++;
	return false;
}

#define STRING_BYTES 32 /* of each, beside its text: an entry, a slot of the index */

/* If nobody had them. */
static size_t name_bytes(const struct ep_frames *f, const struct ep_frame_name *name)
{
	size_t bytes = ep_strings_len_of(f->strings, name->function) +
		       ep_strings_len_of(f->strings, name->file) + 2 * STRING_BYTES;

	if (name->system_name != name->function)
		bytes += ep_strings_len_of(f->strings, name->system_name) + STRING_BYTES;
	return bytes;
}

/* `grown`: by so many bytes the strings grew, of which whole blocks and indexes are nobody's. */
static void count_names(struct ep_frames *f, const struct frame *frame, size_t grown)
{
	uint32_t owner = owner_of(f, frame);
	struct ep_quota *share;
	size_t bytes = 0;

	if (owner == EP_QUOTA_NOBODY)
		return;
	share = ep_quotas_at(&f->quotas, owner);
	share->n_lines += frame->n_lines;
	f->most_lines = EP_MAX(f->most_lines, share->n_lines);
	if (frame->module)
		bytes += ep_strings_len_of(f->strings, frame->module) + STRING_BYTES;
	for (uint32_t i = 0; grown > 0 && i < frame->n_lines; i++)
		bytes += name_bytes(f, ep_vec_at(&f->lines, struct ep_frame_name, frame->line_first + i));
	share->text_bytes += EP_MIN(bytes, grown);
}

static size_t resolve(struct ep_frames *f, uint32_t id, enum ep_unnamed why,
		      const struct ep_frame_line *lines, size_t n_lines, const char *module)
{
	struct frame *frame = frame_at(f, id);
	size_t n_inlined = n_lines ? count_inlined(lines, n_lines) : 0;
	size_t n_kept = n_lines ? n_inlined + 1 : 0;
	uint32_t first = (uint32_t)f->lines.len;
	size_t bytes = ep_strings_bytes(f->strings);

	if (frame->state == EP_FRAME_RESOLVED)
		return 0;
	frame->unnamed = (uint8_t)(why & 0xf);
	if (((n_lines || module) && !may_be_named(f, frame)) || add_string(f, module, &frame->module) < 0 ||
	    (n_lines && add_lines(f, lines, n_lines, n_inlined) < 0)) {
		f->refused = true;
		frame->unnamed = EP_UNNAMED_LIMIT;
	}
	if (!frame->unnamed && !has_function(lines, n_lines))
		frame->unnamed = find_reason(f, frame);
	frame->line_first = first;
	frame->n_lines = (uint8_t)(f->lines.len - first);
	count_names(f, frame, ep_strings_bytes(f->strings) - bytes);
	frame->state = EP_FRAME_RESOLVED;
	f->unresolved--;
	return n_lines - n_kept;
}

size_t ep_frames_resolve(struct ep_frames *f, uint32_t id, const struct ep_frame_line *lines,
			 size_t n_lines, const char *module)
{
	return resolve(f, id, EP_UNNAMED_NONE, lines, n_lines, module);
}

size_t ep_frames_resolve_as(struct ep_frames *f, uint32_t id, enum ep_frame_type type,
			    const struct ep_frame_line *lines, size_t n_lines)
{
	struct frame *frame = frame_at(f, id);

	if (frame->state != EP_FRAME_RESOLVED)
		frame->type = (uint8_t)type;
	return ep_frames_resolve(f, id, lines, n_lines, NULL);
}

size_t ep_frames_resolve_unnamed(struct ep_frames *f, uint32_t id, enum ep_unnamed why,
				 const struct ep_frame_line *lines, size_t n_lines)
{
	return resolve(f, id, why, lines, n_lines, NULL);
}

void ep_frames_wait_long(struct ep_frames *f, uint32_t id)
{
	struct frame *frame = frame_at(f, id);

	if (frame->state != EP_FRAME_RESOLVED)
		frame->unnamed = EP_UNNAMED_SLOW;
}

enum ep_unnamed ep_frames_unnamed(const struct ep_frames *f, uint32_t id)
{
	const struct frame *frame = frame_at(f, id);

	return frame->state == EP_FRAME_RESOLVED || frame->unnamed ? (enum ep_unnamed)frame->unnamed
								   : EP_UNNAMED_PENDING;
}

/* --- what is used ---------------------------------------------------------------------------- */

void ep_frames_use(struct ep_frames *f, const uint32_t *ids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		frame_at(f, ids[i])->age = 0;
}

uint32_t ep_frames_age(struct ep_frames *f)
{
	struct frame *frame;
	uint32_t n = 0;

	ep_vec_each(&f->frames, frame) {
		frame->age += frame->age < EP_FRAMES_OLD;
		n += frame->age < EP_FRAMES_OLD;
	}
	return n;
}

static struct ep_program owner_program(const struct ep_frames *f, const struct frame *frame)
{
	uint32_t owner = owner_of(f, frame);

	return owner == EP_QUOTA_NOBODY ? (struct ep_program){0} : ep_quotas_at(&f->quotas, owner)->program;
}

/* Where one has no name since there was no space for it, there may be now. */
static void copy_names(const struct ep_frames *f, const struct frame *frame, struct ep_frames *to, uint32_t id)
{
	struct ep_frame_line lines[EP_FRAME_MAX_LINES];

	if (frame->state != EP_FRAME_RESOLVED || frame->unnamed == EP_UNNAMED_LIMIT)
		return;
	for (size_t i = 0; i < frame->n_lines; i++) {
		const struct ep_frame_name *name = ep_vec_at(&f->lines, struct ep_frame_name, frame->line_first + i);

		lines[i] = (struct ep_frame_line){
			.function = ep_strings_get(f->strings, name->function),
			.system_name = ep_strings_get(f->strings, name->system_name),
			.file = ep_strings_get(f->strings, name->file),
			.line = name->line,
			.column = name->column,
			.start_line = name->start_line,
			.flags = name->flags,
			.start_va = name->start_va,
		};
	}
	frame_at(to, id)->type = frame->type;
	(void)resolve(to, id, (enum ep_unnamed)frame->unnamed, lines, frame->n_lines,
		      frame->module ? ep_strings_get(f->strings, frame->module) : NULL);
}

/* What its program has no share for any more is added when it is seen again, or not. */
int ep_frames_renew(const struct ep_frames *f, struct ep_frames **ret_frames)
{
	struct ep_frames *to;
	const struct frame *frame;
	int r = ep_frames_new((uint32_t)f->frames.max, f->max_string_bytes,
			      f->lines.max * sizeof(struct ep_frame_name), &to);

	if (r < 0)
		return r;
	ep_vec_each(&f->frames, frame) {
		const uint64_t *key = ep_vec_at(&f->keys, uint64_t, frame->key_first);
		uint32_t id;

		if (frame->age >= EP_FRAMES_OLD || has_fixed_name(EP_FRAME_KIND(key[0])))
			continue;
		r = ep_frames_add(to, key[0], key + 1, owner_program(f, frame), &id);
		if (r == -ENOMEM) {
			ep_frames_unref(to);
			return r;
		}
		if (r == 0)
			copy_names(f, frame, to, id);
	}
	*ret_frames = to;
	return 0;
}

enum ep_frame_state ep_frames_state(const struct ep_frames *f, uint32_t id)
{
	return (enum ep_frame_state)frame_at(f, id)->state;
}

enum ep_frame_type ep_frames_type(const struct ep_frames *f, uint32_t id)
{
	return (enum ep_frame_type)frame_at(f, id)->type;
}

size_t ep_frames_names(const struct ep_frames *f, uint32_t id,
		       const struct ep_frame_name **ret_names, uint32_t *ret_module)
{
	const struct frame *frame = frame_at(f, id);

	*ret_names = frame->n_lines ? ep_vec_at(&f->lines, struct ep_frame_name, frame->line_first)
				    : NULL;
	*ret_module = frame->module;
	return frame->n_lines;
}

const struct ep_strings *ep_frames_strings(const struct ep_frames *f)
{
	return f->strings;
}
