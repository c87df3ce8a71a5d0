/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of types and methods, from rows of metadata to text. What a type is called is read once,
 * and written in two ways: Namespace.Outer`1+Inner, as metadata has it, and
 * Namespace.Outer<T>.Inner, as its author wrote it (friendly.h).
 */
#ifndef DOTNET_TYPES_H
#define DOTNET_TYPES_H

#include "plugins/dotnet/symbolize/metadata.h"
#include "plugins/shared/text/writer.h"

#define DOTNET_TYPE_BYTES	2048
#define DOTNET_NAME_BYTES	512 /* of one name; cut */
#define DOTNET_MAX_NESTED	8

/* Texts that end in NUL each: its namespace, then of each type, the outermost one first, its name
 * and parameters: "<T,U>". */
struct dotnet_type {
	uint32_t n; /* types: 1, or more where it is nested */
	uint32_t bytes;
	char texts[DOTNET_TYPE_BYTES];
};

/* Of a TypeDef, of a TypeRef. Parameters are read where they are asked for; those of a reference
 * are not there. */
int dotnet_type_read(const struct dotnet_reader *reader, const struct dotnet_metadata *metadata,
		     uint32_t rid, bool has_parameters, struct dotnet_type *ret);
int dotnet_type_read_ref(const struct dotnet_reader *reader, const struct dotnet_metadata *metadata,
			 uint32_t rid, struct dotnet_type *ret);

/* As metadata has it. */
void dotnet_type_put(const struct dotnet_type *type, struct text_writer *writer);

/* A row of MethodDef. */
struct dotnet_definition {
	uint32_t rid;
	char name[DOTNET_NAME_BYTES];
	struct dotnet_bytes signature; /* not read yet; its result says whether it can be */
};
int dotnet_definition_read(const struct dotnet_reader *reader,
			   const struct dotnet_metadata *metadata, uint32_t rid,
			   struct dotnet_definition *ret);

/* A method as its author wrote it: Namespace.Outer<T>.Inner.Run<U>. Of its type with parameters. */
int dotnet_definition_put(const struct dotnet_reader *reader,
			  const struct dotnet_metadata *metadata, const struct dotnet_type *type,
			  const struct dotnet_definition *method, struct text_writer *writer);

#endif
