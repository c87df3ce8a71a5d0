/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Go: what needs the goroutine that a thread runs. The rest is the core's: rules and names are
 * those of the file's table of functions (core/pclntab), so this plugin pushes native frames only.
 *
 *	code.c		what the code of the runtime's assembly says: offsets, where g is, where
 *			stacks change
 *	probe.c		an ELF file: is it Go? ──► struct go_executable
 *	attach.c	a process ──► state and ranges for BPF
 *	golang.c	the descriptor
 */
#ifndef GOLANG_H
#define GOLANG_H

#include "ebpf-profiler/unwinder.h"
#include "plugins/golang/golang_shared.h"
#include "plugins/shared/descriptor.h"
#include "plugins/shared/x86/accessor.h"

#include <stdbool.h>

/* Constant from probe on. */
struct go_executable {
	const struct ep_unwinder_host *host;
	struct ep_variable g;
	struct go_offsets offsets;
	uint32_t frame_bytes, depth_off;
	uint32_t n_codes;
	struct go_code codes[GO_MAX_CODES];
};

/* The thread variable that the function reads first: the g. 0, -ENODATA. */
int go_code_g(const struct x86_code *function, struct ep_variable *ret);
/* g.m, g.sched.sp and m.curg, as systemstack goes back to the goroutine. 0, -ENODATA. */
int go_code_offsets(const struct x86_code *systemstack, struct go_offsets *ret);
/* g.sched.bp, where morestack saves rbp. 0, -ENODATA. */
int go_code_bp(const struct x86_code *morestack, uint32_t *ret_off);
/* Where asmcgocall saves the depth of the goroutine's stack, and g after it. 0, -ENODATA. */
int go_code_depth(const struct x86_code *asmcgocall, uint32_t *ret_off);
/* Does it begin with push %rbp? */
bool go_code_has_frame(const struct x86_code *function);
/* The parts of a function that run on its other stack: how many, at most `max`. */
uint32_t go_code_switched(const struct x86_code *function, uint32_t kind, struct go_code *codes,
			  uint32_t max);

/* As the sources of a version have them, 1.15 on. `minor`: of 1.minor. */
void go_offsets_of(uint32_t minor, struct go_offsets *ret);

DESCRIPTOR_FUNCTIONS(go);

#endif
