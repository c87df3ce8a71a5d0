/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker reads of one process: who it is, its executable mappings, the files of them. */
#ifndef EP_PROCESS_READ_H
#define EP_PROCESS_READ_H

#include "core/proc/maps.h"
#include "core/proc/open.h"
#include "core/proc/process.h"

struct ep_process_read {
	/* in */
	pid_t pid;
	const char *const *variables; /* of its environment, wanted; borrowed */
	size_t n_variables;
	bool identity_only; /* its mappings are known */
	/* out */
	int result;	  /* 0, -ESRCH, ... */
	uint64_t time_ns; /* CLOCK_MONOTONIC, before the first read */
	uint64_t cost_ns; /* CPU time it took */
	struct ep_process_info info;
	struct ep_vec environment; /* "NAME=value" with NUL, one after the other */
	struct ep_maps maps;
	bool lacks_files; /* some were refused for now (ep_proc_is_refused) */
	struct ep_vec files; /* struct ep_proc_file, one for each mapping; fd -1; bytes 0: none */
};

void ep_process_read_run(struct ep_process_read *read);
void ep_process_read_fini(struct ep_process_read *read);

#endif
