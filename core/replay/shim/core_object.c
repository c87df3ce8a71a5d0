/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The core's BPF programs, compiled for user space. */
#define EP_SHIM_NAME core
#include "core/replay/shim/names.h"

#define ep_records core_ep_records
#define ep_progs   core_ep_progs
#define ep_chunks  core_ep_chunks
#define LICENSE	   core_LICENSE
#include EP_SHIM_SOURCE

extern const struct ep_shim_object ep_shim_object_core;
const struct ep_shim_object ep_shim_object_core = {
	.name = EP_SHIM_OBJECT,
	.constants = &ep_config,
	.constants_bytes = sizeof(ep_config),
	.n_programs = 3,
	.programs = {{"ep_entry", ep_entry}, {"ep_native", ep_native}, {"ep_finish", ep_finish}},
};
