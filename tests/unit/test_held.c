/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of samples that BPF could not finish: raw addresses are placed, copies wait. */
#include "core/process/executables.h"
#include "core/process/held.h"
#include "core/process/mappings.h"
#include "core/walk/walk.h"
#include "tests/kit/test.h"
#include "tests/unit/areas.h"
#include "tests/unit/runtime.h"
#include "tests/unit/walk_world.h"

#include <fcntl.h>
#include <uv.h>

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

static int walked; /* copies */

/* Where there is no walker it walks any copy to one address in code without a file, and says that this is all. */
int __real_ep_walker_run(struct ep_walker *walker, const void *event, size_t bytes,
			 const struct ep_row *rows, size_t n_rows,
			 const struct ep_walk_source *source, struct ep_vec *ret_event);
int __wrap_ep_walker_run(struct ep_walker *walker, const void *event, size_t bytes,
			 const struct ep_row *rows, size_t n_rows,
			 const struct ep_walk_source *source, struct ep_vec *ret_event)
{
	struct {
		struct ep_sample sample;
		uint64_t words[2];
	} end = {.words = {EP_FRAME_HEADER(EP_FRAME_NATIVE, 0, 1, 0), JIT_CODE}};

	if (walker)
		return __real_ep_walker_run(walker, event, bytes, rows, n_rows, source, ret_event);
	walked++;
	memcpy(&end.sample, event, sizeof(end.sample));
	end.sample.n_frames = 1;
	end.sample.n_words = 2;
	end.sample.copy_bytes = 0;
	end.sample.error = 0;
	ret_event->len = 0;
	return ep_vec_append(ret_event, &end, sizeof(end));
}

static void pass(void *arg, const void *event, size_t bytes)
{
	assert_true(bytes <= sizeof(passed.sample) + sizeof(passed.words));
	memset(passed.words, 0, sizeof(passed.words));
	memcpy(&passed, event, bytes);
	passed.n++;
}

static size_t n_areas;

static void add_area(struct ep_process *process, uint64_t start, struct ep_executable *of)
{
	struct ep_area area = {.start = start, .end = start + 0x1000};

	assert_int_equal(put_area(&process->sharer, &n_areas, area, of), 0);
}

static void set_looking(struct ep_process *process, size_t n)
{
	ep_mappings_own(&process->sharer, &n_areas)->n_looking = n;
}

static int set_up(void **state)
{
	struct fixture *fx = calloc(1, sizeof(*fx));
	struct ep_held_options options = {.max_bytes = 65536, .pass = pass};

	walked = 0;
	memset(&passed, 0, sizeof(passed));
	ep_table_init(&fx->table, 16);
	fx->process = ep_process_new((struct ep_program){.pid = 9, .image = 1, .start_ns = 5});
	fx->process->state = EP_PROCESS_KNOWN;
	assert_int_equal(ep_table_add(&fx->table, fx->process), 0);
	add_area(fx->process, FILE_CODE, &executable);
	add_area(fx->process, JIT_CODE, NULL);
	options.table = &fx->table;
	options.publisher = &fx->publisher;
	assert_int_equal(ep_held_new(&options, &fx->held), 0);
	*state = fx;
	return 0;
}

static int tear_down(void **state)
{
	ep_autofree struct fixture *fx = *state;

	ep_held_free(fx->held);
	ep_process_free(fx->process);
	ep_table_fini(&fx->table);
	return 0;
}

/* A leaf, then return addresses found by frame pointer. */
static void give_of(struct fixture *fx, struct ep_program program, const uint64_t *addrs, uint16_t n,
		    uint32_t copy_bytes, uint64_t time_ns)
{
	struct {
		struct ep_sample sample;
		uint64_t words[8 + 64];
	} event = {.sample = {.n_frames = n, .n_words = 2 * n, .pid = program.pid, .image = program.image,
			      .start_ns = program.start_ns}};

	event.sample.event.type = EP_EVENT_TRACE;
	event.sample.event.time_ns = time_ns;
	event.sample.copy_bytes = copy_bytes;
	event.sample.error = copy_bytes ? EP_ERROR_NOT_ANALYSED : 0;
	for (size_t i = 0; i < n; i++) {
		uint32_t flags = i ? EP_FRAME_RETURN_ADDRESS | EP_FRAME_POINTER_WALK : 0;

		event.words[2 * i] = EP_FRAME_HEADER(EP_FRAME_NATIVE, flags, 1, 0);
		event.words[2 * i + 1] = addrs[i];
	}
	ep_held_add(fx->held, &event.sample, sizeof(event.sample) + 16 * (size_t)n + copy_bytes);
}

