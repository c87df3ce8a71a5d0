/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tells a method from others of its name:
 * Namespace.Outer`1+Inner[System.Int32].Run[System.__Canon](System.String), with the type arguments
 * that its code was compiled for (System.__Canon: any reference) and its parameters.
 */
#ifndef DOTNET_SIGNATURE_H
#define DOTNET_SIGNATURE_H

#include "plugins/dotnet/symbolize/methods.h"
#include "plugins/dotnet/symbolize/types.h"

/* Writes what a type is called: a TypeDefOrRef of a module (II.23.2.8), which is no TypeSpec. */
struct dotnet_types {
	int (*put)(void *arg, uint64_t module, uint32_t token, struct text_writer *writer);
	void *arg;
};
#define DOTNET_TOKEN_DEF(rid) ((rid) << 2)

/* `type`: the method's. What of it cannot be read is left out, but for the names. */
int dotnet_signature_put(const struct dotnet_reader *reader, uint64_t addr,
			 const struct dotnet_method *method, const struct dotnet_type *type,
			 const struct dotnet_definition *definition,
			 const struct dotnet_types *types, struct text_writer *writer);

#endif
