/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of /proc/kallsyms. The parser reads a file, so the bytes go through a memfd. The same
 * bytes, cut into lines, also go through the demangler.
 */
#include "core/base/util.h"
#include "core/symbol/demangle.h"
#include "core/symbol/kernel.h"
#include "tests/kit/fuzz.h"

#include <sys/mman.h>

static void look_up(const struct ep_kernel_symbols *symbols, uint64_t addr)
{
	struct ep_kernel_name name;

	if (ep_kernel_symbols_find(symbols, addr, &name) < 0)
		return;
	if (name.start_addr > addr || strnlen(name.name, sizeof(name.name)) == sizeof(name.name))
		abort();
	if (strlen(name.module) > (1u << 20))
		abort();
}

static void load(const uint8_t *data, size_t size)
{
	ep_cleanup(ep_kernel_symbols_freep) struct ep_kernel_symbols *symbols = NULL;
	ep_autoclose int fd = memfd_create("kallsyms", MFD_CLOEXEC);
	char path[64];

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (ep_kernel_symbols_load(path, &symbols) < 0)
		return;
	for (uint64_t off = 0; off < 1 << 16; off += 61)
		look_up(symbols, 0xffffffff81000000 + off);
	for (uint64_t off = 0; off < 1 << 16; off += 509)
		look_up(symbols, 0xffffffffc0200000 + off);
	look_up(symbols, 0);
	look_up(symbols, UINT64_MAX);
}

/* The third word of a line is a name. */
static void demangle(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *rest = text, *line, *name = NULL;

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	while ((line = strsep(&rest, " \t\n"))) {
		if (ep_demangle(line, &name) < 0 || strlen(name) >= EP_DEMANGLE_MAX_OUTPUT + 8)
			abort();
		free(name);
	}
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	load(data, size);
	demangle(data, size);
	return 0;
}
