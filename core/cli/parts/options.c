/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/parts/options.h"
#include "core/base/parse.h"
#include "core/cli/parts/text.h"
#include "core/config/problems.h"
#include "core/config/units.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <string.h>

#define MAX_OPTIONS   64
#define FIRST_OF_LONG 256 /* what getopt returns for a long option: this and its row */
#define WIDTH	      80
#define LABEL_BYTES   128
#define LABEL_COLUMNS 20 /* texts begin right of the longest label that has no more */
#define USAGE_INDENT  11

int ep_cli_fail(char *error, const char *fmt, ...)
{
	va_list list;

	va_start(list, fmt);
	vsnprintf(error, EP_CLI_ERROR_BYTES, fmt, list);
	va_end(list);
	return -EINVAL;
}

const char *ep_cli_option_label(const struct ep_cli_option *option, char *buf)
{
	if (option->letter)
		snprintf(buf, EP_CLI_LABEL_BYTES, "-%c", option->letter);
	else
		snprintf(buf, EP_CLI_LABEL_BYTES, "--%s", option->name);
	return buf;
}

/* --- values ---------------------------------------------------------------------------------- */

static int parse_percent(const char *text, uint32_t *ret_10000)
{
	const char *pos = text, *end = text + strlen(text);
	uint64_t whole, part = 0;

	if (end > text && end[-1] == '%')
		end--;
	if (ep_parse_u64(&pos, end, 10, &whole) < 0 || whole > 100)
		return -EINVAL;
	if (pos < end && *pos == '.') {
		const char *first = ++pos;

		if (ep_parse_u64(&pos, end, 10, &part) < 0 || pos - first > 2)
			return -EINVAL;
		part *= pos - first == 1 ? 10 : 1;
	}
	if (pos != end || whole * 100 + part > 10000)
		return -EINVAL;
	*ret_10000 = (uint32_t)(whole * 100 + part);
	return 0;
}

static int store(const struct ep_cli_option *option, void *args, const char *value, char *error)
{
	void *at = (char *)args + option->offset;
	char label[EP_CLI_LABEL_BYTES];
	uint64_t number;
	int r = 0;

	switch (option->kind) {
	case EP_CLI_SET:
	case EP_CLI_SWITCH:
		return option->set(args, option, value, error);
	case EP_CLI_FLAG:
		*(bool *)at = true;
		break;
	case EP_CLI_COUNT:
		++*(unsigned int *)at;
		break;
	case EP_CLI_TEXT:
		*(const char **)at = value;
		break;
	case EP_CLI_NUMBER:
		r = ep_parse_u64_str(value, &number);
		if (r == 0 && number >= option->min && number <= option->max)
			*(uint32_t *)at = (uint32_t)number;
		else
			r = -EINVAL;
		break;
	case EP_CLI_PERCENT:
		r = parse_percent(value, at);
		break;
	case EP_CLI_DURATION:
		r = ep_parse_duration(value, at);
		r = r == 0 && *(uint64_t *)at == 0 ? -EINVAL : r;
		break;
	case EP_CLI_END:
	case EP_CLI_INCLUDE:
	case EP_CLI_NOTE:
		break;
	}
	return r == 0 ? 0
		      : ep_cli_fail(error, "%s takes %s, not '%.64s'",
				       ep_cli_option_label(option, label), option->takes, value);
}

/* --- getopt ---------------------------------------------------------------------------------- */

/* A table with those that it includes, in its order. */
struct rows {
	const struct ep_cli_option *rows[MAX_OPTIONS];
	size_t n;
};

static void add_rows(struct rows *rows, const struct ep_cli_option *table)
{
	for (; table && table->kind != EP_CLI_END; table++) {
		if (table->kind == EP_CLI_INCLUDE) {
			add_rows(rows, table->include);
			continue;
		}
		assert(rows->n < MAX_OPTIONS);
		rows->rows[rows->n++] = table;
	}
}

static bool takes_value(const struct ep_cli_option *option)
{
	return option->kind >= EP_CLI_TEXT && option->kind != EP_CLI_SWITCH;
}

struct arrays {
	struct option options[MAX_OPTIONS + 1];
	char letters[3 + 2 * MAX_OPTIONS];
};

/* '+': options end at the first other word; '-': those are reported in their order; ':': so are
 * missing values. */
static void make_arrays(const struct rows *rows, enum ep_words words, struct arrays *arrays)
{
	size_t n = 0, n_letters = 2;

	*arrays = (struct arrays){.letters = {words == EP_WORDS_FILES ? '-' : '+', ':'}};
	for (size_t i = 0; i < rows->n; i++) {
		const struct ep_cli_option *option = rows->rows[i];

		if (option->name)
			arrays->options[n++] = (struct option){
				.name = option->name,
				.has_arg = takes_value(option) ? required_argument : no_argument,
				.val = FIRST_OF_LONG + (int)i,
			};
		if (option->letter)
			arrays->letters[n_letters++] = option->letter;
		if (option->letter && takes_value(option))
			arrays->letters[n_letters++] = ':';
	}
}

static const struct ep_cli_option *find(const struct rows *rows, int option)
{
	size_t i = 0;

	if (option >= FIRST_OF_LONG)
		return rows->rows[option - FIRST_OF_LONG];
	while (rows->rows[i]->letter != option)
		i++;
	return rows->rows[i];
}

