/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/file_cache.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/proc/maps.h"

#include <stdio.h>
#include <string.h>

#include <xxhash.h>

/* With their paths some 4 MB. */
#define MAX_ENTRIES 16384

static void on_look(void *arg, struct ep_file_look *look);

void ep_file_cache_init(struct ep_file_cache *cache, struct uv_loop_s *loop, struct ep_timer *timer)
{
	ep_map_init(&cache->map, MAX_ENTRIES);
	TAILQ_INIT(&cache->by_age);
	cache->seed = ep_clock_mono_ns(); /* paths are chosen by strangers */
	ep_file_looks_init(&cache->looks, loop, timer, on_look, cache);
}

static void drop(struct ep_file_cache *cache, struct ep_file_entry *entry)
{
	ep_map_unlink(&cache->map, &entry->link);
	TAILQ_REMOVE(&cache->by_age, entry, age);
	cache->n--;
	free(entry);
}

void ep_file_cache_fini(struct ep_file_cache *cache)
{
	while (cache->n > 0)
		drop(cache, TAILQ_FIRST(&cache->by_age));
	ep_map_fini(&cache->map);
}

/* --- entries --------------------------------------------------------------------------------- */

static uint64_t hash_of(const struct ep_file_cache *cache, const struct ep_file_key *key,
			const char *path)
{
	return XXH3_64bits_withSeed(path, strlen(path),
				    XXH3_64bits_withSeed(key, sizeof(*key), cache->seed));
}

static struct ep_file_entry *find(const struct ep_file_cache *cache, const struct ep_file_key *key,
				  const char *path)
{
	struct ep_map_link *link = ep_map_chain(&cache->map, hash_of(cache, key, path));

	for (; link; link = link->next) {
		struct ep_file_entry *entry = EP_CONTAINER(link, struct ep_file_entry, link);

		if (memcmp(&entry->key, key, sizeof(*key)) == 0 && strcmp(entry->path, path) == 0)
			return entry;
	}
	return NULL;
}

const struct ep_file_entry *ep_file_cache_find(const struct ep_file_cache *cache,
					       const struct ep_file_key *key, const char *path)
{
	return find(cache, key, path);
}

/*
 * Made if there is none. NULL: no memory, or the namespace or the file's identity is unknown: it is
 * never shared.
 */
static struct ep_file_entry *find_or_add(struct ep_file_cache *cache, const struct ep_file_key *key,
					 const char *path)
{
	struct ep_file_entry *entry = find(cache, key, path);
	size_t bytes = strlen(path) + 1;

	if (entry || !key->mount_ns || (!key->inode && !key->build_id_bytes))
		return entry;
	if (cache->n == MAX_ENTRIES)
		drop(cache, TAILQ_FIRST(&cache->by_age));
	entry = calloc(1, sizeof(*entry) + bytes);
	if (!entry)
		return NULL;
	entry->key = *key;
	memcpy(entry->path, path, bytes);
	if (ep_map_link(&cache->map, hash_of(cache, key, path), &entry->link) < 0) {
		free(entry);
		return NULL;
	}
	TAILQ_INSERT_TAIL(&cache->by_age, entry, age);
	cache->n++;
	return entry;
}

/* Processes that give the same hint map different files: each mapping takes a look. */
static bool is_contested(const struct ep_file_cache *cache, const struct ep_file_entry *entry)
{
	return entry->other && ep_executables_find(cache->executables, entry->other);
}

/* --- what a record means --------------------------------------------------------------------- */

/* In its own root, and those of the processes it was forked from: one may be there still. */
static int look_at(struct ep_file_cache *cache, const struct ep_process *process,
		   const struct ep_mapping_event *event, const struct ep_file_key *key,
		   const struct ep_file_entry *entry, uint64_t due_ns,
		   struct ep_file_look **ret_look)
{
	const struct ep_executable *known =
		entry ? ep_executables_find(cache->executables, entry->executable) : NULL;
	struct ep_file_look asked = {
		.program = process->program,
		.addr = event->addr,
		.end = event->addr + event->bytes,
		.time_ns = event->time_ns,
		.key = *key,
		.mount_ns = process->mount_inode,
	};
	const struct ep_process *from = process;

	if (known)
		asked.known = known->file;
	for (size_t n = 0; from && n < EP_FILE_MAX_ROOTS; n++) {
		asked.roots[n] = from->program;
		from = from->born_from.pid ? ep_table_find(cache->table, from->born_from) : NULL;
	}
	snprintf(asked.path, sizeof(asked.path), "%s", event->name);
	return ep_file_looks_add(&cache->looks, &asked, due_ns, ret_look);
}

