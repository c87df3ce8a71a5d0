/* SPDX-License-Identifier: Apache-2.0 */
#include "core/replay/plugins.h"
#include "core/base/log.h"

#include <string.h>

struct visit {
	struct ep_replay_plugins *plugins;
	const char *dir;
};

static bool is_loaded(const struct ep_replay_plugins *plugins, const char *name)
{
	for (size_t i = 0; i < plugins->n; i++) {
		if (strcmp(plugins->plugins[i]->name, name) == 0)
			return true;
	}
	return false;
}

static void visit_plugin(void *arg, const struct ep_plugin_entry *entry)
{
	const struct visit *visit = arg;
	struct ep_replay_plugins *plugins = visit->plugins;
	char reason[EP_REASON_BYTES] = "";
	struct ep_module *module;

	if (strcmp(entry->kind, "unwinder") != 0 || plugins->n == EP_REPLAY_PLUGINS_MAX ||
	    is_loaded(plugins, entry->name))
		return;
	if (ep_module_load(visit->dir, entry->name, &module, reason) < 0) {
		ep_log(EP_LOG_WARN, "languages: %s", reason);
		return;
	}
	plugins->modules[plugins->n] = module;
	plugins->plugins[plugins->n++] = ep_module_plugin(module);
}

int ep_replay_plugins_load(struct ep_replay_plugins *plugins, const char *dir)
{
	struct visit visit = {plugins, dir};

	return ep_plugin_list(dir, visit_plugin, &visit);
}

void ep_replay_plugins_fini(struct ep_replay_plugins *plugins)
{
	for (size_t i = 0; i < plugins->n; i++)
		ep_module_unload(plugins->modules[i]);
	plugins->n = 0;
}
