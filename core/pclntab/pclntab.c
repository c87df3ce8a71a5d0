/* SPDX-License-Identifier: Apache-2.0 */
#include "core/pclntab/layout.h"
#include "core/elf/file.h"

#include <errno.h>
#include <string.h>

#define MAX_FUNCS      (1u << 24)
#define MAX_FILES      (1u << 24)
#define INDEX_SHIFT    8
#define MAX_FUNC_BYTES 128 /* what is read of a function: with the words of its values and data */
#define SAMPLES	       64  /* functions looked at before a table is trusted */
#define NONE	       EP_PCLNTAB_ABSENT

enum { ID_SWITCH, ID_PREEMPT, ID_PANICWRAP, ID_DEFERRETURN };
#define ORDINARY_ID 0

/*
 * Offsets read at the tags go1.12.9, go1.15, go1.16, go1.18, go1.20 and go1.26: one row per magic, and what
 * differs within one is found by survey. Before go1.12 there are no ids and data's number has four bytes;
 * neither is used then. The inline values' and data's numbers: src/cmd/internal/objabi/funcdata.go.
 */
static const struct ep_pclntab_layout layouts[] = {
	{ .magic = 0xfffffffb, .header_bytes = 16, .tables = 0, .word = 8,
	  .name = 8, .pcsp = 20, .pcfile = 24, .pcln = 28, .n_values = 32, .unit = NONE,
	  .start_line = NONE, .id = 36, .flags = NONE, .n_data = 39, .values = 40, .data_word = 8,
	  .inline_value = 2, .inline_data = 4,
	  .call_bytes = 20, .call_id = 2, .call_name = 12, .call_pc = 16, .call_start_line = NONE },
	{ .magic = 0xfffffffa, .header_bytes = 64, .tables = 24, .word = 8,
	  .name = 8, .pcsp = 20, .pcfile = 24, .pcln = 28, .n_values = 32, .unit = 36,
	  .start_line = NONE, .id = 40, .flags = 41, .n_data = 43, .values = 44, .data_word = 8,
	  .inline_value = 2, .inline_data = 3,
	  .call_bytes = 20, .call_id = 2, .call_name = 12, .call_pc = 16, .call_start_line = NONE },
	{ .magic = 0xfffffff0, .header_bytes = 72, .tables = 32, .word = 4,
	  .name = 4, .pcsp = 16, .pcfile = 20, .pcln = 24, .n_values = 28, .unit = 32,
	  .start_line = NONE, .id = 36, .flags = 37, .n_data = 39, .values = 40, .data_word = 4,
	  .inline_value = 2, .inline_data = 3,
	  .call_bytes = 20, .call_id = 2, .call_name = 12, .call_pc = 16, .call_start_line = NONE },
	{ .magic = 0xfffffff1, .header_bytes = 72, .tables = 32, .word = 4,
	  .name = 4, .pcsp = 16, .pcfile = 20, .pcln = 24, .n_values = 28, .unit = 32,
	  .start_line = 36, .id = 40, .flags = 41, .n_data = 43, .values = 44, .data_word = 4,
	  .inline_value = 2, .inline_data = 3,
	  .call_bytes = 16, .call_id = 0, .call_name = 4, .call_pc = 8, .call_start_line = 12 },
};

int ep_pclntab_read(struct ep_pclntab *tab, uint64_t off, void *buf, size_t bytes)
{
	if (!ep_in_bounds(off, bytes, tab->bytes))
		return -EBADMSG;
	return ep_pages_read(&tab->pages, tab->off + off, buf, bytes);
}

/* The same with addresses as they are in memory. */
static int read_addresses(struct ep_pclntab *tab, uint64_t off, uint8_t *buf, size_t bytes)
{
	int r = ep_pclntab_read(tab, off, buf, bytes);

	if (r == 0 && __builtin_expect(tab->n_relocs, 0))
		ep_pclntab_relocate(tab, off, buf, bytes);
	return r;
}

