/* SPDX-License-Identifier: Apache-2.0 */
/* Data flow with a language that adds nothing, or little; what languages add is tested with each of
 * them. */
#include "plugins/shared/x86/flow.h"

#include "core/base/util.h"
#include "tests/kit/test.h"

#define NO	X86_V_UNKNOWN
#define FP	X86_V_FP
#define RETURN	X86_V_RETURN
#define AT(x)	(X86_N_REGISTERS + X86_AT_##x)
#define NOWHERE (-1) /* no instruction that was followed */

static void step(void *arg, struct x86_state *state, const struct x86_insn *insn,
		 const uint8_t *code)
{
	x86_state_step(arg, state, insn);
}

static bool set_sp(struct x86_state *state, int16_t *value)
{
	return state->own != NO && *value == NO; /* where a test says so: rsp stays */
}

static const struct x86_flow_ops plain = {
	.max_bytes = 64, .step = step, .meet = x86_state_meet, .set_sp = set_sp, .fill = x86_fill,
};

static struct x86_state called(void)
{
	struct x86_state state = x86_state_start();

	state.regs[X86_RSP] = state.at[X86_AT_RETURN] = -8;
	state.regs[X86_RBP] = FP;
	return state;
}

struct want {
	uint8_t off;
	int8_t what; /* a register, a place, NOWHERE */
	int16_t value;
};

static void expect(const char *label, const struct x86_flow *flow, const struct want *want,
		   size_t n)
{
	for (; n--; want++) {
		const struct x86_node *node = x86_flow_at(flow, want->off);
		int16_t got;

		if (!node != (want->what == NOWHERE))
			fail_msg("%s: %s instruction at %u", label, node ? "an" : "no", want->off);
		if (!node)
			continue;
		got = want->what < X86_N_REGISTERS ? node->state.regs[want->what] :
						     node->state.at[want->what - X86_N_REGISTERS];
		if (got != want->value)
			fail_msg("%s: at %u, %d is %d, not %d", label, want->off, want->what, got,
				 want->value);
	}
}

