/* SPDX-License-Identifier: Apache-2.0 */
#include "core/replay/core_file.h"
#include "core/replay/snapshot.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#define MAX_LOADS	 65534 /* e_phnum below PN_XNUM */
#define MAX_NOTE_BYTES	 (64u << 20)
#define MAX_THREADS	 4096
#define MAX_PATH_BYTES	 4096
#define MAX_STRING_BYTES (16u << 20)
#define FILE_ENTRY_BYTES 24

/* linux/include/linux/elfcore.h, LP64: struct elf_prstatus, struct elf_prpsinfo. */
#define PRSTATUS_PID_OFF   32
#define PRSTATUS_REGS_OFF  112
#define PRPSINFO_PID_OFF   24
#define PRPSINFO_FNAME_OFF 40

struct note {
	uint32_t type;
	const uint8_t *desc;
	size_t bytes;
};

static int read_at(const struct ep_core_file *core, uint64_t off, void *buf, size_t bytes)
{
	if (!ep_in_bounds(off, bytes, core->bytes))
		return -EBADMSG;
	return pread(core->fd, buf, bytes, (off_t)off) == (ssize_t)bytes ? 0 : -EBADMSG;
}

/* --- notes ----------------------------------------------------------------------------------- */

static int take_prstatus(struct ep_core_file *core, const struct note *note)
{
	uint64_t regs[64] = {0};
	struct ep_replay_thread thread = {.arch = core->arch};
	size_t n;

	if (note->bytes < PRSTATUS_REGS_OFF)
		return -EBADMSG;
	n = EP_MIN((note->bytes - PRSTATUS_REGS_OFF) / sizeof(regs[0]), EP_LEN(regs));
	memcpy(regs, note->desc + PRSTATUS_REGS_OFF, n * sizeof(regs[0]));
	thread.tid = ep_get_u32(note->desc + PRSTATUS_PID_OFF);
	if (!ep_snapshot_take_regs(&thread, regs, n))
		return -EBADMSG;
	return ep_vec_append(&core->threads, &thread, 1);
}

static int take_prpsinfo(struct ep_core_file *core, const struct note *note, char *comm)
{
	if (note->bytes < PRPSINFO_FNAME_OFF + EP_REPLAY_COMM_BYTES)
		return -EBADMSG;
	core->pid = ep_get_u32(note->desc + PRPSINFO_PID_OFF);
	memcpy(comm, note->desc + PRPSINFO_FNAME_OFF, EP_REPLAY_COMM_BYTES - 1);
	return 0;
}

static void take_auxv(struct ep_core_file *core, const struct note *note)
{
	for (size_t at = 0; at + 16 <= note->bytes; at += 16) {
		uint64_t value = ep_get_u64(note->desc + at + 8);

		switch (ep_get_u64(note->desc + at)) {
		case AT_SYSINFO_EHDR:
			core->vdso_addr = value;
			break;
		case AT_ENTRY:
			core->entry_addr = value;
			break;
		case AT_EXECFN:
			core->path_addr = value;
			break;
		}
	}
}

struct ep_core_load *ep_core_file_find(const struct ep_core_file *core, uint64_t addr)
{
	struct ep_core_load *loads = core->loads.data;
	size_t low = 0, high = core->loads.len;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (addr < loads[mid].start)
			high = mid;
		else if (addr >= loads[mid].end)
			low = mid + 1;
		else
			return &loads[mid];
	}
	return NULL;
}

/* One mapping of NT_FILE: names that of PT_LOAD, or is one more. */
static int take_file(struct ep_core_file *core, const uint8_t *entry, uint64_t page_bytes,
		     const char *path)
{
	uint64_t start = ep_get_u64(entry), end = ep_get_u64(entry + 8);
	uint64_t off = ep_get_u64(entry + 16) * page_bytes;
	struct ep_core_load *load = ep_core_file_find(core, start);

	if (load) {
		load->path = path;
		load->file_off = off + (load->start - start);
		return 0;
	}
	load = end > start ? ep_vec_push(&core->unloaded) : NULL;
	if (load)
		*load = (struct ep_core_load){
			.start = start,
			.end = end,
			.flags = PF_R | PF_X,
			.path = path,
			.file_off = off,
		};
	return 0;
}

/*
 * count, page size, then for each: start, end, offset in pages; then as many paths, each with its
 * NUL (linux/fs/binfmt_elf.c, fill_files_note).
 */
