/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table: entries sorted by address, each 31 bits of address (from its group's base; one group
 * unless modules lie more than 2 GiB away) and one that says that it is no function, but ends the one
 * before it. Names are in blocks, those of some 100 entries after one another, and each block is
 * deflated: a name is wanted once for each frame, and a hundred thousand are there all the time.
 *
 *	entries | 0 | 1 | 2 | ...          | 103 | 104 | ...
 *	blocks  |                          |
 *	        first entry 0, its bytes   first entry 103, its bytes
 *	bytes   | deflate("name of 0\0" "name of 1\0" ...) | deflate(...) | ...
 *
 * What ends a function has the name "". The name PREFIX_MARK is "__pfx_" and the name of the next
 * entry, which is in the same block. Since Linux 6.2 (tools/objtool, "objtool --prefix") every second
 * symbol is such a prefix where the kernel is built with padding for calls.
 */
#include "core/symbol/kernel.h"

#include "core/base/bisect.h"
#include "core/base/parse.h"
#include "core/symbol/aliases.h"
#include "core/symbol/kallsyms.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <zlib.h>

#define PREFIX		"__pfx_"
#define PREFIX_MARK	"\1"
#define BLOCK_ENTRIES	100
/* Of names: one that is longer ends its block, and a prefix takes its function with it. */
#define BLOCK_BYTES	((size_t)4 << 10)
#define BLOCK_MAX	(BLOCK_BYTES + 2 * EP_KERNEL_NAME_MAX)
#define MAX_GROUP_BYTES ((uint64_t)INT32_MAX)
/* Raw deflate: there is nothing to recognise, and what was written is in our memory. */
#define WINDOW_BITS	(-13)
#define LEVEL		3
#define MEMORY_LEVEL	6
#define MAX_GROUPS	1024
#define MAX_RUNS	((size_t)1 << 20)
#define MAX_NOTES_BYTES ((size_t)64 << 10)
/*
 * A function before another module's, or before nothing: nobody says where it ends, so it is
 * taken for at most this long. What follows is not code of that module.
 */
#define MAX_OPEN_BYTES ((uint64_t)64 << 10)

struct entry {
	uint32_t start : 31; /* from the group's base */
	uint32_t is_end : 1; /* no function: what is before it ends here */
};

struct group {
	uint64_t base_addr;
	uint32_t first; /* entry */
};

struct run { /* entries of one module */
	uint32_t first;
	uint32_t module;
};

struct block { /* names of entries, to the next block's first */
	uint32_t first;
	uint32_t at; /* in bytes */
};

struct ep_kernel_symbols {
	struct ep_vec entries; /* struct entry */
	struct ep_vec groups;  /* struct group */
	struct ep_vec runs;    /* struct run */
	struct ep_vec blocks;  /* struct block */
	struct ep_vec bytes;   /* uint8_t: deflated names */
	struct ep_strings *modules;
};

/* ---- building ---- */

/* The block that is being filled. */
struct writer {
	z_stream stream;
	bool is_open;
	size_t n_entries, used;
	char text[BLOCK_MAX];
};

