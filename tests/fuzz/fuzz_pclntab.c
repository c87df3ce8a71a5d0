/* SPDX-License-Identifier: Apache-2.0 */
/* An ELF file with a function table of Go's: all it says of all functions. */
#include "core/elf/file.h"
#include "core/pclntab/pclntab.h"
#include "tests/kit/fuzz.h"

#define MAX_FUNCS 64

static void try_values(struct ep_pclntab *tab, const struct ep_pclntab_func *func, uint32_t table)
{
	struct ep_pclntab_values values;
	uint64_t before = func->start, end;
	struct ep_pclntab_call call;
	int32_t value;
	char text[64];

	if (ep_pclntab_values_begin(tab, func, table, &values) < 0)
		return;
	while (ep_pclntab_values_next(&values, &end, &value) == 0) {
		assert(end > before && end <= func->end);
		before = end;
		if (ep_pclntab_inlined(tab, func, value, &call) == 0) {
			assert(call.parent_va >= func->start && call.parent_va < func->end);
			(void)ep_pclntab_name(tab, call.name, text, sizeof(text));
		}
		if (ep_pclntab_file(tab, func, value, text, sizeof(text)) == 0)
			assert(memchr(text, 0, sizeof(text)));
	}
}

static void try_func(struct ep_pclntab *tab, const struct ep_pclntab_func *func)
{
	struct ep_pclntab_func found;
	char text[64];

	assert(func->start <= func->end);
	try_values(tab, func, func->pcsp);
	try_values(tab, func, func->pcfile);
	try_values(tab, func, func->pcln);
	try_values(tab, func, func->inline_index);
	if (ep_pclntab_name(tab, func->name, text, sizeof(text)) == 0)
		assert(memchr(text, 0, sizeof(text)));
	if (func->start < func->end && ep_pclntab_find(tab, func->start, &found) == 0)
		assert(found.start == func->start && found.name == func->name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ep_pclntab *tab = NULL;
	struct ep_elf *elf = NULL;
	struct ep_pclntab_func func;
	uint32_t cursor = 0;
	uint64_t before, end;
	int r;

	if (ep_elf_open_memory(data, size, &elf) < 0)
		return 0;
	if (ep_pclntab_open(elf, (size_t)64 << 10, &tab) == 0) {
		ep_pclntab_text(tab, &before, &end);
		while ((r = ep_pclntab_next(tab, &cursor, &func)) != 1 && cursor < MAX_FUNCS) {
			assert(func.start >= before && func.end <= end && func.start <= func.end);
			before = func.end;
			if (r == 0)
				try_func(tab, &func);
		}
		(void)ep_pclntab_find(tab, end - 1, &func);
		if (ep_pclntab_find_named(tab, "main.outer", &func) == 0)
			assert(func.start <= func.end);
	}
	ep_pclntab_close(tab);
	ep_elf_close(elf);
	return 0;
}
