/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EP_PLUGIN_H
#define EP_PLUGIN_H

#include "ebpf-profiler/abi.h"
#include "ebpf-profiler/exporter.h"
#include "ebpf-profiler/unwinder.h"

enum ep_plugin_kind {
	EP_PLUGIN_EXPORTER = 1,
	EP_PLUGIN_UNWINDER = 2,
};

struct ep_plugin {
	uint32_t size;
	uint16_t abi_major;
	uint16_t abi_minor;
	uint32_t kind;
	uint32_t pad;
	const char *name;
	const char *version;
	const struct ep_exporter_ops *exporter;
	const struct ep_unwinder_ops *unwinder;
};

#define EP_PLUGIN_SYMBOL "ep_plugin"
#define EP_PLUGIN_DEFINE __attribute__((visibility("default"))) const struct ep_plugin ep_plugin

#endif
