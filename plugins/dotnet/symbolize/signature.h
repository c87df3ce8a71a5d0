/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tells a method from others of its name: Namespace.Outer`1+Inner[System.Int32].Run[System.__Canon](System.String),
 * with the type arguments that its code was compiled for (System.__Canon: any reference) and its parameters.
 */
#ifndef DOTNET_SIGNATURE_H
#define DOTNET_SIGNATURE_H

#include "plugins/dotnet/symbolize/metadata.h"
#include "plugins/dotnet/symbolize/methods.h"

/* Where a module's metadata is. */
typedef int dotnet_find_metadata(void *arg, uint64_t module, struct dotnet_metadata *ret);

/* What of it cannot be read is left out, but for the names. */
int dotnet_signature_put(const struct dotnet_reader *reader, const struct dotnet_metadata *metadata, uint64_t addr,
			 const struct dotnet_method *method, dotnet_find_metadata *find, void *arg,
			 struct text_writer *writer);

#endif
