/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of a waiting sample's raw addresses; where they lie is said by the fake below. */
#include "core/process/held.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define FILE_CODE 0x10000 /* of executable 7, at virtual address 0x400 */
#define JIT_CODE  0x20000
#define NO_CODE	  0x30000

static struct {
	struct ep_sample sample;
	uint64_t words[8];
} passed;

bool ep_processes_is_settled(struct ep_processes *processes, pid_t pid, uint64_t start_ns)
{
	(void)processes, (void)pid, (void)start_ns;
	return true;
}

int ep_processes_place(struct ep_processes *processes, pid_t pid, uint64_t start_ns, uint64_t addr,
		       uint32_t *ret_executable, uint64_t *ret_va)
{
	(void)processes, (void)pid, (void)start_ns;
	if (addr >= NO_CODE)
		return -ENODATA;
	if (addr >= JIT_CODE)
		return EP_PLACE_ANONYMOUS;
	*ret_executable = 7;
	*ret_va = 0x400 + addr - FILE_CODE;
	return 0;
}

static void pass(void *arg, const void *event, size_t bytes)
{
	(void)arg;
	assert_true(bytes <= sizeof(passed));
	memset(&passed, 0, sizeof(passed));
	memcpy(&passed, event, bytes);
}

/* A leaf, then return addresses found by frame pointer. */
static void send(const uint64_t *addrs, uint16_t n)
{
	struct {
		struct ep_sample sample;
		uint64_t words[8];
	} event = {.sample = {.n_frames = n, .n_words = 2 * n}};
	struct ep_held *held = NULL;

	for (size_t i = 0; i < n; i++) {
		uint32_t flags = i ? EP_FRAME_RETURN_ADDRESS | EP_FRAME_POINTER_WALK : 0;

		event.words[2 * i] = EP_FRAME_HEADER(EP_FRAME_NATIVE, flags, 1, 0);
		event.words[2 * i + 1] = addrs[i];
	}
	assert_int_equal(ep_held_new(NULL, 4096, pass, NULL, &held), 0);
	ep_held_add(held, &event.sample, sizeof(event.sample) + 16 * (size_t)n);
	ep_held_free(held);
}

static void code_without_a_file_is_code(void **state)
{
	(void)state;
	send((const uint64_t[]){JIT_CODE, JIT_CODE + 8, FILE_CODE + 4}, 3);
	assert_int_equal(passed.sample.n_frames, 3);
	assert_int_equal(passed.sample.error, 0);
	assert_int_equal(passed.words[3], JIT_CODE + 8);
	assert_int_equal(EP_FRAME_AUX(passed.words[4]), 7);
	assert_int_equal(passed.words[5], 0x404);
}

static void stack_that_led_nowhere_is_not_complete(void **state)
{
	(void)state;
	send((const uint64_t[]){FILE_CODE, NO_CODE + 8, FILE_CODE + 4}, 3);
	assert_int_equal(passed.sample.n_frames, 2);
	assert_int_equal(passed.sample.error, EP_ERROR_BAD_FRAME_POINTER);
	assert_int_equal(EP_FRAME_KIND(passed.words[2]), EP_FRAME_ERROR);
	assert_int_equal(EP_FRAME_AUX(passed.words[2]), EP_ERROR_BAD_FRAME_POINTER);
}

/* That the kernel's part is cut says nothing of the user's, in front of which it is said. */
static void the_kernels_part_has_an_error_of_its_own(void **state)
{
	struct {
		struct ep_sample sample;
		uint64_t words[6];
	} event = {
		.sample = {.n_frames = 3, .n_words = 6, .error = EP_ERROR_KERNEL_DEPTH},
		.words = {EP_FRAME_HEADER(EP_FRAME_ERROR, 0, 1, EP_ERROR_KERNEL_DEPTH), 0,
			  EP_FRAME_HEADER(EP_FRAME_NATIVE, 0, 1, 0), FILE_CODE,
			  EP_FRAME_HEADER(EP_FRAME_NATIVE, EP_FRAME_POINTER_WALK, 1, 0), NO_CODE}};
	struct ep_held *held = NULL;

	(void)state;
	assert_int_equal(ep_held_new(NULL, 4096, pass, NULL, &held), 0);
	ep_held_add(held, &event.sample, sizeof(event));
	ep_held_free(held);
	assert_int_equal(passed.sample.error, EP_ERROR_KERNEL_DEPTH);
	assert_int_equal(passed.sample.n_frames, 3);
	assert_int_equal(EP_FRAME_AUX(passed.words[2]), 7);
	assert_int_equal(EP_FRAME_AUX(passed.words[4]), EP_ERROR_BAD_FRAME_POINTER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_without_a_file_is_code),
		cmocka_unit_test(stack_that_led_nowhere_is_not_complete),
		cmocka_unit_test(the_kernels_part_has_an_error_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
