/* SPDX-License-Identifier: Apache-2.0 */
/* Every accessor of core/elf, and a symbol table with its look-ups, over any bytes. */
#include "core/elf/file.h"
#include "core/symbol/starts.h"
#include "core/symbol/symtab.h"
#include "tests/kit/fuzz.h"

#define MAX_SECTIONS 64
#define MAX_READ     ((uint64_t)1 << 20)

static void read_section(const struct ep_elf *elf, const struct ep_elf_section *section)
{
	struct ep_elf_bytes bytes = {0};
	unsigned int sum = 0;

	if (ep_elf_read_section(elf, section, &bytes) < 0)
		return;
	for (size_t i = 0; i < bytes.bytes && i < MAX_READ; i += 512)
		sum += bytes.data[i];
	__asm__ volatile("" ::"r"(sum));
	ep_elf_bytes_fini(&bytes);
}

static void read_all(const struct ep_elf *elf)
{
	struct ep_elf_segment segments[8];
	uint8_t id[EP_ELF_BUILD_ID_MAX];
	struct ep_elf_section section;
	char name[256];
	uint32_t crc;

	(void)ep_elf_exec_segments(elf, segments, 8);
	(void)ep_elf_load_segments(elf, segments, 8);
	(void)ep_elf_find_segment(elf, PT_GNU_EH_FRAME, segments);
	(void)ep_elf_find_section(elf, ".eh_frame", &section);
	(void)ep_elf_find_section_type(elf, SHT_NOTE, &section);
	for (uint32_t i = 1; i < MAX_SECTIONS; i++)
		if (ep_elf_section_at(elf, i, &section) == 0)
			read_section(elf, &section);
	(void)ep_elf_build_id(elf, id);
	(void)ep_elf_debuglink(elf, name, sizeof(name), &crc);
	(void)ep_elf_file_id(elf, id);
}

/* What a hit promises: it holds the address that was asked for, and its name can be read. */
static void look_up(const struct ep_symtab *symtab, uint64_t va)
{
	struct ep_symtab_hit hit;
	char name[EP_SYMTAB_NAME_MAX];
	int len;

	if (ep_symtab_find(symtab, va, &hit) < 0)
		return;
	if (va < hit.start_va || va - hit.start_va >= hit.size)
		abort();
	len = ep_symtab_name(symtab, &hit, name, sizeof(name));
	if (len >= 0 && (size_t)len != strlen(name))
		abort();
}

static void symbols(const struct ep_elf *elf, const struct ep_elf *debug)
{
	ep_cleanup(ep_symtab_freep) struct ep_symtab *symtab = NULL;
	struct ep_elf_segment segments[4];
	size_t n = ep_elf_exec_segments(elf, segments, EP_LEN(segments));

	if (ep_symtab_build(elf, debug, &symtab) < 0)
		return;
	for (size_t i = 0; i < n && i < EP_LEN(segments); i++)
		for (uint64_t off = 0; off < 4096; off += 3)
			look_up(symtab, segments[i].va + off);
	look_up(symtab, 0);
	look_up(symtab, UINT64_MAX);
	(void)ep_symtab_bytes(symtab);
}

static void use_starts(const struct ep_elf *elf)
{
	struct ep_starts *starts = NULL;
	uint64_t start_va;

	if (ep_starts_build(elf, &starts) < 0)
		return;
	for (uint64_t va = 0; va < 65536; va += 7) {
		if (ep_starts_find(starts, va, &start_va) == 0 && start_va > va)
			abort();
	}
	(void)ep_starts_find(starts, UINT64_MAX, &start_va);
	ep_starts_free(starts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ep_cleanup(ep_elf_closep) struct ep_elf *elf = NULL;
	ep_cleanup(ep_elf_closep) struct ep_elf *inner = NULL;

	if (ep_elf_open_memory(data, size, &elf) < 0)
		return 0;
	read_all(elf);
	if (ep_elf_open_debugdata(elf, &inner) == 0)
		read_all(inner);
	use_starts(elf);
	symbols(elf, NULL);
	symbols(elf, inner ? inner : elf);
	return 0;
}