int ep_pclntab_read_va(struct ep_pclntab *tab, uint64_t va, void *buf, size_t bytes)
{
	for (size_t i = 0; i < tab->n_segments; i++) {
		const struct ep_pclntab_range *segment = &tab->segments[i];

		if (va >= segment->va && ep_in_bounds(va - segment->va, bytes, segment->bytes))
			return ep_pages_read(&tab->pages, segment->off + (va - segment->va), buf, bytes);
	}
	return -EBADMSG;
}

/* ---- functions ---- */

/* The functab's numbers i and after it. */
static int read_words(struct ep_pclntab *tab, uint64_t i, uint64_t *words, size_t n)
{
	size_t word = tab->layout->word;
	uint8_t bytes[3 * 8];
	int r = read_addresses(tab, tab->functab + i * word, bytes, n * word);

	for (size_t k = 0; k < n && r == 0; k++)
		words[k] = word == 4 ? ep_get_u32(bytes + 4 * k) : ep_get_u64(bytes + 8 * k);
	return r;
}

int ep_pclntab_entry(struct ep_pclntab *tab, uint32_t index, uint64_t *ret_entry)
{
	return read_words(tab, 2 * (uint64_t)index, ret_entry, 1);
}

/* The inline tree of a function, whose bytes are at hand; what lies after them is read. */
static void find_tree(struct ep_pclntab *tab, const uint8_t *bytes, size_t have, uint64_t off,
		      struct ep_pclntab_func *func)
{
	const struct ep_pclntab_layout *l = tab->layout;
	uint64_t data = l->values + 4 * (uint64_t)ep_get_u32(bytes + l->n_values);
	uint8_t buf[8] = { 0 };
	uint64_t tree;

	if (!tab->has_trees || ep_get_u32(bytes + l->n_values) <= l->inline_value ||
	    bytes[l->n_data] <= l->inline_data)
		return;
	/* The table is aligned to pointers, so that is the data's alignment as well. */
	data = EP_ALIGN_UP(off + data, l->data_word) - off + (uint64_t)l->inline_data * l->data_word;
	if (data + l->data_word <= have)
		memcpy(buf, bytes + data, l->data_word);
	else if (read_addresses(tab, off + data, buf, l->data_word) < 0)
		return;
	tree = ep_get_u64(buf);
	if (l->data_word == 4)
		tree = tree == UINT32_MAX ? 0 : tree + tab->inline_base;
	if (tree == 0)
		return;
	func->inline_tree = tree;
	func->inline_index = ep_get_u32(bytes + l->values + 4 * l->inline_value);
}

static void set_role(struct ep_pclntab *tab, uint8_t id, uint8_t flags,
		     struct ep_pclntab_func *func)
{
	const struct ep_pclntab_known *known;

	func->flags = tab->has_flags ? flags & (EP_PCLNTAB_TOP | EP_PCLNTAB_SP_WRITE | EP_PCLNTAB_ASM) : 0;
	if (id == tab->wrapper_id) {
		func->role = EP_PCLNTAB_WRAPPER;
		return;
	}
	known = ep_pclntab_known(tab, func->name);
	if (!known)
		return;
	func->role = known->role;
	if (!tab->has_flags)
		func->flags = known->flags;
}

static int parse_func(struct ep_pclntab *tab, uint64_t off, uint64_t entry,
		      struct ep_pclntab_func *func, uint8_t *ret_id)
{
	const struct ep_pclntab_layout *l = tab->layout;
	size_t have = off < tab->bytes ? EP_MIN(tab->bytes - off, (uint64_t)MAX_FUNC_BYTES) : 0;
	uint8_t bytes[MAX_FUNC_BYTES] = { 0 };
	int r;

	if (have < l->values)
		return -EBADMSG;
	r = read_addresses(tab, off, bytes, have);
	if (r < 0)
		return r;
	if (entry != (l->word == 4 ? ep_get_u32(bytes) : ep_get_u64(bytes)))
		return -EBADMSG;
	func->name = ep_get_u32(bytes + l->name);
	func->pcsp = ep_get_u32(bytes + l->pcsp);
	func->pcfile = ep_get_u32(bytes + l->pcfile);
	func->pcln = ep_get_u32(bytes + l->pcln);
	func->cu = l->unit == NONE ? 0 : ep_get_u32(bytes + l->unit);
	func->start_line = l->start_line == NONE ? 0 : ep_get_u32(bytes + l->start_line);
	if (func->name >= tab->bytes - tab->names)
		return -EBADMSG;
	*ret_id = bytes[l->id];
	if (l->magic == 0xfffffffb && bytes[l->n_data])
		tab->has_ids = true;
	set_role(tab, *ret_id, l->flags == NONE ? 0 : bytes[l->flags], func);
	find_tree(tab, bytes, have, off, func);
	return 0;
}

