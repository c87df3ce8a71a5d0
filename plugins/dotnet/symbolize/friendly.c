/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C#: Roslyn's GeneratedNames.cs and GeneratedNameKind.cs; Visual Basic: its
 * GeneratedNameConstants.vb and StringConstants.vb; F#: its CompilerGlobalState.fs, names with '@'.
 * A name may be made of such a name: the class of an async lambda is <<Run>b__0_0>d.
 */
#include "plugins/dotnet/symbolize/friendly.h"

#include <string.h>

#define MAX_DEPTH 4 /* names in names */

/* '{': a name, up to the character after it in the pattern; '*': the rest. Others are themselves.
 */
static const struct {
	enum dotnet_part part;
	const char *pattern;
	const char *suffix; /* after the first name; '$': a dot and the second name */
} rules[] = {
	{DOTNET_PART_METHOD, "<{>b__*", ".lambda"},
	{DOTNET_PART_METHOD, "<{>g__{|*", "$"},
	{DOTNET_PART_METHOD, "<{>$", ""}, /* of top-level statements */
	{DOTNET_PART_METHOD, "_Lambda$__*", "lambda"},
	{DOTNET_PART_CLOSURE, "<>c", ""},
	{DOTNET_PART_CLOSURE, "<>c__*", ""},
	{DOTNET_PART_CLOSURE, "_Closure$__*", ""},
	{DOTNET_PART_MACHINE, "<{>d", ""},
	{DOTNET_PART_MACHINE, "<{>d__*", ""},
	{DOTNET_PART_MACHINE, "VB$StateMachine_#_{", ""}, /* '#': digits */
	{DOTNET_PART_MACHINE, "{@#", ""},
	{DOTNET_PART_MACHINE, "{@#-#", ""},
	{DOTNET_PART_STEP, "MoveNext", ""},
	{DOTNET_PART_STEP, "Invoke", ""}, /* of F#'s closures, and the next ones */
	{DOTNET_PART_STEP, "Specialize", ""},
	{DOTNET_PART_STEP, "GenerateNext", ""},
};
#define N_RULES (sizeof(rules) / sizeof(rules[0]))

struct name {
	const char *at;
	size_t len;
};

/* Up to a character that is in no brackets; at the end of the text where `until` is 0. */
static size_t name_len(const char *text, size_t len, char until)
{
	size_t depth = 0, i;

	for (i = 0; i < len; i++) {
		if (depth == 0 && until && text[i] == until)
			break;
		depth += text[i] == '<';
		depth -= text[i] == '>' && depth > 0;
	}
	return i;
}

static bool name_matches(const char *pattern, struct name text, struct name names[2])
{
	size_t n, n_names = 0;

	for (; *pattern && *pattern != '*'; pattern++, text.at += n, text.len -= n) {
		if (*pattern == '{') {
			n = name_len(text.at, text.len, pattern[1]);
			names[n_names++] = (struct name){text.at, n};
		} else if (*pattern == '#') {
			n = strspn(text.at, "0123456789"); /* what ends a name is no digit */
		} else {
			n = text.len && *text.at == *pattern;
		}
		if (n == 0)
			return false;
	}
	return *pattern == '*' || text.len == 0;
}

/* NULL: none; else its suffix. */
static const char *find_rule(enum dotnet_part part, struct name text, struct name names[2])
{
	names[0] = names[1] = (struct name){"", 0};
	for (size_t i = 0; i < N_RULES; i++) {
		if (rules[i].part == part && name_matches(rules[i].pattern, text, names))
			return rules[i].suffix;
		names[0] = names[1] = (struct name){"", 0};
	}
	return NULL;
}

bool dotnet_friendly_is(enum dotnet_part part, const char *name)
{
	struct name names[2];

	return find_rule(part, (struct name){name, strlen(name)}, names) != NULL;
}

void dotnet_friendly_put(enum dotnet_part part, const char *name, struct text_writer *writer)
{
	struct name text = {name, strlen(name)}, names[2], second[MAX_DEPTH];
	const char *suffixes[MAX_DEPTH], *suffix;
	size_t depth = 0;

	while (depth < MAX_DEPTH && (suffix = find_rule(part, text, names)) != NULL) {
		suffixes[depth] = suffix;
		second[depth++] = names[1];
		text = names[0];
		part = DOTNET_PART_METHOD;
	}
	text_put_utf8(writer, (const uint8_t *)text.at, text.len);
	while (depth--) {
		suffix = suffixes[depth];
		if (*suffix == '$') {
			text_put(writer, '.');
			text_put_utf8(writer, (const uint8_t *)second[depth].at, second[depth].len);
		} else {
			text_put_string(writer, suffix);
		}
	}
}
