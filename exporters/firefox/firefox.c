/* SPDX-License-Identifier: Apache-2.0 */
/* The exporter of the Firefox Profiler's processed profile format. */
#include "exporters/firefox/encode.h"
#include "exporters/shared/file_exporter.h"

#define SUFFIX ".json.gz"

static const struct ep_file_format format = {
	.name = "firefox",
	.suffix = SUFFIX,
	.gzip = true,
	.encode = firefox_encode,
};

static const struct ep_option_spec options[] = {EP_FILE_OPTIONS(SUFFIX), EP_FILE_OPTION_LEVEL, {0}};

static int firefox_open(const struct ep_host *host, const struct ep_options *given,
		   void **ret_exporter)
{
	return ep_file_exporter_open(&format, host, given, ret_exporter);
}

static const struct ep_exporter_ops ops = {
	.size = sizeof(ops),
	.options = options,
	.open = firefox_open,
	.export_batch = ep_file_exporter_export,
	.close = ep_file_exporter_close,
};

EP_PLUGIN_DEFINE = {
	.size = sizeof(struct ep_plugin),
	.abi_major = EP_ABI_MAJOR,
	.abi_minor = EP_ABI_MINOR,
	.kind = EP_PLUGIN_EXPORTER,
	.name = "firefox",
	.version = "1.0",
	.exporter = &ops,
};
