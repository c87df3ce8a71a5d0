/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/parse.h"
#include "tests/kit/test.h"

EP_TEST(numbers_are_read_up_to_64_bits)
{
	static const struct {
		const char *text;
		unsigned int base;
		int r;
		uint64_t value;
		size_t used;
	} rows[] = {
		{"0", 10, 0, 0, 1},
		{"18446744073709551615", 10, 0, UINT64_MAX, 20},
		{"18446744073709551616", 10, -ERANGE, 0, 0},
		{"18446744073709551619", 10, -ERANGE, 0, 0},
		{"99999999999999999999", 10, -ERANGE, 0, 0},
		{"12ab", 10, 0, 12, 2},
		{"12aB-", 16, 0, 0x12ab, 4},
		{"ffffffffffffffff", 16, 0, UINT64_MAX, 16},
		{"10000000000000000", 16, -ERANGE, 0, 0},
		{"", 10, -EBADMSG, 0, 0},
		{"-1", 10, -EBADMSG, 0, 0},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		const char *pos = rows[i].text;
		uint64_t value = 0;
		int r = ep_parse_u64(&pos, pos + strlen(pos), rows[i].base, &value);

		if (r != rows[i].r || value != rows[i].value)
			fail_msg("%s: %d, %" PRIu64, rows[i].text, r, value);
		if (r == 0)
			assert_int_equal(pos - rows[i].text, rows[i].used);
	}
}
