/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known is found by the check, which tells a function from all others wherever it lies; of
 * a closure, whose check is short, by all words. So a function that is gone has its name when the
 * same one was named before.
 */
#include "plugins/php/symbolize/names.h"

#include "core/base/util.h"
#include "plugins/php/php_shared.h"
#include "plugins/php/symbolize/aliases.h"
#include "plugins/php/symbolize/lines.h"
#include "plugins/php/symbolize/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CACHE_BYTES    ((size_t)2 << 20)
#define CLASS_BYTES    512
#define FUNCTION_BYTES (PHP_TEXT_BYTES + 64)
#define CLOSURE	       "{closure"
/* Of what is kept, beside the kinds of frames. */
#define KIND_FILE  0x40
#define KIND_CLASS 0x41

/* A frame, taken apart. 0: it has no such thing. */
struct frame {
	enum php_kind kind;
	enum php_came came;
	uint64_t key[NAMES_KEY_WORDS];
	uint64_t check, check_mask;
	uint64_t function, opcodes, name, class, file; /* addresses */
	uint32_t line, index; /* PHP_NO_LINE: not known */
};

/* A file or a class that is known: its text is the item's function. What its part of the check
 * was. */
struct text {
	uint64_t hash, len;
};

/* A frame that is being named. */
struct finding {
	const struct php_namer *namer;
	const struct frame *frame;
	struct php_parts parts;
	struct php_string string; /* that was read last */
	bool uses_known;	  /* texts of files and classes */
	bool knows_file, knows_class; /* and there was one */
	uint32_t start_line;
	char name[CLASS_BYTES], class[CLASS_BYTES], path[PHP_TEXT_BYTES];
	char function[FUNCTION_BYTES];
};

int php_namer_init(struct php_namer *namer)
{
	return names_cache_new(
		&(struct names_budget){.classes = {CACHE_BYTES}, .oversized = CACHE_BYTES},
		&namer->cache);
}

void php_namer_fini(struct php_namer *namer)
{
	names_cache_free(namer->cache);
	namer->cache = NULL;
}

/* --- what the frame says ---------------------------------------------------------------------- */

static void take_closure(const struct ep_raw_frame *raw, struct frame *frame)
{
	const uint64_t *words = raw->words;

	frame->check = php_closure_check(words[0], raw->aux);
	frame->check_mask = (1ull << PHP_CLOSURE_CHECK) - 1;
	frame->opcodes = php_address(words[0]);
	frame->class = php_address(words[2]);
	frame->file = php_closure_file(words[0], words[1], words[2]);
	if (frame->kind == PHP_KIND_OLD_CLOSURE)
		frame->line = (uint32_t)(php_address(words[1]) >> 3);
	else
		frame->name = php_address(words[1]);
	memcpy(frame->key, words, sizeof(frame->key));
	/* Its rest, which is in aux. */
	frame->key[2] = check_mix(frame->key[2], frame->check);
}

static void take_others(const uint64_t *words, struct frame *frame)
{
	uint64_t first = php_address(words[0]), second = php_address(words[1]);

	frame->check = php_word_check(words[0], words[1]);
	frame->check_mask = (1ull << PHP_CHECK_BITS) - 1;
	frame->key[0] = frame->check;
	frame->key[1] = frame->came;
	if (frame->kind == PHP_KIND_INTERNAL) {
		frame->name = first;
		frame->class = second;
		return;
	}
	frame->opcodes = first;
	frame->function = frame->kind == PHP_KIND_FUNCTION ? second : 0;
	frame->file = frame->kind == PHP_KIND_CODE ? second : 0;
}

static bool take_frame(const struct ep_raw_frame *raw, struct frame *frame)
{
	bool is_closure;

	*frame = (struct frame){.kind = php_kind(raw->aux), .index = php_index(raw->aux)};
	is_closure = frame->kind == PHP_KIND_CLOSURE || frame->kind == PHP_KIND_OLD_CLOSURE;
	if (frame->kind >= PHP_N_KINDS || raw->n_words < (is_closure ? 3u : 2u))
		return false;
	if (frame->kind == PHP_KIND_CODE)
		frame->came = php_came(raw->flags);
	if (is_closure)
		take_closure(raw, frame);
	else
		take_others(raw->words, frame);
	return true;
}

