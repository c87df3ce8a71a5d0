/* SPDX-License-Identifier: Apache-2.0 */
/* What the runtime's assembly says of itself: over code that is written here as Go's linkers make it. */
#include "core/plugin/unwinder.h"
#include "plugins/golang/golang.h"
#include "tests/kit/test.h"

#define VA 0x401000u

static struct go_function function_of(const char *code, size_t bytes)
{
	struct go_function function = {.va = VA, .bytes = bytes};

	assert_true(bytes <= sizeof(function.code));
	memcpy(function.code, code, bytes);
	return function;
}

#define CODE(text) function_of(text, sizeof(text) - 1)

/* 1.21 on: rsp from g0.sched.sp at 33, back at 64. */
#define PUSH_RBP	"\x55\x48\x89\xe5"
#define LOAD_G		"\x64\x48\x8b\x04\x25\xf8\xff\xff\xff"	/* mov %fs:-8,%rax */
#define STORE_G		"\x64\x48\x89\x04\x25\xf8\xff\xff\xff"
#define G_M		"\x48\x8b\x58\x30"			/* mov 0x30(%rax),%rbx */
#define M_G0		"\x48\x8b\x13"				/* mov (%rbx),%rdx */
#define M_CURG		"\x48\x8b\x83\xb8\x00\x00\x00"		/* mov 0xb8(%rbx),%rax */
#define TO_G0		"\x48\x8b\x62\x38"			/* mov 0x38(%rdx),%rsp */
#define CALL_RDI	"\xff\xd7"
#define TO_CURG		"\x48\x8b\x60\x38"			/* mov 0x38(%rax),%rsp */
#define POP_RET		"\x5d\xc3"

#define SYSTEMSTACK PUSH_RBP LOAD_G G_M M_G0 TO_G0 CALL_RDI LOAD_G G_M M_CURG STORE_G TO_CURG POP_RET
#define SWITCHED    (4 + 9 + 4 + 3 + 4)
#define BACK	    (SWITCHED + 2 + 9 + 4 + 7 + 9 + 4)

EP_TEST(g_is_where_the_linker_put_it)
{
	static const struct {
		const char *code;
		size_t bytes;
		uint32_t kind;
		int64_t value;
	} forms[] = {
		{PUSH_RBP LOAD_G, 13, EP_VARIABLE_POINTER, -8},
		/* mov %fs:-24,%rcx */
		{"\x64\x48\x8b\x0c\x25\xe8\xff\xff\xff", 9, EP_VARIABLE_POINTER, -24},
		/* mov $-8,%rcx; mov %fs:(%rcx),%rax */
		{PUSH_RBP "\x48\xc7\xc1\xf8\xff\xff\xff\x64\x48\x8b\x01", 15, EP_VARIABLE_POINTER, -8},
		/* mov 0x2000(%rip),%rcx; mov %fs:(%rcx),%rax */
		{PUSH_RBP "\x48\x8b\x0d\x00\x20\x00\x00\x64\x48\x8b\x01", 15, EP_VARIABLE_WORD, VA + 11 + 0x2000},
		/* mov 0x10(%rip),%r8; mov %fs:(%r8),%r9 */
		{"\x4c\x8b\x05\x10\x00\x00\x00\x64\x4d\x8b\x08", 11, EP_VARIABLE_WORD, VA + 7 + 0x10},
	};

	for (size_t i = 0; i < EP_LEN(forms); i++) {
		struct go_function function = function_of(forms[i].code, forms[i].bytes);
		struct ep_variable found;

		assert_int_equal(go_code_g(&function, &found), 0);
		assert_int_equal(found.kind, forms[i].kind);
		assert_int_equal((int64_t)found.value, forms[i].value);
	}
}

EP_TEST(without_g_nothing_is_found)
{
	struct go_function none = CODE(PUSH_RBP POP_RET), other = CODE("\x48\x89\xc1\x64\x48\x8b\x01"),
			   cut = CODE("\x64\x48\x8b\x04\x25\xf8"), empty = CODE("");
	struct ep_variable found;

	assert_int_equal(go_code_g(&none, &found), -ENODATA);
	assert_int_equal(go_code_g(&other, &found), -ENODATA);
	assert_int_equal(go_code_g(&cut, &found), -ENODATA);
	assert_int_equal(go_code_g(&empty, &found), -ENODATA);
}

