/* SPDX-License-Identifier: Apache-2.0 */
#include "core/proc/image.h"
#include "core/proc/copies.h"
#include "core/proc/maps.h"
#include "core/proc/memory.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nettle/sha2.h>

#define PAGE_BYTES  4096u
#define PIECE_BYTES 65536u
#define MAX_PHDRS   32
#define MAX_DYNAMIC 1024 /* entries */
#define MAX_MAPPINGS 65536
#define NO_DEVICE   UINT64_MAX

struct image {
	pid_t pid;
	uint64_t bias; /* to a virtual address of the file */
	Elf64_Ehdr header;
	Elf64_Phdr phdrs[MAX_PHDRS];
	uint64_t bytes; /* of the file, as far as its segments go */
	int fd;
	struct sha256_ctx hash;
};

/* --- where it is ----------------------------------------------------------------------------- */

static bool is_header(const Elf64_Ehdr *header)
{
	return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_ident[EI_CLASS] == ELFCLASS64 &&
	       header->e_ident[EI_DATA] == ELFDATA2LSB && (header->e_type == ET_EXEC || header->e_type == ET_DYN) &&
	       header->e_phentsize == sizeof(Elf64_Phdr) && header->e_phnum > 0 && header->e_phnum <= MAX_PHDRS;
}

static uint64_t first_page(const Elf64_Phdr *load)
{
	return EP_ALIGN_DOWN(load->p_vaddr, PAGE_BYTES);
}

/* Lengths of which sums do not wrap, and a file offset that has the address's place in the page. */
static bool is_sound(const Elf64_Phdr *load)
{
	return load->p_filesz <= EP_IMAGE_BYTES && load->p_offset <= EP_IMAGE_BYTES && load->p_memsz >= load->p_filesz &&
	       load->p_memsz <= UINT64_MAX / 4 && load->p_vaddr <= UINT64_MAX / 4 &&
	       load->p_offset % PAGE_BYTES == load->p_vaddr % PAGE_BYTES;
}

/* The header at `base`, and its program headers, are those of an image that begins there. */
static int read_headers(struct image *image, uint64_t base)
{
	const Elf64_Phdr *first = NULL;
	uint64_t total = 0;

	if (ep_memory_read(image->pid, base, &image->header, sizeof(image->header)) < 0)
		return -EFAULT;
	if (!is_header(&image->header))
		return -ENODATA;
	if (image->header.e_phoff > PAGE_BYTES ||
	    ep_memory_read(image->pid, base + image->header.e_phoff, image->phdrs,
			   image->header.e_phnum * sizeof(Elf64_Phdr)) < 0)
		return -ENODATA;
	image->bytes = 0;
	for (size_t i = 0; i < image->header.e_phnum; i++) {
		const Elf64_Phdr *load = &image->phdrs[i];

		if (load->p_type != PT_LOAD)
			continue;
		if (!is_sound(load))
			return -ENODATA;
		if (load->p_offset == 0)
			first = first ? first : load;
		image->bytes = EP_MAX(image->bytes, load->p_offset + load->p_filesz);
		total += load->p_filesz;
	}
	if (!first || first->p_filesz < sizeof(image->header))
		return -ENODATA;
	image->bias = base - first->p_vaddr;
	return image->bytes > EP_IMAGE_BYTES || total > EP_IMAGE_BYTES ? -E2BIG : 0;
}

/* What of [start, end) is in one of its executable segments, the first: memory of more of them may
 * be executable. */
static bool find_code(const struct image *image, uint64_t start, uint64_t end,
		      struct ep_image_code *ret_code)
{
	for (size_t i = 0; i < image->header.e_phnum; i++) {
		const Elf64_Phdr *load = &image->phdrs[i];
		uint64_t at = image->bias + first_page(load);
		uint64_t bytes = EP_ALIGN_UP(load->p_vaddr + load->p_memsz, PAGE_BYTES) - first_page(load);

		uint64_t first = EP_MAX(start, at), last = EP_MIN(end, at + bytes);

		if (load->p_type != PT_LOAD || !(load->p_flags & PF_X) || at + bytes < at ||
		    first >= last)
			continue;
		*ret_code = (struct ep_image_code){
			.start = first,
			.end = last,
			.file_off = EP_ALIGN_DOWN(load->p_offset, PAGE_BYTES) + (first - at),
		};
		return true;
	}
	return false;
}

