/* SPDX-License-Identifier: Apache-2.0 */
/* What a user says of what is recorded, and the automaton that BPF matches names with. */
#include "core/config/filter.h"
#include "tests/kit/test.h"

#include <fnmatch.h>

static int add(struct ep_filter *filter, enum ep_filter_key key, const char *value, char *error)
{
	char option[32];

	snprintf(option, sizeof(option), "--%s", ep_filter_keys[key].name);
	return ep_filter_add(filter, key, option, value, error, 512);
}

static const struct {
	enum ep_filter_key key;
	const char *value, *error;
} refused[] = {
	{EP_FILTER_PID, "", "--pid takes process ids with commas between them, like --pid 1234,1235"},
	{EP_FILTER_PID, "12,", "--pid takes process ids with commas between them, like --pid 1234,1235"},
	{EP_FILTER_PID, "!", "--pid takes process ids with commas between them, like --pid 1234,1235"},
	{EP_FILTER_PID, "2147483648",
	 "--pid takes process ids with commas between them, like --pid 1234,1235"},
	{EP_FILTER_TID, "0", "--tid takes thread ids with commas between them, like --tid 1234,1235"},
	{EP_FILTER_CPU, "3-1", "--cpu takes CPUs with commas between them, like --cpu 0-3,5"},
	{EP_FILTER_CPU, "1-", "--cpu takes CPUs with commas between them, like --cpu 0-3,5"},
	{EP_FILTER_CPU, "8192", "--cpu takes CPUs with commas between them, like --cpu 0-3,5"},
	{EP_FILTER_COMM, "", "--comm needs a value: try --comm 'java*'"},
	{EP_FILTER_UNIT, "!", "--unit needs a value: try --unit nginx.service"},
	{EP_FILTER_USER, "nobody at all",
	 "--user: there is no user 'nobody at all': see `getent passwd`, or give a number"},
};

EP_TEST(errors_name_the_fix)
{
	for (size_t i = 0; i < EP_LEN(refused); i++) {
		struct ep_filter filter = {0};
		char error[512] = "";

		assert_int_equal(add(&filter, refused[i].key, refused[i].value, error), -EINVAL);
		assert_string_equal(error, refused[i].error);
	}
}

EP_TEST(values_add_up_and_keys_must_all_hold)
{
	struct ep_filter filter = {0};
	char error[512];

	assert_false(ep_filter_is_used(&filter));
	assert_int_equal(add(&filter, EP_FILTER_PID, "1,2,1", error), 0);
	assert_int_equal(filter.n_terms, 2);
	assert_int_equal(add(&filter, EP_FILTER_USER, "!0", error), 0);
	assert_int_equal(add(&filter, EP_FILTER_USER, "root", error), 0);
	assert_int_equal(filter.terms[3].number, 0);
	assert_int_equal(ep_filter_need(&filter),
			 EP_FILTER_IN(EP_FILTER_PID) | EP_FILTER_IN(EP_FILTER_USER));
	assert_int_equal(ep_filter_never(&filter), EP_FILTER_OUT(EP_FILTER_USER));
	ep_filter_drop(&filter, EP_FILTER_PID);
	assert_false(ep_filter_has(&filter, EP_FILTER_PID));
	assert_true(ep_filter_asks(&filter, EP_FILTER_USER));
}

EP_TEST(cpus_are_ranges_and_no_bits)
{
	struct ep_filter filter = {0}, others = {0};
	char error[512];

	assert_int_equal(add(&filter, EP_FILTER_CPU, "0-3,5", error), 0);
	assert_false(ep_filter_is_used(&filter));
	assert_true(ep_filter_takes_number(&filter, EP_FILTER_CPU, 0));
	assert_true(ep_filter_takes_number(&filter, EP_FILTER_CPU, 5));
	assert_false(ep_filter_takes_number(&filter, EP_FILTER_CPU, 4));
	assert_int_equal(add(&others, EP_FILTER_CPU, "!0,2", error), 0);
	assert_true(ep_filter_takes_number(&others, EP_FILTER_CPU, 1));
	assert_false(ep_filter_takes_number(&others, EP_FILTER_CPU, 2));
}

EP_TEST(keys_are_found_by_name)
{
	for (enum ep_filter_key key = EP_FILTER_PID; key < EP_FILTER_KEYS; key++) {
		const struct ep_filter_key_info *info = &ep_filter_keys[key];

		assert_int_equal(ep_filter_key_by_name(info->name), key);
	}
	assert_int_equal(ep_filter_key_by_name("x"), EP_FILTER_KEYS);
}

/* --- globs ------------------------------------------------------------------------------------ */

static uint32_t match(enum ep_filter_key key, const char *glob, const char *text)
{
	struct ep_filter filter = {0};
	struct ep_glob automaton;
	char error[512];

	assert_int_equal(add(&filter, key, glob, error), 0);
	assert_int_equal(ep_filter_compile(&filter, key, &automaton), 0);
	return ep_filter_match(&automaton, key, text);
}

static const struct {
	const char *glob, *text;
	bool is_match;
} matches[] = {
	{"java", "java", true},	      {"java", "javac", false},	     {"java", "jav", false},
	{"*", "", true},	      {"*", "x", true},		     {"java*", "java", true},
	{"java*", "javac", true},     {"*va", "java", true},	     {"*va", "vax", false},
	{"j*a", "ja", true},	      {"j*a*a", "java", true},	     {"j*v*v", "java", false},
	{"????", "java", true},	      {"???", "java", false},	     {"[a-j]ava", "java", true},
	{"[!a-j]ava", "java", false}, {"[!k]ava", "java", true},     {"[]]x", "]x", true},
	{"[a-]x", "-x", true},	      {"\\*x", "*x", true},	     {"\\*x", "ax", false},
	{"[abc", "[abc", true},	      {"kworker/0:*", "kworker/0:1", true},
	{"**a", "ba", true},	      {"a**", "a", true},	     {"\xc3\xa9*", "\xc3\xa9t", true},
};

