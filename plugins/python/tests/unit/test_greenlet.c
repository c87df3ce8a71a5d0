/* SPDX-License-Identifier: Apache-2.0 */
/* Where the stacks of greenlets end: in the module greenlet of each kind, made up. */
#include "core/base/util.h"
#include "core/plugin/description.h"
#include "plugins/python/python.h"
#include "tests/kit/host.h"
#include "tests/kit/test.h"

#define FILE_VA	   0x1000u
#define FILE_BYTES 0x3000u
#define STUB_VA	   0x1100u
#define RODATA_VA  0x3000u
#define WORDS_VA   0x3010u
#define BOOTSTRAP  "_ZN8greenlet12UserGreenlet15inner_bootstrapEP9_greenletP7_object" /* 3.5.3 */

struct made_file {
	struct fake_host host;
	struct fake_symbol symbols[8];
	struct ep_symbol functions[2];
	uint8_t bytes[FILE_BYTES];
	void *executable;
};

static struct made_file *made_file_new(void)
{
	static const struct fake_symbol sections[] = {{".rodata", {RODATA_VA, 0x100}},
						      {".text", {FILE_VA, RODATA_VA - FILE_VA}}};
	struct made_file *made = calloc(1, sizeof(*made));

	assert_non_null(made);
	ep_test_owns(made, free);
	fake_host_init(&made->host, NULL, 0);
	fake_memory_add(&made->host.contents, FILE_VA, made->bytes, FILE_BYTES);
	made->host.symbols = made->symbols;
	made->host.sections = sections;
	made->host.n_sections = EP_LEN(sections);
	made->host.functions = made->functions;
	made->host.file.path =
		"/usr/lib/python3/dist-packages/greenlet/_greenlet.cpython-314-x86_64-linux-gnu.so";
	return made;
}

static void add_symbol(struct made_file *made, const char *name, uint64_t va, uint64_t bytes)
{
	assert_true(made->host.n_symbols < EP_LEN(made->symbols));
	made->symbols[made->host.n_symbols++] =
		(struct fake_symbol){name, {.va = va, .bytes = bytes}};
}

static int probe_made(struct made_file *made)
{
	return py_probe(fake_host_services(&made->host), &made->host.file, &made->executable);
}

/* What it describes, which it gives up. */
static void assert_roots(struct made_file *made, const struct ep_symbol *roots, size_t n)
{
	struct ep_description description;
	const struct ep_code_row *row;
	size_t i = 0;

	ep_description_init(&description);
	assert_int_equal(py_describe(made->executable, &made->host.file, &description), 0);
	assert_int_equal(description.rows.len, n);
	ep_vec_each (&description.rows, row) {
		assert_int_equal(row->va, roots[i].va);
		assert_int_equal(row->bytes, roots[i].bytes);
		assert_int_equal(row->ra_place, EP_CODE_LOST);
		assert_int_equal(row->flags, EP_CODE_INSTEAD);
		i++;
	}
	ep_description_fini(&description);
	py_unload(made->executable);
	made->executable = NULL;
}

EP_TEST(from_2_on_a_symbol_tells_where_a_greenlet_begins)
{
	struct made_file *made = made_file_new();

	add_symbol(made, "PyInit__greenlet", 0x1040, 16);
	add_symbol(made, BOOTSTRAP, 0x1200, 0x80);
	assert_int_equal(probe_made(made), EP_CODE_ONLY);
	assert_roots(made, (const struct ep_symbol[]){{0x1200, 0x80}}, 1);
}

EP_TEST(other_modules_are_not_mine)
{
	static const char *const names[] = {"PyInit__gevent", BOOTSTRAP};

	for (size_t i = 0; i < EP_LEN(names); i++) {
		struct made_file *made = made_file_new();

		add_symbol(made, names[i], 0x1200, 0x80);
		assert_int_equal(probe_made(made), EP_NOT_MINE);
		assert_null(made->executable);
	}
}

/* Nothing else is asked of other files. */
EP_TEST(a_module_is_called_as_its_file_is)
{
	static const struct {
		const char *path;
		int want;
	} rows[] = {
		{"/x/greenlet.cpython-39-x86_64-linux-gnu.so", EP_CODE_ONLY},
		{"_greenlet.so", EP_CODE_ONLY},
		{"/greenlet./libx.so", EP_NOT_MINE},
		{"/x/_gevent_cgreenlet.cpython-311-x86_64-linux-gnu.so", EP_NOT_MINE},
		{"", EP_NOT_MINE},
		{"/x/greenlets.so", EP_NOT_MINE},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct made_file *made = made_file_new();

		made->host.file.path = rows[i].path;
		add_symbol(made, "PyInit__greenlet", 0x1040, 16);
		add_symbol(made, BOOTSTRAP, 0x1200, 0x80);
		if (probe_made(made) != rows[i].want)
			fail_msg("%s", rows[i].path);
		if (made->executable)
			py_unload(made->executable);
	}
}

