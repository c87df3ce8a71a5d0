/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subs that are C functions, of a shared object that a module brings (auto/List/Util/Util.so).
 * Stripped as these are, their functions have no names; but each is given its Perl name when the
 * object is loaded, in boot_List__Util, which xsubpp writes:
 *
 *	lea  "List::Util::first", %rsi
 *	lea  XS_List__Util_first, %rdx
 *	call Perl_newXS_flags			my_perl, name, function, ...
 *
 * So the file alone tells who is who. Without threads there is no my_perl: %rdi, %rsi.
 */
#ifndef PL_NATIVES_H
#define PL_NATIVES_H

#include "ebpf-profiler/unwinder.h"

#include <stdbool.h>

/* True when the file is such an object. */
bool pl_xs_find_boot(const struct ep_unwinder_host *host, const struct ep_file *file,
		     struct ep_symbol *ret_boot);

/* Calls `add` for each function that got names, ascending by address: "A::b", of several
 * "A::b|A::c". 0, what add returned, -EBADMSG, -ENOMEM, or what reading returned. */
int pl_xs_names(const struct ep_unwinder_host *host, const struct ep_file *file,
		const struct ep_symbol *boot,
		int (*add)(void *arg, const struct ep_symbol *symbol, const char *name), void *arg);

#endif
