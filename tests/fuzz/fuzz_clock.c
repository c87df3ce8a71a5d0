/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/PID/timens_offsets. What is refused changes nothing; what is understood is within the range of seconds, and reads
 * the same when it is printed as the kernel does (fs/proc/base.c, timens_offsets_show).
 */
#include "core/base/clock.h"
#include "core/base/util.h"
#include "tests/kit/fuzz.h"

#define UNTOUCHED 7

static int print_offset(char *to, size_t bytes, const char *name, int64_t offset_ns)
{
	int64_t ns = offset_ns % (int64_t)EP_NS_PER_SEC, seconds = offset_ns / (int64_t)EP_NS_PER_SEC;

	if (ns < 0) {
		ns += (int64_t)EP_NS_PER_SEC;
		seconds--;
	}
	return snprintf(to, bytes, "%-10s %10" PRId64 " %9" PRId64 "\n", name, seconds, ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ep_clock_offsets found = {UNTOUCHED, UNTOUCHED}, again = {0};
	ep_autofree char *text = malloc(size ? size : 1); /* reads past it are seen */
	char printed[128];
	int n;

	assert(text);
	memcpy(text, data, size);
	if (ep_clock_parse_offsets(text, size, &found) < 0) {
		assert(found.mono_ns == UNTOUCHED && found.boot_ns == UNTOUCHED);
		return 0;
	}
	n = print_offset(printed, sizeof(printed), "monotonic", found.mono_ns);
	n += print_offset(printed + n, sizeof(printed) - (size_t)n, "boottime", found.boot_ns);
	assert(ep_clock_parse_offsets(printed, (size_t)n, &again) == 0);
	assert(again.mono_ns == found.mono_ns && again.boot_ns == found.boot_ns);
	return 0;
}
