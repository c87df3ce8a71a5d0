/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/shared/otlp/kernel.h"
#include "core/base/util.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_LINES 20000 /* _text is the first symbol that is not per CPU */

/* "ffffffff81000000 T _text", proc(5) */
uint64_t otlp_kernel_base(const char *kallsyms_path)
{
	FILE *file = fopen(kallsyms_path, "re");
	uint64_t address, base = 0;
	char line[512], name[256];

	for (int i = 0; file && !base && i < MAX_LINES && fgets(line, sizeof(line), file); i++) {
		if (sscanf(line, "%" SCNx64 " %*c %255s", &address, name) != 2)
			continue;
		if (strcmp(name, "_text") == 0 || strcmp(name, "_stext") == 0)
			base = address;
	}
	if (file)
		fclose(file);
	return base;
}

/* Whether a mapping's path is "[name]". */
static bool is_module(const char *path, const char *name)
{
	size_t len = strlen(name);

	return path[0] == '[' && strncmp(path + 1, name, len) == 0 && path[1 + len] == ']' &&
	       path[2 + len] == '\0';
}

static bool is_kernel(const struct ep_batch *batch, uint32_t mapping)
{
	return batch->mapping_flags[mapping] & EP_MAPPING_KERNEL;
}

/* "nf_tables 356352 0 - Live 0xffffffffc0a00000", proc(5); an address of 0 is hidden. */
static void add_modules(const struct ep_batch *batch, const char *modules_path, uint64_t *loads)
{
	FILE *file = fopen(modules_path, "re");
	char line[4096], name[256];
	uint64_t address;

	while (file && fgets(line, sizeof(line), file)) {
		const char *at = strstr(line, " 0x");

		if (!at || sscanf(line, "%255s", name) != 1 ||
		    sscanf(at, "%" SCNx64, &address) != 1)
			continue;
		for (uint32_t i = 1; i < batch->n_mappings && address; i++)
			if (is_kernel(batch, i) &&
			    is_module(batch->string_text[batch->mapping_path[i]], name))
				loads[i] = address;
	}
	if (file)
		fclose(file);
}

uint64_t *otlp_kernel_loads(const struct ep_batch *batch, uint64_t kernel_base,
			    const char *modules_path)
{
	uint64_t *loads = calloc((size_t)batch->n_mappings + 1, sizeof(*loads));
	bool has_modules = false;

	for (uint32_t i = 1; loads && i < batch->n_mappings; i++) {
		if (!is_kernel(batch, i))
			continue;
		loads[i] = kernel_base;
		has_modules |= strcmp(batch->string_text[batch->mapping_path[i]],
				      "[kernel.kallsyms]") != 0;
	}
	if (loads && has_modules)
		add_modules(batch, modules_path, loads);
	return loads;
}
