/* SPDX-License-Identifier: Apache-2.0 */
/* What exported functions say of the runtime: over code as gcc made it in Debian's 2.7, 3.1, 3.3, 3.4. */
#include "plugins/ruby/code.h"

#include "core/base/util.h"
#include "core/plugin/unwinder.h"
#include "tests/kit/test.h"

#define VA 0x401000u

static struct x86_code code_of(const char *bytes, size_t n)
{
	struct x86_code code = {.va = VA, .n = n};

	assert_true(n <= sizeof(code.bytes));
	memcpy(code.bytes, bytes, n);
	return code;
}

static const struct x86_code *code_at(const char *bytes, size_t n)
{
	static struct x86_code code;

	code = code_of(bytes, n);
	return &code;
}

#define CODE(text) code_at(text, sizeof(text) - 1)

#define LOAD_GOT   "\x48\x8b\x05\xf9\x0a\x28\x00" /* mov 0x280af9(%rip),%rax */
#define LEA	   "\x48\x8d\x05\x7d\x2b\x37\x00" /* lea 0x372b7d(%rip),%rax */
#define FOLLOW	   "\x48\x8b\x00"		  /* mov (%rax),%rax */
#define TEST_JUMP  "\x48\x85\xc0\x74\x15"
#define OBJSPACE   "\x48\x8b\x80\x58\x04\x00\x00" /* mov 0x458(%rax),%rax */
#define FLAG	   "\x0f\xb6\x40\x10"		  /* movzbl 0x10(%rax),%eax */
#define SHIFT	   "\xc0\xe8\x05\x83\xe0\x01"	  /* shr $5,%al; and $1,%eax */
#define ENDBR	   "\xf3\x0f\x1e\xfa"
#define RET	   "\xc3"
#define TLS	   "\x48\x83\xec\x08\x66\x48\x8d\x3d\x10\x50\x22\x00\x66\x66\x48\xe8\x38\x9c\xe0\xff"
#define THREAD	   "\x48\x8b\x40\x30" /* mov 0x30(%rax),%rax */
#define SELF	   "\x48\x8b\x40\x10"
#define LEAVE	   "\x48\x83\xc4\x08"

EP_TEST(collector_flag_is_what_rb_during_gc_reads)
{
	static const struct {
		const char *label, *code;
		size_t n;
		uint64_t vm_va;
		bool in_got;
		uint32_t flag_off;
	} rows[] = {
#define ROW(label, code, ...) {label, code, sizeof(code) - 1, __VA_ARGS__}
		ROW("3.1", LOAD_GOT FOLLOW OBJSPACE FLAG SHIFT RET, VA + 7 + 0x280af9, true, 0x10),
		ROW("3.3", ENDBR LEA FOLLOW TEST_JUMP OBJSPACE FLAG SHIFT RET, VA + 11 + 0x372b7d, false, 0x10),
		ROW("static", LOAD_GOT OBJSPACE "\x8b\x40\x14\xc1\xe8\x05" RET, VA + 7 + 0x280af9, false, 0x14),
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct x86_code code = code_of(rows[i].code, rows[i].n);
		struct ruby_collector found;

		print_message("%s\n", rows[i].label);
		assert_int_equal(ruby_code_collector(&code, &found), 0);
		assert_int_equal(found.vm_va, rows[i].vm_va);
		assert_int_equal(found.vm_in_got, rows[i].in_got);
		assert_int_equal(found.objspace_off, 0x458);
		assert_int_equal(found.flag_off, rows[i].flag_off);
		assert_int_equal(found.bit, 5);
		for (size_t n = 0; n + 4 < rows[i].n; n++) {
			code.n = n;
			assert_int_equal(ruby_code_collector(&code, &found), -ENOTSUP);
		}
	}
	/* 3.4 with a collector of its own: a jump through a table. */
	assert_int_equal(ruby_code_collector(CODE(ENDBR LEA "\xff\x20"), &(struct ruby_collector){0}), -ENOTSUP);
}