static int take_files(struct ep_core_file *core, const struct note *note)
{
	uint64_t n = note->bytes >= 16 ? ep_get_u64(note->desc) : 0;
	uint64_t page_bytes = n ? ep_get_u64(note->desc + 8) : 0;
	const uint8_t *entry = note->desc + 16, *path, *end = note->desc + note->bytes;

	if (n == 0)
		return 0;
	if (n > MAX_LOADS || n * FILE_ENTRY_BYTES > note->bytes - 16)
		return -EBADMSG;
	path = entry + n * FILE_ENTRY_BYTES;
	for (uint64_t i = 0; i < n; i++, entry += FILE_ENTRY_BYTES) {
		const uint8_t *nul = path < end ? memchr(path, 0, (size_t)(end - path)) : NULL;
		uint32_t id;
		int r;

		if (!nul || nul - path > MAX_PATH_BYTES)
			return -EBADMSG;
		r = ep_strings_add(core->strings, (const char *)path, (size_t)(nul - path), &id);
		if (r == 0)
			r = take_file(core, entry, page_bytes, ep_strings_get(core->strings, id));
		if (r < 0)
			return r;
		path = nul + 1;
	}
	return 0;
}

static int take_note(struct ep_core_file *core, const struct note *note, char *comm)
{
	struct ep_replay_thread *last = /* what belongs to a thread follows its NT_PRSTATUS */
		core->threads.len ? ep_vec_at(&core->threads, struct ep_replay_thread, core->threads.len - 1)
				  : NULL;

	switch (note->type) {
	case NT_PRSTATUS:
		return take_prstatus(core, note);
	case NT_PRPSINFO:
		return take_prpsinfo(core, note, comm);
	case NT_AUXV:
		take_auxv(core, note);
		return 0;
	case NT_FILE:
		return take_files(core, note);
	case NT_ARM_TLS:
		if (core->threads.len && note->bytes >= 8 && core->arch->machine == EM_AARCH64)
			last->thread_pointer = ep_get_u64(note->desc);
		return 0;
	}
	return 0;
}

static int parse_notes(struct ep_core_file *core, const uint8_t *data, size_t bytes, char *comm)
{
	size_t at = 0;
	int r = 0;

	while (r == 0 && bytes - at >= sizeof(Elf64_Nhdr)) {
		uint64_t name = EP_ALIGN_UP((uint64_t)ep_get_u32(data + at), 4);
		uint64_t desc_bytes = ep_get_u32(data + at + 4);
		uint64_t desc = at + sizeof(Elf64_Nhdr) + name;
		struct note note = {.type = ep_get_u32(data + at + 8), .bytes = desc_bytes};

		if (!ep_in_bounds(desc, desc_bytes, bytes))
			return -EBADMSG;
		note.desc = data + desc;
		r = take_note(core, &note, comm);
		at = EP_MIN(EP_ALIGN_UP(desc + desc_bytes, 4), bytes);
	}
	return r;
}

static int read_notes(struct ep_core_file *core, const Elf64_Phdr *header, char *comm)
{
	ep_autofree uint8_t *data = NULL;
	int r;

	if (header->p_filesz > MAX_NOTE_BYTES)
		return -E2BIG;
	if (!ep_in_bounds(header->p_offset, header->p_filesz, core->bytes))
		return -EBADMSG;
	data = malloc(header->p_filesz + 1);
	if (!data)
		return -ENOMEM;
	r = read_at(core, header->p_offset, data, header->p_filesz);
	return r < 0 ? r : parse_notes(core, data, header->p_filesz, comm);
}

/* --- headers --------------------------------------------------------------------------------- */

static int add_load(struct ep_core_file *core, const Elf64_Phdr *header)
{
	struct ep_core_load *last =
		core->loads.len ? ep_vec_at(&core->loads, struct ep_core_load, core->loads.len - 1)
				: NULL;
	struct ep_core_load load = {
		.start = header->p_vaddr,
		.core_off = header->p_offset,
		.core_bytes = EP_MIN(header->p_filesz, header->p_memsz),
		.flags = header->p_flags,
		.path = "",
	};

	if (__builtin_add_overflow(header->p_vaddr, header->p_memsz, &load.end))
		return -EBADMSG;
	if (header->p_memsz == 0 || load.start >= 1ull << 63) /* [vsyscall] */
		return 0;
	if (last && load.start < last->end)
		return -EBADMSG;
	if (load.core_off > core->bytes) /* a core file that was cut off */
		load.core_bytes = 0;
	else
		load.core_bytes = EP_MIN(load.core_bytes, core->bytes - load.core_off);
	return ep_vec_append(&core->loads, &load, 1);
}

