/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What both sides of the unwinder see: what user space tells BPF of a process, and what a frame
 * says. Fixed widths, explicit padding; the BPF side only ever reads it.
 *
 *	frame	aux: line
 *		word 0: address of struct toy_function
 *		word 1: address of its name, by which we see later whether it is still the same one
 */
#ifndef TOY_SHARED_H
#define TOY_SHARED_H

#include <ebpf-profiler/bpf/record.h>
#include <ebpf-profiler/bpf/tls.h>

/* About 60 instructions each: both the descriptor's wish and the loop's bound. */
#define TOY_MAX_FRAMES_PER_RUN 128

#define TOY_FRAME_BYTES 64 /* what is read of a frame at once; offsets lie inside */

/* Bytes from the start of struct toy_frame. */
struct toy_state {
	struct ep_tls top; /* path to the thread's innermost frame */
	__u32 frame_previous, frame_function, frame_line, frame_entry;
	__u32 function_name;
	__u32 pad;
};
_Static_assert(sizeof(struct toy_state) <= EP_STATE_BYTES, "toy_state is too large");

/* In the order of the texts in toy.c. */
enum toy_error {
	TOY_ERROR_FRAME = 0,
};

enum toy_counter {
	TOY_COUNT_NO_THREAD = 0,
	TOY_COUNT_GONE,
};

#endif
