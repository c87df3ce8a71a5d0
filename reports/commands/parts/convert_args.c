/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/commands/parts/convert_args.h"

#include <stdio.h>

#define ERROR_BYTES 512

enum { OPT_SYMBOLS = 256, OPT_DEBUG_DIR, OPT_DEBUGINFOD, OPT_FORCE };

static const struct option options[] = {
	{"output", required_argument, NULL, 'o'},
	{"format", required_argument, NULL, 'f'},
	{"force", no_argument, NULL, OPT_FORCE},
	{"symbols", no_argument, NULL, OPT_SYMBOLS},
	{"debug-dir", required_argument, NULL, OPT_DEBUG_DIR},
	{"debuginfod", no_argument, NULL, OPT_DEBUGINFOD},
	{0},
};

static int add_directory(struct ep_convert_args *args, const char *path, char *error)
{
	if (args->sources.n_directories == EP_SYMBOLS_MAX_DIRECTORIES) {
		snprintf(error, ERROR_BYTES, "more than %d times --debug-dir: leave some out",
			 EP_SYMBOLS_MAX_DIRECTORIES);
		return -EINVAL;
	}
	args->sources.directories[args->sources.n_directories++] = path;
	return 0;
}

static int apply(void *arg, int option, const char *value, char *error)
{
	struct ep_convert_args *args = arg;

	switch (option) {
	case 'o':
		return ep_output_choose(&args->outputs, value, error, ERROR_BYTES);
	case 'f':
		return ep_output_choose_format(&args->outputs, value, error, ERROR_BYTES);
	case OPT_FORCE:
		args->force = true;
		return 0;
	case OPT_SYMBOLS:
		args->symbols = true;
		return 0;
	case OPT_DEBUGINFOD:
		args->debuginfod = true;
		return 0;
	case OPT_DEBUG_DIR:
		return add_directory(args, value, error);
	}
	return -EINVAL;
}

static int fail(struct ep_convert_args *args, const char *text)
{
	snprintf(args->view.error, sizeof(args->view.error), "%s", text);
	return -EINVAL;
}

static int check(struct ep_convert_args *args)
{
	if (args->view.n_files == 0)
		return fail(
			args,
			"convert needs a file to read: ebpf-profiler convert FILE -o OUT ('-' is standard input)");
	if (args->outputs.n == 0)
		return fail(
			args,
			"convert needs a file to write: -o OUT, whose extension is the format, or -f FORMAT -o -");
	if (!args->symbols && (args->debuginfod || args->sources.n_directories))
		return fail(
			args,
			"--debug-dir and --debuginfod say where --symbols looks: add --symbols");
	return 0;
}

int ep_convert_args_parse(struct ep_convert_args *ret_args, int argc, char **argv)
{
	const struct ep_view_command command = {.name = "convert",
						.letters = "o:f:",
						.options = options,
						.apply = apply,
						.arg = ret_args};
	int r;

	*ret_args = (struct ep_convert_args){0};
	r = ep_view_args_parse(&ret_args->view, &command, argc, argv);
	return r < 0 || ret_args->view.help ? r : check(ret_args);
}

void ep_convert_args_fini(struct ep_convert_args *args)
{
	ep_view_args_fini(&args->view);
}
