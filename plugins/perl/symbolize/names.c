/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/perl/symbolize/names.h"

#include "core/base/util.h"
#include "plugins/perl/symbolize/frame.h"
#include "plugins/perl/symbolize/lines.h"
#include "plugins/perl/symbolize/objects.h"
#include "plugins/shared/read/memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PACKAGE_BYTES  512
#define NAME_BYTES     PACKAGE_BYTES
#define FUNCTION_BYTES (PACKAGE_BYTES + NAME_BYTES + 256)

/* What is found out about it. */
struct finding {
	struct pl_reader reader;
	struct pl_frame frame;
	__u64 cv_words[PL_CV_WORDS];
	struct pl_place place, start;
	bool start_lost; /* it could not be read */
	bool own_name; /* false: it was not found out, and may be known better later */
	char function[FUNCTION_BYTES];
};

/* --- is it what the frame saw? ---------------------------------------------------------------- */

static int check_cv(struct finding *f)
{
	struct pl_sv cv;
	int r = pl_read(&f->reader, f->frame.what, &cv, sizeof(cv));

	if (r == 0 && PL_SV_TYPE(cv.flags) != PL_SVT_PVCV && PL_SV_TYPE(cv.flags) != PL_SVT_PVFM)
		return EP_FRAME_GONE;
	if (r == 0)
		r = pl_read(&f->reader, cv.any + PL_CV_AT, f->cv_words, sizeof(f->cv_words));
	if (r < 0)
		return memory_frame_gone(r);
	return pl_check_cv(f->cv_words) == f->frame.check ? 0 : EP_FRAME_GONE;
}

/* What has a closure's name, into its check. */
static int check_name(struct finding *f, uint64_t *check)
{
	bool named = f->frame.flags & PL_FRAME_NAMED;
	uint64_t words[2] = {0}, body;
	int r;

	if (named)
		r = pl_read(&f->reader, f->frame.what, words, sizeof(*words));
	else
		r = pl_read(&f->reader, f->frame.what, &body, sizeof(body));
	if (r == 0 && !named)
		r = pl_read(&f->reader, body + PL_GV_NAME_AT, words, sizeof(words));
	*check = pl_check_name(*check, words[0], words[1]);
	return r;
}

static int check_cop(struct finding *f)
{
	uint32_t ints[PL_COP_INTS];
	uint64_t check = 0;
	int r = pl_read_statement(&f->reader, f->frame.cop, ints);

	if (r == 0)
		check = pl_check_cop(ints);
	if (r == 0 && f->frame.kind == PL_KIND_CLOSURE && !f->frame.name)
		r = check_name(f, &check);
	if (r < 0)
		return memory_frame_gone(r);
	return check == f->frame.check ? 0 : EP_FRAME_GONE;
}

static int check_frame(struct finding *f)
{
	return pl_kind_has_cv(f->frame.kind) ? check_cv(f) : check_cop(f);
}

/* --- names ------------------------------------------------------------------------------------ */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* The name of a CV, as cv_name (pad.c) writes it. */
static int read_cv_name(struct finding *f, char *package, char *name)
{
	uint32_t flags = (uint32_t)(f->cv_words[PL_CV_SEQ_FLAGS] >> 32);
	uint64_t gv = f->cv_words[PL_CV_GV], stash = f->cv_words[PL_CV_STASH];
	bool lexical = flags & PL_CVF_LEXICAL;
	int r;

	package[0] = '\0';
	if (!gv) /* caller() says so */
		return snprintf(name, NAME_BYTES, "(unknown)") < 0 ? -EBADMSG : 0;
	if (!(flags & PL_CVF_NAMED))
		return pl_read_glob_name(&f->reader, gv, f->frame.kind != PL_KIND_CLOSURE,
					 lexical ? NULL : package, name, NAME_BYTES);
	r = pl_read_hek(&f->reader, gv, name, NAME_BYTES);
	if (r < 0 || lexical)
		return r;
	if (!stash)
		return snprintf(package, PACKAGE_BYTES, "__ANON__") < 0 ? -EBADMSG : 0;
	return pl_read_stash_name(&f->reader, stash, package, PACKAGE_BYTES);
}

