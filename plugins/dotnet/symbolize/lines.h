/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of methods, by the portable PDBs of their modules, which stay open. */
#ifndef DOTNET_LINES_H
#define DOTNET_LINES_H

#include "plugins/dotnet/symbolize/pdb.h"

struct names_cache;
struct names_function;

/* Kinds and classes of what is remembered to name frames. */
enum dotnet_kind {
	DOTNET_KIND_NAME = 0, /* of JIT code, by where it begins */
	DOTNET_KIND_ENTRY,    /* of a function of an image */
	DOTNET_KIND_METHOD,   /* by its MethodDesc: inlined */
	DOTNET_KIND_MODULE,   /* where its metadata is */
	DOTNET_KIND_TYPE,     /* of a module, by its token: what it is called */
	DOTNET_KIND_PLACE,    /* what a module says of its PDB */
	DOTNET_KIND_PDB,      /* by its id, for all else may be another's a moment later */
	DOTNET_KIND_DOCUMENT, /* of a PDB */
};
enum dotnet_class {
	DOTNET_CLASS_NAMES = 0,
	DOTNET_CLASS_MODULES,
	DOTNET_CLASS_PDBS,
};

/* Files beside mapped ones: as the host's target_file. */
struct dotnet_files {
	int (*read)(void *arg, struct ep_target_file *file, uint64_t off, void *buf, size_t bytes);
	void *arg;
	uint64_t program; /* an address in the executable of a single-file program; 0: it is none */
};

struct dotnet_lines {
	const struct dotnet_reader *reader;
	struct dotnet_files files;
	struct names_cache *cache;
};

/*
 * The point of a method's IL offset, and its document, with a reference. `keeps`: the module is not
 * collectible. 0; -ENODATA: nobody knows; another error.
 */
int dotnet_lines_find(const struct dotnet_lines *lines, uint64_t module, bool keeps, uint32_t rid,
		      uint32_t il, struct dotnet_point *ret, struct names_function **ret_document);

/* A module that is not collectible: it is known that it has no PDB. Nothing is read. */
bool dotnet_lines_are_absent(const struct dotnet_lines *lines, uint64_t module);

/* Whether a module's PDB is there. As above, and -ENODATA where the image says of none. */
int dotnet_lines_has_pdb(const struct dotnet_lines *lines, uint64_t module);

#endif
