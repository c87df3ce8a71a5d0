/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/read/unpack.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#define CHUNK_BYTES ((size_t)128 << 10)
#define GZIP_WINDOW (15 + 16) /* zlib.h, inflateInit2: gzip alone, not zlib */

#define GZIP_FIRST  0x1f
#define GZIP_SECOND 0x8b

#define TOO_LARGE "holds more than 2 GiB"
#define CUT_OFF	  "ends in the middle of its compressed data: it was cut off"
#define DAMAGED	  "has damaged compressed data"
#define BEHIND	  "has something behind its compressed data"

struct unpacker {
	int fd;
	struct ep_vec *bytes;
	const char *why;
	uint8_t *chunk; /* of the file, CHUNK_BYTES */
	z_stream stream;
	bool in_member;
};

/* One chunk; fewer bytes are the end of the file. The count or a negative errno. */
static ssize_t read_chunk(int fd, uint8_t *chunk)
{
	size_t have = 0;

	while (have < CHUNK_BYTES) {
		ssize_t n = read(fd, chunk + have, CHUNK_BYTES - have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		have += (size_t)n;
	}
	return (ssize_t)have;
}

static int too_large(struct unpacker *u, int r)
{
	u->why = r == -E2BIG ? TOO_LARGE : u->why;
	return r;
}

static int bad(struct unpacker *u, const char *why)
{
	u->why = why;
	return -EBADMSG;
}

/* Space after what is there. */
static int make_room(struct unpacker *u)
{
	struct ep_vec *bytes = u->bytes;
	size_t want = bytes->len + EP_MAX(bytes->len / 2, CHUNK_BYTES);

	if (bytes->len < bytes->cap)
		return 0;
	if (bytes->len >= bytes->max)
		return too_large(u, -E2BIG);
	return ep_vec_reserve(bytes, EP_MIN(want, bytes->max));
}

/* After a member: another one, or zeros that a tape or a block device leaves. */
static int begin_member(struct unpacker *u)
{
	while (u->stream.avail_in && !*u->stream.next_in) {
		u->stream.next_in++;
		u->stream.avail_in--;
	}
	if (!u->stream.avail_in)
		return 0;
	if (*u->stream.next_in != GZIP_FIRST)
		return bad(u, BEHIND);
	u->in_member = true;
	return inflateReset(&u->stream) == Z_OK ? 0 : -EINVAL;
}

/* As much as the chunk gives. */
static int inflate_some(struct unpacker *u)
{
	struct ep_vec *bytes = u->bytes;
	size_t room;
	int r = make_room(u);

	if (r < 0)
		return r;
	room = EP_MIN(bytes->cap - bytes->len, (size_t)1 << 30);
	u->stream.next_out = (uint8_t *)bytes->data + bytes->len;
	u->stream.avail_out = (uInt)room;
	r = inflate(&u->stream, Z_NO_FLUSH);
	bytes->len += room - u->stream.avail_out;
	if (r == Z_STREAM_END)
		u->in_member = false;
	else if (r == Z_MEM_ERROR)
		return -ENOMEM;
	else if (r != Z_OK && r != Z_BUF_ERROR)
		return bad(u, DAMAGED);
	return 0;
}

static int inflate_chunk(struct unpacker *u, size_t bytes)
{
	int r = 0;

	u->stream.next_in = u->chunk;
	u->stream.avail_in = (uInt)bytes;
	do {
		if (!u->in_member)
			r = begin_member(u);
		if (r == 0 && u->in_member)
			r = inflate_some(u);
	} while (r == 0 && (u->stream.avail_in || (u->in_member && !u->stream.avail_out)));
	return r;
}

static int unpack_gzip(struct unpacker *u, ssize_t n)
{
	int r = inflateInit2(&u->stream, GZIP_WINDOW) == Z_OK ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	u->in_member = true;
	while (r == 0 && n > 0) {
		r = inflate_chunk(u, (size_t)n);
		if (r == 0)
			n = read_chunk(u->fd, u->chunk);
	}
	inflateEnd(&u->stream);
	if (r < 0 || n < 0)
		return r < 0 ? r : (int)n;
	return u->in_member ? bad(u, CUT_OFF) : 0;
}

/* Space for a file of known size is made once. */
static int copy_plain(struct unpacker *u, ssize_t n)
{
	struct stat st;
	int r = 0;

	if (fstat(u->fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		r = ep_vec_reserve(u->bytes, (size_t)st.st_size);
	while (r == 0 && n > 0) {
		r = ep_vec_append(u->bytes, u->chunk, (size_t)n);
		if (r == 0)
			n = read_chunk(u->fd, u->chunk);
	}
	return r < 0 ? too_large(u, r) : (int)EP_MIN(n, 0);
}

int ep_unpack(int fd, struct ep_vec *bytes, const char **ret_why)
{
	ep_autofree void *chunk = malloc(CHUNK_BYTES);
	struct unpacker u = {.fd = fd, .bytes = bytes, .chunk = chunk};
	ssize_t n;
	int r;

	if (!chunk)
		return -ENOMEM;
	n = read_chunk(fd, chunk);
	if (n < 0)
		return (int)n;
	r = n >= 2 && u.chunk[0] == GZIP_FIRST && u.chunk[1] == GZIP_SECOND ? unpack_gzip(&u, n)
							       : copy_plain(&u, n);
	if (u.why)
		*ret_why = u.why;
	return r;
}
