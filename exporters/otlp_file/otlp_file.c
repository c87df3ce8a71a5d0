/* SPDX-License-Identifier: Apache-2.0 */
/* The exporter of files from which the whole batch can be read again (exporters/shared/otlp/file.h). */
#include "exporters/shared/file_exporter.h"
#include "exporters/shared/otlp/file.h"

#define SUFFIX ".otlp.gz"

static const struct ep_file_format format = {
	.name = "otlp_file",
	.suffix = SUFFIX,
	.gzip = true,
	.encode = otlp_file_write,
};

static const struct ep_option_spec options[] = {EP_FILE_OPTIONS(SUFFIX), EP_FILE_OPTION_LEVEL, {0}};

static int otlp_file_open(const struct ep_host *host, const struct ep_options *given,
			  void **ret_exporter)
{
	return ep_file_exporter_open(&format, host, given, ret_exporter);
}

static const struct ep_exporter_ops ops = {
	.size = sizeof(ops),
	.options = options,
	.open = otlp_file_open,
	.export_batch = ep_file_exporter_export,
	.close = ep_file_exporter_close,
};

EP_PLUGIN_DEFINE = {
	.size = sizeof(struct ep_plugin),
	.abi_major = EP_ABI_MAJOR,
	.abi_minor = EP_ABI_MINOR,
	.kind = EP_PLUGIN_EXPORTER,
	.name = "otlp_file",
	.version = "1.0",
	.exporter = &ops,
};
