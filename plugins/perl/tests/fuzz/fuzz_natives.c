/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of XS functions over a boot function in which everything may be anything.
 *
 *	input	bytes of the boot function (2 bytes) | a file's bytes, from FILE_VA on, which
 *		begin with it
 *
 * A function begins at each multiple of 16.
 */
#include "plugins/perl/natives.h"
#include "tests/kit/fuzz.h"
#include "tests/kit/host.h"

#define FILE_VA 0x1000u

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

	if (!strstr(name, "::") || n >= 256 || symbol->va < *last || symbol->bytes != 16)
		abort();
	*last = symbol->va + 1;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fake_host host;
	struct fake_symbol symbol = {"boot_A__B", {.va = FILE_VA}};
	struct ep_symbol boot;
	uint64_t last = 0;

	if (size < 2)
		return 0;
	symbol.symbol.bytes = data[0] | data[1] << 8;
	fake_host_init(&host, NULL, 0);
	fake_memory_add(&host.contents, FILE_VA, (uint8_t *)data + 2, size - 2);
	host.file.path = "/auto/A/B/B.so";
	host.file_ops.function = input_function;
	host.symbols = &symbol;
	host.n_symbols = 1;
	if (pl_xs_find_boot(ep_unwinder_host_get(), &host.file, &boot))
		(void)pl_xs_names(ep_unwinder_host_get(), &host.file, &boot, check_name, &last);
	return 0;
}
