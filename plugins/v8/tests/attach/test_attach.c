/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files with V8 in them and their processes, made up here: as they are, before they are, and as
 * nobody would make them.
 */
#include "plugins/shared/attach/attach.h"
#include "plugins/v8/tests/attach/made_v8.h"
#include "tests/kit/test.h"

#include <unistd.h>

static struct made_v8 *new_v8(uint16_t major, uint16_t minor)
{
	struct made_v8 *v8 = calloc(1, sizeof(*v8));

	assert_non_null(v8);
	ep_test_owns(v8, free);
	made_init(v8, major, minor);
	return v8;
}

static struct v8_executable *probe(struct made_v8 *v8)
{
	void *executable = NULL;

	assert_int_equal(v8_probe(fake_host_services(&v8->host), &v8->host.file, &executable), 0);
	ep_test_owns(executable, v8_unload);
	return executable;
}

/* One whole life: probe, attach; the outcome of attach. */
static int attach_to(struct made_v8 *v8)
{
	struct v8_executable *exe = probe(v8);
	void *instance = NULL;
	int r = v8_attach(exe, &v8->host.target, &instance);

	if (r == 0) {
		assert_int_equal(v8_refresh(instance), 0);
		v8_detach(instance);
	}
	ep_test_release(exe);
	return r;
}

static struct v8_version version_of(const char *text)
{
	struct v8_version version = {0};

	(void)v8_version_parse(text, &version);
	return version;
}

/* --- versions and layouts --------------------------------------------------------------------- */

EP_TEST(versions_are_told_from_other_numbers)
{
	static const char *const others[] = {
		"",	   "127.0.0.1",	   "255.255.255.255", "1.3.36.1", "14.6.202",
		"6.2.4.x", "14.6.202.34x", "0.4.0.1862",      "2.5.4.3"};
	struct v8_version version = version_of("14.6.202.34-node.34");

	assert_int_equal(version.major, 14);
	assert_int_equal(version.minor, 6);
	assert_int_equal(version.build, 202);
	assert_int_equal(version.patch, 34);
	assert_int_equal(version_of("6.2.414.78").build, 414);
	assert_int_equal(version_of("13.0.245.12-rusty").major, 13);
	for (size_t i = 0; i < EP_LEN(others); i++)
		assert_false(v8_version_parse(others[i], &version));
}

static struct v8_layout layout_of(const char *version, const struct v8_published *published)
{
	const struct v8_version parsed = version_of(version);
	struct v8_published none;
	struct v8_layout layout;

	v8_published_init(&none);
	v8_layout_fill(&layout, &parsed, published ? published : &none);
	return layout;
}

EP_TEST(a_version_has_the_column_before_it)
{
	static const struct {
		const char *version;
		int32_t type_sfi, sfi_name, sfi_literal_id;
	} expected[] = {
		{"5.1.281.75", 175, 16, 104}, {"6.2.414.78", 175, 16, 104},
		{"6.7.288.49", 175, 16, 104}, {"6.8.275.32", 207, 16, 56},
		{"12.4.254.21", 274, 16, 52}, {"12.9.202.28", 274, 16, 52},
		{"13.6.233.17", 282, 24, 60}, {"14.1.146.11", 282, 24, 60},
		{"14.6.202.34", 288, 24, 60}, {"15.0.100.1", 288, 24, 60},
	};

	for (size_t i = 0; i < EP_LEN(expected); i++) {
		struct v8_layout layout = layout_of(expected[i].version, NULL);

		assert_int_equal(layout.type_sfi, expected[i].type_sfi);
		assert_int_equal(layout.sfi_name, expected[i].sfi_name);
		assert_int_equal(layout.sfi_literal_id, expected[i].sfi_literal_id);
	}
	assert_false(v8_has(layout_of("10.2.154.26", NULL).sfi_unique_id));
	assert_int_equal(layout_of("12.4.254.21", NULL).sfi_unique_id, 56);
}

