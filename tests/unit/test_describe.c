/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What languages say of a file's code: what is refused, how names go beside those of the file, and
 * the life of an executable that was described.
 *
 *	test_describe SAMPLES	the directory of test_elf_samples.sh
 */
#include "bpf/rule.h"
#include "core/base/clock.h"
#include "core/elf/lookup.h"
#include "core/process/executables_internal.h"
#include "core/plugin/description.h"
#include "core/symbol/native.h"
#include "core/trace/lines.h"
#include "tests/unit/elf_samples.h"
#include "tests/unit/room.h"

#define GOOD_ROW                                                                                   \
	{                                                                                          \
		.va = 0x1000, .bytes = 16, .cfa_reg = 7, .cfa_off = 8, .ra_place = EP_CODE_AT_CFA, \
		.ra = -8                                                                           \
	}

EP_TEST_ARGUMENTS("SAMPLES_DIRECTORY")

/*
 * --- what may be reported ------------------------------------------------------------------------
 */

EP_TEST_RELEASES(ep_description_fini)

static struct ep_description *new_description(void)
{
	static struct ep_description description;

	ep_description_init(&description);
	ep_test_owns(&description, ep_description_fini_made);
	return &description;
}

#define DESCRIPTION_TEST(name)                                                                     \
	EP_TEST_OF(name, struct ep_description *description, new_description())

DESCRIPTION_TEST(rows_that_cannot_be_are_refused)
{
	static const struct ep_code_row good = GOOD_ROW;
	struct ep_code_row bad[10];

	for (size_t i = 0; i < EP_LEN(bad); i++)
		bad[i] = good;
	bad[0].bytes = 0;
	bad[1].va = UINT64_MAX - 15;
	bad[2].flags = 8;
	bad[3].cfa_reg = 16;
	bad[4].ra_place = EP_CODE_LOST + 1;
	bad[5].fp_place = EP_CODE_LOST + 1;
	bad[6].ra_place = EP_CODE_IN_REG; /* -8 */
	bad[7].fp_place = EP_CODE_IN_REG;
	bad[7].fp = 16;
	bad[8].fp_place = 255;
	bad[9].pad = 1;
	for (size_t i = 0; i < EP_LEN(bad); i++) {
		struct ep_code_row rows[] = {good, bad[i]};

		if (ep_description_add_rows(description, rows, 2) != -EINVAL)
			fail_msg("row %zu", i);
	}
	assert_int_equal(description->rows.len, 0);
	bad[1].va--;
	assert_int_equal(ep_description_add_rows(description, &bad[1], 1), 0);
	assert_int_equal(ep_description_add_rows(description, NULL, 0), 0);
}

DESCRIPTION_TEST(there_is_a_limit_of_all)
{
	static const struct ep_code_row row = GOOD_ROW;
	struct ep_symbol symbol = {.va = 0x1000, .bytes = 16};
	char name[5001];
	int r = 0, n = 0;

	for (size_t i = 0; i < EP_MAX_CODE_ROWS; i++)
		assert_int_equal(ep_description_add_rows(description, &row, 1), 0);
	assert_int_equal(ep_description_add_rows(description, &row, 1), -E2BIG);
	for (size_t i = 0; i < EP_MAX_CODE_SYMBOLS; i++)
		assert_int_equal(ep_description_add_symbol(description, &symbol, "x"), 0);
	assert_int_equal(ep_description_add_symbol(description, &symbol, "x"), -E2BIG);
	ep_description_fini(description);
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (; r == 0; n++)
		r = ep_description_add_symbol(description, &symbol, name);
	assert_int_equal(r, -E2BIG);
	assert_int_equal(n - 1, EP_MAX_CODE_NAMES / 4096); /* each was cut */
	assert_int_equal(ep_described_symbols_len(description->symbols), n - 1);
}

