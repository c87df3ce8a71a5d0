/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a whole batch: valid to the checker of tests/otlp, and read again as the same batch. */
#include "exporters/shared/otlp/file.h"
#include "tests/kit/test.h"
#include "tests/otlp/batch.h"
#include "tests/otlp/check.h"

struct bytes {
	uint8_t *data;
	size_t len, cap;
};

static int keep(void *arg, const void *data, size_t len)
{
	struct bytes *bytes = arg;

	if (bytes->len + len > bytes->cap) {
		bytes->cap = 2 * (bytes->len + len);
		bytes->data = realloc(bytes->data, bytes->cap);
		assert_non_null(bytes->data);
	}
	memcpy(bytes->data + bytes->len, data, len);
	bytes->len += len;
	return 0;
}

static void write_file(const struct ep_batch *batch, struct bytes *bytes)
{
	struct ep_sink sink = {.write = keep, .arg = bytes};

	assert_int_equal(otlp_file_write(batch, "1.2.3", &sink), 0);
	ep_test_owns(bytes->data, free);
}

static struct ep_batch *owned_batch(const struct test_shape *shape)
{
	struct ep_batch *batch = test_batch_new(shape);

	ep_test_owns(batch, (void (*)(void *))test_batch_unref);
	return batch;
}

EP_TEST(a_file_keeps_the_rules_of_the_messages)
{
	const struct test_shape twins = {.processes = 3, .functions = 30, .stacks = 20, .depth = 12, .samples = 90,
					 .events = 2, .twins = 5};
	const struct test_shape none = {.processes = 1, .functions = 12, .stacks = 6, .depth = 5};
	const struct test_shape *const shapes[] = {&test_shape_small, &test_shape_379k, &twins, &none};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		const struct otlp_check_options options = {0};
		struct otlp_check_result result;
		struct bytes bytes = {0};
		struct ep_batch *batch = owned_batch(shapes[i]);

		write_file(batch, &bytes);
		assert_int_equal(otlp_check(bytes.data, bytes.len, &options, &result), 0);
		assert_string_equal(result.text, "");
		assert_int_equal(result.events, test_batch_events(batch));
	}
}