EP_TEST(names_match_globs)
{
	for (size_t i = 0; i < EP_LEN(matches); i++) {
		uint32_t bits = match(EP_FILTER_COMM, matches[i].glob, matches[i].text);

		if (bits != (matches[i].is_match ? EP_FILTER_IN(EP_FILTER_COMM) : 0))
			fail_msg("%s %s", matches[i].glob, matches[i].text);
	}
	assert_int_equal(match(EP_FILTER_COMM, "!java", "java"), EP_FILTER_OUT(EP_FILTER_COMM));
}

static const struct {
	const char *glob, *path;
	bool is_match;
} paths[] = {
	{"python3*", "/usr/bin/python3.11", true},  {"python3*", "/opt/python3/bin/x", false},
	{"/usr/*", "/usr/bin/env", true},	    {"/usr/*", "/opt/usr/env", false},
	{"/usr/bin/env", "/usr/bin/env", true},	    {"*/env", "/usr/bin/env", true},
	{"*/e", "/usr/bin/env", false},		    {"env", "", false},
};

EP_TEST(paths_match_globs)
{
	char path[2 * EP_EXE_STEPS];

	for (size_t i = 0; i < EP_LEN(paths); i++) {
		uint32_t bits = match(EP_FILTER_EXE, paths[i].glob, paths[i].path);

		if (bits != (paths[i].is_match ? EP_FILTER_IN(EP_FILTER_EXE) : 0))
			fail_msg("%s %s", paths[i].glob, paths[i].path);
	}
	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[EP_EXE_STEPS] = '\0';
	assert_int_equal(match(EP_FILTER_EXE, "*", path), 0);
}

/* The C library's own, over all short texts of few letters. */
EP_TEST(automaton_agrees_with_fnmatch)
{
	static const char *const globs[] = {"*a*b", "a?b*", "*ab*ba*", "[ab]*a", "??*", "b*b*b", "*[!a]"};
	char text[7];

	for (size_t i = 0; i < EP_LEN(globs); i++) {
		struct ep_filter filter = {0};
		struct ep_glob automaton;
		char error[512];

		assert_int_equal(add(&filter, EP_FILTER_COMM, globs[i], error), 0);
		assert_int_equal(ep_filter_compile(&filter, EP_FILTER_COMM, &automaton), 0);
		for (unsigned int n = 0; n < 4096; n++) {
			size_t len = n % 7;

			for (size_t at = 0; at < len; at++)
				text[at] = "abcb"[n >> (2 * at) & 3];
			text[len] = '\0';
			assert_int_equal(ep_filter_match(&automaton, EP_FILTER_COMM, text) != 0,
					 fnmatch(globs[i], text, 0) == 0);
		}
	}
}

EP_TEST(the_first_byte_rules_most_names_out)
{
	struct ep_filter filter = {0};
	struct ep_glob automaton;
	uint32_t start[8];
	char error[512];

	assert_int_equal(add(&filter, EP_FILTER_COMM, "java*", error), 0);
	assert_int_equal(add(&filter, EP_FILTER_COMM, "![0-9]x", error), 0);
	assert_int_equal(ep_filter_compile(&filter, EP_FILTER_COMM, &automaton), 0);
	ep_filter_glob_start(&automaton, start);
	for (unsigned int byte = 1; byte < 256; byte++)
		assert_int_equal(start[byte / 32] >> byte % 32 & 1,
				 byte == 'j' || (byte >= '0' && byte <= '9'));
	assert_int_equal(add(&filter, EP_FILTER_COMM, "*", error), 0);
	assert_int_equal(ep_filter_compile(&filter, EP_FILTER_COMM, &automaton), 0);
	ep_filter_glob_start(&automaton, start);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(start[i], UINT32_MAX);
}

EP_TEST(many_globs_share_the_words)
{
	struct ep_filter filter = {0};
	struct ep_glob automaton;
	static char values[20][32]; /* are borrowed */
	char name[32], error[512];
	int n = 0, r = 0;

	/* 15 characters and their end: 16 of them fill all states, over the bounds of words. */
	for (; r == 0 && n < 20; n++) {
		snprintf(values[n], sizeof(values[n]), "%sname-%09d", n % 2 ? "!" : "", n);
		r = add(&filter, EP_FILTER_COMM, values[n], error);
	}
	assert_int_equal(r, -EINVAL);
	assert_non_null(strstr(error, "longer than 256 characters together"));
	filter.n_terms--;
	assert_int_equal(ep_filter_compile(&filter, EP_FILTER_COMM, &automaton), 0);
	for (int i = 0; i < n - 1; i++) {
		snprintf(name, sizeof(name), "name-%09d", i);
		assert_int_equal(ep_filter_match(&automaton, EP_FILTER_COMM, name),
				 i % 2 ? EP_FILTER_OUT(EP_FILTER_COMM) : EP_FILTER_IN(EP_FILTER_COMM));
	}
	assert_int_equal(ep_filter_match(&automaton, EP_FILTER_COMM, "name-000000099"), 0);
}
