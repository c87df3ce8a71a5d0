/* SPDX-License-Identifier: Apache-2.0 */
/* What machine code of exported functions tells: code.c. All of it is hostile. */
#ifndef PHP_CODE_H
#define PHP_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PHP_CODE_BYTES 512

/* A function's beginning. */
struct php_code {
	uint64_t va;
	size_t n;
	uint8_t bytes[PHP_CODE_BYTES];
};

/* ZEND_VM_KIND_* (zend_vm_opcodes.h). */
enum php_vm {
	PHP_VM_CALL = 1,
	PHP_VM_SWITCH,
	PHP_VM_GOTO,
	PHP_VM_HYBRID,
	PHP_VM_TAILCALL,
};

/* Offsets in the executor's globals; 0: not known. */
struct php_globals {
	uint64_t va; /* of them, where they are no thread's */
	uint32_t current, before_exception, fiber;
};

/* A function's frame behind its prologue. Offsets are from the CFA down. */
struct php_prologue {
	uint32_t frame; /* to sp; 0: not known */
	uint32_t saved; /* to the caller's rbp; 0: rbp is not changed */
	bool has_fp;	/* rbp is CFA - 16: sp may be anything */
};

#endif
