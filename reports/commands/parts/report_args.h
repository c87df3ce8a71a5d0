/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `report`. */
#ifndef EP_REPORTS_REPORT_ARGS_H
#define EP_REPORTS_REPORT_ARGS_H

#include "reports/commands/parts/report.h"
#include "reports/commands/parts/view_args.h"

extern const struct ep_syntax ep_report_syntax;

struct ep_report_args {
	struct ep_view_args view; /* filters and files; its error is that of all */
	struct ep_report report;  /* what was asked for: out, batch and style are the caller's */
	struct ep_source_rules sources;
	bool has_by;
};

/* As ep_view_args_parse. */
int ep_report_args_parse(struct ep_report_args *ret_args, int argc, char **argv);
void ep_report_args_fini(struct ep_report_args *args);

#endif
