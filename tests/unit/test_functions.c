/* SPDX-License-Identifier: Apache-2.0 */
/* Names of frames in executables with a function table of Go's, made here in each layout. */
#include "core/elf/file.h"
#include "core/symbol/functions.h"
#include "core/symbol/native.h"
#include "core/trace/lines.h"
#include "pclntab_file.h"
#include "tests/kit/test.h"

#include <sys/mman.h>
#include <unistd.h>

#define OUTER  (MADE_TEXT_VA + 64)
#define METHOD (MADE_TEXT_VA + 160)
#define MAIN   (MADE_TEXT_VA + 176)
#define BEHIND (MADE_TEXT_VA + 208)

static bool is_small(const struct made *made)
{
	return made->version->magic == 0xfffffff0 || made->version->magic == 0xfffffff1;
}

/* Where the fields after a function's entry are. */
static size_t fields_of(const struct made *made, size_t i)
{
	return made->funcs[i] + (is_small(made) ? 4 : 8);
}

EP_TEST_RELEASES(ep_functions_close)
EP_TEST_RELEASES(ep_function_memo_fini)

static struct ep_functions *open_made(const struct made *made)
{
	struct ep_functions *functions = NULL;
	struct ep_elf *elf = NULL;

	assert_int_equal(ep_elf_open_memory(made->bytes, sizeof(made->bytes), &elf), 0);
	assert_int_equal(ep_functions_open(elf, &functions), 0);
	ep_test_owns(functions, ep_functions_close_made);
	return functions;
}

static struct ep_function_memo *begin_memo(struct ep_function_memo *memo)
{
	ep_function_memo_init(memo);
	ep_test_owns(memo, ep_function_memo_fini_made);
	return memo;
}

/* Text of a frame's lines: "main.f lib.go:3 (1) | ...": in parentheses its first line. */
static void write_lines(const struct ep_lines *lines, size_t i, char *text, size_t bytes)
{
	struct ep_frame_line line[EP_FRAME_MAX_LINES];
	size_t n = ep_lines_get(lines, i, line), used = 0;

	text[0] = '\0';
	for (size_t nth = 0; nth < n && used < bytes; nth++) {
		used += (size_t)snprintf(text + used, bytes - used, "%s%s%s", nth ? " | " : "",
					 line[nth].function ? line[nth].function : "?",
					 line[nth].flags & EP_LINE_WRAPPER ? "*" : "");
		if (line[nth].file && used < bytes)
			used += (size_t)snprintf(text + used, bytes - used, " %s:%u",
						 line[nth].file, line[nth].line);
		if (line[nth].start_line && used < bytes)
			used += (size_t)snprintf(text + used, bytes - used, " (%u)",
						 line[nth].start_line);
	}
	assert_true(used < bytes);
}

/* The outcome of a name, and its lines. */
static int name_of(struct ep_functions *functions, struct ep_function_memo *memo, uint64_t va,
		   char *text, size_t bytes)
{
	ep_cleanup(ep_lines_fini) struct ep_lines lines;
	int r;

	assert_int_equal(ep_lines_init(&lines, 1), 0);
	r = ep_functions_add(functions, va, memo, &lines);
	ep_lines_end(&lines);
	write_lines(&lines, 0, text, bytes);
	return r;
}

static void expect(const struct made *made, uint64_t va, int r, const char *expected)
{
	struct ep_functions *functions = open_made(made);
	static struct ep_function_memo memo;
	char text[256];

	assert_int_equal(name_of(functions, begin_memo(&memo), va, text, sizeof(text)), r);
	if (strcmp(text, expected) != 0)
		fail_msg("%s: \"%s\", not \"%s\"", made->version->name, text, expected);
	ep_test_release(&memo);
	ep_test_release(functions);
}

