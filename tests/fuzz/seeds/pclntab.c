/* SPDX-License-Identifier: Apache-2.0 */
/* Writes one small executable per layout of Go's function table into a directory: fuzz_pclntab's seeds. */
#include "../../unit/pclntab_file.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	static struct made made;
	char path[4096];

	for (size_t i = 0; i < EP_LEN(made_versions) && argc == 2; i++) {
		FILE *file;

		made_file(&made, &made_versions[i]);
		snprintf(path, sizeof(path), "%s/pclntab-%s", argv[1], made_versions[i].name);
		file = fopen(path, "wb");
		if (!file || fwrite(made.bytes, sizeof(made.bytes), 1, file) != 1 || fclose(file) != 0)
			return 1;
	}
	return argc != 2;
}
