/* SPDX-License-Identifier: Apache-2.0 */
/* core/elf over the files of test_elf_samples.sh, whose directory is the only argument. */
#include "core/elf/debug_file.h"
#include "tests/unit/elf_samples.h"

#include <sys/stat.h>

EP_TEST_ARGUMENTS("SAMPLES_DIRECTORY")

static uint8_t *sample_read(const char *name, size_t *ret_bytes)
{
	return read_bytes(sample_open(name), ret_bytes);
}

/* ---- headers ---- */

EP_TEST(header_is_read)
{
	struct ep_elf *elf = sample_open("full");
	struct ep_elf_segment segments[16];
	struct ep_elf_section text;
	size_t n;

	assert_int_equal(ep_elf_type(elf), ET_EXEC);
	assert_true(ep_elf_fd(elf) >= 0);
	n = ep_elf_exec_segments(elf, segments, EP_LEN(segments));
	assert_true(n >= 1);
	assert_int_equal(ep_elf_exec_segments(elf, NULL, 0), n);
	assert_true(ep_elf_load_segments(elf, NULL, 0) > n);
	assert_int_equal(ep_elf_find_section(elf, ".text", &text), 0);
	assert_true(text.va >= segments[0].va && text.va < segments[0].va + segments[0].mem_bytes);
	assert_true(ep_elf_entry_va(elf) >= text.va && ep_elf_entry_va(elf) < text.va + text.bytes);
}

EP_TEST(sections_are_found_by_whole_name)
{
	struct ep_elf *elf = sample_open("full");
	struct ep_elf_section section, other;

	assert_int_equal(ep_elf_find_section(elf, ".tex", &section), -ENODATA);
	assert_int_equal(ep_elf_find_section(elf, "", &section), -ENODATA);
	assert_int_equal(ep_elf_find_section(elf, ".bss", &section), -ENODATA); /* NOBITS */
	assert_int_equal(ep_elf_find_section(elf, ".symtab", &section), 0);
	assert_int_equal(ep_elf_find_section_type(elf, SHT_SYMTAB, &other), 0);
	assert_int_equal(section.index, other.index);
	assert_int_equal(section.entry_bytes, sizeof(Elf64_Sym));
	assert_int_equal(ep_elf_section_at(elf, section.link, &other), 0);
	assert_int_equal(other.type, SHT_STRTAB);
	assert_int_equal(ep_elf_section_at(elf, 0, &other), -ENODATA);
	assert_int_equal(ep_elf_section_at(elf, UINT32_MAX, &other), -ENODATA);
}

EP_TEST(eh_frame_hdr_is_a_segment)
{
	struct ep_elf *elf = sample_open("stripped");
	struct ep_elf_section section;
	struct ep_elf_segment segment;

	assert_int_equal(ep_elf_find_section(elf, ".eh_frame_hdr", &section), 0);
	assert_int_equal(ep_elf_find_segment(elf, PT_GNU_EH_FRAME, &segment), 0);
	assert_int_equal(section.va, segment.va);
	assert_int_equal(section.file_off, segment.file_off);
	assert_int_equal(ep_elf_find_segment(elf, 0x12345, &segment), -ENODATA);
}

EP_TEST(other_files_are_refused)
{
	uint8_t small[64] = {0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, 1};
	ep_cleanup(ep_elf_closep) struct ep_elf *elf = NULL;

	assert_int_equal(ep_elf_open("/dev/null", &elf), -EBADMSG);
	assert_int_equal(ep_elf_open("/", &elf), -EBADMSG);
	assert_int_equal(ep_elf_open(sample_path("full.nm"), &elf), -EBADMSG);
	assert_int_equal(ep_elf_open(sample_path("does-not-exist"), &elf), -ENOENT);
	assert_int_equal(ep_elf_open_memory(small, sizeof(small), &elf), -ENOTSUP);
	small[EI_CLASS] = ELFCLASS64;
	small[EI_DATA] = ELFDATA2MSB;
	assert_int_equal(ep_elf_open_memory(small, sizeof(small), &elf), -ENOTSUP);
	small[EI_DATA] = ELFDATA2LSB;
	assert_int_equal(ep_elf_open_memory(small, sizeof(small) - 1, &elf), -EBADMSG);
	assert_int_equal(ep_elf_open_memory(NULL, 0, &elf), -EBADMSG);
	assert_int_equal(ep_elf_open_memory(small, sizeof(small), &elf), 0);
	assert_int_equal(ep_elf_fd(elf), -1);
}

