/* SPDX-License-Identifier: Apache-2.0 */
/* exporters/shared/file.c: what is written is what is read, compressed or not. The rest is in test_pprof.c. */
#include "exporters/shared/file.h"
#include "core/base/util.h"
#include "tests/kit/test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <zlib.h>

#define BYTES (300 * 1024)

struct fixture {
	char dir[64], path[128];
	uint8_t *data, *back;
};

static int set_up(void **state)
{
	struct fixture *fx = calloc(1, sizeof(*fx));

	snprintf(fx->dir, sizeof(fx->dir), "/tmp/ep-file-XXXXXX");
	if (!mkdtemp(fx->dir))
		return -1;
	snprintf(fx->path, sizeof(fx->path), "%s/out", fx->dir);
	fx->data = malloc(BYTES);
	fx->back = calloc(1, BYTES + 1);
	for (size_t i = 0; i < BYTES; i++)
		fx->data[i] = (uint8_t)(i * 7 + i / 251);
	*state = fx;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fx = *state;
	int r;

	(void)unlink(fx->path);
	r = rmdir(fx->dir); /* nothing else was left in it */
	free(fx->data);
	free(fx->back);
	free(fx);
	return r;
}

#define FILE_TEST(name) EP_TEST_ON(name, struct fixture *fx, set_up, tear_down)

/* Pieces of 1, 2, 4, .. bytes up to `largest`, then again. How large the file is. */
static uint64_t write_in_pieces(struct fixture *fx, int level, size_t largest)
{
	struct ep_file *file = NULL;
	uint64_t bytes = 0;
	size_t piece = 1;

	assert_int_equal(ep_file_create(fx->path, level, &file), 0);
	for (size_t at = 0; at < BYTES; at += piece, piece = piece >= largest ? 1 : piece * 2) {
		piece = EP_MIN(piece, BYTES - at);
		assert_int_equal(ep_file_write(file, fx->data + at, piece), 0);
	}
	assert_int_equal(access(fx->path, F_OK), -1); /* not before it is whole */
	assert_int_equal(ep_file_publish(file, fx->path, false, &bytes), 0);
	ep_file_close(file);
	return bytes;
}

/* gzread reads both. */
static void check_back(struct fixture *fx)
{
	gzFile gz = gzopen(fx->path, "rb");

	assert_non_null(gz);
	assert_int_equal(gzread(gz, fx->back, BYTES + 1), BYTES);
	gzclose(gz);
	assert_memory_equal(fx->data, fx->back, BYTES);
	(void)unlink(fx->path);
}

FILE_TEST(pieces_of_all_sizes_come_back)
{
	static const size_t largest[] = {1, 1000, 64 * 1024, 64 * 1024 + 1, 256 * 1024};

	for (size_t i = 0; i < EP_LEN(largest); i++) {
		assert_int_equal(write_in_pieces(fx, 0, largest[i]), BYTES);
		check_back(fx);
		assert_true(write_in_pieces(fx, 1, largest[i]) < BYTES);
		check_back(fx);
	}
}

FILE_TEST(what_is_not_published_leaves_nothing)
{
	struct ep_file *file = NULL;

	for (int level = 0; level <= 1; level++) {
		assert_int_equal(ep_file_create(fx->path, level, &file), 0);
		assert_int_equal(ep_file_write(file, fx->data, BYTES), 0);
		ep_file_close(file);
	}
}

static void publish_empty(struct fixture *fx, bool replace)
{
	struct ep_file *file = NULL;
	uint64_t bytes;

	assert_int_equal(ep_file_create(fx->path, 0, &file), 0);
	assert_int_equal(ep_file_publish(file, fx->path, replace, &bytes), 0);
	ep_file_close(file);
}

FILE_TEST(only_its_owner_may_read_it)
{
	mode_t mask = umask(0);
	struct stat st;

	for (int replace = 0; replace <= 1; replace++) {
		publish_empty(fx, replace);
		assert_int_equal(stat(fx->path, &st), 0);
		assert_int_equal(st.st_mode, S_IFREG | 0600);
	}
	umask(mask);
}

FILE_TEST(a_name_that_is_taken_is_kept)
{
	struct ep_file *file = NULL;
	uint64_t bytes;

	publish_empty(fx, false);
	assert_int_equal(ep_file_create(fx->path, 0, &file), 0);
	assert_int_equal(ep_file_publish(file, fx->path, false, &bytes), -EEXIST);
	assert_int_equal(ep_file_publish(file, fx->path, true, &bytes), 0); /* it lost nothing by that */
	ep_file_close(file);
}

