/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of which classes tables of methods are. The function that registers a class (zend_API.h:
 * INIT_CLASS_ENTRY, the same in 7.3 to 8.6) makes its name, puts the table's address beside it, and
 * calls:
 *
 *	lea  "ArrayObject", %rdi
 *	mov  $11, %esi
 *	call *zend_string_init_interned
 *	lea  class_ArrayObject_methods, %rax
 *	mov  %rax, ...(%rsp)
 *	call zend_register_internal_class_ex
 *
 * or gives both to one call (zend_register_internal_enum, 7.4's spl_register_std_class).
 */
#ifndef PHP_NATIVES_CLASS_H
#define PHP_NATIVES_CLASS_H

#include "plugins/php/natives_data.h"

struct php_table {
	uint64_t va;
	const char *class; /* NULL: not known, or several */
	bool is_shared;
};

/* Tells the classes of tables, which ascend by their addresses. 0, -ENOMEM, or what reading
 * returned. */
int php_tables_find_classes(const struct php_data *data, struct php_table *tables, size_t n);

#endif
