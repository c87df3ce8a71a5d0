/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ELF bytes → table of stack deltas; whatever the bytes, the table must keep the promises that the
 * BPF unwinder and the delta store rely on. The same bytes also serve as the debug file. Input that
 * is no ELF file is taken as the bytes of .eh_frame and of .debug_frame, and its last ones as rows that somebody
 * described.
 */
#include "core/elf/file.h"
#include "core/unwind/build.h"
#include "core/unwind/outer.h"
#include "tests/kit/fuzz.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

static void check_rule(const struct ep_unwind_table *table, uint32_t rule)
{
	CHECK(rule < 1u << 20);
	CHECK((rule & EP_RULE_IMMEDIATE) || rule <= EP_RULE_UNSUPPORTED ||
	      (rule >= EP_RULE_FIRST_TABLE && rule - EP_RULE_FIRST_TABLE < table->n_rules));
}

static void check_page(const struct ep_unwind_table *table, uint64_t page)
{
	size_t count = EP_PAGE_COUNT(page), first = EP_PAGE_REF(page);

	CHECK(page >> 48 == 0);
	if (count == 0) {
		check_rule(table, EP_PAGE_REF(page));
		return;
	}
	CHECK(count <= EP_PAGE_BYTES);
	CHECK(first <= table->n_deltas && count <= table->n_deltas - first);
	CHECK(table->deltas[first] >> 20 == 0);
	for (size_t i = 0; i < count; i++) {
		check_rule(table, EP_DELTA_RULE(table->deltas[first + i]));
		CHECK(i == 0 || table->deltas[first + i] >> 20 > table->deltas[first + i - 1] >> 20);
	}
}

static void check_segments(const struct ep_unwind_table *table)
{
	uint64_t end = 0;
	size_t pages = 0;

	for (size_t i = 0; i < table->n_segments; i++) {
		const struct ep_unwind_segment *segment = &table->segments[i];

		CHECK(segment->va % EP_PAGE_BYTES == 0);
		CHECK(segment->va >= end);
		CHECK(segment->n_pages > 0 && segment->n_pages <= EP_ROW_MAX_PAGES);
		CHECK(segment->first_page == pages);
		pages += segment->n_pages;
		end = segment->va + (uint64_t)segment->n_pages * EP_PAGE_BYTES;
	}
	CHECK(pages == table->n_pages);
}

static void check_rules(const struct ep_unwind_table *table)
{
	for (size_t i = 0; i < table->n_rules; i++) {
		const struct ep_rule *rule = &table->rules[i];

		CHECK(rule->cfa_kind <= EP_CFA_DEREF_TWICE && rule->cfa_reg < 16);
		CHECK(rule->ra_kind == EP_REG_AT_CFA || rule->ra_kind == EP_REG_IN_REG ||
		      (rule->ra_kind == EP_REG_IS_CODE && table->stats.outer_va));
		CHECK(rule->ra_reg < 16 && rule->fp_reg < 16 && rule->fp_kind <= EP_REG_IS_CFA);
		CHECK((rule->others & ~(EP_OTHERS_KEEPS | EP_OTHERS_INTERRUPTED | EP_OTHERS_SWITCH)) < 16);
		CHECK((rule->base_slot == 0) == (EP_OTHERS_REG(rule->others) == 0));
	}
}

static void check_table(const struct ep_unwind_table *table)
{
	size_t deltas = 0;

	check_segments(table);
	check_rules(table);
	for (size_t i = 0; i < table->n_pages; i++) {
		check_page(table, table->pages[i]);
		deltas += EP_PAGE_COUNT(table->pages[i]);
	}
	CHECK(deltas == table->n_deltas); /* each delta belongs to one page */
	CHECK(table->stats.covered_bytes <= table->stats.text_bytes);
	CHECK(table->stats.described_bytes <= table->stats.text_bytes - table->stats.covered_bytes);
}

#define MAX_ROWS 64

static int compare_rows(const void *left, const void *right)
{
	const struct ep_code_row *a = left, *b = right;

	return a->va < b->va ? -1 : a->va > b->va;
}

