/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trees that libraries_samples.sh made, whose directory is the argument, and real programs of
 * this machine beside what ldd says of them.
 */
#include "core/proc/libraries.h"
#include "ld_cache_bytes.h"
#include "tests/kit/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#define REAL_PROGRAMS	  30

static char *samples; /* the directory, without links */

static struct ep_vec find(char *const *argv, char *const *envp,
			  const struct ep_libraries_system *system)
{
	struct ep_vec files;

	ep_vec_init(&files, sizeof(struct ep_library_file), EP_LIBRARIES_MAX_FILES);
	assert_int_equal(ep_libraries_find(argv, envp, system, NULL, &files), 0);
	return files;
}

/* "a b c", the files below the directory of samples by their paths there. */
static void describe(const struct ep_vec *files, char *text, size_t size)
{
	const struct ep_library_file *file;
	size_t at = 0, prefix = strlen(samples);

	text[0] = '\0';
	ep_vec_each(files, file) {
		bool ours = strncmp(file->path, samples, prefix) == 0;

		assert_true(file->file.fd >= 0);
		at += (size_t)snprintf(text + at, size - at, "%s%s", at ? " " : "",
				       file->path + (ours ? prefix + 1 : 0));
		assert_true(at < size);
	}
}

/* Text with each @ replaced by the directory of samples; of the test. */
static char *place(const char *text)
{
	ep_cleanup(ep_vec_fini) struct ep_vec bytes;
	char *copy;

	ep_vec_init(&bytes, 1, 65536);
	for (; *text; text++)
		assert_int_equal(ep_vec_printf(&bytes, "%.*s", *text == '@' ? INT_MAX : 1,
					       *text == '@' ? samples : text), 0);
	copy = strndup(bytes.data, bytes.len);
	assert_non_null(copy);
	ep_test_owns(copy, free);
	return copy;
}

static void write_file(const char *name, const void *data, size_t bytes, mode_t mode)
{
	char *path = place(name);
	ep_autoclose int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, bytes), (ssize_t)bytes);
	assert_int_equal(fchmod(fd, mode), 0);
}

/* Both architectures that can run these tests. */
static void write_cache(void)
{
	char *mid = place("@/cached/libcached-mid.so"), *wrong = place("@/foreign/libother.so");
	const struct cache_entry entries[] = {
		{0x0303, "libother.so", wrong},
		{0x0a03, "libother.so", wrong},
		{0x0303, "libmid.so", mid},
		{0x0a03, "libmid.so", mid},
	};
	ep_cleanup(ep_vec_fini) struct ep_vec bytes;

	ep_vec_init(&bytes, 1, 65536);
	put_new_cache(&bytes, entries, EP_LEN(entries), 2);
	write_file("@/ld.so.cache", bytes.data, bytes.len, 0644);
}

#define MAX_LIST 6

static void place_all(const char *const texts[MAX_LIST], char *placed[MAX_LIST + 1])
{
	size_t n = 0;

	for (; n < MAX_LIST && texts[n]; n++)
		placed[n] = place(texts[n]);
	placed[n] = NULL;
}

struct finding {
	const char *label;
	const char *argv[MAX_LIST], *envp[MAX_LIST];
	const char *expected;
};

static const struct finding findings[] = {
	{"a RUNPATH with $ORIGIN", {"@/runpath/bin/app"}, {NULL},
	 "runpath/bin/app ld.so runpath/lib/libmid.so"},
	{"$ORIGIN of a program called by a link", {"@/runpath/links/other"}, {NULL},
	 "runpath/bin/app ld.so runpath/lib/libmid.so"},
	{"an RPATH with ${ORIGIN}", {"@/rpath/bin/app"}, {NULL},
	 "rpath/bin/app ld.so rpath/lib/libmid.so"},
	{"LD_LIBRARY_PATH goes before RUNPATH", {"@/runpath/bin/app"}, {"LD_LIBRARY_PATH=@/env"},
	 "runpath/bin/app ld.so env/libmid.so"},
	{"and behind RPATH", {"@/rpath/bin/app"}, {"LD_LIBRARY_PATH=@/env"},
	 "rpath/bin/app ld.so rpath/lib/libmid.so"},
	{"a library of another machine is passed over", {"@/runpath/bin/app"},
	 {"LD_LIBRARY_PATH=@/nowhere:@/foreign;@/env"}, "runpath/bin/app ld.so env/libmid.so"},
	{"ld.so.cache, and behind it the usual directories", {"@/plain/bin/app"}, {NULL},
	 "plain/bin/app ld.so cached/libcached-mid.so system/libother.so"},
	{"a name with a slash", {"@/slash/app"}, {NULL}, "slash/app ld.so env/libdeep.so"},
	{"a static program is alone", {"@/static"}, {NULL}, "static"},
	{"PATH, where a file that cannot be run is passed over", {"app", "-x"},
	 {"PATH=/nowhere:@/not_run:@/slash"}, "slash/app ld.so env/libdeep.so"},
	{"a name that is nowhere", {"no-such-program"}, {"PATH=@/slash"}, ""},
	{"a script of a script", {"@/two"}, {NULL}, "static"},
	{"a script of env", {"@/by_env"}, {"PATH=@/slash:@/bin"},
	 "bin/env ld.so env/libmid.so slash/app env/libdeep.so"},
	{"env with options and variables", {"env", "-i", "-C", "/", "A=1", "app"}, {"PATH=@/slash:@/bin"},
	 "bin/env ld.so env/libmid.so slash/app env/libdeep.so"},
	{"behind env only the first", {"env", "-u", "X", "app", "sh"}, {"PATH=@/slash:@/bin"},
	 "bin/env ld.so env/libmid.so slash/app env/libdeep.so"},
	{"a word of another program is none", {"@/static", "app"}, {"PATH=@/slash"}, "static"},
	{"what a shell is given", {"sh", "-c", "X=1 'app' sh|no; (env -i app)"}, {"PATH=@/slash:@/bin"},
	 "static slash/app ld.so env/libdeep.so bin/env env/libmid.so"},
	{"and data in it", {"sh", "-c", "app env"}, {"PATH=@/slash:@/bin"},
	 "static slash/app ld.so env/libdeep.so"},
	{"scripts that run each other end", {"@/endless"}, {NULL}, ""},
	{"a FIFO is not opened", {"@/fifo"}, {NULL}, ""},
};

