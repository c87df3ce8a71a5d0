/* SPDX-License-Identifier: Apache-2.0 */
#include "core/symbol/described.h"

#include "core/base/bisect.h"
#include "core/base/vec.h"
#include "core/symbol/demangle.h"
#include "ebpf-profiler/unwinder.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#define MAX_NAME_BYTES 4096 /* with the NUL, as EP_SYMTAB_NAME_MAX; longer names are cut */
/* How many that begin before an address but end before it too are skipped: nested ones. */
#define MAX_NESTED 32

struct symbol {
	uint64_t va;
	uint32_t bytes;
	uint32_t name_off; /* they are added with ascending ones */
};

struct ep_described_symbols {
	_Atomic uint32_t refs;
	struct ep_vec symbols; /* struct symbol; once sorted: outer ones before inner ones */
	struct ep_vec names;   /* NUL after each */
};

int ep_described_symbols_new(struct ep_described_symbols **ret_symbols)
{
	struct ep_described_symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols)
		return -ENOMEM;
	atomic_init(&symbols->refs, 1);
	ep_vec_init(&symbols->symbols, sizeof(struct symbol), EP_MAX_CODE_SYMBOLS);
	ep_vec_init(&symbols->names, 1, EP_MAX_CODE_NAMES);
	*ret_symbols = symbols;
	return 0;
}

struct ep_described_symbols *ep_described_symbols_ref(struct ep_described_symbols *symbols)
{
	if (symbols)
		atomic_fetch_add(&symbols->refs, 1);
	return symbols;
}

void ep_described_symbols_unref(struct ep_described_symbols *symbols)
{
	if (!symbols || atomic_fetch_sub(&symbols->refs, 1) != 1)
		return;
	ep_vec_fini(&symbols->symbols);
	ep_vec_fini(&symbols->names);
	free(symbols);
}

static int add_name(struct ep_vec *names, const char *name)
{
	size_t len = strnlen(name, MAX_NAME_BYTES - 1), at = names->len;
	int r = ep_vec_append(names, NULL, len + 1);

	if (r < 0)
		return r;
	memcpy((char *)names->data + at, name, len);
	ep_name_clean((char *)names->data + at);
	return 0;
}

int ep_described_symbols_add(struct ep_described_symbols *symbols, uint64_t va, uint64_t bytes,
			     const char *name)
{
	struct symbol symbol = {.va = va, .bytes = (uint32_t)bytes,
				.name_off = (uint32_t)symbols->names.len};
	int r;

	if (!name || !*name || bytes == 0 || bytes > UINT32_MAX || bytes > UINT64_MAX - va)
		return -EINVAL;
	r = ep_vec_append(&symbols->symbols, &symbol, 1);
	if (r < 0)
		return r;
	r = add_name(&symbols->names, name);
	if (r < 0)
		symbols->symbols.len--;
	return r;
}

size_t ep_described_symbols_len(const struct ep_described_symbols *symbols)
{
	return symbols->symbols.len;
}

void ep_described_symbols_cut(struct ep_described_symbols *symbols, size_t n)
{
	if (n >= symbols->symbols.len)
		return;
	symbols->names.len = ep_vec_at(&symbols->symbols, struct symbol, n)->name_off;
	symbols->symbols.len = n;
}

static int compare(const void *left, const void *right)
{
	const struct symbol *a = left, *b = right;

	if (a->va != b->va)
		return a->va < b->va ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->name_off > b->name_off ? -1 : a->name_off < b->name_off;
}

void ep_described_symbols_sort(struct ep_described_symbols *symbols)
{
	ep_vec_shrink(&symbols->symbols);
	ep_vec_shrink(&symbols->names);
	if (symbols->symbols.len > 1)
		qsort(symbols->symbols.data, symbols->symbols.len, sizeof(struct symbol), compare);
}

/* How many begin at or before va. */
static size_t count_before(const struct ep_described_symbols *symbols, uint64_t va)
{
	return ep_bisect(symbols->symbols.len, i, ep_vec_at(&symbols->symbols, struct symbol, i)->va <= va);
}

const char *ep_described_symbols_find(const struct ep_described_symbols *symbols, uint64_t va,
				      struct ep_symbol *ret_symbol)
{
	size_t i = count_before(symbols, va), stop = i > MAX_NESTED ? i - MAX_NESTED : 0;

	for (; i > stop; i--) {
		const struct symbol *symbol = ep_vec_at(&symbols->symbols, struct symbol, i - 1);

		if (va - symbol->va >= symbol->bytes)
			continue;
		*ret_symbol = (struct ep_symbol){symbol->va, symbol->bytes};
		return (const char *)symbols->names.data + symbol->name_off;
	}
	return NULL;
}

size_t ep_described_symbols_bytes(const struct ep_described_symbols *symbols)
{
	return symbols ? sizeof(*symbols) + symbols->symbols.cap * sizeof(struct symbol) +
				 symbols->names.cap
		       : 0;
}
