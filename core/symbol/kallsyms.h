/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of /proc/kallsyms, parsed: what the kernel's symbol table is built from. */
#ifndef EP_SYMBOL_KALLSYMS_H
#define EP_SYMBOL_KALLSYMS_H

#include "core/base/strings.h"
#include "core/base/vec.h"

struct kallsyms_symbol {
	uint64_t addr;
	uint32_t name_off; /* in names, NUL-terminated; only when it is code */
	uint16_t module;   /* id in modules, 0 for the kernel */
	uint8_t rank;	   /* among symbols of one address lower is better: ep_symbol_rank */
	uint8_t is_code;   /* else it only ends what is before it */
};
_Static_assert(sizeof(struct kallsyms_symbol) == 16, "some 100 000 of them while loading");

struct kallsyms {
	struct ep_vec symbols; /* struct kallsyms_symbol, sorted by address */
	struct ep_vec names;   /* char */
	struct ep_strings *modules;
	bool any_address; /* one was not zero */
	bool any_code;
};

/* Accepted in every state by fini. 0, -E2BIG, -ENOMEM, -errno. A line that is none is skipped. */
int ep_kallsyms_read(const char *path, struct kallsyms *ret);
void ep_kallsyms_fini(struct kallsyms *kallsyms);

#endif
