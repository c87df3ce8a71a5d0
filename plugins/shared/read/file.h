/* SPDX-License-Identifier: Apache-2.0 */
/* What languages look for in a file: symbols, and what is in a section. */
#ifndef READ_FILE_H
#define READ_FILE_H

#include "ebpf-profiler/unwinder.h"

#include <stddef.h>
#include <stdint.h>

/* The address of a symbol; 0: there is none. */
uint64_t file_va(const struct ep_unwinder_host *host, const struct ep_file *file, const char *name);
/* The variable of thread storage that has this symbol; *variable stays where there is none. */
void file_thread_variable(const struct ep_unwinder_host *host, const struct ep_file *file,
			  const char *name, struct ep_variable *variable);

/* As file_read, of any length. */
int file_read_long(const struct ep_unwinder_host *host, const struct ep_file *file, uint64_t va,
		   void *buf, size_t bytes);

/* Returns non-zero to stop. */
typedef int file_visit(void *arg, uint64_t va, const uint8_t *bytes, size_t len);
/*
 * Reads a section in pieces, which overlap by `overlap` bytes, at most half of EP_MAX_FILE_READ.
 * What visit returned, or 0, also when there is no such section; -ENOMEM, and what file_read gives.
 * Only the first FILE_MAX_SCAN bytes of a larger section are read: a small file may say that it has
 * any number of zeros.
 */
#define FILE_MAX_SCAN (256u << 20) /* .text of Electron has 150 MiB */
int file_scan(const struct ep_unwinder_host *host, const struct ep_file *file, const char *section,
	      size_t overlap, file_visit *visit, void *arg);

#endif
