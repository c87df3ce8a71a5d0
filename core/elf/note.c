/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a file says about its identity: GNU build id, .gnu_debuglink, file id.
 *
 *	note:       | namesz | descsz | type | name, padded | desc, padded |
 *	debuglink:  | file name, NUL, padded to 4 | CRC-32 of the debug file |
 *
 * (gABI, "Note Section"; gdb manual, 18.3)
 *
 * Padding is to 4 bytes, or to 8 where the section or segment is aligned to 8 (x86-64 psABI
 * .note.gnu.property), but a build id's desc follows its name "GNU\0" at once either way.
 */
#include "core/elf/internal.h"

#include <errno.h>
#include <nettle/sha2.h>
#include <string.h>

#define MAX_NOTE_BYTES	   ((uint64_t)64 << 10)
#define MAX_NOTE_REGIONS   64
#define MAX_DEBUGLINK	   4096
#define FILE_ID_PART_BYTES 4096

int ep_elf_notes_build_id(const uint8_t *notes, uint64_t bytes, uint64_t align,
			  uint8_t id[EP_ELF_BUILD_ID_MAX])
{
	uint64_t off = 0;

	while (ep_in_bounds(off, sizeof(Elf64_Nhdr), bytes)) {
		uint64_t desc, next;
		Elf64_Nhdr note;

		memcpy(&note, notes + off, sizeof(note));
		desc = off + EP_ALIGN_UP(sizeof(note) + (uint64_t)note.n_namesz, align);
		next = desc + EP_ALIGN_UP((uint64_t)note.n_descsz, align);
		if (!ep_in_bounds(desc, note.n_descsz, bytes))
			return -ENODATA;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(ELF_NOTE_GNU) &&
		    !memcmp(notes + off + sizeof(note), ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) &&
		    note.n_descsz && note.n_descsz <= EP_ELF_BUILD_ID_MAX) {
			memcpy(id, notes + desc, note.n_descsz);
			return (int)note.n_descsz;
		}
		off = next;
	}
	return -ENODATA;
}

static int region_find_build_id(const struct ep_elf *elf, uint64_t off, uint64_t bytes,
				uint64_t align, uint8_t id[EP_ELF_BUILD_ID_MAX])
{
	ep_autofree uint8_t *notes = NULL;

	if (!bytes || bytes > MAX_NOTE_BYTES)
		return -ENODATA;
	notes = malloc(bytes);
	if (!notes)
		return -ENOMEM;
	if (ep_elf_read_at(elf, off, notes, bytes) < 0)
		return -ENODATA;
	return ep_elf_notes_build_id(notes, bytes, align == 8 ? 8 : 4, id);
}

static int segments_find_build_id(const struct ep_elf *elf, uint8_t id[EP_ELF_BUILD_ID_MAX])
{
	int left = MAX_NOTE_REGIONS, r = -ENODATA;

	for (size_t i = 0; i < elf->n_segments && left && r == -ENODATA; i++) {
		const Elf64_Phdr *header = &elf->segments[i];

		if (header->p_type != PT_NOTE)
			continue;
		left--;
		r = region_find_build_id(elf, header->p_offset, header->p_filesz, header->p_align,
					 id);
	}
	return r;
}

/* Sections first: in a separate debug file only they say where its notes are. */
int ep_elf_build_id(const struct ep_elf *elf, uint8_t id[EP_ELF_BUILD_ID_MAX])
{
	int left = MAX_NOTE_REGIONS, r = -ENODATA;

	for (size_t i = 1; i < elf->n_sections && left && r == -ENODATA; i++) {
		const Elf64_Shdr *header = &elf->sections[i];

		if (header->sh_type != SHT_NOTE)
			continue;
		left--;
		r = region_find_build_id(elf, header->sh_offset, header->sh_size,
					 header->sh_addralign, id);
	}
	return r == -ENODATA ? segments_find_build_id(elf, id) : r;
}

static int debuglink_parse(const struct ep_elf_bytes *bytes, char *name, size_t name_bytes,
			   uint32_t *ret_crc)
{
	size_t len = strnlen((const char *)bytes->data, bytes->bytes);
	size_t crc_off = EP_ALIGN_UP(len + 1, 4);

	if (!len || !ep_in_bounds(crc_off, sizeof(*ret_crc), bytes->bytes))
		return -EBADMSG;
	if (len >= name_bytes)
		return -EBADMSG;
	memcpy(ret_crc, bytes->data + crc_off, sizeof(*ret_crc));
	memcpy(name, bytes->data, len + 1);
	return 0;
}

/* Name "Go\0\0", type 4 (cmd/internal/buildid in Go's sources, ELFGoBuildIDTag), at go1.27. */
#define GO_NOTE_TYPE 4
static int read_go_note(const uint8_t *note, size_t bytes, char *id, size_t size)
{
	uint32_t name_bytes, desc_bytes, type;

	if (bytes < 16)
		return -ENODATA;
	memcpy(&name_bytes, note, 4);
	memcpy(&desc_bytes, note + 4, 4);
	memcpy(&type, note + 8, 4);
	if (name_bytes != 4 || memcmp(note + 12, "Go\0", 4) != 0 || type != GO_NOTE_TYPE ||
	    desc_bytes == 0 || desc_bytes > bytes - 16)
		return -ENODATA;
	if (desc_bytes >= size)
		return -E2BIG;
	memcpy(id, note + 16, desc_bytes);
	id[desc_bytes] = '\0';
	return 0;
}

int ep_elf_go_build_id(const struct ep_elf *elf, char *id, size_t size)
{
	struct ep_elf_section section;
	uint8_t note[512];
	size_t bytes;
	int r = ep_elf_find_section(elf, ".note.go.buildid", &section);

	if (r < 0)
		return r;
	bytes = EP_MIN(section.bytes, (uint64_t)sizeof(note));
	r = ep_elf_read_at(elf, section.file_off, note, bytes);
	return r < 0 ? -ENODATA : read_go_note(note, bytes, id, size);
}

int ep_elf_debuglink(const struct ep_elf *elf, char *name, size_t name_bytes, uint32_t *ret_crc)
{
	struct ep_elf_bytes bytes = {0};
	struct ep_elf_section section;
	int r;

	r = ep_elf_find_section(elf, ".gnu_debuglink", &section);
	if (r < 0)
		return r;
	if (section.bytes > MAX_DEBUGLINK)
		return -EBADMSG;
	r = ep_elf_read_section(elf, &section, &bytes);
	if (r < 0)
		return r;
	r = debuglink_parse(&bytes, name, name_bytes, ret_crc);
	ep_elf_bytes_fini(&bytes);
	return r;
}

/* A file shorter than a part gives all of itself for it. */
int ep_elf_file_id(const struct ep_elf *elf, uint8_t id[16])
{
	uint8_t part[FILE_ID_PART_BYTES], length[8];
	size_t bytes = EP_MIN(elf->bytes, sizeof(part));
	struct sha256_ctx ctx;
	int r;

	sha256_init(&ctx);
	r = ep_elf_read_at(elf, 0, part, bytes);
	if (r < 0)
		return r;
	sha256_update(&ctx, bytes, part);
	r = ep_elf_read_at(elf, elf->bytes - bytes, part, bytes);
	if (r < 0)
		return r;
	sha256_update(&ctx, bytes, part);
	for (size_t i = 0; i < sizeof(length); i++)
		length[i] = (uint8_t)(elf->bytes >> (56 - 8 * i));
	sha256_update(&ctx, sizeof(length), length);
	sha256_digest(&ctx, 16, id);
	return 0;
}