EP_TEST(what_is_published_wins_where_it_can_be)
{
	struct v8_published published;
	struct v8_layout layout;

	v8_published_init(&published);
	assert_true(
		v8_published_wants("class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_"));
	assert_false(v8_published_wants("class_SharedFunctionInfo__name_or_scope_info__"));
	assert_false(v8_published_wants("class_SharedFunctionInfo__name"));
	assert_false(v8_published_wants("type_MapX__MAP_TYPE"));
	v8_published_add(&published, "class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_",
			 32);
	v8_published_add(&published, "type_Map__MAP_TYPE", 300);
	v8_published_add(&published, "type_Script__SCRIPT_TYPE", 70000);
	v8_published_add(&published, "class_Script__name__Object", -8);
	v8_published_add(&published, "class_Script__source__Object", 4096);
	v8_published_add(&published, "CodeKindFieldShift", 32);
	v8_published_add(&published, "off_fp_function", 16);
	v8_published_add(&published, "off_fp_bytecode_array", -40);
	v8_published_add(&published, "off_fp_bytecode_offset", -4096);
	layout = layout_of("12.4.254.21", &published);
	assert_int_equal(published.n, 3);
	assert_int_equal(layout.sfi_name, 32);
	assert_int_equal(layout.type_map, 300);
	assert_int_equal(layout.type_script, 167);
	assert_int_equal(layout.script_name, 16);
	assert_int_equal(layout.script_source, 8);
	assert_int_equal(layout.code_kind_shift, 0);
	assert_int_equal(layout.fp_function, -16);
	assert_int_equal(layout.fp_bytecode_array, -40);
	assert_int_equal(layout.fp_bytecode_off, -40);
}

/* Of a value's names the first that is there counts, in whichever order they come. */
EP_TEST(names_have_an_order)
{
	static const char *const names[] = {
		"class_Script__eval_from_shared_or_wrapped_arguments__Object",
		"class_Script__eval_from_shared_or_wrapped_arguments_or_sfi_table__Object"};

	for (size_t first = 0; first < 2; first++) {
		struct v8_published published;

		v8_published_init(&published);
		v8_published_add(&published, names[first], 200 + (int32_t)first);
		v8_published_add(&published, names[!first], 200 + !first);
		assert_int_equal(layout_of("9.4.146.26", &published).script_eval_from, 200);
	}
}

EP_TEST(an_unknown_version_is_what_it_is_like)
{
	struct v8_published published;

	assert_int_equal(layout_of("", NULL).version.major, 14);
	v8_published_init(&published);
	v8_published_add(&published, "type_Map__MAP_TYPE", 172);
	v8_published_add(&published, "type_Code__CODE_TYPE", 162);
	v8_published_add(&published, "type_JSFunction__JS_FUNCTION_TYPE", 1059);
	assert_int_equal(layout_of("", &published).version.major, 9);
	assert_int_equal(layout_of("", &published).script_id, 64);
}

EP_TEST(kinds_of_functions_are_bits)
{
	struct v8_layout old = layout_of("6.2.414.78", NULL), new = layout_of("14.6.202.34", NULL);

	assert_true(v8_kind_is(&old, 64 | 4, old.kinds_getter)); /* a concise one */
	assert_false(v8_kind_is(&old, 128, old.kinds_getter));
	assert_true(v8_kind_is(&new, 7, new.kinds_getter));
	assert_true(v8_kind_is(&new, 8, new.kinds_static));
	assert_false(v8_kind_is(&new, 7, new.kinds_static));
	assert_true(v8_kind_is(&new, 23, new.kinds_static));
	assert_false(v8_kind_is(&new, 24, new.kinds_static));
	assert_true(v8_kind_is(&new, 27, new.kinds_static));
	assert_false(v8_kind_is(&new, 63, new.kinds_getter));
}

/* --- files ------------------------------------------------------------------------------------ */

#define V8_TEST(name, major, minor) EP_TEST_OF(name, struct made_v8 *v8, new_v8(major, minor))

