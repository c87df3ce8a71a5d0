/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source text of the functions of a profile, which may have been recorded elsewhere: files are
 * looked for where the profile says, with the beginnings of paths replaced as --source OLD=NEW
 * says, and below the directories of --source-dir, with every tail of the path; a runtime that
 * knows only the name of a file, and the package in the function's name, is looked for by that
 * package. Paths are hostile: what is no regular file, or larger than EP_SOURCE_MAX_BYTES, is none.
 */
#ifndef EP_REPORTS_SOURCE_H
#define EP_REPORTS_SOURCE_H

#include "core/base/vec.h"

#define EP_SOURCE_MAX_BYTES (32u << 20)
#define EP_SOURCE_MAX_RULES 64

struct ep_source_rule {
	const char *old, *new; /* borrowed; old NULL: `new` is a directory */
	size_t old_bytes;
};

struct ep_source_rules {
	struct ep_source_rule rules[EP_SOURCE_MAX_RULES];
	size_t n;
};

struct ep_source {
	char *path;	     /* where it was found */
	struct ep_vec bytes; /* NUL after them */
	struct ep_vec lines; /* uint32_t: where each begins, line 1 first */
	bool is_denied; /* a file that may be it is there and may not be read */
};

/* "OLD=NEW"; 0, -EINVAL without a '=' or OLD, -E2BIG. Borrows it. */
int ep_source_add_replacement(struct ep_source_rules *rules, const char *text);
int ep_source_add_directory(struct ep_source_rules *rules, const char *path);

/* 0, -ENOENT when it is nowhere, -EACCES when it may not be read, -ENOMEM. */
int ep_source_read(const struct ep_source_rules *rules, const char *file, const char *function,
		   struct ep_source *ret_source);
void ep_source_fini(struct ep_source *source); /* accepts a zeroed one */

/* A line by its number, from 1, with tabs as spaces, in buf; "" when there is no such line. */
const char *ep_source_line(const struct ep_source *source, uint32_t line, char *buf, size_t size);

#endif
