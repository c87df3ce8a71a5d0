/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of V8's code, each as its assembler makes it, and what is known of the caller at each
 * instruction. */
#include "plugins/v8/code/flow.h"

#include "core/base/util.h"
#include "tests/kit/test.h"

#define VA	0x10000
#define EXIT_VA 0x20000
#define ANY	V8_RETURN_ON_STACK
#define NONE	V8_ROW_NONE
#define SP	V8_ROW_RSP
#define FP	V8_ROW_RBP
#define RCX	2 /* DWARF numbers */
#define R8	8
#define R11	11
#define R15	15

struct want {
	uint16_t off;
	struct v8_flow_rule rule; /* offset, rbp_at, base, return_in */
};

static const struct shape {
	const char *label;
	uint8_t code[80];
	uint8_t bytes;
	bool in_frame, left, keeps;
	struct want want[16]; /* to the first without a length: all instructions */
	uint8_t n;
} shapes[] = {
	{"no frame",
	 {0x31, 0xc0, 0xc3},
	 3,
	 .want = {{0, {8, 0, SP, ANY}}, {2, {8, 0, SP, ANY}}},
	 .n = 2},
	{"pop rcx | lea rsp, [rsp + rdx * 8] | push rcx | ret",
	 {0x59, 0x48, 0x8d, 0x24, 0xd4, 0x51, 0xc3},
	 7,
	 .want = {{0, {8, 0, SP, ANY}},
		  {1, {0, 0, SP, RCX}},
		  {5, {0, 0, SP, RCX}},
		  {6, {8, 0, SP, ANY}}},
	 .n = 4},
	{"pop rbx | shl rbx, 32",
	 {0x5b, 0x48, 0xc1, 0xe3, 0x20, 0xc3},
	 6,
	 .want = {{0, {16, 0, SP, ANY}}, {1, {8, 0, SP, ANY}}, {5, {8, 0, SP, ANY}}},
	 .n = 3},
	{"pop r15 | shl r14, 32",
	 {0x41, 0x5f, 0x49, 0xc1, 0xe6, 0x20, 0x41, 0xff, 0xe7},
	 9,
	 .want = {{0, {8, 0, SP, ANY}}, {2, {0, 0, SP, R15}}, {6, {0, 0, SP, R15}}},
	 .n = 3},
	/* pop r8 | l: push [rcx] | dec edx | jg l | push r8 | jmp out */
	{"pushes in a loop",
	 {0x41, 0x58, 0xff, 0x31, 0xff, 0xca, 0x7f, 0xfa, 0x41, 0x50, 0xe9, 0, 1, 0, 0},
	 15,
	 .want = {{2, {0, 0, SP, R8}},
		  {4, {0, 0, SP, R8}},
		  {6, {0, 0, SP, R8}},
		  {8, {0, 0, SP, R8}},
		  {10, {8, 0, SP, ANY}}},
	 .n = 5},
	/* jae l | push rbp | mov rbp, rsp | push 0x2e | call out | l: pop rcx | push rcx | ret */
	{"a call that does not return",
	 {0x73, 0x0b, 0x55, 0x48, 0x89, 0xe5, 0x6a, 0x2e, 0xe8, 0, 1, 0, 0, 0x59, 0x51, 0xc3},
	 16,
	 .want = {{2, {8, 0, SP, ANY}},
		  {3, {16, 0, SP, ANY}},
		  {6, {16, -16, FP, ANY}},
		  {8, {16, -16, FP, ANY}},
		  {13, {8, 0, SP, ANY}},
		  {14, {0, 0, SP, RCX}},
		  {15, {8, 0, SP, ANY}}},
	 .n = 7},
	/* mov r8, rsp | sub rsp, r10 | l: mov r10, [r8 + r11 * 8] | mov [rsp + r11 * 8], r10 | inc
	 * r11 | jle l | lea r8, [rsp + rax * 8] | jmp out */
	{"a stack that moves",
	 {0x49, 0x89, 0xe0, 0x4c, 0x29, 0xd4, 0x4f, 0x8b, 0x14, 0xd8, 0x4e, 0x89, 0x14, 0xdc,
	  0x49, 0xff, 0xc3, 0x7e, 0xf3, 0x4c, 0x8d, 0x04, 0xc4, 0xe9, 0,    1,	  0,	0},
	 28,
	 .want = {{3, {8, 0, SP, ANY}},
		  {6, {8, 0, SP, ANY}},
		  {14, {8, 0, SP, ANY}},
		  {19, {8, 0, SP, ANY}},
		  {23, {8, 0, SP, ANY}}},
	 .n = 5},
	/* sub rsp, r10, with the old top in r8, and the first word not yet moved. */
	{"a stack that is to move",
	 {0x49, 0x89, 0xe0, 0x4c, 0x29, 0xd4, 0x31, 0xc9, 0xe9, 0, 1, 0, 0},
	 13,
	 .want = {{6, {8, 0, R8, ANY}}, {8, {8, 0, R8, ANY}}},
	 .n = 2},
	/* test rax, rax | jne l | ret | l: leave | add rsp, 8 | jmp rax */
	{"on-stack replacement",
	 {0x48, 0x85, 0xc0, 0x75, 0x01, 0xc3, 0xc9, 0x48, 0x83, 0xc4, 0x08, 0xff, 0xe0},
	 13,
	 .want = {{5, {8, 0, SP, ANY}}, {6, {8, 0, SP, ANY}}, {7, {8, 0, SP, ANY}}},
	 .n = 3},
	/* mov rsp, rbp | pop rbp | ret */
	{"a frame that is left",
	 {0x48, 0x89, 0xec, 0x5d, 0xc3},
	 5,
	 .left = true,
	 .want = {{0, {8, 0, SP, ANY}}, {4, {8, 0, SP, ANY}}},
	 .n = 2},
	{"the same, entered in it",
	 {0x48, 0x89, 0xec, 0x5d, 0xc3},
	 5,
	 .in_frame = true,
	 .want = {{0, {16, -16, FP, ANY}}, {3, {16, -16, FP, ANY}}, {4, {8, 0, SP, ANY}}},
	 .n = 3},
	/* pop r15 | push rbp | mov rbp, rsp | push rdi | push r15 | ret */
	{"a frame for the caller",
	 {0x41, 0x5f, 0x55, 0x48, 0x89, 0xe5, 0x57, 0x41, 0x57, 0xc3},
	 10,
	 .keeps = true,
	 .want = {{0, {8, 0, SP, ANY}},
		  {2, {0, 0, SP, R15}},
		  {6, {8, 0, FP, R15}},
		  {7, {8, 0, FP, R15}}},
	 .n = 4},
	/* push rbp | mov rbp, rsp | call out | mov rcx, [rbp + 8] | mov rbp, [rbp] | lea rsp, [r15
	 * + 8] | push rcx | ret */
	{"an exit frame",
	 {0x55, 0x48, 0x89, 0xe5, 0xe8, 0,    1,    0,	  0,	0x48, 0x8b, 0x4d,
	  0x08, 0x48, 0x8b, 0x6d, 0x00, 0x49, 0x8d, 0x67, 0x08, 0x51, 0xc3},
	 23,
	 .want = {{9, {16, -16, FP, ANY}},
		  {13, {16, -16, FP, ANY}},
		  {17, {16, 0, SP, ANY}},
		  {21, {0, 0, SP, RCX}},
		  {22, {8, 0, SP, ANY}}},
	 .n = 5},
	/* push rbp | mov rbp, rsp | push rax | mov rbp, [rbp] | push [rsp + 16] | pop [rsp + 8] |
	 * add rsp, 8 | jmp out */
	{"a return address that moves",
	 {0x55, 0x48, 0x89, 0xe5, 0x50, 0x48, 0x8b, 0x6d, 0x00, 0xff, 0x74, 0x24, 0x10,
	  0x8f, 0x44, 0x24, 0x08, 0x48, 0x83, 0xc4, 0x08, 0xe9, 0,    1,    0,	  0},
	 26,
	 .want = {{9, {24, 0, SP, ANY}},
		  {13, {8, 0, SP, ANY}},
		  {17, {16, 0, SP, ANY}},
		  {21, {8, 0, SP, ANY}}},
	 .n = 4},
	/* mov r10, rsp | sub rsp, 8 | and rsp, -16 | mov [rsp], r10 | call rax | mov rsp, [rsp] |
	 * ret */
	{"a call of C++ without a frame",
	 {0x49, 0x89, 0xe2, 0x48, 0x83, 0xec, 0x08, 0x48, 0x83, 0xe4, 0xf0,
	  0x4c, 0x89, 0x14, 0x24, 0xff, 0xd0, 0x48, 0x8b, 0x24, 0x24, 0xc3},
	 22,
	 .want = {{7, {16, 0, SP, ANY}},
		  {15, {8, 0, 10, ANY}},
		  {17, {0, 0, NONE, ANY}},
		  {21, {8, 0, SP, ANY}}},
	 .n = 4},
	/* push rbp | mov rbp, rsp | mov eax, 1 | push rcx | call EXIT | mov rbp, [rbp] | add rsp, 8
	 * | ret: takes one off */
	{"arguments that are taken off",
	 {0x55, 0x48, 0x89, 0xe5, 0xb8, 1,    0,    0,	  0,	0x51, 0xe8, 0xf1,
	  0xff, 0,    0,    0x48, 0x8b, 0x6d, 0x00, 0x48, 0x83, 0xc4, 0x08, 0xc3},
	 24,
	 .want = {{10, {16, -16, FP, ANY}}, {19, {16, 0, SP, ANY}}, {23, {8, 0, SP, ANY}}},
	 .n = 3},
	/* pop r15 | shl r15, 32 | push rbp | mov rbp, rsp | leave | ret */
	{"a number above the return address",
	 {0x41, 0x5f, 0x49, 0xc1, 0xe7, 0x20, 0x55, 0x48, 0x89, 0xe5, 0xc9, 0xc3},
	 12,
	 .want = {{0, {16, 0, SP, ANY}},
		  {2, {8, 0, SP, ANY}},
		  {6, {8, 0, SP, ANY}},
		  {10, {16, -16, FP, ANY}},
		  {11, {8, 0, SP, ANY}}},
	 .n = 5},
	/* push rbp | mov rbp, rsp | call out | int3 | mov rax, rcx | leave | ret: of a handler of
	 * exceptions */
	{"code that no way leads to",
	 {0x55, 0x48, 0x89, 0xe5, 0xe9, 0, 1, 0, 0, 0xcc, 0x48, 0x89, 0xc8, 0xc9, 0xc3},
	 15,
	 .want = {{10, {16, -16, FP, ANY}}, {13, {16, -16, FP, ANY}}, {14, {8, 0, SP, ANY}}},
	 .n = 3},
	/* push rbp | mov rbp, rsp | jmp out | mov rax, imm64 | leave | ret | xor eax, eax | leave |
	 * ret: two handlers; from its second byte on, the first is mov eax, imm32 | pop rbp | jmp
	 * to the other */
	{"code that no way leads to begins where instructions end",
	 {0x55, 0x48, 0x89, 0xe5, 0xeb, 0x7f, 0x48, 0xb8, 1,	2,    3,
	  4,	0x5d, 0xeb, 0x03, 0x90, 0xc9, 0xc3, 0x31, 0xc0, 0xc9, 0xc3},
	 22,
	 .want = {{6, {16, -16, FP, ANY}},
		  {17, {8, 0, SP, ANY}},
		  {18, {16, -16, FP, ANY}},
		  {21, {8, 0, SP, ANY}}},
	 .n = 4},
};