V8_TEST(files_without_v8_are_not_ours, 12, 4)
{
	void *executable = NULL;

	v8->host.n_symbols = 0;
	assert_int_equal(v8_probe(fake_host_services(&v8->host), &v8->host.file, &executable),
			 EP_NOT_MINE);
	/* The builtin's name is no more than a part of another. */
	memcpy(v8->rodata + 100, "\0xInterpreterEntryTrampoline", 29);
	memcpy(v8->rodata + 200, "\0InterpreterEntryTrampolineX", 29);
	assert_int_equal(v8_probe(fake_host_services(&v8->host), &v8->host.file, &executable),
			 EP_NOT_MINE);
	memcpy(v8->rodata + 300, "\0InterpreterEntryTrampoline", 28);
	v8->sections[0].symbol.bytes = 1 << 20; /* something small that knows the name */
	assert_int_equal(v8_probe(fake_host_services(&v8->host), &v8->host.file, &executable),
			 EP_NOT_MINE);
}

V8_TEST(stripped_files_are_known_by_their_strings, 12, 4)
{
	struct v8_executable *exe;

	v8->host.n_symbols = 0;
	memcpy(v8->rodata + 100, "\0" "8.11.170.17", 13); /* of something else */
	memcpy(v8->rodata + 200, "\0" "10.2.154.26-electron.0", 24);
	memcpy(v8->rodata + 300, "\0InterpreterEntryTrampoline", 28);
	memcpy(v8->rodata + 400, "\0" "9.4.146.26", 12);
	exe = probe(v8);
	assert_true(exe->has_version);
	assert_int_equal(exe->layout.version.major, 10);
	assert_int_equal(exe->layout.type_sfi, 257);
}

V8_TEST(constants_in_bss_are_zero, 12, 4)
{
	struct v8_executable *exe;

	made_publish(v8, "v8dbg_OddballUndefined", 0);
	made_publish(v8, "v8dbg_class_Map__instance_type__uint16_t", 14);
	made_add_symbol(v8, "v8dbg_type_Map__MAP_TYPE", 0x999999); /* nowhere */
	exe = probe(v8);
	assert_int_equal(exe->layout.oddball_undefined, 0);
	assert_int_equal(exe->layout.map_type, 14);
	assert_int_equal(exe->layout.type_map, 264);
}

V8_TEST(flags_are_found_by_their_table, 12, 4)
{
	struct v8_executable *exe;
	size_t at = 0x800;

	memcpy(v8->rodata + 0x10, "\0jitless", 9);
	memcpy(v8->rodata + 0x20, "\0detailed-line-info", 20);
	memcpy(v8->rodata + 0x40, "\0interpreted_frames_native_stack", 33);
	made_put(v8->data, at, 0);
	made_put(v8->data, at + 8, MADE_RODATA + 0x11);
	made_put(v8->data, at + 16, MADE_BSS + 1);
	made_put(v8->data, at + 64, 99); /* no type of a flag */
	made_put(v8->data, at + 72, MADE_RODATA + 0x21);
	made_put(v8->data, at + 80, MADE_BSS + 2);
	made_put(v8->data, at + 128, 0);
	made_put(v8->data, at + 136, MADE_RODATA + 0x21);
	made_put(v8->data, at + 144, MADE_BSS + 3);
	made_put(v8->data, at + 192, 0);
	made_put(v8->data, at + 200, MADE_RODATA + 0x41);
	made_put(v8->data, at + 208, MADE_DATA + 5);
	exe = probe(v8);
	assert_int_equal(exe->lines_flag_va, MADE_BSS + 3);
	assert_int_equal(exe->frames_flag_va, MADE_DATA + 5);
}

static struct {
	struct ep_code_row rows[8];
	char names[8][64];
	uint64_t va[8];
	size_t n_rows, n_symbols;
} described;

static int take_rows(struct ep_description *description, const struct ep_code_row *rows, size_t n)
{
	assert_true(described.n_rows + n <= EP_LEN(described.rows));
	memcpy(described.rows + described.n_rows, rows, n * sizeof(*rows));
	described.n_rows += n;
	return 0;
}

static int take_symbol(struct ep_description *description, const struct ep_symbol *symbol,
		       const char *name)
{
	described.va[described.n_symbols] = symbol->va;
	snprintf(described.names[described.n_symbols++], sizeof(described.names[0]), "%s", name);
	return 0;
}

