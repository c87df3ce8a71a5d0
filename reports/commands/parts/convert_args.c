/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/commands/parts/convert_args.h"

static int add_directory(void *arg, const struct ep_cli_option *option, const char *path,
			 char *error)
{
	struct ep_convert_args *args = arg;

	if (args->sources.n_directories == EP_SYMBOLS_MAX_DIRECTORIES)
		return ep_cli_fail(error, "more than %d times --%s: leave some out",
				      EP_SYMBOLS_MAX_DIRECTORIES, option->name);
	args->sources.directories[args->sources.n_directories++] = path;
	return 0;
}

#define AT(member) offsetof(struct ep_convert_args, member)

static const struct ep_cli_option options[] = {
	{"output", 'o', EP_CLI_SET, AT(outputs), .value = "FILE", .set = ep_output_choose,
	 .help = "where to; the extension is the format, as of record. Can be repeated; '-' is "
		 "standard output"},
	{"format", 'f', EP_CLI_SET, AT(outputs), .value = "NAME", .set = ep_output_choose_format,
	 .help = "the format whatever the extension: html, otlp, pprof, svg, folded, perf, "
		 "firefox, pgo; of the -o that follow, and of '-'"},
	{"force", 0, EP_CLI_FLAG, AT(force), .help = "overwrite a file that exists"},
	{"symbols", 0, EP_CLI_FLAG, AT(symbols),
	 .help = "look names of native frames that have none up again, in local files with the "
		 "build id of the program that ran, and their debug files"},
	{"debug-dir", 0, EP_CLI_SET, .value = "DIR", .set = add_directory,
	 .help = "with --symbols: in this directory and below, too, by build id, whatever the "
		 "file's name. Can be repeated"},
	{"debuginfod", 0, EP_CLI_FLAG, AT(debuginfod),
	 .help = "with --symbols: ask the servers of DEBUGINFOD_URLS, too; never as root"},
	{"labels", 0, EP_CLI_FLAG, AT(labels),
	 .help = "functions that share a name as 'search (a.py:12)': for formats without files, "
		 "like folded"},
	{.kind = EP_CLI_INCLUDE, .include = ep_view_options},
	{0},
};

const struct ep_syntax ep_convert_syntax = {
	.name = "convert",
	.usage = "FILE|DIRECTORY.. -o OUT.. [option]..",
	.about = "a profile in another format, filtered, merged, named",
	.text = "Writes profiles in another format: what report reads, merged and filtered, as what "
		"record writes. Needs no privileges; root gives them up once the files are open.",
	.options = options,
	.end = "exit status: 0 ok, 1 a file cannot be read or written, 2 usage, 3 permission, 5 no "
	       "sample passes the filters\n\n"
	       "  ebpf-profiler convert x.otlp.gz -o x.pb.gz         for go tool pprof\n"
	       "  ebpf-profiler convert x.pb.gz -o x.svg             a flame graph\n"
	       "  ebpf-profiler convert x.html --symbols --debug-dir ./debug -o named.html",
	.words = EP_WORDS_FILES,
};

int ep_convert_args_parse(struct ep_convert_args *ret_args, int argc, char **argv)
{
	struct ep_view_args *view = &ret_args->view;
	int r;

	*ret_args = (struct ep_convert_args){0};
	r = ep_view_args_parse(view, &ep_convert_syntax, argc, argv);
	if (r < 0 || view->help)
		return r;
	if (view->n_files == 0)
		return ep_cli_fail(view->error,
				   "convert needs a file to read: ebpf-profiler convert "
				   "FILE -o OUT ('-' is standard input)");
	if (ret_args->outputs.n == 0)
		return ep_cli_fail(view->error, "convert needs a file to write: -o OUT, whose "
						   "extension is the format, or -f FORMAT -o -");
	if (!ret_args->symbols && (ret_args->debuginfod || ret_args->sources.n_directories))
		return ep_cli_fail(view->error, "--debug-dir and --debuginfod say where --symbols "
						   "looks: add --symbols");
	return 0;
}

void ep_convert_args_fini(struct ep_convert_args *args)
{
	ep_view_args_fini(&args->view);
}
