/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/view/debug_index.h"
#include "core/base/parse.h"
#include "core/base/util.h"
#include "core/elf/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILES	(1u << 17) /* regular ones */
#define MAX_DIRECTORIES (1u << 16)
#define MAX_LEVELS	16

struct file {
	char *path; /* owned */
	char build_id[2 * EP_ELF_BUILD_ID_MAX + 1];
};

struct directory {
	char *path; /* owned */
	unsigned int level;
};

struct reading {
	struct ep_debug_index *index;
	struct ep_vec
		directories; /* struct directory: the next ones are appended while they are read */
	size_t n_files;
};

static void reading_fini(struct reading *reading)
{
	struct directory *directory;

	ep_vec_each (&reading->directories, directory)
		free(directory->path);
	ep_vec_fini(&reading->directories);
}

void ep_debug_index_init(struct ep_debug_index *index)
{
	*index = (struct ep_debug_index){0};
	ep_vec_init(&index->files, sizeof(struct file), MAX_FILES);
}

void ep_debug_index_fini(struct ep_debug_index *index)
{
	struct file *file;

	ep_vec_each (&index->files, file)
		free(file->path);
	ep_vec_fini(&index->files);
}

static int push_directory(struct reading *reading, const char *path, unsigned int level)
{
	struct directory *slot;

	if (level > MAX_LEVELS || reading->directories.len == MAX_DIRECTORIES) {
		reading->index->is_cut = true;
		return 0;
	}
	slot = ep_vec_push(&reading->directories);
	if (!slot)
		return -ENOMEM;
	slot->level = level;
	slot->path = strdup(path);
	return slot->path ? 0 : -ENOMEM;
}

static bool has_magic(int fd)
{
	char magic[4];

	return pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	       memcmp(magic, "\177ELF", sizeof(magic)) == 0;
}

/* The build id in hex, "" when this is no ELF file that has one. */
static int read_build_id(const char *path, char *hex)
{
	ep_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	uint8_t id[EP_ELF_BUILD_ID_MAX];
	struct ep_elf *elf;
	struct stat st;
	int r;

	hex[0] = '\0';
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !has_magic(fd))
		return 0;
	r = ep_elf_open_fd(ep_take_fd(fd), &elf);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	r = ep_elf_build_id(elf, id);
	if (r > 0)
		ep_to_hex(id, (size_t)r, hex);
	ep_elf_close(elf);
	return 0;
}

static int add_file(struct reading *reading, const char *path)
{
	struct file file = {0}, *slot;
	int r = 0;

	if (reading->n_files++ == MAX_FILES) {
		reading->index->is_cut = true;
		return 0;
	}
	r = read_build_id(path, file.build_id);
	if (r < 0 || !file.build_id[0])
		return r;
	slot = ep_vec_push(&reading->index->files);
	if (!slot)
		return -ENOMEM;
	*slot = file;
	slot->path = strdup(path);
	return slot->path ? 0 : -ENOMEM;
}

static int add_entry(struct reading *reading, const char *directory, const char *name,
		     unsigned int level)
{
	ep_autofree char *path = NULL;
	struct stat st;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	if (asprintf(&path, "%s/%s", directory, name) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	if (lstat(path, &st) < 0)
		return 0;
	if (S_ISDIR(st.st_mode))
		return push_directory(reading, path, level + 1);
	return S_ISREG(st.st_mode) || S_ISLNK(st.st_mode) ? add_file(reading, path) : 0;
}

static int read_directory(struct reading *reading, const char *path, unsigned int level)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	int r = 0;

	while (dir && r == 0 && reading->n_files <= MAX_FILES && (entry = readdir(dir)) != NULL)
		r = add_entry(reading, path, entry->d_name, level);
	if (dir)
		closedir(dir);
	return r;
}

static int by_build_id(const void *left, const void *right)
{
	const struct file *a = left, *b = right;
	int r = strcmp(a->build_id, b->build_id);

	return r ? r : strcmp(a->path, b->path);
}

int ep_debug_index_read(struct ep_debug_index *index, const char *const *directories, size_t n)
{
	ep_cleanup(reading_fini) struct reading reading = {.index = index};
	int r = 0;

	if (index->is_read)
		return 0;
	index->is_read = true;
	ep_vec_init(&reading.directories, sizeof(struct directory), MAX_DIRECTORIES);
	for (size_t i = 0; i < n && r == 0; i++)
		r = push_directory(&reading, directories[i], 0);
	for (size_t i = 0; i < reading.directories.len && r == 0; i++) {
		struct directory directory = *ep_vec_at(&reading.directories, struct directory, i);

		r = read_directory(&reading, directory.path, directory.level);
	}
	if (index->files.len > 1)
		qsort(index->files.data, index->files.len, sizeof(struct file), by_build_id);
	return r;
}

const char *ep_debug_index_find(const struct ep_debug_index *index, const char *build_id, size_t n)
{
	size_t low = 0, high = index->files.len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct file *file = ep_vec_at(&index->files, struct file, middle);

		if (strcasecmp(file->build_id, build_id) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (n >= index->files.len - low ||
	    strcasecmp(ep_vec_at(&index->files, struct file, low + n)->build_id, build_id) != 0)
		return NULL;
	return ep_vec_at(&index->files, struct file, low + n)->path;
}
