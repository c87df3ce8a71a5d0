/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of small pieces of code, as HotSpot makes such. */
#include "core/base/util.h"
#include "plugins/hotspot/code/flow.h"
#include "plugins/hotspot/hotspot_shared.h"
#include "tests/kit/test.h"

enum { RAX = 0, RDX = 1, RBX = 3, RBP = 6, RSP = 7, R13 = 13 }; /* DWARF */
#define STACK	HOTSPOT_RULE_ON_STACK
#define NO	HOTSPOT_METHOD_NONE
#define UNKNOWN HOTSPOT_RULE(0, HOTSPOT_RULE_UNKNOWN, 0, STACK, NO)
#define FRAME	HOTSPOT_RULE(2, RBP, 2, STACK, HOTSPOT_METHOD_FRAME)
#define INNER	HOTSPOT_RULE(2, RBP, 2, STACK, HOTSPOT_METHOD_INNER)

struct want {
	size_t off;
	uint64_t rule;
};

static void check(const uint8_t *code, size_t bytes, enum hs_start start, const struct want *want, size_t n)
{
	ep_cleanup(x86_flow_fini) struct x86_flow flow = { .ops = &hs_flow_ops };

	assert_int_equal(x86_flow_begin(&flow, code, bytes), 0);
	assert_int_equal(hs_flow_follow(&flow, 0, start, false), 0);
	for (size_t i = 0; i < n; i++) {
		const struct x86_node *node = x86_flow_at(&flow, want[i].off);
		uint64_t rule = node ? hs_flow_rule(&node->state) : 0;

		if (!node)
			fail_msg("nothing at %zu", want[i].off);
		if (rule != want[i].rule)
			fail_msg("at %zu: %#llx, not %#llx", want[i].off, (unsigned long long)rule,
				 (unsigned long long)want[i].rule);
	}
}
#define CHECK(code, start, ...)                                                                    \
	check(code, sizeof(code), start, (const struct want[]){ __VA_ARGS__ },                     \
	      sizeof((const struct want[]){ __VA_ARGS__ }) / sizeof(struct want))

EP_TEST(a_frame_with_fp)
{
	static const uint8_t code[] = { 0x55, 0x48, 0x8b, 0xec, 0x48, 0x83, 0xec, 0x60, 0xff, 0xd0, 0xc9, 0xc3 };

	CHECK(code, HS_START_CALLED, { 0, HOTSPOT_RULE(1, RSP, 0, STACK, NO) },
	      { 1, HOTSPOT_RULE(2, RSP, 0, STACK, NO) }, { 4, HOTSPOT_RULE(2, RBP, 2, STACK, NO) },
	      { 10, HOTSPOT_RULE(2, RBP, 2, STACK, NO) }, { 11, HOTSPOT_RULE(1, RSP, 0, STACK, NO) });
}

EP_TEST(a_frame_of_a_runtime_stub)
{
	/* sub rsp, 24; mov [rsp + 16], rbp; xor ebp, ebp; call; mov rbp, [rsp + 16]; add rsp, 24; ret */
	static const uint8_t code[] = { 0x48, 0x83, 0xec, 24, 0x48, 0x89, 0x6c, 0x24, 16, 0x31, 0xed, 0xff, 0xd0,
					0x48, 0x8b, 0x6c, 0x24, 16, 0x48, 0x83, 0xc4, 24, 0xc3 };

	CHECK(code, HS_START_CALLED, { 4, HOTSPOT_RULE(4, RSP, 0, STACK, NO) },
	      { 11, HOTSPOT_RULE(4, RSP, 2, STACK, NO) }, { 13, HOTSPOT_RULE(4, RSP, 2, STACK, NO) },
	      { 18, HOTSPOT_RULE(4, RSP, 0, STACK, NO) }, { 22, HOTSPOT_RULE(1, RSP, 0, STACK, NO) });
}

EP_TEST(ways_that_differ_meet_in_the_unknown)
{
	/* je over; push rax; over: nop: and the same in a frame with fp */
	static const uint8_t code[] = { 0x74, 1, 0x50, 0x90, 0xc3 };
	static const uint8_t with_fp[] = { 0x55, 0x48, 0x8b, 0xec, 0x74, 1, 0x50, 0x90, 0xc9, 0xc3 };

	CHECK(code, HS_START_CALLED, { 2, HOTSPOT_RULE(1, RSP, 0, STACK, NO) }, { 3, UNKNOWN });
	CHECK(with_fp, HS_START_CALLED, { 7, HOTSPOT_RULE(2, RBP, 2, STACK, NO) },
	      { 9, HOTSPOT_RULE(1, RSP, 0, STACK, NO) });
}

