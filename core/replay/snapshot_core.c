/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/elevated.h"
#include "core/elf/file.h"
#include "core/replay/core_file.h"
#include "core/replay/fixture.h"
#include "core/replay/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define VDSO_BYTES     65536
#define PAGE_BYTES     4096
#define FIRST_BYTES    PAGE_BYTES /* what is compared of a file */
#define MAX_PATH_BYTES 4096
#define MAX_SEGMENTS   16
#define DELETED	       " (deleted)"

struct core {
	struct ep_snapshot snapshot;
	struct ep_core_file file;
};

static struct core *core_of(struct ep_snapshot *snapshot)
{
	return EP_CONTAINER(snapshot, struct core, snapshot);
}

/* --- files ----------------------------------------------------------------------------------- */

/*
 * A core file names any path: only ELF files are read, and not one whose beginning differs from
 * what the core file has of it, which is nearly always its first page (core(5), bit 4).
 */
static bool is_same_file(const struct core *core, const char *path, int fd)
{
	uint8_t mapped[FIRST_BYTES], have[FIRST_BYTES];
	const struct ep_core_load *load;

	if (pread(fd, have, sizeof(have), 0) != sizeof(have) || memcmp(have, ELFMAG, SELFMAG) != 0)
		return false;
	ep_vec_each (&core->file.loads, load) {
		if (load->file_off == 0 && strcmp(load->path, path) == 0 &&
		    ep_core_file_read(&core->file, load->start, mapped, sizeof(mapped)) == 0)
			return memcmp(mapped, have, sizeof(have)) == 0;
	}
	return true;
}

/* A core file is what its maker wrote, the paths in it as well: they are no way to what he may not read. */
static int open_path(const struct core *core, const char *path)
{
	ep_autoclose int fd = -1;

	if (*path != '/' || strstr(path, DELETED))
		return -ENOENT;
	fd = ep_open_as_caller(path, O_NONBLOCK);
	if (fd < 0)
		return fd;
	return is_same_file(core, path, fd) ? ep_take_fd(fd) : -ENOENT;
}

static int open_vdso(const struct core *core)
{
	const struct ep_core_load *load = ep_core_file_find(&core->file, core->file.vdso_addr);
	ep_autoclose int fd = memfd_create("vdso", MFD_CLOEXEC);
	uint8_t bytes[VDSO_BYTES];
	size_t n = load ? EP_MIN(load->core_bytes, sizeof(bytes)) : 0;

	if (fd < 0)
		return -errno;
	if (n == 0 || ep_core_file_read(&core->file, load->start, bytes, n) < 0)
		return -ENOENT;
	return pwrite(fd, bytes, n, 0) == (ssize_t)n ? ep_take_fd(fd) : -EIO;
}

static int core_open(struct ep_snapshot *snapshot, const struct ep_mapping *mapping)
{
	struct core *core = core_of(snapshot);

	return mapping->kind == EP_MAPPING_VDSO ? open_vdso(core) : open_path(core, mapping->path);
}

/* --- memory ---------------------------------------------------------------------------------- */

/* What the process could not have changed is not in the core file, but in the file it mapped. */
static int core_read_block(struct ep_snapshot *snapshot, uint64_t addr, uint8_t *block)
{
	const struct core *core = core_of(snapshot);
	const struct ep_core_load *load = ep_core_file_find(&core->file, addr);
	ep_autoclose int fd = -1;
	ssize_t n;

	if (!load || load->end - addr < EP_FIXTURE_BLOCK_BYTES)
		return -EFAULT;
	if (ep_core_file_read(&core->file, addr, block, EP_FIXTURE_BLOCK_BYTES) == 0)
		return 0;
	if (load->flags & PF_W || !*load->path)
		return -EFAULT;
	fd = open_path(core, load->path);
	if (fd < 0)
		return -EFAULT;
	memset(block, 0, EP_FIXTURE_BLOCK_BYTES);
	n = pread(fd, block, EP_FIXTURE_BLOCK_BYTES,
		  (off_t)(load->file_off + (addr - load->start)));
	return n > 0 ? 0 : -EFAULT;
}

/* --- mappings -------------------------------------------------------------------------------- */

static int add_mapping(struct core *core, const struct ep_core_load *load)
{
	struct ep_mapping *mapping = ep_vec_push(&core->snapshot.maps.mappings);
	bool is_vdso = core->file.vdso_addr && load->start == core->file.vdso_addr;
	uint32_t id = 0;

	if (!mapping)
		return -E2BIG;
	if (*load->path)
		(void)ep_strings_add(core->file.strings, load->path, strlen(load->path), &id);
	*mapping = (struct ep_mapping){
		.start = load->start,
		.end = load->end,
		.file_off = load->file_off,
		.inode = id, /* any number that is one file's */
		.kind = is_vdso ? EP_MAPPING_VDSO
			: id	? EP_MAPPING_FILE
				: EP_MAPPING_ANON,
		.prot = (load->flags & PF_R ? EP_PROT_READ : 0) |
			(load->flags & PF_W ? EP_PROT_WRITE : 0) |
			(load->flags & PF_X ? EP_PROT_EXEC : 0),
		.path = is_vdso ? "[vdso]" : load->path,
	};
	mapping->path_bytes = (uint32_t)strlen(mapping->path);
	return 0;
}

