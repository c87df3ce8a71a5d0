/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EP_EXPORTER_H
#define EP_EXPORTER_H

#include "ebpf-profiler/abi.h"
#include "ebpf-profiler/batch.h"
#include "ebpf-profiler/host.h"

enum ep_option_type {
	EP_OPTION_STRING = 1,
	EP_OPTION_INT = 2,
	EP_OPTION_BOOL = 3,
	EP_OPTION_DURATION = 4,
};

struct ep_option_spec {
	const char *name;
	enum ep_option_type type;
	const char *fallback;
	int64_t min, max;
	const char *help;
};

typedef void (*ep_export_done)(void *arg, int result);

struct ep_exporter_ops {
	uint32_t size;
	uint32_t pad;
	const struct ep_option_spec *options;

	int (*open)(const struct ep_host *host, const struct ep_options *options,
		    void **ret_exporter);
	void (*export_batch)(void *exporter, const struct ep_batch *batch, ep_export_done done,
			     void *done_arg);
	void (*flush)(void *exporter, ep_export_done done, void *done_arg);
	void (*close)(void *exporter);
};

#endif
