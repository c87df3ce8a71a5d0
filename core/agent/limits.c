/* SPDX-License-Identifier: Apache-2.0 */
/* Memory and descriptors: how much the session may hold, and what goes when that is too little. */
#include "core/agent/session_internal.h"
#include "core/base/clock.h"
#include "core/bpf/programs.h"
#include "core/proc/copies.h"
#include "core/process/executables.h"
#include "core/language/languages.h"
#include "core/process/processes.h"
#include "core/unwind/delta_store.h"

#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#define MAX_EVICTED 64 /* tables at once */
/* A quarter of the limit may be tables of programs that do not run, for when they come back. */
#define IDLE_SHARE 4
/* And for so long: a compiler comes back at once, a job that runs each hour is analysed anew. */
#define IDLE_NS (180 * EP_NS_PER_SEC)
/* When memory is short, a language forgets what it remembers of processes that are so long idle. */
#define LANGUAGE_IDLE_NS (10 * EP_NS_PER_SEC)
/*
 * So much of it may always be held for files that are read, as tables of others make space for it.
 */
#define FILES_SHARE 8
/* Between two looks at what there is, programs are loaded and names are kept. */
#define RESERVE_SHARE 16
/* Descriptors: 128 for names, 128 for files that are looked at, the others for exporters and languages. */
#define RESERVED_FILES 448
#define LEAST_FILES    64
/* The heap is looked through for pages that nobody uses each minute, if so much of it is free. */
#define TRIM_TICKS 120
#define TRIM_BYTES ((size_t)1 << 20)

/* proc(5), statm: pages in all, and those in memory. 0: nobody knows. */
static size_t resident_bytes(void)
{
	unsigned long long all, resident;
	FILE *file = fopen("/proc/self/statm", "re");
	size_t bytes = 0;

	if (file && fscanf(file, "%llu %llu", &all, &resident) == 2)
		bytes = (size_t)resident * (size_t)getpagesize();
	if (file)
		fclose(file);
	return bytes;
}

/*
 * What is left of the limit may be held for files that are read. What of that is heap counts twice meanwhile. What
 * is in memory may be more than heap and BPF memory: libraries, and what was freed and not given back. Copies of
 * files are held, and in neither.
 */
void ep_session_share_memory(struct ep_session *session)
{
	struct ep_memory memory = ep_session_memory(session);
	size_t copies = (size_t)ep_copies_bytes(), used = atomic_load(&session->files.used);
	size_t held = used - EP_MIN(used, copies), resident = resident_bytes();
	size_t limit = session->options.memory_bytes;
	size_t bytes = EP_MAX(memory.heap_bytes + memory.bpf_bytes, resident - EP_MIN(resident, held));

	bytes += limit / RESERVE_SHARE;
	atomic_store(&session->files.limit, EP_MAX(limit - EP_MIN(limit, bytes), limit / FILES_SHARE));
}

/*
 * Tables that were hit longest ago go until memory will be within its limit again: the kernel gets
 * it back when it has waited.
 */
void ep_session_keep_limit(struct ep_session *session)
{
	struct ep_memory memory = ep_session_memory(session);
	size_t bytes = memory.heap_bytes + memory.bpf_bytes, limit = session->options.memory_bytes;
	size_t used = ep_delta_store_used_bytes(session->deltas);
	struct ep_executables *executables = ep_processes_executables(session->processes);

	ep_executables_trim_idle(executables, ep_clock_mono_ns(), IDLE_NS, limit / IDLE_SHARE);
	if (bytes > limit)
		ep_languages_rest(session->languages, ep_clock_mono_ns(), LANGUAGE_IDLE_NS);
	for (unsigned int i = 0; i < MAX_EVICTED; i++) {
		size_t freed = used - EP_MIN(used, ep_delta_store_used_bytes(session->deltas));

		if (bytes - EP_MIN(bytes, freed) <= limit ||
		    !ep_executables_evict_one(executables))
			return;
	}
}

/*
 * The frame table grows with the memory limit. A frame takes some 80 bytes, so a full table is a
 * third of the limit; one program has half of it at most.
 */
struct ep_store_limits ep_session_store_limits(size_t memory_bytes)
{
	size_t memory = EP_MIN(EP_MAX(memory_bytes, (size_t)32 << 20), (size_t)128 << 20);

	return (struct ep_store_limits){
		.max_frames = (uint32_t)(memory / 256),
		.max_string_bytes = memory / 8,
		.max_line_bytes = memory / 4,
	};
}

/*
 * What is freed of the heap lies between what is used, and glibc gives the system only its end. That takes a
 * millisecond or some: a worker's.
 */
static void trim_heap(void)
{
	if (mallinfo2().fordblks >= TRIM_BYTES)
		(void)malloc_trim(0);
}

static void collect_work(void *arg)
{
	struct ep_session *session = arg;

	ep_delta_store_collect(session->deltas);
	if (session->trimming)
		trim_heap();
}

static void collect_after(void *arg)
{
	struct ep_session *session = arg;

	session->collecting = false;
}

void ep_session_collect(struct ep_session *session)
{
	if (session->collecting)
		return;
	ep_processes_compact(session->processes);
	session->trimming = session->ticks % TRIM_TICKS == 0;
	if (session->trimming || ep_delta_store_has_freed(session->deltas))
		session->collecting = ep_job_run(session->options.loop, collect_work,
						 collect_after, session) == 0;
}

/* An executable's file stays open while it is mapped: the usual 1024 may not be enough. */
void ep_session_raise_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = EP_MIN(limit.rlim_max, (rlim_t)65536);
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static size_t count_open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

/* What is open by now, with a reserve for exporters, languages, names and questions, is not for executables. */
size_t ep_session_max_files(void)
{
	size_t open = count_open_files() + RESERVED_FILES;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur < open + LEAST_FILES)
		return LEAST_FILES;
	return (size_t)limit.rlim_cur - open;
}
