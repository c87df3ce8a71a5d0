/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the runtime's assembly says of itself, where no fixture has it: over code that is written
 * here as Go's linkers make it.
 */
#include "core/plugin/unwinder.h"
#include "plugins/golang/golang.h"
#include "tests/kit/host.h"
#include "tests/kit/test.h"

#include <errno.h>
#include <stdio.h>

#define VA 0x401000u

static struct x86_code function_of(const char *code, size_t bytes)
{
	struct x86_code function = {.va = VA, .n = bytes};

	assert_true(bytes <= sizeof(function.bytes));
	memcpy(function.bytes, code, bytes);
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

#define SYSTEMSTACK                                                                                \
	PUSH_RBP LOAD_G G_M M_G0 TO_G0 CALL_RDI LOAD_G G_M M_CURG STORE_G TO_CURG POP_RET
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
		{PUSH_RBP "\x48\xc7\xc1\xf8\xff\xff\xff\x64\x48\x8b\x01", 15, EP_VARIABLE_POINTER,
		 -8},
		/* mov 0x2000(%rip),%rcx; mov %fs:(%rcx),%rax */
		{PUSH_RBP "\x48\x8b\x0d\x00\x20\x00\x00\x64\x48\x8b\x01", 15, EP_VARIABLE_WORD,
		 VA + 11 + 0x2000},
		/* mov 0x10(%rip),%r8; mov %fs:(%r8),%r9 */
		{"\x4c\x8b\x05\x10\x00\x00\x00\x64\x4d\x8b\x08", 11, EP_VARIABLE_WORD,
		 VA + 7 + 0x10},
	};

	for (size_t i = 0; i < EP_LEN(forms); i++) {
		struct x86_code function = function_of(forms[i].code, forms[i].bytes);
		struct ep_variable found;

		assert_int_equal(go_code_g(&function, &found), 0);
		assert_int_equal(found.kind, forms[i].kind);
		assert_int_equal((int64_t)found.value, forms[i].value);
	}
}

EP_TEST(without_g_nothing_is_found)
{
	struct x86_code none = CODE(PUSH_RBP POP_RET),
			   other = CODE("\x48\x89\xc1\x64\x48\x8b\x01"),
			   cut = CODE("\x64\x48\x8b\x04\x25\xf8"), empty = CODE("");
	struct ep_variable found;

	assert_int_equal(go_code_g(&none, &found), -ENODATA);
	assert_int_equal(go_code_g(&other, &found), -ENODATA);
	assert_int_equal(go_code_g(&cut, &found), -ENODATA);
	assert_int_equal(go_code_g(&empty, &found), -ENODATA);
}

/* rsp from another register than curg's; an offset that is none; cut. */
EP_TEST(other_code_has_no_offsets)
{
	struct x86_code other = CODE(LOAD_G G_M M_CURG STORE_G TO_G0 POP_RET),
			   odd = CODE(LOAD_G G_M "\x48\x8b\x83\xb9\x00\x00\x00" TO_CURG),
			   cut = CODE(SYSTEMSTACK);
	struct go_offsets found;

	cut.n = BACK - 1;
	assert_int_equal(go_code_offsets(&other, &found), -ENODATA);
	assert_int_equal(go_code_offsets(&odd, &found), -ENODATA);
	assert_int_equal(go_code_offsets(&cut, &found), -ENODATA);
}

#define ALIGN "\x48\x83\xe4\xf0"

EP_TEST(depth_is_below_g)
{
	struct x86_code new =
		CODE(ALIGN "\x48\x89\x7c\x24\x08\x48\x8b\x7f\x08\x48\x29\xd7\x48\x89\x3c\x24"),
			   old = CODE(
				   ALIGN
				   "\x48\x89\x7c\x24\x30\x48\x8b\x7f\x08"
				   "\x48\x29\xd7\x48\x89\x7c\x24\x28"),
			   before = CODE("\x48\x89\x7c\x24\x08\x48\x89\x3c\x24" ALIGN "\xc3");
	uint32_t off;

	assert_int_equal(go_code_depth(&new, &off), 0);
	assert_int_equal(off, 0);
	assert_int_equal(go_code_depth(&old, &off), 0);
	assert_int_equal(off, 40);
	assert_int_equal(go_code_depth(&before, &off), -ENODATA);
}

static void is_code(const struct go_code *code, uint32_t from, uint32_t to, uint32_t kind)
{
	assert_int_equal(code->start, VA + from);
	assert_int_equal(code->bytes, to - from);
	assert_int_equal(code->kind, kind);
}

EP_TEST(systemstack_comes_back)
{
	struct x86_code function = CODE(SYSTEMSTACK);
	struct go_code codes[2];

	assert_int_equal(go_code_switched(&function, GO_CODE_SYSTEMSTACK, codes, 2), 1);
	is_code(&codes[0], SWITCHED, BACK, GO_CODE_SYSTEMSTACK);
}

#define ROOM	"\x48\x83\xec\x10" ALIGN "\xe8\x00\x01\x00\x00" /* sub $16,%rsp; and; call */
#define OLD_RSP "\x48\x89\xf4"				      /* mov %rsi,%rsp */

