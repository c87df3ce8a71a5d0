/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Methods that a class has from a trait by another name (use T { m as n; }). From 8.0 on the
 * class's copy has that name; in 7.4 it has the trait's, and only where it is in the class says
 * what it is called (zend_API.c: zend_resolve_method_name). Layouts: zend.h, zend_types.h of
 * 7.4.33.
 *
 *	class ─┬─► function_table ─► buckets: function, h, key: the name in lower case
 *	       └─► trait_aliases ─► alias, NULL ─► its name as it is written
 */
#ifndef PHP_ALIASES_H
#define PHP_ALIASES_H

#include "plugins/php/layout.h"
#include "plugins/php/symbolize/text.h"

#include <stdbool.h>

/* May it have another name than it says? */
static inline bool php_alias_may_be(const struct php_layout *layout, uint64_t fn_flags)
{
	return layout->release == PHP_RELEASE(7, 4) &&
	       fn_flags & 1u << 27; /* ZEND_ACC_TRAIT_CLONE */
}

/* Its name, into what has the one that it says. What cannot be read stays. */
void php_alias_read(const struct memory *memory, uint64_t class, uint64_t function,
		    struct php_string *string, char *name, size_t size);

#endif
