/* SPDX-License-Identifier: Apache-2.0 */
/* What the code of functions tells: with code made here, as compilers make it. */
#include "core/base/code.h"
#include "core/plugin/unwinder.h"
#include "tests/kit/host.h"
#include "tests/kit/test.h"

#include <elf.h>

#define FILE_VA	   0x1000u
#define FILE_BYTES 0x3000u
#define MAX_PARTS  8

struct made_file {
	struct fake_host host;
	struct ep_symbol functions[8];
	uint8_t bytes[FILE_BYTES];
};

static struct made_file *new_file(void)
{
	static const struct fake_symbol sections[] = {{".text", {FILE_VA, FILE_BYTES}}};
	struct made_file *made = calloc(1, sizeof(*made));

	assert_non_null(made);
	ep_test_owns(made, free);
	fake_host_init(&made->host, NULL, 0);
	fake_memory_add(&made->host.contents, FILE_VA, made->bytes, FILE_BYTES);
	made->host.sections = sections;
	made->host.n_sections = EP_LEN(sections);
	made->host.functions = made->functions;
	return made;
}

static void put(struct made_file *made, uint64_t va, const void *bytes, size_t n)
{
	memcpy(made->bytes + (va - FILE_VA), bytes, n);
}

/* --- thread variables ------------------------------------------------------------------------- */

EP_TEST(getters_are_decoded)
{
	/* clang-format off */
	static const struct {
		const char *label;
		uint8_t code[32];
		uint32_t kind;
		uint64_t value;
		uint32_t add;
	} cases[] = {
		{"local exec", {0x64, 0x48, 0x8b, 0x04, 0x25, 0xe8, 0xff, 0xff, 0xff, 0xc3},
		 EP_VARIABLE_POINTER, (uint64_t)-24, 0},
		{"local exec, endbr64", {0xf3, 0x0f, 0x1e, 0xfa, 0x64, 0x48, 0x8b, 0x04, 0x25, 0xf8, 0xff,
		 0xff, 0xff, 0xc3}, EP_VARIABLE_POINTER, (uint64_t)-8, 0},
		{"initial exec, relaxed", {0x48, 0xc7, 0xc0, 0xb0, 0xff, 0xff, 0xff, 0x64, 0x48, 0x8b, 0x00, 0xc3},
		 EP_VARIABLE_POINTER, (uint64_t)-80, 0},
		{"initial exec", {0x48, 0x8b, 0x05, 0x00, 0x01, 0x00, 0x00, 0x64, 0x48, 0x8b, 0x00, 0xc3},
		 EP_VARIABLE_WORD, FILE_VA + 0x107, 0},
		{"general dynamic", {0x48, 0x83, 0xec, 0x08, 0x66, 0x48, 0x8d, 0x3d, 0x10, 0x00, 0x00, 0x00,
		 0x66, 0x66, 0x48, 0xe8, 1, 2, 3, 4, 0x48, 0x8b, 0x00}, EP_VARIABLE_PAIR,
		 FILE_VA + 4 + 8 + 0x10, 0},
		{"general dynamic, with a frame", {0x55, 0x48, 0x89, 0xe5, 0x66, 0x48, 0x8d, 0x3d, 0x3c, 0xaa, 0x75,
		 0x03, 0x66, 0x66, 0x48, 0xe8, 0x3c, 0xff, 0x4b, 0xff, 0x5d, 0x48, 0x8b, 0x00, 0xc3},
		 EP_VARIABLE_PAIR, FILE_VA + 4 + 8 + 0x375aa3c, 0},
		{"local dynamic", {0x48, 0x8d, 0x3d, 0x20, 0x00, 0x00, 0x00, 0xe8, 1, 2, 3, 4, 0x48, 0x8b,
		 0x80, 0x18, 0x00, 0x00, 0x00}, EP_VARIABLE_PAIR, FILE_VA + 7 + 0x20, 0x18},
		{"local dynamic, 3.15.2", {0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0x48, 0x8d, 0x3d,
		 0x61, 0x5c, 0x4b, 0x00, 0xe8, 0x5c, 0x53, 0xd0, 0xff, 0x5d, 0x48, 0x8b, 0x80, 0x08, 0x00,
		 0x00, 0x00, 0xc3}, EP_VARIABLE_PAIR, FILE_VA + 8 + 7 + 0x4b5c61, 8},
		{"something else", {0x55, 0x48, 0x89, 0xe5, 0x31, 0xc0, 0xc3}, EP_VARIABLE_NONE, 0, 0},
	};
	/* clang-format on */
	const struct ep_unwinder_host *host = ep_unwinder_host_get();

	for (size_t i = 0; i < EP_LEN(cases); i++) {
		struct made_file *made = new_file();
		struct ep_variable variable = {0};
		int r;

		print_message("%s\n", cases[i].label);
		put(made, FILE_VA, cases[i].code, sizeof(cases[i].code));
		r = host->file_variable(&made->host.file, FILE_VA, &variable);
		assert_int_equal(r, cases[i].kind ? 0 : -ENOTSUP);
		assert_int_equal(variable.kind, cases[i].kind);
		assert_int_equal(variable.value, cases[i].value);
		assert_int_equal(variable.add, cases[i].add);
		made->host.file.machine = EM_AARCH64;
		assert_int_equal(host->file_variable(&made->host.file, FILE_VA, &variable), -ENOTSUP);
		assert_int_equal(host->file_variable(&made->host.file, 8, &variable), -ENOTSUP);
	}
}

