/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/mappings.h"
#include "bpf/shared.h"

#include <errno.h>
#include <string.h>

#define MAX_ANONYMOUS 1024
#define MAX_PIECES    1024 /* of a region: whoever asks is the loop, for each address of a process */

static struct ep_area *at(const struct ep_vec *places, size_t i)
{
	return ep_vec_at(places, struct ep_area, i);
}

void ep_areas_init(struct ep_vec *places)
{
	ep_vec_init(places, sizeof(struct ep_area), EP_MAX_MAPPINGS_READ);
}

void ep_areas_clear(struct ep_vec *places)
{
	for (size_t i = 0; i < places->len; i++)
		ep_executable_unref(at(places, i)->executable);
	ep_vec_fini(places);
}

int ep_areas_copy(struct ep_vec *to, const struct ep_vec *from)
{
	int r = ep_vec_append(to, from->data, from->len);

	for (size_t i = 0; r == 0 && i < to->len; i++)
		(void)ep_executable_ref(at(to, i)->executable);
	return r;
}

/* The first place that ends behind `addr`; places->len when there is none. */
static size_t find_first(const struct ep_vec *places, uint64_t addr)
{
	size_t first = 0, len = places->len;

	while (len > 0) {
		size_t half = len / 2;

		if (at(places, first + half)->end <= addr) {
			first += half + 1;
			len -= half + 1;
		} else {
			len = half;
		}
	}
	return first;
}

size_t ep_areas_behind(const struct ep_vec *places, uint64_t addr)
{
	return places->len - find_first(places, addr);
}

/* A part of an old place, with a reference of its own. */
static void keep_part(struct ep_area part, uint64_t start, uint64_t end,
		      struct ep_area *parts, size_t *n)
{
	part.file_off += start - part.start;
	part.start = start;
	part.end = end;
	(void)ep_executable_ref(part.executable);
	parts[(*n)++] = part;
}

/* The new place, and what is left of [first, last) beside it, in order. */
static size_t make_parts(const struct ep_vec *places, size_t first, size_t last,
			 struct ep_area place, struct ep_area parts[3])
{
	size_t n = 0;

	if (first < last && at(places, first)->start < place.start)
		keep_part(*at(places, first), at(places, first)->start, place.start, parts, &n);
	parts[n++] = place;
	if (first < last && at(places, last - 1)->end > place.end)
		keep_part(*at(places, last - 1), place.end, at(places, last - 1)->end, parts, &n);
	for (size_t i = first; i < last; i++)
		ep_executable_unref(at(places, i)->executable);
	return n;
}

int ep_areas_insert(struct ep_vec *places, struct ep_area place)
{
	size_t first = find_first(places, place.start), last = first, n;
	struct ep_area parts[3], *old;
	int r = place.end <= place.start ? -EINVAL : 0;

	for (; last < places->len && at(places, last)->start < place.end; last++) {
		if (r == 0 && at(places, last)->time_ns > place.time_ns)
			r = EP_AREAS_OLDER;
	}
	old = r == 0 && last == first + 1 ? at(places, first) : NULL;
	if (old && old->start == place.start && old->end == place.end &&
	    old->file_off == place.file_off && old->executable == place.executable &&
	    old->state == place.state && old->question == place.question) {
		old->time_ns = place.time_ns;
		r = EP_AREAS_SAME;
	}
	if (r == 0 && places->cap < places->len + 2)
		r = ep_vec_reserve(places, EP_MIN(places->len + 2 + places->len / 4, places->max));
	if (r == 0 && places->len + 2 > places->max)
		r = -ENOMEM;
	if (r != 0) {
		ep_executable_unref(place.executable);
		return r;
	}
	n = make_parts(places, first, last, place, parts);
	memmove(at(places, first + n), at(places, last),
		(places->len - last) * sizeof(struct ep_area));
	memcpy(at(places, first), parts, n * sizeof(parts[0]));
	places->len += n - (last - first);
	return 0;
}

static bool is_anonymous(const struct ep_area *place)
{
	return !place->executable && place->state == EP_AREA_KNOWN;
}

void ep_areas_coarsen(struct ep_vec *places)
{
	size_t anonymous = 0, kept = 0;

	for (size_t i = 0; i < places->len; i++)
		anonymous += is_anonymous(at(places, i));
	if (anonymous <= MAX_ANONYMOUS)
		return;
	for (size_t i = 0; i < places->len; i++) {
		struct ep_area place = *at(places, i);

		if (kept > 0 && is_anonymous(&place) && is_anonymous(at(places, kept - 1)))
			at(places, kept - 1)->end = place.end;
		else
			*at(places, kept++) = place;
	}
	places->len = kept;
}

static bool is_pending(const struct ep_area *place)
{
	return place->executable && place->executable->state == EP_EXECUTABLE_PENDING;
}

bool ep_areas_are_pending(const struct ep_vec *places, size_t *last)
{
	if (*last < places->len && is_pending(at(places, *last)))
		return true;
	for (size_t i = 0; i < places->len; i++) {
		*last = i;
		if (is_pending(at(places, i)))
			return true;
	}
	return false;
}

