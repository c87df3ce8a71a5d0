/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What both sides of the unwinder see: the state of a process, and what a frame's words are.
 *
 *			words						aux
 *	JIT		start of the method's code			offset from it
 *	collectible	the same, and the check of its MethodDesc	offset from it
 *	R2R		start of the function, in the image that	offset from it
 *			was compiled ahead; or an address in it
 *	stub		an address in it				enum dotnet_stub
 *
 * Offsets are of the instruction that runs, or of the last byte of the one that called. Funclets of
 * JIT code are parts of their method; in images they are functions of their own. Collectible code
 * and its MethodDesc may be another method's a moment later.
 */
#ifndef DOTNET_SHARED_H
#define DOTNET_SHARED_H

#include <ebpf-profiler/bpf/record.h>
#include <ebpf-profiler/bpf/tls.h>

/* The verifier walks some 1 300 instructions for each, and 46 000 once (plugins --check). */
#define DOTNET_MAX_FRAMES_PER_RUN 216

/* RangeSection::_flags (vm/codeman.h: RangeSection::RangeSectionFlags, v9.0.0). */
enum dotnet_range_flag {
	DOTNET_RANGE_COLLECTIBLE = 1,
	DOTNET_RANGE_HEAP = 2,
	DOTNET_RANGE_STUBS = 4,
};

/* The range map (vm/codeman.h: RangeSectionMap, v8.0.0, 64 bit): five levels of 256 pointers. */
#define DOTNET_MAP_LEVELS     5
#define DOTNET_MAP_SHIFT      17 /* of the last level: 128 KiB for an entry */
#define DOTNET_MAP_LEVEL_BITS 8
#define DOTNET_MAP_ENTRIES    256
#define DOTNET_MAX_FRAGMENTS  8 /* of one entry; 1 and seldom 2 were seen */
/* RangeSectionFragment: next, begin, end, RangeSection *. */
#define DOTNET_FRAGMENT_WORDS 4

/* The nibble map (inc/nibblemapmacros.h, v8.0.0, v10.0.0): a word for 256 bytes, a nibble for 32.
 */
#define DOTNET_NIBBLE_WORDS   16 /* that are read at once */
#define DOTNET_NIBBLE_WINDOWS 32 /* a method of 128 KiB */
#define DOTNET_NIBBLE_POINTER 8	 /* a low nibble above it: the word is an offset (10) */

/* Before the code's start: a RealCodeHeader *, or a number up to it (vm/codeman.h:
 * StubCodeBlockKind). */
#define DOTNET_STUB_LAST 15u

#define DOTNET_MAX_FUNCLETS	  256 /* of a JIT method */
#define DOTNET_FUNCLET_STEPS	  9
#define DOTNET_MAX_CLAUSES	  64  /* of a method with funclets */
#define DOTNET_MAX_R2R_FUNCTIONS                                                                   \
	(1u << 20) /* of an image; all of .NET has 214 114, Bicep's composite 532 852 */
#define DOTNET_R2R_STEPS	  21
#define DOTNET_FUNCTION_BYTES	  12 /* of RUNTIME_FUNCTION: begin, end, unwind data */

/* What a frame is, in its flags. */
#define DOTNET_FRAME_SHIFT   2
#define DOTNET_FRAME(flags) ((flags) >> DOTNET_FRAME_SHIFT & 3)
enum dotnet_frame {
	DOTNET_FRAME_JIT = 0,
	DOTNET_FRAME_COLLECTIBLE,
	DOTNET_FRAME_R2R,
	DOTNET_FRAME_STUB,
};

/* 1 to 15: StubCodeBlockKind, as the runtime has it. */
enum dotnet_stub {
	DOTNET_STUB_UNKNOWN = 0,
	DOTNET_STUB_PRECODE = 4,
	DOTNET_STUB_FIXUP_PRECODE = 5,
	DOTNET_STUB_NO_RANGE = 16, /* executable memory of the runtime in no range */
	DOTNET_STUB_DELAY_LOAD = 17,
	DOTNET_STUBS,
};

/* MethodDesc's kind (vm/method.hpp: mdcClassification, v9.0.0): the low bits of its flags. */
#define DOTNET_METHOD_KIND 7u
enum dotnet_method_kind {
	DOTNET_METHOD_IL = 0,
	DOTNET_METHOD_FCALL = 1,
	DOTNET_METHOD_PINVOKE = 2,
	DOTNET_METHOD_EEIMPL = 3,
	DOTNET_METHOD_ARRAY = 4,
	DOTNET_METHOD_INSTANTIATED = 5,
	DOTNET_METHOD_DYNAMIC = 7,
};

/* Offsets are bytes; those of structs that are read whole lie inside. */
struct dotnet_state {
	__u64 range_map; /* its top level */
#define FIELD(...)
#define BPF_FIELD(name, ...) __u32 name;
#include "plugins/dotnet/fields.def"
	struct ep_tls thread; /* Thread * of a thread */
	__u64 trip;    /* OnHijackTripThread; 0: not found */
	__u64 funclet; /* after the call of a catch or finally funclet; 0: not found */
};
_Static_assert(sizeof(struct dotnet_state) <= EP_STATE_BYTES, "dotnet_state is too large");

#define DOTNET_RANGE_BYTES  64 /* of RangeSection that are read */
#define DOTNET_HEAP_BYTES   48 /* of HeapList */
#define DOTNET_HEADER_BYTES 48 /* of RealCodeHeader, with its first RUNTIME_FUNCTION */
#define DOTNET_METHOD_BYTES 8  /* of MethodDesc: tokens, chunk index, flags */
#define DOTNET_CHUNK_BYTES  24 /* of MethodDescChunk */
#define DOTNET_TABLE_WORDS  4  /* of MethodTable: flags to the module */
#define DOTNET_NAME_WORDS   8  /* of a name, with zeros after its end */

/*
 * The check of a frame in collectible memory is over these words, in this order: MethodDesc's first
 * one; then of a dynamic method the address of its name, and the name; of another one MethodTable
 * *, the words of that, the address of the module's name, and the name.
 */
static inline __attribute__((always_inline)) __u64 dotnet_check_word(__u64 check, __u64 word)
{
	check = (check ^ word) * 0x9fb21c651e98df25ULL;
	return check ^ check >> 32;
}

/* In the order of the texts in dotnet.c. */
enum dotnet_error {
	DOTNET_ERROR_CODE = 0,
	DOTNET_ERROR_UNWIND,
	DOTNET_ERROR_STUB,
	DOTNET_ERROR_HIJACKED,
};

enum dotnet_counter {
	DOTNET_COUNT_POINTER = 0,
	DOTNET_COUNT_GONE,
	DOTNET_COUNT_RESUMED,
	DOTNET_COUNT_HIJACKED,
};

#endif
