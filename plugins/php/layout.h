/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What differs between the releases of PHP. Offsets are bytes; x86-64; 0: there is none. What the
 * file's code tells (code.h) goes before this. What is the same in all of 7.3 to 8.6 stands in
 * php_shared.h.
 */
#ifndef PHP_LAYOUT_H
#define PHP_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#define PHP_RELEASE(major, minor) ((major)*100u + (minor))
#define PHP_OLDEST		  PHP_RELEASE(7, 3)
#define PHP_NEWEST_KNOWN	  PHP_RELEASE(8, 6)

/* zend_op_array (zend_compile.h). line_end is after line_start. */
struct php_function_layout {
	uint32_t last, opcodes, filename, line_start;
	/* Of fn_flags. */
	uint32_t closure, fake_closure, trampoline;
};

/* zend_generator (zend_generators.h), from its start on. */
struct php_generator_layout {
	uint32_t execute_data, parent; /* parent: node.parent; execute_fake is after the node: 32
					  or 40 bytes on */
};

struct php_layout {
	uint32_t release; /* PHP_RELEASE: of the process, may be newer than what is known */
	struct php_function_layout function;
	struct php_generator_layout generator;
	/* executor_globals without threads, where the file's code does not say it:
	 * current_execute_data, opline_before_exception, current_fiber_context. */
	uint32_t current, before_exception, fiber;
	uint32_t fiber_caller; /* in a fiber's context: the context of who resumed it */
};

/* Newer releases get the newest layout: attach checks it. False: older than PHP_OLDEST. */
bool php_layout_find(uint32_t major, uint32_t minor, struct php_layout *ret);

#endif
