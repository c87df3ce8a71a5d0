/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command whose file is anything: `#!` lines, search paths, names of libraries and loaders. Each
 * file is found once, by a path and open; the search ends.
 */
#include "core/proc/libraries.h"
#include "tests/kit/fuzz.h"

#include <fcntl.h>
#include <sys/stat.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);

/* The input, in a file that is there as long as this process. */
static char path[] = "/tmp/fuzz_libraries.XXXXXX";
static int fd;

static void remove_file(void)
{
	(void)unlink(path);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	fd = mkstemp(path);
	if (fd < 0 || fchmod(fd, 0700) < 0)
		abort();
	(void)atexit(remove_file);
	return 0;
}

static void check(const struct ep_vec *files)
{
	const struct ep_library_file *a, *b;

	ep_vec_each(files, a) {
		assert(a->path[0] == '/' && fcntl(a->file.fd, F_GETFD) >= 0);
		for (b = files->data; b < a; b++)
			assert(a->file.dev != b->file.dev || a->file.inode != b->file.inode);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct ep_libraries_system system = {
		.ld_cache = "/nonexistent",
		.dirs = "",
	};
	char argument[] = "x", variable[] = "PATH=/usr/bin";
	char *argv[] = {path, argument, NULL}, *envp[] = {variable, NULL};
	struct ep_vec files;

	if (ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		return 0;
	ep_vec_init(&files, sizeof(struct ep_library_file), EP_LIBRARIES_MAX_FILES);
	assert(ep_libraries_find(argv, envp, &system, NULL, &files) == 0);
	check(&files);
	ep_libraries_free(&files);
	return 0;
}
