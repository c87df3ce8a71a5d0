/* SPDX-License-Identifier: Apache-2.0 */
/* What machine code of exported functions tells: code.c. All of it is hostile. */
#ifndef PHP_CODE_H
#define PHP_CODE_H

#include "plugins/shared/x86/accessor.h"

/* ZEND_VM_KIND_* (zend_vm_opcodes.h). */
enum php_vm {
	PHP_VM_CALL = 1,
	PHP_VM_SWITCH,
	PHP_VM_GOTO,
	PHP_VM_HYBRID,
	PHP_VM_TAILCALL,
};

/* All give 0 or -ENOTSUP: other code than is known. Offsets are bytes. */
/* zend_get_executed_scope: current_execute_data in the executor's globals. */
int php_code_current(const struct x86_code *code, uint32_t *ret_off);
/* zend_get_executed_filename_ex: filename in a zend_op_array. */
int php_code_filename(const struct x86_code *code, uint32_t *ret_off);
/* zend_get_executed_lineno: opline_before_exception in the globals; opcodes in a zend_op_array, or
 * 0: it does not say (to 8.1). */
int php_code_lineno(const struct x86_code *code, uint32_t *ret_before_exception,
		    uint32_t *ret_opcodes);
/* zend_fiber_switch_context: current_fiber_context in the globals. */
int php_code_fiber(const struct x86_code *code, uint32_t *ret_off);
/* make_fcontext: where it lets a stack end. */
int php_code_finish(const struct x86_code *code, uint64_t *ret_va);
/* zend_generator_check_placeholder_frame: execute_data and node.parent in a zend_generator. */
int php_code_generator(const struct x86_code *code, uint32_t *ret_data, uint32_t *ret_parent);
/* zend_execute and others: where calls through the variable zend_execute_ex return to; how many. */
size_t php_code_returns(const struct x86_code *code, uint64_t *ret_returns, size_t max);
/* zend_vm_kind, php_version_id: the number that a function returns. */
int php_code_number(const struct x86_code *code, uint32_t *ret);

#endif
