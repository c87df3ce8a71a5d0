/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TOML 1.0 bytes as a tree that can be walked from C; every key and value knows its line and column
 * (from 1, columns in code points). The tree is immutable and lives as long as the document.
 */
#ifndef EP_CONFIG_TOML_H
#define EP_CONFIG_TOML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EP_TOML_MAX_BYTES (64 * 1024)

struct ep_toml;	     /* a document */
struct ep_toml_node; /* a table, an array or a value in it */

struct ep_toml_where {
	uint32_t line, column;
};

struct ep_toml_error {
	struct ep_toml_where where;
	char message[256];
};

enum ep_toml_type {
	EP_TOML_TABLE = 1,
	EP_TOML_ARRAY,
	EP_TOML_STRING,
	EP_TOML_INT,
	EP_TOML_FLOAT,
	EP_TOML_BOOL,
	EP_TOML_DATE, /* a date, a time, or both */
};

/*
 * 0 with a document to free; -EBADMSG with *ret_error filled; -E2BIG beyond EP_TOML_MAX_BYTES;
 * -ENOMEM.
 */
int ep_toml_parse(const char *text, size_t len, struct ep_toml **ret_doc,
		  struct ep_toml_error *ret_error);
void ep_toml_free(struct ep_toml *doc);
static inline void ep_toml_freep(struct ep_toml **doc)
{
	ep_toml_free(*doc);
}

const struct ep_toml_node *ep_toml_root(const struct ep_toml *doc);
enum ep_toml_type ep_toml_type_of(const struct ep_toml_node *node);
/* "a string", "an integer": for messages. Static. */
const char *ep_toml_type_name(enum ep_toml_type type);
struct ep_toml_where ep_toml_where_of(const struct ep_toml_node *node);

/* Entries of a table or an array; 0 for anything else. */
size_t ep_toml_len(const struct ep_toml_node *node);
/* Element i of an array; NULL beyond the end or when it is no array. */
const struct ep_toml_node *ep_toml_at(const struct ep_toml_node *array, size_t i);

/* One entry of a table. Returning non-zero ends the walk, and ep_toml_each returns that value. */
typedef int (*ep_toml_visit)(void *arg, const char *key, struct ep_toml_where key_where,
			     const struct ep_toml_node *value);
/* In order of keys' names. 0 for a node that is no table. */
int ep_toml_each(const struct ep_toml_node *table, ep_toml_visit visit, void *arg);

/* The value of a node of that type; "" / 0 / false for a node of another type. Borrowed. */
const char *ep_toml_string(const struct ep_toml_node *node, size_t *ret_len);
int64_t ep_toml_int(const struct ep_toml_node *node);
double ep_toml_float(const struct ep_toml_node *node);
bool ep_toml_bool(const struct ep_toml_node *node);

#ifdef __cplusplus
}
#endif

#endif
