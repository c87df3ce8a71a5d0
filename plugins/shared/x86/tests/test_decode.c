/* SPDX-License-Identifier: Apache-2.0 */
/* What instructions do, one by one; their lengths are test_lengths.c's. */
#include "plugins/shared/x86/decode.h"
#include "tests/kit/test.h"

#define NONE X86_NO_REGISTER

static const struct {
	const char *label;
	uint8_t code[16];
	struct x86_insn want;
} rows[] = {
	{"push rbp", {0x55}, {1, X86_PUSH, X86_RBP, NONE, 0, 0, 0}},
	{"push r13", {0x41, 0x55}, {2, X86_PUSH, X86_R13, NONE, 0, 0, 0}},
	{"push 0", {0x68, 0, 0, 0, 0}, {5, X86_PUSH, NONE, NONE, 0, 0, 0}},
	{"push [rip+1]", {0xff, 0x35, 1, 0, 0, 0}, {6, X86_PUSH, NONE, NONE, 0, 0, 0}},
	{"pop rax", {0x58}, {1, X86_POP, X86_RAX, NONE, 0, 0, 0}},
	{"pop [rax]", {0x8f, 0x00}, {2, X86_POP, NONE, X86_RAX, 0, 0, 0}},
	{"push [rsp+16]", {0xff, 0x74, 0x24, 0x10}, {4, X86_PUSH, NONE, X86_RSP, 0, 0, 16}},
	{"pop [rsp+rcx*8]", {0x8f, 0x04, 0xcc}, {3, X86_POP, NONE, NONE, 0, 0, 0}},
	{"mov rbp, rsp", {0x48, 0x8b, 0xec}, {3, X86_SET, X86_RBP, X86_RSP, 0, 0, 0}},
	{"mov rbp, rsp (89)", {0x48, 0x89, 0xe5}, {3, X86_SET, X86_RBP, X86_RSP, 0, 0, 0}},
	{"sub rsp, 0x60", {0x48, 0x83, 0xec, 0x60}, {4, X86_SET, X86_RSP, X86_RSP, 0, 0, -0x60}},
	{"add rsp, 0x100",
	 {0x48, 0x81, 0xc4, 0, 1, 0, 0},
	 {7, X86_SET, X86_RSP, X86_RSP, 0, 0, 0x100}},
	{"sub esp, 8", {0x83, 0xec, 8}, {3, X86_PLAIN, NONE, NONE, X86_BIT(X86_RSP), 0, 0}},
	{"and rsp, -16", {0x48, 0x83, 0xe4, 0xf0}, {4, X86_ALIGN, X86_RSP, X86_RSP, 0, 0, -16}},
	{"lea r13, [rsp+8]", {0x4c, 0x8d, 0x6c, 0x24, 8}, {5, X86_SET, X86_R13, X86_RSP, 0, 0, 8}},
	{"lea r14, [rsp+rcx*8-8]",
	 {0x4c, 0x8d, 0x74, 0xcc, 0xf8},
	 {5, X86_PLAIN, NONE, NONE, X86_BIT(X86_R14), 0, 0}},
	{"mov [rsp+16], rbp",
	 {0x48, 0x89, 0x6c, 0x24, 0x10},
	 {5, X86_STORE, X86_RBP, X86_RSP, 0, 0, 16}},
	{"mov [rbp+8], rdx", {0x48, 0x89, 0x55, 8}, {4, X86_STORE, X86_RDX, X86_RBP, 0, 0, 8}},
	{"mov rbx, [rbp-8]", {0x48, 0x8b, 0x5d, 0xf8}, {4, X86_LOAD, X86_RBX, X86_RBP, 0, 0, -8}},
	{"mov [rsp-4096], eax",
	 {0x89, 0x84, 0x24, 0, 0xf0, 0xff, 0xff},
	 {7, X86_STORE, NONE, X86_RSP, 0, 0, -4096}},
	{"inc rsp", {0x48, 0xff, 0xc4}, {3, X86_SET, X86_RSP, X86_RSP, 0, 0, 1}},
	{"leave", {0xc9}, {1, X86_LEAVE, NONE, NONE, 0, 0, 0}},
	{"ret", {0xc3}, {1, X86_RETURN, NONE, NONE, 0, 0, 0}},
	{"ret 8", {0xc2, 8, 0}, {3, X86_RETURN, NONE, NONE, 0, 0, 0}},
	{"call +0", {0xe8, 0, 0, 0, 0}, {5, X86_CALL, NONE, NONE, 0, 1, 5}},
	{"call rax", {0xff, 0xd0}, {2, X86_CALL, NONE, NONE, 0, 0, 0}},
	{"jmp -2", {0xeb, 0xfe}, {2, X86_JUMP, NONE, NONE, 0, 1, 0}},
	{"jmp [r10+rbx*8]", {0x41, 0xff, 0x24, 0xda}, {4, X86_JUMP, NONE, NONE, 0, 0, 0}},
	{"ja +0x100", {0x0f, 0x87, 0, 1, 0, 0}, {6, X86_BRANCH, NONE, NONE, 0, 1, 0x106}},
	{"hlt", {0xf4}, {1, X86_TRAP, NONE, NONE, 0, 0, 0}},
	{"cmp rsp, [r15+0x20]", {0x49, 0x3b, 0x67, 0x20}, {4, X86_PLAIN, NONE, NONE, 0, 0, 0}},
	{"test spl, 15", {0x40, 0xf6, 0xc4, 15}, {4, X86_PLAIN, NONE, NONE, 0, 0, 0}},
	{"mov ah, 1", {0xb4, 1}, {2, X86_PLAIN, NONE, NONE, X86_BIT(X86_RAX), 0, 0}},
	{"mov r10, imm64",
	 {0x49, 0xba, 1, 2, 3, 4, 5, 6, 7, 8},
	 {10, X86_PLAIN, NONE, NONE, X86_BIT(X86_R10), 0, 0}},
	{"movq rax, xmm0",
	 {0x66, 0x48, 0x0f, 0x7e, 0xc0},
	 {5, X86_PLAIN, NONE, NONE, X86_BIT(X86_RAX), 0, 0}},
	{"movq xmm5, xmm4", {0xf3, 0x0f, 0x7e, 0xec}, {4, X86_PLAIN, NONE, NONE, 0, 0, 0}},
	{"vzeroupper", {0xc5, 0xf8, 0x77}, {3, X86_PLAIN, NONE, NONE, 0, 0, 0}},
	{"mulx r8, r9, rbp",
	 {0xc4, 0x62, 0xb3, 0xf6, 0xc5},
	 {5, X86_PLAIN, NONE, NONE, X86_BIT(X86_R8) | X86_BIT(X86_R9), 0, 0}},
	{"vmovdqu32 zmm5, [rdi]",
	 {0x62, 0xf1, 0x7e, 0x48, 0x6f, 0x2f},
	 {6, X86_PLAIN, NONE, NONE, 0, 0, 0}},
	{"kmovq rbp, k1",
	 {0xc4, 0xe1, 0xfb, 0x93, 0xe9},
	 {5, X86_PLAIN, NONE, NONE, X86_BIT(X86_RBP), 0, 0}},
};

