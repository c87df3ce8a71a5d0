/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What both sides of the unwinder see.
 *
 *	range	data: what is there, and how its frames are left: enum hotspot_code
 *	frame	flags: enum hotspot_frame; words and aux: see there
 *
 * No offset is a constant: the VM publishes them (fields.def), the process's own are in the state.
 */
#ifndef HOTSPOT_SHARED_H
#define HOTSPOT_SHARED_H

#include <ebpf-profiler/bpf/record.h>
#include <ebpf-profiler/bpf/tls.h>

/*
 * Data of a range:
 *
 *	63     60 59     48 47                         0
 *	| code   | shift   | segment map               |	HOTSPOT_CODE_HEAP
 *	| code   |         | rule                      |	HOTSPOT_CODE_INTERPRETER, _STUB
 *
 * A segment's byte is at segment map + (address >> shift): the map as if it began with address 0,
 * since a heap is more than one range where fixed code is cut out of it.
 *
 * Ranges are disjoint: what is not under a rule of the code at fixed places in a heap is the
 * heap's.
 */
#define HOTSPOT_CODE_SHIFT    60
#define HOTSPOT_CODE(data)    ((data) >> HOTSPOT_CODE_SHIFT)
#define HOTSPOT_SEGMENT_SHIFT 48 /* log2 of a segment's bytes */
#define HOTSPOT_SEGMAP_MASK   ((1ull << 48) - 1)

enum hotspot_code {
	HOTSPOT_CODE_HEAP = 0,	     /* find the block by the segment map */
	HOTSPOT_CODE_INTERPRETER = 1, /* of the template interpreter: a frame is a Java method's */
	HOTSPOT_CODE_STUB = 2,	     /* a piece of fixed code: a frame is its address */
};

/*
 * How a frame of fixed code is left, at every instruction of the range (what the code itself tells:
 * rules.h):
 *
 *	CFA = base register + offset; return address at CFA - 8, or in a register; the caller's sp
 *	is CFA
 *
 *	47        36 35     31 30        26 25         21 20  16 15        0
 *	|   0       | method  | return in   | fp at       | base | offset    |
 */
#define HOTSPOT_RULE(offset_words, base, fp_at, return_in, method)                                 \
	((__u64)(__u16)(offset_words) | (__u64)(base) << 16 | (__u64)(fp_at) << 21 |               \
	 (__u64)(return_in) << 26 | (__u64)(method) << 31)
#define HOTSPOT_RULE_OFFSET(rule)    ((__s64)(__s16)(rule) * 8)	  /* bytes, signed */
#define HOTSPOT_RULE_BASE(rule)	     ((__u32)((rule) >> 16 & 31)) /* a DWARF register number */
/* words below CFA; 0: unchanged */
#define HOTSPOT_RULE_FP_AT(rule)     ((__u32)((rule) >> 21 & 31))
#define HOTSPOT_RULE_RETURN_IN(rule) ((__u32)((rule) >> 26 & 31)) /* a DWARF register number... */
#define HOTSPOT_RULE_ON_STACK	     16u			  /* ...this one: at CFA - 8 */
#define HOTSPOT_RULE_AT_SP	     7u /* ...sp's: where it points to; CFA is elsewhere */
#define HOTSPOT_RULE_METHOD(rule)    ((__u32)((rule) >> 31 & 31)) /* enum hotspot_rule_method */
/* Base of code whose rule is not known: search. */
#define HOTSPOT_RULE_UNKNOWN 31u
/* Base of code that a virtual thread's frames come from or go to: on at the continuation's
 * entry. */
#define HOTSPOT_RULE_CONTINUATION 30u
/*
 * Base of code that has aligned sp and keeps the old one in memory: CFA = word at [sp + offset] +
 * return_in words; the return address is at CFA - 8.
 */
#define HOTSPOT_RULE_SAVED_SP 29u

/* Which method a piece of the interpreter is of. */
enum hotspot_rule_method {
	HOTSPOT_METHOD_NONE = 0,  /* none: a stub */
	HOTSPOT_METHOD_FRAME = 1, /* that of the interpreter's frame at fp */
	/*
	 * rbx has it: the frame is not made yet; bci 0. The caller's sp is in r13; in the frame's
	 * slot where the base is fp.
	 */
	HOTSPOT_METHOD_ENTRY = 2,
	HOTSPOT_METHOD_INNER =
		3, /* as FRAME; that fp is where fp points to: a frame within the frame */
};

