/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/read/otlp/reading.h"

#include <string.h>

#define NS_PER_SECOND 1000000000ull

static void set_text(struct otlp_reading *reader, const struct otlp_attribute *attribute, char to[256])
{
	otlp_copy_text(otlp_reading_text(reader, attribute), to, 256);
}

void otlp_header_set(struct otlp_reading *reader, const struct otlp_attribute *attribute)
{
	struct ep_profile_header *header = &reader->header.header;

	switch (attribute->key) {
	case KEY_SAMPLE_TYPE:
		reader->header.is_said = true;
		set_text(reader, attribute, reader->header.sample_type);
		break;
	case KEY_WEIGHT_UNIT:
		set_text(reader, attribute, reader->header.weight_unit);
		break;
	case KEY_START:
		header->start_ns = attribute->value;
		break;
	case KEY_DURATION:
		header->duration_ns = attribute->value;
		break;
	case KEY_PERIOD:
		header->period_ns = attribute->value;
		break;
	case KEY_FREQUENCY:
		header->period_hz = (uint32_t)attribute->value;
		break;
	case KEY_LOST_SAMPLES:
		header->lost_samples = attribute->value;
		break;
	case KEY_DUE_SAMPLES:
		header->due_samples = attribute->value;
		break;
	case KEY_COST_AGENT:
		header->agent_cpu_ns = attribute->value;
		break;
	case KEY_COST_BPF:
		header->bpf_ns = attribute->value;
		break;
	case KEY_CPUS:
		header->n_cpus = (uint32_t)attribute->value;
		break;
	case KEY_TITLE:
		set_text(reader, attribute, reader->header.title);
		break;
	default:
		break;
	}
}

static bool same_text(struct ep_proto a, struct ep_proto b)
{
	return ep_proto_left(&a) == ep_proto_left(&b) && memcmp(a.at, b.at, ep_proto_left(&a)) == 0;
}

bool otlp_header_join(struct otlp_reading *reader, const struct otlp_profile *profile)
{
	struct otlp_header *h = &reader->header;
	uint64_t end_ns;

	if (!h->is_known) {
		h->is_known = true;
		h->type = profile->type;
		h->start_ns = profile->start_ns;
		h->header.period_ns = profile->is_counted ? profile->period : 0;
	}
	if (!same_text(h->type.name, profile->type.name) || !same_text(h->type.unit, profile->type.unit))
		return false;
	if (__builtin_add_overflow(profile->start_ns, profile->duration_ns, &end_ns))
		end_ns = UINT64_MAX;
	h->start_ns = EP_MIN(h->start_ns, profile->start_ns);
	h->end_ns = EP_MAX(h->end_ns, end_ns);
	return true;
}

int otlp_header_add(struct otlp_reading *reader)
{
	struct otlp_header *h = &reader->header;

	if (!h->is_said && !h->is_known)
		return 0;
	if (!h->is_said) {
		otlp_copy_text(h->type.name, h->sample_type, sizeof(h->sample_type));
		otlp_copy_text(h->type.unit, h->weight_unit, sizeof(h->weight_unit));
		h->header.start_ns = h->start_ns;
		h->header.duration_ns = h->end_ns - h->start_ns;
		if (h->header.period_ns && strcmp(h->weight_unit, "nanoseconds") == 0)
			h->header.period_hz = (uint32_t)EP_MIN(NS_PER_SECOND / h->header.period_ns, NS_PER_SECOND);
	}
	h->header.host_name = h->host_name;
	h->header.title = h->title;
	h->header.sample_type = h->sample_type;
	h->header.weight_unit = h->weight_unit;
	return ep_profile_add_header(reader->builder, &h->header);
}
