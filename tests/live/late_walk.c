/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of stacks as this kernel and BPF make them, walked late: BPF is informed of no process at
 * all, so that each sample of this one stops at its first user frame. A thread burns CPU DEPTH
 * calls deep below a function that the C library calls; each of its stacks must have all of them,
 * and come to the root. A second thread is in system calls, whose samples have the kernel's part as
 * well. A third one runs on a stack other than its own, in functions without a frame pointer: its
 * stacks come to the root too, since a piece of the other stack is copied.
 *
 * Status: 0 right, 1 not, 77 no privileges.
 */
#include "core/bpf/events.h"
#include "core/bpf/programs.h"
#include "tests/kit/fakes.h"
#include "tests/unit/walk_own.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/uio.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#define DEPTH	     40
#define SAMPLES	     100 /* of each thread at least */
#define MAX_ROUNDS   2000 /* of 10 ms */
#define MIN_COMPLETE 99	 /* per cent */

static atomic_int is_done, elsewhere_tid;
/* Where the code of go_deep, which has a section of its own, begins and ends: from the linker. */
extern const char __start_deep_code[], __stop_deep_code[];

static struct test {
	struct walk_world world;
	struct ep_row rows[OWN_MAX_ROWS];
	size_t n_rows;
	struct ep_vec out;
	unsigned int n_samples, n_copies, n_complete, n_deep, n_other, n_kernel;
	unsigned int n_elsewhere, n_elsewhere_complete;
	unsigned int errors[EP_ERROR_COUNT];
} test;

OWN_KEEP __attribute__((section("deep_code"))) static uint64_t go_deep(unsigned int depth)
{
	uint64_t value = depth;

	while (depth == 0 && !atomic_load(&is_done))
		value = value * 3 + 1;
	if (depth > 0)
		value += go_deep(depth - 1);
	__asm__ volatile("" : "+r"(value));
	return value;
}

static int compare(const void *a, const void *b)
{
	(void)go_deep(DEPTH - 1);
	return *(const char *)a - *(const char *)b;
}

static void *burn(void *arg)
{
	char pair[2] = {2, 1};

	qsort(pair, 2, 1, compare);
	return NULL;
}

static void *call_kernel(void *arg)
{
	static char from[1 << 16], to[1 << 16];
	struct iovec local = {to, sizeof(to)}, remote = {from, sizeof(from)};

	while (!atomic_load(&is_done))
		(void)process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
	return NULL;
}

/* call_on(stack top, function): as psm's rust_psm_on_stack; the caller's stack is found by rbp. */
void call_on(void *top, void (*function)(void));
__asm__(".text\n.p2align 4\n.type call_on, @function\ncall_on:\n"
	".cfi_startproc\n"
	"push %rbp\n"
	".cfi_def_cfa %rsp, 16\n"
	".cfi_offset %rbp, -16\n"
	"mov %rsp, %rbp\n"
	".cfi_def_cfa_register %rbp\n"
	"mov %rdi, %rsp\n"
	"call *%rsi\n"
	"mov %rbp, %rsp\n"
	"pop %rbp\n"
	".cfi_def_cfa %rsp, 8\n"
	"ret\n"
	".cfi_endproc\n.size call_on, .-call_on\n");

OWN_KEEP static void spin_elsewhere(void)
{
	while (!atomic_load(&is_done))
		;
}

static void *run_elsewhere(void *arg)
{
	static char stack[1 << 16] __attribute__((aligned(16)));

	atomic_store(&elsewhere_tid, gettid());
	call_on(stack + sizeof(stack), spin_elsewhere);
	return NULL;
}

/* Frames that are in go_deep. */
static unsigned int count_deep(const struct ep_sample *sample)
{
	const uint64_t *words = (const uint64_t *)(sample + 1) + sample->n_kernel;
	unsigned int n = 0;

	for (uint32_t at = 0; at < sample->n_words; at += 1 + EP_FRAME_WORDS(words[at])) {
		uint32_t id = EP_FRAME_AUX(words[at]);
		uint64_t addr;

		if (EP_FRAME_KIND(words[at]) != EP_FRAME_NATIVE || id == 0)
			continue;
		addr = words[at + 1] - test.rows[id - 1].va + test.rows[id - 1].start;
		n += addr >= (uint64_t)__start_deep_code && addr < (uint64_t)__stop_deep_code;
	}
	return n;
}

