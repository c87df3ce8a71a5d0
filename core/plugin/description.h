/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What languages say of a file's code that the file does not say: of the opaque struct of
 * ebpf-profiler/unwinder.h. Rows are for the file's unwind table and then of no more use; symbols
 * stay with the file.
 *
 *	init ─► a language's describe, for each that claimed the file ─► end ─► rows, symbols
 *
 * One thread at a time.
 */
#ifndef EP_PLUGIN_DESCRIPTION_H
#define EP_PLUGIN_DESCRIPTION_H

#include "core/base/vec.h"
#include "core/symbol/described.h"
#include "ebpf-profiler/unwinder.h"

struct ep_description {
	struct ep_vec rows; /* struct ep_code_row; ascending va once it was ended */
	struct ep_described_symbols *symbols; /* NULL: there are none */
};

void ep_description_init(struct ep_description *description);
void ep_description_fini(struct ep_description *description); /* accepts a zeroed one */

/*
 * Lets a language describe a file, if it does. When it fails, or says what cannot be, nothing of it
 * stays. 0, or what it reported.
 */
int ep_description_ask(struct ep_description *description, const struct ep_unwinder_ops *ops,
		       void *executable, const struct ep_file *file);
/* Nothing more is added. */
void ep_description_end(struct ep_description *description);

/* As those of struct ep_unwinder_host. */
int ep_description_add_rows(struct ep_description *description, const struct ep_code_row *rows,
			    size_t n);
int ep_description_add_symbol(struct ep_description *description, const struct ep_symbol *symbol,
			      const char *name);

#endif
