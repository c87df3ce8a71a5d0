/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/analysis.h"
#include "core/base/log.h"
#include "core/base/parse.h"
#include "core/elf/debug_file.h"
#include "core/plugin/description.h"
#include "core/unwind/table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

static int open_file(struct ep_analysis *analysis)
{
	int r;

	/* Ours: what a process has in its memory would become everybody's. */
	if (analysis->mapping.kind == EP_MAPPING_VDSO)
		return ep_proc_open_vdso(0, NULL, &analysis->file);
	/* What is mapped there by now may be another file: its tables are not this one's. */
	r = ep_proc_open_mapping(analysis->pid, &analysis->mapping, &analysis->file);
	if (r == 0 && !ep_proc_file_has_same_bytes(&analysis->file, &analysis->expected)) {
		ep_proc_file_close(&analysis->file);
		r = -ESTALE;
	}
	return r;
}

static void read_ids(struct ep_analysis *analysis, const struct ep_elf *elf)
{
	uint8_t build_id[EP_ELF_BUILD_ID_MAX], file_id[16];
	int n = ep_elf_build_id(elf, build_id);

	if (n > 0)
		ep_to_hex(build_id, (size_t)n, analysis->build_id);
	if (ep_elf_file_id(elf, file_id) == 0)
		ep_to_hex(file_id, sizeof(file_id), analysis->file_id);
	if (ep_elf_go_build_id(elf, analysis->go_build_id, sizeof(analysis->go_build_id)) < 0)
		analysis->go_build_id[0] = '\0';
	analysis->n_segments = ep_elf_exec_segments(elf, analysis->segments,
						    EP_LEN(analysis->segments));
	analysis->n_segments = EP_MIN(analysis->n_segments, EP_LEN(analysis->segments));
}

int ep_analysis_build_table(const struct ep_elf *elf, const char *root, const char *path,
			    const struct ep_vec *rows, struct ep_unwind_table **ret_table)
{
	ep_cleanup(ep_elf_closep) struct ep_elf *debug = NULL;
	struct ep_elf_section section;

	if (ep_elf_find_section(elf, ".eh_frame", &section) < 0)
		(void)ep_debug_file_open(elf, root, path, &debug);
	return ep_unwind_table_build_described(elf, debug, rows->data, rows->len, ret_table);
}

/* It is written beside what it was made of. */
static int put_table(struct ep_analysis *analysis, const struct ep_unwind_table *table)
{
	struct ep_unwind_segment segments[EP_TEXT_PARTS_MAX_SEGMENTS];
	struct ep_unwind_table cut = *table;
	size_t bytes = table->n_deltas * sizeof(*table->deltas) + table->n_pages * sizeof(*table->pages);
	int r;

	if (analysis->is_in_parts) {
		cut.segments = segments;
		cut.n_segments = ep_text_parts_cut(&analysis->parts, table, segments);
		bytes = bytes / EP_MAX(table->n_pages, (size_t)1) * ep_text_parts_pages(&cut);
	}
	r = ep_memory_budget_take(analysis->memory, bytes);
	if (r < 0)
		return r;
	r = ep_delta_store_put_text(analysis->store, &cut, &analysis->text);
	if (r < 0)
		ep_memory_budget_give(analysis->memory, bytes);
	else
		ep_memory_budget_spend(analysis->memory, bytes);
	return r;
}

/* They ascend. */
static void read_extent(struct ep_analysis *analysis, const struct ep_vec *rows)
{
	const struct ep_code_row *last;

	if (!rows->len)
		return;
	last = ep_vec_at(rows, struct ep_code_row, rows->len - 1);
	analysis->described_va = ep_vec_at(rows, struct ep_code_row, 0)->va;
	analysis->described_end = last->va + last->bytes;
}

/* Languages know more of what is theirs than its tables: that is made as a whole. */
static void divide(struct ep_analysis *analysis, const struct ep_elf *elf)
{
	analysis->is_in_parts =
		analysis->may_be_in_parts && analysis->n_claims == 0 && ep_text_parts_suit(elf);
	if (analysis->is_in_parts && !analysis->parts.part_bytes)
		ep_text_parts_init(&analysis->parts, analysis->segments, analysis->n_segments);
}

static int build_parts(const struct ep_analysis *analysis, const struct ep_elf *elf,
		       struct ep_unwind_table **ret_table)
{
	struct ep_unwind_stretch stretches[EP_TEXT_PARTS];
	size_t n = ep_text_parts_stretches(&analysis->parts, stretches);

	return ep_unwind_table_build_within(elf, stretches, n, ret_table);
}

static void make_table(struct ep_analysis *analysis, struct ep_elf *elf, const char *root)
{
	ep_cleanup(ep_description_fini) struct ep_description description;
	const char *path = analysis->mapping.path;
	struct ep_unwind_table *table = NULL;
	int r;

	ep_description_init(&description);
	analysis->is_described = ep_claims_describe(analysis->claims, analysis->n_claims, elf, root,
						    path, &description);
	read_extent(analysis, &description.rows);
	r = analysis->is_in_parts
		    ? build_parts(analysis, elf, &table)
		    : ep_analysis_build_table(elf, root, path, &description.rows, &table);
	if (r == 0)
		r = put_table(analysis, table);
	if (r < 0)
		ep_log(EP_LOG_DEBUG, "analysis: %s: no unwind tables: %s", path, ep_strerror(r));
	ep_unwind_table_free(table);
	if (r == -ECANCELED)
		analysis->result = r;
	analysis->table_result = r;
	analysis->described = ep_take(description.symbols);
}

void ep_analysis_run(struct ep_analysis *analysis)
{
	struct ep_work work; /* outlives elf, which is closed first */
	ep_cleanup(ep_proc_root_close) struct ep_proc_root opened = {.fd = -1};
	ep_cleanup(ep_elf_closep) struct ep_elf *elf = NULL;
	char root[EP_ROOT_NAME_BYTES];
	int fd;

	if (analysis->file.fd < 0)
		analysis->result = open_file(analysis);
	if (analysis->result < 0)
		return;
	fd = fcntl(analysis->file.fd, F_DUPFD_CLOEXEC, 0);
	ep_elf_work_init(&work, &analysis->stopped, analysis->memory);
	analysis->result = fd < 0 ? -errno : ep_elf_open_work(fd, &work, &elf);
	/* What we lack for now says nothing of the file. */
	analysis->opened = !ep_proc_is_refused(analysis->result);
	if (analysis->result < 0) {
		ep_proc_file_close(&analysis->file);
		return;
	}
	read_ids(analysis, elf);
	(void)ep_proc_file_open_root(&analysis->expected, analysis->pid, &opened, root);
	if (analysis->languages)
		analysis->n_claims = ep_languages_probe(analysis->languages, elf, root,
							analysis->mapping.path, analysis->claims);
	ep_elf_work_init(&work, &analysis->stopped, analysis->memory);
	ep_work_add(&work, ep_elf_steps(elf));
	divide(analysis, elf);
	if (!analysis->is_in_parts || !ep_text_parts_are_none(&analysis->parts))
		make_table(analysis, elf, root);
}