EP_TEST(thread_is_what_rb_thread_current_follows)
{
	uint32_t off = 0;

	assert_int_equal(ruby_code_thread(CODE(LOAD_GOT FOLLOW "\x48\x8b\x40\x38" SELF RET), &off), 0);
	assert_int_equal(off, 0x38);
	assert_int_equal(ruby_code_thread(CODE(ENDBR TLS FOLLOW THREAD SELF LEAVE RET), &off), 0);
	assert_int_equal(off, 0x30);
	assert_int_equal(ruby_code_thread(CODE(LOAD_GOT FOLLOW SELF), &off), -ENOTSUP);
	assert_int_equal(ruby_code_thread(CODE(RET THREAD SELF), &off), -ENOTSUP);
}

EP_TEST(main_thread_is_what_rb_thread_main_follows)
{
	struct ruby_main_thread found;

	assert_int_equal(ruby_code_main_thread(CODE(ENDBR LEA FOLLOW TEST_JUMP OBJSPACE SELF RET), &found), 0);
	assert_int_equal(found.ractor_va, VA + 11 + 0x372b7d);
	assert_int_equal(found.thread_off, 0x458);
	assert_false(found.ractor_in_got);
}

EP_TEST(lock_is_what_ruby_thread_has_gvl_p_compares)
{
	uint32_t off = 0;

	assert_int_equal(ruby_code_blocking(CODE(ENDBR "\x48\x85\xc0\x48\x83\xb8\xa8\x00\x00\x00\x00" RET), &off), 0);
	assert_int_equal(off, 0xa8);
	/* Another number, or another instruction. */
	assert_int_equal(ruby_code_blocking(CODE("\x48\x83\xb8\xa8\x00\x00\x00\x01" RET), &off), -ENOTSUP);
	assert_int_equal(ruby_code_blocking(CODE("\x48\x83\xa8\xa8\x00\x00\x00\x00" RET), &off), -ENOTSUP);
}

EP_TEST(table_of_ids_is_compared_with)
{
	struct ruby_symbols found = {0};

	/* 2.7: in it; 3.4: where it jumps to, behind a return. */
	assert_int_equal(ruby_code_symbols(CODE("\x48\x81\xff\xa8\x00\x00\x00\x3b\x3d\x35\x06\x16\x00" RET), &found), 0);
	assert_int_equal(found.last_op_id, 0xa8);
	assert_int_equal(found.va, VA + 13 + 0x160635);
	found = (struct ruby_symbols){0};
	assert_int_equal(ruby_code_symbols(CODE("\x48\x3d\xaa\x00\x00\x00\xe9\x10\x00\x00\x00"), &found), -ENOTSUP);
	assert_int_equal(found.last_op_id, 0xaa);
	assert_int_equal(found.jump_va, VA + 11 + 0x10);
	assert_int_equal(ruby_code_symbols(CODE("\x85\xff" RET "\x39\x3d\xaa\xf6\x27\x00"), &found), 0);
	assert_int_equal(found.va, VA + 9 + 0x27f6aa);
	assert_int_equal(found.last_op_id, 0xaa);
}

EP_TEST(frame_is_what_the_prologue_makes)
{
	struct x86_prologue found;

	/* push %r15; push %rbp; push %rbx; sub $0x78,%rsp */
	assert_int_equal(x86_code_prologue(CODE(ENDBR "\x41\x57\x55\x53\x48\x83\xec\x78"), &found), -ENOTSUP);
	assert_int_equal(x86_code_prologue(CODE(ENDBR "\x41\x57\x55\x53\x48\x83\xec\x70"), &found), 0);
	assert_int_equal(found.frame, 0x70 + 4 * 8);
	assert_int_equal(found.saved, 24);
	assert_false(found.has_fp);
	/* push %rbp; mov %rsp,%rbp; push %rbx; sub $0x148,%rsp */
	assert_int_equal(x86_code_prologue(CODE("\x55\x48\x89\xe5\x53\x48\x81\xec\x48\x01\x00\x00"), &found), 0);
	assert_int_equal(found.frame, 0x148 + 3 * 8);
	assert_int_equal(found.saved, 16);
	assert_true(found.has_fp);
	assert_int_equal(x86_code_prologue(CODE("\x55" RET), &found), -ENOTSUP);
}
