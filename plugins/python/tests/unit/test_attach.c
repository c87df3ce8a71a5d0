/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Python plugin's view of a process: a CPython 3.11 whose memory is made here, from before it
 * is initialised on, with structures that do not hold, with JIT code, and with reads that fail.
 */
#include "plugins/python/python.h"
#include "plugins/shared/attach/attach.h"
#include "tests/kit/host.h"
#include "tests/kit/test.h"

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
	IDLE = BIAS + 0x2300,
	CFRAME = BIAS + 0x2400,
	FRAME = BIAS + 0x2500,
	CODE = BIAS + 0x2600,
};

struct process {
	struct fake_host host;
	struct py_executable exe;
	struct py_state state;
	uint8_t bytes[BYTES]; /* from BIAS on */
};

static void put(struct process *p, uint64_t addr, uint64_t value)
{
	fake_memory_put(&p->host.memory, addr, &value, sizeof(value));
}

static void put_int(struct process *p, uint64_t addr, int32_t value)
{
	fake_memory_put(&p->host.memory, addr, &value, sizeof(value));
}

/* Its file has been mapped; nothing has run. */
static struct process *new_process(uint32_t version)
{
	struct process *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	ep_test_owns(p, free);
	fake_host_init(&p->host, &p->state, sizeof(p->state));
	fake_memory_add(&p->host.memory, BIAS, p->bytes, BYTES);
	p->host.target.bias = BIAS;
	p->host.no_variable = -ENODATA;
	p->exe.host = fake_host_services(&p->host);
	assert_int_equal(py_layout_find(PY_VERSION(3, 11), false, &p->exe.layout), 0);
	p->exe.layout.version = version;
	p->exe.runtime_va = RUNTIME_VA;
	p->exe.interpreters_va = RUNTIME_VA + p->exe.layout.runtime_interpreters;
	p->exe.holder_va = RUNTIME_VA + p->exe.layout.runtime_holder;
	p->exe.key_created_va = RUNTIME_VA + p->exe.layout.runtime_key;
	p->exe.key_va = p->exe.key_created_va + 4;
	p->exe.code_type_va = CODE_TYPE_VA;
	p->exe.type_type_va = TYPE_TYPE_VA;
	p->exe.code[0] = (struct ep_symbol){.va = EVAL_VA, .bytes = 0x100};
	p->exe.n_code = 1;
	put(p, BIAS + CODE_TYPE_VA + 8, BIAS + TYPE_TYPE_VA);
	return p;
}

/* One interpreter with one thread that runs one function, and one that runs no Python. */
static void initialise(struct process *p)
{
	const struct py_layout *o = &p->exe.layout;

	put_int(p, BIAS + (uint32_t)p->exe.key_created_va, 1);
	put_int(p, BIAS + (uint32_t)p->exe.key_va, KEY);
	put(p, BIAS + (uint32_t)p->exe.interpreters_va, INTERP);
	put(p, INTERP + o->interp_threads, THREAD);
	put(p, THREAD + o->thread_next, IDLE);
	put(p, THREAD + o->thread_frame, CFRAME);
	put(p, CFRAME + o->cframe_frame, FRAME);
	put(p, FRAME + o->frame_code, CODE);
	put(p, CODE + 8, BIAS + CODE_TYPE_VA);
}

EP_TEST(a_process_is_armed_before_it_is_initialised)
{
	struct process *p = new_process(PY_VERSION(3, 11));
	void *instance = NULL;

	assert_int_equal(py_attach(&p->exe, &p->host.target, &instance), 0);
	assert_int_equal(p->host.n_states, 1);
	assert_int_equal(p->state.holder_addr, BIAS + p->exe.holder_va);
	assert_int_equal(p->state.code_type, BIAS + CODE_TYPE_VA);
	assert_int_equal(p->state.paths[0].steps, 0);
	assert_int_equal(p->host.n_ranges, 1);
	assert_int_equal(p->host.ranges[0].start, BIAS + EVAL_VA);
	assert_int_equal(p->host.ranges[0].mode, EP_RANGE_MARK);
	assert_int_equal(attach_arm(instance), EP_NOT_YET);

	initialise(p);
	assert_int_equal(attach_arm(instance), 0);
	assert_int_equal(p->state.paths[0].steps, 2);
	assert_int_equal(p->state.paths[0].off[1], KEY);
	assert_int_equal(p->host.n_warnings, 0);
	py_detach(instance);
}

EP_TEST(a_layout_that_does_not_hold_is_given_up_with_one_warning)
{
	struct process *p = new_process(PY_VERSION(3, 11));
	void *instance = NULL;
	int r = 0;

	initialise(p);
	put(p, CODE + 8, BIAS + TYPE_TYPE_VA); /* not a code object */
	r = py_attach(&p->exe, &p->host.target, &instance);
	/* A known version gets some more looks. */
	for (int i = 0; i < 10 && r >= 0; i++)
		r = attach_arm(instance);
	assert_int_equal(r, -ENOTSUP);
	assert_int_equal(p->host.n_warnings, 1);
	py_detach(instance);
}

EP_TEST(an_unknown_version_must_prove_itself_first)
{
	struct process *p = new_process(PY_VERSION(3, 99));
	void *instance = NULL;

	assert_int_equal(py_attach(&p->exe, &p->host.target, &instance), EP_NOT_YET);
	assert_int_equal(p->host.n_states, 0);
	assert_int_equal(p->host.n_ranges, 0);
	initialise(p);
	assert_int_equal(py_attach(&p->exe, &p->host.target, &instance), 0);
	assert_int_equal(p->host.n_states, 1);
	assert_int_equal(p->host.n_ranges, 1);
	py_detach(instance);
}

/* Whichever read fails: no warning, and what is published to BPF is right or completed later. */
EP_TEST(reads_may_fail)
{
	static const int failures[] = {-EFAULT, -ESRCH, -EPERM};
	unsigned int reads = 1;

	for (unsigned int at = 1; at <= reads; at++) {
		for (size_t i = 0; i < EP_LEN(failures); i++) {
			struct process *p = new_process(PY_VERSION(3, 11));
			void *instance = NULL;
			int r;

			initialise(p);
			p->host.memory.fail_at = at;
			p->host.memory.fail_with = failures[i];
			r = py_attach(&p->exe, &p->host.target, &instance);
			reads = EP_MAX(reads, p->host.memory.n_reads);
			assert_int_equal(r, 0);
			assert_int_equal(attach_arm(instance), 0);
			assert_int_equal(p->state.paths[0].steps, 2);
			assert_int_equal(p->host.n_warnings, 0);
			py_detach(instance);
			ep_test_release(p);
		}
	}
	assert_true(reads > 5);
}