EP_TEST(fifo_does_not_block)
{
	const char *path = ep_test_path(ep_test_directory(), "fifo");
	struct ep_elf *elf = NULL;

	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(ep_elf_open(path, &elf), -EBADMSG);
}

/* Cut anywhere, a file is refused or opens; without section headers its segments still count. */
EP_TEST(truncated_file_keeps_its_segments)
{
	size_t bytes, opened = 0;
	uint8_t *data = sample_read("stripped", &bytes);
	struct ep_elf_section section;

	for (size_t cut = 0; cut < bytes; cut += 13) {
		struct ep_elf *elf = NULL;
		int r = ep_elf_open_memory(data, cut, &elf);

		if (cut < sizeof(Elf64_Ehdr))
			assert_int_equal(r, -EBADMSG);
		if (r < 0)
			continue;
		opened++;
		assert_true(ep_elf_exec_segments(elf, NULL, 0) > 0);
		assert_int_equal(ep_elf_find_section(elf, ".comment", &section), -ENODATA);
		ep_elf_close(elf);
	}
	assert_true(opened > 100);
}

EP_TEST(file_that_shrinks_is_noticed)
{
	const char *path = ep_test_path(ep_test_directory(), "shrinks");
	size_t bytes;
	uint8_t *data = sample_read("full", &bytes);
	struct ep_elf_bytes text = {0};
	struct ep_elf_section section;
	struct ep_elf *elf = NULL;
	int fd;

	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, bytes), (ssize_t)bytes);
	assert_int_equal(ep_elf_open(path, &elf), 0);
	assert_int_equal(ep_elf_find_section(elf, ".text", &section), 0);
	assert_int_equal(ftruncate(fd, (off_t)section.file_off + 8), 0);
	assert_int_equal(ep_elf_read_section(elf, &section, &text), -EBADMSG);
	ep_elf_close(elf);
	close(fd);
}

/* ---- contents ---- */

static void compressed_equals_plain(const char *name)
{
	struct ep_elf *plain = sample_open("full"), *elf = sample_open(name);
	struct ep_elf_bytes a = {0}, b = {0};
	struct ep_elf_section section;

	assert_int_equal(ep_elf_find_section(plain, ".debug_info", &section), 0);
	assert_int_equal(ep_elf_read_section(plain, &section, &a), 0);
	assert_int_equal(ep_elf_find_section(elf, ".debug_info", &section), 0);
	assert_true(section.flags & SHF_COMPRESSED);
	assert_int_equal(ep_elf_read_section(elf, &section, &b), 0);
	assert_int_equal(a.bytes, b.bytes);
	assert_memory_equal(a.data, b.data, a.bytes);
	ep_elf_bytes_fini(&a);
	ep_elf_bytes_fini(&b);
}

EP_TEST(zlib_section_is_decompressed)
{
	compressed_equals_plain("compressed.zlib");
}

EP_TEST(zstd_section_is_decompressed)
{
	compressed_equals_plain("compressed.zstd");
}

/* A compressed section whose header lies about its type or size. */
EP_TEST(false_claims_of_size_are_refused)
{
	static const struct {
		const char *label;
		uint32_t type;
		uint64_t size;
		int result;
	} rows[] = {
		{"a terabyte", ELFCOMPRESS_ZLIB, 1ull << 40, -E2BIG},
		{"more than is there", ELFCOMPRESS_ZLIB, 60ull << 20, -EBADMSG},
		{"less than is there", ELFCOMPRESS_ZLIB, 8, -EBADMSG},
		{"zstd that is none", 2, 4096, -EBADMSG},
		{"unknown type", 77, 4096, -ENOTSUP},
	};
	size_t bytes;
	uint8_t *data = sample_read("compressed.zlib", &bytes);
	struct ep_elf *elf = sample_open("compressed.zlib");
	struct ep_elf_section section;

	assert_int_equal(ep_elf_find_section(elf, ".debug_info", &section), 0);
	for (size_t i = 0; i < EP_LEN(rows); i++) {
		Elf64_Chdr *header = (Elf64_Chdr *)(data + section.file_off);
		struct ep_elf_bytes out = {0};

		print_message("%s\n", rows[i].label);
		header->ch_type = rows[i].type;
		header->ch_size = rows[i].size;
		elf = open_bytes(data, bytes);
		assert_int_equal(ep_elf_read_section(elf, &section, &out), rows[i].result);
	}
}

