/* SPDX-License-Identifier: Apache-2.0 */
/* In place of reports/commands/table.c, of a build without reports: nothing that is listed. */
#include "core/cli/commands.h"

static int say_none(const struct ep_args *args)
{
	fprintf(stderr,
		"ebpf-profiler: this build has no reports: %s is in one with -Dreports=true; the "
		"files that record writes can be read on any machine that has it\n",
		args->command->syntax->name);
	return EP_EXIT_FAILED;
}

static const struct ep_syntax report = {.name = "report"}, convert = {.name = "convert"},
			      diff = {.name = "diff"}, top = {.name = "top"};

const struct ep_command ep_report_commands[] = {
	{&report, say_none, .parses_itself = true},
	{&convert, say_none, .parses_itself = true},
	{&diff, say_none, .parses_itself = true},
	{&top, say_none, .parses_itself = true},
	{0},
};
