/* SPDX-License-Identifier: Apache-2.0 */
/* Names for the host: of functions that are kept (cache.h), and texts that stand for a name. */
#ifndef NAMES_ADD_H
#define NAMES_ADD_H

#include "core/base/bisect.h"
#include "ebpf-profiler/unwinder.h"
#include "plugins/shared/names/cache.h"

/* Its function, file and first line; `more` has the rest of the name: 0 or what add_name says. */
int names_add(const struct ep_unwinder_host *host, struct ep_names *names,
	      const struct names_function *function, struct ep_name more);
/* `unnamed` not 0: it is no name, but says why there is none. `flags`: enum ep_name_flag. */
int names_add_text(const struct ep_unwinder_host *host, struct ep_names *names, const char *text,
		   enum ep_unnamed unnamed, uint32_t flags);

/* Of a table of lines: from this instruction on, by the language's count, to that of the next. */
struct names_run {
	uint32_t start, line; /* line 0: none */
};

/* The line of an instruction among n ascending runs; 0: it has none. */
static inline uint32_t names_find_line(const struct names_run *runs, size_t n, uint32_t at)
{
	size_t begun = ep_bisect(n, i, runs[i].start <= at);

	return begun ? runs[begun - 1].line : 0;
}

#endif
