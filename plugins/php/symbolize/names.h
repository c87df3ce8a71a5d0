/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of PHP's frames (php_shared.h), as debug_backtrace has them, with what it tells apart
 * written out:
 *
 *	f, A\B::m, A::$prop::get	functions; methods by the class that has them; hooks of
 *					properties
 *	{closure:A::b():12}		a closure in A::b that begins in line 12, from 8.4 on
 *	{closure:/path/x.php:12}	the same to 8.3, which calls all of them {closure}: in which
 *					function it is nothing says
 *	{main}, eval, require /path/x.php	code of no function: include, include_once, require,
 *						require_once
 *	array_map, ArrayObject::count	functions in C
 *
 * A frame's function, and the strings that its check covers, are read before its name is trusted:
 * the check has hashes of their texts, which must be those of the texts. What has no function to be
 * read is recognised by its strings alone.
 */
#ifndef PHP_NAMES_H
#define PHP_NAMES_H

#include "ebpf-profiler/unwinder.h"
#include "plugins/php/layout.h"
#include "plugins/shared/names/add.h"
#include "plugins/shared/read/memory.h"

/* What naming needs of a process. Attach fills it; the target's memory is hostile. */
struct php_namer {
	const struct ep_unwinder_host *host;
	const struct ep_target *target; /* for counting */
	struct memory memory;		/* of it */
	const struct php_layout *layout;
	struct names_cache *cache;
};

int php_namer_init(struct php_namer *namer);  /* after the rest is filled: 0, -ENOMEM */
void php_namer_fini(struct php_namer *namer); /* accepts zeroes */

/*
 * As symbolize: 0 after add_name; -ESRCH: the process has gone before any frame was named, its
 * parent may know; or another negative errno. A function that is gone has the name of what had the
 * same check before; else it is "(freed function)", and is counted.
 */
int php_names_add(struct php_namer *namer, const struct ep_raw_frame *frame,
		  struct ep_names *names);

#endif
