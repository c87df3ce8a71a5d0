/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/hotspot/layout_strings.h"

#include "core/base/util.h"
#include "plugins/shared/read/file.h"
#include "plugins/shared/search.h"

#include <stdlib.h>
#include <string.h>

#define MAX_RODATA (32u << 20) /* a libjvm.so of today has 1 MiB of it */
#define MAX_PLACES 16384
#define TAIL	   4 /* bytes of a name's end that are hashed: none is shorter */
#define N_BUCKETS  1024u

struct finder {
	const char *const *names;
	struct hotspot_places *places;
	uint16_t buckets[N_BUCKETS]; /* by the last bytes */
	struct {
		size_t len;
		uint16_t next;
	} chains[]; /* of each name */
};

static uint32_t tail_bucket(const char *end)
{
	uint32_t tail;

	memcpy(&tail, end - TAIL, sizeof(tail));
	return (tail * 0x9e3779b1u) >> 22;
}
_Static_assert(N_BUCKETS == 1u << 10, "ten bits");

static struct finder *finder_new(const char *const *names, size_t n_names,
				 struct hotspot_places *places)
{
	struct finder *finder = calloc(1, sizeof(*finder) + n_names * sizeof(*finder->chains));

	if (!finder)
		return NULL;
	finder->names = names;
	finder->places = places;
	memset(finder->buckets, 0xff, sizeof(finder->buckets));
	for (size_t i = 0; i < n_names; i++) {
		size_t len = strlen(names[i]);
		uint16_t *bucket;

		if (len < TAIL)
			continue; /* no field has so short a name */
		bucket = &finder->buckets[tail_bucket(names[i] + len)];
		finder->chains[i].len = len;
		finder->chains[i].next = *bucket;
		*bucket = (uint16_t)i;
	}
	return finder;
}

/* The names that the text of `len` bytes before `end` ends with. False: too many places. */
static bool add_places(struct finder *finder, const char *bytes, const char *end, size_t len)
{
	struct hotspot_places *places = finder->places;
	uint16_t i = len < TAIL ? HOTSPOT_NO_NAME : finder->buckets[tail_bucket(end)];

	for (; i != HOTSPOT_NO_NAME; i = finder->chains[i].next) {
		size_t name_len = finder->chains[i].len;

		if (name_len > len || memcmp(end - name_len, finder->names[i], name_len) != 0)
			continue;
		if (places->n == MAX_PLACES)
			return false;
		places->list[places->n++] = (struct hotspot_place){
			.off = (uint32_t)(end - name_len - bytes),
			.name = i,
		};
	}
	return true;
}

static bool add_all_places(struct finder *finder, const char *bytes, size_t size)
{
	const char *at = bytes, *end = bytes + size, *nul;

	for (; at < end && (nul = memchr(at, 0, (size_t)(end - at))); at = nul + 1) {
		if (nul != at && !add_places(finder, bytes, nul, (size_t)(nul - at)))
			return false;
	}
	return true;
}

static int compare_places(const void *a, const void *b)
{
	const struct hotspot_place *x = a, *y = b;

	return x->off < y->off ? -1 : x->off > y->off;
}

void hotspot_places_find(const struct ep_unwinder_host *host, const struct ep_file *file,
			 const char *const *names, size_t n_names, struct hotspot_places *ret)
{
	struct hotspot_places places = {.list = malloc(MAX_PLACES * sizeof(*places.list))};
	ep_autofree struct finder *finder = finder_new(names, n_names, &places);
	ep_autofree char *bytes = NULL;
	struct ep_symbol section;

	if (finder && places.list && host->file_section(file, ".rodata", &section) == 0 &&
	    section.bytes > 0 && section.bytes <= MAX_RODATA)
		bytes = malloc(section.bytes);
	if (!bytes || file_read_long(host, file, section.va, bytes, section.bytes) < 0 ||
	    !add_all_places(finder, bytes, section.bytes) || places.n == 0) {
		hotspot_places_fini(&places);
	} else {
		struct hotspot_place *less = realloc(places.list, places.n * sizeof(*less));

		places.list = less ? less : places.list;
		places.rodata = section;
		qsort(places.list, places.n, sizeof(*places.list), compare_places);
	}
	*ret = places;
}

void hotspot_places_fini(struct hotspot_places *places)
{
	free(places->list);
	*places = (struct hotspot_places){0};
}

bool hotspot_places_know(const struct hotspot_places *places, uint64_t va, uint16_t *ret)
{
	uint64_t off = va - places->rodata.va;
	const struct hotspot_place *list = places->list;
	size_t at;

	if (off >= places->rodata.bytes)
		return false;
	at = search_sorted(places->n, i, list[i].off < off);
	*ret = at < places->n && list[at].off == off ? list[at].name : HOTSPOT_NO_NAME;
	return true;
}
