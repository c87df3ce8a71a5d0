/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cost of naming a PHP frame (tests/kit/name_times.h): the methods of a live process that has loaded some
 * thousand (programs/functions.php), read with process_vm_readv.
 *
 *	bench_php_names [PHP [ARGUMENT...]]	the last one is the script
 */
#include "core/base/util.h"
#include "core/elf/file.h"
#include "core/plugin/elf_file.h"
#include "core/plugin/unwinder.h"
#include "plugins/php/php_shared.h"
#include "plugins/php/symbolize/names.h"
#include "tests/kit/name_times.h"
#include "tests/kit/process.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/uio.h>

#define MAX_METHODS 8192
#define FEWEST	    1000

/* compiler_globals (zend_globals.h): class_table; zend_array: arData, nNumUsed; a bucket begins with a pointer (7.4 to 8.6). */
#define CLASS_TABLE    64
#define CLASS_METHODS  (layout.release < PHP_RELEASE(8, 6) ? 64 : 72) /* zend_class_entry: function_table */
#define ARRAY_DATA     16
#define ARRAY_USED     24
#define BUCKET_BYTES   32
#define MAX_BUCKETS    65536u

static pid_t pid;
static struct ep_names names; /* nothing is put there */
static uint64_t n_named;
static struct php_layout layout;
static struct ep_raw_frame frames[MAX_METHODS];
static size_t n_frames;

static int read_target(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	struct iovec local = {.iov_base = buf, .iov_len = bytes};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)addr, .iov_len = bytes};
	ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);

	if (got < 0)
		return -errno;
	return (size_t)got == bytes ? 0 : -EFAULT;
}

static uint64_t word(uint64_t addr)
{
	uint64_t value = 0;

	(void)read_target(NULL, addr, &value, sizeof(value));
	return value;
}

static int count_name(struct ep_names *of, const struct ep_name *name)
{
	n_named += name->line > 0 && name->file && strstr(name->function, "::") && !name->unnamed;
	return 0;
}

static void count_other(const struct ep_target *target, uint32_t counter, uint64_t n)
{
}

static const struct ep_unwinder_host host = {
	.size = sizeof(struct ep_unwinder_host),
	.add_name = count_name,
	.count = count_other,
};

/* --- methods ------------------------------------------------------------------------------------- */

static FILE *start(const char *const *command)
{
	int from[2];

	if (pipe2(from, O_CLOEXEC) < 0)
		return NULL;
	pid = process_start(command, from[1]);
	(void)close(from[1]);
	return fdopen(from[0], "r");
}

/* A symbol of the program that runs, which is at the address where its first mapping is. 0: there is none. */
static uint64_t find_symbol(const char *name)
{
	struct ep_elf *elf = NULL;
	struct ep_elf_file file;
	struct ep_symbol symbol = {0};
	char path[64], line[512];
	uint64_t start = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "r");
	if (!maps)
		return 0;
	if (fgets(line, sizeof(line), maps))
		(void)sscanf(line, "%" SCNx64, &start);
	(void)fclose(maps);
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	if (ep_elf_open(path, &elf) < 0)
		return 0;
	ep_elf_file_init(&file, elf, "", path);
	(void)ep_unwinder_host_get()->file_symbol(&file.file, name, &symbol);
	ep_elf_file_fini(&file);
	ep_elf_close(elf);
	return symbol.va ? start + symbol.va : 0;
}

/* As BPF pushes it, at its second opline; of a method that is written in PHP. */
static void add_method(uint64_t addr)
{
	const struct php_function_layout *function = &layout.function;
	struct php_parts parts = {
		.name = word(addr + PHP_FUNCTION_NAME),
		.class = word(addr + PHP_FUNCTION_SCOPE),
		.file = word(addr + function->filename),
		.opcodes = word(addr + function->opcodes),
		.last = (uint32_t)word(addr + function->last),
		.lines = word(addr + function->line_start),
		.fn_flags = word(addr) >> 32,
	};
	uint64_t check;

	if (n_frames == MAX_METHODS || (word(addr) & 0xff) != PHP_TYPE_USER)
		return;
	parts.name_hash = word(parts.name + PHP_STRING_HASH);
	parts.name_len = word(parts.name + PHP_STRING_LEN);
	parts.class_name = word(parts.class + PHP_CLASS_NAME);
	parts.class_hash = word(parts.class_name + PHP_STRING_HASH);
	parts.class_len = word(parts.class_name + PHP_STRING_LEN);
	parts.file_hash = word(parts.file + PHP_STRING_HASH);
	parts.file_len = word(parts.file + PHP_STRING_LEN);
	if (!parts.file_hash && parts.file_len >= PHP_FILE_TAIL)
		parts.file_hash = word(parts.file + PHP_STRING_BYTES + parts.file_len - PHP_FILE_TAIL);
	check = php_check(&parts);
	frames[n_frames++] = (struct ep_raw_frame){
		.aux = php_aux(PHP_KIND_FUNCTION, 1),
		.n_words = 2,
		.words = {php_word(parts.opcodes, check), php_word(addr, check >> PHP_HALF_CHECK)},
	};
}

static void visit_array(uint64_t array, void (*visit)(uint64_t value))
{
	uint64_t data = word(array + ARRAY_DATA), used = word(array + ARRAY_USED) & 0xffffffff;

	for (uint64_t i = 0; i < EP_MIN(used, (uint64_t)MAX_BUCKETS); i++) {
		uint64_t value = word(data + i * BUCKET_BYTES);

		if (value)
			visit(value);
	}
}

static void add_class(uint64_t class)
{
	visit_array(class + CLASS_METHODS, add_method);
}

static void read_methods(FILE *out)
{
	unsigned int major, minor;
	uint64_t globals;
	char line[128];

	while (fgets(line, sizeof(line), out) && strcmp(line, "ready\n") != 0) {
		if (sscanf(line, "release %u %u", &major, &minor) == 2)
			(void)php_layout_find(major, minor, &layout);
	}
	globals = layout.release ? find_symbol("compiler_globals") : 0;
	if (globals)
		visit_array(word(globals + CLASS_TABLE), add_class);
}

/* --- measuring ----------------------------------------------------------------------------------- */

static struct php_namer namer = {
	.host = &host,
	.memory = {.read = read_target},
	.layout = &layout,
};

static struct names_cache *begin(void)
{
	if (php_namer_init(&namer) < 0)
		abort();
	return namer.cache;
}

static void end(void)
{
	php_namer_fini(&namer);
}

static void name_method(size_t i, uint64_t random)
{
	if (php_names_add(&namer, &frames[i], &names) != 0)
		abort();
}

int main(int argc, char **argv)
{
	struct name_times times = {"method", 0, FEWEST, 12000, 200, begin, end, name_method, NULL};
	const char *root = getenv("EBPF_PROFILER_ROOT"), *command[] = {"php", NULL, NULL};
	char script[4096];
	FILE *out;
	int r = 77;

	snprintf(script, sizeof(script), "%s/plugins/php/tests/bench/programs/functions.php", root ? root : ".");
	command[1] = script;
	out = start(argc > 1 ? (const char *const *)(argv + 1) : command);
	if (!out)
		return 1;
	read_methods(out);
	times.n = n_frames;
	if (n_frames < FEWEST)
		printf("no php that runs %s, install the package php-cli: %zu methods\n", script, n_frames);
	else
		r = name_times_print(&times);
	if (r == 0 && n_named < n_frames) {
		printf("only %" PRIu64 " had a name with a class and a line\n", n_named);
		r = 1;
	}
	process_stop(pid);
	(void)fclose(out);
	return r;
}
