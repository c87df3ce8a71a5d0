/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/elevated.h"
#include "core/base/log.h"
#include "core/cli/commands.h"
#include "core/cli/limit_calls.h"
#include "core/cli/parts/help.h"
#include "core/cli/start_up.h"
#include "core/cli/targets.h"
#include "core/proc/readers.h"

#include <errno.h>
#include <malloc.h>

/* Few threads of ours allocate: more arenas would only spread what is free over more pages. */
#define MALLOC_ARENAS 2
/* Large blocks go back to the system when they are freed; glibc would raise this by itself. */
#define MALLOC_MMAP_BYTES (128 << 10)

static void set_log_level(const struct ep_args *args)
{
	if (args->quiet)
		ep_log_set_level(EP_LOG_ERROR);
	else if (args->verbose > 1)
		ep_log_set_level(EP_LOG_DEBUG);
	else if (args->verbose == 0 && (args->command == EP_COMMAND_RECORD || args->command == EP_COMMAND_TOP))
		ep_log_set_level(EP_LOG_WARN);
}

/* Whose command is started, whose the files are: asked before anything is done for nobody knows whom. */
static bool knows_caller(const struct ep_args *args)
{
	struct ep_sudo_caller caller;

	if (args->command == EP_COMMAND_HELP || args->command == EP_COMMAND_VERSION ||
	    ep_sudo_caller(&caller) != -EINVAL)
		return true;
	ep_sudo_caller_complain();
	return false;
}

/*
 * For those that read what others have in memory and in files. Without help they read all of it themselves. After the
 * look at what there is room for, which says what is missing in one sentence; its threads have ended.
 */
static void prepare_readers(const struct ep_args *args)
{
	static const enum ep_command commands[] = {EP_COMMAND_AGENT, EP_COMMAND_RECORD, EP_COMMAND_TOP,
						   EP_COMMAND_CAPTURE, EP_COMMAND_DUMP,
						   EP_COMMAND_DOCTOR};
	int r = 0;

	for (size_t i = 0; i < EP_LEN(commands); i++) {
		if (args->command == commands[i])
			r = ep_readers_prepare(ep_cmd_limit_reader);
	}
	if (r < 0)
		ep_log(EP_LOG_WARN, "readers: none: %s; a file system that does not answer may stop us",
		       ep_strerror(r));
}

static int run(const struct ep_args *args)
{
	switch (args->command) {
	case EP_COMMAND_HELP:
		ep_help_print(stdout, args->help_topic);
		return EP_EXIT_OK;
	case EP_COMMAND_VERSION:
		ep_version_print(stdout);
		return EP_EXIT_OK;
	case EP_COMMAND_AGENT:
		return ep_cmd_agent(args);
	case EP_COMMAND_CHECK:
		return ep_cmd_check(args);
	case EP_COMMAND_PRINT_CONFIG:
		return ep_cmd_print_config(args);
	case EP_COMMAND_RECORD:
		return ep_cmd_record(args);
	case EP_COMMAND_REPORT:
		return ep_cmd_report(args);
	case EP_COMMAND_CONVERT:
		return ep_cmd_convert(args);
	case EP_COMMAND_DIFF:
		return ep_cmd_diff(args);
	case EP_COMMAND_TOP:
		return ep_cmd_top(args);
	case EP_COMMAND_DOCTOR:
		return ep_cmd_doctor(args);
	case EP_COMMAND_CAPTURE:
	case EP_COMMAND_DUMP:
		return ep_cmd_capture(args);
	case EP_COMMAND_PLUGINS:
		return ep_cmd_plugins(args);
	}
	return EP_EXIT_USAGE;
}

int main(int argc, char **argv)
{
	static struct ep_args args;
	int status;

	mallopt(M_ARENA_MAX, MALLOC_ARENAS);
	mallopt(M_MMAP_THRESHOLD, MALLOC_MMAP_BYTES);
	ep_start_up_streams();
	if (ep_args_parse(argc, argv, &args) < 0) {
		fprintf(stderr, "ebpf-profiler: %s\n", args.error);
		return EP_EXIT_USAGE;
	}
	set_log_level(&args);
	if (*args.note && !args.quiet)
		fprintf(stderr, "ebpf-profiler: %s\n", args.note);
	if (!knows_caller(&args))
		return EP_EXIT_USAGE;
	if (args.command != EP_COMMAND_HELP && args.command != EP_COMMAND_VERSION && ep_start_up_check() < 0)
		return EP_EXIT_FAILED;
	prepare_readers(&args);
	if ((args.command == EP_COMMAND_RECORD || args.command == EP_COMMAND_TOP) && ep_targets_resolve(&args) < 0)
		return EP_EXIT_FAILED;
	status = run(&args);
	ep_readers_end();
	return ep_start_up_finish(status);
}
