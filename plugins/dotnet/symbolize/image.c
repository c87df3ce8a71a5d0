/* SPDX-License-Identifier: Apache-2.0 */
/* Where a module's metadata is: in its image, or in a copy that the runtime keeps. And its debug
 * directory. */
#include "plugins/dotnet/symbolize/metadata.h"
#include "plugins/dotnet/symbolize/pdb.h"

#include "core/base/util.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAX_SECTIONS	   96 /* the loader of Windows takes no more */
#define SECTION_BYTES	   40
#define DOS_BYTES	   64
#define MAX_PE_OFF	   0x10000u
#define FILE_HEADER_BYTES  24 /* with the signature */
#define DEBUG_DIRECTORY	   6
#define CLI_DIRECTORY	   14
#define CLI_BYTES	   72
#define LAYOUT_MAPPED	   1u /* vm/peimagelayout.h: PEImageLayout::FLAG_MAPPED, v8.0.0 */
#define PE32_PLUS	   0x20b

/* PE format specification: section headers of an image. */
struct image {
	const struct dotnet_reader *reader;
	uint64_t base;
	bool is_mapped;
	uint32_t n_sections;
	uint8_t sections[MAX_SECTIONS][SECTION_BYTES];
};

static uint16_t get_u16(const uint8_t *bytes)
{
	return (uint16_t)(bytes[0] | bytes[1] << 8);
}

/* Where an RVA is in the process. */
static int find_rva(const struct image *image, uint32_t rva, uint64_t *ret)
{
	if (image->is_mapped) {
		*ret = image->base + rva;
		return 0;
	}
	for (uint32_t i = 0; i < image->n_sections; i++) {
		const uint8_t *section = image->sections[i];
		uint32_t bytes = EP_MAX(ep_get_u32(section + 8), ep_get_u32(section + 16));
		uint32_t begin = ep_get_u32(section + 12);

		if (rva >= begin && rva - begin < bytes) {
			*ret = image->base + (rva - begin) + ep_get_u32(section + 20);
			return 0;
		}
	}
	return -EBADMSG;
}

/* Its sections, and a data directory: its RVA, and how many bytes it has. */
static int read_headers(struct image *image, uint32_t which, uint32_t ret_directory[2])
{
	uint8_t dos[DOS_BYTES], file[FILE_HEADER_BYTES], optional[2];
	const struct memory *memory = &image->reader->memory;
	uint64_t pe;
	int r = memory_read(memory, image->base, dos, sizeof(dos));

	if (r < 0)
		return r;
	if (memcmp(dos, "MZ", 2) != 0 || ep_get_u32(dos + 60) > MAX_PE_OFF)
		return -EBADMSG;
	pe = image->base + ep_get_u32(dos + 60);
	r = memory_read(memory, pe, file, sizeof(file));
	if (r == 0)
		r = memory_read(memory, pe + sizeof(file), optional, sizeof(optional));
	if (r < 0)
		return r;
	image->n_sections = get_u16(file + 6);
	if (memcmp(file, "PE\0", 4) != 0 || image->n_sections > MAX_SECTIONS)
		return -EBADMSG;
	r = memory_read(memory, pe + sizeof(file) + get_u16(file + 20), image->sections,
			(size_t)image->n_sections * SECTION_BYTES);
	if (r == 0)
		r = memory_read(memory,
				pe + sizeof(file) + (get_u16(optional) == PE32_PLUS ? 112 : 96) +
					8ull * which,
				ret_directory, 8);
	return r;
}

static int find_in_image(const struct dotnet_reader *reader, uint64_t base, bool is_mapped,
			 uint64_t *ret)
{
	struct image image = {.reader = reader, .base = base, .is_mapped = is_mapped};
	uint8_t cli[CLI_BYTES];
	uint32_t directory[2];
	uint64_t addr;
	int r = read_headers(&image, CLI_DIRECTORY, directory);

	if (r == 0)
		r = find_rva(&image, directory[0], &addr);
	if (r == 0)
		r = memory_read(&reader->memory, addr, cli, sizeof(cli));
	if (r == 0 && ep_get_u32(cli) != CLI_BYTES)
		r = -EBADMSG;
	return r == 0 ? find_rva(&image, ep_get_u32(cli + 8), ret) : r;
}

/* The loaded layout; its flags tell whether it is flat. *ret_base 0: there is none. */
static int read_layout(const struct dotnet_reader *reader, uint64_t module, uint64_t *ret_base,
		       bool *ret_mapped)
{
	const struct dotnet_layout *layout = reader->layout;
	uint64_t addr;
	uint32_t flags = 0;
	int r = dotnet_read_word(reader, module + layout->module_assembly, &addr);

	*ret_base = 0;
	if (r == 0)
		r = dotnet_read_word(reader, addr + layout->assembly_image, &addr);
	if (r < 0 || !addr)
		return r;
	r = dotnet_read_word(reader, addr + layout->image_layout, &addr);
	if (r < 0 || !addr)
		return r;
	r = dotnet_read_word(reader, addr + layout->layout_base, ret_base);
	if (r == 0)
		r = memory_read(&reader->memory, addr + layout->layout_flags, &flags,
				sizeof(flags));
	*ret_mapped = flags & LAYOUT_MAPPED;
	return r;
}