static void expect_rule(const struct shape *shape, const struct v8_flow *flow,
			const struct want *want)
{
	const struct x86_node *node = x86_flow_at(&flow->flow, want->off);
	struct v8_flow_rule got;

	if (!node)
		fail_msg("%s: no instruction at %u", shape->label, want->off);
	got = v8_flow_rule(flow, &node->state);
	if (got.base != want->rule.base ||
	    (got.base != NONE &&
	     (got.offset != want->rule.offset || got.rbp_at != want->rule.rbp_at ||
	      got.return_in != want->rule.return_in)))
		fail_msg("%s: at %u: base %u %+d, rbp at %d, return in %u", shape->label, want->off,
			 got.base, got.offset, got.rbp_at, got.return_in);
}

EP_TEST(shapes_are_followed)
{
	static const uint64_t exits[] = { EXIT_VA };
	struct v8_flow flow = { .exits = exits, .n_exits = EP_LEN(exits) };

	for (size_t i = 0; i < EP_LEN(shapes); i++) {
		const struct shape *shape = &shapes[i];

		assert_int_equal(v8_flow_run(&flow, VA, shape->code, shape->bytes, shape->in_frame),
				 0);
		for (size_t j = 0; j < shape->n; j++)
			expect_rule(shape, &flow, &shape->want[j]);
		if (flow.left_frame != shape->left || flow.keeps_frame != shape->keeps)
			fail_msg("%s: left %d, keeps %d", shape->label, flow.left_frame,
				 flow.keeps_frame);
	}
	x86_flow_fini(&flow.flow);
}

EP_TEST(limits_hold)
{
	static const uint8_t nothing[1] = { 0x06 };
	struct v8_flow flow = { 0 };

	assert_int_equal(v8_flow_run(&flow, VA, nothing, V8_MAX_BUILTIN_BYTES + 1, false), -E2BIG);
	assert_int_equal(v8_flow_run(&flow, VA, nothing, 0, false), 0);
	assert_int_equal(v8_flow_run(&flow, VA, nothing, 1, false), 0);
	assert_null(x86_flow_at(&flow.flow, 0));
	x86_flow_fini(&flow.flow);
}
