/* SPDX-License-Identifier: Apache-2.0 */
/* What exported functions say of the runtime: over code as gcc made it in Debian's 7.4 to 8.6, and with threads. */
#include "plugins/php/code.h"

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

#define ENDBR	 "\xf3\x0f\x1e\xfa"
#define GLOBALS	 "\x48\x8d\x05\x15\x8e\x27\x00"		/* lea 0x278e15(%rip),%rax */
#define CURRENT	 "\x48\x8b\x80\xe8\x01\x00\x00"		/* mov 0x1e8(%rax),%rax */
#define OVERRIDE "\x48\x8b\x82\xf8\x06\x00\x00"		/* mov 0x6f8(%rdx),%rax */
#define THREADS	 "\x48\x8b\x05\xf6\x19\x58\x00"		/* mov executor_globals_offset(%rip),%rax */
#define INDEXED	 "\x48\x8b\x84\x02\xe8\x01\x00\x00"	/* mov 0x1e8(%rdx,%rax,1),%rax */
#define FUNC	 "\x48\x8b\x50\x18"			/* mov 0x18(%rax),%rdx */
#define PREV	 "\x48\x8b\x40\x30"			/* mov 0x30(%rax),%rax */
#define FILENAME "\x48\x8b\x82\xa8\x00\x00\x00"		/* mov 0xa8(%rdx),%rax */
#define OPCODES	 "\x48\x8b\x42\x68"			/* mov 0x68(%rdx),%rax */
#define PENDING	 "\x48\x83\xb9\xa8\x03\x00\x00\x00"	/* cmpq $0,0x3a8(%rcx) */
#define BEFORE	 "\x48\x8b\x91\xb8\x03\x00\x00"		/* mov 0x3b8(%rcx),%rdx */
#define LINENO	 "\x8b\x40\x18"				/* mov 0x18(%rax),%eax */
#define RET	 "\xc3"

EP_TEST(current_frame_is_the_first_member_that_is_read)
{
	uint32_t off;

	assert_int_equal(php_code_current(CODE(ENDBR GLOBALS CURRENT FUNC PREV RET), &off), 0);
	assert_int_equal(off, 0x1e8);
	assert_int_equal(php_code_current(CODE(THREADS INDEXED FUNC PREV RET), &off), 0);
	assert_int_equal(off, 0x1e8);
	/* With r12 and a stack's member before it: zend_fiber_switch_context. */
	assert_int_equal(php_code_fiber(CODE(ENDBR "\x4c\x8b\x2f\x4c\x8b\xa3\xd0\x06\x00\x00" RET), &off), 0);
	assert_int_equal(off, 0x6d0);
	assert_int_equal(php_code_fiber(CODE("\x49\x8b\x9c\x24\xd0\x06\x00\x00" RET), &off), 0);
	assert_int_equal(off, 0x6d0);
	assert_int_equal(php_code_fiber(CODE("\x48\x8b\x9c\x24\xd0\x06\x00\x00" RET), &off), -ENOTSUP);
	assert_int_equal(php_code_current(CODE(FUNC PREV RET), &off), -ENOTSUP);
	assert_int_equal(php_code_current(CODE(""), &off), -ENOTSUP);
}

EP_TEST(members_of_functions_are_read_last)
{
	uint32_t off, opcodes;

	assert_int_equal(php_code_filename(CODE(GLOBALS OVERRIDE RET CURRENT FUNC PREV RET FILENAME RET RET), &off), 0);
	assert_int_equal(off, 0xa8);
	assert_int_equal(php_code_filename(CODE(GLOBALS OVERRIDE CURRENT FUNC PREV RET), &off), -ENOTSUP);
	assert_int_equal(php_code_lineno(CODE(GLOBALS CURRENT FUNC PREV PENDING BEFORE LINENO RET OPCODES LINENO RET), &off,
					 &opcodes),
			 0);
	assert_int_equal(off, 0x3b8);
	assert_int_equal(opcodes, 0x68);
	/* To 8.1 a frame without an opline is nothing to it. */
	assert_int_equal(php_code_lineno(CODE(GLOBALS CURRENT FUNC PREV PENDING BEFORE LINENO RET), &off, &opcodes), 0);
	assert_int_equal(opcodes, 0);
	assert_int_equal(php_code_lineno(CODE(FUNC PREV RET), &off, &opcodes), -ENOTSUP);
}

