/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the kernel and its modules lie in memory: their addresses leave the machine relative to
 * that, so that they are the same on every boot and tell nobody where the kernel is.
 */
#ifndef OTLP_KERNEL_H
#define OTLP_KERNEL_H

#include "ebpf-profiler/batch.h"

/* Of _text in a file like /proc/kallsyms; 0: not there, or hidden from us. */
uint64_t otlp_kernel_base(const char *kallsyms_path);

/*
 * For each mapping of the batch what to subtract, 0: nothing. Modules are looked up in a file like
 * /proc/modules; one that is not there counts from the kernel's own base. NULL: out of memory.
 */
uint64_t *otlp_kernel_loads(const struct ep_batch *batch, uint64_t kernel_base,
			    const char *modules_path);

#endif