static const struct {
	const char *label;
	uint8_t code[24];
	uint8_t bytes, n;
	struct want want[8];
} pieces[] = {
	{"push rbp | mov rbp, rsp | sub rsp, 16 | leave | ret",
	 {0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0xc9, 0xc3},
	 10,
	 8,
	 {{0, X86_RSP, -8},
	  {1, X86_RSP, -16},
	  {1, AT(FP), -16},
	  {4, X86_RBP, -16},
	  {8, X86_RSP, -32},
	  {9, X86_RSP, -8},
	  {9, X86_RBP, FP},
	  {9, AT(FP), NO}}},
	{"je over | push rax | over: nop | ret",
	 {0x74, 1, 0x50, 0x90, 0xc3},
	 5,
	 3,
	 {{2, X86_RSP, -8}, {3, X86_RSP, NO}, {3, X86_RBP, FP}}},
	{"again: push rax | jmp again",
	 {0x50, 0xeb, 0xfd},
	 3,
	 2,
	 {{0, X86_RSP, NO}, {1, X86_RSP, NO}}},
	{"call next | pop rax | ret",
	 {0xe8, 0, 0, 0, 0, 0x58, 0xc3},
	 7,
	 2,
	 {{5, X86_RSP, -16}, {6, X86_RSP, -8}}},
	{"mov rbx, rsp | mov rax, rsp | call out | ret",
	 {0x48, 0x89, 0xe3, 0x48, 0x89, 0xe0, 0xe8, 0, 1, 0, 0, 0xc3},
	 12,
	 4,
	 {{6, X86_RAX, -8}, {11, X86_RAX, NO}, {11, X86_RBX, -8}, {11, X86_RSP, -8}}},
	{"mov r10, rsp | and rsp, -16 | mov [rsp + 8], r10 | "
	 "push 0 | pop rax | mov rsp, [rsp + 8] | ret",
	 {0x49, 0x89, 0xe2, 0x48, 0x83, 0xe4, 0xf0, 0x4c, 0x89, 0x54, 0x24,
	  0x08, 0x6a, 0,    0x58, 0x48, 0x8b, 0x64, 0x24, 0x08, 0xc3},
	 21,
	 4,
	 {{7, X86_RSP, NO}, {7, X86_R10, -8}, {15, X86_RSP, NO}, {20, X86_RSP, -8}}},
	{"mov r10, rsp | and rsp, -16 | mov [rsp + 8], r10 | "
	 "mov rsp, rax | mov rbx, [rsp + 8] | ret",
	 {0x49, 0x89, 0xe2, 0x48, 0x83, 0xe4, 0xf0, 0x4c, 0x89, 0x54, 0x24,
	  0x08, 0x48, 0x89, 0xc4, 0x48, 0x8b, 0x5c, 0x24, 0x08, 0xc3},
	 21,
	 2,
	 {{15, X86_RSP, NO}, {20, X86_RBX, NO}}},
	{"mov rdx, rsp | push rdx | xor edx, edx | pop rcx | ret",
	 {0x48, 0x89, 0xe2, 0x52, 0x31, 0xd2, 0x59, 0xc3},
	 8,
	 4,
	 {{4, AT(KEPT), -16}, {6, X86_RDX, NO}, {7, X86_RCX, -8}, {7, AT(KEPT), NO}}},
	{"push rbp | push rbp | pop rax | mov [rsp], rax | mov [rsp], rcx | ret",
	 {0x55, 0x55, 0x58, 0x48, 0x89, 0x04, 0x24, 0x48, 0x89, 0x0c, 0x24, 0xc3},
	 12,
	 4,
	 {{2, AT(FP), -16}, {3, X86_RAX, NO}, {7, AT(FP), NO}, {11, AT(FP), NO}}},
	{"push [rsp] | pop rcx | push rcx | pop [rsp + 8] | jmp rcx",
	 {0xff, 0x34, 0x24, 0x59, 0x51, 0x8f, 0x44, 0x24, 0x08, 0xff, 0xe1},
	 11,
	 4,
	 {{3, AT(RETURN), -16}, {4, X86_RCX, RETURN}, {5, AT(RETURN), -16}, {9, AT(RETURN), 0}}},
	{"mov [rsp - 8], rbp | call out | ret",
	 {0x48, 0x89, 0x6c, 0x24, 0xf8, 0xe8, 0, 1, 0, 0, 0xc3},
	 11,
	 2,
	 {{5, AT(FP), -16}, {10, AT(FP), NO}}},
	{"add rsp, 8 | sub rsp, rax | ret",
	 {0x48, 0x83, 0xc4, 0x08, 0x48, 0x29, 0xc4, 0xc3},
	 8,
	 3,
	 {{4, X86_RSP, 0}, {4, AT(RETURN), NO}, {7, X86_RSP, NO}}},
};

EP_TEST(pieces_are_followed)
{
	ep_cleanup(x86_flow_fini) struct x86_flow flow = { .ops = &plain, .arg = (void *)&plain };
	struct x86_state start = called();

	for (size_t i = 0; i < EP_LEN(pieces); i++) {
		assert_int_equal(x86_flow_begin(&flow, pieces[i].code, pieces[i].bytes), 0);
		assert_int_equal(x86_flow_follow(&flow, 0, &start, false), 0);
		expect(pieces[i].label, &flow, pieces[i].want, pieces[i].n);
	}
}

EP_TEST(a_pushed_return_address_moves_cfa)
{
	struct x86_state known = called(), lost;

	known.regs[X86_RSP] = 8;
	known.regs[X86_RBX] = known.at[X86_AT_FP] = known.at[X86_AT_KEPT] = -24;
	lost = known;
	lost.regs[X86_RSP] = NO;
	x86_state_push_return(&known);
	assert_int_equal(known.regs[X86_RSP], -8);
	assert_int_equal(known.regs[X86_RBX], -32);
	assert_int_equal(known.at[X86_AT_FP], -32);
	assert_int_equal(known.at[X86_AT_KEPT], NO);
	assert_int_equal(known.at[X86_AT_RETURN], -8);
	x86_state_push_return(&lost);
	assert_int_equal(lost.regs[X86_RBX], NO);
	assert_int_equal(lost.regs[X86_RBP], FP);
	assert_int_equal(lost.at[X86_AT_FP], NO);
	assert_int_equal(lost.at[X86_AT_RETURN], -8);
}

