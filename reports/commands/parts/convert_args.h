/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `convert`. */
#ifndef EP_REPORTS_CONVERT_ARGS_H
#define EP_REPORTS_CONVERT_ARGS_H

#include "core/cli/parts/output_format.h"
#include "reports/commands/parts/view_args.h"
#include "reports/view/symbols.h"

extern const struct ep_syntax ep_convert_syntax;

struct ep_convert_args {
	struct ep_view_args view; /* filters and files; its error is that of all */
	struct ep_output_choices outputs;
	struct ep_symbols_sources sources; /* directories */
	bool symbols, debuginfod, labels, force;
};

/* As ep_view_args_parse. */
int ep_convert_args_parse(struct ep_convert_args *ret_args, int argc, char **argv);
void ep_convert_args_fini(struct ep_convert_args *args);

#endif
