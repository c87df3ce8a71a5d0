/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths to thread storage, found in real processes and followed by hand: what is at their end must
 * be what the process says (thread_storage_program.c). Then the decoder of pthread_getspecific on
 * bytes as compilers made them.
 *
 *	test_thread_storage SAMPLES SCRIPT
 *
 * Other versions of glibc are those of tests/runtimes: a directory of root file systems, one for
 * each Debian suite. What is not there, and forms that could not be built here, are reported and
 * left out.
 */
#include "core/elf/lookup.h"
#include "core/proc/memory.h"
#include "core/proc/open.h"
#include "core/proc/thread_storage.h"
#include "core/proc/tls_code.h"
#include "tests/kit/test.h"

#include <elf.h>
#include <signal.h>
#include <sys/wait.h>

#define PATH_BYTES 4096

EP_TEST_ARGUMENTS("SAMPLES_DIRECTORY", "SCRIPT")

struct child {
	pid_t pid;
	int input; /* its end ends the child */
	FILE *output;
	struct ep_maps maps;
};

/* What happens in the child, up to the exec. */
struct recipe {
	const char *root; /* NULL: ours */
	const char *preload;
	const char *argv[4];
};

static void child_exec(const struct recipe *recipe, int in, int out)
{
	dup2(in, 0);
	dup2(out, 1);
	if (recipe->preload)
		setenv("LD_PRELOAD", recipe->preload, 1);
	if (recipe->root && (chroot(recipe->root) < 0 || chdir("/") < 0))
		_exit(126);
	execv(recipe->argv[0], (char *const *)(uintptr_t)recipe->argv);
	_exit(127);
}

static struct child child_start(const struct recipe *recipe)
{
	struct child child = {0};
	int in[2], out[2];

	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	child.pid = fork();
	assert_true(child.pid >= 0);
	if (child.pid == 0) {
		close(in[1]);
		close(out[0]);
		child_exec(recipe, in[0], out[1]);
	}
	close(in[0]);
	close(out[1]);
	child.input = in[1];
	child.output = fdopen(out[0], "r");
	assert_non_null(child.output);
	return child;
}

static void child_end(struct child *child)
{
	int status = 0;

	ep_maps_fini(&child->maps);
	close(child->input);
	(void)fclose(child->output);
	(void)kill(child->pid, SIGKILL);
	assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
}

static uint64_t follow(pid_t pid, const struct ep_tls *tls, uint64_t thread_pointer)
{
	uint64_t at = thread_pointer;

	assert_in_range(tls->steps, 1, EP_TLS_MAX_STEPS);
	for (uint32_t i = 0; i < tls->steps; i++) {
		if (ep_memory_read_u64(pid, at + (uint64_t)(int64_t)tls->off[i], &at) < 0)
			fail_msg("step %u cannot be read", i);
	}
	return at;
}

/* The path to a variable, by its name in the file that is mapped at `base`. */
static int find_variable(struct child *child, uint64_t base, const char *name, struct ep_tls *ret)
{
	const struct ep_mapping *mapping = ep_maps_find(&child->maps, base);
	struct ep_proc_file file = {.fd = -1};
	struct ep_elf_segment first;
	struct ep_elf_lookup lookup;
	struct ep_elf_symbol symbol;
	struct ep_elf *elf = NULL;
	int r;

	assert_non_null(mapping);
	assert_int_equal(ep_proc_open_mapping(child->pid, mapping, &file), 0);
	assert_int_equal(ep_elf_open_fd(file.fd, &elf), 0);
	assert_true(ep_elf_load_segments(elf, &first, 1) >= 1);
	ep_elf_lookup_init(&lookup, elf);
	assert_int_equal(ep_elf_lookup_symbol(&lookup, name, &symbol), 0);
	assert_int_equal(symbol.type, STT_TLS);
	r = ep_tls_find_variable(child->pid, &child->maps, elf, base - first.va, symbol.va, ret);
	assert_int_equal(ep_tls_find_variable(child->pid, &child->maps, elf, base - first.va,
					      1 << 20, &(struct ep_tls){0}),
			 -EBADMSG);
	ep_elf_lookup_fini(&lookup);
	ep_elf_close(elf);
	return r;
}

struct told {
	char what[8], name[32];
	uint64_t thread_pointer, base, value;
};