EP_TEST(offsets_are_those_of_the_way_back)
{
	struct go_function function = CODE(SYSTEMSTACK);
	struct go_offsets found = {.g_sched_bp = 7};

	assert_int_equal(go_code_offsets(&function, &found), 0);
	assert_int_equal(found.g_m, 0x30);
	assert_int_equal(found.m_curg, 0xb8);
	assert_int_equal(found.g_sched_sp, 0x38);
}

/* rsp from another register than curg's; an offset that is none; cut. */
EP_TEST(other_code_has_no_offsets)
{
	struct go_function other = CODE(LOAD_G G_M M_CURG STORE_G TO_G0 POP_RET),
			   odd = CODE(LOAD_G G_M "\x48\x8b\x83\xb9\x00\x00\x00" TO_CURG),
			   cut = CODE(SYSTEMSTACK);
	struct go_offsets found;

	cut.bytes = BACK - 1;
	assert_int_equal(go_code_offsets(&other, &found), -ENODATA);
	assert_int_equal(go_code_offsets(&odd, &found), -ENODATA);
	assert_int_equal(go_code_offsets(&cut, &found), -ENODATA);
}

EP_TEST(bp_is_where_morestack_saves_it)
{
	/* mov %rbp,(%rsp); mov %rbp,0x60(%rdi) */
	struct go_function function = CODE("\x48\x89\x2c\x24\x48\x89\x6f\x60"), none = CODE("\x48\x89\x2c\x24\xc3");
	uint32_t off;

	assert_int_equal(go_code_bp(&function, &off), 0);
	assert_int_equal(off, 0x60);
	assert_int_equal(go_code_bp(&none, &off), -ENODATA);
}

#define ALIGN "\x48\x83\xe4\xf0"

EP_TEST(depth_is_below_g)
{
	struct go_function new = CODE(ALIGN "\x48\x89\x7c\x24\x08\x48\x8b\x7f\x08\x48\x29\xd7\x48\x89\x3c\x24"),
			   old = CODE(ALIGN "\x48\x89\x7c\x24\x30\x48\x8b\x7f\x08\x48\x29\xd7\x48\x89\x7c\x24\x28"),
			   before = CODE("\x48\x89\x7c\x24\x08\x48\x89\x3c\x24" ALIGN "\xc3");
	uint32_t off;

	assert_int_equal(go_code_depth(&new, &off), 0);
	assert_int_equal(off, 0);
	assert_int_equal(go_code_depth(&old, &off), 0);
	assert_int_equal(off, 40);
	assert_int_equal(go_code_depth(&before, &off), -ENODATA);
}

EP_TEST(frames_begin_with_rbp)
{
	struct go_function with = CODE(SYSTEMSTACK), without = CODE(LOAD_G), empty = CODE("");

	assert_true(go_code_has_frame(&with));
	assert_false(go_code_has_frame(&without));
	assert_false(go_code_has_frame(&empty));
}

static void is_code(const struct go_code *code, uint32_t from, uint32_t to, uint32_t kind)
{
	assert_int_equal(code->start, VA + from);
	assert_int_equal(code->bytes, to - from);
	assert_int_equal(code->kind, kind);
}

EP_TEST(systemstack_comes_back)
{
	struct go_function function = CODE(SYSTEMSTACK);
	struct go_code codes[2];

	assert_int_equal(go_code_switched(&function, GO_CODE_SYSTEMSTACK, codes, 2), 1);
	is_code(&codes[0], SWITCHED, BACK, GO_CODE_SYSTEMSTACK);
}

EP_TEST(morestack_does_not)
{
	struct go_function function = CODE(TO_G0 "\xe8\x00\x01\x00\x00\xe8\x00\x02\x00\x00\xc3");
	struct go_code code;

	assert_int_equal(go_code_switched(&function, GO_CODE_MORESTACK, &code, 1), 1);
	is_code(&code, 4, 15, GO_CODE_MORESTACK);
}

#define ROOM	"\x48\x83\xec\x10" ALIGN "\xe8\x00\x01\x00\x00" /* sub $16,%rsp; and; call */
#define OLD_RSP "\x48\x89\xf4"				      /* mov %rsi,%rsp */