EP_TEST(sections_outside_the_file_are_refused)
{
	struct ep_elf *elf = sample_open("full");
	struct ep_elf_section section = {.type = SHT_PROGBITS, .file_off = UINT64_MAX - 4};
	struct ep_elf_bytes out = {0};
	char byte;

	section.bytes = 8;
	assert_int_equal(ep_elf_read_section(elf, &section, &out), -EBADMSG);
	section.file_off = 0;
	section.bytes = ep_elf_file_bytes(elf) + 1;
	assert_int_equal(ep_elf_read_section(elf, &section, &out), -EBADMSG);
	assert_int_equal(ep_elf_read_at(elf, ep_elf_file_bytes(elf), &byte, 1), -EBADMSG);
	assert_int_equal(ep_elf_read_at(elf, ep_elf_file_bytes(elf), &byte, 0), 0);
	section.type = SHT_NOBITS;
	assert_int_equal(ep_elf_read_section(elf, &section, &out), -ENODATA);
}

EP_TEST(debugdata_is_an_elf_file)
{
	struct ep_elf *elf = sample_open("mini"), *inner = NULL;
	struct ep_elf_section section;

	assert_int_equal(ep_elf_find_section_type(elf, SHT_SYMTAB, &section), -ENODATA);
	assert_int_equal(ep_elf_open_debugdata(elf, &inner), 0);
	ep_test_owns(inner, ep_elf_close_made);
	assert_int_equal(ep_elf_find_section_type(inner, SHT_SYMTAB, &section), 0);
	assert_int_equal(ep_elf_machine(inner), ep_elf_machine(elf));
}

EP_TEST(debugdata_that_is_no_xz_is_refused)
{
	struct ep_elf *elf = sample_open("mini"), *inner = NULL;
	struct ep_elf_section section;
	size_t bytes;
	uint8_t *data = sample_read("mini", &bytes);

	assert_int_equal(ep_elf_find_section(elf, ".gnu_debugdata", &section), 0);
	data[section.file_off + section.bytes / 2] ^= 0xff;
	elf = open_bytes(data, bytes);
	assert_int_equal(ep_elf_open_debugdata(elf, &inner), -EBADMSG);
	elf = sample_open("full");
	assert_int_equal(ep_elf_open_debugdata(elf, &inner), -ENODATA);
}

/* ---- identity ---- */

EP_TEST(build_id_is_the_same_in_every_form)
{
	static const char *const names[] = {"stripped", "full.debug", "compressed.zlib"};
	uint8_t id[EP_ELF_BUILD_ID_MAX], other[EP_ELF_BUILD_ID_MAX];
	struct ep_elf *elf = sample_open("full");

	assert_int_equal(ep_elf_build_id(elf, id), 20); /* SHA-1 */
	for (size_t i = 0; i < EP_LEN(names); i++) {
		print_message("%s\n", names[i]);
		elf = sample_open(names[i]);
		assert_int_equal(ep_elf_build_id(elf, other), 20);
		assert_memory_equal(id, other, 20);
	}
	elf = sample_open("linked");
	assert_int_equal(ep_elf_build_id(elf, id), -ENODATA);
}

EP_TEST(build_id_is_found_without_sections)
{
	size_t bytes;
	uint8_t *data = sample_read("stripped", &bytes), id[EP_ELF_BUILD_ID_MAX];

	((Elf64_Ehdr *)data)->e_shoff = 0;
	assert_int_equal(ep_elf_build_id(open_bytes(data, bytes), id), 20);
}

