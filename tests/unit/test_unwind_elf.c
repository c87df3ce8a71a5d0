/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of real ELF images: this program, the vDSO, the C library; and of damaged ones. */
#include "core/elf/file.h"
#include "core/unwind/table.h"
#include "tests/kit/test.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <ucontext.h>

#if defined(__x86_64__)
#define THIS_MACHINE EM_X86_64
#else
#define THIS_MACHINE EM_NONE
#endif

extern const char __executable_start[];
static const char *debug_frame_path; /* argv[1]: a file whose only CFI is .debug_frame */

static struct ep_elf *open_self(void)
{
	struct ep_elf *elf = NULL;

	if (THIS_MACHINE != EM_X86_64)
		skip();
	assert_int_equal(ep_elf_open("/proc/self/exe", &elf), 0);
	return elf;
}

/* The bytes of this program's file, for tests that change them. */
static uint8_t *read_self(size_t *ret_bytes)
{
	struct ep_elf *elf = open_self();
	uint8_t *bytes;

	*ret_bytes = (size_t)ep_elf_file_bytes(elf);
	bytes = malloc(*ret_bytes);
	assert_non_null(bytes);
	assert_int_equal(ep_elf_read_at(elf, 0, bytes, *ret_bytes), 0);
	ep_elf_close(elf);
	return bytes;
}

static int build_memory(const uint8_t *bytes, size_t n, struct ep_unwind_table **ret_table)
{
	struct ep_elf *elf = NULL;
	int r;

	assert_int_equal(ep_elf_open_memory(bytes, n, &elf), 0);
	r = ep_unwind_table_build(elf, NULL, ret_table);
	ep_elf_close(elf);
	return r;
}

static bool tables_equal(const struct ep_unwind_table *a, const struct ep_unwind_table *b)
{
	return a->n_pages == b->n_pages && a->n_deltas == b->n_deltas && a->n_rules == b->n_rules &&
	       memcmp(a->pages, b->pages, a->n_pages * sizeof(*a->pages)) == 0 &&
	       memcmp(a->deltas, b->deltas, a->n_deltas * sizeof(*a->deltas)) == 0;
}

/* Walks up from `leaf` by the table's immediate rules alone: what the BPF unwinder does. */
static uint64_t unwind_once(const struct ep_unwind_table *table, uint64_t pc, uint64_t *sp, uint64_t *fp)
{
	uint32_t rule = ep_unwind_table_find(table, pc - (uint64_t)(uintptr_t)__executable_start);
	uint64_t cfa;

	assert_true(rule & EP_RULE_IMMEDIATE);
	cfa = (rule & EP_RULE_BASE_FP ? *fp : *sp) + EP_RULE_CFA_OFF(rule);
	if (EP_RULE_FP_SLOT(rule))
		memcpy(fp, (void *)(uintptr_t)(cfa - 8 * EP_RULE_FP_SLOT(rule)), 8);
	*sp = cfa;
	memcpy(&pc, (void *)(uintptr_t)(cfa - 8), 8);
	return pc;
}

#if defined(__x86_64__)
static uint64_t caller_pc;

