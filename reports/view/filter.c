/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules are judged once per row of the tables that they are about (processes, strings of thread
 * names, stacks, locations), when a batch comes: `bound` holds the verdicts. The builder then asks
 * for each sample and stack, which is a look into these columns.
 */
#include "reports/view/filter.h"
#include "core/base/clock.h"
#include "core/base/parse.h"
#include "core/base/utf8.h"
#include "core/base/vec.h"
#include "core/profile/batch.h"

#include <fnmatch.h>
#include <limits.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define N_KEYS (EP_VIEW_DROP + 1)
#define MAX_REGEX_BYTES                                                                            \
	(64u << 10) /* of a name that is looked at: names are hostile, and long ones slow */
#define SECONDS_PER_DAY 86400

struct rule {
	char *text;	      /* owned: a glob, the beginning of an id, a kind */
	uint64_t first, last; /* numbers: pid, CPUs; of a thread its id, 1 to 0 when it is none */
	regex_t regex;
	bool has_regex;
	bool excludes;
};

/* Verdicts about the rows of one batch; NULL: all of them pass. */
struct bound {
	uint8_t *process_ok, *thread_ok, *stack_ok, *location_ok;
	struct ep_view_range range;
};

struct ep_view_filter {
	struct ep_vec rules[N_KEYS]; /* struct rule */
	struct ep_view_moment from, to;
	struct bound bound;
};

static void rule_fini(struct rule *rule)
{
	free(rule->text);
	if (rule->has_regex)
		regfree(&rule->regex);
}

static void bound_fini(struct bound *bound)
{
	free(bound->process_ok);
	free(bound->thread_ok);
	free(bound->stack_ok);
	free(bound->location_ok);
	*bound = (struct bound){0};
}

int ep_view_filter_new(struct ep_view_filter **ret_filter)
{
	struct ep_view_filter *filter = calloc(1, sizeof(*filter));

	if (!filter)
		return -ENOMEM;
	for (size_t key = 0; key < N_KEYS; key++)
		ep_vec_init(&filter->rules[key], sizeof(struct rule), EP_VIEW_MAX_RULES);
	*ret_filter = filter;
	return 0;
}

void ep_view_filter_free(struct ep_view_filter *filter)
{
	struct rule *rule;

	if (!filter)
		return;
	for (size_t key = 0; key < N_KEYS; key++) {
		ep_vec_each (&filter->rules[key], rule)
			rule_fini(rule);
		ep_vec_fini(&filter->rules[key]);
	}
	bound_fini(&filter->bound);
	free(filter);
}

/* --- rules are made -------------------------------------------------------------------------- */

static int push_rule(struct ep_view_filter *filter, enum ep_view_key key, struct rule *rule)
{
	struct ep_vec *rules = &filter->rules[key];
	struct rule *slot = ep_vec_push(rules);

	if (!slot) {
		rule_fini(rule);
		return rules->len == rules->max ? -E2BIG : -ENOMEM;
	}
	*slot = *rule;
	return 0;
}

/* "7", "0-3" */
static int parse_range(const char *text, const char *end, bool spans, struct rule *rule)
{
	const char *pos = text;
	int r = ep_parse_u64(&pos, end, 10, &rule->first);

	rule->last = rule->first;
	if (r == 0 && spans && pos < end && *pos == '-') {
		pos++;
		r = ep_parse_u64(&pos, end, 10, &rule->last);
	}
	return r < 0 || pos != end || rule->last < rule->first || rule->last > UINT32_MAX ? -EINVAL
											  : 0;
}

static int add_numbers(struct ep_view_filter *filter, enum ep_view_key key, const char *value,
		       bool excludes)
{
	int r;

	for (;;) {
		const char *end = strchrnul(value, ',');
		struct rule rule = {.excludes = excludes};

		r = parse_range(value, end, key == EP_VIEW_CPU, &rule);
		if (r == 0)
			r = push_rule(filter, key, &rule);
		if (r < 0 || *end == '\0')
			return r;
		value = end + 1;
	}
}

