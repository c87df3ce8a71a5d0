/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf-profiler/batch.h"
#include "ebpf-profiler/frame.h"
#include "reports/view/bursts.h"
#include "reports/view/movers.h"
#include "tests/kit/test.h"

#include <errno.h>
#include <math.h>

/*
 * A program of LEAVES functions whose shares fall from 20 % on, called by GROUPS others, called by main. Two
 * CPUs, whose samples weigh differently. Stack i + 1 is that of leaf i.
 */
#define LEAVES	300
#define GROUPS	10
#define SAMPLES 10000

struct program {
	double share[LEAVES];
	double bursts; /* the last leaf comes in bursts of so many samples as well, a hundredth of all */
};

static struct {
	char text[LEAVES + GROUPS + 2][16];
	const char *strings[LEAVES + GROUPS + 2];
	uint32_t bytes[LEAVES + GROUPS + 2];
	uint32_t names[LEAVES + GROUPS + 2], flags[LEAVES + GROUPS + 2];
	uint32_t line_first[LEAVES + GROUPS + 3], line_function[LEAVES + GROUPS + 1];
	uint32_t stack_first[LEAVES + 2], locations[3 * LEAVES];
} tables;

/* Function, location and string i are one: 1 is main, 2.. the groups, then the leaves. */
static void fill_tables(void)
{
	tables.strings[0] = tables.text[0];
	for (uint32_t i = 1; i < LEAVES + GROUPS + 2; i++) {
		if (i == 1)
			snprintf(tables.text[i], sizeof(tables.text[i]), "main");
		else
			snprintf(tables.text[i], sizeof(tables.text[i]), i < GROUPS + 2 ? "group%u" : "leaf%u",
				 i < GROUPS + 2 ? i - 2 : i - GROUPS - 2);
		tables.strings[i] = tables.text[i];
		tables.bytes[i] = (uint32_t)strlen(tables.text[i]);
		tables.names[i] = i;
		tables.line_first[i] = i - 1;
		tables.line_function[i - 1] = i;
	}
	tables.line_first[LEAVES + GROUPS + 2] = LEAVES + GROUPS + 1;
	for (uint32_t i = 0; i < LEAVES; i++) {
		tables.stack_first[i + 1] = 3 * i;
		tables.locations[3 * i] = GROUPS + 2 + i;
		tables.locations[3 * i + 1] = 2 + i % GROUPS;
		tables.locations[3 * i + 2] = 1;
	}
	tables.stack_first[LEAVES + 1] = 3 * LEAVES;
}

static struct program make_program(void)
{
	struct program program = {0};
	double sum = 0;

	program.share[0] = 0.2;
	for (int i = 1; i < LEAVES; i++)
		sum += 1.0 / i;
	for (int i = 1; i < LEAVES; i++)
		program.share[i] = 0.8 / i / sum;
	return program;
}

/* Times the cost of one function. */
static struct program make_dearer(struct program program, int leaf, double times)
{
	double sum = 0;

	program.share[leaf] *= times;
	for (int i = 0; i < LEAVES; i++)
		sum += program.share[i];
	for (int i = 0; i < LEAVES; i++)
		program.share[i] /= sum;
	return program;
}

static double next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(*seed >> 11) / 9007199254740992.0;
}

struct recording {
	struct ep_batch batch;
	uint32_t stack[2 * LEAVES], process[2 * LEAVES], count[2 * LEAVES];
	uint64_t weight[2 * LEAVES];
	uint32_t time_first[2 * LEAVES + 1];
	uint64_t *times; /* by row */
};

static void recording_fini(struct recording *recording)
{
	free(recording->times);
}

