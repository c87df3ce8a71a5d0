/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metadata (ECMA-335, II.22 and II.24), read row by row in a process's memory:
 *
 *	PE image ──► CLI header (data directory 14) ──► "BSJB": streams ──► #~ or #-: tables of
 *		rows, #Strings: names
 *
 * An image is mapped as its sections say, or lies there as its file does (flat): .dll files that
 * are IL alone, those of a bundle and those that were loaded from memory.
 */
#ifndef DOTNET_METADATA_H
#define DOTNET_METADATA_H

#include "plugins/dotnet/symbolize/bytes.h"
#include "plugins/dotnet/symbolize/ranges.h"

#define DOTNET_PDB_ID_BYTES 20
#define DOTNET_TABLES 55 /* of ECMA-335, and from 48 on of a portable PDB */

/* What is needed of a table. */
struct dotnet_table {
	uint64_t addr;
	uint32_t n;	/* rows */
	uint8_t bytes;	/* of a row */
	uint8_t at[3], width[3]; /* of the columns that are looked at */
};

struct dotnet_metadata {
	uint64_t strings, blobs; /* the heaps' addresses */
	uint32_t strings_bytes, blobs_bytes;
	uint64_t pdb; /* of the stream "#Pdb" */
	bool is_copy; /* of what Reflection.Emit made: replaced whenever a type is created */
	struct dotnet_table refs;      /* TypeRef: where it is, name, namespace */
	struct dotnet_table types;     /* TypeDef: name, namespace */
	struct dotnet_table methods;   /* MethodDef: name, signature */
	struct dotnet_table nested;    /* NestedClass: nested, enclosing */
	struct dotnet_table generics;  /* GenericParam: owner, name; its flags have its number */
	struct dotnet_table documents; /* Document: name */
	struct dotnet_table points;    /* MethodDebugInformation: document, sequence points */
};

struct dotnet_row {
	uint32_t flags; /* its first four bytes */
	uint32_t columns[3];
};

/* Of a Module; also of one that Reflection.Emit made. 0; -ENODATA: it has none yet; -EBADMSG,
 * -EFAULT, -ESRCH. */
int dotnet_metadata_of(const struct dotnet_reader *reader, uint64_t module,
		       struct dotnet_metadata *ret);

/* Of what begins at "BSJB". */
int dotnet_metadata_read(const struct dotnet_reader *reader, uint64_t addr,
			 struct dotnet_metadata *ret);

int dotnet_metadata_row(const struct dotnet_reader *reader, const struct dotnet_table *table,
			uint32_t rid, struct dotnet_row *ret);
/* A blob: its bytes, which lie in the heap. *ret: not read yet. */
int dotnet_metadata_blob(const struct dotnet_reader *reader, const struct dotnet_metadata *metadata,
			 uint32_t index, struct dotnet_bytes *ret);

/* A text of the heap, cut. */
int dotnet_metadata_string(const struct dotnet_reader *reader,
			   const struct dotnet_metadata *metadata, uint32_t index, char *buf,
			   size_t size);

#endif
