/* SPDX-License-Identifier: Apache-2.0 */
/* Whose unwind tables stay when memory is short, and who gets them back. */
#include "core/process/executables_internal.h"

#include <fcntl.h>

/* Tables not hit for so much longer than those that are wanted make room for them. */
#define COLD_NS (60 * EP_NS_PER_SEC)

/* True when a's tables should go before b's. */
static bool goes_before(const struct ep_executable *a, const struct ep_executable *b)
{
	if ((a->refs == 0) != (b->refs == 0))
		return a->refs == 0;
	if (a->refs == 0)
		return a->idle_since_ns < b->idle_since_ns;
	return a->hit_ns < b->hit_ns;
}

/* Of one nobody maps, else the one that was hit longest ago; NULL when none has tables. */
static struct ep_executable *find_oldest(struct ep_executables *executables)
{
	struct ep_executable *oldest = NULL;
	struct ep_map_slot *slot;
	size_t pos = 0;

	while ((slot = ep_map_next(&executables->by_id, &pos)) != NULL) {
		struct ep_executable *executable = (struct ep_executable *)(uintptr_t)slot->value;

		if (executable->text && (!oldest || goes_before(executable, oldest)))
			oldest = executable;
	}
	return oldest;
}

static void evict(struct ep_executables *executables, struct ep_executable *executable)
{
	struct ep_delta_store_text *text = ep_take(executable->text);

	executable->state = EP_EXECUTABLE_EVICTED;
	executable->retry_ns = ep_clock_mono_ns() + EP_EXECUTABLE_RETRY_NS;
	executables->changed(executables->arg, executable);
	ep_delta_store_drop_text(executables->store, text);
	executables->stats.evicted++;
}

/* Bytes of idle tables; *ret_oldest is the one that has been idle longest. */
static size_t count_idle(const struct ep_executables *executables, uint64_t now_ns,
			 struct ep_executable **ret_oldest)
{
	struct ep_map_slot *slot;
	size_t pos = 0, bytes = 0;

	*ret_oldest = NULL;
	while ((slot = ep_map_next(&executables->by_id, &pos)) != NULL) {
		struct ep_executable *executable = (struct ep_executable *)(uintptr_t)slot->value;

		if (executable->refs > 0 || !executable->text || now_ns < executable->awaited_ns)
			continue;
		bytes += ep_delta_store_text_bytes(executable->text);
		if (!*ret_oldest || goes_before(executable, *ret_oldest))
			*ret_oldest = executable;
	}
	return bytes;
}

void ep_executables_trim_idle(struct ep_executables *executables, uint64_t now_ns,
			      size_t max_bytes)
{
	struct ep_executable *oldest;

	while (count_idle(executables, now_ns, &oldest) > max_bytes)
		evict(executables, oldest);
}

bool ep_executables_evict_one(struct ep_executables *executables)
{
	struct ep_executable *oldest = find_oldest(executables);

	if (oldest)
		evict(executables, oldest);
	return oldest != NULL;
}

/* The evicted one that was hit last and whose time has come; NULL when there is none. */
static struct ep_executable *find_wanted(struct ep_executables *executables, uint64_t now_ns)
{
	struct ep_executable *wanted = NULL;
	struct ep_map_slot *slot;
	size_t pos = 0;

	while ((slot = ep_map_next(&executables->by_id, &pos)) != NULL) {
		struct ep_executable *executable = (struct ep_executable *)(uintptr_t)slot->value;

		if (executable->state != EP_EXECUTABLE_EVICTED || executable->refs == 0 ||
		    executable->file.fd < 0 || now_ns < executable->retry_ns)
			continue;
		if (!wanted || executable->hit_ns > wanted->hit_ns)
			wanted = executable;
	}
	return wanted;
}

void ep_executables_restore_one(struct ep_executables *executables, uint64_t now_ns)
{
	struct ep_executable *wanted = find_wanted(executables, now_ns), *oldest;
	struct ep_mapping mapping = {.kind = EP_MAPPING_FILE};
	int fd;

	if (!wanted)
		return;
	wanted->retry_ns = now_ns + EP_EXECUTABLE_RETRY_NS;
	oldest = find_oldest(executables);
	if (oldest && oldest->hit_ns + COLD_NS > wanted->hit_ns)
		return; /* everything that has tables is about as much in use */
	if (oldest)
		evict(executables, oldest);
	mapping.path = wanted->path;
	fd = fcntl(wanted->file.fd, F_DUPFD_CLOEXEC, 0);
	if (fd >= 0) /* without one it would be looked for in process 0 */
		(void)ep_executables_analyse(executables, wanted, 0, &mapping, fd);
}
