/* SPDX-License-Identifier: Apache-2.0 */
#include "core/unwind/build.h"
#include "core/unwind/functab.h"
#include "core/unwind/outer.h"
#include "core/unwind/run.h"

#include <errno.h>

/*
 * Code between two FDEs that is no longer than this is padding: compilers align functions to 16
 * bytes. It keeps the rule before it, so that a delta is saved at nearly every function.
 */
#define MAX_PADDING 15

/*
 * Entry code without CFI, in bytes from the entry. Measured: ld.so's _start and _dl_start_user of
 * glibc 2.36 are 61 (64 to the next FDE), musl 1.2.3's crt1 and ld-musl _start 22. glibc's crt1 has
 * an FDE of its own that says the return address is undefined.
 */
#define MAX_ENTRY_BYTES 64

/* Steps for FDEs and functions, so many of which are charged together, and how many deltas are. */
#define FDE_STEPS   200
#define PAID_FDES   64 /* a power of two */
#define PAID_DELTAS ((size_t)1 << 16)

struct build {
	const struct ep_build_input *input;
	struct ep_unwind_table *table;
	struct ep_pack pack;
	struct ep_run run;
	struct ep_functab functab;
	uint64_t end; /* the range is decided up to here */
	size_t row;	   /* the next one of what is described */
	uint64_t row_va;   /* where it begins; UINT64_MAX: there is none */
	uint64_t insns_left; /* bytes of instructions that may still be interpreted */
	size_t deltas_bound; /* there can be no more than that */
	uint8_t *code; /* of text without rules, OUTER_CODE bytes at a time */
	struct ep_pack_over *overs; /* rows that hold in place of all else */
	size_t n_functions;
	struct ep_region *deltas;
	int result; /* why it must end early, else 0 */
};

static __attribute__((noinline)) bool pay_fdes(struct build *b)
{
	if (b->result == 0)
		b->result = ep_work_take(b->input->work, PAID_FDES * FDE_STEPS);
	return b->result == 0;
}

/* Before the one at `pos`: most cost nothing. */
static inline bool is_paid(struct build *b, size_t pos)
{
	return __builtin_expect(pos % PAID_FDES != 0, 1) || pay_fdes(b);
}