/* Steps of the path, or a negative errno. */
static int check_told(struct child *child, const struct told *told)
{
	struct ep_tls tls = {0};
	uint64_t value;
	int r;

	if (strcmp(told->what, "key") == 0)
		r = ep_tls_find_key(child->pid, &child->maps, (uint32_t)told->base, &tls);
	else
		r = find_variable(child, told->base, told->name, &tls);
	if (r < 0)
		return r;
	value = follow(child->pid, &tls, told->thread_pointer);
	if (value != told->value)
		fail_msg("%s %s %" PRIu64 ": 0x%" PRIx64 ", not 0x%" PRIx64, told->what,
			 told->name, told->base, value, told->value);
	return (int)tls.steps;
}

/* Reads what the child says up to "ready"; how many lines. */
static size_t read_told(struct child *child, struct told *told, size_t max)
{
	char line[256];
	size_t n = 0;

	while (fgets(line, sizeof(line), child->output)) {
		if (strcmp(line, "ready\n") == 0)
			return n;
		assert_true(n < max);
		if (sscanf(line, "%7s %" SCNx64 " %" SCNi64 " %31s %" SCNx64, told[n].what,
			   &told[n].thread_pointer, (int64_t *)&told[n].base, told[n].name,
			   &told[n].value) != 5)
			fail_msg("line: %s", line);
		n++;
	}
	return 0;
}

struct steps {
	int key, exe, lib; /* expected length of each path; 0: not part of this case */
};

static void check_all(const char *label, const struct recipe *recipe, struct steps steps)
{
	struct child child = child_start(recipe);
	struct told told[300];
	size_t n = read_told(&child, told, EP_LEN(told));
	size_t keys = 0, exes = 0, libs = 0;

	if (n == 0)
		fail_msg("%s: did not run", label);
	ep_maps_init(&child.maps, 4096);
	assert_int_equal(ep_maps_read(&child.maps, child.pid, EP_MAPS_ALL), 0);
	for (size_t i = 0; i < n; i++) {
		int expected = told[i].what[0] == 'k'	? steps.key
			       : told[i].what[0] == 'e' ? steps.exe
							: steps.lib;
		int r = check_told(&child, &told[i]);

		if (r != expected)
			fail_msg("%s: %s %s: %d steps (or %s), not %d", label, told[i].what,
				 told[i].name, r, r < 0 ? strerror(-r) : "", expected);
		keys += told[i].what[0] == 'k';
		exes += told[i].what[0] == 'e';
		libs += told[i].what[0] == 'l';
	}
	assert_int_equal(keys, 3 * 40);
	assert_int_equal(exes, steps.exe ? 3 * 3 : 0);
	assert_int_equal(libs, steps.lib ? 3 * 2 : 0);
	child_end(&child);
}

/* A library that is loaded at the start has static TLS, also in musl, which dlopens no such one. */
static const struct sample {
	const char *label, *program, *library;
	bool preload;
	struct steps steps;
} samples[] = {
	{"glibc", "glibc", NULL, false, {2, 1, 0}},
	{"glibc nopie", "glibc.nopie", NULL, false, {2, 1, 0}},
	{"glibc page aligned", "glibc.align", NULL, false, {2, 1, 0}},
	{"glibc static", "glibc.static", NULL, false, {2, 1, 0}},
	{"glibc static-pie", "glibc.static-pie", NULL, false, {2, 1, 0}},
	{"glibc gd", "glibc", "glibc-global-dynamic.so", false, {2, 1, 3}},
	{"glibc ld", "glibc", "glibc-local-dynamic.so", false, {2, 1, 3}},
	{"glibc ie", "glibc", "glibc-initial-exec.so", false, {2, 1, 1}},
	{"glibc descriptor, static", "glibc", "glibc-tlsdesc-100.so", false, {2, 1, 1}},
	{"glibc descriptor, vector", "glibc", "glibc-tlsdesc-5000.so", false, {2, 1, 3}},
	{"glibc gd early", "glibc", "glibc-global-dynamic.so", true, {2, 1, 3}},
	{"glibc ie early", "glibc", "glibc-initial-exec.so", true, {2, 1, 1}},
	{"glibc descriptor early", "glibc", "glibc-tlsdesc-5000.so", true, {2, 1, 1}},
	{"musl", "musl", NULL, false, {2, 1, 0}},
	{"musl static", "musl.static", NULL, false, {2, 1, 0}},
	{"musl gd", "musl", "musl-global-dynamic.so", false, {2, 1, 3}},
	{"musl ld", "musl", "musl-local-dynamic.so", false, {2, 1, 3}},
	{"musl descriptor", "musl", "musl-tlsdesc-5000.so", false, {2, 1, 3}},
	{"musl gd early", "musl", "musl-global-dynamic.so", true, {2, 1, 3}},
	{"musl ie early", "musl", "musl-initial-exec.so", true, {2, 1, 1}},
	{"musl descriptor early", "musl", "musl-tlsdesc-5000.so", true, {2, 1, 1}},
};