/* What a plugin may say, which keeps to what ep_build_input asks for and to nothing else. */
static size_t make_rows(const uint8_t *data, size_t size, struct ep_code_row *rows)
{
	size_t n = EP_MIN(size / sizeof(*rows), (size_t)MAX_ROWS);

	if (n > 0)
		memcpy(rows, data + size - n * sizeof(*rows), n * sizeof(*rows));
	for (size_t i = 0; i < n; i++)
		rows[i].va &= rows[i].pad & 1 ? UINT64_MAX >> 1 : 0x4fffff;
	if (n > 1)
		qsort(rows, n, sizeof(*rows), compare_rows);
	return n;
}

struct code {
	const uint8_t *data;
	size_t bytes;
};

/* The input is code at 0x1000 as well. */
static bool read_code(void *arg, uint64_t va, uint8_t *buf, size_t bytes)
{
	const struct code *code = arg;

	if (va < 0x1000 || !ep_in_bounds(va - 0x1000, bytes, code->bytes))
		return false;
	memcpy(buf, code->data + (va - 0x1000), bytes);
	return true;
}

/* As if one of its functions was what others run in, and as if one was found to be. */
static void build_outer(struct ep_build_input *input, const struct ep_unwind_table *table)
{
	ep_cleanup(ep_unwind_table_freep) struct ep_unwind_table *made = NULL, *found = NULL;

	input->outer_va = 0x1234;
	if (ep_build(input, &made) == 0)
		check_table(made);
	input->outer_va = ep_outer_find(input, input->lists[0], table);
	if (ep_build(input, &found) == 0)
		check_table(found);
}

static void build_sections(const uint8_t *data, size_t size)
{
	static struct ep_code_row rows[MAX_ROWS];
	struct ep_cfi_section eh = { .data = data, .bytes = size, .va = 0x9000, .eh = true };
	struct ep_cfi_section debug = { .data = data, .bytes = size };
	struct ep_build_input input = {
		.machine = &ep_machine_x86_64,
		.ranges = { { .start = 0x1000, .end = 0x8123 }, { .start = 0x400010, .end = 0x480000 } },
		.n_ranges = 2,
		.n_lists = 2,
		.rows = rows,
		.n_rows = make_rows(data, size, rows),
		.entry_va = 0x1070,
		.read_code = read_code,
		.read_code_arg = &(struct code){data, size},
	};
	ep_cleanup(ep_unwind_table_freep) struct ep_unwind_table *table = NULL;
	static struct ep_fde_list lists[2]; /* large; a fuzz target runs in one thread */

	for (int i = 0; i < 2; i++) {
		CHECK(ep_fde_list_init_scan(&lists[i], i ? &debug : &eh) == 0);
		input.lists[i] = &lists[i];
	}
	if (ep_build(&input, &table) == 0) {
		check_table(table);
		build_outer(&input, table);
	}
	for (int i = 0; i < 2; i++)
		ep_fde_list_fini(&lists[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ep_cleanup(ep_elf_closep) struct ep_elf *elf = NULL;
	ep_cleanup(ep_unwind_table_freep) struct ep_unwind_table *table = NULL;
	ep_cleanup(ep_unwind_table_freep) struct ep_unwind_table *with_debug = NULL;
	ep_cleanup(ep_unwind_table_freep) struct ep_unwind_table *parts = NULL;
	static const struct ep_unwind_stretch stretches[] = {
		{0x1000, 0x2000}, {0x3000, 0x9000}, {0x401000, 0x440000}, {1ull << 47, UINT64_MAX - 4095}};

	if (size < SELFMAG || memcmp(data, ELFMAG, SELFMAG) != 0) {
		build_sections(data, size);
		return 0;
	}
	if (ep_elf_open_memory(data, size, &elf) < 0)
		return 0;
	if (ep_unwind_table_build(elf, NULL, &table) == 0)
		check_table(table);
	if (ep_unwind_table_build(elf, elf, &with_debug) == 0)
		check_table(with_debug);
	if (ep_unwind_table_build_within(elf, stretches, EP_LEN(stretches), &parts) == 0)
		check_table(parts);
	return 0;
}
