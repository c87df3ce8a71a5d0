/* SPDX-License-Identifier: Apache-2.0 */
#include "core/replay/plugins.h"

#include <string.h>

static void visit_plugin(void *arg, const struct ep_plugin_entry *entry)
{
	struct ep_replay_plugins *plugins = arg;

	if (!entry->module || !ep_module_unwinder(entry->module) ||
	    plugins->n == EP_REPLAY_PLUGINS_MAX)
		return;
	for (size_t i = 0; i < plugins->n; i++) {
		if (strcmp(plugins->plugins[i]->name, entry->name) == 0)
			return;
	}
	plugins->modules[plugins->n] = ep_module_ref(entry->module);
	plugins->plugins[plugins->n++] = ep_module_plugin(entry->module);
}

int ep_replay_plugins_load(struct ep_replay_plugins *plugins, const char *dir)
{
	return ep_plugin_list(dir, visit_plugin, plugins);
}

void ep_replay_plugins_fini(struct ep_replay_plugins *plugins)
{
	for (size_t i = 0; i < plugins->n; i++)
		ep_module_unload(plugins->modules[i]);
	plugins->n = 0;
}