/* Nothing beyond the bytes is looked at; cut code is not understood, or understood alike. */
EP_TEST(cut_getters_do_no_harm)
{
	static const uint8_t whole[] = {0x64, 0x48, 0x8b, 0x04, 0x25, 0xe8, 0xff, 0xff, 0xff};
	struct ep_variable variable;

	for (size_t n = 0; n < sizeof(whole); n++) {
		ep_autofree uint8_t *code = malloc(n + 1);

		assert_non_null(code);
		memcpy(code, whole, n);
		if (n < 5)
			assert_int_equal(ep_code_variable(code, n, 0, &variable), -ENOTSUP);
	}
	assert_int_equal(ep_code_variable(whole, sizeof(whole), 0, &variable), 0);
}

/* CPython 3.6.15: cmpq $0,autoInterpreterState(%rip); je; mov autoTLSkey(%rip),%edi; jmp */
EP_TEST(an_argument_is_found)
{
	static const uint8_t code[] = {0x48, 0x83, 0x3d, 0x70, 0xa1, 0x18, 0x00, 0x00, 0x74,
				       0x0e, 0x8b, 0x3d, 0x80, 0x01, 0x00, 0x00, 0xe9};
	const struct ep_unwinder_host *host = ep_unwinder_host_get();
	struct made_file *made = new_file();
	uint64_t va = 0;

	assert_int_equal(host->file_argument(&made->host.file, FILE_VA, &va), -ENOTSUP);
	put(made, FILE_VA, code, sizeof(code));
	assert_int_equal(host->file_argument(&made->host.file, FILE_VA, &va), 0);
	assert_int_equal(va, FILE_VA + 16 + 0x180);
	assert_int_equal(host->file_argument(&made->host.file, FILE_VA + FILE_BYTES, &va), -ENODATA);
}

/* --- paths: the process is what follows, at 0x7000, with a bias of 0x6000 ----------------------- */

static const uint64_t words[] = {(uint64_t)-32, 3, 0x18, 0, 0x18, 1ull << 40};

