/* SPDX-License-Identifier: Apache-2.0 */
/* Function starts from .eh_frame_hdr, in this very program. */
#include "core/symbol/starts.h"
#include "tests/kit/test.h"

extern const char __ehdr_start; /* of the linker: where the file's first byte is in memory */

__attribute__((noinline)) static int twice(int x)
{
	__asm__ volatile("" : "+r"(x));
	return 2 * x;
}

static uint64_t va_of(int (*function)(int))
{
	return (uint64_t)(uintptr_t)function - (uint64_t)(uintptr_t)&__ehdr_start;
}

EP_TEST(address_in_a_function_finds_its_start)
{
	struct ep_starts *starts = NULL;
	ep_cleanup(ep_elf_closep) struct ep_elf *elf = NULL;
	uint64_t start_va = 0;

	assert_int_equal(twice(2), 4);
	assert_int_equal(ep_elf_open("/proc/self/exe", &elf), 0);
	assert_int_equal(ep_starts_build(elf, &starts), 0);
	assert_int_equal(ep_starts_find(starts, va_of(twice) + 1, &start_va), 0);
	assert_int_equal(start_va, va_of(twice));
	assert_int_equal(ep_starts_find(starts, 0, &start_va), -ENODATA);
	assert_int_equal(ep_starts_find(starts, UINT64_MAX, &start_va), -ENODATA);
	assert_true(ep_starts_bytes(starts) > 100);
	assert_int_equal(ep_starts_bytes(NULL), 0);
	ep_starts_free(starts);
}