static void give_at(struct fixture *fx, const uint64_t *addrs, uint16_t n, uint32_t copy_bytes,
		    uint64_t time_ns)
{
	give_of(fx, (struct ep_program){.pid = 9, .image = 1, .start_ns = 5}, addrs, n, copy_bytes,
		time_ns);
}

static void give(struct fixture *fx, const uint64_t *addrs, uint16_t n, uint32_t copy_bytes)
{
	give_at(fx, addrs, n, copy_bytes, 0);
}

EP_TEST_WITH(code_without_a_file_is_code, set_up, tear_down)
{
	give(*state, (const uint64_t[]){JIT_CODE, JIT_CODE + 8, FILE_CODE + 4}, 3, 0);
	assert_int_equal(passed.sample.n_frames, 3);
	assert_int_equal(passed.sample.error, 0);
	assert_int_equal(passed.words[3], JIT_CODE + 8);
	assert_int_equal(EP_FRAME_AUX(passed.words[4]), 7);
	assert_int_equal(passed.words[5], 0x404);
}

#define FIXTURE_TEST(name) EP_TEST_ON(name, struct fixture *fx, set_up, tear_down)

/* What seemed whole went through code whose file was not analysed yet. */
FIXTURE_TEST(copy_walked_through_unknown_code_waits_for_its_file)
{
	ep_row_set_init(&fx->publisher.set);
	set_looking(fx->process, 1);
	give(fx, NULL, 0, sizeof(struct ep_copy));
	assert_int_equal(walked, 1);
	assert_int_equal(passed.n, 0);
	set_looking(fx->process, 0);
	ep_held_retry(fx->held);
	assert_int_equal(walked, 2);
	assert_int_equal(passed.n, 1);
	assert_int_equal(passed.sample.error, 0);
	/* It may be known by now, and its languages not. */
	fx->process->published.is_dirty = true;
	give(fx, NULL, 0, sizeof(struct ep_copy));
	assert_int_equal(passed.n, 1);
	ep_held_expire(fx->held, 0);
	assert_int_equal(passed.n, 2);
	assert_int_equal(passed.sample.error, EP_ERROR_NOT_ANALYSED);
	ep_row_set_fini(&fx->publisher.set);
}

/* One language, of which BPF knew nothing when the samples came; then from time 100 on. */
FIXTURE_TEST(code_of_a_language_is_late_until_bpf_knows_it)
{
	const struct {
		uint64_t languages_ns, time_ns, addr;
		enum ep_attachment attachment;
		uint32_t error;
	} cases[] = {
		{0, 50, JIT_CODE, EP_ATTACHMENT_WAITING, EP_ERROR_LATE},
		{0, 50, FILE_CODE, EP_ATTACHMENT_WAITING, EP_ERROR_NONE},
		{0, 50, JIT_CODE, EP_ATTACHMENT_REFUSED, EP_ERROR_NONE}, /* as if it had not claimed a file */
		{100, 50, JIT_CODE, EP_ATTACHMENT_ATTACHED, EP_ERROR_LATE},
		{100, 100, JIT_CODE, EP_ATTACHMENT_ATTACHED, EP_ERROR_NONE},
	};

	ep_row_set_init(&fx->publisher.set);
	for (size_t i = 0; i < EP_LEN(cases); i++) {
		runtime_add(fx->process, cases[i].attachment, cases[i].attachment == EP_ATTACHMENT_WAITING);
		fx->process->languages.told_ns = cases[i].languages_ns;
		give_at(fx, &cases[i].addr, 1, 0, cases[i].time_ns);
		ep_held_expire(fx->held, 0);
		assert_int_equal(passed.sample.error, cases[i].error);
	}
	fx->process->languages.n = 0;
	ep_row_set_fini(&fx->publisher.set);
}

