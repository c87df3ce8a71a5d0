/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of this directory, each a function from the parsed command line to an exit status.
 */
#ifndef EP_REPORTS_COMMANDS_H
#define EP_REPORTS_COMMANDS_H

struct ep_args;

int ep_cmd_report(const struct ep_args *args);
int ep_cmd_convert(const struct ep_args *args);
int ep_cmd_diff(const struct ep_args *args);
int ep_cmd_top(const struct ep_args *args);

#endif
