/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bpf/cpus.h"
#include "core/base/parse.h"

#include <errno.h>

#define ONLINE_PATH   "/sys/devices/system/cpu/online"
#define POSSIBLE_PATH "/sys/devices/system/cpu/possible"

/* "A" or "A-B" at *pos. */
static int parse_range(const char **pos, const char *end, struct ep_cpus *cpus)
{
	uint64_t first, last;
	int r = ep_parse_u64(pos, end, 10, &first);

	if (r < 0)
		return r;
	last = first;
	if (*pos < end && **pos == '-') {
		(*pos)++;
		r = ep_parse_u64(pos, end, 10, &last);
		if (r < 0)
			return r;
	}
	if (last < first || last >= EP_MAX_CPUS)
		return -EBADMSG;
	for (uint64_t cpu = first; cpu <= last; cpu++)
		cpus->bits[cpu / 64] |= 1ULL << cpu % 64;
	return 0;
}

int ep_cpus_parse(const char *text, size_t bytes, struct ep_cpus *ret_cpus)
{
	const char *pos = text, *end = text + bytes;
	struct ep_cpus cpus = {0};

	while (pos < end && *pos != '\n') {
		int r = parse_range(&pos, end, &cpus);

		if (r < 0)
			return -EBADMSG;
		if (pos < end && *pos == ',')
			pos++;
		else if (pos < end && *pos != '\n')
			return -EBADMSG;
	}
	*ret_cpus = cpus;
	return 0;
}

static int read_list(const char *path, struct ep_cpus *ret_cpus)
{
	struct ep_vec text;
	int r;

	ep_vec_init(&text, 1, 65536);
	r = ep_read_file(path, &text);
	if (r == 0)
		r = ep_cpus_parse(text.data, text.len, ret_cpus);
	ep_vec_fini(&text);
	return r;
}

int ep_cpus_read_online(struct ep_cpus *ret_cpus)
{
	return read_list(ONLINE_PATH, ret_cpus);
}

int ep_cpus_read_possible(struct ep_cpus *ret_cpus)
{
	return read_list(POSSIBLE_PATH, ret_cpus);
}

uint32_t ep_cpus_possible_end(void)
{
	struct ep_cpus possible;

	return ep_cpus_read_possible(&possible) < 0 ? 0 : ep_cpus_end(&possible);
}