/* What is whole waits for it, and says then whether it ran the language; a copy is not needed for that. */
FIXTURE_TEST(whole_stacks_wait_for_the_language_that_is_attached_to)
{
	struct ep_range range = {.start = FILE_CODE, .end = FILE_CODE + 0x100, .mode = EP_RANGE_MARK};
	size_t bytes;

	ep_row_set_init(&fx->publisher.set);
	runtime_add(fx->process, EP_ATTACHMENT_ATTACHED, true);
	give_at(fx, (const uint64_t[]){FILE_CODE + 4}, 1, 0, 50);
	bytes = ep_held_bytes(fx->held);
	give_at(fx, (const uint64_t[]){FILE_CODE + 0x200}, 1, 0, 50);
	ep_held_retry(fx->held);
	assert_int_equal(passed.n, 0);
	assert_int_equal(ep_held_bytes(fx->held), 2 * bytes);
	runtime_attach(&range);
	fx->process->languages.told_ns = 100;
	ep_held_retry(fx->held);
	assert_int_equal(passed.n, 2);
	assert_int_equal(passed.sample.error, 0);
	give_at(fx, (const uint64_t[]){FILE_CODE + 4}, 1, 0, 50);
	assert_int_equal(passed.sample.error, EP_ERROR_LATE);
	assert_int_equal(passed.sample.n_frames, 2);
	give_at(fx, (const uint64_t[]){FILE_CODE + 4}, 1, 0, 100);
	assert_int_equal(passed.sample.error, 0);
	assert_int_equal(ep_held_bytes(fx->held), 0);
	fx->process->languages.n = 0;
	ep_row_set_fini(&fx->publisher.set);
}

EP_TEST_WITH(stack_that_led_nowhere_is_not_complete, set_up, tear_down)
{
	give(*state, (const uint64_t[]){FILE_CODE, NO_CODE + 8, FILE_CODE + 4}, 3, 0);
	assert_int_equal(passed.sample.n_frames, 2);
	assert_int_equal(passed.sample.error, EP_ERROR_BAD_FRAME_POINTER);
	assert_int_equal(EP_FRAME_KIND(passed.words[2]), EP_FRAME_ERROR);
	assert_int_equal(EP_FRAME_AUX(passed.words[2]), EP_ERROR_BAD_FRAME_POINTER);
}

/* That the kernel's part is cut says nothing of the user's, before which it is reported. */
FIXTURE_TEST(the_kernels_part_has_an_error_of_its_own)
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

	event.sample.event.type = EP_EVENT_TRACE;
	ep_held_add(fx->held, &event.sample, sizeof(event));
	assert_int_equal(passed.n, 1);
	assert_int_equal(passed.sample.error, EP_ERROR_KERNEL_DEPTH);
	assert_int_equal(passed.sample.n_frames, 3);
	assert_int_equal(EP_FRAME_AUX(passed.words[2]), 7);
	assert_int_equal(EP_FRAME_AUX(passed.words[4]), EP_ERROR_BAD_FRAME_POINTER);
}

FIXTURE_TEST(sample_waits_while_a_file_is_looked_at)
{
	set_looking(fx->process, 1);
	give(fx, (const uint64_t[]){FILE_CODE}, 1, 0);
	assert_int_equal(passed.n, 0);
	assert_true(ep_held_bytes(fx->held) > 0);
	ep_held_retry(fx->held);
	assert_int_equal(passed.n, 0);
	set_looking(fx->process, 0);
	ep_held_retry(fx->held);
	assert_int_equal(passed.n, 1);
	assert_int_equal(EP_FRAME_AUX(passed.words[0]), 7);
	assert_int_equal(ep_held_bytes(fx->held), 0);
}

/* It has waited long enough: without its copy, it says what BPF reported. */
FIXTURE_TEST(copy_of_an_unknown_process_is_dropped_in_the_end)
{
	ep_mappings_leave(&fx->process->sharer);
	fx->process->state = EP_PROCESS_NEW;
	give(fx, NULL, 0, sizeof(struct ep_copy));
	assert_int_equal(passed.n, 0);
	ep_held_expire(fx->held, 0);
	assert_int_equal(passed.n, 1);
	assert_int_equal(passed.sample.copy_bytes, 0);
	assert_int_equal(passed.sample.error, EP_ERROR_NOT_ANALYSED);
	assert_int_equal(ep_held_stats(fx->held)->unknown, 1);
}

FIXTURE_TEST(nothing_waits_for_a_process_nobody_knows)
{
	fx->process->program.image = 2;
	give(fx, NULL, 0, sizeof(struct ep_copy));
	assert_int_equal(passed.n, 1);
	assert_int_equal(passed.sample.error, EP_ERROR_NOT_ANALYSED);
}

