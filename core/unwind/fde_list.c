/* SPDX-License-Identifier: Apache-2.0 */
#include "core/unwind/fde_list.h"

#include <errno.h>

#define TABLE_ENTRY_BYTES 8
/* Length, CIE pointer, start and range of 2 bytes each: no FDE is smaller. */
#define MIN_FDE_BYTES 12
/* So many are charged at once. */
#define PAID_FDES  ((size_t)1 << 15)
#define FDE_STEPS  40
#define ENTRY_STEPS 4 /* of the linker's table */

static int hdr_start(const struct ep_cfi_section *hdr, struct ep_cursor *cur, uint8_t enc[3],
		     uint64_t *ret_eh_frame_va)
{
	*cur = (struct ep_cursor){ .pos = hdr->data, .end = hdr->data + hdr->bytes };
	if (ep_cursor_u8(cur) != 1)
		return -EBADMSG;
	for (int i = 0; i < 3; i++)
		enc[i] = ep_cursor_u8(cur);
	if (cur->bad || enc[0] == EP_PE_OMIT)
		return -EBADMSG;
	return ep_cfi_read_pointer(hdr, cur, enc[0], ret_eh_frame_va);
}

static bool table_sane(const struct ep_fde_list *list)
{
	uint64_t last = 0;

	for (size_t i = 0; i < list->n; i++) {
		struct ep_fde_ref ref = ep_fde_list_get(list, i);

		if (ref.start < last || ref.off >= list->sec.bytes)
			return false;
		last = ref.start;
	}
	return true;
}

int ep_fde_list_init_table(struct ep_fde_list *list, const struct ep_cfi_section *sec,
			   const struct ep_cfi_section *hdr)
{
	struct ep_cursor cur;
	uint64_t eh_frame_va, count;
	uint8_t enc[3];
	int r;

	r = hdr_start(hdr, &cur, enc, &eh_frame_va);
	if (r < 0)
		return r;
	if (enc[1] == EP_PE_OMIT || enc[2] != (EP_PE_DATAREL | EP_PE_SDATA4))
		return -ENOTSUP;
	r = ep_cfi_read_pointer(hdr, &cur, enc[1], &count);
	if (r < 0)
		return r;
	if (eh_frame_va != sec->va || count == 0 || count > ep_cursor_left(&cur) / TABLE_ENTRY_BYTES)
		return -EBADMSG;
	*list = (struct ep_fde_list){
		.sec = *sec, .table = cur.pos, .table_va = hdr->va, .n = (size_t)count
	};
	if (ep_work_take(hdr->work, count * ENTRY_STEPS) < 0)
		return ep_work_result(hdr->work);
	return table_sane(list) ? 0 : -EBADMSG;
}

static int compare_refs(const void *left, const void *right)
{
	const struct ep_fde_ref *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->off < b->off ? -1 : a->off > b->off;
}

/* Before the ref at list->n is written. */
static int pay(struct ep_fde_list *list)
{
	int r;

	if (list->n % PAID_FDES)
		return 0;
	r = ep_work_take(list->sec.work, PAID_FDES * FDE_STEPS);
	return r < 0 ? r : ep_region_pay(&list->refs_region, list->sec.work, PAID_FDES * sizeof(*list->refs));
}

/* Says whether the refs came in ascending order, as they do from one compilation unit. 0, and those of work. */
static int walk(struct ep_fde_list *list, size_t max, bool *ret_sorted)
{
	struct ep_cfi_entry entry;
	struct ep_fde fde;
	uint64_t last = 0;
	bool sorted = true;
	int r = 0;

	for (uint64_t off = 0; list->n < max; off = entry.next_off) {
		r = ep_cfi_read_entry(&list->sec, off, &entry);
		if (r != 0)
			break;
		r = ep_cfi_parse_fde(&list->sec, &entry, &list->cies, &fde);
		if (r < 0)
			list->n_bad++;
		if (r != 0)
			continue;
		r = pay(list);
		if (r < 0)
			return r;
		sorted = sorted && fde.start >= last;
		last = fde.start;
		list->refs[list->n++] = (struct ep_fde_ref){ .start = fde.start, .off = off };
	}
	if (r < 0)
		list->n_bad++;
	*ret_sorted = sorted;
	return 0;
}

/* The C library's sort may take as much again. */
static int sort(struct ep_fde_list *list)
{
	struct ep_memory_budget *budget = list->sec.work ? list->sec.work->memory : NULL;
	size_t bytes = list->n * sizeof(*list->refs);
	int r = ep_memory_budget_take(budget, bytes);

	if (r < 0)
		return r;
	qsort(list->refs, list->n, sizeof(*list->refs), compare_refs);
	ep_memory_budget_give(budget, bytes);
	return 0;
}

int ep_fde_list_init_scan(struct ep_fde_list *list, const struct ep_cfi_section *sec)
{
	size_t max = sec->bytes / MIN_FDE_BYTES + 1;
	bool sorted = false;
	int r;

	*list = (struct ep_fde_list){ .sec = *sec };
	r = ep_region_map(max * sizeof(*list->refs), 0, &list->refs_region);
	if (r < 0)
		return r;
	list->refs = list->refs_region.data;
	r = walk(list, max, &sorted);
	if (r == 0 && !sorted)
		r = sort(list);
	if (r < 0)
		ep_fde_list_fini(list);
	return r;
}

void ep_fde_list_fini(struct ep_fde_list *list)
{
	ep_region_unmap(&list->refs_region);
	*list = (struct ep_fde_list){ 0 };
}
