/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/parts/stack_quality.h"
#include "core/trace/kinds.h"
#include "ebpf-profiler/batch.h"

#include <errno.h>
#include <string.h>

#define MAX_NAME_BYTES	(4u << 20)
#define MAX_KINDS	64
#define MAX_EXECUTABLES 4096

int ep_stack_quality_init(struct ep_stack_quality *quality)
{
	*quality = (struct ep_stack_quality){0};
	ep_vec_init(&quality->kinds, sizeof(struct ep_stack_quality_kind), MAX_KINDS);
	ep_vec_init(&quality->executables, sizeof(struct ep_stack_quality_executable), MAX_EXECUTABLES);
	return ep_strings_new(MAX_NAME_BYTES, &quality->names);
}

void ep_stack_quality_fini(struct ep_stack_quality *quality)
{
	ep_vec_fini(&quality->kinds);
	ep_vec_fini(&quality->executables);
	ep_strings_free(quality->names);
}

/* Id 0, which is "", stands for all that no longer fit. */
static int quality_intern(struct ep_stack_quality *quality, const char *text, uint32_t *ret_id)
{
	int r = ep_strings_add(quality->names, text, strlen(text), ret_id);

	if (r == -E2BIG)
		*ret_id = 0;
	return r == -E2BIG ? 0 : r;
}

static bool is_plain(const char *kind)
{
	static const char *const plain[] = {"native", "kernel", "error", "gap", ""};

	for (size_t i = 0; i < EP_LEN(plain); i++)
		if (strcmp(kind, plain[i]) == 0)
			return true;
	return false;
}

static const char *kind_of_location(const struct ep_batch *batch, uint32_t location)
{
	return batch->string_text[batch->location_kind[location]];
}

static const char *kind_of_stack(const struct ep_batch *batch, uint32_t stack)
{
	uint32_t end = batch->stack_location_first[stack + 1];
	bool is_kernel = false, is_user = false;

	for (uint32_t i = batch->stack_location_first[stack]; i < end; i++) {
		const char *kind = kind_of_location(batch, batch->stack_location[i]);

		if (!is_plain(kind))
			return kind;
		is_kernel |= strcmp(kind, "kernel") == 0;
		is_user |= strcmp(kind, "native") == 0;
	}
	return is_user || !is_kernel ? "native" : "kernel";
}

/* --- by language ----------------------------------------------------------------------------- */

/* NULL: there are too many, or no memory. */
static struct ep_stack_quality_kind *find_kind(struct ep_stack_quality *quality, uint32_t name)
{
	struct ep_stack_quality_kind *kind;

	ep_vec_each(&quality->kinds, kind)
		if (kind->name == name)
			return kind;
	kind = ep_vec_push(&quality->kinds);
	if (kind)
		kind->name = name;
	return kind;
}

static void kind_add_reason(struct ep_stack_quality_kind *kind, uint32_t text, uint64_t ns)
{
	uint32_t at = 0;

	while (at < kind->n_reasons && kind->reasons[at].text != text)
		at++;
	if (at == kind->n_reasons && at < EP_STACK_QUALITY_MAX_REASONS)
		kind->reasons[kind->n_reasons++].text = text;
	kind->reasons[EP_MIN(at, EP_STACK_QUALITY_MAX_REASONS - 1u)].ns += ns;
}

/* A file of another machine numbers errors of languages in its own way: its text is what counts. */
static const char *error_text(const struct ep_batch *batch, uint32_t stack)
{
	const char *text = batch->stack_error_text ? batch->string_text[batch->stack_error_text[stack]] : "";

	if (!text[0])
		text = ep_error_text(batch->stack_error[stack]);
	return text ? text : "?";
}

static int count_kind(struct ep_stack_quality *quality, const struct ep_batch *batch, uint32_t stack, uint64_t ns)
{
	struct ep_stack_quality_kind *kind;
	uint32_t name, text;
	int r = quality_intern(quality, kind_of_stack(batch, stack), &name);

	if (r < 0)
		return r;
	kind = find_kind(quality, name);
	if (!kind)
		return quality->kinds.len == MAX_KINDS ? 0 : -ENOMEM;
	kind->cpu_ns += ns;
	if (batch->stack_error[stack] == EP_ERROR_NONE && !ep_batch_is_unverified(batch, stack)) {
		kind->complete_ns += ns;
		return 0;
	}
	r = quality_intern(quality, error_text(batch, stack), &text);
	if (r == 0)
		kind_add_reason(kind, text, ns);
	return r;
}

/* --- by executable --------------------------------------------------------------------------- */

