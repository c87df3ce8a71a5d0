/* SPDX-License-Identifier: Apache-2.0 */
#include "core/unwind/source.h"
#include "core/elf/file.h"

#include <errno.h>

/* Thirty times the largest that was met; what is made of it has to fit into the delta store. */
#define MAX_SECTION ((uint64_t)256 << 20)

static void bytes_unmap(struct ep_unwind_bytes *bytes)
{
	ep_region_unmap(&bytes->region);
	*bytes = (struct ep_unwind_bytes){ 0 };
}

static int read_range(const struct ep_elf *elf, uint64_t file_off, uint64_t len, uint64_t va,
		      struct ep_unwind_bytes *ret)
{
	struct ep_unwind_bytes bytes = { 0 };
	int r;

	if (len > MAX_SECTION || !ep_in_bounds(file_off, len, ep_elf_file_bytes(elf)))
		return -EBADMSG;
	if (len == 0)
		return -ENODATA;
	if (ep_elf_has_hole(elf, file_off, len))
		return -EBADMSG;
	r = ep_region_pay(&bytes.region, ep_elf_work(elf), (size_t)len);
	if (r == 0)
		r = ep_region_map((size_t)len, SIZE_MAX, &bytes.region);
	if (r == 0)
		r = ep_elf_read_at(elf, file_off, bytes.region.data, (size_t)len);
	if (r < 0) {
		bytes_unmap(&bytes);
		return r;
	}
	bytes.sec = (struct ep_cfi_section){
		.data = bytes.region.data, .bytes = (size_t)len, .va = va, .eh = true,
		.work = ep_elf_work(elf)
	};
	*ret = bytes;
	return 0;
}

static int read_section(const struct ep_elf *elf, const char *name, struct ep_unwind_bytes *ret)
{
	struct ep_elf_section section;
	int r = ep_elf_find_section(elf, name, &section);

	return r < 0 ? r : read_range(elf, section.file_off, section.bytes, section.va, ret);
}

int ep_eh_source_open(struct ep_eh_source *source, const struct ep_elf *elf, bool scan)
{
	int r;

	*source = (struct ep_eh_source){ 0 };
	/* The header's table sorts the FDEs for us; without one the section is walked. */
	r = read_section(elf, ".eh_frame_hdr", &source->hdr);
	if (r == 0)
		source->hdr.sec.data_va = source->hdr.sec.va;
	if (!ep_work_has_ended(r))
		r = read_section(elf, ".eh_frame", &source->frame);
	if (r < 0) {
		ep_eh_source_close(source);
		return r;
	}
	source->by_table = !scan && source->hdr.sec.data &&
			   ep_fde_list_init_table(&source->list, &source->frame.sec,
						  &source->hdr.sec) == 0;
	if (!source->by_table)
		r = ep_fde_list_init_scan(&source->list, &source->frame.sec);
	if (r < 0)
		ep_eh_source_close(source);
	return r;
}

void ep_eh_source_close(struct ep_eh_source *source)
{
	ep_fde_list_fini(&source->list);
	bytes_unmap(&source->frame);
	bytes_unmap(&source->hdr);
}

static int read_compressed(const struct ep_elf *elf, const struct ep_elf_section *section,
			   struct ep_unwind_bytes *ret)
{
	struct ep_elf_bytes bytes = { 0 };
	int r;

	r = ep_elf_read_section(elf, section, &bytes);
	if (r < 0)
		return r;
	r = ep_region_pay(&ret->region, ep_elf_work(elf), bytes.bytes);
	if (r == 0)
		r = ep_region_map(bytes.bytes, SIZE_MAX, &ret->region);
	if (r == 0) {
		memcpy(ret->region.data, bytes.data, bytes.bytes);
		ret->sec = (struct ep_cfi_section){ .data = ret->region.data, .bytes = bytes.bytes,
						    .work = ep_elf_work(elf) };
	}
	ep_elf_bytes_fini(&bytes);
	if (r < 0)
		bytes_unmap(ret);
	return r;
}

int ep_debug_source_open(struct ep_debug_source *source, const struct ep_elf *elf)
{
	struct ep_elf_section section;
	int r;

	*source = (struct ep_debug_source){ 0 };
	r = ep_elf_find_section(elf, ".debug_frame", &section);
	if (r < 0)
		return r;
	if (section.flags & SHF_COMPRESSED)
		r = read_compressed(elf, &section, &source->frame);
	else
		r = read_range(elf, section.file_off, section.bytes, 0, &source->frame);
	if (r < 0)
		return r;
	source->frame.sec.eh = false;
	r = ep_fde_list_init_scan(&source->list, &source->frame.sec);
	if (r < 0)
		ep_debug_source_close(source);
	return r;
}

void ep_debug_source_close(struct ep_debug_source *source)
{
	ep_fde_list_fini(&source->list);
	bytes_unmap(&source->frame);
}
