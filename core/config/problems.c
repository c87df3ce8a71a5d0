/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config/problems.h"

#include <stdarg.h>
#include <string.h>

#define MAX_PROBLEMS 100

void ep_config_problems_init(struct ep_config_problems *problems)
{
	*problems = (struct ep_config_problems){0};
	ep_vec_init(&problems->list, sizeof(struct ep_config_problem), MAX_PROBLEMS);
}

void ep_config_problems_fini(struct ep_config_problems *problems)
{
	struct ep_config_problem *problem;

	ep_vec_each (&problems->list, problem) {
		free(problem->origin);
		free(problem->text);
	}
	ep_vec_fini(&problems->list);
}

static char *format_text(const char *fmt, va_list args)
{
	char *text = NULL;

	return vasprintf(&text, fmt, args) < 0 ? NULL : text;
}

void ep_config_problem_add(struct ep_config_problems *problems, struct ep_config_where where,
			   const char *fmt, ...)
{
	ep_autofree char *text = NULL;
	ep_autofree char *origin = strdup(where.origin);
	struct ep_config_problem *problem = NULL;
	va_list args;

	va_start(args, fmt);
	text = format_text(fmt, args);
	va_end(args);
	if (text && origin)
		problem = ep_vec_push(&problems->list);
	if (!problem) {
		problems->dropped++;
		return;
	}
	problem->origin = ep_take(origin);
	problem->text = ep_take(text);
	problem->line = where.line;
	problem->column = where.column;
}

size_t ep_config_problems_count(const struct ep_config_problems *problems)
{
	return problems->list.len + problems->dropped;
}

static int compare(const void *left, const void *right)
{
	const struct ep_config_problem *a = left, *b = right;
	int order = strcmp(a->origin, b->origin);

	if (order)
		return order;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	return a->column < b->column ? -1 : a->column > b->column;
}

void ep_config_problems_print(struct ep_config_problems *problems, FILE *out)
{
	struct ep_config_problem *problem;

	if (problems->list.len > 1)
		qsort(problems->list.data, problems->list.len, sizeof(*problem), compare);
	ep_vec_each (&problems->list, problem) {
		fprintf(out, "%s:", problem->origin);
		if (problem->line)
			fprintf(out, "%u:%u:", problem->line, problem->column);
		fprintf(out, " %s\n", problem->text);
	}
	if (problems->dropped)
		fprintf(out, "and %zu more\n", problems->dropped);
}
