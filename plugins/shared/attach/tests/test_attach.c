/* SPDX-License-Identifier: Apache-2.0 */
/* A process made of a few bytes, and a host that counts what it is given. */
#include "plugins/shared/attach/attach.h"
#include "tests/kit/host.h"
#include "tests/kit/test.h"

#include <sys/mman.h>
#include <time.h>

#define BIAS	   0x10000
#define KEY_VA	   8
#define MISSING_VA 4096
#define KEY_OFF	   1296 /* of a key's path, and then the key */

struct instance {
	struct attach process;
	uint32_t state;
	int proven, paths;
	unsigned int looks;
};

static struct fake_host host;
static uint8_t bytes[64]; /* at BIAS */
static uint32_t told;	  /* the state */
static unsigned int n_detached, n_naps;
static uint64_t now_ns;


int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	n_naps++;
	return 0;
}

uint64_t __wrap_ep_clock_mono_ns(void)
{
	return now_ns;
}

/* --- a language --- */

static int prove(void *instance)
{
	return ((struct instance *)instance)->proven;
}

static int find_paths(void *instance)
{
	return ((struct instance *)instance)->paths;
}

static int mark(void *instance)
{
	const struct ep_symbol code[] = {{.va = 16, .bytes = 8}};

	return attach_mark(instance, code, 1, NULL, 0);
}

static const struct attach_language language = {
	.plugin = "toy",
	.frames = "Toy",
	.runtime = "Toy",
	.prove = prove,
	.find_paths = find_paths,
	.set_ranges = mark,
	.state_off = offsetof(struct instance, state),
	.state_bytes = sizeof(uint32_t),
	.max_doubts = 2,
};

static void detach(void *instance)
{
	n_detached++;
	free(instance);
}

static struct instance *new_instance(bool is_certain, int proven, int paths)
{
	const struct ep_unwinder_host *services;
	struct instance *inst;

	told = 0;
	n_naps = n_detached = 0;
	now_ns = 1000;
	memset(bytes, 0, sizeof(bytes));
	fake_host_init(&host, &told, sizeof(told));
	fake_memory_add(&host.memory, BIAS, bytes, sizeof(bytes));
	host.target.bias = BIAS;
	services = fake_host_services(&host);
	inst = attach_new(sizeof(*inst), &language, services, &host.target);
	assert_non_null(inst);
	inst->process.is_certain = is_certain;
	inst->process.major = 3;
	inst->process.minor = 1;
	inst->process.variant = " (debug)";
	inst->proven = proven;
	inst->paths = paths;
	inst->state = 42;
	return inst;
}

/* --- tests --- */

EP_TEST(a_file_s_addresses_are_found_in_the_process)
{
	ep_autofree struct instance *inst = new_instance(true, 0, 0);
	const struct ep_symbol code[] = {{.va = 16, .bytes = 8}, {.va = 32, .bytes = 4}};
	const struct ep_range more = {.end = UINT64_MAX, .mode = EP_RANGE_ENTER};
	const uint64_t word = 0x1234567890;

	memcpy(bytes + 16, &word, sizeof(word));
	assert_int_equal(attach_addr(&inst->process, 16), BIAS + 16);
	assert_int_equal(attach_addr(&inst->process, 0), 0);
	assert_int_equal(attach_word(&inst->process, BIAS + 16), word);
	assert_int_equal(attach_word(&inst->process, BIAS + sizeof(bytes) - 4), 0);
	assert_int_equal(attach_word(&inst->process, 0), 0);
	assert_int_equal(attach_mark(&inst->process, code, 2, &more, 1), 0);
	assert_int_equal(host.n_ranges, 3);
	assert_int_equal(host.ranges[1].start, BIAS + 32);
	assert_int_equal(host.ranges[1].end, BIAS + 36);
	assert_int_equal(host.ranges[1].mode, EP_RANGE_MARK);
	assert_int_equal(host.ranges[2].end, UINT64_MAX);
	assert_int_equal(attach_mark(&inst->process, code, 1000, NULL, 0), -E2BIG);
}

