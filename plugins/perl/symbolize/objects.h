/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces of an interpreter's memory, which may hold anything: lengths are capped, chains are not
 * followed. All of it moves and goes while it is read; who reads asks afterwards whether it was
 * still there.
 */
#ifndef PL_OBJECTS_H
#define PL_OBJECTS_H

#include "plugins/perl/check.h"
#include "plugins/perl/layout.h"
#include "plugins/shared/read/memory.h"

#include <stddef.h>

#define PL_WINDOW_BYTES 1024

struct pl_reader {
	const struct memory *memory;
	const struct pl_layout *layout;
	/* Ops lie beside each other: what was read last. */
	uint64_t window_addr;
	size_t window_bytes;
	uint8_t window[PL_WINDOW_BYTES];
};

/* sv.h: struct STRUCT_SV. The same in v5.28.3 to v5.44.0. */
struct pl_sv {
	uint64_t any; /* the body */
	uint32_t refcount, flags;
	uint64_t u;
};

/* sv.h, SVTYPEMASK and svtype. */
#define PL_SV_TYPE(flags) ((flags)&0xff)
#define PL_SVF_POK	  0x00000400u
enum pl_sv_type {
	PL_SVT_PV = 3,
	PL_SVT_PVMG = 7,
	PL_SVT_PVGV = 9,
	PL_SVT_PVHV = 12,
	PL_SVT_PVCV = 13,
	PL_SVT_PVFM = 14,
};

static inline int pl_read(const struct pl_reader *reader, uint64_t addr, void *buf, size_t bytes)
{
	return memory_read(reader->memory, addr, buf, bytes);
}

/* The same through the window: what is read may be as old as the first read. */
int pl_read_near(struct pl_reader *reader, uint64_t addr, void *buf, size_t bytes);

/*
 * Texts, as UTF-8 and without control characters; of one that is too long the end is "...". 0,
 * -EBADMSG (no text), or what reading returned. size is at least 8.
 */
/* A HEK: the key of a hash, as all names are (hv.h: struct hek). */
int pl_read_hek(const struct pl_reader *reader, uint64_t addr, char *buf, size_t size);
int pl_read_string(const struct pl_reader *reader, uint64_t addr, char *buf, size_t size);
/* The same as it is, cut at size - 1 bytes. */
int pl_read_text(const struct pl_reader *reader, uint64_t addr, char *buf, size_t size);
/* `utf8`: else it is Latin-1. `more`: it goes on after n. */
void pl_clean_text(const uint8_t *text, size_t n, bool utf8, bool more, char *buf, size_t size);

/* The name of a stash, "__ANON__" where it has none; 0, -EBADMSG (no stash), or what reading
 * returned. */
int pl_read_stash_name(const struct pl_reader *reader, uint64_t stash, char *buf, size_t size);
/*
 * A glob's package and name, each of `size`, as gv_efullname3 writes them where `effective`, else
 * its own; package: NULL where it is not wanted.
 */
int pl_read_glob_name(const struct pl_reader *reader, uint64_t gv, bool effective, char *package,
		      char *name, size_t size);

#endif
