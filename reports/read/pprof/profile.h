/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pprof profile while it is read. Its tables refer to what comes after them in the file, and its
 * samples come first: so one pass notes where each element is, and an element is read when the
 * first sample needs it.
 *
 *	sample ─ location id ─► location ─ mapping id ─► mapping ─┐
 *	                             └─ function id ─► function ──┴─ index ─► string
 *
 * https://github.com/google/pprof/blob/main/proto/profile.proto
 */
#ifndef EP_READERS_PPROF_PROFILE_H
#define EP_READERS_PPROF_PROFILE_H

#include "core/base/map.h"
#include "core/base/vec.h"
#include "exporters/shared/proto/pprof_fields.h"
#include "reports/read/reader.h"
#include "reports/read/shared/proto.h"

#define PPROF_NOT_READ	UINT32_MAX
#define PPROF_HAS_NOTE	(1u << 31)
#define PPROF_MAX_TYPES 64
#define PPROF_MAX_ELEMENTS (1u << 24) /* of each table, and strings */

/* Where an element of a table is, and the row it has become. */
struct pprof_element {
	uint32_t at, bytes;
	uint32_t row; /* of the builder; PPROF_NOT_READ */
};

/* Elements that have ids. Nearly always the ids are 1, 2, 3 ...: then the number is the id - 1. */
struct pprof_table {
	struct ep_vec elements;
	struct ep_map numbers; /* id → number, once one is not */
	bool has_numbers;
};

struct pprof_type {
	uint64_t type, unit; /* strings */
};

/* What a label is, by its key. */
enum pprof_label {
	PPROF_LABEL_UNKNOWN, /* not looked at yet */
	PPROF_LABEL_NONE,
	PPROF_LABEL_PID,
	PPROF_LABEL_TID,
	PPROF_LABEL_CPU,
	PPROF_LABEL_COMM,
	PPROF_LABEL_THREAD,
	PPROF_LABEL_CONTAINER,
	PPROF_LABEL_USER,
	PPROF_LABEL_CGROUP,
	PPROF_LABEL_TIME,
};

struct pprof {
	const uint8_t *file; /* where it begins: places in messages are counted from there */
	const uint8_t *start;
	size_t bytes;
	struct ep_profile_builder *builder;
	char *why;

	struct ep_vec strings; /* struct pprof_element */
	struct ep_vec labels;  /* uint8_t, enum pprof_label, by string */
	struct pprof_table mappings, locations, functions;
	/* uint32_t by location: its row, 0: not read yet; PPROF_HAS_NOTE: its name tells something of the stack */
	struct ep_vec rows;
	struct ep_map notes; /* location → string of that name */
	bool is_ours;	       /* written by exporters/pprof */

	/* from the first sample to `tables` there is no element of a table: it is read once */
	const uint8_t *samples, *tables;

	uint32_t n_types;
	struct pprof_type types[PPROF_MAX_TYPES], period_type;
	struct ep_vec comments; /* uint64_t, strings */
	uint64_t default_type, time_ns, duration_ns, period;

	/* which of its values are read, and as what */
	uint32_t weight_at, count_at; /* count_at: n_types when there is none */
	uint64_t scale;		      /* weight = value × scale: 1 000 for microseconds */
	uint64_t count_period;	      /* where nothing counts: count = weight / this; 0: each is one */

	struct ep_vec lines, stack; /* in hand */
	struct ep_proto before;	    /* locations of the sample before, packed: most come one after the other */
	uint32_t before_row;
	struct ep_profile_process process; /* of the sample before */
	uint32_t process_row;
};

/* Profiles one after the other. */
struct pprof_joined {
	const uint8_t *at, *end;
};

/* The next one, of one byte at least; false at the end. What is damaged is part of it. */
bool pprof_next_profile(struct pprof_joined *joined, const uint8_t **ret_data, size_t *ret_bytes);

/* All of these: 0, or a negative errno; -EBADMSG with a sentence in `why`. */
int pprof_bad(struct pprof *p, const uint8_t *at, const char *what);

/* A string as it lies there, not to be trusted, and as a row. */
int pprof_text(struct pprof *p, uint64_t string, const char **ret_text, size_t *ret_bytes);
int pprof_string(struct pprof *p, uint64_t string, uint32_t *ret_row);
/* Cut to what fits; "" for one that is not there. */
void pprof_copy_text(struct pprof *p, uint64_t string, char *text, size_t bytes);
bool pprof_is(struct pprof *p, uint64_t string, const char *text);

void pprof_table_init(struct pprof_table *table);
void pprof_table_fini(struct pprof_table *table);
int pprof_table_add(struct pprof *p, struct pprof_table *table, struct ep_proto message);
/* The number of a location by its id. */
int pprof_find_location(struct pprof *p, uint64_t id, uint32_t *ret_number);
/* Reads one that is not in p->rows yet. */
int pprof_read_location(struct pprof *p, uint32_t number);
/* The string of a name that tells something of its stack. */
uint32_t pprof_note(const struct pprof *p, uint32_t number);

/* What its values are: types, units, period, comments; then the builder has its header. */
int pprof_header(struct pprof *p);
int pprof_samples(struct pprof *p);

#endif
