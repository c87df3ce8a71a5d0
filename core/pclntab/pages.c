/* SPDX-License-Identifier: Apache-2.0 */
#include "core/pclntab/pages.h"
#include "core/elf/file.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define PAGES	  (EP_PAGES_SETS * EP_PAGES_WAYS)
#define MIN_BYTES ((size_t)64 << 10)
#define MAX_BYTES ((size_t)16 << 20)

void ep_pages_init(struct ep_pages *pages, const struct ep_elf *elf, size_t bytes)
{
	*pages = (struct ep_pages){ .elf = elf, .file_bytes = ep_elf_file_bytes(elf) };
	bytes = EP_MIN(EP_MAX(bytes, MIN_BYTES), MAX_BYTES);
	while ((size_t)PAGES << (pages->page_shift + 1) <= bytes)
		pages->page_shift++;
	pages->page_bytes = 1u << pages->page_shift;
	for (size_t i = 0; i < PAGES; i++)
		pages->places[i / EP_PAGES_WAYS][i % EP_PAGES_WAYS] = (uint8_t)i;
}

void ep_pages_fini(struct ep_pages *pages)
{
	if (pages->data)
		munmap(pages->data, (size_t)pages->page_bytes * PAGES);
	*pages = (struct ep_pages){ 0 };
}

/* Anonymous memory: megabytes that live for milliseconds would leave holes in the heap. */
static int map_data(struct ep_pages *pages)
{
	void *data = mmap(NULL, (size_t)pages->page_bytes * PAGES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (data == MAP_FAILED)
		return -ENOMEM;
	pages->data = data;
	return 0;
}

/* The way becomes the set's first, those before it move back by one. */
static uint8_t *to_front(struct ep_pages *pages, size_t set, size_t way, uint64_t number)
{
	uint8_t place = pages->places[set][way];

	memmove(&pages->numbers[set][1], &pages->numbers[set][0], way * sizeof(uint64_t));
	memmove(&pages->places[set][1], &pages->places[set][0], way);
	pages->numbers[set][0] = number + 1;
	pages->places[set][0] = place;
	return pages->data + (size_t)place * pages->page_bytes;
}

/* Nothing but whole pages, and what there is of the last one, is kept. */
static int get_page(struct ep_pages *pages, uint64_t number, const uint8_t **ret_page)
{
	size_t set = number % EP_PAGES_SETS, way;
	uint64_t off = number << pages->page_shift;
	uint8_t *page;
	int r;

	for (way = 0; way < EP_PAGES_WAYS; way++) {
		if (pages->numbers[set][way] == number + 1) {
			*ret_page = way ? to_front(pages, set, way, number) :
					  pages->data + (size_t)pages->places[set][0] * pages->page_bytes;
			return 0;
		}
	}
	page = to_front(pages, set, EP_PAGES_WAYS - 1, number);
	r = ep_elf_read_at(pages->elf, off, page,
			   EP_MIN((uint64_t)pages->page_bytes, pages->file_bytes - off));
	if (r < 0)
		pages->numbers[set][0] = 0;
	*ret_page = page;
	return r;
}

int ep_pages_read(struct ep_pages *pages, uint64_t off, void *buf, size_t bytes)
{
	uint8_t *out = buf;

	if (!ep_in_bounds(off, bytes, pages->file_bytes))
		return -EBADMSG;
	if (!pages->data && map_data(pages) < 0)
		return -ENOMEM;
	while (bytes) {
		size_t in_page = (size_t)off & (pages->page_bytes - 1);
		size_t part = EP_MIN(bytes, (size_t)pages->page_bytes - in_page);
		const uint8_t *page;
		int r = get_page(pages, off >> pages->page_shift, &page);

		if (r < 0)
			return r;
		memcpy(out, page + in_page, part);
		out += part;
		off += part;
		bytes -= part;
	}
	return 0;
}
