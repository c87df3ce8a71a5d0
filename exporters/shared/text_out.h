/* SPDX-License-Identifier: Apache-2.0 */
/* Text on its way to a sink, gathered into pieces. Errors stick: the first is what ep_text_end returns. */
#ifndef EP_EXPORTERS_TEXT_OUT_H
#define EP_EXPORTERS_TEXT_OUT_H

#include "core/base/util.h"
#include "exporters/shared/sink.h"

#define EP_TEXT_OUT_BYTES (64 * 1024)

struct ep_text_out {
	struct ep_sink *sink;
	int error; /* of the sink */
	size_t used;
	char buf[EP_TEXT_OUT_BYTES];
};

/* NULL: no memory. */
struct ep_text_out *ep_text_out_new(struct ep_sink *sink);
/* Hands over what is left, and frees. 0 or the first negative errno. */
int ep_text_out_end(struct ep_text_out *out);

void ep_text_out_put(struct ep_text_out *out, const char *text, size_t bytes);
void ep_text_out_str(struct ep_text_out *out, const char *text);
void ep_text_out_char(struct ep_text_out *out, char c);
void ep_text_out_u64(struct ep_text_out *out, uint64_t value);
/* At most 255 bytes. */
void ep_text_out_printf(struct ep_text_out *out, const char *fmt, ...) EP_PRINTF(2, 3);
/*
 * A name from a program in one line of text: control characters become '?', and `from` becomes `to` where
 * the format gives that character a meaning (NUL: none does).
 */
void ep_text_out_name(struct ep_text_out *out, const char *text, size_t bytes, char from, char to);

#endif
