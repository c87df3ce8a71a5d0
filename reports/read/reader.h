/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads profiles of any known format: each format is a directory beside this file, and becomes rows of one
 * builder (core/profile/builder.h). The format is found out by the content, not by the name. Files are
 * hostile: every length is bounded by what is left of the file, nothing recurses, and what is compressed may
 * unfold to EP_READ_MAX_BYTES at most. No privilege is needed; a caller that is root gives it up once its
 * files are open (ep_read_drop_root).
 */
#ifndef EP_READER_H
#define EP_READER_H

#include "core/profile/builder.h"

#define EP_READ_MAX_BYTES  (2ull << 30)
#define EP_READ_WHY_BYTES  256

/*
 * One format. The input is whole and not compressed any more, and is the reader's: it may give pages that it has
 * read back to the kernel (reports/read/shared/forget.h).
 */
struct ep_reader {
	const char *name; /* "pprof", for messages */
	/* Does it look like this format? Readers are asked in the order of reports/read/read.c. */
	bool (*matches)(const uint8_t *data, size_t bytes);
	/* 0, or a negative errno and in `why`, of EP_READ_WHY_BYTES, what is wrong: "byte 17: a stack without end". */
	int (*read)(const uint8_t *data, size_t bytes, struct ep_profile_builder *builder, char *why);
};

extern const struct ep_reader ep_otlp_reader, ep_pprof_reader, ep_folded_reader,
	ep_perf_script_reader, ep_page_reader, ep_speedscope_reader, ep_firefox_reader;

struct ep_input;

/* "-": standard input. 0, or a negative errno: one sentence is in `why`, with what to do. */
int ep_input_open(const char *path, struct ep_input **ret_input, char *why);
void ep_input_close(struct ep_input *input); /* accepts NULL */
/* Adds all of it to the builder. 0, or a negative errno and one sentence in `why`, which names the file. */
int ep_input_read(struct ep_input *input, struct ep_profile_builder *builder, char *why);

/*
 * Root becomes the user who called sudo (SUDO_UID), else nobody, for good. To be called when all files are
 * open and before one is read. 0 or a negative errno; who is not root stays who he is.
 */
int ep_read_drop_root(void);

#endif
