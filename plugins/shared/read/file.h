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

/*
 * The probe of a language whose executable has `bytes` and begins with its host: `look` fills the
 * rest. What that says is passed on; what is neither 0 nor EP_CODE_ONLY leaves nothing behind.
 */
int file_probe(const struct ep_unwinder_host *host, const struct ep_file *file, size_t bytes,
	       int (*look)(void *executable, const struct ep_file *file), void **ret_executable);

/* For describe: `add` of those who find names of code in a file, with its description. */
struct file_description {
	const struct ep_unwinder_host *host;
	struct ep_description *description;
};
int file_add_symbol(void *description, const struct ep_symbol *symbol, const char *name);

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
