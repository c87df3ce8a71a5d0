/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a whole batch: read again as the same batch; what others read in it: tests/otlp/test_file.py. */
#include "core/profile/batch.h"
#include "exporters/shared/otlp/encode.h"
#include "exporters/shared/otlp/file.h"
#include "reports/read/reader.h"
#include "tests/kit/heap.h"
#include "tests/kit/same_batch.h"
#include "tests/kit/test.h"
#include "tests/otlp/batch.h"
#include "tests/unit/full_batch.h"

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

/* After what is there. */
static void add_file(const struct ep_batch *batch, struct bytes *bytes)
{
	struct ep_sink sink = {.write = keep, .arg = bytes};

	assert_int_equal(otlp_file_write(batch, "1.2.3", &sink), 0);
}

static struct bytes file_of(const struct ep_batch *batch)
{
	struct bytes bytes = {0};

	add_file(batch, &bytes);
	ep_test_owns(bytes.data, free);
	return bytes;
}

static int try_read(const void *data, size_t len, struct ep_batch **ret_batch, char *why)
{
	ep_cleanup(ep_profile_builder_freep) struct ep_profile_builder *builder = NULL;
	int r = ep_profile_builder_new(&builder);

	why[0] = '\0';
	if (r == 0)
		r = ep_otlp_reader.read(data, len, builder, why);
	return r < 0 ? r : ep_profile_finish(builder, ret_batch);
}

static struct ep_batch *read_file(struct bytes bytes)
{
	char why[EP_READ_WHY_BYTES];
	struct ep_batch *batch;
	int r;

	assert_true(ep_otlp_reader.matches(bytes.data, bytes.len));
	r = try_read(bytes.data, bytes.len, &batch, why);
	assert_string_equal(why, "");
	assert_int_equal(r, 0);
	ep_test_owns(batch, release_batch);
	return batch;
}

static struct ep_batch *owned_batch(const struct test_shape *shape)
{
	struct ep_batch *batch = test_batch_new(shape);

	ep_test_owns(batch, (void (*)(void *))test_batch_unref);
	return batch;
}

static const struct test_shape shape_none = {.processes = 1, .functions = 12, .stacks = 6, .depth = 5};
static const struct test_shape shape_twins = {
	.processes = 3, .functions = 30, .stacks = 20, .depth = 12, .samples = 90, .events = 2, .twins = 5};
static const struct test_shape *const shapes[] = {&test_shape_small, &test_shape_379k, &shape_twins, &shape_none};

static const struct full_batch fulls[] = {
	{.with_times = true},
	{.with_times = true, .odd_weights = true},
	{.with_times = false},
	{.with_times = false, .odd_weights = true},
	{.with_times = true, .odd_weights = true, .unit = "bytes", .type = "alloc_space"},
	{.with_times = false, .unit = "count", .type = "samples"},
	{.with_times = true, .unit = "count", .type = "samples"},
	{.with_times = true, .periods = 300},
	{.with_times = true, .long_sample = 200000},
	{.with_times = true, .odd_weights = true, .long_sample = 200000},
};

EP_TEST(what_is_read_is_what_was_written)
{
	for (size_t i = 0; i < EP_LEN(shapes); i++) {
		struct ep_batch *batch = owned_batch(shapes[i]);

		ep_test_same_batch(read_file(file_of(batch)), batch);
	}
	for (size_t i = 0; i < EP_LEN(fulls); i++) {
		struct ep_batch *batch = full_batch_new(&fulls[i]);

		ep_test_same_batch(read_file(file_of(batch)), batch);
	}
}

EP_TEST(the_comparer_sees_a_difference)
{
	struct ep_batch *a = full_batch_new(&fulls[0]), *b = full_batch_new(&fulls[1]);
	char *one = ep_test_batch_text(a), *other = ep_test_batch_text(b);

	assert_string_not_equal(one, other);
	assert_non_null(strstr(one, "pid 42 start 1767225600123456789 image 3 comm <server>"));
	assert_non_null(strstr(one, "<EMPTY>=<>"));
	free(one);
	free(other);
}

