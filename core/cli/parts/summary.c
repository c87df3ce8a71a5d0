/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/parts/summary.h"
#include "core/base/clock.h"
#include "core/cli/parts/output_format.h"
#include "core/cli/parts/shares.h"
#include "core/cli/parts/stack_quality.h"
#include "core/cli/parts/text.h"
#include "core/profile/labels.h"
#include "core/trace/kinds.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/ioctl.h>

#define WAITED_PART   5 /* who ran for less than a fifth of the time mostly waited */
#define WAITED_MIN_NS EP_NS_PER_SEC
#define TOP_FUNCTIONS 15
#define TOP_PROGRAMS	10
#define TOP_EXECUTABLES 10
#define WALKED_PERCENT 1.0 /* of the ticks due, lost while stacks were walked: worth a word */
#define DEFAULT_WIDTH 100
#define MIN_WIDTH     60
#define MAX_WIDTH     200

void ep_summary_style(FILE *out, struct ep_summary_info *info)
{
	const char *no_color = getenv("NO_COLOR"); /* https://no-color.org: set and not empty */
	struct winsize window;
	int fd = fileno(out);

	info->width = 0;
	info->color = false;
	if (fd < 0 || !isatty(fd))
		return;
	info->color = !no_color || !no_color[0];
	if (ioctl(fd, TIOCGWINSZ, &window) == 0)
		info->width = window.ws_col;
}

static double seconds(uint64_t ns)
{
	return (double)ns / (double)EP_NS_PER_SEC;
}

static void print_heading(FILE *out, const struct ep_summary_info *info, const char *text)
{
	fprintf(out, info->color ? "\n\033[1m%s\033[0m\n" : "\n%s\n", text);
}

static uint64_t wall_ns(const struct ep_shares *shares, const struct ep_summary_info *info)
{
	return info->wall_ns ? info->wall_ns : shares->duration_ns;
}

const char *ep_summary_waited(uint64_t cpu_ns, uint64_t wall_ns, char *buf)
{
	if (wall_ns < WAITED_MIN_NS || cpu_ns >= wall_ns / WAITED_PART)
		return NULL;
	snprintf(buf, EP_SUMMARY_WAITED_BYTES,
		 "it ran %.1f s of %.1f s, the rest it waited; CPU time is what is measured",
		 seconds(cpu_ns), seconds(wall_ns));
	return buf;
}

static void print_totals(FILE *out, const struct ep_shares *shares,
			 const struct ep_summary_info *info)
{
	uint64_t wall = wall_ns(shares, info);
	char waited[EP_SUMMARY_WAITED_BYTES];

	fprintf(out, "%" PRIu64 " samples in %.1f s at %u Hz", shares->samples, seconds(wall),
		shares->period_hz);
	if (info->n_cpus)
		fprintf(out, " on %u CPU%s", info->n_cpus, info->n_cpus == 1 ? "" : "s");
	fprintf(out, ": %.2f s of CPU time", seconds(shares->cpu_ns));
	if (info->n_cpus && wall)
		fprintf(out, ", %.0f %% of what there was",
			ep_text_percent(shares->cpu_ns, wall * info->n_cpus));
	fprintf(out, "\n");
	if (info->is_target && !shares->lost && ep_summary_waited(shares->cpu_ns, wall, waited))
		fprintf(out, "%s\n", waited);
}

/* Three weeks of CPU time, in ns and times 10000, are more than 64 bits. */
static uint64_t ratio_of_10000(uint64_t part, uint64_t all)
{
	return all ? (uint64_t)((unsigned __int128)part * 10000 / all) : 0;
}

/* Rounded down, so that 100 % means all of it. */
static void print_quality(FILE *out, const struct ep_shares *shares)
{
	uint64_t left[EP_MAX_ERRORS];
	const char *separator = "; ";
	uint64_t complete = ratio_of_10000(shares->error_ns[EP_ERROR_NONE] - shares->unverified_ns,
					   shares->cpu_ns);

	memcpy(left, shares->error_ns, sizeof(left));
	fprintf(out, "stacks: %" PRIu64 ".%02" PRIu64 " %% complete", complete / 100,
		complete % 100);
	if (shares->gap_ns)
		fprintf(out, " (%.2f %% with a gap)",
			ep_text_percent(shares->gap_ns, shares->cpu_ns));
	if (shares->unverified_ns)
		fprintf(out, ", %.2f %% " EP_TEXT_UNVERIFIED,
			ep_text_percent(shares->unverified_ns, shares->cpu_ns));
	for (;;) {
		size_t most = EP_ERROR_NONE + 1;

		for (size_t i = most + 1; i < EP_MAX_ERRORS; i++)
			if (left[i] > left[most])
				most = i;
		if (left[most] == 0)
			break;
		fprintf(out, "%s%.2f %% %s", separator, ep_text_percent(left[most], shares->cpu_ns),
			ep_error_text((uint32_t)most) ? ep_error_text((uint32_t)most) : "?");
		separator = ", ";
		left[most] = 0;
	}
	fprintf(out, "\n");
}

