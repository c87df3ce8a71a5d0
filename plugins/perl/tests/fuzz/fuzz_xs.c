/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of XS functions over a boot function in which everything may be anything.
 *
 *	input	bytes of the boot function (2 bytes) | a file's bytes, from FILE_VA on, which begin with it
 *
 * A function begins at each multiple of 16.
 */
#include "core/base/util.h"
#include "core/plugin/unwinder.h"
#include "plugins/perl/xs.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FILE_VA 0x1000u

struct input {
	const uint8_t *bytes;
	size_t size;
	struct ep_symbol boot;
	uint64_t last;
};

static int input_symbol(void *arg, const char *name, struct ep_symbol *ret)
{
	const struct input *input = arg;

	if (strcmp(name, "boot_A__B") != 0)
		return -ENODATA;
	*ret = input->boot;
	return 0;
}

static int input_read(void *arg, uint64_t va, void *buf, size_t bytes)
{
	const struct input *input = arg;

	if (va < FILE_VA || !ep_in_bounds(va - FILE_VA, bytes, input->size))
		return -ENODATA;
	memcpy(buf, input->bytes + (va - FILE_VA), bytes);
	return 0;
}

static int input_function(void *arg, uint64_t va, struct ep_symbol *ret)
{
	(void)arg;
	*ret = (struct ep_symbol){.va = va & ~15ull, .bytes = 16};
	return 0;
}

/* What a description takes: in order, each once, with a name. */
static int check_name(void *arg, const struct ep_symbol *symbol, const char *name)
{
	struct input *input = arg;
	size_t n = strlen(name);

	if (!strstr(name, "::") || n >= 256 || symbol->va < input->last || symbol->bytes != 16)
		abort();
	input->last = symbol->va + 1;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct ep_file_ops ops = {
		.symbol = input_symbol, .read = input_read, .function = input_function};
	struct input input = {.bytes = data + 2, .size = size - 2};
	struct ep_file file = {.ops = &ops, .arg = &input, .path = "/auto/A/B/B.so",
			       .machine = EM_X86_64};
	struct ep_symbol boot;

	if (size < 2)
		return 0;
	input.boot = (struct ep_symbol){.va = FILE_VA, .bytes = data[0] | data[1] << 8};
	if (pl_xs_find_boot(ep_unwinder_host_get(), &file, &boot))
		(void)pl_xs_names(ep_unwinder_host_get(), &file, &boot, check_name, &input);
	return 0;
}
