/* SPDX-License-Identifier: Apache-2.0 */
#include "core/unwind/table.h"
#include "core/base/log.h"
#include "core/elf/file.h"
#include "core/pclntab/pclntab.h"
#include "core/unwind/build.h"
#include "core/unwind/outer.h"
#include "core/unwind/source.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* What is kept of a function table while it is read from its beginning to its end. */
#define PCLNTAB_CACHE ((size_t)2 << 20)

/* The address space of a user process on x86-64 with five levels, and on aarch64, ends below. */
#define MAX_VA (1ull << 57)

enum {
	SOURCE_DEBUG_FRAME,
	SOURCE_DEBUG_FILE,
	SOURCE_DEBUGDATA,
	SOURCES,
};

/* All that is open while a table is built. */
struct sources {
	const struct ep_elf *elf;
	struct ep_elf *debugdata;
	struct ep_eh_source eh;
	struct ep_debug_source debug[SOURCES];
	struct ep_pclntab *tab;
	struct ep_build_input input;
	uint32_t opened; /* enum ep_unwind_source */
	bool is_within;	 /* ranges are stretches of text */
};

static void sources_freep(struct sources **sources)
{
	if (!*sources)
		return;
	ep_eh_source_close(&(*sources)->eh);
	for (size_t i = 0; i < SOURCES; i++)
		ep_debug_source_close(&(*sources)->debug[i]);
	ep_pclntab_close((*sources)->tab);
	ep_elf_close((*sources)->debugdata);
	free(*sources);
}

static bool read_code(void *arg, uint64_t va, uint8_t *buf, size_t bytes)
{
	const struct ep_elf *elf = arg;
	struct ep_elf_segment segments[EP_BUILD_MAX_RANGES];
	size_t n = ep_elf_exec_segments(elf, segments, EP_BUILD_MAX_RANGES);

	for (size_t i = 0; i < EP_MIN(n, (size_t)EP_BUILD_MAX_RANGES); i++) {
		uint64_t off = va - segments[i].va;

		if (va >= segments[i].va && ep_in_bounds(off, bytes, segments[i].file_bytes))
			return ep_elf_read_at(elf, segments[i].file_off + off, buf, bytes) == 0;
	}
	return false;
}

/* Text is what the file holds of its executable segments: zero-filled rest has no code. */
static int find_text(struct sources *sources)
{
	struct ep_elf_segment segments[EP_BUILD_MAX_RANGES];
	struct ep_build_input *input = &sources->input;
	size_t n = ep_elf_exec_segments(sources->elf, segments, EP_BUILD_MAX_RANGES);
	uint64_t file_bytes = ep_elf_file_bytes(sources->elf);

	for (size_t i = 0; i < EP_MIN(n, (size_t)EP_BUILD_MAX_RANGES); i++) {
		uint64_t bytes = EP_MIN(segments[i].file_bytes, segments[i].mem_bytes);

		if (bytes == 0 || bytes > file_bytes || segments[i].va > MAX_VA - bytes)
			continue;
		input->ranges[input->n_ranges++] = (struct ep_pack_range){
			.start = segments[i].va, .end = segments[i].va + bytes
		};
	}
	ep_build_sort_ranges(input);
	return input->n_ranges ? 0 : -ENODATA;
}

static int open_eh(struct sources *sources, bool scan)
{
	int r = ep_eh_source_open(&sources->eh, sources->elf, scan);

	if (ep_work_has_ended(r))
		return r;
	if (r == 0)
		sources->opened |= sources->eh.by_table ? EP_UNWIND_EH_FRAME_HDR :
							  EP_UNWIND_EH_FRAME;
	return 0; /* a file without .eh_frame, or with a broken one, has its other sources */
}

static int open_debug(struct sources *sources, unsigned int which, const struct ep_elf *elf)
{
	int r = elf ? ep_debug_source_open(&sources->debug[which], elf) : -ENODATA;

	if (ep_work_has_ended(r))
		return r;
	if (r == 0)
		sources->opened |= EP_UNWIND_DEBUG_FRAME << which;
	return 0;
}

static int open_pclntab(struct sources *sources)
{
	int r = ep_pclntab_open(sources->elf, PCLNTAB_CACHE, &sources->tab);

	if (r == -ENOMEM || r == -ETIME || r == -ECANCELED)
		return r;
	if (r == 0)
		sources->opened |= EP_UNWIND_PCLNTAB;
	else if (r != -ENODATA && r != -ENOTSUP)
		ep_log(EP_LOG_DEBUG, "unwind: a function table is not read: %s", strerror(-r));
	sources->input.tab = sources->tab;
	return 0;
}

