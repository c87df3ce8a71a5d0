/* SPDX-License-Identifier: Apache-2.0 */
/* The chunks of the delta store as BPF maps: created, mapped, put into ep_chunks, taken out. */
#ifndef EP_BPF_CHUNKS_H
#define EP_BPF_CHUNKS_H

#include "core/base/util.h"

/*
 * As struct ep_delta_store_ops has them. Both wait for a grace period of the kernel (8 to 16 ms on
 * most): for worker threads. `bpf`, a struct ep_bpf, is only read. 0 with EP_CHUNK_BYTES of zeroed
 * memory, or a negative errno.
 */
int ep_bpf_add_chunk(void *bpf, uint32_t index, void **ret_memory);
void ep_bpf_remove_chunk(void *bpf, uint32_t index, void *memory);

#endif