int ep_pclntab_func_at(struct ep_pclntab *tab, uint32_t index, struct ep_pclntab_func *ret_func,
		       uint8_t *ret_id)
{
	uint64_t words[3];
	int r = read_words(tab, 2 * (uint64_t)index, words, 3);
	uint64_t base = tab->layout->tables ? tab->functab : 0;

	*ret_func = (struct ep_pclntab_func){ .index = index };
	if (r < 0)
		return r;
	if (words[0] > words[2] || (tab->text_end && words[2] > tab->text_end - tab->text))
		return -EBADMSG;
	ret_func->start = tab->text + words[0];
	ret_func->end = tab->text + words[2];
	/* Two sections of text have a gap between them that belongs to no function. */
	if (tab->layout->word == 8 && words[1] == UINT64_MAX)
		return -EBADMSG;
	if (words[1] > tab->bytes)
		return -EBADMSG;
	return parse_func(tab, base + words[1], words[0], ret_func, ret_id);
}

int ep_pclntab_next(struct ep_pclntab *tab, uint32_t *cursor, struct ep_pclntab_func *ret_func)
{
	uint8_t id;

	if (*cursor >= tab->n_funcs)
		return 1;
	return ep_pclntab_func_at(tab, (*cursor)++, ret_func, &id);
}

uint32_t ep_pclntab_count(const struct ep_pclntab *tab)
{
	return tab->n_funcs;
}

void ep_pclntab_text(const struct ep_pclntab *tab, uint64_t *ret_start, uint64_t *ret_end)
{
	*ret_start = tab->text + tab->index[0];
	*ret_end = tab->text_end;
}

/* The last of n numbers, `stride` words apart, that is at most `value`; the first one is. */
static uint32_t last_at_most(const uint8_t *words, size_t stride, size_t bytes, uint32_t n,
			     uint64_t value)
{
	uint32_t low = 0;

	while (n > 1) {
		uint32_t half = n / 2;
		const uint8_t *at = words + (size_t)(low + half) * stride;

		if ((bytes == 4 ? ep_get_u32(at) : ep_get_u64(at)) <= value)
			low += half;
		n -= half;
	}
	return low;
}

int ep_pclntab_find(struct ep_pclntab *tab, uint64_t va, struct ep_pclntab_func *ret_func)
{
	size_t word = tab->layout->word;
	uint32_t blocks = ((tab->n_funcs - 1) >> INDEX_SHIFT) + 1, first, n;
	uint8_t bytes[(2 << INDEX_SHIFT) * 8], id;
	uint64_t entry = va - tab->text;
	int r;

	if (va < tab->text + tab->index[0] || va >= tab->text_end)
		return -ENODATA;
	first = last_at_most((const uint8_t *)tab->index, 8, 8, blocks, entry) << INDEX_SHIFT;
	n = EP_MIN(tab->n_funcs - first, 1u << INDEX_SHIFT);
	r = read_addresses(tab, tab->functab + 2 * word * (uint64_t)first, bytes, 2 * word * n);
	if (r < 0)
		return r;
	first += last_at_most(bytes, 2 * word, word, n, entry);
	r = ep_pclntab_func_at(tab, first, ret_func, &id);
	if (r == 0 && (va < ret_func->start || va >= ret_func->end))
		return -EBADMSG; /* another file by now */
	return r;
}

/* ---- open ---- */

