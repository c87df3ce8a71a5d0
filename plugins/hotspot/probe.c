/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/hotspot/hotspot.h"

#include "core/base/util.h"
#include "plugins/shared/read/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- the current thread ----------------------------------------------------------------------- */

/* What a function does first: reads an int and calls something with it. */
struct key_use {
	uint64_t key_va, callee_va;
};

/*
 *	mov x(%rip),%edi			8b 3d rel32
 *	lea x(%rip),%rax ... mov (%rax),%edi	48 8d 05 rel32 ... 8b 38 (so do GCC's -fPIC and a
 *						linker)
 * and then call f: e8 rel32. Between the two a register may be saved.
 */
static bool parse_key_use(const uint8_t *code, size_t bytes, uint64_t va, struct key_use *ret)
{
	for (size_t i = 0; i + 11 <= bytes; i++) {
		size_t end = 0;

		if (code[i] == 0x48 && code[i + 1] == 0x8d && code[i + 2] == 0x05)
			ret->key_va = va + i + 7 + (uint64_t)(int32_t)ep_get_u32(code + i + 3);
		if (code[i] == 0x8b && code[i + 1] == 0x3d) {
			end = i + 6;
			ret->key_va = va + end + (uint64_t)(int32_t)ep_get_u32(code + i + 2);
		} else if (code[i] == 0x8b && code[i + 1] == 0x38) {
			end = i + 2;
		}
		if (!end || code[end] != 0xe8)
			continue;
		ret->callee_va = va + end + 5 + (uint64_t)(int32_t)ep_get_u32(code + end + 1);
		return ret->key_va != 0;
	}
	return false;
}

/*
 * 8 is stripped. Its JVM_ENTRY_NO_ENV functions begin with ThreadLocalStorage::get_thread_slow(),
 * which is pthread_getspecific(ThreadLocalStorage::_thread_index)
 * (src/share/vm/runtime/interfaceSupport.hpp, threadLocalStorage.cpp;
 * src/os/linux/vm/os_linux.inline.hpp). When all of several exported ones pass one int to one
 * function, it is that.
 */
static uint64_t find_key_in_code(const struct ep_unwinder_host *host, const struct ep_file *file)
{
	static const char *const functions[] = {"JVM_GC", "JVM_MaxMemory", "JVM_FreeMemory",
						"JVM_TotalMemory"};
	struct key_use first = {0};
	uint8_t code[64];

	for (size_t i = 0; i < EP_LEN(functions); i++) {
		uint64_t va = file_va(host, file, functions[i]);
		struct key_use use = {0};

		if (!va || host->file_read(file, va, code, sizeof(code)) < 0 ||
		    !parse_key_use(code, sizeof(code), va, &use))
			return 0;
		if (i == 0)
			first = use;
		if (use.key_va != first.key_va || use.callee_va != first.callee_va)
			return 0;
	}
	return first.key_va;
}

/*
 * 9 on, stripped: AsyncGetCallTrace, which all export, asks Thread::current_or_null_safe(), and
 * that calls ThreadLocalStorage::thread(), which is no more than
 *
 *	mov x(%rip),%edi, or lea x(%rip),%rax; mov (%rax),%edi
 *	jmp pthread_getspecific
 *
 * (src/hotspot/share/prims/forte.cpp, os/posix/threadLocalStorage_posix.cpp, 11 to 27). The first
 * function it calls that looks so.
 */
static bool parse_thread_getter(const uint8_t *code, size_t bytes, uint64_t va,
				uint64_t *ret_key_va)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t at = memcmp(code, endbr64, sizeof(endbr64)) == 0 ? sizeof(endbr64) : 0;

	if (bytes < 24)
		return false;
	if (code[at] == 0x8b && code[at + 1] == 0x3d) {
		*ret_key_va = va + at + 6 + (uint64_t)(int32_t)ep_get_u32(code + at + 2);
		return code[at + 6] == 0xe9;
	}
	if (code[at] != 0x48 || code[at + 1] != 0x8d || code[at + 2] != 0x05 ||
	    code[at + 7] != 0x8b || code[at + 8] != 0x38)
		return false;
	*ret_key_va = va + at + 7 + (uint64_t)(int32_t)ep_get_u32(code + at + 3);
	return code[at + 9] == 0xe9;
}

static uint64_t find_key_of_getter(const struct ep_unwinder_host *host, const struct ep_file *file)
{
	uint64_t va = file_va(host, file, "AsyncGetCallTrace"), key_va;
	uint8_t code[256], callee[24];

	if (!va || host->file_read(file, va, code, sizeof(code)) < 0)
		return 0;
	for (size_t i = 0; i + 5 <= sizeof(code); i++) {
		uint64_t callee_va = va + i + 5 + (uint64_t)(int32_t)ep_get_u32(code + i + 1);

		if (code[i] == 0xe8 &&
		    host->file_read(file, callee_va, callee, sizeof(callee)) == 0 &&
		    parse_thread_getter(callee, sizeof(callee), callee_va, &key_va))
			return key_va;
	}
	return 0;
}

/*
 * 9 on there are two ways: `static THREAD_LOCAL Thread* _thr_current`
 * (src/hotspot/share/runtime/thread.hpp), and the pthread key
 * (src/hotspot/os/posix/threadLocalStorage_posix.cpp), both local symbols.
 */
