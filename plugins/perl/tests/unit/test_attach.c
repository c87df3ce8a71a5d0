/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Perl plugin's view of a file and a process: releases, with threads and without, a layout that
 * does not hold, what is not there yet, ops with other numbers.
 */
#include "plugins/perl/tests/unit/made_perl.h"
#include "plugins/shared/attach/attach.h"

#define CURINTERP_VA 0x100u
#define KEY_VA	     0x108u
#define OPS_VA	     0x200u
#define RUNOPS_VA    0x4000u
#define N_OPS	     420u

/* --- a file ----------------------------------------------------------------------------------- */

static const struct fake_symbol symbols[] = {
	{"PL_revision", {.va = 1, .bytes = 1}},
	{"PL_version", {.va = 2, .bytes = 1}},
	{"PL_curinterp", {.va = CURINTERP_VA, .bytes = 8}},
	{"PL_thr_key", {.va = KEY_VA, .bytes = 4}},
	{"PL_current_context", {.va = 0, .bytes = 8}},
	{"PL_op_name", {.va = OPS_VA, .bytes = 8 * N_OPS}},
	{"Perl_runops_standard", {.va = RUNOPS_VA, .bytes = 76}},
	{"Perl_runops_debug", {.va = RUNOPS_VA + 256, .bytes = 300}},
	{"PL_op", {.va = 0x1000, .bytes = 8}},
	{"PL_curcop", {.va = 0x1008, .bytes = 8}},
	{"PL_curstackinfo", {.va = 0x1010, .bytes = 8}},
	{"PL_defstash", {.va = 0x1018, .bytes = 8}},
};

/* No unwind rules: the symbols say how large functions are. */
static int probe(uint8_t minor, const char *const *absent, struct pl_executable **ret)
{
	static struct fake_host host;
	struct fake_symbol present[EP_LEN(symbols)];
	uint8_t version[] = {5, minor};
	void *executable = NULL;
	int r;

	fake_host_init(&host, NULL, 0);
	fake_memory_add(&host.contents, 1, version, sizeof(version));
	host.symbols = host.sections = present;
	for (size_t i = 0; i < EP_LEN(symbols); i++) {
		size_t k = 0;

		while (absent[k] && strcmp(absent[k], symbols[i].name) != 0)
			k++;
		if (!absent[k])
			present[host.n_symbols++] = symbols[i];
	}
	host.n_sections = host.n_symbols;
	r = pl_probe(fake_host_services(&host), &host.file, &executable);
	*ret = executable;
	return r;
}

static const char *const threaded[] = {"PL_op", "PL_curcop", "PL_curstackinfo", "PL_defstash",
				       NULL};
static const char *const unthreaded[] = {"PL_thr_key", "PL_current_context", NULL};
static const char *const others[] = {"Perl_runops_standard", NULL};

EP_TEST(other_files_are_not_mine)
{
	struct pl_executable *exe;

	assert_int_equal(probe(36, others, &exe), EP_NOT_MINE);
	assert_int_equal(probe(26, threaded, &exe), -ENOTSUP);
	assert_null(exe);
}

EP_TEST(releases_differ)
{
	static const struct {
		uint8_t minor;
		uint32_t bytes, sub_cv, stack, entersub;
		bool aux_in_body;
	} rows[] = {
		{28, 96, 64, 240, 184, false},	{30, 96, 64, 240, 184, false},
		{32, 104, 72, 240, 184, false}, {34, 104, 72, 224, 184, false},
		{36, 104, 72, 224, 184, true},	{38, 104, 72, 224, 187, true},
		{40, 104, 72, 224, 187, true},	{42, 104, 72, 224, 191, true},
		{44, 104, 72, 224, 191, true},	{60, 104, 72, 224, 191, true},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct pl_executable *exe;

		assert_int_equal(probe(rows[i].minor, threaded, &exe), 0);
		assert_true(exe->layout.threads);
		assert_int_equal(exe->layout.contexts.bytes, rows[i].bytes);
		assert_int_equal(exe->layout.contexts.sub_cv, rows[i].sub_cv);
		assert_int_equal(exe->layout.members.stack, rows[i].stack);
		assert_int_equal(exe->layout.ops.entersub, rows[i].entersub);
		assert_int_equal(exe->layout.aux_in_body, rows[i].aux_in_body);
		assert_int_equal(exe->n_code, 2);
		pl_unload(exe);
	}
}

/* --- a process -------------------------------------------------------------------------------- */

static const char *op_name(const struct pl_ops *ops, uint32_t number)
{
	return number == ops->entersub	  ? "entersub"
	       : number == ops->require	  ? "require"
	       : number == ops->entereval ? "entereval"
	       : number == ops->nextstate ? "nextstate"
	       : number == ops->dbstate	  ? "dbstate"
					  : NULL;
}

