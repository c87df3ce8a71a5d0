/* SPDX-License-Identifier: Apache-2.0 */
/* An ELF file with a function table of Go's: names of addresses all over its text, up and down. */
#include "core/elf/file.h"
#include "core/pclntab/pclntab.h"
#include "core/symbol/functions.h"
#include "core/trace/lines.h"
#include "tests/kit/fuzz.h"

#define ADDRESSES 64

static bool find_text(const struct ep_elf *elf, uint64_t *ret_start, uint64_t *ret_end)
{
	struct ep_pclntab *tab = NULL;

	if (ep_pclntab_open(elf, 0, &tab) < 0)
		return false;
	ep_pclntab_text(tab, ret_start, ret_end);
	ep_pclntab_close(tab);
	return true;
}

static void try_address(struct ep_functions *functions, uint64_t va, struct ep_function_memo *memo)
{
	struct ep_frame_line line[EP_FRAME_MAX_LINES];
	ep_cleanup(ep_lines_fini) struct ep_lines lines;
	int r = ep_lines_init(&lines, 1);

	assert(r == 0);
	r = ep_functions_add(functions, va, memo, &lines);
	assert(r >= 0);
	if (r == EP_FUNCTIONS_EXTERNAL)
		r = ep_functions_add_external(functions, memo, &lines);
	ep_lines_end(&lines);
	assert((ep_lines_get(&lines, 0, line) > 0) == (r == 0));
	assert(lines.left_out == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ep_function_memo memo;
	struct ep_functions *functions = NULL;
	struct ep_elf *elf = NULL;
	uint64_t start, end, step;

	if (ep_elf_open_memory(data, size, &elf) < 0)
		return 0;
	if (!find_text(elf, &start, &end) || ep_functions_open(elf, &functions) < 0) {
		ep_elf_close(elf);
		return 0;
	}
	ep_function_memo_init(&memo);
	step = (end - start) / ADDRESSES + 1;
	for (uint64_t va = start; va < end; va += step)
		try_address(functions, va, &memo);
	for (uint64_t va = end; va > start && va - start >= step; va -= step)
		try_address(functions, va - 1, &memo);
	ep_function_memo_fini(&memo);
	ep_functions_close(functions);
	return 0;
}
