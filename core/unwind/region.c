/* SPDX-License-Identifier: Apache-2.0 */
#include "core/unwind/region.h"

#include <errno.h>
#include <sys/mman.h>

#define MEMORY_PAGE ((size_t)4096)

static size_t whole_pages(size_t bytes)
{
	return EP_MAX(EP_ALIGN_UP(bytes, MEMORY_PAGE), MEMORY_PAGE);
}

/* Linux 5.14; older kernels answer EINVAL, and the pages come by faults. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

int ep_region_map(size_t bytes, size_t fill_bytes, struct ep_region *ret_region)
{
	bool all = fill_bytes >= bytes;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (all ? MAP_POPULATE : 0);
	void *data;

	if (bytes > SIZE_MAX / 2)
		return -ENOMEM;
	data = mmap(NULL, whole_pages(bytes), PROT_READ | PROT_WRITE, flags, -1, 0);
	if (data == MAP_FAILED)
		return -ENOMEM;
	if (!all && fill_bytes)
		(void)madvise(data, whole_pages(fill_bytes), MADV_POPULATE_WRITE);
	ret_region->data = data;
	ret_region->bytes = whole_pages(bytes);
	return 0;
}

void ep_region_shrink(struct ep_region *region, size_t bytes)
{
	size_t keep = whole_pages(bytes);

	if (!region->data || keep >= region->bytes)
		return;
	munmap((char *)region->data + keep, region->bytes - keep);
	region->bytes = keep;
}

int ep_region_pay(struct ep_region *region, struct ep_work *work, size_t bytes)
{
	struct ep_memory_budget *budget = work ? work->memory : NULL;
	int r = ep_memory_budget_take(budget, bytes);

	if (r < 0 || !budget)
		return r;
	region->budget = budget;
	region->held += bytes;
	return 0;
}

void ep_region_unmap(struct ep_region *region)
{
	ep_memory_budget_give(region->budget, region->held);
	if (region->data)
		munmap(region->data, region->bytes);
	*region = (struct ep_region){ 0 };
}
