/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a builder is made of: private to core/profile. The tables become the batch as they are (finish.c);
 * the indexes, the digests and the order of times are the builder's alone.
 */
#ifndef EP_PROFILE_TABLES_H
#define EP_PROFILE_TABLES_H

#include "core/base/strings.h"
#include "core/base/vec.h"
#include "core/profile/builder.h"
#include "core/profile/rows.h"

/* A file of a few megabytes may unfold to 2 GiB of nothing but small rows: of each table this is a gigabyte. */
#define EP_PROFILE_MAX_ROWS	       (1u << 24)
#define EP_PROFILE_MAX_SAMPLES	       (1u << 25) /* and stacks */
#define EP_PROFILE_MAX_STACK_LOCATIONS (1u << 28)
#define EP_PROFILE_MAX_TIMES	       (1u << 27)
#define EP_PROFILE_MAX_STRING_BYTES    ((size_t)1 << 30)
#define EP_PROFILE_MAX_LIST	       (1u << 20) /* locations of a stack, lines of a location */

/* Columns of each table, in the order of its layout (tables.c). */
enum { FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE, FUNCTION_LINE };
enum {
	MAPPING_START_VA,
	MAPPING_LIMIT_VA,
	MAPPING_FILE_OFF,
	MAPPING_PATH,
	MAPPING_BUILD_ID,
	MAPPING_GO_BUILD_ID,
	MAPPING_FILE_ID,
	MAPPING_FLAGS,
};
enum { LINE_FUNCTION, LINE_LINE, LINE_COLUMN };
enum {
	LOCATION_ADDRESS,
	LOCATION_MAPPING,
	LOCATION_KIND,
	LOCATION_FLAGS,
	LOCATION_UNNAMED,
	LOCATION_LINE_FIRST,
};
enum { STACK_ERROR, STACK_ERROR_TEXT, STACK_UNNAMED, STACK_UNNAMED_TEXT, STACK_FIRST, STACK_HASH };
enum {
	PROCESS_START_NS,
	PROCESS_PID,
	PROCESS_IMAGE,
	PROCESS_COMM,
	PROCESS_EXE_PATH,
	PROCESS_CONTAINER_ID,
	PROCESS_USER,
	PROCESS_CGROUP,
	PROCESS_UNIT,
	PROCESS_ENV_FIRST,
};
enum { ENV_NAME, ENV_VALUE };
enum {
	SAMPLE_STACK,
	SAMPLE_PROCESS,
	SAMPLE_TID,
	SAMPLE_THREAD_NAME,
	SAMPLE_CPU,
	SAMPLE_COUNT,
	SAMPLE_TIMES, /* how many; in the batch: the first */
	SAMPLE_WEIGHT,
};

/* Rows as they are added, where builder.h has none: the members are the columns. */
struct ep_profile_location_row {
	uint64_t address;
	uint32_t mapping, kind, flags, unnamed, line_first;
};

struct ep_profile_stack_row {
	uint32_t error, error_text, unnamed, unnamed_text, first;
	uint8_t hash[16];
};

struct ep_profile_process_row {
	uint64_t start_ns;
	uint32_t pid, image, comm, exe_path, container_id, user, cgroup, unit, env_first;
};

struct ep_profile_env_row {
	uint32_t name, value;
};

struct ep_profile_sample_row {
	uint32_t stack, process, tid, thread_name, cpu, count, times;
	uint64_t weight;
};

struct ep_profile_tables {
	struct ep_strings *strings;
	struct ep_rows functions, mappings, lines, locations, stacks, processes, env, samples;
	struct ep_vec stack_locations; /* u32 */
	struct ep_vec times;	       /* u64 */
	const char **text;	       /* of finish.c */
	uint32_t *text_bytes;
};

/* Times as they came in: the next `n` are of this sample. */
struct ep_profile_run {
	uint32_t sample, n;
};

struct ep_profile_digest {
	uint8_t bytes[16];
};

struct ep_profile_builder {
	struct ep_profile_tables *tables;
	int error;		  /* the first one */
	bool has_unnamed;	  /* locations whose lack of a name is their stacks' too */
	struct ep_vec runs;	  /* struct ep_profile_run */
	struct ep_vec digests;	  /* struct ep_profile_digest, by location */
	struct ep_vec stack_text; /* digests of the stack in hand */
	/* header */
	bool has_header;
	bool has_periods, has_rates; /* of several lengths, at several frequencies */
	uint64_t start_ns, end_ns, duration_ns, period_ns, lost_samples;
	uint64_t due_samples, agent_cpu_ns, bpf_ns;
	uint32_t n_cpus;
	uint32_t period_hz;
	uint32_t host_name, title, sample_type, weight_unit; /* strings */
};

void ep_profile_tables_free(void *tables);

static inline const char *ep_profile_text(const struct ep_profile_builder *builder, uint32_t string)
{
	return ep_strings_get(builder->tables->strings, string);
}

/* What a location and a stack have in common on all machines: not lines, nor addresses of what has a name. */
struct ep_profile_digest ep_profile_digest_location(const struct ep_profile_builder *builder,
						    uint32_t location);
/* 0, -E2BIG, -ENOMEM. */
int ep_profile_digest_stack(struct ep_profile_builder *builder, const uint32_t *locations,
			    uint32_t n_locations, uint8_t ret_hash[16]);

#endif