V8_TEST(described_rows_say_what_builtins_say, 12, 4)
{
	struct v8_executable *exe = probe(v8);
	struct ep_unwinder_host host = *fake_host_services(&v8->host);
	const struct ep_code_row *rows = described.rows;

	host.add_rows = take_rows;
	host.add_symbol = take_symbol;
	exe->host = &host;
	assert_int_equal(v8_describe(exe, &v8->host.file, NULL), 0);
	assert_int_equal(described.n_rows, 4);
	assert_int_equal(rows[0].va, MADE_BLOB);
	assert_int_equal(rows[0].bytes, 0x60);
	assert_int_equal(rows[0].cfa_reg, 7);
	assert_int_equal(rows[0].cfa_off, 8);
	assert_int_equal(rows[0].ra_place, EP_CODE_AT_CFA);
	assert_int_equal(rows[0].ra, -8);
	assert_int_equal(rows[0].fp_place, EP_CODE_SAME);
	assert_int_equal(rows[1].cfa_reg, 6);
	assert_int_equal(rows[1].fp_place, EP_CODE_AT_CFA);
	assert_int_equal(rows[1].fp, -16);
	assert_int_equal(rows[2].ra_place, EP_CODE_IN_REG);
	assert_int_equal(rows[2].ra, 10);
	assert_int_equal(rows[3].flags, EP_CODE_UNKNOWN);
	assert_int_equal(described.n_symbols, 3);
	assert_int_equal(described.va[1], MADE_BLOB + 0x80);
	assert_string_equal(described.names[2], "Builtins_InterpreterEntryTrampoline");
}

/* --- processes -------------------------------------------------------------------------------- */

V8_TEST(names_of_old_builtins_are_in_the_file, 6, 8)
{
	void *exe = NULL;

	assert_int_equal(v8_probe(fake_host_services(&v8->host), &v8->host.file, &exe), 0);
	assert_string_equal(v8_heap_builtin_name(exe, 1), "Write");
	assert_null(v8_heap_builtin_name(exe, 2));
	v8_unload(exe);
}

V8_TEST(old_builtins_are_found_in_the_heap, 6, 8)
{
	assert_int_equal(attach_to(v8), 0);
	assert_int_equal(v8->host.n_warnings, 0);
	assert_int_equal(v8->host.n_ranges, 1);
	assert_int_equal(v8->host.ranges[0].flags, EP_RANGE_ANONYMOUS);
	assert_int_equal(v8->host.ranges[0].mode, EP_RANGE_ENTER);
	assert_int_equal(v8->state.iet_return, MADE_CODE + 0x110);
	assert_int_equal(v8->state.flags, V8_STATE_HEAP_BUILTINS | V8_STATE_REGEXP_UNMARKED);
	assert_int_equal(v8->state.blob_bytes, 0);
	assert_int_equal(v8->state.array_slot, -3);
	assert_int_equal(v8->state.offset_slot, -4);
	assert_int_equal(v8->state.array_reg, 14);
	assert_int_equal(v8->state.offset_reg, 9);
	/* Another isolate's: neither is right for all. */
	made_put_trampoline(v8, 0x400);
	assert_int_equal(attach_to(v8), 0);
	assert_int_equal(v8->state.iet_return, 0);
	assert_true(v8->state.flags & V8_STATE_IET_UNKNOWN);
	memset(v8->code, 0, sizeof(v8->code));
	assert_int_equal(attach_to(v8), 0);
	assert_true(v8->state.flags & V8_STATE_IET_UNKNOWN);
}

/* The second isolate has gone. */
V8_TEST(old_builtins_are_found_later, 6, 8)
{
	struct v8_executable *exe = probe(v8);
	void *instance = NULL;

	made_put_trampoline(v8, 0x400);
	assert_int_equal(v8_attach(exe, &v8->host.target, &instance), 0);
	assert_true(v8->state.flags & V8_STATE_IET_UNKNOWN);
	memset(v8->code + 0x400, 0, 64);
	(void)usleep(ATTACH_FIRST_PAUSE_NS / 1000 + 1000);
	assert_int_equal(v8_refresh(instance), 0);
	assert_false(v8->state.flags & V8_STATE_IET_UNKNOWN);
	assert_int_equal(v8->state.iet_return, MADE_CODE + 0x110);
	v8_detach(instance);
}

