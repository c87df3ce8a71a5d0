/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/hotspot/symbolize/methods.h"

#include "core/base/util.h"
#include "plugins/hotspot/hotspot_shared.h"
#include "plugins/hotspot/symbolize/smap.h"
#include "plugins/hotspot/symbolize/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAX_POOL_BYTES	256 /* of struct ConstantPool */
#define MAX_CLASS_BYTES 1024
#define MAX_LINES_BYTES (512u << 10)
#define MAX_FILES	64 /* of one method */
#define NAME_BYTES	512
#define CLASS_BYTES	1024
#define SIGNATURE_BYTES 1024

static int read_memory(const struct hotspot_methods *m, uint64_t addr, void *buf, size_t bytes)
{
	return addr ? memory_read(m->memory, addr, buf, bytes) : -EBADMSG;
}

static bool get_has_lines(const struct hotspot_layout *layout, uint64_t flags)
{
	enum hotspot_constant_id id = HOTSPOT_C_names_has_lines;

	if (!layout->has_constant[id])
		id = HOTSPOT_C_names_has_lines_20;
	return layout->has_constant[id] && (flags & (uint64_t)layout->constants[id]);
}

/* Eight bytes from a field on, which have the next ones in them (hotspot_shared.h: hotspot_way). */
static int get_word(const struct hotspot_layout *layout, enum hotspot_field_id id,
		    const uint8_t *head, size_t bytes, __u64 *ret)
{
	uint32_t off = hotspot_off(layout, id);

	if (!ep_in_bounds(off, sizeof(*ret), bytes))
		return -EBADMSG;
	memcpy(ret, head + off, sizeof(*ret));
	return 0;
}

static int read_const(const struct hotspot_methods *m, struct hotspot_identity *id)
{
	const struct hotspot_layout *layout = m->layout;
	uint32_t bytes = layout->sizes[HOTSPOT_Z_names_const_bytes];
	_Alignas(8) uint8_t head[HOTSPOT_MAX_CONST];
	uint64_t words;
	int r;

	if (!bytes || bytes > sizeof(head))
		return -ENOTSUP;
	r = read_memory(m, id->way.const_method, head, bytes);
	if (r < 0)
		return r;
	/* Size, name, signature, number: four u2. */
	r = get_word(layout, HOTSPOT_F_names_const_code_bytes, head, bytes, &id->way.quad);
	if (r < 0)
		return r;
	id->way.pool = hotspot_get(layout, HOTSPOT_F_names_const_pool, head, bytes);
	id->code_bytes =
		(uint32_t)hotspot_get(layout, HOTSPOT_F_names_const_code_bytes, head, bytes);
	id->name = (uint32_t)hotspot_get(layout, HOTSPOT_F_names_const_name, head, bytes);
	id->signature = (uint32_t)hotspot_get(layout, HOTSPOT_F_names_const_signature, head, bytes);
	id->has_lines = get_has_lines(
		layout, hotspot_get(layout, HOTSPOT_F_names_const_flags, head, bytes));
	words = hotspot_get(layout, HOTSPOT_F_names_const_words, head, bytes);
	if (words > MAX_LINES_BYTES / 8 || words * 8 < bytes + id->code_bytes)
		return -EBADMSG;
	id->const_bytes = (uint32_t)words * 8;
	return 0;
}

static int read_pool(const struct hotspot_methods *m, struct hotspot_identity *id)
{
	const struct hotspot_layout *layout = m->layout;
	uint32_t bytes = layout->sizes[HOTSPOT_Z_names_pool_bytes];
	_Alignas(8) uint8_t head[MAX_POOL_BYTES];
	int r;

	if (!bytes || bytes > sizeof(head))
		return -ENOTSUP;
	r = read_memory(m, id->way.pool, head, bytes);
	if (r < 0)
		return r;
	/* The pool's length and its version. */
	r = get_word(layout, HOTSPOT_F_names_pool_len, head, bytes, &id->way.version);
	if (r < 0)
		return r;
	id->way.class = hotspot_get(layout, HOTSPOT_F_names_pool_holder, head, bytes);
	id->pool_len = (uint32_t)hotspot_get(layout, HOTSPOT_F_names_pool_len, head, bytes);
	id->file = (uint32_t)hotspot_get(layout, HOTSPOT_F_names_pool_file, head, bytes);
	if (id->pool_len > UINT16_MAX + 1u || id->name >= id->pool_len ||
	    id->signature >= id->pool_len)
		return -EBADMSG;
	return 0;
}