static int compare_loads(const void *a, const void *b)
{
	const struct ep_core_load *one = a, *other = b;

	return one->start < other->start ? -1 : one->start > other->start;
}

/* All mappings in one list; of two that overlap the later one goes. */
static int merge_loads(struct ep_core_file *core)
{
	struct ep_core_load *loads;
	size_t n = 0;
	int r = ep_vec_append(&core->loads, core->unloaded.data, core->unloaded.len);

	if (r < 0 || core->loads.len == 0)
		return r;
	loads = core->loads.data;
	qsort(loads, core->loads.len, sizeof(*loads), compare_loads);
	for (size_t i = 0; i < core->loads.len; i++) {
		if (n == 0 || loads[i].start >= loads[n - 1].end)
			loads[n++] = loads[i];
	}
	core->loads.len = n;
	return 0;
}

/* Mappings first: NT_FILE names them. */
static int read_headers(struct ep_core_file *core, const Elf64_Ehdr *elf)
{
	char comm[EP_REPLAY_COMM_BYTES] = "";
	struct ep_replay_thread *thread;
	int r = 0;

	for (uint32_t pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; r == 0 && i < elf->e_phnum; i++) {
			Elf64_Phdr header;

			r = read_at(core, elf->e_phoff + i * sizeof(header), &header,
				    sizeof(header));
			if (r == 0 && pass == 0 && header.p_type == PT_LOAD)
				r = add_load(core, &header);
			if (r == 0 && pass == 1 && header.p_type == PT_NOTE)
				r = read_notes(core, &header, comm);
		}
	}
	if (r == 0)
		r = merge_loads(core);
	if (r < 0)
		return r;
	if (core->threads.len == 0)
		return -ENODATA;
	if (core->pid == 0)
		core->pid = ep_vec_at(&core->threads, struct ep_replay_thread, 0)->tid;
	ep_vec_each (&core->threads, thread) {
		thread->pid = core->pid;
		memcpy(thread->comm, comm, sizeof(comm));
	}
	return 0;
}

static int open_core(struct ep_core_file *core)
{
	struct stat st;
	Elf64_Ehdr elf;
	int r;

	if (fstat(core->fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EBADMSG;
	core->bytes = (uint64_t)st.st_size;
	r = read_at(core, 0, &elf, sizeof(elf));
	if (r < 0 || memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_type != ET_CORE ||
	    elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_ident[EI_DATA] != ELFDATA2LSB)
		return -EBADMSG;
	core->arch = ep_replay_arch_find(elf.e_machine);
	if (!core->arch)
		return -ENOTSUP;
	if (elf.e_phentsize != sizeof(Elf64_Phdr) || elf.e_phoff > core->bytes)
		return -EBADMSG;
	if (elf.e_phnum >= PN_XNUM)
		return -E2BIG;
	r = ep_strings_new(MAX_STRING_BYTES, &core->strings);
	return r < 0 ? r : read_headers(core, &elf);
}

int ep_core_file_open(int fd, struct ep_core_file *ret_core)
{
	struct ep_core_file core = {.fd = fd};
	int r;

	ep_vec_init(&core.loads, sizeof(struct ep_core_load), MAX_LOADS);
	ep_vec_init(&core.unloaded, sizeof(struct ep_core_load), MAX_LOADS);
	ep_vec_init(&core.threads, sizeof(struct ep_replay_thread), MAX_THREADS);
	r = open_core(&core);
	if (r < 0)
		ep_core_file_close(&core);
	else
		*ret_core = core;
	return r;
}

void ep_core_file_close(struct ep_core_file *core)
{
	if (core->fd > 0)
		close(core->fd);
	ep_vec_fini(&core->loads);
	ep_vec_fini(&core->unloaded);
	ep_vec_fini(&core->threads);
	ep_strings_free(core->strings);
	*core = (struct ep_core_file){0};
}

int ep_core_file_read(const struct ep_core_file *core, uint64_t addr, void *buf, size_t bytes)
{
	const struct ep_core_load *load = ep_core_file_find(core, addr);

	if (!load || !ep_in_bounds(addr - load->start, bytes, load->core_bytes))
		return -EFAULT;
	return read_at(core, load->core_off + (addr - load->start), buf, bytes) < 0 ? -EFAULT : 0;
}