/* --- is it what the frame saw? ---------------------------------------------------------------- */

/* zend_function, as BPF reads it (bpf/function.bpf.h). 0; EP_FRAME_GONE: it is another one. */
static int read_function(const struct php_namer *namer, const struct frame *frame,
			 struct php_parts *parts)
{
	const struct php_function_layout *layout = &namer->layout->function;
	uint8_t bytes[PHP_FUNCTION_BYTES];
	int r = memory_read(&namer->memory, frame->function, bytes, sizeof(bytes));

	if (r < 0)
		return memory_frame_gone(r);
	*parts = (struct php_parts){
		.name = ep_get_u64(bytes + PHP_FUNCTION_NAME),
		.class = ep_get_u64(bytes + PHP_FUNCTION_SCOPE),
		.file = ep_get_u64(bytes + layout->filename),
		.opcodes = ep_get_u64(bytes + layout->opcodes),
		.last = (uint32_t)ep_get_u64(bytes + layout->last),
		.lines = ep_get_u64(bytes + layout->line_start),
		.fn_flags = ep_get_u64(bytes) >> 32,
	};
	return parts->opcodes == frame->opcodes ? 0 : EP_FRAME_GONE;
}

/* Where its strings are. */
static int read_parts(struct finding *finding)
{
	const struct frame *frame = finding->frame;

	if (frame->function)
		return read_function(finding->namer, frame, &finding->parts);
	finding->parts = (struct php_parts){
		.name = frame->name,
		.class = frame->class,
		.file = frame->file,
		.opcodes = frame->opcodes,
	};
	return 0;
}

/* Of what was there before, if that is wanted: the check tells whether it is what is there now. */
static bool take_known(const struct finding *finding, uint32_t kind, uint64_t addr,
		       struct text *text, char *buf, size_t size)
{
	const struct names_function *known =
		finding->uses_known ? names_cache_peek(finding->namer->cache, kind, addr, 0, 0)
				    : NULL;

	if (!known)
		return false;
	memcpy(text, known->table, sizeof(*text));
	snprintf(buf, size, "%s", known->function);
	return true;
}

static void keep_text(const struct finding *finding, uint32_t kind, uint64_t addr, uint64_t hash,
		      uint64_t len, const char *buf)
{
	const struct text text = {hash, len};
	struct names_function *item;

	if (!addr || names_function_new(buf, "", &text, sizeof(text), &item) < 0)
		return;
	item->item.kind = (uint8_t)kind;
	item->item.key[0] = addr;
	names_cache_put(finding->namer->cache, &item->item);
	names_item_unref(&item->item);
}

static int read_text(struct finding *finding, uint64_t addr, struct text *text, char *buf,
		     size_t size)
{
	struct text_writer writer = {.buf = buf, .size = size};
	struct php_string *string = &finding->string;
	int r = php_string_read(&finding->namer->memory, addr, string);

	if (r < 0)
		return r;
	php_string_write(string, &writer);
	text_end(&writer, string->bytes < string->len);
	*text = (struct text){string->hash, string->len};
	return 0;
}

/* check.h: what stands for the hash of a file's name that has none. */
static uint64_t hash_of_file(const struct php_string *string)
{
	uint64_t word = string->hash;

	if (!word && string->len >= PHP_FILE_TAIL && string->bytes == string->len)
		memcpy(&word, string->text + string->len - PHP_FILE_TAIL, sizeof(word));
	return word;
}

/* Freed, it may have what the allocator writes into it: bytes that are no text. */
static bool is_torn(const struct php_string *string, const char *path)
{
	return !string->hash &&
	       (memchr(string->text, 0, string->bytes) || strstr(path, "\xef\xbf\xbd"));
}