static bool is_anonymous(const char *name)
{
	return strcmp(name, "__ANON__") == 0;
}

static void write_sub_name(struct finding *f, const char *package, const char *name)
{
	char place[256] = "";

	if (is_anonymous(name) && f->start.line)
		snprintf(place, sizeof(place), "[%.200s:%u]", base_name(f->start.file),
			 f->start.line);
	else if (is_anonymous(name) && f->start_lost)
		snprintf(place, sizeof(place), "[?]");
	snprintf(f->function, sizeof(f->function), "%s%s%s%s%s",
		 f->frame.kind == PL_KIND_FORMAT ? "format " : "", package, package[0] ? "::" : "",
		 name, place);
}

static bool is_statement(struct finding *f, uint64_t addr)
{
	const struct pl_ops *ops = &f->reader.layout->ops;
	struct {
		uint64_t next, sibling, ppaddr, targ;
		uint16_t bits;
	} op;

	f->start_lost = pl_read(&f->reader, addr, &op, sizeof(op)) < 0;
	return !f->start_lost &&
	       ((op.bits & 0x1ff) == ops->nextstate || (op.bits & 0x1ff) == ops->dbstate);
}

/* The first statement; a sub may begin with something else, such as the clones of lexical subs. */
static void read_start(struct finding *f, uint64_t start)
{
	if (start && !is_statement(f, start))
		start = pl_first_statement(&f->reader, start);
	if (start && pl_read_place(&f->reader, start, &f->start) == 0)
		return;
	f->start.line = 0;
	f->start_lost |= start != 0;
}

static void read_frame_place(struct finding *f)
{
	const struct pl_frame *frame = &f->frame;
	uint64_t cop = frame->cop, op = 0;
	bool is_closest;

	if (!cop)
		return;
	if (frame->op_words)
		op = cop + (uint64_t)(frame->op_words * 8);
	is_closest = pl_closest_statement(&f->reader, op, frame->flags & PL_FRAME_LEAF, &cop);
	if (pl_read_place(&f->reader, cop, &f->place) < 0)
		f->place = (struct pl_place){0};
	/* The file is that of all of it; the line at most that where it begins, as of what is
	 * freed. */
	if (!is_closest)
		f->place.line = frame->line;
}

static int name_sub(struct finding *f)
{
	char package[PACKAGE_BYTES], name[NAME_BYTES];
	int r;

	read_start(f, f->cv_words[PL_CV_START]);
	r = read_cv_name(f, package, name);
	if (r < 0)
		return r;
	write_sub_name(f, package, name);
	read_frame_place(f);
	/* It has not come to its first statement. */
	if (!f->frame.cop)
		f->place = f->start;
	return 0;
}

/* What somebody named by hand: the glob may be another one by now. */
static int read_own_name(struct finding *f)
{
	char package[PACKAGE_BYTES], name[NAME_BYTES];
	uint64_t gv = f->frame.what, body, words[2], head;
	int r = pl_read_glob_name(&f->reader, gv, false, package, name, NAME_BYTES);

	if (r == 0)
		r = pl_read(&f->reader, gv, &body, sizeof(body));
	if (r == 0)
		r = pl_read(&f->reader, body + PL_GV_NAME_AT, words, sizeof(words));
	if (r == 0)
		r = pl_read(&f->reader, words[0], &head, sizeof(head));
	if (r < 0)
		return memory_frame_gone(r);
	if (pl_name_of_closure(head, words[1]) != f->frame.name)
		return EP_FRAME_GONE;
	write_sub_name(f, package, name);
	return 0;
}

/* What the cache knows names by: of code, recognised by its check, and of a place in it. */
struct key {
	uint64_t code;	/* check and kind */
	uint64_t cop;	/* address of the statement; 0: the name alone */
	uint64_t place; /* op and which one it is */
};