static int read_class(const struct hotspot_methods *m, struct hotspot_identity *id)
{
	const struct hotspot_layout *layout = m->layout;
	_Alignas(8) uint8_t head[MAX_CLASS_BYTES];
	size_t bytes = hotspot_class_bytes(layout);
	int r;

	if (bytes > sizeof(head))
		return -ENOTSUP;
	r = read_memory(m, id->way.class, head, bytes);
	if (r < 0)
		return r;
	id->way.class_name = hotspot_get(layout, HOTSPOT_F_names_class_name, head, bytes);
	id->debug = hotspot_get(layout, HOTSPOT_F_names_class_debug, head, bytes);
	/* The linkers of method handles are the class MethodHandle's, with a pool of their own
	 * (Method::make_method_handle_intrinsic, share/oops/method.cpp, 8 to 27), which names no
	 * file. */
	if (hotspot_get(layout, HOTSPOT_F_names_class_pool, head, bytes) != id->way.pool)
		id->file = 0;
	else if (!hotspot_has(layout, HOTSPOT_F_names_pool_file))
		id->file = (uint32_t)hotspot_get(layout, HOTSPOT_F_names_class_file, head, bytes);
	return 0;
}

/*
 * The count of references changes, the random number and the length stay. A class that is unloaded
 * gives up its names, then its memory (InstanceKlass::release_C_heap_structures,
 * share/oops/instanceKlass.cpp, 8 to 27): without references there is none.
 */
static int read_symbol_head(const struct hotspot_methods *m, uint64_t addr, __u64 *ret)
{
	const uint64_t mask = HOTSPOT_SYMBOL_MASK(hotspot_symbol_shift(m->layout));
	uint64_t head;
	int r = read_memory(m, addr, &head, sizeof(head));

	if (r < 0)
		return r;
	if (!(head & ~mask))
		return -EBADMSG;
	*ret = head & mask;
	return 0;
}

/* Entries follow the head, a word each (share/oops/constantPool.hpp: base, obj_at_addr). */
static uint64_t find_entry(const struct hotspot_methods *m, const struct hotspot_identity *id,
			   uint32_t number)
{
	return id->way.pool + m->layout->sizes[HOTSPOT_Z_names_pool_bytes] + 8ull * number;
}

static int read_symbols(const struct hotspot_methods *m, struct hotspot_identity *id)
{
	int r = read_symbol_head(m, id->way.class_name, &id->way.class_symbol);

	if (r == 0)
		r = read_memory(m, find_entry(m, id, id->name), &id->way.name,
				sizeof(id->way.name));
	if (r == 0)
		r = read_symbol_head(m, id->way.name, &id->way.symbol);
	if (r == 0)
		id->word = hotspot_interpreted_word(&id->way);
	return r;
}

int hotspot_identity_read(const struct hotspot_methods *methods, uint64_t method,
			  struct hotspot_identity *ret)
{
	struct hotspot_identity id = {.method = method};
	uint64_t const_method;
	int r;

	r = read_memory(methods,
			method + hotspot_off(methods->layout, HOTSPOT_F_names_method_const),
			&const_method, sizeof(const_method));
	if (r < 0)
		return r;
	id.way.const_method = const_method;
	r = read_const(methods, &id);
	if (r == 0)
		r = read_pool(methods, &id);
	if (r == 0)
		r = read_class(methods, &id);
	if (r == 0)
		r = read_symbols(methods, &id);
	if (r == 0)
		*ret = id;
	return r;
}

/* What was read from memory that was not there, and what is found by it. */
enum missing {
	MISSING_CLASS_SYMBOL = 1,
	MISSING_SYMBOL = 2,
	MISSING_CLASS = 4,
	MISSING_POOL = 8,
	MISSING_NAME = 16,
	MISSING_END = 32,
};

static struct hotspot_way leave_out(const struct hotspot_way *whole, unsigned int missing)
{
	struct hotspot_way way = *whole;

	if (missing & MISSING_POOL)
		way.version = way.class = 0;
	if (missing & (MISSING_POOL | MISSING_CLASS))
		way.class_name = 0;
	if (missing & (MISSING_POOL | MISSING_CLASS | MISSING_CLASS_SYMBOL))
		way.class_symbol = 0;
	if (missing & MISSING_NAME)
		way.name = 0;
	if (missing & (MISSING_NAME | MISSING_SYMBOL))
		way.symbol = 0;
	return way;
}

bool hotspot_identity_is(const struct hotspot_identity *identity, uint64_t word)
{
	for (unsigned int missing = 0; missing < MISSING_END; missing++) {
		struct hotspot_way way = leave_out(&identity->way, missing);

		if (hotspot_interpreted_word(&way) == word)
			return true;
	}
	return false;
}

bool hotspot_identity_equal(const struct hotspot_identity *a, const struct hotspot_identity *b)
{
	return a->method == b->method && a->word == b->word &&
	       memcmp(&a->way, &b->way, sizeof(a->way)) == 0 && a->code_bytes == b->code_bytes &&
	       a->name == b->name && a->signature == b->signature && a->file == b->file &&
	       a->debug == b->debug && a->const_bytes == b->const_bytes;
}

