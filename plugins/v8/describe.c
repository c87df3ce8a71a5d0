/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The embedded builtins as the core wants them: rows for its unwinder, and names, where the file is stripped.
 * They are called as the linker knows them (snapshot/embedded/platform-embedded-file-writer-base.cc).
 */
#include "core/base/util.h"
#include "plugins/v8/v8.h"

#include <stdio.h>
#include <stdlib.h>

#define ROWS 512 /* at a time */

static struct ep_code_row row_of(const struct v8_builtin_row *row)
{
	struct ep_code_row ret = {
		.va = row->va,
		.bytes = (uint32_t)(row->va_end - row->va),
		.cfa_reg = row->base == V8_ROW_NONE ? 0 : row->base,
		.cfa_off = row->offset,
		.ra_place = EP_CODE_AT_CFA,
		.ra = -8,
		.fp_place = row->rbp_at ? EP_CODE_AT_CFA : EP_CODE_SAME,
		.fp = row->rbp_at,
	};

	if (row->base == V8_ROW_NONE)
		ret.flags = EP_CODE_UNKNOWN;
	if (row->return_in != V8_RETURN_ON_STACK) {
		ret.ra_place = EP_CODE_IN_REG;
		ret.ra = row->return_in;
	}
	return ret;
}

static int add_rows(const struct v8_executable *exe, const struct ep_file *file,
		    struct ep_description *description)
{
	ep_cleanup(ep_vec_fini) struct ep_vec rows = {0};
	struct ep_code_row some[ROWS];
	size_t len = 0;
	int r = v8_builtins_make_rows(exe->builtins, exe->host, file, &rows);

	for (size_t i = 0; i < rows.len && r == 0; i++) {
		some[len++] = row_of(ep_vec_at(&rows, struct v8_builtin_row, i));
		if (len < ROWS && i + 1 < rows.len)
			continue;
		r = exe->host->add_rows(description, some, len);
		len = 0;
	}
	return r;
}

static int add_symbols(const struct v8_executable *exe, struct ep_description *description)
{
	char name[256];
	int r = 0;

	for (size_t i = 0; i < v8_builtins_count(exe->builtins) && r == 0; i++) {
		const struct v8_builtin *builtin = v8_builtins_get(exe->builtins, i);
		struct ep_symbol symbol = {.va = builtin->va, .bytes = builtin->bytes};

		snprintf(name, sizeof(name), "Builtins_%s", builtin->name);
		if (symbol.bytes)
			r = exe->host->add_symbol(description, &symbol, name);
	}
	return r;
}

int v8_describe(void *executable, const struct ep_file *file, struct ep_description *description)
{
	const struct v8_executable *exe = executable;
	int r;

	if (!exe->builtins || !EP_HAS(exe->host, add_symbol))
		return 0;
	r = add_rows(exe, file, description);
	return r == 0 ? add_symbols(exe, description) : r;
}