static int add_text(struct ep_view_filter *filter, enum ep_view_key key, const char *text,
		    size_t bytes, bool excludes)
{
	struct rule rule = {.text = calloc(1, bytes + 1), .first = 1, .excludes = excludes};

	if (!rule.text)
		return -ENOMEM;
	memcpy(rule.text, text, bytes);
	if (key == EP_VIEW_THREAD && parse_range(text, text + bytes, false, &rule) < 0)
		rule.first = 1, rule.last = 0;
	return push_rule(filter, key, &rule);
}

static int add_kinds(struct ep_view_filter *filter, const char *value, bool excludes)
{
	int r;

	for (;;) {
		size_t bytes = strcspn(value, ",");

		r = bytes ? add_text(filter, EP_VIEW_KIND, value, bytes, excludes) : -EINVAL;
		if (r < 0 || value[bytes] == '\0')
			return r;
		value += bytes + 1;
	}
}

static int add_regex(struct ep_view_filter *filter, enum ep_view_key key, const char *value,
		     char *why)
{
	struct rule rule = {0};
	char text[128];
	int r = regcomp(&rule.regex, value, REG_EXTENDED | REG_NOSUB);

	if (r != 0) {
		regerror(r, &rule.regex, text, sizeof(text));
		snprintf(why, EP_VIEW_WHY_BYTES, "takes a regular expression, not '%.64s': %s",
			 value, text);
		return r == REG_ESPACE ? -ENOMEM : -EINVAL;
	}
	rule.has_regex = true;
	return push_rule(filter, key, &rule);
}

int ep_view_filter_add(struct ep_view_filter *filter, enum ep_view_key key, const char *value,
		       char *why)
{
	static const char *const takes[N_KEYS] = {
		[EP_VIEW_PID] = "process ids, like 1234,1235 or !1234",
		[EP_VIEW_COMM] = "a name, like make or 'make*'",
		[EP_VIEW_EXE] = "a file, like python3 or '/opt/*'",
		[EP_VIEW_THREAD] = "a thread's name or id, like 'worker*' or 1234",
		[EP_VIEW_CPU] = "numbers of CPUs, like 0-3,7",
		[EP_VIEW_KIND] = "kinds of frames, like kernel,native",
	};
	bool excludes = key < EP_VIEW_KEEP && value[0] == '!';
	const char *rest = value + excludes;
	int r;

	if (key == EP_VIEW_KEEP || key == EP_VIEW_DROP)
		return add_regex(filter, key, value, why);
	if (key == EP_VIEW_PID || key == EP_VIEW_CPU)
		r = add_numbers(filter, key, rest, excludes);
	else if (key == EP_VIEW_KIND)
		r = add_kinds(filter, rest, excludes);
	else
		r = rest[0] || key == EP_VIEW_CONTAINER
			    ? add_text(filter, key, rest, strlen(rest), excludes)
			    : -EINVAL;
	if (r == -EINVAL)
		snprintf(why, EP_VIEW_WHY_BYTES, "takes %s, not '%.64s'", takes[key], value);
	return r;
}

void ep_view_filter_set_from(struct ep_view_filter *filter, struct ep_view_moment moment)
{
	filter->from = moment;
}

void ep_view_filter_set_to(struct ep_view_filter *filter, struct ep_view_moment moment)
{
	filter->to = moment;
}

bool ep_view_filter_has_times(const struct ep_view_filter *filter)
{
	return filter->from.base != EP_VIEW_NO_MOMENT || filter->to.base != EP_VIEW_NO_MOMENT;
}

static bool is_relative(struct ep_view_moment moment)
{
	return moment.base != EP_VIEW_NO_MOMENT && moment.base != EP_VIEW_WALL_CLOCK;
}

bool ep_view_filter_is_relative(const struct ep_view_filter *filter)
{
	return is_relative(filter->from) || is_relative(filter->to);
}

bool ep_view_filter_is_empty(const struct ep_view_filter *filter)
{
	for (size_t key = 0; key < N_KEYS; key++)
		if (filter->rules[key].len)
			return false;
	return !ep_view_filter_has_times(filter);
}

