/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the fields of CoreCLR's structures are: a table by major version, and over it what the
 * process publishes of itself, the data contract (descriptor.h), which wins.
 */
#ifndef DOTNET_LAYOUT_H
#define DOTNET_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DOTNET_OLDEST	    8
#define DOTNET_NEWEST_KNOWN 10
#define DOTNET_ABSENT	    UINT32_MAX

struct dotnet_layout {
	uint32_t major; /* of the process: may be newer than what is known */
#define FIELD(name, type, field, v8, v9, v10) uint32_t name;
#define BPF_FIELD FIELD
#include "plugins/dotnet/fields.def"
};

/* A newer release begins with the newest table. False: older than DOTNET_OLDEST. */
bool dotnet_layout_find(uint32_t major, struct dotnet_layout *ret);

/*
 * What the text of a data contract says becomes the layout's. 0; -EBADMSG: it is not to be
 * understood, or says what cannot be: nothing is changed. *ret_n: fields that it has, may be NULL.
 */
int dotnet_layout_publish(struct dotnet_layout *layout, const char *text, size_t bytes,
			  uint32_t *ret_n);

#endif