#define LOAD_PARENT "\x48\x8b\x8a\x98\x00\x00\x00"     /* mov 0x98(%rdx),%rcx */
#define HAS_PARENT  "\x48\x83\xb9\x98\x00\x00\x00\x00" /* cmpq $0,0x98(%rcx) */
#define ROOT	    "\x48\x39\xb2\xa0\x00\x00\x00"     /* cmp %rsi,0xa0(%rdx) */
#define DATA	    "\x48\x8b\x4a\x38"		       /* mov 0x38(%rdx),%rcx */
#define OLD_DATA    "\x48\x8b\x4a\x40"
#define LINK	    "\x48\x89\x41\x30" /* mov %rax,0x30(%rcx) */

EP_TEST(generators_are_linked_by_their_parents)
{
	uint32_t data, parent;

	assert_int_equal(php_code_generator(CODE(LOAD_PARENT HAS_PARENT DATA LINK DATA RET), &data, &parent), 0);
	assert_int_equal(data, 0x38);
	assert_int_equal(parent, 0x98);
	assert_int_equal(php_code_generator(CODE(ROOT OLD_DATA LINK OLD_DATA RET), &data, &parent), 0);
	assert_int_equal(data, 0x40);
	assert_int_equal(parent, 0xa0);
	assert_int_equal(php_code_generator(CODE(LOAD_PARENT HAS_PARENT RET), &data, &parent), -ENOTSUP);
	assert_int_equal(php_code_generator(CODE(DATA LINK RET), &data, &parent), -ENOTSUP);
}

EP_TEST(fiber_ends_at_what_is_stored_for_its_return)
{
	uint64_t va;

	/* lea 0x10(%rip),%rcx; mov %rcx,0x40(%rax); lea 0x8(%rip),%rcx; mov %rcx,0x38(%rax) */
	assert_int_equal(php_code_finish(CODE("\x48\x8d\x0d\x10\x00\x00\x00\x48\x89\x48\x40"
					      "\x48\x8d\x0d\x08\x00\x00\x00\x48\x89\x48\x38" RET),
					 &va),
			 0);
	assert_int_equal(va, VA + 18 + 8);
	assert_int_equal(php_code_finish(CODE("\x48\x8d\x0d\x10\x00\x00\x00\x48\x89\x48\x40" RET), &va), -ENOTSUP);
}

EP_TEST(calls_through_a_variable_return)
{
	uint64_t found[4];

	/* lea; call *(%rax); call *%rax; call *0x58(%rbp); call *0x52522f(%rip) */
	assert_int_equal(php_code_returns(CODE(GLOBALS "\xff\x10\xff\xd0\xff\x55\x58\xff\x15\x2f\x52\x52\x00" RET), found, 4), 2);
	assert_int_equal(found[0], VA + 9);
	assert_int_equal(found[1], VA + 20);
	assert_int_equal(php_code_returns(CODE("\xff\x10\xff\x10"), found, 1), 1);
}

EP_TEST(number_is_what_a_function_returns)
{
	uint32_t number;

	assert_int_equal(php_code_number(CODE(ENDBR "\xb8\x04\x00\x00\x00" RET), &number), 0);
	assert_int_equal(number, PHP_VM_HYBRID);
	assert_int_equal(php_code_number(CODE("\xb8\x00\x00\x00\x00" RET), &number), -ENOTSUP);
	assert_int_equal(php_code_number(CODE("\xb8\x04\x00\x00\x00"), &number), -ENOTSUP);
}