/* Go's own .debug_frame says less than its function table, and is larger. */
static int open_debugs(struct sources *sources, const struct ep_elf *debug)
{
	int r;

	if (sources->tab)
		return 0;
	r = open_debug(sources, SOURCE_DEBUG_FRAME, sources->elf);
	return r < 0 ? r : open_debug(sources, SOURCE_DEBUG_FILE, debug);
}

static void list_sources(struct sources *sources)
{
	struct ep_build_input *input = &sources->input;

	input->n_lists = 0;
	if (sources->opened & (EP_UNWIND_EH_FRAME_HDR | EP_UNWIND_EH_FRAME))
		input->lists[input->n_lists++] = &sources->eh.list;
	for (unsigned int i = 0; i < SOURCES; i++)
		if (sources->opened & EP_UNWIND_DEBUG_FRAME << i)
			input->lists[input->n_lists++] = &sources->debug[i].list;
}

static int build(struct sources *sources, struct ep_unwind_table **table)
{
	struct ep_unwind_table *built = NULL;
	int r;

	list_sources(sources);
	r = ep_build(&sources->input, &built);
	if (r < 0)
		return r;
	built->stats.sources = sources->opened;
	ep_unwind_table_free(*table);
	*table = built;
	return 0;
}

/* A table of the linker that names FDEs elsewhere than they are: better look ourselves. */
static int retry_by_scan(struct sources *sources, struct ep_unwind_table **table)
{
	int r;

	if (!(sources->opened & EP_UNWIND_EH_FRAME_HDR) || !(*table)->stats.bad_fdes)
		return 0;
	ep_eh_source_close(&sources->eh);
	sources->opened &= ~(uint32_t)EP_UNWIND_EH_FRAME_HDR;
	r = open_eh(sources, true);
	return r < 0 ? r : build(sources, table);
}

/* Decompressing .gnu_debugdata is expensive: only for a file whose text is mostly undescribed. */
static int retry_with_debugdata(struct sources *sources, struct ep_unwind_table **table)
{
	int r;

	if ((*table)->stats.covered_bytes >= (*table)->stats.text_bytes / 2)
		return 0;
	r = ep_elf_open_debugdata(sources->elf, &sources->debugdata);
	if (r < 0)
		return ep_work_has_ended(r) ? r : 0;
	r = open_debug(sources, SOURCE_DEBUGDATA, sources->debugdata);
	if (r < 0 || !(sources->opened & EP_UNWIND_DEBUGDATA))
		return r;
	return build(sources, table);
}

/* An eighth of the text and more has no rules: it may run in the frame of a function that has. */
static int retry_with_outer(struct sources *sources, struct ep_unwind_table **table)
{
	struct ep_build_input *input = &sources->input;

	if ((*table)->stats.covered_bytes >= (*table)->stats.text_bytes / 8 * 7 || sources->tab ||
	    ep_elf_machine(sources->elf) != EM_X86_64 ||
	    !(sources->opened & (EP_UNWIND_EH_FRAME_HDR | EP_UNWIND_EH_FRAME)))
		return 0;
	input->outer_va = ep_outer_find(input, &sources->eh.list, *table);
	return input->outer_va ? build(sources, table) : ep_work_result(input->work);
}

/* Where the last FDE of a list begins that begins at an address or before. */
static uint64_t find_holder(const struct ep_fde_list *list, uint64_t va)
{
	size_t first = 0, len = list->n;

	while (len > 0) {
		size_t half = len / 2;

		if (ep_fde_list_get(list, first + half).start <= va) {
			first += half + 1;
			len -= half + 1;
		} else {
			len = half;
		}
	}
	return first ? ep_fde_list_get(list, first - 1).start : va;
}

/*
 * A stretch begins with what holds there, which may have begun before it. False: there are too
 * many.
 */