static int parse_tables(struct ep_pclntab *tab, const uint8_t *header)
{
	const struct ep_pclntab_layout *l = tab->layout;
	uint32_t *const fields[] = { &tab->names, &tab->units, &tab->files, &tab->values, &tab->functab };
	uint64_t before = l->header_bytes, off;

	for (size_t i = 0; i < EP_LEN(fields); i++, before = off) {
		off = ep_get_u64(header + l->tables + 8 * i);
		if (off < before || off >= tab->bytes)
			return -EBADMSG;
		*fields[i] = (uint32_t)off;
	}
	tab->n_files = (uint32_t)EP_MIN(ep_get_u64(header + 16), (uint64_t)MAX_FILES);
	if (l->word == 4)
		tab->header_text = ep_get_u64(header + 24);
	return 0;
}

/*
 * After the functab of the oldest layout is where the list of files is, whose first number is its
 * length.
 */
static int find_files(struct ep_pclntab *tab)
{
	uint64_t behind = tab->functab + (2 * (uint64_t)tab->n_funcs + 1) * 8;
	int r = ep_pclntab_read(tab, behind, &tab->files, 4);

	if (r == 0)
		r = ep_pclntab_read(tab, tab->files, &tab->n_files, 4);
	if (r == 0 && (tab->n_files == 0 || tab->n_files > MAX_FILES))
		return -EBADMSG;
	return r;
}

static int parse_header(struct ep_pclntab *tab)
{
	uint8_t header[72] = { 0 };
	uint64_t n;
	int r = ep_pclntab_read(tab, 0, header, 16);

	if (r < 0)
		return r;
	tab->layout = NULL;
	for (size_t i = 0; i < EP_LEN(layouts); i++)
		if (ep_get_u32(header) == layouts[i].magic)
			tab->layout = &layouts[i];
	if (!tab->layout || header[4] || header[5] || header[6] != 1 || header[7] != 8)
		return -EBADMSG;
	r = ep_pclntab_read(tab, 0, header, tab->layout->header_bytes);
	if (r < 0)
		return r;
	n = ep_get_u64(header + 8);
	if (n == 0 || n >= MAX_FUNCS)
		return -EBADMSG;
	tab->n_funcs = (uint32_t)n;
	tab->functab = 16;
	if (tab->layout->tables) {
		r = parse_tables(tab, header);
		if (r < 0)
			return r;
	}
	if (!ep_in_bounds(tab->functab, (2 * n + 1) * tab->layout->word, tab->bytes))
		return -EBADMSG;
	return tab->layout->tables ? 0 : find_files(tab);
}

/* Reads the functab once: entries ascend, and every 256th is kept for ep_pclntab_find. */
static int read_index(struct ep_pclntab *tab)
{
	size_t word = tab->layout->word, blocks = ((tab->n_funcs - 1) >> INDEX_SHIFT) + 1;
	uint8_t bytes[(2 << INDEX_SHIFT) * 8];
	uint64_t before = 0, entry;
	int r;

	free(tab->index);
	tab->index = calloc(blocks, sizeof(*tab->index));
	if (!tab->index)
		return -ENOMEM;
	for (uint32_t i = 0; i <= tab->n_funcs; i++, before = entry) {
		uint32_t in_block = i & ((1u << INDEX_SHIFT) - 1);
		uint64_t left = 2 * (uint64_t)(tab->n_funcs - i) + 1;

		if (in_block == 0) {
			r = read_addresses(tab, tab->functab + 2 * word * (uint64_t)i, bytes,
					   word * EP_MIN(left, (uint64_t)2 << INDEX_SHIFT));
			if (r < 0)
				return r;
		}
		entry = word == 4 ? ep_get_u32(bytes + in_block * 8)
				  : ep_get_u64(bytes + in_block * 16);
		if (in_block == 0 && i < tab->n_funcs)
			tab->index[i >> INDEX_SHIFT] = entry;
		if (entry < before)
			return -EBADMSG;
	}
	tab->text_end = before; /* the last number: the end */
	return 0;
}

