/* SPDX-License-Identifier: Apache-2.0 */
/* An exporter for the tests of the plugin host. Compiled with -DABI_MAJOR or -DNO_OPEN: a bad one.
 */
#include "ebpf-profiler/plugin.h"

#ifndef ABI_MAJOR
#define ABI_MAJOR EP_ABI_MAJOR
#endif
#ifndef PLUGIN_NAME
#define PLUGIN_NAME "counter"
#endif

static const struct ep_host *services;

__attribute__((unused)) static int
counter_open(const struct ep_host *host, const struct ep_options *options, void **ret_exporter)
{
	services = host;
	*ret_exporter = &services;
	return host->option_bool(options, "fail") ? -22 : 0;
}

static void counter_export(void *exporter, const struct ep_batch *batch, ep_export_done done,
			   void *done_arg)
{
	(void)exporter;
	services->log(EP_HOST_DEBUG, "counter: %u samples", batch->n_samples);
	done(done_arg, 0);
}

static void counter_close(void *exporter)
{
	(void)exporter;
}

static const struct ep_option_spec options[] = {
	{.name = "fail", .type = EP_OPTION_BOOL, .fallback = "false", .help = "refuse to open"},
	{0},
};

static const struct ep_exporter_ops ops = {
	.size = sizeof(ops),
	.options = options,
#ifndef NO_OPEN
	.open = counter_open,
#endif
	.export_batch = counter_export,
	.close = counter_close,
};

EP_PLUGIN_DEFINE = {
	.size = sizeof(struct ep_plugin),
	.abi_major = ABI_MAJOR,
	.abi_minor = EP_ABI_MINOR,
	.kind = EP_PLUGIN_EXPORTER,
	.name = PLUGIN_NAME,
	.version = "0.1",
	.exporter = &ops,
};
