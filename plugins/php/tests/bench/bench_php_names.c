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
#include "plugins/php/tests/frames.h"
#include "tests/kit/name_times.h"
#include "tests/kit/process.h"

#include <inttypes.h>
#include <string.h>

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

static const struct memory memory = {process_read, &pid};

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
	struct php_parts parts = parts_of(&memory, &layout, addr);

	if (n_frames == MAX_METHODS || (word_in(&memory, addr) & 0xff) != PHP_TYPE_USER)
		return;
	take_strings(&memory, &parts);
	frames[n_frames++] = frame_of(&parts, addr, PHP_KIND_FUNCTION, 1);
}

static void visit_array(uint64_t array, void (*visit)(uint64_t value))
{
	uint64_t data = word_in(&memory, array + ARRAY_DATA), used = word_in(&memory, array + ARRAY_USED) & 0xffffffff;

	for (uint64_t i = 0; i < EP_MIN(used, (uint64_t)MAX_BUCKETS); i++) {
		uint64_t value = word_in(&memory, data + i * BUCKET_BYTES);

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
		visit_array(word_in(&memory, globals + CLASS_TABLE), add_class);
}

/* --- measuring ----------------------------------------------------------------------------------- */

static struct php_namer namer = {
	.host = &host,
	.memory = {process_read, &pid},
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
	pid = process_start_reading(argc > 1 ? (const char *const *)(argv + 1) : command, &out);
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
