/* SPDX-License-Identifier: Apache-2.0 */
/* What the plugin calls the functions in C of each file: lines of address, name. For test_tables.py. */
#include "core/elf/file.h"
#include "core/plugin/elf_file.h"
#include "core/plugin/unwinder.h"
#include "plugins/php/tables.h"

#include <inttypes.h>
#include <stdio.h>

static int print(void *arg, const struct ep_symbol *symbol, const char *name)
{
	(void)arg;
	printf("%" PRIx64 "\t%s\n", symbol->va, name);
	return 0;
}

static int print_file(const char *path)
{
	struct ep_elf *elf = NULL;
	struct ep_elf_file file;
	int r = ep_elf_open(path, &elf);

	if (r < 0)
		return r;
	ep_elf_file_init(&file, elf, "", path);
	r = php_tables_names(ep_unwinder_host_get(), &file.file, print, NULL);
	ep_elf_file_fini(&file);
	ep_elf_close(elf);
	return r;
}

int main(int argc, char **argv)
{
	int failed = 0;

	for (int i = 1; i < argc; i++) {
		printf("FILE\t%s\n", argv[i]);
		failed |= print_file(argv[i]) < 0;
	}
	return failed;
}
