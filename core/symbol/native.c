/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An entry is BUILDING while one thread makes its table without the lock, then READY or FAILED.
 * `refs` counts the threads that use or wait for it. An entry that left the cache (evicted,
 * forgotten, failed) is freed by the last of them.
 *
 * An executable that has a function table of its own (functions.h) is asked by that. Its symbols
 * are another entry, made when there is an address that the table knows nothing of, C code mostly.
 */
#include "core/symbol/native.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/map.h"
#include "core/elf/debug_file.h"
#include "core/symbol/aliases.h"
#include "core/symbol/demangle.h"
#include "core/symbol/described.h"
#include "core/symbol/functions.h"
#include "core/symbol/starts.h"
#include "core/symbol/symtab.h"
#include "core/trace/lines.h"
#include "ebpf-profiler/unwinder.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <sys/queue.h>

#define MAX_ENTRIES ((size_t)65536)
#define MAX_FDS	    128 /* of tables whose names stay in files; the usual soft limit is 1024 */
#define NOT_FOUND   1	/* outcome: no function there */
#define SYMBOLS_KEY (1ull << 63) /* in the key of an entry: the symbols beside a function table */

enum entry_state {
	ENTRY_BUILDING,
	ENTRY_READY,
	ENTRY_FAILED,
};

struct entry {
	TAILQ_ENTRY(entry) lru;
	uint64_t key;
	uint64_t used_ns;
	struct ep_functions *functions; /* NULL: no such table; else the two below are */
	struct ep_symtab *symtab; /* NULL: the executable has no symbols */
	struct ep_starts *starts; /* of nameless functions; NULL: it has names, or no such table */
	size_t bytes;
	size_t fds;
	unsigned int refs;
	enum entry_state state;
	int error;   /* when FAILED */
	bool cached; /* in the map and in the list */
};

struct ep_native_symbols {
	pthread_mutex_t lock;
	pthread_cond_t changed;		   /* an entry is no longer BUILDING */
	struct ep_map entries;		   /* key to struct entry * */
	TAILQ_HEAD(entry_list, entry) lru; /* most recently used first */
	size_t bytes;
	size_t fds;
	size_t max_bytes;
	struct ep_memory_budget *memory;
	atomic_bool stopped;
};

/* ---- entries, all under the lock ---- */

static void entry_free(struct entry *entry)
{
	ep_functions_close(entry->functions);
	ep_symtab_free(entry->symtab);
	ep_starts_free(entry->starts);
	free(entry);
}

static void entry_uncache(struct ep_native_symbols *symbols, struct entry *entry)
{
	ep_map_remove(&symbols->entries, entry->key);
	TAILQ_REMOVE(&symbols->lru, entry, lru);
	symbols->bytes -= entry->bytes;
	symbols->fds -= entry->fds;
	entry->cached = false;
	if (!entry->refs)
		entry_free(entry);
}

static void entry_unref(struct entry *entry)
{
	if (--entry->refs == 0 && !entry->cached)
		entry_free(entry);
}

static bool is_over_limit(const struct ep_native_symbols *symbols)
{
	return symbols->bytes > symbols->max_bytes || symbols->fds > MAX_FDS ||
	       symbols->entries.len >= MAX_ENTRIES;
}

static void evict(struct ep_native_symbols *symbols)
{
	struct entry *entry = TAILQ_LAST(&symbols->lru, entry_list), *previous;

	for (; entry && is_over_limit(symbols); entry = previous) {
		previous = TAILQ_PREV(entry, entry_list, lru);
		if (entry->state != ENTRY_BUILDING)
			entry_uncache(symbols, entry);
	}
}

/* A new BUILDING entry with one reference, or NULL: no memory. */
static struct entry *entry_add(struct ep_native_symbols *symbols, uint64_t key)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return NULL;
	*entry = (struct entry){.key = key, .bytes = sizeof(*entry), .refs = 1, .cached = true};
	if (ep_map_set(&symbols->entries, key, (uint64_t)(uintptr_t)entry) < 0) {
		free(entry);
		return NULL;
	}
	TAILQ_INSERT_HEAD(&symbols->lru, entry, lru);
	symbols->bytes += entry->bytes;
	return entry;
}

/* The entry with one more reference; the caller must build it when it is *ret_new. NULL: ENOMEM. */
static struct entry *entry_get(struct ep_native_symbols *symbols, uint64_t key, bool *ret_new)
{
	uint64_t *slot = ep_map_find(&symbols->entries, key);
	struct entry *entry;

