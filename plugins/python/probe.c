/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/python/python.h"
#include "plugins/shared/read/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Before Py_Version (3.11) no number is in the file's data, but each version has functions its
 * predecessor had not (Doc/whatsnew/3.8.rst, 3.9.rst, 3.10.rst: "C API, new features").
 */
static uint32_t guess_version(const struct ep_unwinder_host *host, const struct ep_file *file)
{
	static const struct {
		const char *symbol;
		uint32_t version;
	} since[] = {
		{"PyIter_Send", PY_VERSION(3, 10)},
		{"PyObject_VectorcallMethod", PY_VERSION(3, 9)},
		{"PyCode_NewWithPosOnlyArgs", PY_VERSION(3, 8)},
		{"_PyRuntime", PY_VERSION(3, 7)},
	};

	for (size_t i = 0; i < sizeof(since) / sizeof(*since); i++) {
		if (file_va(host, file, since[i].symbol))
			return since[i].version;
	}
	return PY_VERSION(3, 6);
}

static uint32_t find_version(const struct ep_unwinder_host *host, const struct ep_file *file)
{
	uint64_t va = file_va(host, file, "Py_Version");
	uint32_t hex;

	if (va && host->file_read(file, va, &hex, sizeof(hex)) == 0)
		return hex >> 16;
	return guess_version(host, file);
}

/* Reads what there is of _PyRuntime's beginning: it may be smaller, or have no data in the file. */
static size_t read_runtime(const struct ep_unwinder_host *host, const struct ep_file *file,
			   const struct ep_symbol *runtime, uint8_t *buf)
{
	size_t n = PY_DEBUG_OFFSETS_BYTES;

	if (runtime->bytes && runtime->bytes < n)
		n = (size_t)runtime->bytes;
	return host->file_read(file, runtime->va, buf, n) == 0 ? n : 0;
}

static int find_offsets(struct py_executable *exe, const struct ep_file *file,
			const struct ep_symbol *runtime)
{
	uint8_t bytes[PY_DEBUG_OFFSETS_BYTES];
	size_t n = runtime->va ? read_runtime(exe->host, file, runtime, bytes) : 0;
	bool trace_refs = file_va(exe->host, file, "_Py_PrintReferences");
	int r = py_layout_from_debug(bytes, n, runtime->bytes, &exe->layout);

	exe->debug_offsets = r != -ENODATA;
	if (exe->debug_offsets)
		return r;
	return py_layout_find(find_version(exe->host, file), trace_refs, &exe->layout);
}

/* 3.6: PyGILState_GetThisThreadState passes `static int autoTLSkey` on. */
static void find_old_key(struct py_executable *exe, const struct ep_file *file)
{
	uint64_t va = file_va(exe->host, file, "PyGILState_GetThisThreadState");

	if (va)
		(void)exe->host->file_argument(file, va, &exe->key_va);
}

/* Py_tss_t, 3.7 and newer Include/cpython/pythread.h: int _is_initialized; pthread_key_t _key. */
static void find_globals(struct py_executable *exe, const struct ep_file *file)
{
	const struct py_layout *offsets = &exe->layout;
	const struct ep_unwinder_host *host = exe->host;

	if (!exe->runtime_va) {
		/* 3.6 Python/pystate.c */
		exe->holder_va = file_va(host, file, "_PyThreadState_Current");
		find_old_key(exe, file);
		exe->interpreters_va = file_va(host, file, "interp_head");
		return;
	}
	exe->interpreters_va = exe->runtime_va + offsets->runtime_interpreters;
	if (offsets->runtime_holder != PY_NONE)
		exe->holder_va = exe->runtime_va + offsets->runtime_holder;
	if (offsets->runtime_key != PY_NONE) {
		exe->key_created_va = exe->runtime_va + offsets->runtime_key;
		exe->key_va = exe->key_created_va + 4;
	}
}

/*
 * _PyThreadState_GetCurrent (3.12 and newer) and, from 3.15 on, PyGILState_GetThisThreadState
 * return a variable of thread storage that has no dynamic symbol.
 */
