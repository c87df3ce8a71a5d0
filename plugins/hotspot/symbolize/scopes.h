/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which methods an instruction of compiled code is of: debug points (PcDesc), each of which refers
 * to a scope, which refers to that of its caller, which was inlined around it:
 *
 *	PcDesc	pc_offset (from the code's begin), scope_decode_offset (in the scopes' data; 0:
 *		none), ...
 *	scope	caller's offset (0: none), method (number in the metadata, from 1 on), bci + 1, and
 *		what is
 *		not read: locals, expressions, monitors		all UNSIGNED5
 *
 * share/code/pcDesc.hpp, scopeDesc.cpp (decode_body), debugInfo.hpp (read_bci), debugInfoRec.hpp
 * (serialized_null), nmethod.hpp (metadata_at): the same in 8 to 27. The first and the last PcDesc
 * are sentinels: -1 (pcDesc.hpp) and one after the code and all that is with it
 * (nmethod::copy_scopes_pcs, nmethod.cpp).
 *
 * Invariants of what is built: pcs ascend strictly; a caller's number is below its scope's, so
 * chains end, after HOTSPOT_MAX_CHAIN scopes; an outermost scope is of method 0, the compiled one.
 */
#ifndef HOTSPOT_SCOPES_H
#define HOTSPOT_SCOPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOTSPOT_NO_SCOPE   UINT32_MAX
/* of a scope: at the method's entry, before its first bytecode */
#define HOTSPOT_NO_BCI	   0xffffu
#define HOTSPOT_MAX_SCOPES (1u << 20)
#define HOTSPOT_MAX_CHAIN  512

struct hotspot_pc {
	uint32_t off;
	uint32_t scope; /* number, or HOTSPOT_NO_SCOPE */
};

struct hotspot_scope {
	uint32_t caller; /* number, or HOTSPOT_NO_SCOPE */
	uint16_t method; /* number in `methods` */
	uint16_t bci;
};

/* What is in memory; the caller's. */
struct hotspot_scopes_input {
	const uint8_t *pcs; /* n_pcs of pc_bytes each */
	size_t n_pcs;
	uint32_t pc_bytes, pc_off, pc_scope; /* of a PcDesc: its size and two of its fields, int */
	const uint8_t *data;
	size_t data_bytes;
	const uint64_t *metadata;
	size_t n_metadata;
	uint64_t method; /* that was compiled */
};

struct hotspot_scopes {
	struct hotspot_pc *pcs; /* without the sentinels */
	struct hotspot_scope *scopes;
	uint64_t *methods; /* addresses, each once */
	uint32_t n_pcs, n_scopes, n_methods;
};

/*
 * *excluded (unsigned5.h): the guess before, what the scopes are in after. 0, -EBADMSG, -E2BIG
 * (more than is kept), -ENOMEM.
 */
int hotspot_scopes_parse(const struct hotspot_scopes_input *input, uint32_t *excluded,
			 struct hotspot_scopes *ret);
void hotspot_scopes_fini(struct hotspot_scopes *scopes);

/* The first debug point at off or after: its number, or n. */
uint32_t hotspot_pcs_find(const struct hotspot_pc *pcs, uint32_t n, int64_t off);

#endif
