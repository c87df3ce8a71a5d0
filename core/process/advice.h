/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What language plugins advise about the processes that run now (struct ep_unwinder_ops, advise). Each
 * process that maps an executable of such a language is attached to, asked, and detached from: nothing
 * is loaded into the kernel, and nothing is kept. One thread.
 */
#ifndef EP_PROCESS_ADVICE_H
#define EP_PROCESS_ADVICE_H

#include "core/base/util.h"
#include "ebpf-profiler/plugin.h"

#include <sys/types.h>

/* Of one process and one language: borrowed for the call. */
struct ep_advice {
	const char *language; /* the plugin's name */
	pid_t pid;
	/*
	 * Of attach, then of advise: what is reported of 0 are `found` and `fix`, or nothing at
	 * all.
	 */
	int result;
	const char *found, *fix; /* NULL: nothing to advise, nothing to do */
};

struct ep_advice_question {
	const struct ep_plugin *const *plugins; /* those that do not advise are passed over */
	size_t n;
	uint64_t max_ns; /* no process, and no file, is begun with after that */
	void (*say)(void *arg, const struct ep_advice *advice);
	void *arg;
};

struct ep_advice_stats {
	size_t processes; /* that there are */
	size_t read;	  /* whose mappings were read */
	size_t closed;	  /* that we may not read */
	bool late;	  /* time ran out */
};

/* 0; -ENOMEM, or what listing the processes says. */
int ep_advice_ask(const struct ep_advice_question *question, struct ep_advice_stats *ret_stats);

#endif
