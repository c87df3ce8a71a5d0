/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a language unwinder implements, in user space; its other half runs in the kernel and is
 * written against ebpf-profiler/bpf/unwinder.h. docs/adding-a-language.md walks through both.
 *
 *	an ELF file is analysed ──► probe: is it my runtime? offsets ──► executable data, shared
 *	    its tables are made ──► describe: code that has neither unwind rules nor symbols
 *	a process maps it ──► attach: where are its structures? ──► instance; state and ranges for BPF
 *	    its mappings change, or its BPF program asks (ep_ask_refresh) ──► refresh
 *	frames the BPF program pushed ──► symbolize: names (inlined functions: several); of what is gone once
 *	    more, from the memory that came with the samples (ops.keeper)
 *	process or mapping gone ──► detach          executable data no longer needed ──► unload
 *	a user runs doctor ──► attach, advise, detach: nothing is walked
 *
 * Threads: every call may come on any worker thread. probe and describe run for several files at
 * once. Calls for one instance never overlap; calls for different instances do, so what they share
 * is constant. A call may read files and the target's memory, and nothing else of the system; what
 * it reads is hostile: bound every length, follow no chain for ever.
 */
#ifndef EP_UNWINDER_H
#define EP_UNWINDER_H

#include "ebpf-profiler/abi.h"
#include "ebpf-profiler/bpf/code.h"
#include "ebpf-profiler/bpf/record.h"
#include "ebpf-profiler/bpf/tls.h"
#include "ebpf-profiler/host.h"
#include "ebpf-profiler/unnamed.h"

struct ep_file;	  /* an ELF file, during probe and describe */
struct ep_description; /* takes what is reported of a file's code, during describe */
struct ep_target; /* a process, from attach to detach */
struct ep_names;  /* takes the names of one frame, during symbolize */

/* Positive outcomes. */
#define EP_NOT_MINE    1 /* probe: another plugin's, or nobody's */
#define EP_NOT_YET     2 /* attach, refresh: the runtime is not initialised; symbolize: what
			  * it needs is not there yet. Asked again */
#define EP_FRAME_GONE  3 /* symbolize: what it ran is no longer in memory: an honest unknown frame */
#define EP_CODE_ONLY   4 /* probe: no runtime, but code that `describe` has something to say of; nobody is
			  * attached to it */
#define EP_LAUNCHER    5 /* probe: no runtime, but a file that loads mine (by dlopen). The language's BPF
			  * program is loaded as soon as a process maps it, or is about to: the verifier takes
			  * longer than a runtime to start. *ret_executable stays as it was */

struct ep_symbol {
	uint64_t va;	/* ELF virtual address; of a TLS symbol: offset in the TLS segment */
	uint64_t bytes; /* 0: unknown */
};

#define EP_MAX_SYMBOLS	 4096	    /* of one file_symbols */
#define EP_MAX_FILE_READ (1u << 20) /* bytes of one file_read */

/* Where a thread variable is, as far as a file tells: by a symbol, or by code that reads it. */
enum ep_variable_kind {
	EP_VARIABLE_NONE = 0,
	EP_VARIABLE_SEGMENT = 1, /* value: offset in the file's TLS segment, a TLS symbol's va */
	EP_VARIABLE_POINTER = 2, /* value: offset from the thread pointer, signed */
	EP_VARIABLE_WORD = 3,	 /* value: va of the word (in the GOT) that holds that offset */
	EP_VARIABLE_PAIR = 4,	 /* value: va of the pair (module, offset in its segment) */
};

struct ep_variable {
	uint32_t kind; /* enum ep_variable_kind */
	uint32_t add;  /* to the offset, with EP_VARIABLE_PAIR */
	uint64_t value;
};

/*
 * Unwind rules for code of a file that has none: how to get from [va, va + bytes) to the caller, as
 * it is before an instruction that begins there. As in call frame information the CFA is the
 * caller's stack pointer; registers are those of the file's machine in DWARF's numbers (x86-64: 6
 * rbp, 7 rsp), 0 to 15.
 */
enum ep_code_place {
	EP_CODE_SAME = 0,   /* in the register itself */
	EP_CODE_AT_CFA = 1, /* in memory, at CFA + ra, or + fp */
	EP_CODE_IN_REG = 2, /* in register number ra, or fp */
	/* Nowhere: a frame pointer that was lost; of a return address: the root of the stack. */
	EP_CODE_LOST = 3,
};

