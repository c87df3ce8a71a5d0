/* SPDX-License-Identifier: Apache-2.0 */
/* Exporters of one run: their modules loaded, opened, fed with batches, flushed, closed. */
#ifndef EP_CLI_OUTPUTS_H
#define EP_CLI_OUTPUTS_H

#include "core/base/vec.h"
#include "core/plugin/exporter.h"

#include <stdio.h>

struct ep_outputs {
	const char *plugin_dir; /* borrowed */
	struct ep_vec list;	/* struct output */
	size_t flushing;
	void (*flushed)(void *arg);
	void *arg;
};

void ep_outputs_init(struct ep_outputs *outputs, const char *plugin_dir);
/* Exporters must be flushed; the loop must have run since. */
void ep_outputs_fini(struct ep_outputs *outputs);

/*
 * Opens an exporter of a plugin. `common` are keys the caller handles. 0 with its number; or a
 * negative errno, after one line on stderr which `where` (NULL: none) and the position begin.
 */
int ep_outputs_open(struct ep_outputs *outputs, const char *type, const char *where,
		    const char *const *common, const struct ep_value *values, size_t n_values);
/* The same without opening it: are the options what the plugin understands? */
int ep_outputs_check(const char *plugin_dir, const char *type, const char *where,
		     const char *const *common, const struct ep_value *values, size_t n_values);

void ep_outputs_submit(struct ep_outputs *outputs, size_t number, const struct ep_batch *batch);
/* Calls flushed(arg) when every exporter has written what it was given. */
void ep_outputs_flush(struct ep_outputs *outputs, void (*flushed)(void *arg), void *arg);
/* Its plugin, and where that puts what it writes: a directory, a path, an address; "": it does not
 * say. */
const char *ep_outputs_name(const struct ep_outputs *outputs, size_t number);
const char *ep_outputs_place(const struct ep_outputs *outputs, size_t number);
/* 0, or the last result of this one, a negative errno, when a batch of it failed. */
int ep_outputs_result_of(const struct ep_outputs *outputs, size_t number);
/* The worst result of all batches: 0 or a negative errno. */
int ep_outputs_result(const struct ep_outputs *outputs);
void ep_outputs_print_counters(const struct ep_outputs *outputs, FILE *out);

#endif