/* Tables of which most functions do not fit were made unreadable on purpose. */
static int sample(struct ep_pclntab *tab)
{
	uint32_t step = tab->n_funcs / SAMPLES + 1, bad = 0, seen = 0;
	struct ep_pclntab_func func;
	uint8_t id;

	for (uint32_t i = 0; i < tab->n_funcs; i += step, seen++) {
		int r = ep_pclntab_func_at(tab, i, &func, &id);

		if (r < 0 && r != -EBADMSG)
			return r;
		bad += r == -EBADMSG;
	}
	return bad * 2 > seen ? -EBADMSG : 0;
}

static void learn(struct ep_pclntab *tab, const struct ep_pclntab_func *func, uint8_t id)
{
	static const char *const names[EP_PCLNTAB_IDS] = {
		[ID_SWITCH] = "runtime.systemstack_switch",
		[ID_PREEMPT] = "runtime.asyncPreempt",
		[ID_PANICWRAP] = "runtime.panicwrap",
		[ID_DEFERRETURN] = "runtime.deferreturn",
	};
	char name[32];

	if (ep_pclntab_name(tab, func->name, name, sizeof(name)) < 0)
		return;
	for (size_t i = 0; i < EP_PCLNTAB_IDS; i++)
		if (strcmp(name, names[i]) == 0)
			tab->ids[i] = EP_MIN(tab->ids[i], id);
	if (strcmp(name, "runtime.goexit") != 0 || tab->goexit != UINT64_MAX)
		return;
	tab->goexit = func->start;
	/* 0xfffffffa is the magic of go1.16 as well, which has a zero where go1.17 has flags. */
	if (tab->layout->magic == 0xfffffffa)
		tab->has_flags = func->flags & EP_PCLNTAB_TOP;
}

/* UINT32_MAX: not known. */
static uint32_t wrapper_id(const struct ep_pclntab *tab)
{
	uint32_t deferreturn = tab->ids[ID_DEFERRETURN], id = 0;

	if (tab->ids[ID_SWITCH] == ORDINARY_ID)
		return deferreturn == ORDINARY_ID ? UINT32_MAX : deferreturn;
	for (size_t i = 0; i < ID_DEFERRETURN; i++)
		id = tab->ids[i] == UINT32_MAX ? id : EP_MAX(id, tab->ids[i]);
	return id + 1;
}

/*
 * A function's id has another number in nearly each version, but wrappers' is always the one after
 * the greatest of runtime functions: systemstack_switch's from go1.17 on, asyncPreempt's from
 * go1.14, before that panicwrap's (funcid.go at go1.12 to go1.27). go1.17 does not know
 * systemstack_switch, as it looks for runtime.switch: deferreturn has wrappers' own there. The
 * runtime is among the first functions.
 */
static void survey(struct ep_pclntab *tab)
{
	struct ep_pclntab_func func;
	uint8_t one;

	for (uint32_t i = 0; i < tab->n_funcs; i++) {
		if (ep_pclntab_func_at(tab, i, &func, &one) == 0)
			learn(tab, &func, one);
		if (tab->goexit != UINT64_MAX && tab->ids[ID_SWITCH] != UINT32_MAX &&
		    tab->ids[ID_PREEMPT] != UINT32_MAX)
			break;
	}
	if (tab->has_ids && tab->ids[ID_SWITCH] != UINT32_MAX)
		tab->wrapper_id = wrapper_id(tab);
	/* In the oldest layout inlining has the numbers above from go1.13 on. */
	if (tab->layout->magic == 0xfffffffb)
		tab->has_trees = tab->ids[ID_PREEMPT] != UINT32_MAX;
}

/* Is all of it code, and goexit where it says? That begins with a nop and a call (asm_amd64.s). */
static bool fits(struct ep_pclntab *tab, uint64_t text)
{
	struct ep_elf_segment segments[EP_PCLNTAB_MAX_SEGMENTS];
	size_t n = ep_elf_exec_segments(tab->elf, segments, EP_PCLNTAB_MAX_SEGMENTS);
	uint64_t first = text + tab->index[0], bytes = tab->text_end - tab->index[0];
	uint8_t code[2];

	for (size_t i = 0; i < EP_MIN(n, (size_t)EP_PCLNTAB_MAX_SEGMENTS); i++) {
		if (first < segments[i].va || first < text || bytes == 0 ||
		    !ep_in_bounds(first - segments[i].va, bytes, segments[i].file_bytes))
			continue;
		return tab->layout->word == 8 || tab->goexit == UINT64_MAX ||
		       (ep_elf_read_va(tab->elf, text + tab->goexit, code, sizeof(code)) == 0 &&
			code[0] == 0x90 && code[1] == 0xe8);
	}
	return false;
}

