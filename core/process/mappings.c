/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/mappings.h"

#include <errno.h>
#include <string.h>

#define MAX_ANONYMOUS 1024
#define MAX_PIECES    1024 /* of a region: whoever asks is the loop, for each address of a process */

static struct ep_area *at(const struct ep_vec *areas, size_t i)
{
	return ep_vec_at(areas, struct ep_area, i);
}

/* --- an area's file -------------------------------------------------------------------------- */

static bool is_listed(const struct ep_file_use *use)
{
	return use->executable || use->look;
}

static struct ep_file_use *new_use(struct ep_mappings *mappings)
{
	struct ep_file_use *use = calloc(1, sizeof(*use));

	if (use) {
		use->mappings = mappings;
		use->refs = 1;
	}
	return use;
}

struct ep_file_use *ep_file_use_get(struct ep_mappings *mappings, struct ep_executable *executable)
{
	struct ep_file_use *use = executable ? LIST_FIRST(&executable->uses) : NULL;

	if (use && use->mappings == mappings) {
		ep_executable_unref(executable);
		use->refs++;
		return use;
	}
	use = new_use(mappings);
	if (!use)
		ep_executable_unref(executable);
	else if (executable)
		ep_file_use_set(use, executable);
	return use;
}

static void unlist(struct ep_file_use *use)
{
	if (is_listed(use))
		LIST_REMOVE(use, in_file);
	if (use->look)
		use->mappings->n_looking--;
	ep_executable_unref(ep_take(use->executable));
	use->look = NULL;
}

void ep_file_use_set(struct ep_file_use *use, struct ep_executable *executable)
{
	unlist(use);
	use->executable = executable;
	if (executable)
		LIST_INSERT_HEAD(&executable->uses, use, in_file);
}

void ep_file_use_wait(struct ep_file_use *use, struct ep_file_look *look,
		      struct ep_file_uses *waiters)
{
	unlist(use);
	use->look = look;
	use->mappings->n_looking++;
	LIST_INSERT_HEAD(waiters, use, in_file);
}

static struct ep_file_use *ref_use(struct ep_file_use *use)
{
	if (use)
		use->refs++;
	return use;
}

void ep_file_use_unref(struct ep_file_use *use)
{
	if (!use || --use->refs > 0)
		return;
	unlist(use);
	free(use);
}

/*
 * The same file in a copy of its mappings. What was copied last is after the original: it may be
 * this one.
 */
static struct ep_file_use *copy_use(struct ep_mappings *mappings, struct ep_file_use *use)
{
	struct ep_file_use *copy = is_listed(use) ? LIST_NEXT(use, in_file) : NULL;

	if (copy && copy->mappings == mappings)
		return ref_use(copy);
	copy = new_use(mappings);
	if (!copy)
		return NULL;
	copy->executable = ep_executable_ref(use->executable);
	copy->look = use->look;
	mappings->n_looking += copy->look != NULL;
	if (is_listed(use))
		LIST_INSERT_AFTER(use, copy, in_file);
	return copy;
}

static bool is_same_file(const struct ep_file_use *a, const struct ep_file_use *b)
{
	return a == b || (a && b && a->executable == b->executable && a->look == b->look);
}

/* --- whose they are -------------------------------------------------------------------------- */

struct ep_mappings *ep_mappings_new(size_t *total)
{
	struct ep_mappings *mappings = calloc(1, sizeof(*mappings));

	if (!mappings)
		return NULL;
	mappings->total = total;
	ep_vec_init(&mappings->areas, sizeof(struct ep_area), EP_MAX_MAPPINGS_READ);
	return mappings;
}

void ep_mappings_free(struct ep_mappings *mappings)
{
	struct ep_area *area;

	ep_vec_each (&mappings->areas, area)
		ep_file_use_unref(area->use);
	ep_vec_fini(&mappings->areas);
	free(mappings);
}

/* The total has them for each process. */
static void recount(struct ep_mappings *mappings)
{
	*mappings->total += (mappings->areas.len - mappings->n_counted) * mappings->refs;
	mappings->n_counted = mappings->areas.len;
}