/* What a block of a heap is, as far as the walk has to know. */
enum hotspot_blob {
	HOTSPOT_BLOB_OTHER = 0, /* frame_size words when it has some, else by fp or search */
	HOTSPOT_BLOB_METHOD,	/* compiled or native method: nmethod */
	HOTSPOT_BLOB_VTABLE,	/* vtable and itable stubs: no frame, return address at sp */
	HOTSPOT_BLOB_ADAPTER,	/* i2c and c2i */
	HOTSPOT_BLOB_MH_ADAPTER, /* method handle linkers: no frame of their own */
	HOTSPOT_BLOB_UNREADABLE, /* not reported: its name is not in memory */
};

/*
 * Frames, in the flags of their own. aux and words:
 *
 *	COMPILED	aux: pc - block's struct CodeBlob; word 0: CodeBlob; word 1: compile id, and
 *			above it bits 3 to 34 of the Method
 *	INTERPRETED	aux: bci, HOTSPOT_BCI_NATIVE where there is none; word 0: Method;
 *			word 1: hotspot_interpreted_word
 *	STUB		aux: enum hotspot_blob; word 0: pc
 *	HEAP_FRAMES	no words: the rest of a virtual thread's frames, which are not on this stack
 */
#define HOTSPOT_FRAME_SHIFT    2
#define HOTSPOT_FRAME(flags)   ((flags) >> HOTSPOT_FRAME_SHIFT & 7)
/* its caller, after it, was searched: some may be missing */
#define HOTSPOT_FRAME_SEARCHED (1u << 5)
enum hotspot_frame {
	HOTSPOT_FRAME_COMPILED = 0,
	HOTSPOT_FRAME_INTERPRETED = 1,
	HOTSPOT_FRAME_STUB = 2,
	HOTSPOT_FRAME_HEAP_FRAMES = 3,
};
#define HOTSPOT_BCI_NATIVE 0xffffffffu
/*
 * What tells a method from another that is later at its address: classes that a program makes by
 * one pattern and that are unloaded take each other's, versions of a class that is redefined too.
 * All that is on the way from a Method to its own name and to its class's. The symbols both count,
 * since either may be in use elsewhere longer than the class.
 */
struct hotspot_way {
	__u64 const_method;
	__u64 quad; /* of that: four u2 in a row: size of its code, name, signature, number */
	__u64 pool, class, class_name, name; /* addresses */
	/*
	 * The pool's length, and after it the number of its version, one more with each
	 * redefinition, by which the VM itself tells versions apart in backtraces
	 * (ConstantPool::_length, ::_saved._version: share/oops/constantPool.hpp, 8 to 27;
	 * share/prims/jvmtiRedefineClasses.cpp, merge_cp_and_rewrite).
	 */
	__u64 version;
	/*
	 * The first 8 bytes of the names' Symbols, without their count of references: its length
	 * and a random number of its own (share/oops/symbol.cpp, Symbol::Symbol: os::random(), 8 to
	 * 27).
	 */
	__u64 class_symbol, symbol;
};
#define HOTSPOT_SYMBOL_MASK(shift) (~(0xffffull << (shift))) /* shift: of the count, a u2 */
#define HOTSPOT_NAME_INDEX(quad)   ((quad) >> 16 & 0xffff) /* of the pool's entries, a word each */

static inline __attribute__((always_inline)) __u64 hotspot_mix(__u64 hash, __u64 value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 32;
}

/* Always inline: an unwinder has no subprograms. */
static inline __attribute__((always_inline)) __u64
hotspot_interpreted_word(const struct hotspot_way *way)
{
	__u64 hash = hotspot_mix(way->const_method, way->quad);

	hash = hotspot_mix(hash, way->pool);
	hash = hotspot_mix(hash, way->version);
	hash = hotspot_mix(hash, way->class);
	hash = hotspot_mix(hash, way->class_name);
	hash = hotspot_mix(hash, way->class_symbol);
	hash = hotspot_mix(hash, way->name);
	return hotspot_mix(hash, way->symbol);
}
#define HOTSPOT_COMPILED_WORD(compile_id, method) \
	((__u64)(__u32)(compile_id) | (((__u64)(method) >> 3) & 0xffffffffu) << 32)

/* A field of a block: widths differ by release (the VM says them). value = sign-extended from
 * `bytes`; relative: add the block's address (else it is an address already, or no address). */