EP_TEST(what_ways_disagree_on_is_lost)
{
	struct x86_state one = called(), other;

	one.at[X86_AT_KEPT] = one.saved_at = 16;
	one.own = 3;
	one.facts = 5;
	other = one;
	assert_false(x86_state_meet(&one, &other));
	other.kept = 8;
	other.facts = 6;
	assert_true(x86_state_meet(&one, &other));
	assert_int_equal(one.at[X86_AT_KEPT], NO);
	assert_int_equal(one.saved_at, 16);
	assert_int_equal(one.facts, 4);
	other.saved = 8;
	other.own = 4;
	assert_true(x86_state_meet(&one, &other));
	assert_int_equal(one.saved_at, NO);
	assert_int_equal(one.own, NO);
	assert_false(x86_state_meet(&one, &other));
}

EP_TEST(a_wrong_guess_leaves_nothing)
{
	/* nop | push rax | no instruction | nop | ret | int3 | data16 nop | xor eax, eax | jmp out
	 * | half of one */
	static const uint8_t code[] = {0x90, 0x50, 0x06, 0x90, 0xc3, 0xcc, 0x66,
				       0x90, 0x31, 0xc0, 0xeb, 0x7f, 0x48};
	ep_cleanup(x86_flow_fini) struct x86_flow flow = { .ops = &plain, .arg = (void *)&plain };
	struct x86_state start = called();

	assert_int_equal(x86_flow_begin(&flow, code, sizeof(code)), 0);
	assert_int_equal(x86_flow_follow(&flow, 0, &start, true), -EBADMSG);
	assert_null(x86_flow_at(&flow, 0));
	assert_int_equal(x86_flow_next(&flow, 0), 1);
	assert_int_equal(x86_flow_follow(&flow, 0, &start, false), 0);
	assert_non_null(x86_flow_at(&flow, 1));
	assert_int_equal(x86_flow_next(&flow, 0), 2);
	assert_int_equal(x86_flow_skip(&flow, 2), 3);
	assert_int_equal(x86_flow_follow(&flow, 3, &start, true), 0);
	start.regs[X86_RSP] = -16;
	assert_int_equal(x86_flow_follow(&flow, 3, &start, true), 0);
	expect("what was followed stays", &flow, (const struct want[]){ { 3, X86_RSP, -8 } }, 1);
	assert_int_equal(x86_flow_at(&flow, 3)->chain, 0);
	assert_int_not_equal(x86_flow_at(&flow, 4)->chain, 0);
	assert_int_equal(x86_flow_next(&flow, 3), 8);
	assert_int_equal(x86_flow_skip(&flow, 8), 12);
	assert_int_equal(x86_flow_follow_rest(&flow, &start), 0);
	assert_non_null(x86_flow_at(&flow, 8));
	assert_null(x86_flow_at(&flow, 2));
	assert_null(x86_flow_at(&flow, 9)); /* guesses begin where instructions end */
	assert_null(x86_flow_at(&flow, 12)); /* cut by the end */
	assert_null(x86_flow_at(&flow, sizeof(code)));
}

/* --- hooks */

static struct x86_state enter(const struct x86_state *before)
{
	struct x86_state state = *before;

	x86_state_push(&plain, &state, X86_V_OWN);
	return state;
}

EP_TEST(calls_within_are_entered)
{
	/* call f | ret | f: ret */
	static const uint8_t code[] = { 0xe8, 1, 0, 0, 0, 0xc3, 0xc3 };
	struct x86_flow_ops ops = plain;
	ep_cleanup(x86_flow_fini) struct x86_flow flow = { .ops = &ops, .arg = &ops };
	struct x86_state start = called();

	assert_int_equal(x86_flow_begin(&flow, code, sizeof(code)), 0);
	assert_int_equal(x86_flow_follow(&flow, 0, &start, false), 0);
	expect("not entered", &flow, (const struct want[]){{5, X86_RSP, -8}, {6, NOWHERE, 0}}, 2);
	ops.enter = enter;
	assert_int_equal(x86_flow_begin(&flow, code, sizeof(code)), 0);
	assert_int_equal(x86_flow_follow(&flow, 0, &start, false), 0);
	expect("entered", &flow,
	       (const struct want[]){{5, X86_RSP, -8}, {6, X86_RSP, -16}, {6, AT(OWN), -16}}, 3);
}

