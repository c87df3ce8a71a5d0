/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data of a file as it is in a process that has mapped it at the file's own addresses:
 * relocated. All of it is hostile.
 */
#ifndef PHP_NATIVES_DATA_H
#define PHP_NATIVES_DATA_H

#include "ebpf-profiler/unwinder.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PHP_AREAS    3 /* .rodata, .data.rel.ro, .data */
#define PHP_MAX_NAME 128 /* bytes of a name of a function or a class, with the NUL */

struct php_area {
	uint64_t va;
	size_t bytes;
	uint8_t *at;
};

struct php_data {
	const struct ep_unwinder_host *host;
	const struct ep_file *file;
	struct ep_symbol text;
	struct php_area areas[PHP_AREAS]; /* ascending */
};

/* 0, -ENOMEM, or what reading returned. What a file has not is empty. */
int php_data_init(struct php_data *data, const struct ep_unwinder_host *host,
		  const struct ep_file *file);
void php_data_fini(struct php_data *data);

/* Borrowed; NULL: there is no such data. */
const uint8_t *php_data_find(const struct php_data *data, uint64_t va, size_t bytes);
/* The name of a function or class there, with its namespace; NULL: there is none. */
const char *php_data_find_name(const struct php_data *data, uint64_t va);

static inline bool php_data_is_code(const struct php_data *data, uint64_t va)
{
	return va - data->text.va < data->text.bytes;
}

#endif