static void write_scripts(void)
{
	static const struct {
		const char *name, *text;
	} scripts[] = {
		{"@/one", "#! @/static -x\n"},
		{"@/two", "#!@/one\n"},
		{"@/by_env", "#!@/bin/env -S A=1 app -u\n"},
		{"@/endless", "#!@/endless\n"},
	};

	for (size_t i = 0; i < EP_LEN(scripts); i++) {
		char *text = place(scripts[i].text);

		write_file(scripts[i].name, text, strlen(text), 0755);
	}
}

/* env: a program of that name, which needs the libraries of env/ */
static void write_env(void)
{
	char *from = place("@/rpath/bin/app"), *to = place("@/bin"), command[3 * PATH_MAX];

	(void)mkdir(to, 0755);
	snprintf(command, sizeof(command), "cp '%s' '%s/env'", from, to);
	assert_int_equal(system(command), 0);
	from = place("@/env");
	to = place("@/lib");
	(void)unlink(to);
	assert_int_equal(symlink(from, to), 0);
	from = place("@/static");
	to = place("@/bin/sh");
	(void)unlink(to);
	assert_int_equal(symlink(from, to), 0);
}

static void write_others(void)
{
	char *dir = place("@/not_run"), *fifo = place("@/fifo");

	(void)mkdir(dir, 0755);
	(void)unlink(fifo);
	assert_int_equal(mkfifo(fifo, 0755), 0);
	write_file("@/not_run/app", "\177ELF", 4, 0644);
}

static int make_files(void **state)
{
	write_cache();
	write_scripts();
	write_env();
	write_others();
	ep_test_release(NULL);
	return 0;
}

EP_TEST(test_each_way)
{
	char *cache = place("@/ld.so.cache");
	char *dirs = place("@/nowhere:@/system");
	struct ep_libraries_system system = {.ld_cache = cache, .dirs = dirs};

	for (size_t i = 0; i < EP_LEN(findings); i++) {
		char *argv[MAX_LIST + 1], *envp[MAX_LIST + 1], text[4096];
		struct ep_vec files;

		place_all(findings[i].argv, argv);
		place_all(findings[i].envp, envp);
		files = find(argv, envp, &system);
		describe(&files, text, sizeof(text));
		if (strcmp(text, findings[i].expected) != 0)
			fail_msg("%s:\n%s\n%s", findings[i].label, text, findings[i].expected);
		ep_libraries_free(&files);
	}
}

/* Thousands of directories that are not there, for each library: the search gives up. */
EP_TEST(test_a_hostile_search_path_ends)
{
	char *argv[] = {place("@/plain/bin/app"), NULL}, *envp[2] = {NULL, NULL};
	struct ep_libraries_system system = {.ld_cache = "/nonexistent", .dirs = ""};
	struct ep_vec path, files;

	ep_vec_init(&path, 1, 1 << 20);
	assert_int_equal(ep_vec_printf(&path, "LD_LIBRARY_PATH="), 0);
	for (unsigned int i = 0; i < 30000; i++)
		assert_int_equal(ep_vec_printf(&path, "/nowhere/%u:", i), 0);
	assert_int_equal(ep_vec_printf(&path, "%s/env%c", samples, 0), 0);
	envp[0] = path.data;
	files = find(argv, envp, &system);
	assert_int_equal(files.len, 2);
	ep_libraries_free(&files);
	ep_vec_fini(&path);
}

