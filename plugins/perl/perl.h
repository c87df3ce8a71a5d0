/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the plugin that belong to a process and to an executable.
 *
 *	probe.c		an ELF file: is it Perl, which one, where its globals are
 *	xs.c		an object of XS functions: their names
 *	attach.c	a process: what BPF needs to know of it, and is the layout as expected?
 *	symbolize/	a frame: its name, file and line
 *	perl.c		the descriptor
 */
#ifndef PL_PERL_H
#define PL_PERL_H

#include "ebpf-profiler/unwinder.h"
#include "plugins/perl/layout.h"
#include "plugins/perl/perl_shared.h"
#include "plugins/shared/descriptor.h"

#define PL_MAX_CODE 8

struct pl_executable {
	const struct ep_unwinder_host *host;
	bool is_xs;		/* an object of XS functions, and nothing else of this */
	struct ep_symbol boot;	/* which names them */
	struct pl_layout layout;
	/* ELF virtual addresses; 0: absent. */
	uint64_t curinterp_va; /* PL_curinterp: the first interpreter */
	uint64_t key_va;       /* PL_thr_key: pthread key of the thread's interpreter */
	uint64_t op_name_va;   /* PL_op_name: names of ops */
	uint32_t n_op_names;
	bool has_context; /* PL_current_context, a thread variable */
	uint64_t context_off;
	struct pl_members
		variables; /* without threads, at these addresses; op 0: they are members */
	struct ep_symbol code[PL_MAX_CODE];
	uint32_t n_code;
};

DESCRIPTOR_FUNCTIONS(pl);

#endif
