/* SPDX-License-Identifier: Apache-2.0 */
/* Names of PHP's frames. NAMES replaces this file; the functions here are what attach.c calls. */
#ifndef PHP_NAMES_H
#define PHP_NAMES_H

#include "ebpf-profiler/unwinder.h"
#include "plugins/php/layout.h"
#include "plugins/shared/names/cache.h"
#include "plugins/shared/read/memory.h"

/* What naming needs of a process. Attach fills it; the target's memory is hostile. */
struct php_namer {
	const struct ep_unwinder_host *host;
	struct memory memory; /* of the target */
	const struct php_layout *layout;
	struct names_cache *cache;
};

int php_namer_init(struct php_namer *namer); /* after the rest is filled: 0, -ENOMEM */
void php_namer_fini(struct php_namer *namer); /* accepts zeroes */

/* As symbolize: 0 after add_name, EP_FRAME_GONE, or a negative errno. */
int php_names_add(struct php_namer *namer, const struct ep_raw_frame *frame, struct ep_names *names);

#endif