EP_TEST(asmcgocall_has_a_part_that_stays)
{
	struct x86_code function =
		CODE(PUSH_RBP TO_G0 ROOM OLD_RSP POP_RET ROOM OLD_RSP POP_RET);
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

/* --- files and processes --- */

static struct fake_host host;
static struct go_state told;
static struct fake_symbol functions[3], info;

static void begin(void)
{
	fake_host_init(&host, &told, sizeof(told));
	host.symbols = functions;
	host.sections = &info;
	host.n_sections = 1;
	info = (struct fake_symbol){".go.buildinfo", {0x500000, 48}};
}

static void add_function(const char *name, const void *code, size_t bytes)
{
	uint64_t va = VA + 0x1000 * host.n_symbols;

	fake_memory_add(&host.contents, va, (void *)(uintptr_t)code, bytes);
	functions[host.n_symbols++] = (struct fake_symbol){name, {va, bytes}};
}

/* Go 1.18 on: debug/buildinfo. */
static void add_version(const char *version)
{
	static uint8_t text[48] = "\xff Go buildinf:";

	text[15] = 2;
	snprintf((char *)text + 33, 15, "%s", version);
	fake_memory_add(&host.contents, 0x500000, text, sizeof(text));
}

static int probe(struct go_executable **ret)
{
	void *executable = NULL;
	int r = go_probe(fake_host_services(&host), &host.file, &executable);

	*ret = executable;
	return r;
}

#define MORESTACK "\x48\x89\x6f\x68\xc3" /* mov %rbp,0x68(%rdi) */

/* What the code says goes before what its version should have; one of both must be there. */
EP_TEST(offsets_are_of_code_or_of_a_version)
{
	struct go_executable *exe;

	begin();
	add_function("runtime.systemstack", SYSTEMSTACK, sizeof(SYSTEMSTACK) - 1);
	assert_int_equal(probe(&exe), EP_NOT_MINE); /* without morestack */
	add_function("runtime.morestack", MORESTACK, sizeof(MORESTACK) - 1);
	add_version("go1.26");
	assert_int_equal(probe(&exe), 0);
	assert_int_equal(exe->offsets.g_sched_bp, 104);
	assert_int_equal(exe->frame_bytes, 8);
	go_unload(exe);
	begin();
	add_function("runtime.systemstack", LOAD_G, sizeof(LOAD_G) - 1);
	add_function("runtime.morestack", POP_RET, sizeof(POP_RET) - 1);
	assert_int_equal(probe(&exe), -ENOTSUP);
	add_version("go1.14");
	assert_int_equal(probe(&exe), -ENOTSUP);
	add_version("go1.26");
	assert_int_equal(probe(&exe), 0);
	assert_int_equal(exe->offsets.g_sched_bp, 96);
	assert_int_equal(exe->offsets.m_curg, 184);
	go_unload(exe);
	add_version("go1.24");
	assert_int_equal(probe(&exe), 0);
	assert_int_equal(exe->offsets.g_sched_bp, 104);
	assert_int_equal(exe->offsets.m_curg, 192);
	go_unload(exe);
}

/* A section that only Go has, or none at all, as sstrip leaves a file. */
EP_TEST(other_files_are_not_looked_through)
{
	struct go_executable *exe;

	begin();
	info.name = ".shstrtab";
	add_function("runtime.systemstack", SYSTEMSTACK, sizeof(SYSTEMSTACK) - 1);
	add_function("runtime.morestack", MORESTACK, sizeof(MORESTACK) - 1);
	assert_int_equal(probe(&exe), EP_NOT_MINE);
	host.n_sections = 0;
	assert_int_equal(probe(&exe), 0);
	go_unload(exe);
}

/* More instructions than are read: those after the limit have no effect. */
EP_TEST(functions_are_read_up_to_a_bound)
{
	static uint8_t code[1 << 16];
	struct go_executable *exe;

	memcpy(code, SYSTEMSTACK, sizeof(SYSTEMSTACK));
	begin();
	add_function("runtime.morestack", MORESTACK, sizeof(MORESTACK) - 1);
	add_function("runtime.systemstack", code, sizeof(code));
	assert_int_equal(probe(&exe), 0);
	assert_int_equal(exe->codes[0].bytes, BACK - SWITCHED);
	go_unload(exe);
}

EP_TEST(processes_are_told_of)
{
	struct go_executable exe = {
		.g = {.kind = EP_VARIABLE_SEGMENT, .value = (uint64_t)-8},
		.offsets = {1, 2, 3, 4},
		.frame_bytes = 8,
		.depth_off = 40,
		.n_codes = 2,
		.codes = {{VA, 16, GO_CODE_SYSTEMSTACK}, {VA + 64, 8, GO_CODE_MORESTACK}},
	};
	void *instance = NULL;

	begin();
	exe.host = fake_host_services(&host);
	host.target.bias = 0x10000;
	host.no_variable = -ENODATA;
	assert_int_equal(go_attach(&exe, &host.target, &instance), EP_NOT_YET);
	host.no_variable = -ENOTSUP;
	assert_int_equal(go_attach(&exe, &host.target, &instance), -ENOTSUP);
	assert_null(instance);
	host.no_variable = 0;
	assert_int_equal(go_attach(&exe, &host.target, &instance), 0);
	assert_non_null(instance);
	assert_memory_equal(&told.offsets, &exe.offsets, sizeof(exe.offsets));
	assert_int_equal(told.g.steps, 1);
	assert_int_equal(told.depth_off, 40);
	assert_int_equal(told.frame_bytes, 8);
	assert_int_equal(told.codes[1].start, VA + 64 + 0x10000);
	assert_int_equal(host.n_ranges, 2);
	assert_int_equal(host.ranges[0].start, VA + 0x10000);
	assert_int_equal(host.ranges[0].end, VA + 0x10000 + 16);
	assert_int_equal(host.ranges[0].mode, EP_RANGE_ENTER);
	assert_int_equal(host.ranges[1].data, GO_CODE_MORESTACK);
	go_detach(instance);
}
