/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/html/text.h"

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void html_text_init(struct html_text *text, struct ep_sink *sink)
{
	text->sink = sink;
	text->n_left = text->used = 0;
}

static int text_flush(struct html_text *text)
{
	int r = ep_sink_write(text->sink, text->out, text->used);

	text->used = 0;
	return r;
}

static void put_four(struct html_text *text, const uint8_t bytes[3])
{
	uint32_t word = (uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 8 | bytes[2];
	char *to = text->out + text->used;

	to[0] = letters[word >> 18];
	to[1] = letters[word >> 12 & 63];
	to[2] = letters[word >> 6 & 63];
	to[3] = letters[word & 63];
	text->used += 4;
}

int html_text_add(struct html_text *text, const uint8_t *data, size_t len)
{
	for (size_t i = 0; i < len;) {
		if (text->n_left == 0 && len - i >= 3) {
			put_four(text, data + i);
			i += 3;
		} else {
			text->left[text->n_left++] = data[i++];
			if (text->n_left < 3)
				continue;
			put_four(text, text->left);
			text->n_left = 0;
		}
		if (text->used == HTML_TEXT_BYTES) {
			int r = text_flush(text);

			if (r < 0)
				return r;
		}
	}
	return 0;
}

int html_text_end(struct html_text *text)
{
	uint32_t n = text->n_left;

	if (n) {
		uint8_t bytes[3] = {text->left[0], n > 1 ? text->left[1] : 0, 0};

		put_four(text, bytes);
		text->out[text->used - 1] = '=';
		if (n == 1)
			text->out[text->used - 2] = '=';
		text->n_left = 0;
	}
	return text_flush(text);
}