DESCRIPTION_TEST(symbols_that_cannot_be_are_refused)
{
	struct ep_symbol bad[] = {{0x1000, 0}, {UINT64_MAX, 1}, {UINT64_MAX - 15, 16}, {0, 1ull << 32}};
	struct ep_symbol good = {UINT64_MAX - 16, 16};
	struct ep_symbol found = {0};

	for (size_t i = 0; i < EP_LEN(bad); i++)
		assert_int_equal(ep_description_add_symbol(description, &bad[i], "x"), -EINVAL);
	assert_int_equal(ep_description_add_symbol(description, &good, ""), -EINVAL);
	assert_int_equal(ep_description_add_symbol(description, &good, NULL), -EINVAL);
	assert_int_equal(ep_description_add_symbol(description, &good, "a\nb\xff"), 0);
	ep_description_end(description);
	assert_string_equal(ep_described_symbols_find(description->symbols, UINT64_MAX - 1, &found),
			    "a?b?");
	assert_int_equal(found.va, good.va);
	assert_int_equal(found.bytes, good.bytes);
	assert_null(ep_described_symbols_find(description->symbols, UINT64_MAX, &found));
	assert_null(ep_described_symbols_find(description->symbols, 0, &found));
}

/* --- who says it ----------------------------------------------------------------------------- */

/* The executable is what describe is to return. */
static int describe_some(void *executable, const struct ep_file *file,
			 struct ep_description *description)
{
	static const struct ep_code_row rows[] = {GOOD_ROW, GOOD_ROW};
	const struct ep_unwinder_host *host = ep_unwinder_host_get();
	struct ep_symbol symbol = {.va = 0x1000, .bytes = 16};

	assert_int_equal(host->add_rows(description, rows, 2), 0);
	assert_int_equal(host->add_symbol(description, &symbol, "some"), 0);
	return *(int *)executable;
}

DESCRIPTION_TEST(nothing_stays_of_who_fails)
{
	static const struct ep_unwinder_ops ops = {.size = sizeof(ops), .describe = describe_some};
	static const struct ep_unwinder_ops older = {
		.size = offsetof(struct ep_unwinder_ops, describe), .describe = describe_some};
	static const int results[] = {-EBADMSG, 0, -ENODATA, EP_NOT_YET, 0};
	size_t n = 0;

	for (size_t i = 0; i < EP_LEN(results); i++) {
		int said = results[i], r = ep_description_ask(description, &ops, &said, NULL);

		assert_int_equal(r, said > 0 ? -EBADMSG : said);
		n += said == 0;
		assert_int_equal(description->rows.len, 2 * n);
		assert_int_equal(ep_described_symbols_len(description->symbols), n);
	}
	assert_int_equal(ep_description_ask(description, &older, NULL, NULL), 0);
	assert_int_equal(description->rows.len, 2 * n);
	ep_description_fini(description);
	ep_description_init(description);
	assert_int_equal(ep_description_ask(description, &ops, (int[]){-EBADMSG}, NULL), -EBADMSG);
	ep_description_end(description);
	assert_null(description->symbols);
}

DESCRIPTION_TEST(rows_come_in_any_order)
{
	static const struct ep_code_row row = GOOD_ROW;
	uint64_t last = 0;

	for (uint64_t i = 0; i < 1000; i++) {
		struct ep_code_row next = row;

		next.va = i * 7919 % 1000 * 32;
		assert_int_equal(ep_description_add_rows(description, &next, 1), 0);
	}
	ep_description_end(description);
	for (size_t i = 0; i < 1000; i++) {
		const struct ep_code_row *at = ep_vec_at(&description->rows, struct ep_code_row, i);

		assert_true(i == 0 || at->va > last);
		last = at->va;
	}
}

/* --- names ----------------------------------------------------------------------------------- */

