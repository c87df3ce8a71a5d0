/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of a batch that would be equal elements of a request: two copies of one library are two
 * mappings to the profiler and one to a receiver; a location found by frame pointer and by rule is
 * one. `of` names for each row the first row that is equal to it (itself, mostly).
 */
#ifndef OTLP_CANON_H
#define OTLP_CANON_H

#include "exporters/shared/otlp/encode.h"
#include "exporters/shared/otlp/view.h"

struct otlp_canon {
	uint32_t *mapping_of, *location_of, *stack_of;
	uint32_t *next_sample; /* per sample: the next one of equal identity, 0: none; NULL: no
				  sample has one */
	uint8_t *is_later;     /* per sample: some other one's next_sample */
};

/* 0 or -ENOMEM; what was made is freed by fini in both cases. */
int otlp_canon_init(struct otlp_canon *canon, const struct ep_batch *batch,
		    const struct otlp_view *view, const struct otlp_encode_options *options);
void otlp_canon_fini(struct otlp_canon *canon);

/*
 * Whether the lines of a location are left out: they are a made-up name, and a receiver finds a better one by
 * address. A file has all lines.
 */
bool otlp_is_nameless(const struct ep_batch *batch, const struct otlp_encode_options *options,
		      uint32_t location);

#endif