static void put_ops(struct made *made, const struct pl_ops *ops)
{
	for (uint32_t i = 0; i < N_OPS; i++) {
		const char *name = op_name(ops, i);

		put_word(made, BIAS + OPS_VA + 8 * i, name ? put_text(made, name) : 0);
	}
}

static uint64_t make_stackinfo(struct made *made, uint64_t previous, int32_t index)
{
	uint64_t info = make(made, 64);

	put_word(made, info + 8, make(made, 512));
	put_word(made, info + 16, previous);
	put_int(made, info + 32, (uint32_t)index);
	put_int(made, info + 36, 4);
	return info;
}

/* An interpreter that runs, of a file that was probed. */
static struct made *new_process(uint8_t minor, const char *const *absent, uint64_t *ret_interp)
{
	struct made *made = made_new(minor, absent == threaded);
	struct pl_executable *exe;
	uint64_t interp, stack, defstash;

	assert_int_equal(probe(minor, absent, &exe), 0);
	made->exe = *exe;
	made->exe.host = fake_host_services(&made->host);
	pl_unload(exe);
	interp = absent == threaded ? make(made, 2048) : 0;
	stack = interp ? interp + made->layout.members.stack : BIAS + 0x1010;
	defstash = interp ? interp + made->layout.members.defstash : BIAS + 0x1018;
	put_word(made, BIAS + CURINTERP_VA, interp);
	put_word(made, stack, make_stackinfo(made, make_stackinfo(made, 0, 2), -1));
	put_word(made, defstash, make_stash(made, "main"));
	put_ops(made, &made->layout.ops);
	*ret_interp = interp;
	return made;
}

static int attach(struct made *made)
{
	void *instance = NULL;
	int r = pl_attach(&made->exe, &made->host.target, &instance);

	if (r == 0)
		pl_detach(instance);
	return r;
}

EP_TEST(threads_are_found_by_their_variable)
{
	uint64_t interp;
	struct made *made = new_process(36, threaded, &interp);

	assert_int_equal(attach(made), 0);
	assert_int_equal(made->state.unproven, 0);
	assert_int_equal(made->state.interp.steps, 1);
	assert_int_equal(made->state.stack_off, 224);
	assert_int_equal(made->state.cx_bytes, 104);
	assert_int_equal(made->state.threads, 1);
	assert_int_equal(made->host.n_ranges, 2);
	assert_int_equal(made->host.ranges[0].start, BIAS + RUNOPS_VA);
	assert_int_equal(made->host.ranges[0].mode, EP_RANGE_MARK);
	made->exe.has_context = false;
	put_int(made, BIAS + KEY_VA, 3);
	assert_int_equal(attach(made), 0);
	assert_int_equal(made->state.interp.steps, 2);
	assert_int_equal(made->state.interp.off[1], 3);
	assert_int_equal(made->host.n_warnings, 0);
}

EP_TEST(main_thread_is_walked_without_a_key)
{
	uint64_t interp;
	struct made *made = new_process(32, threaded, &interp);

	made->exe.has_context = false;
	put_int(made, BIAS + KEY_VA, UINT32_MAX);
	assert_int_equal(attach(made), 0);
	assert_int_equal(made->state.interp.steps, 0);
	assert_int_equal(made->state.holder_addr, BIAS + CURINTERP_VA);
	assert_int_equal(made->state.holder_of_main, 1);
	assert_int_equal(made->state.unproven, 0);
}

EP_TEST(without_threads_members_are_variables)
{
	uint64_t interp;
	struct made *made = new_process(36, unthreaded, &interp);

	assert_int_equal(attach(made), 0);
	assert_int_equal(made->state.interp.steps, 0);
	assert_int_equal(made->state.holder_addr, 0);
	assert_int_equal(made->state.stack_off, BIAS + 0x1010);
	assert_int_equal(made->state.defstash_off, BIAS + 0x1018);
	assert_int_equal(made->state.unproven, 0);
	assert_int_equal(made->state.threads, 0);
}

/* BPF has all that the file says, from the first moment on; then what the process says. */
EP_TEST(processes_are_armed_before_they_run)
{
	uint64_t interp, stack;
	struct made *made = new_process(36, threaded, &interp);
	void *instance = NULL;

	stack = interp + made->layout.members.stack;
	put_word(made, BIAS + CURINTERP_VA, 0);
	put_word(made, stack, 0);
	assert_int_equal(pl_attach(&made->exe, &made->host.target, &instance), 0);
	assert_int_equal(made->state.unproven, 1);
	assert_int_equal(made->state.interp.steps, 0);
	assert_int_equal(made->state.holder_addr, BIAS + CURINTERP_VA);
	assert_int_equal(made->state.op_entersub, made->layout.ops.entersub);
	assert_int_equal(made->host.n_ranges, 2);
	made->host.n_ranges = 0;
	put_word(made, BIAS + CURINTERP_VA, interp);
	assert_int_equal(attach_refresh(instance), EP_NOT_YET);
	assert_int_equal(made->state.unproven, 1);
	put_word(made, stack, make_stackinfo(made, 0, 0));
	assert_int_equal(attach_refresh(instance), 0);
	assert_int_equal(made->state.unproven, 0);
	assert_int_equal(made->state.interp.steps, 1);
	assert_int_equal(made->host.n_ranges, 0);
	made->host.n_states = 0;
	assert_int_equal(attach_refresh(instance), 0);
	assert_int_equal(made->host.n_states, 0);
	assert_int_equal(made->host.n_warnings, 0);
	pl_detach(instance);
}

