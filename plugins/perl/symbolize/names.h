/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names a frame (perl_shared.h). What it says is checked before and after the names are read: the
 * program has gone on, and what is at these addresses may be something else by now.
 *
 *	CV ─► GV ─► its effective GV ─► stash, name	"Package::name"
 *	   ─► HEK and CvSTASH (CvNAMED, from 5.22 on)	"Package::name"; of lexical subs "name"
 *	   ─► CvSTART: the first statement		where an __ANON__ was made: "[file:line]"
 *	statement ─► file, line
 */
#ifndef PL_NAMES_H
#define PL_NAMES_H

#include "ebpf-profiler/unwinder.h"
#include "plugins/perl/layout.h"
#include "plugins/perl/symbolize/files.h"
#include "plugins/shared/names/add.h"
#include "plugins/shared/read/memory.h"

#define PL_CACHE_MAX_BYTES ((size_t)2 << 20)

/* What naming needs of a process. Attach fills it; the target's memory is hostile. */
struct pl_namer {
	const struct ep_unwinder_host *host;
	const struct ep_target *target; /* for counting */
	struct memory memory;		/* of it */
	const struct pl_layout *layout;
	struct names_cache *cache; /* names_function */
	struct pl_files *files;
	uint64_t incgv_addr;	/* of PL_incgv; 0: not known */
	uint64_t origfile_addr; /* of PL_origfilename; 0: not known */
};

int pl_namer_init(struct pl_namer *namer);  /* after the rest is filled: 0, -ENOMEM */
void pl_namer_fini(struct pl_namer *namer); /* accepts zeroes */

/*
 * 0 after the name was added; -ESRCH: the process has gone before any frame was named, its parent
 * may know; or another negative errno. A sub that was freed before it could be named, and whose
 * name nobody else has had, is "(freed sub)", and is counted. *placed is false when its statement
 * is gone: then it may have no line.
 */
int pl_names_add(const struct pl_namer *namer, const struct ep_raw_frame *frame,
		 struct ep_names *names, bool *placed);

/* 0, -EBADMSG: no stash, or what reading returned. size is at least 8. */
int pl_stash_name(const struct pl_namer *namer, uint64_t stash, char *buf, size_t size);

#endif
