/* SPDX-License-Identifier: Apache-2.0 */
/* The exporter of folded stacks, for flamegraph.pl and what else reads them. */
#include "exporters/folded/encode.h"
#include "exporters/shared/file_exporter.h"

#define SUFFIX ".folded"

static const struct ep_file_format format = {
	.name = "folded",
	.suffix = SUFFIX,
	.encode = folded_encode,
};

static const struct ep_option_spec options[] = {EP_FILE_OPTIONS(SUFFIX), {0}};

static int folded_open(const struct ep_host *host, const struct ep_options *given,
		   void **ret_exporter)
{
	return ep_file_exporter_open(&format, host, given, ret_exporter);
}

static const struct ep_exporter_ops ops = {
	.size = sizeof(ops),
	.options = options,
	.open = folded_open,
	.export_batch = ep_file_exporter_export,
	.close = ep_file_exporter_close,
};

EP_PLUGIN_DEFINE = {
	.size = sizeof(struct ep_plugin),
	.abi_major = EP_ABI_MAJOR,
	.abi_minor = EP_ABI_MINOR,
	.kind = EP_PLUGIN_EXPORTER,
	.name = "folded",
	.version = "1.0",
	.exporter = &ops,
};
