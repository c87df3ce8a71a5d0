/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Python plugin's view of a file: which CPython it is, and its offsets. Fixtures have the
 * offsets of each minor, test_live.c probes the interpreters of this machine; here is what they do
 * not have.
 */
#include "core/base/util.h"
#include "plugins/python/python.h"
#include "tests/kit/host.h"
#include "tests/kit/test.h"

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
	made->symbols[made->host.n_symbols++] =
		(struct fake_symbol){name, {.va = va, .bytes = bytes}};
}

/* --- offsets ---------------------------------------------------------------------------------- */

EP_TEST(other_minors_have_no_table)
{
	struct py_layout offsets;

	assert_int_equal(py_layout_find(PY_VERSION(3, 5), false, &offsets), -ENOTSUP);
	assert_int_equal(py_layout_find(PY_VERSION(2, 7), false, &offsets), -ENOTSUP);
	assert_int_equal(py_layout_find(PY_VERSION(3, 13), false, &offsets), -ENOTSUP);
}

EP_TEST(traced_references_shift_objects)
{
	struct py_layout plain, traced;

	assert_int_equal(py_layout_find(PY_VERSION(3, 7), false, &plain), 0);
	assert_int_equal(py_layout_find(PY_VERSION(3, 7), true, &traced), 0);
	assert_int_equal(traced.object_type, plain.object_type + 16);
	assert_int_equal(traced.frame_code, plain.frame_code + 16);
	assert_int_equal(traced.thread_frame, plain.thread_frame);
	assert_int_equal(py_layout_find(PY_VERSION(3, 12), false, &plain), 0);
	assert_int_equal(py_layout_find(PY_VERSION(3, 12), true, &traced), 0);
	assert_int_equal(traced.frame_code, plain.frame_code);
	assert_int_equal(traced.code_instructions, plain.code_instructions + 16);
	assert_int_equal(traced.code.ob_refcnt, 16);
	assert_int_equal(traced.code.check_off, plain.code.check_off + 16);
	assert_int_equal(traced.code.co_qualname, plain.code.co_qualname + 16);
	assert_int_equal(traced.code.co_lines, plain.code.co_lines + 16);
	assert_int_equal(traced.code.str_ascii_data, plain.code.str_ascii_data + 16);
	assert_int_equal(traced.code.bytes_data, plain.code.bytes_data + 16);
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

EP_TEST(debug_offsets_that_make_no_sense_are_refused)
{
	uint64_t words[PY_DEBUG_OFFSETS_BYTES / 8];
	size_t n = make_offsets(words, 0x030e0af0, 0);
	struct py_layout offsets;

	assert_int_equal(py_layout_from_debug(words, n, 4104, &offsets), -ENOTSUP); /* its size */
	assert_int_equal(py_layout_from_debug(words, 300, 4096, &offsets), -ENOTSUP);
	assert_int_equal(py_layout_from_debug(words, 16, 4096, &offsets), -ENODATA);
	words[34] = 88; /* an instruction pointer after the frame */
	assert_int_equal(py_layout_from_debug(words, n, 4096, &offsets), -ENOTSUP);
	words[34] = UINT64_MAX;
	assert_int_equal(py_layout_from_debug(words, n, 4096, &offsets), -ENOTSUP);
	words[34] = 56;
	words[0] ^= 1;
	assert_int_equal(py_layout_from_debug(words, n, 4096, &offsets), -ENODATA);
}

/* 3.13: DWARF of 3.13.0; 3.14: PyGILState_GetThisThreadState of 3.14.10. Gone in 3.15. */
EP_TEST(key_is_not_among_the_debug_offsets)
{
	uint64_t words[PY_DEBUG_OFFSETS_BYTES / 8];
	size_t n = make_offsets(words, 0x030e0af0, 0);
	struct py_layout offsets;

	assert_int_equal(py_layout_from_debug(words, n, 4096, &offsets), 0);
	assert_int_equal(offsets.runtime_key, 2336);
	make_offsets(words, 0x036300f0, 0);
	assert_int_equal(py_layout_from_debug(words, n, 4096, &offsets), 0);
	assert_int_equal(offsets.runtime_key, PY_NONE);
}

/* Nobody knows 3.99, but its struct may still be one of those that are known. */
EP_TEST(a_newer_version_is_tried)
{
	uint64_t words[PY_DEBUG_OFFSETS_BYTES / 8];
	size_t n = make_offsets(words, 0x036300f0, 0);
	struct py_layout offsets;

	assert_int_equal(py_layout_from_debug(words, n, 4096, &offsets), 0);
	assert_int_equal(offsets.version, PY_VERSION(3, 99));
	assert_int_equal(offsets.thread_frame, 72);
	/* 3.15 is known, and this is not it. */
	make_offsets(words, 0x030f00f0, 0);
	assert_int_equal(py_layout_from_debug(words, n, 4096, &offsets), -ENOTSUP);
}

EP_TEST(free_threads_have_bytecode_of_their_own)
{
	uint64_t words[PY_DEBUG_OFFSETS_BYTES / 8];
	size_t n = make_offsets(words, 0x030e0af0, 1);
	struct py_layout offsets;

	words[38] = 72;	 /* tlbc_index */
	words[49] = 200; /* co_tlbc */
	assert_int_equal(py_layout_from_debug(words, n, 4096, &offsets), 0);
	assert_true(offsets.free_threaded);
	assert_int_equal(offsets.runtime_key, PY_NONE);
	assert_int_equal(offsets.frame_copy, 72);
	assert_int_equal(offsets.code_copies, 200);
	assert_int_equal(offsets.code_first_traceable, 184);
}

/* --- files ------------------------------------------------------------------------------------ */

EP_TEST(other_files_are_not_mine)
{
	struct made_file *made = new_file();
	void *executable = NULL;

	assert_int_equal(py_probe(ep_unwinder_host_get(), &made->host.file, &executable),
			 EP_NOT_MINE);
	add_symbol(made, "_PyThreadState_Current", 0x2000, 8); /* 2.7, 3.5 */
	assert_int_equal(py_probe(ep_unwinder_host_get(), &made->host.file, &executable),
			 EP_NOT_MINE);
	assert_null(executable);
}