EP_TEST(what_is_written_again_is_the_same_file)
{
	struct bytes first = file_of(full_batch_new(&fulls[1]));
	struct bytes second = file_of(read_file(first)), third = file_of(read_file(second));

	assert_int_equal(second.len, third.len);
	assert_memory_equal(second.data, third.data, third.len);
}

/* --- several messages --- */

static struct ep_batch *merged(const struct ep_batch *a, const struct ep_batch *b)
{
	struct ep_profile_builder *builder = begin_profile();

	assert_int_equal(ep_profile_add_batch(builder, a, NULL), 0);
	assert_int_equal(ep_profile_add_batch(builder, b, NULL), 0);
	return finish_profile(builder);
}

EP_TEST(files_one_after_the_other_are_one_recording)
{
	const struct full_batch later = {.with_times = true, .later_ns = 7000000000};
	struct ep_batch *a = full_batch_new(&fulls[0]), *b = full_batch_new(&later);
	struct bytes bytes = {0};

	add_file(a, &bytes);
	add_file(b, &bytes);
	ep_test_owns(bytes.data, free);
	ep_test_same_batch(read_file(bytes), merged(a, b));
}

EP_TEST(messages_behind_their_length_are_read)
{
	struct ep_batch *a = full_batch_new(&fulls[0]);
	struct bytes file = file_of(a), bytes = {0};

	for (int i = 0; i < 2; i++) {
		uint8_t len[4] = {(uint8_t)(file.len >> 24), (uint8_t)(file.len >> 16), (uint8_t)(file.len >> 8),
				  (uint8_t)file.len};

		keep(&bytes, len, sizeof(len));
		keep(&bytes, file.data, file.len);
	}
	ep_test_owns(bytes.data, free);
	ep_test_same_batch(read_file(bytes), merged(a, a));
}

/* --- of others --- */

static int keep_request(void *arg, const struct otlp_request *request)
{
	for (size_t i = 0; i < request->n_pieces; i++)
		keep(arg, request->pieces[i].data, request->pieces[i].len);
	return 0;
}

/* What we send to receivers has no mark of a file, as what others write. */
EP_TEST(requests_are_read_as_far_as_they_go)
{
	const struct otlp_encode_options options = {.max_bytes = 16384, .version = "1"};
	struct ep_batch *batch = owned_batch(&test_shape_379k), *is;
	struct bytes bytes = {0};
	struct otlp_sink sink = {.take = keep_request, .arg = &bytes};
	uint64_t too_big, weight = 0, count = 0;

	assert_int_equal(otlp_encode(batch, &options, &sink, &too_big), 0);
	ep_test_owns(bytes.data, free);
	is = read_file(bytes);
	for (uint32_t i = 0; i < is->n_samples; i++) {
		count += is->sample_count[i];
		weight += is->sample_weight_ns[i];
	}
	assert_int_equal(count, test_batch_events(batch));
	assert_int_equal(weight, count * batch->period_ns);
	assert_string_equal(is->sample_type, "cpu");
	assert_string_equal(is->weight_unit, "nanoseconds");
	assert_string_equal(is->host_name, batch->host_name);
	assert_int_equal(is->period_hz, 20);
	assert_int_equal(is->sample_time_first[is->n_samples], count);
	assert_true(is->n_processes > 3);
}

/* profcheck's example of a small request: one resource, one sample, two timestamps. */
static const char small_request[] =
	"0a660a130a110a0b70726f636573732e7069641202182a124f0a140a0d656270662d70726f66696c65721203302e3112370a04080110"
	"0212180801120203042a10e803000000000000cf0700000000000019e80300000000000020e8072a04080310043080e1eb17128a020a"
	"000a0b088020108040200b2a01021200120e08011088271a04080110032201011a001a040806180722002a002a0773616d706c65732a"
	"05636f756e742a036370752a0b6e616e6f7365636f6e64732a1270726f66696c652e6672616d652e747970652a046d61696e2a046465"
	"6d6f2a2370726f636573732e65786563757461626c652e6275696c645f69642e68746c686173682a0b7468726561642e6e616d652a09"
	"7468726561642e69642a076c6962782e736f3200320c080512080a066e61746976653226080812220a20363030646361666534613131"
	"3030303066326266333863343933663566623932320c080912080a06776f726b65723206080a1202182b3a003a030a0101";

