/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line as a plain struct. Strings are borrowed from argv. Letters are those of perf
 * where perf has one.
 */
#ifndef EP_CLI_ARGS_H
#define EP_CLI_ARGS_H

#include "core/base/util.h"
#include "core/cli/parts/filter_args.h"
#include "core/cli/parts/output_format.h"

#include <sys/types.h>

#define EP_ARGS_MAX_PIDS 256

enum ep_command {
	EP_COMMAND_HELP, /* help_topic says of what */
	EP_COMMAND_VERSION,
	EP_COMMAND_AGENT,	 /* --config FILE */
	EP_COMMAND_CHECK,	 /* --config FILE --check */
	EP_COMMAND_PRINT_CONFIG, /* [--config FILE] --print-config: config_path may be NULL */
	EP_COMMAND_RECORD,
	EP_COMMAND_REPORT,
	EP_COMMAND_CONVERT,
	EP_COMMAND_DIFF,
	EP_COMMAND_TOP, /* what it is given is record's */
	EP_COMMAND_DOCTOR,
	EP_COMMAND_PLUGINS,
	EP_COMMAND_CAPTURE, /* one of pids or core_path, one output */
	EP_COMMAND_DUMP,    /* one of pids or core_path */
};

struct ep_args {
	enum ep_command command;
	enum ep_command help_topic; /* EP_COMMAND_HELP: that of the whole program */
	const char *config_path;    /* NULL when not given */
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
	pid_t pids[EP_ARGS_MAX_PIDS];
	size_t n_pids;
	struct ep_output_choices outputs; /* none given: the caller names a file */
	char **child_argv; /* NULL-terminated tail of argv; NULL without a command */

	/* Of a command that parses itself (view_args.h): its name and what stands after it. */
	int rest_argc;
	char **rest_argv;

	char note[128];	 /* not empty: one line to print before work starts */
	char hint[320];	     /* said when the command fails: what may have been meant; "" */
	char error[512]; /* not empty when parsing failed: one sentence with the fix */
};

/* 0, or -EINVAL with ret_args->error filled: print it and exit with EP_EXIT_USAGE. */
int ep_args_parse(int argc, char **argv, struct ep_args *ret_args);

#endif
