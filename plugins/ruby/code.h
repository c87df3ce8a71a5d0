/* SPDX-License-Identifier: Apache-2.0 */
/* What machine code of exported functions tells: code.c. All of it is hostile. */
#ifndef RUBY_CODE_H
#define RUBY_CODE_H

#include "plugins/shared/x86/accessor.h"

struct ruby_collector {
	uint64_t vm_va; /* where the pointer to the VM is, or with vm_in_got what points there */
	bool vm_in_got;
	uint32_t objspace_off, flag_off, bit;
};

struct ruby_main_thread {
	uint64_t ractor_va; /* where the pointer to the main ractor is, or with ractor_in_got what
			       points there */
	bool ractor_in_got;
	uint32_t thread_off;
};

/* To begin with all is 0. */
struct ruby_symbols {
	uint64_t va;	     /* ruby_global_symbols */
	uint64_t jump_va;    /* where the rest of the function is */
	uint32_t last_op_id; /* tLAST_OP_ID */
};

/* All give 0 or -ENOTSUP: other code than is known. */
int ruby_code_thread(const struct x86_code *code, uint32_t *ret_thread_off); /* rb_thread_current */
int ruby_code_collector(const struct x86_code *code, struct ruby_collector *ret); /* rb_during_gc */
int ruby_code_main_thread(const struct x86_code *code,
			  struct ruby_main_thread *ret);		/* rb_thread_main */
int ruby_code_blocking(const struct x86_code *code, uint32_t *ret_off); /* ruby_thread_has_gvl_p */
/* rb_id2str, and then what it jumps to: adds what this code says; 0: `va` is known. */
int ruby_code_symbols(const struct x86_code *code, struct ruby_symbols *symbols);

#endif
