/* SPDX-License-Identifier: Apache-2.0 */
/* Files beside a mapped one, as a process sees them: this process, and a directory of the test's. */
#include "core/plugin/process_target.h"
#include "tests/kit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/ep_beside_XXXXXX";
static struct ep_process_target process;
static void *mapped;

static const char *in_directory(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static void write_file(const char *name, const char *text)
{
	int fd = open(in_directory(name), O_CREAT | O_TRUNC | O_WRONLY, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static int begin(void **state)
{
	int fd;

	(void)state;
	strcpy(directory + sizeof(directory) - 7, "XXXXXX");
	assert_non_null(mkdtemp(directory));
	write_file("app.dll", "MZ");
	write_file("app.pdb", "BSJB");
	fd = open(in_directory("app.dll"), O_RDONLY);
	mapped = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(mapped, MAP_FAILED);
	close(fd);
	ep_process_target_init(&process, getpid());
	return 0;
}

static int end(void **state)
{
	char command[160];

	(void)state;
	ep_process_target_end_job(&process);
	munmap(mapped, 4096);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	return system(command);
}

static int read_beside(const char *name, uint64_t content, uint64_t off, void *buf, size_t bytes)
{
	struct ep_target_file file = {.addr = (uint64_t)(uintptr_t)mapped, .name = name, .content = content};

	return ep_process_target_ops.file(&process, &file, off, buf, bytes);
}

EP_TEST_WITH(a_file_beside_is_read_with_zeros_to_the_end_of_its_page, begin, end)
{
	struct ep_target_file file = {.addr = (uint64_t)(uintptr_t)mapped, .name = "app.pdb"};
	char bytes[16];

	assert_int_equal(ep_process_target_ops.file(&process, &file, 1, bytes, sizeof(bytes)), 0);
	assert_memory_equal(bytes, "SJB\0\0\0\0\0\0\0\0\0\0\0\0", 16);
	assert_int_equal(file.bytes, 4);
	assert_int_not_equal(file.content, 0);
	assert_int_equal(ep_process_target_ops.file(&process, &file, 4095, bytes, 1), 0);
	assert_int_equal(read_beside("app.pdb", 0, 4095, bytes, 2), -EFAULT);
	assert_int_equal(read_beside("app.pdb", 0, UINT64_MAX, bytes, 2), -EFAULT);
}

/* In the next job; in this one the file that was opened is read on. */
EP_TEST_WITH(a_file_that_was_replaced_is_stale, begin, end)
{
	struct ep_target_file file = {.addr = (uint64_t)(uintptr_t)mapped, .name = "app.pdb"};
	char bytes[4];

	assert_int_equal(ep_process_target_ops.file(&process, &file, 0, bytes, 4), 0);
	unlink(in_directory("app.pdb"));
	write_file("app.pdb", "OTHER");
	assert_int_equal(read_beside("app.pdb", file.content, 0, bytes, 4), 0);
	assert_memory_equal(bytes, "BSJB", 4);
	ep_process_target_end_job(&process);
	assert_int_equal(read_beside("app.pdb", file.content, 0, bytes, 4), -ESTALE);
	assert_int_equal(read_beside("app.pdb", 0, 0, bytes, 4), 0);
	assert_memory_equal(bytes, "OTHE", 4);
}

EP_TEST_WITH(what_is_no_file_or_could_be_anybodys_is_not_there, begin, end)
{
	char bytes[4];

	assert_int_equal(read_beside("none.pdb", 0, 0, bytes, 4), -ENODATA);
	assert_int_equal(mkfifo(in_directory("fifo"), 0644), 0);
	assert_int_equal(read_beside("fifo", 0, 0, bytes, 4), -ENODATA);
	assert_int_equal(symlink("/nowhere", in_directory("link")), 0);
	assert_int_equal(read_beside("link", 0, 0, bytes, 4), -ENODATA);
	write_file("open", "1234");
	assert_int_equal(chmod(in_directory("open"), 0666), 0);
	assert_int_equal(read_beside("open", 0, 0, bytes, 4), -ENODATA);
	/* Of an address that no file is mapped at. */
	assert_int_equal(ep_process_target_ops.file(
				 &process, &(struct ep_target_file){.addr = (uint64_t)(uintptr_t)bytes, .name = "app.pdb"}, 0, bytes, 4),
			 -ENODATA);
}

/* A sparse gigabyte: only what is asked for is read; more files than are kept open. */
EP_TEST_WITH(large_files_and_many_are_read_in_pieces, begin, end)
{
	char bytes[4], name[16];

	write_file("large", "");
	assert_int_equal(truncate(in_directory("large"), (off_t)1 << 30), 0);
	assert_int_equal(read_beside("large", 0, (1u << 30) - 4, bytes, 4), 0);
	for (int turn = 0; turn < 2; turn++) {
		for (int i = 0; i < 3 * EP_PROCESS_TARGET_FILES; i++) {
			snprintf(name, sizeof(name), "%d", i);
			write_file(name, name);
			assert_int_equal(read_beside(name, 0, 0, bytes, 4), 0);
			assert_string_equal(bytes, name);
		}
	}
}