EP_TEST(instructions_say_what_they_do)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct x86_insn *want = &rows[i].want;
		struct x86_insn got;

		if (x86_decode(rows[i].code, sizeof(rows[i].code), &got))
			fail_msg("%s: not known", rows[i].label);
		if (got.bytes != want->bytes || got.kind != want->kind || got.to != want->to ||
		    got.from != want->from || got.written != want->written ||
		    got.has_target != want->has_target || got.value != want->value)
			fail_msg(
				"%s: %d bytes, kind %d, to %d, from %d, written %#x, target %d, "
				"value %lld",
				rows[i].label, got.bytes, got.kind, got.to, got.from, got.written,
				got.has_target, (long long)got.value);
	}
}

EP_TEST(what_is_cut_is_no_instruction)
{
	struct x86_insn got;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (size_t n = 0; n < rows[i].want.bytes; n++)
			assert_int_equal(x86_decode(rows[i].code, n, &got), -ENODATA);
}

EP_TEST(unknown_ones_are_said_so)
{
	static const uint8_t codes[][16] = {
		{0xd5, 0x08, 0x55},		/* REX2: pushp rbp */
		{0x62, 0xf4, 0x7c, 0x18, 0xff}, /* EVEX map 4 */
		{0x06},
		{0x9a},
		{0x0f, 0x04},
		{0x8f, 0xe8, 0x78}, /* XOP */
		{0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
		 0x66, 0x90},
	};
	struct x86_insn got;

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		assert_int_equal(x86_decode(codes[i], i == 6 ? 16 : 15, &got), -EBADMSG);
}