static bool may_return(const struct x86_state *state, const struct x86_state *next)
{
	return state->regs[X86_RSP] == next->regs[X86_RSP];
}

EP_TEST(calls_that_do_not_return_are_not_followed)
{
	/* push rcx | call out | call out | jae l | push rax | call out | l: pop rcx | ret */
	static const uint8_t code[] = {0x51, 0xe8, 0,	 1,    0, 0, 0xe8, 0, 1,    0,	 0,
				       0x73, 6,	   0x50, 0xe8, 0, 1, 0,	   0, 0x59, 0xc3};
	/* jae m | push rax | call out | l: pop rcx | ret | m: jmp l */
	static const uint8_t far[] = { 0x73, 8, 0x50, 0xe8, 0, 1, 0, 0, 0x59, 0xc3, 0xeb, 0xfc };
	struct x86_flow_ops ops = plain;
	ep_cleanup(x86_flow_fini) struct x86_flow flow = { .ops = &ops, .arg = &ops };
	struct x86_state start = called();

	assert_int_equal(x86_flow_begin(&flow, code, sizeof(code)), 0);
	assert_int_equal(x86_flow_follow(&flow, 0, &start, false), 0);
	expect("all return", &flow, (const struct want[]){{11, X86_RSP, -16}, {19, X86_RSP, NO}},
	       2);
	ops.may_return = may_return;
	assert_int_equal(x86_flow_begin(&flow, code, sizeof(code)), 0);
	assert_int_equal(x86_flow_follow(&flow, 0, &start, false), 0);
	expect("the last does not", &flow,
	       (const struct want[]){{14, X86_RSP, -24}, {19, X86_RSP, -16}, {20, X86_RSP, -8}}, 3);
	assert_int_equal(x86_flow_begin(&flow, far, sizeof(far)), 0);
	assert_int_equal(x86_flow_follow(&flow, 0, &start, false), 0);
	expect("calls are last", &flow, (const struct want[]){{3, X86_RSP, -16}, {8, X86_RSP, -8}},
	       2);
}

EP_TEST(the_language_sets_sp)
{
	static const uint8_t code[] = { 0x48, 0x89, 0xc4, 0xc3 }; /* mov rsp, rax | ret */
	ep_cleanup(x86_flow_fini) struct x86_flow flow = { .ops = &plain, .arg = (void *)&plain };
	struct x86_state start = called();

	for (int i = 0; i < 2; i++) {
		start.own = i ? 1 : NO;
		assert_int_equal(x86_flow_begin(&flow, code, sizeof(code)), 0);
		assert_int_equal(x86_flow_follow(&flow, 0, &start, false), 0);
		expect("mov rsp, rax", &flow, (const struct want[]){{3, X86_RSP, i ? -8 : NO}}, 1);
	}
}

static bool meet_without_end(struct x86_state *state, const struct x86_state *other)
{
	(void)x86_state_meet(state, other);
	return true;
}

EP_TEST(work_is_bounded)
{
	static const uint8_t code[] = { 0x90, 0xeb, 0xfd }; /* again: nop | jmp again */
	struct x86_flow_ops ops = plain;
	ep_cleanup(x86_flow_fini) struct x86_flow flow = { .ops = &ops, .arg = &ops };
	struct x86_state start = called();

	ops.meet = meet_without_end;
	assert_int_equal(x86_flow_begin(&flow, code, sizeof(code)), 0);
	assert_int_equal(x86_flow_follow(&flow, 0, &start, false), -EBADMSG);
	assert_int_equal(flow.steps, 16 * sizeof(code));
	assert_null(x86_flow_at(&flow, 0));
	assert_int_equal(x86_flow_follow_rest(&flow, &start), 0);
	assert_int_equal(flow.steps, 16 * sizeof(code));
	assert_int_equal(x86_flow_begin(&flow, code, plain.max_bytes + 1), -E2BIG);
	assert_int_equal(x86_flow_begin(&flow, NULL, 0), 0);
	assert_int_equal(x86_flow_follow(&flow, 0, &start, false), 0);
	assert_int_equal(x86_flow_next(&flow, 0), 0);
}