	*ret_new = !slot;
	entry = slot ? (struct entry *)(uintptr_t)*slot : entry_add(symbols, key);
	if (slot) {
		entry->refs++;
		TAILQ_REMOVE(&symbols->lru, entry, lru);
		TAILQ_INSERT_HEAD(&symbols->lru, entry, lru);
	}
	if (entry)
		entry->used_ns = ep_clock_mono_ns();
	return entry;
}

/* What is known of one file's functions: names, or at least where they begin. */
struct known {
	struct ep_functions *functions;
	struct ep_symtab *symtab;
	struct ep_starts *starts;
};

static void entry_finish(struct ep_native_symbols *symbols, struct entry *entry, int r,
			 const struct known *known)
{
	entry->state = r < 0 ? ENTRY_FAILED : ENTRY_READY;
	entry->error = r;
	entry->functions = known->functions;
	entry->symtab = known->symtab;
	entry->starts = known->starts;
	if (entry->cached) { /* else it was forgotten meanwhile */
		size_t bytes =
			ep_starts_bytes(entry->starts) + ep_functions_bytes(entry->functions);

		bytes += entry->symtab ? ep_symtab_bytes(entry->symtab) : 0;
		entry->fds = entry->symtab ? ep_symtab_fds(entry->symtab) : 0;
		entry->fds += entry->functions != NULL;
		entry->bytes += bytes;
		symbols->bytes += bytes;
		symbols->fds += entry->fds;
	}
	if (entry->cached && r < 0)
		entry_uncache(symbols, entry);
	evict(symbols);
	pthread_cond_broadcast(&symbols->changed);
}

/* ---- building, without the lock ---- */

/* Says nothing of the file: the next one who asks may have better luck. */
static bool is_passing(int r)
{
	return ep_is_transient(r) || r == -ECANCELED;
}

/* 0 with a table, or with NULL when the file has no symbols or is not fit to have any. */
static int read_symbols(const struct ep_elf *elf, const struct ep_native_file *file,
			struct known *ret)
{
	ep_cleanup(ep_elf_closep) struct ep_elf *debug = NULL;
	bool complete = ep_symtab_is_complete(elf);
	int r = complete ? 0 : ep_debug_file_open(elf, file->root, file->path, &debug);

	if (!is_passing(r) && !complete && !debug)
		r = ep_starts_build(elf, &ret->starts);
	if (!is_passing(r))
		r = ep_symtab_build(elf, debug, &ret->symtab);
	if (r == 0 || is_passing(r))
		return r;
	ep_log(EP_LOG_DEBUG, "symbol: %s: no symbols: %s", file->path, ep_strerror(r));
	ret->symtab = NULL;
	return 0;
}

static int read_known(struct ep_native_symbols *symbols, int fd, const struct ep_native_file *file,
		      bool symbols_only, struct known *ret)
{
	ep_cleanup(ep_elf_closep) struct ep_elf *elf = NULL;
	struct ep_work work;
	int r;

	ep_elf_work_init(&work, &symbols->stopped, symbols->memory);
	r = ep_elf_open_work(fd, &work, &elf);
	if (is_passing(r))
		return r;
	if (r < 0) {
		ep_log(EP_LOG_DEBUG, "symbol: %s: no symbols: %s", file->path, ep_strerror(r));
		return 0;
	}
	r = symbols_only ? -ENODATA : ep_functions_open(elf, &ret->functions);
	if (r == 0) {
		ep_elf_set_work(elf, NULL); /* a name is a bounded number of reads */
		elf = NULL;		    /* it has it */
	}
	if (r == 0 || is_passing(r))
		return r;
	if (r != -ENODATA && r != -ENOTSUP)
		ep_log(EP_LOG_DEBUG, "symbol: %s: no function table: %s", file->path,
		       ep_strerror(r));
	return read_symbols(elf, file, ret);
}

static int open_known(struct ep_native_symbols *symbols, const struct ep_native_file *file,
		      bool symbols_only, struct known *ret)
{
	int fd = file->open(file->arg);

	return fd < 0 ? fd : read_known(symbols, fd, file, symbols_only, ret);
}

/* Whether what the file has is as far inside as what was described: a function, or all of them. */
static bool is_inner(const struct ep_symtab_hit *hit, const struct ep_symbol *described)
{
	return ep_symbol_is_inner(hit->start_va, hit->size, described->va, described->bytes);
}