enum ep_code_flag {
	/* The registers that a called function saves have the caller's values: rbx, r12 to r15. */
	EP_CODE_KEEPS = 1 << 0,
	/*
	 * No rule: the frame pointer is followed, as where there is no row. What lies between rows
	 * and is no longer than 15 bytes is padding, which goes on with the rule before it.
	 */
	EP_CODE_UNKNOWN = 1 << 1,
	/*
	 * In place of what the file itself says of this code. For code whose own rules tell the truth to
	 * a debugger of the whole program, but not to a walk of one of its stacks: a runtime that copies
	 * stacks away and back leaves another's words after the frame where a stack begins. A
	 * host before 1.5 refuses such rows (-EINVAL).
	 */
	EP_CODE_INSTEAD = 1 << 2,
};

struct ep_code_row {
	uint64_t va;
	uint32_t bytes;
	uint8_t flags;	  /* enum ep_code_flag */
	uint8_t cfa_reg;
	uint8_t ra_place; /* enum ep_code_place: the return address */
	uint8_t fp_place; /* the caller's frame pointer */
	int32_t cfa_off;  /* the CFA is cfa_reg + cfa_off */
	int32_t ra, fp;
	uint32_t pad; /* 0 */
};

#define EP_MAX_CODE_ROWS    65536      /* of a file, as are those below */
#define EP_MAX_CODE_SYMBOLS 16384
#define EP_MAX_CODE_NAMES   (1u << 20) /* bytes of their names, with NULs */

enum ep_range_mode {
	EP_RANGE_MARK = 0, /* native code that runs the language: see ebpf-profiler/bpf/record.h */
	/*
	 * Code that only the language can unwind. Of a file: in each mapping that the process makes of it,
	 * without a time between its first run and a range of its own; ep_find_row tells where it is in
	 * the file.
	 */
	EP_RANGE_ENTER = 1,
};

enum ep_range_flag {
	/*
	 * All executable memory that no ELF file backs, known or not, after the exact ranges of all
	 * languages: {0, UINT64_MAX, EP_RANGE_ENTER, EP_RANGE_ANONYMOUS}. It may be another's code:
	 * several languages that say so are asked in turn, until one does not give it back
	 * (ep_give_back). A JIT needs no range for each piece of code then, and there is no time
	 * between its first run and user space's knowledge of it.
	 */
	EP_RANGE_ANONYMOUS = 1 << 0,
};

/*
 * Code of a process: target addresses [start, end), mapped yet or not: a code heap that is reserved
 * as a whole needs one range, and none more when it grows.
 */
struct ep_range {
	uint64_t start, end;
	uint32_t mode;	/* enum ep_range_mode */
	uint32_t flags; /* enum ep_range_flag */
	uint64_t data;	/* of the plugin, for its BPF program: ep_find_code */
};

/* A mapping of a process, as /proc/PID/maps tells it. */
struct ep_target_mapping {
	uint64_t start, end, file_off;
	uint32_t prot; /* PROT_READ | PROT_WRITE | PROT_EXEC */
	uint32_t is_file;
	const char *path; /* anonymous memory: "" or its name, "[heap]"; borrowed for the call */
};

/* A file beside a mapped one, such as one with its lines. */
struct ep_target_file {
	uint64_t addr;	  /* in a mapping of a file: this one is in the same directory */
	const char *name; /* one component of a path, without '/' */
	/* Of the content: set where it is 0. Else another content than that is -ESTALE: the file was
	 * replaced, or written to. */
	uint64_t content;
	uint64_t bytes; /* set */
};

enum ep_name_flag {
	/*
	 * What is known although the frame's code is gone, or a part of it. Where more of it came with the
	 * sample (ops.keeper), symbolize is called once more, and this is forgotten if that says more. A name
	 * with EP_UNNAMED_GONE always stands in.
	 */
	EP_NAME_STANDS_IN = 1 << 0,
};

/* One name of a frame. Zero and NULL: unknown. Strings are copied. */
struct ep_name {
	uint32_t size; /* of this struct, see abi.h */
	uint32_t line, column;
	uint32_t start_line;  /* of the function */
	const char *function; /* UTF-8; as the language's users write it: "Class.method" */
	/* As the runtime has it: mangled, or with its signature, which tells overloads apart. NULL:
	 * as function. */
	const char *system_name;
	const char *file;
	/* enum ep_unnamed. Not 0: the function's name is not known, this is why, and `function` is a text
	 * that is shown instead, like "(freed sub)". */
	uint32_t unnamed;
	uint32_t flags; /* enum ep_name_flag: of a frame's first name */
};

