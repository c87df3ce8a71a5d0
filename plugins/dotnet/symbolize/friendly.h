/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What compilers of C#, F# and Visual Basic make of names that an author wrote: classes of async
 * methods and iterators, of closures; lambdas, local functions. friendly.c has the one list of
 * their forms.
 */
#ifndef DOTNET_FRIENDLY_H
#define DOTNET_FRIENDLY_H

#include "plugins/shared/text/writer.h"

enum dotnet_part {
	DOTNET_PART_METHOD = 1, /* of a lambda, a local function */
	DOTNET_PART_CLOSURE,	/* a class that has nothing but what these use: left out */
	DOTNET_PART_MACHINE,	/* a class of one method, whose name it has */
	DOTNET_PART_STEP,	/* the method of such a class that is the author's own: left out */
};

/* Whether a name has the form of such a part. */
bool dotnet_friendly_is(enum dotnet_part part, const char *name);
/* Writes what its author wrote: of a METHOD or a MACHINE. */
void dotnet_friendly_put(enum dotnet_part part, const char *name, struct text_writer *writer);

#endif