/* The names that temporary files had: where others may write, they took them and there was no profile. */
FILE_TEST(nobody_can_take_its_name_before)
{
	char names[256][160];

	for (size_t i = 0; i < EP_LEN(names); i++) {
		ep_autoclose int fd = -1;

		snprintf(names[i], sizeof(names[i]), "%s/.out.%d-%zu.tmp", fx->dir, (int)getpid(), i);
		fd = open(names[i], O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		assert_true(fd >= 0);
	}
	publish_empty(fx, false);
	for (size_t i = 0; i < EP_LEN(names); i++)
		assert_int_equal(unlink(names[i]), 0);
}

static void set_sudo(const char *uid)
{
	(void)(uid ? setenv("SUDO_UID", uid, 1) : unsetenv("SUDO_UID"));
	(void)(uid ? setenv("SUDO_GID", uid, 1) : unsetenv("SUDO_GID"));
}

/* He may write there, or root alone may. */
FILE_TEST(it_belongs_to_who_called_sudo)
{
	struct stat st;

	if (geteuid() != 0)
		skip();
	set_sudo("65534");
	for (int of_caller = 0; of_caller <= 1; of_caller++) {
		assert_int_equal(chown(fx->dir, of_caller ? 65534 : 0, 0), 0);
		publish_empty(fx, true);
		assert_int_equal(stat(fx->path, &st), 0);
		assert_int_equal(st.st_uid, 65534);
		assert_int_equal(st.st_gid, 65534);
		assert_int_equal(st.st_mode, S_IFREG | 0600);
	}
	set_sudo(NULL);
}

FILE_TEST(nobody_knows_whose_it_is_without_a_number)
{
	struct ep_file *file = NULL;

	if (geteuid() != 0)
		skip();
	set_sudo("nobody");
	assert_int_equal(ep_file_create(fx->path, 0, &file), -EINVAL);
	assert_null(file);
	set_sudo(NULL);
}

/* --- what is there already --- */

static void make_pipe(struct fixture *fx)
{
	assert_int_equal(mkfifo(fx->path, 0600), 0);
}

static void make_device(struct fixture *fx)
{
	if (mknod(fx->path, S_IFCHR | 0600, makedev(1, 3)) < 0)
		skip(); /* a user may not, nor root of a container */
}

static void make_link_to_device(struct fixture *fx)
{
	assert_int_equal(symlink("/dev/null", fx->path), 0);
}

/* A file that was begun before it was there, too. */
static void check_stays(struct fixture *fx, void (*make)(struct fixture *fx))
{
	struct stat before, after;
	struct ep_file *file = NULL, *later = NULL;
	uint64_t bytes;

	assert_int_equal(ep_file_create(fx->path, 0, &later), 0);
	make(fx);
	assert_int_equal(lstat(fx->path, &before), 0);
	assert_int_equal(ep_file_check(fx->dir, fx->path), -ENOTSUP);
	assert_int_equal(ep_file_try(fx->path), -ENOTSUP);
	assert_int_equal(ep_file_create(fx->path, 0, &file), -ENOTSUP);
	assert_null(file);
	assert_int_equal(ep_file_publish(later, fx->path, true, &bytes), -ENOTSUP);
	ep_file_close(later);
	assert_int_equal(lstat(fx->path, &after), 0);
	assert_int_equal(after.st_mode, before.st_mode);
	assert_int_equal(after.st_ino, before.st_ino);
}

FILE_TEST(a_pipe_stays)
{
	check_stays(fx, make_pipe);
}

FILE_TEST(a_link_to_a_device_stays)
{
	check_stays(fx, make_link_to_device);
}

FILE_TEST(a_device_stays)
{
	make_device(fx); /* or skip before a file is open */
	assert_int_equal(unlink(fx->path), 0);
	check_stays(fx, make_device);
}

/* In another directory than the link, where the file is made then: the link may be on another file system. */
FILE_TEST(a_link_stays_and_its_target_is_replaced)
{
	char inner[128], target[160], link[160] = "";
	struct ep_file *file = NULL;
	uint64_t bytes;
	struct stat st;

	snprintf(inner, sizeof(inner), "%s/inner", fx->dir);
	snprintf(target, sizeof(target), "%s/target", inner);
	assert_int_equal(mkdir(inner, 0700), 0);
	assert_int_equal(symlink("inner/target", fx->path), 0);
	for (int i = 0; i < 2; i++) { /* it leads to nothing, then to a file */
		assert_int_equal(ep_file_check(fx->dir, fx->path), -EEXIST);
		assert_int_equal(ep_file_create(fx->path, 0, &file), 0);
		assert_int_equal(ep_file_write(file, fx->data, 100), 0);
		assert_int_equal(ep_file_publish(file, fx->path, false, &bytes), -EEXIST);
		assert_int_equal(ep_file_publish(file, fx->path, true, &bytes), 0);
		ep_file_close(file);
		assert_int_equal(readlink(fx->path, link, sizeof(link) - 1), strlen("inner/target"));
		assert_int_equal(lstat(target, &st), 0);
		assert_int_equal(st.st_mode, S_IFREG | 0600);
		assert_int_equal(st.st_size, 100);
	}
	assert_int_equal(unlink(target), 0);
	assert_int_equal(rmdir(inner), 0); /* and nothing else in it */
}
