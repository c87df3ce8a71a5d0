/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of test_elf_samples.sh, for tests whose first argument is their directory; what is opened
 * or read is released with the test.
 */
#ifndef EP_TEST_ELF_SAMPLES_H
#define EP_TEST_ELF_SAMPLES_H

#include "core/elf/file.h"
#include "tests/kit/test.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

EP_TEST_RELEASES(ep_elf_close)

/* Valid until the next call. */
static inline const char *sample_path(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", ep_test_argument[0], name);
	return path;
}

static inline struct ep_elf *open_file(const char *path)
{
	struct ep_elf *elf = NULL;

	assert_int_equal(ep_elf_open(path, &elf), 0);
	ep_test_owns(elf, ep_elf_close_made);
	return elf;
}

static inline struct ep_elf *open_bytes(const void *bytes, size_t n)
{
	struct ep_elf *elf = NULL;

	assert_int_equal(ep_elf_open_memory(bytes, n, &elf), 0);
	ep_test_owns(elf, ep_elf_close_made);
	return elf;
}

/* Skips the test where the machine could not build it. */
static inline struct ep_elf *sample_open(const char *name)
{
	if (access(sample_path(name), R_OK) < 0) {
		print_message("%s: not built here\n", name);
		skip();
	}
	return open_file(sample_path(name));
}

/* The bytes of a file, to be changed. */
static inline uint8_t *read_bytes(const struct ep_elf *elf, size_t *ret_bytes)
{
	uint8_t *bytes = malloc((size_t)ep_elf_file_bytes(elf));

	assert_non_null(bytes);
	ep_test_owns(bytes, free);
	*ret_bytes = (size_t)ep_elf_file_bytes(elf);
	assert_int_equal(ep_elf_read_at(elf, 0, bytes, *ret_bytes), 0);
	return bytes;
}

/* What nm says: the address of a symbol, or 0. */
static inline uint64_t nm_address(const char *nm_file, const char *wanted)
{
	FILE *file = fopen(sample_path(nm_file), "re");
	char line[512], name[256], type;
	uint64_t va, found = 0;

	assert_non_null(file);
	while (!found && fgets(line, sizeof(line), file))
		if (sscanf(line, "%" SCNx64 " %c %255s", &va, &type, name) == 3 &&
		    !strcmp(name, wanted))
			found = va;
	fclose(file);
	return found;
}

#endif