DESCRIPTION_TEST(the_innermost_symbol_is_found)
{
	static const struct {
		struct ep_symbol symbol;
		const char *name;
	} symbols[] = {
		{{0x1010, 0x10}, "inner"}, {{0x1000, 0x100}, "outer"}, {{0x1200, 8}, "other"},
		{{0x1200, 16}, "second at one place"}, {{0x1018, 4}, "innermost"},
	};
	static const struct {
		uint64_t va, start;
		const char *name;
	} cases[] = {
		{0xfff, 0, NULL}, {0x1000, 0x1000, "outer"}, {0x1010, 0x1010, "inner"},
		{0x1018, 0x1018, "innermost"}, {0x101b, 0x1018, "innermost"},
		{0x101c, 0x1010, "inner"}, {0x1020, 0x1000, "outer"}, {0x10ff, 0x1000, "outer"},
		{0x1100, 0, NULL}, {0x1200, 0x1200, "other"}, {0x1208, 0x1200, "second at one place"},
		{0x1210, 0, NULL},
	};

	for (size_t i = 0; i < EP_LEN(symbols); i++)
		assert_int_equal(ep_description_add_symbol(description, &symbols[i].symbol,
							   symbols[i].name), 0);
	ep_description_end(description);
	for (size_t i = 0; i < EP_LEN(cases); i++) {
		struct ep_symbol found = {0};
		const char *name = ep_described_symbols_find(description->symbols, cases[i].va, &found);

		if ((name == NULL) != (cases[i].name == NULL) ||
		    (name && (strcmp(name, cases[i].name) != 0 || found.va != cases[i].start)))
			fail_msg("0x%llx: %s", (unsigned long long)cases[i].va, name ? name : "none");
	}
}

/* sample_asm_long is assembly without a size or call frame information: 400 bytes and a return. */
static uint64_t find_symbol(const char *name)
{
	struct ep_elf *elf = sample_open("full");
	struct ep_elf_lookup lookup;
	struct ep_elf_symbol symbol = {0};

	ep_elf_lookup_init(&lookup, elf);
	assert_int_equal(ep_elf_lookup_symbol(&lookup, name, &symbol), 0);
	ep_elf_lookup_fini(&lookup);
	ep_test_release(elf);
	return symbol.va;
}

static int open_stripped(void *arg)
{
	return open(sample_path("stripped"), O_RDONLY | O_CLOEXEC);
}

static void assert_named(struct ep_native_symbols *symbols, const struct ep_native_file *file,
			 uint64_t va, const char *name, uint64_t start_va)
{
	struct ep_frame_line line[EP_FRAME_MAX_LINES] = {0};
	ep_cleanup(ep_lines_fini) struct ep_lines lines;

	assert_int_equal(ep_lines_init(&lines, 1), 0);
	assert_int_equal(ep_native_symbols_resolve(symbols, file, &va, 1, &lines), 0);
	assert_int_equal(ep_lines_get(&lines, 0, line), name ? 1 : 0);
	if (name) {
		assert_string_equal(line[0].function, name);
		assert_null(line[0].system_name);
		assert_int_equal(line[0].start_va, start_va);
	}
}

/* The file has the name for 256 bytes of it: nobody knows how long it is. */
EP_TEST(names_go_beside_the_files_own)
{
	uint64_t va = find_symbol("sample_asm_long"), other = find_symbol("sample_asm_func");
	struct ep_native_file file = {.key = 1, .open = open_stripped, .root = "", .path = ""};
	struct ep_native_symbols *symbols = NULL;
	struct ep_description description;

	assert_int_equal(ep_native_symbols_new(1 << 20, &symbols), 0);
	ep_description_init(&description);
	assert_named(symbols, &file, va + 0x20, "sample_asm_long", va);
	assert_named(symbols, &file, va + 300, NULL, 0);
	(void)ep_description_add_symbol(&description, &(struct ep_symbol){va, 400}, "same place");
	(void)ep_description_add_symbol(&description, &(struct ep_symbol){va + 16, 8}, "_Z3fooi");
	(void)ep_description_add_symbol(&description, &(struct ep_symbol){va - 64, 1024}, "around");
	(void)ep_description_add_symbol(&description, &(struct ep_symbol){other, 4}, "shorter");
	ep_description_end(&description);
	file.described = description.symbols;
	assert_named(symbols, &file, va + 15, "sample_asm_long", va); /* the file's */
	assert_named(symbols, &file, va + 16, "_Z3fooi", va + 16);    /* as it is */
	assert_named(symbols, &file, va + 24, "sample_asm_long", va);
	assert_named(symbols, &file, va + 300, "same place", va);
	assert_named(symbols, &file, va + 400, "around", va - 64);
	assert_named(symbols, &file, other + 3, "shorter", other);
	assert_named(symbols, &file, other + 4, "sample_asm_func", other);
	ep_description_fini(&description);
	ep_native_symbols_free(symbols);
}

