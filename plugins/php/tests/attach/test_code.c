/* SPDX-License-Identifier: Apache-2.0 */
/* What exported functions say of the runtime, where no fixture has it: over code as gcc made it in
 * Debian. */
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

#define GLOBALS	 "\x48\x8d\x05\x15\x8e\x27\x00"		/* lea 0x278e15(%rip),%rax */
#define CURRENT	 "\x48\x8b\x80\xe8\x01\x00\x00"		/* mov 0x1e8(%rax),%rax */
#define OVERRIDE "\x48\x8b\x82\xf8\x06\x00\x00"		/* mov 0x6f8(%rdx),%rax */
#define FUNC	 "\x48\x8b\x50\x18"			/* mov 0x18(%rax),%rdx */
#define PREV	 "\x48\x8b\x40\x30"			/* mov 0x30(%rax),%rax */
#define FILENAME "\x48\x8b\x82\xa8\x00\x00\x00"		/* mov 0xa8(%rdx),%rax */
#define OPCODES	 "\x48\x8b\x42\x68"			/* mov 0x68(%rdx),%rax */
#define PENDING	 "\x48\x83\xb9\xa8\x03\x00\x00\x00"	/* cmpq $0,0x3a8(%rcx) */
#define BEFORE	 "\x48\x8b\x91\xb8\x03\x00\x00"		/* mov 0x3b8(%rcx),%rdx */
#define LINENO	 "\x8b\x40\x18"				/* mov 0x18(%rax),%eax */
#define RET	 "\xc3"

EP_TEST(members_of_functions_are_read_last)
{
	uint32_t off, opcodes;

	assert_int_equal(
		php_code_filename(CODE(GLOBALS OVERRIDE RET CURRENT FUNC PREV RET FILENAME RET RET),
				  &off),
		0);
	assert_int_equal(off, 0xa8);
	assert_int_equal(php_code_filename(CODE(GLOBALS OVERRIDE CURRENT FUNC PREV RET), &off),
			 -ENOTSUP);
	assert_int_equal(php_code_lineno(CODE(GLOBALS CURRENT FUNC PREV PENDING BEFORE LINENO RET
						      OPCODES LINENO RET),
					 &off, &opcodes),
			 0);
	assert_int_equal(off, 0x3b8);
	assert_int_equal(opcodes, 0x68);
	/* To 8.1 a frame without an opline is nothing to it. */
	assert_int_equal(php_code_lineno(CODE(GLOBALS CURRENT FUNC PREV PENDING BEFORE LINENO RET),
					 &off, &opcodes),
			 0);
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

	assert_int_equal(
		php_code_generator(CODE(LOAD_PARENT HAS_PARENT DATA LINK DATA RET), &data, &parent),
		0);
	assert_int_equal(data, 0x38);
	assert_int_equal(parent, 0x98);
	assert_int_equal(php_code_generator(CODE(ROOT OLD_DATA LINK OLD_DATA RET), &data, &parent),
			 0);
	assert_int_equal(data, 0x40);
	assert_int_equal(parent, 0xa0);
	assert_int_equal(php_code_generator(CODE(LOAD_PARENT HAS_PARENT RET), &data, &parent),
			 -ENOTSUP);
	assert_int_equal(php_code_generator(CODE(DATA LINK RET), &data, &parent), -ENOTSUP);
}
