/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as base64 (RFC 4648), in one line, as they come. */
#ifndef HTML_TEXT_H
#define HTML_TEXT_H

#include "exporters/shared/sink.h"

#include <stdint.h>

#define HTML_TEXT_BYTES 4096

struct html_text {
	struct ep_sink *sink;
	uint8_t left[3]; /* not enough for four letters yet */
	uint32_t n_left;
	uint32_t used;
	char out[HTML_TEXT_BYTES];
};

void html_text_init(struct html_text *text, struct ep_sink *sink);
int html_text_add(struct html_text *text, const uint8_t *data, size_t len); /* 0 or the sink's error */
int html_text_end(struct html_text *text);

#endif
