/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a worker does with a new executable: open it, read its identity, ask the languages about it,
 * build its unwind tables and put them into the delta store. Works on copies; nothing here belongs to the loop.
 * Anybody may have made the file: what it may cost is bounded (core/base/work.h), for the languages and for the
 * tables each, so that neither costs the other one anything.
 */
#ifndef EP_PROCESS_ANALYSIS_H
#define EP_PROCESS_ANALYSIS_H

#include "core/language/languages.h"
#include "core/elf/file.h"
#include "core/proc/maps.h"
#include "core/proc/open.h"
#include "core/process/text_parts.h"
#include "core/unwind/delta_store.h"

struct ep_described_symbols;
struct ep_unwind_table;

struct ep_analysis {
	/* in; file.fd: the file when it is open already (taken), else -1 */
	pid_t pid;		   /* in which it was found: expected.start_ns */
	struct ep_mapping mapping; /* path is owned by the analysis */
	struct ep_proc_file expected; /* the identity under which it is known */
	struct ep_delta_store *store;
	struct ep_memory_budget *memory; /* of what is read; NULL: as much as there is */
	bool may_be_in_parts; /* tables of parts of a large library are enough */
	struct ep_text_parts parts; /* wanted ones; out: where they are, if there were none */
	atomic_bool stopped; /* by the loop: nobody wants it any more */
	struct ep_languages *languages; /* asked whose it is; NULL: that is known, see claims */
	/* out */
	int result;	  /* 0, or why it failed; -ECANCELED: it was stopped */
	bool opened;	  /* if not, another process may have better luck with the same file */
	int table_result; /* 0, -ENODATA: no unwind information, or why there are no tables; -EAGAIN:
			     others hold the memory that it takes */
	struct ep_proc_file file;
	char build_id[2 * EP_ELF_BUILD_ID_MAX + 1];
	char file_id[33];
	char go_build_id[128];
	struct ep_elf_segment segments[8];
	size_t n_segments;
	struct ep_delta_store_text *text;
	bool is_in_parts; /* text has these parts alone; NULL: none is wanted yet */
	/* References. Given where languages is NULL; either way they describe the file's code. */
	struct ep_claim *claims[EP_MAX_CLAIMS];
	size_t n_claims;
	bool is_described; /* by all of them; if not, another time may tell more */
	struct ep_described_symbols *described; /* a reference; NULL: no symbols were */
	uint64_t described_va, described_end; /* of all rows; both 0: there were none */
};

void ep_analysis_run(struct ep_analysis *analysis);

/*
 * A file's unwind table, with rows that describe its code (struct ep_code_row). A separate debug
 * file is looked for, by `root` and `path`, only when the file has no .eh_frame. 0 or -errno.
 */
int ep_analysis_build_table(const struct ep_elf *elf, const char *root, const char *path,
			    const struct ep_vec *rows, struct ep_unwind_table **ret_table);

#endif
