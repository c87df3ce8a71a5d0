/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of samples that BPF could not finish: raw addresses are placed, copies wait. */
#include "core/process/executables.h"
#include "core/process/held.h"
#include "core/process/places.h"

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
	int n;
} passed;

static struct ep_executable executable = {
	.id = 7,
	.refs = 100,
	.state = EP_EXECUTABLE_READY,
	.file.fd = -1,
	.segments = {{.va = 0x400, .file_off = 0, .file_bytes = 0x2000}},
	.n_segments = 1,
};

struct fixture {
	struct ep_table table;
	struct ep_publisher publisher;
	struct ep_process *process;
	struct ep_held *held;
};

static void pass(void *arg, const void *event, size_t bytes)
{
	(void)arg;
	assert_true(bytes <= sizeof(passed.sample) + sizeof(passed.words));
	memset(passed.words, 0, sizeof(passed.words));
	memcpy(&passed, event, bytes);
	passed.n++;
}

static void add_place(struct ep_process *process, uint64_t start, struct ep_executable *of)
{
	struct ep_place_in_memory place = {.start = start, .end = start + 0x1000, .executable = of};

	assert_int_equal(ep_places_insert(&process->places, NULL, place), 0);
}

static int set_up(void **state)
{
	struct fixture *fx = calloc(1, sizeof(*fx));
	struct ep_held_options options = {.max_bytes = 65536, .pass = pass};

	memset(&passed, 0, sizeof(passed));
	ep_table_init(&fx->table, 16);
	fx->process = ep_process_new((struct ep_program){.pid = 9, .image = 1, .start_ns = 5});
	fx->process->state = EP_PROCESS_KNOWN;
	assert_int_equal(ep_table_add(&fx->table, fx->process), 0);
	add_place(fx->process, FILE_CODE, &executable);
	add_place(fx->process, JIT_CODE, NULL);
	options.table = &fx->table;
	options.publisher = &fx->publisher;
	assert_int_equal(ep_held_new(&options, &fx->held), 0);
	*state = fx;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fx = *state;

	ep_held_free(fx->held);
	ep_places_clear(&fx->process->places, NULL);
	ep_process_free(fx->process);
	ep_table_fini(&fx->table);
	free(fx);
	return 0;
}

/* A leaf, then return addresses found by frame pointer. */
static void send(struct fixture *fx, const uint64_t *addrs, uint16_t n, uint32_t copy_bytes)
{
	struct {
		struct ep_sample sample;
		uint64_t words[8 + 64];
	} event = {.sample = {.n_frames = n, .n_words = 2 * n, .pid = 9, .image = 1, .start_ns = 5}};

	event.sample.event.type = EP_EVENT_TRACE;
	event.sample.copy_bytes = copy_bytes;
	event.sample.error = copy_bytes ? EP_ERROR_NOT_ANALYSED : 0;
	for (size_t i = 0; i < n; i++) {
		uint32_t flags = i ? EP_FRAME_RETURN_ADDRESS | EP_FRAME_POINTER_WALK : 0;

		event.words[2 * i] = EP_FRAME_HEADER(EP_FRAME_NATIVE, flags, 1, 0);
		event.words[2 * i + 1] = addrs[i];
	}
	ep_held_add(fx->held, &event.sample, sizeof(event.sample) + 16 * (size_t)n + copy_bytes);
}

static void code_without_a_file_is_code(void **state)
{
	send(*state, (const uint64_t[]){JIT_CODE, JIT_CODE + 8, FILE_CODE + 4}, 3, 0);
	assert_int_equal(passed.sample.n_frames, 3);
	assert_int_equal(passed.sample.error, 0);
	assert_int_equal(passed.words[3], JIT_CODE + 8);
	assert_int_equal(EP_FRAME_AUX(passed.words[4]), 7);
	assert_int_equal(passed.words[5], 0x404);
}

static void stack_that_led_nowhere_is_not_complete(void **state)
{
	send(*state, (const uint64_t[]){FILE_CODE, NO_CODE + 8, FILE_CODE + 4}, 3, 0);
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
		.sample = {.n_frames = 3, .n_words = 6, .error = EP_ERROR_KERNEL_DEPTH, .pid = 9,
			   .image = 1, .start_ns = 5},
		.words = {EP_FRAME_HEADER(EP_FRAME_ERROR, 0, 1, EP_ERROR_KERNEL_DEPTH), 0,
			  EP_FRAME_HEADER(EP_FRAME_NATIVE, 0, 1, 0), FILE_CODE,
			  EP_FRAME_HEADER(EP_FRAME_NATIVE, EP_FRAME_POINTER_WALK, 1, 0), NO_CODE}};
	struct fixture *fx = *state;

	event.sample.event.type = EP_EVENT_TRACE;
	ep_held_add(fx->held, &event.sample, sizeof(event));
	assert_int_equal(passed.n, 1);
	assert_int_equal(passed.sample.error, EP_ERROR_KERNEL_DEPTH);
	assert_int_equal(passed.sample.n_frames, 3);
	assert_int_equal(EP_FRAME_AUX(passed.words[2]), 7);
	assert_int_equal(EP_FRAME_AUX(passed.words[4]), EP_ERROR_BAD_FRAME_POINTER);
}

