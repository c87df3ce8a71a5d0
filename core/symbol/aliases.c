/* SPDX-License-Identifier: Apache-2.0 */
#include "core/symbol/aliases.h"
#include "core/base/util.h"

#include <string.h>

static size_t count_underscores(const char *name, size_t len)
{
	size_t n = 0;

	while (n < len && name[n] == '_')
		n++;
	return n;
}

/* Length up to "@VERSION". A name does not begin with it. */
static size_t base_length(const char *name, size_t len)
{
	const char *at = len ? memchr(name + 1, '@', len - 1) : NULL;

	return at ? (size_t)(at - name) : len;
}

/* name@VERSION: for programs that were linked long ago (binutils, ld manual, "VERSION Command"). */
static bool is_old(const char *name, size_t base_len, size_t len)
{
	return base_len < len && !(base_len + 1 < len && name[base_len + 1] == '@');
}

int ep_symbol_compare_names(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t a_base = base_length(a, a_len), b_base = base_length(b, b_len);
	size_t a_underscores = count_underscores(a, a_base), b_underscores = count_underscores(b, b_base);
	bool a_old = is_old(a, a_base, a_len), b_old = is_old(b, b_base, b_len);

	if (a_old != b_old)
		return a_old ? 1 : -1;
	if (a_underscores != b_underscores)
		return a_underscores < b_underscores ? -1 : 1;
	if (a_base != b_base)
		return a_base < b_base ? -1 : 1;
	return memcmp(a, b, a_base);
}
