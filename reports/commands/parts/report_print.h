/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EP_REPORTS_REPORT_PRINT_H
#define EP_REPORTS_REPORT_PRINT_H

#include "reports/commands/parts/report.h"

/* 0, -ENOMEM, -EIO; -ENOENT: no function is called so (nothing is printed then). */
int ep_report_print(const struct ep_report *report);

#endif