/* A file's header is none of ours: its code may be on the way into memory of no file (core/process/moved_text.h). */
static bool is_of_no_file(const struct ep_maps *maps, uint64_t base, uint64_t code)
{
	const struct ep_mapping *mapping;
	uint64_t addr = base;

	while (addr <= code) {
		mapping = ep_maps_find(maps, addr);
		if (!mapping ||
		    (mapping->kind != EP_MAPPING_ANON && !ep_is_memfd_path(mapping->path)))
			return false;
		addr = mapping->end;
	}
	return true;
}

static bool is_read_only(const struct ep_maps *maps, uint64_t addr)
{
	const struct ep_mapping *mapping = ep_maps_find(maps, addr);

	return mapping && mapping->prot & EP_PROT_READ && !(mapping->prot & EP_PROT_WRITE);
}

/*
 * Memory is reserved without any right, written to, and read only then. Where code stays writable,
 * nobody can tell.
 */
static bool is_finished(const struct image *image, const struct ep_maps *maps, uint64_t code)
{
	if (!is_read_only(maps, code))
		return true;
	for (size_t i = 0; i < image->header.e_phnum; i++) {
		const Elf64_Phdr *load = &image->phdrs[i];
		uint64_t addr = image->bias + load->p_vaddr;

		if (load->p_type == PT_LOAD && !(load->p_flags & PF_W) && load->p_filesz > 0 &&
		    (!is_read_only(maps, addr) || !is_read_only(maps, addr + load->p_filesz - 1)))
			return false;
	}
	return true;
}

/* The dynamic section, which is in a segment that stays writable, says where symbols are. True if
 * there is none. */
static bool has_dynamic(const struct image *image)
{
	const Elf64_Phdr *dynamic = NULL;
	unsigned int n_tables = 0;
	Elf64_Dyn entry;

	for (size_t i = 0; i < image->header.e_phnum; i++) {
		if (image->phdrs[i].p_type == PT_DYNAMIC)
			dynamic = &image->phdrs[i];
	}
	for (uint64_t i = 0;
	     dynamic && i < EP_MIN(dynamic->p_filesz / sizeof(entry), (uint64_t)MAX_DYNAMIC); i++) {
		if (ep_memory_read(image->pid, image->bias + dynamic->p_vaddr + i * sizeof(entry),
				   &entry, sizeof(entry)) < 0 ||
		    entry.d_tag == DT_NULL)
			break;
		n_tables += entry.d_tag == DT_SYMTAB || entry.d_tag == DT_STRTAB;
	}
	return !dynamic || n_tables == 2;
}

static int check_memory(const struct image *image, uint64_t base, uint64_t code,
			bool unfinished_too)
{
	ep_cleanup(ep_maps_fini) struct ep_maps maps;

	ep_maps_init(&maps, MAX_MAPPINGS);
	if (ep_maps_read(&maps, image->pid, EP_MAPS_ALL) < 0 || !is_of_no_file(&maps, base, code))
		return -ENODATA;
	return unfinished_too || (is_finished(image, &maps, code) && has_dynamic(image)) ? 0
											 : -EBUSY;
}

/* The nearest header before the code: up to where nothing can be read. */
static int find_image(struct image *image, uint64_t start, uint64_t end, bool unfinished_too,
		      struct ep_image_code *ret_code)
{
	for (uint64_t i = 0; i <= EP_IMAGE_PAGES && i * PAGE_BYTES <= start; i++) {
		int r = read_headers(image, start - i * PAGE_BYTES);

		if (r == 0 && find_code(image, start, end, ret_code))
			return check_memory(image, start - i * PAGE_BYTES, ret_code->start,
					    unfinished_too);
		if (r < 0 && r != -ENODATA)
			return r == -EFAULT ? -ENODATA : r;
	}
	return -ENODATA;
}

/* --- its copy -------------------------------------------------------------------------------- */

static int put(struct image *image, const void *data, size_t bytes, uint64_t file_off)
{
	sha256_update(&image->hash, sizeof(file_off), (const uint8_t *)&file_off);
	sha256_update(&image->hash, bytes, data);
	return pwrite(image->fd, data, bytes, (off_t)file_off) == (ssize_t)bytes ? 0 : -EIO;
}