static void sample_waits_while_a_file_is_looked_at(void **state)
{
	struct fixture *fx = *state;

	fx->process->is_asking = true;
	send(fx, (const uint64_t[]){FILE_CODE}, 1, 0);
	assert_int_equal(passed.n, 0);
	assert_true(ep_held_bytes(fx->held) > 0);
	ep_held_retry(fx->held);
	assert_int_equal(passed.n, 0);
	fx->process->is_asking = false;
	ep_held_retry(fx->held);
	assert_int_equal(passed.n, 1);
	assert_int_equal(EP_FRAME_AUX(passed.words[0]), 7);
	assert_int_equal(ep_held_bytes(fx->held), 0);
}

/* It has waited long enough: without its copy, it says what BPF said. */
static void copy_of_an_unknown_process_is_dropped_in_the_end(void **state)
{
	struct fixture *fx = *state;

	ep_places_clear(&fx->process->places, NULL);
	ep_places_init(&fx->process->places);
	fx->process->state = EP_PROCESS_NEW;
	send(fx, NULL, 0, sizeof(struct ep_copy));
	assert_int_equal(passed.n, 0);
	ep_held_expire(fx->held, 0);
	assert_int_equal(passed.n, 1);
	assert_int_equal(passed.sample.copy_bytes, 0);
	assert_int_equal(passed.sample.error, EP_ERROR_NOT_ANALYSED);
	assert_int_equal(ep_held_stats(fx->held)->unknown, 1);
}

static void nothing_waits_for_a_process_nobody_knows(void **state)
{
	struct fixture *fx = *state;

	fx->process->program.image = 2;
	send(fx, NULL, 0, sizeof(struct ep_copy));
	assert_int_equal(passed.n, 1);
	assert_int_equal(passed.sample.error, EP_ERROR_NOT_ANALYSED);
}

static void oldest_goes_when_too_many_wait(void **state)
{
	struct fixture *fx = *state;

	fx->process->is_asking = true;
	for (int i = 0; i < 1000; i++)
		send(fx, (const uint64_t[]){FILE_CODE}, 1, 0);
	assert_true(passed.n > 0);
	assert_true(ep_held_bytes(fx->held) <= 65536);
	assert_int_equal(ep_held_stats(fx->held)->pushed_out, passed.n);
}

/* The counts of a record are not taken for those of its bytes. */
static void sample_that_counts_more_words_than_it_has_is_dropped(void **state)
{
	struct {
		struct ep_sample sample;
		uint64_t words[2];
	} event = {.sample = {.n_frames = 1, .n_words = 2, .pid = 9, .image = 1, .start_ns = 5},
		   .words = {EP_FRAME_HEADER(EP_FRAME_NATIVE, 0, 1, 0), FILE_CODE}};
	struct fixture *fx = *state;
	struct {
		uint16_t n_kernel, n_words;
	} counts[] = {{0, 3}, {1, 2}, {3, 0}, {0, UINT16_MAX}, {0, 1}};

	event.sample.event.type = EP_EVENT_TRACE;
	for (size_t i = 0; i < EP_LEN(counts); i++) {
		event.sample.n_kernel = counts[i].n_kernel;
		event.sample.n_words = counts[i].n_words;
		ep_held_add(fx->held, &event.sample, sizeof(event));
		assert_int_equal(passed.n, 0);
		assert_int_equal(ep_held_stats(fx->held)->dropped, i + 1);
	}
	event.sample.n_kernel = 0;
	event.sample.n_words = 2;
	ep_held_add(fx->held, &event.sample, sizeof(event));
	assert_int_equal(passed.n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(code_without_a_file_is_code, set_up, tear_down),
		cmocka_unit_test_setup_teardown(stack_that_led_nowhere_is_not_complete, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(sample_waits_while_a_file_is_looked_at, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(copy_of_an_unknown_process_is_dropped_in_the_end,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(nothing_waits_for_a_process_nobody_knows, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(oldest_goes_when_too_many_wait, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_kernels_part_has_an_error_of_its_own, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			sample_that_counts_more_words_than_it_has_is_dropped, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
