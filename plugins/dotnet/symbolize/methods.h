/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a MethodDesc to the row of metadata that names it:
 *
 *	MethodDesc ──► chunk (before its first one) ──► MethodTable ──► Module, rid of the type
 *	  └ rid of the method: its low bits, the others are the chunk's
 */
#ifndef DOTNET_METHODS_H
#define DOTNET_METHODS_H

#include "plugins/dotnet/dotnet_shared.h"
#include "plugins/dotnet/symbolize/ranges.h"

struct dotnet_method {
	uint64_t words;	     /* the first ones: tokens, chunk index, flags */
	uint32_t kind;	     /* enum dotnet_method_kind */
	uint32_t rid;	     /* of MethodDef; 0: none */
	uint64_t table;	     /* MethodTable of its owner */
	uint32_t type_rid;   /* of TypeDef; 0: none */
	uint64_t module;     /* of the definition */
	uint64_t table_words[DOTNET_TABLE_WORDS];
};

/* 0; -EFAULT, -ESRCH; -EBADMSG: this is none. Of a dynamic method the owner is not looked at. */
int dotnet_method_read(const struct dotnet_reader *reader, uint64_t method,
		       struct dotnet_method *ret);

/* Of method->table alone: its words; then the type and the module that they tell. */
int dotnet_method_read_table(const struct dotnet_reader *reader, struct dotnet_method *method);
int dotnet_method_find_owner(const struct dotnet_reader *reader, struct dotnet_method *method);

/*
 * The MethodDesc that a precode leads to, by an address in it: `kind` is 4 or 5 of enum
 * dotnet_stub. -ENODATA: it may be another one's, or there is none.
 */
int dotnet_method_of_precode(const struct dotnet_reader *reader, uint64_t addr, uint32_t kind,
			     uint64_t *ret);

/*
 * The MethodDesc whose code begins at `entry`, by the map of entry points that the runtime has of
 * an image (ReadyToRunInfo::m_entryPointToMethodDescMap): all code that ran is in it. -ENODATA: it
 * is not.
 */
int dotnet_method_of_entry(const struct dotnet_reader *reader, uint64_t info, uint64_t entry,
			   uint64_t *ret);

/*
 * The same for an address in a function of an image, which may be a funclet: its method is one
 * before it, among the 64 next ones. Its unwind information has been read then, too.
 */
struct dotnet_function {
	uint64_t method; /* MethodDesc */
	uint64_t begin;	 /* of the method's first function */
	uint64_t info;	 /* ReadyToRunInfo, of the composite in which it is */
	uint32_t index;	 /* of the method's first function in the table */
};
int dotnet_method_of_function(const struct dotnet_reader *reader, const struct dotnet_range *range,
			      uint64_t addr, struct dotnet_function *ret);

/*
 * Reads each page of an image's table of functions once. BPF cannot read pages of a file that the
 * process has not touched, and a read from outside brings them into its memory.
 */
void dotnet_functions_see(const struct dotnet_reader *reader, const struct dotnet_range *range);

/* The ReadyToRunInfo that has an image's functions: its own, or that of the composite it is in. */
int dotnet_module_r2r(const struct dotnet_reader *reader, uint64_t module, uint64_t *ret_info);

/* What BPF put into the frame of such a method; 0: it cannot be read. */
uint64_t dotnet_method_check(const struct dotnet_reader *reader, uint64_t method);

#endif
