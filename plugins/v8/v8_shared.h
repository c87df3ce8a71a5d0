/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What both sides of the unwinder see.
 *
 *	frame	flags: enum v8_frame and more; words and aux: see there
 *	state	struct v8_state: where this V8 keeps what the walk reads
 *
 * Offsets into objects count from where the object begins; the pointer to it is one more
 * (kHeapObjectTag). Slots of frames are words from rbp, which all of V8's code uses for nothing
 * else.
 */
#ifndef V8_SHARED_H
#define V8_SHARED_H

#include <ebpf-profiler/bpf/record.h>
#include <ebpf-profiler/bpf/tls.h>

/*
 * Ranges that are entered: the builtins that are embedded in the executable (12 and up: "the
 * blob"), where it is mapped, and anonymous memory, which has what V8 has made at run time. They
 * have no data.
 */

/*
 * Frames, in the flags of their own. aux and words:
 *
 *	INTERPRETED	words: SharedFunctionInfo, cookie, BytecodeArray; aux: bytes from the first
 *			bytecode, V8_OFFSET_UNKNOWN: not known
 *	COMPILED	words: SharedFunctionInfo, cookie, pc; aux: 0. Or, in 8 and 10 where user
 *			space could not say where the interpreter is (V8_STATE_IET_UNKNOWN), what
 *			the slot of the bytecode offset has, if it is a Smi, as in INTERPRETED; else
 *			V8_OFFSET_UNKNOWN
 *	WASM		words: WasmInstanceObject, 22 and up WasmTrustedInstanceData; pc
 *	REGEXP		word 0: pc
 *	CODE		word 0: pc: a builtin or stub of 8 and 10, a wrapper: code that is no
 *			function's
 *	EXIT		the same; it has called C++
 *	GC		no words: the collector runs
 *	TO_JS		word 0: pc: a wrapper that WebAssembly calls JavaScript by
 *
 * The last word of a function has the low bits of the thread id as well: ids of functions and
 * scripts count in each isolate, and those of worker threads that follow each other are the same
 * ones, at times at the same addresses. A worker has a thread of its own (node_worker.cc,
 * Worker::StartThread, 12 and up).
 *
 * SharedFunctionInfo, BytecodeArray and instance: addresses without their tag. A pc is a return
 * address unless EP_FRAME_INTERRUPTED is set.
 */
#define V8_FRAME_SHIFT	       2
#define V8_FRAME(flags)	       ((flags) >> V8_FRAME_SHIFT & 7)
#define V8_THREAD_SHIFT	       48 /* of the last word */
#define V8_FRAME_CONSTRUCT     (1u << 5) /* of a function: called by new */
/* of a function: its frame was not there; where it begins, or ends */
#define V8_FRAME_FROM_REGISTER (1u << 6)
enum v8_frame {
	V8_FRAME_INTERPRETED = 0,
	V8_FRAME_COMPILED = 1,
	V8_FRAME_WASM = 2,
	V8_FRAME_REGEXP = 3,
	V8_FRAME_CODE = 4,
	V8_FRAME_EXIT = 5,
	V8_FRAME_GC = 6,
	V8_FRAME_TO_JS = 7,
};
#define V8_OFFSET_UNKNOWN 0xffffffffu

/*
 * What tells a SharedFunctionInfo from another that is later at its address: out of V8_COOKIE_WORDS
 * words of it, those bits that never change. Where it has a unique_id (22 and up) the masks leave
 * that alone, in the lower half of one word, and the cookie is that number; before, a mix of
 * function literal id, length, parameter count, kind, strictness and syntax
 * (objects/shared-function-info.h, .tq).
 */
#define V8_COOKIE_WORDS 4

static inline __attribute__((always_inline)) __u64
v8_cookie(const __u64 *words, const __u64 *masks, __u64 is_unique)
{
	__u64 id = 0, hash = 0;

#pragma GCC unroll 4
	for (int i = 0; i < V8_COOKIE_WORDS; i++) {
		__u64 word = words[i] & masks[i];

		id |= word;
		hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 32;
	}
	return (id & -(is_unique & 1)) | (hash & ~-(is_unique & 1));
}