/* A frame as the BPF program pushed it. */
struct ep_raw_frame {
	uint32_t aux;	  /* the header's */
	uint32_t n_words;
	uint32_t flags;	  /* EP_FRAME_INTERRUPTED, and what is the language's own */
	uint32_t pad;
	uint64_t words[EP_FRAME_MAX_WORDS];
};

/* Services for unwinders; a table of its own, given with the first call, kept as long as wanted. */
struct ep_unwinder_host {
	uint32_t size;
	uint32_t pad;
	const struct ep_host *host; /* log; options are not for unwinders */

	/*
	 * --- 1. what every language needs; one whose frames are marked may do with these ---
	 *
	 * Of an ELF file, which probe and describe are given: 0, -ENODATA (absent), -EBADMSG, -E2BIG,
	 * -ENOMEM. A stripped file whose separate debug file is installed (by build id or
	 * .gnu_debuglink, in the process's file system or, by build id, the host's) answers as the
	 * whole file would: symbols of .symtab and function bounds are the debug file's then. Most
	 * machines have none. Sections and bytes are those of the file itself. A fixture holds what
	 * was answered when it was recorded.
	 */
	/* A defined symbol of .dynsym, else of .symtab, of the file's own or of its debug file: also
	 * static functions and variables. */
	int (*file_symbol)(const struct ep_file *file, const char *name, struct ep_symbol *ret);
	/* Add to a virtual address of the probed file to get the target address. */
	uint64_t (*target_bias)(const struct ep_target *target);
	/*
	 * 0, -EFAULT (all or nothing), -ESRCH, -EPERM; -ETIME: reading for one symbolize took more than
	 * 100 ms, the frame stays unnamed whatever is returned. Prefer one read of a struct to many.
	 */
	int (*target_read)(const struct ep_target *target, uint64_t addr, void *buf, size_t bytes);
	/*
	 * What BPF gets to know of a process. From attach and refresh it takes effect if the call
	 * returns 0, from symbolize in any case: it is of the process, not of the frame.
	 *
	 * At most EP_STATE_BYTES, as the BPF program's ep_get_state gives them. 0, -E2BIG.
	 */
	int (*set_state)(struct ep_target *target, const void *state, size_t bytes);
	/* Replaces all earlier ones. Sorted or not, disjoint; at most EP_MAX_RANGES. 0, -EINVAL,
	 * -E2BIG, -ENOMEM. */
	int (*set_ranges)(struct ep_target *target, const struct ep_range *ranges, size_t n);
	/*
	 * Innermost (inlined) first. Long strings are cut, and of more than 64 names those before
	 * the last. -E2BIG: no space now, the frame is asked for again; -ENOMEM.
	 */
	int (*add_name)(struct ep_names *names, const struct ep_name *name);

	/* --- 2. threads: paths to their storage --- */
	/* 0, -ENODATA, -ENOTSUP (a C library we do not know), -EFAULT. */
	int (*tls_variable)(const struct ep_target *target, uint64_t tls_off, struct ep_tls *ret);
	int (*tls_key)(const struct ep_target *target, uint32_t key, struct ep_tls *ret);
	/* The same for what file_variable found. -ENODATA: not relocated yet. */
	int (*tls_path)(const struct ep_target *target, const struct ep_variable *variable,
			struct ep_tls *ret);

	/* --- 3. more of a process --- */
	int32_t (*target_pid)(const struct ep_target *target);
	/* NUL-terminated, cut at size - 1. 0, -EFAULT, -ESRCH. */
	int (*target_string)(const struct ep_target *target, uint64_t addr, char *buf, size_t size);
	/*
	 * All of them, as they were when this attach, refresh, or batch of symbolize first needed
	 * them, be it for this or for a path to thread storage: /proc is read once for each. Code
	 * that is mapped after that brings a refresh. visit returns non-zero to stop. 0, -ESRCH,
	 * -ENOMEM.
	 */
	int (*target_mappings)(const struct ep_target *target,
			       int (*visit)(void *arg, const struct ep_target_mapping *mapping),
			       void *arg);
	/* Adds to a counter of the plugin (ep_unwinder_ops.counters). */
	void (*count)(const struct ep_target *target, uint32_t counter, uint64_t n);

