/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bpf/idle.h"
#include "core/base/clock.h"
#include "core/base/parse.h"
#include "core/bpf/cpus.h"

#include <errno.h>
#include <string.h>

#define STAT_PATH      "/proc/stat"
#define STAT_MAX_BYTES (4u << 20)
#define USER_HZ	       100
#define N_FIELDS       7 /* user nice system idle iowait irq softirq */

void ep_idle_init(struct ep_vec *idle)
{
	ep_vec_init(idle, sizeof(struct ep_cpu_time), EP_MAX_CPUS);
}

static int parse_fields(const char **pos, const char *end, uint64_t fields[N_FIELDS])
{
	for (size_t i = 0; i < N_FIELDS; i++) {
		while (*pos < end && **pos == ' ')
			(*pos)++;
		if (ep_parse_u64(pos, end, 10, &fields[i]) < 0)
			return -EBADMSG;
	}
	return 0;
}

static int keep(struct ep_vec *idle, uint64_t cpu, const uint64_t ticks[N_FIELDS])
{
	int r = 0;

	if (cpu >= EP_MAX_CPUS)
		return 0;
	if (cpu >= idle->len)
		r = ep_vec_append(idle, NULL, (size_t)cpu + 1 - idle->len);
	if (r == 0)
		*ep_vec_at(idle, struct ep_cpu_time, cpu) = (struct ep_cpu_time){
			.idle_ns = (ticks[3] + ticks[4]) * (EP_NS_PER_SEC / USER_HZ),
			.busy_ns = (ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6]) *
				   (EP_NS_PER_SEC / USER_HZ),
		};
	return r;
}

/* One line without its newline; those of no CPU are passed over. */
static int parse_line(struct ep_vec *idle, const char *line, const char *end)
{
	uint64_t cpu, fields[N_FIELDS];
	const char *pos = line + 3;

	if (end - line < 4 || memcmp(line, "cpu", 3) != 0 || ep_parse_u64(&pos, end, 10, &cpu) < 0)
		return 0;
	if (parse_fields(&pos, end, fields) < 0)
		return -EBADMSG;
	return keep(idle, cpu, fields);
}

int ep_idle_parse(struct ep_vec *idle, const char *text, size_t bytes)
{
	const char *end = text + bytes;
	int r = 0;

	idle->len = 0;
	while (r == 0 && text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *stop = newline ? newline : end;

		r = parse_line(idle, text, stop);
		text = stop + 1;
	}
	return r;
}

int ep_idle_read(struct ep_vec *idle)
{
	struct ep_vec text;
	int r;

	ep_vec_init(&text, 1, STAT_MAX_BYTES);
	r = ep_read_file(STAT_PATH, &text);
	if (r == 0)
		r = ep_idle_parse(idle, text.data, text.len);
	ep_vec_fini(&text);
	return r;
}

struct ep_cpu_time ep_idle_get(const struct ep_vec *idle, uint32_t cpu)
{
	return cpu < idle->len ? *ep_vec_at(idle, struct ep_cpu_time, cpu) : (struct ep_cpu_time){0};
}
