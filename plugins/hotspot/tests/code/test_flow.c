/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of small pieces of code, as HotSpot makes such. */
#include "core/base/util.h"
#include "plugins/hotspot/code/flow.h"
#include "plugins/hotspot/hotspot_shared.h"
#include "tests/kit/test.h"

enum { RAX = 0, RDX = 1, RBX = 3, RBP = 6, RSP = 7, R13 = 13 }; /* DWARF */
#define STACK	HOTSPOT_RULE_ON_STACK
#define NO	HOTSPOT_METHOD_NONE
#define RULE(words, base, fp_at)    HOTSPOT_RULE(words, base, fp_at, STACK, NO)
#define ENTERED(words, base, fp_at) HOTSPOT_RULE(words, base, fp_at, STACK, HOTSPOT_METHOD_ENTRY)
#define RETURN_IN(words, base, reg) HOTSPOT_RULE(words, base, 0, reg, NO)
#define UNKNOWN HOTSPOT_RULE(0, HOTSPOT_RULE_UNKNOWN, 0, STACK, NO)
#define FRAME	HOTSPOT_RULE(2, RBP, 2, STACK, HOTSPOT_METHOD_FRAME)
#define INNER	HOTSPOT_RULE(2, RBP, 2, STACK, HOTSPOT_METHOD_INNER)
#define THROUGH HOTSPOT_RULE(0, HOTSPOT_RULE_CONTINUATION, 0, STACK, NO)