static int copy_segment(struct image *image, const Elf64_Phdr *load, uint8_t *piece)
{
	for (uint64_t off = 0; off < load->p_filesz; off += PIECE_BYTES) {
		size_t bytes = (size_t)EP_MIN(load->p_filesz - off, (uint64_t)PIECE_BYTES);
		int r = ep_memory_read(image->pid, image->bias + load->p_vaddr + off, piece, bytes);

		if (r == 0)
			r = put(image, piece, bytes, load->p_offset + off);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool is_in_file(const struct image *image, uint64_t off, uint64_t bytes)
{
	return off <= image->bytes && bytes <= image->bytes - off;
}

/* A loader adds where it put the image to the addresses, the file has them without. */
static int copy_dynamic(struct image *image, const Elf64_Phdr *dynamic, Elf64_Dyn *entries)
{
	size_t n = (size_t)EP_MIN(dynamic->p_filesz / sizeof(*entries), (uint64_t)MAX_DYNAMIC);
	uint64_t bytes = n * sizeof(*entries);

	if (!n || !is_in_file(image, dynamic->p_offset, bytes) ||
	    ep_memory_read(image->pid, image->bias + dynamic->p_vaddr, entries, bytes) < 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t va = entries[i].d_un.d_ptr - image->bias;

		if (image->bias && va < UINT64_MAX / 4 && entries[i].d_un.d_ptr >= image->bias)
			entries[i].d_un.d_ptr = va;
	}
	return put(image, entries, bytes, dynamic->p_offset);
}

/* Where its section headers are in the file is not in memory. */
static int copy_header(struct image *image)
{
	Elf64_Ehdr header = image->header;

	header.e_shoff = 0;
	header.e_shnum = header.e_shstrndx = 0;
	return put(image, &header, sizeof(header), 0);
}

/* Writable segments are each process's own: they have neither code nor rules nor names. */
static int copy_contents(struct image *image, uint8_t *piece)
{
	int r = 0;

	sha256_init(&image->hash);
	for (size_t i = 0; i < image->header.e_phnum && r == 0; i++) {
		if (image->phdrs[i].p_type == PT_LOAD && !(image->phdrs[i].p_flags & PF_W))
			r = copy_segment(image, &image->phdrs[i], piece);
	}
	for (size_t i = 0; i < image->header.e_phnum && r == 0; i++) {
		if (image->phdrs[i].p_type == PT_DYNAMIC)
			r = copy_dynamic(image, &image->phdrs[i], (Elf64_Dyn *)piece);
	}
	/* The header that was checked: the process may have changed its own since then. */
	if (r == 0)
		r = put(image, image->phdrs, image->header.e_phnum * sizeof(Elf64_Phdr), image->header.e_phoff);
	return r < 0 ? r : copy_header(image);
}

static void identify(struct image *image, struct ep_proc_file *file)
{
	union {
		uint8_t bytes[SHA256_DIGEST_SIZE];
		uint64_t words[SHA256_DIGEST_SIZE / 8];
	} digest;

	sha256_digest(&image->hash, sizeof(digest.bytes), digest.bytes);
	*file = (struct ep_proc_file){
		.fd = -1,
		.dev = NO_DEVICE,
		.inode = digest.words[0] | 1, /* 0: a vDSO */
		.generation = digest.words[1],
		.ctime_ns = (int64_t)digest.words[2],
		.bytes = image->bytes,
	};
}

/* It has the time of its contents: by that somebody sees whether a file was written to. */
static int seal(const struct image *image)
{
	const struct timespec times[2] = {{0}, {0}};

	if (futimens(image->fd, times) < 0 ||
	    fcntl(image->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
		return -errno;
	return 0;
}

static int fill(struct image *image, struct ep_proc_file *file)
{
	ep_autofree uint8_t *piece = malloc(PIECE_BYTES);
	int r;

	if (!piece)
		return -ENOMEM;
	r = ftruncate(image->fd, (off_t)image->bytes) < 0 ? -errno : copy_contents(image, piece);
	if (r == 0)
		r = seal(image);
	if (r == 0)
		identify(image, file);
	return r;
}

static int copy(struct image *image, struct ep_proc_file *ret_file)
{
	ep_autoclose int fd = memfd_create("image", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r;

	if (fd < 0)
		return -errno;
	r = ep_copies_charge(image->bytes);
	if (r < 0)
		return r;
	image->fd = fd;
	r = fill(image, ret_file);
	if (r < 0) {
		ep_copies_give_back(image->bytes);
		return r;
	}
	r = ep_copies_add(fd, ret_file, image->bytes);
	if (r == 0)
		ret_file->fd = ep_take_fd(fd);
	return r;
}

int ep_proc_copy_image(pid_t pid, uint64_t start, uint64_t end, bool unfinished_too,
		       struct ep_proc_file *ret_file, struct ep_image_code *ret_code)
{
	ep_autofree struct image *image = calloc(1, sizeof(*image));
	int r;

	if (!image)
		return -ENOMEM;
	image->pid = pid;
	r = find_image(image, start, end, unfinished_too, ret_code);
	if (r == 0)
		r = copy(image, ret_file);
	return r == -EFAULT && !unfinished_too ? -EBUSY : r;
}
