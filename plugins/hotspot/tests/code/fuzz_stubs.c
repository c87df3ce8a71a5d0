/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A VM's memory of any bytes: reading ends, names end, and ranges ascend;
 * so does a second look at it when parts are not the same any more.
 *
 *	input	memory from WORLD_ADDR on; a pointer within is what it was made for
 */
#include "plugins/hotspot/tests/code/world.h"

#include "tests/kit/fuzz.h"

static void check(const struct hotspot_stubs *stubs)
{
	const struct ep_range *ranges;
	size_t n = hotspot_stubs_ranges(stubs, &ranges);

	assert(n <= EP_MAX_RANGES);
	for (size_t i = 0; i < n; i++) {
		const char *name = hotspot_stubs_name(stubs, ranges[i].start);

		assert(ranges[i].start < ranges[i].end);
		assert(!i || ranges[i - 1].end <= ranges[i].start);
		assert(!name || strlen(name) < 256);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct world world;
	struct hotspot_layout layout = world_layout();
	struct memory memory = { world_read, &world };
	struct hotspot_stubs *stubs = NULL, *again = NULL;

	world.size = size < WORLD_BYTES ? size : WORLD_BYTES;
	memcpy(world.bytes, data, world.size);
	if (hotspot_stubs_read(&memory, &layout, NULL, 0, NULL, &stubs))
		return 0;
	check(stubs);
	/* Some of it is not what it was. */
	for (size_t i = 0; i < world.size; i += 509)
		world.bytes[i] ^= 0x10;
	if (!hotspot_stubs_read(&memory, &layout, NULL, 0, stubs, &again))
		check(again);
	hotspot_stubs_free(again);
	hotspot_stubs_free(stubs);
	return 0;
}