int pl_namer_init(struct pl_namer *namer)
{
	int r = names_cache_new(&(struct names_budget){.classes = {PL_CACHE_MAX_BYTES}},
				&namer->cache);

	return r == 0 ? pl_files_new(&namer->files) : r;
}

void pl_namer_fini(struct pl_namer *namer)
{
	names_cache_free(namer->cache);
	pl_files_free(namer->files);
	namer->cache = NULL;
	namer->files = NULL;
}

static const struct names_function *find_known(struct names_cache *cache, const struct key *key)
{
	return names_cache_peek(cache, 0, key->code, key->cop, key->place);
}

/* Replaces what the cache has by the same key. */
static int remember(struct names_cache *cache, const struct key *key,
		    const struct names_function *from)
{
	struct names_function *made;
	int r = names_function_new(from->function, from->file, NULL, 0, &made);

	if (r < 0)
		return r;
	memcpy(made->item.key, key, sizeof(*key));
	made->line = from->line;
	made->start_line = from->start_line;
	names_cache_put(cache, &made->item);
	names_item_unref(&made->item);
	return 0;
}

static struct key key_of_name(const struct pl_frame *frame)
{
	/* There is no such place: those of frames are of few bits, or hashes with a statement. */
	return (struct key){
		.code = frame->name,
		.place = ~((uint64_t)frame->kind << 8 | (frame->flags & PL_FRAME_NAMED)),
	};
}

/*
 * Its name may be freed long before the code that it was given to (Try::Tiny names each block when
 * it is called): then who had the same name tells it, and where nobody did it is a sub without a
 * name.
 */
static int name_by_hand(struct finding *f, struct names_cache *cache)
{
	struct key key = key_of_name(&f->frame);
	const struct names_function *known;
	char package[PACKAGE_BYTES];
	int r = read_own_name(f);

	if (r < 0)
		return r;
	read_frame_place(f);
	f->own_name = r == 0;
	if (r == 0)
		return 0;
	known = find_known(cache, &key);
	if (known) {
		snprintf(f->function, sizeof(f->function), "%s", known->function);
		return 0;
	}
	r = pl_read_stash_name(&f->reader, (f->frame.name & PL_ADDRESS_MASK) << 3, package,
			       sizeof(package));
	if (r < 0)
		return r;
	read_start(f, pl_first_statement(&f->reader, f->frame.cop));
	write_sub_name(f, package, "__ANON__");
	return 0;
}

/* As long as its statement lives the code does, and with it what has its name. */
static int name_closure(struct finding *f)
{
	char package[PACKAGE_BYTES], name[NAME_BYTES];
	uint32_t flags = f->frame.flags;
	uint64_t start;
	int r;

	f->cv_words[PL_CV_GV] = f->frame.what;
	f->cv_words[PL_CV_SEQ_FLAGS] =
		(flags & PL_FRAME_NAMED ? (__u64)(PL_CVF_NAMED | PL_CVF_LEXICAL) << 32 : 0) |
		(flags & PL_FRAME_LEXICAL ? (__u64)PL_CVF_LEXICAL << 32 : 0);
	r = read_cv_name(f, package, name);
	if (r < 0)
		return r;
	if (is_anonymous(name)) {
		start = pl_first_statement(&f->reader, f->frame.cop);
		read_start(f, start);
		f->start_lost |= start == 0;
	}
	write_sub_name(f, package, name);
	read_frame_place(f);
	return 0;
}

static int name_begin(struct finding *f)
{
	char package[PACKAGE_BYTES];
	int r = pl_read_stash_name(&f->reader, f->frame.what, package, sizeof(package));

	if (r < 0)
		return r;
	snprintf(f->function, sizeof(f->function), "%s::BEGIN", package);
	return 0;
}

static int name_other(struct finding *f)
{
	enum pl_kind kind = f->frame.kind;

	if (kind == PL_KIND_TEXT && strncmp(f->place.file, "(eval ", 6) == 0)
		snprintf(f->function, sizeof(f->function), "%.*s)",
			 (int)strcspn(f->place.file, ")"), f->place.file);
	else if (kind == PL_KIND_FILE && f->place.file[0])
		snprintf(f->function, sizeof(f->function), "require %.1000s", f->place.file);
	else if (kind == PL_KIND_BEGIN)
		return name_begin(f);
	else
		snprintf(f->function, sizeof(f->function), "%s", pl_kind_name(kind));
	return 0;
}

