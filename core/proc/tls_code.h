/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads from the code of pthread_getspecific where a C library keeps the values of pthread keys,
 * for those that say it nowhere else. Works on bytes alone; knows the form musl has, and glibc's on
 * x86-64. Whatever else the bytes are, the answer is "not known" or a path, never an overrun.
 */
#ifndef EP_PROC_TLS_CODE_H
#define EP_PROC_TLS_CODE_H

#include "core/base/util.h"
#include "ebpf-profiler/bpf/tls.h"

/* `machine` as e_machine. 0, -ENOTSUP. */
int ep_tls_decode_getspecific(uint16_t machine, const uint8_t *code, size_t bytes, uint32_t key,
			      struct ep_tls *ret);

/*
 * The path to a key in glibc, whose values are in blocks of 32 reached through an array of
 * pointers `specific_off` after the thread pointer (struct pthread.specific). 0, -ENOTSUP.
 */
int ep_tls_glibc_key(int64_t specific_off, uint32_t key, struct ep_tls *ret);

#endif