/* --- the life of an executable --------------------------------------------------------------- */

static struct {
	uint64_t va;	 /* of what is described */
	unsigned int probed, described, unloaded;
	size_t n_symbols, name_bytes; /* more of them, and how long their names are */
	int result, probe_result;
} plugin;

static int probe(const struct ep_unwinder_host *host, const struct ep_file *file, void **ret)
{
	struct ep_symbol symbol;

	if (host->file_symbol(file, "sample_asm_long", &symbol) < 0)
		return EP_NOT_MINE;
	plugin.probed++;
	*ret = &plugin;
	return plugin.probe_result;
}

static int describe(void *executable, const struct ep_file *file, struct ep_description *description)
{
	const struct ep_unwinder_host *host = ep_unwinder_host_get();
	struct ep_code_row row = GOOD_ROW;
	struct ep_symbol symbol = {.va = plugin.va + 300, .bytes = 100};
	char name[1024];
	uint8_t code;

	assert_ptr_equal(executable, &plugin);
	assert_non_null(strstr(host->file_path(file), "/stripped"));
	assert_int_equal(host->file_read(file, plugin.va, &code, 1), 0);
	assert_int_equal(code, 0x90);
	plugin.described++;
	row.va = plugin.va;
	row.bytes = 401;
	row.cfa_off = 24;
	assert_int_equal(host->add_rows(description, &row, 1), 0);
	memset(name, 'x', sizeof(name));
	name[EP_MIN(plugin.name_bytes, sizeof(name) - 1)] = '\0';
	assert_int_equal(host->add_symbol(description, &symbol, "the rest"), 0);
	for (size_t i = 0; i < plugin.n_symbols; i++)
		assert_int_equal(host->add_symbol(description, &symbol, name), 0);
	return plugin.result;
}

static void unload(void *executable)
{
	assert_ptr_equal(executable, &plugin);
	plugin.unloaded++;
}

static const struct ep_unwinder_ops plugin_ops = {
	.size = sizeof(plugin_ops), .probe = probe, .describe = describe, .unload = unload};

static int open_room(void **state)
{
	struct room *room;

	(void)room_open(state);
	room = *state;
	memset(&plugin, 0, sizeof(plugin));
	plugin.va = find_symbol("sample_asm_long");
	room->languages.n = 1;
	room->languages.all[0].ops = &plugin_ops;
	room->languages.all[0].languages = &room->languages;
	room->languages.all[0].name = "script";
	return 0;
}

static int close_room(void **state)
{
	(void)room_close(state);
	assert_int_equal(plugin.unloaded, plugin.probed);
	return 0;
}

EP_TEST_RELEASES(ep_executable_unref)

/* A file, as a process that runs it is seen to map it. */
static struct ep_executable *map_file(struct room *room, const char *path)
{
	struct ep_mapping mapping = {.kind = EP_MAPPING_FILE, .path = path};
	struct ep_executable *executable;
	struct ep_proc_file file;

	assert_int_equal(ep_proc_open_path(path, &file), 0);
	executable = ep_executables_get(room->executables, getpid(), &mapping, &file, 0);
	assert_non_null(executable);
	ep_test_owns(executable, ep_executable_unref_made);
	uv_run(&room->loop, UV_RUN_DEFAULT);
	return executable;
}