/* --- times ----------------------------------------------------------------------------------- */

/* The first such time of day, by the local clock, at or after start_ns; before it if none is by
 * end_ns. */
static uint64_t time_of_day(uint64_t ns, uint64_t start_ns, uint64_t end_ns)
{
	time_t seconds = (time_t)(start_ns / EP_NS_PER_SEC), midnight;
	struct tm tm;

	if (!localtime_r(&seconds, &tm))
		return start_ns;
	for (int day = 0;; day++) {
		struct tm at = tm;
		uint64_t found;

		at.tm_mday += day;
		at.tm_hour = (int)(ns / EP_NS_PER_SEC / 3600);
		at.tm_min = (int)(ns / EP_NS_PER_SEC / 60 % 60);
		at.tm_sec = (int)(ns / EP_NS_PER_SEC % 60);
		at.tm_isdst = -1;
		midnight = mktime(&at);
		found = midnight < 0 ? 0 : (uint64_t)midnight * EP_NS_PER_SEC + ns % EP_NS_PER_SEC;
		if (day == 1 || found >= start_ns ||
		    end_ns < found + SECONDS_PER_DAY * EP_NS_PER_SEC)
			return found;
	}
}

static uint64_t resolve(struct ep_view_moment moment, uint64_t otherwise, uint64_t start_ns,
			uint64_t end_ns)
{
	uint64_t ns;

	switch (moment.base) {
	case EP_VIEW_NO_MOMENT:
		break;
	case EP_VIEW_FROM_START:
		return __builtin_add_overflow(start_ns, moment.ns, &ns) ? UINT64_MAX : ns;
	case EP_VIEW_FROM_END:
		return end_ns > moment.ns ? end_ns - moment.ns : 0;
	case EP_VIEW_WALL_CLOCK:
		return moment.ns;
	case EP_VIEW_TIME_OF_DAY:
		return time_of_day(moment.ns, start_ns, end_ns);
	}
	return otherwise;
}

struct ep_view_range ep_view_filter_range(const struct ep_view_filter *filter, uint64_t start_ns,
					  uint64_t end_ns)
{
	return (struct ep_view_range){
		.start_ns = resolve(filter->from, 0, start_ns, end_ns),
		.end_ns = resolve(filter->to, UINT64_MAX, start_ns, end_ns),
	};
}

/* --- rules are judged ------------------------------------------------------------------------ */

/* What rules are asked about: a number, a text, or both. */
struct subject {
	uint64_t number;
	const char *text;
	size_t bytes;
};

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool rule_matches(const struct rule *rule, enum ep_view_key key,
			 const struct subject *subject)
{
	regmatch_t whole = {.rm_so = 0,
			    .rm_eo = (regoff_t)EP_MIN(subject->bytes, (size_t)MAX_REGEX_BYTES)};

	switch (key) {
	case EP_VIEW_PID:
	case EP_VIEW_CPU:
		return subject->number >= rule->first && subject->number <= rule->last;
	case EP_VIEW_THREAD:
		if (subject->number >= rule->first && subject->number <= rule->last)
			return true;
		return fnmatch(rule->text, subject->text, 0) == 0;
	case EP_VIEW_COMM:
		return fnmatch(rule->text, subject->text, 0) == 0;
	case EP_VIEW_EXE:
		return fnmatch(rule->text, strchr(rule->text, '/') ? subject->text : file_name(subject->text), 0) == 0;
	case EP_VIEW_CONTAINER:
		if (!rule->text[0])
			return !subject->text[0];
		return strncmp(rule->text, subject->text, strlen(rule->text)) == 0;
	case EP_VIEW_KIND:
		return strcmp(rule->text, subject->text) == 0;
	case EP_VIEW_KEEP:
	case EP_VIEW_DROP:
		return regexec(&rule->regex, subject->text, 1, &whole, REG_STARTEND) == 0;
	}
	return false;
}