V8_TEST(each_mapping_of_builtins_is_a_range, 12, 4)
{
	assert_int_equal(attach_to(v8), 0);
	assert_int_equal(v8->host.n_ranges, 3);
	assert_int_equal(v8->host.ranges[0].start, MADE_BIAS + MADE_BLOB);
	assert_int_equal(v8->host.ranges[0].end, MADE_BIAS + MADE_BLOB + MADE_BLOB_BYTES);
	assert_int_equal(v8->host.ranges[1].start, MADE_COPY);
	assert_int_equal(v8->host.ranges[2].flags, EP_RANGE_ANONYMOUS);
	v8->has_blob = false; /* not mapped yet */
	assert_int_equal(attach_to(v8), EP_NOT_YET);
	v8->has_blob = v8->runs_nothing = true;
	v8->host.n_ranges = 0;
	assert_int_equal(attach_to(v8), EP_NOT_YET);
	assert_int_equal(v8->host.n_ranges, 0);
	assert_int_equal(v8->host.n_warnings, 0);
}

V8_TEST(state_says_what_the_file_says, 12, 4)
{
	const struct v8_state *told = &v8->state;

	assert_int_equal(attach_to(v8), 0);
	assert_int_equal(told->blob_bytes, MADE_BLOB_BYTES);
	assert_int_equal(told->iet_begin, 0x100);
	assert_int_equal(told->iet_push, 0x108);
	assert_int_equal(told->iet_return_off, 0x140);
	assert_int_equal(told->iet_end, 0x180);
	assert_int_equal(told->deopt_begin, 0);
	assert_int_equal(told->deopt_end, 0x100);
	assert_int_equal(told->root_off, 128);
	assert_int_equal(told->c_entry_fp, 128 + 0x90);
	assert_int_equal(told->vm_state, 128 + 0x128 + 16);
	assert_int_equal(told->js_function_shared, 32);
	assert_int_equal(told->bytecode_header, 64);
	assert_int_equal(told->function_slot, -2);
	assert_int_equal(told->array_slot, -4);
	assert_int_equal(told->offset_slot, -5);
	assert_int_equal(told->regexp_rbx_slot, -8);
	assert_int_equal(told->array_reg, 12);
	assert_int_equal(told->types[1], V8_TYPE_ENTRY);
	assert_int_equal(told->types[2], V8_TYPE_ENTRY);
	assert_int_equal(told->types[3], V8_TYPE_EXIT);
	assert_int_equal(told->types[4], V8_TYPE_WASM);
	assert_int_equal(told->types[17], V8_TYPE_STUB);
	assert_int_equal(told->types[23], V8_TYPE_CONSTRUCT);
	assert_int_equal(told->types[24], V8_TYPE_CONSTRUCT);
	assert_int_equal(told->types[27], V8_TYPE_EXIT);
	assert_int_equal(told->types[29], V8_TYPE_REGEXP);
	assert_int_equal(told->types[63], V8_TYPE_OTHER);
	assert_int_equal(told->flags, V8_STATE_UNIQUE_ID);
}

/* The cookie is of just the bits that never change, and of all of those. */
EP_TEST(cookies_are_of_what_never_changes)
{
	static const struct {
		uint16_t major, minor, at;
		uint64_t masks[V8_COOKIE_WORDS];
	} expected[] = {
		{6, 2, 104, {~0ull, UINT32_MAX, 0, 0xffeull << 32}},
		{6, 8, 56, {~0ull, UINT32_MAX, 0, 0x3e2ull << 32}},
		{7, 8, 24, {0, 0, UINT32_MAX, 0xffffffff0000047full}},
		{11, 3, 24, {0, 0, UINT32_MAX, 0xffffffff000007ffull}},
		{12, 4, 32, {0, 0, 0, UINT32_MAX}},
		{14, 6, 40, {0, 0, 0, UINT32_MAX}},
	};

	for (size_t i = 0; i < EP_LEN(expected); i++) {
		struct made_v8 *v8 = new_v8(expected[i].major, expected[i].minor);

		assert_int_equal(attach_to(v8), 0);
		assert_int_equal(v8->state.cookie_at, expected[i].at);
		for (size_t k = 0; k < V8_COOKIE_WORDS; k++)
			assert_int_equal(v8->state.cookie_masks[k], expected[i].masks[k]);
	}
}

