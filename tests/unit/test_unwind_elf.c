/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of real ELF images: this program, the vDSO, the C library; and of damaged ones. */
#include "core/unwind/table.h"
#include "tests/unit/elf_samples.h"

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
	if (THIS_MACHINE != EM_X86_64)
		skip();
	return open_file("/proc/self/exe");
}

/* The bytes of this program's file, for tests that change them. */
static uint8_t *read_self(size_t *ret_bytes)
{
	return read_bytes(open_self(), ret_bytes);
}

static Elf64_Phdr *eh_frame_phdr(uint8_t *bytes)
{
	Elf64_Ehdr *ehdr = (Elf64_Ehdr *)(void *)bytes;
	Elf64_Phdr *phdrs = (Elf64_Phdr *)(void *)(bytes + ehdr->e_phoff);

	for (int i = 0; i < ehdr->e_phnum; i++)
		if (phdrs[i].p_type == PT_GNU_EH_FRAME)
			return &phdrs[i];
	fail_msg("no .eh_frame_hdr");
	return NULL;
}

static void drop_sections(uint8_t *bytes)
{
	Elf64_Ehdr *ehdr = (Elf64_Ehdr *)(void *)bytes;

	ehdr->e_shoff = 0;
	ehdr->e_shnum = 0;
	ehdr->e_shstrndx = 0;
}

EP_TEST_RELEASES(ep_unwind_table_free)

static struct ep_unwind_table *build(struct ep_elf *elf, struct ep_elf *debug)
{
	struct ep_unwind_table *table = NULL;

	assert_int_equal(ep_unwind_table_build(elf, debug, &table), 0);
	ep_test_owns(table, ep_unwind_table_free_made);
	return table;
}

/* The table needs neither the bytes nor what was open. */
static struct ep_unwind_table *build_memory(const uint8_t *bytes, size_t n)
{
	struct ep_elf *elf = open_bytes(bytes, n);
	struct ep_unwind_table *table = build(elf, NULL);

	ep_test_release(elf);
	return table;
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
	struct ep_unwind_table *table = build(elf, NULL);

	assert_true(table->stats.fdes > 0);
	assert_int_equal(table->stats.bad_fdes, 0);
	assert_true(ep_unwind_table_bytes(table) > 0);
#if defined(__x86_64__)
	call_unwind(table);
#endif
}

/* One pass by the linker's table and one by a walk over the section come to the same. */
EP_TEST(without_eh_frame_hdr_the_table_is_equal)
{
	size_t n;
	uint8_t *bytes = read_self(&n);
	struct ep_unwind_table *by_hdr = build_memory(bytes, n), *by_walk;

	assert_int_equal(by_hdr->stats.sources & 3, EP_UNWIND_EH_FRAME_HDR);
	bytes[eh_frame_phdr(bytes)->p_offset] = 77; /* a version that does not exist */
	by_walk = build_memory(bytes, n);
	assert_int_equal(by_walk->stats.sources & 3, EP_UNWIND_EH_FRAME);
	assert_true(tables_equal(by_hdr, by_walk));
}

EP_TEST(without_section_headers_the_table_is_equal)
{
	size_t n;
	uint8_t *bytes = read_self(&n);
	struct ep_unwind_table *whole = build_memory(bytes, n), *stripped;

	drop_sections(bytes);
	stripped = build_memory(bytes, n);
	assert_true(tables_equal(whole, stripped));
}

/* As gcc links static programs: .eh_frame is found by what it is. */
EP_TEST(without_any_word_of_eh_frame_the_table_is_equal)
{
	size_t n;
	uint8_t *bytes = read_self(&n);
	struct ep_unwind_table *whole = build_memory(bytes, n), *searched;

	drop_sections(bytes);
	eh_frame_phdr(bytes)->p_type = PT_NULL;
	searched = build_memory(bytes, n);
	assert_int_equal(searched->stats.sources & 3, EP_UNWIND_EH_FRAME);
	assert_true(tables_equal(whole, searched));
}

/* Where .eh_frame begins in the file, by its sections. */
static Elf64_Shdr eh_frame_section(uint8_t *bytes)
{
	const Elf64_Ehdr *ehdr = (const Elf64_Ehdr *)(void *)bytes;
	const Elf64_Shdr *sections = (const Elf64_Shdr *)(void *)(bytes + ehdr->e_shoff);
	const char *names = (const char *)bytes + sections[ehdr->e_shstrndx].sh_offset;

	for (int i = 0; i < ehdr->e_shnum; i++) {
		if (strcmp(names + sections[i].sh_name, ".eh_frame") == 0)
			return sections[i];
	}
	fail_msg("no .eh_frame");
	return (Elf64_Shdr){0};
}

