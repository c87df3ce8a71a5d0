/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list by use, which a handful are in. What was taken from the list lives on as long as somebody
 * reads it. Nobody can give another one's process false lines: only bytes that are equal are
 * shared, whatever id they say that they have.
 */
#include "plugins/dotnet/symbolize/plain.h"

#include "core/base/util.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	struct dotnet_plain plain; /* the first member: what is given */
	struct entry *older;
	uint64_t used_ns;
	uint32_t refs;
	bool in; /* the list */
};

/* Of the whole program: the bound is one for all processes, and they share what is the same. */
static struct {
	pthread_mutex_t lock;
	struct entry *newest;
	size_t bytes; /* of all, also of those that are read but in the list no more */
	uint64_t last_number;
	uint32_t n_users;
} store = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* It is in no list, and nobody reads it. */
static void free_unused(struct entry *entry)
{
	if (entry->in || entry->refs)
		return;
	store.bytes -= entry->plain.n;
	free((void *)entry->plain.bytes);
	free(entry);
}

static struct entry *take_out(struct entry **link)
{
	struct entry *entry = *link;

	*link = entry->older;
	entry->in = false;
	return entry;
}

static void put_first(struct entry *entry, uint64_t now_ns)
{
	entry->older = store.newest;
	entry->used_ns = now_ns;
	entry->in = true;
	store.newest = entry;
}

/* What is beyond the bound, and what is old, goes. */
static void tidy(uint64_t now_ns, size_t max_bytes)
{
	struct entry **link = &store.newest;
	size_t bytes = 0;

	while (*link) {
		bytes += (*link)->plain.n;
		if (bytes <= max_bytes && now_ns <= (*link)->used_ns + DOTNET_PLAIN_STAY_NS)
			link = &(*link)->older;
		else
			free_unused(take_out(link));
	}
}

void dotnet_plain_enter(void)
{
	pthread_mutex_lock(&store.lock);
	store.n_users++;
	pthread_mutex_unlock(&store.lock);
}

void dotnet_plain_leave(void)
{
	pthread_mutex_lock(&store.lock);
	store.n_users--;
	while (!store.n_users && store.newest)
		free_unused(take_out(&store.newest));
	pthread_mutex_unlock(&store.lock);
}

/* By its number, or what has the same bytes. */
static struct entry *use(uint64_t number, const uint8_t *bytes, uint32_t n, uint64_t now_ns)
{
	for (struct entry **link = &store.newest; *link; link = &(*link)->older) {
		struct entry *entry = *link;

		if (bytes ? entry->plain.n == n && memcmp(entry->plain.bytes, bytes, n) == 0
			  : entry->plain.number == number) {
			put_first(take_out(link), now_ns);
			entry->refs++;
			return entry;
		}
	}
	return NULL;
}

const struct dotnet_plain *dotnet_plain_get(uint64_t number, uint64_t now_ns)
{
	struct entry *entry;

	pthread_mutex_lock(&store.lock);
	entry = use(number, NULL, 0, now_ns);
	tidy(now_ns, DOTNET_PLAIN_BYTES);
	pthread_mutex_unlock(&store.lock);
	return entry ? &entry->plain : NULL;
}

const struct dotnet_plain *dotnet_plain_put(uint8_t *bytes, uint32_t n, uint64_t now_ns)
{
	struct entry *made = calloc(1, sizeof(*made)), *entry;

	if (!made) {
		free(bytes);
		return NULL;
	}
	pthread_mutex_lock(&store.lock);
	entry = use(0, bytes, n, now_ns);
	if (!entry) {
		*made = (struct entry){.plain = {bytes, n, ++store.last_number}, .refs = 1};
		store.bytes += n;
		put_first(made, now_ns);
	}
	tidy(now_ns, DOTNET_PLAIN_BYTES);
	pthread_mutex_unlock(&store.lock);
	if (!entry)
		return &made->plain;
	free(bytes);
	free(made);
	return &entry->plain;
}

void dotnet_plain_unref(const struct dotnet_plain *plain)
{
	struct entry *entry = (struct entry *)plain;

	if (!plain)
		return;
	pthread_mutex_lock(&store.lock);
	entry->refs--;
	free_unused(entry);
	pthread_mutex_unlock(&store.lock);
}

size_t dotnet_plain_total(void)
{
	size_t bytes;

	pthread_mutex_lock(&store.lock);
	bytes = store.bytes;
	pthread_mutex_unlock(&store.lock);
	return bytes;
}
