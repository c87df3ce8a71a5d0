/* SPDX-License-Identifier: Apache-2.0 */
/* What accessors tell, and what is known of registers at calls: code that is written here. */
#include "plugins/shared/x86/accessor.h"
#include "plugins/shared/x86/calls.h"

#include "core/base/util.h"
#include "tests/kit/test.h"

#include <string.h>

#define VA 0x1000

EP_TEST(members_are_behind_their_object)
{
	static const struct {
		const char *label;
		uint8_t bytes[8];
		uint8_t n;
		int64_t off; /* -1: it is none */
	} rows[] = {
		{"mov 0x10(%rdi),%rax", {0x48, 0x8b, 0x47, 0x10}, 4, 0x10},
		{"mov 0x180(%rdi),%rax", {0x48, 0x8b, 0x87, 0x80, 0x01, 0, 0}, 7, 0x180},
		{"mov (%rdi),%rax", {0x48, 0x8b, 0x07}, 3, 0},
		{"mov -8(%rdi),%rax", {0x48, 0x8b, 0x47, 0xf8}, 4, -1},
		{"mov 0x10000(%rdi),%rax", {0x48, 0x8b, 0x87, 0, 0, 1, 0}, 7, -1},
		{"mov 0x10(%rsp),%rax", {0x48, 0x8b, 0x44, 0x24, 0x10}, 5, -1},
		{"mov 0x10(%rip),%rax", {0x48, 0x8b, 0x05, 0x10, 0, 0, 0}, 7, -1},
		{"mov %rdi,%rax", {0x48, 0x8b, 0xc7}, 3, -1},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct x86_code code = {.va = VA, .n = rows[i].n};
		struct x86_reading reading = {.code = &code};
		uint32_t off = 0;

		memcpy(code.bytes, rows[i].bytes, rows[i].n);
		assert_true(x86_reading_next(&reading));
		if (x86_is_member(&reading, 1, 0x8b, &off) != (rows[i].off >= 0) ||
		    (rows[i].off >= 0 && off != rows[i].off))
			fail_msg("%s: %u", rows[i].label, off);
	}
}

struct seen {
	struct x86_values calls[4];
	size_t n;
};

static void see(void *arg, enum x86_event event, const struct x86_values *values,
		const struct x86_insn *insn)
{
	struct seen *seen = arg;

	if (event == X86_AT_CALL)
		seen->calls[seen->n++] = *values;
}

EP_TEST(arguments_are_of_one_call)
{
	/* lea 0x10(%rip),%rdi | mov $5,%esi | mov %rdi,%rbx | call out | mov %rbx,%rdx | call out |
	 * ret */
	static const uint8_t code[] = {0x48, 0x8d, 0x3d, 0x10, 0,    0,	   0, 0xbe, 5,	 0,
				       0,    0,	   0x48, 0x89, 0xfb, 0xe8, 0, 1,    0,	 0,
				       0x48, 0x89, 0xda, 0xe8, 0,    1,	   0, 0,    0xc3};
	struct seen seen = {.n = 0};

	assert_int_equal(x86_calls_visit(code, sizeof(code), VA, see, &seen), 0);
	assert_int_equal(seen.n, 2);
	assert_int_equal(seen.calls[0].regs[X86_RDI], VA + 7 + 0x10);
	assert_int_equal(seen.calls[0].regs[X86_RSI], 5);
	assert_int_equal(seen.calls[1].regs[X86_RDI], 0);
	assert_int_equal(seen.calls[1].regs[X86_RSI], 0);
	assert_int_equal(seen.calls[1].regs[X86_RBX], VA + 7 + 0x10);
	assert_int_equal(seen.calls[1].regs[X86_RDX], VA + 7 + 0x10);
}
