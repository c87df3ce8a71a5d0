/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/php/natives_data.h"

#include "core/base/util.h"
#include "plugins/shared/read/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_AREA (64u << 20)

/* elf.h: Elf64_Rela, Elf64_Sym */
#define RELA_BYTES	   24
#define RELA_64		   1 /* R_X86_64_64: a symbol's address */
#define RELA_RELATIVE	   8
#define SYMBOL_BYTES	   24

struct relocating {
	struct php_data *data;
	uint64_t relocations_va;
	struct ep_symbol symbols; /* .dynsym */
};

/* Unaligned. */
static int read_area(struct php_data *data, const char *section, struct php_area *area)
{
	struct ep_symbol found;
	int r = data->host->file_section(data->file, section, &found);

	if (r == -ENODATA || (r == 0 && (!found.bytes || found.bytes > MAX_AREA)))
		return 0;
	if (r < 0)
		return r;
	area->at = malloc(found.bytes);
	if (!area->at)
		return -ENOMEM;
	area->va = found.va;
	area->bytes = found.bytes;
	return file_read_long(data->host, data->file, found.va, area->at, found.bytes);
}

/* Of a symbol that the file itself has. 0: it has not. */
static uint64_t symbol_va(const struct relocating *relocating, uint64_t index)
{
	const struct php_data *data = relocating->data;
	uint8_t symbol[SYMBOL_BYTES];

	if (index >= relocating->symbols.bytes / SYMBOL_BYTES ||
	    data->host->file_read(data->file, relocating->symbols.va + index * SYMBOL_BYTES, symbol,
				  sizeof(symbol)) < 0)
		return 0;
	return ep_get_u64(symbol + 8);
}

static void relocate(struct relocating *relocating, const uint8_t *rela)
{
	uint64_t va = ep_get_u64(rela), info = ep_get_u64(rela + 8), value = ep_get_u64(rela + 16),
		 symbol;
	uint8_t *at = (uint8_t *)php_data_find(relocating->data, va, sizeof(value));

	if (!at)
		return;
	if ((uint32_t)info == RELA_64) {
		symbol = symbol_va(relocating, info >> 32);
		value = symbol ? symbol + value : 0;
	} else if ((uint32_t)info != RELA_RELATIVE) {
		return;
	}
	memcpy(at, &value, sizeof(value));
}

/* Pieces overlap by what one of them may lack of its last relocation. */
static int relocate_piece(void *arg, uint64_t va, const uint8_t *bytes, size_t len)
{
	struct relocating *relocating = arg;
	size_t at;

	if (!relocating->relocations_va)
		relocating->relocations_va = va;
	at = (RELA_BYTES - (va - relocating->relocations_va) % RELA_BYTES) % RELA_BYTES;
	for (; at + RELA_BYTES <= len; at += RELA_BYTES)
		relocate(relocating, bytes + at);
	return 0;
}

static int compare_areas(const void *a, const void *b)
{
	const struct php_area *x = a, *y = b;

	return x->va < y->va ? -1 : x->va > y->va;
}

int php_data_init(struct php_data *data, const struct ep_unwinder_host *host,
		  const struct ep_file *file)
{
	static const char *const sections[PHP_AREAS] = {".data.rel.ro", ".rodata", ".data"};
	struct relocating relocating = {.data = data};
	int r = 0;

	*data = (struct php_data){.host = host, .file = file};
	(void)host->file_section(file, ".text", &data->text);
	(void)host->file_section(file, ".dynsym", &relocating.symbols);
	for (size_t i = 0; i < PHP_AREAS && r == 0; i++)
		r = read_area(data, sections[i], &data->areas[i]);
	qsort(data->areas, PHP_AREAS, sizeof(*data->areas), compare_areas);
	return r < 0 ? r
		     : file_scan(host, file, ".rela.dyn", RELA_BYTES - 1, relocate_piece,
				 &relocating);
}

void php_data_fini(struct php_data *data)
{
	for (size_t i = 0; i < PHP_AREAS; i++)
		free(data->areas[i].at);
	*data = (struct php_data){0};
}

static const struct php_area *find_area(const struct php_data *data, uint64_t va)
{
	for (size_t i = 0; i < PHP_AREAS; i++) {
		if (va - data->areas[i].va < data->areas[i].bytes)
			return &data->areas[i];
	}
	return NULL;
}

const uint8_t *php_data_find(const struct php_data *data, uint64_t va, size_t bytes)
{
	const struct php_area *area = find_area(data, va);

	return area && bytes <= area->bytes - (va - area->va) ? area->at + (va - area->va) : NULL;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

const char *php_data_find_name(const struct php_data *data, uint64_t va)
{
	const struct php_area *area = find_area(data, va);
	const char *name;
	size_t most, len = 0;

	if (!area)
		return NULL;
	name = (const char *)area->at + (va - area->va);
	most = EP_MIN(area->bytes - (va - area->va), (size_t)PHP_MAX_NAME);
	while (len < most && (is_letter(name[len]) || (len && name[len] == '\\') ||
			      (len && name[len] >= '0' && name[len] <= '9')))
		len++;
	return len > 0 && len < most && !name[len] && name[len - 1] != '\\' ? name : NULL;
}
