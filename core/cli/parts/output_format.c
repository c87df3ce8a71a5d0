/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/parts/output_format.h"
#include "core/config/problems.h"

#include <stdio.h>
#include <string.h>

#define STDOUT_FORMAT "pprof" /* of "-" without -f */

static const struct ep_output_format formats[] = {
	{"html", "html", {".html"}, false, true, "open %s in a browser, or: ebpf-profiler report %s"},
	{"otlp", "otlp_file", {".otlp.gz"}, false, true, "ebpf-profiler report %s"},
	{"pprof", "pprof", {".pb.gz", ".pprof"}, false, true, "go tool pprof -top %s"},
	{"folded", "folded", {".folded"}, true, false, "flamegraph.pl --countname ns %s >profile.svg"},
	{"perf", "perf", {".perf.txt"}, true, false, "stackcollapse-perf.pl %s, or open it in speedscope"},
	{"firefox", "firefox", {".json.gz"}, false, true,
	 "open %s in profiler.firefox.com (for speedscope: .pb.gz), or: ebpf-profiler report %s"},
	{"svg", "svg", {".svg"}, false, false, "open %s in a browser"},
	{"pgo", "pgo", {".pgo"}, false, false, "go build -pgo=%s"},
};

const struct ep_output_format *ep_output_format_find(const char *name)
{
	for (size_t i = 0; i < EP_LEN(formats); i++) {
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	}
	return NULL;
}

/* A name that is nothing but its extension is none. */
static bool has_extension(const char *path, const char *extension)
{
	size_t len = strlen(path), n = strlen(extension);

	return len > n && path[len - n - 1] != '/' && strcmp(path + len - n, extension) == 0;
}

const struct ep_output_format *ep_output_format_of(const char *path)
{
	for (size_t i = 0; i < EP_LEN(formats); i++) {
		for (const char *const *extension = formats[i].extensions; *extension;
		     extension++) {
			if (has_extension(path, *extension))
				return &formats[i];
		}
	}
	return NULL;
}

static void add_word(char *buf, size_t size, const char *word)
{
	size_t len = strlen(buf);

	snprintf(buf + len, size - len, "%s%s", len ? ", " : "", word);
}

const char *ep_output_extensions(char *buf, size_t size)
{
	buf[0] = '\0';
	for (size_t i = 0; i < EP_LEN(formats); i++) {
		for (const char *const *extension = formats[i].extensions; *extension; extension++)
			add_word(buf, size, *extension);
	}
	return buf;
}

const char *ep_output_names(char *buf, size_t size)
{
	buf[0] = '\0';
	for (size_t i = 0; i < EP_LEN(formats); i++)
		add_word(buf, size, formats[i].name);
	return buf;
}

int ep_output_choose(void *args, const struct ep_cli_option *option, const char *path, char *error)
{
	struct ep_output_choices *choices = (void *)((char *)args + option->offset);
	struct ep_output output = {.path = path, .format = choices->format};
	char extensions[128];

	if (choices->n == EP_OUTPUTS_MAX)
		return ep_cli_fail(error, "more than %d outputs: leave some out", EP_OUTPUTS_MAX);
	if (!output.format && strcmp(path, "-") == 0) {
		output.format = ep_output_format_find(STDOUT_FORMAT);
		output.by_default = true;
	}
	if (!output.format)
		output.format = ep_output_format_of(path);
	if (!output.format)
		return ep_cli_fail(
			error,
			"-o '%.128s': the extension says the format: %s; another name goes with -f "
			"FORMAT in front of it",
			path, ep_output_extensions(extensions, sizeof(extensions)));
	for (size_t i = 0; i < choices->n; i++)
		if (strcmp(choices->list[i].path, path) == 0)
			return ep_cli_fail(error, "-o '%.128s' is there twice: leave one out",
					      path);
	choices->list[choices->n++] = output;
	return 0;
}

int ep_output_choose_format(void *args, const struct ep_cli_option *option, const char *name,
			    char *error)
{
	struct ep_output_choices *choices = (void *)((char *)args + option->offset);
	const struct ep_output_format *format = ep_output_format_find(name);
	const char *names[EP_LEN(formats)], *nearest;
	char list[128];

	if (!format) {
		for (size_t i = 0; i < EP_LEN(formats); i++)
			names[i] = formats[i].name;
		nearest = ep_suggest(name, names, EP_LEN(names));
		return ep_cli_fail(error, "-f takes one of %s, not '%.64s'%s%s%s",
				      ep_output_names(list, sizeof(list)), name,
				      nearest ? ": did you mean " : "", nearest ? nearest : "",
				      nearest ? "?" : "");
	}
	choices->format = format;
	for (size_t i = 0; i < choices->n; i++) {
		if (choices->list[i].by_default) {
			choices->list[i].format = format;
			choices->list[i].by_default = false;
		}
	}
	return 0;
}