/*
 * What Reflection.Emit made: the runtime's copy, replaced whenever a type is created. 8: a buffer
 * with a size and, at 0x10, a pointer; later {size, bytes} (vm/ceeload.h: Module,
 * m_pDynamicMetadata).
 */
static int find_dynamic(const struct dotnet_reader *reader, uint64_t module, uint64_t *ret)
{
	uint64_t copy;
	int r = dotnet_read_word(reader, module + reader->layout->module_dynamic, &copy);

	if (r < 0)
		return r;
	if (!copy)
		return -ENODATA;
	if (reader->layout->major == 8)
		return dotnet_read_word(reader, copy + 0x10, ret);
	*ret = copy + 4;
	return 0;
}

int dotnet_metadata_of(const struct dotnet_reader *reader, uint64_t module,
		       struct dotnet_metadata *ret)
{
	uint64_t base, addr;
	bool is_mapped = false;
	int r = read_layout(reader, module, &base, &is_mapped);

	if (r < 0)
		return r;
	r = base ? find_in_image(reader, base, is_mapped, &addr)
		 : find_dynamic(reader, module, &addr);
	if (r == 0)
		r = dotnet_metadata_read(reader, addr, ret);
	ret->is_copy = r == 0 && !base;
	return r;
}

/* --- the debug directory -------------------------------------------------------------------- */

/* docs/specs/PE-COFF.md of dotnet/runtime, v8.0.0: IMAGE_DEBUG_DIRECTORY. */
#define MAX_DEBUG_ENTRIES 16u
#define DEBUG_WORDS	  7 /* characteristics, stamp, version, type, bytes, RVA, file offset */
#define TYPE_CODEVIEW	  2u
#define TYPE_EMBEDDED	  17u
#define VERSION_PORTABLE  0x504du /* the upper half of a CodeView entry's */
#define CODEVIEW_HEAD	  24	  /* "RSDS", a GUID, an age; then a path */
#define EMBEDDED_HEAD	  8	  /* "MPDB", how many bytes it will have; then raw deflate */

/* The last part of a path of the machine that compiled it, which may be one of Windows. */
static void take_name(char *path, struct dotnet_pdb_place *ret)
{
	char *slash = strrchr(path, '/'), *back = strrchr(path, '\\');

	slash = EP_MAX(slash, back);
	snprintf(ret->name, sizeof(ret->name), "%s", slash ? slash + 1 : path);
}

static int read_codeview(const struct dotnet_reader *reader, uint64_t addr, uint32_t stamp,
			 struct dotnet_pdb_place *ret)
{
	uint8_t head[CODEVIEW_HEAD];
	char path[sizeof(ret->name)];
	int r = memory_read(&reader->memory, addr, head, sizeof(head));

	if (r < 0 || memcmp(head, "RSDS", 4) != 0)
		return r;
	r = memory_read_string(&reader->memory, addr + sizeof(head), path, sizeof(path), 64);
	if (r < 0)
		return r;
	ret->has_id = true;
	memcpy(ret->id, head + 4, 16);
	memcpy(ret->id + 16, &stamp, 4);
	take_name(path, ret);
	return 0;
}

static int read_embedded(const struct dotnet_reader *reader, uint64_t addr, uint32_t bytes,
			 struct dotnet_pdb_place *ret)
{
	uint8_t head[EMBEDDED_HEAD];
	int r = memory_read(&reader->memory, addr, head, sizeof(head));

	if (r < 0 || memcmp(head, "MPDB", 4) != 0 || bytes < sizeof(head))
		return r;
	ret->embedded = addr + sizeof(head);
	ret->embedded_bytes = bytes - (uint32_t)sizeof(head);
	ret->plain_bytes = ep_get_u32(head + 4);
	return 0;
}

static int read_entry(const struct image *image, const uint32_t entry[DEBUG_WORDS],
		      struct dotnet_pdb_place *ret)
{
	bool is_codeview = entry[3] == TYPE_CODEVIEW && entry[2] >> 16 == VERSION_PORTABLE;
	uint64_t addr;

	if (!is_codeview && entry[3] != TYPE_EMBEDDED)
		return 0;
	if (find_rva(image, entry[5], &addr) < 0)
		return 0;
	return is_codeview ? read_codeview(image->reader, addr, entry[1], ret)
			   : read_embedded(image->reader, addr, entry[4], ret);
}

int dotnet_pdb_place_of(const struct dotnet_reader *reader, uint64_t module,
			struct dotnet_pdb_place *ret)
{
	uint32_t directory[2], entry[DEBUG_WORDS];
	struct image image = {.reader = reader};
	uint64_t addr;
	int r = read_layout(reader, module, &image.base, &image.is_mapped);

	*ret = (struct dotnet_pdb_place){.image = image.base};
	if (r == 0 && !image.base)
		return -ENODATA;
	if (r == 0)
		r = read_headers(&image, DEBUG_DIRECTORY, directory);
	if (r == 0 && !directory[0])
		return -ENODATA;
	if (r == 0)
		r = find_rva(&image, directory[0], &addr);
	for (uint32_t i = 0;
	     r == 0 && i < EP_MIN(directory[1] / sizeof(entry), (size_t)MAX_DEBUG_ENTRIES); i++) {
		r = memory_read(&reader->memory, addr + i * sizeof(entry), entry, sizeof(entry));
		if (r == 0)
			r = read_entry(&image, entry, ret);
	}
	return r == 0 && !ret->has_id ? -ENODATA : r;
}