/* --- from a frame to its name ----------------------------------------------------------------- */

/* `unnamed` not 0: its text is no name. */
static int add_text(const struct ep_unwinder_host *host, struct ep_names *names,
		    const struct names_function *entry, enum ep_unnamed unnamed, uint32_t flags)
{
	struct ep_name more = {.line = entry->line, .unnamed = unnamed, .flags = flags};

	return names_add(host, names, entry, more);
}

static int add_name(const struct ep_unwinder_host *host, struct ep_names *names,
		    const struct names_function *entry)
{
	return add_text(host, names, entry, EP_UNNAMED_NONE, 0);
}

/* Its code or its statement is gone: more may have come with the sample. */
static int add_rest(const struct ep_unwinder_host *host, struct ep_names *names,
		    const struct names_function *entry)
{
	return add_text(host, names, entry, EP_UNNAMED_NONE, EP_NAME_STANDS_IN);
}

static void make_keys(const struct pl_frame *frame, struct key *place, struct key *code)
{
	*code = (struct key){.code = frame->check | (uint64_t)frame->kind << PL_CHECK_BITS};
	*place = *code;
	place->cop = frame->cop;
	place->place = (uint64_t)frame->op_words << 8 | (frame->flags & 0xff);
	if (frame->kind == PL_KIND_CLOSURE)
		place->place = check_mix(frame->what ^ frame->name, place->place);
	if (!frame->file)
		return;
	place->cop = frame->file;
	place->place = check_mix(frame->what, (uint64_t)frame->line << 8 | (frame->flags & 0xff));
}

/* What was read; it is remembered with its place, and of a sub alone. */
static int keep(struct names_cache *cache, const struct finding *f, const struct key *place,
		const struct key *code, struct names_function *ret)
{
	const struct names_function *known;
	struct names_function alone;
	struct key by_name;
	int r = 0;

	*ret = (struct names_function){
		.function = f->function,
		.file = f->place.file,
		.line = f->place.line,
		.start_line = f->start.line,
	};
	alone = *ret;
	alone.line = 0;
	alone.file = f->start.file;
	if (!f->own_name)
		return 0;
	if (pl_kind_has_cv(f->frame.kind) && f->frame.cop && !find_known(cache, code))
		r = remember(cache, code, &alone);
	if (r == 0 && f->frame.name) {
		by_name = key_of_name(&f->frame);
		known = find_known(cache, &by_name);
		if (!known || strcmp(known->function, alone.function) != 0)
			r = remember(cache, &by_name, &alone);
	}
	return r == 0 ? remember(cache, place, ret) : r;
}

static int name_at_statement(struct finding *f)
{
	read_frame_place(f);
	return name_other(f);
}

static void learn_name_at(const struct finding *f, const struct pl_namer *namer, uint64_t addr)
{
	char name[PL_FILE_BYTES];

	if (pl_read_text(&f->reader, addr, name, sizeof(name)) == 0)
		pl_files_learn(namer->files, name);
}

/* %INC has not the program itself. */
static void learn_program(const struct finding *f, const struct pl_namer *namer)
{
	uint64_t addr;

	if (namer->origfile_addr &&
	    pl_read(&f->reader, namer->origfile_addr, &addr, sizeof(addr)) == 0)
		learn_name_at(f, namer, addr);
}

static const char *find_file_name(struct finding *f, const struct pl_namer *namer)
{
	const char *name = pl_files_find(namer->files, f->frame.file);

	if (!name && f->frame.file_addr) {
		learn_name_at(f, namer, f->frame.file_addr);
		name = pl_files_find(namer->files, f->frame.file);
	}
	if (name || !pl_files_may_scan(namer->files))
		return name;
	learn_program(f, namer);
	if (namer->incgv_addr)
		pl_files_scan(namer->files, &f->reader, namer->incgv_addr);
	return pl_files_find(namer->files, f->frame.file);
}

