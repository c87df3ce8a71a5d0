/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/shared/otlp/frame_type.h"

#include <errno.h>

/*
 * Kinds of frames are frame types already (profile.frame.type, semantic conventions 1.44.0,
 * model/profile; custom values are allowed), but for what is no code: the OpenTelemetry profiler says
 * it like that, at the end of a stack or in its middle.
 */
static const char *type_of(const char *kind)
{
	if (strcmp(kind, "error") == 0 || strcmp(kind, "gap") == 0)
		return "abort-marker";
	return kind[0] ? kind : "unknown";
}

/* devfiler refuses a whole request for one frame type that is not in its list. */
static const char *const devfiler_types[] = {
	"native", "kernel", "jvm",  "perl", "cpython", "php",	       "phpjit",
	"ruby",	  "dotnet", "v8js", "beam", "go",      "abort-marker",
};

static bool devfiler_knows(const char *type)
{
	for (size_t i = 0; i < EP_LEN(devfiler_types); i++)
		if (strcmp(devfiler_types[i], type) == 0)
			return true;
	return false;
}

static const char *find_mapped(const struct otlp_encode_options *options, const char *type)
{
	for (uint32_t i = 0; i < options->n_frame_types; i++)
		if (strcmp(options->frame_types[i].from, type) == 0)
			return options->frame_types[i].to;
	return NULL;
}

const char *otlp_frame_type_of(const struct ep_batch *batch, uint32_t location,
			       const struct otlp_encode_options *options)
{
	const char *type = type_of(batch->string_text[batch->location_kind[location]]);
	const char *mapped = find_mapped(options, type);

	if (mapped)
		return mapped;
	if (options->devfiler && devfiler_knows(type))
		return type;
	mapped = find_mapped(options, "*");
	if (mapped && strcmp(type, "abort-marker") != 0)
		return mapped;
	return options->devfiler ? "native" : type;
}

/* --- the option --- */

static int copy_name(const char *from, size_t len, char to[OTLP_FRAME_TYPE_BYTES])
{
	if (len == 0 || len >= OTLP_FRAME_TYPE_BYTES)
		return -EINVAL;
	memcpy(to, from, len);
	to[len] = '\0';
	return 0;
}

static int parse_item(const char *item, size_t len, struct otlp_encode_options *options)
{
	const char *equals = memchr(item, '=', len);
	struct otlp_frame_type *pair = &options->frame_types[options->n_frame_types];

	if (len == strlen("devfiler") && memcmp(item, "devfiler", len) == 0) {
		options->devfiler = true;
		return 0;
	}
	if (!equals || options->n_frame_types == OTLP_MAX_FRAME_TYPES ||
	    copy_name(item, (size_t)(equals - item), pair->from) < 0 ||
	    copy_name(equals + 1, len - (size_t)(equals + 1 - item), pair->to) < 0)
		return -EINVAL;
	options->n_frame_types++;
	return 0;
}

int otlp_parse_frame_types(const char *text, struct otlp_encode_options *options)
{
	while (*text) {
		size_t len;
		int r;

		text += strspn(text, " ,");
		len = strcspn(text, " ,");
		r = len ? parse_item(text, len, options) : 0;
		if (r < 0)
			return r;
		text += len;
	}
	return 0;
}
