/* SPDX-License-Identifier: Apache-2.0 */
/* What an ELF file says to its loader: only texts, of bounded length and number. */
#include "core/elf/needed.h"
#include "tests/kit/fuzz.h"

static void check_text(const char *text)
{
	assert(!text || strlen(text) < EP_ELF_MAX_LOADER_TEXT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ep_elf_needed needed;
	struct ep_elf *elf = NULL;

	if (ep_elf_open_memory(data, size, &elf) < 0)
		return 0;
	if (ep_elf_needed_read(elf, &needed) == 0) {
		check_text(needed.interp);
		check_text(needed.rpath);
		check_text(needed.runpath);
		assert(!needed.rpath || !needed.runpath);
		assert(needed.n_names <= EP_ELF_MAX_NEEDED);
		for (size_t i = 0; i < needed.n_names; i++)
			assert(*needed.names[i] && strlen(needed.names[i]) < EP_ELF_MAX_LOADER_TEXT);
		ep_elf_needed_fini(&needed);
	}
	ep_elf_close(elf);
	return 0;
}
