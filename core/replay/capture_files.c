/* SPDX-License-Identifier: Apache-2.0 */
#include "core/replay/capture_files.h"
#include "core/base/parse.h"
#include "core/plugin/description.h"
#include "core/plugin/elf_file.h"
#include "core/process/analysis.h"
#include "core/symbol/native.h"
#include "core/unwind/table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_SYMBOL_BYTES ((size_t)512 << 20)
#define MAX_SEGMENTS	 8

struct file {
	uint64_t dev, inode; /* identity; the vDSO has neither */
	char *path;
	uint64_t addr; /* where it is mapped first */
	int fd;
	struct ep_elf *elf;
	struct ep_elf_file elf_file; /* for plugins; never moved: allocated each */
	struct ep_unwind_table *table;
	struct ep_vec asked; /* const struct ep_unwinder_ops *: who described it, or could not */
	struct ep_description description;
};

#define MAX_ASKED 64

struct ep_capture_files {
	struct ep_snapshot *snapshot;
	struct ep_fixture *fixture;
	struct ep_vec files; /* struct file *, as the fixture's executables */
	struct ep_native_symbols *symbols;
};

int ep_capture_files_new(struct ep_snapshot *snapshot, struct ep_fixture *fixture,
			 struct ep_capture_files **ret_files)
{
	struct ep_capture_files *files = calloc(1, sizeof(*files));
	int r = files ? ep_native_symbols_new(MAX_SYMBOL_BYTES, &files->symbols) : -ENOMEM;

	if (r < 0) {
		free(files);
		return r;
	}
	files->snapshot = snapshot;
	files->fixture = fixture;
	ep_vec_init(&files->files, sizeof(struct file *), EP_FIXTURE_MAX_EXECUTABLES);
	*ret_files = files;
	return 0;
}

static void free_file(struct file *file)
{
	if (!file)
		return;
	if (file->elf)
		ep_elf_file_fini(&file->elf_file);
	ep_vec_fini(&file->asked);
	ep_description_fini(&file->description);
	ep_unwind_table_free(file->table);
	ep_elf_close(file->elf);
	if (file->fd >= 0)
		close(file->fd);
	free(file->path);
	free(file);
}

void ep_capture_files_free(struct ep_capture_files *files)
{
	struct file **file;

	if (!files)
		return;
	ep_native_symbols_free(files->symbols);
	ep_vec_each (&files->files, file)
		free_file(*file);
	ep_vec_fini(&files->files);
	free(files);
}

static struct file *file_at(const struct ep_capture_files *files, uint32_t i)
{
	return *ep_vec_at(&files->files, struct file *, i);
}

/* --- executables ----------------------------------------------------------------------------- */

static bool has_file(const struct ep_mapping *mapping)
{
	return mapping->kind == EP_MAPPING_FILE || mapping->kind == EP_MAPPING_MEMFD ||
	       mapping->kind == EP_MAPPING_VDSO;
}

static uint64_t dev_of(const struct ep_mapping *mapping)
{
	return (uint64_t)mapping->dev_major << 32 | mapping->dev_minor;
}

/* Index + 1; 0: not there. */
static uint32_t find_file(const struct ep_capture_files *files, const struct ep_mapping *mapping)
{
	for (uint32_t i = 0; has_file(mapping) && i < files->files.len; i++) {
		const struct file *file = file_at(files, i);

		if (file->dev == dev_of(mapping) && file->inode == mapping->inode &&
		    (mapping->kind == EP_MAPPING_VDSO) == (strcmp(file->path, "[vdso]") == 0) &&
		    strcmp(file->path, mapping->path) == 0)
			return i + 1;
	}
	return 0;
}

static void build_table(const struct ep_capture_files *files, struct file *file)
{
	ep_unwind_table_free(ep_take(file->table));
	(void)ep_analysis_build_table(file->elf, files->snapshot->root, file->path,
				      &file->description.rows, &file->table);
}

static int open_file(struct ep_capture_files *files, const struct ep_mapping *mapping,
		     struct file *file)
{
	int fd;

	file->fd = files->snapshot->ops->open(files->snapshot, mapping);
	if (file->fd < 0)
		return file->fd;
	fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (ep_elf_open_fd(fd, &file->elf) < 0) {
		file->elf = NULL;
		return -EBADMSG;
	}
	ep_elf_file_init(&file->elf_file, file->elf, files->snapshot->root, file->path);
	build_table(files, file);
	return 0;
}

static int describe_file(struct ep_capture_files *files, const struct file *file)
{
	struct ep_fixture_executable *executable = ep_fixture_add_executable(files->fixture);
	struct ep_elf_segment segments[MAX_SEGMENTS];
	uint8_t id[EP_ELF_BUILD_ID_MAX];
	char hex[2 * EP_ELF_BUILD_ID_MAX + 1] = "";
	int n;

	if (!executable)
		return -E2BIG;
	executable->path = ep_fixture_string(files->fixture, file->path);
	if (!file->elf)
		return 0;
	n = ep_elf_build_id(file->elf, id);
	if (n > 0)
		ep_to_hex(id, (size_t)n, hex);
	executable->build_id = ep_fixture_string(files->fixture, hex);
	n = (int)EP_MIN(ep_elf_exec_segments(file->elf, segments, MAX_SEGMENTS), MAX_SEGMENTS);
	return ep_vec_append(&executable->segments, segments, (size_t)n);
}

