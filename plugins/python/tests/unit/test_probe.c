/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Python plugin's view of a file: which CPython it is, its offsets, its evaluation loop. With
 * files made here, and with every interpreter of this machine.
 *
 *	test_python_probe		$PYENV_ROOT or ~/.pyenv, /usr/bin, $EP_RUNTIMES
 */
#include "core/base/util.h"
#include "core/plugin/elf_file.h"
#include "plugins/python/python.h"
#include "tests/kit/host.h"
#include "tests/kit/test.h"

#include <elf.h>
#include <glob.h>

/* --- a file made of pieces -------------------------------------------------------------------- */

#define FILE_VA	   0x1000u
#define FILE_BYTES 0x3000u

struct made_file {
	struct fake_host host;
	struct fake_symbol symbols[16];
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
	made->host.symbols = made->symbols;
	made->host.sections = sections;
	made->host.n_sections = EP_LEN(sections);
	return made;
}

static void add_symbol(struct made_file *made, const char *name, uint64_t va, uint64_t bytes)
{
	assert_true(made->host.n_symbols < EP_LEN(made->symbols));
	made->symbols[made->host.n_symbols++] = (struct fake_symbol){name, {.va = va, .bytes = bytes}};
}

/* --- offsets ---------------------------------------------------------------------------------- */

EP_TEST(each_old_minor_has_offsets)
{
	struct py_offsets offsets;

	for (uint32_t minor = 6; minor <= 12; minor++) {
		assert_int_equal(py_offsets_find(PY_VERSION(3, minor), false, &offsets), 0);
		assert_int_equal(offsets.version, PY_VERSION(3, minor));
		assert_int_equal(offsets.code.version, PY_VERSION(3, minor));
		assert_true(offsets.frame_bytes <= PY_FRAME_BYTES);
		assert_true(offsets.frame_instruction + 4 <= offsets.frame_bytes);
	}
	assert_int_equal(py_offsets_find(PY_VERSION(3, 5), false, &offsets), -ENOTSUP);
	assert_int_equal(py_offsets_find(PY_VERSION(2, 7), false, &offsets), -ENOTSUP);
	assert_int_equal(py_offsets_find(PY_VERSION(3, 13), false, &offsets), -ENOTSUP);
}

EP_TEST(traced_references_shift_objects)
{
	struct py_offsets plain, traced;

	assert_int_equal(py_offsets_find(PY_VERSION(3, 7), false, &plain), 0);
	assert_int_equal(py_offsets_find(PY_VERSION(3, 7), true, &traced), 0);
	assert_int_equal(traced.object_type, plain.object_type + 16);
	assert_int_equal(traced.frame_code, plain.frame_code + 16);
	assert_int_equal(traced.thread_frame, plain.thread_frame);
	assert_int_equal(py_offsets_find(PY_VERSION(3, 12), false, &plain), 0);
	assert_int_equal(py_offsets_find(PY_VERSION(3, 12), true, &traced), 0);
	assert_int_equal(traced.frame_code, plain.frame_code);
	assert_int_equal(traced.code_instructions, plain.code_instructions + 16);
}

/* struct _Py_DebugOffsets as 3.14 arranges it, with most numbers of 3.14.10 on x86-64; what
 * the plugin does not read is 0. */
static size_t make_offsets(uint64_t *words, uint64_t version, uint64_t free_threaded)
{
	static const struct {
		uint8_t at;
		uint16_t value;
	} values[] = {
		{3, 4096}, {5, 840},				      /* runtime_state */
		{6, 9000}, {8, 7272}, {9, 7344},		      /* interpreter_state */
		{22, 880}, {24, 8},   {26, 72},	 {27, 152},	      /* thread_state */
		{31, 88},  {32, 8},   {34, 56},	 {35, 80},  {36, 74}, /* interpreter_frame */
		{39, 216}, {40, 112}, {41, 120}, {42, 128}, {43, 136},
		{44, 68},  {45, 52},  {46, 96},	 {47, 104}, {48, 208}, /* code_object */
		{50, 16},  {51, 8},   {52, 416}, {53, 24},	       /* pyobject, type_object */
		{74, 40},  {75, 16},  {76, 32},			       /* bytes_object */
		{77, 64},  {78, 32},  {79, 16},	 {80, 40},	       /* unicode_object */
	};

	memset(words, 0, PY_DEBUG_OFFSETS_BYTES);
	memcpy(words, "xdebugpy", 8);
	words[1] = version;
	words[2] = free_threaded;
	for (size_t i = 0; i < EP_LEN(values); i++)
		words[values[i].at] = values[i].value;
	return PY_DEBUG_OFFSETS_BYTES;
}

