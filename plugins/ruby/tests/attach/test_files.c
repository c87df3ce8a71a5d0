/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes the Rubies of this machine, and those given as arguments: what is read from their code, as a
 * disassembler shows it for the releases that Debian has.
 *
 *	test_ruby_files [FILE...]
 */
#include "core/elf/file.h"
#include "core/plugin/elf_file.h"
#include "plugins/ruby/ruby.h"
#include "tests/kit/builds.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const places[] = {"/usr/lib/x86_64-linux-gnu/libruby-*.so.*.*.*",
				     "/usr/lib/x86_64-linux-gnu/libruby*-static"};

/* Of all patch releases that were looked at. */
static const struct {
	uint32_t release, thread_off, last_op_id;
} known[] = {
	{207, 0x38, 0xa8},
	{301, 0x30, 0xa9},
	{303, 0x30, 0xa9},
	{304, 0x30, 0xaa},
};

static int failures;

#define EXPECT(condition)                                                                          \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			printf("%s: line %d: %s\n", path, __LINE__, #condition);                   \
			failures++;                                                                \
		}                                                                                  \
	} while (0)

static int probe(const char *path, void **ret)
{
	ep_cleanup(ep_elf_closep) struct ep_elf *elf = NULL;
	ep_cleanup(ep_elf_file_fini) struct ep_elf_file file = {0};
	int r = ep_elf_open(path, &elf);

	if (r < 0)
		return r;
	ep_elf_file_init(&file, elf, NULL, path);
	return ruby_probe(ep_unwinder_host_get(), &file.file, ret);
}

static void check_found(const char *path, const struct ruby_executable *exe)
{
	const struct ruby_collector *collector = &exe->collector;

	printf("%s: %u, thread %#x, lock %#x, VM %#" PRIx64 " %#x %#x bit %u, IDs %#" PRIx64 " %#x, rb_vm_exec %" PRIu64 " bytes, %u parts\n", path,
	       exe->layout.release, exe->thread_off, exe->blocking_off, collector->vm_va, collector->objspace_off,
	       collector->flag_off, collector->bit, exe->symbols_va, exe->last_op_id, exe->exec.bytes, exe->n_code);
	EXPECT(exe->exec.bytes > 256 && exe->exec.bytes < 8192 && exe->n_code >= 1);
	EXPECT(exe->ec_va ? exe->layout.release < 300 : exe->ec.kind && exe->layout.release >= 300);
	EXPECT(collector->vm_va && collector->bit == 5 && exe->blocking_off && exe->symbols_va);
	EXPECT(exe->ec_va || exe->main.ractor_va);
	for (size_t i = 0; i < EP_LEN(known); i++) {
		if (exe->layout.release != known[i].release)
			continue;
		EXPECT(exe->thread_off == known[i].thread_off);
		EXPECT(exe->last_op_id == known[i].last_op_id);
	}
}

static void check(const char *path)
{
	void *executable = NULL;

	EXPECT(probe(path, &executable) == 0);
	if (!executable)
		return;
	check_found(path, executable);
	ruby_unload(executable);
}

int main(int argc, char **argv)
{
	const char *path = "/proc/self/exe";
	void *executable;
	size_t n;

	EXPECT(probe(path, &executable) == EP_NOT_MINE);
	n = builds_each(argc, argv, places, EP_LEN(places), check);
	if (!n)
		printf("SKIPPED: there is no Ruby on this machine\n");
	return failures ? 1 : n ? 0 : 77;
}
