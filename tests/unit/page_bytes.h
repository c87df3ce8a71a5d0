/* SPDX-License-Identifier: Apache-2.0 */
/* A page with a profile in it, as small as it can be; link otlp_encode_dep. */
#ifndef EP_TESTS_PAGE_BYTES_H
#define EP_TESTS_PAGE_BYTES_H

#include "core/base/vec.h"
#include "exporters/shared/otlp/file.h"
#include "tests/unit/read_profile.h"

#define PAGE_HEAD "<!DOCTYPE html>\n<html><head><script>let a = 'id=\"profile\"'</script></head><body>\n" \
		  "<script type=\"application/octet-stream\" id=\"profile\">\n"
#define PAGE_TAIL "\n</script>\n<script type=\"application/octet-stream\" id=\"profile-base\">\nAAAA\n</script></html>\n"

static inline int page_bytes_keep(void *arg, const void *data, size_t len)
{
	return ep_vec_append(arg, data, len);
}

/* The file of a batch, not compressed, appended. */
static inline void append_otlp(struct ep_vec *to, const struct ep_batch *batch)
{
	struct ep_sink sink = {.write = page_bytes_keep, .arg = to};

	assert_int_equal(otlp_file_write(batch, "1.2.3", &sink), 0);
}

/* Lines of 76 characters, which a page may have. */
static inline void append_base64(struct ep_vec *to, const uint8_t *data, size_t len)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < len; i += 3) {
		uint32_t bits = (uint32_t)data[i] << 16 | (i + 1 < len ? (uint32_t)data[i + 1] << 8 : 0) |
				(i + 2 < len ? data[i + 2] : 0);
		char four[4] = {digits[bits >> 18], digits[bits >> 12 & 63], i + 1 < len ? digits[bits >> 6 & 63] : '=',
				i + 2 < len ? digits[bits & 63] : '='};

		assert_int_equal(ep_vec_append(to, four, 4), 0);
		if (i % 57 == 54)
			assert_int_equal(ep_vec_append(to, "\n", 1), 0);
	}
}

static inline void append_page(struct ep_vec *to, const struct ep_batch *batch)
{
	ep_cleanup(ep_vec_fini) struct ep_vec otlp, gzip;

	ep_vec_init(&otlp, 1, SIZE_MAX / 2);
	ep_vec_init(&gzip, 1, SIZE_MAX / 2);
	append_otlp(&otlp, batch);
	append_gzip(&gzip, otlp.data, otlp.len);
	assert_int_equal(ep_vec_append(to, PAGE_HEAD, strlen(PAGE_HEAD)), 0);
	append_base64(to, gzip.data, gzip.len);
	assert_int_equal(ep_vec_append(to, PAGE_TAIL, strlen(PAGE_TAIL)), 0);
}

#endif
