/* SPDX-License-Identifier: Apache-2.0 */
#include "core/pclntab/layout.h"

#include <errno.h>
#include <string.h>

#define WINDOW 4096

/*
 * Where in the table a text stands that begins and ends with a NUL. The linker keeps each name once
 * (src/cmd/link/internal/ld/pcln.go); in the oldest layout, where names are among other things, the first
 * such bytes could be another's: then no function has that name.
 */
static int find_text(struct ep_pclntab *tab, const char *text, size_t bytes, uint64_t *ret_off)
{
	uint64_t end = tab->layout->tables ? tab->units : tab->bytes;
	uint8_t window[WINDOW];

	for (uint64_t off = tab->names; off + bytes <= end; off += WINDOW - bytes + 1) {
		size_t n = EP_MIN(end - off, (uint64_t)WINDOW);
		const uint8_t *at;
		int r = ep_pclntab_read(tab, off, window, n);

		if (r < 0)
			return r;
		at = memmem(window, n, text, bytes);
		if (at) {
			*ret_off = off + (size_t)(at - window);
			return 0;
		}
	}
	return -ENODATA;
}

static int find_name(struct ep_pclntab *tab, const char *name, uint32_t *ret_name)
{
	char text[WINDOW / 2] = { 0 };
	size_t len = strlen(name);
	uint64_t off;
	int r;

	if (len == 0 || len > sizeof(text) - 2)
		return -ENODATA;
	memcpy(text + 1, name, len);
	r = find_text(tab, text, len + 2, &off);
	if (r == 0)
		*ret_name = (uint32_t)(off + 1 - tab->names);
	/* Nothing is before the first one. */
	if (r == -ENODATA && ep_pclntab_read(tab, tab->names, text, len + 1) == 0 &&
	    memcmp(text, name, len) == 0 && text[len] == 0) {
		*ret_name = 0;
		r = 0;
	}
	return r;
}

int ep_pclntab_find_named(struct ep_pclntab *tab, const char *name, struct ep_pclntab_func *ret_func)
{
	struct ep_pclntab_func func;
	uint32_t off = 0, cursor = 0;
	int r = find_name(tab, name, &off);

	if (r < 0)
		return r;
	while ((r = ep_pclntab_next(tab, &cursor, &func)) != 1) {
		if (r == 0 && func.name == off && func.role != EP_PCLNTAB_WRAPPER) {
			*ret_func = func;
			return 0;
		}
		if (r < 0 && r != -EBADMSG)
			return r;
	}
	return -ENODATA;
}
