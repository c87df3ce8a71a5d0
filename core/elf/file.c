/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headers are read here with pread rather than through libelf: libelf (0.188) with ELF_C_READ keeps
 * every section it was asked for until elf_end, cannot read zstd sections, and refuses a file whose
 * section headers are cut off although its program headers are enough to unwind. The layout is
 * that of <elf.h> and of the System V gABI, chapters 4 and 5.
 *
 *	offset 0           e_phoff                e_shoff
 *	| Elf64_Ehdr | ... | Elf64_Phdr[e_phnum] | ... | Elf64_Shdr[e_shnum] |
 *
 * 1. e_phnum 0xffff: the number is in section 0's sh_info. 2. e_shnum 0: it is in section 0's
 * sh_size. 3. e_shstrndx 0xffff: it is in section 0's sh_link. (gABI, "ELF Header")
 */
#include "core/elf/file.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/elf/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define MAX_SEGMENTS	((size_t)16384)
#define MAX_SECTIONS	((size_t)262144) /* 16 MiB; object files with a section per function */
#define MAX_NAMES_BYTES ((size_t)16 << 20)
/* Steps: a system call and what it copies, or a copy alone. */
#define READ_STEPS  300
#define COPY_STEPS  10
#define STEP_BYTES  8
/*
 * What a file may cost. Of 2600 programs and libraries of a machine, tables and names took 15 % of it at most. What
 * is not on the disk gives nothing, so a small file with large holes has the first number alone.
 */
#define BASE_STEPS     ((uint64_t)10 * 1000 * 1000)
#define STEPS_PER_BYTE 8
#define MAX_CPU_NS     (20 * EP_NS_PER_SEC)
#define MAP_FROM_BYTES	((size_t)128 << 10) /* as glibc's M_MMAP_THRESHOLD */

/* ---- bytes ---- */

static void *bytes_map(size_t bytes)
{
	void *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return data == MAP_FAILED ? NULL : data;
}

int ep_elf_bytes_new(struct ep_work *work, size_t bytes, struct ep_elf_bytes *ret_bytes)
{
	struct ep_memory_budget *budget = work ? work->memory : NULL;
	size_t mapped = bytes < MAP_FROM_BYTES ? 0 : bytes;
	void *data;
	int r = ep_memory_budget_take(budget, bytes);

	if (r < 0)
		return r;
	data = mapped ? bytes_map(bytes) : calloc(1, bytes ? bytes : 1);
	if (!data) {
		ep_memory_budget_give(budget, bytes);
		return -ENOMEM;
	}
	*ret_bytes = (struct ep_elf_bytes){
		.data = data, .bytes = bytes, .mapped = mapped, .budget = budget
	};
	return 0;
}

void ep_elf_bytes_fini(struct ep_elf_bytes *bytes)
{
	if (bytes->mapped)
		munmap((void *)(uintptr_t)bytes->data, bytes->mapped);
	else
		free((void *)(uintptr_t)bytes->data);
	ep_memory_budget_give(bytes->budget, bytes->bytes);
	*bytes = (struct ep_elf_bytes){0};
}

static int read_full(int fd, uint64_t off, uint8_t *buf, size_t bytes)
{
	while (bytes) {
		ssize_t got = pread(fd, buf, bytes, (off_t)off);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			return -EBADMSG; /* it has shrunk since it was opened */
		buf += got;
		off += (uint64_t)got;
		bytes -= (size_t)got;
	}
	return 0;
}

int ep_elf_read_at(const struct ep_elf *elf, uint64_t file_off, void *buf, size_t bytes)
{
	int r;

	if (!ep_in_bounds(file_off, bytes, elf->bytes))
		return -EBADMSG;
	if (!bytes)
		return 0;
	r = ep_work_take(elf->work, (elf->fd >= 0 ? READ_STEPS : COPY_STEPS) + bytes / STEP_BYTES);
	if (r < 0)
		return r;
	if (elf->fd >= 0)
		return read_full(elf->fd, file_off, buf, bytes);
	memcpy(buf, elf->image + file_off, bytes);
	return 0;
}

/*
 * Whoever makes a file has a gigabyte of zeros for nothing: what is read whole was written. File systems that know
 * no holes say that there are none. The position of the descriptor, which this moves, is nobody's.
 */