static struct ep_executable *map_stripped(struct room *room)
{
	return map_file(room, sample_path("stripped"));
}

/* The look-up of bpf/native.bpf.h, written down plainly. */
static uint32_t find_rule(const struct room *room, const struct ep_executable *executable,
			  uint64_t va)
{
	const struct ep_delta_store_segment *segment = NULL;
	size_t n = ep_delta_store_text_segments(executable->text, &segment);
	uint32_t rule = EP_RULE_NONE;
	const uint32_t *chunk;
	uint64_t page;

	for (; n > 0 && (va - segment->va) >> EP_PAGE_SHIFT >= segment->n_pages; n--)
		segment++;
	assert_true(n > 0);
	chunk = ep_delta_store_chunk(room->store, EP_REF_CHUNK(segment->pages));
	memcpy(&page, chunk + EP_REF_WORD(segment->pages) + 2 * ((va - segment->va) >> EP_PAGE_SHIFT),
	       sizeof(page));
	if (EP_PAGE_COUNT(page) == 0)
		return EP_PAGE_REF(page);
	chunk = ep_delta_store_chunk(room->store, EP_REF_CHUNK(EP_PAGE_REF(page)));
	for (uint32_t i = 0; i < EP_PAGE_COUNT(page); i++) {
		uint32_t delta = chunk[EP_REF_WORD(EP_PAGE_REF(page)) + i];

		if (delta >> 20 <= (va & (EP_PAGE_BYTES - 1)))
			rule = EP_DELTA_RULE(delta);
	}
	return rule;
}

static void assert_described(const struct room *room, const struct ep_executable *executable)
{
	uint32_t rule = EP_RULE_IMM(0, 0, 24) & ~EP_RULE_KEEPS;
	struct ep_symbol found;

	assert_int_equal(executable->state, EP_EXECUTABLE_READY);
	assert_int_equal(executable->n_claims, 1);
	assert_int_equal(find_rule(room, executable, plugin.va), rule);
	assert_int_equal(find_rule(room, executable, plugin.va + 400), rule);
	assert_int_equal(find_rule(room, executable, plugin.va - 1), EP_RULE_NONE);
	assert_string_equal(ep_described_symbols_find(executable->described, plugin.va + 300, &found),
			    "the rest");
}

static void rebuild_tables(struct room *room, struct ep_executable *executable)
{
	assert_true(ep_executables_evict_one(room->executables));
	assert_null(executable->text);
	assert_non_null(executable->described); /* names need no tables */
	executable->hit_ns = ep_clock_mono_ns();
	ep_executables_restore_one(room->executables,
				   ep_clock_mono_ns() + EP_EXECUTABLE_RETRY_NS + EP_NS_PER_SEC);
	uv_run(&room->loop, UV_RUN_DEFAULT);
}

#define EXECUTABLE_TEST(name) EP_TEST_ON(name, struct room *room, open_room, close_room)

EXECUTABLE_TEST(it_is_described_each_time_its_tables_are_made)
{
	struct ep_executable *executable = map_stripped(room);

	assert_described(room, executable);
	assert_int_equal(plugin.described, 1);
	assert_true(ep_executables_stats(room->executables)->described_bytes > 0);
	rebuild_tables(room, executable);
	assert_described(room, executable);
	assert_int_equal(plugin.described, 2);
	assert_int_equal(plugin.probed, 1);
	assert_int_equal(plugin.unloaded, 0);
}

