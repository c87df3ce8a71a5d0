/* SPDX-License-Identifier: Apache-2.0 */
#include "core/plugin/process_target.h"

#include "core/elf/file.h"
#include "core/plugin/read_ahead.h"
#include "core/proc/memory.h"
#include "core/proc/open.h"
#include "core/proc/thread_storage.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define MAX_MAPPINGS 262144 /* vm.max_map_count is 65530 unless somebody raised it */

void ep_process_target_init(struct ep_process_target *process, pid_t pid)
{
	*process = (struct ep_process_target){.pid = pid};
	ep_maps_init(&process->maps, MAX_MAPPINGS);
}

static void close_file(struct ep_process_target_file *file)
{
	if (file->path)
		close(file->fd);
	free(file->path);
	*file = (struct ep_process_target_file){0};
}

void ep_process_target_end_job(struct ep_process_target *process)
{
	ep_maps_fini(&process->maps);
	ep_maps_init(&process->maps, MAX_MAPPINGS);
	process->has_maps = false;
	for (size_t i = 0; i < EP_LEN(process->files); i++)
		close_file(&process->files[i]);
	ep_read_ahead_free(ep_take(process->ahead));
}

/* What failed is tried again by the next one that asks. */
static int maps_need(struct ep_process_target *process)
{
	int r = process->has_maps ? 0 : ep_maps_read(&process->maps, process->pid, EP_MAPS_ALL);

	process->has_maps = r == 0;
	return r;
}

static int process_mappings(void *process_arg,
			    int (*visit)(void *arg, const struct ep_target_mapping *mapping),
			    void *arg)
{
	struct ep_process_target *process = process_arg;
	const struct ep_mapping *mapping, *file;
	int r = maps_need(process);

	if (r < 0)
		return r;
	ep_vec_each (&process->maps.mappings, mapping) {
		struct ep_target_mapping target = {
			.start = mapping->start,
			.end = mapping->end,
			.file_off = mapping->file_off,
			.prot = mapping->prot & (EP_PROT_READ | EP_PROT_WRITE | EP_PROT_EXEC),
			.is_file = mapping->kind == EP_MAPPING_FILE ||
				   mapping->kind == EP_MAPPING_MEMFD,
			.path = mapping->path,
		};

		if (ep_maps_find_moved(&process->maps, mapping, &file)) {
			target.file_off = file->file_off + (mapping->start - file->start);
			target.is_file = true;
			target.path = file->path;
		}
		if (visit(arg, &target) != 0)
			break;
	}
	return 0;
}

/* --- files beside mapped ones ---------------------------------------------------------------- */

/* The path of `name` beside what is mapped at an address, and that of the mapped file. */
static int path_beside(struct ep_process_target *process, uint64_t addr, const char *name, char path[PATH_MAX],
		       const char **ret_mapped)
{
	int r = maps_need(process);
	const struct ep_mapping *mapping = r == 0 ? ep_maps_find(&process->maps, addr) : NULL;
	const char *slash = mapping && mapping->kind == EP_MAPPING_FILE ? strrchr(mapping->path, '/') : NULL;
	int len;

	if (r < 0 || !slash || mapping->path[0] != '/')
		return r < 0 ? r : -ENODATA;
	len = snprintf(path, PATH_MAX, "%.*s/%s", (int)(slash - mapping->path), mapping->path, name);
	*ret_mapped = mapping->path;
	return len < PATH_MAX ? 0 : -ENODATA;
}

/* As for debug files (core/elf/debug_file.c): what anybody could have put there tells nothing. */
static bool is_trusted(const struct ep_proc_root *root, int fd, const char *mapped)
{
	struct stat st, of_mapped;
	ep_autoclose int mapped_fd = -1;

	if (fstat(fd, &st) < 0 || st.st_mode & S_IWOTH)
		return false;
	if (st.st_uid == 0)
		return true;
	mapped_fd = ep_proc_root_find(root, mapped);
	return mapped_fd >= 0 && fstat(mapped_fd, &of_mapped) == 0 && st.st_uid == of_mapped.st_uid;
}

static uint64_t content_of(const struct ep_proc_file *file)
{
	const uint64_t words[] = {file->dev, file->inode, file->generation, (uint64_t)file->ctime_ns, file->bytes};

	return XXH3_64bits(words, sizeof(words)) | 1;
}

static int open_beside(const struct ep_process_target *process, const char *path, const char *mapped,
		       struct ep_process_target_file *ret)
{
	ep_cleanup(ep_proc_root_close) struct ep_proc_root root = {.fd = -1};
	struct ep_proc_file file = {.fd = -1};
	int r = ep_proc_root_open(process->pid, 0, &root);

