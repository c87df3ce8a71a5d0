/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers when memory runs out: each allocation of reading a file fails once, one by one, and each time the file is
 * read, or it is a sentence, and nothing leaks.
 *
 *	test_read_alloc FILE...
 */
#include "tests/kit/heap.h"
#include "tests/unit/read_profile.h"

static const char *const *files;
static int n_files;

static void try_each(const char *path)
{
	struct ep_batch *batch = NULL;
	uint32_t n;

	heap_arm(0);
	assert_int_equal(read_path(path, &batch), 0);
	ep_batch_unref(batch);
	n = heap_wrapped.calls;
	assert_int_equal(heap_wrapped.live, 0);
	for (uint32_t at = 1; at <= n; at++) {
		int r;

		batch = NULL;
		heap_arm(at);
		r = read_path(path, &batch);
		ep_batch_unref(batch);
		(void)heap_disarm();
		if (heap_wrapped.live != 0)
			fail_msg("%s: allocation %u of %u failed: %d blocks leaked", path, at, n,
				 (int)heap_wrapped.live);
		/* what makes a block smaller, or a text shorter, may fail and nobody is told */
		if (r != 0 && r != -ENOMEM)
			fail_msg("%s: allocation %u of %u failed: %d, %s", path, at, n, r, read_why);
	}
	assert_true(n > 50);
}

EP_TEST(each_allocation_may_fail)
{
	for (int i = 0; i < n_files; i++)
		try_each(files[i]);
}

int main(int argc, char **argv)
{
	files = (const char *const *)argv + 1;
	n_files = argc - 1;
	return ep_test_run(NULL, NULL);
}
