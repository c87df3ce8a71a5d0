/* SPDX-License-Identifier: Apache-2.0 */
/* Writes one small executable per layout of Go's function table into a directory: fuzz_pclntab's seeds. */
#include "../../unit/pclntab_file.h"

#include <stdio.h>

static bool write_file(const struct made *made, const char *directory, const char *suffix)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/pclntab-%s%s", directory, made->version->name, suffix);
	file = fopen(path, "wb");
	return file && fwrite(made->bytes, sizeof(made->bytes), 1, file) == 1 && fclose(file) == 0;
}

int main(int argc, char **argv)
{
	static struct made made;

	for (size_t i = 0; i < EP_LEN(made_versions) && argc == 2; i++) {
		made_file(&made, &made_versions[i]);
		if (!write_file(&made, argv[1], ""))
			return 1;
		if (made_versions[i].magic < 0xfffffffa)
			continue;
		made_relocate(&made);
		if (!write_file(&made, argv[1], "-relocated"))
			return 1;
	}
	return argc != 2;
}
