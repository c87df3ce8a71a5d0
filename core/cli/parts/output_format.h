/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that `record`, `convert` and `top` can write: one table of formats, and what -o and -f
 * choose of it. -o can be repeated, and the extension is the format; -f FORMAT overrides it for
 * those that follow, and is that of "-", standard output, on whichever side of it it stands.
 * Strings are borrowed from argv.
 */
#ifndef EP_CLI_OUTPUT_FORMAT_H
#define EP_CLI_OUTPUT_FORMAT_H

#include "core/cli/parts/options.h"

#define EP_OUTPUTS_MAX 16

struct ep_output_format {
	const char *name;	   /* of -f */
	const char *plugin;	   /* the exporter that writes it */
	const char *
		extensions[3]; /* the first is that of files which are named here; ends with NULL */
	bool is_text;		   /* may go to a terminal */
	bool has_lines;		   /* of source, which `report` reads again */
	const char *next;	   /* what to do with the file, which stands where %s is */
};

struct ep_output {
	const char *path;			/* "-": standard output */
	const struct ep_output_format *format;	/* NULL: a fixture, of `capture` alone */
	bool by_default;			/* no -f and no extension gives it: "-" */
};

struct ep_output_choices {
	struct ep_output list[EP_OUTPUTS_MAX];
	size_t n;
	const struct ep_output_format *format; /* of the last -f, NULL: none was given */
};

/* By the name of -f, or by the extension of a path. NULL: not one that is known. */
const struct ep_output_format *ep_output_format_find(const char *name);
const struct ep_output_format *ep_output_format_of(const char *path);
/* ".html, .otlp.gz, .."; or "html, otlp, .." */
const char *ep_output_extensions(char *buf, size_t size);
const char *ep_output_names(char *buf, size_t size);

/* What -o and -f of a table of options do (options.h): their offset is that of ep_output_choices.
 */
int ep_output_choose(void *args, const struct ep_cli_option *option, const char *path, char *error);
int ep_output_choose_format(void *args, const struct ep_cli_option *option, const char *name,
			    char *error);

#endif
