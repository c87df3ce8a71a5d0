/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `diff`: two profiles, or some of each side, and what is to be made of them.
 */
#ifndef EP_REPORTS_DIFF_ARGS_H
#define EP_REPORTS_DIFF_ARGS_H

#include "core/cli/parts/output_format.h"
#include "reports/commands/parts/view_args.h"
#include "reports/view/group.h"
#include "reports/view/movers.h"

#define EP_DIFF_MAX_BASES 64

extern const struct ep_syntax ep_diff_syntax;

struct ep_diff_args {
	struct ep_view_args view;
	const char *bases[EP_DIFF_MAX_BASES];	/* A; B is what view.files has from others_at on */
	size_t n_bases, others_at;
	struct ep_output_choices outputs; /* a page, or none */
	uint32_t rows;	    /* of each table; 0: all */
	/* Points of the share, per cent of one CPU, seconds, as `amount` says; negative: not asked
	 * for. */
	double fail_above;
	const char *fail_above_text;
	enum ep_movers_amount amount;
	enum ep_tally_by by; /* EP_TALLY_FUNCTION, or what ep_group_is_possible (reports/view/group.h) */
	bool json, force;
};

/* As ep_view_args_parse: 0, -EINVAL with ret_args->view.error, -ENOMEM; to be ended by fini in any
 * case. */
int ep_diff_args_parse(struct ep_diff_args *ret_args, int argc, char **argv);
void ep_diff_args_fini(struct ep_diff_args *args);

#endif