/* It has no statement: where it was is reported by the frame. */
static int find_file(struct finding *f, const struct pl_namer *namer)
{
	const char *name = find_file_name(f, namer);

	if (!name)
		return EP_FRAME_GONE;
	pl_clean_text((const uint8_t *)name, strlen(name), true, false, f->place.file,
		      sizeof(f->place.file));
	f->place.line = f->frame.line;
	return memory_frame_gone(name_other(f));
}

/* 0 with what it is, EP_FRAME_GONE, or a negative errno. */
static int find_out(struct finding *f, const struct pl_namer *namer)
{
	int r = f->frame.file ? find_file(f, namer) : check_frame(f), again;

	if (r != 0 || f->frame.file)
		return r;
	if (pl_kind_has_cv(f->frame.kind))
		r = name_sub(f);
	else if (f->frame.name)
		r = name_by_hand(f, namer->cache);
	else
		r = f->frame.kind == PL_KIND_CLOSURE ? name_closure(f) : name_at_statement(f);
	again = check_frame(f);
	return again ? again : memory_frame_gone(r);
}

/* A function of its own, for its large frame. */
static __attribute__((noinline)) int add_new(const struct pl_namer *namer,
					     const struct pl_frame *frame, struct ep_names *names)
{
	struct finding f = {
		.reader = {.memory = &namer->memory, .layout = namer->layout},
		.frame = *frame,
		.own_name = true,
	};
	struct key place, code;
	struct names_function entry;
	int r = find_out(&f, namer);

	if (r != 0)
		return r;
	make_keys(frame, &place, &code);
	r = keep(namer->cache, &f, &place, &code, &entry);
	pl_files_learn(namer->files, f.place.file);
	return r < 0 ? r : add_name(namer->host, names, &entry);
}

/* Its statement is gone: what BPF saw of it is true all the same. */
static int add_seen(const struct ep_unwinder_host *host, const struct pl_frame *frame,
		    struct ep_names *names)
{
	struct names_function entry = {
		.function = pl_kind_name(frame->kind), .file = "", .line = frame->line};
	char text[32];

	if (frame->text) {
		snprintf(text, sizeof(text), "(eval %u)", frame->text);
		entry.file = text;
		if (frame->kind == PL_KIND_TEXT)
			entry.function = text;
	}
	return add_rest(host, names, &entry);
}

/* A sub without a name: the glob that all of its package's have outlives it. */
static int add_anonymous(const struct pl_namer *namer, const struct pl_frame *frame,
			 struct ep_names *names)
{
	struct finding f = {
		.reader = {.memory = &namer->memory, .layout = namer->layout},
		.frame = *frame,
	};
	struct names_function entry = {
		.function = f.function, .file = f.place.file, .line = frame->line};
	char package[PACKAGE_BYTES], name[NAME_BYTES];

	if (frame->flags & (PL_FRAME_NAMED | PL_FRAME_LEXICAL) ||
	    pl_read_glob_name(&f.reader, frame->what, false, package, name, sizeof(name)) < 0 ||
	    !is_anonymous(name))
		return EP_FRAME_GONE;
	if (frame->text)
		snprintf(f.place.file, sizeof(f.place.file), "(eval %u)", frame->text);
	write_sub_name(&f, package, name);
	return add_rest(namer->host, names, &entry);
}

/* The glob still has the name that it had when the same sub was seen before, or nobody can say. */
static bool has_name(const struct pl_namer *namer, const struct pl_frame *frame,
		     const char *function)
{
	struct finding f = {
		.reader = {.memory = &namer->memory, .layout = namer->layout},
		.frame = *frame,
	};
	char package[PACKAGE_BYTES], name[NAME_BYTES];
	int r;

	if (!pl_kind_has_cv(frame->kind) || frame->flags & PL_FRAME_NAMED)
		return true;
	r = pl_read_glob_name(&f.reader, frame->name << 3, true, package, name, sizeof(name));
	if (r == -ESRCH)
		return true;
	if (r == 0)
		write_sub_name(&f, package, name);
	return r == 0 && strcmp(f.function, function) == 0;
}

