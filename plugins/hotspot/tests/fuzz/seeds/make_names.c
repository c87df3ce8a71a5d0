/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the seeds of fuzz_names and fuzz_tables into the directory that is named. */
#include "core/base/util.h"
#include "plugins/hotspot/tests/unit/made_app.h"

#include <stdio.h>

static void save(const char *directory, const char *name, uint8_t first, const void *bytes,
		 size_t n)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s.bin", directory, name);
	file = fopen(path, "wb");
	if (!file || fwrite(&first, 1, 1, file) != 1 || fwrite(bytes, 1, n, file) != n ||
	    fclose(file) != 0)
		abort();
}

static void save_scopes(const char *directory, const struct made_vm *vm, const char *name)
{
	static const uint64_t metadata[1];
	static const struct made_scope scopes[] = {{-1, 1, 5}, {0, 2, 8}, {1, 3, -1}};
	static const struct made_pc pcs[] = {{16, 0}, {64, 1}, {128, 2}};
	const struct made_nmethod nmethod = {.scopes = scopes,
					     .n_scopes = 3,
					     .pcs = pcs,
					     .n_pcs = 3,
					     .metadata = metadata,
					     .n_metadata = 1};
	uint8_t bytes[512] = {5, (uint8_t)vm->excluded}, data[256] = {0};
	uint32_t offs[8];
	int32_t rows[8][4];
	size_t n = made_scope_data(vm, &nmethod, data, offs);
	size_t at = made_pc_data(&nmethod, offs, rows);

	memcpy(bytes + 2, rows, at);
	memcpy(bytes + 2 + at, data, n);
	save(directory, name, 3, bytes, 2 + at + n);
}

int main(int argc, char **argv)
{
	static const struct made_pair pairs[] = {{0, 100}, {8, 103}, {20, 90}, {8, 104}, {12, 200}};
	static const char *const names[] = {"names_8", "names_17", "names_25"};
	static const char text[] = "com/\xc3\xa4\xed\xa0\xbd\xed\xb8\x80/Main$$Lambda$17+0x00ab";
	static struct made_vm vm;
	uint8_t bytes[256] = {100, 0, 0};

	if (argc != 2)
		return 2;
	for (enum made_family family = 0; family < MADE_FAMILIES; family++) {
		made_init(&vm, family);
		made_app(&vm, 6);
		save(argv[1], names[family], (uint8_t)family, vm.memory, vm.used);
	}
	save_scopes(argv[1], &vm, "tables_scopes_20");
	bytes[2] = 1;
	save(argv[1], "tables_lines_20", 0, bytes,
	     3 + made_lines(&vm, pairs, EP_LEN(pairs), bytes + 3));
	made_init(&vm, MADE_8);
	save_scopes(argv[1], &vm, "tables_scopes_8");
	bytes[2] = 0;
	save(argv[1], "tables_lines_8", 0, bytes,
	     3 + made_lines(&vm, pairs, EP_LEN(pairs), bytes + 3));
	save(argv[1], "tables_smap", 1, app_map, strlen(app_map));
	save(argv[1], "tables_text", 2, text, strlen(text));
	return 0;
}
