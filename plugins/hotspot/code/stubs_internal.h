/* SPDX-License-Identifier: Apache-2.0 */
/* What stubs.c, interpreter.c and blobs.c share: see stubs.h. */
#ifndef HOTSPOT_STUBS_INTERNAL_H
#define HOTSPOT_STUBS_INTERNAL_H

#include "core/base/vec.h"
#include "plugins/hotspot/code/flow.h"
#include "plugins/hotspot/code/stubs.h"
#include "plugins/hotspot/hotspot_shared.h"

/* JDK 25 on a machine with AVX-512: 620 pieces, 20 KiB of names, 2 MiB read in all. */
#define HS_MAX_PIECES 8192
#define HS_MAX_NAMES  (128u << 10)
#define HS_MAX_FOUND  (4 * EP_MAX_RANGES)
#define HS_MAX_KEPT   (1u << 18)
#define HS_MAX_READ   (32u << 20)
#define HS_NAME_BYTES 128

#define HS_BLOB_INTERPRETER 0u

struct hs_piece {
	uint64_t start, end;
	uint32_t name; /* in names */
};

struct hs_range {
	uint64_t start, end, data;
	uint32_t blob; /* number of the blob that it is of; 0: the interpreter */
};

/* Code that was followed: where, and what it was. */
struct hs_kept {
	uint64_t start, bytes, hash;
};

struct hotspot_stubs {
	struct hs_piece *pieces;
	size_t n_pieces;
	char *names;
	size_t n_names;
	struct hs_range *found; /* while it is read */
	size_t n_found;
	size_t n_coarse; /* blobs whose rules were given up */
	struct ep_vec kept; /* of struct hs_kept; ascending when all is read */
	struct ep_range *ranges;
	size_t n_ranges;
};

struct hs_reader {
	const struct memory *memory;
	const struct hotspot_layout *layout;
	const struct hotspot_named_address *names;
	size_t n_names;
	const struct hotspot_stubs *earlier; /* NULL: none */
	struct x86_flow flow;
	size_t left; /* bytes that may be read */
	uint8_t *code; /* space for code */
	size_t code_bytes;
};

/* 0, -E2BIG: more than may be read, or the memory's. */
int hs_read(struct hs_reader *reader, uint64_t addr, void *buf, size_t bytes);
int hs_read_string(struct hs_reader *reader, uint64_t addr, char *buf, size_t size);

/* 0, -E2BIG. */
int hs_add_piece(struct hotspot_stubs *stubs, uint64_t start, uint64_t end, const char *name);
/* Ascending within a blob. What lies between it and the range before goes with that one. */
int hs_add_range(struct hotspot_stubs *stubs, uint64_t start, uint64_t end, uint64_t rule,
		 uint32_t blob);
/* The same, with what a range says of its code (hotspot_shared.h). */
int hs_add_data(struct hotspot_stubs *stubs, uint64_t start, uint64_t end, uint64_t data,
		uint32_t blob);
/* The rules of a piece of code at an address. */
int hs_add_rules(struct hotspot_stubs *stubs, const struct x86_flow *flow, uint64_t addr,
		 size_t bytes, uint32_t blob);

/* 0, EP_NOT_YET, -E2BIG (what fitted is there), or another negative errno. */
int hs_read_interpreter(struct hotspot_stubs *stubs, struct hs_reader *reader);
int hs_read_blobs(struct hotspot_stubs *stubs, struct hs_reader *reader);

/* kept.c: an earlier look at the same code. 1: all of it was taken; 0: nothing is known; -E2BIG,
 * -ENOMEM. */
int hs_take_earlier(struct hotspot_stubs *stubs, const struct hotspot_stubs *earlier,
		    const struct hs_kept *what, uint32_t blob);
/* What is in `kept` is for a later look: sorts it. */
void hs_end_kept(struct hotspot_stubs *stubs);

/* Reads code into reader->code. */
int hs_read_code(struct hs_reader *reader, uint64_t addr, size_t bytes);

#endif