/* A sub of that name: the same text was compiled again. */
static const struct names_function *find_namesake(const struct pl_namer *namer,
						  const struct pl_frame *frame)
{
	struct key key = key_of_name(frame);
	const struct names_function *entry = frame->name ? find_known(namer->cache, &key) : NULL;

	return entry && has_name(namer, frame, entry->function) ? entry : NULL;
}

/* Texts have a number each. */
static int add_again(const struct ep_unwinder_host *host, const struct pl_frame *frame,
		     const struct names_function *known, struct ep_names *names)
{
	struct names_function entry = *known;

	entry.line = frame->line;
	if (strncmp(entry.file, "(eval ", 6) == 0)
		entry.file = "";
	return add_rest(host, names, &entry);
}

static int add_freed(const struct pl_namer *namer, const struct pl_frame *frame,
		     struct ep_names *names)
{
	struct names_function entry = {.function = "(freed sub)", .file = "", .line = frame->line};

	namer->host->count(namer->target, PL_COUNT_GONE, 1);
	return add_text(namer->host, names, &entry, EP_UNNAMED_GONE, EP_NAME_STANDS_IN);
}

/* Its code or its statement is gone: what is still known of it. */
static int add_known(const struct pl_namer *namer, const struct pl_frame *frame,
		     const struct key *code, struct ep_names *names)
{
	const struct names_function *entry = NULL;
	int r = EP_FRAME_GONE;

	if (!pl_kind_is_sub(frame->kind))
		return add_seen(namer->host, frame, names);
	if (pl_kind_has_cv(frame->kind))
		entry = find_known(namer->cache, code);
	if (!entry)
		entry = find_namesake(namer, frame);
	if (entry)
		return add_again(namer->host, frame, entry, names);
	if (frame->kind == PL_KIND_CLOSURE && !frame->name)
		r = add_anonymous(namer, frame, names);
	return r == EP_FRAME_GONE ? add_freed(namer, frame, names) : r;
}

/* BPF could not read what it runs. */
static int add_unreadable(const struct pl_namer *namer, const struct pl_frame *frame,
			  struct ep_names *names)
{
	const char *name = pl_kind_name(frame->kind);
	struct names_function entry = {.function = name ? name : "(unreadable sub)", .file = ""};

	return add_text(namer->host, names, &entry, name ? EP_UNNAMED_NONE : EP_UNNAMED_UNREADABLE,
			0);
}

/*
 * A child that has gone before anything of it was named: its parent may know. Who has named frames
 * goes on from memory, also for its children, which would not ask it any more.
 */
static bool has_no_names(const struct pl_namer *namer)
{
	return names_cache_len(namer->cache) == 0;
}

int pl_names_add(const struct pl_namer *namer, const struct ep_raw_frame *raw,
		 struct ep_names *names, bool *placed)
{
	const struct names_function *entry;
	struct key place, code;
	struct pl_frame frame;
	int r;

	if (raw->n_words < 1)
		return -EBADMSG;
	pl_frame_take(raw, &frame);
	if (!pl_kind_is_sub(frame.kind) && !pl_kind_name(frame.kind))
		return -EBADMSG;
	if (raw->n_words == 1)
		return add_unreadable(namer, &frame, names);
	make_keys(&frame, &place, &code);
	*placed = true;
	entry = find_known(namer->cache, &place);
	if (entry)
		return add_name(namer->host, names, entry);
	r = add_new(namer, &frame, names);
	if (r != EP_FRAME_GONE && (r != -ESRCH || has_no_names(namer)))
		return r;
	*placed = false;
	return add_known(namer, &frame, &code, names);
}

int pl_stash_name(const struct pl_namer *namer, uint64_t stash, char *buf, size_t size)
{
	struct pl_reader reader = {.memory = &namer->memory, .layout = namer->layout};

	return pl_read_stash_name(&reader, stash, buf, size);
}