static int compare_ranges(const void *left, const void *right)
{
	const struct ep_pack_range *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

void ep_build_sort_ranges(struct ep_build_input *input)
{
	struct ep_pack_range *ranges = input->ranges;
	size_t n = 0;

	qsort(ranges, input->n_ranges, sizeof(*ranges), compare_ranges);
	for (size_t i = 0; i < input->n_ranges; i++) {
		if (ranges[i].start >= ranges[i].end)
			continue;
		if (n && EP_ALIGN_DOWN(ranges[i].start, EP_PAGE_BYTES) <
				 EP_ALIGN_UP(ranges[n - 1].end, EP_PAGE_BYTES))
			ranges[n - 1].end = EP_MAX(ranges[n - 1].end, ranges[i].end);
		else
			ranges[n++] = ranges[i];
	}
	input->n_ranges = n;
}

#define OUTER_CODE ((size_t)64 << 10)

/* The rule of code that runs in another function's frame, while rsp is `by` bytes below where that has put it. */
static uint32_t outer_rule(struct build *b, uint8_t by)
{
	struct ep_rule rule = {
		.cfa_kind = EP_CFA_REG, .cfa_reg = b->input->machine->sp_reg, .cfa_off = by,
		.ra_kind = EP_REG_IS_CODE, .ra_off = (int32_t)(uint32_t)b->input->outer_va,
		.others = EP_OTHERS_SWITCH,
	};

	return ep_rule_set_add(&b->table->rule_set, &rule);
}

/* Code of [from, to) without rules. */
static void put_outer(struct build *b, uint64_t from, uint64_t to)
{
	struct ep_outer_call call;

	ep_pack_put(&b->pack, from, outer_rule(b, 0));
	while (from < to && b->result == 0) {
		size_t bytes = (size_t)EP_MIN(to - from, (uint64_t)OUTER_CODE), at = 0;

		b->result = ep_work_take(b->input->work, bytes);
		if (b->result < 0 || !b->input->read_code(b->input->read_code_arg, from, b->code, bytes))
			return;
		while (ep_outer_next_call(b->code, bytes, at, &call)) {
			ep_pack_put(&b->pack, from + call.begin, outer_rule(b, call.by));
			ep_pack_put(&b->pack, from + call.end, outer_rule(b, 0));
			at = call.end;
		}
		/* What the end of this piece cuts is found in the next one. */
		from += bytes == OUTER_CODE ? EP_MAX(at, bytes - EP_OUTER_CALL_BYTES) : bytes;
	}
}

static void put_nothing(struct build *b, uint64_t from, uint64_t to)
{
	if (b->code)
		put_outer(b, from, to);
	else
		ep_pack_put(&b->pack, from, EP_RULE_NONE);
}

/* What to say of [b->end, to), which no source describes. */
static inline void put_gap(struct build *b, uint64_t to)
{
	uint64_t entry = b->input->entry_va;
	uint64_t stop;

	if (to <= b->end)
		return;
	if (entry >= b->end && entry < to && entry) {
		stop = EP_MIN(entry + MAX_ENTRY_BYTES, to);
		put_nothing(b, b->end, entry);
		ep_pack_put(&b->pack, entry, EP_RULE_STOP);
		if (stop < to)
			put_nothing(b, stop, to);
	} else if (to - b->end > MAX_PADDING) {
		put_nothing(b, b->end, to);
	}
	b->end = to;
}

/*
 * An unwinder looks a caller up at its return address - 1, but a signal handler "returns" to the
 * first byte of the trampoline. glibc therefore lets the FDE begin one byte early; where an FDE
 * begins right at the trampoline's code we add that byte.
 */
static bool starts_at_trampoline(const struct build *b, const struct ep_fde *fde)
{
	const struct ep_machine *machine = b->input->machine;
	uint8_t code[16];

	return fde->cie->signal && b->input->read_code &&
	       fde->start > b->pack.held_va &&
	       machine->trampoline_bytes <= sizeof(code) &&
	       b->input->read_code(b->input->read_code_arg, fde->start, code,
				   machine->trampoline_bytes) &&
	       memcmp(code, machine->trampoline, machine->trampoline_bytes) == 0;
}

/* FDEs do not overlap unless someone wants us to read the same bytes a million times. */
static inline bool take_insns(struct build *b, const struct ep_fde *fde)
{
	uint64_t bytes = (uint64_t)(fde->insns_end - fde->insns);

	if (bytes > b->insns_left)
		return false;
	b->insns_left -= bytes;
	return true;
}

static inline void run_fde(struct build *b, const struct ep_fde_list *list,
			   const struct ep_fde *fde, uint64_t hi)
{
	if (__builtin_expect(fde->cie->signal, 0) && starts_at_trampoline(b, fde))
		ep_pack_put(&b->pack, fde->start - 1, EP_RULE_SIGNAL);
	if (!take_insns(b, fde) || ep_run_fde(&b->run, &list->sec, fde, hi) < 0) {
		ep_pack_put(&b->pack, fde->start, EP_RULE_NONE);
		b->end = fde->start;
		b->table->stats.bad_fdes++;
		return;
	}
	b->table->stats.fdes++;
	b->table->stats.covered_bytes += hi - fde->start;
	b->end = hi;
}

static int read_fde(struct ep_fde_list *list, struct ep_fde_ref ref, struct ep_fde *ret_fde)
{
	struct ep_cfi_entry entry;
	int r;

	if (__builtin_expect(ep_cfi_parse_common_fde(&list->sec, ref.off, &list->cies, ret_fde), 1))
		return ret_fde->start == ref.start ? 0 : -EBADMSG;
	r = ep_cfi_read_entry(&list->sec, ref.off, &entry);
	if (r == 0)
		r = ep_cfi_parse_fde(&list->sec, &entry, &list->cies, ret_fde);
	if (r != 0)
		return -EBADMSG;
	return ret_fde->start == ref.start ? 0 : -EBADMSG; /* the table may lie */
}

static inline struct ep_fde_ref fde_or_end(const struct ep_fde_list *list, size_t i)
{
	return i < list->n ? ep_fde_list_get(list, i) : (struct ep_fde_ref){ .start = UINT64_MAX };
}

static uint64_t row_start(const struct build *b, size_t i)
{
	return i < b->input->n_rows ? b->input->rows[i].va : UINT64_MAX;
}

/* A row holds until the next one begins, as an FDE does. True when it ends before `to`. */
static bool emit_row(struct build *b, uint64_t to)
{
	const struct ep_code_row *row = &b->input->rows[b->row];
	uint64_t row_end = EP_MIN(row->va + row->bytes, row_start(b, b->row + 1));
	uint64_t start = EP_MAX(row->va, b->end), end = EP_MIN(row_end, to);

	if (start < end) {
		put_gap(b, start);
		ep_pack_put(&b->pack, start, ep_run_row(&b->run, row));
		b->table->stats.described_bytes += end - start;
		b->end = end;
	}
	return row_end <= to;
}

/* What no table says of [b->end, to): what is described, and that there is nothing. */
static void emit_rows(struct build *b, uint64_t to)
{
	while (b->row_va < to && emit_row(b, to))
		b->row_va = row_start(b, ++b->row);
	put_gap(b, to);
}

static inline void emit_undescribed(struct build *b, uint64_t to)
{
	if (__builtin_expect(b->row_va < to, 0))
		emit_rows(b, to);
	else
		put_gap(b, to);
}

/* What the function at hand says of [start, end), which nothing before it does. */
static void emit_function(struct build *b, uint64_t start, uint64_t end)
{
	const struct ep_build_input *input = b->input;
	struct ep_unwind_stats *stats = &b->table->stats;

	emit_undescribed(b, start);
	if (ep_functab_put(&b->functab, start, end, input->read_code, input->read_code_arg, &b->pack,
			   &b->table->rule_set)) {
		stats->functions++;
		stats->covered_bytes += end - start;
	} else {
		stats->bad_functions++;
	}
	b->end = end;
}

static void emit_functions(struct build *b, uint64_t to)
{
	struct ep_functab *functab = &b->functab;

	while (functab->func.start < to && is_paid(b, b->n_functions++)) {
		uint64_t start = EP_MAX(functab->func.start, b->end);
		uint64_t end = EP_MIN(functab->func.end, to);

		if (start < end)
			emit_function(b, start, end);
		if (functab->func.end > to)
			return; /* it goes on after what rules there */
		ep_functab_next(functab);
	}
}

static inline void emit_rest(struct build *b, uint64_t to)
{
	if (__builtin_expect(b->functab.func.start < to, 0))
		emit_functions(b, to);
	emit_undescribed(b, to);
}

static void emit_list(struct build *b, size_t level, uint64_t to);

/* An FDE holds until the next one begins, as it does for a binary search by start address. */
static inline void emit_fde(struct build *b, size_t level, struct ep_fde_list *list,
			    struct ep_fde_ref ref, uint64_t next_start, uint64_t to)
{
	uint64_t limit = EP_MIN(to, next_start);
	struct ep_fde fde;

	if (ref.start < b->end || limit <= ref.start) {
		if (limit <= ref.start)
			b->table->stats.overlaps++;
		else if (level == 0)
			b->table->stats.outside++;
		return;
	}
	if (ref.start > b->end && level + 1 == b->input->n_lists)
		emit_rest(b, ref.start);
	else if (ref.start > b->end)
		emit_list(b, level + 1, ref.start);
	if (read_fde(list, ref, &fde) < 0) {
		ep_pack_put(&b->pack, ref.start, EP_RULE_NONE);
		b->table->stats.bad_fdes++;
		return;
	}
	if (fde.end > limit && limit < to)
		b->table->stats.overlaps++;
	run_fde(b, list, &fde, EP_MIN(fde.end, limit));
}

/* Decides the range up to `to` from this source and those below it. Depth: the sources. */
static void emit_list(struct build *b, size_t level, uint64_t to)
{
	struct ep_fde_list *list;
	struct ep_fde_ref ref, next;

	if (level == b->input->n_lists) {
		emit_rest(b, to);
		return;
	}
	list = b->input->lists[level];
	next = fde_or_end(list, list->pos);
	for (; list->pos < list->n && next.start < to && is_paid(b, list->pos); list->pos++) {
		ref = next;
		next = fde_or_end(list, list->pos + 1);
		emit_fde(b, level, list, ref, next.start, to);
	}
	if (b->end < to)
		emit_list(b, level + 1, to);
}

static void emit_range(struct build *b, const struct ep_pack_range *range)
{
	ep_pack_begin_range(&b->pack, range);
	b->end = range->start;
	emit_list(b, 0, range->end);
	ep_pack_end_range(&b->pack, range);
}

static size_t range_pages(const struct ep_pack_range *range)
{
	return (size_t)((EP_ALIGN_UP(range->end, EP_PAGE_BYTES) -
			 EP_ALIGN_DOWN(range->start, EP_PAGE_BYTES)) >>
			EP_PAGE_SHIFT);
}

/* Numbers the pages of all ranges and counts the segments they make. */
static int count_pages(struct ep_build_input *input, struct ep_unwind_table *table)
{
	for (size_t i = 0; i < input->n_ranges; i++) {
		size_t pages = range_pages(&input->ranges[i]);

		if (pages > EP_BUILD_MAX_PAGES - table->n_pages)
			return -E2BIG;
		input->ranges[i].first_page = table->n_pages;
		table->n_pages += pages;
		table->n_segments += (pages + EP_ROW_MAX_PAGES - 1) / EP_ROW_MAX_PAGES;
		table->stats.text_bytes += input->ranges[i].end - input->ranges[i].start;
	}
	return 0;
}

static void fill_segments(const struct ep_build_input *input, struct ep_unwind_table *table)
{
	struct ep_unwind_segment *segment = table->segments;

	for (size_t i = 0; i < input->n_ranges; i++) {
		const struct ep_pack_range *range = &input->ranges[i];
		size_t left = range_pages(range);
		size_t page = range->first_page;

		for (; left; left -= segment->n_pages, page += segment->n_pages, segment++)
			*segment = (struct ep_unwind_segment){
				.va = EP_ALIGN_DOWN(range->start, EP_PAGE_BYTES) +
				      ((uint64_t)(page - range->first_page) << EP_PAGE_SHIFT),
				.n_pages = (uint32_t)EP_MIN(left, (size_t)EP_ROW_MAX_PAGES),
				.first_page = (uint32_t)page,
			};
	}
}

/*
 * A delta takes two bytes of CFI at least (one to advance, one to change something), an FDE's own
 * two take its twelve, and so does the one that goes on with a row after it; a row takes one and
 * the gap before it one, and begins anew in each range; a page adds the one that carries a rule over
 * its edge. Bytes of a function table do not bound its rows, since functions share them: one for four
 * bytes of code is more than five times of what large programs have.
 */
static size_t max_deltas(struct build *b)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < b->input->n_lists; i++)
		bytes += b->input->lists[i]->sec.bytes;
	b->table->stats.section_bytes = bytes;
	b->insns_left = bytes;
	return (size_t)(bytes / 2) + (size_t)((b->functab.end - b->functab.start) / 4) + 2 * (b->input->n_rows + b->input->n_ranges) +
	       b->table->n_pages + (b->code ? (size_t)(b->table->stats.text_bytes / 4) : 0) + 16;
}

