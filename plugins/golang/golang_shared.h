/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What user space tells BPF of a process that runs Go. A thread (m) has a system stack (that of g0)
 * beside the stack of the goroutine that it runs (curg), and calls lead from one to the other:
 *
 *	goroutine                       system stack
 *	f
 *	runtime.systemstack ──────────► runtime.systemstack, after its write of rsp ─► Go
 *	runtime.asmcgocall ───────────► runtime.asmcgocall ─► C
 *	runtime.cgocallback ◄────────── runtime.cgocallback ◄─ crosscall2 ◄─ C
 *	f's prologue ─────────────────► runtime.morestack ─► runtime.newstack
 *
 * Sources: Go's src/runtime/asm_amd64.s and runtime2.go, at go1.15 to go1.27.
 */
#ifndef GOLANG_SHARED_H
#define GOLANG_SHARED_H

#include "ebpf-profiler/bpf/record.h"
#include "ebpf-profiler/bpf/tls.h"

/* What a range of code is in: there the function runs on its other stack. */
enum go_code_kind {
	GO_CODE_NONE = 0,
	GO_CODE_SYSTEMSTACK = 1,
	GO_CODE_MORESTACK = 2,
	GO_CODE_ASMCGOCALL = 3,
	GO_CODE_CGOCALLBACK = 4,
};

struct go_code {
	__u64 start; /* in a file: virtual address; in a process: target address */
	__u32 bytes;
	__u32 kind;
};

#define GO_MAX_CODES 6

/* Offsets in struct g (gobuf is a part of it) and struct m; the stack's bounds are g's first two
 * words. */
#define GO_G_BYTES 128

struct go_offsets {
	__u32 g_m, g_sched_sp, g_sched_bp; /* below GO_G_BYTES, multiples of 8 */
	__u32 m_curg;
};

struct go_state {
	struct ep_tls g; /* of a thread: the g that it runs */
	struct go_offsets offsets;
	__u32 frame_bytes; /* of systemstack and asmcgocall: 8 where they push rbp (1.21 on) */
	__u32 depth_off; /* from asmcgocall's rsp: depth of the goroutine's stack, and after it its
			    g */
	struct go_code codes[GO_MAX_CODES];
};
_Static_assert(sizeof(struct go_state) == 40 + 16 * GO_MAX_CODES, "go_state is shared with BPF");
_Static_assert(sizeof(struct go_state) <= EP_STATE_BYTES, "state is too large");

enum go_counter {
	GO_COUNT_SWITCHES = 0,
	GO_COUNT_REFUSED = 1,
};

#endif
