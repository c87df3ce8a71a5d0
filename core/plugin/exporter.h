/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drives one exporter plugin: a bounded queue of batches, one under way at a time. An exporter
 * that is slower than the intervals loses its oldest waiting batch, which is counted and logged.
 * Loop's thread only.
 */
#ifndef EP_PLUGIN_EXPORTER_H
#define EP_PLUGIN_EXPORTER_H

#include "core/plugin/host.h"
#include "core/plugin/options.h"

struct ep_exporter;

#define EP_EXPORTER_QUEUE 4 /* batches waiting, a default */

struct ep_exporter_stats {
	uint64_t exported; /* batches */
	uint64_t failed;   /* batches the exporter reported an error for */
	uint64_t dropped;  /* batches that waited too long */
	int last_result;   /* of the last batch: 0 or a negative errno */
	uint32_t waiting;  /* now, with the one under way */
};

/*
 * Takes `options` in every case, and a reference to the plugin's module; NULL: it is linked in. 0,
 * or the negative errno of the plugin's open (which has logged why).
 */
int ep_exporter_open(const struct ep_plugin *plugin, struct ep_module *module,
		     struct ep_options *options, uint32_t queue_len,
		     struct ep_exporter **ret_exporter);
void ep_exporter_submit(struct ep_exporter *exporter, const struct ep_batch *batch); /* refs it */

/* When all batches are written and the plugin has flushed, done(arg); may be at once. */
void ep_exporter_flush(struct ep_exporter *exporter, void (*done)(void *arg), void *arg);
/*
 * Closes and frees; waiting batches are dropped, a flush is not reported any more. Accepts NULL.
 * With a batch under way the plugin is closed when that is done, on the loop; flush first to wait.
 */
void ep_exporter_close(struct ep_exporter *exporter);

const char *ep_exporter_name(const struct ep_exporter *exporter);
const struct ep_exporter_stats *ep_exporter_stats(const struct ep_exporter *exporter);

#endif