static void find_variable(struct py_executable *exe, const struct ep_file *file, const char *symbol,
			  const char *getter, struct ep_variable *variable)
{
	const struct ep_unwinder_host *host = exe->host;
	struct ep_symbol found;

	/* Code that has the offset from the thread pointer needs no knowledge of the C library. */
	if (host->file_symbol(file, getter, &found) == 0 &&
	    host->file_variable(file, found.va, variable) == 0 &&
	    variable->kind == EP_VARIABLE_POINTER)
		return;
	file_thread_variable(host, file, symbol, variable);
}

/*
 * 3.12 and newer: a thread's state while it may run Python (Python/pystate.c). From 3.15 on also
 * its state while it has let go of the GIL; before that one is the value of a pthread key.
 */
static void find_variables(struct py_executable *exe, const struct ep_file *file)
{
	if (exe->layout.version < PY_VERSION(3, 12))
		return;
	find_variable(exe, file, "_Py_tss_tstate", "_PyThreadState_GetCurrent", &exe->variables[0]);
	if (exe->layout.version >= PY_VERSION(3, 15))
		find_variable(exe, file, "_Py_tss_gilstate", "PyGILState_GetThisThreadState",
			      &exe->variables[1]);
}

/* _PyJIT_Entry, 3.15 Python/jit.c: only where the JIT is built in. Before, nothing tells. */
static uint32_t find_jit(const struct py_executable *exe, const struct ep_file *file)
{
	if (exe->layout.version < PY_VERSION(3, 13))
		return PY_JIT_NONE;
	if (exe->layout.version < PY_VERSION(3, 15))
		return PY_JIT_STACK;
	return file_va(exe->host, file, "_PyJIT_Entry") ? PY_JIT_POINTER : PY_JIT_NONE;
}

static int probe(void *executable, const struct ep_file *file)
{
	struct py_executable *exe = executable;
	const struct ep_unwinder_host *host = exe->host;
	struct ep_symbol runtime = {0}, eval;
	int r;

	if (host->file_symbol(file, "_PyRuntime", &runtime) < 0 &&
	    !file_va(host, file, "_PyThreadState_Current"))
		return py_greenlet_find(host, file, &exe->greenlet) ? EP_CODE_ONLY : EP_NOT_MINE;
	/* PEP 523: 3.6 is the first that has it. */
	if (host->file_symbol(file, "_PyEval_EvalFrameDefault", &eval) < 0 || eval.bytes == 0)
		return EP_NOT_MINE;
	exe->runtime_va = runtime.va;
	r = find_offsets(exe, file, &runtime);
	if (r < 0)
		return r;
	exe->code_type_va = file_va(host, file, "PyCode_Type");
	exe->type_type_va = file_va(host, file, "PyType_Type");
	if (!exe->code_type_va)
		return -ENODATA;
	find_globals(exe, file);
	find_variables(exe, file);
	exe->jit = find_jit(exe, file);
	exe->n_code = host->file_parts(file, &eval, exe->code, PY_MAX_CODE_RANGES);
	return 0;
}

int py_probe(const struct ep_unwinder_host *host, const struct ep_file *file, void **ret_executable)
{
	return file_probe(host, file, sizeof(struct py_executable), probe, ret_executable);
}

/* Where greenlets begin their stacks end; the file's own rules lead on to whatever lies there. */
int py_describe(void *executable, const struct ep_file *file, struct ep_description *description)
{
	const struct py_executable *exe = executable;
	const struct py_greenlet *greenlet = &exe->greenlet;
	struct ep_code_row rows[PY_MAX_GREENLET_PARTS];

	(void)file;
	for (uint32_t i = 0; i < greenlet->n_parts; i++)
		rows[i] = (struct ep_code_row){
			.va = greenlet->parts[i].va,
			.bytes = (uint32_t)greenlet->parts[i].bytes,
			.flags = EP_CODE_INSTEAD,
			.cfa_reg = 7, /* rsp */
			.cfa_off = 8,
			.ra_place = EP_CODE_LOST,
		};
	return greenlet->n_parts ? exe->host->add_rows(description, rows, greenlet->n_parts) : 0;
}

void py_unload(void *executable)
{
	free(executable);
}
