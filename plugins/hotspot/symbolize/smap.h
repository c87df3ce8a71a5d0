/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A class's source map (JSR-45; ClassFile attribute SourceDebugExtension), which Kotlin writes for
 * functions that it inlines: lines after the end of the class's own file are others'.
 *
 *	SMAP
 *	Main.kt			the class's file
 *	Kotlin			the stratum that counts
 *	*S Kotlin
 *	*F
 *	+ 1 Main.kt		file 1, then its path
 *	demo/MainKt
 *	2 Other.kt		file 2
 *	*L
 *	1#1,10:1		10 lines from 1 of file 1 are lines 1 to 10 of the class
 *	5#2,3:11,2		line 5 of file 2 is lines 11 and 12, 6 is 13 and 14, 7 is 15 and 16
 *	*E
 *
 * Without "#n" it is the file of the line before.
 */
#ifndef HOTSPOT_SMAP_H
#define HOTSPOT_SMAP_H

#include <stddef.h>
#include <stdint.h>

#define HOTSPOT_SMAP_MAX_BYTES (256u << 10)
#define HOTSPOT_SMAP_MAX_FILES 512
#define HOTSPOT_SMAP_MAX_LINES 8192

struct hotspot_smap_file {
	uint32_t id;
	const char *name; /* in the text, name_bytes long */
	size_t name_bytes;
};

struct hotspot_smap_line {
	uint32_t first, n;	/* lines of the class */
	uint32_t source, step; /* the source's first line; so many of the class's for each of it */
	uint32_t file;		/* its number, not its id */
	uint32_t order;
};

struct hotspot_smap {
	struct hotspot_smap_file *files;
	struct hotspot_smap_line *lines; /* ascending by first */
	size_t n_files, n_lines;
};

/* Names point into the text. 0, -EBADMSG (no such map), -ENOMEM. */
int hotspot_smap_parse(const char *text, size_t n, struct hotspot_smap *ret);
void hotspot_smap_fini(struct hotspot_smap *smap);

/* NULL: not in the map. *ret_line: line of that file. */
const struct hotspot_smap_file *hotspot_smap_find(const struct hotspot_smap *smap, uint32_t line,
						  uint32_t *ret_line);

#endif