/* An address below is of the code that was inlined twice, once, and not at all. */
EP_TEST(lines_are_those_of_each_function_at_the_address)
{
	static struct made made;

	for (size_t i = 0; i < EP_LEN(made_versions); i++) {
		const struct made_version *v = &made_versions[i];
		bool trees = v->magic != 0xfffffffb || v->preempts;

		made_file(&made, v);
		expect(&made, OUTER, 0,
		       v->start_lines ? "main.outer /src/main.go:10 (4)"
				      : "main.outer /src/main.go:10");
		expect(&made, OUTER + 59, 0,
		       !trees ? "main.outer /src/lib.go:33"
		       : v->start_lines
			       ? "main.innermost /src/lib.go:33 (40) | main.inner /src/lib.go:33 (30) | "
				 "main.outer /src/main.go:10 (4)"
			       : "main.innermost /src/lib.go:33 | main.inner /src/lib.go:33 | "
				 "main.outer /src/main.go:10");
		expect(&made, OUTER + 20, 0,
		       !trees ? "main.outer /src/lib.go:33"
		       : v->start_lines
			       ? "main.inner /src/lib.go:33 (30) | main.outer /src/main.go:10 (4)"
			       : "main.inner /src/lib.go:33 | main.outer /src/main.go:10");
		expect(&made, OUTER + 60, 0,
		       v->start_lines ? "main.outer /src/main.go:12 (4)"
				      : "main.outer /src/main.go:12");
	}
}

/* Its table of files goes on beyond its end: there is no line. */
EP_TEST(wrappers_say_what_they_are)
{
	static struct made made;

	for (size_t i = 0; i < EP_LEN(made_versions); i++) {
		const struct made_version *v = &made_versions[i];
		char expected[64];

		made_file(&made, v);
		snprintf(expected, sizeof(expected), "main.T.M%s%s", v->id_wrapper ? "*" : "",
			 v->start_lines ? " (5)" : "");
		expect(&made, METHOD, 0, expected);
	}
}

/* Padding after the last instruction has no line; the function is known all the same. */
EP_TEST(what_is_missing_costs_the_line_only)
{
	static struct made made;

	made_file(&made, version_of("1.20"));
	expect(&made, OUTER + 92, 0, "main.outer (4)");
	expect(&made, MADE_TEXT_VA - 1, EP_FUNCTIONS_NONE, "");
	expect(&made, BEHIND, EP_FUNCTIONS_NONE, "");
	/* a call that is in no function of the text */
	made_put(&made, made.tree + 8, 0x7fffffff, 4);
	expect(&made, OUTER + 20, 0, "main.outer /src/lib.go:33 (4)");
	/* a name that is none */
	made_put(&made, fields_of(&made, MADE_OUTER), made.name[MADE_OUTER] - 1, 4);
	expect(&made, OUTER, 0, "? /src/main.go:10 (4)");
	/* an entry that is another function's */
	made_put(&made, made.funcs[MADE_OUTER], 0, 4);
	expect(&made, OUTER, EP_FUNCTIONS_NONE, "");
	expect(&made, MAIN, 0, "main.main /src/main.go:0 (6)");
}

/* The inline tree of a hostile file goes round and round. */
EP_TEST(endless_inlining_ends)
{
	static struct ep_function_memo memo;
	static struct made made;
	ep_cleanup(ep_lines_fini) struct ep_lines lines;

	made_file(&made, version_of("1.26"));
	made_put(&made, made.tree + 8, 30, 4);
	assert_int_equal(ep_lines_init(&lines, 1), 0);
	assert_int_equal(ep_functions_add(open_made(&made), OUTER + 30, begin_memo(&memo), &lines), 0);
	ep_lines_end(&lines);
	assert_int_equal(lines.lines.len, EP_FRAME_MAX_LINES);
	assert_int_equal(lines.left_out, 0);
}