/* Sample i was taken at time i, of row `rows[i]`. */
static void set_times(struct recording *recording, const uint32_t *rows, uint32_t samples)
{
	uint32_t next[2 * LEAVES];

	free(recording->times);
	recording->times = calloc(samples, sizeof(*recording->times));
	for (uint32_t i = 0; i < 2 * LEAVES; i++)
		recording->time_first[i + 1] = recording->time_first[i] + recording->count[i];
	memcpy(next, recording->time_first, sizeof(next));
	for (uint32_t i = 0; i < samples; i++)
		recording->times[next[rows[i]]++] = i;
}

static void run_program(const struct program *program, uint32_t samples, uint64_t *seed, struct recording *ret)
{
	ep_autofree uint32_t *rows = calloc(samples, sizeof(*rows));
	double bursts = program->bursts;
	int burst = 0;

	*ret = (struct recording){0};
	for (uint32_t i = 0; i < samples; i++) {
		double at = next_random(seed);
		int leaf = 0, cpu = next_random(seed) < 0.3;

		while (leaf < LEAVES - 1 && at >= program->share[leaf])
			at -= program->share[leaf++];
		/* A burst begins as rarely as it is long. */
		if (burst == 0 && bursts > 0 && next_random(seed) < 0.01 / bursts)
			burst = (int)bursts;
		if (burst > 0 && burst--)
			leaf = LEAVES - 1;
		rows[i] = (uint32_t)(2 * leaf + cpu);
		ret->count[2 * leaf + cpu]++;
		ret->weight[2 * leaf + cpu] += cpu ? 9500000 : 10500000;
	}
	for (uint32_t i = 0; i < 2 * LEAVES; i++)
		ret->stack[i] = i / 2 + 1;
	set_times(ret, rows, samples);
	ret->batch = (struct ep_batch){
		.size = sizeof(ret->batch),
		.duration_ns = (uint64_t)samples * 10000000,
		.period_ns = 10000000,
		.n_strings = LEAVES + GROUPS + 2,
		.string_text = tables.strings,
		.string_bytes = tables.bytes,
		.n_functions = LEAVES + GROUPS + 2,
		.function_name = tables.names,
		.n_locations = LEAVES + GROUPS + 2,
		.location_flags = tables.flags,
		.location_line_first = tables.line_first,
		.n_lines = LEAVES + GROUPS + 1,
		.line_function = tables.line_function,
		.n_stacks = LEAVES + 1,
		.stack_location_first = tables.stack_first,
		.stack_location = tables.locations,
		.n_samples = 2 * LEAVES,
		.sample_stack = ret->stack,
		.sample_process = ret->process,
		.sample_count = ret->count,
		.sample_weight_ns = ret->weight,
		.sample_time_first = ret->time_first,
		.sample_time_ns = ret->times,
	};
}

static struct ep_movers *compare(const struct recording *a, const struct recording *b, bool absolute)
{
	struct ep_movers_options options = {.amount = absolute ? EP_MOVERS_PER_SECOND
							       : EP_MOVERS_SHARE};
	struct ep_movers *movers = NULL;

	assert_int_equal(ep_movers_new(&options, &movers), 0);
	assert_int_equal(ep_movers_add(movers, EP_MOVERS_A, &a->batch), 0);
	assert_int_equal(ep_movers_add(movers, EP_MOVERS_B, &b->batch), 0);
	assert_int_equal(ep_movers_compare(movers), 0);
	return movers;
}

/* Runs both programs, for so many samples each, and compares. */
static struct ep_movers *run_both(const struct program *before, uint32_t samples_a,
				  const struct program *after, uint32_t samples_b, uint64_t *seed,
				  bool absolute)
{
	ep_cleanup(recording_fini) struct recording a = {0}, b = {0};

	fill_tables();
	run_program(before, samples_a, seed, &a);
	run_program(after, samples_b, seed, &b);
	return compare(&a, &b, absolute);
}