EP_TEST(asmcgocall_has_a_part_that_stays)
{
	struct go_function function = CODE(PUSH_RBP TO_G0 ROOM OLD_RSP POP_RET ROOM OLD_RSP POP_RET);
	struct go_code codes[3];

	assert_int_equal(go_code_switched(&function, GO_CODE_ASMCGOCALL, codes, 3), 2);
	is_code(&codes[0], 8, 8 + 16, GO_CODE_ASMCGOCALL);
	is_code(&codes[1], 8 + 16 + 2 + 4, 8 + 16 + 2 + 16, GO_CODE_ASMCGOCALL);
	assert_int_equal(go_code_switched(&function, GO_CODE_ASMCGOCALL, codes, 1), 1);
	/* That of others is their frame. */
	assert_int_equal(go_code_switched(&function, GO_CODE_CGOCALLBACK, codes, 3), 2);
	is_code(&codes[0], 8, 8 + 16, GO_CODE_CGOCALLBACK);
	is_code(&codes[1], 8 + 16 + 2 + 16, 8 + 16 + 2 + 16 + 2, GO_CODE_CGOCALLBACK);
}

/* --- attach --- */

static struct {
	int tls_result, state_result;
	struct go_state state;
	struct ep_range ranges[GO_MAX_CODES];
	size_t n_ranges;
} told;

static uint64_t bias_of(const struct ep_target *target)
{
	return 0x10000;
}

static int path_of(const struct ep_target *target, const struct ep_variable *variable, struct ep_tls *ret)
{
	*ret = (struct ep_tls){.steps = 1, .off = {(int32_t)variable->value}};
	return told.tls_result;
}

static int take_state(struct ep_target *target, const void *state, size_t bytes)
{
	assert_int_equal(bytes, sizeof(told.state));
	memcpy(&told.state, state, bytes);
	return told.state_result;
}

static int take_ranges(struct ep_target *target, const struct ep_range *ranges, size_t n)
{
	memcpy(told.ranges, ranges, n * sizeof(*ranges));
	told.n_ranges = n;
	return 0;
}

EP_TEST(processes_are_told_of)
{
	const struct ep_unwinder_host host = {.size = sizeof(host), .target_bias = bias_of, .tls_path = path_of,
					      .set_state = take_state, .set_ranges = take_ranges};
	struct go_executable exe = {
		.host = &host,
		.g = {.kind = EP_VARIABLE_POINTER, .value = (uint64_t)-8},
		.offsets = {1, 2, 3, 4},
		.frame_bytes = 8,
		.depth_off = 40,
		.n_codes = 2,
		.codes = {{VA, 16, GO_CODE_SYSTEMSTACK}, {VA + 64, 8, GO_CODE_MORESTACK}},
	};
	void *instance = NULL;

	told.tls_result = -ENODATA;
	assert_int_equal(go_attach(&exe, NULL, &instance), EP_NOT_YET);
	told.tls_result = -ENOTSUP;
	assert_int_equal(go_attach(&exe, NULL, &instance), -ENOTSUP);
	told.tls_result = 0;
	told.state_result = -ENOMEM;
	assert_int_equal(go_attach(&exe, NULL, &instance), -ENOMEM);
	told.state_result = 0;
	assert_null(instance);
	assert_int_equal(go_attach(&exe, NULL, &instance), 0);
	assert_non_null(instance);
	assert_int_equal(told.state.g.off[0], -8);
	assert_memory_equal(&told.state.offsets, &exe.offsets, sizeof(exe.offsets));
	assert_int_equal(told.state.depth_off, 40);
	assert_int_equal(told.state.frame_bytes, 8);
	assert_int_equal(told.state.codes[1].start, VA + 64 + 0x10000);
	assert_int_equal(told.n_ranges, 2);
	assert_int_equal(told.ranges[0].start, VA + 0x10000);
	assert_int_equal(told.ranges[0].end, VA + 0x10000 + 16);
	assert_int_equal(told.ranges[0].mode, EP_RANGE_ENTER);
	assert_int_equal(told.ranges[1].data, GO_CODE_MORESTACK);
	go_detach(instance);
}