__attribute__((noinline)) static void unwind_myself(const struct ep_unwind_table *table)
{
	ucontext_t here;
	uint64_t pc, sp, fp;

	getcontext(&here);
	pc = (uint64_t)here.uc_mcontext.gregs[REG_RIP];
	sp = (uint64_t)here.uc_mcontext.gregs[REG_RSP];
	fp = (uint64_t)here.uc_mcontext.gregs[REG_RBP];
	pc = unwind_once(table, pc, &sp, &fp);
	assert_int_equal(pc, (uintptr_t)__builtin_return_address(0));
	pc = unwind_once(table, pc - 1, &sp, &fp);
	assert_int_equal(pc, caller_pc);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void call_unwind(const struct ep_unwind_table *table)
{
	caller_pc = (uintptr_t)__builtin_return_address(0);
	unwind_myself(table);
	__asm__ volatile("" ::: "memory"); /* no tail call */
}
#endif

EP_TEST(this_process_unwinds)
{
	struct ep_elf *elf = open_self();
	struct ep_unwind_table *table = NULL;

	assert_int_equal(ep_unwind_table_build(elf, NULL, &table), 0);
	assert_true(table->stats.fdes > 0);
	assert_int_equal(table->stats.bad_fdes, 0);
	assert_true(ep_unwind_table_bytes(table) > 0);
#if defined(__x86_64__)
	call_unwind(table);
#endif
	ep_unwind_table_free(table);
	ep_elf_close(elf);
}

EP_TEST(the_entry_of_a_program_stops)
{
	struct ep_elf *elf = open_self();
	struct ep_unwind_table *table = NULL;

	assert_int_equal(ep_unwind_table_build(elf, NULL, &table), 0);
	assert_int_equal(ep_unwind_table_find(table, ep_elf_entry_va(elf)), EP_RULE_STOP);
	ep_unwind_table_free(table);
	ep_elf_close(elf);
}

/* One pass by the linker's table and one by a walk over the section come to the same. */
EP_TEST(without_eh_frame_hdr_the_table_is_equal)
{
	size_t n;
	uint8_t *bytes = read_self(&n);
	Elf64_Ehdr *ehdr = (Elf64_Ehdr *)(void *)bytes;
	Elf64_Phdr *phdrs = (Elf64_Phdr *)(void *)(bytes + ehdr->e_phoff);
	struct ep_unwind_table *by_hdr = NULL, *by_walk = NULL;

	assert_int_equal(build_memory(bytes, n, &by_hdr), 0);
	assert_int_equal(by_hdr->stats.sources & 3, EP_UNWIND_EH_FRAME_HDR);
	for (int i = 0; i < ehdr->e_phnum; i++) /* a version that does not exist */
		if (phdrs[i].p_type == PT_GNU_EH_FRAME)
			bytes[phdrs[i].p_offset] = 77;
	assert_int_equal(build_memory(bytes, n, &by_walk), 0);
	assert_int_equal(by_walk->stats.sources & 3, EP_UNWIND_EH_FRAME);
	assert_true(tables_equal(by_hdr, by_walk));
	ep_unwind_table_free(by_hdr);
	ep_unwind_table_free(by_walk);
	free(bytes);
}

EP_TEST(without_section_headers_the_table_is_equal)
{
	size_t n;
	uint8_t *bytes = read_self(&n);
	Elf64_Ehdr *ehdr = (Elf64_Ehdr *)(void *)bytes;
	struct ep_unwind_table *whole = NULL, *stripped = NULL;

	assert_int_equal(build_memory(bytes, n, &whole), 0);
	ehdr->e_shoff = 0;
	ehdr->e_shnum = 0;
	ehdr->e_shstrndx = 0;
	assert_int_equal(build_memory(bytes, n, &stripped), 0);
	assert_true(tables_equal(whole, stripped));
	ep_unwind_table_free(whole);
	ep_unwind_table_free(stripped);
	free(bytes);
}

/* A linker's table that points to other FDEs than it says is found out, and not used. */
EP_TEST(a_lying_eh_frame_hdr_is_not_believed)
{
	size_t n;
	uint8_t *bytes = read_self(&n);
	Elf64_Ehdr *ehdr = (Elf64_Ehdr *)(void *)bytes;
	Elf64_Phdr *phdrs = (Elf64_Phdr *)(void *)(bytes + ehdr->e_phoff);
	struct ep_unwind_table *before = NULL, *after = NULL;

	assert_int_equal(build_memory(bytes, n, &before), 0);
	for (int i = 0; i < ehdr->e_phnum; i++)
		if (phdrs[i].p_type == PT_GNU_EH_FRAME)
			memcpy(bytes + phdrs[i].p_offset + 12 + 4, bytes + phdrs[i].p_offset + 20 + 4, 4);
	assert_int_equal(build_memory(bytes, n, &after), 0);
	assert_int_equal(after->stats.sources & 3, EP_UNWIND_EH_FRAME);
	assert_int_equal(after->stats.bad_fdes, 0);
	assert_true(tables_equal(before, after));
	ep_unwind_table_free(before);
	ep_unwind_table_free(after);
	free(bytes);
}

EP_TEST(other_machines_are_not_supported)
{
	size_t n;
	uint8_t *bytes = read_self(&n);
	Elf64_Ehdr *ehdr = (Elf64_Ehdr *)(void *)bytes;
	struct ep_unwind_table *table = NULL;

	ehdr->e_machine = EM_AARCH64;
	assert_int_equal(build_memory(bytes, n, &table), -ENOTSUP);
	assert_null(table);
	ehdr->e_machine = EM_X86_64;
	ehdr->e_type = ET_REL;
	assert_int_equal(build_memory(bytes, n, &table), -ENOTSUP);
	free(bytes);
}

/* Every length of a file that is cut off gives a table or an error, never a wrong read. */
EP_TEST(truncated_files_are_safe)
{
	size_t n;
	uint8_t *bytes = read_self(&n);

	for (size_t len = 64; len < n; len += n / 97) {
		struct ep_unwind_table *table = NULL;
		struct ep_elf *elf = NULL;

		if (ep_elf_open_memory(bytes, len, &elf) == 0)
			(void)ep_unwind_table_build(elf, NULL, &table);
		ep_unwind_table_free(table);
		ep_elf_close(elf);
	}
	free(bytes);
}

EP_TEST(the_vdso_has_rules)
{
	unsigned long vdso = getauxval(AT_SYSINFO_EHDR);
	struct ep_unwind_table *table = NULL;
	const Elf64_Ehdr *ehdr;

	if (!vdso || THIS_MACHINE != EM_X86_64)
		skip();
	ehdr = (const Elf64_Ehdr *)vdso;
	assert_int_equal(build_memory((const uint8_t *)vdso,
				      ehdr->e_shoff + (size_t)ehdr->e_shnum * ehdr->e_shentsize, &table), 0);
	assert_true(table->stats.fdes > 0);
	assert_int_equal(table->stats.bad_fdes, 0);
	assert_int_equal(table->n_segments, 1);
	ep_unwind_table_free(table);
}

/* glibc: __restore_rt is a signal frame, the child's side of clone() ends a stack. */
EP_TEST(the_c_library_has_signal_frames_and_ends)
{
	static const char *const paths[] = { "/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6" };
	struct ep_unwind_table *table = NULL;
	struct ep_elf *elf = NULL;
	bool signal = false, stop = false;
	uint64_t end;

	for (size_t i = 0; i < EP_LEN(paths) && !elf; i++)
		(void)ep_elf_open(paths[i], &elf);
	if (!elf || THIS_MACHINE != EM_X86_64)
		skip();
	assert_int_equal(ep_unwind_table_build(elf, NULL, &table), 0);
	for (uint64_t va = table->segments[0].va;
	     va < table->segments[0].va + (uint64_t)table->segments[0].n_pages * EP_PAGE_BYTES; va = end) {
		uint32_t rule = ep_unwind_table_run(table, va, &end);

		signal |= rule == EP_RULE_SIGNAL;
		stop |= rule == EP_RULE_STOP;
	}
	assert_true(signal);
	assert_true(stop);
	ep_unwind_table_free(table);
	ep_elf_close(elf);
}

static struct ep_elf *open_debug_frame(void)
{
	struct ep_elf *elf = NULL;

	if (!debug_frame_path || THIS_MACHINE != EM_X86_64)
		skip();
	assert_int_equal(ep_elf_open(debug_frame_path, &elf), 0);
	return elf;
}

/* The same CFI in the file itself and in its separate debug file comes to the same table. */
EP_TEST(debug_frame_is_read_from_both_places)
{
	struct ep_elf *elf = open_debug_frame(), *stripped = NULL;
	struct ep_unwind_table *own = NULL, *separate = NULL;
	size_t n = (size_t)ep_elf_file_bytes(elf);
	uint8_t *bytes = malloc(n);

	assert_non_null(bytes);
	assert_int_equal(ep_unwind_table_build(elf, NULL, &own), 0);
	assert_int_equal(own->stats.sources, EP_UNWIND_DEBUG_FRAME | (own->stats.sources & 3));
	assert_true(own->stats.fdes > 0);
	assert_true(own->n_deltas > 0);
	assert_int_equal(ep_elf_read_at(elf, 0, bytes, n), 0);
	((Elf64_Ehdr *)(void *)bytes)->e_shoff = 0;
	((Elf64_Ehdr *)(void *)bytes)->e_shnum = 0;
	((Elf64_Ehdr *)(void *)bytes)->e_shstrndx = 0;
	assert_int_equal(ep_elf_open_memory(bytes, n, &stripped), 0);
	assert_int_equal(ep_unwind_table_build(stripped, elf, &separate), 0);
	assert_int_equal(separate->stats.sources & ~3u, EP_UNWIND_DEBUG_FILE);
	assert_true(tables_equal(own, separate));
	ep_unwind_table_free(own);
	ep_unwind_table_free(separate);
	ep_elf_close(stripped);
	ep_elf_close(elf);
	free(bytes);
}

EP_TEST(text_without_cfi_has_an_empty_table)
{
	size_t n;
	uint8_t *bytes = read_self(&n);
	Elf64_Ehdr *ehdr = (Elf64_Ehdr *)(void *)bytes;
	Elf64_Phdr *phdrs = (Elf64_Phdr *)(void *)(bytes + ehdr->e_phoff);
	struct ep_unwind_table *table = NULL;

	for (int i = 0; i < ehdr->e_phnum; i++)
		if (phdrs[i].p_type == PT_GNU_EH_FRAME)
			phdrs[i].p_type = PT_NULL;
	ehdr->e_shoff = 0;
	ehdr->e_shnum = 0;
	ehdr->e_shstrndx = 0;
	assert_int_equal(build_memory(bytes, n, &table), 0);
	assert_int_equal(table->stats.sources, 0);
	assert_int_equal(ep_unwind_table_find(table, ehdr->e_entry), EP_RULE_STOP);
	assert_int_equal(ep_unwind_table_find(table, ehdr->e_entry + 64), EP_RULE_NONE);
	ep_unwind_table_free(table);
	free(bytes);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		debug_frame_path = argv[1];
	return ep_test_run(NULL, NULL);
}