V8_TEST(the_isolate_is_found_by_its_key, 10, 2)
{
	made_publish(v8, "_ZN2v88internal7Isolate12isolate_key_E", 3);
	assert_int_equal(attach_to(v8), 0);
	assert_int_equal(v8->state.isolate_tls.steps, 2);
	assert_int_equal(v8->state.isolate_tls.off[1], 3);
	v8 = new_v8(10, 2);
	made_publish(v8, "_ZN2v88internal7Isolate12isolate_key_E", -1); /* not created */
	assert_int_equal(attach_to(v8), 0);
	assert_int_equal(v8->state.isolate_tls.steps, 0);
}

V8_TEST(nothing_is_said_before_there_is_a_heap, 12, 4)
{
	v8->has_heap = false;
	assert_int_equal(attach_to(v8), EP_NOT_YET);
	v8->has_heap = true;
	memset(v8->heap, 0, sizeof(v8->heap));
	assert_int_equal(attach_to(v8), EP_NOT_YET);
	/* Its first word is there, its type is not. */
	made_put(v8->heap, MADE_META, MADE_HEAP + MADE_META + V8_TAG);
	assert_int_equal(attach_to(v8), EP_NOT_YET);
	/* Maps, but no functions. */
	made_init(v8, 12, 4);
	memset(v8->heap + MADE_SFIS, 0, MADE_HEAP_BYTES - MADE_SFIS);
	assert_int_equal(attach_to(v8), EP_NOT_YET);
	assert_int_equal(v8->host.n_warnings, 0);
	assert_int_equal(v8->host.n_ranges, 0);
	/* It is so large that functions may be anywhere: its maps are proof enough. */
	v8->heap_extent = 1ull << 30;
	v8->host.memory.n_bytes = 0;
	assert_int_equal(attach_to(v8), 0);
	assert_true(v8->host.memory.n_bytes < 17u << 20);
}

static void count_advice(void *arg, const char *found, const char *fix)
{
	assert_true(strlen(found) <= 160 && strlen(fix) <= 160);
	(*(unsigned int *)arg)++;
}

/* A refresh that cannot say where the file is leaves what was known of that. */
V8_TEST(a_file_that_is_gone_is_where_it_was, 10, 2)
{
	struct v8_executable *exe;
	void *instance = NULL;
	unsigned int n = 0;

	made_add_symbol(v8, "_ZN2v88internal23FLAG_detailed_line_infoE", MADE_BSS + 9);
	for (size_t i = 0; i < 2; i++)
		made_put(v8->heap, MADE_BYTECODES + i * 256 + 32,
			 MADE_HEAP + MADE_UNDEFINED + V8_TAG);
	exe = probe(v8);
	v8->host.target.bias =
		MADE_COPY - MADE_BLOB; /* of the copy: the file's own is found by the plugin */
	assert_int_equal(v8_attach(exe, &v8->host.target, &instance), 0);
	v8->has_blob = false;
	assert_int_equal(v8_refresh(instance), EP_NOT_YET);
	assert_int_equal(v8_advise(instance, count_advice, &n), 0);
	assert_int_equal(n, 1);
	v8_detach(instance);
}

/* Who maps it may give it a name; what the kernel calls something is none of V8's. */
V8_TEST(a_heap_may_have_a_name, 12, 4)
{
	v8->heap_name = "[anon:v8]";
	assert_int_equal(attach_to(v8), 0);
	v8->heap_name = "[heap]";
	assert_int_equal(attach_to(v8), EP_NOT_YET);
}

static void refuses(struct made_v8 *v8, const char *why)
{
	v8->host.n_warnings = 0;
	assert_int_equal(attach_to(v8), -ENOTSUP);
	assert_int_equal(v8->host.n_warnings, 1);
	assert_non_null(strstr(v8->host.logged, why));
}