static struct bytes unhex(const char *hex)
{
	struct bytes bytes = {0};

	for (; *hex; hex += 2) {
		unsigned int byte;

		assert_int_equal(sscanf(hex, "%2x", &byte), 1);
		keep(&bytes, &(uint8_t){(uint8_t)byte}, 1);
	}
	ep_test_owns(bytes.data, free);
	return bytes;
}

EP_TEST(a_small_request_of_others_is_read)
{
	struct ep_batch *b = read_file(unhex(small_request));

	assert_int_equal(b->n_samples, 1);
	assert_int_equal(b->sample_count[0], 2);
	assert_int_equal(b->sample_weight_ns[0], 2 * 50000000);
	assert_int_equal(b->sample_time_ns[0], 1000);
	assert_int_equal(b->sample_time_ns[1], 1999);
	assert_int_equal(b->start_ns, 1000);
	assert_int_equal(b->duration_ns, 1000);
	assert_int_equal(b->sample_tid[0], 43);
	assert_int_equal(b->process_pid[b->sample_process[0]], 42);
	assert_string_equal(b->string_text[b->sample_thread_name[0]], "worker");
	assert_string_equal(b->string_text[b->function_name[1]], "main");
	assert_string_equal(b->string_text[b->location_kind[1]], "native");
	assert_string_equal(b->string_text[b->mapping_path[1]], "libx.so");
	assert_string_equal(b->string_text[b->mapping_file_id[1]], "600dcafe4a110000f2bf38c493f5fb92");
	assert_string_equal(b->sample_type, "cpu");
	assert_int_equal(b->period_hz, 20);
}

/* --- refused --- */

static void assert_refused(struct bytes bytes, int error, const char *part)
{
	char why[EP_READ_WHY_BYTES];
	struct ep_batch *batch;

	assert_int_equal(try_read(bytes.data, bytes.len, &batch, why), error);
	if (!strstr(why, part))
		fail_msg("\"%s\" does not say \"%s\"", why, part);
	assert_null(strchr(why, '\n'));
}

/* Where `text` is in the bytes. */
static uint8_t *find(struct bytes bytes, const char *text)
{
	uint8_t *at = memmem(bytes.data, bytes.len, text, strlen(text));

	assert_non_null(at);
	return at;
}

EP_TEST(another_version_is_refused_in_one_sentence)
{
	struct bytes bytes = file_of(full_batch_new(&fulls[0]));
	uint8_t *format = find(bytes, "ebpf_profiler.file.format") + strlen("ebpf_profiler.file.format");

	assert_int_equal(format[3], 1); /* value {, 2 bytes, int_value */
	format[3] = 2;
	assert_refused(bytes, -ENOTSUP, "version 2");
	format[3] = 1;
	memcpy(find(bytes, OTLP_FILE_MESSAGES) + strlen("opentelemetry-proto "), "2\033.0", 4);
	assert_refused(bytes, -ENOTSUP, "\"opentelemetry-proto 2?.0\"");
}

EP_TEST(other_definitions_of_the_messages_are_refused)
{
	struct bytes bytes = unhex(small_request);
	uint8_t *sample = memmem(bytes.data, bytes.len, "\x08\x01\x12\x02\x03\x04", 6);

	assert_non_null(sample);
	sample[2] = 0x1a; /* 1.9: attributes were field 3, where the link is now */
	assert_refused(bytes, -EBADMSG, "1.10");
}