static bool passes(const struct ep_view_filter *filter, enum ep_view_key key,
		   const struct subject *subject)
{
	const struct rule *rule;
	bool wanted = true, found = false;

	ep_vec_each (&filter->rules[key], rule) {
		bool matches = (rule->excludes || !found) && rule_matches(rule, key, subject);

		if (rule->excludes && matches)
			return false;
		if (!rule->excludes) {
			wanted = false;
			found |= matches;
		}
	}
	return wanted || found;
}

static struct subject subject_of(const struct ep_batch *batch, uint32_t string, uint64_t number)
{
	return (struct subject){number, batch->string_text[string], batch->string_bytes[string]};
}

static int bind_processes(struct ep_view_filter *filter, const struct ep_batch *batch)
{
	static const enum ep_view_key keys[] = {EP_VIEW_PID, EP_VIEW_COMM, EP_VIEW_EXE, EP_VIEW_CONTAINER};
	uint8_t *ok = malloc(batch->n_processes + 1);

	if (!ok)
		return -ENOMEM;
	filter->bound.process_ok = ok;
	for (uint32_t i = 0; i < batch->n_processes; i++) {
		const struct subject subjects[] = {
			{.number = batch->process_pid[i]},
			subject_of(batch, batch->process_comm[i], 0),
			subject_of(batch, batch->process_exe_path[i], 0),
			subject_of(batch, batch->process_container_id[i], 0),
		};

		ok[i] = true;
		for (size_t k = 0; k < EP_LEN(keys); k++)
			ok[i] &= passes(filter, keys[k], &subjects[k]);
	}
	return 0;
}

/* One column for samples: a thread has an id as well as a name. */
static int bind_threads(struct ep_view_filter *filter, const struct ep_batch *batch)
{
	uint8_t *ok;

	if (!filter->rules[EP_VIEW_THREAD].len && !filter->rules[EP_VIEW_CPU].len)
		return 0;
	ok = malloc((size_t)batch->n_samples + 1);
	if (!ok)
		return -ENOMEM;
	filter->bound.thread_ok = ok;
	for (uint32_t i = 0; i < batch->n_samples; i++) {
		struct subject thread =
			subject_of(batch, batch->sample_thread_name[i], batch->sample_tid[i]);
		struct subject cpu = {.number = batch->sample_cpu[i]};

		ok[i] = passes(filter, EP_VIEW_THREAD, &thread) &&
			passes(filter, EP_VIEW_CPU, &cpu);
	}
	return 0;
}

enum { WANTED = 1, UNWANTED = 2 };

/* Of each function: does an -I, does an -X match its name? */
static uint8_t *match_functions(const struct ep_view_filter *filter, const struct ep_batch *batch)
{
	uint8_t *found = calloc((size_t)batch->n_functions + 1, 1);
	const struct rule *rule;

	for (uint32_t i = 1; found && i < batch->n_functions; i++) {
		struct subject name = subject_of(batch, batch->function_name[i], 0);

		ep_vec_each (&filter->rules[EP_VIEW_KEEP], rule)
			found[i] |= rule_matches(rule, EP_VIEW_KEEP, &name) ? WANTED : 0;
		ep_vec_each (&filter->rules[EP_VIEW_DROP], rule)
			found[i] |= rule_matches(rule, EP_VIEW_DROP, &name) ? UNWANTED : 0;
	}
	return found;
}

static uint8_t stack_matches(const struct ep_batch *batch, uint32_t stack,
			     const uint8_t *function_matches)
{
	uint8_t found = 0;

	for (uint32_t i = batch->stack_location_first[stack];
	     i < batch->stack_location_first[stack + 1]; i++) {
		uint32_t location = batch->stack_location[i];

		for (uint32_t k = batch->location_line_first[location];
		     k < batch->location_line_first[location + 1]; k++)
			found |= function_matches[batch->line_function[k]];
	}
	return found;
}

