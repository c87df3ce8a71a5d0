/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the plugin that belong to a process and to an executable.
 *
 *	probe.c		an ELF file: is it CPython, which one, offsets, where its globals are
 *	code_range.c	code of the evaluation loop, also the part the compiler split off
 *	getter.c	where a function that returns a thread variable reads it
 *	jit.c		code made by the JIT
 *	attach.c	a process: what BPF needs to know of it
 *	python.c	the descriptor
 */
#ifndef PY_PYTHON_H
#define PY_PYTHON_H

#include "ebpf-profiler/unwinder.h"
#include "plugins/python/offsets.h"
#include "plugins/python/python_shared.h"
#include "plugins/python/symbolize/code.h"

/* Where a thread variable is, as far as the file tells. */
enum py_thread_variable_kind {
	PY_VARIABLE_NONE = 0,
	PY_VARIABLE_SEGMENT, /* value: offset in the file's TLS segment */
	PY_VARIABLE_POINTER, /* value: offset from the thread pointer, signed */
	PY_VARIABLE_WORD,    /* value: va of the word (in the GOT) that holds that offset */
	PY_VARIABLE_PAIR,    /* value: va of the pair (module, offset in its segment) */
};

struct py_thread_variable {
	uint32_t kind;
	uint32_t add; /* to the offset, with PY_VARIABLE_PAIR */
	uint64_t value;
};

#define PY_MAX_CODE_RANGES 8

struct py_executable {
	const struct ep_unwinder_host *host;
	struct py_offsets offsets;
	/* ELF virtual addresses; 0: absent. */
	uint64_t runtime_va;
	uint64_t holder_va;	  /* pointer to the state of the thread with the GIL */
	uint64_t interpreters_va; /* pointer to the first interpreter */
	uint64_t key_va;	  /* number of the pthread key of a thread's state: an int */
	uint64_t key_created_va;  /* an int: not 0 once it is valid */
	uint64_t code_type_va, type_type_va;
	struct py_thread_variable variables[PY_TLS_PATHS];
	struct ep_symbol code[PY_MAX_CODE_RANGES];
	uint32_t n_code;
	uint32_t jit;	    /* enum py_jit: what it may have */
	bool debug_offsets; /* the offsets are those of the file's own _Py_DebugOffsets */
};

int py_probe(const struct ep_unwinder_host *host, const struct ep_file *file,
	     void **ret_executable);
void py_unload(void *executable);

/*
 * The ranges of the evaluation loop, `eval` being the function's symbol; at least that one. Returns
 * how many.
 */
uint32_t py_find_code(const struct ep_unwinder_host *host, const struct ep_file *file,
		      const struct ep_symbol *eval, struct ep_symbol ranges[PY_MAX_CODE_RANGES]);

/*
 * Decodes a function that does nothing but return a thread variable. 0, -ENODATA (no such symbol),
 * -ENOTSUP (not understood).
 */
int py_decode_getter(const struct ep_unwinder_host *host, const struct ep_file *file,
		     const char *name, struct py_thread_variable *ret);

/*
 * Address of the int that a function passes on as its first argument. 0, -ENODATA, -ENOTSUP.
 */
int py_decode_argument(const struct ep_unwinder_host *host, const struct ep_file *file,
		       const char *name, uint64_t *ret_va);

int py_attach(void *executable, struct ep_target *target, void **ret_instance);
int py_refresh(void *instance);
int py_symbolize(void *instance, const struct ep_raw_frame *frame, struct ep_names *names);
void py_detach(void *instance);

#endif
