/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The function table that Go's linker leaves in its executables (".gopclntab"), stripped ones too:
 * for each function its range, how far the stack pointer is from the frame's end at each address,
 * names, files, lines and which calls were inlined. All layouts from Go 1.2 on; docs of the format
 * are in layout.h.
 *
 * The table, a third of a large executable, is neither mapped nor held: it is read on demand through
 * a cache of file pages whose size is given at open. A reader serves one thread at a time. Addresses
 * are ELF virtual addresses. The file is hostile: what does not fit is refused, and a function that
 * is wrong costs itself only.
 */
#ifndef EP_PCLNTAB_PCLNTAB_H
#define EP_PCLNTAB_PCLNTAB_H

#include "core/base/util.h"

struct ep_elf;
struct ep_pclntab;

#define EP_PCLNTAB_MAX_NAME	4096 /* bytes of a function's or file's name, with its NUL */
#define EP_PCLNTAB_MAX_INLINED	64   /* calls inlined into each other at one address */

/* A function that unwinding or naming treats in a way of its own. */
enum ep_pclntab_role {
	EP_PCLNTAB_ORDINARY,
	EP_PCLNTAB_WRAPPER, /* made by the compiler or linker; the runtime elides it in tracebacks */
	EP_PCLNTAB_GOPANIC, /* these three let the wrapper that called them be shown */
	EP_PCLNTAB_SIGPANIC,
	EP_PCLNTAB_PANICWRAP,
	EP_PCLNTAB_ASYNC_PREEMPT, /* its caller was interrupted, as is sigpanic's */
	EP_PCLNTAB_DEBUG_CALL,	  /* the same */
	EP_PCLNTAB_SYSTEMSTACK,	  /* these go over to another stack */
	EP_PCLNTAB_MORESTACK,
	EP_PCLNTAB_MCALL,
	EP_PCLNTAB_ASMCGOCALL,
	EP_PCLNTAB_CGOCALLBACK,
	EP_PCLNTAB_GOGO,
	EP_PCLNTAB_CLONE,
	EP_PCLNTAB_VDSO_CALL, /* on another stack, or realigned, while the vDSO runs */
	EP_PCLNTAB_SIGRETURN, /* the signal trampoline */
	EP_PCLNTAB_SIGTRAMP,  /* the handler, whose caller that is */
	EP_PCLNTAB_ROOT,      /* nothing called it */
};

/* Of older tables without flags: what the function's name says. */
#define EP_PCLNTAB_TOP	    (1u << 0) /* the outermost frame of a stack */
#define EP_PCLNTAB_SP_WRITE (1u << 1) /* writes rsp in a way that its table does not follow */
#define EP_PCLNTAB_ASM	    (1u << 2) /* assembly; tables before Go 1.18 do not say */

struct ep_pclntab_func {
	uint64_t start, end; /* end: the next function's start, so padding is inside */
	uint32_t index;	     /* in the table */
	uint32_t name;	     /* ep_pclntab_name */
	uint32_t pcsp, pcfile, pcln; /* ep_pclntab_values_begin; 0: there is none */
	uint32_t inline_index;	     /* the same: index in the inline tree, -1 for none */
	uint32_t cu;		     /* for ep_pclntab_file; UINT32_MAX: no unit */
	uint32_t start_line;	     /* 0: not known (before Go 1.20) */
	uint64_t inline_tree;	     /* va; 0: nothing is inlined */
	uint8_t flags;		     /* EP_PCLNTAB_* */
	uint8_t role;		     /* enum ep_pclntab_role */
};

/* A call that was inlined: an entry of a function's inline tree. */
struct ep_pclntab_call {
	uint64_t parent_va; /* an address of the call in what it was inlined into */
	uint32_t name;
	uint32_t start_line;
	uint8_t role;
};

/* A walk over one table of values: rsp's distance, file, line or inline index by address. */
struct ep_pclntab_values {
	struct ep_pclntab *tab;
	uint64_t va, end; /* of the next value, of the function */
	uint32_t off, limit; /* in the table of values */
	int32_t value;
	bool first;
	uint8_t pos, len; /* in window */
	uint8_t window[64];
};

/*
 * Finds the file's table and validates it. `cache_bytes`: how much of the file is kept in memory,
 * 64 KiB to 16 MiB; the reader has 8 KiB beside. `elf` outlives the reader. 0; -ENODATA: there is
 * none; -EBADMSG: there is one that does not fit; -ENOTSUP: a processor but x86-64; -ENOMEM; -errno.
 */
int ep_pclntab_open(const struct ep_elf *elf, size_t cache_bytes, struct ep_pclntab **ret_tab);
void ep_pclntab_close(struct ep_pclntab *tab); /* accepts NULL */
static inline void ep_pclntab_closep(struct ep_pclntab **tab)
{
	ep_pclntab_close(*tab);
}

/* The code it describes, from the first function to the end of the last one. */
void ep_pclntab_text(const struct ep_pclntab *tab, uint64_t *ret_start, uint64_t *ret_end);
/* Functions in the table. */
uint32_t ep_pclntab_count(const struct ep_pclntab *tab);

/*
 * The function at *cursor, 0 for the first one, which then stands at the next. They ascend and do
 * not overlap. 0; 1 at the end; -EBADMSG: this function is wrong, only start, end and index are set
 * (start == end where they are not known either); -errno.
 */
int ep_pclntab_next(struct ep_pclntab *tab, uint32_t *cursor, struct ep_pclntab_func *ret_func);
/* The function that contains va. 0, -ENODATA, -EBADMSG, -ENOMEM, -errno. */
int ep_pclntab_find(struct ep_pclntab *tab, uint64_t va, struct ep_pclntab_func *ret_func);

/*
 * The function of that name, no wrapper; of several the first one. 0, -ENODATA, -errno. Passes over the
 * names, and over the functions up to this one: a runtime's are among the first.
 */
int ep_pclntab_find_named(struct ep_pclntab *tab, const char *name, struct ep_pclntab_func *ret_func);

/* `table`: one of the function's. 0, or -ENODATA when it is 0. */
int ep_pclntab_values_begin(struct ep_pclntab *tab, const struct ep_pclntab_func *func,
			    uint32_t table, struct ep_pclntab_values *ret_values);
/*
 * The next value, which holds to *ret_end, from where the one before ended or the function begins.
 * 0; 1 at the end; -EBADMSG, -errno. Ends ascend and are at most the function's end.
 */
int ep_pclntab_values_next(struct ep_pclntab_values *values, uint64_t *ret_end, int32_t *ret_value);
/* The value at va. 0; -ENODATA: there is none; -EBADMSG, -errno. */
int ep_pclntab_value_at(struct ep_pclntab *tab, const struct ep_pclntab_func *func, uint32_t table,
			uint64_t va, int32_t *ret_value);

/* A function's name as the linker wrote it. 0; -EBADMSG: no text; -E2BIG: longer than `bytes` - 1. */
int ep_pclntab_name(struct ep_pclntab *tab, uint32_t name, char *buf, size_t bytes);
/* The name of a file by its number in func->pcfile. The same; -ENODATA: the number is no file's. */
int ep_pclntab_file(struct ep_pclntab *tab, const struct ep_pclntab_func *func, int32_t number,
		    char *buf, size_t bytes);
/* A call by its number in func->inline_index. 0; -ENODATA: nothing is inlined here; -EBADMSG, -errno. */
int ep_pclntab_inlined(struct ep_pclntab *tab, const struct ep_pclntab_func *func, int32_t number,
		       struct ep_pclntab_call *ret_call);

#endif
