/* SPDX-License-Identifier: Apache-2.0 */
#include "core/plugin/options.h"
#include "core/base/parse.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_SPECS     64 /* options one plugin may have */
#define MAX_WORD      63 /* longer keys are not slips of short names */
#define NS_PER_SECOND 1000000000LL

struct option {
	const struct ep_option_spec *spec;
	char *string; /* owned; of a string option */
	int64_t integer;
	bool given;
};

struct ep_options {
	const char *owner; /* while they are made */
	size_t n;
	struct option options[MAX_SPECS];
};

__attribute__((format(printf, 3, 4))) static int
fail(struct ep_option_error *error, const struct ep_value *value, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(error->text, sizeof(error->text), fmt, args);
	va_end(args);
	error->line = value ? value->line : 0;
	error->column = value ? value->column : 0;
	return -EINVAL;
}

/* --- words and durations --- */

static size_t min3(size_t a, size_t b, size_t c)
{
	return EP_MIN(a, EP_MIN(b, c));
}

/* Edit distance (Levenshtein), one row of the table at a time. */
static size_t distance(const char *a, const char *b)
{
	size_t row[MAX_WORD + 1], n = strlen(b);

	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= n; j++) {
			size_t above = row[j];

			row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[n];
}

/* The nearest of n names to `name`, NULL when none is near enough to be a slip. */
static const char *find_nearest(const char *name, const char *const *names, size_t n)
{
	size_t best = EP_MAX(strlen(name) / 3, (size_t)1) + 1;
	const char *nearest = NULL;

	if (strlen(name) > MAX_WORD)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t d = strlen(names[i]) <= MAX_WORD ? distance(name, names[i]) : best;

		if (d < best) {
			best = d;
			nearest = names[i];
		}
	}
	return nearest;
}

/* "10s", "500ms", "5m", "2h", "100us", "7ns" or seconds ("10"). 0, -EINVAL, -ERANGE. */
static int parse_duration(const char *text, int64_t *ret_ns)
{
	static const struct {
		const char *name;
		int64_t ns;
	} units[] = {
		{"", NS_PER_SECOND},
		{"s", NS_PER_SECOND},
		{"ms", 1000000},
		{"us", 1000},
		{"ns", 1},
		{"m", 60 * NS_PER_SECOND},
		{"h", 3600 * NS_PER_SECOND},
	};
	const char *pos = text;
	uint64_t number;
	int r;

	r = ep_parse_u64(&pos, text + strlen(text), 10, &number);
	if (r < 0)
		return r == -ERANGE ? r : -EINVAL;
	for (size_t i = 0; i < EP_LEN(units); i++) {
		if (strcmp(pos, units[i].name) != 0)
			continue;
		return __builtin_mul_overflow(number, units[i].ns, ret_ns) ? -ERANGE : 0;
	}
	return -EINVAL;
}

/* --- one option --- */

static int set_string(struct option *option, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	free(option->string);
	option->string = copy;
	return 0;
}

static int check_bounds(const struct option *option, const struct ep_value *value,
			struct ep_option_error *error)
{
	const struct ep_option_spec *spec = option->spec;
	bool duration = spec->type == EP_OPTION_DURATION;
	int64_t unit = duration ? NS_PER_SECOND : 1;
	int64_t bound = option->integer < spec->min ? spec->min : spec->max;

	if ((spec->min == 0 && spec->max == 0) ||
	    (option->integer >= spec->min && option->integer <= spec->max))
		return 0;
	if (duration && bound % unit)
		return fail(error, value, "`%s`: must be %s %" PRId64 "ms", spec->name,
			    bound == spec->min ? "at least" : "at most", bound / 1000000);
	return fail(error, value, "`%s`: must be %s %" PRId64 "%s", spec->name,
		    bound == spec->min ? "at least" : "at most", bound / unit, duration ? "s" : "");
}

static int set_duration(struct option *option, const struct ep_value *value,
			struct ep_option_error *error)
{
	int r = -EINVAL;

	if (value->type == EP_VALUE_STRING)
		r = parse_duration(value->string, &option->integer);
	else if (value->type == EP_VALUE_INT && value->integer >= 0)
		r = __builtin_mul_overflow(value->integer, NS_PER_SECOND, &option->integer)
			    ? -ERANGE
			    : 0;
	if (r == -ERANGE)
		return fail(error, value, "`%s`: longer than can be counted", option->spec->name);
	if (r < 0)
		return fail(error, value,
			    "`%s`: must be a duration like \"10s\", \"500ms\", \"5m\"",
			    option->spec->name);
	return check_bounds(option, value, error);
}

static int set_typed(struct option *option, const struct ep_value *value,
		     struct ep_option_error *error)
{
	const char *name = option->spec->name;