/* As the line before it: rounded down, and then the reasons, the most frequent first. */
static void print_names(FILE *out, struct ep_shares *shares)
{
	uint64_t named = ratio_of_10000(shares->named_ns, shares->cpu_ns);
	const struct ep_share_reason *reason;
	const char *separator = "; ";

	if (!shares->has_names)
		return;
	fprintf(out, "names: %" PRIu64 ".%02" PRIu64 " %% fully named", named / 100, named % 100);
	ep_shares_sort_reasons(shares);
	ep_vec_each(&shares->reasons, reason) {
		fprintf(out, "%s%.2f %% %s", separator, ep_text_percent(reason->ns, shares->cpu_ns),
			ep_strings_get(shares->names, reason->text));
		separator = ", ";
	}
	fprintf(out, "\n");
	if (shares->no_symbol_ns)
		fprintf(out, EP_TEXT_SYMBOLS "\n",
			ep_text_percent(shares->no_symbol_ns, shares->cpu_ns));
}

static void print_functions(FILE *out, const struct ep_shares *shares,
			    const struct ep_summary_info *info)
{
	const struct ep_share_function *function;
	size_t n = 0;
	char buf[EP_TEXT_BYTES];

	ep_vec_each(&shares->functions, function) {
		const char *name = ep_strings_get(shares->names, function->name);
		double self = ep_text_percent(function->self_ns, shares->cpu_ns);
		double total = ep_text_percent(function->total_ns, shares->cpu_ns);

		if (ep_text_is_zero(self) && ep_text_is_zero(total))
			continue;
		if (n++ == TOP_FUNCTIONS)
			break;
		fprintf(out, "  %6.2f %%  %6.2f %%  %s\n", self, total,
			name[0] ? ep_text_fit_name(name, info->width - 22, buf) : "[other names]");
	}
}

static void print_program(FILE *out, const struct ep_shares *shares,
			  const struct ep_share_program *program,
			  const struct ep_summary_info *info)
{
	const char *path = ep_strings_get(shares->names, program->exe_path);
	const char *slash = strrchr(path, '/');
	const char *name =
		program->comm || !slash ? ep_strings_get(shares->names, program->comm) : slash + 1;
	char pids[32], fit_name[EP_TEXT_BYTES], fit_path[EP_TEXT_BYTES];

	snprintf(pids, sizeof(pids), program->n_processes > 1 ? "%u pids" : "%u",
		 program->n_processes > 1 ? program->n_processes : program->pid);
	fprintf(out, "  %6.2f %%  %8s  %-*s%s\n", ep_text_percent(program->cpu_ns, shares->cpu_ns),
		pids, path[0] ? 18 : 0, ep_text_fit(name, 16, fit_name),
		ep_text_fit(path, info->width - 40, fit_path));
}

static int print_programs(FILE *out, struct ep_shares *shares, const struct ep_summary_info *info)
{
	int r = ep_shares_sort_programs(shares);
	size_t n = shares->programs.len;

	for (size_t i = 0; r == 0 && i < EP_MIN(n, (size_t)TOP_PROGRAMS); i++)
		print_program(out, shares, ep_vec_at(&shares->programs, struct ep_share_program, i),
			      info);
	if (n > TOP_PROGRAMS)
		fprintf(out, "  and %zu more\n", n - TOP_PROGRAMS);
	return r;
}

static void print_overhead(FILE *out, const struct ep_shares *shares,
			   const struct ep_summary_info *info)
{
	uint64_t wall = wall_ns(shares, info);

	fprintf(out, "\noverhead: ");
	if (info->agent_cpu_ns && wall)
		fprintf(out, "profiler %.2f %% of one CPU, ",
			ep_text_percent(info->agent_cpu_ns, wall));
	if (info->bpf_ns && wall)
		fprintf(out, "BPF %.2f %%, ", ep_text_percent(info->bpf_ns, wall));
	fprintf(out, "%" PRIu64 " samples lost", shares->lost);
	if (shares->lost)
		fprintf(out, " (%.2f %% of the ticks due)",
			ep_text_percent(shares->lost, shares->due));
	if (ep_text_percent(info->walked, shares->due) >= WALKED_PERCENT)
		fprintf(out, ", %" PRIu64 " while deep stacks were walked: a lower -F loses less",
			info->walked);
	fprintf(out, "\n");
}

