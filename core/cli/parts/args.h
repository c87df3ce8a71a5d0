/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line of the commands that sample or set up, as a plain struct, and the tables that it
 * is parsed by. Strings are borrowed from argv. Letters are those of perf where perf has one.
 */
#ifndef EP_CLI_ARGS_H
#define EP_CLI_ARGS_H

#include "core/cli/parts/options.h"
#include "core/cli/parts/output_format.h"
#include "core/config/filter.h"

#include <sys/types.h>

#define EP_ARGS_MAX_PIDS 256

struct ep_args;

/* A command of this build. Tables of them end with a zeroed one. */
struct ep_command {
	const struct ep_syntax *syntax;
	int (*run)(const struct ep_args *args); /* the exit status */
	bool parses_itself;   /* of ep_args it gets rest_argc and rest_argv */
	bool samples;	      /* as record: what is sampled, for how long, of which command */
	bool reads_processes; /* their memory and files, which may not answer */
};

/* agent, record, doctor, plugins, capture, dump; and what `top` takes as well. */
extern const struct ep_syntax ep_agent_syntax, ep_record_syntax, ep_doctor_syntax,
	ep_plugins_syntax, ep_capture_syntax, ep_dump_syntax;
extern const struct ep_cli_option ep_record_options[];

struct ep_args {
	const struct ep_command *command; /* NULL: help or version, of the program */
	bool help, version;
	const char *config_path; /* NULL when not given */
	bool check, print_config; /* of the agent's configuration; print_config needs no path */
	bool quiet;		    /* -q */
	unsigned int verbose;	    /* number of -v */
	bool json;		    /* doctor */
	const char *core_path;	    /* capture, dump: NULL when not given */
	pid_t tids[EP_ARGS_MAX_PIDS]; /* the same: none is all threads */
	size_t n_tids;
	const char *plugin_path;    /* plugins --check: NULL when not given */
	const char *new_plugin;	    /* plugins --new: its name; NULL when not given */
	bool new_jit;		    /* plugins --new --jit */

	/* record */
	uint32_t freq_hz;     /* 99 unless given; 1..10000 */
	uint64_t duration_ns; /* 0: until Ctrl-C or the command's end */
	bool all_cpus;	      /* -a: the whole machine, even with a command */
	bool force;
	bool keep_root;
	uint32_t min_complete, min_named; /* in 1/10000; 0: whatever it is */
	struct ep_filter filter;	  /* all that says what is recorded, -p too */
	pid_t pids[EP_ARGS_MAX_PIDS];	  /* capture, dump: one of them, or core_path */
	size_t n_pids;
	struct ep_output_choices outputs; /* none given: the caller names a file */
	char **child_argv; /* NULL-terminated tail of argv; NULL without a command */

	int rest_argc; /* of a command that parses itself: its name and what stands after it */
	char **rest_argv;

	char note[128]; /* not empty: one line to print before work starts */
	char hint[320]; /* reported when the command fails: what may have been meant; "" */
	char error[EP_CLI_ERROR_BYTES]; /* of a failure: one sentence with the fix */
};

/*
 * `tables`, ended by NULL: the first has the agent first. 0, or -EINVAL with ret_args->error
 * filled: print it and exit with EP_EXIT_USAGE.
 */
int ep_args_parse(int argc, char **argv, const struct ep_command *const *tables,
		  struct ep_args *ret_args);
/* --help, of the program or of args->command. */
void ep_args_print_help(FILE *out, const struct ep_args *args,
			const struct ep_command *const *tables);

#endif