static int bind_stacks(struct ep_view_filter *filter, const struct ep_batch *batch)
{
	bool keeps = filter->rules[EP_VIEW_KEEP].len;
	ep_autofree uint8_t *functions = NULL;
	uint8_t *ok;

	if (!keeps && !filter->rules[EP_VIEW_DROP].len)
		return 0;
	functions = match_functions(filter, batch);
	ok = malloc((size_t)batch->n_stacks + 1);
	filter->bound.stack_ok = ok;
	if (!ok || !functions)
		return -ENOMEM;
	for (uint32_t i = 0; i < batch->n_stacks; i++) {
		uint8_t found = stack_matches(batch, i, functions);

		ok[i] = !(found & UNWANTED) && (!keeps || (found & WANTED));
	}
	return 0;
}

static int bind_locations(struct ep_view_filter *filter, const struct ep_batch *batch)
{
	uint8_t *ok;

	if (!filter->rules[EP_VIEW_KIND].len)
		return 0;
	ok = malloc((size_t)batch->n_locations + 1);
	if (!ok)
		return -ENOMEM;
	filter->bound.location_ok = ok;
	for (uint32_t i = 0; i < batch->n_locations; i++) {
		struct subject kind = subject_of(batch, batch->location_kind[i], 0);

		ok[i] = passes(filter, EP_VIEW_KIND, &kind);
	}
	return 0;
}

static int bind(struct ep_view_filter *filter, const struct ep_batch *batch)
{
	int r;

	bound_fini(&filter->bound);
	r = bind_processes(filter, batch);
	r = r == 0 ? bind_threads(filter, batch) : r;
	r = r == 0 ? bind_stacks(filter, batch) : r;
	return r == 0 ? bind_locations(filter, batch) : r;
}

/* --- the choice ------------------------------------------------------------------------------ */

static uint32_t choose_sample(void *arg, const struct ep_batch *batch, uint32_t row,
			      uint64_t *times_ns)
{
	const struct ep_view_filter *filter = arg;
	const struct bound *bound = &filter->bound;
	uint32_t first = batch->sample_time_first[row], end = batch->sample_time_first[row + 1],
		 n = 0;

	if (!bound->process_ok[batch->sample_process[row]] ||
	    (bound->thread_ok && !bound->thread_ok[row]) ||
	    (bound->stack_ok && !bound->stack_ok[batch->sample_stack[row]]))
		return 0;
	for (uint32_t i = first; i < end; i++)
		if (batch->sample_time_ns[i] >= bound->range.start_ns &&
		    batch->sample_time_ns[i] < bound->range.end_ns)
			times_ns[n++] = batch->sample_time_ns[i];
	return first == end ? batch->sample_count[row] : n;
}

static uint32_t choose_locations(void *arg, const struct ep_batch *batch, uint32_t stack,
				 uint32_t *ret)
{
	const struct ep_view_filter *filter = arg;
	uint32_t n = 0;

	for (uint32_t i = batch->stack_location_first[stack];
	     i < batch->stack_location_first[stack + 1]; i++)
		if (filter->bound.location_ok[batch->stack_location[i]])
			ret[n++] = batch->stack_location[i];
	return n;
}

bool ep_view_has_times(const struct ep_batch *batch)
{
	for (uint32_t i = 0; i < batch->n_samples; i++)
		if (batch->sample_time_first[i + 1] - batch->sample_time_first[i] !=
		    batch->sample_count[i])
			return false;
	return true;
}

static uint64_t count_samples(const struct ep_batch *batch)
{
	uint64_t samples = 0;

	for (uint32_t i = 0; i < batch->n_samples; i++)
		samples += batch->sample_count[i];
	return samples;
}

/*
 * Builds what passes. The header is the batch's, with the times clipped. What was lost is not known
 * to have been of those samples: it stays what it was, and so does what it is a share of.
 */