/* generate_normal_entry and generate_fixed_frame, templateInterpreterGenerator_x86.cpp. */
EP_TEST(an_entry_of_the_interpreter)
{
	static const uint8_t code[] = {
		0x58,			      /* 0 pop rax */
		0x4c, 0x8d, 0x74, 0xcc, 0xf8, /* 1 lea r14, [rsp + rcx * 8 - 8] */
		0x85, 0xd2,		      /* 6 test edx, edx */
		0x7e, 6,		      /* 8 jle over */
		0x6a, 0,		      /* 10 again: push 0 */
		0xff, 0xca,		      /* 12 dec edx */
		0x7f, 0xfa,		      /* 14 jg again */
		0x50,			      /* 16 over: push rax */
		0x55,			      /* 17 push rbp */
		0x48, 0x8b, 0xec,	      /* 18 mov rbp, rsp */
		0x41, 0x55,		      /* 21 push r13 */
		0x6a, 0,		      /* 23 push 0 */
		0x4c, 0x8b, 0x6b, 8,	      /* 25 mov r13, [rbx + 8] */
		0x53,			      /* 29 push rbx */
		0x90,			      /* 30 */
		0x48, 0x8b, 0x5d, 0xf8,	      /* 31 mov rbx, [rbp - 8] */
		0xc9,			      /* 35 leave */
		0x5a,			      /* 36 pop rdx */
		0x48, 0x8b, 0xe3,	      /* 37 mov rsp, rbx */
		0xff, 0xe2,		      /* 40 jmp rdx */
	};
	unsigned int entry = HOTSPOT_METHOD_ENTRY;

	CHECK(code, HS_START_ENTRY, { 0, HOTSPOT_RULE(1, RSP, 0, STACK, entry) },
	      { 1, HOTSPOT_RULE(0, RSP, 0, RAX, entry) }, { 12, HOTSPOT_RULE(0, R13, 0, RAX, entry) },
	      { 17, HOTSPOT_RULE(1, RSP, 0, STACK, entry) }, { 18, HOTSPOT_RULE(2, RSP, 0, STACK, entry) },
	      { 21, HOTSPOT_RULE(2, RSP, 2, STACK, entry) }, { 23, HOTSPOT_RULE(2, RBP, 2, STACK, entry) },
	      { 29, HOTSPOT_RULE(2, RBP, 2, STACK, entry) }, { 30, FRAME }, { 35, FRAME },
	      { 36, HOTSPOT_RULE(0, RBX, 0, HOTSPOT_RULE_AT_SP, NO) }, { 37, HOTSPOT_RULE(0, RBX, 0, RDX, NO) },
	      { 40, HOTSPOT_RULE(0, RSP, 0, RDX, NO) });
}

EP_TEST(a_frame_of_the_interpreter_goes_with_exceptions)
{
	/* mov rbx, [rbp - 8]; leave; pop rdx; mov rsp, rbx; push rax; push rdx; call; pop rdx; pop rax; jmp rbx */
	static const uint8_t code[] = { 0x48, 0x8b, 0x5d, 0xf8, 0xc9, 0x5a, 0x48, 0x8b, 0xe3, 0x50, 0x52,
					0xff, 0xd1, 0x5a, 0x58, 0xff, 0xe3 };

	CHECK(code, HS_START_FRAME, { 0, FRAME }, { 13, HOTSPOT_RULE(2, RSP, 0, HOTSPOT_RULE_AT_SP, NO) },
	      { 14, HOTSPOT_RULE(1, RSP, 0, RDX, NO) }, { 15, HOTSPOT_RULE(0, RSP, 0, RDX, NO) });
}

EP_TEST(calls_within_a_frame_are_a_part_of_it)
{
	/* call over; jmp end; over: lea rax, [rsp + 8]; ret; end: leave; jmp rax */
	static const uint8_t code[] = { 0xe8, 2, 0, 0, 0, 0xeb, 6, 0x48, 0x8d, 0x44, 0x24, 8, 0xc3, 0xc9, 0xff, 0xe0 };

	CHECK(code, HS_START_FRAME, { 5, FRAME }, { 7, FRAME }, { 12, FRAME },
	      { 14, HOTSPOT_RULE(1, RSP, 0, STACK, NO) });
}