/* Every page and delta of a table is written, so what an older table left does no harm. */
static int map_array(struct ep_region *region, size_t bytes, size_t fill_bytes)
{
	if (region->bytes >= bytes)
		return 0;
	if (region->data) /* else it has nothing but what was charged for it */
		ep_region_unmap(region);
	return ep_region_map(bytes, fill_bytes, region);
}

static int pay_deltas(struct build *b, size_t n)
{
	int r = ep_region_pay(b->deltas, b->input->work, n * sizeof(uint32_t));

	if (r == 0)
		b->pack.max_deltas += n;
	return r;
}

static bool more_deltas(void *arg)
{
	struct build *b = arg;
	size_t left = b->deltas_bound - b->pack.max_deltas;
	int r = left ? pay_deltas(b, EP_MIN(left, PAID_DELTAS)) : -E2BIG;

	if (r < 0)
		b->result = r;
	return r == 0;
}

/* Deltas take 0.35 to 0.6 times the CFI's bytes: a third of it will be written for certain. */
static int map_arrays(struct build *b)
{
	struct ep_unwind_table *table = b->table;
	struct ep_build_memory *memory = b->input->memory;
	struct ep_region *pages = memory ? &memory->pages : &table->pages_region;
	struct ep_region *deltas = memory ? &memory->deltas : &table->deltas_region;
	int r;

	b->deltas_bound = max_deltas(b);
	b->deltas = deltas;
	b->pack.more = more_deltas;
	b->pack.more_arg = b;
	r = ep_region_pay(pages, b->input->work, table->n_pages * sizeof(*table->pages));
	if (r == 0)
		r = map_array(pages, table->n_pages * sizeof(*table->pages), SIZE_MAX);
	if (r == 0)
		r = pay_deltas(b, EP_MIN(table->stats.section_bytes / 3 / sizeof(*table->deltas) + 1,
					 b->deltas_bound));
	if (r == 0)
		r = map_array(deltas, b->deltas_bound * sizeof(*table->deltas),
			      table->stats.section_bytes / 3);
	if (r < 0)
		return r;
	table->segments = calloc(EP_MAX(table->n_segments, 1), sizeof(*table->segments));
	table->pages = b->pack.pages = pages->data;
	table->deltas = b->pack.deltas = deltas->data;
	return table->segments ? 0 : -ENOMEM;
}

