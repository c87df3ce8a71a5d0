/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dictionary of one request: seven tables, each as the bytes that will be sent (an element with
 * its tag and length after the other, element 0 the empty one). A row of the batch is added when
 * something refers to it for the first time; rows that are equal elements are one (canon.h).
 */
#ifndef OTLP_DICTIONARY_H
#define OTLP_DICTIONARY_H

#include "exporters/shared/otlp/canon.h"
#include "exporters/shared/sink.h"

#define OTLP_N_TABLES 7
/* What one sample may add before it is seen that it is too much: 1024 frames with long names. */
#define OTLP_ELEMENT_MAX ((size_t)256 << 20)

/* Strings that do not come from the batch: names the conventions give. */
enum otlp_own_string {
	OTLP_SAMPLES,
	OTLP_COUNT,
	OTLP_CPU,
	OTLP_NANOSECONDS,
	OTLP_OFF_CPU,
	OTLP_EVENTS,
	OTLP_FRAME_TYPE,
	OTLP_BUILD_ID_GNU,
	OTLP_BUILD_ID_GO,
	OTLP_BUILD_ID_HTLHASH,
	OTLP_THREAD_NAME,
	OTLP_THREAD_ID,
	OTLP_CPU_NUMBER,
	OTLP_UNNAMED,
	OTLP_COMPLETE,
	OTLP_NAMED,
	OTLP_SAMPLES_UNVERIFIED,
	OTLP_VMLINUX,
	/* of a file (file.h) */
	OTLP_KIND,
	OTLP_POINTER_WALK,
	OTLP_ERROR,
	OTLP_MADE_UP_NAME,
	OTLP_GAP,
	OTLP_UNNAMED_REASON,
	OTLP_STACK_ERROR,
	OTLP_STACK_ERROR_TEXT,
	OTLP_UNVERIFIED,
	OTLP_SAMPLE_COUNT,
	OTLP_KERNEL,
	OTLP_MAPPING_START,
	OTLP_MAPPING_LIMIT,
	OTLP_HAS_FUNCTIONS,
	OTLP_SAMPLE_TYPE,
	OTLP_WEIGHT_UNIT,
	OTLP_START,
	OTLP_DURATION,
	OTLP_PERIOD,
	OTLP_FREQUENCY,
	OTLP_LOST_SAMPLES,
	OTLP_DUE_SAMPLES,
	OTLP_COST_AGENT,
	OTLP_COST_BPF,
	OTLP_CPUS,
	OTLP_TITLE,
	OTLP_OWN_STRINGS,
};

#define OTLP_MAX_TEXTS (OTLP_OWN_STRINGS + 256) /* and names of kernel modules */

struct otlp_text {
	const char *text;
	size_t len;
	uint32_t row;	/* of the same string in the batch, 0: it has none */
	uint32_t index; /* in the string table, 0: not there yet */
};

/* An attribute with a number, or with a string of the batch, that is in the table. */
struct otlp_recent {
	enum otlp_own_string key;
	uint32_t index; /* 0: none */
	uint64_t value; /* or row */
};

#define OTLP_RECENT 256

/* A kind of locations and the attribute with its frame type. */
struct otlp_type {
	uint32_t kind;
	uint32_t attribute; /* 0: none */
};

#define OTLP_TYPES 61

struct otlp_table {
	struct otlp_wire bytes;
	uint32_t n; /* elements */
	/*
	 * Of a file, where strings and stacks are most of the dictionary: for each element after the first the
	 * row it will be written from, when all indices are known (otlp_dictionary_write). NULL: it is in bytes.
	 */
	uint32_t *later;
	size_t later_bytes;
};

struct otlp_dictionary {
	const struct ep_batch *batch;
	const struct otlp_view *view;
	const struct otlp_canon *canon;
	const struct otlp_encode_options *options;
	struct otlp_table tables[OTLP_N_TABLES]; /* by field number - 1 */
	/* Rows of the batch to indices, 0: not there yet. */
	uint32_t *string_of, *function_of, *mapping_of, *stack_of;
	uint64_t *location_code; /* of locations, as they are written (dictionary.c) */
	struct otlp_text texts[OTLP_MAX_TEXTS];
	uint32_t n_texts;
	/* Attributes: index of the element by the hash of its bytes, compared by bytes. */
	uint32_t *attributes; /* slots: offset of the element's tag + 1 and, beside, its index */
	uint32_t n_slots, n_used;
	uint64_t seed; /* of their hashes: nobody can make them collide */
	struct otlp_type types[OTLP_TYPES];
	struct otlp_recent recent[OTLP_RECENT];
	struct otlp_wire body, part,
		list; /* the element in hand, a message in it, its attributes */
};

int otlp_dictionary_init(struct otlp_dictionary *d, const struct ep_batch *batch,
			 const struct otlp_view *view, const struct otlp_canon *canon,
			 const struct otlp_encode_options *options);
void otlp_dictionary_fini(struct otlp_dictionary *d);  /* accepts a zeroed one */
void otlp_dictionary_reset(struct otlp_dictionary *d); /* for the next request */
size_t otlp_dictionary_bytes(const struct otlp_dictionary *d);
int otlp_dictionary_error(const struct otlp_dictionary *d); /* 0, -ENOMEM, -E2BIG */

/* Hands over the tables from the first to the last, otlp_dictionary_bytes in all. 0 or a negative errno. */
int otlp_dictionary_write(struct otlp_dictionary *d, struct ep_sink *sink);

/* A text that stays as long as the dictionary; there is space for some that are not the batch's. */
uint32_t otlp_dictionary_text(struct otlp_dictionary *d, const char *text, size_t len);
uint32_t otlp_dictionary_own(struct otlp_dictionary *d, enum otlp_own_string string);
uint32_t otlp_dictionary_stack(struct otlp_dictionary *d, uint32_t row);
uint32_t otlp_dictionary_attribute_text(struct otlp_dictionary *d, enum otlp_own_string key,
					const char *text, size_t len);
uint32_t otlp_dictionary_attribute_row(struct otlp_dictionary *d, enum otlp_own_string key,
				       uint32_t row);
uint32_t otlp_dictionary_attribute_int(struct otlp_dictionary *d, enum otlp_own_string key,
				       uint64_t value);

/* How long the tables are now, and cutting them back to that: after a cut, until the next reset,
 * only attributes may be added, and their keys have to be there. */
struct otlp_dictionary_mark {
	uint32_t n[OTLP_N_TABLES];
	size_t bytes[OTLP_N_TABLES];
};
struct otlp_dictionary_mark otlp_dictionary_mark(const struct otlp_dictionary *d);
void otlp_dictionary_cut(struct otlp_dictionary *d, const struct otlp_dictionary_mark *mark);

#endif