	switch (option->spec->type) {
	case EP_OPTION_STRING:
		if (value->type != EP_VALUE_STRING)
			return fail(error, value, "`%s`: must be a string", name);
		return set_string(option, value->string);
	case EP_OPTION_INT:
		if (value->type != EP_VALUE_INT)
			return fail(error, value, "`%s`: must be a whole number", name);
		option->integer = value->integer;
		return check_bounds(option, value, error);
	case EP_OPTION_BOOL:
		if (value->type != EP_VALUE_BOOL)
			return fail(error, value, "`%s`: must be true or false", name);
		option->integer = value->boolean;
		return 0;
	case EP_OPTION_DURATION:
		return set_duration(option, value, error);
	}
	return fail(error, value, "`%s`: has a type this host does not know", name);
}

/* A default is written as in the file, without the quotes of a string. */
static int set_fallback(struct option *option, struct ep_option_error *error)
{
	const char *text = option->spec->fallback, *digits = text + (*text == '-');
	struct ep_value value = {.key = option->spec->name, .string = text};
	uint64_t number;

	switch (option->spec->type) {
	case EP_OPTION_BOOL:
		value.type = strcmp(text, "true") && strcmp(text, "false") ? EP_VALUE_OTHER
									   : EP_VALUE_BOOL;
		value.boolean = strcmp(text, "true") == 0;
		break;
	case EP_OPTION_INT:
		if (ep_parse_u64_str(digits, &number) < 0 || number > INT64_MAX)
			value.type = EP_VALUE_OTHER;
		else
			value.type = EP_VALUE_INT;
		value.integer = value.type == EP_VALUE_OTHER ? 0 : (int64_t)number;
		value.integer = digits > text ? -value.integer : value.integer;
		break;
	default:
		break;
	}
	return set_typed(option, &value, error);
}

/* --- the table --- */

static struct option *find(const struct ep_options *options, const char *name)
{
	for (size_t i = 0; i < options->n; i++) {
		if (strcmp(options->options[i].spec->name, name) == 0)
			return (struct option *)&options->options[i];
	}
	return NULL;
}

/* A key that is in no spec: 0 if the caller handles it. */
static int check_common(const struct ep_options *options, const char *const *common,
			const struct ep_value *value, struct ep_option_error *error)
{
	const char *names[2 * MAX_SPECS], *nearest;
	size_t n = 0;

	for (; n < options->n; n++)
		names[n] = options->options[n].spec->name;
	for (; common && *common && n < EP_LEN(names); common++) {
		if (strcmp(*common, value->key) == 0)
			return 0;
		names[n++] = *common;
	}
	nearest = find_nearest(value->key, names, n);
	if (nearest)
		return fail(error, value, "`%s`: no such option of %s; did you mean `%s`?",
			    value->key, options->owner, nearest);
	return fail(error, value, "`%s`: no such option of %s", value->key, options->owner);
}

static int set_value(struct ep_options *options, const char *const *common,
		     const struct ep_value *value, struct ep_option_error *error)
{
	struct option *option = find(options, value->key);

	if (!option)
		return check_common(options, common, value, error);
	if (option->given)
		return fail(error, value, "`%s`: given twice", value->key);
	option->given = true;
	return set_typed(option, value, error);
}

int ep_options_new(const char *owner, const struct ep_option_spec *specs, const char *const *common,
		   const struct ep_value *values, size_t n_values,
		   struct ep_option_error *ret_error, struct ep_options **ret_options)
{
	struct ep_options *options = calloc(1, sizeof(*options));
	int r = 0;

	if (!options)
		return -ENOMEM;
	options->owner = owner;
	for (; specs && specs->name && options->n < MAX_SPECS; specs++)
		options->options[options->n++].spec = specs;
	for (size_t i = 0; i < n_values && r == 0; i++)
		r = set_value(options, common, &values[i], ret_error);
	for (size_t i = 0; i < options->n && r == 0; i++) {
		struct option *option = &options->options[i];

		if (!option->given && option->spec->fallback)
			r = set_fallback(option, ret_error);
		else if (!option->given)
			r = fail(ret_error, NULL, "`%s`: %s needs this option (%s)",
				 option->spec->name, owner,
				 option->spec->help ? option->spec->help : "no help");
	}
	if (r < 0) {
		ep_options_free(options);
		return r;
	}
	*ret_options = options;
	return 0;
}

void ep_options_free(struct ep_options *options)
{
	if (!options)
		return;
	for (size_t i = 0; i < options->n; i++)
		free(options->options[i].string);
	free(options);
}

const char *ep_options_string(const struct ep_options *options, const char *name)
{
	const struct option *option = find(options, name);

	return option && option->string ? option->string : "";
}

int64_t ep_options_int(const struct ep_options *options, const char *name)
{
	const struct option *option = find(options, name);

	return option ? option->integer : 0;
}

int ep_options_bool(const struct ep_options *options, const char *name)
{
	return ep_options_int(options, name) != 0;
}
