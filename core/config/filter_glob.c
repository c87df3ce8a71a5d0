/* SPDX-License-Identifier: Apache-2.0 */
/* Globs as automata: bpf/filter.h has the drawing. */
#include "core/config/filter.h"

#include <errno.h>
#include <string.h>

/* One byte of a glob, a set of them, or any run of a set. */
struct token {
	uint64_t bytes[4]; /* a bit for each byte that it takes */
	bool is_run;	   /* '*' */
};

struct pattern {
	struct token tokens[EP_GLOB_STATES];
	size_t len;
};

static void take(struct token *token, uint8_t byte)
{
	token->bytes[byte / 64] |= 1ull << byte % 64;
}

static void take_all_but(struct token *token)
{
	for (size_t i = 0; i < EP_LEN(token->bytes); i++)
		token->bytes[i] = ~token->bytes[i];
}

/* "[a-z]" from after its bracket. What is after its end; NULL: it has none, and is no set. */
static const char *take_set(struct token *token, const char *pos, const char *end)
{
	bool is_not = pos < end && (*pos == '!' || *pos == '^');
	const char *first;

	pos += is_not;
	for (first = pos; pos < end && (*pos != ']' || pos == first); pos++) {
		uint8_t from = (uint8_t)*pos, to = from;

		if (end - pos > 2 && pos[1] == '-' && pos[2] != ']') {
			to = (uint8_t)pos[2];
			pos += 2;
		}
		for (unsigned int byte = from; byte <= to; byte++)
			take(token, (uint8_t)byte);
	}
	if (pos >= end)
		return NULL;
	if (is_not)
		take_all_but(token);
	return pos + 1;
}

static const char *read_token(struct token *token, const char *pos, const char *end)
{
	const char *behind = NULL;

	*token = (struct token){.is_run = *pos == '*'};
	if (*pos == '*' || *pos == '?') {
		take_all_but(token);
		return pos + 1;
	}
	if (*pos == '[')
		behind = take_set(token, pos + 1, end);
	if (behind)
		return behind;
	*token = (struct token){0};
	if (*pos == '\\' && end - pos > 1)
		pos++;
	take(token, (uint8_t)*pos);
	return pos + 1;
}

static int add_token(struct pattern *pattern, struct token token)
{
	if (pattern->len == EP_LEN(pattern->tokens))
		return -E2BIG;
	pattern->tokens[pattern->len++] = token;
	return 0;
}

/* A path that is a name alone is whatever lies in any directory under that name. */
static int add_any_directory(struct pattern *pattern)
{
	struct token slash = {0}, any = {.is_run = true};
	int r;

	take(&slash, '/');
	take_all_but(&any);
	r = add_token(pattern, any);
	return r < 0 ? r : add_token(pattern, slash);
}

static void reverse(struct pattern *pattern)
{
	for (size_t i = 0; i < pattern->len / 2; i++) {
		struct token token = pattern->tokens[i];

		pattern->tokens[i] = pattern->tokens[pattern->len - 1 - i];
		pattern->tokens[pattern->len - 1 - i] = token;
	}
}

static int read_pattern(const struct ep_filter_term *term, struct pattern *pattern)
{
	const char *pos = term->text, *end = term->text + term->len;
	bool is_name = term->key == EP_FILTER_EXE && !memchr(term->text, '/', term->len);
	struct token token;
	int r = 0;

	pattern->len = 0;
	if (is_name)
		r = add_any_directory(pattern);
	while (r == 0 && pos < end) {
		pos = read_token(&token, pos, end);
		if (is_name)
			token.bytes['/' / 64] &= ~(1ull << '/' % 64);
		r = add_token(pattern, token);
	}
	if (term->key == EP_FILTER_EXE)
		reverse(pattern);
	return r;
}

static void set(__u64 words[EP_GLOB_WORDS], size_t state)
{
	words[state / 64] |= 1ull << state % 64;
}

/* From state *state on; the last one is its end. */
static int build(struct ep_glob *glob, const struct pattern *pattern, bool is_excluded, size_t *state)
{
	size_t n = 1;

	for (size_t i = 0; i < pattern->len; i++)
		n += !pattern->tokens[i].is_run;
	if (n > EP_GLOB_STATES - *state)
		return -E2BIG;
	set(glob->first, *state);
	for (size_t i = 0; i < pattern->len; i++) {
		const struct token *token = &pattern->tokens[i];

		for (unsigned int byte = 1; byte < 256; byte++) {
			if (token->bytes[byte / 64] >> byte % 64 & 1)
				set(token->is_run ? glob->bytes[byte].stays : glob->bytes[byte].moves,
				    *state);
		}
		*state += !token->is_run;
	}
	set(is_excluded ? glob->out : glob->in, (*state)++);
	return 0;
}

int ep_filter_compile(const struct ep_filter *filter, enum ep_filter_key key, struct ep_glob *ret_glob)
{
	struct pattern pattern;
	size_t state = 0;
	int r = 0;

	memset(ret_glob, 0, sizeof(*ret_glob));
	memset(ret_glob->bytes[0].stays, 0xff, sizeof(ret_glob->bytes[0].stays));
	for (size_t i = 0; r == 0 && i < filter->n_terms; i++) {
		if (filter->terms[i].key != key)
			continue;
		r = read_pattern(&filter->terms[i], &pattern);
		if (r == 0)
			r = build(ret_glob, &pattern, filter->terms[i].is_excluded, &state);
	}
	return r;
}

/* BPF looks at each component's name and once more at where it hangs. */
static bool is_too_long(const char *path, size_t len)
{
	size_t steps = len;

	for (size_t i = 0; i < len; i++)
		steps += path[i] == '/';
	return steps >= EP_EXE_STEPS;
}

uint32_t ep_filter_match(const struct ep_glob *glob, enum ep_filter_key key, const char *text)
{
	struct ep_glob_state state;
	size_t len = strlen(text);

	if (key == EP_FILTER_EXE && (is_too_long(text, len) || len == 0))
		return 0;
	ep_glob_begin(glob, &state);
	for (size_t i = 0; i < len; i++)
		ep_glob_step(glob, &state, (uint8_t)text[key == EP_FILTER_EXE ? len - 1 - i : i]);
	return ep_glob_end(glob, &state) * EP_FILTER_IN(key);
}

void ep_filter_glob_start(const struct ep_glob *glob, uint32_t ret_bytes[8])
{
	memset(ret_bytes, 0, 8 * sizeof(*ret_bytes));
	for (unsigned int byte = 0; byte < 256; byte++) {
		uint64_t any = 0;

		for (size_t i = 0; i < EP_GLOB_WORDS; i++)
			any |= glob->first[i] & (glob->bytes[byte].moves[i] | glob->bytes[byte].stays[i]);
		ret_bytes[byte / 32] |= (uint32_t)(any != 0) << byte % 32;
	}
}
