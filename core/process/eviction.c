/* SPDX-License-Identifier: Apache-2.0 */
/* Whose unwind tables stay when memory is short, and who gets them back. */
#include "core/process/executables_internal.h"
#include "core/proc/copies.h"

#include <fcntl.h>

/* Tables not hit for so much longer than those that are wanted make space for them. */
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

/* Who should lose its tables first, of all executables, and who should get them back. */
struct survey {
	struct ep_executable *oldest; /* with tables: nobody maps it, else hit longest ago */
	struct ep_executable *wanted; /* evicted, may be tried again: hit last */
	size_t idle_bytes;	      /* of tables that nobody maps or waits for */
	uint64_t idle_ns;	      /* of those the longest */
};

static bool is_idle(const struct ep_executable *executable, uint64_t now_ns)
{
	return executable->text && executable->refs == 0 && now_ns >= executable->awaited_ns;
}

static uint64_t idle_ns_of(const struct ep_executable *executable, uint64_t now_ns)
{
	return now_ns - EP_MIN(now_ns, executable->idle_since_ns);
}

static struct survey look_at_all(const struct ep_executables *executables, uint64_t now_ns)
{
	struct survey survey = {0};
	struct ep_executable *executable;

	ep_map_each (&executables->by_id, executable) {
		if (executable->text &&
		    (!survey.oldest || goes_before(executable, survey.oldest)))
			survey.oldest = executable;
		if (is_idle(executable, now_ns)) {
			survey.idle_bytes += ep_delta_store_text_bytes(executable->text);
			survey.idle_ns = EP_MAX(survey.idle_ns, idle_ns_of(executable, now_ns));
		}
		if (executable->state == EP_EXECUTABLE_EVICTED && executable->refs > 0 &&
		    executable->file.fd >= 0 && now_ns >= executable->retry_ns &&
		    (!survey.wanted || executable->hit_ns > survey.wanted->hit_ns))
			survey.wanted = executable;
	}
	return survey;
}

static void drop_tables(struct ep_executables *executables, struct ep_executable *executable)
{
	struct ep_delta_store_text *text = ep_take(executable->text);

	ep_text_parts_drop(&executable->parts);
	executable->state = EP_EXECUTABLE_EVICTED;
	executable->retry_ns = ep_clock_mono_ns() + EP_EXECUTABLE_RETRY_NS;
	executables->changed(executables->arg, executable);
	ep_delta_store_drop_text(executables->store, text);
}

static void evict(struct ep_executables *executables, struct ep_executable *executable)
{
	drop_tables(executables, executable);
	executables->stats.evicted++;
}

/*
 * There may be as many as there are executables: a look at all of them is for those that are idle for more than half as
 * long as the one that is idle longest.
 */
void ep_executables_trim_idle(struct ep_executables *executables, uint64_t now_ns, uint64_t max_idle_ns,
			      size_t max_bytes)
{
	struct ep_executable *executable;
	struct survey survey;

	ep_map_each (&executables->by_id, executable) {
		if (!is_idle(executable, now_ns) || idle_ns_of(executable, now_ns) < max_idle_ns)
			continue;
		drop_tables(executables, executable);
		executables->stats.aged++;
	}
	while ((survey = look_at_all(executables, now_ns)).idle_bytes > max_bytes) {
		ep_map_each (&executables->by_id, executable) {
			if (!is_idle(executable, now_ns) || idle_ns_of(executable, now_ns) < survey.idle_ns / 2 ||
			    survey.idle_bytes <= max_bytes)
				continue;
			survey.idle_bytes -= EP_MIN(survey.idle_bytes, ep_delta_store_text_bytes(executable->text));
			evict(executables, executable);
		}
	}
}

bool ep_executables_evict_one(struct ep_executables *executables)
{
	struct ep_executable *oldest = look_at_all(executables, ep_clock_mono_ns()).oldest;

	if (oldest)
		evict(executables, oldest);
	return oldest != NULL;
}

void ep_executables_restore_one(struct ep_executables *executables, uint64_t now_ns)
{
	struct survey survey = look_at_all(executables, now_ns);
	struct ep_executable *wanted = survey.wanted;
	struct ep_mapping mapping = {.kind = EP_MAPPING_FILE};
	int fd;

	if (!wanted)
		return;
	wanted->retry_ns = now_ns + EP_EXECUTABLE_RETRY_NS;
	if (survey.oldest && survey.oldest->hit_ns + COLD_NS > wanted->hit_ns)
		return; /* everything that has tables is about as much in use */
	fd = fcntl(wanted->file.fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return; /* nothing goes for tables that cannot be built */
	ep_copies_move(wanted->file.fd, fd);
	if (survey.oldest)
		evict(executables, survey.oldest);
	mapping.path = wanted->path;
	(void)ep_executables_analyse(executables, wanted, wanted->pid, &mapping, fd);
}