/* A symbol of the table: one function, whose source is not known. Nothing described: bytes are 0. */
static int add_symbol(const struct ep_symtab *symtab, uint64_t va,
		      const struct ep_symbol *described, struct ep_lines *lines)
{
	char system_name[EP_SYMTAB_NAME_MAX];
	ep_autofree char *readable = NULL;
	struct ep_symtab_hit hit;

	if (ep_symtab_find(symtab, va, &hit) < 0 ||
	    (described->bytes && !is_inner(&hit, described)) ||
	    ep_symtab_name(symtab, &hit, system_name, sizeof(system_name)) <= 0)
		return NOT_FOUND;
	if (ep_demangle(system_name, &readable) < 0)
		return -ENOMEM;
	ep_name_clean(system_name);
	return ep_lines_add(lines, &(struct ep_frame_line){
					   .function = readable,
					   .system_name = system_name,
					   .start_va = hit.start_va,
				   });
}

static int add_start(const struct ep_starts *starts, uint64_t va, struct ep_lines *lines)
{
	struct ep_frame_line line = {0};

	return ep_starts_find(starts, va, &line.start_va) < 0 ? NOT_FOUND
							      : ep_lines_add(lines, &line);
}

/* The function at va, from the first source that knows of one. */
static int add_function(const struct entry *entry, const struct ep_described_symbols *described,
			uint64_t va, struct ep_lines *lines)
{
	struct ep_symbol symbol = {0};
	const char *name = NULL;
	int r = NOT_FOUND;

	if (described)
		name = ep_described_symbols_find(described, va, &symbol);
	if (entry->symtab)
		r = add_symbol(entry->symtab, va, &symbol, lines);
	if (r == NOT_FOUND && name)
		r = ep_lines_add(lines, &(struct ep_frame_line){.function = name,
								.start_va = symbol.va});
	if (r == NOT_FOUND && entry->starts)
		r = add_start(entry->starts, va, lines);
	return r;
}

/* ---- the cache ---- */

/* A READY or FAILED entry, referenced; `key`: the file's, or that of its symbols. NULL: -ENOMEM. */
static struct entry *entry_acquire(struct ep_native_symbols *symbols,
				   const struct ep_native_file *file, uint64_t key)
{
	struct known known = {0};
	struct entry *entry;
	bool is_new = false;
	int r;

	pthread_mutex_lock(&symbols->lock);
	entry = entry_get(symbols, key, &is_new);
	if (entry && is_new) {
		pthread_mutex_unlock(&symbols->lock);
		r = open_known(symbols, file, key & SYMBOLS_KEY, &known);
		pthread_mutex_lock(&symbols->lock);
		entry_finish(symbols, entry, r, &known);
	}
	while (entry && entry->state == ENTRY_BUILDING)
		pthread_cond_wait(&symbols->changed, &symbols->lock);
	pthread_mutex_unlock(&symbols->lock);
	return entry;
}

static void entry_release(struct ep_native_symbols *symbols, struct entry *entry)
{
	pthread_mutex_lock(&symbols->lock);
	entry_unref(entry);
	pthread_mutex_unlock(&symbols->lock);
}

/* ---- names ---- */

/* One call of resolve. */
struct job {
	struct ep_native_symbols *symbols;
	const struct ep_native_file *file;
	struct entry *entry;
	struct entry *beside; /* the symbols beside entry's function table; NULL: not needed yet */
	struct ep_function_memo *memo; /* where entry has such a table */
	struct ep_lines *lines;
};

/* An entry that is READY. */
static int get_entry(struct job *job, uint64_t key, struct entry **ret_entry)
{
	struct entry *entry = entry_acquire(job->symbols, job->file, key);
	int r;

	if (!entry)
		return -ENOMEM;
	r = entry->state == ENTRY_FAILED ? entry->error : 0;
	if (r < 0)
		entry_release(job->symbols, entry);
	else
		*ret_entry = entry;
	return r;
}

static int add_beside(struct job *job, uint64_t va)
{
	int r = job->beside ? 0 : get_entry(job, job->file->key | SYMBOLS_KEY, &job->beside);

	return r < 0 ? r : add_function(job->beside, job->file->described, va, job->lines);
}

/* Asks the function table first: it has lines, and what was inlined. */
static int add_frame(struct job *job, uint64_t va)
{
	enum ep_frame_type type = EP_FRAME_TYPE_OF_KIND;
	int known, r;

	if (!job->entry->functions) {
		r = add_function(job->entry, job->file->described, va, job->lines);
	} else {
		known = r = ep_functions_add(job->entry->functions, va, job->memo, job->lines);
		type = r == 0 ? EP_FRAME_TYPE_GO : type;
		if (r > 0)
			r = add_beside(job, va);
		if (r == NOT_FOUND && known == EP_FUNCTIONS_EXTERNAL)
			r = ep_functions_add_external(job->entry->functions, job->memo, job->lines);
	}
	if (r >= 0)
		ep_lines_end_as(job->lines, type);
	return r;
}

