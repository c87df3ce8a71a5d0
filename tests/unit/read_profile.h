/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as a profile: read from a file of their own by the front door of reports/read. */
#ifndef EP_TESTS_READ_PROFILE_H
#define EP_TESTS_READ_PROFILE_H

#include "core/base/vec.h"
#include "reports/read/reader.h"
#include "tests/unit/profile_batch.h"

#include <fcntl.h>
#include <zlib.h>

/* The last sentence of a reader. */
static char read_why[EP_READ_WHY_BYTES];

static inline void write_file(const char *path, const void *data, size_t bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	for (size_t at = 0; at < bytes;) {
		ssize_t n = write(fd, (const char *)data + at, bytes - at);

		assert_true(n > 0);
		at += (size_t)n;
	}
	close(fd);
}

/* 0 and a batch, or what the reader says. */
static inline int read_path(const char *path, struct ep_batch **ret_batch)
{
	ep_cleanup(ep_profile_builder_freep) struct ep_profile_builder *builder = NULL;
	struct ep_input *input = NULL;
	int r = ep_profile_builder_new(&builder);

	read_why[0] = '\0';
	if (r == 0)
		r = ep_input_open(path, &input, read_why);
	if (r == 0)
		r = ep_input_read(input, builder, read_why);
	if (r == 0)
		r = ep_profile_finish(builder, ret_batch);
	ep_input_close(input);
	return r;
}

static inline int read_bytes(const void *data, size_t bytes, struct ep_batch **ret_batch)
{
	char path[] = "/tmp/test_read_XXXXXX";
	int fd = mkstemp(path), r;

	assert_true(fd >= 0);
	close(fd);
	write_file(path, data, bytes);
	r = read_path(path, ret_batch);
	unlink(path);
	return r;
}

/* The test owns it. */
static inline struct ep_batch *batch_of(const void *data, size_t bytes)
{
	struct ep_batch *batch = NULL;
	int r = read_bytes(data, bytes, &batch);

	if (r < 0)
		fail_msg("%d: %s", r, read_why);
	check_batch(batch);
	ep_test_owns(batch, release_batch);
	return batch;
}

static inline struct ep_batch *batch_of_text(const char *text)
{
	return batch_of(text, strlen(text));
}

/* One sentence, without the line's end, about a file that is damaged. */
static inline void check_refused(const void *data, size_t bytes, const char *what)
{
	struct ep_batch *batch = NULL;

	assert_int_equal(read_bytes(data, bytes, &batch), -EBADMSG);
	if (!strstr(read_why, what))
		fail_msg("\"%s\" does not say \"%s\"", read_why, what);
	assert_null(strchr(read_why, '\n'));
}

/* gzip, appended. */
static inline void append_gzip(struct ep_vec *to, const void *data, size_t bytes)
{
	z_stream stream = {0};
	static uint8_t out[1 << 16];
	int r;

	assert_int_equal(deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	stream.next_in = (void *)(uintptr_t)data;
	stream.avail_in = (uInt)bytes;
	do {
		stream.next_out = out;
		stream.avail_out = sizeof(out);
		r = deflate(&stream, Z_FINISH);
		assert_int_equal(ep_vec_append(to, out, sizeof(out) - stream.avail_out), 0);
	} while (r == Z_OK);
	assert_int_equal(r, Z_STREAM_END);
	deflateEnd(&stream);
}

#endif
