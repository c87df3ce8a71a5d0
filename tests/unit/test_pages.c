/* SPDX-License-Identifier: Apache-2.0 */
/* Pages that are given back: those of a file leave our memory, their bytes stay. */
#include "core/base/pages.h"
#include "core/base/util.h"
#include "tests/kit/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define N_PAGES 16
#define PAGE	4096u

/* How many of the pages at `start` are mapped: bit 63 of /proc/self/pagemap's words. */
static unsigned int count_mapped(const uint8_t *start, unsigned int n)
{
	ep_autoclose int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t words[N_PAGES];
	unsigned int mapped = 0;

	assert_true(fd >= 0 && n <= N_PAGES);
	assert_int_equal(pread(fd, words, n * sizeof(*words),
			       (off_t)((uintptr_t)start / PAGE * sizeof(*words))),
			 n * sizeof(*words));
	for (unsigned int i = 0; i < n; i++)
		mapped += words[i] >> 63;
	return mapped;
}

static uint8_t *map_file(const char *path)
{
	uint8_t bytes[PAGE];
	uint8_t *data;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	for (unsigned int i = 0; i < N_PAGES; i++) {
		memset(bytes, (int)i + 1, sizeof(bytes));
		assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	}
	assert_int_equal(fsync(fd), 0); /* what is not written yet stays */
	data = mmap(NULL, N_PAGES * PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(data != MAP_FAILED);
	close(fd);
	return data;
}

static void check_bytes(const uint8_t *data)
{
	for (unsigned int i = 0; i < N_PAGES; i++)
		assert_int_equal(((const volatile uint8_t *)data)[i * PAGE], i + 1);
}

EP_TEST(whole_pages_of_a_file_go_and_come_back)
{
	static const char path[] =
		"test_pages.tmp"; /* in the build's directory, which is of a real file system */
	uint8_t *data;

	if (sysconf(_SC_PAGESIZE) != PAGE)
		skip();
	data = map_file(path);
	check_bytes(data);
	assert_int_equal(count_mapped(data, N_PAGES), N_PAGES);
	ep_pages_give_back(data + 1, N_PAGES * PAGE - 2);
	assert_true(count_mapped(data, 1) == 1 &&
		    count_mapped(data + (N_PAGES - 1) * PAGE, 1) == 1);
	/* What else the kernel does with them meanwhile is its business: most have gone. */
	assert_in_range(count_mapped(data + PAGE, N_PAGES - 2), 0, N_PAGES / 4);
	check_bytes(data);
	munmap(data, N_PAGES * PAGE);
	unlink(path);
}

EP_TEST(memory_of_no_file_keeps_its_bytes)
{
	uint8_t *data = mmap(NULL, N_PAGES * PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(data != MAP_FAILED);
	for (unsigned int i = 0; i < N_PAGES; i++)
		data[i * PAGE] = (uint8_t)(i + 1);
	ep_pages_give_back(data, N_PAGES * PAGE);
	check_bytes(data);
	munmap(data, N_PAGES * PAGE);
}

EP_TEST(less_than_a_page_is_nothing)
{
	static const char some[64] = "abc";

	ep_pages_give_back(some, sizeof(some));
	ep_pages_give_back(some, 0);
	assert_string_equal(some, "abc");
}

int main(void)
{
	return ep_test_run(NULL, NULL);
}