/* What a typed frame is: the word below its rbp is its number << 1 (v8dbg_frametype_NameFrame). */
enum v8_type {
	V8_TYPE_OTHER = 0, /* by rbp; a number that this V8 does not have, too */
	V8_TYPE_ENTRY,	   /* Entry, ConstructEntry: JSEntry; C++ is after it */
	V8_TYPE_EXIT,	   /* Exit, BuiltinExit, Api...Exit, WasmExit: C++ was called */
	V8_TYPE_STUB,	   /* Stub, TurbofanStubWithContext */
	V8_TYPE_CONSTRUCT, /* Construct, FastConstruct */
	V8_TYPE_INTERNAL,
	V8_TYPE_WASM,	      /* Wasm, WasmCompiled, WasmDebugBreak */
	V8_TYPE_C_WASM_ENTRY, /* C++ is after it */
	V8_TYPE_REGEXP,	      /* Irregexp */
	V8_TYPE_SWITCH,	 /* StackSwitch, WasmJspi, WasmStackEntry: another stack may be after it */
	V8_TYPE_ADAPTOR, /* ArgumentsAdaptor: up to 14 */
	V8_TYPE_TO_JS,	 /* WasmToJs, WasmToJsFunction */
	V8_N_TYPES,
};
#define V8_MAX_TYPES 64

enum v8_state_flag {
	V8_STATE_UNIQUE_ID = 1 << 0,	 /* the cookie is unique_id */
	V8_STATE_HEAP_BUILTINS = 1 << 1, /* 8, 10: builtins are in anonymous memory, too */
	V8_STATE_IET_COPIES =
		1 << 2, /* --interpreted-frames-native-stack: a trampoline for each function */
	V8_STATE_IET_UNKNOWN = 1 << 3,	   /* 8, 10: iet_return is not known */
	V8_STATE_REGEXP_UNMARKED = 1 << 4, /* up to 18: frames of RegExp code have no type */
};

/*
 * [BaselineOr]InterpreterEnterAt[Next]Bytecode, InterpreterEnterBytecode{Dispatch,Advance} up to
 * 14: a frame that was deoptimized returns to where one begins, not after a call
 * (Deoptimizer::DoComputeUnoptimizedFrame, deoptimizer/deoptimizer.cc, 9.4 to 14.6;
 * DoComputeInterpretedFrame, 7.8, 8.4).
 */
#define V8_MAX_ENTERS 4

/*
 * For names (v8_keep.bpf.c), 8.4 and up: members of struct v8_layout. All 0: nothing is kept. Bits
 * of a ScopeInfo's flags that are the same in all of them are not reported.
 */
struct v8_keep_layout {
	__u16 type_scope_info, type_script;
	__u8 type_nonstring, map_type;
	__u8 sfi_bytes; /* what symbolize reads of one */
	__u8 sfi_name, sfi_script;
	__u8 script_bytes, script_name, script_url, script_id;
	__u8 scope_first, scope_head, scope_hash_at;
	__u8 scope_module; /* 255: no slot more for modules */
	__u8 flags;	   /* V8_KEEP_SCOPE_RAW, _HAS_RECEIVER */
	__u8 string_len, string_chars, string_first, string_second;
};

#define V8_KEEP_SCOPE_RAW	   1u
#define V8_KEEP_SCOPE_HAS_RECEIVER 2u
#define V8_KEEP_SCOPE_RECEIVER	   7
#define V8_KEEP_SCOPE_SAVED_CLASS  10
#define V8_KEEP_SCOPE_FUNCTION	   12
#define V8_KEEP_SCOPE_INFERRED	   14