FIXTURE_TEST(oldest_goes_when_too_many_wait)
{
	set_looking(fx->process, 1);
	for (int i = 0; i < 1000; i++)
		give(fx, (const uint64_t[]){FILE_CODE}, 1, 0);
	assert_true(passed.n > 0);
	assert_true(ep_held_bytes(fx->held) <= 65536);
	assert_int_equal(ep_held_stats(fx->held)->pushed_out, passed.n);
}

/*
 * It has one that waits for what is being found out, when another has all that there is space for.
 */
FIXTURE_TEST(a_program_that_floods_pushes_out_its_own_samples)
{
	struct ep_program other_is = {.pid = 10, .image = 1, .start_ns = 5};
	struct ep_process *other = ep_process_new(other_is);
	uint32_t n_flood;

	other->state = EP_PROCESS_KNOWN;
	set_looking(other, 1);
	set_looking(fx->process, 1);
	assert_int_equal(ep_table_add(&fx->table, other), 0);
	for (int i = 0; i < 20; i++)
		give_of(fx, other_is, (const uint64_t[]){FILE_CODE}, 1, 0, 0);
	for (int i = 0; i < 1000; i++)
		give(fx, (const uint64_t[]){FILE_CODE}, 1, 0);
	n_flood = (uint32_t)passed.n;
	assert_true(n_flood > 0);
	assert_int_equal(ep_held_stats(fx->held)->pushed_out, n_flood);
	/* What comes while all is taken waits as well. */
	for (int i = 0; i < 20; i++)
		give_of(fx, other_is, (const uint64_t[]){FILE_CODE}, 1, 0, 0);
	assert_int_equal(passed.sample.pid, fx->process->program.pid);
	passed.n = 0;
	set_looking(other, 0);
	ep_held_retry(fx->held);
	assert_int_equal(passed.n, 40);
	assert_int_equal(passed.sample.pid, other_is.pid);
	passed.n = 0;
	set_looking(fx->process, 0);
	ep_held_retry(fx->held);
	assert_true(passed.n > 0);
	assert_int_equal(ep_held_bytes(fx->held), 0);
	ep_table_end(&fx->table, other, 1);
	ep_table_remove_ended(&fx->table, other, &fx->table.recent);
	ep_process_free(other);
}