/* How many movers there are in so many pairs of runs of one program. */
static size_t movers_between_equals(const struct program *program, uint64_t seed, int pairs,
				    const uint32_t (*samples)[2], size_t n_samples, bool absolute_too)
{
	size_t moved = 0;

	for (int pair = 0; pair < pairs; pair++) {
		const uint32_t *n = samples[(size_t)pair % n_samples];
		ep_cleanup(ep_movers_freep) struct ep_movers *movers =
			run_both(program, n[0], program, n[1], &seed, absolute_too && pair % 2);

		moved += ep_movers_moved(movers);
	}
	return moved;
}

static const uint32_t usual[][2] = {{SAMPLES, SAMPLES}};

static const struct ep_mover *find(const struct ep_movers *movers, const char *name)
{
	const struct ep_mover *mover;

	ep_vec_each(ep_movers_rows(movers), mover)
		if (strcmp(mover->name, name) == 0)
			return mover;
	return NULL;
}

EP_TEST(equal_runs_have_no_movers)
{
	struct program program = make_program();

	assert_true(movers_between_equals(&program, 1, 40, usual, 1, true) <= 1);
}

/* A garbage collector, say: the same in both, but a burst more or less is many samples. */
EP_TEST(a_burst_more_or_less_is_no_mover)
{
	struct program program = make_program();

	program.bursts = 12;
	assert_true(movers_between_equals(&program, 7, 40, usual, 1, false) <= 2);
}

/* One thing after the other: a burst each, and what differs is found all the same. */
EP_TEST(phases_are_compared)
{
	struct program before = make_program(), after = make_dearer(before, 0, 1.5);
	const struct program *programs[] = {&before, &after};
	struct recording both[2] = {0};
	ep_cleanup(ep_movers_freep) struct ep_movers *movers = NULL;
	uint64_t seed = 8;

	fill_tables();
	for (int i = 0; i < 2; i++) {
		ep_autofree uint32_t *rows = calloc(SAMPLES, sizeof(*rows));
		uint32_t n = 0;

		run_program(programs[i], SAMPLES, &seed, &both[i]);
		for (uint32_t row = 0; row < 2 * LEAVES; row++)
			for (uint32_t k = 0; k < both[i].count[row]; k++)
				rows[n++] = row;
		set_times(&both[i], rows, SAMPLES);
		both[i].batch.sample_time_ns = both[i].times;
	}
	movers = compare(&both[0], &both[1], false);
	assert_true(find(movers, "leaf0")->self.moved);
	recording_fini(&both[0]);
	recording_fini(&both[1]);
}

/* As many as there are of either length, and of lengths that differ. */
EP_TEST(equal_programs_of_other_lengths_have_no_movers)
{
	static const uint32_t samples[][2] = {{100, 100}, {100, 10000}, {10000, 100}, {1000, 50000}, {20, 20000}};
	struct program program = make_program();

	assert_true(movers_between_equals(&program, 2, 50, samples, EP_LEN(samples), true) <= 1);
}

EP_TEST(a_function_that_is_a_quarter_dearer_is_found)
{
	struct program before = make_program(), after = make_dearer(before, 0, 1.25);
	uint64_t seed = 3;
	int found = 0, covered = 0;

	for (int pair = 0; pair < 20; pair++) {
		ep_cleanup(ep_movers_freep) struct ep_movers *movers =
			run_both(&before, SAMPLES, &after, SAMPLES, &seed, false);
		const struct ep_mover *mover = find(movers, "leaf0");
		double truth = after.share[0] - before.share[0];

		found += mover->self.moved && mover->self.difference.low > 0;
		covered += mover->self.difference.low <= truth && truth <= mover->self.difference.high;
		assert_true(ep_mover_is_leaf(mover));
		assert_ptr_equal(ep_movers_rows(movers)->data, mover); /* the largest change is the first */
	}
	assert_true(found >= 19);
	assert_true(covered >= 19);
}

/* What is new or gone; the caller of what is more expensive moves with all it calls, and not by
 * itself. */