void ep_mappings_join(struct ep_mappings *mappings, struct ep_sharer *sharer)
{
	recount(mappings);
	mappings->refs++;
	*mappings->total += mappings->n_counted;
	LIST_INSERT_HEAD(&mappings->sharers, sharer, link);
	sharer->mappings = mappings;
}

void ep_mappings_leave(struct ep_sharer *sharer)
{
	struct ep_mappings *mappings = ep_take(sharer->mappings);

	if (!mappings)
		return;
	recount(mappings);
	LIST_REMOVE(sharer, link);
	*mappings->total -= mappings->n_counted;
	if (--mappings->refs == 0)
		ep_mappings_free(mappings);
}

static struct ep_mappings *copy(const struct ep_mappings *from)
{
	struct ep_mappings *mappings = ep_mappings_new(from->total);
	const struct ep_area *area;

	if (!mappings || ep_vec_reserve(&mappings->areas, from->areas.len) < 0)
		goto fail;
	ep_vec_each (&from->areas, area) {
		struct ep_area own = *area;

		own.use = area->use ? copy_use(mappings, area->use) : NULL;
		if (area->use && !own.use)
			goto fail;
		*at(&mappings->areas, mappings->areas.len++) = own;
	}
	mappings->newest_ns = from->newest_ns;
	mappings->coarse_len = from->coarse_len;
	return mappings;
fail:
	if (mappings)
		ep_mappings_free(mappings);
	return NULL;
}

struct ep_mappings *ep_mappings_own(struct ep_sharer *sharer, size_t *total)
{
	struct ep_mappings *own;

	if (sharer->mappings && sharer->mappings->refs == 1)
		return sharer->mappings;
	own = sharer->mappings ? copy(sharer->mappings) : ep_mappings_new(total);
	if (!own)
		return NULL;
	ep_mappings_leave(sharer);
	ep_mappings_join(own, sharer);
	return own;
}

const struct ep_vec *ep_sharer_areas(const struct ep_sharer *sharer)
{
	static const struct ep_vec none = {.elem_bytes = sizeof(struct ep_area)};

	return sharer->mappings ? &sharer->mappings->areas : &none;
}

/* --- changes --------------------------------------------------------------------------------- */

/* The first area that ends after `addr`; areas->len when there is none. */
static size_t find_first(const struct ep_vec *areas, uint64_t addr)
{
	size_t first = 0, len = areas->len;

	while (len > 0) {
		size_t half = len / 2;

		if (at(areas, first + half)->end <= addr) {
			first += half + 1;
			len -= half + 1;
		} else {
			len = half;
		}
	}
	return first;
}

/* A part of an old area, with a reference of its own. */
static void keep_part(struct ep_area part, uint64_t start, uint64_t end, struct ep_area *parts,
		      size_t *n)
{
	part.file_off += start - part.start;
	part.start = start;
	part.end = end;
	(void)ref_use(part.use);
	parts[(*n)++] = part;
}

/* The new area, and what is left of [first, last) beside it, in order. */
static size_t make_parts(const struct ep_vec *areas, size_t first, size_t last, struct ep_area area,
			 struct ep_area parts[3])
{
	size_t n = 0;

	if (first < last && at(areas, first)->start < area.start)
		keep_part(*at(areas, first), at(areas, first)->start, area.start, parts, &n);
	parts[n++] = area;
	if (first < last && at(areas, last - 1)->end > area.end)
		keep_part(*at(areas, last - 1), area.end, at(areas, last - 1)->end, parts, &n);
	for (size_t i = first; i < last; i++)
		ep_file_use_unref(at(areas, i)->use);
	return n;
}

static bool is_same(const struct ep_area *a, const struct ep_area *b)
{
	return a->start == b->start && a->end == b->end && a->file_off == b->file_off &&
	       is_same_file(a->use, b->use);
}

static void has_changed(struct ep_mappings *mappings)
{
	mappings->hurried = false;
	recount(mappings);
}