EP_TEST(memory_for_a_jit_is_executable_and_of_no_file)
{
	static const struct {
		struct ep_target_mapping mapping;
		bool is_code;
	} cases[] = {
		{{.prot = PROT_EXEC | PROT_READ, .is_file = 1, .path = "/usr/lib/libtoy.so"},
		 false},
		{{.prot = PROT_READ | PROT_WRITE, .path = ""}, false},
		{{.prot = PROT_EXEC | PROT_READ, .path = "[vdso]"}, false},
		{{.prot = PROT_EXEC | PROT_READ, .path = "[vsyscall]"}, false},
		{{.prot = PROT_EXEC | PROT_READ, .path = ""}, true},
		{{.prot = PROT_EXEC | PROT_READ, .path = "[anon:toy]"}, true},
		{{.prot = PROT_EXEC | PROT_READ, .is_file = 1, .path = "/dev/zero (deleted)"},
		 true},
	};
	ep_autofree struct instance *inst = new_instance(true, 0, 0);

	assert_false(attach_has_anonymous_code(&inst->process));
	for (size_t i = 0; i < EP_LEN(cases); i++) {
		host.mappings = &cases[i].mapping;
		host.n_mappings = 1;
		if (attach_has_anonymous_code(&inst->process) != cases[i].is_code)
			fail_msg("%s", cases[i].mapping.path);
	}
}

EP_TEST(what_does_not_hold_is_one_sentence)
{
	ep_autofree struct instance *inst = new_instance(true, 0, 0);

	assert_int_equal(attach_refuse(&inst->process, NULL, "the structures of Toy %d are", 3),
			 -ENOTSUP);
	assert_string_equal(host.logged,
			    "toy: pid 42: the structures of Toy 3 are not as expected: its Toy "
			    "frames are missing, native ones stay");
	assert_int_equal(attach_refuse(&inst->process, "its heap", "this Toy is"), -ENOTSUP);
	assert_string_equal(host.logged,
			    "toy: pid 42: this Toy is not as expected (its heap): its Toy frames "
			    "are missing, native ones stay");
}

EP_TEST(a_thread_is_found_by_its_key_or_variable)
{
	const struct ep_variable variable = {.kind = EP_VARIABLE_POINTER, .value = 9}, none = {0};
	static const struct {
		int32_t key;
		uint64_t key_va;
		bool has_variable;
		int no_key, result;
		int32_t off, then;
	} rows[] = {
		{5, KEY_VA, true, 0, 0, KEY_OFF, 5},
		{-1, KEY_VA, true, 0, 0, 9, 0}, /* not made yet */
		{1024, KEY_VA, true, 0, 0, 9, 0},
		{1023, KEY_VA, false, 0, 0, KEY_OFF, 1023},
		{5, KEY_VA, true, -ENOTSUP, 0, 9, 0},
		{5, KEY_VA, false, -ENOTSUP, -ENOTSUP, 0, 0},
		{-1, KEY_VA, false, 0, -ENODATA, 0, 0},
		{5, MISSING_VA, false, 0, -EFAULT, 0, 0},
		{5, 0, true, 0, 0, 9, 0},
		{5, 0, false, 0, -ENODATA, 0, 0},
	};
	ep_autofree struct instance *inst = new_instance(true, 0, 0);

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct ep_tls tls = {0};
		int r;

		memcpy(bytes + KEY_VA, &rows[i].key, sizeof(rows[i].key));
		host.no_key = rows[i].no_key;
		r = attach_thread(&inst->process, rows[i].key_va,
				  rows[i].has_variable ? &variable
				  : i % 2	       ? &none
						       : NULL,
				  &tls);
		if (r != rows[i].result || tls.off[0] != rows[i].off ||
		    tls.off[1] != rows[i].then || (r == 0) != (tls.steps > 0))
			fail_msg("row %zu: %d, off %d", i, r, (int)tls.off[0]);
		tls = (struct ep_tls){.steps = 1, .off = {77}}; /* what was found stays */
		assert_int_equal(attach_thread(&inst->process, KEY_VA, &variable, &tls), 0);
		assert_int_equal(tls.off[0], 77);
	}
}

EP_TEST(pauses_grow_to_a_minute)
{
	ep_autofree struct instance *inst = new_instance(true, 0, 0);
	uint64_t pause_ns = ATTACH_FIRST_PAUSE_NS;

	assert_false(attach_may_look(&inst->process));
	for (unsigned int i = 0; i < 10; i++) {
		now_ns += pause_ns - 1;
		assert_false(attach_may_look(&inst->process));
		now_ns++;
		assert_true(attach_may_look(&inst->process));
		assert_false(attach_may_look(&inst->process));
		pause_ns = EP_MIN(4 * pause_ns, 60000000000u);
	}
	assert_int_equal(inst->process.pause_ns, 60000000000u);
}

static int look(void *instance)
{
	struct instance *inst = instance;

	return ++inst->looks == 3 ? inst->proven : -ENOTSUP;
}

