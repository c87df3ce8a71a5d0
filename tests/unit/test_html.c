/* SPDX-License-Identifier: Apache-2.0 */
/* The page carries exactly the bytes of the lossless file, and may compare them with another one. */
#include "exporters/html/page.h"
#include "exporters/html/text.h"
#include "exporters/shared/otlp/file.h"
#include "tests/unit/writer_batch.h"

#include <zlib.h>

#define CARRIER	     "<script type=\"application/octet-stream\" id=\"profile\">\n"
#define BASE_CARRIER "<script type=\"application/octet-stream\" id=\"profile-base\">\n"
#define MAX_CODE     (200 * 1000) /* script and style */

static const char *base_path = "";
static char why[EP_SINK_WHY_BYTES];
static int result;

static int encode(const struct ep_batch *batch, const char *version, struct ep_sink *sink)
{
	const struct html_page_options options = {.level = 1, .base = base_path};

	result = html_page_write(batch, version, &options, sink);
	memcpy(why, sink->why, sizeof(why));
	return 0;
}

static int value_of(char letter)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = strchr(letters, letter);

	assert_non_null(at);
	return (int)(at - letters);
}

/* The bytes after `carrier`; how many. */
static size_t carried(const char *page, const char *carrier, uint8_t *bytes, size_t room)
{
	const char *at = strstr(page, carrier), *end;
	size_t n = 0;

	assert_non_null(at);
	at += strlen(carrier);
	end = strstr(at, "\n</script>");
	assert_non_null(end);
	assert_int_equal((end - at) % 4, 0);
	for (; at < end; at += 4) {
		uint32_t word = 0;

		for (int i = 0; i < 4; i++)
			word = word << 6 | (uint32_t)(at[i] == '=' ? 0 : value_of(at[i]));
		assert_true(n + 3 <= room);
		bytes[n++] = (uint8_t)(word >> 16);
		bytes[n++] = (uint8_t)(word >> 8);
		bytes[n++] = (uint8_t)word;
	}
	n -= end[-1] == '=';
	return n - (end[-2] == '=');
}

static size_t unfold(const uint8_t *bytes, size_t n, uint8_t *out, size_t room)
{
	z_stream z = {.next_in = (Bytef *)bytes, .avail_in = (uInt)n, .next_out = out, .avail_out = (uInt)room};

	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	(void)inflateEnd(&z);
	return z.total_out;
}

EP_TEST(page_carries_the_lossless_file)
{
	static uint8_t folded[1 << 16], bytes[1 << 16];
	struct ep_batch *batch = writer_batch();
	size_t file_bytes, n;
	char *page = written_by(encode, batch, NULL);
	char *file = written_by(otlp_file_write, batch, &file_bytes);

	assert_int_equal(result, 0);
	n = carried(page, CARRIER, folded, sizeof(folded));
	n = unfold(folded, n, bytes, sizeof(bytes));
	assert_int_equal(n, file_bytes);
	assert_memory_equal(bytes, file, n);
	assert_null(strstr(page, BASE_CARRIER));
	assert_non_null(strstr(page, "</html>\n"));
}

EP_TEST(code_is_small_and_its_policy_allows_nothing_else)
{
	char *page = written_by(encode, writer_batch(), NULL);

	assert_true(strstr(page, CARRIER) - page < MAX_CODE);
	assert_non_null(strstr(page, "default-src 'none'; script-src 'sha256-"));
	assert_null(strstr(page, "unsafe-"));
}

static void put_file(const char *path, const void *bytes, size_t n)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, n, file), n);
	assert_int_equal(fclose(file), 0);
}

EP_TEST(page_may_compare_with_a_file)
{
	static const uint8_t base[] = {0x1f, 0x8b, 8, 0, 1, 2, 3};
	static uint8_t bytes[64];
	char path[64];
	struct ep_batch *batch = writer_batch();
	char *page;

	snprintf(path, sizeof(path), "/tmp/ep-html-base-%d", (int)getpid());
	put_file(path, base, sizeof(base));
	base_path = path;
	page = written_by(encode, batch, NULL);
	assert_int_equal(result, 0);
	assert_int_equal(carried(page, BASE_CARRIER, bytes, sizeof(bytes)), sizeof(base));
	assert_memory_equal(bytes, base, sizeof(base));
	put_file(path, "text", 4);
	(void)written_by(encode, batch, NULL);
	assert_int_equal(result, -EBADMSG);
	assert_non_null(strstr(why, "is no .otlp.gz file"));
	unlink(path);
	(void)written_by(encode, batch, NULL);
	assert_int_equal(result, -ENOENT);
	assert_non_null(strstr(why, "No such file"));
	base_path = "";
}

EP_TEST(error_of_the_sink_is_returned)
{
	const struct html_page_options options = {.level = 1, .base = ""};
	struct ep_batch *batch = writer_batch();
	struct ep_sink sink = {.write = fail_at_once};

	assert_int_equal(html_page_write(batch, "1.0", &options, &sink), -ENOSPC);
}

/* RFC 4648, section 10. */
EP_TEST(text_is_base64_in_pieces_of_any_size)
{
	static const char *const rows[][2] = {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"},
					      {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		for (size_t piece = 1; piece < 4; piece++) {
			struct html_text text;
			struct ep_sink sink = {0};
			size_t len = strlen(rows[i][0]);

			html_text_init(&text, &sink);
			for (size_t at = 0; at < len; at += piece)
				assert_int_equal(html_text_add(&text, (const uint8_t *)rows[i][0] + at,
							       EP_MIN(piece, len - at)), 0);
			text.sink = &sink;
			sink.write = fail_at_once;
			assert_int_equal(html_text_end(&text), len ? -ENOSPC : 0);
			assert_memory_equal(text.out, rows[i][1], strlen(rows[i][1]));
		}
	}
}
