/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers when memory runs out: each allocation of reading a file fails once, one by one, and each time the file is
 * read, or it is a sentence, and nothing leaks.
 *
 *	test_read_alloc FILE...
 */
#include "tests/kit/heap.h"
#include "tests/unit/read_profile.h"

static char **files;
static int n_files;

/* What makes a block smaller, or a text shorter, may fail and nobody is informed. */
static int read_it(void *path)
{
	struct ep_batch *batch = NULL;
	int r = read_path(path, &batch);

	ep_batch_unref(batch);
	return r;
}

EP_TEST(each_allocation_may_fail)
{
	for (int i = 0; i < n_files; i++) {
		uint32_t n;
		const char *wrong = heap_fail_each(read_it, files[i], &n);

		if (wrong)
			fail_msg("%s: %s; %s", files[i], wrong, read_why);
		assert_true(n > 50);
	}
}

int main(int argc, char **argv)
{
	files = argv + 1;
	n_files = argc - 1;
	return ep_test_run(NULL, NULL);
}
