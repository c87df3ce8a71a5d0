/* SPDX-License-Identifier: Apache-2.0 */
/* Where the parts of the embedded builtins are in a file: what builtins.c puts together. */
#ifndef V8_FILE_H
#define V8_FILE_H

#include "plugins/shared/read/file.h"
#include "plugins/v8/code/builtins.h"

struct v8_reader {
	const struct ep_unwinder_host *host;
	const struct ep_file *file;
	uint32_t *reads; /* of builtin_metadata, so far */
};

/* builtin_metadata (builtins.cc): by id. */
struct v8_metadata {
	uint32_t name; /* offset in names */
	uint8_t kind;
};

struct v8_metadata_table {
	struct v8_metadata *rows;
	char *names;
	uint32_t n;
};

/* 0; -ENODATA: there is none; -ENOMEM, and what file_read gives. */
int v8_metadata_read(const struct v8_reader *reader, struct v8_metadata_table *ret);
void v8_metadata_free(struct v8_metadata_table *table);

/* A builtin's code in the blob. */
struct v8_code_place {
	uint32_t off, bytes, end; /* end: with what fills up */
};

struct v8_blob {
	struct v8_code_place *places; /* by id */
	uint8_t *code;
	uint64_t va;
	uint32_t bytes;
	uint32_t reads, searches; /* while it is looked for: how often so far */
	uint64_t looked;	  /* places, and bytes between them */
};

/* The blob of n builtins. 0, -ENODATA: none; -EBADMSG: symbols of one, but no layout holds; -ENOMEM
 * ... */
int v8_blob_read(const struct v8_reader *reader, uint32_t n, struct v8_blob *ret);
void v8_blob_free(struct v8_blob *blob);

#endif
