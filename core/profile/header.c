/* SPDX-License-Identifier: Apache-2.0 */
#include "core/profile/tables.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NS_PER_SEC 1000000000ull

static uint64_t sum(uint64_t a, uint64_t b)
{
	uint64_t value;

	return __builtin_add_overflow(a, b, &value) ? UINT64_MAX : value;
}

/* Inputs of which nobody knows when they were made: as long as the longest of them. */
static void join_times(struct ep_profile_builder *b, const struct ep_profile_header *header)
{
	if (!header->start_ns) {
		b->duration_ns = EP_MAX(b->duration_ns, header->duration_ns);
		return;
	}
	if (!b->start_ns || header->start_ns < b->start_ns)
		b->start_ns = header->start_ns;
	b->end_ns = EP_MAX(b->end_ns, sum(header->start_ns, header->duration_ns));
}

static void join_periods(struct ep_profile_builder *b, const struct ep_profile_header *header)
{
	if (!header->period_ns && !header->period_hz)
		return;
	b->has_periods |= b->period_ns && header->period_ns && b->period_ns != header->period_ns;
	b->has_rates |= b->period_hz && header->period_hz && b->period_hz != header->period_hz;
	b->period_ns = b->period_ns ? b->period_ns : header->period_ns;
	b->period_hz = b->period_hz ? b->period_hz : header->period_hz;
}

static int join_text(struct ep_profile_builder *b, const char *text, uint32_t *row)
{
	uint32_t other;
	int r = ep_profile_add_string(b, text, text ? strlen(text) : 0, &other);

	if (r < 0)
		return r;
	if (b->has_header && other != *row)
		return -EINVAL;
	*row = other;
	return 0;
}

/* Two hosts, or commands, are named both: "a, b". */
static int join_names(struct ep_profile_builder *b, const char *name, uint32_t *row)
{
	char both[256];
	const char *have = ep_profile_text(b, *row);
	int n;

	if (!name || !name[0] || strstr(have, name))
		return 0;
	n = snprintf(both, sizeof(both), "%s%s%s", have, have[0] ? ", " : "", name);
	if (n < 0 || (have[0] && n >= (int)sizeof(both)))
		return 0;
	return ep_profile_add_string(b, both, strlen(both), row);
}

int ep_profile_add_header(struct ep_profile_builder *b, const struct ep_profile_header *header)
{
	int r = b->error;

	if (r == 0)
		r = join_text(b, header->sample_type, &b->sample_type);
	if (r == 0)
		r = join_text(b, header->weight_unit, &b->weight_unit);
	if (r == 0)
		r = join_names(b, header->host_name, &b->host_name);
	if (r == 0)
		r = join_names(b, header->title, &b->title);
	if (r < 0) {
		b->error = b->error ? b->error : r;
		return r;
	}
	join_times(b, header);
	join_periods(b, header);
	b->lost_samples = sum(b->lost_samples, header->lost_samples);
	b->due_samples = sum(b->due_samples, header->due_samples);
	b->agent_cpu_ns = sum(b->agent_cpu_ns, header->agent_cpu_ns);
	b->bpf_ns = sum(b->bpf_ns, header->bpf_ns);
	b->n_cpus = EP_MAX(b->n_cpus, header->n_cpus);
	b->has_header = true;
	return 0;
}