static int read_file(struct finding *finding)
{
	struct php_parts *parts = &finding->parts;
	struct text text;
	int r = 0;

	finding->knows_file = take_known(finding, KIND_FILE, parts->file, &text, finding->path,
					 sizeof(finding->path));
	if (!finding->knows_file)
		r = read_text(finding, parts->file, &text, finding->path, sizeof(finding->path));
	if (r < 0)
		return r;
	if (!finding->knows_file && is_torn(&finding->string, finding->path))
		return -EBADMSG;
	if (!finding->knows_file)
		text.hash = hash_of_file(&finding->string);
	parts->file_hash = text.hash;
	parts->file_len = text.len;
	return 0;
}

static int read_class(struct finding *finding)
{
	struct php_parts *parts = &finding->parts;
	struct text text;
	int r = 0;

	finding->knows_class = take_known(finding, KIND_CLASS, parts->class, &text, finding->class,
					  sizeof(finding->class));
	if (!finding->knows_class && parts->class)
		r = memory_read(&finding->namer->memory, parts->class + PHP_CLASS_NAME,
				&parts->class_name, sizeof(parts->class_name));
	if (r == 0 && !finding->knows_class)
		r = read_text(finding, parts->class_name, &text, finding->class,
			      sizeof(finding->class));
	if (r < 0)
		return r;
	parts->class_hash = text.hash;
	parts->class_len = text.len;
	return 0;
}

/*
 * Without opcache functions in namespaces have no hash, which would tell that the string was freed:
 * then the allocator writes into it (zend_alloc.c: zend_mm_set_next_free_slot). A name has
 * characters of names, but that of a closure.
 */