/* What the loader's tables tell of is there, as section headers had it: who looks for it need not know. */
EP_TEST(sections_are_made_where_there_are_none)
{
	static const char *const names[] = {".eh_frame_hdr", ".eh_frame", ".dynsym", ".dynstr", ".gnu.hash"};
	struct ep_elf_section was, is, link;
	size_t bytes;
	uint8_t *data = sample_read("stripped", &bytes);
	struct ep_elf *before = open_bytes(data, bytes), *after;

	((Elf64_Ehdr *)data)->e_shoff = 0;
	((Elf64_Ehdr *)data)->e_shnum = 0;
	after = open_bytes(data, bytes);
	for (size_t i = 0; i < EP_LEN(names); i++) {
		print_message("%s\n", names[i]);
		assert_int_equal(ep_elf_find_section(before, names[i], &was), 0);
		assert_int_equal(ep_elf_find_section(after, names[i], &is), 0);
		assert_int_equal(is.va, was.va);
		assert_int_equal(is.file_off, was.file_off);
		assert_int_equal(is.type, was.type == SHT_X86_64_UNWIND ? SHT_PROGBITS : was.type);
		if (strcmp(names[i], ".eh_frame") == 0)
			assert_true(is.bytes >= was.bytes); /* it ends by itself */
		else
			assert_int_equal(is.bytes, was.bytes);
	}
	assert_int_equal(ep_elf_find_section_type(after, SHT_GNU_HASH, &is), 0);
	assert_int_equal(ep_elf_section_at(after, is.link, &link), 0);
	assert_int_equal(link.type, SHT_DYNSYM);
	assert_int_equal(ep_elf_section_at(after, link.link, &link), 0);
	assert_int_equal(link.type, SHT_STRTAB);
	assert_int_equal(ep_elf_find_section(before, ".text", &was), 0);
	assert_int_equal(ep_elf_find_section(after, ".text", &is), 0);
	assert_true(is.va <= was.va && is.va + is.bytes >= was.va + was.bytes);
}

/* An executable whose only section is a note of Go with so many bytes of an id. */
static int read_go_note(uint32_t bytes, char *id, size_t size)
{
	static const char names[] = "\0.note.go.buildid\0.shstrtab";
	struct {
		Elf64_Ehdr header;
		Elf64_Shdr sections[3];
		char names[sizeof(names)];
		uint32_t note[3];
		char owner[4], id[600];
	} file = {
		.header = {
			.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			.e_type = ET_EXEC, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
			.e_shoff = sizeof(file.header), .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 3,
			.e_shstrndx = 2, .e_ehsize = sizeof(file.header),
		},
		.sections[1] = {.sh_name = 1, .sh_type = SHT_NOTE, .sh_size = 16 + bytes,
				.sh_offset = offsetof(__typeof__(file), note)},
		.sections[2] = {.sh_name = 19, .sh_type = SHT_STRTAB, .sh_size = sizeof(names),
				.sh_offset = offsetof(__typeof__(file), names)},
		.note = {4, bytes, 4},
		.owner = "Go",
	};

	memcpy(file.names, names, sizeof(names));
	memset(file.id, 'i', sizeof(file.id));
	return ep_elf_go_build_id(open_bytes(&file, sizeof(file)), id, size);
}

/* 512 bytes of the note are read. */
EP_TEST(go_build_ids_are_bounded)
{
	char id[600];

	assert_int_equal(read_go_note(80, id, sizeof(id)), 0);
	assert_int_equal(strlen(id), 80);
	assert_int_equal(read_go_note(80, id, 80), -E2BIG);
	assert_int_equal(read_go_note(496, id, sizeof(id)), 0);
	assert_int_equal(read_go_note(497, id, sizeof(id)), -ENODATA);
	assert_int_equal(read_go_note(0, id, sizeof(id)), -ENODATA);
}

EP_TEST(notes_are_bounded)
{
	struct {
		Elf64_Nhdr header;
		char name[4];
		uint8_t desc[8];
	} note = {{4, 8, NT_GNU_BUILD_ID}, "GNU", {1, 2, 3, 4, 5, 6, 7, 8}};
	const uint8_t *bytes = (const uint8_t *)&note;
	uint8_t id[EP_ELF_BUILD_ID_MAX];

	assert_int_equal(ep_elf_notes_build_id(bytes, sizeof(note), 4, id), 8);
	assert_memory_equal(id, note.desc, 8);
	for (size_t cut = 0; cut < sizeof(note); cut++)
		assert_int_equal(ep_elf_notes_build_id(bytes, cut, 4, id), -ENODATA);
	note.header.n_descsz = UINT32_MAX;
	assert_int_equal(ep_elf_notes_build_id(bytes, sizeof(note), 4, id), -ENODATA);
	note.header.n_descsz = 8;
	note.header.n_namesz = UINT32_MAX;
	assert_int_equal(ep_elf_notes_build_id(bytes, sizeof(note), 8, id), -ENODATA);
}

