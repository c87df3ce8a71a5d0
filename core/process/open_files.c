/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/open_files.h"
#include "core/process/executables.h"

#define MAX_HOLDERS 65536
#define SHARE	    2 /* so large a part may be one process's */

/* A process for which files were opened. */
struct holder {
	pid_t pid;
	size_t n;
	TAILQ_HEAD(, ep_executable) files; /* opened first, first */
};

void ep_open_files_init(struct ep_open_files *files, size_t max)
{
	*files = (struct ep_open_files){.max = max};
	ep_map_init(&files->by_pid, MAX_HOLDERS);
}

void ep_open_files_fini(struct ep_open_files *files)
{
	ep_map_fini(&files->by_pid);
}

/* NULL: no memory, or too many processes. */
static struct holder *get_holder(struct ep_open_files *files, pid_t pid)
{
	struct holder *holder = ep_map_get(&files->by_pid, (uint64_t)pid);

	if (holder)
		return holder;
	holder = calloc(1, sizeof(*holder));
	if (!holder || ep_map_set(&files->by_pid, (uint64_t)pid, (uintptr_t)holder) < 0) {
		free(holder);
		return NULL;
	}
	holder->pid = pid;
	TAILQ_INIT(&holder->files);
	return holder;
}

static void let_go_of_holder(struct ep_open_files *files, struct holder *holder)
{
	if (holder->n > 0)
		return;
	ep_map_remove(&files->by_pid, (uint64_t)holder->pid);
	free(holder);
}

static struct holder *biggest(const struct ep_open_files *files)
{
	struct holder *holder, *most = NULL;

	ep_map_each (&files->by_pid, holder) {
		if (!most || holder->n > most->n)
			most = holder;
	}
	return most;
}

/* True when there is space for one more of this process. */
static bool make_room(struct ep_open_files *files, const struct holder *holder)
{
	struct holder *most;

	if (holder->n >= EP_MAX(files->max / SHARE, (size_t)1))
		return false;
	if (files->n < files->max)
		return true;
	most = biggest(files);
	if (most->n <= holder->n + 1)
		return false;
	files->closed++;
	ep_open_files_drop(files, TAILQ_FIRST(&most->files));
	return true;
}

void ep_open_files_take(struct ep_open_files *files, struct ep_executable *executable, pid_t pid)
{
	struct holder *holder;

	if (executable->file.fd < 0 || executable->opened_for || !executable->file.inode)
		return; /* the vDSO is one for all */
	holder = get_holder(files, pid);
	if (!holder || !make_room(files, holder)) {
		files->closed++;
		ep_proc_file_close(&executable->file);
	} else {
		executable->opened_for = holder;
		TAILQ_INSERT_TAIL(&holder->files, executable, opened);
		holder->n++;
		files->n++;
	}
	if (holder)
		let_go_of_holder(files, holder);
}

void ep_open_files_drop(struct ep_open_files *files, struct ep_executable *executable)
{
	struct holder *holder = executable->opened_for;

	ep_proc_file_close(&executable->file);
	if (!holder)
		return;
	executable->opened_for = NULL;
	TAILQ_REMOVE(&holder->files, executable, opened);
	holder->n--;
	files->n--;
	let_go_of_holder(files, holder);
}
