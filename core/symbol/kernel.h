/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of kernel code: the kernel, its modules, BPF programs and trampolines, as /proc/kallsyms
 * lists them. A table is a snapshot of one moment, 4 bytes per symbol and the names once, deflated:
 * a look-up takes some microseconds, and one for each frame is enough. Load a new table when
 * modules or BPF programs came. It does not change, so any thread may look up in it.
 */
#ifndef EP_SYMBOL_KERNEL_H
#define EP_SYMBOL_KERNEL_H

#include "core/elf/file.h"

#define EP_KERNEL_NAME_MAX 512 /* KSYM_NAME_LEN, include/linux/kallsyms.h, Linux 6.1 */

struct ep_kernel_symbols;

struct ep_kernel_name {
	uint64_t start_addr;
	const char *module; /* "" for the kernel, else as in brackets: "ext4", "bpf"; borrowed */
	char name[EP_KERNEL_NAME_MAX];
};

/*
 * Reads a file like /proc/kallsyms. 0; -EACCES when the kernel shows only zeroes, which root with
 * CAP_SYSLOG and `sysctl kernel.kptr_restrict=1` (or 0) changes; -ENODATA when there is no code in
 * it; -E2BIG, -ENOMEM, -errno.
 */
int ep_kernel_symbols_load(const char *path, struct ep_kernel_symbols **ret_symbols);
void ep_kernel_symbols_free(struct ep_kernel_symbols *symbols);
static inline void ep_kernel_symbols_freep(struct ep_kernel_symbols **symbols)
{
	ep_kernel_symbols_free(*symbols);
}

/* 0, -ENODATA for an address in no function, -ENOMEM. */
int ep_kernel_symbols_find(const struct ep_kernel_symbols *symbols, uint64_t addr,
			   struct ep_kernel_name *ret_name);
/*
 * Where the kernel itself lies, from its first symbol to its last: code of modules and BPF programs is elsewhere.
 * False: there is no such place.
 */
bool ep_kernel_symbols_own(const struct ep_kernel_symbols *symbols, uint64_t *ret_start_addr,
			   uint64_t *ret_end_addr);
size_t ep_kernel_symbols_len(const struct ep_kernel_symbols *symbols);
size_t ep_kernel_symbols_bytes(const struct ep_kernel_symbols *symbols);

/* GNU build id of the running kernel, from /sys/kernel/notes. Length, -ENODATA, -errno. */
int ep_kernel_build_id(uint8_t id[EP_ELF_BUILD_ID_MAX]);

#endif