EP_TEST(debug_offsets_are_read)
{
	uint64_t words[PY_DEBUG_OFFSETS_BYTES / 8];
	size_t n = make_offsets(words, 0x030e0af0, 0);
	struct py_offsets offsets;

	assert_int_equal(py_offsets_from_debug(words, n, 4096, &offsets), 0);
	assert_int_equal(offsets.version, PY_VERSION(3, 14));
	assert_int_equal(offsets.runtime_interpreters, 840);
	assert_int_equal(offsets.interp_threads, 7344);
	assert_int_equal(offsets.thread_id, 152);
	assert_int_equal(offsets.frame_code, 0);
	assert_int_equal(offsets.frame_instruction, 56);
	assert_int_equal(offsets.frame_owner, 74);
	assert_int_equal(offsets.frame_bytes, 80);
	assert_int_equal(offsets.code_first_traceable, 192);
	assert_int_equal(offsets.code.co_qualname, 128);
	assert_int_equal(offsets.frame_copy, PY_NONE);
}

EP_TEST(debug_offsets_that_make_no_sense_are_refused)
{
	uint64_t words[PY_DEBUG_OFFSETS_BYTES / 8];
	size_t n = make_offsets(words, 0x030e0af0, 0);
	struct py_offsets offsets;

	assert_int_equal(py_offsets_from_debug(words, n, 4104, &offsets), -ENOTSUP); /* its size */
	assert_int_equal(py_offsets_from_debug(words, 300, 4096, &offsets), -ENOTSUP);
	assert_int_equal(py_offsets_from_debug(words, 16, 4096, &offsets), -ENODATA);
	words[34] = 88; /* an instruction pointer behind the frame */
	assert_int_equal(py_offsets_from_debug(words, n, 4096, &offsets), -ENOTSUP);
	words[34] = UINT64_MAX;
	assert_int_equal(py_offsets_from_debug(words, n, 4096, &offsets), -ENOTSUP);
	words[34] = 56;
	words[0] ^= 1;
	assert_int_equal(py_offsets_from_debug(words, n, 4096, &offsets), -ENODATA);
}

/* Nobody knows 3.99, but its struct may still be one of those that are known. */
EP_TEST(a_newer_version_is_tried)
{
	uint64_t words[PY_DEBUG_OFFSETS_BYTES / 8];
	size_t n = make_offsets(words, 0x036300f0, 0);
	struct py_offsets offsets;

	assert_int_equal(py_offsets_from_debug(words, n, 4096, &offsets), 0);
	assert_int_equal(offsets.version, PY_VERSION(3, 99));
	assert_int_equal(offsets.thread_frame, 72);
	/* 3.15 is known, and this is not it. */
	make_offsets(words, 0x030f00f0, 0);
	assert_int_equal(py_offsets_from_debug(words, n, 4096, &offsets), -ENOTSUP);
}

EP_TEST(free_threads_have_bytecode_of_their_own)
{
	uint64_t words[PY_DEBUG_OFFSETS_BYTES / 8];
	size_t n = make_offsets(words, 0x030e0af0, 1);
	struct py_offsets offsets;

	words[38] = 72;	 /* tlbc_index */
	words[49] = 200; /* co_tlbc */
	assert_int_equal(py_offsets_from_debug(words, n, 4096, &offsets), 0);
	assert_true(offsets.free_threaded);
	assert_int_equal(offsets.frame_copy, 72);
	assert_int_equal(offsets.code_copies, 200);
	assert_int_equal(offsets.code_first_traceable, 184);
}

/* What is accepted must fit into BPF's windows or be refused by attach; here: no nonsense. */
EP_TEST(hostile_offsets_do_no_harm)
{
	uint64_t words[PY_DEBUG_OFFSETS_BYTES / 8];
	struct py_offsets offsets;
	unsigned int accepted = 0;
	size_t n;

	srand(1);
	for (unsigned int run = 0; run < 200000; run++) {
		n = make_offsets(words, 0x030e0af0 + ((uint64_t)(rand() % 4) << 16), rand() % 2);
		for (int i = rand() % 4; i >= 0; i--)
			words[3 + rand() % 100] =
				rand() % 2 ? (uint64_t)rand() % 300 : (uint64_t)rand() << 33;
		if (py_offsets_from_debug(words, n, rand() % 2 ? 4096 : 0, &offsets) == 0) {
			accepted++;
			assert_true(offsets.frame_bytes <= 256);
			assert_true(offsets.frame_code < 256 && offsets.frame_instruction < 256);
			assert_true(offsets.thread_id < 1 << 16);
		}
	}
	assert_true(accepted > 1000);
}

/* --- files ------------------------------------------------------------------------------------- */

EP_TEST(other_files_are_not_mine)
{
	struct made_file *made = new_file();
	void *executable = NULL;

	assert_int_equal(py_probe(ep_unwinder_host_get(), &made->host.file, &executable), EP_NOT_MINE);
	add_symbol(made, "_PyThreadState_Current", 0x2000, 8); /* 2.7, 3.5 */
	assert_int_equal(py_probe(ep_unwinder_host_get(), &made->host.file, &executable), EP_NOT_MINE);
	assert_null(executable);
}

