/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/dotnet/tests/live/step/step.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RANGES 65536
#define MAX_NAMES  (1u << 20)
#define LINE_BYTES 4096
#define NAME_BYTES 40

struct range {
	uint64_t start, end;
	enum range_kind kind;
};

struct name {
	uint64_t start, end;
	char kind[NAME_BYTES];
	bool has_filter;
};

struct ranges {
	pid_t pid;
	struct ep_vec all, names; /* struct range, struct name: in the order of their starts */
};

static enum range_kind kind_of(const char *path)
{
	size_t len = strlen(path);

	if (len == 0 || strncmp(path, "/memfd:doublemapper", 19) == 0)
		return RANGE_MADE;
	return len > 4 && strcmp(path + len - 4, ".dll") == 0 ? RANGE_IMAGE : RANGE_NATIVE;
}

static int read_maps(struct ranges *ranges)
{
	char line[LINE_BYTES], path[64];
	FILE *maps;
	int r = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)ranges->pid);
	maps = fopen(path, "r");
	if (!maps)
		return -ESRCH;
	ranges->all.len = 0;
	while (r == 0 && fgets(line, sizeof(line), maps)) {
		struct range range;
		char prot[8];
		int at = 0;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %*s %n", &range.start,
			   &range.end, prot, &at) != 3 ||
		    prot[2] != 'x')
			continue;
		line[strcspn(line, "\n")] = '\0';
		range.kind = kind_of(line + at);
		r = ep_vec_append(&ranges->all, &range, 1);
	}
	fclose(maps);
	return r;
}

struct ranges *ranges_new(pid_t pid)
{
	struct ranges *ranges = calloc(1, sizeof(*ranges));

	if (!ranges)
		return NULL;
	ranges->pid = pid;
	ep_vec_init(&ranges->all, sizeof(struct range), MAX_RANGES);
	ep_vec_init(&ranges->names, sizeof(struct name), MAX_NAMES);
	return ranges;
}

void ranges_free(struct ranges *ranges)
{
	if (!ranges)
		return;
	ep_vec_fini(&ranges->all);
	ep_vec_fini(&ranges->names);
	free(ranges);
}

static const struct range *find_range(const struct ranges *ranges, uint64_t addr)
{
	const struct range *range;

	ep_vec_each (&ranges->all, range) {
		if (addr >= range->start && addr < range->end)
			return range;
	}
	return NULL;
}

enum range_kind ranges_find(struct ranges *ranges, uint64_t addr)
{
	const struct range *range = find_range(ranges, addr);

	if (!range && read_maps(ranges) == 0)
		range = find_range(ranges, addr);
	return range ? range->kind : RANGE_NATIVE;
}

bool ranges_has_native(const struct ranges *ranges, uint64_t addr)
{
	const struct range *range = find_range(ranges, addr);

	return range && range->kind == RANGE_NATIVE;
}

/* --- "7f0a1b2c 4d int32 [Burner] Burner.Leaf::Spin(int32)[Tier1]", "7f0a1b2c 20 stub
 * Link<InstantiatingStub>" */

static void read_kind(struct name *name, char *line)
{
	size_t len = strcspn(line, "\n");
	char *begin;

	line[len] = '\0';
	name->has_filter = strstr(line, "::Filtered(");
	begin = strrchr(line, strncmp(line, "stub", 4) == 0 ? '<' : '[');
	snprintf(name->kind, sizeof(name->kind), "%.*s", NAME_BYTES - 1, begin ? begin : line);
}

static int by_start(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

int ranges_read_names(struct ranges *ranges, const char *path)
{
	char line[LINE_BYTES];
	FILE *map = fopen(path, "r");
	int r = 0;

	if (!map)
		return -ENOENT;
	ranges->names.len = 0;
	while (r == 0 && fgets(line, sizeof(line), map)) {
		struct name name;
		uint64_t bytes;
		int at = 0;

		if (sscanf(line, "%" SCNx64 " %" SCNx64 " %n", &name.start, &bytes, &at) != 2)
			continue;
		name.end = name.start + bytes;
		read_kind(&name, line + at);
		r = ep_vec_append(&ranges->names, &name, 1);
	}
	fclose(map);
	qsort(ranges->names.data, ranges->names.len, sizeof(struct name), by_start);
	return r;
}

static const struct name *find_name(const struct ranges *ranges, uint64_t addr)
{
	const struct name *names = ranges->names.data;
	size_t low = 0, high = ranges->names.len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (names[middle].start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low == 0 || addr >= names[low - 1].end ? NULL : &names[low - 1];
}

uint64_t ranges_find_name(const struct ranges *ranges, uint64_t addr, const char **ret_name)
{
	const struct name *name = find_name(ranges, addr);

	if (!name)
		return 0;
	*ret_name = name->kind;
	return name->start;
}

bool ranges_has_filter(const struct ranges *ranges, uint64_t addr)
{
	const struct name *name = find_name(ranges, addr);

	return name && name->has_filter;
}
