/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The languages that run in a process: an instance for each claim of an executable it maps. Loop's
 * thread only.
 */
#ifndef EP_PROCESS_PROCESS_LANGUAGES_H
#define EP_PROCESS_PROCESS_LANGUAGES_H

#include "core/base/vec.h"
#include "core/process/process.h"

struct ep_table;
struct ep_languages;

/*
 * Attaches what runs in it now, lets go of what does not any more. True when its mappings should be
 * read again: nobody tells of a library that was closed.
 */
bool ep_process_languages_sync(struct ep_process *process, struct ep_languages *languages);
/* A sample asks for it (ep_ask_refresh): all of them look again, soon. */
void ep_process_languages_refresh(const struct ep_process *process);
void ep_process_languages_fork(struct ep_process *child, const struct ep_process *parent);
void ep_process_languages_drop(struct ep_process *process);

/* Whose the code is that no file backs: EP_ROW_ANONYMOUS, or 0. */
uint32_t ep_process_languages_anonymous(const struct ep_process *process);
/* Marks the rows (struct ep_row) that belong to languages; `scratch` is another vector of rows. */
void ep_process_languages_mark_rows(const struct ep_process *process, struct ep_vec *rows,
				    struct ep_vec *scratch);
/* Appends what their programs find their code by to its rows: ep_rows_add_codes. */
int ep_process_languages_add_codes(const struct ep_process *process, struct ep_vec *entries);
void ep_process_languages_tell(const struct ep_process *process, struct ep_proc *proc);

/*
 * The language of a slot in a program, running or not, for the names of its frames. Many a forked
 * child is gone before it can be attached to; what its frames name was its parent's: there it can
 * still be read, and the plugin tells whether it is the same. NULL: none, or long gone.
 */
struct ep_instance *ep_process_languages_find(const struct ep_table *table,
					      struct ep_program program, uint32_t slot);

#endif