/* What is remembered of it must stay for the names. */
EP_TEST(processes_that_have_gone_stay_attached)
{
	uint64_t interp;
	struct made *made = new_process(36, threaded, &interp);
	void *instance = NULL;

	put_word(made, BIAS + CURINTERP_VA, 0);
	assert_int_equal(pl_attach(&made->exe, &made->host.target, &instance), 0);
	made->host.memory.fail_at = made->host.memory.n_reads + 1;
	made->host.memory.fail_with = -ESRCH;
	assert_int_equal(attach_refresh(instance), 0);
	pl_detach(instance);
	made->host.memory.fail_at = made->host.memory.n_reads + 1;
	assert_int_equal(attach(made), -ESRCH);
}

/* Its names are looked for in its parent; who has named frames goes on from memory. */
EP_TEST(a_child_that_has_gone_says_so)
{
	uint64_t interp, cop;
	struct made *made = new_process(36, threaded, &interp);
	struct ep_raw_frame frame;
	void *instance = NULL;

	cop = make_cop(made, put_text(made, "x.pl"), 7, 1);
	frame = block_frame(&made->memory, PL_KIND_BLOCK, cop);
	assert_int_equal(pl_attach(&made->exe, &made->host.target, &instance), 0);
	made->host.memory.fail_with = -ESRCH;
	for (int i = 0; i < 2; i++) {
		made->host.memory.fail_at = made->host.memory.n_reads + 1;
		assert_int_equal(pl_symbolize(instance, &frame, &made->host.names), -ESRCH);
	}
	assert_int_equal(made->host.n_names, 0);
	assert_int_equal(pl_symbolize(instance, &frame, &made->host.names), 0);
	assert_string_equal(made->host.function, "(eval)");
	assert_int_equal(made->host.line, 7);
	frame.words[1] ^= 8; /* another statement */
	made->host.memory.fail_at = made->host.memory.n_reads + 1;
	assert_int_equal(pl_symbolize(instance, &frame, &made->host.names), 0);
	assert_string_equal(made->host.function, "(eval)");
	assert_int_equal(made->host.line, 0);
	pl_detach(instance);
}

EP_TEST(a_layout_that_does_not_hold_is_refused)
{
	for (int i = 0; i < 4; i++) {
		uint64_t interp, stack;
		struct made *made = new_process(60, threaded, &interp);

		stack = interp + made->layout.members.stack;
		if (i == 0)
			put_word(made, interp + made->layout.members.defstash,
				 make_stash(made, "other"));
		else if (i == 1)
			put_word(made, stack, make_stackinfo(made, 0, 7));
		else if (i == 2)
			put_word(made, stack, make_stackinfo(made, 12, 1));
		else
			put_word(made, interp + made->layout.members.defstash, interp);
		assert_int_equal(attach(made), -ENOTSUP);
		assert_int_equal(made->host.n_warnings, 1);
		assert_int_equal(made->host.n_states, 0);
	}
}

/* What it has left to read proves nothing: the last read asks whether it is still there. */
EP_TEST(a_process_that_ends_while_it_is_looked_at_is_not_refused)
{
	uint64_t interp;
	struct made *made = new_process(60, threaded, &interp);
	uint32_t last;

	put_word(made, interp + made->layout.members.stack, make_stackinfo(made, 0, 7));
	assert_int_equal(attach(made), -ENOTSUP);
	last = made->host.memory.n_reads;
	made->host.n_warnings = 0;
	made->host.memory.fail_at = 2 * last;
	made->host.memory.fail_with = -ESRCH;
	assert_int_equal(attach(made), -ESRCH);
	assert_int_equal(made->host.n_warnings, 0);
}

EP_TEST(ops_have_the_numbers_of_their_names)
{
	uint64_t interp;
	struct made *made = new_process(36, threaded, &interp);
	struct pl_ops ops = made->layout.ops;

	ops.entersub += 3;
	ops.require += 5;
	put_ops(made, &ops);
	assert_int_equal(attach(made), 0);
	assert_int_equal(made->state.op_entersub, ops.entersub);
	assert_int_equal(made->state.op_require, ops.require);
	ops.entersub = 0;
	put_ops(made, &ops);
	assert_int_equal(attach(made), -ENOTSUP);
}