int ep_mappings_insert(struct ep_mappings *mappings, struct ep_area area)
{
	struct ep_vec *areas = &mappings->areas;
	size_t first = find_first(areas, area.start), last = first, n;
	int r = area.end <= area.start ? -EINVAL : 0;
	struct ep_area parts[3];

	for (; last < areas->len && at(areas, last)->start < area.end; last++) {
		if (r == 0 && at(areas, last)->time_ns > area.time_ns)
			r = EP_AREAS_OLDER;
	}
	if (r == 0 && last == first + 1 && is_same(at(areas, first), &area)) {
		at(areas, first)->time_ns = area.time_ns;
		mappings->newest_ns = EP_MAX(mappings->newest_ns, area.time_ns);
		r = EP_AREAS_SAME;
	}
	if (r == 0 && areas->cap < areas->len + 2)
		r = ep_vec_reserve(areas, EP_MIN(areas->len + 2 + areas->len / 4, areas->max));
	if (r == 0 && areas->len + 2 > areas->max)
		r = -ENOMEM;
	if (r != 0) {
		ep_file_use_unref(area.use);
		return r;
	}
	n = make_parts(areas, first, last, area, parts);
	memmove(at(areas, first + n), at(areas, last),
		(areas->len - last) * sizeof(struct ep_area));
	memcpy(at(areas, first), parts, n * sizeof(parts[0]));
	areas->len += n - (last - first);
	mappings->newest_ns = EP_MAX(mappings->newest_ns, area.time_ns);
	has_changed(mappings);
	return 0;
}

int ep_mappings_append(struct ep_mappings *mappings, struct ep_area area)
{
	int r = ep_vec_append(&mappings->areas, &area, 1);

	if (r < 0) {
		ep_file_use_unref(area.use);
		return -ENOMEM;
	}
	mappings->newest_ns = EP_MAX(mappings->newest_ns, area.time_ns);
	has_changed(mappings);
	return 0;
}

void ep_mappings_coarsen(struct ep_mappings *mappings)
{
	struct ep_vec *areas = &mappings->areas;
	size_t anonymous = 0, kept = 0;

	for (size_t i = 0; i < areas->len; i++)
		anonymous += !at(areas, i)->use;
	if (anonymous <= MAX_ANONYMOUS)
		return;
	for (size_t i = 0; i < areas->len; i++) {
		struct ep_area area = *at(areas, i);

		if (kept > 0 && !area.use && !at(areas, kept - 1)->use)
			at(areas, kept - 1)->end = area.end;
		else
			*at(areas, kept++) = area;
	}
	areas->len = kept;
	has_changed(mappings);
}

static struct ep_file_use *use_again(struct ep_mappings *mappings, struct ep_file_use *use)
{
	return use->mappings == mappings ? ref_use(use) : copy_use(mappings, use);
}

void ep_mappings_keep_newer(struct ep_mappings *mappings, const struct ep_vec *old,
			    uint64_t time_ns)
{
	const struct ep_area *area;

	ep_vec_each (old, area) {
		struct ep_area own = *area;

		if (area->time_ns < time_ns)
			continue;
		own.use = area->use ? use_again(mappings, area->use) : NULL;
		if (!area->use || own.use)
			(void)ep_mappings_insert(mappings, own);
	}
}

int ep_mappings_cut_time(struct ep_sharer *sharer, uint64_t from_ns, uint64_t to_ns)
{
	struct ep_mappings *mappings = sharer->mappings;
	size_t kept = 0, cut = 0;

	if (!mappings || (from_ns == 0 && mappings->newest_ns < to_ns))
		return 0;
	for (size_t i = 0; i < mappings->areas.len; i++)
		cut += at(&mappings->areas, i)->time_ns < from_ns ||
		       at(&mappings->areas, i)->time_ns >= to_ns;
	if (cut == 0)
		return 0;
	mappings = ep_mappings_own(sharer, mappings->total);
	if (!mappings) {
		ep_mappings_leave(sharer);
		return -ENOMEM;
	}
	for (size_t i = 0; i < mappings->areas.len; i++) {
		struct ep_area area = *at(&mappings->areas, i);

		if (area.time_ns >= from_ns && area.time_ns < to_ns)
			*at(&mappings->areas, kept++) = area;
		else
			ep_file_use_unref(area.use);
	}
	mappings->areas.len = kept;
	has_changed(mappings);
	return 1;
}

