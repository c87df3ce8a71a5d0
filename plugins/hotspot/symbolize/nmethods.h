/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled methods (nmethod): what is needed to name their frames, read once, as long as the same
 * is at that address: its compile id, its Method and its block's use are looked at before and
 * after.
 *
 * Sections, and in which releases the beginning is what; offsets are from CodeBlob:
 *
 *			8		9 to 22			23 on
 *	metadata	_metadata_offset, until the scopes	_mutable_data + _relocation_size
 *	scopes' data	_scopes_data_offset  _scopes_data_begin	_immutable_data +
 *								_scopes_data_offset
 *	debug points	_scopes_pcs_offset, until dependencies	_immutable_data + _scopes_pcs_offset
 *	null checks	_nul_chk_table_offset			_immutable_data +
 *								_nul_chk_table_offset
 *
 * share/vm/code/nmethod.hpp (8), share/code/nmethod.hpp (11 to 27), compiledMethod.hpp (11 to 21):
 * metadata_begin, scopes_data_begin, scopes_pcs_begin, nul_chk_table_begin and their ends. Since 23
 * debug points end where the scopes' data begin.
 *
 * Null checks (ImplicitExceptionTable, share/code/exceptionHandlerTable.hpp, 8 to 27), all u4: how
 * many, then pairs: offset of the instruction that traps, offset of where it goes on, from the
 * code's begin. An instruction that only goes on by deoptimization has the same offset twice.
 */
#ifndef HOTSPOT_NMETHODS_H
#define HOTSPOT_NMETHODS_H

#include "plugins/hotspot/symbolize/methods.h"
#include "plugins/hotspot/symbolize/scopes.h"

#define HOTSPOT_ITEM_NMETHOD 2

struct hotspot_null_check {
	uint32_t off, to;
};

/* What the same nmethod has the same of, read in one piece. */
struct hotspot_header {
	uint64_t method;
	uint64_t metadata, data, pcs, null_checks; /* addresses */
	uint64_t oop_maps;
	uint32_t metadata_bytes, data_bytes, pcs_bytes, null_bytes; /* at most */
	uint32_t compile_id;
	uint32_t code_off; /* the code's begin */
	bool is_used;	   /* its block */
};

struct hotspot_nmethod {
	struct names_item item; /* key: CodeBlob, word 1 of its frames */
	struct hotspot_header header;
	struct hotspot_scopes scopes;
	struct hotspot_method **methods; /* of scopes.methods, those that were needed */
	struct hotspot_null_check *null_checks; /* ascending */
	uint32_t n_null_checks;
	bool is_dense; /* has debug points beside those of calls and polls: DebugNonSafepoints */
};

/*
 * From the cache, or read now. With a reference. 0, EP_FRAME_GONE, -EBADMSG, -ESRCH, -ENOMEM,
 * -E2BIG (more than is ever read).
 */
int hotspot_nmethod_get(const struct hotspot_methods *methods, uint64_t blob, uint64_t word,
			struct hotspot_nmethod **ret);

/* Is it still there? 0, EP_FRAME_GONE, -ESRCH. */
int hotspot_nmethod_check(const struct hotspot_methods *methods,
			  const struct hotspot_nmethod *nmethod);

/* Its method by number (scopes.h), borrowed. *ret_read: see hotspot_method_get. */
int hotspot_nmethod_method(const struct hotspot_methods *methods, struct hotspot_nmethod *nmethod,
			   uint32_t number, struct hotspot_method **ret, bool *ret_read);

/* Where the null check at an offset goes on; the offset itself: it is none, or nowhere. */
uint32_t hotspot_nmethod_null_check(const struct hotspot_nmethod *nmethod, uint32_t off);

#endif