EP_TEST(a_frame_within_the_interpreters)
{
	/* push rdi; push rbp; mov rbp, rsp; and rsp, -16; push rax; call far; pop rax; leave; pop rdi; nop */
	static const uint8_t code[] = { 0x57, 0x55, 0x48, 0x8b, 0xec, 0x48, 0x83, 0xe4, 0xf0, 0x50, 0xe8, 0, 1, 0, 0,
					0x58, 0xc9, 0x5f, 0x90, 0xf4 };
	/* the same, left by mov rsp, rbp; pop rbp */
	static const uint8_t other[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20, 0x48, 0x89, 0xec, 0x5d, 0x90, 0xf4 };
	/* no frame of the interpreter: nothing is known of what fp points to */
	static const uint8_t aligned[] = { 0x48, 0x83, 0xe4, 0xc0, 0x55, 0x48, 0x8b, 0xec, 0x31, 0xed, 0x90, 0xf4 };

	/* behind the frame that an entry made: push rbp; mov rbp, rsp; push r13; push 0; push rbx, and then as above */
	static const uint8_t entry[] = { 0x55, 0x48, 0x8b, 0xec, 0x41, 0x55, 0x6a, 0, 0x53, 0x55, 0x48, 0x8b, 0xec,
					 0x48, 0x83, 0xe4, 0xf0, 0x90, 0xc9, 0x90, 0xf4 };

	CHECK(code, HS_START_FRAME, { 1, FRAME }, { 2, FRAME }, { 5, INNER }, { 9, INNER }, { 15, INNER },
	      { 16, INNER }, { 17, FRAME }, { 18, FRAME });
	CHECK(other, HS_START_FRAME, { 1, FRAME }, { 4, INNER }, { 8, INNER }, { 11, INNER }, { 12, FRAME });
	CHECK(aligned, HS_START_CALLED, { 10, UNKNOWN });
	CHECK(entry, HS_START_ENTRY, { 9, FRAME }, { 10, FRAME }, { 13, INNER }, { 17, INNER }, { 18, INNER },
	      { 19, FRAME });
}

EP_TEST(an_aligned_sp_is_found_in_memory)
{
	/* push rbp; mov rax, rsp; sub rsp, 64; and rsp, -64; mov [rsp + 24], rax; mov ebp, eax; xor eax, eax;
	 * push rdx; pop rdx; mov rsp, [rsp + 24]; pop rbp; ret: SHA-256 */
	static const uint8_t code[] = { 0x55, 0x48, 0x8b, 0xc4, 0x48, 0x83, 0xec, 64, 0x48, 0x83, 0xe4, 0xc0, 0x48, 0x89,
					0x44, 0x24, 24, 0x8b, 0xe8, 0x31, 0xc0, 0x52, 0x5a, 0x48, 0x8b, 0x64, 0x24, 24,
					0x5d, 0xc3 };

	CHECK(code, HS_START_CALLED, { 12, HOTSPOT_RULE(2, RAX, 0, STACK, NO) },
	      { 21, HOTSPOT_RULE(3, HOTSPOT_RULE_SAVED_SP, 2, 2, NO) },
	      { 22, HOTSPOT_RULE(4, HOTSPOT_RULE_SAVED_SP, 2, 2, NO) },
	      { 23, HOTSPOT_RULE(3, HOTSPOT_RULE_SAVED_SP, 2, 2, NO) },
	      { 28, HOTSPOT_RULE(2, RSP, 2, STACK, NO) }, { 29, HOTSPOT_RULE(1, RSP, 0, STACK, NO) });
}

EP_TEST(blobs_that_a_signal_enters)
{
	/* push rbx; push rbp; mov rbp, rsp; mov [rbp + 8], rbx; nop */
	static const uint8_t code[] = { 0x53, 0x55, 0x48, 0x8b, 0xec, 0x48, 0x89, 0x5d, 8, 0x90, 0xf4 };

	CHECK(code, HS_START_TRAPPED, { 0, UNKNOWN }, { 5, UNKNOWN }, { 9, HOTSPOT_RULE(2, RBP, 2, STACK, NO) });
}

EP_TEST(exceptions_bring_their_return_address)
{
	/* push rdx; sub rsp, 8 */
	static const uint8_t code[] = { 0x52, 0x48, 0x83, 0xec, 8, 0xf4 };

	CHECK(code, HS_START_THROWN, { 0, HOTSPOT_RULE(0, RSP, 0, RDX, NO) },
	      { 1, HOTSPOT_RULE(1, RSP, 0, STACK, NO) }, { 5, HOTSPOT_RULE(2, RSP, 0, STACK, NO) });
}

EP_TEST(continuations_are_left_at_their_entry)
{
	/* pop rcx; call; mov rsp, rbx: and mov rsp, [r15 + 0x618]; push rax */
	static const uint8_t thaw[] = { 0x59, 0xff, 0xd0, 0x90, 0x48, 0x8b, 0xe3, 0x90, 0xf4 };
	static const uint8_t barrier[] = { 0x49, 0x8b, 0xa7, 0x18, 6, 0, 0, 0x50, 0xf4 };
	uint64_t entry = HOTSPOT_RULE(0, HOTSPOT_RULE_CONTINUATION, 0, STACK, NO);

	CHECK(thaw, HS_START_CALLED, { 1, HOTSPOT_RULE(0, RSP, 0, 2, NO) }, { 3, entry }, { 7, UNKNOWN });
	CHECK(barrier, HS_START_CONTINUATION, { 0, entry }, { 7, entry }, { 8, entry });
}
