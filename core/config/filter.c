/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config/filter.h"
#include "core/base/parse.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#define SPACE " \t\n\r"
#define MAX_CPU	     8191 /* EP_MAX_CPUS of core/bpf/cpus.h */
#define MAX_NAME     255  /* of a user, a unit, a container, one component of a path */
#define MAX_CGROUP   4095

const struct ep_filter_key_info ep_filter_keys[EP_FILTER_KEYS] = {
	[EP_FILTER_PID] = {"pid", "1234,1235", true},
	[EP_FILTER_TID] = {"tid", "1234,1235", true},
	[EP_FILTER_CGROUP] = {"cgroup", "system.slice", false},
	[EP_FILTER_CONTAINER] = {"container", "3f2a", false},
	[EP_FILTER_UNIT] = {"unit", "nginx.service", false},
	[EP_FILTER_COMM] = {"comm", "'java*'", false},
	[EP_FILTER_EXE] = {"exe", "'/opt/*/bin/*'", false},
	[EP_FILTER_USER] = {"user", "www-data", true},
	[EP_FILTER_CPU] = {"cpu", "0-3,5", true},
};

enum ep_filter_key ep_filter_key_by_name(const char *name)
{
	enum ep_filter_key key = EP_FILTER_PID;

	while (key < EP_FILTER_KEYS && strcmp(ep_filter_keys[key].name, name) != 0)
		key++;
	return key;
}

/* --- values ----------------------------------------------------------------------------------- */

static bool read_number(const char *text, size_t len, uint64_t max, uint64_t *ret)
{
	const char *pos = text, *end = text + len;

	return ep_parse_u64(&pos, end, 10, ret) == 0 && pos == end && *ret <= max;
}

static bool read_user(struct ep_filter_term *term)
{
	char name[MAX_NAME + 1];
	const struct passwd *user;

	if (read_number(term->text, term->len, UINT32_MAX - 1, &term->number))
		return true;
	snprintf(name, sizeof(name), "%.*s", (int)term->len, term->text);
	user = getpwnam(name);
	if (user)
		term->number = user->pw_uid;
	return user != NULL;
}

static bool read_cpus(struct ep_filter_term *term)
{
	const char *dash = memchr(term->text, '-', term->len);
	size_t len = dash ? (size_t)(dash - term->text) : term->len;

	if (!read_number(term->text, len, MAX_CPU, &term->number))
		return false;
	term->last = term->number;
	return !dash || (read_number(dash + 1, term->len - len - 1, MAX_CPU, &term->last) &&
			 term->last >= term->number);
}

static bool read_term(struct ep_filter_term *term)
{
	switch (term->key) {
	case EP_FILTER_PID:
	case EP_FILTER_TID:
		return read_number(term->text, term->len, INT_MAX, &term->number) && term->number;
	case EP_FILTER_USER:
		return term->len <= MAX_NAME && read_user(term);
	case EP_FILTER_CPU:
		return read_cpus(term);
	case EP_FILTER_CGROUP:
		return term->len <= MAX_CGROUP;
	default:
		return term->len <= MAX_NAME;
	}
}

static void say_unreadable(const struct ep_filter_term *term, const char *option, char *error,
			   size_t bytes)
{
	const struct ep_filter_key_info *info = &ep_filter_keys[term->key];
	static const char *const what[EP_FILTER_KEYS] = {
		[EP_FILTER_PID] = "process ids",
		[EP_FILTER_TID] = "thread ids",
		[EP_FILTER_CPU] = "CPUs",
	};

	if (term->key == EP_FILTER_USER)
		snprintf(error, bytes, "%s: there is no user '%.*s': see `getent passwd`, or give a number",
			 option, (int)term->len, term->text);
	else if (what[term->key])
		snprintf(error, bytes, "%s takes %s with commas between them, like %s %s", option,
			 what[term->key], option, info->example);
	else
		snprintf(error, bytes, "%s takes less than that: '%.20s..' is too long", option,
			 term->text);
}

static bool has_term(const struct ep_filter *filter, const struct ep_filter_term *term)
{
	for (size_t i = 0; i < filter->n_terms; i++) {
		const struct ep_filter_term *have = &filter->terms[i];

		if (have->key == term->key && have->is_excluded == term->is_excluded &&
		    have->len == term->len && memcmp(have->text, term->text, term->len) == 0)
			return true;
	}
	return false;
}

