/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The callback forms of libiberty's demanglers hand their output over in pieces, so that we can
 * stop: by longjmp, since a callback cannot refuse. Their state is on the stack (cp-demangle.c,
 * d_demangle_callback; rust-demangle.c, rust_demangle_callback), but for a punycode buffer that
 * such a jump can leak, once per hostile name. D has no such form: see d_is_harmless.
 */
#include "core/symbol/demangle.h"

#include "core/base/util.h"

#include <errno.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#define OPTIONS	       (DMGL_PARAMS | DMGL_ANSI)
#define D_MAX_INPUT    2048
#define D_MAX_BACKREFS 24

struct output {
	jmp_buf full;
	size_t len;
	char text[EP_DEMANGLE_MAX_OUTPUT];
};

typedef int (*demangle_fn)(const char *, int, demangle_callbackref, void *);

static void output_append(const char *piece, size_t len, void *opaque)
{
	struct output *output = opaque;
	size_t room = sizeof(output->text) - 1 - output->len;
	size_t n = EP_MIN(len, room);

	if (!len)
		return; /* piece may be NULL then */
	memcpy(output->text + output->len, piece, n);
	output->len += n;
	if (len > room)
		longjmp(output->full, 1);
}

static bool demangle_bounded(demangle_fn demangle, const char *symbol, struct output *output)
{
	output->len = 0;
	if (setjmp(output->full)) {
		memcpy(output->text + output->len - 3, "...", 3);
	} else if (!demangle(symbol, OPTIONS, output_append, output)) {
		return false;
	}
	output->text[output->len] = '\0';
	return output->len > 0;
}

/*
 * dlang_demangle builds its output in memory, and a back reference ('Q', D ABI "Back References")
 * repeats what may hold back references itself. With few of them the output cannot explode: n of
 * them give at most 3^(n/3) copies.
 */
static bool d_is_harmless(const char *symbol)
{
	size_t len = 0, backrefs = 0;

	for (; symbol[len]; len++)
		backrefs += symbol[len] == 'Q';
	return len <= D_MAX_INPUT && backrefs <= D_MAX_BACKREFS;
}

static bool demangle_d(const char *symbol, struct output *output)
{
	ep_autofree char *name = NULL;
	size_t len;

	if (!d_is_harmless(symbol))
		return false;
	name = dlang_demangle(symbol, OPTIONS);
	if (!name)
		return false;
	len = strlen(name);
	output->len = EP_MIN(len, sizeof(output->text) - 1);
	memcpy(output->text, name, output->len);
	if (len > output->len)
		memcpy(output->text + output->len - 3, "...", 3);
	output->text[output->len] = '\0';
	return output->len > 0;
}

/* The order is libiberty's own (cplus-dem.c, cplus_demangle): legacy Rust looks like C++. */
static bool demangle_any(const char *symbol, struct output *output)
{
	if (symbol[0] != '_')
		return false;
	if (symbol[1] == 'D')
		return demangle_d(symbol, output);
	if (symbol[1] == 'R')
		return demangle_bounded(rust_demangle_callback, symbol, output);
	if (symbol[1] == 'Z')
		return demangle_bounded(rust_demangle_callback, symbol, output) ||
		       demangle_bounded(cplus_demangle_v3_callback, symbol, output);
	if (!strncmp(symbol, "_GLOBAL_", 8)) /* static initialisers */
		return demangle_bounded(cplus_demangle_v3_callback, symbol, output);
	return false;
}

/* ---- text ---- */

/* `symbol` without its version; what is after the name in the result ("@plt" or ""). */
static const char *version_cut(char *symbol)
{
	char *at = symbol[0] ? strchr(symbol + 1, '@') : NULL;

	if (!at)
		return "";
	*at = '\0';
	return strcmp(at + 1, "plt") == 0 ? "@plt" : "";
}

static void symbol_copy(const char *symbol, char copy[EP_DEMANGLE_MAX_INPUT])
{
	size_t len = strnlen(symbol, EP_DEMANGLE_MAX_INPUT);

	memcpy(copy, symbol, EP_MIN(len, (size_t)EP_DEMANGLE_MAX_INPUT - 1));
	copy[EP_MIN(len, (size_t)EP_DEMANGLE_MAX_INPUT - 1)] = '\0';
	if (len == EP_DEMANGLE_MAX_INPUT) /* too long to try: shown as it begins */
		memcpy(copy + len - 4, "...", 4);
}

int ep_demangle(const char *symbol, char **ret_name)
{
	char copy[EP_DEMANGLE_MAX_INPUT];
	struct output output;
	const char *suffix, *text;
	size_t len;
	char *name;

	symbol_copy(symbol, copy);
	suffix = version_cut(copy);
	text = demangle_any(copy, &output) ? output.text : copy;
	len = strlen(text);
	name = malloc(len + strlen(suffix) + 1);
	if (!name)
		return -ENOMEM;
	memcpy(name, text, len);
	memcpy(name + len, suffix, strlen(suffix) + 1);
	ep_name_clean(name);
	*ret_name = name;
	return 0;
}