/* The entry before the one of length 0. */
static uint8_t *last_entry(uint8_t *bytes)
{
	Elf64_Shdr section = eh_frame_section(bytes);
	uint8_t *entry = bytes + section.sh_offset, *last = entry;
	uint32_t len;

	while (memcpy(&len, entry, sizeof(len)), len != 0) {
		last = entry;
		entry += 4 + len;
	}
	return last;
}

/* Nothing of a chain is trusted when an entry of it is not as it must be: here its last one. */
EP_TEST(a_chain_with_a_wrong_entry_is_no_eh_frame)
{
	static const struct {
		const char *what;
		uint32_t off; /* in an FDE */
		uint32_t value;
	} rows[] = {
		{"an id that leads to no CIE", 4, 8},
		{"code that is nowhere", 8, 0x40000000},
		{"a function without code", 12, 0},
		{"a length that is no multiple of 4", 0, 17},
		{"a length beyond the segment", 0, 0x7ffffff0},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		size_t n;
		uint8_t *bytes = read_self(&n);

		memcpy(last_entry(bytes) + rows[i].off, &rows[i].value, sizeof(rows[i].value));
		drop_sections(bytes);
		eh_frame_phdr(bytes)->p_type = PT_NULL;
		if (build_memory(bytes, n)->stats.sources & 3)
			fail_msg("%s", rows[i].what);
	}
}

/* A linker's table that points to other FDEs than it says is found out, and not used. */
EP_TEST(a_lying_eh_frame_hdr_is_not_believed)
{
	size_t n;
	uint8_t *bytes = read_self(&n), *entries;
	struct ep_unwind_table *before = build_memory(bytes, n), *after;

	entries = bytes + eh_frame_phdr(bytes)->p_offset + 12;
	memcpy(entries + 4, entries + 8 + 4, 4);
	after = build_memory(bytes, n);
	assert_int_equal(after->stats.sources & 3, EP_UNWIND_EH_FRAME);
	assert_int_equal(after->stats.bad_fdes, 0);
	assert_true(tables_equal(before, after));
}

EP_TEST(other_machines_are_not_supported)
{
	size_t n;
	uint8_t *bytes = read_self(&n);
	Elf64_Ehdr *ehdr = (Elf64_Ehdr *)(void *)bytes;
	struct ep_unwind_table *table = NULL;

	ehdr->e_machine = EM_AARCH64;
	assert_int_equal(ep_unwind_table_build(open_bytes(bytes, n), NULL, &table), -ENOTSUP);
	assert_null(table);
	ehdr->e_machine = EM_X86_64;
	ehdr->e_type = ET_REL;
	assert_int_equal(ep_unwind_table_build(open_bytes(bytes, n), NULL, &table), -ENOTSUP);
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
}

EP_TEST(the_vdso_has_rules)
{
	unsigned long vdso = getauxval(AT_SYSINFO_EHDR);
	struct ep_unwind_table *table = NULL;
	const Elf64_Ehdr *ehdr;

	if (!vdso || THIS_MACHINE != EM_X86_64)
		skip();
	ehdr = (const Elf64_Ehdr *)vdso;
	table = build_memory((const uint8_t *)vdso,
			     ehdr->e_shoff + (size_t)ehdr->e_shnum * ehdr->e_shentsize);
	assert_true(table->stats.fdes > 0);
	assert_int_equal(table->stats.bad_fdes, 0);
	assert_int_equal(table->n_segments, 1);
}

/* glibc: __restore_rt is a signal frame, the child's side of clone() ends a stack. */
EP_TEST(the_c_library_has_signal_frames_and_ends)
{
	static const char *const paths[] = { "/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6" };
	struct ep_unwind_table *table;
	struct ep_elf *elf = NULL;
	bool signal = false, stop = false;
	uint64_t end;

	for (size_t i = 0; i < EP_LEN(paths) && !elf; i++)
		(void)ep_elf_open(paths[i], &elf);
	if (!elf || THIS_MACHINE != EM_X86_64)
		skip();
	ep_test_owns(elf, ep_elf_close_made);
	table = build(elf, NULL);
	for (uint64_t va = table->segments[0].va;
	     va < table->segments[0].va + (uint64_t)table->segments[0].n_pages * EP_PAGE_BYTES; va = end) {
		uint32_t rule = ep_unwind_table_run(table, va, &end);

		signal |= rule == EP_RULE_SIGNAL;
		stop |= rule == EP_RULE_STOP;
	}
	assert_true(signal);
	assert_true(stop);
}

