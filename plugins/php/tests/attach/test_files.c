/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes the PHPs of this machine, and those given as arguments: what is read from their code, as a
 * disassembler shows it for the releases that Debian has.
 *
 *	test_php_files [FILE...]
 */
#include "core/base/util.h"
#include "core/elf/file.h"
#include "core/plugin/elf_file.h"
#include "plugins/php/php.h"
#include "tests/kit/builds.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const places[] = {
	"/usr/bin/php[0-9]*.[0-9]", "/usr/sbin/php-fpm*", "/usr/lib/libphp*.so", "/bin/php-zts",
	"/bin/php-clang",	    "/bin/php-static",	  "/lib/libphp.so"};

/* Of all patch releases that were looked at. */
static const struct {
	uint32_t release, current, before_exception, fiber, opcodes, filename, generator;
} known[] = {
	{704, 0x1e8, 0x370, 0, 64, 136, 64},	  {802, 0x1e8, 0x370, 0x688, 88, 152, 56},
	{803, 0x1e8, 0, 0, 80, 144, 56},	  {804, 0x1e8, 0x3b8, 0x6d0, 104, 168, 56},
	{805, 0x200, 0x3d0, 0x6e8, 104, 168, 56}, {806, 0x200, 0x3f8, 0x710, 104, 168, 56},
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
	return php_probe(ep_unwinder_host_get(), &file.file, ret);
}

static uint32_t count_returns(const struct php_executable *exe)
{
	uint32_t n = 0;

	while (n < PHP_RETURNS && exe->returns[n])
		n++;
	return n;
}

static void check_found(const char *path, const struct php_executable *exe)
{
	const struct php_layout *layout = &exe->layout;

	printf("%s: %u, VM %u, %u parts, frame %u%s, globals %#" PRIx64
	       " %#x %#x %#x, opcodes %u, file %u, "
	       "generator %u %u, finish %#" PRIx64 ", %u rows, %u returns\n",
	       path, layout->release, exe->vm_kind, exe->n_code, exe->prologue.frame,
	       exe->prologue.has_fp ? " fp" : "", exe->globals_va, exe->current,
	       exe->before_exception, exe->fiber, layout->function.opcodes,
	       layout->function.filename, layout->generator.execute_data, layout->generator.parent,
	       exe->fibers.finish_va, exe->fibers.n_rows, count_returns(exe));
	EXPECT(exe->vm_kind == PHP_VM_HYBRID || strstr(path, "clang"));
	EXPECT(exe->n_code >= 1 && exe->loop.bytes && exe->text.bytes);
	if (exe->bss.va) {
		EXPECT(exe->loop.bytes > 30000 && exe->current && exe->before_exception);
		return;
	}
	EXPECT(exe->makers[0].bytes && exe->makers[1].bytes);
	EXPECT(exe->globals_va ? !exe->key_va : exe->key_va && exe->offset_va);
	EXPECT(exe->vm_kind != PHP_VM_HYBRID || (exe->prologue.frame && count_returns(exe) >= 3));
	EXPECT(layout->release < 801 ||
	       (exe->fibers.finish_va && exe->fibers.n_rows == PHP_FIBER_ROWS - 1));
	EXPECT(layout->release < 804 || exe->frameless_va);
	for (size_t i = 0; i < EP_LEN(known); i++) {
		if (layout->release != known[i].release)
			continue;
		EXPECT(exe->current == known[i].current &&
		       layout->function.opcodes == known[i].opcodes);
		EXPECT(!known[i].before_exception ||
		       exe->before_exception == known[i].before_exception);
		EXPECT(!known[i].fiber || exe->fiber == known[i].fiber);
		EXPECT(layout->function.filename == known[i].filename);
		EXPECT(layout->generator.execute_data == known[i].generator);
		EXPECT(layout->generator.parent == known[i].generator + 96);
	}
}

static void check(const char *path)
{
	void *executable = NULL;

	EXPECT(probe(path, &executable) == 0);
	if (!executable)
		return;
	check_found(path, executable);
	php_unload(executable);
}

int main(int argc, char **argv)
{
	const char *path = "/proc/self/exe";
	void *executable;
	size_t n;

	EXPECT(probe(path, &executable) == EP_NOT_MINE);
	n = builds_each(argc, argv, places, EP_LEN(places), check);
	if (!n)
		printf("SKIPPED: there is no PHP on this machine\n");
	return failures ? 1 : n ? 0 : 77;
}