void ep_build_memory_fini(struct ep_build_memory *memory)
{
	ep_region_unmap(&memory->pages);
	ep_region_unmap(&memory->deltas);
}

static int finish(struct build *b)
{
	struct ep_unwind_table *table = b->table;
	const struct ep_rule_counts *why = &b->run.counts;

	if (b->pack.full || b->result < 0)
		return b->result < 0 ? b->result : -E2BIG;
	table->n_deltas = b->pack.n_deltas;
	ep_region_shrink(&table->deltas_region, table->n_deltas * sizeof(*table->deltas));
	table->rules = table->rule_set.rules.data;
	table->n_rules = table->rule_set.rules.len;
	table->stats.why = *why;
	table->stats.refused_rules = table->rule_set.refused;
	table->stats.unsupported = why->bad_cfa_expr + why->bad_reg_expr + why->bad_sp +
				   why->no_cfa + why->too_large + table->rule_set.refused;
	for (size_t i = 0; i < b->input->n_lists; i++)
		table->stats.bad_fdes += b->input->lists[i]->n_bad;
	if (b->input->n_lists)
		table->stats.outside += b->input->lists[0]->n - b->input->lists[0]->pos;
	return 0;
}

/* Each holds until the next one begins. */
static void add_over(struct build *b, size_t *n, const struct ep_code_row *row)
{
	struct ep_pack_over *over = &b->overs[*n];

	*over = (struct ep_pack_over){
		.start = row->va, .end = row->va + row->bytes, .rule = ep_run_row(&b->run, row)
	};
	if (*n && over[-1].end > over->start)
		over[-1].end = over->start;
	b->table->stats.replaced_rows++;
	*n += 1;
}

