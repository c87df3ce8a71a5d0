/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report as one object: what the profile says of itself, and the rows. Weights are integers in
 * "unit", shares are left to the reader. Nothing is cut, and no row left out unless -n says so. The
 * head begins the object, and each of the others ends it.
 */
#ifndef EP_REPORTS_REPORT_JSON_H
#define EP_REPORTS_REPORT_JSON_H

#include "reports/commands/parts/listed.h"
#include "reports/commands/parts/report.h"
#include "reports/view/quality.h"
#include "reports/view/tree.h"

void ep_report_json_head(const struct ep_report *report, const struct ep_quality *quality);
void ep_report_json_table(const struct ep_report *report, const struct ep_tally *tally);
void ep_report_json_tree(const struct ep_report *report, const struct ep_tree *tree, uint64_t all);
int ep_report_json_list(const struct ep_report *report,
			const struct ep_listed *listed); /* or -ENOMEM */

#endif