/* --- before 2.0 ------------------------------------------------------------------------------- */

#define STORE 0x20 /* where the new greenlet's part begins */

/*
 *	call g_switchstack; cmp $1,%eax; je 1f; test %eax,%eax; ret
 *	1: movq $1,0x10(%rbp); call ...
 *	2: test %rax,%rax; je 3f; lea words(%rip),%rsi; call Py_FatalError
 *	ret
 *	3: call g_switch; jmp 2b
 *	ret
 */
static const uint8_t stub[] = {
	0xe8, 0x00, 0x10, 0x00, 0x00, 0x83, 0xf8, 0x01, 0x74, 0x16, 0x85, 0xc0, 0xc3, 0xcc, 0xcc,
	0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
	0xcc, 0xcc, 0x48, 0xc7, 0x45, 0x10, 0x01, 0x00, 0x00, 0x00, 0xe8, 0x00, 0x10, 0x00, 0x00,
	0x48, 0x85, 0xc0, 0x74, 0x0e, 0x48, 0x8d, 0x35, 0xd7, 0x1e, 0x00, 0x00, 0xe8, 0x00, 0x10,
	0x00, 0x00, 0xc3, 0xcc, 0xe8, 0x00, 0x10, 0x00, 0x00, 0xeb, 0xe6, 0xc3,
};

static struct made_file *made_file_new_c(void)
{
	struct made_file *made = made_file_new();

	add_symbol(made, "PyInit_greenlet", 0x1040, 16);
	memcpy(made->bytes + STUB_VA - FILE_VA, stub, sizeof(stub));
	strcpy((char *)made->bytes + WORDS_VA - FILE_VA, "greenlets cannot continue");
	made->functions[0] = (struct ep_symbol){STUB_VA, sizeof(stub)};
	made->host.n_functions = 1;
	return made;
}

EP_TEST(before_2_its_code_tells)
{
	static const struct ep_symbol roots[] = {{STUB_VA + STORE, 0x1e}, {STUB_VA + 0x40, 7}};
	struct made_file *made = made_file_new_c();

	assert_int_equal(probe_made(made), EP_CODE_ONLY);
	assert_roots(made, roots, EP_LEN(roots));
}

/* Nothing is described then: the file's own rules hold. */
EP_TEST(code_that_is_not_understood_is_left_alone)
{
	static const struct {
		const char *label;
		uint32_t off; /* from FILE_VA */
		uint8_t byte;
	} changes[] = {
		{"no words", WORDS_VA - FILE_VA, 'x'},
		{"more words", WORDS_VA - FILE_VA + 25, '!'},
		{"nobody says them", STUB_VA - FILE_VA + 0x35, 0},
		{"no store", STUB_VA - FILE_VA + STORE + 4, 2},
		{"of 4 bytes", STUB_VA - FILE_VA + STORE, 0x90},
	};

	for (size_t i = 0; i < EP_LEN(changes); i++) {
		struct made_file *made = made_file_new_c();

		made->bytes[changes[i].off] = changes[i].byte;
		if (probe_made(made) != EP_NOT_MINE)
			fail_msg("%s", changes[i].label);
	}
}

EP_TEST(of_two_stores_none_is_the_one)
{
	struct made_file *made = made_file_new_c();

	memcpy(made->bytes + STUB_VA - FILE_VA + 0x0d, stub + STORE, 8);
	assert_int_equal(probe_made(made), EP_NOT_MINE);
}

/* Jumps to everywhere, calls that lead nowhere: it ends, and stays within the function. */
EP_TEST(any_code_ends)
{
	for (uint32_t seed = 1; seed < 400; seed++) {
		struct made_file *made = made_file_new_c();
		uint64_t random = seed;

		for (size_t i = STORE + 8; i < sizeof(stub); i++) {
			random = random * 6364136223846793005ull + 1442695040888963407ull;
			if (i < 0x32 || i >= 0x39)
				made->bytes[STUB_VA - FILE_VA + i] = (uint8_t)(random >> 56);
		}
		if (probe_made(made) != EP_CODE_ONLY)
			continue;
		for (uint32_t i = 0;
		     i < ((struct py_executable *)made->executable)->greenlet.n_parts; i++) {
			const struct ep_symbol *part =
				&((struct py_executable *)made->executable)->greenlet.parts[i];

			assert_in_range(part->va, STUB_VA, STUB_VA + sizeof(stub) - 1);
			assert_in_range(part->bytes, 1, STUB_VA + sizeof(stub) - part->va);
		}
		py_unload(made->executable);
	}
}
