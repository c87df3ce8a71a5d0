/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executables that processes map, shared by all of them: one entry for each (device, inode,
 * generation, size, change time), which are one content of one file. A build id is none of it:
 * anybody can write libc's into a file. Files beside it, which may name its code (debug files),
 * belong to a view (core/proc/root.h): where that may have others than ours, its processes have an
 * entry of their own. Who changes a file in place makes another entry; processes that map the old
 * one then map that. An entry is analysed once, on a worker: build id, segments,
 * unwind tables into the delta store, where equal tables are one. It stays known when the last
 * process has let go of it, since programs come back: a compiler at once, a cron job the next day.
 * Its file is closed soon, so that it keeps no deleted file on the disk and no file system busy;
 * its tables go when memory is wanted, those nobody maps first, and those that nobody has mapped for
 * minutes; it is forgotten when it has no tables and batches do not name it any more, or when there
 * are 65 536 of them and nobody maps it.
 *
 * Loop's thread only, but for what workers do on their own copies.
 */
#ifndef EP_PROCESS_EXECUTABLES_H
#define EP_PROCESS_EXECUTABLES_H

#include "core/language/languages.h"
#include "core/base/clock.h"
#include "core/base/map.h"
#include "core/elf/file.h"
#include "core/proc/maps.h"
#include "core/proc/open.h"
#include "core/process/text_parts.h"
#include "core/unwind/delta_store.h"

#include <string.h>
#include <sys/queue.h>

struct ep_described_symbols;
struct ep_executables;
struct ep_memory_budget;
struct ep_executables_task;
struct holder;
struct uv_loop_s;

enum ep_executable_state {
	EP_EXECUTABLE_PENDING, /* a worker is at it */
	EP_EXECUTABLE_READY,   /* analysed; text is NULL when it has no unwind tables */
	EP_EXECUTABLE_EVICTED, /* analysed; tables were dropped for want of memory */
	EP_EXECUTABLE_FAILED,  /* no ELF file we can read, or `unopened` */
};

struct ep_executable {
	uint32_t id; /* from 1 to EP_ROW_MAX_ID; used again when all others were */
	uint32_t refs;
	enum ep_executable_state state;
	bool unopened; /* failed because its process was gone, or so: the next one is asked */
	bool refused;  /* the same, for now (ep_proc_is_refused): any of them is asked in a while */
	struct ep_map_link link;
	/* identity; fd: open while processes map it and there are descriptors, else -1 */
	struct ep_proc_file file;
	struct holder *opened_for; /* open_files.c; NULL: closed, or not counted */
	TAILQ_ENTRY(ep_executable) opened;
	uint64_t seen_ns;	  /* when somebody last looked at the file and it was this */
	uint32_t newer;		  /* id of what the same inode has now; 0: this */
	char *path;		  /* as seen by the first process that mapped it */
	pid_t pid; /* who mapped it last: the files beside it are looked for in his root, if it is
		      the view of `file`; its start: file.start_ns */
	char build_id[2 * EP_ELF_BUILD_ID_MAX + 1]; /* hex, "" when it has none */
	char file_id[33];			    /* hex */
	char go_build_id[128];			    /* "" when it is no Go program */
	struct ep_elf_segment segments[8]; /* executable ones */
	size_t n_segments;
	struct ep_delta_store_text *text;
	bool in_parts; /* text has some of its parts, or none yet */
	struct ep_text_parts parts;
	bool probed; /* the languages were asked */
	struct ep_claim *claims[EP_MAX_CLAIMS]; /* references: languages that run in it */
	size_t n_claims;
	struct ep_described_symbols *described; /* that its file does not have; NULL: none */
	/* Code that a language has described: all of it is in there. Both 0: none. */
	uint64_t described_va, described_end;
	uint64_t idle_since_ns; /* monotonic; 0 while refs > 0 */
	struct ep_executables *owner; /* of the list of those that nobody maps, whose files are open yet */
	TAILQ_ENTRY(ep_executable) idle;
	bool is_idle; /* in that list */
	uint64_t hit_ns;	/* last seen in a batch */
	uint32_t replacement;	/* its number among those that are to be replaced in processes; 0: none */
	LIST_HEAD(, ep_file_use) uses;	 /* in mappings of processes (mappings.h) */
	TAILQ_ENTRY(ep_executable) news; /* of those that processes are to hear of */
	bool is_news;
	uint64_t retry_ns;	/* evicted or refused: not before then is it analysed again */
	uint64_t awaited_ns;	/* prepared: until then it is expected to be mapped; else 0 */
	struct ep_executables_task *waiting; /* its analysis, until that begins; else NULL */
	struct ep_executables_task *running; /* and from then to its end */
};

/* What was refused for now (ep_proc_is_refused) is asked for again. */
#define EP_REFUSED_NS (15 * EP_NS_PER_SEC)

