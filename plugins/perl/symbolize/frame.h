/* SPDX-License-Identifier: Apache-2.0 */
/* A frame as BPF pushed it, taken apart (perl_shared.h). */
#ifndef PL_FRAME_H
#define PL_FRAME_H

#include "ebpf-profiler/unwinder.h"
#include "plugins/perl/perl_shared.h"

#include <stdbool.h>

struct pl_frame {
	enum pl_kind kind;
	uint64_t check, what, cop;
	int64_t op_words; /* op - cop, in words; 0: not known */
	uint32_t line;	  /* as it was; 0: not known */
	uint32_t text;	  /* number of the text it is in; 0: none */
	uint64_t file;	  /* hash of its file's name; 0: none */
	uint64_t file_addr; /* where that name was; 0: not known */
	uint64_t name;	  /* with PL_FRAME_NAME: what tells its name from others */
	uint32_t flags;	  /* enum pl_frame_flag */
};

void pl_frame_take(const struct ep_raw_frame *raw, struct pl_frame *ret);

bool pl_kind_has_cv(enum pl_kind kind); /* the frame says its CV */
bool pl_kind_is_sub(enum pl_kind kind);
/* A plain name where the kind says all, NULL where the code does. */
const char *pl_kind_name(enum pl_kind kind);

#endif