/* The counts of a record are not taken for those of its bytes. */
FIXTURE_TEST(sample_that_counts_more_words_than_it_has_is_dropped)
{
	struct {
		struct ep_sample sample;
		uint64_t words[2];
	} event = {.sample = {.n_frames = 1, .n_words = 2, .pid = 9, .image = 1, .start_ns = 5},
		   .words = {EP_FRAME_HEADER(EP_FRAME_NATIVE, 0, 1, 0), FILE_CODE}};
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

/* --- code that is not at hand -------------------------------------------------------------------- */

#define LEAF   (FILE_CODE + 0x100)
#define CALLER (FILE_CODE + 0x204) /* after a call */

static struct {
	uv_loop_t loop;
	uv_thread_t thread; /* the loop's */
	uv_sem_t begun, go_on;
	struct walk_world world;
	struct walk_event event;
	int n_reads, n_done;
	bool is_cached;
} code;

struct ep_executable *__wrap_ep_executables_find(struct ep_executables *executables, uint32_t id)
{
	return id == executable.id ? &executable : NULL;
}

/* A file whose server takes its time: not on the loop's thread. */
static ssize_t read_slowly(int fd, void *buf, size_t bytes, off_t off, bool at_once)
{
	static const uint8_t call[] = {0x90, 0x90, 0x90, 0xe8, 0, 0, 0, 0};
	uv_thread_t self = uv_thread_self();

	if (at_once && !code.is_cached) {
		errno = EAGAIN;
		return -1;
	}
	if (!at_once) {
		assert_false(uv_thread_equal(&self, &code.thread));
		uv_sem_post(&code.begun);
		uv_sem_wait(&code.go_on);
	}
	code.n_reads++;
	memset(buf, 0, bytes);
	if (off == CALLER - FILE_CODE - 8 && bytes == sizeof(call))
		memcpy(buf, call, bytes);
	return (ssize_t)bytes;
}

static void count_done(void *arg)
{
	code.n_done++;
}

static int set_up_code(void **state)
{
	struct ep_held_options options = {.max_bytes = 65536, .pass = pass};
	struct fixture *fx;
	int r = set_up(state);

	fx = *state;
	ep_held_free(fx->held);
	walk_world_init(&code.world);
	uv_loop_init(&code.loop);
	uv_sem_init(&code.begun, 0);
	uv_sem_init(&code.go_on, 0);
	code.thread = uv_thread_self();
	executable.file.fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	code.n_reads = code.n_done = 0;
	code.is_cached = false;
	ep_publisher_init(&fx->publisher, NULL, NULL, NULL);
	options.table = &fx->table;
	options.publisher = &fx->publisher;
	options.walker = code.world.walker;
	options.code = (struct ep_file_code_options){
		.loop = &code.loop, .read = read_slowly, .done = count_done};
	assert_int_equal(ep_held_new(&options, &fx->held), 0);
	walk_event_init(&code.event, LEAF, 1);
	code.event.sample.pid = 9;
	code.event.sample.image = 1;
	code.event.sample.start_ns = 5;
	code.event.copy.interrupted = 1;
	code.event.copy.regs[EP_REG_FP] = 0;
	code.event.stack[(WALK_SP - WALK_STACK) / 8] = CALLER;
	walk_event_flatten(&code.event);
	return r;
}

static int tear_down_code(void **state)
{
	struct fixture *fx = *state;

	ep_publisher_fini(&fx->publisher);
	(void)tear_down(state);
	assert_int_equal(uv_loop_close(&code.loop), 0);
	uv_sem_destroy(&code.begun);
	uv_sem_destroy(&code.go_on);
	walk_world_fini(&code.world);
	ep_closep(&executable.file.fd);
	executable.file.fd = -1;
	return 0;
}

static void send_to_walk(struct fixture *fx)
{
	ep_held_add(fx->held, (const struct ep_sample *)(const void *)code.event.flat, code.event.bytes);
}

static void walk_is_whole_with_code(void)
{
	assert_int_equal(passed.sample.n_frames >= 2, true);
	assert_int_equal(EP_FRAME_AUX(passed.words[2]), executable.id);
	assert_int_equal(passed.words[3], CALLER - FILE_CODE + 0x400);
}

#define CODE_TEST(name) EP_TEST_ON(name, struct fixture *fx, set_up_code, tear_down_code)

CODE_TEST(code_that_is_in_memory_is_read_at_once)
{
	code.is_cached = true;
	send_to_walk(fx);
	assert_int_equal(passed.n, 1);
	walk_is_whole_with_code();
}

CODE_TEST(read_that_blocks_does_not_block_the_loop)
{
	send_to_walk(fx);
	uv_sem_wait(&code.begun);
	assert_int_equal(passed.n, 0);
	/* Others go on. */
	give(fx, (const uint64_t[]){FILE_CODE}, 1, 0);
	assert_int_equal(passed.n, 1);
	ep_held_retry(fx->held);
	assert_int_equal(passed.n, 1);
	assert_true(ep_held_busy(fx->held));
	for (int i = 0; passed.n == 1 && i < 8; i++) {
		int n_done = code.n_done;

		uv_sem_post(&code.go_on);
		while (code.n_done == n_done)
			(void)uv_run(&code.loop, UV_RUN_ONCE);
		ep_held_retry(fx->held);
	}
	assert_int_equal(passed.n, 2);
	walk_is_whole_with_code();
	assert_int_equal(ep_held_bytes(fx->held), 0);
	/* It is remembered. */
	passed.n = 0;
	send_to_walk(fx);
	assert_int_equal(passed.n, 1);
	walk_is_whole_with_code();
}

CODE_TEST(sample_that_lacked_code_waits_for_its_process_as_well)
{
	send_to_walk(fx);
	uv_sem_wait(&code.begun);
	set_looking(fx->process, 1);
	while (ep_held_busy(fx->held)) {
		uv_sem_post(&code.go_on);
		(void)uv_run(&code.loop, UV_RUN_ONCE);
		ep_held_retry(fx->held);
	}
	assert_int_equal(passed.n, 0);
	set_looking(fx->process, 0);
	ep_held_retry(fx->held);
	assert_int_equal(passed.n, 1);
}

CODE_TEST(sample_does_not_wait_for_code_for_ever)
{
	send_to_walk(fx);
	uv_sem_wait(&code.begun);
	ep_held_expire(fx->held, 0);
	assert_int_equal(passed.n, 1);
	assert_true(passed.sample.error != 0);
	uv_sem_post(&code.go_on);
	while (code.n_done == 0)
		(void)uv_run(&code.loop, UV_RUN_ONCE);
	assert_false(ep_held_busy(fx->held));
}
