/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/hints.h"
#include "core/base/clock.h"

#include <string.h>

#include <xxhash.h>

/* With their paths some 4 MB. */
#define MAX_HINTS 16384

void ep_hints_init(struct ep_hints *hints)
{
	ep_map_init(&hints->map, MAX_HINTS);
	TAILQ_INIT(&hints->by_age);
	hints->n = 0;
	hints->seed = ep_clock_mono_ns(); /* paths are chosen by strangers */
}

static void hint_drop(struct ep_hints *hints, struct ep_hint *hint)
{
	ep_map_unlink(&hints->map, &hint->link);
	TAILQ_REMOVE(&hints->by_age, hint, age);
	hints->n--;
	free(hint);
}

void ep_hints_fini(struct ep_hints *hints)
{
	while (hints->n > 0)
		hint_drop(hints, TAILQ_FIRST(&hints->by_age));
	ep_map_fini(&hints->map);
}

struct ep_file_key ep_file_key_of(const struct ep_mapping_event *event, uint64_t mount_ns)
{
	struct ep_file_key key = {.mount_ns = mount_ns};

	if (event->build_id) {
		key.build_id_bytes = (uint32_t)EP_MIN(event->build_id_bytes, sizeof(key.build_id));
		memcpy(key.build_id, event->build_id, key.build_id_bytes);
	} else if (event->has_inode) {
		key.inode = event->inode;
		key.generation = event->inode_generation;
		key.dev_major = event->device_major;
		key.dev_minor = event->device_minor;
	}
	return key;
}

static uint64_t hint_hash(const struct ep_hints *hints, const struct ep_file_key *key,
			  const char *path)
{
	return XXH3_64bits_withSeed(path, strlen(path),
				    XXH3_64bits_withSeed(key, sizeof(*key), hints->seed));
}

struct ep_hint *ep_hints_find(const struct ep_hints *hints, const struct ep_file_key *key,
			      const char *path)
{
	struct ep_map_link *link = ep_map_chain(&hints->map, hint_hash(hints, key, path));

	for (; link; link = link->next) {
		struct ep_hint *hint = EP_CONTAINER(link, struct ep_hint, link);

		if (memcmp(&hint->key, key, sizeof(*key)) == 0 && strcmp(hint->path, path) == 0)
			return hint;
	}
	return NULL;
}

struct ep_hint *ep_hints_get(struct ep_hints *hints, const struct ep_file_key *key,
			     const char *path)
{
	struct ep_hint *hint = ep_hints_find(hints, key, path);
	size_t bytes = strlen(path) + 1;

	if (hint || !key->mount_ns || (!key->inode && !key->build_id_bytes))
		return hint;
	if (hints->n == MAX_HINTS)
		hint_drop(hints, TAILQ_FIRST(&hints->by_age));
	hint = calloc(1, sizeof(*hint) + bytes);
	if (!hint)
		return NULL;
	hint->key = *key;
	memcpy(hint->path, path, bytes);
	if (ep_map_link(&hints->map, hint_hash(hints, key, path), &hint->link) < 0) {
		free(hint);
		return NULL;
	}
	TAILQ_INSERT_TAIL(&hints->by_age, hint, age);
	hints->n++;
	return hint;
}

void ep_hint_confirm(struct ep_hints *hints, struct ep_hint *hint, uint32_t executable,
		     uint64_t time_ns)
{
	if (hint->executable && hint->executable != executable)
		hint->other = hint->executable;
	hint->executable = executable;
	hint->looked_ns = EP_MAX(hint->looked_ns, time_ns);
	TAILQ_REMOVE(&hints->by_age, hint, age);
	TAILQ_INSERT_TAIL(&hints->by_age, hint, age);
}
