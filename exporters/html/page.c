/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/html/page.h"
#include "core/base/elevated.h"
#include "core/base/util.h"
#include "exporters/html/text.h"
#include "exporters/shared/otlp/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#define GZIP_WINDOW (15 + 16) /* zlib.h: 15 bits of window, + 16 for a gzip header */
#define MEM_LEVEL   8	      /* zlib's default */
#define OUT_BYTES   (48 * 1024)

static const char page_head[] = {
#include "page_head.inc"
};
static const char page_base[] = "\n</script>\n<script type=\"application/octet-stream\" id=\"profile-base\">\n";
static const char page_tail[] = "\n</script>\n</body>\n</html>\n";

/* What is written into it becomes gzip, and that text of the page. */
struct carrier {
	struct html_text text;
	z_stream z;
	bool is_open;
	uint8_t out[OUT_BYTES];
};

static int carrier_init(struct carrier *carrier, int level, struct ep_sink *sink)
{
	html_text_init(&carrier->text, sink);
	if (deflateInit2(&carrier->z, level, Z_DEFLATED, GZIP_WINDOW, MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	carrier->is_open = true;
	return 0;
}

static void carrier_freep(struct carrier **carrier)
{
	if (*carrier && (*carrier)->is_open)
		(void)deflateEnd(&(*carrier)->z);
	free(*carrier);
}

static int carrier_deflate(struct carrier *carrier, int flush)
{
	int z, r;

	do {
		carrier->z.next_out = carrier->out;
		carrier->z.avail_out = OUT_BYTES;
		z = deflate(&carrier->z, flush);
		if (z == Z_STREAM_ERROR)
			return -EIO;
		r = html_text_add(&carrier->text, carrier->out, OUT_BYTES - carrier->z.avail_out);
		if (r < 0)
			return r;
	} while (flush == Z_FINISH ? z != Z_STREAM_END : carrier->z.avail_out == 0);
	return 0;
}

static int carrier_write(void *arg, const void *data, size_t len)
{
	struct carrier *carrier = arg;

	if (len > UINT_MAX)
		return -E2BIG;
	carrier->z.next_in = (Bytef *)data;
	carrier->z.avail_in = (uInt)len;
	return carrier_deflate(carrier, Z_NO_FLUSH);
}

static int write_profile(const struct ep_batch *batch, const char *version, int level, struct ep_sink *sink)
{
	ep_cleanup(carrier_freep) struct carrier *carrier = calloc(1, sizeof(*carrier));
	struct ep_sink into = {.write = carrier_write, .arg = carrier};
	int r;

	if (!carrier)
		return -ENOMEM;
	r = carrier_init(carrier, level, sink);
	if (r == 0)
		r = otlp_file_write(batch, version, &into);
	memcpy(sink->why, into.why, sizeof(sink->why));
	if (r == 0)
		r = carrier_deflate(carrier, Z_FINISH);
	return r < 0 ? r : html_text_end(&carrier->text);
}

/* --- what it is compared with --- */

static int base_error(struct ep_sink *sink, const char *path, int r)
{
	if (r == -EBADMSG)
		snprintf(sink->why, sizeof(sink->why), "%.180s is no .otlp.gz file: compare with one", path);
	else
		snprintf(sink->why, sizeof(sink->why), "%.180s: %s", path, strerrordesc_np(-r));
	return r;
}

static int copy_base(int fd, uint8_t *piece, struct html_text *text)
{
	bool is_first = true;

	for (;;) {
		ssize_t n = read(fd, piece, OUT_BYTES);
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (is_first && (n < 2 || piece[0] != 0x1f || piece[1] != 0x8b))
			return -EBADMSG;
		if (n == 0)
			return html_text_end(text);
		is_first = false;
		r = html_text_add(text, piece, (size_t)n);
		if (r < 0)
			return r;
	}
}

static int write_base(const char *path, struct ep_sink *sink)
{
	ep_autofree uint8_t *piece = malloc(OUT_BYTES);
	ep_autoclose int fd = -1;
	struct html_text text;
	int r;

	if (!piece)
		return -ENOMEM;
	fd = ep_open_as_caller(path, 0);
	if (fd < 0)
		return base_error(sink, path, fd);
	html_text_init(&text, sink);
	r = copy_base(fd, piece, &text);
	return r < 0 ? base_error(sink, path, r) : 0;
}

int html_page_write(const struct ep_batch *batch, const char *version,
		    const struct html_page_options *options, struct ep_sink *sink)
{
	int r = ep_sink_write(sink, page_head, sizeof(page_head));

	if (r == 0)
		r = write_profile(batch, version, options->level, sink);
	if (r == 0 && options->base[0]) {
		r = ep_sink_write(sink, page_base, sizeof(page_base) - 1);
		if (r == 0)
			r = write_base(options->base, sink);
	}
	return r < 0 ? r : ep_sink_write(sink, page_tail, sizeof(page_tail) - 1);
}