/* Sums were made by hashlib over the same bytes. */
EP_TEST(file_id_is_head_tail_and_length)
{
	static const struct {
		size_t bytes;
		const char *id;
	} rows[] = {
		{64, "d1eb3923b28a2b3c17b0f759c3ed7841"},
		{4097, "79959b3bcfa5a528c98fb5c91a780f74"},
		{100000, "03a4e0f22dcc7150165ffd2da7c9bc01"},
	};
	const Elf64_Ehdr header = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(header),
	};

	for (size_t row = 0; row < EP_LEN(rows); row++) {
		uint8_t *data = malloc(rows[row].bytes), id[16];
		char hex[33];

		assert_non_null(data);
		ep_test_owns(data, free);
		for (size_t i = 0; i < rows[row].bytes; i++)
			data[i] = (uint8_t)(i * 7 + i / 251);
		memcpy(data, &header, sizeof(header));
		assert_int_equal(ep_elf_file_id(open_bytes(data, rows[row].bytes), id), 0);
		for (size_t i = 0; i < sizeof(id); i++)
			snprintf(hex + 2 * i, 3, "%02x", id[i]);
		assert_string_equal(hex, rows[row].id);
	}
}

EP_TEST(debuglink_is_name_and_crc)
{
	struct ep_elf *elf = sample_open("linked");
	char name[64], tiny[4];
	uint32_t crc = 0;

	assert_int_equal(ep_elf_debuglink(elf, name, sizeof(name), &crc), 0);
	assert_string_equal(name, "linked.debug");
	assert_int_not_equal(crc, 0);
	assert_int_equal(ep_elf_debuglink(elf, tiny, sizeof(tiny), &crc), -EBADMSG);
	elf = sample_open("full");
	assert_int_equal(ep_elf_debuglink(elf, name, sizeof(name), &crc), -ENODATA);
}

/* ---- separate debug files ---- */

static int debug_of(const char *name, const char *root, const char *path)
{
	struct ep_elf *elf = sample_open(name), *debug = NULL;
	struct ep_elf_section section;
	int r;

	r = ep_debug_file_open(elf, root, path, &debug);
	if (r == 0)
		assert_int_equal(ep_elf_find_section_type(debug, SHT_SYMTAB, &section), 0);
	ep_elf_close(debug);
	return r;
}

EP_TEST(debug_file_is_found_by_build_id)
{
	char root[PATH_MAX];

	snprintf(root, sizeof(root), "%s", sample_path("root"));
	assert_int_equal(debug_of("stripped", root, "/bin/stripped"), 0);
	snprintf(root, sizeof(root), "%s", sample_path("wrongroot")); /* of another program */
	assert_int_equal(debug_of("stripped", root, "/bin/stripped"), -ENODATA);
	snprintf(root, sizeof(root), "%s", sample_path("no-such-root"));
	assert_int_equal(debug_of("stripped", root, "/bin/stripped"), -ENODATA);
}

static int debug_of_path(const char *path)
{
	struct ep_elf *elf = NULL, *debug = NULL;
	int r;

	assert_int_equal(ep_elf_open(path, &elf), 0);
	r = ep_debug_file_open(elf, "", path, &debug);
	ep_elf_close(debug);
	ep_elf_close(elf);
	return r;
}

/* Its CRC is right: whoever made it owns it, and the program is not his, or anybody could have made
 * it. */
EP_TEST(debug_file_of_a_stranger_is_refused)
{
	const char *directory = ep_test_directory();
	const char *path = ep_test_path(directory, "linked"), *debug = ep_test_path(directory, "linked.debug");

	ep_test_copy(sample_path("linked"), path, 0644);
	ep_test_copy(sample_path("linked.debug"), debug, 0644);
	assert_int_equal(debug_of_path(path), 0);
	assert_int_equal(chmod(debug, 0646), 0);
	assert_int_equal(debug_of_path(path), -ENODATA);
	assert_int_equal(chmod(debug, 0644), 0);
	if (chown(debug, 65534, 65534) == 0) {
		assert_int_equal(debug_of_path(path), -ENODATA);
		assert_int_equal(chown(path, 65534, 65534), 0); /* both are his */
		assert_int_equal(debug_of_path(path), 0);
		assert_int_equal(chown(debug, 0, 0), 0); /* root's names anybody's */
		assert_int_equal(debug_of_path(path), 0);
	}
}

EP_TEST(debug_file_is_found_by_debuglink)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s", sample_path("linked"));
	assert_int_equal(debug_of("linked", "", path), 0);
	snprintf(path, sizeof(path), "%s", sample_path("beside/linked"));
	assert_int_equal(debug_of("beside/linked", "", path), 0); /* in .debug/ */
	snprintf(path, sizeof(path), "%s", sample_path("wrong/linked"));
	assert_int_equal(debug_of("wrong/linked", "", path), -ENODATA); /* its CRC differs */
	assert_int_equal(debug_of("linked", "", ""), -ENODATA);
}
