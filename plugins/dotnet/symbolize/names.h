/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name of a frame: Namespace.Outer.Inner.Method, with what metadata calls it as system name
 * (Namespace.Outer+Inner`1.Method). What cannot be told has no name, and a reason.
 */
#ifndef DOTNET_NAMES_H
#define DOTNET_NAMES_H

#include "plugins/dotnet/symbolize/methods.h"

struct dotnet_names;

int dotnet_names_new(const struct dotnet_reader *reader, struct dotnet_names **ret);
void dotnet_names_free(struct dotnet_names *names); /* accepts NULL */

/* As symbolize. What is remembered goes by what is asked for least. */
int dotnet_names_of(struct dotnet_names *names, const struct ep_raw_frame *frame,
		    int (*add)(struct ep_names *names, const struct ep_name *name), struct ep_names *to);

#endif