/* Offsets in the blob are of its code. */
struct v8_state {
	struct ep_tls isolate_tls; /* path to the Isolate of a thread; 0 steps: not known */
	__u64 isolate;		   /* of the main thread, where there is no path; 0: not known */
	__u64 blob_va;		   /* of the blob, in the executable */
	__u64 iet_return;	   /* as iet_return_off, an address: 8, 10; 0: none */
	__u64 iet_behind;	   /* the code there, as it is in copies of it, too */
	__u64 cookie_masks[V8_COOKIE_WORDS];
	/*
	 * InterpreterEntryTrampoline [begin, end); iet_push: its push rbp; iet_return_off: what is
	 * after its call of a bytecode's handler. All 0: not known.
	 */
	__u32 iet_begin, iet_push, iet_end, iet_return_off;
	__u32 enter_offs[V8_MAX_ENTERS]; /* what goes on in a frame that was remade begins there; 0:
					    none */
	__u32 deopt_begin, deopt_end; /* DeoptimizationEntry_*: 16 and up; no frame of its own */
	__u32 handlers_begin,
		handlers_end;	      /* of bytecodes, which lie in a row; both 0: not known */
	__u32 blob_bytes;	      /* of code; 0: 8, 10 */
	__u32 c_entry_fp, vm_state;   /* in the Isolate; 0: not known */
	__u16 root_off;		      /* r13 - Isolate, in V8's code; 0: not known */
	__u16 js_function_shared;     /* JSFunction::shared_function_info */
	__u16 cookie_at;	      /* of the words, in a SharedFunctionInfo */
	__u16 bytecode_header;	      /* BytecodeArray::kHeaderSize */
	__u16 bytecode_length;	      /* BytecodeArray::length, a Smi */
	/* Deoptimizer::input_; there, a FrameDescription, words of the frame. Both 0: not known. */
	__u16 deopt_input, deopt_content;
	__s8 function_slot, array_slot, offset_slot; /* of JavaScript frames; offset: a Smi */
	__s8 regexp_rbx_slot;		   /* where RegExp code saves rbx: -7 or -8 */
	__u8 array_reg, offset_reg; /* DWARF numbers: of the interpreter in a bytecode's handler */
	__u8 flags;			   /* enum v8_state_flag */
	__u8 gc_state;			   /* StateTag GC, 1; in two bytes */
	__u8 types[V8_MAX_TYPES];	   /* enum v8_type of each number */
	struct v8_keep_layout keep;
};
_Static_assert(sizeof(struct v8_state) <= EP_STATE_BYTES, "v8_state is too large");

/*
 * What JSEntry saves of C++'s registers: words from its rbp (EntryFrameConstants and
 * builtins/x64/builtins-x64.cc, Generate_JSEntryVariant; 8, 10: JSEntryStub::Generate; not on
 * Windows).
 */
#define V8_ENTRY_R12	    (-3)
#define V8_ENTRY_R13	    (-4)
#define V8_ENTRY_R14	    (-5)
#define V8_ENTRY_R15	    (-6)
#define V8_ENTRY_RBX	    (-7)
#define V8_ENTRY_C_ENTRY_FP (-8) /* rbp of the exit frame before it; 0: none */
/* of an exit frame: rsp at its call; the return address is below it */
#define V8_EXIT_SP	    (-2)
#define V8_WASM_INSTANCE    (-2)

/* In the order of the texts in v8.c. */
enum v8_error {
	V8_ERROR_FRAME =
		0, /* no frame at rbp: it cannot be read, is below rsp, or has no such words */
	V8_ERROR_FUNCTION, /* what its function should be is none */
	V8_ERROR_STACK,	   /* what is after it is on another stack: JSPI */
	V8_ERROR_DEOPT, /* DeoptimizationEntry_* has taken the frame off the stack to remake it */
};

enum v8_counter {
	V8_COUNT_RESUMED =
		0,	  /* walks that went on at an exit frame, over native code without rules */
	V8_COUNT_GONE,	  /* frames whose function was gone when they were named */
	V8_COUNT_GUESSED, /* leaves whose caller was guessed: 8, 10 */
};

#endif
