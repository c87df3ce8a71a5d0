/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of WebAssembly, by an address in their code:
 *
 *	instance, or its trusted data ──► NativeModule ──► its codes (wasm/wasm-code-manager.h)
 *						       ──► the module's bytes: custom section "name"
 *
 * These are objects of C++: what is read is trusted where the bytes begin as a module does, a
 * code's module is this one, and the address is in it.
 */
#ifndef V8_WASM_H
#define V8_WASM_H

#include "plugins/v8/symbolize/scripts.h"

/*
 * "name" or "wasm-function[3]", as V8's stack traces have it. instance: without its tag. is_return:
 * pc is after a call, which may be the last of a function, with other code after it. What is
 * known of a module is kept: where its codes are, read anew when there is another, and its names.
 * -EBADMSG: not found.
 */
int v8_wasm_name(struct v8_heap *heap, struct names_cache *cache, uint64_t instance, uint64_t pc,
		 bool is_return, char *buf, size_t size);

/* ---- parts of it, on bytes ---- */

/* The name that the "name" section of a module gives a function; "": none. */
void v8_wasm_name_in(const uint8_t *bytes, size_t n, uint32_t index, char *buf, size_t size);
/* How many functions a module imports, and has itself. */
void v8_wasm_counts(const uint8_t *bytes, size_t n, uint32_t *ret_imported, uint32_t *ret_own);

#endif
