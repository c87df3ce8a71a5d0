/* SPDX-License-Identifier: Apache-2.0 */
/* A report for people: as wide as the terminal, with headings, shares and notes. */
#ifndef EP_REPORTS_REPORT_TEXT_H
#define EP_REPORTS_REPORT_TEXT_H

#include "reports/commands/parts/listed.h"
#include "reports/commands/parts/report.h"
#include "reports/view/quality.h"
#include "reports/view/tree.h"

/* Each 0 or -ENOMEM. `all` is the weight that shares are of. */
int ep_report_text_head(const struct ep_report *report, const struct ep_quality *quality);
int ep_report_text_table(const struct ep_report *report, const struct ep_tally *tally);
int ep_report_text_tree(const struct ep_report *report, const struct ep_tree *tree, uint64_t all);
int ep_report_text_list(const struct ep_report *report, const struct ep_listed *listed);

#endif
