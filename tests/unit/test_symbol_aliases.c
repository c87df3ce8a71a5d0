/* SPDX-License-Identifier: Apache-2.0 */
/* Which of several symbols at one address names it. */
#include "core/base/util.h"
#include "core/symbol/aliases.h"
#include "tests/kit/test.h"

static const struct {
	const char *label;
	enum ep_symbol_kind kind, worse_kind;
	enum ep_symbol_binding binding, worse_binding;
	const char *name, *worse;
} rows[] = {
	{"a function before an IFUNC, whatever its binding", EP_SYMBOL_FUNCTION, EP_SYMBOL_IFUNC, EP_SYMBOL_LOCAL,
	 EP_SYMBOL_GLOBAL, "__new_memcpy_ifunc", "memcpy@@GLIBC_2.14"},
	{"an IFUNC before a stub", EP_SYMBOL_IFUNC, EP_SYMBOL_STUB, EP_SYMBOL_LOCAL, EP_SYMBOL_GLOBAL, "b", "a"},
	{"a function before a stub", EP_SYMBOL_FUNCTION, EP_SYMBOL_STUB, EP_SYMBOL_LOCAL, EP_SYMBOL_GLOBAL, "b", "a"},
	{"a stub before a label", EP_SYMBOL_STUB, EP_SYMBOL_LABEL, EP_SYMBOL_GLOBAL, EP_SYMBOL_GLOBAL, "puts", "a"},
	{"a function before a label", EP_SYMBOL_FUNCTION, EP_SYMBOL_LABEL, EP_SYMBOL_LOCAL, EP_SYMBOL_GLOBAL, "__b",
	 "a"},
	{"a label before data", EP_SYMBOL_LABEL, EP_SYMBOL_END, EP_SYMBOL_LOCAL, EP_SYMBOL_GLOBAL, "b", "a"},
	{"global before weak", EP_SYMBOL_FUNCTION, EP_SYMBOL_FUNCTION, EP_SYMBOL_GLOBAL, EP_SYMBOL_WEAK, "__write",
	 "write"},
	{"weak before local", EP_SYMBOL_FUNCTION, EP_SYMBOL_FUNCTION, EP_SYMBOL_WEAK, EP_SYMBOL_LOCAL, "__write", "w"},
	{"the version of today before an old one", 0, 0, 0, 0, "_IO_new_fopen@@GLIBC_2.1", "fopen@GLIBC_2.0"},
	{"no version before an old one", 0, 0, 0, 0, "__pthread_create", "pthread_create@GLIBC_2.2.5"},
	{"no version and that of today are equal", 0, 0, 0, 0, "fopen@@GLIBC_2.1", "_fopen"},
	{"fewer underscores", 0, 0, 0, 0, "longer_name", "_name"},
	{"fewer underscores of several", 0, 0, 0, 0, "_longer_name", "__name"},
	{"the shorter one", 0, 0, 0, 0, "open", "open64"},
	{"the shorter one without its version", 0, 0, 0, 0, "open@@GLIBC_2.2.5", "open64"},
	{"by its bytes", 0, 0, 0, 0, "memcpy", "memmov"},
	{"a name of C++ before a longer one", 0, 0, 0, 0, "_ZN1AC1Ev", "_ZN1AC2Ev"},
};

static int compare(enum ep_symbol_kind a_kind, enum ep_symbol_binding a_binding, const char *a,
		   enum ep_symbol_kind b_kind, enum ep_symbol_binding b_binding, const char *b)
{
	int by_rank = (int)ep_symbol_rank(a_kind, a_binding) - (int)ep_symbol_rank(b_kind, b_binding);

	return by_rank ? by_rank : ep_symbol_compare_names(a, strlen(a), b, strlen(b));
}

EP_TEST(best_symbol_of_an_address)
{
	for (size_t i = 0; i < EP_LEN(rows); i++) {
		int r = compare(rows[i].kind, rows[i].binding, rows[i].name, rows[i].worse_kind,
				rows[i].worse_binding, rows[i].worse);
		int back = compare(rows[i].worse_kind, rows[i].worse_binding, rows[i].worse, rows[i].kind,
				   rows[i].binding, rows[i].name);

		if (r >= 0 || back <= 0)
			fail_msg("%s: %d and %d", rows[i].label, r, back);
	}
}

EP_TEST(an_order_without_circles)
{
	static const char *const names[] = {"a", "_a", "a@V", "a@@V", "_a@V", "ab", "@", "@@", "", "_", "__", "a@", "b@@"};

	for (size_t i = 0; i < EP_LEN(names); i++) {
		for (size_t k = 0; k < EP_LEN(names); k++) {
			int ik = compare(0, 0, names[i], 0, 0, names[k]);

			assert_true((ik < 0) == (compare(0, 0, names[k], 0, 0, names[i]) > 0));
			for (size_t m = 0; m < EP_LEN(names); m++) {
				if (ik <= 0 && compare(0, 0, names[k], 0, 0, names[m]) <= 0)
					assert_true(compare(0, 0, names[i], 0, 0, names[m]) <= 0);
			}
		}
	}
}

EP_TEST(innermost_is_what_begins_last_then_what_is_shorter)
{
	assert_true(ep_symbol_is_inner(20, 100, 10, 5));
	assert_false(ep_symbol_is_inner(10, 5, 20, 100));
	assert_true(ep_symbol_is_inner(10, 5, 10, 6));
	assert_true(ep_symbol_is_inner(10, 5, 10, 5));
	assert_false(ep_symbol_is_inner(10, 6, 10, 5));
}