/* What to do with a file of this format: its name stands where the text has %s. */
static void print_next(FILE *out, const struct ep_output_format *format, const char *file)
{
	char buf[EP_TEXT_BYTES * 4];
	const char *quoted = ep_text_shell(file, buf, sizeof(buf));
	const char *text = format->next, *here;

	fprintf(out, "next: ");
	for (; (here = strstr(text, "%s")) != NULL; text = here + 2)
		fprintf(out, "%.*s%s", (int)(here - text), text, quoted);
	fprintf(out, "%s\n", text);
}

static const struct ep_output_format *format_of(const struct ep_summary_info *info, size_t i)
{
	return info->formats ? info->formats[i] : ep_output_format_of(info->files[i]);
}

/* For a program in a language whose lines are known: how to see the lines. */
static void print_next_lines(FILE *out, const struct ep_summary_info *info, const char *language)
{
	char buf[EP_TEXT_BYTES * 4];

	for (size_t i = 0; i < info->n_files && *language; i++) {
		const struct ep_output_format *format = format_of(info, i);

		if (strcmp(info->files[i], "-") == 0 || !format || !format->has_lines)
			continue;
		fprintf(out, "next: ebpf-profiler report %s --kind %s --by line\n",
			ep_text_shell(info->files[i], buf, sizeof(buf)), language);
		return;
	}
}

static void print_files(FILE *out, const struct ep_summary_info *info, const char *language)
{
	bool first = true;

	for (size_t i = 0; i < info->n_files; i++) {
		if (strcmp(info->files[i], "-") == 0)
			continue;
		fprintf(out, "%s%s", first ? "wrote: " : ", ", info->files[i]);
		first = false;
	}
	if (first)
		return;
	fprintf(out, "\n");
	for (size_t i = 0; i < info->n_files; i++) {
		if (strcmp(info->files[i], "-") != 0 && format_of(info, i))
			print_next(out, format_of(info, i), info->files[i]);
	}
	print_next_lines(out, info, language);
}

/* A language's line says how much of *its* time is complete, and why the rest is not. */
static void print_kinds(FILE *out, const struct ep_stack_quality *quality,
			const struct ep_summary_info *info)
{
	const struct ep_stack_quality_kind *kind;
	char name[EP_TEXT_BYTES];

	print_heading(out, info, "     share  complete  language");
	ep_vec_each(&quality->kinds, kind) {
		uint64_t complete = ratio_of_10000(kind->complete_ns, kind->cpu_ns);
		const char *separator = "; ";

		fprintf(out, "  %6.2f %%  %3" PRIu64 ".%02" PRIu64 " %%  %s",
			ep_text_percent(kind->cpu_ns, quality->cpu_ns), complete / 100,
			complete % 100,
			ep_text_fit(ep_strings_get(quality->names, kind->name), info->width - 24,
				    name));
		for (uint32_t i = 0; i < kind->n_reasons; i++) {
			fprintf(out, "%s%.2f %% %s", separator,
				ep_text_percent(kind->reasons[i].ns, kind->cpu_ns),
				ep_strings_get(quality->names, kind->reasons[i].text));
			separator = ", ";
		}
		fprintf(out, "\n");
	}
}

static void print_executables(FILE *out, const struct ep_stack_quality *quality,
			      const struct ep_summary_info *info)
{
	const struct ep_stack_quality_executable *executable = quality->executables.data;
	char path[EP_TEXT_BYTES];

	if (!quality->executables.len)
		return;
	print_heading(out, info, "       cut   unnamed  executables that spoil stacks the most");
	for (size_t i = 0; i < EP_MIN(quality->executables.len, (size_t)TOP_EXECUTABLES); i++) {
		const char *text = ep_strings_get(quality->names, executable[i].path);

		fprintf(out, "  %6.2f %%  %6.2f %%  %s\n",
			ep_text_percent(executable[i].cut_ns, quality->cpu_ns),
			ep_text_percent(executable[i].unnamed_ns, quality->cpu_ns),
			text[0] ? ep_text_fit(text, info->width - 22, path) : "[no file]");
	}
}