EP_TEST(versions_are_told_by_their_functions)
{
	static const struct {
		const char *symbol;
		uint32_t version;
	} cases[] = {
		{"PyCode_Type", PY_VERSION(3, 6)},
		{"_PyRuntime", PY_VERSION(3, 7)},
		{"PyCode_NewWithPosOnlyArgs", PY_VERSION(3, 8)},
		{"PyObject_VectorcallMethod", PY_VERSION(3, 9)},
		{"PyIter_Send", PY_VERSION(3, 10)},
	};
	struct made_file *made = new_file();

	add_symbol(made, "_PyThreadState_Current", 0x2000, 8);
	add_symbol(made, "_PyEval_EvalFrameDefault", 0x1100, 0x200);
	for (size_t i = 0; i < EP_LEN(cases); i++) {
		struct py_executable *exe;
		void *executable = NULL;

		add_symbol(made, cases[i].symbol, 0x2100, 64);
		assert_int_equal(py_probe(ep_unwinder_host_get(), &made->host.file, &executable), 0);
		exe = executable;
		assert_int_equal(exe->offsets.version, cases[i].version);
		py_unload(executable);
	}
}

/* --- the interpreters of this machine --------------------------------------------------------- */

/* "libpython3.11.so.1.0", "python3.13d": 0x030b, 0x030d; 0: no such name. */
static uint32_t version_in_name(const char *path)
{
	const char *at = strstr(strrchr(path, '/'), "python3.");
	char *end;
	unsigned long minor;

	if (!at)
		return 0;
	minor = strtoul(at + 8, &end, 10);
	return end > at + 8 ? PY_VERSION(3, (uint32_t)minor) : 0;
}

static bool check_executable(const struct py_executable *exe, uint32_t version, const char *path)
{
	const struct py_offsets *offsets = &exe->offsets;
	uint64_t code = 0;

	for (uint32_t i = 0; i < exe->n_code; i++)
		code += exe->code[i].bytes;
	print_message("  %s: %u parts of the loop, %" PRIu64 " bytes%s%s\n", path, exe->n_code,
		      code, exe->debug_offsets ? ", debug offsets" : "",
		      offsets->free_threaded ? ", free-threaded" : "");
	assert_int_equal(offsets->version, version);
	assert_true(exe->debug_offsets == (version >= PY_VERSION(3, 13)));
	assert_true(code > 20000); /* it is never less */
	assert_true(exe->code_type_va && exe->type_type_va);
	/* How a thread's own state is found. */
	assert_true(exe->holder_va || exe->variables[0].kind);
	assert_true(exe->key_va || exe->variables[1].kind || offsets->free_threaded);
	return true;
}

static bool probe_file(const char *path)
{
	struct ep_elf_file file = {0};
	uint32_t version = version_in_name(path);
	struct ep_elf *elf = NULL;
	void *executable = NULL;
	bool checked = false;
	int r;

	if (version < PY_VERSION(3, 6) || ep_elf_open(path, &elf) < 0)
		return false;
	ep_elf_file_init(&file, elf, NULL, path);
	r = py_probe(ep_unwinder_host_get(), &file.file, &executable);
	if (r == 0)
		checked = check_executable(executable, version, path);
	else
		assert_int_equal(r, EP_NOT_MINE); /* it only links libpython */
	py_unload(executable);
	ep_elf_file_fini(&file);
	ep_elf_close(elf);
	return checked;
}

static unsigned int probe_files(const char *directory, const char *pattern, uint32_t *minors)
{
	char path[512];
	unsigned int n = 0;
	glob_t found;

	snprintf(path, sizeof(path), "%s/%s", directory, pattern);
	if (glob(path, 0, NULL, &found) != 0)
		return 0;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		if (!probe_file(found.gl_pathv[i]))
			continue;
		*minors |= 1u << (version_in_name(found.gl_pathv[i]) & 31);
		n++;
	}
	globfree(&found);
	return n;
}

EP_TEST(real_interpreters_are_understood)
{
	const char *home = getenv("HOME"), *pyenv = getenv("PYENV_ROOT"),
		   *roots = getenv("EP_RUNTIMES");
	char directory[256];
	uint32_t minors = 0;
	unsigned int n;

	snprintf(directory, sizeof(directory), "%s%s",
		 pyenv	? pyenv
		 : home ? home
			: "", pyenv ? "" : "/.pyenv");
	n = probe_files(directory, "versions/3.*/lib/libpython3.*.so.1.0", &minors);
	n += probe_files(directory, "versions/3.*/bin/python3.*", &minors);
	n += probe_files("/usr/bin", "python3.*", &minors);
	if (roots) {
		n += probe_files(roots, "*/usr/bin/python3.*", &minors);
		n += probe_files(roots, "*/usr/lib/*/libpython3.*.so.1.0", &minors);
	}
	for (unsigned int minor = 6; minor <= 15; minor++) {
		if (!(minors & 1u << minor))
			print_message("SKIPPED: no CPython 3.%u here\n", minor);
	}
	if (n == 0)
		skip();
}
