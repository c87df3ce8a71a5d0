/* SPDX-License-Identifier: Apache-2.0 */
#include "core/agent/renamed.h"
#include "core/base/utf8.h"
#include "core/base/vec.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_PROCESSES (1u << 22)
#define DELETED	      " (deleted)" /* proc_pid_exe(5) */

/* The last component of its path; false for a thread of the kernel, and for what we may not look at. */
static bool read_file_name(pid_t pid, char name[NAME_MAX + 1])
{
	char link[64], path[PATH_MAX];
	const char *slash;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return false;
	path[n] = '\0';
	if ((size_t)n > strlen(DELETED) && strcmp(path + n - strlen(DELETED), DELETED) == 0)
		path[(size_t)n - strlen(DELETED)] = '\0';
	slash = strrchr(path, '/');
	snprintf(name, NAME_MAX + 1, "%.*s", NAME_MAX, slash ? slash + 1 : path);
	return true;
}

static bool is_asked_for(const struct ep_glob *glob, const char *name)
{
	return ep_filter_match(glob, EP_FILTER_COMM, name) & EP_FILTER_IN(EP_FILTER_COMM);
}

static void judge(const struct ep_glob *glob, pid_t pid, struct ep_renamed *renamed)
{
	struct ep_process_info info;
	char file[NAME_MAX + 1];

	if (ep_process_read_stat(pid, &info) < 0)
		return;
	if (is_asked_for(glob, info.comm)) {
		renamed->n_named++;
		return;
	}
	if (!read_file_name(pid, file) || !is_asked_for(glob, file))
		return;
	if (renamed->n++ > 0)
		return;
	renamed->pid = pid;
	memcpy(renamed->comm, info.comm, sizeof(renamed->comm));
	memcpy(renamed->file, file, sizeof(renamed->file));
}

int ep_renamed_find(const struct ep_filter *filter, struct ep_renamed *ret_renamed)
{
	struct ep_renamed renamed = {0};
	ep_autofree struct ep_glob *glob = NULL;
	struct ep_vec pids;
	pid_t *pid;
	int r = 0;

	*ret_renamed = renamed;
	if (!ep_filter_asks(filter, EP_FILTER_COMM))
		return 0;
	glob = malloc(sizeof(*glob));
	if (!glob)
		return -ENOMEM;
	r = ep_filter_compile(filter, EP_FILTER_COMM, glob);
	ep_vec_init(&pids, sizeof(pid_t), MAX_PROCESSES);
	if (r == 0)
		r = ep_process_list(&pids);
	ep_vec_each(&pids, pid) {
		if (r == 0)
			judge(glob, *pid, &renamed);
	}
	ep_vec_fini(&pids);
	if (r == 0)
		*ret_renamed = renamed;
	return r;
}

void ep_renamed_print(const struct ep_renamed *renamed, char *text, size_t bytes)
{
	char comm[EP_PROCESS_COMM_BYTES] = "", file[NAME_MAX + 1] = "";
	bool is_one = renamed->n == 1;

	ep_utf8_clean(renamed->comm, strlen(renamed->comm), comm);
	ep_utf8_clean(renamed->file, strlen(renamed->file), file);
	snprintf(text, bytes, "%zu process%s %s and %s another name (%d is '%s'): choose by file, --exe %s", renamed->n,
		 is_one ? " runs" : "es run", file, is_one ? "has" : "have", (int)renamed->pid, comm, file);
}