static const struct shape {
	const char *label;
	enum hs_start start;
	uint8_t code[48], bytes;
	struct {
		uint8_t off;
		uint64_t rule;
	} want[16]; /* ends with the first that has no rule */
} shapes[] = {
	{ "push rbp | mov rbp, rsp | sub rsp, 96 | call rax | leave | ret", HS_START_CALLED,
	  { 0x55, 0x48, 0x8b, 0xec, 0x48, 0x83, 0xec, 0x60, 0xff, 0xd0, 0xc9, 0xc3 }, 12,
	  { { 0, RULE(1, RSP, 0) }, { 1, RULE(2, RSP, 0) }, { 4, RULE(2, RBP, 2) },
	    { 10, RULE(2, RBP, 2) }, { 11, RULE(1, RSP, 0) } } },
	/* sub rsp, 24 | mov [rsp + 16], rbp | xor ebp, ebp | call rax | mov rbp, [rsp + 16] |
	 * add rsp, 24 | ret */
	{ "a runtime stub", HS_START_CALLED,
	  { 0x48, 0x83, 0xec, 24, 0x48, 0x89, 0x6c, 0x24, 16, 0x31, 0xed, 0xff, 0xd0, 0x48, 0x8b,
	    0x6c, 0x24, 16, 0x48, 0x83, 0xc4, 24, 0xc3 }, 23,
	  { { 4, RULE(4, RSP, 0) }, { 11, RULE(4, RSP, 2) }, { 13, RULE(4, RSP, 2) },
	    { 18, RULE(4, RSP, 0) }, { 22, RULE(1, RSP, 0) } } },
	{ "ways that differ meet: je over | push rax | over: nop | ret", HS_START_CALLED,
	  { 0x74, 1, 0x50, 0x90, 0xc3 }, 5,
	  { { 2, RULE(1, RSP, 0) }, { 3, UNKNOWN } } },
	{ "the same in a frame with fp", HS_START_CALLED,
	  { 0x55, 0x48, 0x8b, 0xec, 0x74, 1, 0x50, 0x90, 0xc9, 0xc3 }, 10,
	  { { 7, RULE(2, RBP, 2) }, { 9, RULE(1, RSP, 0) } } },
	/* generate_normal_entry and generate_fixed_frame, templateInterpreterGenerator_x86.cpp:
	 * 0: pop rax | lea r14, [rsp + rcx * 8 - 8] | test edx, edx | jle over | 10: again: push
	 * 0 | dec edx | jg again | 16: over: push rax | push rbp | mov rbp, rsp | 21: push r13 |
	 * push 0 | mov r13, [rbx + 8] | push rbx | 30: nop | mov rbx, [rbp - 8] | 35: leave |
	 * pop rdx | mov rsp, rbx | 40: jmp rdx */
	{ "an entry of the interpreter", HS_START_ENTRY,
	  { 0x58, 0x4c, 0x8d, 0x74, 0xcc, 0xf8, 0x85, 0xd2, 0x7e, 6, 0x6a, 0, 0xff, 0xca, 0x7f,
	    0xfa, 0x50, 0x55, 0x48, 0x8b, 0xec, 0x41, 0x55, 0x6a, 0, 0x4c, 0x8b, 0x6b, 8, 0x53,
	    0x90, 0x48, 0x8b, 0x5d, 0xf8, 0xc9, 0x5a, 0x48, 0x8b, 0xe3, 0xff, 0xe2 }, 42,
	  { { 0, ENTERED(1, RSP, 0) }, { 1, HOTSPOT_RULE(0, RSP, 0, RAX, HOTSPOT_METHOD_ENTRY) },
	    { 12, HOTSPOT_RULE(0, R13, 0, RAX, HOTSPOT_METHOD_ENTRY) }, { 17, ENTERED(1, RSP, 0) },
	    { 18, ENTERED(2, RSP, 0) }, { 21, ENTERED(2, RSP, 2) }, { 23, ENTERED(2, RBP, 2) },
	    { 29, ENTERED(2, RBP, 2) }, { 30, FRAME }, { 35, FRAME },
	    { 36, RETURN_IN(0, RBX, HOTSPOT_RULE_AT_SP) }, { 37, RETURN_IN(0, RBX, RDX) },
	    { 40, RETURN_IN(0, RSP, RDX) } } },
	/* mov rbx, [rbp - 8] | leave | pop rdx | mov rsp, rbx | push rax | push rdx | call rcx |
	 * pop rdx | pop rax | jmp rbx */
	{ "a frame of the interpreter goes with exceptions", HS_START_FRAME,
	  { 0x48, 0x8b, 0x5d, 0xf8, 0xc9, 0x5a, 0x48, 0x8b, 0xe3, 0x50, 0x52, 0xff, 0xd1, 0x5a,
	    0x58, 0xff, 0xe3 }, 17,
	  { { 0, FRAME }, { 13, RETURN_IN(2, RSP, HOTSPOT_RULE_AT_SP) },
	    { 14, RETURN_IN(1, RSP, RDX) }, { 15, RETURN_IN(0, RSP, RDX) } } },
	/* call over | jmp end | over: lea rax, [rsp + 8] | ret | end: leave | jmp rax */
	{ "calls within a frame are a part of it", HS_START_FRAME,
	  { 0xe8, 2, 0, 0, 0, 0xeb, 6, 0x48, 0x8d, 0x44, 0x24, 8, 0xc3, 0xc9, 0xff, 0xe0 }, 16,
	  { { 5, FRAME }, { 7, FRAME }, { 12, FRAME }, { 14, RULE(1, RSP, 0) } } },
	/* push rdi | push rbp | mov rbp, rsp | and rsp, -16 | push rax | call far | pop rax |
	 * leave | pop rdi | nop */
	{ "a frame within the interpreter's", HS_START_FRAME,
	  { 0x57, 0x55, 0x48, 0x8b, 0xec, 0x48, 0x83, 0xe4, 0xf0, 0x50, 0xe8, 0, 1, 0, 0, 0x58,
	    0xc9, 0x5f, 0x90, 0xf4 }, 20,
	  { { 1, FRAME }, { 2, FRAME }, { 5, INNER }, { 9, INNER }, { 15, INNER }, { 16, INNER },
	    { 17, FRAME }, { 18, FRAME } } },
	{ "the same, left by mov rsp, rbp | pop rbp", HS_START_FRAME,
	  { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20, 0x48, 0x89, 0xec, 0x5d, 0x90,
	    0xf4 }, 14,
	  { { 1, FRAME }, { 4, INNER }, { 8, INNER }, { 11, INNER }, { 12, FRAME } } },
	/* and rsp, -64 | push rbp | mov rbp, rsp | xor ebp, ebp | nop */
	{ "no frame of the interpreter: nothing is known of what fp points to", HS_START_CALLED,
	  { 0x48, 0x83, 0xe4, 0xc0, 0x55, 0x48, 0x8b, 0xec, 0x31, 0xed, 0x90, 0xf4 }, 12,
	  { { 10, UNKNOWN } } },
	/* push rbp | mov rbp, rsp | push r13 | push 0 | push rbx, and then as above */
	{ "behind the frame that an entry made", HS_START_ENTRY,
	  { 0x55, 0x48, 0x8b, 0xec, 0x41, 0x55, 0x6a, 0, 0x53, 0x55, 0x48, 0x8b, 0xec, 0x48, 0x83,
	    0xe4, 0xf0, 0x90, 0xc9, 0x90, 0xf4 }, 21,
	  { { 9, FRAME }, { 10, FRAME }, { 13, INNER }, { 17, INNER }, { 18, INNER },
	    { 19, FRAME } } },
	/* push rbp | mov rax, rsp | sub rsp, 64 | and rsp, -64 | mov [rsp + 24], rax | mov ebp,
	 * eax | xor eax, eax | push rdx | pop rdx | mov rsp, [rsp + 24] | pop rbp | ret: SHA-256 */
	{ "an aligned sp is found in memory", HS_START_CALLED,
	  { 0x55, 0x48, 0x8b, 0xc4, 0x48, 0x83, 0xec, 64, 0x48, 0x83, 0xe4, 0xc0, 0x48, 0x89, 0x44,
	    0x24, 24, 0x8b, 0xe8, 0x31, 0xc0, 0x52, 0x5a, 0x48, 0x8b, 0x64, 0x24, 24, 0x5d,
	    0xc3 }, 30,
	  { { 12, RULE(2, RAX, 0) }, { 21, HOTSPOT_RULE(3, HOTSPOT_RULE_SAVED_SP, 2, 2, NO) },
	    { 22, HOTSPOT_RULE(4, HOTSPOT_RULE_SAVED_SP, 2, 2, NO) },
	    { 23, HOTSPOT_RULE(3, HOTSPOT_RULE_SAVED_SP, 2, 2, NO) }, { 28, RULE(2, RSP, 2) },
	    { 29, RULE(1, RSP, 0) } } },
	{ "a signal enters: push rbx | push rbp | mov rbp, rsp | mov [rbp + 8], rbx | nop",
	  HS_START_TRAPPED,
	  { 0x53, 0x55, 0x48, 0x8b, 0xec, 0x48, 0x89, 0x5d, 8, 0x90, 0xf4 }, 11,
	  { { 0, UNKNOWN }, { 5, UNKNOWN }, { 9, RULE(2, RBP, 2) } } },
	{ "exceptions bring their return address: push rdx | sub rsp, 8", HS_START_THROWN,
	  { 0x52, 0x48, 0x83, 0xec, 8, 0xf4 }, 6,
	  { { 0, RETURN_IN(0, RSP, RDX) }, { 1, RULE(1, RSP, 0) }, { 5, RULE(2, RSP, 0) } } },
	{ "a continuation is left at its entry: pop rcx | call rax | nop | mov rsp, rbx | nop",
	  HS_START_CALLED,
	  { 0x59, 0xff, 0xd0, 0x90, 0x48, 0x8b, 0xe3, 0x90, 0xf4 }, 9,
	  { { 1, RETURN_IN(0, RSP, 2) }, { 3, THROUGH }, { 7, UNKNOWN } } },
	{ "and at its barrier: mov rsp, [r15 + 0x618] | push rax", HS_START_CONTINUATION,
	  { 0x49, 0x8b, 0xa7, 0x18, 6, 0, 0, 0x50, 0xf4 }, 9,
	  { { 0, THROUGH }, { 7, THROUGH }, { 8, THROUGH } } },
};

EP_TEST_EACH(shapes_are_followed, size_t, i, EP_LEN(shapes))
{
	ep_cleanup(x86_flow_fini) struct x86_flow flow = { .ops = &hs_flow_ops };
	const struct shape *shape = &shapes[i];

	assert_int_equal(x86_flow_begin(&flow, shape->code, shape->bytes), 0);
	assert_int_equal(hs_flow_follow(&flow, 0, shape->start, false), 0);
	for (size_t k = 0; k < EP_LEN(shape->want) && shape->want[k].rule; k++) {
		const struct x86_node *node = x86_flow_at(&flow, shape->want[k].off);
		uint64_t rule = node ? hs_flow_rule(&node->state) : 0;

		if (rule != shape->want[k].rule)
			fail_msg("%s: at %u: %#llx, not %#llx", shape->label, shape->want[k].off,
				 (unsigned long long)rule, (unsigned long long)shape->want[k].rule);
	}
}
