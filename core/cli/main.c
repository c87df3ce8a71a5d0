/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/elevated.h"
#include "core/base/log.h"
#include "core/cli/commands.h"
#include "core/cli/limit_calls.h"
#include "core/cli/start_up.h"
#include "core/cli/targets.h"
#include "core/proc/readers.h"

#include <errno.h>
#include <malloc.h>

/* Few threads of ours allocate: more arenas would only spread what is free over more pages. */
#define MALLOC_ARENAS 2
/* Large blocks go back to the system when they are freed; glibc would raise this by itself. */
#define MALLOC_MMAP_BYTES (128 << 10)

static const struct ep_command commands[] = {
	{&ep_agent_syntax, ep_cmd_agent, .reads_processes = true},
	{&ep_record_syntax, ep_cmd_record, .samples = true, .reads_processes = true},
	{&ep_doctor_syntax, ep_cmd_doctor, .reads_processes = true},
	{&ep_plugins_syntax, .run = ep_cmd_plugins},
	{&ep_dump_syntax, ep_cmd_capture, .reads_processes = true},
	{&ep_capture_syntax, ep_cmd_capture, .reads_processes = true},
	{0},
};

static const struct ep_command *const tables[] = {commands, ep_report_commands, NULL};

/* Of --check and --print-config too, which are the agent's. */
static bool only_looks(const struct ep_args *args)
{
	return args->check || args->print_config;
}

static void set_log_level(const struct ep_args *args)
{
	if (args->quiet)
		ep_log_set_level(EP_LOG_ERROR);
	else if (args->verbose > 1)
		ep_log_set_level(EP_LOG_DEBUG);
	else if (args->verbose == 0 && args->command->samples)
		ep_log_set_level(EP_LOG_WARN);
}

/* Whose command is started, whose the files are: asked before anything is done for nobody knows
 * whom. */
static bool knows_caller(void)
{
	struct ep_sudo_caller caller;

	if (ep_sudo_caller(&caller) != -EINVAL)
		return true;
	ep_sudo_caller_complain();
	return false;
}

/*
 * For those that read what others have in memory and in files. Without help they read all of it
 * themselves. After the look at what there is space for, which says what is missing in one
 * sentence; its threads have ended.
 */
static void prepare_readers(const struct ep_args *args)
{
	int r = args->command->reads_processes && !only_looks(args)
			? ep_readers_prepare(ep_cmd_limit_reader)
			: 0;

	if (r < 0)
		ep_log(EP_LOG_WARN,
		       "readers: none: %s; a file system that does not answer may stop us",
		       ep_strerror(r));
}

static int run(const struct ep_args *args)
{
	if (args->check)
		return ep_cmd_check(args);
	return args->print_config ? ep_cmd_print_config(args) : args->command->run(args);
}

int main(int argc, char **argv)
{
	static struct ep_args args;
	int status;

	mallopt(M_ARENA_MAX, MALLOC_ARENAS);
	mallopt(M_MMAP_THRESHOLD, MALLOC_MMAP_BYTES);
	ep_start_up_streams();
	if (ep_args_parse(argc, argv, tables, &args) < 0) {
		fprintf(stderr, "ebpf-profiler: %s\n", args.error);
		return EP_EXIT_USAGE;
	}
	if (args.help || args.version) {
		if (args.help)
			ep_args_print_help(stdout, &args, tables);
		else
			printf("ebpf-profiler %s\n", EP_VERSION);
		return ep_start_up_finish(EP_EXIT_OK);
	}
	set_log_level(&args);
	if (*args.note && !args.quiet)
		fprintf(stderr, "ebpf-profiler: %s\n", args.note);
	if (!knows_caller())
		return EP_EXIT_USAGE;
	if (ep_start_up_check() < 0)
		return EP_EXIT_FAILED;
	prepare_readers(&args);
	if (args.command->samples && ep_targets_resolve(&args) < 0)
		return EP_EXIT_FAILED;
	status = run(&args);
	ep_readers_end();
	return ep_start_up_finish(status);
}