bool ep_elf_has_hole(const struct ep_elf *elf, uint64_t file_off, uint64_t bytes)
{
	off_t hole = elf->fd >= 0 && bytes ? lseek(elf->fd, (off_t)file_off, SEEK_HOLE) : -1;

	return hole >= 0 && (uint64_t)hole - file_off < bytes;
}

/* ---- headers ---- */

static int header_read(struct ep_elf *elf)
{
	Elf64_Ehdr *header = &elf->header;

	if (elf->bytes < EI_NIDENT || ep_elf_read_at(elf, 0, header->e_ident, EI_NIDENT) < 0 ||
	    memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
		return -EBADMSG;
	if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
		return -ENOTSUP;
	return ep_elf_read_at(elf, 0, header, sizeof(*header));
}

/* Reads `n` records of `entry_bytes` each. 0, -EBADMSG, -E2BIG, -ENOMEM. */
static int table_read(struct ep_elf *elf, uint64_t file_off, size_t n, size_t entry_bytes,
		      void **ret_table)
{
	ep_autofree void *table = NULL;
	int r;

	if (!ep_in_bounds(file_off, (uint64_t)n * entry_bytes, elf->bytes))
		return -EBADMSG;
	r = ep_memory_budget_take(elf->budget, n * entry_bytes);
	if (r < 0)
		return r;
	elf->held += n * entry_bytes;
	table = malloc(n * entry_bytes);
	if (!table)
		return -ENOMEM;
	r = ep_elf_read_at(elf, file_off, table, n * entry_bytes);
	if (r < 0)
		return r;
	*ret_table = ep_take(table);
	return 0;
}

static int segments_read(struct ep_elf *elf, const Elf64_Shdr *section0)
{
	const Elf64_Ehdr *header = &elf->header;
	size_t n = header->e_phnum;
	void *table = NULL;
	int r;

	if (n == PN_XNUM)
		n = section0->sh_info;
	if (!n || !header->e_phoff)
		return 0;
	if (header->e_phentsize != sizeof(Elf64_Phdr))
		return -EBADMSG;
	if (n > MAX_SEGMENTS)
		return -E2BIG;
	r = table_read(elf, header->e_phoff, n, sizeof(Elf64_Phdr), &table);
	if (r < 0)
		return r;
	elf->segments = table;
	elf->n_segments = n;
	return 0;
}

static int names_read(struct ep_elf *elf, uint32_t index)
{
	const Elf64_Shdr *section;
	void *names = NULL;
	int r;

	if (index >= elf->n_sections)
		return -EBADMSG;
	section = &elf->sections[index];
	if (section->sh_type == SHT_NOBITS || (section->sh_flags & SHF_COMPRESSED) ||
	    section->sh_size > MAX_NAMES_BYTES || !section->sh_size)
		return -EBADMSG;
	r = table_read(elf, section->sh_offset, section->sh_size, 1, &names);
	if (r < 0)
		return r;
	elf->names = names;
	elf->names_bytes = section->sh_size;
	return 0;
}

static int sections_read(struct ep_elf *elf, const Elf64_Shdr *section0)
{
	const Elf64_Ehdr *header = &elf->header;
	uint64_t n = header->e_shnum ? header->e_shnum : section0->sh_size;
	uint32_t names_index = header->e_shstrndx;
	void *table = NULL;
	int r;

	if (n > MAX_SECTIONS)
		return -E2BIG;
	if (!n)
		return 0;
	r = table_read(elf, header->e_shoff, n, sizeof(Elf64_Shdr), &table);
	if (r < 0)
		return r;
	elf->sections = table;
	elf->n_sections = n;
	return names_read(elf, names_index == SHN_XINDEX ? section0->sh_link : names_index);
}

/*
 * Program headers must be right. Section headers may be missing or cut off (a truncated file, a
 * packed one): then sections are those that the loader's own tables tell of (core/elf/stripped.c).
 */
static int headers_read(struct ep_elf *elf)
{
	Elf64_Shdr section0 = {0};
	bool sections = false;
	int r;

	r = header_read(elf);
	if (r < 0)
		return r;
	if (elf->header.e_shoff && elf->header.e_shentsize == sizeof(section0))
		sections =
			ep_elf_read_at(elf, elf->header.e_shoff, &section0, sizeof(section0)) >= 0;
	r = segments_read(elf, &section0);
	if (r < 0)
		return r;
	if (sections)
		r = sections_read(elf, &section0);
	if (r < 0 && !ep_is_transient(r) && r != -ETIME && r != -ECANCELED) {
		ep_log(EP_LOG_DEBUG, "elf: fd %d: section headers unusable: %s", elf->fd,
		       ep_strerror(r));
		r = 0;
	}
	return r == 0 && elf->n_sections == 0 && elf->n_segments > 0 ? ep_elf_make_sections(elf) : r;
}

/* ---- open and close ---- */

/* File systems that compress say less than there is, and some say nothing: there, what comes before a hole counts. */
static uint64_t count_stored(const struct ep_elf *elf, uint64_t on_disk)
{
	off_t hole = lseek(elf->fd, 0, SEEK_HOLE);

	return EP_MIN(EP_MAX(on_disk, hole > 0 ? (uint64_t)hole : 0), elf->bytes);
}

static int source_check(struct ep_elf *elf)
{
	struct stat st;

	if (fstat(elf->fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EBADMSG;
	elf->bytes = (uint64_t)st.st_size;
	elf->stored_bytes = count_stored(elf, (uint64_t)st.st_blocks * 512);
	return 0;
}

static struct ep_elf *elf_new(int fd, struct ep_work *work)
{
	struct ep_elf *elf = calloc(1, sizeof(*elf));

	if (!elf)
		return NULL;
	elf->fd = fd;
	elf->work = work;
	elf->budget = work ? work->memory : NULL;
	return elf;
}

int ep_elf_open_fd(int fd, struct ep_elf **ret_elf)
{
	return ep_elf_open_work(fd, NULL, ret_elf);
}

void ep_elf_work_init(struct ep_work *work, const atomic_bool *stopped,
		      struct ep_memory_budget *memory)
{
	ep_work_init(work, BASE_STEPS, MAX_CPU_NS, stopped, memory);
}

int ep_elf_open_work(int fd, struct ep_work *work, struct ep_elf **ret_elf)
{
	ep_cleanup(ep_elf_closep) struct ep_elf *elf = NULL;
	ep_autoclose int owned = fd;
	int r;

	if (fd < 0)
		return -EBADF;
	elf = elf_new(owned, work);
	if (!elf)
		return -ENOMEM;
	owned = -1;
	r = source_check(elf);
	if (r < 0)
		return r;
	ep_work_add(work, ep_elf_steps(elf));
	r = headers_read(elf);
	if (r < 0)
		return r;
	*ret_elf = ep_take(elf);
	return 0;
}

/* Opened by the descriptor, so that the file which was looked at is the file which is read. */
int ep_elf_open_path_fd(int path_fd, struct ep_work *work, struct ep_elf **ret_elf)
{
	ep_autoclose int owned = path_fd;
	char self[64];
	struct stat st;
	int fd;

	if (fstat(owned, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EBADMSG;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", owned);
	fd = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	return ep_elf_open_work(fd, work, ret_elf);
}

/* The path may lie in a container and name anything: O_PATH looks without side effects. */
int ep_elf_open(const char *path, struct ep_elf **ret_elf)
{
	int path_fd = open(path, O_PATH | O_CLOEXEC);

	if (path_fd < 0)
		return -errno;
	return ep_elf_open_path_fd(path_fd, NULL, ret_elf);
}

int ep_elf_open_image(uint8_t *image, size_t bytes, struct ep_work *work, size_t held,
		      struct ep_elf **ret_elf)
{
	ep_cleanup(ep_elf_closep) struct ep_elf *elf = elf_new(-1, work);
	int r;

	if (!elf) {
		ep_memory_budget_give(work ? work->memory : NULL, held);
		free(image);
		return -ENOMEM;
	}
	elf->image = image;
	elf->held = held;
	elf->bytes = elf->stored_bytes = bytes;
	r = headers_read(elf);
	if (r < 0)
		return r;
	*ret_elf = ep_take(elf);
	return 0;
}

int ep_elf_open_memory(const void *data, size_t bytes, struct ep_elf **ret_elf)
{
	uint8_t *image = malloc(bytes ? bytes : 1);

	if (!image)
		return -ENOMEM;
	if (bytes)
		memcpy(image, data, bytes);
	return ep_elf_open_image(image, bytes, NULL, 0, ret_elf);
}

void ep_elf_close(struct ep_elf *elf)
{
	if (!elf)
		return;
	if (elf->fd >= 0)
		close(elf->fd);
	free(elf->image);
	free(elf->segments);
	free(elf->sections);
	free(elf->names);
	ep_memory_budget_give(elf->budget, elf->held);
	free(elf);
}

uint16_t ep_elf_machine(const struct ep_elf *elf)
{
	return elf->header.e_machine;
}

uint16_t ep_elf_type(const struct ep_elf *elf)
{
	return elf->header.e_type;
}

uint64_t ep_elf_entry_va(const struct ep_elf *elf)
{
	return elf->header.e_entry;
}

uint64_t ep_elf_file_bytes(const struct ep_elf *elf)
{
	return elf->bytes;
}

int ep_elf_fd(const struct ep_elf *elf)
{
	return elf->fd;
}

struct ep_work *ep_elf_work(const struct ep_elf *elf)
{
	return elf->work;
}

void ep_elf_set_work(struct ep_elf *elf, struct ep_work *work)
{
	elf->work = work;
}

uint64_t ep_elf_stored_bytes(const struct ep_elf *elf)
{
	return elf->stored_bytes;
}

uint64_t ep_elf_steps(const struct ep_elf *elf)
{
	return elf->stored_bytes * STEPS_PER_BYTE;
}

/* ---- segments ---- */

static struct ep_elf_segment segment_of(const Elf64_Phdr *header)
{
	return (struct ep_elf_segment){
		.va = header->p_vaddr,
		.mem_bytes = header->p_memsz,
		.file_off = header->p_offset,
		.file_bytes = header->p_filesz,
		.align = header->p_align,
	};
}

static size_t segments_collect(const struct ep_elf *elf, uint32_t flags,
			       struct ep_elf_segment *segments, size_t max)
{
	size_t n = 0;

	(void)ep_work_take(elf->work, elf->n_segments);
	for (size_t i = 0; i < elf->n_segments; i++) {
		const Elf64_Phdr *header = &elf->segments[i];

		if (header->p_type != PT_LOAD || (header->p_flags & flags) != flags)
			continue;
		if (n < max)
			segments[n] = segment_of(header);
		n++;
	}
	return n;
}

size_t ep_elf_exec_segments(const struct ep_elf *elf, struct ep_elf_segment *segments, size_t max)
{
	return segments_collect(elf, PF_X, segments, max);
}

size_t ep_elf_load_segments(const struct ep_elf *elf, struct ep_elf_segment *segments, size_t max)
{
	return segments_collect(elf, 0, segments, max);
}

int ep_elf_find_segment(const struct ep_elf *elf, uint32_t p_type, struct ep_elf_segment *ret)
{
	for (size_t i = 0; i < elf->n_segments; i++) {
		if (elf->segments[i].p_type != p_type)
			continue;
		*ret = segment_of(&elf->segments[i]);
		return 0;
	}
	return -ENODATA;
}

static int segment_read(const struct ep_elf *elf, const Elf64_Phdr *segment, uint64_t off,
			uint8_t *buf, size_t bytes)
{
	size_t stored = off < segment->p_filesz ? EP_MIN(segment->p_filesz - off, bytes) : 0;
	uint64_t file_off;
	int r = 0;

	if (stored && __builtin_add_overflow(segment->p_offset, off, &file_off))
		return -EBADMSG;
	if (stored)
		r = ep_elf_read_at(elf, file_off, buf, stored);
	memset(buf + stored, 0, bytes - stored);
	return r;
}

int ep_elf_read_va(const struct ep_elf *elf, uint64_t va, void *buf, size_t bytes)
{
	int r = ep_work_take(elf->work, elf->n_segments);

	if (r < 0)
		return r;
	for (size_t i = 0; i < elf->n_segments; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];
		uint64_t off = va - segment->p_vaddr;

		if (segment->p_type == PT_LOAD && va >= segment->p_vaddr &&
		    ep_in_bounds(off, bytes, segment->p_memsz))
			return segment_read(elf, segment, off, buf, bytes);
	}
	return -ENODATA;
}

/* ---- sections ---- */

static struct ep_elf_section section_of(const struct ep_elf *elf, size_t index)
{
	const Elf64_Shdr *header = &elf->sections[index];

	return (struct ep_elf_section){
		.va = header->sh_addr,
		.file_off = header->sh_offset,
		.bytes = header->sh_size,
		.type = header->sh_type,
		.index = (uint32_t)index,
		.link = header->sh_link,
		.entry_bytes = header->sh_entsize,
		.flags = header->sh_flags,
	};
}

static bool section_is_named(const struct ep_elf *elf, size_t index, const char *name, size_t len)
{
	size_t off = elf->sections[index].sh_name;

	/* len counts the NUL, so that ".debug" is not found in ".debug_frame" */
	return ep_in_bounds(off, len, elf->names_bytes) && !memcmp(elf->names + off, name, len);
}

static int section_find(const struct ep_elf *elf, const char *name, bool no_bits,
			struct ep_elf_section *ret)
{
	size_t len = strlen(name) + 1;
	int r = ep_work_take(elf->work, elf->n_sections);

	if (r < 0)
		return r;
	for (size_t i = 1; i < elf->n_sections; i++) {
		if (elf->sections[i].sh_type == SHT_NOBITS && !no_bits)
			continue;
		if (!section_is_named(elf, i, name, len))
			continue;
		*ret = section_of(elf, i);
		return 0;
	}
	return -ENODATA;
}

int ep_elf_find_section(const struct ep_elf *elf, const char *name, struct ep_elf_section *ret)
{
	return section_find(elf, name, false, ret);
}

int ep_elf_find_memory_section(const struct ep_elf *elf, const char *name,
			       struct ep_elf_section *ret)
{
	return section_find(elf, name, true, ret);
}

int ep_elf_find_section_type(const struct ep_elf *elf, uint32_t type, struct ep_elf_section *ret)
{
	int r = ep_work_take(elf->work, elf->n_sections);

	if (r < 0)
		return r;
	for (size_t i = 1; i < elf->n_sections; i++) {
		if (elf->sections[i].sh_type != type || type == SHT_NOBITS)
			continue;
		*ret = section_of(elf, i);
		return 0;
	}
	return -ENODATA;
}

int ep_elf_section_at(const struct ep_elf *elf, uint32_t index, struct ep_elf_section *ret)
{
	if (!index || index >= elf->n_sections)
		return -ENODATA;
	*ret = section_of(elf, index);
	return 0;
}

int ep_elf_read_stored(const struct ep_elf *elf, const struct ep_elf_section *section,
		       struct ep_elf_bytes *ret_bytes)
{
	struct ep_elf_bytes bytes = {0};
	int r;

	if (section->type == SHT_NOBITS)
		return -ENODATA;
	if (!ep_in_bounds(section->file_off, section->bytes, elf->bytes))
		return -EBADMSG;
	if (section->bytes > EP_ELF_MAX_SECTION)
		return -E2BIG;
	if (ep_elf_has_hole(elf, section->file_off, section->bytes))
		return -EBADMSG;
	r = ep_elf_bytes_new(elf->work, section->bytes, &bytes);
	if (r < 0)
		return r;
	r = ep_elf_read_at(elf, section->file_off, (void *)(uintptr_t)bytes.data, bytes.bytes);
	if (r < 0) {
		ep_elf_bytes_fini(&bytes);
		return r;
	}
	*ret_bytes = bytes;
	return 0;
}

int ep_elf_read_section(const struct ep_elf *elf, const struct ep_elf_section *section,
			struct ep_elf_bytes *ret_bytes)
{
	struct ep_elf_bytes stored = {0};
	int r;

	r = ep_elf_read_stored(elf, section, &stored);
	if (r < 0)
		return r;
	if (!(section->flags & SHF_COMPRESSED)) {
		*ret_bytes = stored;
		return 0;
	}
	r = ep_elf_decompress(elf->work, &stored, ret_bytes);
	ep_elf_bytes_fini(&stored);
	return r;
}