/* What a method is made of, while it is put together. */
struct draft {
	const struct hotspot_methods *m;
	const struct hotspot_identity *id;
	char class[CLASS_BYTES], name[NAME_BYTES], signature[SIGNATURE_BYTES];
	char file[NAME_BYTES];
	struct hotspot_lines lines;
	struct hotspot_smap smap;
	char *smap_text;
	const struct hotspot_smap_file *others[MAX_FILES]; /* files[1] and on */
	size_t n_others;
};

static int read_entry(const struct draft *d, uint32_t number, char *buf, size_t size)
{
	uint64_t addr = find_entry(d->m, d->id, number);
	uint64_t symbol;
	int r;

	if (!number || number >= d->id->pool_len)
		return -EBADMSG;
	r = read_memory(d->m, addr, &symbol, sizeof(symbol));
	return r < 0 ? r : hotspot_symbol_read(d->m->memory, d->m->layout, symbol, buf, size);
}

/*
 * Not what lies where a symbol was: a class that is unloaded gives up its methods' names while
 * other parts of the VM still hold its own. JVMS 4.2.2, and 4.3.3; what is no UTF-8 was made
 * U+FFFD.
 */
static bool is_method(const char *name, const char *signature)
{
	return !strpbrk(name, ".;[/ ") && !strstr(name, "\xef\xbf\xbd") && signature[0] == '(' &&
	       strchr(signature, ')') && !strstr(signature, "\xef\xbf\xbd");
}

static int read_texts(struct draft *d)
{
	int r = hotspot_symbol_read(d->m->memory, d->m->layout, d->id->way.class_name, d->class,
				    sizeof(d->class));

	if (r < 0)
		return r;
	hotspot_class_name(d->class);
	r = read_entry(d, d->id->name, d->name, sizeof(d->name));
	if (r == 0)
		r = read_entry(d, d->id->signature, d->signature, sizeof(d->signature));
	if (r == 0 && !is_method(d->name, d->signature))
		return -EBADMSG;
	if (r == 0 && d->id->file)
		r = read_entry(d, d->id->file, d->file, sizeof(d->file));
	return r;
}

/* The table follows the bytecodes (share/oops/constMethod.cpp: compressed_linenumber_table). A
 * table that makes no sense is none. */
static int read_lines(struct draft *d)
{
	uint32_t head = d->m->layout->sizes[HOTSPOT_Z_names_const_bytes] + d->id->code_bytes;
	size_t bytes = d->id->const_bytes - head;
	ep_autofree uint8_t *table = NULL;
	int r;

	if (!d->id->has_lines || !bytes)
		return 0;
	table = malloc(bytes);
	if (!table)
		return -ENOMEM;
	r = read_memory(d->m, d->id->way.const_method + head, table, bytes);
	if (r == -EFAULT)
		return 0; /* what was kept of a JVM that is gone may not have it */
	if (r < 0)
		return r;
	r = hotspot_lines_parse(table, bytes, d->id->code_bytes, d->m->excluded, &d->lines);
	return r == -EBADMSG ? 0 : r;
}

/* Its number in `files`, 0 where it is the class's own or there are too many. */
static uint16_t find_file(struct draft *d, const struct hotspot_smap_file *file)
{
	if (file->name_bytes == strlen(d->file) &&
	    memcmp(file->name, d->file, file->name_bytes) == 0)
		return 0;
	for (size_t i = 0; i < d->n_others; i++) {
		if (d->others[i] == file)
			return (uint16_t)(i + 1);
	}
	if (d->n_others == MAX_FILES)
		return 0;
	d->others[d->n_others++] = file;
	return (uint16_t)d->n_others;
}

static int read_map(struct draft *d)
{
	int r;

	if (!d->id->debug || !d->lines.len)
		return 0;
	d->smap_text = malloc(HOTSPOT_SMAP_MAX_BYTES + 1);
	if (!d->smap_text)
		return -ENOMEM;
	r = memory_read_string(d->m->memory, d->id->debug, d->smap_text, HOTSPOT_SMAP_MAX_BYTES + 1,
			       MEMORY_PAGE);
	if (r == 0 && strlen(d->smap_text) == HOTSPOT_SMAP_MAX_BYTES)
		r = -EBADMSG; /* cut */
	if (r == -EFAULT) {
		d->lines.len = 0; /* without the map they mean others */
		return 0;
	}
	if (r == 0)
		r = hotspot_smap_parse(d->smap_text, strlen(d->smap_text), &d->smap);
	if (r < 0)
		return r == -EBADMSG ? 0 : r;
	for (size_t i = 0; i < d->lines.len; i++) {
		struct hotspot_line *line = &d->lines.runs[i];
		uint32_t source;
		const struct hotspot_smap_file *file =
			hotspot_smap_find(&d->smap, line->line, &source);

		if (!file)
			continue;
		line->file = find_file(d, file);
		line->line = source;
	}
	return 0;
}

