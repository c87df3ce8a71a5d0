/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where V8 keeps a flag of its command line: a variable of its own (FLAG_name, to 10.x), or a member of
 * v8_flags that only its table of flags names (flags/flags.cc, flags-impl.h; 6.2 to 14.6):
 *
 *	struct Flag { u32 type; const char *name; void *value; ...
 *
 * In the .data of an executable that is not position independent, pointers are there as they will be.
 */
#include "core/base/util.h"
#include "plugins/v8/v8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DATA_BYTES EP_MAX_FILE_READ
#define MAX_TYPE       16
#define MAX_FLAGS      4096 /* strings that are looked at; 1128 in 14.6 */

struct table {
	const struct ep_unwinder_host *host;
	const struct ep_file *file;
	struct ep_symbol rodata, data, bss;
	const char *name;
	uint32_t n_looks;
};

static bool is_in(const struct ep_symbol *section, uint64_t va)
{
	return va - section->va < section->bytes;
}

/* Names have '_' up to 13.x, '-' behind that. */
static bool is_same_name(const char *text, const char *name)
{
	for (; *name; text++, name++) {
		if (*text != *name && !(*text == '-' && *name == '_'))
			return false;
	}
	return *text == '\0';
}

static bool is_flag(struct table *table, const uint64_t *words)
{
	char text[64] = "";
	size_t bytes = strlen(table->name) + 1;

	if ((uint32_t)words[0] >= MAX_TYPE || !is_in(&table->rodata, words[1]) ||
	    (!is_in(&table->data, words[2]) && !is_in(&table->bss, words[2])) ||
	    bytes > sizeof(text) || table->n_looks++ >= MAX_FLAGS)
		return false;
	return table->host->file_read(table->file, words[1], text, bytes) == 0 &&
	       text[bytes - 1] == '\0' && is_same_name(text, table->name);
}

static uint64_t find_in_table(struct table *table)
{
	ep_autofree uint64_t *words = NULL;
	size_t n;

	if (table->host->file_section(table->file, ".rodata", &table->rodata) < 0 ||
	    table->host->file_section(table->file, ".data", &table->data) < 0 ||
	    table->host->file_section(table->file, ".bss", &table->bss) < 0 ||
	    table->data.bytes > MAX_DATA_BYTES)
		return 0;
	n = table->data.bytes / sizeof(*words);
	words = malloc(n * sizeof(*words) + 1);
	if (!words || table->host->file_read(table->file, table->data.va, words,
					     n * sizeof(*words)) < 0)
		return 0;
	for (size_t i = 0; i + 3 <= n; i++) {
		if (is_flag(table, words + i))
			return words[i + 2];
	}
	return 0;
}

uint64_t v8_flag_find(const struct ep_unwinder_host *host, const struct ep_file *file,
		      const char *name)
{
	struct table table = {.host = host, .file = file, .name = name};
	struct ep_symbol symbol;
	char mangled[96];

	snprintf(mangled, sizeof(mangled), "_ZN2v88internal%zuFLAG_%sE", strlen("FLAG_") + strlen(name),
		 name);
	if (host->file_symbol(file, mangled, &symbol) == 0)
		return symbol.va;
	return find_in_table(&table);
}
