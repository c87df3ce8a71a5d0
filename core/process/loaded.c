/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/loaded.h"

bool ep_area_is_part(const struct ep_area *part, const struct ep_area *whole)
{
	uint64_t part_bytes = part->end - part->start, whole_bytes = whole->end - whole->start;

	return ep_area_executable(whole) == ep_area_executable(part) &&
	       part->file_off >= whole->file_off &&
	       part->start - part->file_off != whole->start - whole->file_off &&
	       part_bytes < whole_bytes &&
	       ep_in_bounds(part->file_off - whole->file_off, part_bytes, whole_bytes);
}

static bool is_listed(const struct ep_loaded *loaded, size_t n,
		      const struct ep_executable *executable, uint64_t bias)
{
	for (size_t i = 0; i < n; i++) {
		if (loaded[i].executable == executable && loaded[i].bias == bias)
			return true;
	}
	return false;
}

/* The largest place of each executable that is wanted. More of them than may be found: not all. */
struct wholes {
	const struct ep_area *of[EP_MAX_LOADED];
	size_t n;
};

static const struct ep_area **find_whole(struct wholes *wholes,
					 const struct ep_executable *executable)
{
	for (size_t i = 0; i < wholes->n; i++) {
		if (ep_area_executable(wholes->of[i]) == executable)
			return &wholes->of[i];
	}
	return NULL;
}

/* There may be a hundred thousand copies of some code: each is compared with one other. */
size_t ep_areas_find_loaded(const struct ep_vec *areas,
			    bool (*is_wanted)(const struct ep_executable *executable),
			    struct ep_loaded loaded[EP_MAX_LOADED])
{
	const struct ep_executable *unwanted =
		NULL; /* the last, which thousands of areas may be of */
	const struct ep_area *area, **whole;
	struct ep_executable *executable;
	struct wholes wholes = {.n = 0};
	size_t n = 0;
	uint64_t va;

	ep_vec_each (areas, area) {
		executable = ep_area_executable(area);
		if (!executable || executable == unwanted)
			continue;
		if (!is_wanted(executable)) {
			unwanted = executable;
			continue;
		}
		whole = find_whole(&wholes, executable);
		if (!whole && wholes.n < EP_MAX_LOADED)
			wholes.of[wholes.n++] = area;
		else if (whole && area->end - area->start > (*whole)->end - (*whole)->start)
			*whole = area;
	}
	if (wholes.n == 0)
		return 0;
	ep_vec_each (areas, area) {
		executable = ep_area_executable(area);
		whole = executable ? find_whole(&wholes, executable) : NULL;
		if (!whole || n == EP_MAX_LOADED || ep_area_is_part(area, *whole) ||
		    ep_executable_find_va(executable, area->file_off, &va) < 0 ||
		    is_listed(loaded, n, executable, area->start - va))
			continue;
		loaded[n++] = (struct ep_loaded){executable, area->start - va, area->start};
	}
	return n;
}
