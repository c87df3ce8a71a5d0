/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/text_parts.h"
#include "core/elf/needed.h"
#include "core/proc/copies.h"
#include "core/process/executables_internal.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>

#define MIN_FRAME_BYTES ((uint64_t)1 << 20)
#define MIN_PART_BYTES	((uint64_t)1 << 18)
#define RETRY_NS	(1 * EP_NS_PER_SEC)
#define PAUSE_FACTOR	20

bool ep_text_parts_suit(const struct ep_elf *elf)
{
	ep_cleanup(ep_elf_needed_fini) struct ep_elf_needed needed = {0};
	struct ep_elf_section section;

	return ep_elf_type(elf) == ET_DYN && ep_elf_find_section(elf, ".eh_frame", &section) == 0 &&
	       section.bytes >= MIN_FRAME_BYTES && ep_elf_needed_read(elf, &needed) == 0 &&
	       !needed.interp && needed.n_names > 0;
}

void ep_text_parts_init(struct ep_text_parts *parts, const struct ep_elf_segment *segments,
			size_t n)
{
	uint64_t bytes;

	*parts = (struct ep_text_parts){0};
	if (n == 0)
		return;
	parts->va = EP_ALIGN_DOWN(segments[0].va, EP_PAGE_BYTES);
	bytes = segments[n - 1].va + segments[n - 1].file_bytes - parts->va;
	parts->part_bytes = MIN_PART_BYTES;
	while (parts->part_bytes < bytes / EP_TEXT_PARTS + 1 && parts->part_bytes < UINT64_MAX / 2)
		parts->part_bytes *= 2;
}

/* EP_TEXT_PARTS: it is in none. */
static uint64_t part_of(const struct ep_text_parts *parts, uint64_t va)
{
	if (!parts->part_bytes || va < parts->va)
		return EP_TEXT_PARTS;
	return EP_MIN((va - parts->va) / parts->part_bytes, (uint64_t)EP_TEXT_PARTS);
}

static bool is_wanted(const struct ep_text_parts *parts, uint64_t part)
{
	return part < EP_TEXT_PARTS && parts->wanted[part / 64] >> (part % 64) & 1;
}

void ep_text_parts_drop(struct ep_text_parts *parts)
{
	memset(parts->wanted, 0, sizeof(parts->wanted));
	memset(parts->made, 0, sizeof(parts->made));
}

bool ep_text_parts_are_none(const struct ep_text_parts *parts)
{
	static const struct ep_text_parts none;

	return memcmp(parts->wanted, none.wanted, sizeof(none.wanted)) == 0;
}

bool ep_text_parts_add(struct ep_text_parts *parts, uint64_t va)
{
	uint64_t part = part_of(parts, va);

	if (part == EP_TEXT_PARTS)
		return false;
	parts->wanted[part / 64] |= 1ull << (part % 64);
	return !(parts->made[part / 64] >> (part % 64) & 1);
}

size_t ep_text_parts_cut(const struct ep_text_parts *parts, const struct ep_unwind_table *table,
			 struct ep_unwind_segment segments[EP_TEXT_PARTS_MAX_SEGMENTS])
{
	size_t n = 0;

	for (size_t i = 0; i < table->n_segments; i++) {
		const struct ep_unwind_segment *from = &table->segments[i];
		struct ep_unwind_segment *last = NULL;

		for (uint32_t page = 0; page < from->n_pages; page++) {
			uint64_t va = from->va + (uint64_t)page * EP_PAGE_BYTES;

			if (!is_wanted(parts, part_of(parts, va))) {
				last = NULL;
			} else if (last) {
				last->n_pages++;
			} else if (n < EP_TEXT_PARTS_MAX_SEGMENTS) {
				last = &segments[n++];
				*last = (struct ep_unwind_segment){va, 1, from->first_page + page};
			}
		}
	}
	return n;
}

size_t ep_text_parts_stretches(const struct ep_text_parts *parts,
			       struct ep_unwind_stretch stretches[EP_TEXT_PARTS])
{
	size_t n = 0;

	for (uint64_t part = 0; part < EP_TEXT_PARTS; part++) {
		uint64_t start = parts->va + part * parts->part_bytes;

		if (!is_wanted(parts, part))
			continue;
		if (n > 0 && stretches[n - 1].end == start)
			stretches[n - 1].end += parts->part_bytes;
		else
			stretches[n++] =
				(struct ep_unwind_stretch){start, start + parts->part_bytes};
	}
	return n;
}

size_t ep_text_parts_pages(const struct ep_unwind_table *table)
{
	size_t n = 0;

	for (size_t i = 0; i < table->n_segments; i++)
		n += table->segments[i].n_pages;
	return n;
}

bool ep_text_parts_want(struct ep_executable *executable, uint64_t va)
{
	struct ep_mapping mapping = {.kind = EP_MAPPING_FILE, .path = executable->path};
	int fd;

	if (!executable->in_parts || !ep_text_parts_add(&executable->parts, va))
		return false;
	if (executable->state == EP_EXECUTABLE_PENDING)
		return true;
	if (executable->state != EP_EXECUTABLE_READY || executable->file.fd < 0 ||
	    ep_clock_mono_ns() < executable->retry_ns)
		return false;
	fd = fcntl(executable->file.fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return false;
	ep_copies_move(executable->file.fd, fd);
	if (ep_executables_analyse(executable->owner, executable, executable->pid, &mapping, fd) <
	    0)
		return false;
	ep_executables_hurry(executable->owner, executable);
	executable->parts.asked_ns = ep_clock_mono_ns();
	executable->parts.n_asked++;
	return true;
}

void ep_text_parts_end(struct ep_executable *executable, const struct ep_text_parts *parts,
		       bool are_made)
{
	uint64_t now_ns = ep_clock_mono_ns();

	if (!executable->parts.part_bytes)
		executable->parts = *parts;
	if (are_made)
		memcpy(executable->parts.made, parts->wanted, sizeof(parts->wanted));
	else
		executable->retry_ns = now_ns + RETRY_NS;
	if (executable->parts.n_asked >= EP_TEXT_PARTS_BURST)
		executable->retry_ns =
			EP_MAX(executable->retry_ns,
			       now_ns + PAUSE_FACTOR * (now_ns - executable->parts.asked_ns));
}