/* What it was replaced by may be replaced as well, by what it was before even: after so many nobody knows what it is. */
#define MAX_CHAIN 8

/* EP_AREAS_*, or 0; *ret_by is what it is now, borrowed. */
static int follow(const struct ep_area *area, const struct ep_vec *replacements, uint64_t mount_ns,
		  struct ep_executable **ret_by)
{
	struct ep_executable *by = ep_area_executable(area);
	int found = 0;

	for (int i = 0; i <= MAX_CHAIN && by && by->replacement; i++) {
		const struct ep_replacement *one =
			ep_vec_at(replacements, struct ep_replacement, by->replacement - 1);

		if (area->time_ns < one->since_ns || (one->mount_ns && one->mount_ns != mount_ns))
			break;
		by = i < MAX_CHAIN ? one->executable : NULL;
		found = by ? EP_AREAS_REPLACED : EP_AREAS_LOST;
	}
	*ret_by = by;
	return found;
}

/* Without memory nobody knows what it is, which takes none. */
static int replace(struct ep_mappings *mappings, struct ep_area *area, int found,
		   struct ep_executable *by)
{
	struct ep_file_use *use = ep_file_use_get(mappings, ep_executable_ref(by));

	if (!use)
		return 0;
	ep_file_use_unref(area->use);
	area->use = use;
	return found;
}

int ep_mappings_replace(struct ep_mappings *mappings, const struct ep_vec *replacements,
			uint64_t mount_ns)
{
	struct ep_executable *by;
	struct ep_area *area;
	int found = 0;

	ep_vec_each (&mappings->areas, area) {
		int r = follow(area, replacements, mount_ns, &by);

		if (r != 0)
			r = replace(mappings, area, r, by);
		found = EP_MAX(found, r);
	}
	return found;
}

/* --- questions ------------------------------------------------------------------------------- */

static bool is_pending(const struct ep_area *area)
{
	const struct ep_executable *executable = ep_area_executable(area);

	return executable && executable->state == EP_EXECUTABLE_PENDING;
}

bool ep_mappings_are_pending(struct ep_mappings *mappings)
{
	const struct ep_vec *areas = mappings ? &mappings->areas : NULL;

	if (!areas ||
	    (mappings->pending_at < areas->len && is_pending(at(areas, mappings->pending_at))))
		return areas != NULL;
	for (size_t i = 0; i < areas->len; i++) {
		mappings->pending_at = i;
		if (is_pending(at(areas, i)))
			return true;
	}
	return false;
}

void ep_mappings_hurry(struct ep_mappings *mappings, struct ep_executables *executables)
{
	const struct ep_area *area;

	if (!mappings || mappings->hurried)
		return;
	mappings->hurried = true;
	ep_vec_each (&mappings->areas, area) {
		if (is_pending(area))
			ep_executables_hurry(executables, area->use->executable);
	}
}

size_t ep_areas_behind(const struct ep_vec *areas, uint64_t addr)
{
	return areas->len - find_first(areas, addr);
}

struct ep_area *ep_areas_find(const struct ep_vec *areas, uint64_t addr)
{
	size_t i = find_first(areas, addr);

	return i < areas->len && at(areas, i)->start <= addr ? at(areas, i) : NULL;
}

static bool is_region(const struct ep_area *a, const struct ep_area *b)
{
	return a->end == b->start && is_same_file(a->use, b->use);
}

uint64_t ep_areas_region(const struct ep_vec *areas, uint64_t addr)
{
	const struct ep_area *area = ep_areas_find(areas, addr);

	if (!area)
		return 0;
	for (size_t n = 0; n < MAX_PIECES && area > at(areas, 0) && is_region(area - 1, area); n++)
		area--;
	return area->start;
}
