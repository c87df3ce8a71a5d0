/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the plugin that belong to a process and to an executable.
 *
 *	probe.c		an ELF file: is it Ruby, which one, where its globals are
 *	code.c		what machine code of exported functions tells of it
 *	layout.c	what differs by release
 *	attach.c	a process: what BPF needs to know of it, and is the layout as expected?
 *	symbolize/	a frame: its name, file and line
 *	ruby.c		the descriptor
 */
#ifndef RUBY_RUBY_H
#define RUBY_RUBY_H

#include "ebpf-profiler/unwinder.h"
#include "plugins/ruby/code.h"
#include "plugins/ruby/layout.h"
#include "plugins/ruby/ruby_shared.h"
#include "plugins/ruby/symbolize/names.h"
#include "plugins/shared/descriptor.h"

#define RUBY_MAX_CODE 16

struct ruby_executable {
	const struct ep_unwinder_host *host;
	struct ruby_layout layout;
	/* ELF virtual addresses; 0: absent. */
	uint64_t object_va, string_va; /* rb_cObject, rb_cString */
	uint64_t ec_va;		       /* ruby_current_execution_context_ptr, to 2.7 */
	struct ep_variable ec;	       /* the thread variable, from 3.0 on; kind 0: none */
	struct ruby_collector collector; /* vm_va 0: not known */
	struct ruby_main_thread main;	 /* ractor_va 0: not known */
	uint32_t thread_off, blocking_off;
	uint64_t symbols_va; /* the table of IDs (symbol.c: ruby_global_symbols) */
	uint32_t last_op_id; /* id.h: tLAST_OP_ID */
	struct ruby_ids ids; /* learned in the first process that says them */
	struct ep_symbol text; /* .text */
	struct ep_symbol exec; /* rb_vm_exec */
	bool exec_has_symbol;
	struct x86_prologue prologue; /* of it */
	struct ep_symbol code[RUBY_MAX_CODE];
	uint32_t n_code;
};

DESCRIPTOR_FUNCTIONS(ruby);

#endif
