/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a plugin is given of a file at probe: by the analysis of a live process, by the capture of
 * one, and by the fixture that it made. All three must say the same, also of stripped files whose
 * debug files are installed here.
 *
 *	test_probe_answers SAMPLES	the directory of test_elf_samples.sh
 */
#include "core/process/analysis.h"
#include "core/language/internal.h"
#include "core/replay/capture_files.h"
#include "core/replay/replay_internal.h"
#include "tests/unit/elf_samples.h"
#include "tests/unit/heap_chunks.h"

#define MAX_ANSWERS 256
#define CODE_BYTES  16

EP_TEST_ARGUMENTS("SAMPLES_DIRECTORY")

/* --- the plugin: keeps what it is given ------------------------------------------------------- */

struct answer {
	int result;
	char name[32];
	struct ep_symbol symbol;
	uint8_t code[CODE_BYTES];
};

static struct {
	struct answer answers[MAX_ANSWERS];
	size_t n;
} told;

static struct answer *new_answer(void)
{
	assert_true(told.n < MAX_ANSWERS);
	told.answers[told.n] = (struct answer){0};
	return &told.answers[told.n++];
}

static void ask_address(const struct ep_unwinder_host *host, const struct ep_file *file, uint64_t va)
{
	struct answer *answer = new_answer();

	answer->result = host->file_function(file, va, &answer->symbol);
	answer = new_answer();
	answer->result = host->file_read(file, va, answer->code, CODE_BYTES);
}

/* Asks something in its turn, which moves what a recording has. */
static int see_symbol(void *arg, const char *name, const struct ep_symbol *symbol)
{
	const struct ep_file *file = arg;
	struct answer *answer;

	ask_address(ep_unwinder_host_get(), file, symbol->va);
	answer = new_answer();
	answer->symbol = *symbol;
	snprintf(answer->name, sizeof(answer->name), "%s", name);
	return strcmp(name, "sample_known") == 0; /* there are more */
}

static int probe(const struct ep_unwinder_host *host, const struct ep_file *file, void **ret)
{
	static const char *const symbols[] = {"sample_known", "sample_compare", "not_there"};
	static const char *const sections[] = {".text", ".bss", ".symtab", ".debug_frame"};

	told.n = 0;
	for (size_t i = 0; i < EP_LEN(symbols); i++) {
		struct answer *answer = new_answer();

		answer->result = host->file_symbol(file, symbols[i], &answer->symbol);
		if (answer->result == 0)
			ask_address(host, file, answer->symbol.va + 1);
	}
	for (size_t i = 0; i < EP_LEN(sections); i++) {
		struct answer *answer = new_answer();

		answer->result = host->file_section(file, sections[i], &answer->symbol);
	}
	new_answer()->result = host->file_symbols(file, "sample_", see_symbol, (void *)file);
	new_answer()->result = host->file_symbols(file, "no_such_", see_symbol, (void *)file);
	return EP_NOT_MINE;
}

static const struct ep_unwinder_ops ops = {.size = sizeof(ops), .probe = probe};

/* --- the three ways -------------------------------------------------------------------------- */

static void probe_live(const char *path)
{
	static struct ep_languages languages = {.n = 1};
	static struct ep_rule rules[EP_MAX_RULES];
	struct ep_delta_store_ops store_ops = {
		.add_chunk = heap_add_chunk, .remove_chunk = heap_remove_chunk, .rules = rules};
	struct ep_analysis analysis = {
		.pid = getpid(),
		.mapping = {.path = path, .kind = EP_MAPPING_FILE},
		.languages = &languages,
		.file.fd = open(path, O_RDONLY | O_CLOEXEC),
	};

	assert_int_equal(ep_delta_store_new(&store_ops, 16 << 20, &analysis.store), 0);
	languages.all[0].ops = &ops;
	languages.all[0].name = "script";
	ep_analysis_run(&analysis);
	assert_int_equal(analysis.result, 0);
	assert_int_equal(analysis.n_claims, 0);
	if (analysis.text)
		ep_delta_store_drop_text(analysis.store, analysis.text);
	ep_proc_file_close(&analysis.file);
	ep_delta_store_free(analysis.store);
}

static int open_mapping(struct ep_snapshot *snapshot, const struct ep_mapping *mapping)
{
	return open(mapping->path, O_RDONLY | O_CLOEXEC);
}

