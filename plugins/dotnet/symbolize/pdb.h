/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A portable PDB (docs/specs/PortablePdb-Metadata.md of dotnet/runtime): metadata with tables of
 * its own. An image says in its debug directory which one is its own, by an id. It is in the image
 * itself, deflated, or a file beside it, of which nothing but what is asked for is read.
 */
#ifndef DOTNET_PDB_H
#define DOTNET_PDB_H

#include "plugins/dotnet/symbolize/metadata.h"
#include "plugins/shared/text/writer.h"

#define DOTNET_PDB_NAME_BYTES 256
#define DOTNET_PDB_MAX_PLAIN  (4u << 20) /* of one in an image; larger ones are not inflated */

/* What an image says. */
struct dotnet_pdb_place {
	uint8_t id[DOTNET_PDB_ID_BYTES];
	bool has_id;
	uint64_t image;	   /* base */
	uint64_t embedded; /* 0: it is not in the image */
	uint32_t embedded_bytes, plain_bytes;
	char name[DOTNET_PDB_NAME_BYTES]; /* of the file beside it */
};

/* -ENODATA: it says nothing, or is none. */
int dotnet_pdb_place_of(const struct dotnet_reader *reader, uint64_t module,
			struct dotnet_pdb_place *ret);

/* Gives *ret, of plain_bytes. 0, -E2BIG, -EBADMSG, -ENOMEM, -EFAULT, -ESRCH. */
int dotnet_pdb_inflate(const struct dotnet_reader *reader, const struct dotnet_pdb_place *place,
		       uint8_t **ret);

/* What `reader` reads from address 0 on. -EBADMSG: it is no PDB, or another one's. */
int dotnet_pdb_read(const struct dotnet_reader *reader, const uint8_t id[DOTNET_PDB_ID_BYTES],
		    struct dotnet_metadata *ret);

struct dotnet_point {
	uint32_t document, line, column;
	uint32_t start_line; /* the method's first one */
};

/*
 * Where an offset of a method's IL is in its source: the last point at or before it that is not
 * hidden. -ENODATA: it has none.
 */
int dotnet_pdb_find(const struct dotnet_reader *reader, const struct dotnet_metadata *pdb,
		    uint32_t rid, uint32_t il, struct dotnet_point *ret);

/* A document's path; cut. */
int dotnet_pdb_document(const struct dotnet_reader *reader, const struct dotnet_metadata *pdb,
			uint32_t rid, struct text_writer *writer);

#endif
