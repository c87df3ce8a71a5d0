/* SPDX-License-Identifier: Apache-2.0 */
/* The subcommands, each a function from the parsed command line to an exit status. */
#ifndef EP_CLI_COMMANDS_H
#define EP_CLI_COMMANDS_H

#include "core/agent/session.h"
#include "core/cli/parts/args.h"
#include "core/cli/parts/exit.h"

struct ep_config_file;

/* reports/commands/table.c; in a build without reports no_reports.c. */
extern const struct ep_command ep_report_commands[];

int ep_cmd_agent(const struct ep_args *args);
int ep_cmd_capture(const struct ep_args *args); /* and dump */
int ep_cmd_check(const struct ep_args *args);
int ep_cmd_print_config(const struct ep_args *args);
int ep_cmd_record(const struct ep_args *args);
int ep_cmd_doctor(const struct ep_args *args);
int ep_cmd_plugins(const struct ep_args *args);

/* config_load.c: file, environment; problems are printed. NULL after an error. */
struct ep_config_file *ep_cmd_load_config(const char *path);
/* For --check: also one with errors, as far as it could be read; *ret_wrong says that they were
 * printed. */
struct ep_config_file *ep_cmd_inspect_config(const char *path, bool *ret_wrong);

/* session_open.c: a session, or one sentence on stderr and the exit status it asks for. */
enum ep_exit ep_cmd_open_session(const struct ep_session_options *options,
				 struct ep_session **ret_session);
/* Which languages the session unwinds, as the configuration says; borrows from it. */
void ep_cmd_set_languages(struct ep_session_options *options, const struct ep_config_file *config);

#endif
