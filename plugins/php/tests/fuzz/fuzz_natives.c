/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of functions in C over a file in which everything may be anything.
 *
 *	input	4 sections, each with its place and size (2 bytes each): .text, .rodata,
 *		.data.rel.ro, .rela.dyn | a file's bytes, from FILE_VA on
 *
 * A function begins at each multiple of 16.
 */
#include "plugins/php/natives.h"
#include "tests/kit/fuzz.h"
#include "tests/kit/host.h"

#define FILE_VA	 0x1000u
#define SECTIONS 4
#define HEAD	 (SECTIONS * 4)

static int input_function(void *arg, uint64_t va, struct ep_symbol *ret)
{
	*ret = (struct ep_symbol){.va = va & ~15ull, .bytes = 16};
	return 0;
}

/* What a description takes: in order, each once, with a name. */
static int check_name(void *arg, const struct ep_symbol *symbol, const char *name)
{
	uint64_t *last = arg;
	size_t n = strlen(name);

	if (n < 5 || n >= 256 || name[0] != 'z' || symbol->va < *last || symbol->bytes != 16)
		abort();
	*last = symbol->va + 1;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[SECTIONS] = {".text", ".rodata", ".data.rel.ro",
						    ".rela.dyn"};
	static struct fake_host host;
	struct fake_symbol sections[SECTIONS], symbol = {"get_module", {FILE_VA, 8}};
	uint64_t last = 0;

	if (size < HEAD)
		return 0;
	for (size_t i = 0; i < SECTIONS; i++) {
		uint16_t fields[2];

		memcpy(fields, data + i * sizeof(fields), sizeof(fields));
		sections[i] = (struct fake_symbol){names[i], {FILE_VA + fields[0], fields[1]}};
	}
	fake_host_init(&host, NULL, 0);
	fake_memory_add(&host.contents, FILE_VA, (uint8_t *)data + HEAD, size - HEAD);
	host.file_ops.function = input_function;
	host.sections = sections;
	host.n_sections = SECTIONS;
	host.symbols = &symbol;
	host.n_symbols = 1;
	(void)php_tables_is_extension(ep_unwinder_host_get(), &host.file);
	(void)php_tables_names(ep_unwinder_host_get(), &host.file, check_name, &last);
	return 0;
}
