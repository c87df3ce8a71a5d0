/* SPDX-License-Identifier: Apache-2.0 */
/* `report`: profiles read, filtered, and printed as a table, a tree or source. */
#include "core/base/log.h"
#include "core/cli/commands.h"
#include "core/cli/parts/summary.h"
#include "core/profile/batch.h"
#include "reports/commands/commands.h"
#include "reports/commands/parts/report.h"
#include "reports/commands/parts/report_args.h"
#include "reports/commands/parts/report_print.h"
#include "reports/commands/view_files.h"

#include <string.h>

static enum ep_exit print(const struct ep_report_args *options, const struct ep_batch *batch,
			  const char *title)
{
	struct ep_report report = options->report;
	struct ep_summary_info style;
	int r;

	ep_summary_style(stdout, &style);
	report.out = stdout;
	report.batch = batch;
	report.title = title;
	report.filtered = !ep_view_filter_is_empty(options->view.filter);
	report.width = style.width;
	report.color = style.color;
	report.sources = &options->sources;
	r = ep_report_print(&report);
	if (r == -ENOENT) {
		fprintf(stderr,
			"ebpf-profiler: no function of this profile is called '%s': see those there are with "
			"ebpf-profiler report -n 0\n",
			report.function);
		return EP_EXIT_FAILED;
	}
	if (r == -EIO) /* the end of main says why */
		return EP_EXIT_FAILED;
	if (r < 0)
		fprintf(stderr, "ebpf-profiler: %s\n", ep_strerror(r));
	return r < 0 ? EP_EXIT_FAILED : EP_EXIT_OK;
}

static enum ep_exit run(const struct ep_report_args *options)
{
	ep_cleanup(ep_view_files_fini) struct ep_view_files files;
	ep_cleanup(ep_batch_unrefp) struct ep_batch *batch = NULL;
	enum ep_exit status;

	ep_view_files_init(&files);
	status = ep_view_files_open(&files, options->view.files, options->view.n_files,
				    &options->view);
	if (status == EP_EXIT_OK)
		status = ep_view_files_drop_root();
	if (status == EP_EXIT_OK)
		status = ep_view_files_read(&files, &options->view, &batch);
	return status == EP_EXIT_OK ? print(options, batch, files.title) : status;
}

int ep_cmd_report(const struct ep_args *args)
{
	ep_cleanup(ep_report_args_fini) struct ep_report_args options;
	int r = ep_report_args_parse(&options, args->rest_argc, args->rest_argv);
	enum ep_exit status;

	return ep_view_args_go(&options.view, &ep_report_syntax, r, &status) ? run(&options)
									     : status;
}