static bool is_same_rule(const struct ep_unwind_table *a, uint32_t rule_a,
			 const struct ep_unwind_table *b, uint32_t rule_b)
{
	bool is_in_table = !(rule_a & EP_RULE_IMMEDIATE) && rule_a >= EP_RULE_FIRST_TABLE;

	if (!is_in_table)
		return rule_a == rule_b;
	if ((rule_b & EP_RULE_IMMEDIATE) || rule_b < EP_RULE_FIRST_TABLE)
		return false;
	return memcmp(&a->rules[rule_a - EP_RULE_FIRST_TABLE],
		      &b->rules[rule_b - EP_RULE_FIRST_TABLE], sizeof(struct ep_rule)) == 0;
}

/*
 * Every address of a stretch has the rule of the whole table, wherever in a function the stretch
 * begins.
 */
EP_TEST(stretches_of_text_are_as_in_the_whole_table)
{
	static const char *const paths[] = {"/proc/self/exe", "/lib/x86_64-linux-gnu/libc.so.6",
					    "/lib64/libc.so.6"};
	size_t n_compared = 0;

	for (size_t i = 0; i < EP_LEN(paths) && THIS_MACHINE == EM_X86_64; i++) {
		struct ep_unwind_stretch all = {.end = UINT64_MAX / 2};
		struct ep_unwind_table *whole = NULL;
		struct ep_elf *elf = NULL;

		if (ep_elf_open(paths[i], &elf) < 0)
			continue;
		assert_int_equal(ep_unwind_table_build_within(elf, &all, 1, &whole), 0);
		for (uint32_t step = 1; step < 8; step += 3) {
			struct ep_unwind_stretch stretches[64];
			struct ep_unwind_table *table = NULL;
			size_t n = 0;

			for (uint64_t page = step;
			     page < whole->segments[0].n_pages && n < EP_LEN(stretches);
			     page += 3 * step) {
				uint64_t start = whole->segments[0].va + page * EP_PAGE_BYTES;

				stretches[n++] = (struct ep_unwind_stretch){
					start, start + step * EP_PAGE_BYTES};
			}
			assert_int_equal(ep_unwind_table_build_within(elf, stretches, n, &table),
					 0);
			for (size_t k = 0; k < n; k++) {
				for (uint64_t va = stretches[k].start; va < stretches[k].end;
				     va++) {
					uint32_t rule = ep_unwind_table_find(whole, va);

					assert_true(is_same_rule(whole, rule, table,
								 ep_unwind_table_find(table, va)));
					n_compared++;
				}
			}
			assert_true(n == 0 || table->n_deltas < whole->n_deltas);
			ep_unwind_table_free(table);
		}
		ep_unwind_table_free(whole);
		ep_elf_close(elf);
	}
	assert_true(n_compared > 100000 || THIS_MACHINE != EM_X86_64);
}

static struct ep_elf *open_debug_frame(void)
{
	if (!debug_frame_path || THIS_MACHINE != EM_X86_64)
		skip();
	return open_file(debug_frame_path);
}

/* The same CFI in the file itself and in its separate debug file comes to the same table. */
EP_TEST(debug_frame_is_read_from_both_places)
{
	struct ep_elf *elf = open_debug_frame();
	struct ep_unwind_table *own = build(elf, NULL), *separate;
	size_t n;
	uint8_t *bytes = read_bytes(elf, &n);

	assert_int_equal(own->stats.sources, EP_UNWIND_DEBUG_FRAME | (own->stats.sources & 3));
	assert_true(own->stats.fdes > 0);
	assert_true(own->n_deltas > 0);
	drop_sections(bytes);
	separate = build(open_bytes(bytes, n), elf);
	assert_int_equal(separate->stats.sources & ~3u, EP_UNWIND_DEBUG_FILE);
	assert_true(tables_equal(own, separate));
}

EP_TEST(text_without_cfi_has_an_empty_table)
{
	size_t n;
	uint8_t *bytes = read_self(&n);
	Elf64_Ehdr *ehdr = (Elf64_Ehdr *)(void *)bytes;
	struct ep_unwind_table *table;
	Elf64_Shdr section = eh_frame_section(bytes);

	memset(bytes + section.sh_offset, 0, section.sh_size);
	eh_frame_phdr(bytes)->p_type = PT_NULL;
	drop_sections(bytes);
	table = build_memory(bytes, n);
	assert_int_equal(table->stats.sources, 0);
	assert_int_equal(ep_unwind_table_find(table, ehdr->e_entry), EP_RULE_STOP);
	assert_int_equal(ep_unwind_table_find(table, ehdr->e_entry + 64), EP_RULE_NONE);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		debug_frame_path = argv[1];
	return ep_test_run(NULL, NULL);
}
