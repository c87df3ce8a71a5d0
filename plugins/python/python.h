/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the plugin that belong to a process and to an executable.
 *
 *	probe.c		an ELF file: is it CPython, which one, offsets, where its globals are
 *	greenlet.c	an extension module: where stacks of greenlets end
 *	attach.c	a process: what BPF needs to know of it
 *	python.c	the descriptor
 */
#ifndef PY_PYTHON_H
#define PY_PYTHON_H

#include "ebpf-profiler/unwinder.h"
#include "plugins/python/greenlet.h"
#include "plugins/python/layout.h"
#include "plugins/python/python_shared.h"
#include "plugins/python/symbolize/names.h"
#include "plugins/shared/descriptor.h"

#define PY_MAX_CODE_RANGES 8

struct py_executable {
	const struct ep_unwinder_host *host;
	struct py_layout layout;
	/* ELF virtual addresses; 0: absent. */
	uint64_t runtime_va;
	uint64_t holder_va;	  /* pointer to the state of the thread with the GIL */
	uint64_t interpreters_va; /* pointer to the first interpreter */
	uint64_t key_va;	  /* number of the pthread key of a thread's state: an int */
	uint64_t key_created_va;  /* an int: not 0 once it is valid */
	uint64_t code_type_va, type_type_va;
	struct ep_variable variables[PY_TLS_PATHS];
	struct ep_symbol code[PY_MAX_CODE_RANGES];
	uint32_t n_code;
	uint32_t jit;	    /* enum py_jit: what it may have */
	bool debug_offsets; /* the offsets are those of the file's own _Py_DebugOffsets */
	struct py_greenlet
		greenlet; /* of the extension module alone, which has nothing else of this */
};

DESCRIPTOR_FUNCTIONS(py);

#endif