static void look_at(const struct ep_sample *sample)
{
	unsigned int deep = count_deep(sample);

	test.errors[sample->error]++;
	test.n_complete += sample->error == 0;
	test.n_deep += sample->error == 0 && deep == DEPTH;
	test.n_other += deep > 0 && deep < DEPTH;
	test.n_kernel += sample->error == 0 && sample->n_kernel > 0;
	if (sample->tid == (uint32_t)atomic_load(&elsewhere_tid)) {
		test.n_elsewhere++;
		test.n_elsewhere_complete += sample->error == 0;
	}
}

static int on_event(void *arg, void *event, size_t bytes)
{
	const struct ep_sample *sample = event;
	int r;

	/* The main thread only sets up and waits. */
	if (sample->event.type != EP_EVENT_TRACE || sample->tid == (uint32_t)getpid())
		return 0;
	test.n_samples++;
	if (!sample->copy_bytes)
		return 0;
	test.n_copies++;
	r = ep_walker_run(test.world.walker, event, bytes, test.rows, test.n_rows, NULL, &test.out);
	if (r < 0)
		fprintf(stderr, "late_walk: a walk failed: %d\n", r);
	else
		look_at(test.out.data);
	return 0;
}

static bool has_enough(void)
{
	return test.n_deep >= SAMPLES && test.n_kernel >= SAMPLES && test.n_elsewhere >= SAMPLES;
}

static int sample_threads(struct ep_bpf *bpf, struct ep_events *events)
{
	struct ring_buffer *ring =
		ring_buffer__new(ep_bpf_map_fd(bpf, "ep_ring"), on_event, NULL, NULL);
	pthread_t threads[3];
	int r = ring ? ep_events_start(events) : -ENOMEM;

	if (r < 0)
		return r;
	pthread_create(&threads[0], NULL, burn, NULL);
	pthread_create(&threads[1], NULL, call_kernel, NULL);
	pthread_create(&threads[2], NULL, run_elsewhere, NULL);
	for (int i = 0; i < MAX_ROUNDS && !has_enough(); i++) {
		usleep(10000);
		(void)ring_buffer__consume(ring);
	}
	ep_events_stop(events);
	atomic_store(&is_done, 1);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	pthread_join(threads[2], NULL);
	ring_buffer__free(ring);
	return 0;
}

static int load_and_sample(void)
{
	struct ep_bpf_options options = {
		.ring_bytes = 4u << 20, .max_processes = 16, .filter = true};
	struct ep_events_options events_options = {.freq_hz = 499};
	struct ep_events *events = NULL;
	struct ep_bpf *bpf = NULL;
	uint32_t pid = (uint32_t)getpid();
	int r = ep_bpf_load(&options, &bpf);

	if (r < 0)
		return r;
	r = ep_bpf_add_pid(bpf, pid, EP_FILTER_IN(EP_FILTER_PID));
	events_options.program_fd = ep_bpf_entry_fd(bpf);
	if (r == 0)
		r = ep_events_open(&events_options, &events);
	if (r == 0)
		r = sample_threads(bpf, events);
	ep_events_close(events);
	ep_bpf_free(bpf);
	return r;
}

static int judge(void)
{
	printf("%u samples, %u with a copy, %u complete, %u of them with all %u calls and %u with a "
	       "kernel stack; %u with fewer calls\n",
	       test.n_samples, test.n_copies, test.n_complete, test.n_deep, DEPTH, test.n_kernel,
	       test.n_other);
	printf("%u on another stack, %u of them complete\n", test.n_elsewhere,
	       test.n_elsewhere_complete);
	for (size_t i = 1; i < EP_LEN(test.errors); i++) {
		if (test.errors[i])
			printf("error %zu: %u\n", i, test.errors[i]);
	}
	/* On its way down and up the thread is not as deep. */
	return !has_enough() || test.n_copies < test.n_samples * MIN_COMPLETE / 100 ||
	       test.n_complete < test.n_copies * MIN_COMPLETE / 100 ||
	       test.n_elsewhere_complete < test.n_elsewhere * MIN_COMPLETE / 100 ||
	       test.n_other > test.n_samples / 100;
}

int main(void)
{
	int r;

	walk_world_init(&test.world);
	ep_vec_init(&test.out, 1, EP_WALK_MAX_BYTES);
	test.n_rows = own_rows(&test.world, test.rows);
	r = load_and_sample();
	if (r == -EPERM || r == -EACCES) {
		puts("skip: no privileges for BPF");
		return 77;
	}
	if (r == 0)
		r = judge();
	else
		fprintf(stderr, "late_walk: %d\n", r);
	ep_vec_fini(&test.out);
	walk_world_fini(&test.world);
	return r != 0;
}