/* What the replay asks the plugin, with a source or without. */
static void probe_fixture(struct ep_fixture *fixture, const struct ep_replay_source *source)
{
	ep_cleanup(ep_replay_freep) struct ep_replay *replay = NULL;
	struct ep_replay_file arg = {.executable = 0};
	struct ep_file file;

	assert_int_equal(ep_replay_new(fixture, source, NULL, &replay), 0);
	arg.replay = replay;
	file = ep_replay_file(&arg);
	assert_int_equal(probe(ep_unwinder_host_get(), &file, NULL), EP_NOT_MINE);
	assert_int_equal(ep_replay_faults(replay)->unanswered, 0);
}

static struct ep_fixture *record(const char *path)
{
	static const struct ep_snapshot_ops snapshot_ops = {.open = open_mapping};
	struct ep_snapshot snapshot = {.ops = &snapshot_ops};
	struct ep_replay_source source = {0};
	struct ep_fixture *fixture = NULL;
	char line[4200];

	snprintf(line, sizeof(line), "10000-20000 r-xp 00000000 fe:01 7 %s\n", path);
	ep_maps_init(&snapshot.maps, 16);
	assert_int_equal(ep_maps_parse(&snapshot.maps, line, strlen(line), EP_MAPS_ALL), 0);
	assert_int_equal(ep_fixture_new(&fixture), 0);
	fixture->arch = ep_replay_arch_find(EM_X86_64);
	assert_int_equal(ep_capture_files_new(&snapshot, fixture, &source.files), 0);
	assert_int_equal(ep_capture_files_update(source.files), 0);
	assert_int_equal(fixture->executables.len, 1);
	probe_fixture(fixture, &source);
	ep_capture_files_free(source.files);
	ep_maps_fini(&snapshot.maps);
	return fixture;
}

/* As a file: written, and read by somebody who has none of the executables. */
static void probe_recorded(const struct ep_fixture *fixture)
{
	struct ep_fixture *again = NULL;
	struct ep_vec bytes;

	ep_vec_init(&bytes, 1, EP_FIXTURE_MAX_BYTES);
	assert_int_equal(ep_fixture_encode(fixture, &bytes), 0);
	assert_int_equal(ep_fixture_decode(bytes.data, bytes.len, &again), 0);
	probe_fixture(again, NULL);
	ep_fixture_free(again);
	ep_vec_fini(&bytes);
}

static void check_same(const struct answer *expected, size_t n)
{
	assert_int_equal(told.n, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(told.answers[i].result, expected[i].result);
		assert_string_equal(told.answers[i].name, expected[i].name);
		assert_int_equal(told.answers[i].symbol.va, expected[i].symbol.va);
		assert_int_equal(told.answers[i].symbol.bytes, expected[i].symbol.bytes);
		assert_memory_equal(told.answers[i].code, expected[i].code, CODE_BYTES);
	}
}

static void check_sample(const char *name)
{
	static struct answer live[MAX_ANSWERS];
	ep_cleanup(ep_fixture_freep) struct ep_fixture *fixture = NULL;
	char path[PATH_MAX];
	size_t n;

	assert_non_null(realpath(sample_path(name), path));
	probe_live(path);
	n = told.n;
	memcpy(live, told.answers, n * sizeof(*live));
	fixture = record(path);
	check_same(live, n);
	probe_recorded(fixture);
	check_same(live, n);
}

/* --- tests ----------------------------------------------------------------------------------- */

EP_TEST(a_file_without_a_debug_file_answers_alike)
{
	check_sample("full");
	check_sample("stripped");
	assert_int_equal(told.answers[3].result, -ENODATA); /* sample_compare */
}

/* sample_compare is in its debug file's .symtab alone. */
EP_TEST(a_debug_file_is_seen_live_and_recorded)
{
	check_sample("beside/linked");
	assert_int_equal(told.answers[3].result, 0);
	assert_true(told.answers[3].symbol.va && told.answers[3].symbol.bytes);
}

static bool was_told_of(const char *name)
{
	for (size_t i = 0; i < told.n; i++) {
		if (strcmp(told.answers[i].name, name) == 0)
			return true;
	}
	return false;
}

EP_TEST(symbols_by_prefix_are_seen_live_and_recorded)
{
	check_sample("stripped");
	assert_true(was_told_of("sample_known"));
	assert_false(was_told_of("sample_compare"));
	check_sample("beside/linked");
	assert_true(was_told_of("sample_known") && was_told_of("sample_compare"));
	assert_false(was_told_of("sample_public")); /* after the one that ends it */
}

/* Function bounds are in its debug file's .debug_frame alone. */
EP_TEST(a_debug_file_gives_bounds_live_and_recorded)
{
	check_sample("beside/bare");
	assert_int_equal(told.answers[1].result, 0); /* of sample_known */
	assert_int_equal(told.answers[1].symbol.va, told.answers[0].symbol.va);
}