static int writer_open(struct writer *writer)
{
	*writer = (struct writer){0};
	if (deflateInit2(&writer->stream, LEVEL, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	writer->is_open = true;
	return 0;
}

static void writer_close(struct writer *writer)
{
	if (writer->is_open)
		deflateEnd(&writer->stream);
}

/* Deflates what is in hand: the names of the last n_entries entries. */
static int writer_flush(struct writer *writer, struct ep_kernel_symbols *symbols)
{
	struct block block = {
		.first = (uint32_t)(symbols->entries.len - writer->n_entries),
		.at = (uint32_t)symbols->bytes.len,
	};
	uint8_t out[BLOCK_MAX + BLOCK_MAX / 4]; /* more than deflateBound() of it */
	int r;

	if (!writer->n_entries)
		return 0;
	writer->stream.next_in = (Bytef *)writer->text;
	writer->stream.avail_in = (uInt)writer->used;
	writer->stream.next_out = out;
	writer->stream.avail_out = sizeof(out);
	if (deflate(&writer->stream, Z_FINISH) != Z_STREAM_END)
		return -ENOMEM;
	r = ep_vec_append(&symbols->bytes, out, sizeof(out) - writer->stream.avail_out);
	if (r == 0)
		r = ep_vec_append(&symbols->blocks, &block, 1);
	(void)deflateReset(&writer->stream);
	writer->n_entries = writer->used = 0;
	return r;
}

static void writer_add(struct writer *writer, const char *name)
{
	size_t len = strnlen(name, EP_KERNEL_NAME_MAX - 1);

	assert(writer->used + len < sizeof(writer->text));
	memcpy(writer->text + writer->used, name, len);
	writer->text[writer->used + len] = '\0';
	writer->used += len + 1;
	writer->n_entries++;
}

static bool writer_is_full(const struct writer *writer)
{
	return writer->n_entries >= BLOCK_ENTRIES || writer->used >= BLOCK_BYTES;
}

static const char *symbol_name(const struct kallsyms *kallsyms,
			       const struct kallsyms_symbol *symbol)
{
	return ep_vec_at(&kallsyms->names, char, symbol->name_off);
}

/* Negative when `a` is the better of two at one address: the order of aliases.h. */
static int symbol_better(const struct kallsyms *kallsyms, const struct kallsyms_symbol *a,
			 const struct kallsyms_symbol *b)
{
	const char *name_a = symbol_name(kallsyms, a), *name_b = symbol_name(kallsyms, b);

	if (a->rank != b->rank)
		return (int)a->rank - (int)b->rank;
	return ep_symbol_compare_names(name_a, strlen(name_a), name_b, strlen(name_b));
}

/* The best symbol of the address at *pos, which is moved after all of them. NULL at the end. */
static const struct kallsyms_symbol *next_symbol(const struct kallsyms *kallsyms, size_t *pos)
{
	const struct kallsyms_symbol *all = kallsyms->symbols.data;
	size_t first = *pos, best = *pos;

	if (first >= kallsyms->symbols.len)
		return NULL;
	while (++*pos < kallsyms->symbols.len && all[*pos].addr == all[first].addr)
		if (symbol_better(kallsyms, &all[*pos], &all[best]) < 0)
			best = *pos;
	return &all[best];
}

/* Why ep_vec_push gave nothing. */
static int push_error(const struct ep_vec *vec)
{
	return vec->len == vec->max ? -E2BIG : -ENOMEM;
}

static int group_for(struct ep_kernel_symbols *symbols, uint64_t addr, uint64_t *ret_base_addr)
{
	struct group *group = NULL;

	if (symbols->groups.len)
		group = ep_vec_at(&symbols->groups, struct group, symbols->groups.len - 1);
	if (!group || addr - group->base_addr > MAX_GROUP_BYTES) {
		group = ep_vec_push(&symbols->groups);
		if (!group)
			return push_error(&symbols->groups);
		group->base_addr = addr;
		group->first = (uint32_t)symbols->entries.len;
	}
	*ret_base_addr = group->base_addr;
	return 0;
}

static int run_for(struct ep_kernel_symbols *symbols, uint32_t module)
{
	struct run *run = NULL;

	if (symbols->runs.len)
		run = ep_vec_at(&symbols->runs, struct run, symbols->runs.len - 1);
	if (run && run->module == module)
		return 0;
	run = ep_vec_push(&symbols->runs);
	if (!run)
		return push_error(&symbols->runs);
	*run = (struct run){.first = (uint32_t)symbols->entries.len, .module = module};
	return 0;
}

static bool is_prefix_of(const struct kallsyms *kallsyms, const struct kallsyms_symbol *symbol,
			 const struct kallsyms_symbol *next)
{
	const char *name = symbol_name(kallsyms, symbol), *next_name;

	if (!next || !next->is_code || next->module != symbol->module)
		return false;
	next_name = symbol_name(kallsyms, next);
	return !strncmp(name, PREFIX, strlen(PREFIX)) &&
	       !strcmp(name + strlen(PREFIX), next_name) &&
	       strncmp(next_name, PREFIX, strlen(PREFIX)) !=
		       0; /* so that one step finds the name */
}

/* Of data symbols in a row the first is enough. */
static bool is_needless(const struct ep_kernel_symbols *symbols,
			const struct kallsyms_symbol *symbol)
{
	size_t n = symbols->entries.len;

	return !symbol->is_code &&
	       (!n || ep_vec_at(&symbols->entries, struct entry, n - 1)->is_end);
}

static int entry_add(struct ep_kernel_symbols *symbols, struct writer *writer, const struct kallsyms *kallsyms,
		     const struct kallsyms_symbol *symbol, const struct kallsyms_symbol *next)
{
	bool is_prefix = symbol->is_code && is_prefix_of(kallsyms, symbol, next);
	struct entry *entry;
	uint64_t base_addr;
	int r;

	if (is_needless(symbols, symbol))
		return 0;
	r = group_for(symbols, symbol->addr, &base_addr);
	if (r == 0)
		r = run_for(symbols, symbol->module);
	if (r < 0)
		return r;
	entry = ep_vec_push(&symbols->entries);
	if (!entry)
		return -ENOMEM;
	*entry = (struct entry){
		.start = (uint32_t)(symbol->addr - base_addr) & INT32_MAX,
		.is_end = !symbol->is_code,
	};
	writer_add(writer, is_prefix ? PREFIX_MARK : symbol->is_code ? symbol_name(kallsyms, symbol) : "");
	return writer_is_full(writer) && !is_prefix ? writer_flush(writer, symbols) : 0;
}

static int entries_add(struct ep_kernel_symbols *symbols, struct writer *writer, const struct kallsyms *kallsyms)
{
	const struct kallsyms_symbol *symbol, *next;
	size_t pos = 0;
	int r = 0;

	symbol = next_symbol(kallsyms, &pos);
	for (; symbol && r == 0; symbol = next) {
		next = next_symbol(kallsyms, &pos);
		r = entry_add(symbols, writer, kallsyms, symbol, next);
	}
	return r < 0 ? r : writer_flush(writer, symbols);
}

static int entries_build(struct ep_kernel_symbols *symbols, const struct kallsyms *kallsyms)
{
	struct writer writer;
	int r = writer_open(&writer);

	if (r == 0)
		r = ep_vec_reserve(&symbols->entries, kallsyms->symbols.len);
	if (r == 0)
		r = entries_add(symbols, &writer, kallsyms);
	writer_close(&writer);
	ep_vec_shrink(&symbols->entries);
	ep_vec_shrink(&symbols->groups);
	ep_vec_shrink(&symbols->runs);
	ep_vec_shrink(&symbols->blocks);
	ep_vec_shrink(&symbols->bytes);
	return r;
}

static int symbols_build(struct kallsyms *kallsyms, struct ep_kernel_symbols **ret_symbols)
{
	ep_cleanup(ep_kernel_symbols_freep) struct ep_kernel_symbols *symbols = NULL;
	int r;

	if (!kallsyms->any_code)
		return -ENODATA;
	if (!kallsyms->any_address)
		return -EACCES;
	symbols = calloc(1, sizeof(*symbols));
	if (!symbols)
		return -ENOMEM;
	ep_vec_init(&symbols->entries, sizeof(struct entry),
		    EP_MAX(kallsyms->symbols.len, (size_t)1));
	ep_vec_init(&symbols->groups, sizeof(struct group), MAX_GROUPS);
	ep_vec_init(&symbols->runs, sizeof(struct run), MAX_RUNS);
	ep_vec_init(&symbols->blocks, sizeof(struct block), EP_MAX(kallsyms->symbols.len, (size_t)1));
	ep_vec_init(&symbols->bytes, 1, UINT32_MAX);
	symbols->modules = ep_take(kallsyms->modules);
	r = entries_build(symbols, kallsyms);
	if (r < 0)
		return r;
	*ret_symbols = ep_take(symbols);
	return 0;
}

int ep_kernel_symbols_load(const char *path, struct ep_kernel_symbols **ret_symbols)
{
	struct kallsyms kallsyms;
	int r;

	r = ep_kallsyms_read(path, &kallsyms);
	if (r == 0)
		r = symbols_build(&kallsyms, ret_symbols);
	ep_kallsyms_fini(&kallsyms);
	return r;
}

void ep_kernel_symbols_free(struct ep_kernel_symbols *symbols)
{
	if (!symbols)
		return;
	ep_vec_fini(&symbols->entries);
	ep_vec_fini(&symbols->groups);
	ep_vec_fini(&symbols->runs);
	ep_vec_fini(&symbols->blocks);
	ep_vec_fini(&symbols->bytes);
	ep_strings_free(symbols->modules);
	free(symbols);
}

/* ---- looking up ---- */

static size_t group_end(const struct ep_kernel_symbols *symbols, size_t i)
{
	return i + 1 < symbols->groups.len ? ep_vec_at(&symbols->groups, struct group, i + 1)->first
					   : symbols->entries.len;
}

/* Index of the last entry at or before `addr`, or -1. */
static ssize_t entry_before(const struct ep_kernel_symbols *symbols, uint64_t addr,
			    uint64_t *ret_base_addr)
{
	const struct group *group;
	const struct entry *first;
	size_t i = symbols->groups.len, n;
	uint64_t start;

	while (i && ep_vec_at(&symbols->groups, struct group, i - 1)->base_addr > addr)
		i--;
	if (!i)
		return -1;
	group = ep_vec_at(&symbols->groups, struct group, i - 1);
	*ret_base_addr = group->base_addr;
	start = addr - group->base_addr;
	first = ep_vec_at(&symbols->entries, struct entry, group->first);
	n = ep_bisect(group_end(symbols, i - 1) - group->first, at, first[at].start <= start);
	return (ssize_t)(group->first + n) - 1;
}

static uint32_t module_of(const struct ep_kernel_symbols *symbols, size_t index)
{
	size_t n = ep_bisect(symbols->runs.len, i, ep_vec_at(&symbols->runs, struct run, i)->first <= index);

	return n ? ep_vec_at(&symbols->runs, struct run, n - 1)->module : 0;
}

/* True when the entry at `index` may be taken to reach `bytes` after its start. */
static bool reaches(const struct ep_kernel_symbols *symbols, size_t index, uint64_t bytes)
{
	bool last = index + 1 == symbols->entries.len;

	/* a function that another symbol of its module ends is trusted whatever its length */
	if (!last && (ep_vec_at(&symbols->entries, struct entry, index + 1)->is_end ||
		      module_of(symbols, index + 1) == module_of(symbols, index)))
		return true;
	return bytes < MAX_OPEN_BYTES;
}

/* Inflates a block's names into `text`, and one name more, which is "". 0, -ENOMEM. */
static int block_read(const struct ep_kernel_symbols *symbols, size_t i, char text[BLOCK_MAX + 1])
{
	uint32_t at = ep_vec_at(&symbols->blocks, struct block, i)->at;
	size_t end = i + 1 < symbols->blocks.len ? ep_vec_at(&symbols->blocks, struct block, i + 1)->at
						 : symbols->bytes.len;
	z_stream stream = {
		.next_in = ep_vec_at(&symbols->bytes, uint8_t, at),
		.avail_in = (uInt)(end - at),
		.next_out = (Bytef *)text,
		.avail_out = BLOCK_MAX,
	};
	int r;

	if (inflateInit2(&stream, WINDOW_BITS) != Z_OK)
		return -ENOMEM;
	r = inflate(&stream, Z_FINISH);
	inflateEnd(&stream);
	text[BLOCK_MAX - stream.avail_out] = '\0';
	return r == Z_STREAM_END ? 0 : -ENOMEM;
}

static int name_read(const struct ep_kernel_symbols *symbols, size_t index, char name[EP_KERNEL_NAME_MAX])
{
	size_t i = ep_bisect(symbols->blocks.len, at,
			     ep_vec_at(&symbols->blocks, struct block, at)->first <= index) - 1;
	size_t skipped = index - ep_vec_at(&symbols->blocks, struct block, i)->first, used = 0, len;
	char text[BLOCK_MAX + 1];
	const char *at = text;
	int r = block_read(symbols, i, text);

	if (r < 0)
		return r;
	while (skipped--)
		at += strlen(at) + 1;
	if (strcmp(at, PREFIX_MARK) == 0) {
		used = strlen(PREFIX);
		memcpy(name, PREFIX, used);
		at += sizeof(PREFIX_MARK); /* after it comes its function: entry_add */
	}
	len = strnlen(at, EP_KERNEL_NAME_MAX - 1 - used);
	memcpy(name + used, at, len);
	name[used + len] = '\0';
	return 0;
}

int ep_kernel_symbols_find(const struct ep_kernel_symbols *symbols, uint64_t addr,
			   struct ep_kernel_name *ret_name)
{
	const struct entry *entry;
	uint64_t base_addr = 0;
	ssize_t i;

	i = entry_before(symbols, addr, &base_addr);
	if (i < 0)
		return -ENODATA;
	entry = ep_vec_at(&symbols->entries, struct entry, i);
	if (entry->is_end ||
	    !reaches(symbols, (size_t)i, addr - base_addr - entry->start))
		return -ENODATA;
	ret_name->start_addr = base_addr + entry->start;
	ret_name->module = ep_strings_get(symbols->modules, module_of(symbols, (size_t)i));
	return name_read(symbols, (size_t)i, ret_name->name);
}

static uint64_t entry_addr(const struct ep_kernel_symbols *symbols, size_t index)
{
	size_t i = symbols->groups.len;

	while (ep_vec_at(&symbols->groups, struct group, i - 1)->first > index)
		i--;
	return ep_vec_at(&symbols->groups, struct group, i - 1)->base_addr +
	       ep_vec_at(&symbols->entries, struct entry, index)->start;
}

/* The longest run of symbols without a module. */
bool ep_kernel_symbols_own(const struct ep_kernel_symbols *symbols, uint64_t *ret_start_addr,
			   uint64_t *ret_end_addr)
{
	size_t best_first = 0, best_len = 0;

	for (size_t i = 0; i < symbols->runs.len; i++) {
		const struct run *run = ep_vec_at(&symbols->runs, struct run, i);
		size_t end = i + 1 < symbols->runs.len ? run[1].first : symbols->entries.len;

		if (run->module == 0 && end - run->first > best_len) {
			best_first = run->first;
			best_len = end - run->first;
		}
	}
	if (best_len < 2)
		return false;
	*ret_start_addr = entry_addr(symbols, best_first);
	*ret_end_addr = entry_addr(symbols, best_first + best_len - 1);
	return true;
}

size_t ep_kernel_symbols_len(const struct ep_kernel_symbols *symbols)
{
	return symbols->entries.len;
}

size_t ep_kernel_symbols_bytes(const struct ep_kernel_symbols *symbols)
{
	return sizeof(*symbols) + symbols->entries.cap * sizeof(struct entry) +
	       symbols->groups.cap * sizeof(struct group) + symbols->runs.cap * sizeof(struct run) +
	       symbols->blocks.cap * sizeof(struct block) + symbols->bytes.cap + ep_strings_bytes(symbols->modules);
}

int ep_kernel_build_id(uint8_t id[EP_ELF_BUILD_ID_MAX])
{
	ep_cleanup(ep_vec_fini) struct ep_vec notes;
	int r;

	ep_vec_init(&notes, 1, MAX_NOTES_BYTES);
	r = ep_read_file("/sys/kernel/notes", &notes);
	if (r < 0)
		return r;
	return ep_elf_notes_build_id(notes.data, notes.len, 4, id);
}
