/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one symbol a plugin exports: a constant the host reads before it runs any of its code.
 *
 *	static const struct ep_exporter_ops ops = { .size = sizeof(ops), ... };
 *	EP_PLUGIN_DEFINE = {
 *		.size = sizeof(struct ep_plugin), .abi_major = EP_ABI_MAJOR,
 *		.abi_minor = EP_ABI_MINOR, .kind = EP_PLUGIN_EXPORTER, .name = "folded",
 *		.version = "1.0", .exporter = &ops,
 *	};
 */
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
	const char *name;    /* as in the configuration: a-z 0-9 _, at most 31 bytes */
	const char *version; /* of the plugin */
	const struct ep_exporter_ops *exporter; /* when kind is EP_PLUGIN_EXPORTER */
	const struct ep_unwinder_ops *unwinder; /* when kind is EP_PLUGIN_UNWINDER */
};

#define EP_PLUGIN_SYMBOL "ep_plugin"
#define EP_PLUGIN_DEFINE __attribute__((visibility("default"))) const struct ep_plugin ep_plugin

#endif
