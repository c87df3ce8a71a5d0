/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What machine code of x86-64 says: a few forms that compilers give to small functions, and jumps.
 * Works on bytes alone, which may be anything: the answer is then "not understood", never an
 * overrun. `va` is where the first byte is.
 */
#ifndef EP_BASE_CODE_H
#define EP_BASE_CODE_H

#include "core/base/util.h"
#include "ebpf-profiler/unwinder.h"

/* A function that does nothing but return a thread variable. 0, -ENOTSUP. */
int ep_code_variable(const uint8_t *code, size_t bytes, uint64_t va, struct ep_variable *ret);
/* Where the first int is that is loaded from a fixed place as an argument. 0, -ENOTSUP. */
int ep_code_argument(const uint8_t *code, size_t bytes, uint64_t va, uint64_t *ret_va);
/* Whether the bytes at `at` are a jump of 32 bits, conditional or not, and where it leads. */
bool ep_code_jump(const uint8_t *code, size_t bytes, size_t at, uint64_t va, uint64_t *ret_target);

#endif