/* Wherever a file ends too early, it says so. */
EP_TEST(truncated_files_are_refused_in_one_sentence)
{
	struct bytes bytes = file_of(full_batch_new(&fulls[1]));

	for (size_t len = 4; len < bytes.len; len += len < 3000 ? 1 : 17) {
		uint8_t *exact = malloc(len); /* so that a sanitizer sees what is read beyond */
		char why[EP_READ_WHY_BYTES];
		struct ep_batch *batch;
		int r;

		assert_non_null(exact);
		memcpy(exact, bytes.data, len);
		r = try_read(exact, len, &batch, why);
		if (r == 0)
			fail_msg("of %zu bytes %zu are enough", bytes.len, len);
		assert_true(why[0] && !strchr(why, '\n'));
		free(exact);
	}
}

EP_TEST(what_is_something_else_is_not_claimed)
{
	static const char *const others[] = {"", "\n", "a;b 1\n", "<!DOCTYPE html>", "\x0a\x04\x08\x01\x10\x02"};

	for (size_t i = 0; i < EP_LEN(others); i++)
		assert_false(ep_otlp_reader.matches((const uint8_t *)others[i], strlen(others[i])));
}

/* --- when memory runs out --- */

static int count_bytes(void *arg, const void *data, size_t len)
{
	*(size_t *)arg += len;
	return 0;
}

static int write_it(void *batch)
{
	size_t len = 0;
	struct ep_sink sink = {.write = count_bytes, .arg = &len};

	return otlp_file_write(batch, "1", &sink);
}

static int read_it(void *file)
{
	const struct bytes *bytes = file;
	char why[EP_READ_WHY_BYTES];
	struct ep_batch *batch = NULL;
	int r = try_read(bytes->data, bytes->len, &batch, why);

	ep_batch_unref(batch);
	return r;
}

EP_TEST(each_allocation_may_fail)
{
	struct ep_batch *batch = full_batch_new(&fulls[1]);
	struct bytes bytes = file_of(batch);
	uint32_t n;
	const char *wrong = heap_fail_each(write_it, batch, &n);

	wrong = wrong ? wrong : heap_fail_each(read_it, &bytes, &n);
	if (wrong)
		fail_msg("%s", wrong);
}

static int fail_late(void *arg, const void *data, size_t len)
{
	size_t *left = arg;

	if (len > *left)
		return -ENOSPC;
	*left -= len;
	return 0;
}

EP_TEST(the_sinks_error_ends_it)
{
	struct ep_batch *batch = full_batch_new(&fulls[0]);

	for (size_t limit = 0; limit < 3000; limit += 100) {
		size_t left = limit;
		struct ep_sink sink = {.write = fail_late, .arg = &left};

		assert_int_equal(otlp_file_write(batch, "1", &sink), -ENOSPC);
	}
}

/* --- for a decoder that is not ours: tests/otlp/test_file.py --- */

static void write_pair(const char *directory, size_t n, const struct ep_batch *batch)
{
	struct bytes bytes = {0};
	char path[512], *text = ep_test_batch_text(batch);
	FILE *file;

	add_file(batch, &bytes);
	snprintf(path, sizeof(path), "%s/%zu.otlp", directory, n);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes.data, 1, bytes.len, file), bytes.len);
	assert_int_equal(fclose(file), 0);
	snprintf(path, sizeof(path), "%s/%zu.txt", directory, n);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	free(text);
	free(bytes.data);
}

int main(int argc, char **argv)
{
	if (argc < 3 || strcmp(argv[1], "--files") != 0)
		return ep_test_run(NULL, NULL);
	for (size_t i = 0; i < EP_LEN(fulls); i++) {
		write_pair(argv[2], i, full_batch_new(&fulls[i]));
		ep_test_release(NULL);
	}
	for (size_t i = 0; i < EP_LEN(shapes); i++) {
		struct ep_batch *batch = test_batch_new(shapes[i]);

		write_pair(argv[2], EP_LEN(fulls) + i, batch);
		test_batch_unref(batch);
	}
	return 0;
}