static void find_thread(struct hotspot_executable *exe, const struct ep_file *file)
{
	const struct ep_unwinder_host *host = exe->host;

	exe->thread_key_va = file_va(host, file, "_ZN18ThreadLocalStorage13_thread_indexE");
	if (!exe->thread_key_va)
		exe->thread_key_va = file_va(host, file, "_ZL11_thread_key");
	file_thread_variable(host, file, "_ZN6Thread12_thr_currentE", &exe->thread);
	if (!exe->thread_key_va && !exe->thread.kind)
		exe->thread_key_va = find_key_in_code(host, file);
	if (!exe->thread_key_va && !exe->thread.kind)
		exe->thread_key_va = find_key_of_getter(host, file);
}

/* --- variables that point to stubs ------------------------------------------------------------ */

struct pointer_visit {
	struct hotspot_executable *exe;
	int result;
};

/*
 * _ZN12StubRoutines16_call_stub_entryE is StubRoutines::_call_stub_entry, _ZN12StubRoutines3x86..E
 * one of its class x86: the last of the names that follow their lengths. Functions do not end so,
 * and arrays are larger than a pointer.
 */
static const char *last_name(const char *symbol, size_t *ret_len)
{
	const char *at = symbol + strlen("_ZN"), *name = NULL;
	size_t rest = strlen(at), len = 0;

	while (rest > 1 && *at >= '1' && *at <= '9') {
		char *end;

		len = strtoul(at, &end, 10);
		rest -= (size_t)(end - at);
		if (len >= rest)
			return NULL;
		name = end;
		at = end + len;
		rest -= len;
	}
	if (!name || strcmp(at, "E") != 0)
		return NULL;
	*ret_len = len;
	return name;
}

static int add_pointer(void *arg, const char *name, const struct ep_symbol *symbol)
{
	struct pointer_visit *visit = arg;
	struct hotspot_executable *exe = visit->exe;
	size_t len;
	const char *last = last_name(name, &len);
	char *copy;

	if (!last || symbol->bytes != 8 || symbol->va & 7)
		return 0;
	if (*last == '_' && len > 1) {
		last++;
		len--;
	}
	copy = strndup(last, len);
	if (!copy) {
		visit->result = -ENOMEM;
		return 1;
	}
	exe->pointers[exe->n_pointers++] = (struct hotspot_pointer){.va = symbol->va, .name = copy};
	return exe->n_pointers == HOTSPOT_MAX_POINTERS;
}

static int compare_pointers(const void *a, const void *b)
{
	const struct hotspot_pointer *x = a, *y = b;

	return x->va < y->va ? -1 : x->va > y->va;
}

/* None is no error: most files have no more than .dynsym. */
static int find_pointers(struct hotspot_executable *exe, const struct ep_file *file)
{
	struct pointer_visit visit = {.exe = exe};
	struct hotspot_pointer *fewer;

	exe->pointers = calloc(HOTSPOT_MAX_POINTERS, sizeof(*exe->pointers));
	if (!exe->pointers)
		return -ENOMEM;
	(void)exe->host->file_symbols(file, "_ZN12StubRoutines", add_pointer, &visit);
	qsort(exe->pointers, exe->n_pointers, sizeof(*exe->pointers), compare_pointers);
	if (!exe->n_pointers)
		return visit.result;
	fewer = realloc(exe->pointers, exe->n_pointers * sizeof(*fewer));
	exe->pointers = fewer ? fewer : exe->pointers;
	return visit.result;
}

/* src/hotspot/share/runtime/stubRoutines.hpp, continuationEntry.hpp: 21 to 27. */
static void find_continuations(struct hotspot_executable *exe, const struct ep_file *file)
{
	const struct ep_unwinder_host *host = exe->host;

	exe->return_barrier_va = file_va(host, file, "_ZN12StubRoutines19_cont_returnBarrierE");
	exe->return_barrier_exception_va =
		file_va(host, file, "_ZN12StubRoutines22_cont_returnBarrierExcE");
	exe->continuation_return_va = file_va(host, file, "_ZN17ContinuationEntry10_return_pcE");
}

/* An int in 8 and 11, 64 bits from 17 on (runtime/safepoint.hpp, 8 to 27; 28 by its symbol). */
static void find_safepoints(struct hotspot_executable *exe, const struct ep_file *file)
{
	struct ep_symbol symbol;

	if (exe->host->file_symbol(file, "_ZN20SafepointSynchronize18_safepoint_counterE",
				   &symbol) == 0 &&
	    (symbol.bytes == 4 || symbol.bytes == 8))
		exe->safepoints = symbol;
}

int hotspot_probe(const struct ep_unwinder_host *host, const struct ep_file *file,
		  void **ret_executable)
{
	struct hotspot_tables *tables;
	struct hotspot_executable *exe;
	int r = hotspot_tables_find(host, file, &tables);

	/* libjli, with which each `java` finds and opens libjvm
	 * (src/java.base/share/native/libjli/java.c, 8 to 28). */
	if (r == EP_NOT_MINE && file_va(host, file, "JLI_Launch"))
		return EP_LAUNCHER;
	if (r != 0)
		return r;
	exe = calloc(1, sizeof(*exe));
	if (!exe) {
		hotspot_tables_free(tables);
		return -ENOMEM;
	}
	exe->host = host;
	exe->tables = tables;
	exe->interpreter_va = file_va(host, file, "_ZN19AbstractInterpreter5_codeE");
	find_thread(exe, file);
	find_continuations(exe, file);
	find_safepoints(exe, file);
	r = find_pointers(exe, file);
	if (r < 0) {
		hotspot_unload(exe);
		return r;
	}
	*ret_executable = exe;
	return 0;
}

void hotspot_unload(void *executable)
{
	struct hotspot_executable *exe = executable;

	for (size_t i = 0; i < exe->n_pointers; i++)
		free(exe->pointers[i].name);
	free(exe->pointers);
	hotspot_tables_free(exe->tables);
	free(exe);
}