struct ep_executables_stats {
	uint64_t analysed, failed, evicted;
	uint64_t aged;	     /* tables that nobody has mapped for long */
	uint64_t stopped;    /* analyses that nobody wanted any more */
	uint64_t put_off;    /* until others gave memory back */
	uint64_t closed;     /* files for which there were no descriptors */
	uint64_t over_limit; /* analysed, but their tables did not fit the memory limit */
	uint64_t described_bytes; /* of all their described symbols */
	uint64_t nameless; /* analysed, but their described symbols were too many for that */
	uint64_t live;	     /* entries now */
	uint64_t forgotten;  /* unused entries that gave way to new ones */
	uint64_t refused;    /* new ones for which there was no entry: all were in use */
	uint64_t busy;	     /* being analysed now, or waiting for it */
};

/*
 * `changed` is called when an executable is no longer PENDING, or was evicted; `replaced`, which
 * may be NULL, when a file has another content: who maps the old one maps the new one.
 */
int ep_executables_new(struct uv_loop_s *loop, struct ep_delta_store *store,
		       struct ep_languages *languages,
		       void (*changed)(void *arg, struct ep_executable *executable),
		       void (*replaced)(void *arg, struct ep_executable *old,
					struct ep_executable *executable),
		       void *arg, struct ep_executables **ret_executables);
/* Before the first one is analysed: what is read of files is taken from it. */
void ep_executables_set_memory(struct ep_executables *executables, struct ep_memory_budget *memory);
/* So many of their files stay open at once; before the first one is analysed. */
void ep_executables_set_max_files(struct ep_executables *executables, size_t max);
/* Makes tables of large libraries only for the parts that stacks reach; called before the first analysis. */
void ep_executables_divide(struct ep_executables *executables);
/* `leaving` is called before the file of an executable that nobody maps any more is closed. */
void ep_executables_set_leaving(struct ep_executables *executables,
				void (*leaving)(void *arg, struct ep_executable *executable), void *arg);
/* Nothing new is analysed from here on; what waits is given up, what is under way ends soon. */
void ep_executables_stop(struct ep_executables *executables);
void ep_executables_free(struct ep_executables *executables); /* no job may be under way */

/*
 * The entry for a mapping of process `pid`, with one reference more; its analysis starts when it
 * is new. `file` is what ep_proc_stat_mapping reported at `seen_ns` or later, or the file itself,
 * whose descriptor is taken. For a vDSO, file->inode is 0. NULL: no memory, or too many files are
 * in use.
 */
struct ep_executable *ep_executables_get(struct ep_executables *executables, pid_t pid,
					 const struct ep_mapping *mapping,
					 struct ep_proc_file *file, uint64_t seen_ns);
/*
 * A file that is going to be mapped: it is analysed now, and the languages it claims are loaded.
 * `file` is what ep_proc_open_path reported; its descriptor is taken in every case. Nobody has a
 * reference; it is kept for a while, as if somebody had. 0, -ENOMEM.
 */
int ep_executables_prepare(struct ep_executables *executables, const char *path,
			   struct ep_proc_file *file);
/* The vDSO, which is one for all processes; NULL before it was seen in one. */
struct ep_executable *ep_executables_get_vdso(struct ep_executables *executables);
struct ep_executable *ep_executable_ref(struct ep_executable *executable); /* accepts NULL */
void ep_executable_unref(struct ep_executable *executable); /* the same */
/* A sample waits for it: it is analysed before others that wait. O(1). */
void ep_executables_hurry(struct ep_executables *executables,
			  const struct ep_executable *executable);
struct ep_executable *ep_executables_find(struct ep_executables *executables, uint32_t id);
/* What its file has now. NULL: that is not known any more. */
struct ep_executable *ep_executables_find_current(struct ep_executables *executables, uint32_t id);
/* The same, with one reference more; also NULL when it must be opened to be of use. */
struct ep_executable *ep_executables_get_current(struct ep_executables *executables, uint32_t id);

/*
 * Closes files that nobody maps any more, and ends their analyses. Costs what there are of them. Analyses begin for which
 * there was no memory.
 */
void ep_executables_let_go(struct ep_executables *executables, uint64_t now_ns);
/* The same, and forgets entries without tables that were idle for `idle_ns`. */
void ep_executables_sweep(struct ep_executables *executables, uint64_t now_ns, uint64_t idle_ns);
/*
 * Tables of executables nobody maps stay for `max_idle_ns`, and may hold so many bytes; of more those go that are idle
 * longest.
 */
void ep_executables_trim_idle(struct ep_executables *executables, uint64_t now_ns, uint64_t max_idle_ns,
			      size_t max_bytes);
/* Drops the tables of the least recently hit executable. False when there is none to drop. */
bool ep_executables_evict_one(struct ep_executables *executables);

/*
 * Builds the tables of the evicted executable that was hit last once more, if another one has not
 * been hit for long: that one's go first. For housekeeping, every few seconds.
 */
void ep_executables_restore_one(struct ep_executables *executables, uint64_t now_ns);

size_t ep_executables_bytes(const struct ep_executables *executables); /* of the heap */
const struct ep_executables_stats *ep_executables_stats(struct ep_executables *executables);

/* ELF virtual address of a mapping's start. 0, or -ENODATA when no segment covers it. */
int ep_executable_find_va(const struct ep_executable *executable, uint64_t file_off,
			  uint64_t *ret_va);

#endif