static bool limit_text(struct sources *sources, const struct ep_unwind_stretch *stretches, size_t n)
{
	struct ep_build_input *input = &sources->input;
	struct ep_pack_range ranges[EP_BUILD_MAX_RANGES];
	size_t n_ranges = 0;

	list_sources(sources);
	for (size_t i = 0; i < input->n_ranges; i++) {
		const struct ep_pack_range *text = &input->ranges[i];

		for (size_t k = 0; k < n; k++) {
			uint64_t start = EP_MAX(text->start, stretches[k].start),
				 end = EP_MIN(text->end, stretches[k].end);
			uint64_t first = start;

			if (start >= end)
				continue;
			for (size_t l = 0; l < input->n_lists; l++)
				first = EP_MIN(first, find_holder(input->lists[l], start));
			if (n_ranges == EP_LEN(ranges))
				return false;
			ranges[n_ranges++] = (struct ep_pack_range){
				.start = EP_MAX(first, text->start), .end = end};
		}
	}
	if (n_ranges == 0)
		return false;
	memcpy(input->ranges, ranges, n_ranges * sizeof(ranges[0]));
	input->n_ranges = n_ranges;
	ep_build_sort_ranges(input);
	return true;
}

/*
 * The linker's table of FDEs is not as it should be: nobody knows where one begins that holds in a
 * stretch.
 */
static int widen(struct sources *sources, struct ep_unwind_table **table)
{
	int r;

	if (!sources->is_within || !(*table)->stats.bad_fdes)
		return 0;
	sources->is_within = false;
	sources->input.n_ranges = 0;
	r = find_text(sources);
	return r < 0 ? r : build(sources, table);
}

static int build_from(struct sources *sources, const struct ep_elf *debug,
		      const struct ep_unwind_stretch *stretches, size_t n_stretches,
		      struct ep_unwind_table **table)
{
	int r;

	r = find_text(sources);
	if (r == 0)
		r = open_eh(sources, false);
	if (r == 0)
		r = open_pclntab(sources);
	if (r == 0)
		r = open_debugs(sources, debug);
	if (r == 0 && n_stretches)
		sources->is_within = limit_text(sources, stretches, n_stretches);
	if (r == 0)
		r = build(sources, table);
	if (r == 0)
		r = widen(sources, table);
	if (r < 0 || sources->is_within)
		return r;
	r = retry_by_scan(sources, table);
	if (r == 0)
		r = retry_with_debugdata(sources, table);
	if (r == 0)
		r = retry_with_outer(sources, table);
	return r;
}

static void log_table(const struct ep_unwind_table *table)
{
	const struct ep_unwind_stats *stats = &table->stats;

	ep_log(EP_LOG_DEBUG,
	       "unwind: sources 0x%" PRIx32 ": %" PRIu64 " FDEs (%" PRIu64 " bad), %" PRIu64
	       " functions (%" PRIu64 " bad), %zu pages, "
	       "%zu deltas, %zu rules, %" PRIu64 " rows unsupported, %" PRIu64 " of %" PRIu64
	       " text bytes covered, %" PRIu64 " described",
	       stats->sources, stats->fdes, stats->bad_fdes, stats->functions, stats->bad_functions,
	       table->n_pages, table->n_deltas, table->n_rules, stats->unsupported, stats->covered_bytes, stats->text_bytes,
	       stats->described_bytes);
}

/* A file, and what is known of it beside. */
struct subject {
	const struct ep_elf *elf, *debug;
	const struct ep_code_row *rows;
	size_t n_rows;
	const struct ep_unwind_stretch *stretches;
	size_t n_stretches;
};

static int build_for(const struct subject *subject, const struct ep_machine *machine,
		     struct ep_unwind_table **ret_table)
{
	ep_cleanup(ep_unwind_table_freep) struct ep_unwind_table *table = NULL;
	ep_cleanup(sources_freep) struct sources *sources = calloc(1, sizeof(*sources));
	int r;

	if (!sources)
		return -ENOMEM;
	sources->elf = subject->elf;
	sources->input.machine = machine;
	sources->input.rows = subject->rows;
	sources->input.n_rows = subject->n_rows;
	sources->input.work = ep_elf_work(subject->elf);
	sources->input.entry_va = ep_elf_entry_va(subject->elf);
	sources->input.read_code = read_code;
	sources->input.read_code_arg = (void *)(uintptr_t)subject->elf;
	r = build_from(sources, subject->debug, subject->stretches, subject->n_stretches, &table);
	if (r == 0)
		*ret_table = ep_take(table);
	return r;
}

