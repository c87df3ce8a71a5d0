/* SPDX-License-Identifier: Apache-2.0 */
/* The exporter of pages: each batch becomes one HTML file that shows the profile it carries. */
#include "core/base/util.h"
#include "exporters/html/page.h"
#include "exporters/shared/file_exporter.h"

#include <errno.h>

#define SUFFIX ".html"

struct html {
	struct ep_file_format format; /* of this exporter: its arg is what it was opened with */
	struct html_page_options page;
	void *exporter;
};

static const struct ep_option_spec options[] = {
	EP_FILE_OPTIONS(SUFFIX),
	EP_FILE_OPTION_LEVEL,
	{
		.name = "base",
		.type = EP_OPTION_STRING,
		.fallback = "",
		.help = "an .otlp.gz file: the page shows the difference to it",
	},
	{0},
};

static int html_encode(const struct ep_batch *batch, const char *version, struct ep_sink *sink)
{
	return html_page_write(batch, version, sink->format_arg, sink);
}

static int html_open(const struct ep_host *host, const struct ep_options *given, void **ret_exporter)
{
	ep_autofree struct html *html = calloc(1, sizeof(*html));
	int r;

	if (!html)
		return -ENOMEM;
	html->page.level = (int)host->option_int(given, "level");
	html->page.base = host->option_string(given, "base");
	html->format = (struct ep_file_format){
		.name = "html", .suffix = SUFFIX, .encode = html_encode, .arg = &html->page};
	r = ep_file_exporter_open(&html->format, host, given, &html->exporter);
	if (r < 0)
		return r;
	*ret_exporter = ep_take(html);
	return 0;
}

static void html_export(void *exporter, const struct ep_batch *batch, ep_export_done done, void *done_arg)
{
	struct html *html = exporter;

	ep_file_exporter_export(html->exporter, batch, done, done_arg);
}

static void html_close(void *exporter)
{
	struct html *html = exporter;

	if (!html)
		return;
	ep_file_exporter_close(html->exporter);
	free(html);
}

static const struct ep_exporter_ops ops = {
	.size = sizeof(ops),
	.options = options,
	.open = html_open,
	.export_batch = html_export,
	.close = html_close,
};

EP_PLUGIN_DEFINE = {
	.size = sizeof(struct ep_plugin),
	.abi_major = EP_ABI_MAJOR,
	.abi_minor = EP_ABI_MINOR,
	.kind = EP_PLUGIN_EXPORTER,
	.name = "html",
	.version = "1.0",
	.exporter = &ops,
};
