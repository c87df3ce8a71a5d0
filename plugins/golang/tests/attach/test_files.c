/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes the Go commands of this machine, which are Go programs, and those given as arguments: offsets as
 * the sources of their versions have them, g where linkers put it, all functions that change stacks.
 *
 *	test_golang_files [FILE...]
 */
#include "core/elf/file.h"
#include "core/plugin/elf_file.h"
#include "plugins/golang/golang.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const places[] = {
	"/usr/local/go/bin/go", "/usr/lib/go-*/bin/go", "/usr/local/go/bin/gofmt",
	"/usr/local/go/pkg/tool/linux_amd64/compile", "/usr/lib/go-*/bin/gofmt",
};

static int failures;

#define EXPECT(condition)                                                                          \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			printf("%s: line %d: %s\n", path, __LINE__, #condition);                   \
			failures++;                                                                \
		}                                                                                  \
	} while (0)

static uint32_t minor_of(const struct ep_file *file)
{
	const struct ep_unwinder_host *host = ep_unwinder_host_get();
	struct ep_symbol section;
	char info[48];
	unsigned minor = 0;

	if (host->file_section(file, ".go.buildinfo", &section) < 0 ||
	    host->file_read(file, section.va, info, sizeof(info)) < 0 || !(info[15] & 2) ||
	    sscanf(info + 33, "go1.%3u", &minor) != 1)
		return 0;
	return minor;
}

static void check_codes(const char *path, const struct go_executable *exe)
{
	uint32_t kinds = 0;

	for (uint32_t i = 0; i < exe->n_codes; i++) {
		EXPECT(exe->codes[i].bytes > 4 && exe->codes[i].bytes < 512);
		kinds |= 1u << exe->codes[i].kind;
	}
	EXPECT((kinds & ~(1u << GO_CODE_CGOCALLBACK)) ==
	       (1u << GO_CODE_SYSTEMSTACK | 1u << GO_CODE_MORESTACK | 1u << GO_CODE_ASMCGOCALL));
	/* asmcgocall has two parts: with and without a goroutine. */
	EXPECT(exe->n_codes == (kinds >> GO_CODE_CGOCALLBACK & 1 ? 5 : 4));
}

static void check_version(const char *path, const struct go_executable *exe, uint32_t minor)
{
	struct go_offsets known;

	printf("%s: 1.%u, g %" PRIu32 " %" PRId64 ", m %u, sched.sp %u, sched.bp %u, curg %u, depth %u, frame %u, %u parts\n",
	       path, minor, exe->g.kind, (int64_t)exe->g.value, exe->offsets.g_m, exe->offsets.g_sched_sp,
	       exe->offsets.g_sched_bp, exe->offsets.m_curg, exe->depth_off, exe->frame_bytes, exe->n_codes);
	if (minor < 15)
		return;
	go_offsets_of(minor, &known);
	EXPECT(memcmp(&known, &exe->offsets, sizeof(known)) == 0);
	EXPECT(exe->frame_bytes == (minor >= 21 ? 8 : 0));
	EXPECT(exe->depth_off == (minor >= 22 ? 0 : 40));
}

/* A copy of a file, without section headers, as sstrip leaves it. < 0: there is none. */
static int copy_without_sections(const char *path)
{
	ep_autoclose int from = open(path, O_RDONLY | O_CLOEXEC), to = memfd_create("bare", MFD_CLOEXEC);
	struct stat st;
	Elf64_Ehdr header;

	if (from < 0 || to < 0 || fstat(from, &st) < 0)
		return -1;
	for (off_t off = 0; off < st.st_size;) {
		if (sendfile(to, from, &off, (size_t)(st.st_size - off)) <= 0)
			return -1;
	}
	if (pread(to, &header, sizeof(header), 0) != sizeof(header))
		return -1;
	header.e_shoff = 0;
	header.e_shnum = header.e_shstrndx = 0;
	return pwrite(to, &header, sizeof(header), 0) == sizeof(header) ? ep_take_fd(to) : -1;
}

/* What go_probe makes of a file; < 0: nothing. */
static int probe(const char *path, void **ret, uint32_t *ret_minor)
{
	ep_cleanup(ep_elf_closep) struct ep_elf *elf = NULL;
	ep_cleanup(ep_elf_file_fini) struct ep_elf_file file = {0};
	int r = ep_elf_open(path, &elf);

	if (r < 0)
		return r;
	ep_elf_file_init(&file, elf, NULL, path);
	*ret_minor = minor_of(&file.file);
	return go_probe(ep_unwinder_host_get(), &file.file, ret);
}

/* What is found with sections is found without. */
static void check_bare(const char *path, const struct go_executable *exe)
{
	ep_autoclose int fd = copy_without_sections(path);
	void *executable = NULL;
	struct go_executable *bare;
	uint32_t minor;
	char copy[32];

	snprintf(copy, sizeof(copy), "/proc/self/fd/%d", fd);
	EXPECT(fd >= 0 && probe(copy, &executable, &minor) == 0);
	bare = executable;
	if (bare)
		EXPECT(bare->n_codes == exe->n_codes && bare->g.value == exe->g.value &&
		       memcmp(bare->codes, exe->codes, sizeof(exe->codes)) == 0 &&
		       memcmp(&bare->offsets, &exe->offsets, sizeof(exe->offsets)) == 0);
	if (bare)
		go_unload(bare);
}

static void check(const char *path)
{
	void *executable = NULL;
	uint32_t minor;

	EXPECT(probe(path, &executable, &minor) == 0);
	if (executable) {
		check_version(path, executable, minor);
		check_codes(path, executable);
		check_bare(path, executable);
		go_unload(executable);
	}
}

/* Itself: a program of C's, and a copy of it without section headers. */
static void check_another(void)
{
	ep_autoclose int fd = copy_without_sections("/proc/self/exe");
	const char *path = "/proc/self/exe";
	void *executable = NULL;
	uint32_t minor;
	char copy[32];

	EXPECT(fd >= 0);
	snprintf(copy, sizeof(copy), "/proc/self/fd/%d", fd);
	EXPECT(probe(path, &executable, &minor) == EP_NOT_MINE);
	EXPECT(probe(copy, &executable, &minor) == EP_NOT_MINE);
}

int main(int argc, char **argv)
{
	size_t n = 0;

	check_another();
	for (int i = 1; i < argc; i++, n++)
		check(argv[i]);
	for (size_t i = 0; i < EP_LEN(places) && argc == 1; i++) {
		glob_t found;

		if (glob(places[i], 0, NULL, &found) != 0)
			continue;
		for (size_t k = 0; k < found.gl_pathc; k++, n++)
			check(found.gl_pathv[k]);
		globfree(&found);
	}
	if (!n)
		printf("SKIPPED: there is no Go on this machine\n");
	return failures ? 1 : n ? 0 : 77;
}
