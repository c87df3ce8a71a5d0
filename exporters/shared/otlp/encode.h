/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch as requests of the Profiles signal (ExportProfilesServiceRequest, opentelemetry-proto
 * 1.10 and 1.11, package v1development; wire.h says how messages are written).
 *
 *	request ── resource_profiles[]      one per process: Resource, Scope, Profiles (groups.h)
 *	        └── dictionary               mapping, location, function, link, string, attribute, stack
 *
 *  1. Element 0 of each table is the empty one and is always there.
 *  2. No table holds an element twice, and none that nothing refers to.
 *  3. A location has the attribute profile.frame.type; a list of attributes never has a key twice.
 *  4. A sample is (stack, attributes): equal ones are merged. On CPU: a timestamp for each event
 *     and no values; off CPU: a value for each timestamp. All lie in [time, time + duration).
 *  5. A request is at most max_bytes long. What does not fit goes into the next, which has a whole
 *     dictionary of its own. A sample that does not fit alone is left out and counted.
 *
 * Addresses are ELF virtual addresses, and mappings are executables, not mappings of one process.
 */
#ifndef OTLP_ENCODE_H
#define OTLP_ENCODE_H

#include "ebpf-profiler/batch.h"
#include "exporters/shared/otlp/wire.h"

#define OTLP_MAX_FRAME_TYPES  32
#define OTLP_FRAME_TYPE_BYTES 32
#define OTLP_MAX_NAMES	      32
#define OTLP_NAME_GLOB_BYTES  128

/* Replaces one frame type by another; from "*" stands for all that are not in the list. */
struct otlp_frame_type {
	char from[OTLP_FRAME_TYPE_BYTES], to[OTLP_FRAME_TYPE_BYTES];
};

/* All strings are borrowed, NULL or "" when there is none. */
struct otlp_encode_options {
	size_t max_bytes;
	const char *version;	  /* of the profiler */
	const char *service_name; /* for processes that do not say; "{exe}" in it is replaced */
	const char *resource_attributes; /* "key=value,..." as in OTEL_RESOURCE_ATTRIBUTES */
	const char *environment;	 /* names of variables, by comma */
	const char *host_id;
	const char *host_arch;
	uint64_t kernel_base;	  /* 0: not known */
	const char *modules_path; /* /proc/modules */
	bool per_cpu;		  /* a Profile for each CPU of a process (groups.h) */
	bool devfiler;		  /* no mapping attributes without htlhash */
	bool is_file;		  /* nothing is left out or replaced (file.h), and max_bytes is no limit */
	uint32_t n_frame_types;
	struct otlp_frame_type frame_types[OTLP_MAX_FRAME_TYPES];
	uint32_t n_names; /* 0: all attributes of a resource are sent */
	char names[OTLP_MAX_NAMES][OTLP_NAME_GLOB_BYTES]; /* else those of these names, globs */
};

#define OTLP_MAX_PIECES 9

/* One finished request; what is pointed at is valid during the call. */
struct otlp_request {
	struct {
		const uint8_t *data;
		size_t len;
	} pieces[OTLP_MAX_PIECES]; /* in this order they are the message */
	size_t n_pieces;
	size_t bytes;	  /* of all */
	uint64_t samples; /* events */
	uint64_t profiles;
};

struct otlp_sink {
	int (*take)(void *arg, const struct otlp_request *request); /* 0 or a negative errno */
	void *arg;
};

/*
 * Calls sink for each request; a batch without samples makes none. `ret_too_big`: events whose
 * sample did not fit. 0, -ENOMEM, -E2BIG (max_bytes is too small for anything), or the sink's
 * error.
 */
int otlp_encode(const struct ep_batch *batch, const struct otlp_encode_options *options,
		const struct otlp_sink *sink, uint64_t *ret_too_big);

/* "devfiler", "rust=native,wasm=native", "*=native", or a mix. 0 or -EINVAL. */
int otlp_parse_frame_types(const char *text, struct otlp_encode_options *options);
/* "service.*,process.pid" into options->names. 0 or -EINVAL. */
int otlp_parse_names(const char *text, struct otlp_encode_options *options);

#endif