static void check_sample(const struct sample *sample)
{
	char program[4096], library[4096];
	struct recipe recipe = {.argv = {program}};

	snprintf(program, sizeof(program), "%s/%s", ep_test_argument[0], sample->program);
	snprintf(library, sizeof(library), "%s/%s", ep_test_argument[0], sample->library);
	if (access(program, X_OK) < 0) {
		print_message("left out: %s: not built\n", sample->label);
		return;
	}
	recipe.argv[1] = sample->library ? library : NULL;
	recipe.preload = sample->preload ? library : NULL;
	check_all(sample->label, &recipe, sample->steps);
}

EP_TEST(glibc_paths_lead_to_what_threads_hold)
{
	for (size_t i = 0; i < EP_LEN(samples); i++) {
		if (samples[i].program[0] == 'g')
			check_sample(&samples[i]);
	}
}

/* ld.so PROGRAM: the kernel knows the loader as the program then. */
EP_TEST(programs_started_by_the_loader_are_programs)
{
	char program[PATH_BYTES], library[PATH_BYTES];
	struct recipe recipe = {.argv = {"/lib64/ld-linux-x86-64.so.2", program, library}};

	snprintf(program, sizeof(program), "%s/glibc.align", ep_test_argument[0]);
	snprintf(library, sizeof(library), "%s/glibc-global-dynamic.so", ep_test_argument[0]);
	if (access(recipe.argv[0], X_OK) < 0) {
		print_message("left out: no %s\n", recipe.argv[0]);
		return;
	}
	check_all("by the loader", &recipe, (struct steps){2, 1, 3});
}

/* Stripped, with DT_HASH alone. */
EP_TEST(symbols_are_found_without_gnu_hash)
{
	struct ep_elf_lookup lookup;
	struct ep_elf_symbol symbol;
	struct ep_elf *elf = NULL;
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "%s/sysv.so", ep_test_argument[0]);
	assert_int_equal(ep_elf_open(path, &elf), 0);
	ep_elf_lookup_init(&lookup, elf);
	assert_int_equal(ep_elf_lookup_symbol(&lookup, "lib_touch", &symbol), 0);
	assert_int_equal(symbol.type, STT_FUNC);
	assert_int_equal(ep_elf_lookup_symbol(&lookup, "lib_second", &symbol), 0);
	assert_int_equal(symbol.type, STT_TLS);
	assert_int_equal(ep_elf_lookup_symbol(&lookup, "lib_first", &symbol), -ENODATA);
	ep_elf_lookup_fini(&lookup);
	ep_elf_close(elf);
}

EP_TEST(musl_paths_lead_to_what_threads_hold)
{
	for (size_t i = 0; i < EP_LEN(samples); i++) {
		if (samples[i].program[0] == 'm')
			check_sample(&samples[i]);
	}
}

static const char *runtimes_dir(void)
{
	const char *dir = getenv("EBPF_PROFILER_RUNTIMES");

	return dir ? dir : "/var/tmp/ebpf-profiler-runtimes"; /* as tests/runtimes */
}

/* A file of ours in a root, as the root has it: chroot leaves us no other way to name it. */
static void name_inside(char path[100], const char *name)
{
	snprintf(path, 100, "/tmp/ep_thread_%d_%s", (int)getpid(), name);
}

static int copy_into(const char *root, const char *from, const char *inside)
{
	char command[3 * PATH_BYTES];

	snprintf(command, sizeof(command), "cp '%s' '%s%s'", from, root, inside);
	return system(command);
}

static void remove_from(const char *root, const char *inside)
{
	char path[2 * PATH_BYTES];

	snprintf(path, sizeof(path), "%s%s", root, inside);
	(void)unlink(path);
}

