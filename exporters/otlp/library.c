/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/otlp/library.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Whole pages of a segment that nobody can have written to: madvise(2), MADV_DONTNEED. */
static void drop_segment(uintptr_t base, const ElfW(Phdr) * segment)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t start = (base + segment->p_vaddr + page - 1) & -page;
	uintptr_t end = (base + segment->p_vaddr + segment->p_memsz) & -page;

	if (end > start)
		(void)madvise((void *)start, end - start, MADV_DONTNEED);
}

static int drop_if_same(struct dl_phdr_info *info, size_t size, void *arg)
{
	const struct link_map *map = arg;

	(void)size;
	if (info->dlpi_addr != map->l_addr)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_LOAD && !(segment->p_flags & PF_W))
			drop_segment(info->dlpi_addr, segment);
	}
	return 1;
}

/* Relocations in code (DT_TEXTREL) would be lost: they are written into private pages. */
static int has_text_relocations(const struct link_map *map)
{
	for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == DT_TEXTREL ||
		    (entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_TEXTREL)))
			return 1;
	return 0;
}

void otlp_library_drop_pages(void *handle)
{
	struct link_map *map;

	if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && !has_text_relocations(map))
		(void)dl_iterate_phdr(drop_if_same, map);
}