static int add_term(struct ep_filter *filter, struct ep_filter_term term, const char *option,
		    char *error, size_t bytes)
{
	if (term.len == 0 && !ep_filter_keys[term.key].is_list) {
		snprintf(error, bytes, "%s needs a value: try %s %s", option, option,
			 ep_filter_keys[term.key].example);
		return -EINVAL;
	}
	if (!read_term(&term)) {
		say_unreadable(&term, option, error, bytes);
		return -EINVAL;
	}
	if (has_term(filter, &term))
		return 0;
	if (filter->n_terms == EP_FILTER_MAX_TERMS) {
		snprintf(error, bytes, "more than %d values of what is recorded: leave some out",
			 EP_FILTER_MAX_TERMS);
		return -EINVAL;
	}
	filter->terms[filter->n_terms++] = term;
	return 0;
}

int ep_filter_add(struct ep_filter *filter, enum ep_filter_key key, const char *option,
		  const char *value, char *error, size_t error_bytes)
{
	bool is_excluded = *value == '!', is_list = ep_filter_keys[key].is_list;
	/* Names of users may have blanks. */
	const char *blanks = is_list && key != EP_FILTER_USER ? SPACE : "";
	const char *separators = blanks[0] ? "," SPACE : is_list ? "," : "";
	struct ep_glob glob;

	value += is_excluded;
	for (;;) { /* also what `pgrep` prints: one a line */
		struct ep_filter_term term;
		const char *end;
		int r;

		value += strspn(value, blanks);
		end = value + strcspn(value, separators);
		term = (struct ep_filter_term){.key = key,
					       .is_excluded = is_excluded,
					       .text = value,
					       .len = (size_t)(end - value)};
		r = add_term(filter, term, option, error, error_bytes);
		if (r < 0)
			return r;
		end += strspn(end, blanks);
		if (*end == '\0')
			break;
		value = end + (*end == ',');
	}
	if ((key == EP_FILTER_COMM || key == EP_FILTER_EXE) &&
	    ep_filter_compile(filter, key, &glob) < 0) {
		snprintf(error, error_bytes, "the values of %s are longer than %d characters together: "
			 "leave some out, or shorten them with '*'", option, EP_GLOB_STATES);
		return -EINVAL;
	}
	return 0;
}

/* --- questions -------------------------------------------------------------------------------- */

bool ep_filter_has(const struct ep_filter *filter, enum ep_filter_key key)
{
	for (size_t i = 0; i < filter->n_terms; i++) {
		if (filter->terms[i].key == key)
			return true;
	}
	return false;
}

bool ep_filter_asks(const struct ep_filter *filter, enum ep_filter_key key)
{
	for (size_t i = 0; i < filter->n_terms; i++) {
		if (filter->terms[i].key == key && !filter->terms[i].is_excluded)
			return true;
	}
	return false;
}

void ep_filter_drop(struct ep_filter *filter, enum ep_filter_key key)
{
	size_t kept = 0;

	for (size_t i = 0; i < filter->n_terms; i++) {
		if (filter->terms[i].key != key || filter->terms[i].is_excluded)
			filter->terms[kept++] = filter->terms[i];
	}
	filter->n_terms = kept;
}

bool ep_filter_is_used(const struct ep_filter *filter)
{
	return ep_filter_need(filter) || ep_filter_never(filter);
}

uint32_t ep_filter_numbers(const struct ep_filter *filter, enum ep_filter_key key, uint32_t *numbers,
			   uint32_t max)
{
	uint32_t n = 0;

	for (size_t i = 0; i < filter->n_terms; i++) {
		if (filter->terms[i].key != key)
			continue;
		if (n < max)
			numbers[n] = (uint32_t)filter->terms[i].number;
		n++;
	}
	return n;
}

static uint32_t bits_of(const struct ep_filter *filter, bool is_excluded)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < filter->n_terms; i++) {
		const struct ep_filter_term *term = &filter->terms[i];

		if (term->key != EP_FILTER_CPU && term->is_excluded == is_excluded)
			bits |= is_excluded ? EP_FILTER_OUT(term->key) : EP_FILTER_IN(term->key);
	}
	return bits;
}

uint32_t ep_filter_need(const struct ep_filter *filter)
{
	return bits_of(filter, false);
}

uint32_t ep_filter_never(const struct ep_filter *filter)
{
	return bits_of(filter, true);
}

bool ep_filter_takes_number(const struct ep_filter *filter, enum ep_filter_key key, uint64_t number)
{
	bool is_asked = false, is_in = false, is_out = false;

	for (size_t i = 0; i < filter->n_terms; i++) {
		const struct ep_filter_term *term = &filter->terms[i];
		bool is_this = number >= term->number && number <= EP_MAX(term->number, term->last);

		if (term->key != key)
			continue;
		is_asked |= !term->is_excluded;
		is_in |= is_this && !term->is_excluded;
		is_out |= is_this && term->is_excluded;
	}
	return (is_in || !is_asked) && !is_out;
}
