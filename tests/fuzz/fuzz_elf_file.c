/* SPDX-License-Identifier: Apache-2.0 */
/* An ELF file as plugins probe it: symbols, sections, bytes, functions of any address. */
#include "core/plugin/elf_file.h"
#include "tests/kit/fuzz.h"

static void try_address(const struct ep_file *file, uint64_t va)
{
	const struct ep_unwinder_host *host = ep_unwinder_host_get();
	struct ep_symbol found;
	uint8_t buf[100];

	(void)host->file_read(file, va, buf, sizeof(buf));
	if (host->file_function(file, va, &found) == 0)
		assert(found.va <= va && va - found.va < found.bytes);
}

static int see_symbol(void *arg, const char *name, const struct ep_symbol *symbol)
{
	char *last = arg;

	assert(strcmp(last, name) < 0 && strlen(name) < EP_ELF_MAX_SYMBOL);
	memcpy(last, name, strlen(name) + 1);
	return 0;
}

static void try_prefix(const struct ep_file *file, const char *prefix)
{
	char last[EP_ELF_MAX_SYMBOL] = "";

	(void)ep_unwinder_host_get()->file_symbols(file, prefix, see_symbol, last);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct ep_unwinder_host *host = ep_unwinder_host_get();
	static const char *const names[] = {"main", "sample_compare", "nothing"};
	struct ep_elf_file file;
	struct ep_elf *elf = NULL;
	struct ep_symbol found;

	if (ep_elf_open_memory(data, size, &elf) < 0)
		return 0;
	ep_elf_file_init(&file, elf, NULL, "x");
	for (size_t i = 0; i < EP_LEN(names); i++) {
		if (host->file_symbol(&file.file, names[i], &found) == 0)
			try_address(&file.file, found.va);
	}
	try_prefix(&file.file, "sample_");
	try_prefix(&file.file, "");
	if (host->file_section(&file.file, ".bss", &found) == 0)
		try_address(&file.file, found.va);
	try_address(&file.file, ep_elf_entry_va(elf));
	try_address(&file.file, UINT64_MAX - 10);
	for (size_t i = 0; i + 8 <= EP_MIN(size, (size_t)512); i += 8) {
		uint64_t va;

		memcpy(&va, data + i, sizeof(va));
		try_address(&file.file, va);
	}
	ep_elf_file_fini(&file);
	ep_elf_close(elf);
	return 0;
}
