/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name of a frame: Namespace.Outer<T>.Inner.Method<U> as its author wrote it, with what
 * metadata calls it, its type arguments and parameters as system name
 * (Namespace.Outer`1+Inner[System.Int32].Method[System.__Canon](string)). Its line, and methods
 * that are inlined, as far as they are known. What cannot be known has no name, and a reason.
 */
#ifndef DOTNET_NAMES_H
#define DOTNET_NAMES_H

#include "plugins/dotnet/symbolize/lines.h"
#include "plugins/dotnet/symbolize/methods.h"

struct dotnet_names;

int dotnet_names_new(const struct dotnet_reader *reader, const struct dotnet_files *files,
		     struct dotnet_names **ret);
void dotnet_names_free(struct dotnet_names *names); /* accepts NULL */

const struct dotnet_lines *dotnet_names_lines(const struct dotnet_names *names);

/* As symbolize. What is remembered goes by what is asked for least. */
typedef int dotnet_add_name(struct ep_names *names, const struct ep_name *name);
int dotnet_names_of(struct dotnet_names *names, const struct ep_raw_frame *frame,
		    dotnet_add_name *add, struct ep_names *to);

#endif
