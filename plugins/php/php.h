/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the plugin that belong to a process and to an executable.
 *
 *	probe.c		an ELF file: is it PHP, which one, where its globals are
 *	code.c		what machine code of exported functions tells of it
 *	fiber.c		assembly that switches fibers
 *	static.c	builds without symbols
 *	layout.c	what differs by release
 *	attach.c	a process: what BPF needs to know of it, and is the layout as expected?
 *	natives.c	an extension, and PHP itself: tables of functions in C, for `describe`
 *	advise.c	what `doctor` says of a process
 *	symbolize/	a frame: its name, file and line
 *	php.c		the descriptor
 */
#ifndef PHP_PHP_H
#define PHP_PHP_H

#include "ebpf-profiler/unwinder.h"
#include "plugins/php/code.h"
#include "plugins/php/fiber.h"
#include "plugins/php/layout.h"
#include "plugins/php/php_shared.h"
#include "plugins/php/symbolize/names.h"
#include "plugins/shared/descriptor.h"

#define PHP_MAX_CODE 16

struct php_executable {
	const struct ep_unwinder_host *host;
	struct php_layout layout;
	/* ELF virtual addresses; 0: absent. */
	uint64_t globals_va; /* executor_globals; with threads 0, and in static builds, whose */
	struct ep_symbol bss;	      /* has them */
	uint64_t offset_va,
		key_va; /* executor_globals_offset, the pthread key of what it is the offset in */
	struct ep_variable cache;     /* where there is no key */
	uint64_t sapi_va;	      /* sapi_module */
	uint64_t frameless_va;	      /* zend_flf_functions */
	uint32_t globals_bytes;
	uint32_t current, before_exception, fiber; /* in them; 0: not known */
	uint32_t vm_kind;	      /* enum php_vm; 0: not known */
	struct ep_symbol text;	      /* .text */
	struct ep_symbol loop;	      /* execute_ex */
	struct x86_prologue prologue; /* of it */
	uint64_t returns[PHP_RETURNS]; /* where it returns to */
	struct ep_symbol code[PHP_MAX_CODE];
	uint32_t n_code;
	struct ep_symbol makers[PHP_MAKERS]; /* zend_call_function, zend_init_func_execute_data */
	struct php_fiber_code fibers;
};

/* advise.c: of a process whose sapi_module is at that address. 0 or what reading returned. */
int php_say_advice(const struct php_namer *namer, uint64_t sapi_addr, const struct php_state *state,
		   void (*say)(void *arg, const char *found, const char *fix), void *arg);

DESCRIPTOR_FUNCTIONS(php);

#endif