int ep_unwind_table_build_described(const struct ep_elf *elf, const struct ep_elf *debug,
				    const struct ep_code_row *rows, size_t n_rows,
				    struct ep_unwind_table **ret_table)
{
	ep_cleanup(ep_unwind_table_freep) struct ep_unwind_table *table = NULL;
	struct subject subject = {.elf = elf, .debug = debug, .rows = rows, .n_rows = n_rows};
	const struct ep_machine *machine = ep_machine_find(ep_elf_machine(elf));
	int r;

	if (!machine || ep_elf_type(elf) == ET_REL)
		return -ENOTSUP;
	r = build_for(&subject, machine, &table);
	if (r == 0 && table->stats.why.base_cfa && machine->with_base) {
		ep_unwind_table_free(ep_take(table));
		r = build_for(&subject, machine->with_base, &table);
	}
	if (r < 0)
		return r;
	log_table(table);
	*ret_table = ep_take(table);
	return 0;
}

/* Whether some rule of the file needs rbx is not known of a part of it. */
int ep_unwind_table_build_within(const struct ep_elf *elf,
				 const struct ep_unwind_stretch *stretches, size_t n,
				 struct ep_unwind_table **ret_table)
{
	struct subject subject = {.elf = elf, .stretches = stretches, .n_stretches = n};
	const struct ep_machine *machine = ep_machine_find(ep_elf_machine(elf));
	int r;

	if (!machine || ep_elf_type(elf) == ET_REL)
		return -ENOTSUP;
	r = build_for(&subject, machine->with_base ? machine->with_base : machine, ret_table);
	if (r == 0)
		log_table(*ret_table);
	return r;
}

int ep_unwind_table_build(const struct ep_elf *elf, const struct ep_elf *debug,
			  struct ep_unwind_table **ret_table)
{
	return ep_unwind_table_build_described(elf, debug, NULL, 0, ret_table);
}

void ep_unwind_table_free(struct ep_unwind_table *table)
{
	if (!table)
		return;
	ep_region_unmap(&table->pages_region);
	ep_region_unmap(&table->deltas_region);
	ep_rule_set_fini(&table->rule_set);
	free(table->segments);
	free(table);
}

size_t ep_unwind_table_bytes(const struct ep_unwind_table *table)
{
	return sizeof(*table) + table->pages_region.bytes + table->deltas_region.bytes +
	       table->n_segments * sizeof(*table->segments) +
	       table->rule_set.rules.cap * sizeof(struct ep_rule) +
	       ep_map_bytes(&table->rule_set.index);
}

static const struct ep_unwind_segment *find_segment(const struct ep_unwind_table *table, uint64_t va)
{
	for (size_t i = 0; i < table->n_segments; i++) {
		const struct ep_unwind_segment *segment = &table->segments[i];

		if (va >= segment->va && (va - segment->va) >> EP_PAGE_SHIFT < segment->n_pages)
			return segment;
	}
	return NULL;
}

/* The last delta at or before `off`; the first one is at 0. */
static size_t find_delta(const uint32_t *deltas, size_t n, uint32_t off)
{
	size_t low = 0;

	while (n > 1) {
		size_t half = n / 2;

		if (deltas[low + half] >> 20 <= off)
			low += half;
		n -= half;
	}
	return low;
}

uint32_t ep_unwind_table_run(const struct ep_unwind_table *table, uint64_t va, uint64_t *ret_end)
{
	const struct ep_unwind_segment *segment = find_segment(table, va);
	uint64_t page, page_va = EP_ALIGN_DOWN(va, EP_PAGE_BYTES);
	const uint32_t *deltas;
	size_t i, count;

	*ret_end = page_va + EP_PAGE_BYTES;
	if (!segment)
		return EP_RULE_NONE;
	page = table->pages[segment->first_page + (size_t)((va - segment->va) >> EP_PAGE_SHIFT)];
	count = EP_PAGE_COUNT(page);
	if (count == 0)
		return EP_PAGE_REF(page);
	deltas = table->deltas + EP_PAGE_REF(page);
	i = find_delta(deltas, count, (uint32_t)(va - page_va));
	if (i + 1 < count)
		*ret_end = page_va + (deltas[i + 1] >> 20);
	return EP_DELTA_RULE(deltas[i]);
}

uint32_t ep_unwind_table_find(const struct ep_unwind_table *table, uint64_t va)
{
	uint64_t end;

	return ep_unwind_table_run(table, va, &end);
}