static int find_text(struct ep_pclntab *tab)
{
	uint64_t module_text = 0, text = tab->header_text;
	int r = 0;

	if (tab->layout->word == 4) {
		r = ep_pclntab_read_module(tab, &module_text, &tab->inline_base);
		tab->has_trees = r == 0 && tab->inline_base;
		if (r == -ENOMEM)
			return r;
		if (text == 0 || !fits(tab, text))
			text = module_text;
		if (text == 0)
			return -EBADMSG;
	}
	if (!fits(tab, text))
		return -EBADMSG;
	tab->text = text;
	tab->text_end += text;
	return 0;
}

/* The first function's address is never 0 in memory. */
static int find_relocations(struct ep_pclntab *tab)
{
	uint64_t entry;
	int r;

	tab->n_relocs = 0;
	r = ep_pclntab_entry(tab, 0, &entry);
	if (r < 0 || entry)
		return r;
	r = ep_pclntab_find_relocations(tab);
	return r == -ENODATA ? -EBADMSG : r;
}

static int validate(struct ep_pclntab *tab)
{
	int r;

	for (size_t i = 0; i < EP_PCLNTAB_IDS; i++)
		tab->ids[i] = UINT32_MAX;
	tab->wrapper_id = UINT32_MAX;
	tab->goexit = UINT64_MAX;
	r = parse_header(tab);
	if (r < 0)
		return r;
	tab->has_ids = tab->layout->magic != 0xfffffffb;
	tab->has_flags = tab->layout->flags != NONE;
	tab->has_trees = tab->layout->magic == 0xfffffffa;
	if (tab->layout->word == 8)
		r = find_relocations(tab);
	if (r == 0)
		r = read_index(tab);
	if (r == 0)
		r = sample(tab);
	if (r < 0)
		return r;
	survey(tab);
	return find_text(tab);
}

static void list_segments(struct ep_pclntab *tab)
{
	struct ep_elf_segment segments[EP_PCLNTAB_MAX_SEGMENTS];
	size_t n = ep_elf_load_segments(tab->elf, segments, EP_PCLNTAB_MAX_SEGMENTS);

	for (size_t i = 0; i < EP_MIN(n, (size_t)EP_PCLNTAB_MAX_SEGMENTS); i++)
		if (ep_in_bounds(segments[i].file_off, segments[i].file_bytes,
				 ep_elf_file_bytes(tab->elf)))
			tab->segments[tab->n_segments++] = (struct ep_pclntab_range){
				.va = segments[i].va,
				.off = segments[i].file_off,
				.bytes = segments[i].file_bytes,
			};
}

int ep_pclntab_open(const struct ep_elf *elf, size_t cache_bytes, struct ep_pclntab **ret_tab)
{
	ep_cleanup(ep_pclntab_closep) struct ep_pclntab *tab = NULL;
	uint64_t pos = 0;
	bool seen = false;
	int r;

	if (ep_elf_machine(elf) != EM_X86_64)
		return -ENOTSUP;
	tab = calloc(1, sizeof(*tab));
	if (!tab)
		return -ENOMEM;
	tab->elf = elf;
	ep_pages_init(&tab->pages, elf, cache_bytes);
	list_segments(tab);
	while ((r = ep_pclntab_locate(tab, &pos)) == 0) {
		seen = true;
		r = validate(tab);
		if (r == 0) {
			*ret_tab = ep_take(tab);
			return 0;
		}
		if (r != -EBADMSG)
			return r;
	}
	return r == -ENODATA && seen ? -EBADMSG : r;
}

void ep_pclntab_close(struct ep_pclntab *tab)
{
	if (!tab)
		return;
	ep_pages_fini(&tab->pages);
	free(tab->index);
	free(tab);
}
