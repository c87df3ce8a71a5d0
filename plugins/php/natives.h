/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C functions of PHP and of its extensions. Stripped as these files are, they have no symbols;
 * but each table of functions that a module or a class registers says who they are
 * (Zend/zend_API.h, 7.4 to 8.6):
 *
 *	zend_function_entry	fname	handler		arg_info	num_args, flags
 *				[8.4 on: frameless_function_infos	doc_comment]
 *	...
 *	zeros
 *
 * They get the names that the symbols would have: zif_strlen, zim_ArrayObject_count, zflf_strpos_2.
 * A table is known by its shape alone, so no symbol and no release is needed. Of which class it is
 * says the code that registers it.
 */
#ifndef PHP_NATIVES_H
#define PHP_NATIVES_H

#include "ebpf-profiler/unwinder.h"

#include <stdbool.h>

/* True when the file is an extension, which PHP loads. */
bool php_tables_is_extension(const struct ep_unwinder_host *host, const struct ep_file *file);

/*
 * Calls `add` for each function that a table names, ascending by address. One that has several
 * names has them all, the first ones if they are many: "zif_implode|join". 0, what `add` returned,
 * -ENOMEM, or what reading returned.
 */
int php_tables_names(const struct ep_unwinder_host *host, const struct ep_file *file,
		     int (*add)(void *arg, const struct ep_symbol *symbol, const char *name),
		     void *arg);

#endif
