/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where an encoder puts its bytes, in pieces of any size, so that what it writes never has to be in
 * memory as a whole. The first error of the sink ends the encoding.
 */
#ifndef EP_EXPORTERS_SINK_H
#define EP_EXPORTERS_SINK_H

#include <stddef.h>

#define EP_SINK_WHY_BYTES 256

struct ep_sink {
	int (*write)(void *arg, const void *data, size_t len); /* 0 or a negative errno */
	void *arg;
	/*
	 * What the encoder has to say of an error that is its own, for the user: what is wrong, and what to do.
	 * "": the errno says it.
	 */
	char why[EP_SINK_WHY_BYTES];
	const void *format_arg; /* what a file's format was given: struct ep_file_format, arg */
};

static inline int ep_sink_write(struct ep_sink *sink, const void *data, size_t len)
{
	return len ? sink->write(sink->arg, data, len) : 0;
}

#endif
