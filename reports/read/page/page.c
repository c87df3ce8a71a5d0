/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the profile that a page carries (exporters/html), and nothing else of it:
 *
 *	<script type="application/octet-stream" id="profile">base64 of a gzip file of OTLP</script>
 *
 * Of a page that compares two the other one, id="profile-base", is not read. Pages that `cat` joined are their sum.
 */
#include "core/base/vec.h"
#include "reports/read/reader.h"
#include "reports/read/unpack.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>

#define BEGIN	    "<script type=\"application/octet-stream\" id=\"profile\">"
#define END	    "</script>"
#define CHUNK_BYTES ((size_t)48 << 10)
#define NO_DIGIT    0xff

/* Bytes of base64 (RFC 4648, 4), a few at a time. */
struct decoder {
	const uint8_t *at, *end;
	uint32_t bits, n_bits;
};

static uint8_t digit_of(uint8_t c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : NO_DIGIT;
}

static bool is_space(uint8_t c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Fills `to`, less at the end. -EBADMSG: `at` is where it is no base64. */
static ssize_t decode(struct decoder *decoder, uint8_t *to, size_t bytes)
{
	size_t n = 0;

	for (; decoder->at < decoder->end && n < bytes; decoder->at++) {
		uint8_t digit = digit_of(*decoder->at);

		if (is_space(*decoder->at))
			continue;
		if (*decoder->at == '=') { /* the end; gzip knows its own length */
			decoder->at = decoder->end;
			break;
		}
		if (digit == NO_DIGIT)
			return -EBADMSG;
		decoder->bits = decoder->bits << 6 | digit;
		decoder->n_bits += 6;
		if (decoder->n_bits < 8)
			continue;
		decoder->n_bits -= 8;
		to[n++] = (uint8_t)(decoder->bits >> decoder->n_bits);
	}
	return (ssize_t)n;
}

static int write_all(int fd, const uint8_t *data, size_t bytes)
{
	while (bytes > 0) {
		ssize_t n = write(fd, data, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		bytes -= (size_t)n;
	}
	return 0;
}

/* Into a file in memory, which is unfolded as any other. */
static int decode_all(struct decoder decoder, int fd)
{
	uint8_t chunk[CHUNK_BYTES];
	ssize_t n;
	int r = 0;

	while (r == 0 && (n = decode(&decoder, chunk, sizeof(chunk))) > 0)
		r = write_all(fd, chunk, (size_t)n);
	if (r == 0)
		r = (int)n;
	if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
		r = -errno;
	return r;
}

static int unpack(struct decoder decoder, struct ep_vec *bytes, char *why)
{
	ep_autoclose int fd = memfd_create("profile", MFD_CLOEXEC);
	const char *what = NULL;
	int r;

	if (fd < 0)
		return -errno;
	r = decode_all(decoder, fd);
	if (r == -EBADMSG)
		what = "is no base64";
	else if (r == 0)
		r = ep_unpack(fd, bytes, &what);
	if (what)
		snprintf(why, EP_READ_WHY_BYTES, "the profile in the page %s", what);
	return r;
}

static int read_profile(struct decoder decoder, struct ep_profile_builder *builder, char *why)
{
	ep_cleanup(ep_vec_fini) struct ep_vec bytes;
	char detail[EP_READ_WHY_BYTES] = "";
	int r;

	ep_vec_init(&bytes, 1, EP_READ_MAX_BYTES);
	r = unpack(decoder, &bytes, why);
	if (r == 0 && (!bytes.len || !ep_otlp_reader.matches(bytes.data, bytes.len))) {
		snprintf(why, EP_READ_WHY_BYTES, "what the page carries is no profile of OTLP");
		r = -EBADMSG;
	}
	if (r < 0)
		return r;
	r = ep_otlp_reader.read(bytes.data, bytes.len, builder, detail);
	if (detail[0])
		snprintf(why, EP_READ_WHY_BYTES, "the profile in the page: %.200s", detail);
	return r;
}

/* --- the page --- */

static bool page_matches(const uint8_t *data, size_t bytes)
{
	static const char *const begins[] = {"<!doctype html", "<html"};

	while (bytes > 0 && (is_space(*data) || *data == 0xef || *data == 0xbb || *data == 0xbf)) {
		data++; /* a byte order mark as well */
		bytes--;
	}
	for (size_t i = 0; i < EP_LEN(begins); i++) {
		size_t len = strlen(begins[i]);

		if (bytes >= len && strncasecmp((const char *)data, begins[i], len) == 0)
			return true;
	}
	return false;
}

static int page_read(const uint8_t *data, size_t bytes, struct ep_profile_builder *builder, char *why)
{
	const uint8_t *begin = memmem(data, bytes, BEGIN, strlen(BEGIN)), *end;
	int r = 0;

	if (!begin) {
		snprintf(why, EP_READ_WHY_BYTES, "a page without a profile in it: it is none of ebpf-profiler, or cut off");
		return -EBADMSG;
	}
	for (; begin && r == 0; begin = memmem(end, (size_t)(data + bytes - end), BEGIN, strlen(BEGIN))) {
		begin += strlen(BEGIN);
		end = memmem(begin, (size_t)(data + bytes - begin), END, strlen(END));
		if (!end) {
			snprintf(why, EP_READ_WHY_BYTES, "the page ends within its profile: it was cut off");
			return -EBADMSG;
		}
		r = read_profile((struct decoder){.at = begin, .end = end}, builder, why);
	}
	return r;
}

const struct ep_reader ep_page_reader = {
	.name = "page",
	.matches = page_matches,
	.read = page_read,
};
