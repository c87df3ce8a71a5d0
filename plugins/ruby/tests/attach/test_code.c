/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the code of functions says that no fixture has (plugins/ruby/tests/replay/fixtures): as gcc
 * made it in Debian's 3.3, and prologues.
 */
#include "plugins/ruby/code.h"

#include "tests/kit/test.h"

#define VA 0x401000u

static const struct x86_code *code_at(const char *bytes, size_t n)
{
	static struct x86_code code;

	code = (struct x86_code){.va = VA, .n = n};
	assert_true(n <= sizeof(code.bytes));
	memcpy(code.bytes, bytes, n);
	return &code;
}

#define CODE(text) code_at(text, sizeof(text) - 1)

#define LEA	   "\x48\x8d\x05\x7d\x2b\x37\x00" /* lea 0x372b7d(%rip),%rax */
#define FOLLOW	   "\x48\x8b\x00"		  /* mov (%rax),%rax */
#define TEST_JUMP  "\x48\x85\xc0\x74\x15"
#define MEMBER	   "\x48\x8b\x80\x58\x04\x00\x00" /* mov 0x458(%rax),%rax */
#define ENDBR	   "\xf3\x0f\x1e\xfa"
#define RET	   "\xc3"
#define SELF	   "\x48\x8b\x40\x10"

EP_TEST(main_thread_is_what_rb_thread_main_follows)
{
	struct ruby_main_thread found;

	assert_int_equal(
		ruby_code_main_thread(CODE(ENDBR LEA FOLLOW TEST_JUMP MEMBER SELF RET), &found), 0);
	assert_int_equal(found.ractor_va, VA + 11 + 0x372b7d);
	assert_int_equal(found.thread_off, 0x458);
	assert_false(found.ractor_in_got);
}

EP_TEST(frame_is_what_the_prologue_makes)
{
	struct x86_prologue found;

	/* push %r15; push %rbp; push %rbx; sub $0x78,%rsp */
	assert_int_equal(x86_code_prologue(CODE(ENDBR "\x41\x57\x55\x53\x48\x83\xec\x78"), &found),
			 -ENOTSUP);
	assert_int_equal(x86_code_prologue(CODE(ENDBR "\x41\x57\x55\x53\x48\x83\xec\x70"), &found),
			 0);
	assert_int_equal(found.frame, 0x70 + 4 * 8);
	assert_int_equal(found.saved, 24);
	assert_false(found.has_fp);
	/* push %rbp; mov %rsp,%rbp; push %rbx; sub $0x148,%rsp */
	assert_int_equal(
		x86_code_prologue(CODE("\x55\x48\x89\xe5\x53\x48\x81\xec\x48\x01\x00\x00"), &found),
		0);
	assert_int_equal(found.frame, 0x148 + 3 * 8);
	assert_int_equal(found.saved, 16);
	assert_true(found.has_fp);
	assert_int_equal(x86_code_prologue(CODE("\x55" RET), &found), -ENOTSUP);
}