EP_TEST(one_look_proves_nothing)
{
	static const int proven[] = {0, EP_NOT_YET, -ESRCH};
	ep_autofree struct instance *inst = new_instance(true, 0, 0);

	for (size_t i = 0; i < EP_LEN(proven); i++) {
		inst->looks = n_naps = 0;
		inst->proven = proven[i];
		assert_int_equal(attach_look(look, inst, 4), proven[i]);
		assert_int_equal(n_naps, 2);
		inst->looks = 0;
		assert_int_equal(attach_look(look, inst, 2), -ENOTSUP);
	}
}

EP_TEST(a_process_is_armed_by_what_is_known)
{
	static const struct {
		const char *label;
		bool is_certain;
		int proven, paths;
		int result; /* of the first attach_arm */
		bool is_attached, is_complete;
	} rows[] = {
		{"all holds", false, 0, 0, 0, true, true},
		{"a path is missing", false, 0, EP_NOT_YET, EP_NOT_YET, true, false},
		{"nothing runs, known", true, EP_NOT_YET, 0, EP_NOT_YET, true, false},
		{"nothing runs, new", false, EP_NOT_YET, 0, EP_NOT_YET, false, false},
		{"unreadable, known", true, -EFAULT, 0, EP_NOT_YET, true, false},
		{"unreadable, new", false, -EFAULT, 0, -EFAULT, false, false},
		{"gone", true, -ESRCH, 0, -ESRCH, false, false},
		{"does not hold, new", false, -ENOTSUP, 0, -ENOTSUP, false, false},
		{"does not hold, known", true, -ENOTSUP, 0, EP_NOT_YET, true, false},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct instance *inst;
		void *given = NULL;
		int r;

		inst = new_instance(rows[i].is_certain, rows[i].proven, rows[i].paths);
		r = attach_arm(inst);
		if (r != rows[i].result || inst->process.armed != rows[i].is_attached ||
		    inst->process.complete != rows[i].is_complete)
			fail_msg("%s: %d, armed %d, complete %d", rows[i].label, r,
				 inst->process.armed, inst->process.complete);
		assert_int_equal(host.n_ranges_set, rows[i].is_attached);
		assert_int_equal(told, host.n_states ? 42 : 0);
		assert_int_equal(host.logged[0] != '\0', r == -ENOTSUP);
		r = attach_give(r, inst, detach, &given);
		assert_int_equal(r, rows[i].is_attached ? 0 : rows[i].result);
		assert_ptr_equal(given, rows[i].is_attached ? inst : NULL);
		assert_int_equal(n_detached, !rows[i].is_attached);
		if (given)
			detach(given);
	}
}

EP_TEST(what_is_armed_is_proven_later)
{
	ep_autofree struct instance *inst = new_instance(true, EP_NOT_YET, 0);

	assert_int_equal(attach_arm(inst), EP_NOT_YET);
	for (unsigned int i = 0; i < 100; i++)
		attach_prove_aside(inst);
	assert_int_equal(host.n_states, 1 + 64);
	inst->proven = 0;
	assert_int_equal(attach_arm(inst), 0);
	assert_int_equal(host.n_states, 1 + 64 + 1);
	assert_int_equal(attach_arm(inst), 0); /* nothing is left to find out */
	attach_prove_aside(inst);
	assert_int_equal(host.n_states, 1 + 64 + 1);
	assert_int_equal(host.n_ranges_set, 1);
}

/* Aside, another library may be there. Else a known release may be uncertain twice. */
EP_TEST(what_does_not_hold_is_refused_in_the_end)
{
	ep_autofree struct instance *inst = new_instance(true, -ENOTSUP, 0);

	for (unsigned int i = 0; i < 10; i++)
		attach_prove_aside(inst);
	assert_string_equal(host.logged, "");
	assert_int_equal(host.n_states, 10);
	assert_int_equal(attach_arm(inst), EP_NOT_YET);
	attach_prove_aside(inst); /* where it is uncertain it is not asked for by the way */
	assert_int_equal(host.n_states, 11);
	assert_int_equal(attach_arm(inst), EP_NOT_YET);
	assert_int_equal(attach_arm(inst), -ENOTSUP);
	assert_string_equal(
		host.logged,
		"toy: pid 42: the structures of Toy 3.1 (debug) are not as expected: its "
		"Toy frames are missing, native ones stay");
}

EP_TEST(what_has_gone_is_still_attached)
{
	ep_autofree struct instance *inst = new_instance(true, -ESRCH, 0);

	assert_int_equal(attach_arm(inst), -ESRCH);
	assert_int_equal(attach_refresh(inst), 0);
	inst->proven = EP_NOT_YET;
	assert_int_equal(attach_refresh(inst), EP_NOT_YET);
	inst->proven = 0;
	assert_int_equal(attach_refresh(inst), 0);
}