/* In any order a memo says what a new one does. */
EP_TEST(memo_changes_nothing)
{
	static struct ep_function_memo memo, once;
	struct ep_functions *functions;
	static struct made made;
	char text[256], again[256];

	made_file(&made, version_of("1.27"));
	functions = open_made(&made);
	begin_memo(&memo);
	for (uint64_t i = 0; i < 3 * 224; i++) {
		/* up, down, and to and fro */
		uint64_t off = i < 224 ? i : i < 448 ? 447 - i : i * 89 % 224;
		int r = name_of(functions, &memo, MADE_TEXT_VA + off, text, sizeof(text));

		ep_function_memo_init(&once);
		assert_int_equal(
			name_of(functions, &once, MADE_TEXT_VA + off, again, sizeof(again)), r);
		ep_function_memo_fini(&once);
		assert_string_equal(text, again);
	}
}

/* A signal's handler returns to the trampoline's first byte: the byte before is another's. */
EP_TEST(trampoline_is_found_from_before_it)
{
	static struct made made;
	uint32_t name;

	made_file(&made, version_of("1.20"));
	expect(&made, MAIN - 1, 0, "main.T.M* (5)");
	name = made_text(&made, "runtime.sigreturn__sigaction") - made.names;
	made_put(&made, fields_of(&made, 5), name, 4);
	expect(&made, MAIN - 1, 0, "runtime.sigreturn__sigaction /src/main.go:0 (6)");
	expect(&made, MAIN - 2, 0, "main.T.M* (5)");
}

/* C code that Go's own linker linked is in the table, and nothing is known of it but its name. */
static void made_external(struct made *made)
{
	for (size_t off = 12; off <= 20; off += 4)
		made_put(made, fields_of(made, 5) + off, 0, 4);
}

EP_TEST(external_code_is_left_to_others)
{
	static struct made made;

	made_file(&made, version_of("1.20"));
	made_external(&made);
	expect(&made, MAIN, EP_FUNCTIONS_EXTERNAL, "");
}

EP_TEST(names_are_shown_as_go_prints_them)
{
	static const struct {
		const char *name, *shown;
		bool has_pairs;
	} rows[] = {
		{"main.main", NULL, false},
		{"gopkg.in/yaml%2ev2.Unmarshal", NULL, false},
		{"main.Map[go.shape.int]", "main.Map[...]", false},
		{"main.Map[go.shape.int]", "main.Map[...]", true},
		{"main.Map[[]go.shape.int].func1", "main.Map[...].func1", true},
		{"main.(*List[main.Pair[int,string]]).Push", "main.(*List[...]).Push", true},
		{"main.Sorted[int].Collect[int].Append[int]-range1", "main.Sorted[...]-range1",
		 false},
		{"main.T[int].Map[string].func1", "main.T[...].Map[...].func1", true},
		{"main.T[...]", "main.T[...]", true},
		{"main.T[", NULL, false},
		{"main.T]", NULL, true},
		{"main.]T[", NULL, false},
		{"main.T[a]b]", "main.T[...]", true},
		{"[]", "[...]", true},
	};
	char shown[64];

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		bool r = ep_function_name_shown(rows[i].name, rows[i].has_pairs, shown,
						sizeof(shown));

		if (r != (rows[i].shown != NULL) || (r && strcmp(shown, rows[i].shown) != 0))
			fail_msg("%s: %s", rows[i].name, r ? shown : "as it is");
	}
	assert_false(ep_function_name_shown("main.Map[go.shape.int]", false, shown, 13));
}

/* ---- as executables are asked for ---- */

static int n_opens;

static int open_file(void *arg)
{
	const struct made *made = arg;
	int fd = memfd_create("made", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, made->bytes, MADE_BYTES), MADE_BYTES);
	n_opens++;
	return fd;
}

EP_TEST_RELEASES(ep_native_symbols_free)

static struct ep_native_symbols *new_symbols(void)
{
	struct ep_native_symbols *symbols = NULL;

	assert_int_equal(ep_native_symbols_new(1 << 20, &symbols), 0);
	ep_test_owns(symbols, ep_native_symbols_free_made);
	n_opens = 0;
	return symbols;
}