/* A function table is not gone through once: what is put is taken back there. */
static int fix_rows(struct build *b)
{
	const struct ep_build_input *input = b->input;
	size_t n = 0;

	for (size_t i = 0; i < input->n_rows; i++)
		n += (input->rows[i].flags & EP_CODE_INSTEAD) != 0;
	if (input->tab)
		n = 0;
	b->overs = n ? calloc(n, sizeof(*b->overs)) : NULL;
	if (n && !b->overs)
		return -ENOMEM;
	for (size_t i = 0, at = 0; i < input->n_rows && at < n; i++) {
		if (input->rows[i].flags & EP_CODE_INSTEAD)
			add_over(b, &at, &input->rows[i]);
	}
	ep_pack_fix(&b->pack, b->overs, n);
	return 0;
}

static int build_table(struct build *b, struct ep_build_input *input)
{
	int r;

	r = count_pages(input, b->table);
	if (r == 0)
		r = fix_rows(b);
	if (r == 0 && input->outer_va && input->read_code) {
		b->code = malloc(OUTER_CODE);
		b->table->stats.outer_va = input->outer_va;
		r = b->code ? 0 : -ENOMEM;
	}
	if (r < 0)
		return r;
	r = map_arrays(b);
	if (r < 0)
		return r;
	fill_segments(input, b->table);
	for (size_t i = 0; i < input->n_lists; i++)
		input->lists[i]->pos = 0;
	for (size_t i = 0; i < input->n_ranges; i++)
		emit_range(b, &input->ranges[i]);
	return finish(b);
}

int ep_build(struct ep_build_input *input, struct ep_unwind_table **ret_table)
{
	ep_cleanup(ep_unwind_table_freep) struct ep_unwind_table *table = NULL;
	ep_autofree struct build *b = NULL;
	int r;

	table = calloc(1, sizeof(*table));
	b = calloc(1, sizeof(*b));
	if (!table || !b)
		return -ENOMEM;
	ep_rule_set_init(&table->rule_set);
	b->input = input;
	b->table = table;
	b->run = (struct ep_run){
		.machine = input->machine, .pack = &b->pack, .rules = &table->rule_set
	};
	b->row_va = row_start(b, 0);
	ep_functab_begin(&b->functab, input->tab);
	ep_run_fast_init(&b->run.fast, input->machine);
	r = build_table(b, input);
	free(b->overs);
	free(b->code);
	if (r < 0)
		return r;
	*ret_table = ep_take(table);
	return 0;
}