EP_TEST(test_a_search_that_nobody_waits_for_ends)
{
	char *argv[] = {place("@/runpath/bin/app"), NULL}, *envp[] = {NULL};
	const struct ep_libraries_system system = {.ld_cache = "/nonexistent", .dirs = ""};
	const bool yes = true, no = false;
	const struct {
		const char *label;
		struct ep_libraries_limits limits;
		size_t files;
	} rows[] = {
		{"neither", {UINT64_MAX, &no}, 3},
		{"nobody may cancel it", {UINT64_MAX, NULL}, 3},
		{"its time is over", {1, &no}, 0},
		{"cancelled", {0, &yes}, 0},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct ep_vec files;

		ep_vec_init(&files, sizeof(struct ep_library_file), EP_LIBRARIES_MAX_FILES);
		assert_int_equal(
			ep_libraries_find(argv, envp, &system, &rows[i].limits, &files), 0);
		if (files.len != rows[i].files)
			fail_msg("%s: %zu files", rows[i].label, files.len);
		ep_libraries_free(&files);
	}
}

/* --- real programs --------------------------------------------------------------------------- */

static bool has_path(const struct ep_vec *files, const char *path)
{
	const struct ep_library_file *file;

	ep_vec_each(files, file) {
		if (strcmp(file->path, path) == 0)
			return true;
	}
	return false;
}

/* The path in a line of ldd, without links: "\tNAME => PATH (0x...)", or "\tPATH (0x...)". */
static char *ldd_path(char *line)
{
	char *start = strstr(line, "=> "), *end = strstr(line, " (0x");

	start = start ? start + 3 : line + strspn(line, "\t ");
	if (!end || *start != '/')
		return NULL;
	*end = '\0';
	return realpath(start, NULL);
}

/* All that was found, but for the program itself, is what ldd knows; the number of ldd's files. */
static size_t compare_with_ldd(const char *program, const struct ep_vec *files)
{
	char command[PATH_MAX + 32], line[2 * PATH_MAX];
	size_t n = 0, n_found = 0;
	FILE *ldd;

	snprintf(command, sizeof(command), "ldd '%s' 2>/dev/null", program);
	ldd = popen(command, "r");
	assert_non_null(ldd);
	while (fgets(line, sizeof(line), ldd)) {
		ep_autofree char *path = ldd_path(line);

		n += path != NULL;
		n_found += path && has_path(files, path);
	}
	pclose(ldd);
	if (n > 0 && n_found + 1 != files->len)
		fail_msg("%s: %zu files, of which %zu are ldd's", program, files->len, n_found);
	return n;
}

/* What readelf says that it names, and its loader: the number of files that are found, but itself. */
static size_t count_named(const char *program)
{
	char command[PATH_MAX + 96], line[64] = "";
	FILE *readelf;

	snprintf(command, sizeof(command),
		 "readelf -dW '%s' 2>/dev/null | grep -c '(NEEDED).*\\[lib'", program);
	readelf = popen(command, "r");
	assert_non_null(readelf);
	if (!fgets(line, sizeof(line), readelf))
		line[0] = '\0';
	pclose(readelf);
	return strtoul(line, NULL, 10) + 1;
}

/* Dynamic programs only: ldd says nothing of others. */
static bool check_program(const char *program)
{
	const struct ep_libraries_system system = {0};
	char *argv[] = {(char *)(uintptr_t)program, NULL};
	struct ep_vec files = find(argv, environ, &system);
	const struct ep_library_file *first = files.data;
	ep_autofree char *path = realpath(program, NULL);
	size_t n = 0;

	/* Scripts are left out: what is found is their interpreter's. */
	if (path && files.len > 0 && strcmp(first->path, path) == 0)
		n = compare_with_ldd(path, &files); /* $ORIGIN is where links lead */
	if (n > 0 && files.len != count_named(path) + 1)
		fail_msg("%s: %zu files, %zu are named", program, files.len, count_named(path));
	ep_libraries_free(&files);
	return n > 0;
}

EP_TEST(test_real_programs_as_ldd_says)
{
	struct dirent **entries;
	int n, checked = 0;

	if (system("ldd --version >/dev/null 2>&1") != 0) {
		print_message("skip: there is no ldd\n");
		skip();
	}
	n = scandir("/usr/bin", &entries, NULL, alphasort);
	assert_true(n > 0);
	/* From all over the alphabet. */
	for (int i = 0; i < n && checked < REAL_PROGRAMS; i++) {
		int at = (int)((long)i * 97 % n);
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "/usr/bin/%s", entries[at]->d_name);
		checked += check_program(path);
	}
	print_message("%d programs compared\n", checked);
	for (int i = 0; i < n; i++)
		free(entries[i]);
	free(entries);
	assert_true(checked > 0);
}

int main(int argc, char **argv)
{
	int r;

	samples = argc > 1 ? realpath(argv[1], NULL) : NULL;
	if (!samples)
		return 1;
	r = ep_test_run(make_files, NULL);
	free(samples);
	return r;
}
