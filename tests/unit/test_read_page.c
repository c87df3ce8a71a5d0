/* SPDX-License-Identifier: Apache-2.0 */
/* Files of OTLP, and pages that carry one, through the front door of the readers. */
#include "tests/kit/same_batch.h"
#include "tests/unit/full_batch.h"
#include "tests/unit/page_bytes.h"

/* One vector for each test. */
static struct ep_vec bytes;

static void free_bytes(void *vec)
{
	ep_vec_fini(vec);
}

static void begin(void)
{
	ep_vec_init(&bytes, 1, SIZE_MAX / 2);
	ep_test_owns(&bytes, free_bytes);
}

static const struct full_batch full = {.with_times = true, .odd_weights = true};

EP_TEST(a_file_of_otlp_is_read_compressed_or_not)
{
	ep_cleanup(ep_vec_fini) struct ep_vec otlp;
	struct ep_batch *batch = full_batch_new(&full);

	begin();
	append_otlp(&bytes, batch);
	ep_test_same_batch(batch_of(bytes.data, bytes.len), batch);
	ep_vec_init(&otlp, 1, SIZE_MAX / 2);
	append_otlp(&otlp, batch);
	bytes.len = 0;
	append_gzip(&bytes, otlp.data, otlp.len);
	ep_test_same_batch(batch_of(bytes.data, bytes.len), batch);
}

EP_TEST(the_profile_of_a_page_is_read)
{
	struct ep_batch *batch = full_batch_new(&full);

	begin();
	append_page(&bytes, batch);
	ep_test_same_batch(batch_of(bytes.data, bytes.len), batch);
}

EP_TEST(pages_that_are_cut_off_or_others_are_refused)
{
	static const char other[] = "  <html><body>hello</body></html>";
	size_t profile;

	begin();
	append_page(&bytes, full_batch_new(&full));
	profile = strlen(PAGE_HEAD);
	check_refused(bytes.data, profile / 2, "page without a profile");
	check_refused(bytes.data, profile, "cut off");
	check_refused(bytes.data, profile + 1000, "cut off");
	check_refused(other, strlen(other), "page without a profile");
	((char *)bytes.data)[profile + 500] = '<';
	check_refused(bytes.data, bytes.len, "is no base64");
	((char *)bytes.data)[profile + 500] = ((char *)bytes.data)[profile + 501] == 'A' ? 'B' : 'A';
	((char *)bytes.data)[profile + 501] = 'A';
	check_refused(bytes.data, bytes.len, "the profile in the page");
}

EP_TEST(what_a_page_carries_must_be_a_profile)
{
	static const char text[] = PAGE_HEAD "aGVsbG8gd29ybGQ=" PAGE_TAIL, none[] = PAGE_HEAD PAGE_TAIL;

	check_refused(text, strlen(text), "no profile of OTLP");
	check_refused(none, strlen(none), "no profile of OTLP");
}

EP_TEST(joined_pages_are_their_sum)
{
	struct ep_batch *batch = full_batch_new(&full), *sum;

	begin();
	append_page(&bytes, batch);
	append_page(&bytes, batch);
	sum = batch_of(bytes.data, bytes.len);
	assert_int_equal(sum->n_samples, batch->n_samples);
	assert_int_equal(weight_in(sum), 2 * weight_in(batch));
	check_refused(bytes.data, bytes.len - strlen(PAGE_TAIL) - 50, "cut off");
}

/* For the fuzzer, when the build runs `test_read_page --seeds DIRECTORY`. */
static void write_seeds(const char *directory)
{
	static const struct full_batch small = {.with_times = true, .odd_weights = true, .samples = 12};
	static const struct full_batch no_times = {.samples = 8, .odd_weights = true, .unit = "bytes", .type = "alloc"};
	const struct full_batch *const all[] = {&small, &no_times};

	for (size_t i = 0; i < EP_LEN(all); i++) {
		struct ep_batch *batch = full_batch_new(all[i]);
		char path[512];

		ep_vec_init(&bytes, 1, SIZE_MAX / 2);
		append_otlp(&bytes, batch);
		snprintf(path, sizeof(path), "%s/otlp-%zu.bin", directory, i);
		write_file(path, bytes.data, bytes.len);
		bytes.len = 0;
		append_page(&bytes, batch);
		snprintf(path, sizeof(path), "%s/page-%zu.html", directory, i);
		write_file(path, bytes.data, bytes.len);
		ep_vec_fini(&bytes);
		ep_test_release(NULL);
	}
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--seeds") == 0) {
		write_seeds(argv[2]);
		return 0;
	}
	return ep_test_run(NULL, NULL);
}