static int explain(const struct ep_syntax *syntax, const struct option *options, int result,
		   const char *word, char *error)
{
	const char *names[MAX_OPTIONS], *space = syntax->name[0] ? " " : "", *nearest;
	char name[64];
	size_t n = 0;

	if (result == ':')
		return ep_cli_fail(error, "%s needs a value: see --help for what it takes", word);
	if (optopt > 0 && optopt < FIRST_OF_LONG && strncmp(word, "--", 2) != 0)
		return ep_cli_fail(error, "unknown option -%c: see ebpf-profiler %s%s--help",
				      optopt, syntax->name, space);
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	if (optopt)
		return ep_cli_fail(error, "--%s takes no value: leave '%s' out", name,
				      strchrnul(word, '='));
	for (; options[n].name; n++)
		names[n] = options[n].name;
	nearest = ep_suggest(name, names, n);
	if (nearest)
		return ep_cli_fail(error, "unknown option --%s: did you mean --%s?", name,
				      nearest);
	return ep_cli_fail(error, "unknown option --%s: see ebpf-profiler %s%s--help", name,
			      syntax->name, space);
}

int ep_cli_parse(const struct ep_syntax *syntax, int argc, char **argv, void *args,
		     struct ep_word_list *ret_words, char *error)
{
	struct rows rows = {0};
	struct arrays arrays;
	int n = 0;

	add_rows(&rows, syntax->options);
	make_arrays(&rows, syntax->words, &arrays);
	optind = 0; /* glibc: start anew, and read the first letter again */
	opterr = 0;
	for (;;) {
		const char *word = argv[EP_MAX(optind, 1)];
		int option = getopt_long(argc, argv, arrays.letters, arrays.options, NULL), r = 0;

		if (option == -1)
			break;
		if (option == '?' || option == ':')
			return explain(syntax, arrays.options, option, word, error);
		if (option == 1)
			argv[++n] = optarg;
		else
			r = store(find(&rows, option), args, optarg, error);
		if (r < 0)
			return r;
	}
	*ret_words = (struct ep_word_list){
		.n = argc - optind,
		.list = argv + optind,
		.has_dashes = optind > 1 && strcmp(argv[optind - 1], "--") == 0,
	};
	if (syntax->words == EP_WORDS_FILES) { /* those after "--" to those before it */
		memmove(argv + 1 + n, ret_words->list, (size_t)ret_words->n * sizeof(*argv));
		ret_words->list = argv + 1;
		ret_words->n += n;
	}
	return 0;
}

/* --- help ------------------------------------------------------------------------------------ */

void ep_syntax_print_row(FILE *out, const char *label, const char *text, size_t column)
{
	size_t used = EP_MAX(column, strlen(label) + 4);

	fprintf(out, "  %-*s", (int)used - 2, label);
	ep_text_print(out, text, WIDTH, used, column);
}

/* "-F, --freq HZ", "    --force" */
static const char *full_label(const struct ep_cli_option *option, char *buf)
{
	char letter[] = "    ";

	if (option->letter)
		snprintf(letter, sizeof(letter), "-%c", option->letter);
	snprintf(buf, LABEL_BYTES, "%s%s%s%s%s%s", letter,
		 option->letter && option->name ? ", " : "", option->name ? "--" : "",
		 option->name ? option->name : "", option->value ? " " : "",
		 option->value ? option->value : "");
	return buf;
}

void ep_syntax_print_options(FILE *out, const struct ep_cli_option *options)
{
	struct rows rows = {0};
	char label[LABEL_BYTES];
	size_t column = 0;

	add_rows(&rows, options);
	for (size_t i = 0; i < rows.n; i++) {
		size_t bytes = strlen(full_label(rows.rows[i], label));

		if (rows.rows[i]->help && bytes <= LABEL_COLUMNS)
			column = EP_MAX(column, bytes + 4);
	}
	for (size_t i = 0; i < rows.n; i++) {
		const struct ep_cli_option *option = rows.rows[i];

		if (option->kind == EP_CLI_NOTE && !option->help[0])
			fputc('\n', out);
		else if (option->kind == EP_CLI_NOTE)
			ep_syntax_print_row(out, "", option->help, column);
		else if (option->help)
			ep_syntax_print_row(out, full_label(option, label), option->help, column);
	}
}

void ep_syntax_print_usage(FILE *out, const struct ep_syntax *syntax, const char *before)
{
	for (const char *line = syntax->usage; *line; before = "       ") {
		size_t bytes = strcspn(line, "\n");
		char text[256];

		snprintf(text, sizeof(text), "%sebpf-profiler %s%s%.*s", before, syntax->name,
			 syntax->name[0] ? " " : "", (int)bytes, line);
		ep_text_print(out, text, WIDTH, 0, USAGE_INDENT);
		line += bytes + (line[bytes] == '\n');
	}
}

void ep_syntax_print_text(FILE *out, const char *text)
{
	fputc('\n', out);
	ep_text_print(out, text, WIDTH, 0, 0);
}

void ep_syntax_print(FILE *out, const struct ep_syntax *syntax)
{
	ep_syntax_print_usage(out, syntax, "usage: ");
	ep_syntax_print_text(out, syntax->text);
	if (!syntax->lists_no_options) {
		fputc('\n', out);
		ep_syntax_print_options(out, syntax->options);
	}
	if (syntax->end)
		ep_syntax_print_text(out, syntax->end);
}
