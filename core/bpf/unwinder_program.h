/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The BPF program of a language unwinder: opened from the plugin's bytes, given the core's maps and
 * its own numbers (struct ep_self), loaded, put into its slot. Blocking: for a worker thread.
 *
 * The verifier's time grows with the frames that a run walks, so a program of few is loaded first.
 * ep_unwinder_program_lengthen puts one of as many as the verifier takes in its place: a stack that
 * one has begun is finished by the other, since both have the same maps.
 */
#ifndef EP_BPF_UNWINDER_PROGRAM_H
#define EP_BPF_UNWINDER_PROGRAM_H

#include "core/base/util.h"
#include "ebpf-profiler/unwinder.h"

struct ep_bpf;
struct ep_language_maps;
struct ep_unwinder_program;

/*
 * A program of a sixth of the frames is loaded first when the whole one is long enough to make two
 * loads worth it. Its 30 tail calls still reach deep stacks.
 */
#define EP_QUICK_PART	  6
#define EP_QUICK_FROM	  24
#define EP_QUICK_VERIFIED 150000 /* instructions that the verifier should walk of it at most: a tenth of a second */

static inline uint32_t ep_unwinder_program_first_frames(uint32_t max_frames_per_run)
{
	return max_frames_per_run < EP_QUICK_FROM ? max_frames_per_run
						  : (max_frames_per_run + EP_QUICK_PART - 1) / EP_QUICK_PART;
}

struct ep_unwinder_program_options {
	const char *name; /* of the plugin */
	const struct ep_bpf_image *image;
	const struct ep_bpf_image *keeper; /* NULL: it has none */
	uint32_t slot, first_error, first_counter;
};

/*
 * 0; -EBADMSG when it is no such object, -ENOENT when its program is missing, -ECANCELED after
 * ep_bpf_stop_loads, or what the kernel reported, with the end of the verifier's log in `reason`.
 */
int ep_unwinder_program_load(const struct ep_bpf *bpf, const struct ep_language_maps *maps,
			     const struct ep_unwinder_program_options *options,
			     struct ep_unwinder_program **ret_program, char reason[512]);
/* True until a longer one was loaded, or refused for good; never of one that is as quick when it is whole. */
bool ep_unwinder_program_is_short(const struct ep_unwinder_program *program);
/* As above; after an error the short one stays. Nobody else may use `program` meanwhile. */
int ep_unwinder_program_lengthen(struct ep_unwinder_program *program, const struct ep_bpf *bpf,
				 const struct ep_language_maps *maps,
				 const struct ep_unwinder_program_options *options,
				 char reason[512]);
/*
 * The language's snapshot program, beside that one: 0, also when it has none; or as above, and it
 * does without. Nobody else may use `program` meanwhile.
 */
int ep_unwinder_program_load_keeper(struct ep_unwinder_program *program, const struct ep_bpf *bpf,
				    const struct ep_language_maps *maps,
				    const struct ep_unwinder_program_options *options,
				    char reason[512]);
/* True for an error that says nothing about the program: no memory or descriptors now, a signal. */
bool ep_unwinder_program_may_pass(int r);
/* Out of its slot, and freed. Accepts NULL. */
void ep_unwinder_program_free(struct ep_unwinder_program *program);

uint32_t ep_unwinder_program_frames_per_run(const struct ep_unwinder_program *program);
uint32_t ep_unwinder_program_instructions(const struct ep_unwinder_program *program);
/* Those that the verifier walked, of 1 000 000 that it may; 0: the kernel does not say (before 5.16). */
uint32_t ep_unwinder_program_verified(const struct ep_unwinder_program *program);
/* The same of its snapshot program, which is loaded. */
uint32_t ep_unwinder_program_verified_keeper(const struct ep_unwinder_program *program);

#endif
