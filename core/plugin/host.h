/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds, checks and loads plugins, and gives them the host's services (ebpf-profiler/host.h).
 *
 * A plugin runs with the agent's privileges, so its file and directory must belong to root (or to
 * the user the agent runs as) and must not be writable by anybody else; what is checked is what is
 * loaded, through one open file. Its descriptor is read before any of its code runs, constructors
 * aside. Loop's thread only.
 */
#ifndef EP_PLUGIN_HOST_H
#define EP_PLUGIN_HOST_H

#include "core/base/util.h"
#include "ebpf-profiler/plugin.h"

#define EP_REASON_BYTES 512

struct uv_loop_s;
struct ep_module;

/* Where host->run and host->loop lead. Before the first plugin is opened. */
void ep_host_init(struct uv_loop_s *loop, const char *version);
const struct ep_host *ep_host_get(void);
/* The same for languages: a warning is repeated once a minute only, with a count, since processes provoke it. */
const struct ep_host *ep_host_get_for_languages(void);
/* Writes which warnings were left out for a minute. UINT64_MAX: since the last line, at the end. Any thread. */
void ep_host_tell_left_out(uint64_t now_ns);
/* The variables that exporters asked for; constant once all are open. */
size_t ep_host_environment(const char *const **ret_names);

/*
 * Loads <dir>/<name>.so. 0 and a module (gives), or a negative errno with one sentence that says
 * what to do in `reason`: -ENOENT, -EPERM (not safe to load), -ENOTSUP (another ABI), -EBADMSG
 * (not a plugin, or an incomplete one).
 */
int ep_module_load(const char *dir, const char *name, struct ep_module **ret_module,
		   char reason[EP_REASON_BYTES]);
/*
 * Gives a reference back. The code of an exporter that was open (exporter.h) stays mapped for good,
 * since its close may have been asked for from within it. Accepts NULL.
 */
void ep_module_unload(struct ep_module *module);
struct ep_module *ep_module_ref(struct ep_module *module);
void ep_module_keep_mapped(struct ep_module *module); /* its code, when the last reference goes */
const struct ep_plugin *ep_module_plugin(const struct ep_module *module);
/* NULL unless it is one, as the next. */
const struct ep_exporter_ops *ep_module_exporter(const struct ep_module *module);
const struct ep_unwinder_ops *ep_module_unwinder(const struct ep_module *module);

/* Checks a descriptor as ep_module_load does, for tests and plugins linked in. */
int ep_plugin_check(const struct ep_plugin *plugin, const char *name, char reason[EP_REASON_BYTES]);

/* For a listing of a directory: one call for each *.so, in the order of names. */
struct ep_plugin_entry {
	const char *path;
	const char *name;
	struct ep_module *module; /* borrowed; NULL: it could not be loaded */
	const char *reason;	  /* "" or why it cannot be used */
};
typedef void (*ep_plugin_visit)(void *arg, const struct ep_plugin_entry *entry);
int ep_plugin_list(const char *dir, ep_plugin_visit visit, void *arg);

#endif
