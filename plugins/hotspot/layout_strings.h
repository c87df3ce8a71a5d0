/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where names stand in a file's .rodata, looked for once per file. A linker lets a string that is
 * another's end share its bytes, so each place counts where exactly that text stands before a NUL.
 */
#ifndef HOTSPOT_LAYOUT_STRINGS_H
#define HOTSPOT_LAYOUT_STRINGS_H

#include "ebpf-profiler/unwinder.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOTSPOT_NO_NAME UINT16_MAX

struct hotspot_place {
	uint32_t off; /* in .rodata */
	uint16_t name;
};

struct hotspot_places {
	struct ep_symbol rodata; /* bytes 0: not known */
	struct hotspot_place *list; /* ascending by offset */
	size_t n;
};

/* Looks for n_names names, each once. Where it fails nothing is known: all names are read then,
 * which is slower. */
void hotspot_places_find(const struct ep_unwinder_host *host, const struct ep_file *file,
			 const char *const *names, size_t n_names, struct hotspot_places *ret);
void hotspot_places_fini(struct hotspot_places *places);

/* Is it known what is at this address of the file? Then *ret: which of the names, or
 * HOTSPOT_NO_NAME. */
bool hotspot_places_know(const struct hotspot_places *places, uint64_t va, uint16_t *ret);

#endif
