/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of functions for people, where one name is that of several: `(anonymous)`, `<module>`,
 * `search` of two files. A function is its name, its file and its first line; one whose name is its
 * own is shown by that, the others as "search (a.py:12)".
 *
 *	ep_labels_init(&labels);
 *	ep_labels_learn(&labels, 0, batch);		of all that is to be shown together
 *	ep_labels_draw(&labels, batch, &labelled);	labelled.batch has these names
 *
 * Two sides that are compared learn apart: there a label says as little as tells the functions of
 * each side apart, so that a function whose line or directory has changed is still the same one.
 *
 * What is kept is hashes: two names whose hashes are equal would have a place that they do not
 * need.
 */
#ifndef EP_PROFILE_LABELS_H
#define EP_PROFILE_LABELS_H

#include "core/base/map.h"
#include "ebpf-profiler/batch.h"

#define EP_LABELS_SIDES 2

struct ep_labels {
	struct ep_map first;   /* what was seen first of a name, of a name and file, .. */
	struct ep_map several; /* those of which something else was seen as well */
	bool is_compared;      /* of two sides */
};

/* A function as it is shown. */
struct ep_place {
	const char *name, *file; /* "" when it is not known */
	uint32_t line;		 /* likewise 0 */
};

void ep_labels_init(struct ep_labels *labels, bool is_compared);
void ep_labels_fini(struct ep_labels *labels);
/* 0 or -ENOMEM. Beyond a few million names no more are distinguished. */
int ep_labels_learn_place(struct ep_labels *labels, unsigned int side,
			  const struct ep_place *place);
int ep_labels_learn(struct ep_labels *labels, unsigned int side, const struct ep_batch *batch);
/* " (a.py:12)", or "" for a name that is its own; to `buf`. Returns buf. */
const char *ep_labels_where(const struct ep_labels *labels, const struct ep_place *place, char *buf,
			    size_t size);

/* A batch that shares all columns with another one but the names of its functions. */
struct ep_labelled {
	struct ep_batch batch;
	const char **string_text; /* those of the batch, then labels, which are owned */
	uint32_t *string_bytes, *function_name;
	uint32_t first_label; /* row of strings */
};

/* The batch must stay. 0 or -ENOMEM. */
int ep_labels_draw(const struct ep_labels *labels, const struct ep_batch *batch,
		   struct ep_labelled *ret_labelled);
void ep_labelled_fini(struct ep_labelled *labelled); /* accepts a zeroed one */

#endif