/* Those of vdso and kernel are executables as well. */
static int find_executable(struct ep_stack_quality *quality, const char *path, struct ep_stack_quality_executable **ret)
{
	struct ep_stack_quality_executable *executable;
	uint32_t id;
	int r = quality_intern(quality, path, &id);

	*ret = NULL;
	if (r < 0)
		return r;
	ep_vec_each(&quality->executables, executable) {
		if (executable->path == id) {
			*ret = executable;
			return 0;
		}
	}
	executable = ep_vec_push(&quality->executables);
	if (executable)
		executable->path = id;
	*ret = executable;
	return executable || quality->executables.len == MAX_EXECUTABLES ? 0 : -ENOMEM;
}

static const char *mapping_path(const struct ep_batch *batch, uint32_t location)
{
	return batch->string_text[batch->mapping_path[batch->location_mapping[location]]];
}

static int count_cut(struct ep_stack_quality *quality, const struct ep_batch *batch, uint32_t stack, const char *exe_path,
		     uint64_t ns)
{
	uint32_t first = batch->stack_location_first[stack];
	struct ep_stack_quality_executable *executable;
	const char *path = exe_path;
	int r;

	if (batch->stack_error[stack] == EP_ERROR_NONE)
		return 0;
	for (uint32_t i = batch->stack_location_first[stack + 1]; i > first; i--) {
		if (mapping_path(batch, batch->stack_location[i - 1])[0]) {
			path = mapping_path(batch, batch->stack_location[i - 1]);
			break;
		}
	}
	r = find_executable(quality, path, &executable);
	if (executable)
		executable->cut_ns += ns;
	return r;
}

static int count_unnamed(struct ep_stack_quality *quality, const struct ep_batch *batch, uint32_t stack, uint64_t ns)
{
	uint32_t end = batch->stack_location_first[stack + 1];

	if (!EP_HAS(batch, location_unnamed))
		return 0;
	for (uint32_t i = batch->stack_location_first[stack]; i < end; i++) {
		uint32_t location = batch->stack_location[i];
		struct ep_stack_quality_executable *executable;
		int r;

		if (!batch->location_unnamed[location] || !mapping_path(batch, location)[0])
			continue;
		r = find_executable(quality, mapping_path(batch, location), &executable);
		if (r < 0)
			return r;
		if (!executable || executable->last_stack == quality->n_stacks)
			continue;
		executable->last_stack = quality->n_stacks;
		executable->unnamed_ns += ns;
	}
	return 0;
}

/* --- batches --------------------------------------------------------------------------------- */

struct stack_sum {
	uint64_t ns;
	uint32_t process;
};

int ep_stack_quality_add(struct ep_stack_quality *quality, const struct ep_batch *batch)
{
	ep_autofree struct stack_sum *sums = calloc(batch->n_stacks + 1, sizeof(*sums));
	int r = 0;

	if (!sums)
		return -ENOMEM;
	for (uint32_t i = 0; i < batch->n_samples; i++) {
		sums[batch->sample_stack[i]].ns += ep_batch_weight_ns(batch, i);
		sums[batch->sample_stack[i]].process = batch->sample_process[i];
	}
	for (uint32_t i = 0; i < batch->n_stacks && r == 0; i++) {
		const char *exe_path = batch->string_text[batch->process_exe_path[sums[i].process]];

		if (!sums[i].ns)
			continue;
		quality->n_stacks++;
		quality->cpu_ns += sums[i].ns;
		r = count_kind(quality, batch, i, sums[i].ns);
		if (r == 0)
			r = count_cut(quality, batch, i, exe_path, sums[i].ns);
		if (r == 0)
			r = count_unnamed(quality, batch, i, sums[i].ns);
	}
	return r;
}

/* --- order ----------------------------------------------------------------------------------- */

static int by_number(uint64_t a, uint64_t b)
{
	return a > b ? -1 : a < b;
}

static int by_kind(const void *left, const void *right)
{
	const struct ep_stack_quality_kind *a = left, *b = right;
	int order = by_number(a->cpu_ns, b->cpu_ns);

	return order ? order : by_number(b->name, a->name);
}

static int by_reason(const void *left, const void *right)
{
	const struct ep_stack_quality_reason *a = left, *b = right;
	int order = by_number(a->ns, b->ns);

	return order ? order : by_number(b->text, a->text);
}

static int by_executable(const void *left, const void *right)
{
	const struct ep_stack_quality_executable *a = left, *b = right;
	int order = by_number(a->cut_ns + a->unnamed_ns, b->cut_ns + b->unnamed_ns);

	return order ? order : by_number(b->path, a->path);
}

void ep_stack_quality_sort(struct ep_stack_quality *quality)
{
	struct ep_stack_quality_kind *kind;

	ep_vec_each(&quality->kinds, kind)
		qsort(kind->reasons, kind->n_reasons, sizeof(kind->reasons[0]), by_reason);
	if (quality->kinds.len > 1)
		qsort(quality->kinds.data, quality->kinds.len, sizeof(struct ep_stack_quality_kind), by_kind);
	if (quality->executables.len > 1)
		qsort(quality->executables.data, quality->executables.len, sizeof(struct ep_stack_quality_executable),
		      by_executable);
}