struct hotspot_field {
	__u16 off;	/* in struct CodeBlob */
	__u8 shift;	/* 64 - 8 * its bytes; 64: absent */
	__u8 is_signed;
};

#define HOTSPOT_BLOB_BYTES 384 /* what is wanted of a HeapBlock's header and nmethod ends before */
#define HOTSPOT_MAX_KINDS  16

struct hotspot_state {
	struct ep_tls thread; /* path to struct JavaThread; 0 steps: not known */
	__u64 return_barrier, return_barrier_exception; /* addresses of code; 0: none */
	__u64 continuation_return_at; /* where ContinuationEntry::_return_pc is; 0: none */
	__u64 safepoints_at; /* where SafepointSynchronize::_safepoint_counter is; 0: not known */
	__u64 call_stub_return;	/* where Java calls by the VM return to */

	struct hotspot_field name, kind; /* name: address of a C string; kind: the newer VMs' */
	struct hotspot_field code_begin, code_end; /* addresses, or offsets where `relative` */
	struct hotspot_field frame_complete, frame_size; /* offset from code_begin; words */
	struct hotspot_field method, compile_id, verified_entry;
	struct hotspot_field deopt, deopt_mh; /* handlers' addresses or offsets from CodeBlob */
	struct hotspot_field orig_pc; /* where a deoptimised frame has its pc: bytes above sp */
	__u8 relative;	/* code_begin and code_end are offsets from CodeBlob */
	__u8 verified_relative; /* verified_entry: an offset from code_begin */
	__u8 deopt_relative; /* 0: addresses, 1: offsets from CodeBlob, 2: from code_begin */
	__u16 block_bytes; /* that are read at once: header, and what is wanted of the CodeBlob */
	__u8 block_header_bytes; /* of HeapBlock, before the CodeBlob */
	__u8 block_length_shift; /* 64 - 8 * bytes of its _length, which is at 0 */
	__u8 block_used_off;
	__u8 has_kind;
	__u8 has_pusha; /* 8: code saves registers by pusha around calls of C for x87 */
	__u8 blobs[HOTSPOT_MAX_KINDS]; /* enum hotspot_blob of each kind */

	/* struct JavaThread, and its JavaFrameAnchor and ContinuationEntry */
	__u16 thread_anchor, anchor_sp, anchor_pc, anchor_fp;
	__u16 thread_continuation, thread_vframes; /* 0: none */
	__u16 wrapper_anchor; /* in struct JavaCallWrapper */
	__s8 wrapper_slot;    /* its address in the frame of the call stub, in words from fp */

	/* frames of the interpreter, in words from fp */
	__s8 sender_sp_slot, last_sp_slot, method_slot, bcp_slot;
	__u16 method_const; /* Method::_constMethod */
	__u16 const_bytes;  /* of ConstMethod: its code follows */
	__u16 const_code_size; /* u2; then name, signature, number */
	__u16 const_pool, pool_holder, class_name; /* from a ConstMethod to the name of its class */
	__u16 pool_bytes; /* of ConstantPool: its entries follow */
	__u16 pool_len; /* its length, an int; then its version */
	/* For names (hotspot_keep.bpf.c); a file's number is in one of two places, the other one is
	 * 0. */
	__u16 const_words, pool_file, class_file, class_bytes;
	__u8 symbol_length, symbol_body;
	__u8 safepoints_shift; /* 64 - 8 * bytes of the counter */
	__u8 symbol_shift; /* of a Symbol's count of references in its first word */
};
_Static_assert(sizeof(struct hotspot_state) <= EP_STATE_BYTES, "hotspot_state is too large");

/* In the order of the texts in hotspot.c. */
enum hotspot_error {
	HOTSPOT_ERROR_BLOCK = 0, /* no block of code there */
	HOTSPOT_ERROR_INTERPRETER, /* no frame of the interpreter at fp */
	HOTSPOT_ERROR_RETURN, /* no return address was found */
	HOTSPOT_ERROR_DEOPT, /* frames are being remade: deoptimization */
	HOTSPOT_ERROR_CONTINUATION, /* a continuation's end was not found */
};

enum hotspot_counter {
	HOTSPOT_COUNT_SEARCHED = 0, /* return addresses that were searched */
	HOTSPOT_COUNT_ANCHORS,	    /* walks resumed at an anchor */
	HOTSPOT_COUNT_GONE,	    /* frames whose code was gone when they were named */
	HOTSPOT_COUNT_APPROXIMATE,  /* inlined methods that are a guess: symbolize/names.h */
};

#endif