struct ep_file_use *ep_file_cache_get(struct ep_file_cache *cache, const struct ep_process *process,
				      struct ep_mappings *mappings,
				      const struct ep_mapping_event *event)
{
	struct ep_file_key key = ep_file_key_of(event, process->mount_ns);
	struct ep_file_entry *entry = find(cache, &key, event->name);
	struct ep_executable *executable = NULL;
	struct ep_file_look *look;
	struct ep_file_use *use;

	if (entry && event->time_ns <= entry->looked_ns + EP_FILE_FRESH_NS &&
	    !is_contested(cache, entry))
		executable = ep_executables_get_current(cache->executables, entry->executable);
	if (executable) { /* it is trusted, and looked at when the second is over */
		if (!entry->is_due)
			entry->is_due = look_at(cache, process, event, &key, entry,
						entry->looked_ns + EP_FILE_FRESH_NS, &look) == 0;
		return ep_file_use_get(mappings, executable);
	}
	if (look_at(cache, process, event, &key, entry, 0, &look) < 0)
		return NULL;
	use = LIST_FIRST(&look->waiters);
	if (use && use->mappings == mappings) {
		use->refs++;
		return use;
	}
	use = ep_file_use_get(mappings, NULL);
	if (use)
		ep_file_use_wait(use, look, &look->waiters);
	return use;
}

/* --- what a look has found ------------------------------------------------------------------- */

static void confirm(struct ep_file_cache *cache, struct ep_file_entry *entry, uint32_t executable,
		    uint64_t time_ns)
{
	if (entry->executable && entry->executable != executable)
		entry->other = entry->executable;
	entry->executable = executable;
	entry->looked_ns = EP_MAX(entry->looked_ns, time_ns);
	TAILQ_REMOVE(&cache->by_age, entry, age);
	TAILQ_INSERT_TAIL(&cache->by_age, entry, age);
}

/*
 * A running process still maps something, even when the file that the record named is gone: it is
 * read. For a process that has ended, the build id decides, if it was seen under the same path in
 * the same namespace.
 */
static struct ep_executable *do_without(struct ep_file_cache *cache,
					const struct ep_file_look *look,
					const struct ep_file_entry *entry)
{
	const struct ep_process *process =
		ep_table_find_live(cache->table, (pid_t)look->program.pid);

	ep_log(EP_LOG_DEBUG, "processes: pid %u: %s: %s", look->program.pid, look->path,
	       ep_strerror(look->result));
	if (process && ep_process_is(process, look->program))
		return NULL;
	if (!entry || !entry->key.build_id_bytes || is_contested(cache, entry))
		return NULL;
	return ep_executables_get_current(cache->executables, entry->executable);
}

/* Where it names another file now, who was trusted since the last look is informed. */
static void take_found(struct ep_file_cache *cache, const struct ep_file_look *look,
		       struct ep_file_entry *entry, const struct ep_executable *executable)
{
	struct ep_executable *believed =
		ep_executables_find_current(cache->executables, entry->executable);
	uint32_t id = believed ? believed->id : 0;

	/*
	 * One file in two views, as something was mounted there meanwhile: those who have the other
	 * one keep it.
	 */
	if (believed && ep_proc_file_has_same_bytes(&believed->file, &executable->file))
		id = executable->id;
	entry->executable = id;
	if (believed && id != executable->id && !is_contested(cache, entry))
		cache->replaced(cache->arg,
				&(struct ep_replacement){.old = believed,
							 .mount_ns = entry->key.mount_ns,
							 .since_ns = entry->looked_ns});
	confirm(cache, entry, executable->id, look->looked_ns);
}

/*
 * What was found in a process that does not speak for the record's mount namespace is that
 * process's own, and no hint for others.
 */
static void on_look(void *arg, struct ep_file_look *look)
{
	struct ep_file_cache *cache = arg;
	struct ep_mapping mapping = {.kind = EP_MAPPING_FILE, .path = look->path};
	struct ep_executable *executable;
	struct ep_file_entry *entry;

	if (cache->looks.stopped)
		return;
	entry = find_or_add(cache, &look->key, look->path);
	if (entry)
		entry->is_due = false;
	if (look->result < 0)
		executable = do_without(cache, look, entry);
	else
		executable = ep_executables_get(cache->executables, look->root, &mapping,
						&look->file, look->looked_ns);
	if (look->result == 0 && entry && executable && look->counts)
		take_found(cache, look, entry, executable);
	cache->found(cache->arg, look, executable);
	ep_executable_unref(executable);
}
