/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/map.h"
#include "tests/kit/test.h"

#define KEYS 64

/* Sets and removals in any order, against a list of what must be there. */
EP_TEST(a_map_agrees_with_a_list)
{
	ep_cleanup(ep_map_fini) struct ep_map map;
	uint64_t values[KEYS] = {0}, random = 1;
	size_t len = 0;

	ep_map_init(&map, KEYS / 2);
	for (int round = 0; round < 20000; round++) {
		uint64_t key = (random = ep_mix64(random)) % KEYS;

		if (random >> 32 & 1) {
			int r = ep_map_set(&map, key, random | 1);

			assert_int_equal(r, !values[key] && len == KEYS / 2 ? -E2BIG : 0);
			len += r == 0 && !values[key];
			values[key] = r == 0 ? random | 1 : values[key];
		} else {
			assert_int_equal(ep_map_remove(&map, key), values[key] != 0);
			len -= values[key] != 0;
			values[key] = 0;
		}
		assert_int_equal(map.len, len);
		for (key = 0; key < KEYS; key++) {
			const uint64_t *value = ep_map_find(&map, key);

			assert_int_equal(value ? *value : 0, values[key]);
		}
	}
}
