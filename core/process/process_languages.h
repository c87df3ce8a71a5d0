/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The languages that run in a process: an instance for each claim of an executable it maps. Loop's
 * thread only.
 */
#ifndef EP_PROCESS_PROCESS_LANGUAGES_H
#define EP_PROCESS_PROCESS_LANGUAGES_H

#include "core/base/vec.h"
#include "core/process/process.h"
#include "core/process/rows.h"

struct ep_table;
struct ep_languages;

/*
 * Attaches what runs in it now, lets go of what does not any more. True when its mappings should be
 * read again: nobody tells of a library that was closed.
 */
bool ep_process_languages_sync(struct ep_process *process, struct ep_languages *languages);
/* The process was sampled: who is not goes without BPF's knowing when too many run languages. */
void ep_process_languages_on_sample(const struct ep_process *process, uint64_t time_ns);
/* A sample asks for it (ep_ask_refresh): all of them look again, soon. */
void ep_process_languages_refresh(const struct ep_process *process);
void ep_process_languages_fork(struct ep_process *child, const struct ep_process *parent);
void ep_process_languages_end(const struct ep_process *process);
void ep_process_languages_drop(struct ep_process *process);

/* Those that BPF is informed of; how many. Borrowed until one of them changes. */
size_t ep_process_languages_views(const struct ep_process *process,
				 struct ep_language_view views[EP_MAX_LANGUAGES]);

/*
 * The language of a slot in a program, running or not, for the names of its frames. Many a forked
 * child is gone before it can be attached to; what its frames name was its parent's: there it can
 * still be read, and the plugin tells whether it is the same. NULL: none, or long gone.
 */
struct ep_instance *ep_process_languages_find(const struct ep_table *table,
					      struct ep_program program, uint32_t slot);

/*
 * Why code of a language could not be walked at that time: EP_ERROR_LATE, or EP_ERROR_NONE: BPF knew
 * the language, or the process has none that can be attached to.
 */
uint32_t ep_process_languages_missed(const struct ep_process *process, uint64_t time_ns);
/*
 * True while BPF knows no language of the process and one is being attached to: then it is known
 * which of its native frames run a language (ep_walk_mark).
 */
bool ep_process_languages_await(const struct ep_process *process);

#endif