	if (r == 0)
		r = ep_proc_open_below(&root, path, &file);
	if (r < 0)
		return r == -ENOENT || r == -ENOTSUP || r == -ENOTDIR || r == -ELOOP || r == -EACCES ? -ENODATA : r;
	if (!is_trusted(&root, file.fd, mapped)) {
		ep_proc_file_close(&file);
		return -ENODATA;
	}
	*ret = (struct ep_process_target_file){
		.path = strdup(path), .fd = file.fd, .content = content_of(&file), .bytes = file.bytes};
	if (ret->path)
		return 0;
	ep_proc_file_close(&file);
	return -ENOMEM;
}

/* Those of this job are open already: a name is found by many small reads. */
static int find_beside(struct ep_process_target *process, const char *path, const char *mapped,
		       struct ep_process_target_file **ret)
{
	struct ep_process_target_file opened, *slot;
	int r;

	for (size_t i = 0; i < EP_LEN(process->files); i++) {
		*ret = &process->files[i];
		if ((*ret)->path && strcmp((*ret)->path, path) == 0)
			return 0;
	}
	r = open_beside(process, path, mapped, &opened);
	if (r < 0)
		return r;
	slot = &process->files[process->next_file++ % EP_LEN(process->files)];
	close_file(slot);
	*slot = opened;
	*ret = slot;
	return 0;
}

static int process_file(void *arg, struct ep_target_file *file, uint64_t off, void *buf, size_t bytes)
{
	struct ep_process_target *process = arg;
	struct ep_process_target_file *found;
	char path[PATH_MAX];
	const char *mapped;
	uint64_t end;
	size_t inside;
	ssize_t n;
	int r = path_beside(process, file->addr, file->name, path, &mapped);

	if (r == 0)
		r = find_beside(process, path, mapped, &found);
	if (r < 0)
		return r;
	if (file->content && file->content != found->content)
		return -ESTALE;
	file->content = found->content;
	file->bytes = found->bytes;
	if (__builtin_add_overflow(off, (uint64_t)bytes, &end) || end > EP_ALIGN_UP(found->bytes, (uint64_t)4096))
		return -EFAULT;
	inside = off < found->bytes ? (size_t)EP_MIN((uint64_t)bytes, found->bytes - off) : 0;
	memset((char *)buf + inside, 0, bytes - inside);
	n = inside ? pread(found->fd, buf, inside, (off_t)off) : 0;
	return n < 0 ? -errno : (size_t)n == inside ? 0 : -EFAULT;
}

static int process_tls_key(void *arg, uint32_t key, struct ep_tls *ret)
{
	struct ep_process_target *process = arg;
	int r = maps_need(process);

	return r < 0 ? r : ep_tls_find_key(process->pid, &process->maps, key, ret);
}

static int process_tls_variable(void *arg, uint64_t tls_off, struct ep_tls *ret)
{
	struct ep_process_target *process = arg;
	ep_cleanup(ep_elf_closep) struct ep_elf *opened = NULL;
	const struct ep_mapping *mapping;
	struct ep_proc_file file = {.fd = -1};
	int r = maps_need(process);

	if (r == 0 && !process->elf) {
		mapping = ep_maps_find(&process->maps, process->module_addr);
		r = mapping ? ep_proc_open_mapping(process->pid, mapping, &file) : -ENODATA;
		if (r == 0)
			r = ep_elf_open_fd(file.fd, &opened);
	}
	return r < 0 ? r
		     : ep_tls_find_variable(process->pid, &process->maps,
					    process->elf ? process->elf : opened, process->bias,
					    tls_off, ret);
}

static int process_read_memory(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	return ep_memory_read(((struct ep_process_target *)arg)->pid, addr, buf, bytes);
}

void ep_process_target_next_frame(struct ep_process_target *process)
{
	if (!process->ahead)
		process->ahead = ep_read_ahead_new(process_read_memory, process);
	if (process->ahead)
		ep_read_ahead_next(process->ahead);
}

static int process_read(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	struct ep_process_target *process = arg;

	return process->ahead ? ep_read_ahead_read(process->ahead, addr, buf, bytes)
			      : process_read_memory(process, addr, buf, bytes);
}

const struct ep_target_ops ep_process_target_ops = {
	.read = process_read,
	.mappings = process_mappings,
	.file = process_file,
	.tls_variable = process_tls_variable,
	.tls_key = process_tls_key,
};
