/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that read profiles and show them: the second half of the profiler's table. */
#include "core/cli/commands.h"
#include "reports/commands/commands.h"
#include "reports/commands/parts/convert_args.h"
#include "reports/commands/parts/diff_args.h"
#include "reports/commands/parts/report_args.h"
#include "reports/commands/parts/top_view.h"

const struct ep_command ep_report_commands[] = {
	{&ep_report_syntax, ep_cmd_report, .parses_itself = true},
	{&ep_convert_syntax, ep_cmd_convert, .parses_itself = true},
	{&ep_diff_syntax, ep_cmd_diff, .parses_itself = true},
	{&ep_top_syntax, ep_cmd_top, .samples = true, .reads_processes = true},
	{0},
};