static int resolve_all(struct job *job, const uint64_t *vas, size_t n)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < n; i++)
		r = add_frame(job, vas[i]);
	if (r >= 0)
		return 0;
	ep_lines_drop(job->lines);
	return r == -E2BIG ? 0 : r; /* the others next time */
}

static int resolve_with_memo(struct job *job, const uint64_t *vas, size_t n)
{
	int r;

	if (!job->entry->functions)
		return resolve_all(job, vas, n);
	job->memo = malloc(sizeof(*job->memo));
	if (!job->memo)
		return -ENOMEM;
	ep_function_memo_init(job->memo);
	r = resolve_all(job, vas, n);
	ep_function_memo_fini(job->memo);
	free(job->memo);
	return r;
}

int ep_native_symbols_resolve(struct ep_native_symbols *symbols, const struct ep_native_file *file,
			      const uint64_t *vas, size_t n, struct ep_lines *lines)
{
	struct job job = {.symbols = symbols, .file = file, .lines = lines};
	int r = get_entry(&job, file->key, &job.entry);

	if (r < 0)
		return r;
	r = resolve_with_memo(&job, vas, n);
	entry_release(symbols, job.entry);
	if (job.beside)
		entry_release(symbols, job.beside);
	return r;
}

void ep_native_symbols_drop_unused(struct ep_native_symbols *symbols, uint64_t since_ns)
{
	struct entry *entry;

	pthread_mutex_lock(&symbols->lock);
	while ((entry = TAILQ_LAST(&symbols->lru, entry_list)) != NULL && entry->used_ns < since_ns &&
	       entry->state != ENTRY_BUILDING)
		entry_uncache(symbols, entry);
	pthread_mutex_unlock(&symbols->lock);
}

static void forget(struct ep_native_symbols *symbols, uint64_t key)
{
	uint64_t *slot = ep_map_find(&symbols->entries, key);

	if (slot)
		entry_uncache(symbols, (struct entry *)(uintptr_t)*slot);
}

static void let_go(struct ep_native_symbols *symbols, uint64_t key)
{
	uint64_t *slot = ep_map_find(&symbols->entries, key);
	struct entry *entry = slot ? (struct entry *)(uintptr_t)*slot : NULL;

	if (entry && entry->fds > 0)
		entry_uncache(symbols, entry);
}

void ep_native_symbols_let_go(struct ep_native_symbols *symbols, uint64_t key)
{
	pthread_mutex_lock(&symbols->lock);
	let_go(symbols, key);
	let_go(symbols, key | SYMBOLS_KEY);
	pthread_mutex_unlock(&symbols->lock);
}

void ep_native_symbols_forget(struct ep_native_symbols *symbols, uint64_t key)
{
	pthread_mutex_lock(&symbols->lock);
	forget(symbols, key);
	forget(symbols, key | SYMBOLS_KEY);
	pthread_mutex_unlock(&symbols->lock);
}

void ep_native_symbols_set_memory(struct ep_native_symbols *symbols, struct ep_memory_budget *memory)
{
	symbols->memory = memory;
}

void ep_native_symbols_stop(struct ep_native_symbols *symbols)
{
	atomic_store(&symbols->stopped, true);
}

size_t ep_native_symbols_bytes(struct ep_native_symbols *symbols)
{
	size_t bytes;

	pthread_mutex_lock(&symbols->lock);
	bytes = sizeof(*symbols) + symbols->bytes + ep_map_bytes(&symbols->entries);
	pthread_mutex_unlock(&symbols->lock);
	return bytes;
}

int ep_native_symbols_new(size_t max_bytes, struct ep_native_symbols **ret_symbols)
{
	struct ep_native_symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols)
		return -ENOMEM;
	pthread_mutex_init(&symbols->lock, NULL);
	pthread_cond_init(&symbols->changed, NULL);
	ep_map_init(&symbols->entries, MAX_ENTRIES + MAX_FDS);
	TAILQ_INIT(&symbols->lru);
	symbols->max_bytes = max_bytes;
	*ret_symbols = symbols;
	return 0;
}

void ep_native_symbols_free(struct ep_native_symbols *symbols)
{
	struct entry *entry;

	if (!symbols)
		return;
	while ((entry = TAILQ_FIRST(&symbols->lru)))
		entry_uncache(symbols, entry);
	ep_map_fini(&symbols->entries);
	pthread_cond_destroy(&symbols->changed);
	pthread_mutex_destroy(&symbols->lock);
	free(symbols);
}
