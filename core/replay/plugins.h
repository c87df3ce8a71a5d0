/* SPDX-License-Identifier: Apache-2.0 */
/* The language plugins of directories, loaded for a capture or a replay. One thread. */
#ifndef EP_REPLAY_PLUGINS_H
#define EP_REPLAY_PLUGINS_H

#include "core/plugin/host.h"

#define EP_REPLAY_PLUGINS_MAX 16

struct ep_replay_plugins {
	struct ep_module *modules[EP_REPLAY_PLUGINS_MAX];
	const struct ep_plugin *plugins[EP_REPLAY_PLUGINS_MAX];
	size_t n;
};

/*
 * Adds the languages of a directory that can be loaded. After ep_host_init. 0, -ENOENT (no such
 * directory), -errno.
 */
int ep_replay_plugins_load(struct ep_replay_plugins *plugins, const char *dir);
void ep_replay_plugins_fini(struct ep_replay_plugins *plugins); /* accepts a zeroed struct */

#endif