EP_TEST(variables_become_paths)
{
	static const struct {
		struct ep_variable variable;
		int result;
		uint32_t steps;
		int32_t last;
	} rows[] = {
		{{EP_VARIABLE_SEGMENT, 0, 0x40}, 0, 1, 0x40},
		{{EP_VARIABLE_POINTER, 0, (uint64_t)-24}, 0, 1, -24},
		{{EP_VARIABLE_POINTER, 0, 0}, -ENODATA, 0, 0},
		{{EP_VARIABLE_WORD, 0, 0x1000}, 0, 1, -32},
		{{EP_VARIABLE_WORD, 0, 0x1018}, -ENODATA, 0, 0}, /* not relocated yet */
		{{EP_VARIABLE_WORD, 0, 0x1028}, -ENODATA, 0, 0}, /* no such offset */
		{{EP_VARIABLE_WORD, 0, 0x2000}, -EFAULT, 0, 0},
		{{EP_VARIABLE_PAIR, 8, 0x1008}, 0, 1, 0x20},
		{{EP_VARIABLE_PAIR, 8, 0x1018}, -ENODATA, 0, 0}, /* not relocated yet */
		{{EP_VARIABLE_PAIR, 0, 0x1028}, -EFAULT, 0, 0},
		{{EP_VARIABLE_NONE, 0, 0}, -ENOTSUP, 0, 0},
		{{99, 0, 0}, -ENOTSUP, 0, 0},
	};
	static struct fake_host host;

	fake_host_init(&host, NULL, 0);
	fake_memory_add(&host.memory, 0x7000, (uint8_t *)words, sizeof(words));
	host.target.bias = 0x6000;

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct ep_tls tls = {0};

		assert_int_equal(
			ep_unwinder_host_get()->tls_path(&host.target, &rows[i].variable, &tls),
			rows[i].result);
		assert_int_equal(tls.steps, rows[i].steps);
		assert_int_equal(tls.steps ? tls.off[tls.steps - 1] : 0, rows[i].last);
	}
}

/* --- parts of a function ---------------------------------------------------------------------- */

/* jmp rel32 */
static void put_jump(struct made_file *made, uint64_t from, uint64_t to)
{
	int32_t rel = (int32_t)(to - from - 5);
	uint8_t code[5] = {0xe9};

	memcpy(code + 1, &rel, sizeof(rel));
	put(made, from, code, sizeof(code));
}

/* A loop 0x1100-0x1300, its cold part 0x2000-0x2100, another function 0x2200-0x2300 */
static struct made_file *new_loop(struct ep_symbol *loop)
{
	struct made_file *made = new_file();

	*loop = (struct ep_symbol){.va = 0x1100, .bytes = 0x200};
	made->functions[0] = *loop;
	made->functions[1] = (struct ep_symbol){.va = 0x2000, .bytes = 0x100};
	made->functions[2] = (struct ep_symbol){.va = 0x2200, .bytes = 0x100};
	made->host.n_functions = 3;
	return made;
}

static uint32_t find_parts(const struct made_file *made, const struct ep_symbol *loop,
			   struct ep_symbol *parts, uint32_t max)
{
	return ep_unwinder_host_get()->file_parts(&made->host.file, loop, parts, max);
}

EP_TEST(the_part_that_was_split_off_is_found)
{
	struct ep_symbol loop, parts[MAX_PARTS];
	struct made_file *made = new_loop(&loop);

	put_jump(made, 0x1180, 0x2010);
	put_jump(made, 0x2050, 0x1190);
	put_jump(made, 0x12f0, 0x2200); /* a tail call: that function never comes back */
	assert_int_equal(find_parts(made, &loop, parts, MAX_PARTS), 2);
	assert_int_equal(parts[0].va, 0x1100);
	assert_int_equal(parts[1].va, 0x2000);
	assert_int_equal(parts[1].bytes, 0x100);
	assert_int_equal(find_parts(made, &loop, parts, 1), 1);
	assert_int_equal(find_parts(made, &loop, parts, 0), 0);
	made->host.file.machine = EM_AARCH64;
	assert_int_equal(find_parts(made, &loop, parts, MAX_PARTS), 1);
}

EP_TEST(a_function_in_one_piece_stays_one)
{
	struct ep_symbol loop, parts[MAX_PARTS];
	struct made_file *made = new_loop(&loop);

	put_jump(made, 0x1180, 0x2200);
	put_jump(made, 0x2250, 0x1100); /* another function that calls it last */
	assert_int_equal(find_parts(made, &loop, parts, MAX_PARTS), 1);
	loop.bytes = UINT64_MAX;
	assert_int_equal(find_parts(made, &loop, parts, MAX_PARTS), 1);
}

EP_TEST(reads_of_files_are_bounded)
{
	static uint8_t much[EP_MAX_FILE_READ + 1];
	struct made_file *made = new_file();

	assert_int_equal(ep_unwinder_host_get()->file_read(&made->host.file, FILE_VA, much, 16), 0);
	assert_int_equal(
		ep_unwinder_host_get()->file_read(&made->host.file, FILE_VA, much, sizeof(much)),
		-E2BIG);
}
