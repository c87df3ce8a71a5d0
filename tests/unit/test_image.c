/* SPDX-License-Identifier: Apache-2.0 */
/* ELF images in memory of no file, of our own: one that the kernel gives everybody, and some that are made up. */
#include "core/proc/image.h"
#include "core/elf/file.h"
#include "tests/kit/test.h"

#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 0x1000u

struct memory {
	uint8_t *base; /* of so many pages, and one after them that cannot be read */
	size_t pages;
	Elf64_Ehdr *header;
	Elf64_Phdr *phdrs;
};

static void map_memory(struct memory *memory, size_t pages)
{
	memory->pages = pages;
	memory->base = mmap(NULL, (pages + 2) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(memory->base != MAP_FAILED);
	memory->base += PAGE;
	assert_int_equal(mprotect(memory->base, pages * PAGE, PROT_READ | PROT_WRITE), 0);
	memory->header = (Elf64_Ehdr *)memory->base;
	memory->phdrs = (Elf64_Phdr *)(memory->header + 1);
}

static void unmap_memory(struct memory *memory)
{
	munmap(memory->base - PAGE, (memory->pages + 2) * PAGE);
}

/* A page with the headers, one of code and one that is written to. */
static void make_image(struct memory *memory)
{
	map_memory(memory, 3);
	*memory->header = (Elf64_Ehdr){
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_shoff = 0x9000,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 3,
		.e_shnum = 7,
	};
	memory->phdrs[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = PAGE, .p_memsz = PAGE};
	for (unsigned int i = 1; i < 3; i++)
		memory->phdrs[i] = (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = i == 1 ? PF_R | PF_X : PF_R | PF_W,
						.p_offset = i * PAGE, .p_vaddr = i * PAGE, .p_filesz = PAGE,
						.p_memsz = PAGE};
	memset(memory->base + PAGE, 0x90, PAGE);
	memset(memory->base + 2 * PAGE, 0x55, PAGE);
}

static int copy_code(const struct memory *memory, struct ep_proc_file *ret_file, uint64_t *ret_off)
{
	uint64_t code = (uintptr_t)memory->base + PAGE;

	struct ep_image_code found = {0};
	int r;

	*ret_file = (struct ep_proc_file){.fd = -1};
	r = ep_proc_copy_image(getpid(), code, code + PAGE, true, ret_file, &found);
	if (r == 0) {
		assert_true(found.start == code && found.end == code + PAGE);
		*ret_off = found.file_off;
	}
	return r;
}

EP_TEST(image_of_the_kernel_is_its_file)
{
	const uint8_t *vdso = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	ep_cleanup(ep_elf_closep) struct ep_elf *elf = NULL;
	uint8_t text[64], in_file[64], id[EP_ELF_BUILD_ID_MAX];
	struct ep_elf_segment segment;
	struct ep_proc_file file;
	struct ep_image_code code;
	struct memory memory;
	uint64_t off = 1, start;

	if (!vdso)
		skip();
	map_memory(&memory, 16);
	memcpy(memory.base, vdso, PAGE);
	memory.header->e_shnum = 0; /* how long it is says its only segment */
	for (size_t i = 0; i < memory.header->e_phnum; i++) {
		if (memory.phdrs[i].p_type == PT_LOAD)
			memcpy(memory.base, vdso, memory.phdrs[i].p_filesz);
	}
	start = (uintptr_t)memory.base;
	assert_int_equal(ep_proc_copy_image(getpid(), start, start + PAGE, true, &file, &code), 0);
	off = code.file_off;
	assert_int_equal(off, 0);
	assert_int_equal(ep_elf_open_fd(file.fd, &elf), 0);
	assert_int_equal(ep_elf_exec_segments(elf, &segment, 1), 1);
	assert_true(ep_elf_build_id(elf, id) > 0);
	memcpy(text, vdso + segment.file_bytes - sizeof(text), sizeof(text));
	assert_int_equal(ep_elf_read_at(elf, segment.file_bytes - sizeof(text), in_file, sizeof(in_file)), 0);
	assert_memory_equal(in_file, text, sizeof(text));
	unmap_memory(&memory);
}

EP_TEST(code_is_found_before_which_the_header_is)
{
	uint8_t bytes[3 * PAGE];
	struct ep_proc_file file;
	struct memory memory;
	Elf64_Ehdr header;
	uint64_t off;

	make_image(&memory);
	assert_int_equal(copy_code(&memory, &file, &off), 0);
	assert_int_equal(off, PAGE);
	assert_int_equal(file.bytes, 3 * PAGE);
	assert_int_equal(pread(file.fd, bytes, sizeof(bytes), 0), sizeof(bytes));
	memcpy(&header, bytes, sizeof(header));
	assert_int_equal(header.e_shoff | header.e_shnum, 0);
	assert_memory_equal(bytes + PAGE, memory.base + PAGE, PAGE);
	assert_int_equal(bytes[2 * PAGE], 0); /* the process's own */
	assert_int_equal(pwrite(file.fd, bytes, 1, 0), -1);
	ep_proc_file_close(&file);
	unmap_memory(&memory);
}

EP_TEST(equal_images_are_one_file)
{
	struct ep_proc_file a, b, c;
	struct memory one, two;
	uint64_t off;

	make_image(&one);
	make_image(&two);
	two.base[2 * PAGE + 8]++; /* data */
	assert_int_equal(copy_code(&one, &a, &off), 0);
	assert_int_equal(copy_code(&two, &b, &off), 0);
	assert_true(ep_proc_file_is_same(&a, &b));
	assert_int_equal(a.mtime_ns, b.mtime_ns);
	two.base[PAGE + 8]++; /* code */
	assert_int_equal(copy_code(&two, &c, &off), 0);
	assert_false(ep_proc_file_is_same_inode(&a, &c));
	ep_proc_file_close(&a);
	ep_proc_file_close(&b);
	ep_proc_file_close(&c);
	unmap_memory(&one);
	unmap_memory(&two);
}

/* Loaders write there where things are in memory. */
EP_TEST(dynamic_section_has_addresses_of_the_file)
{
	struct ep_proc_file file;
	struct memory memory;
	Elf64_Dyn *dynamic, copy[2];
	uint64_t off;

	make_image(&memory);
	memory.header->e_phnum = 4;
	memory.phdrs[3] = (Elf64_Phdr){.p_type = PT_DYNAMIC, .p_offset = 2 * PAGE + 0x100, .p_vaddr = 2 * PAGE + 0x100,
				       .p_filesz = sizeof(copy), .p_memsz = sizeof(copy)};
	dynamic = (Elf64_Dyn *)(memory.base + 2 * PAGE + 0x100);
	dynamic[0] = (Elf64_Dyn){.d_tag = DT_SYMTAB, .d_un.d_ptr = (uintptr_t)memory.base + 0x300};
	dynamic[1] = (Elf64_Dyn){.d_tag = DT_STRSZ, .d_un.d_val = 0x44};
	assert_int_equal(copy_code(&memory, &file, &off), 0);
	assert_int_equal(pread(file.fd, copy, sizeof(copy), 2 * PAGE + 0x100), sizeof(copy));
	assert_int_equal(copy[0].d_un.d_ptr, 0x300);
	assert_int_equal(copy[1].d_un.d_val, 0x44);
	ep_proc_file_close(&file);
	unmap_memory(&memory);
}

static void wrong_class(struct memory *m)
{
	m->header->e_ident[EI_CLASS] = ELFCLASS32;
}

static void no_magic(struct memory *m)
{
	m->base[1] = 0;
}

static void many_headers(struct memory *m)
{
	m->header->e_phnum = UINT16_MAX;
}

static void headers_elsewhere(struct memory *m)
{
	m->header->e_phoff = UINT64_MAX - 8;
}

static void headers_unreadable(struct memory *m)
{
	m->header->e_phoff = PAGE;
	m->header->e_phnum = 32;
	m->phdrs[0].p_type = PT_NULL;
}

static void no_code(struct memory *m)
{
	m->phdrs[1].p_flags = PF_R;
}

static void code_elsewhere(struct memory *m)
{
	m->phdrs[1].p_vaddr = 8 * PAGE;
}

static void half_of_it(struct memory *m)
{
	m->phdrs[1].p_vaddr = 0;
	m->phdrs[1].p_offset = 0;
}

static void wraps(struct memory *m)
{
	m->phdrs[1].p_memsz = UINT64_MAX - PAGE;
}

static void huge(struct memory *m)
{
	m->phdrs[2].p_filesz = m->phdrs[2].p_memsz = EP_IMAGE_BYTES;
}

static void huge_in_sum(struct memory *m)
{
	for (size_t i = 1; i < 3; i++)
		m->phdrs[i] = (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = PAGE, .p_vaddr = PAGE,
					   .p_filesz = EP_IMAGE_BYTES - 2 * PAGE, .p_memsz = EP_IMAGE_BYTES};
}

static void not_there(struct memory *m)
{
	m->phdrs[0].p_filesz = m->phdrs[0].p_memsz = 9 * PAGE;
}

EP_TEST(what_is_no_image_is_refused)
{
	static const struct {
		const char *label;
		void (*change)(struct memory *memory);
		int result;
	} rows[] = {
		{"32 bits", wrong_class, -ENODATA},
		{"no ELF header", no_magic, -ENODATA},
		{"more program headers than there are", many_headers, -ENODATA},
		{"program headers far away", headers_elsewhere, -ENODATA},
		{"no program header", headers_unreadable, -ENODATA},
		{"no executable segment", no_code, -ENODATA},
		{"code is elsewhere", code_elsewhere, -ENODATA},
		{"code is not all of one segment", half_of_it, -ENODATA},
		{"a length that wraps", wraps, -ENODATA},
		{"a large file", huge, -E2BIG},
		{"segments on top of each other", huge_in_sum, -E2BIG},
		{"a segment that is not there", not_there, -EFAULT},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct ep_proc_file file;
		struct memory memory;
		uint64_t off;
		int r;

		make_image(&memory);
		rows[i].change(&memory);
		r = copy_code(&memory, &file, &off);
		if (r != rows[i].result || file.fd >= 0)
			fail_msg("%s: %d", rows[i].label, r);
		unmap_memory(&memory);
	}
}

/* Text of a file may have been copied out of it, beside its header. */
EP_TEST(header_of_a_file_is_none)
{
	FILE *file = tmpfile();
	struct ep_proc_file copy;
	struct memory memory;
	uint64_t off;

	make_image(&memory);
	assert_non_null(file);
	assert_int_equal(fwrite(memory.base, 1, PAGE, file), PAGE);
	assert_int_equal(fflush(file), 0);
	assert_true(mmap(memory.base, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fileno(file), 0) == memory.base);
	assert_int_equal(copy_code(&memory, &copy, &off), -ENODATA);
	fclose(file);
	unmap_memory(&memory);
}

EP_TEST(header_is_looked_for_up_to_what_cannot_be_read)
{
	struct ep_proc_file file;
	struct memory memory;
	uint64_t off;

	make_image(&memory);
	assert_int_equal(mprotect(memory.base, PAGE, PROT_NONE), 0);
	assert_int_equal(copy_code(&memory, &file, &off), -ENODATA);
	unmap_memory(&memory);
}

/* A packer may leave all of it writable and executable: the segment that is code is code, no more.
 */
EP_TEST(code_in_memory_that_is_all_executable_is_one_segment)
{
	struct ep_image_code code = {0};
	struct ep_proc_file file = {.fd = -1};
	struct memory memory;
	uint64_t base;

	make_image(&memory);
	base = (uintptr_t)memory.base;
	assert_int_equal(ep_proc_copy_image(getpid(), base, base + 3 * PAGE, true, &file, &code), 0);
	assert_int_equal(code.start, base + PAGE);
	assert_int_equal(code.end, base + 2 * PAGE);
	assert_int_equal(code.file_off, PAGE);
	ep_proc_file_close(&file);
	/* Where no segment that is code is, there is none. */
	assert_int_equal(
		ep_proc_copy_image(getpid(), base + 2 * PAGE, base + 3 * PAGE, true, &file, &code),
		-ENODATA);
	unmap_memory(&memory);
}

/* A packer unpacks one segment after the other, and takes the right to write from each then. */
EP_TEST(an_image_is_none_while_it_is_laid_out)
{
	struct ep_image_code found = {0};
	struct ep_proc_file file = {.fd = -1};
	struct memory memory;
	uint64_t code;

	make_image(&memory);
	code = (uintptr_t)memory.base + PAGE;
	assert_int_equal(mprotect(memory.base + PAGE, PAGE, PROT_READ), 0);
	assert_int_equal(ep_proc_copy_image(getpid(), code, code + PAGE, false, &file, &found),
			 -EBUSY);
	assert_int_equal(ep_proc_copy_image(getpid(), code, code + PAGE, true, &file, &found), 0);
	ep_proc_file_close(&file);
	assert_int_equal(mprotect(memory.base, PAGE, PROT_READ), 0);
	assert_int_equal(ep_proc_copy_image(getpid(), code, code + PAGE, false, &file, &found), 0);
	ep_proc_file_close(&file);
	unmap_memory(&memory);
}

/* Or it has not even mapped all of them. */
EP_TEST(an_image_is_none_while_a_part_cannot_be_read)
{
	struct ep_image_code found = {0};
	struct ep_proc_file file = {.fd = -1};
	struct memory memory;
	uint64_t code;

	make_image(&memory);
	memory.phdrs[2].p_flags = PF_R;
	code = (uintptr_t)memory.base + PAGE;
	assert_int_equal(mprotect(memory.base, 2 * PAGE, PROT_READ), 0);
	assert_int_equal(mprotect(memory.base + 2 * PAGE, PAGE, PROT_NONE), 0);
	assert_int_equal(ep_proc_copy_image(getpid(), code, code + PAGE, false, &file, &found),
			 -EBUSY);
	assert_int_equal(ep_proc_copy_image(getpid(), code, code + PAGE, true, &file, &found),
			 -EFAULT);
	unmap_memory(&memory);
}