static int build(struct ep_view_filter *filter, const struct ep_batch *batch,
		 struct ep_batch **ret_batch)
{
	ep_cleanup(ep_profile_builder_freep) struct ep_profile_builder *builder = NULL;
	uint64_t start_ns = batch->start_ns, end_ns = start_ns + batch->duration_ns;
	const struct ep_view_range *range = &filter->bound.range;
	const struct ep_profile_choice choice = {
		.arg = filter,
		.sample = choose_sample,
		.stack = filter->bound.location_ok ? choose_locations : NULL,
	};
	struct ep_batch clipped = *batch;
	int r = ep_profile_builder_new(&builder);

	if (r < 0)
		return r;
	clipped.due_samples = ep_batch_due_samples(batch, count_samples(batch));
	clipped.start_ns = EP_MIN(EP_MAX(range->start_ns, start_ns), end_ns);
	clipped.duration_ns =
		EP_MAX(EP_MIN(range->end_ns, end_ns), clipped.start_ns) - clipped.start_ns;
	r = ep_profile_add_batch(builder, &clipped, &choice);
	return r < 0 ? r : ep_profile_finish(builder, ret_batch);
}

/* A name for a message: cut, and without what drives a terminal. */
static void show(const char *text, char *buf, size_t size)
{
	size_t bytes = ep_utf8_cut(text, strlen(text), size - 1);

	ep_utf8_clean(text, bytes, buf);
	buf[bytes] = '\0';
}

int ep_view_filter_apply_within(struct ep_view_filter *filter, struct ep_batch *batch,
				struct ep_view_range range, struct ep_batch **ret_batch)
{
	int r = bind(filter, batch);

	filter->bound.range = range;
	if (r == 0)
		r = build(filter, batch, ret_batch);
	bound_fini(&filter->bound);
	return r;
}

int ep_view_filter_apply(struct ep_view_filter *filter, struct ep_batch *batch,
			 struct ep_batch **ret_batch, char *why)
{
	struct ep_view_range range;

	if (ep_view_filter_is_empty(filter)) {
		ep_batch_ref(batch);
		*ret_batch = batch;
		return 0;
	}
	if (ep_view_filter_has_times(filter) && !ep_view_has_times(batch)) {
		snprintf(
			why, EP_VIEW_WHY_BYTES,
			"--from and --to need the time of each sample, which pprof and folded stacks do not keep: "
			"leave them out, or record a .otlp.gz or .html file");
		return -ENODATA;
	}
	range = ep_view_filter_range(filter, batch->start_ns, batch->start_ns + batch->duration_ns);
	return ep_view_filter_apply_within(filter, batch, range, ret_batch);
}

/* A rule that the process's name does not pass and its file's would. */
static bool is_renamed(const struct ep_view_filter *filter, const struct subject *comm, const struct subject *file)
{
	const struct rule *rule;

	ep_vec_each (&filter->rules[EP_VIEW_COMM], rule) {
		if (!rule->excludes && rule_matches(rule, EP_VIEW_COMM, file) && !rule_matches(rule, EP_VIEW_COMM, comm))
			return true;
	}
	return false;
}

bool ep_view_filter_explain(const struct ep_view_filter *filter, const struct ep_batch *batch, char *why)
{
	bool has_files = false;

	for (uint32_t i = 1; i < batch->n_processes; i++) {
		struct subject comm = subject_of(batch, batch->process_comm[i], 0);
		struct subject file = {.text = file_name(batch->string_text[batch->process_exe_path[i]])};
		char shown[2][EP_VIEW_WHY_BYTES / 4];

		has_files |= *file.text != '\0';
		if (!*file.text || !is_renamed(filter, &comm, &file))
			continue;
		show(comm.text, shown[0], sizeof(shown[0]));
		show(file.text, shown[1], sizeof(shown[1]));
		snprintf(why, EP_VIEW_WHY_BYTES, "process %u runs %s and is named '%s': choose by file, --exe %s",
			 batch->process_pid[i], shown[1], shown[0], shown[1]);
		return true;
	}
	if (!filter->rules[EP_VIEW_EXE].len || has_files)
		return false;
	snprintf(why, EP_VIEW_WHY_BYTES, "--exe needs the file of each process, which .otlp.gz and .html files keep and "
		 "this one does not: choose by --comm");
	return true;
}
