/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of a sample's values is read, and what it is. A profile has several: "samples/count, cpu/nanoseconds",
 * or "alloc_objects/count, alloc_space/bytes, inuse_objects/count, inuse_space/bytes". One is the weight: that
 * which the file says is to be shown first, else "cpu", else "samples", else the last, as pprof does it. Another
 * one that counts the same things is the count.
 */
#include "reports/read/pprof/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NS_PER_SEC 1000000000ull
#define TEXT_BYTES 512

/* --- our own comments (exporters/pprof/encode.c) --- */

#define OURS "ebpf-profiler"
#define HOST "host: "

struct notes {
	char host[TEXT_BYTES];
	uint64_t lost;
	uint32_t hz;
};

static void read_comments(struct pprof *p, struct notes *notes)
{
	const uint64_t *comment;

	ep_vec_each(&p->comments, comment) {
		char text[TEXT_BYTES];
		uint64_t samples, lost;
		uint32_t hz;

		pprof_copy_text(p, *comment, text, TEXT_BYTES);
		if (comment == p->comments.data)
			p->is_ours = strncmp(text, OURS, strlen(OURS)) == 0;
		if (!p->is_ours)
			return;
		if (strncmp(text, HOST, strlen(HOST)) == 0)
			snprintf(notes->host, sizeof(notes->host), "%s", text + strlen(HOST));
		else if (sscanf(text, "samples: %" SCNu64 " at %" SCNu32 " Hz, %" SCNu64 " lost",
				&samples, &hz, &lost) == 3)
			notes->lost = lost, notes->hz = hz;
	}
}

/* --- types --- */

/* Nanoseconds that one of a unit of time is; 0: it is no time. */
static uint64_t nanoseconds(struct pprof *p, uint64_t unit)
{
	static const struct {
		const char *names[3];
		uint64_t ns;
	} units[] = {
		{{"nanoseconds", "nanosecond", "ns"}, 1},
		{{"microseconds", "microsecond", "us"}, 1000},
		{{"milliseconds", "millisecond", "ms"}, 1000 * 1000},
		{{"seconds", "second", "s"}, NS_PER_SEC},
	};

	for (size_t i = 0; i < EP_LEN(units); i++) {
		for (size_t j = 0; j < EP_LEN(units[i].names); j++) {
			if (pprof_is(p, unit, units[i].names[j]))
				return units[i].ns;
		}
	}
	return 0;
}

static uint32_t find_type(struct pprof *p, const char *name)
{
	for (uint32_t i = 0; i < p->n_types; i++) {
		if (pprof_is(p, p->types[i].type, name))
			return i;
	}
	return p->n_types;
}

static uint32_t choose_weight(struct pprof *p)
{
	uint32_t at;

	for (uint32_t i = 0; i < p->n_types && p->default_type; i++) {
		if (p->types[i].type == p->default_type)
			return i;
	}
	at = find_type(p, "cpu");
	if (at == p->n_types)
		at = find_type(p, "samples");
	return at < p->n_types ? at : p->n_types - 1;
}

static bool is_count(struct pprof *p, uint32_t at)
{
	return pprof_is(p, p->types[at].unit, "count") || pprof_is(p, p->types[at].unit, "");
}

/* "alloc_objects" counts what "alloc_space" weighs: the words before the '_' are the same. */
static bool counts_same(struct pprof *p, uint32_t a, uint32_t b)
{
	char first[TEXT_BYTES], second[TEXT_BYTES];
	size_t bytes;

	pprof_copy_text(p, p->types[a].type, first, TEXT_BYTES);
	pprof_copy_text(p, p->types[b].type, second, TEXT_BYTES);
	bytes = strcspn(first, "_");
	return first[bytes] && strncmp(first, second, bytes + 1) == 0;
}

static uint32_t choose_count(struct pprof *p, uint32_t weight_at)
{
	uint32_t n_counts = 0, last = p->n_types;

	if (is_count(p, weight_at))
		return weight_at;
	for (uint32_t i = 0; i < p->n_types; i++) {
		if (!is_count(p, i))
			continue;
		if (counts_same(p, i, weight_at))
			return i;
		n_counts++;
		last = i;
	}
	return n_counts == 1 ? last : find_type(p, "samples");
}

/* --- the header --- */

/*
 * Where samples are only counted, and each stands for some CPU time, they weigh that. Else a weight in time is
 * in nanoseconds, whatever the file has.
 */
static void set_weight(struct pprof *p, struct ep_profile_header *header, char type[TEXT_BYTES],
		       char unit[TEXT_BYTES])
{
	const struct pprof_type *weight = &p->types[p->weight_at];
	uint64_t ns = nanoseconds(p, weight->unit);
	uint64_t period_ns = nanoseconds(p, p->period_type.unit);

	pprof_copy_text(p, weight->type, type, TEXT_BYTES);
	pprof_copy_text(p, weight->unit, unit, TEXT_BYTES);
	header->sample_type = type;
	header->weight_unit = ns ? "nanoseconds" : unit;
	p->scale = ns ? ns : 1;
	if (is_count(p, p->weight_at) && pprof_is(p, p->period_type.type, "cpu") && period_ns &&
	    p->period && p->period < UINT64_MAX / period_ns) {
		header->sample_type = "cpu";
		header->weight_unit = "nanoseconds";
		p->scale = p->period * period_ns;
		header->period_ns = p->scale;
	} else if (ns && period_ns && p->period < UINT64_MAX / period_ns) {
		header->period_ns = p->period * period_ns;
		p->count_period = header->period_ns;
	} else if (p->period_type.type == weight->type) {
		header->period_ns = p->period; /* in the unit of the weight */
		p->count_period = p->period;
	}
	if (!header->weight_unit[0])
		header->weight_unit = "count";
}

/* Of a file that was cut off between two fields: strings come last in it. */
static int check_strings(struct pprof *p)
{
	uint64_t last = EP_MAX(p->period_type.type, p->period_type.unit);
	const uint64_t *comment;
	const char *text;
	size_t bytes;

	ep_vec_each(&p->comments, comment)
		last = EP_MAX(last, *comment);
	for (uint32_t i = 0; i < p->n_types; i++)
		last = EP_MAX(last, EP_MAX(p->types[i].type, p->types[i].unit));
	return last ? pprof_text(p, last, &text, &bytes) : 0;
}

int pprof_header(struct pprof *p)
{
	struct notes notes = {.host = ""};
	struct ep_profile_header header = {0};
	char type[TEXT_BYTES], unit[TEXT_BYTES];
	int r;

	if (!p->n_types)
		return pprof_bad(p, p->start, "it does not say what its samples are");
	r = check_strings(p);
	if (r < 0)
		return r;
	read_comments(p, &notes);
	p->weight_at = choose_weight(p);
	p->count_at = choose_count(p, p->weight_at);
	set_weight(p, &header, type, unit);
	header.start_ns = p->time_ns;
	header.duration_ns = p->duration_ns;
	header.lost_samples = notes.lost;
	header.host_name = notes.host;
	header.period_hz = notes.hz;
	if (!header.period_hz && header.period_ns && strcmp(header.weight_unit, "nanoseconds") == 0)
		header.period_hz = (uint32_t)EP_MIN(
			(NS_PER_SEC + header.period_ns / 2) / header.period_ns,
			(uint64_t)UINT32_MAX);
	return ep_profile_add_header(p->builder, &header);
}