EP_TEST(fates_and_callers)
{
	struct program before = make_program(), after = make_dearer(make_dearer(before, 5, 0), 7, 10);
	ep_cleanup(ep_movers_freep) struct ep_movers *movers = NULL;
	uint64_t seed = 4;

	before = make_dearer(before, 9, 0);
	movers = run_both(&before, SAMPLES, &after, SAMPLES, &seed, false);
	assert_int_equal(ep_mover_fate(find(movers, "leaf5")), EP_MOVER_GONE);
	assert_int_equal(ep_mover_fate(find(movers, "leaf9")), EP_MOVER_NEW);
	assert_int_equal(ep_mover_fate(find(movers, "leaf7")), EP_MOVER_STAYS);
	assert_true(find(movers, "leaf7")->self.moved);
	assert_true(find(movers, "group7")->total.moved);
	assert_false(find(movers, "group7")->self.moved);
	assert_false(find(movers, "main")->total.moved);
	assert_int_equal(find(movers, "main")->total.count[EP_MOVERS_B], SAMPLES);
	ep_movers_sort(movers, true);
	assert_true(((const struct ep_mover *)ep_movers_rows(movers)->data)->total.moved);
}

/* Twice the work in twice the time: no share has changed and no rate; in the same time all rates have. */
EP_TEST(absolute_amounts_are_per_second)
{
	struct program program = make_program();
	ep_cleanup(recording_fini) struct recording a = {0}, b = {0};
	ep_cleanup(ep_movers_freep) struct ep_movers *movers = NULL, *same = NULL, *shares = NULL;
	uint64_t seed = 5;

	fill_tables();
	run_program(&program, SAMPLES, &seed, &a);
	run_program(&program, 2 * SAMPLES, &seed, &b);
	same = compare(&a, &b, true);
	assert_int_equal(ep_movers_moved(same), 0);
	b.batch.duration_ns = a.batch.duration_ns;
	shares = compare(&a, &b, false);
	assert_int_equal(ep_movers_moved(shares), 0);
	movers = compare(&a, &b, true);
	assert_true(find(movers, "main")->total.moved);
	assert_float_equal(find(movers, "main")->total.b / find(movers, "main")->total.a, 2.0, 0.01);
	/* ns of CPU time per second of recording: one CPU, twice. */
	assert_float_equal(find(movers, "main")->total.a / 1e9, 1.02, 0.01);
}

/* In each block of time: what is always the leaf has as much in total as by itself. */
EP_TEST(a_function_that_calls_itself_counts_once_in_a_stack)
{
	struct program program = make_program();
	ep_cleanup(recording_fini) struct recording a = {0};
	struct ep_bursts self = {0}, total = {0};
	uint32_t number_of[LEAVES + GROUPS + 2];
	double share;
	const struct ep_bursts_choice choice = {
		.number_of = number_of, .n = 1, .no_file = EP_BURSTS_NONE, .self_share = &share, .total_share = &share};
	uint64_t seed = 10;

	fill_tables();
	for (uint32_t i = 0; i < LEAVES; i++)
		tables.locations[3 * i + 1] = tables.locations[3 * i];
	memset(number_of, 0xff, sizeof(number_of)); /* EP_BURSTS_NONE */
	number_of[GROUPS + 2] = 0;
	run_program(&program, SAMPLES, &seed, &a);
	share = (double)(a.count[0] + a.count[1]) / SAMPLES;
	assert_int_equal(ep_bursts_add(&a.batch, &choice, &self, &total), 0);
	assert_true(self.squares > 0);
	assert_float_equal(total.squares, self.squares, 1e-9);
}