/* C code and data beside Go's are asked for elsewhere, and only then. */
EP_TEST(symbols_are_read_for_what_the_table_does_not_know)
{
	static const uint64_t known[] = {OUTER, OUTER + 20, MAIN};
	static const uint64_t others[] = {OUTER, MAIN, BEHIND};
	static struct made made;
	struct ep_native_file file = {
		.key = 7, .open = open_file, .arg = &made, .root = "", .path = "/made"};
	struct ep_native_symbols *symbols = new_symbols();
	struct ep_lines lines;
	char text[256];

	made_file(&made, version_of("1.26"));
	made_external(&made);
	for (int round = 0; round < 2; round++) {
		assert_int_equal(ep_lines_init(&lines, 2), 0);
		assert_int_equal(ep_native_symbols_resolve(symbols, &file, known, 2, &lines), 0);
		assert_int_equal(ep_lines_frames(&lines), 2);
		assert_int_equal(ep_lines_type(&lines, 1), EP_FRAME_TYPE_GO);
		write_lines(&lines, 1, text, sizeof(text));
		assert_string_equal(text, "main.inner /src/lib.go:33 (30) | main.outer "
					  "/src/main.go:10 (4)");
		ep_lines_fini(&lines);
		assert_int_equal(n_opens, 1);
	}
	assert_true(ep_native_symbols_bytes(symbols) < (128 << 10));
	assert_int_equal(ep_lines_init(&lines, 3), 0);
	assert_int_equal(ep_native_symbols_resolve(symbols, &file, others, 3, &lines), 0);
	assert_int_equal(n_opens, 2);
	assert_int_equal(ep_lines_type(&lines, 0), EP_FRAME_TYPE_GO);
	assert_int_equal(ep_lines_type(&lines, 1), EP_FRAME_TYPE_OF_KIND);
	write_lines(&lines, 1, text, sizeof(text));
	assert_string_equal(text, "main.main");
	assert_int_equal(ep_lines_type(&lines, 2), EP_FRAME_TYPE_OF_KIND);
	write_lines(&lines, 2, text, sizeof(text));
	assert_string_equal(text, "");
	ep_lines_fini(&lines);
	ep_native_symbols_forget(symbols, 7);
	assert_true(ep_native_symbols_bytes(symbols) < (16 << 10));
}

/* A table keeps its file open: what is forgotten gives its descriptor back. */
EP_TEST(descriptors_of_forgotten_files_are_not_counted)
{
	static const uint64_t va = MAIN;
	static struct made made;
	struct ep_native_file file = {
		.open = open_file, .arg = &made, .root = "", .path = "/made"};
	struct ep_native_symbols *symbols = new_symbols();
	struct ep_lines lines;

	made_file(&made, version_of("1.26"));
	for (file.key = 1; file.key <= 1000; file.key++) {
		for (int round = 0; round < 2; round++) {
			assert_int_equal(ep_lines_init(&lines, 1), 0);
			assert_int_equal(ep_native_symbols_resolve(symbols, &file, &va, 1, &lines), 0);
			ep_lines_fini(&lines);
			assert_int_equal(n_opens, file.key);
		}
		ep_native_symbols_forget(symbols, file.key);
	}
}

/* What is garbled has no table, and is an executable like others. */
EP_TEST(garbled_tables_are_no_tables)
{
	static const uint64_t va = OUTER;
	static struct made made;
	struct ep_native_file file = {
		.key = 7, .open = open_file, .arg = &made, .root = "", .path = "/made"};
	struct ep_native_symbols *symbols = new_symbols();
	struct ep_lines lines;

	made_file(&made, version_of("1.26"));
	made_put(&made, made.functab + 8, 0xffffffff, 4);
	assert_int_equal(ep_lines_init(&lines, 1), 0);
	assert_int_equal(ep_native_symbols_resolve(symbols, &file, &va, 1, &lines), 0);
	assert_int_equal(ep_lines_type(&lines, 0), EP_FRAME_TYPE_OF_KIND);
	assert_int_equal(n_opens, 1);
	ep_lines_fini(&lines);
}