static int add_file(struct ep_capture_files *files, const struct ep_mapping *mapping)
{
	struct file **slot = ep_vec_push(&files->files);
	struct file *file = slot ? calloc(1, sizeof(*file)) : NULL;

	if (!file) {
		files->files.len -= slot ? 1 : 0;
		return -ENOMEM;
	}
	*slot = file;
	ep_vec_init(&file->asked, sizeof(const struct ep_unwinder_ops *), MAX_ASKED);
	ep_description_init(&file->description);
	file->fd = -1;
	file->dev = dev_of(mapping);
	file->inode = mapping->inode;
	file->addr = mapping->start;
	file->path = strdup(mapping->path);
	if (!file->path)
		return -ENOMEM;
	(void)open_file(files, mapping, file); /* then it is one without tables and names */
	return describe_file(files, file);
}

static int add_mapping(struct ep_capture_files *files, const struct ep_mapping *mapping)
{
	struct ep_fixture_mapping *to = ep_vec_push(&files->fixture->mappings);
	uint32_t index = find_file(files, mapping);

	if (!to)
		return -E2BIG;
	*to = (struct ep_fixture_mapping){
		.start = mapping->start,
		.end = mapping->end,
		.file_off = mapping->file_off,
		.prot = mapping->prot & (PROT_READ | PROT_WRITE | PROT_EXEC),
		.is_file = mapping->kind == EP_MAPPING_FILE || mapping->kind == EP_MAPPING_MEMFD,
		.path = ep_fixture_string(files->fixture, mapping->path),
	};
	if (index && (file_at(files, index - 1)->elf || mapping->kind == EP_MAPPING_FILE))
		to->executable = index;
	return 0;
}

int ep_capture_files_update(struct ep_capture_files *files)
{
	const struct ep_vec *mappings = &files->snapshot->maps.mappings;
	const struct ep_mapping *mapping;
	int r = 0;

	ep_vec_each (mappings, mapping) {
		if (r == 0 && (mapping->prot & EP_PROT_EXEC) && has_file(mapping) &&
		    !find_file(files, mapping))
			r = add_file(files, mapping);
	}
	files->fixture->mappings.len = 0;
	ep_vec_each (mappings, mapping) {
		if (r == 0)
			r = add_mapping(files, mapping);
	}
	return r;
}

/* --- answers --------------------------------------------------------------------------------- */

const struct ep_unwind_table *ep_capture_files_table(struct ep_capture_files *files, uint32_t i)
{
	return file_at(files, i)->table;
}

const struct ep_file *ep_capture_files_file(struct ep_capture_files *files, uint32_t i)
{
	struct file *file = file_at(files, i);

	return file->elf ? &file->elf_file.file : NULL;
}

void ep_capture_files_describe(struct ep_capture_files *files, uint32_t i,
			       const struct ep_unwinder_ops *ops, void *claim)
{
	struct file *file = file_at(files, i);
	const struct ep_unwinder_ops **asked;

	ep_vec_each (&file->asked, asked) {
		if (*asked == ops)
			return;
	}
	if (!file->elf || ep_vec_append(&file->asked, &ops, 1) < 0)
		return;
	(void)ep_description_ask(&file->description, ops, claim, &file->elf_file.file);
	ep_description_end(&file->description);
	build_table(files, file);
}

int ep_capture_files_tls(struct ep_capture_files *files, uint32_t question, uint32_t i,
			 uint64_t bias, uint64_t value, struct ep_tls *ret)
{
	const struct ep_snapshot_ops *ops = files->snapshot->ops;
	const struct file *file = file_at(files, i);

	if (!ops->tls)
		return -ENOTSUP;
	return ops->tls(files->snapshot, question, file->elf, file->addr, bias, value, ret);
}

int ep_capture_files_beside(struct ep_capture_files *files, struct ep_target_file *file, uint64_t off, void *buf,
			    size_t bytes)
{
	const struct ep_snapshot_ops *ops = files->snapshot->ops;

	return ops->file ? ops->file(files->snapshot, file, off, buf, bytes) : -ENODATA;
}

static int open_again(void *arg)
{
	const struct file *file = arg;
	int fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);

	return fd < 0 ? -errno : fd;
}

int ep_capture_files_names(struct ep_capture_files *files, uint32_t i, uint64_t va,
			   struct ep_lines *lines)
{
	struct file *file = file_at(files, i);
	struct ep_native_file native = {
		.key = i + 1,
		.open = open_again,
		.arg = file,
		.root = files->snapshot->root,
		.path = file->path,
		.described = file->description.symbols,
	};

	return file->fd < 0 ? -ENODATA
			    : ep_native_symbols_resolve(files->symbols, &native, &va, 1, lines);
}