V8_TEST(what_does_not_hold_is_one_line, 12, 4)
{
	made_put(v8->heap, MADE_META + 8, 99ull << 32);
	refuses(v8, "the type of maps");

	v8 = new_v8(12, 4);
	for (size_t i = 0; i < MADE_FUNCTIONS; i++)
		made_put(v8->heap, MADE_SFIS + i * 256 + 32, MADE_HEAP + MADE_STRING + V8_TAG);
	for (size_t i = MADE_FUNCTIONS; i < 40; i++)
		made_put(v8->heap, MADE_SFIS + i * 256, MADE_HEAP + MADE_SFI_MAP + V8_TAG);
	refuses(v8, "SharedFunctionInfos");

	/* Read-only space is whole: there is nothing to wait for. */
	v8 = new_v8(12, 4);
	memset(v8->heap + MADE_SFI_MAP, 0, 64);
	refuses(v8, "no map of SharedFunctionInfos");

	/* More than is looked at, and nothing of V8 in it. */
	v8 = new_v8(12, 4);
	memset(v8->heap, 0, sizeof(v8->heap));
	v8->heap_extent = 1ull << 30;
	refuses(v8, "no map of maps");

	v8 = new_v8(12, 4);
	v8->symbols[0].symbol.va = MADE_BSS; /* v8dbg_SmiShiftSize is 0 */
	refuses(v8, "compressed");

	/* Not published, but words have 32 bits. */
	v8 = new_v8(12, 4);
	memset(v8->heap, 0, sizeof(v8->heap));
	made_put(v8->heap, MADE_META, (uint32_t)(MADE_HEAP + MADE_META + V8_TAG));
	made_put(v8->heap, MADE_META + 8, 264);
	refuses(v8, "compressed");

	v8 = new_v8(12, 4);
	made_builtins = false;
	refuses(v8, "builtins");

	v8 = new_v8(12, 4);
	made_publish(v8, "v8dbg_class_SharedFunctionInfo__script__Tagged_HeapObject_", 4000);
	refuses(v8, "constants");
}

/* What the host takes for the file may be the copy. */
V8_TEST(the_copy_says_the_same, 10, 2)
{
	struct v8_state told;
	struct ep_range ranges[3];

	made_publish(v8, "_ZN2v88internal7Isolate12isolate_key_E", 3);
	assert_int_equal(attach_to(v8), 0);
	assert_int_equal(v8->host.n_ranges, 3);
	told = v8->state;
	memcpy(ranges, v8->host.ranges, sizeof(ranges));
	v8->host.target.bias = MADE_COPY - MADE_BLOB;
	assert_int_equal(attach_to(v8), 0);
	assert_int_equal(v8->host.n_ranges, 3);
	assert_memory_equal(&told, &v8->state, sizeof(told));
	assert_memory_equal(ranges, v8->host.ranges, sizeof(ranges));
	assert_int_equal(told.isolate_tls.steps, 2);
}

V8_TEST(frames_flag_is_told, 10, 2)
{
	made_add_symbol(v8, "_ZN2v88internal36FLAG_interpreted_frames_native_stackE", MADE_BSS + 9);
	assert_int_equal(attach_to(v8), 0);
	assert_false(v8->state.flags & V8_STATE_IET_COPIES);
	v8->bss[9] = 1;
	assert_int_equal(attach_to(v8), 0);
	assert_true(v8->state.flags & V8_STATE_IET_COPIES);
}

V8_TEST(advice_is_given_where_it_helps, 10, 2)
{
	struct v8_executable *exe;
	void *instance = NULL;
	unsigned int n = 0;

	made_add_symbol(v8, "_ZN2v88internal23FLAG_detailed_line_infoE", MADE_BSS + 9);
	exe = probe(v8);
	assert_int_equal(v8_attach(exe, &v8->host.target, &instance), 0);
	assert_int_equal(v8_advise(instance, count_advice, &n), 0);
	assert_int_equal(n, 0); /* all bytecode has its positions */
	for (size_t i = 0; i < 2; i++)
		made_put(v8->heap, MADE_BYTECODES + i * 256 + 32,
			 MADE_HEAP + MADE_UNDEFINED + V8_TAG);
	assert_int_equal(v8_advise(instance, count_advice, &n), 0);
	assert_int_equal(n, 1);
	v8->bss[9] = 1;
	assert_int_equal(v8_advise(instance, count_advice, &n), 0);
	assert_int_equal(n, 1);
	v8_detach(instance);
}