/* Two files before and one after: as long as both together. */
EP_TEST(files_of_a_side_add_up)
{
	struct program program = make_program();
	const struct ep_movers_options options = {.amount = EP_MOVERS_PER_SECOND};
	ep_cleanup(ep_movers_freep) struct ep_movers *movers = NULL;
	ep_cleanup(recording_fini) struct recording a = {0}, b = {0}, c = {0};
	uint64_t seed = 9;

	fill_tables();
	run_program(&program, SAMPLES, &seed, &a);
	run_program(&program, 2 * SAMPLES, &seed, &b);
	run_program(&program, SAMPLES, &seed, &c);
	assert_int_equal(ep_movers_new(&options, &movers), 0);
	assert_int_equal(ep_movers_add(movers, EP_MOVERS_A, &a.batch), 0);
	assert_int_equal(ep_movers_add(movers, EP_MOVERS_A, &b.batch), 0);
	assert_int_equal(ep_movers_add(movers, EP_MOVERS_B, &c.batch), 0);
	assert_int_equal(ep_movers_compare(movers), 0);
	assert_int_equal(ep_movers_moved(movers), 0);
	assert_true(ep_movers_sum(movers, EP_MOVERS_A).duration_ns ==
		    a.batch.duration_ns + b.batch.duration_ns);
}

EP_TEST(what_cannot_be_compared_is_refused)
{
	struct program program = make_program();
	struct ep_movers_options options = {.amount = EP_MOVERS_PER_SECOND};
	ep_cleanup(ep_movers_freep) struct ep_movers *movers = NULL, *empty = NULL;
	ep_cleanup(recording_fini) struct recording a = {0}, b = {0};
	uint64_t seed = 6;

	fill_tables();
	run_program(&program, 100, &seed, &a);
	run_program(&program, 100, &seed, &b);
	b.batch.weight_unit = "bytes";
	assert_int_equal(ep_movers_new(&options, &movers), 0);
	assert_int_equal(ep_movers_add(movers, EP_MOVERS_A, &a.batch), 0);
	assert_int_equal(ep_movers_add(movers, EP_MOVERS_B, &b.batch), -EINVAL);
	assert_int_equal(ep_movers_compare(movers), -ENODATA);
	b.batch.weight_unit = NULL;
	b.batch.duration_ns = 0;
	assert_int_equal(ep_movers_add(movers, EP_MOVERS_B, &b.batch), 0);
	assert_int_equal(ep_movers_compare(movers), -ENODATA);
	assert_int_equal(ep_movers_new(&options, &empty), 0);
	assert_int_equal(ep_movers_compare(empty), -ENODATA);
}

EP_TEST(chances_are_those_of_the_books)
{
	struct ep_chance_range range = ep_chance_of_count(10, 100, 1.96);

	assert_float_equal(ep_chance_deviations(0.05), 1.959964, 1e-5);
	assert_float_equal(ep_chance_deviations(1e-6), 4.891638, 1e-5);
	assert_float_equal(range.low / 100, 0.0552, 1e-4);
	assert_float_equal(range.high / 100, 0.1744, 1e-4);
	/* Fisher's tea: 3 of 4 cups against 1 of 4. */
	assert_float_equal(ep_chance_of_split(3, 4, 1, 4), 2 * 17.0 / 70, 1e-9);
	assert_float_equal(ep_chance_of_split(4, 4, 0, 4), 2 * 1.0 / 70, 1e-9);
	assert_float_equal(ep_chance_of_split(0, 4, 4, 4), 2 * 1.0 / 70, 1e-9);
	assert_float_equal(ep_chance_of_rates(0, 1, 10, 1), 2 * pow(0.5, 10), 1e-9);
	assert_float_equal(ep_chance_of_rates(0, 3, 10, 1), 2 * pow(0.25, 10), 1e-12);
	assert_float_equal(ep_chance_of_rates(10, 3, 0, 1), 2 * pow(0.75, 10), 1e-9);
	assert_float_equal(ep_chance_of_split(5, 4, 0, 4), 1, 1e-9); /* more than there are */
	assert_float_equal(ep_chance_of_rates(1, 0, 1, 1), 1, 1e-9);
}
