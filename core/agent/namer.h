/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds names for frames: kernel frames from a kallsyms snapshot, others on workers, those of a
 * file or of a language in a process together. A sample never waits for a name; a batch does, for a
 * while.
 *
 *	a table's new frames, those that were put back ──► groups, each with a time when it is due ──► a job each
 *
 * Loop's thread only.
 */
#ifndef EP_AGENT_NAMER_H
#define EP_AGENT_NAMER_H

#include "core/base/util.h"
#include "core/trace/program.h"

struct ep_frames;
struct ep_kernel_code;
struct ep_memory_budget;
struct ep_namer;
struct ep_processes;
struct uv_loop_s;

struct ep_namer_options {
	struct uv_loop_s *loop;
	struct ep_processes *processes;
	bool native, kernel; /* look for names of these at all */
	const char *kallsyms; /* NULL: /proc/kallsyms */
	struct ep_kernel_code *kernel_code; /* borrowed; NULL: it is always the same */
	size_t max_bytes;    /* of cached native symbol tables */
	/* May names of this language's frames in this program wait? NULL: no. */
	bool (*is_patient)(void *arg, uint32_t slot, struct ep_program program);
	void (*progress)(void *arg); /* some frames got their names */
	struct ep_memory_budget *memory; /* of what is read for them; NULL: as much as there is */
	size_t *name_jobs; /* as languages have it; NULL: ours alone */
	void *arg;
};

int ep_namer_new(const struct ep_namer_options *options, struct ep_namer **ret_namer);
void ep_namer_free(struct ep_namer *namer); /* no job may be under way: see ep_namer_busy */

/* Names are all that is still looked for: more jobs at once. */
void ep_namer_drain(struct ep_namer *namer);
/* Names of files are not wanted any more: their jobs end soon. */
void ep_namer_stop(struct ep_namer *namer);

enum ep_namer_when {
	EP_NAMER_DUE,  /* whose time has come */
	EP_NAMER_FREE, /* also of languages that were busy: one is no more */
	EP_NAMER_ALL,  /* all but what failed, and those of languages that were busy: a batch wants them */
};

/*
 * Starts looking for names of a table's frames. To be called now and then: what failed for want of
 * memory or descriptors, say, is due again after a second.
 */
void ep_namer_run(struct ep_namer *namer, struct ep_frames *frames, enum ep_namer_when when);
/*
 * When all names that a table still lacks are of programs without a budget for them
 * (core/language/account.h), they are given up.
 */
void ep_namer_give_up(struct ep_namer *namer, struct ep_frames *frames);
/*
 * A batch is written without names that are waited for: those of programs over their budget say
 * why.
 */
void ep_namer_say_slow(struct ep_namer *namer, struct ep_frames *frames);
/* Now, those of one language in one program: what they are made of goes. */
void ep_namer_name_program(struct ep_namer *namer, struct ep_frames *frames, struct ep_program program, uint32_t slot);
/*
 * Now, those of an executable that nobody maps any more, while its file is open yet: it stays open
 * as long as that takes. Once for each table; ep_namer_let_go comes after them.
 */
void ep_namer_name_executable(struct ep_namer *namer, struct ep_frames *frames, uint32_t executable);
void ep_namer_let_go(struct ep_namer *namer, uint32_t executable);
/* Lets go of tables that nobody else has a reference to. */
void ep_namer_sweep(struct ep_namer *namer);
size_t ep_namer_busy(const struct ep_namer *namer);
size_t ep_namer_bytes(const struct ep_namer *namer);
/* Hex GNU build id of the running kernel, "" when unknown. */
const char *ep_namer_kernel_build_id(const struct ep_namer *namer);

#endif
