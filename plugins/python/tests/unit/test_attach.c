/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Python plugin's view of a process: a CPython 3.11 whose memory is made here, from before it
 * is initialised on, with structures that do not hold, with JIT code, and with reads that fail.
 */
#include "core/base/util.h"
#include "core/plugin/unwinder.h"
#include "plugins/python/python.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define BIAS  0x10000u
#define BYTES 0x4000u
#define KEY   5

/* Where things are: ELF virtual addresses of globals, target addresses of the rest. */
enum {
	RUNTIME_VA = 0x1000,
	CODE_TYPE_VA = 0x1800,
	TYPE_TYPE_VA = 0x1a00,
	EVAL_VA = 0x1c00,
	INTERP = BIAS + 0x2000,
	THREAD = BIAS + 0x2200,
	CFRAME = BIAS + 0x2400,
	FRAME = BIAS + 0x2500,
	CODE = BIAS + 0x2600,
};

struct process {
	struct ep_target target;
	struct py_executable exe;
	uint8_t bytes[BYTES]; /* from BIAS on */
	struct py_state state;
	struct ep_range ranges[16];
	size_t n_ranges;
	unsigned int n_states, n_warnings, reads, fail_at;
	int fail_with;
};

static struct process *running; /* whose log this is */

/* Between two looks at a layout. */
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	(void)time;
	(void)left;
	return 0;
}

static void put(struct process *p, uint64_t addr, uint64_t value)
{
	assert_true(addr >= BIAS && addr + 8 <= BIAS + BYTES);
	memcpy(p->bytes + (addr - BIAS), &value, sizeof(value));
}

static void put_int(struct process *p, uint64_t addr, int32_t value)
{
	memcpy(p->bytes + (addr - BIAS), &value, sizeof(value));
}

static int read_memory(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	struct process *p = arg;

	if (++p->reads == p->fail_at)
		return p->fail_with;
	if (addr < BIAS || addr - BIAS > BYTES || BYTES - (addr - BIAS) < bytes)
		return -EFAULT;
	memcpy(buf, p->bytes + (addr - BIAS), bytes);
	return 0;
}

static int find_key(void *arg, uint32_t key, struct ep_tls *ret)
{
	(void)arg;
	assert_int_equal(key, KEY);
	*ret = (struct ep_tls){.steps = 2, .off = {1296, 88}};
	return 0;
}

static int find_variable(void *arg, uint64_t off, struct ep_tls *ret)
{
	(void)arg;
	(void)off;
	(void)ret;
	return -ENODATA;
}

static int set_state(void *arg, const void *state, size_t bytes)
{
	struct process *p = arg;

	assert_int_equal(bytes, sizeof(p->state));
	memcpy(&p->state, state, bytes);
	p->n_states++;
	return 0;
}

static int set_ranges(void *arg, const struct ep_range *ranges, size_t n)
{
	struct process *p = arg;

	assert_true(n <= EP_LEN(p->ranges));
	memcpy(p->ranges, ranges, n * sizeof(*ranges));
	p->n_ranges = n;
	return 0;
}

static void count(void *arg, uint32_t counter, uint64_t n)
{
	(void)arg;
	(void)counter;
	(void)n;
}

__attribute__((format(printf, 2, 3))) static void take_log(enum ep_host_level level,
							   const char *fmt, ...)
{
	(void)fmt;
	running->n_warnings += level <= EP_HOST_WARN;
}

static const struct ep_unwinder_host *test_host(void)
{
	static const struct ep_host host = {.size = sizeof(host), .log = take_log};
	static struct ep_unwinder_host unwinder_host;

	unwinder_host = *ep_unwinder_host_get();
	unwinder_host.host = &host;
	return &unwinder_host;
}

/* Its file has been mapped; nothing has run. */
static struct process *new_process(uint32_t version)
{
	static const struct ep_target_ops ops = {
		.read = read_memory,
		.tls_variable = find_variable,
		.tls_key = find_key,
		.set_state = set_state,
		.set_ranges = set_ranges,
		.count = count,
	};
	struct process *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	running = p;
	p->target = (struct ep_target){.ops = &ops, .arg = p, .pid = 42, .bias = BIAS};
	p->exe.host = test_host();
	assert_int_equal(py_offsets_find(PY_VERSION(3, 11), false, &p->exe.offsets), 0);
	p->exe.offsets.version = version;
	p->exe.runtime_va = RUNTIME_VA;
	p->exe.interpreters_va = RUNTIME_VA + p->exe.offsets.runtime_interpreters;
	p->exe.holder_va = RUNTIME_VA + p->exe.offsets.runtime_holder;
	p->exe.key_created_va = RUNTIME_VA + p->exe.offsets.runtime_key;
	p->exe.key_va = p->exe.key_created_va + 4;
	p->exe.code_type_va = CODE_TYPE_VA;
	p->exe.type_type_va = TYPE_TYPE_VA;
	p->exe.code[0] = (struct ep_symbol){.va = EVAL_VA, .bytes = 0x100};
	p->exe.n_code = 1;
	put(p, BIAS + CODE_TYPE_VA + 8, BIAS + TYPE_TYPE_VA);
	return p;
}

