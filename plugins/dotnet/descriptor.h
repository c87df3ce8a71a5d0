/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON text in which CoreCLR publishes its structures: docs/design/datacontracts/
 * data_descriptor.md ("compact descriptor"), v9.0.0.
 *
 *	{"types": {TYPE: {FIELD: OFFSET | [OFFSET, "type"], "!": SIZE}},
 *	 "globals": {NAME: VALUE | [VALUE, "type"] | [[INDEX], "type"]}, ...}
 *
 * A value is a number, or a string that holds one ("0xc"). What lies elsewhere in the process, or
 * is not understood, is passed over.
 */
#ifndef DOTNET_DESCRIPTOR_H
#define DOTNET_DESCRIPTOR_H

#include <stddef.h>
#include <stdint.h>

#define DOTNET_DESCRIPTOR_MAX_BYTES (256u << 10)

/* As it stands in the text: escapes are not undone, and no name of ours has one. */
struct descriptor_text {
	const char *at;
	size_t len;
};

/* Of a global the type's name is empty. Returns 0, or a negative errno to stop. */
typedef int descriptor_visit(void *arg, const struct descriptor_text *type,
			     const struct descriptor_text *field, uint64_t value);

/* What visit returned, or 0; -EBADMSG: the text is no JSON. No recursion, each byte is read once or
 * twice. */
int dotnet_descriptor_visit(const char *text, size_t bytes, descriptor_visit *visit, void *arg);

#endif