/* The program and its library as they were built here: newer C libraries run them too. */
static void check_in_root(const char *suite, const char *root, const char *library, bool preload,
			  struct steps steps)
{
	char path[PATH_BYTES], label[PATH_BYTES], program_in[100], library_in[100];
	struct recipe recipe = {
		.root = root,
		.preload = preload ? library_in : NULL,
		.argv = {program_in, library_in},
	};

	name_inside(program_in, "program");
	name_inside(library_in, "lib.so");
	snprintf(path, sizeof(path), "%s/glibc", ep_test_argument[0]);
	assert_int_equal(copy_into(root, path, program_in), 0);
	snprintf(path, sizeof(path), "%s/%s", ep_test_argument[0], library);
	assert_int_equal(copy_into(root, path, library_in), 0);
	snprintf(label, sizeof(label), "%s %s", suite, library);
	check_all(label, &recipe, steps);
	remove_from(root, program_in);
	remove_from(root, library_in);
}

EP_TEST(newer_glibc_keeps_variables_the_same_way)
{
	static const char *const suites[] = {"trixie", "sid"};
	char root[PATH_BYTES - 100], loader[PATH_BYTES];

	for (size_t i = 0; i < EP_LEN(suites); i++) {
		snprintf(root, sizeof(root), "%s/%s", runtimes_dir(), suites[i]);
		snprintf(loader, sizeof(loader), "%s/lib64/ld-linux-x86-64.so.2", root);
		if (geteuid() != 0 || access(loader, X_OK) < 0) {
			print_message("left out: no root of Debian %s\n", suites[i]);
			continue;
		}
		check_in_root(suites[i], root, "glibc-global-dynamic.so", false,
			      (struct steps){2, 1, 3});
		check_in_root(suites[i], root, "glibc-initial-exec.so", false,
			      (struct steps){2, 1, 1});
		check_in_root(suites[i], root, "glibc-tlsdesc-5000.so", false,
			      (struct steps){2, 1, 3});
		check_in_root(suites[i], root, "glibc-tlsdesc-5000.so", true,
			      (struct steps){2, 1, 1});
	}
}

EP_TEST(older_and_newer_glibc_keep_keys_the_same_way)
{
	static const struct {
		const char *suite, *program, *glibc;
	} rows[] = {
		{"bullseye", "/usr/bin/python3.9", "2.31"},
		{"trixie", "/usr/bin/python3.13", "2.41"},
		{"sid", "/usr/bin/python3.13", "the latest"},
	};
	char root[PATH_BYTES - 100], program[PATH_BYTES], script_in[100];
	struct recipe recipe = {.argv = {NULL, script_in}};

	name_inside(script_in, "program.py");
	for (size_t i = 0; i < EP_LEN(rows); i++) {
		snprintf(root, sizeof(root), "%s/%s", runtimes_dir(), rows[i].suite);
		snprintf(program, sizeof(program), "%s%s", root, rows[i].program);
		if (access(program, X_OK) < 0 || geteuid() != 0 ||
		    copy_into(root, ep_test_argument[1], script_in) != 0) {
			print_message("left out: glibc %s: no root with %s of Debian %s\n",
				      rows[i].glibc, rows[i].program, rows[i].suite);
			continue;
		}
		recipe.root = root;
		recipe.argv[0] = rows[i].program;
		check_all(rows[i].suite, &recipe, (struct steps){2, 0, 0});
		remove_from(root, script_in);
	}
}

EP_TEST(a_process_that_has_gone_is_told_from_one_without_storage)
{
	ep_cleanup(ep_maps_fini) struct ep_maps maps;
	struct ep_tls tls;

	ep_maps_init(&maps, 16);
	assert_int_equal(ep_tls_find_key(INT32_MAX, &maps, 1, &tls), -ESRCH);
	assert_int_equal(ep_tls_find_key(getpid(), &maps, 1, &tls), -ENODATA);
}

/* --- code --- */

#define CODE(text) (const uint8_t *)(text), sizeof(text) - 1