	/* --- 4. more of an ELF file; errors as above --- */
	/* Path as the process that maps it sees it; never NULL. */
	const char *(*file_path)(const struct ep_file *file);
	/* Initialised data or code as the file has it, by virtual address; at most
	 * EP_MAX_FILE_READ bytes. */
	int (*file_read)(const struct ep_file *file, uint64_t va, void *buf, size_t bytes);
	int (*file_section)(const struct ep_file *file, const char *name, struct ep_symbol *ret);
	/*
	 * All symbols whose names begin with a prefix, ascending by name as bytes compare, each name
	 * once, with what file_symbol gives for it; visit returns non-zero to stop, and may ask the
	 * host for other things; the name is borrowed for the call. 0, also when there is none;
	 * -E2BIG: more than EP_MAX_SYMBOLS, none was visited. Names of 512 bytes and more are not
	 * seen. Reads the tables whole: first make sure that the file is yours.
	 */
	int (*file_symbols)(const struct ep_file *file, const char *prefix,
			    int (*visit)(void *arg, const char *name,
					 const struct ep_symbol *symbol),
			    void *arg);
	/* The function that holds va, by the bounds that .eh_frame, or else .debug_frame, gives it:
	 * also parts without symbols. */
	int (*file_function)(const struct ep_file *file, uint64_t va, struct ep_symbol *ret);
	/*
	 * The function of that name in the table of functions that a compiler put into the file for
	 * its own runtime (.gopclntab), which stripped files have as well. Not one that was made to
	 * call it: those can have its name. `bytes` is to the next function. First make sure that the
	 * file is yours: the table is found, checked, and passed over.
	 */
	int (*file_named)(const struct ep_file *file, const char *name, struct ep_symbol *ret);
	/*
	 * What code tells, of functions of x86-64; -ENOTSUP: not understood.
	 *
	 * The function itself and then the parts that the compiler put elsewhere (toy_run.cold),
	 * with or without symbols, of functions up to EP_MAX_FILE_READ. How many of `max`, each once:
	 * at least the function, whose size must be known.
	 */
	uint32_t (*file_parts)(const struct ep_file *file, const struct ep_symbol *function,
			       struct ep_symbol *parts, uint32_t max);
	/* The variable that the function at va does nothing but return: one without a symbol. */
	int (*file_variable)(const struct ep_file *file, uint64_t va, struct ep_variable *ret);
	/* Address of the int that the function at va passes on as first argument: a pthread key. */
	int (*file_argument)(const struct ep_file *file, uint64_t va, uint64_t *ret_va);

	/* --- 5. what a file does not say of its code: during describe, as often as wanted --- */
	/*
	 * In any order. The file's own rules win where it has some, but for EP_CODE_INSTEAD; of rows that overlap each holds
	 * until the next one begins. What lies outside its code is of no use, and no error. 0,
	 * -EINVAL (no bytes, or past the end of all addresses; a place, flag or register that there
	 * is not: none of these rows was taken), -E2BIG, -ENOMEM.
	 */
	int (*add_rows)(struct ep_description *description, const struct ep_code_row *rows, size_t n);
	/*
	 * A name for [va, va + bytes), shown as it is; it is copied. Where a symbol of the file holds
	 * an address, too, the inner one wins: that which begins later, then the shorter one, then
	 * the file's. 0, -EINVAL (no name, no bytes, or past the end of all addresses), -E2BIG, -ENOMEM.
	 */
	int (*add_symbol)(struct ep_description *description, const struct ep_symbol *symbol,
			  const char *name);

	/* --- 3., since 1.6 --- */
	/*
	 * Bytes of a regular file beside a mapped one, as the process sees both; at most
	 * EP_MAX_FILE_READ. After its end are zeros up to the next multiple of 4096, as in a
	 * mapping. It must belong to root or to the owner of the mapped file, and others must not
	 * be able to write to it. 0; -ENODATA: there is no such file; -ESTALE; -EFAULT: after its
	 * end; -E2BIG, -EINVAL (a name with '/'), -ETIME, -ESRCH, -EPERM.
	 */
	int (*target_file)(const struct ep_target *target, struct ep_target_file *file, uint64_t off, void *buf,
			   size_t bytes);
};