/* One block: the method, its files' addresses, its lines, all strings. */
struct block {
	struct hotspot_method *method;
	char *strings;
};

static const char *put_string(struct block *b, const char *text, size_t n)
{
	char *at = b->strings;

	memcpy(at, text, n);
	at[n] = '\0';
	b->strings += n + 1;
	return at;
}

static size_t get_strings_bytes(const struct draft *d)
{
	size_t bytes = 2 * (strlen(d->class) + strlen(d->name) + 2) + strlen(d->signature) +
		       strlen(d->file) + 1;

	for (size_t i = 0; i < d->n_others; i++)
		bytes += EP_MIN(d->others[i]->name_bytes, (size_t)NAME_BYTES) * 3 + 4;
	return bytes;
}

static const char *put_name(struct block *b, const struct draft *d, const char *signature)
{
	char *at = b->strings;

	b->strings += sprintf(at, "%s.%s%s", d->class, d->name, signature) + 1;
	return at;
}

/* Each byte may become three; a source map's text is no symbol's, but cleaned by the same rules. */
static const char *put_file(struct block *b, const struct hotspot_smap_file *file)
{
	size_t n = EP_MIN(file->name_bytes, (size_t)NAME_BYTES);
	char *at = b->strings;

	hotspot_text_encode((const uint8_t *)file->name, n, false, at, 3 * n + 4);
	b->strings += strlen(at) + 1;
	return at;
}

static int build(const struct draft *d, struct hotspot_method **ret)
{
	size_t files = (d->n_others + 1) * sizeof(char *);
	size_t lines = d->lines.len * sizeof(struct hotspot_line);
	size_t bytes = sizeof(struct hotspot_method) + files + lines + get_strings_bytes(d);
	struct hotspot_method *method = calloc(1, bytes);
	struct block b = {.method = method};
	const char **to;

	if (!method)
		return -ENOMEM;
	to = (const char **)(method + 1);
	method->files = to;
	method->lines = memcpy((char *)to + files, d->lines.runs ? d->lines.runs : (void *)"",
			       lines);
	method->n_lines = d->lines.len;
	b.strings = (char *)to + files + lines;
	method->function = put_name(&b, d, "");
	method->system_name = put_name(&b, d, d->signature);
	to[0] = d->file[0] ? put_string(&b, d->file, strlen(d->file)) : NULL;
	for (size_t i = 0; i < d->n_others; i++)
		to[i + 1] = put_file(&b, d->others[i]);
	method->identity = *d->id;
	method->item = (struct names_item){
		.kind = HOTSPOT_ITEM_METHOD,
		.key = {d->id->method, d->id->word},
		.bytes = bytes,
	};
	*ret = method;
	return 0;
}

/* The line of its first bytecode, if it is of the class's own file. */
static void set_start(struct hotspot_method *method)
{
	const struct hotspot_line *line = hotspot_method_line(method, 0);

	if (line && !line->file)
		method->start_line = line->line;
}

static void draft_fini(struct draft *d)
{
	hotspot_lines_fini(&d->lines);
	hotspot_smap_fini(&d->smap);
	free(d->smap_text);
}

static int read_method(const struct hotspot_methods *methods, const struct hotspot_identity *id,
		       struct hotspot_method **ret)
{
	struct draft d = {.m = methods, .id = id};
	int r;

	r = read_texts(&d);
	if (r == 0)
		r = read_lines(&d);
	if (r == 0)
		r = read_map(&d);
	if (r == 0)
		r = build(&d, ret);
	if (r == 0)
		set_start(*ret);
	draft_fini(&d);
	return r;
}

int hotspot_method_get(const struct hotspot_methods *methods,
		       const struct hotspot_identity *identity, struct hotspot_method **ret,
		       bool *ret_read)
{
	struct hotspot_method *method;
	int r;

	method = names_cache_find(methods->cache, HOTSPOT_ITEM_METHOD, identity->method,
				  identity->word, 0);
	if (method && hotspot_identity_equal(&method->identity, identity)) {
		*ret = method;
		return 0;
	}
	if (method)
		names_item_unref(&method->item);
	r = read_method(methods, identity, &method);
	if (r < 0)
		return r;
	names_cache_put(methods->cache, &method->item);
	*ret_read = true;
	*ret = method;
	return 0;
}

const struct hotspot_line *hotspot_method_line(const struct hotspot_method *method, int64_t bci)
{
	return hotspot_lines_find(method->lines, method->n_lines, bci < 0 ? 0 : (uint32_t)bci);
}