static const struct {
	const char *label;
	uint16_t machine;
	const uint8_t *code;
	size_t bytes;
	uint32_t key;
	int result;
	int32_t off[2];
} codes[] = {
	/* musl 1.2.3 of Debian: mov %fs:0,%rax; mov 0x80(%rax),%rax; mov %edi,%edi; ... */
	{"musl", EM_X86_64,
	 CODE("\x64\x48\x8b\x04\x25\0\0\0\0\x48\x8b\x80\x80\0\0\0\x89\xff\x48\x8b\x04\xf8\xc3"), 5, 0,
	 {0x80, 40}},
	{"key first, in r8, tsd by a byte", EM_X86_64,
	 CODE("\x41\x89\xf8\x64\x48\x8b\x0c\x25\0\0\0\0\x48\x8b\x49\x78\x4a\x8b\x04\xc1\xc3"), 2, 0,
	 {0x78, 16}},
	{"endbr64 and a frame", EM_X86_64,
	 CODE("\xf3\x0f\x1e\xfa\x55\x48\x89\xe5\x64\x48\x8b\x04\x25\0\0\0\0\x48\x8b\x80\x80\0\0\0"
	      "\x89\xff\x48\x8b\x04\xf8\x5d\xc3"),
	 0, 0, {0x80, 0}},
	{"cut short", EM_X86_64,
	 CODE("\x64\x48\x8b\x04\x25\0\0\0\0\x48\x8b\x80\x80\0\0\0\x89\xff\x48\x8b\x04"), 5, -ENOTSUP,
	 {0}},
	{"indexed by something else", EM_X86_64,
	 CODE("\x64\x48\x8b\x04\x25\0\0\0\0\x48\x8b\x80\x80\0\0\0\x89\xff\x48\x8b\x04\xf0\xc3"), 5,
	 -ENOTSUP, {0}},
	{"not of the thread", EM_X86_64, CODE("\x48\x8b\x80\x80\0\0\0\x48\x8b\x04\xf8\xc3"), 5,
	 -ENOTSUP, {0}},
	{"empty", EM_X86_64, CODE(""), 5, -ENOTSUP, {0}},
	/* glibc 2.31, from cmp $31,%edi to mov %fs:0x510(,%rax,8),%rdx */
	{"glibc", EM_X86_64,
	 CODE("\x83\xff\x1f\x77\x3b\x8d\x47\x31\x48\xc1\xe0\x04\x64\x48\x8b\x14\x25\x10\0\0\0\x48"
	      "\x01\xd0\x64\x48\x8b\x14\xc5\x10\x05\0\0"),
	 33, 0, {0x518, 24}},
	{"glibc, no such key", EM_X86_64,
	 CODE("\x83\xff\x1f\x77\x3b\x64\x48\x8b\x14\xc5\x10\x05\0\0"), 1024, -ENOTSUP, {0}},
	/* mrs x1,tpidr_el0; ldur x1,[x1,#-112]; ldr x0,[x1,w0,uxtw #3] */
	{"musl", EM_AARCH64, CODE("\x41\xd0\x3b\xd5\x21\x00\x59\xf8\x20\x58\x60\xf8"), 3, 0,
	 {-112, 24}},
	/* mrs x1,tpidr_el0; sub x1,x1,#200; ldr x1,[x1,#88]; ldr x0,[x1,w0,uxtw #3] */
	{"musl, older", EM_AARCH64,
	 CODE("\x41\xd0\x3b\xd5\x21\x20\x03\xd1\x21\x2c\x40\xf9\x20\x58\x60\xf8"), 3, 0, {-112, 24}},
	{"another register", EM_AARCH64, CODE("\x41\xd0\x3b\xd5\x43\x00\x59\xf8\x60\x58\x60\xf8"), 3,
	 -ENOTSUP, {0}},
	{"another machine", EM_RISCV, CODE("\x41\xd0\x3b\xd5"), 3, -ENOTSUP, {0}},
};

EP_TEST(code_of_pthread_getspecific_is_decoded)
{
	for (size_t i = 0; i < EP_LEN(codes); i++) {
		struct ep_tls tls = {0};
		int r = ep_tls_decode_getspecific(codes[i].machine, codes[i].code, codes[i].bytes,
						  codes[i].key, &tls);

		if (r != codes[i].result)
			fail_msg("%s: %d", codes[i].label, r);
		if (r < 0)
			continue;
		if (tls.steps != 2 || tls.off[0] != codes[i].off[0] || tls.off[1] != codes[i].off[1])
			fail_msg("%s: %u steps, %d, %d", codes[i].label, tls.steps, tls.off[0],
				 tls.off[1]);
	}
}