/* The first one, if at least a tenth of the time is in it. */
static void find_language(const struct ep_stack_quality *quality, char language[EP_TEXT_BYTES])
{
	const struct ep_stack_quality_kind *kind;

	ep_vec_each (&quality->kinds, kind) {
		const char *name = ep_strings_get(quality->names, kind->name);

		if (strcmp(name, "native") == 0 || strcmp(name, "kernel") == 0)
			continue;
		if (kind->cpu_ns >= quality->cpu_ns / 10)
			snprintf(language, EP_TEXT_BYTES, "%s", name);
		return;
	}
}

static int print_where_stacks_are_bad(FILE *out, const struct ep_batch *const *batches,
				      size_t n_batches, const struct ep_summary_info *info,
				      char language[EP_TEXT_BYTES])
{
	ep_cleanup(ep_stack_quality_fini) struct ep_stack_quality quality;
	int r = ep_stack_quality_init(&quality);

	for (size_t i = 0; i < n_batches && r == 0; i++)
		r = ep_stack_quality_add(&quality, batches[i]);
	ep_stack_quality_sort(&quality);
	print_kinds(out, &quality, info);
	if (info->executables)
		print_executables(out, &quality, info);
	find_language(&quality, language);
	return r;
}

static int print_tables(FILE *out, struct ep_shares *shares, const struct ep_summary_info *info)
{
	ep_shares_sort_self(shares);
	print_heading(out, info, "      self     total  functions by their own time");
	print_functions(out, shares, info);
	ep_shares_sort_total(shares);
	print_heading(out, info, "      self     total  functions with what they call");
	print_functions(out, shares, info);
	print_heading(out, info, "     share       pid  program");
	return print_programs(out, shares, info);
}

uint64_t ep_summary_samples(const struct ep_batch *const *batches, size_t n_batches)
{
	uint64_t samples = 0;

	for (size_t i = 0; i < n_batches; i++)
		for (uint32_t k = 0; k < batches[i]->n_samples; k++)
			samples += batches[i]->sample_count[k];
	return samples;
}

struct ep_summary_quality ep_summary_quality(const struct ep_batch *batch)
{
	uint64_t all_ns = 0, complete_ns = 0, named_ns = 0;

	for (uint32_t i = 0; i < batch->n_samples; i++) {
		uint32_t stack = batch->sample_stack[i];
		uint64_t weight_ns = ep_batch_weight_ns(batch, i);

		all_ns += weight_ns;
		if (batch->stack_error[stack] == EP_ERROR_NONE &&
		    !ep_batch_is_unverified(batch, stack))
			complete_ns += weight_ns;
		if (EP_HAS(batch, stack_unnamed) && !batch->stack_unnamed[stack])
			named_ns += weight_ns;
	}
	return (struct ep_summary_quality){
		.complete = (uint32_t)ratio_of_10000(complete_ns, all_ns),
		.named = (uint32_t)ratio_of_10000(named_ns, all_ns),
	};
}

/* Functions of equal name are distinguished where they have files. */
static int add_labelled(struct ep_shares *shares, const struct ep_batch *const *batches,
			size_t n_batches)
{
	ep_cleanup(ep_labels_fini) struct ep_labels labels;
	int r = 0;

	ep_labels_init(&labels, false);
	for (size_t i = 0; i < n_batches && r == 0; i++)
		r = ep_labels_learn(&labels, 0, batches[i]);
	for (size_t i = 0; i < n_batches && r == 0; i++) {
		ep_cleanup(ep_labelled_fini) struct ep_labelled labelled = {0};

		r = ep_labels_draw(&labels, batches[i], &labelled);
		if (r == 0)
			r = ep_shares_add(shares, &labelled.batch);
	}
	return r;
}

int ep_summary_print(FILE *out, const struct ep_batch *const *batches, size_t n_batches,
		     const struct ep_summary_info *info)
{
	ep_cleanup(ep_shares_fini) struct ep_shares shares;
	struct ep_summary_info fixed = *info;
	char language[EP_TEXT_BYTES] = ""; /* that most of the time is in */
	int r = ep_shares_init(&shares);

	fixed.width = info->width ? info->width : DEFAULT_WIDTH;
	fixed.width = EP_MIN(EP_MAX(fixed.width, (unsigned int)MIN_WIDTH), (unsigned int)MAX_WIDTH);
	if (r == 0)
		r = add_labelled(&shares, batches, n_batches);
	print_totals(out, &shares, &fixed);
	if (shares.samples) {
		print_quality(out, &shares);
		print_names(out, &shares);
		if (print_where_stacks_are_bad(out, batches, n_batches, &fixed, language) < 0)
			r = -ENOMEM;
		if (print_tables(out, &shares, &fixed) < 0)
			r = -ENOMEM;
	}
	print_overhead(out, &shares, &fixed);
	print_files(out, &fixed, language);
	return r;
}