/* A file that cannot be read for once, a plugin that has no memory. */
EXECUTABLE_TEST(names_stay_when_it_is_not_described_again)
{
	struct ep_executable *executable = map_stripped(room);
	uint64_t bytes = ep_executables_stats(room->executables)->described_bytes;
	struct ep_symbol found;

	plugin.result = -ENOMEM;
	rebuild_tables(room, executable);
	assert_int_equal(plugin.described, 2);
	assert_non_null(executable->described);
	assert_string_equal(ep_described_symbols_find(executable->described, plugin.va + 300, &found),
			    "the rest");
	assert_int_equal(ep_executables_stats(room->executables)->described_bytes, bytes);
	plugin.result = 0;
	plugin.n_symbols = 100;
	plugin.name_bytes = 10;
	rebuild_tables(room, executable);
	assert_described(room, executable);
	assert_true(ep_executables_stats(room->executables)->described_bytes > bytes);
	assert_int_equal(ep_executables_stats(room->executables)->nameless, 0);
}

EXECUTABLE_TEST(names_outlive_the_executable_where_they_are_held)
{
	struct ep_executable *executable = map_stripped(room);
	struct ep_described_symbols *symbols = ep_described_symbols_ref(executable->described);
	struct ep_symbol found;
	uint64_t now_ns = ep_clock_mono_ns();

	ep_test_release(executable);
	assert_true(ep_executables_evict_one(room->executables));
	ep_executables_sweep(room->executables, now_ns + 100 * EP_NS_PER_SEC, EP_NS_PER_SEC);
	assert_int_equal(ep_executables_stats(room->executables)->live, 0);
	assert_int_equal(ep_executables_stats(room->executables)->described_bytes, 0);
	assert_int_equal(plugin.unloaded, 1);
	assert_string_equal(ep_described_symbols_find(symbols, plugin.va + 399, &found), "the rest");
	ep_described_symbols_unref(symbols);
}

EXECUTABLE_TEST(who_cannot_describe_it_runs_in_it_all_the_same)
{
	struct ep_executable *executable;

	plugin.result = -ENOTSUP;
	executable = map_stripped(room);
	assert_int_equal(plugin.described, 1);
	assert_int_equal(executable->state, EP_EXECUTABLE_READY);
	assert_int_equal(executable->n_claims, 1);
	assert_null(executable->described);
	assert_int_equal(find_rule(room, executable, plugin.va), EP_RULE_NONE);
}

EXECUTABLE_TEST(what_is_no_runtime_can_be_described)
{
	struct ep_executable *executable;

	plugin.probe_result = EP_CODE_ONLY;
	executable = map_stripped(room);
	assert_described(room, executable);
	assert_false(ep_claim_is_runtime(executable->claims[0]));
	assert_int_equal(plugin.unloaded, 0);
}

EXECUTABLE_TEST(what_launches_a_runtime_is_neither_described_nor_unloaded)
{
	struct ep_executable *executable;

	plugin.probe_result = EP_LAUNCHER;
	room->languages.stopped = true; /* nothing is loaded */
	executable = map_stripped(room);
	assert_int_equal(executable->n_claims, 1);
	assert_true(ep_claim_is_launcher(executable->claims[0]));
	assert_false(ep_claim_is_runtime(executable->claims[0]));
	assert_int_equal(plugin.described, 0);
	plugin.probed = 0; /* it gave nothing to unload */
}

#define MANY 20

/* Copies, each another file. */
EXECUTABLE_TEST(names_of_all_files_have_a_limit)
{
	const char *dir = ep_test_directory();
	size_t with = 0;

	plugin.n_symbols = 1000;
	plugin.name_bytes = 1000;
	for (size_t i = 0; i < MANY; i++) {
		const char *path = ep_test_path(dir, "stripped.%zu", i);
		const struct ep_executable *executable;

		ep_test_copy(sample_path("stripped"), path, 0755);
		executable = map_file(room, path);
		assert_int_equal(executable->state, EP_EXECUTABLE_READY);
		assert_int_equal(find_rule(room, executable, plugin.va + 400),
				 EP_RULE_IMM(0, 0, 24) & ~EP_RULE_KEEPS);
		with += executable->described != NULL;
	}
	assert_true(with > 10 && with < MANY);
	assert_int_equal(ep_executables_stats(room->executables)->nameless, MANY - with);
	assert_true(ep_executables_stats(room->executables)->described_bytes <= 16u << 20);
}
