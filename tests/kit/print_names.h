/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that prints what a language calls functions of files, for tests that ask the runtime.
 * For each argument a line "FILE", path; then lines of address, name. Needs plugin_dep.
 *
 *	static int names(const struct ep_file *file, print_name *add) { ... }
 *	int main(int argc, char **argv)
 *	{
 *		return print_names(argc, argv, names);
 *	}
 */
#ifndef EP_TESTS_KIT_PRINT_NAMES_H
#define EP_TESTS_KIT_PRINT_NAMES_H

#include "core/elf/file.h"
#include "core/plugin/elf_file.h"
#include "core/plugin/unwinder.h"

#include <inttypes.h>
#include <stdio.h>

typedef int print_name(void *unused, const struct ep_symbol *symbol, const char *name);

static inline int print_one_name(void *unused, const struct ep_symbol *symbol, const char *name)
{
	(void)unused;
	printf("%" PRIx64 "\t%s\n", symbol->va, name);
	return 0;
}

static inline int print_names(int argc, char **argv,
			      int (*names)(const struct ep_file *file, print_name *add))
{
	int failed = 0;

	for (int i = 1; i < argc; i++) {
		struct ep_elf *elf = NULL;
		struct ep_elf_file file;
		int r = ep_elf_open(argv[i], &elf);

		printf("FILE\t%s\n", argv[i]);
		if (r == 0) {
			ep_elf_file_init(&file, elf, "", argv[i]);
			r = names(&file.file, print_one_name);
			ep_elf_file_fini(&file);
			ep_elf_close(elf);
		}
		failed |= r < 0;
	}
	return failed;
}

#endif
