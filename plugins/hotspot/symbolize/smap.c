/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/hotspot/symbolize/smap.h"

#include "core/base/util.h"
#include "plugins/shared/search.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define MAX_NUMBER 0xffffffu

/* A piece of the text. */
struct span {
	const char *at;
	size_t n;
};

struct parser {
	struct span rest;
	struct hotspot_smap out;
	uint32_t file; /* the number of the last one named */
};

static bool next_line(struct span *rest, struct span *ret)
{
	const char *end;

	if (!rest->n)
		return false;
	end = memchr(rest->at, '\n', rest->n);
	ret->at = rest->at;
	ret->n = end ? (size_t)(end - rest->at) : rest->n;
	rest->at += EP_MIN(ret->n + 1, rest->n);
	rest->n -= EP_MIN(ret->n + 1, rest->n);
	if (ret->n && ret->at[ret->n - 1] == '\r')
		ret->n--;
	return true;
}

static bool is(struct span span, const char *text)
{
	return span.n == strlen(text) && memcmp(span.at, text, span.n) == 0;
}

static bool take_char(struct span *span, char c)
{
	if (!span->n || span->at[0] != c)
		return false;
	span->at++;
	span->n--;
	return true;
}

static bool take_number(struct span *span, uint32_t *ret)
{
	uint32_t value = 0;
	size_t i = 0;

	for (; i < span->n && span->at[i] >= '0' && span->at[i] <= '9'; i++) {
		value = value * 10 + (uint32_t)(span->at[i] - '0');
		if (value > MAX_NUMBER)
			return false;
	}
	span->at += i;
	span->n -= i;
	*ret = value;
	return i > 0;
}

/* "1 Main.kt", or "+ 1 Main.kt" and a line with its path. */
static int parse_file(struct parser *p, struct span line)
{
	bool has_path = take_char(&line, '+') && take_char(&line, ' ');
	struct hotspot_smap_file file;
	struct span path;

	if (!take_number(&line, &file.id) || !take_char(&line, ' '))
		return -EBADMSG;
	if (has_path && !next_line(&p->rest, &path))
		return -EBADMSG;
	if (p->out.n_files >= HOTSPOT_SMAP_MAX_FILES)
		return 0;
	file.name = line.at;
	file.name_bytes = line.n;
	p->out.files[p->out.n_files++] = file;
	return 0;
}

/* What has an id that was not named is as if it were not there. */
static bool find_file(struct parser *p, uint32_t id)
{
	for (size_t i = 0; i < p->out.n_files; i++) {
		if (p->out.files[i].id == id) {
			p->file = (uint32_t)i;
			return true;
		}
	}
	p->file = HOTSPOT_SMAP_MAX_FILES;
	return false;
}

static int parse_mapping(struct parser *p, struct span line)
{
	struct hotspot_smap_line to = {.step = 1};
	uint32_t id, count = 1;

	if (!take_number(&line, &to.source))
		return -EBADMSG;
	if (take_char(&line, '#')) {
		if (!take_number(&line, &id))
			return -EBADMSG;
		(void)find_file(p, id);
	}
	if (take_char(&line, ',') && !take_number(&line, &count))
		return -EBADMSG;
	if (!take_char(&line, ':') || !take_number(&line, &to.first))
		return -EBADMSG;
	if (take_char(&line, ',') && !take_number(&line, &to.step))
		return -EBADMSG;
	if (!to.step || p->file >= p->out.n_files || p->out.n_lines >= HOTSPOT_SMAP_MAX_LINES ||
	    (uint64_t)count * to.step > MAX_NUMBER)
		return 0;
	to.n = count * to.step;
	to.file = p->file;
	to.order = (uint32_t)p->out.n_lines;
	p->out.lines[p->out.n_lines++] = to;
	return 0;
}

/* Until the next section of another kind; names of strata end it. */
static int parse_stratum(struct parser *p)
{
	int (*parse)(struct parser *p, struct span line) = NULL;
	struct span line;
	int r = 0;

	while (r == 0 && next_line(&p->rest, &line)) {
		if (line.n && line.at[0] == '*') {
			if (is(line, "*E") || (line.n > 1 && line.at[1] == 'S'))
				return 0;
			parse = is(line, "*F") ? parse_file : is(line, "*L") ? parse_mapping : NULL;
		} else if (parse) {
			r = parse(p, line);
		}
	}
	return r;
}

/* To after the line "*S NAME". */
static int find_stratum(struct parser *p)
{
	struct span line, name;

	if (!next_line(&p->rest, &line) || !is(line, "SMAP") || !next_line(&p->rest, &line) ||
	    !next_line(&p->rest, &name))
		return -EBADMSG;
	while (next_line(&p->rest, &line)) {
		if (line.n < 3 || memcmp(line.at, "*S ", 3) != 0)
			continue;
		if (line.n - 3 == name.n && memcmp(line.at + 3, name.at, name.n) == 0)
			return 0;
	}
	return -EBADMSG;
}

static int compare(const void *left, const void *right)
{
	const struct hotspot_smap_line *a = left, *b = right;

	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	return a->order < b->order ? -1 : 1;
}

int hotspot_smap_parse(const char *text, size_t n, struct hotspot_smap *ret)
{
	struct parser p = {.rest = {text, n}, .file = HOTSPOT_SMAP_MAX_FILES};
	int r;

	r = find_stratum(&p);
	if (r < 0)
		return r;
	p.out.files = calloc(HOTSPOT_SMAP_MAX_FILES, sizeof(*p.out.files));
	p.out.lines = calloc(HOTSPOT_SMAP_MAX_LINES, sizeof(*p.out.lines));
	r = p.out.files && p.out.lines ? parse_stratum(&p) : -ENOMEM;
	if (r < 0) {
		hotspot_smap_fini(&p.out);
		return r;
	}
	qsort(p.out.lines, p.out.n_lines, sizeof(*p.out.lines), compare);
	*ret = p.out;
	return 0;
}

void hotspot_smap_fini(struct hotspot_smap *smap)
{
	free(smap->files);
	free(smap->lines);
	*smap = (struct hotspot_smap){0};
}

const struct hotspot_smap_file *hotspot_smap_find(const struct hotspot_smap *smap, uint32_t line,
						  uint32_t *ret_line)
{
	size_t n = search_sorted(smap->n_lines, i, smap->lines[i].first <= line);
	const struct hotspot_smap_line *found;

	if (!n)
		return NULL;
	found = &smap->lines[n - 1];
	if (line - found->first >= found->n)
		return NULL;
	*ret_line = found->source + (line - found->first) / found->step;
	return &smap->files[found->file];
}
