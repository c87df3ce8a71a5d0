/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/places.h"
#include "bpf/shared.h"

#include <errno.h>

#define MAX_ANONYMOUS 1024

static struct ep_place_in_memory *at(const struct ep_vec *places, size_t i)
{
	return ep_vec_at(places, struct ep_place_in_memory, i);
}

void ep_places_init(struct ep_vec *places)
{
	ep_vec_init(places, sizeof(struct ep_place_in_memory), EP_MAX_MAPPINGS_READ);
}

void ep_places_clear(struct ep_vec *places, struct ep_executables *executables)
{
	for (size_t i = 0; i < places->len; i++)
		ep_executables_unref(executables, at(places, i)->executable);
	ep_vec_fini(places);
}

int ep_places_copy(struct ep_vec *to, const struct ep_vec *from)
{
	int r = ep_vec_append(to, from->data, from->len);

	for (size_t i = 0; r == 0 && i < to->len; i++) {
		if (at(to, i)->executable)
			at(to, i)->executable->refs++;
	}
	return r;
}

void ep_places_drop_older(struct ep_vec *places, struct ep_executables *executables,
			  uint64_t time_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < places->len; i++) {
		struct ep_place_in_memory place = *at(places, i);

		if (place.time_ns < time_ns)
			ep_executables_unref(executables, place.executable);
		else
			*at(places, kept++) = place;
	}
	places->len = kept;
}

/*
 * Cuts [start, end) out. A place around all of it keeps its lower part only: the upper one would
 * need a second entry, and is found again when it is sampled.
 */
static void cut(struct ep_vec *places, struct ep_executables *executables, uint64_t start,
		uint64_t end)
{
	size_t kept = 0;

	for (size_t i = 0; i < places->len; i++) {
		struct ep_place_in_memory place = *at(places, i);

		if (place.start >= start && place.end <= end) {
			ep_executables_unref(executables, place.executable);
			continue;
		}
		if (place.start < start && place.end > start) {
			place.end = start;
		} else if (place.start < end && place.end > end) {
			place.file_off += end - place.start;
			place.start = end;
		}
		*at(places, kept++) = place;
	}
	places->len = kept;
}

int ep_places_insert(struct ep_vec *places, struct ep_executables *executables,
		     struct ep_place_in_memory place)
{
	size_t i;

	if (place.end <= place.start) {
		ep_executables_unref(executables, place.executable);
		return -EINVAL;
	}
	cut(places, executables, place.start, place.end);
	if (!ep_vec_push(places)) {
		ep_executables_unref(executables, place.executable);
		return -ENOMEM;
	}
	for (i = places->len - 1; i > 0 && at(places, i - 1)->start > place.start; i--)
		*at(places, i) = *at(places, i - 1);
	*at(places, i) = place;
	return 0;
}

void ep_places_coarsen(struct ep_vec *places)
{
	size_t anonymous = 0, kept = 0;

	for (size_t i = 0; i < places->len; i++)
		anonymous += !at(places, i)->executable;
	if (anonymous <= MAX_ANONYMOUS)
		return;
	for (size_t i = 0; i < places->len; i++) {
		struct ep_place_in_memory place = *at(places, i);

		if (kept > 0 && !place.executable && !at(places, kept - 1)->executable)
			at(places, kept - 1)->end = place.end;
		else
			*at(places, kept++) = place;
	}
	places->len = kept;
}

bool ep_places_are_pending(const struct ep_vec *places)
{
	for (size_t i = 0; i < places->len; i++) {
		const struct ep_executable *executable = at(places, i)->executable;

		if (executable && executable->state == EP_EXECUTABLE_PENDING)
			return true;
	}
	return false;
}

void ep_places_hurry(const struct ep_vec *places, struct ep_executables *executables)
{
	for (size_t i = 0; i < places->len; i++) {
		const struct ep_executable *executable = at(places, i)->executable;

		if (executable && executable->state == EP_EXECUTABLE_PENDING)
			ep_executables_hurry(executables, executable);
	}
}

bool ep_places_have(const struct ep_vec *places, const struct ep_executable *executable)
{
	for (size_t i = 0; i < places->len; i++) {
		if (at(places, i)->executable == executable)
			return true;
	}
	return false;
}

const struct ep_place_in_memory *ep_places_find(const struct ep_vec *places, uint64_t addr)
{
	for (size_t i = 0; i < places->len; i++) {
		if (addr >= at(places, i)->start && addr < at(places, i)->end)
			return at(places, i);
	}
	return NULL;
}
