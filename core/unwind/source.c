/* SPDX-License-Identifier: Apache-2.0 */
#include "core/unwind/source.h"
#include "core/elf/file.h"

#include <errno.h>

#define MAX_LOADS 64
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

/* The header's table sorts the FDEs for us; without one the section is walked. */
static int read_hdr(const struct ep_elf *elf, struct ep_unwind_bytes *ret)
{
	struct ep_elf_section section;
	struct ep_elf_segment segment;

	if (ep_elf_find_section(elf, ".eh_frame_hdr", &section) == 0)
		return read_range(elf, section.file_off, section.bytes, section.va, ret);
	if (ep_elf_find_segment(elf, PT_GNU_EH_FRAME, &segment) == 0)
		return read_range(elf, segment.file_off, segment.file_bytes, segment.va, ret);
	return -ENODATA;
}

/* Without section headers the end is not known: up to that of the segment that begins before it. */
static int read_frame_at(const struct ep_elf *elf, uint64_t va, struct ep_unwind_bytes *ret)
{
	struct ep_elf_segment loads[MAX_LOADS];
	size_t n = ep_elf_load_segments(elf, loads, MAX_LOADS);

	for (size_t i = 0; i < EP_MIN(n, (size_t)MAX_LOADS); i++) {
		uint64_t off = va - loads[i].va;

		if (va >= loads[i].va && off < loads[i].file_bytes)
			return read_range(elf, loads[i].file_off + off, loads[i].file_bytes - off,
					  va, ret);
	}
	return -ENODATA;
}

static int read_frame(const struct ep_elf *elf, const struct ep_unwind_bytes *hdr,
		      struct ep_unwind_bytes *ret)
{
	struct ep_elf_section section;
	uint64_t va;

	if (ep_elf_find_section(elf, ".eh_frame", &section) == 0)
		return read_range(elf, section.file_off, section.bytes, section.va, ret);
	if (!hdr->sec.data || ep_eh_frame_hdr_ptr(&hdr->sec, &va) < 0)
		return -ENODATA;
	return read_frame_at(elf, va, ret);
}

int ep_eh_source_open(struct ep_eh_source *source, const struct ep_elf *elf, bool scan)
{
	int r;

	*source = (struct ep_eh_source){ 0 };
	r = read_hdr(elf, &source->hdr);
	if (r == 0)
		source->hdr.sec.data_va = source->hdr.sec.va;
	if (!ep_work_has_ended(r))
		r = read_frame(elf, &source->hdr, &source->frame);
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
