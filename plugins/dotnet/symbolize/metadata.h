/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names in metadata (ECMA-335, II.22 and II.24), read row by row in a process's memory:
 *
 *	PE image ──► CLI header (data directory 14) ──► "BSJB": streams ──► #~ or #-: tables of rows,
 *									    #Strings: names
 *
 * An image is mapped as its sections say, or lies there as its file does (flat): .dll files that are
 * IL alone, those of a bundle and those that were loaded from memory.
 */
#ifndef DOTNET_METADATA_H
#define DOTNET_METADATA_H

#include "plugins/dotnet/symbolize/ranges.h"
#include "plugins/shared/text/writer.h"

#define DOTNET_TABLES 45 /* of ECMA-335, and of generic constraints */

/* What is needed of a table. */
struct dotnet_table {
	uint64_t addr;
	uint32_t n;	/* rows */
	uint8_t bytes;	/* of a row */
	uint8_t at[2], width[2]; /* of the columns that are looked at */
};

struct dotnet_metadata {
	uint64_t strings; /* the heap's address */
	uint32_t strings_bytes;
	bool is_copy; /* of what Reflection.Emit made: replaced whenever a type is created */
	struct dotnet_table types;   /* TypeDef: name, namespace */
	struct dotnet_table methods; /* MethodDef: name */
	struct dotnet_table nested;  /* NestedClass: nested, enclosing */
};

/* Of a Module; also of one that Reflection.Emit made. 0; -ENODATA: it has none yet; -EBADMSG, -EFAULT, -ESRCH. */
int dotnet_metadata_of(const struct dotnet_reader *reader, uint64_t module, struct dotnet_metadata *ret);

/* Of what begins at "BSJB". */
int dotnet_metadata_read(const struct dotnet_reader *reader, uint64_t addr, struct dotnet_metadata *ret);

/* Namespace.Outer.Inner of a TypeDef, with `raw` as metadata has it: Namespace.Outer+Inner`1. */
int dotnet_metadata_type(const struct dotnet_reader *reader, const struct dotnet_metadata *metadata,
			 uint32_t rid, bool raw, struct text_writer *writer);
int dotnet_metadata_method(const struct dotnet_reader *reader, const struct dotnet_metadata *metadata,
			   uint32_t rid, struct text_writer *writer);

#endif
