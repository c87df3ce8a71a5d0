/* SPDX-License-Identifier: Apache-2.0 */
/*
 * .eh_frame_hdr (Linux Standard Base, "The .eh_frame_hdr section") as ld, gold, lld and mold write
 * it, all of them with these four encodings:
 *
 *	| 1 | pcrel sdata4 | udata4 | datarel sdata4 | .eh_frame | count | start, FDE | start, FDE | ...
 *
 * An FDE: length, distance of its CIE, start (pcrel sdata4), length of the function.
 */
#include "core/symbol/starts.h"
#include "core/base/bisect.h"

#include <errno.h>
#include <string.h>

#define HDR_BYTES     12
#define FDE_BYTES     16
#define MAX_FUNCTIONS (1u << 22)
#define ENTRY_STEPS   20

struct range {
	uint32_t start; /* from base_va */
	uint32_t bytes;
};

struct ep_starts {
	uint64_t base_va;
	struct range *ranges; /* sorted by start */
	size_t n_ranges;
};

/* A section in memory. */
struct part {
	struct ep_elf_section section;
	struct ep_elf_bytes bytes;
};

static void part_fini(struct part *part)
{
	ep_elf_bytes_fini(&part->bytes);
}

static int part_read(const struct ep_elf *elf, const char *name, struct part *part)
{
	int r = ep_elf_find_section(elf, name, &part->section);

	return r < 0 ? r : ep_elf_read_section(elf, &part->section, &part->bytes);
}

static uint32_t load32(const struct part *part, uint64_t off)
{
	uint32_t value;

	memcpy(&value, part->bytes.data + off, sizeof(value));
	return value;
}

static int64_t load_s32(const struct part *part, uint64_t off)
{
	return (int32_t)load32(part, off);
}

static int read_count(const struct part *hdr, uint32_t *ret_count)
{
	static const uint8_t usual[] = {1, 0x1b, 0x03, 0x3b}; /* DW_EH_PE_* */
	uint32_t count;

	if (hdr->bytes.bytes < HDR_BYTES || memcmp(hdr->bytes.data, usual, sizeof(usual)) != 0)
		return -ENODATA;
	count = load32(hdr, 8);
	if (count > MAX_FUNCTIONS || !ep_in_bounds(HDR_BYTES, count * 8ull, hdr->bytes.bytes))
		return -EBADMSG;
	*ret_count = count;
	return 0;
}

/* Length of the function whose FDE is at fde_va, 0 when the FDE is not about start_va. */
static uint32_t read_length(const struct part *frame, uint64_t fde_va, uint64_t start_va)
{
	uint64_t off = fde_va - frame->section.va;
	uint64_t begin_va = fde_va + 8;

	if (!ep_in_bounds(off, FDE_BYTES, frame->bytes.bytes) || load32(frame, off) == UINT32_MAX)
		return 0;
	if (begin_va + (uint64_t)load_s32(frame, off + 8) != start_va)
		return 0;
	return load32(frame, off + 12);
}

/* Takes entry i of the table, if it can be trusted: after the one before, not too far. */
static void take_entry(struct ep_starts *starts, const struct part *hdr, const struct part *frame,
		       uint32_t i)
{
	uint64_t at = HDR_BYTES + i * 8ull, va = hdr->section.va;
	uint64_t start_va = va + (uint64_t)load_s32(hdr, at);
	uint32_t bytes = read_length(frame, va + (uint64_t)load_s32(hdr, at + 4), start_va);
	const struct range *last = starts->n_ranges ? &starts->ranges[starts->n_ranges - 1] : NULL;

	if (!bytes)
		return;
	if (!last)
		starts->base_va = start_va;
	if (start_va - starts->base_va > UINT32_MAX ||
	    (last && start_va - starts->base_va <= last->start))
		return;
	starts->ranges[starts->n_ranges++] = (struct range){
		.start = (uint32_t)(start_va - starts->base_va),
		.bytes = bytes,
	};
}

static int take_all(struct ep_starts *starts, const struct part *hdr, const struct part *frame)
{
	uint32_t count = 0;
	int r = read_count(hdr, &count);

	if (r < 0)
		return r;
	starts->ranges = calloc(EP_MAX(count, 1u), sizeof(*starts->ranges));
	if (!starts->ranges)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		take_entry(starts, hdr, frame, i);
	return starts->n_ranges ? 0 : -ENODATA;
}

int ep_starts_build(const struct ep_elf *elf, struct ep_starts **ret_starts)
{
	ep_cleanup(part_fini) struct part hdr = {0};
	ep_cleanup(part_fini) struct part frame = {0};
	struct ep_starts *starts = calloc(1, sizeof(*starts));
	int r;

	if (!starts)
		return -ENOMEM;
	r = part_read(elf, ".eh_frame_hdr", &hdr);
	if (r == 0)
		r = part_read(elf, ".eh_frame", &frame);
	if (r == 0)
		r = ep_work_take(ep_elf_work(elf), hdr.bytes.bytes / 8 * ENTRY_STEPS);
	if (r == 0)
		r = take_all(starts, &hdr, &frame);
	if (r < 0) {
		ep_starts_free(starts);
		return r;
	}
	*ret_starts = starts;
	return 0;
}

void ep_starts_free(struct ep_starts *starts)
{
	if (!starts)
		return;
	free(starts->ranges);
	free(starts);
}

int ep_starts_find(const struct ep_starts *starts, uint64_t va, uint64_t *ret_start_va)
{
	uint64_t off = va - starts->base_va;
	size_t n = ep_bisect(starts->n_ranges, i, starts->ranges[i].start <= off);

	if (n == 0 || off - starts->ranges[n - 1].start >= starts->ranges[n - 1].bytes)
		return -ENODATA;
	*ret_start_va = starts->base_va + starts->ranges[n - 1].start;
	return 0;
}

size_t ep_starts_bytes(const struct ep_starts *starts)
{
	return starts ? sizeof(*starts) + starts->n_ranges * sizeof(*starts->ranges) : 0;
}