/* --- the program, where no NT_FILE says ------------------------------------------------------ */

/* Its absolute path, from the auxiliary vector. */
static bool read_program_path(const struct core *core, char path[MAX_PATH_BYTES])
{
	for (size_t i = 0; i < MAX_PATH_BYTES; i++) {
		if (ep_core_file_read(&core->file, core->file.path_addr + i, path + i, 1) < 0)
			return false;
		if (path[i] == '\0')
			return path[0] == '/';
	}
	return false;
}

/* Names the mappings that lie in a segment of the program. */
static void name_segment(struct core *core, const struct ep_elf_segment *segment, uint64_t bias,
			 const char *path)
{
	uint64_t start = EP_ALIGN_DOWN(segment->va, PAGE_BYTES) + bias;
	uint64_t end = EP_ALIGN_UP(segment->va + segment->file_bytes, PAGE_BYTES) + bias;
	struct ep_core_load *load;

	ep_vec_each (&core->file.loads, load) {
		if (load->start < start || load->end > end)
			continue;
		load->path = path;
		load->file_off =
			EP_ALIGN_DOWN(segment->file_off, PAGE_BYTES) + (load->start - start);
	}
}

/* qemu-user writes no NT_FILE, but the auxiliary vector has the path of the program. */
static void name_program(struct core *core)
{
	ep_cleanup(ep_elf_closep) struct ep_elf *elf = NULL;
	struct ep_elf_segment segments[MAX_SEGMENTS];
	const struct ep_core_load *load;
	char path[MAX_PATH_BYTES];
	uint64_t bias;
	uint32_t id;
	size_t n;

	ep_vec_each (&core->file.loads, load) {
		if (*load->path)
			return;
	}
	if (!core->file.path_addr || !read_program_path(core, path) ||
	    ep_elf_open(path, &elf) < 0 || ep_elf_machine(elf) != core->file.arch->machine)
		return;
	bias = core->file.entry_addr - ep_elf_entry_va(elf);
	if (bias % PAGE_BYTES != 0 ||
	    ep_strings_add(core->file.strings, path, strlen(path), &id) < 0)
		return;
	n = EP_MIN(ep_elf_load_segments(elf, segments, MAX_SEGMENTS), MAX_SEGMENTS);
	for (size_t i = 0; i < n; i++)
		name_segment(core, &segments[i], bias, ep_strings_get(core->file.strings, id));
}

static int fill(struct core *core)
{
	struct ep_snapshot *snapshot = &core->snapshot;
	const struct ep_core_load *load;
	int r;

	name_program(core);
	snapshot->arch = core->file.arch;
	snapshot->pid = core->file.pid;
	r = ep_vec_append(&snapshot->threads, core->file.threads.data, core->file.threads.len);
	ep_vec_each (&core->file.loads, load) {
		if (r == 0)
			r = add_mapping(core, load);
	}
	return r;
}

static void core_close(struct ep_snapshot *snapshot)
{
	struct core *core = core_of(snapshot);

	ep_core_file_close(&core->file);
	ep_vec_fini(&snapshot->threads);
	ep_maps_fini(&snapshot->maps);
	free(core);
}

int ep_snapshot_open_core(const char *path, struct ep_snapshot **ret_snapshot,
			  char reason[EP_SNAPSHOT_REASON_BYTES])
{
	static const struct ep_snapshot_ops ops = {
		.read_block = core_read_block,
		.open = core_open,
		.close = core_close,
	};
	struct core *core = calloc(1, sizeof(*core));
	const char *why;
	int fd, r;

	if (!core)
		return -ENOMEM;
	core->snapshot.ops = &ops;
	core->snapshot.origin = "core file";
	ep_vec_init(&core->snapshot.threads, sizeof(struct ep_replay_thread),
		    EP_FIXTURE_MAX_THREADS);
	ep_maps_init(&core->snapshot.maps, EP_FIXTURE_MAX_MAPPINGS);
	fd = ep_open_as_caller(path, O_NONBLOCK);
	r = fd < 0 ? fd : ep_core_file_open(fd, &core->file);
	if (r == 0)
		r = fill(core);
	if (r < 0) {
		why = r == -EBADMSG  ? "it is no 64-bit ELF core file, or a broken one"
		      : r == -ENOTSUP ? "it is of a machine other than x86-64 and aarch64"
		      : r == -ENODATA ? "it has no thread"
				      : strerror(-r);
		snprintf(reason, EP_SNAPSHOT_REASON_BYTES, "cannot use %s: %s", path, why);
		core_close(&core->snapshot);
		return r;
	}
	*ret_snapshot = &core->snapshot;
	return 0;
}
