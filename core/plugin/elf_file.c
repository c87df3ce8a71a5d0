/* SPDX-License-Identifier: Apache-2.0 */
#include "core/plugin/elf_file.h"

#include "core/base/bisect.h"
#include "core/elf/debug_file.h"
#include "core/pclntab/pclntab.h"

#include <errno.h>

#define TABLE_CACHE_BYTES ((size_t)64 << 10)
#define MAX_MATCHES (4 * EP_MAX_SYMBOLS) /* a name may be in several tables, and twice in one */

/* --- symbols and sections --- */

static int debug_file_open(struct ep_elf_file *file)
{
	if (file->debug_result == 1) {
		file->debug_result = -ENODATA;
		if (file->root)
			file->debug_result = ep_debug_file_open(file->elf, file->root,
								file->file.path, &file->debug);
		if (file->debug_result == 0)
			ep_elf_lookup_init(&file->debug_lookup, file->debug);
	}
	return file->debug_result;
}

/* 0: it may have names that the file has not. With a .symtab of its own the file has them all. */
static int debug_names_open(struct ep_elf_file *file)
{
	struct ep_elf_section section;

	if (ep_elf_find_section_type(file->elf, SHT_SYMTAB, &section) == 0)
		return -ENODATA;
	return debug_file_open(file);
}

static int file_symbol(void *arg, const char *name, struct ep_symbol *ret)
{
	struct ep_elf_file *file = arg;
	struct ep_elf_symbol symbol;
	int r = ep_elf_lookup_symbol(&file->lookup, name, &symbol);

	if (r == -ENODATA) {
		r = debug_names_open(file);
		if (r == 0)
			r = ep_elf_lookup_symbol(&file->debug_lookup, name, &symbol);
	}
	if (r < 0)
		return r;
	*ret = (struct ep_symbol){.va = symbol.va, .bytes = symbol.bytes};
	return 0;
}

static int file_symbols(void *arg, const char *prefix,
			int (*visit)(void *arg, const char *name, const struct ep_symbol *symbol),
			void *visit_arg)
{
	ep_cleanup(ep_vec_fini) struct ep_vec matches = {0};
	struct ep_elf_file *file = arg;
	const struct ep_elf_match *match;
	int r;

	ep_vec_init(&matches, sizeof(*match), MAX_MATCHES);
	r = ep_elf_lookup_prefix(&file->lookup, prefix, &matches);
	if (r == 0)
		r = debug_names_open(file);
	if (r == 0)
		r = ep_elf_lookup_prefix(&file->debug_lookup, prefix, &matches);
	if (r < 0 && r != -ENODATA)
		return r;
	ep_elf_matches_sort(&matches);
	if (matches.len > EP_MAX_SYMBOLS)
		return -E2BIG;
	ep_vec_each (&matches, match) {
		struct ep_symbol symbol = {.va = match->symbol.va, .bytes = match->symbol.bytes};

		if (visit(visit_arg, match->name, &symbol) != 0)
			break;
	}
	return 0;
}

static int file_section(void *arg, const char *name, struct ep_symbol *ret)
{
	struct ep_elf_file *file = arg;
	struct ep_elf_section section;
	int r;

	r = ep_elf_find_memory_section(file->elf, name, &section);
	if (r < 0)
		return r;
	*ret = (struct ep_symbol){.va = section.va, .bytes = section.bytes};
	return 0;
}

static int file_read(void *arg, uint64_t va, void *buf, size_t bytes)
{
	struct ep_elf_file *file = arg;

	return ep_elf_read_va(file->elf, va, buf, bytes);
}

/* --- function bounds --- */

static int functions_open(struct ep_elf_file *file)
{
	int r = ep_eh_source_open(&file->eh, file->elf, false);

	file->functions = r == 0 ? &file->eh.list : &file->debug_frame.list;
	if (r == -ENODATA)
		r = ep_debug_source_open(&file->debug_frame, file->elf);
	if (r == -ENODATA) {
		r = debug_file_open(file);
		if (r == 0)
			r = ep_debug_source_open(&file->debug_frame, file->debug);
	}
	return r;
}

/* The last FDE that starts at or before va. -ENODATA. */
static int list_search(const struct ep_fde_list *list, uint64_t va, uint64_t *ret_off)
{
	size_t n = ep_bisect(list->n, i, ep_fde_list_get(list, i).start <= va);

	if (n == 0)
		return -ENODATA;
	*ret_off = ep_fde_list_get(list, n - 1).off;
	return 0;
}

static int file_function(void *arg, uint64_t va, struct ep_symbol *ret)
{
	struct ep_elf_file *file = arg;
	struct ep_fde_list *list;
	struct ep_cfi_entry entry;
	struct ep_fde fde;
	uint64_t off = 0;
	int r;

	if (file->functions_result == 1)
		file->functions_result = functions_open(file);
	if (file->functions_result < 0)
		return file->functions_result;
	list = file->functions;
	r = list_search(list, va, &off);
	if (r < 0)
		return r;
	r = ep_cfi_read_entry(&list->sec, off, &entry);
	if (r == 0)
		r = ep_cfi_parse_fde(&list->sec, &entry, &list->cies, &fde);
	if (r != 0)
		return -EBADMSG;
	if (va < fde.start || va >= fde.end)
		return -ENODATA;
	*ret = (struct ep_symbol){.va = fde.start, .bytes = fde.end - fde.start};
	return 0;
}

static int file_named(void *arg, const char *name, struct ep_symbol *ret)
{
	struct ep_elf_file *file = arg;
	struct ep_pclntab_func func;
	int r;

	if (file->table_result == 1)
		file->table_result = ep_pclntab_open(file->elf, TABLE_CACHE_BYTES, &file->table);
	if (file->table_result < 0)
		return file->table_result == -ENOTSUP ? -ENODATA : file->table_result;
	r = ep_pclntab_find_named(file->table, name, &func);
	if (r == 0)
		*ret = (struct ep_symbol){.va = func.start, .bytes = func.end - func.start};
	return r;
}

/* --- the file --- */

static const struct ep_file_ops elf_file_ops = {
	.symbol = file_symbol,
	.symbols = file_symbols,
	.section = file_section,
	.read = file_read,
	.function = file_function,
	.named = file_named,
};

void ep_elf_file_init(struct ep_elf_file *file, const struct ep_elf *elf, const char *root,
		      const char *path)
{
	*file = (struct ep_elf_file){
		.file = {.ops = &elf_file_ops, .arg = file, .path = path,
			 .machine = ep_elf_machine(elf)},
		.elf = elf,
		.root = root,
		.debug_result = 1,
		.functions_result = 1,
		.table_result = 1,
	};
	ep_elf_lookup_init(&file->lookup, elf);
}

void ep_elf_file_fini(struct ep_elf_file *file)
{
	ep_elf_lookup_fini(&file->lookup);
	ep_elf_lookup_fini(&file->debug_lookup);
	ep_elf_close(file->debug);
	ep_eh_source_close(&file->eh);
	ep_debug_source_close(&file->debug_frame);
	ep_pclntab_close(file->table);
	*file = (struct ep_elf_file){0};
}