/* One interpreter with one thread that runs one function. */
static void initialise(struct process *p)
{
	const struct py_offsets *o = &p->exe.offsets;

	put_int(p, BIAS + (uint32_t)p->exe.key_created_va, 1);
	put_int(p, BIAS + (uint32_t)p->exe.key_va, KEY);
	put(p, BIAS + (uint32_t)p->exe.interpreters_va, INTERP);
	put(p, INTERP + o->interp_threads, THREAD);
	put(p, THREAD + o->thread_frame, CFRAME);
	put(p, CFRAME + o->cframe_frame, FRAME);
	put(p, FRAME + o->frame_code, CODE);
	put(p, CODE + 8, BIAS + CODE_TYPE_VA);
}

static void a_process_is_armed_before_it_is_initialised(void **state)
{
	struct process *p = new_process(PY_VERSION(3, 11));
	void *instance = NULL;

	(void)state;
	assert_int_equal(py_attach(&p->exe, &p->target, &instance), 0);
	assert_int_equal(p->n_states, 1);
	assert_int_equal(p->state.holder_addr, BIAS + p->exe.holder_va);
	assert_int_equal(p->state.code_type, BIAS + CODE_TYPE_VA);
	assert_int_equal(p->state.paths[0].steps, 0);
	assert_int_equal(p->n_ranges, 1);
	assert_int_equal(p->ranges[0].start, BIAS + EVAL_VA);
	assert_int_equal(p->ranges[0].mode, EP_RANGE_MARK);
	assert_int_equal(py_refresh(instance), EP_NOT_YET);

	initialise(p);
	assert_int_equal(py_refresh(instance), 0);
	assert_int_equal(p->state.paths[0].steps, 2);
	assert_int_equal(p->state.paths[0].off[1], 88);
	assert_int_equal(p->n_warnings, 0);
	py_detach(instance);
	free(p);
}

static void a_layout_that_does_not_hold_is_given_up_with_one_warning(void **state)
{
	struct process *p = new_process(PY_VERSION(3, 11));
	void *instance = NULL;
	int r = 0;

	(void)state;
	initialise(p);
	put(p, CODE + 8, BIAS + TYPE_TYPE_VA); /* not a code object */
	r = py_attach(&p->exe, &p->target, &instance);
	/* A known version gets some more looks. */
	for (int i = 0; i < 10 && r >= 0; i++)
		r = py_refresh(instance);
	assert_int_equal(r, -ENOTSUP);
	assert_int_equal(p->n_warnings, 1);
	py_detach(instance);
	free(p);
}

static void an_unknown_version_must_prove_itself_first(void **state)
{
	struct process *p = new_process(PY_VERSION(3, 99));
	void *instance = NULL;

	(void)state;
	assert_int_equal(py_attach(&p->exe, &p->target, &instance), EP_NOT_YET);
	assert_int_equal(p->n_states, 0);
	assert_int_equal(p->n_ranges, 0);
	initialise(p);
	assert_int_equal(py_attach(&p->exe, &p->target, &instance), 0);
	assert_int_equal(p->n_states, 1);
	assert_int_equal(p->n_ranges, 1);
	py_detach(instance);
	free(p);
}

static void code_of_the_jit_is_entered(void **state)
{
	struct process *p = new_process(PY_VERSION(3, 14));
	void *instance = NULL;

	(void)state;
	p->exe.jit = PY_JIT_STACK;
	initialise(p);
	assert_int_equal(py_attach(&p->exe, &p->target, &instance), 0);
	assert_int_equal(p->n_ranges, 2);
	assert_int_equal(p->ranges[0].mode, EP_RANGE_MARK);
	assert_int_equal(p->ranges[1].start, 0);
	assert_int_equal(p->ranges[1].end, UINT64_MAX);
	assert_int_equal(p->ranges[1].mode, EP_RANGE_ENTER);
	assert_int_equal(p->ranges[1].flags, EP_RANGE_ANONYMOUS);
	py_detach(instance);
	free(p);
}

/* Whichever read fails: no warning, and what BPF is told is right or completed later. */
static void reads_may_fail(void **state)
{
	static const int failures[] = {-EFAULT, -ESRCH, -EPERM};
	unsigned int reads = 1;

	(void)state;
	for (unsigned int at = 1; at <= reads; at++) {
		for (size_t i = 0; i < EP_LEN(failures); i++) {
			struct process *p = new_process(PY_VERSION(3, 11));
			void *instance = NULL;
			int r;

			initialise(p);
			p->fail_at = at;
			p->fail_with = failures[i];
			r = py_attach(&p->exe, &p->target, &instance);
			reads = EP_MAX(reads, p->reads);
			assert_int_equal(r, 0);
			assert_int_equal(py_refresh(instance), 0);
			assert_int_equal(p->state.paths[0].steps, 2);
			assert_int_equal(p->n_warnings, 0);
			py_detach(instance);
			free(p);
		}
	}
	assert_true(reads > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_is_armed_before_it_is_initialised),
		cmocka_unit_test(a_layout_that_does_not_hold_is_given_up_with_one_warning),
		cmocka_unit_test(an_unknown_version_must_prove_itself_first),
		cmocka_unit_test(code_of_the_jit_is_entered),
		cmocka_unit_test(reads_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
