/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an exporter plugin implements. Calls come from the loop's thread and must not block it:
 * slow work (compression, files) goes to struct ep_host's run, sockets onto its loop.
 */
#ifndef EP_EXPORTER_H
#define EP_EXPORTER_H

#include "ebpf-profiler/abi.h"
#include "ebpf-profiler/batch.h"
#include "ebpf-profiler/host.h"

enum ep_option_type {
	EP_OPTION_STRING = 1,
	EP_OPTION_INT = 2,
	EP_OPTION_BOOL = 3,
	EP_OPTION_DURATION = 4, /* "10s", "500ms", "5m", or seconds; read with option_int: in ns */
};

/* One key a plugin understands in its [[exporter]] table. An array of them ends with name NULL. */
struct ep_option_spec {
	const char *name;
	enum ep_option_type type;
	const char *fallback; /* as it would be written in the file; NULL: the key is required */
	int64_t min, max;     /* of a number or a duration in ns; both 0: no bound */
	const char *help;     /* one line */
};

typedef void (*ep_export_done)(void *arg, int result);

struct ep_exporter_ops {
	uint32_t size;
	uint32_t pad;
	const struct ep_option_spec *options; /* required, may hold only the end mark */

	/* Required. 0, or a negative errno after one log line that says what to do. */
	int (*open)(const struct ep_host *host, const struct ep_options *options,
		    void **ret_exporter);
	/*
	 * Required. Calls done(arg, 0 or negative errno) exactly once, now or later, on the loop's
	 * thread. The batch is borrowed for the call; ref it to keep it longer. The host never
	 * has two batches under way in one exporter. It may close the exporter from within
	 * done: let that be the last thing you do.
	 */
	void (*export_batch)(void *exporter, const struct ep_batch *batch, ep_export_done done,
			     void *done_arg);
	/* Optional: the agent ends; call done when nothing is under way any more. */
	void (*flush)(void *exporter, ep_export_done done, void *done_arg);
	/* Required. No batch is under way. */
	void (*close)(void *exporter);
};

#endif