void ep_areas_hurry(const struct ep_vec *places, struct ep_executables *executables)
{
	for (size_t i = 0; i < places->len; i++) {
		if (is_pending(at(places, i)))
			ep_executables_hurry(executables, at(places, i)->executable);
	}
}

bool ep_areas_are_asked(const struct ep_vec *places)
{
	for (size_t i = 0; i < places->len; i++) {
		if (at(places, i)->state == EP_AREA_ASKED)
			return true;
	}
	return false;
}

bool ep_areas_cut_time(struct ep_vec *places, uint64_t from_ns, uint64_t to_ns)
{
	size_t len = places->len, kept = 0;

	for (size_t i = 0; i < len; i++) {
		struct ep_area place = *at(places, i);

		if (place.time_ns >= from_ns && place.time_ns < to_ns)
			*at(places, kept++) = place;
		else
			ep_executable_unref(place.executable);
	}
	places->len = kept;
	return kept < len;
}

void ep_areas_keep_newer(struct ep_vec *places, const struct ep_vec *old, uint64_t time_ns)
{
	const struct ep_area *place;

	ep_vec_each (old, place) {
		if (place->time_ns < time_ns)
			continue;
		(void)ep_executable_ref(place->executable);
		(void)ep_areas_insert(places, *place);
	}
}

/* What it was replaced by may be replaced as well, by what it was before even: after so many nobody knows what it is. */
#define MAX_CHAIN 8

/* EP_AREAS_*, or 0. */
static int replace(struct ep_area *place, const struct ep_vec *replacements, uint64_t mount_ns)
{
	int found = 0;

	for (int i = 0; i <= MAX_CHAIN && place->executable && place->executable->replacement; i++) {
		const struct ep_replacement *one =
			ep_vec_at(replacements, struct ep_replacement, place->executable->replacement - 1);
		struct ep_executable *by = i < MAX_CHAIN ? one->executable : NULL;

		if (place->time_ns < one->since_ns || (one->mount_ns && one->mount_ns != mount_ns))
			break;
		found = by ? EP_AREAS_REPLACED : EP_AREAS_LOST;
		place->executable = ep_executable_ref(by);
		place->state = by ? EP_AREA_KNOWN : EP_AREA_GONE;
		ep_executable_unref(one->old);
	}
	return found;
}

int ep_areas_replace(struct ep_vec *places, const struct ep_vec *replacements, uint64_t mount_ns)
{
	struct ep_area *place;
	int found = 0;

	ep_vec_each (places, place) {
		int r = replace(place, replacements, mount_ns);

		found = EP_MAX(found, r);
	}
	return found;
}

bool ep_area_is_part(const struct ep_area *part, const struct ep_area *whole)
{
	uint64_t part_bytes = part->end - part->start, whole_bytes = whole->end - whole->start;

	return whole->executable == part->executable && part->file_off >= whole->file_off &&
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
		if (wholes->of[i]->executable == executable)
			return &wholes->of[i];
	}
	return NULL;
}

/* There may be a hundred thousand copies of some code: each is compared with one other. */
size_t ep_areas_find_loaded(const struct ep_vec *places,
			     bool (*is_wanted)(const struct ep_executable *executable),
			     struct ep_loaded loaded[EP_MAX_LOADED])
{
	const struct ep_area *place, **whole;
	const struct ep_executable *unwanted = NULL; /* the last, which thousands of places may be of */
	struct wholes wholes = {.n = 0};
	size_t n = 0;
	uint64_t va;

	ep_vec_each (places, place) {
		if (!place->executable || place->executable == unwanted)
			continue;
		if (!is_wanted(place->executable)) {
			unwanted = place->executable;
			continue;
		}
		whole = find_whole(&wholes, place->executable);
		if (!whole && wholes.n < EP_MAX_LOADED)
			wholes.of[wholes.n++] = place;
		else if (whole && place->end - place->start > (*whole)->end - (*whole)->start)
			*whole = place;
	}
	if (wholes.n == 0)
		return 0;
	ep_vec_each (places, place) {
		whole = place->executable ? find_whole(&wholes, place->executable) : NULL;
		if (!whole || n == EP_MAX_LOADED || ep_area_is_part(place, *whole) ||
		    ep_executable_find_va(place->executable, place->file_off, &va) < 0 ||
		    is_listed(loaded, n, place->executable, place->start - va))
			continue;
		loaded[n++] = (struct ep_loaded){place->executable, place->start - va, place->start};
	}
	return n;
}

struct ep_area *ep_areas_find(const struct ep_vec *places, uint64_t addr)
{
	size_t i = find_first(places, addr);

	return i < places->len && at(places, i)->start <= addr ? at(places, i) : NULL;
}

static bool is_region(const struct ep_area *a, const struct ep_area *b)
{
	return a->end == b->start && a->executable == b->executable && a->state == b->state;
}

uint64_t ep_areas_region(const struct ep_vec *places, uint64_t addr)
{
	const struct ep_area *first = at(places, 0), *place = ep_areas_find(places, addr);

	if (!place)
		return 0;
	for (size_t n = 0; n < MAX_PIECES && place > first && is_region(place - 1, place); n++)
		place--;
	return place->start;
}