enum ep_bpf_flag {
	/*
	 * Where the native walk cannot go on, its program is asked whether it knows where the
	 * language's next frame is (ep_has_failed, ep_resume).
	 */
	EP_BPF_RESUMES = 1 << 0,
	/*
	 * Of a snapshot program: what it sends in one event names each of its frames alone, so that
	 * nothing is ever made of memory of two moments. Without it what was sent before is looked
	 * at, too.
	 */
	EP_BPF_KEEPS_WHOLE = 1 << 1,
};

/* The BPF object, as bytes in the plugin. */
struct ep_bpf_image {
	uint32_t size;
	uint32_t max_frames_per_run; /* the loader steps down from it if the verifier refuses */
	const void *object;
	size_t object_bytes;
	const char *program; /* name of the one that unwinds */
	uint32_t flags;	     /* enum ep_bpf_flag */
	uint32_t pad;
};

struct ep_unwinder_ops {
	uint32_t size;
	uint32_t pad;
	/* Why one of its frames is missing: texts like those of errors.def. Ends with NULL. */
	const char *const *errors;
	/* What it counts, in BPF and in user space. Ends with NULL; at most 16. */
	const char *const *counters;
	const struct ep_bpf_image *bpf; /* required */

	/*
	 * Required. 0, EP_CODE_ONLY (*ret_executable is set as well, for describe and unload), EP_LAUNCHER,
	 * EP_NOT_MINE, or a negative errno (logged at debug level by the host).
	 */
	int (*probe)(const struct ep_unwinder_host *host, const struct ep_file *file,
		     void **ret_executable);
	/*
	 * Required. 0, EP_NOT_YET, -ENOTSUP (a layout that does not hold: the plugin has logged one
	 * warning; frames stay native until an exec), -ESRCH, or another negative errno: something
	 * that may pass, such as memory that could not be read; asked again, less and less often.
	 * Leaves nothing when it fails; what was set then takes no effect. *ret_instance is not NULL.
	 */
	int (*attach)(void *executable, struct ep_target *target, void **ret_instance);
	/*
	 * Optional: look again. At most each 50 ms. As attach; -ENOTSUP and -ESRCH detach, after
	 * others what was published to BPF stays.
	 */
	int (*refresh)(void *instance);
	/*
	 * Required. 0 after add_name was called, EP_FRAME_GONE, EP_NOT_YET, or a negative errno. After
	 * -ESRCH the process is not looked at again: what is remembered of it may still name frames.
	 */
	int (*symbolize)(void *instance, const struct ep_raw_frame *frame, struct ep_names *names);
	void (*detach)(void *instance);	   /* required; the process may be gone */
	void (*unload)(void *executable);  /* required; no instance of it is left */
	/* Of its frames, as OpenTelemetry's profile.frame.type has it: "cpython", "jvm". NULL: the
	 * plugin's name. */
	const char *frame_type;
	/*
	 * Optional: what the users of this process can do to see more, such as an option of their
	 * runtime. `doctor` asks once, after attach, and prints what it is given: what is so, and
	 * what to do about it, each a sentence of at most 160 bytes without its full stop; fix may
	 * be NULL. Both are borrowed for the call. As all calls it only reads. 0, or a negative
	 * errno.
	 */
	int (*advise)(void *instance, void (*say)(void *arg, const char *found, const char *fix),
		      void *arg);
	/*
	 * Optional: unwind rules and symbols for code of the file that has none, such as assembly or
	 * a compiler's output that was linked in. Called after probe returned 0 or EP_CODE_ONLY, when the file's
	 * tables are made, and again should they be made anew; not where no stack is walked. The
	 * executable is shared by then: it does not change. 0, or a negative errno: nothing that was
	 * added holds then.
	 */
	int (*describe)(void *executable, const struct ep_file *file, struct ep_description *description);
	/*
	 * Optional: for how many ms the name of a frame rarely goes, in a program that is older than ten seconds.
	 * With 1000 and more, names may be looked for some time later, many together, until too many of them
	 * were EP_FRAME_GONE. 0: at once.
	 */
	uint32_t names_stay_ms;
	/*
	 * 1: what the snapshot program sends is all that symbolize would read. Then names of
	 * programs in their first second wait, since nothing of them goes; most such programs have
	 * ended by then. 0: they are read at once.
	 */
	uint32_t keeps_all;
	/*
	 * Optional: a second object, whose program sends what names of recently started programs
	 * are made of (ebpf-profiler/bpf/keeper.h). max_frames_per_run is not used.
	 */
	const struct ep_bpf_image *keeper;
};

#endif