static bool is_name(const char *name)
{
	if (strchr(name, '{'))
		return true;
	for (; *name; name++) {
		uint8_t c = (uint8_t)*name;

		if (!(c >= 0x80 || c == '_' || c == '\\' || c == '$' || c == ':' ||
		      (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')))
			return false;
	}
	return true;
}

/* 0; EP_FRAME_GONE: it is not what the frame saw. */
static int read_strings(struct finding *finding)
{
	struct php_parts *parts = &finding->parts;
	struct text text;
	int r = read_text(finding, parts->name, &text, finding->name, sizeof(finding->name));

	if (r == 0)
		r = read_file(finding);
	if (r == 0)
		r = read_class(finding);
	if (r < 0)
		return memory_frame_gone(r);
	if (parts->name && !text.hash && !is_name(finding->name))
		return EP_FRAME_GONE;
	parts->name_hash = text.hash;
	parts->name_len = text.len;
	return (php_check(parts) ^ finding->frame->check) & finding->frame->check_mask
		       ? EP_FRAME_GONE
		       : 0;
}

/* The same with what it is made of: 0, and all of it was there a moment ago. */
static int read_all(struct finding *finding)
{
	const struct php_parts *parts = &finding->parts;
	int r = read_parts(finding);

	/* Of a copy nothing else says that it is still there. */
	finding->uses_known = finding->frame->function;
	finding->knows_file = finding->knows_class = false;
	if (r == 0)
		r = read_strings(finding);
	if (r == EP_FRAME_GONE && (finding->knows_file || finding->knows_class)) {
		finding->uses_known = false;
		r = read_strings(finding);
	}
	if (r != 0)
		return r;
	if (!finding->knows_file)
		keep_text(finding, KIND_FILE, parts->file, parts->file_hash, parts->file_len,
			  finding->path);
	if (!finding->knows_class)
		keep_text(finding, KIND_CLASS, parts->class, parts->class_hash, parts->class_len,
			  finding->class);
	return 0;
}

/* --- its name --------------------------------------------------------------------------------- */

static bool begins_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* The 12 of {closure:A::b():12}; 0: it has none. */
static uint32_t line_of_closure(const char *name)
{
	const char *at = strrchr(name, ':');
	uint32_t line = 0;

	for (at = at ? at + 1 : ""; *at >= '0' && *at <= '9' && line < UINT32_MAX / 10 - 1; at++)
		line = line * 10 + (uint32_t)(*at - '0');
	return at[0] == '}' && !at[1] ? line : 0;
}

static void write_code(struct finding *finding)
{
	static const char *const came[] = {
		[PHP_CAME_INCLUDE] = "include",
		[PHP_CAME_INCLUDE_ONCE] = "include_once",
		[PHP_CAME_REQUIRE] = "require",
		[PHP_CAME_REQUIRE_ONCE] = "require_once",
		[PHP_CAME_OTHERWISE] = "include",
	};
	enum php_came how = finding->frame->came;

	if (how == PHP_CAME_MAIN || how == PHP_CAME_EVAL || how >= EP_LEN(came))
		snprintf(finding->function, sizeof(finding->function), "%s",
			 how == PHP_CAME_MAIN ? "{main}" : "eval");
	else
		snprintf(finding->function, sizeof(finding->function), "%s %s", came[how],
			 finding->path);
}

static void write_old_closure(struct finding *finding)
{
	snprintf(finding->function, sizeof(finding->function), CLOSURE ":%s:%u}", finding->path,
		 finding->start_line);
}

/* "{closure}", "A\\B\\{closure}": to 8.3. A closure that Closure::call runs is a function for the
 * time being. */
static bool is_old_closure(const char *name)
{
	const char *last = strrchr(name, '\\');

	return strcmp(last ? last + 1 : name, CLOSURE "}") == 0;
}

/* Closures have the class in their name, or are made in none. */
static void write_function(struct finding *finding)
{
	const char *name = finding->name, *class = begins_with(name, CLOSURE) ? "" : finding->class;

	if (begins_with(name, CLOSURE ":"))
		finding->start_line = line_of_closure(name);
	if (is_old_closure(name) && finding->start_line)
		write_old_closure(finding);
	else
		snprintf(finding->function, sizeof(finding->function), "%s%s%s", class,
			 *class ? "::" : "", name);
}

static void write_names(struct finding *finding)
{
	finding->start_line = finding->frame->line;
	if (finding->parts.lines)
		finding->start_line = (uint32_t)finding->parts.lines;
	if (finding->frame->kind == PHP_KIND_CODE)
		write_code(finding);
	else if (finding->frame->kind == PHP_KIND_OLD_CLOSURE)
		write_old_closure(finding);
	else
		write_function(finding);
}

/* `copy`: that it is, where its name tells nothing of others with the same check; 0: all have
 * it. */
static int keep_function(const struct finding *finding, uint64_t copy, struct names_function **ret)
{
	struct names_function *made;
	int r = names_function_new(finding->function, finding->path, NULL, 0, &made);

	if (r < 0)
		return r;
	made->start_line = finding->start_line;
	made->item.kind = (uint8_t)finding->frame->kind;
	memcpy(made->item.key, finding->frame->key, sizeof(made->item.key));
	made->item.key[2] += copy;
	names_cache_put(finding->namer->cache, &made->item);
	*ret = made;
	return 0;
}

/* What the caller unrefs. Of several copies the first one says that there are some (`line` is for
 * that). */
static int make_function(struct finding *finding, struct names_function **ret)
{
	const struct frame *frame = finding->frame;
	bool is_copy = frame->function &&
		       php_alias_may_be(finding->namer->layout, finding->parts.fn_flags);
	struct names_function *first;
	int r;

	if (is_copy)
		php_alias_read(&finding->namer->memory, finding->parts.class, frame->function,
			       &finding->string, finding->name, sizeof(finding->name));
	write_names(finding);
	if (!is_copy)
		return keep_function(finding, 0, ret);
	r = keep_function(finding, 0, &first);
	if (r < 0)
		return r;
	first->line = 1;
	names_item_unref(&first->item);
	return keep_function(finding, frame->function, ret);
}

static struct names_function *find_known(const struct php_namer *namer, const struct frame *frame)
{
	const uint64_t *key = frame->key;
	struct names_function *known =
		names_cache_peek(namer->cache, (uint32_t)frame->kind, key[0], key[1], key[2]);

	if (known && known->line)
		known = names_cache_peek(namer->cache, (uint32_t)frame->kind, key[0], key[1],
					 key[2] + frame->function);
	return known;
}

/* --- frames ----------------------------------------------------------------------------------- */

static int add_function(const struct php_namer *namer, const struct names_function *function,
			uint32_t line, uint32_t flags, struct ep_names *names)
{
	return names_add(namer->host, names, function,
			 (struct ep_name){.line = line, .flags = flags});
}

static int add_freed(const struct php_namer *namer, struct ep_names *names)
{
	namer->host->count(namer->target, PHP_COUNT_GONE, 1);
	return names_add_text(namer->host, names, "(freed function)", EP_UNNAMED_GONE,
			      EP_NAME_STANDS_IN);
}

/* Code of files has its line, and what has no oplines none. */
static bool has_own_line(const struct frame *frame)
{
	return frame->kind == PHP_KIND_CODE || !frame->opcodes || frame->index == PHP_NO_LINE;
}

static struct php_lines lines_of(const struct frame *frame)
{
	return (struct php_lines){
		.key = {frame->key[0] ^ frame->opcodes, check_mix(frame->key[1], frame->key[2])},
		.opcodes = frame->opcodes,
	};
}

/* The name of what was just read, with its line. Of a part that was kept the lines may be in
 * another one. */
static int add_read(struct php_namer *namer, const struct finding *finding,
		    const struct names_function *function, struct ep_names *names)
{
	const struct frame *frame = finding->frame;
	struct php_lines lines = lines_of(frame);
	uint32_t line = frame->kind == PHP_KIND_CODE && frame->index != PHP_NO_LINE ? frame->index
										    : 0,
		 flags = 0;

	lines.last = finding->parts.last;
	lines.start_line = function->start_line;
	if (!has_own_line(frame) && php_lines_read(namer, &lines, frame->index, &line) < 0)
		flags = EP_NAME_STANDS_IN;
	return add_function(namer, function, line, flags, names);
}

/* What is to be read: its name, or if that is known its line. A function of its own, for its large
 * frame. */
static __attribute__((noinline)) int add_new(struct php_namer *namer, const struct frame *frame,
					     struct names_function *known, struct ep_names *names)
{
	struct finding finding;
	struct names_function *function = known;
	int r;

	/* The rest is written before it is read. */
	finding.namer = namer;
	finding.frame = frame;
	if (known)
		names_item_ref(&known->item);
	r = read_all(&finding);
	if (r == 0 && !known)
		r = make_function(&finding, &function);
	if (r == 0)
		r = add_read(namer, &finding, function, names);
	else if (known && r != -ENOMEM)
		r = add_function(namer, known, 0, EP_NAME_STANDS_IN, names);
	names_item_unref(function ? &function->item : NULL);
	return r;
}

/*
 * A child that has gone before anything of it was named: its parent may know. Who has named frames
 * goes on from memory, also for its children, which would not ask it any more.
 */
static bool has_no_names(const struct php_namer *namer)
{
	return names_cache_len(namer->cache) == 0;
}

int php_names_add(struct php_namer *namer, const struct ep_raw_frame *raw, struct ep_names *names)
{
	struct names_function *known;
	struct php_lines lines;
	struct frame frame;
	uint32_t line = 0;
	int r;

	if (php_kind(raw->aux) == PHP_KIND_UNREADABLE ||
	    (php_kind(raw->aux) == PHP_KIND_CODE && php_came(raw->flags) == PHP_CAME_UNKNOWN))
		return names_add_text(namer->host, names, "(unreadable function)",
				      EP_UNNAMED_UNREADABLE, 0);
	if (!take_frame(raw, &frame))
		return -EBADMSG;
	known = find_known(namer, &frame);
	lines = lines_of(&frame);
	if (known && frame.kind == PHP_KIND_CODE && frame.index != PHP_NO_LINE)
		line = frame.index;
	if (known && (has_own_line(&frame) || php_lines_find(namer, &lines, frame.index, &line)))
		return add_function(namer, known, line, 0, names);
	r = add_new(namer, &frame, known, names);
	if (r != EP_FRAME_GONE && (r != -ESRCH || has_no_names(namer)))
		return r;
	return add_freed(namer, names);
}
