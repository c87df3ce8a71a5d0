/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/strings.h"
#include "tests/kit/test.h"

#define MAX_BYTES  100000u
#define TEXT_BYTES 1000u

/* A table has what it was given, once, and takes no more memory than it may. */
EP_TEST(texts_are_kept_once_and_within_the_limit)
{
	char text[TEXT_BYTES + 1];
	struct ep_strings *strings = NULL;
	uint32_t id = 0, again = 0, n;

	assert_int_equal(ep_strings_new(MAX_BYTES, &strings), 0);
	memset(text, 'x', TEXT_BYTES);
	for (n = 1; n < 10000; n++) {
		(void)snprintf(text, sizeof(text), "%u", n);
		if (ep_strings_add(strings, text, TEXT_BYTES, &id) < 0)
			break;
		assert_int_equal(id, n);
		assert_int_equal(ep_strings_add(strings, text, TEXT_BYTES, &again), 0);
		assert_int_equal(again, n);
		assert_memory_equal(ep_strings_get(strings, id), text, TEXT_BYTES);
	}
	assert_in_range(n, MAX_BYTES / TEXT_BYTES / 2, MAX_BYTES / TEXT_BYTES);
	assert_true(ep_strings_bytes(strings) <= MAX_BYTES + 20000); /* and a block */
	ep_strings_free(strings);
}
