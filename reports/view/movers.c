/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions are rows, found by the id of their name. ep_movers_add counts a batch's stacks into them;
 * ep_movers_compare first finds how many comparisons there are (count_comparisons), which says how far apart
 * the two sides of one must be (z, alpha of each), and then makes each (compare_change). What seems to have moved
 * is looked at once more: where its samples come in bursts (bursts.h), its intervals are widened (widen).
 */
#include "reports/view/movers.h"
#include "core/base/clock.h"
#include "core/base/strings.h"
#include "ebpf-profiler/batch.h"
#include "reports/view/bursts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_ALPHA	0.05
#define MAX_NAME_BYTES	(256u << 20)
#define MAX_FUNCTIONS	(4u << 20)
/* Addresses without a name are others in each process: they are one function here. */
#define NO_NAME "[code of no file]"
/*
 * Bursts double an interval at most: a program that does one thing after the other looks like one burst for each,
 * and what differs in it must still be found.
 */
#define MAX_DISPERSION 4.0
#define MAX_BATCHES    4096
/* With that many samples of a function the interval alone is good enough, and the exact test costs more. */
#define EXACT_SAMPLES 2000

struct row {
	struct ep_mover mover;
	uint32_t last_stack; /* that counted it, numbered from 1 */
};

struct side_batch {
	const struct ep_batch *batch; /* borrowed */
	enum ep_movers_side side;
};

struct ep_movers {
	struct ep_movers_options options;
	struct ep_strings *names;
	struct ep_vec rows;   /* struct row, by id of names; then sorted */
	struct ep_vec movers; /* struct ep_mover, of rows that were sampled */
	struct ep_vec batches; /* struct side_batch: until they were compared */
	struct ep_movers_sum sums[EP_MOVERS_SIDES];
	size_t n_moved;
	uint32_t n_stacks;
	double alpha, z; /* of each comparison, once compared */
};

int ep_movers_new(const struct ep_movers_options *options, struct ep_movers **ret_movers)
{
	struct ep_movers *movers = calloc(1, sizeof(*movers));
	int r;

	if (!movers)
		return -ENOMEM;
	movers->options = *options;
	if (!(movers->options.alpha > 0))
		movers->options.alpha = DEFAULT_ALPHA;
	ep_vec_init(&movers->rows, sizeof(struct row), MAX_FUNCTIONS);
	ep_vec_init(&movers->movers, sizeof(struct ep_mover), MAX_FUNCTIONS);
	ep_vec_init(&movers->batches, sizeof(struct side_batch), MAX_BATCHES);
	r = ep_strings_new(MAX_NAME_BYTES, &movers->names);
	if (r < 0) {
		ep_movers_free(movers);
		return r;
	}
	*ret_movers = movers;
	return 0;
}

void ep_movers_free(struct ep_movers *movers)
{
	if (!movers)
		return;
	ep_vec_fini(&movers->batches);
	ep_vec_fini(&movers->rows);
	ep_vec_fini(&movers->movers);
	ep_strings_free(movers->names);
	free(movers);
}

/* --- counting -------------------------------------------------------------------------------- */

/* A batch that is being added. */
struct adding {
	struct ep_movers *movers;
	const struct ep_batch *batch;
	enum ep_movers_side side;
	uint64_t *count, *weight; /* by stack */
	uint32_t *row;		  /* by function of the batch */
	uint32_t no_name;	  /* row of NO_NAME */
};

static void adding_fini(struct adding *adding)
{
	free(adding->count);
	free(adding->weight);
	free(adding->row);
}

static int find_row(struct ep_movers *movers, const char *name, size_t bytes, uint32_t *ret_row)
{
	int r = ep_strings_add(movers->names, name, bytes, ret_row);

	while (r == 0 && movers->rows.len < ep_strings_count(movers->names))
		if (!ep_vec_push(&movers->rows))
			r = movers->rows.len == MAX_FUNCTIONS ? -E2BIG : -ENOMEM;
	return r;
}

static int find_rows(struct adding *adding)
{
	const struct ep_batch *batch = adding->batch;
	int r = find_row(adding->movers, NO_NAME, strlen(NO_NAME), &adding->no_name);

	for (uint32_t i = 0; i < batch->n_functions && r == 0; i++) {
		uint32_t name = batch->function_name[i];

		r = find_row(adding->movers, batch->string_text[name], batch->string_bytes[name], &adding->row[i]);
	}
	return r;
}

/* Sums of these differ for different sets (the finalizer of MurmurHash3 over Weyl's sequence). */
static uint64_t stack_mark(uint32_t stack)
{
	uint64_t mark = stack * 0x9e3779b97f4a7c15ull;

	mark = (mark ^ mark >> 33) * 0xff51afd7ed558ccdull;
	mark = (mark ^ mark >> 33) * 0xc4ceb9fe1a85ec53ull;
	return mark ^ mark >> 33;
}

static void count_row(struct adding *adding, uint32_t at, uint32_t stack, bool is_leaf)
{
	struct row *row = ep_vec_at(&adding->movers->rows, struct row, at);

	if (is_leaf) {
		row->mover.self.count[adding->side] += adding->count[stack];
		row->mover.self.weight[adding->side] += adding->weight[stack];
		row->mover.self.stacks += stack_mark(adding->movers->n_stacks);
	}
	if (row->last_stack == adding->movers->n_stacks)
		return;
	row->last_stack = adding->movers->n_stacks;
	row->mover.total.count[adding->side] += adding->count[stack];
	row->mover.total.weight[adding->side] += adding->weight[stack];
	row->mover.total.stacks += stack_mark(adding->movers->n_stacks);
}

static bool is_of_no_file(const struct ep_batch *batch, uint32_t location)
{
	return EP_HAS(batch, location_unnamed) && batch->location_unnamed[location] == EP_UNNAMED_NO_FILE;
}

/* As the summary does: a frame that says why others are missing counts where it is all there is. */
static void count_location(struct adding *adding, uint32_t location, uint32_t stack, bool is_leaf)
{
	const struct ep_batch *batch = adding->batch;
	uint32_t first = batch->location_line_first[location], end = batch->location_line_first[location + 1];

	if (!is_leaf && (batch->location_flags[location] & (EP_LOCATION_ERROR | EP_LOCATION_GAP)))
		return;
	if (is_of_no_file(batch, location)) {
		count_row(adding, adding->no_name, stack, is_leaf);
		return;
	}
	for (uint32_t line = first; line < end; line++)
		count_row(adding, adding->row[batch->line_function[line]], stack, is_leaf && line == first);
}

static void count_stacks(struct adding *adding)
{
	const struct ep_batch *batch = adding->batch;

	for (uint32_t i = 0; i < batch->n_stacks; i++) {
		uint32_t first = batch->stack_location_first[i], end = batch->stack_location_first[i + 1];

		if (!adding->count[i])
			continue;
		adding->movers->n_stacks++;
		for (uint32_t k = first; k < end; k++)
			count_location(adding, batch->stack_location[k], i, k == first);
	}
}

static int check_unit(struct ep_movers *movers, const struct ep_batch *batch)
{
	const char *unit = EP_HAS(batch, weight_unit) ? batch->weight_unit : "nanoseconds";

	for (int side = 0; side < EP_MOVERS_SIDES; side++) {
		struct ep_movers_sum *sum = &movers->sums[side];

		if (sum->unit[0] && strncmp(sum->unit, unit, sizeof(sum->unit) - 1) != 0)
			return -EINVAL;
	}
	return 0;
}

static void sum_samples(struct adding *adding)
{
	const struct ep_batch *batch = adding->batch;
	struct ep_movers_sum *sum = &adding->movers->sums[adding->side];

	snprintf(sum->unit, sizeof(sum->unit), "%s", EP_HAS(batch, weight_unit) ? batch->weight_unit : "nanoseconds");
	snprintf(sum->type, sizeof(sum->type), "%s", batch->sample_type);
	sum->duration_ns += batch->duration_ns;
	for (uint32_t i = 0; i < batch->n_samples; i++) {
		uint64_t weight = ep_batch_weight_ns(batch, i);

		adding->count[batch->sample_stack[i]] += batch->sample_count[i];
		adding->weight[batch->sample_stack[i]] += weight;
		sum->count += batch->sample_count[i];
		sum->weight += weight;
	}
}

int ep_movers_add(struct ep_movers *movers, enum ep_movers_side side, const struct ep_batch *batch)
{
	ep_cleanup(adding_fini) struct adding adding = {
		.movers = movers,
		.batch = batch,
		.side = side,
		.count = calloc((size_t)batch->n_stacks + 1, sizeof(*adding.count)),
		.weight = calloc((size_t)batch->n_stacks + 1, sizeof(*adding.weight)),
		.row = calloc((size_t)batch->n_functions + 1, sizeof(*adding.row)),
	};
	int r;

	if (!adding.count || !adding.weight || !adding.row)
		return -ENOMEM;
	r = check_unit(movers, batch);
	if (r == 0)
		r = find_rows(&adding);
	if (r == 0)
		r = ep_vec_append(&movers->batches, &(struct side_batch){batch, side}, 1);
	if (r < 0)
		return r;
	sum_samples(&adding);
	count_stacks(&adding);
	return 0;
}

/* --- comparing ------------------------------------------------------------------------------- */

static double weight_per_sample(const struct ep_movers_sum *sum)
{
	return (double)sum->weight / (double)sum->count;
}

/*
 * What a count is divided by to be the amount of its weight, as CPUs' clocks differ. A function
 * without samples would have had samples of the mean weight.
 */
static double scale_of(const struct ep_movers *movers, const struct ep_movers_change *change, int side)
{
	const struct ep_movers_sum *sum = &movers->sums[side];
	double each = change->weight[side] && change->count[side]
			      ? (double)change->weight[side] / (double)change->count[side]
			      : weight_per_sample(sum);

	switch (movers->options.amount) {
	case EP_MOVERS_PER_SECOND:
		return (double)sum->duration_ns / EP_NS_PER_SEC / each;
	case EP_MOVERS_TOTAL:
		return 1 / each;
	case EP_MOVERS_SHARE:
		break;
	}
	return (double)sum->weight / each;
}

static bool is_share(const struct ep_movers *movers)
{
	return movers->options.amount == EP_MOVERS_SHARE;
}

static struct ep_chance_side side_of(const struct ep_movers *movers, const struct ep_movers_change *change, int side)
{
	double scale = scale_of(movers, change, side);

	return (struct ep_chance_side){
		.count = (double)change->count[side],
		.n = !is_share(movers) ? 0 : EP_MAX(scale, (double)change->count[side]),
		.scale = scale,
	};
}

/* How likely the counts are by chance; 0 where there are too many for the question to matter. */
static double exact_chance(const struct ep_movers *movers, const struct ep_movers_change *change)
{
	uint64_t a = change->count[EP_MOVERS_A], b = change->count[EP_MOVERS_B];

	if (a + b >= EXACT_SAMPLES)
		return 0;
	if (!is_share(movers))
		return ep_chance_of_rates(a, scale_of(movers, change, EP_MOVERS_A), b,
					  scale_of(movers, change, EP_MOVERS_B));
	return ep_chance_of_split(a, movers->sums[EP_MOVERS_A].count, b, movers->sums[EP_MOVERS_B].count);
}

static void compare_change(const struct ep_movers *movers, struct ep_movers_change *change,
			   double dispersion)
{
	struct ep_chance_side a = side_of(movers, change, EP_MOVERS_A), b = side_of(movers, change, EP_MOVERS_B);

	change->difference = ep_chance_of_difference(a, b, movers->z * sqrt(dispersion));
	change->a = a.count / a.scale;
	change->b = b.count / b.scale;
	if (exact_chance(movers, change) > movers->alpha) {
		change->difference.low = EP_MIN(change->difference.low, 0.0);
		change->difference.high = EP_MAX(change->difference.high, 0.0);
	}
	change->moved = change->difference.low > 0 || change->difference.high < 0;
}

bool ep_mover_is_leaf(const struct ep_mover *mover)
{
	return memcmp(mover->self.count, mover->total.count, sizeof(mover->self.count)) == 0;
}

/* The smallest chance that any split of these samples has: above alpha they can never be found different. */
static double least_chance(const struct ep_movers *movers, const struct ep_movers_change *change)
{
	uint64_t all = change->count[EP_MOVERS_A] + change->count[EP_MOVERS_B];
	const struct ep_movers_sum *sums = movers->sums;
	double scale_a, scale_b;

	if (all >= EXACT_SAMPLES || all > sums[EP_MOVERS_A].count || all > sums[EP_MOVERS_B].count)
		return 0;
	if (is_share(movers))
		return EP_MIN(ep_chance_of_split(all, sums[EP_MOVERS_A].count, 0, sums[EP_MOVERS_B].count),
			      ep_chance_of_split(0, sums[EP_MOVERS_A].count, all, sums[EP_MOVERS_B].count));
	scale_a = scale_of(movers, change, EP_MOVERS_A);
	scale_b = scale_of(movers, change, EP_MOVERS_B);
	return EP_MIN(ep_chance_of_rates(all, scale_a, 0, scale_b), ep_chance_of_rates(0, scale_a, all, scale_b));
}

static int by_chance(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return a < b ? -1 : a > b;
}

/* How many of the sorted chances are at most `alpha`. */
static size_t count_up_to(const struct ep_vec *chances, double alpha)
{
	size_t low = 0, high = chances->len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (*ep_vec_at(chances, double, middle) <= alpha)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int by_stacks(const void *left, const void *right)
{
	uint64_t a = (*(const struct ep_movers_change *const *)left)->stacks;
	uint64_t b = (*(const struct ep_movers_change *const *)right)->stacks;

	return a < b ? -1 : a > b;
}

/* The chances of all comparisons, sorted. Changes of the same stacks are one comparison. */
static int list_chances(const struct ep_movers *movers, struct ep_vec *chances)
{
	ep_cleanup(ep_vec_fini) struct ep_vec list = {0};
	const struct ep_movers_change **changes;
	const struct ep_mover *mover;
	int r = 0;

	ep_vec_init(&list, sizeof(*changes), 2 * MAX_FUNCTIONS);
	ep_vec_each(&movers->movers, mover) {
		const struct ep_movers_change *both[] = {&mover->self, &mover->total};

		r = ep_vec_append(&list, both, EP_LEN(both));
		if (r < 0)
			return r;
	}
	changes = list.data;
	if (list.len)
		qsort(changes, list.len, sizeof(*changes), by_stacks);
	for (size_t i = 0; i < list.len && r == 0; i++) {
		double chance;

		if (changes[i]->count[EP_MOVERS_A] + changes[i]->count[EP_MOVERS_B] == 0 ||
		    (i > 0 && changes[i]->stacks == changes[i - 1]->stacks))
			continue;
		chance = least_chance(movers, changes[i]);
		r = ep_vec_append(chances, &chance, 1);
	}
	if (chances->len)
		qsort(chances->data, chances->len, sizeof(double), by_chance);
	return r;
}

/* Tarone's K: the least number that is not exceeded by that of the comparisons that alpha / K can
 * decide. */
static int count_comparisons(const struct ep_movers *movers, double *ret_n)
{
	ep_cleanup(ep_vec_fini) struct ep_vec chances;
	size_t n = 1;
	int r;

	ep_vec_init(&chances, sizeof(double), 2 * MAX_FUNCTIONS);
	r = list_chances(movers, &chances);
	if (r < 0)
		return r;
	while (count_up_to(&chances, movers->options.alpha / (double)n) > n)
		n++;
	*ret_n = (double)n;
	return 0;
}

/* Row 0 of names, "", is that of locations without a function. */
static int take_rows(struct ep_movers *movers)
{
	struct row *row;

	ep_vec_each(&movers->rows, row) {
		uint32_t name = (uint32_t)(row - (struct row *)movers->rows.data);
		int r;

		if (row->mover.total.count[EP_MOVERS_A] + row->mover.total.count[EP_MOVERS_B] == 0)
			continue;
		row->mover.name = ep_strings_get(movers->names, name);
		r = ep_vec_append(&movers->movers, &row->mover, 1);
		if (r < 0)
			return r;
	}
	return 0;
}

/* --- bursts ---------------------------------------------------------------------------------- */

/* What seems to have moved: by its number, its mover, and by the id of its name, its number. */
struct candidates {
	struct ep_vec movers; /* struct ep_mover * */
	uint32_t *number_of;  /* by id of names */
	double *shares;	      /* two for each: self, then total of all */
	struct ep_bursts *bursts;
};

static void candidates_fini(struct candidates *candidates)
{
	ep_vec_fini(&candidates->movers);
	free(candidates->number_of);
	free(candidates->shares);
	free(candidates->bursts);
}

static int find_candidates(struct ep_movers *movers, struct candidates *candidates)
{
	size_t names = ep_strings_count(movers->names);
	struct ep_mover *mover;
	uint32_t id;
	int r = 0;

	candidates->number_of = malloc((names + 1) * sizeof(*candidates->number_of));
	if (!candidates->number_of)
		return -ENOMEM;
	memset(candidates->number_of, 0xff, (names + 1) * sizeof(*candidates->number_of)); /* EP_BURSTS_NONE */
	ep_vec_each(&movers->movers, mover) {
		if (!mover->self.moved && !mover->total.moved)
			continue;
		r = ep_strings_add(movers->names, mover->name, strlen(mover->name), &id); /* it is there */
		if (r == 0)
			r = ep_vec_append(&candidates->movers, &mover, 1);
		if (r < 0)
			return r;
		candidates->number_of[id] = (uint32_t)candidates->movers.len - 1;
	}
	candidates->shares = calloc(candidates->movers.len + 1, 2 * sizeof(*candidates->shares));
	candidates->bursts = calloc(candidates->movers.len + 1, 2 * sizeof(*candidates->bursts));
	return candidates->shares && candidates->bursts ? 0 : -ENOMEM;
}

static void set_shares(const struct ep_movers *movers, struct candidates *candidates, enum ep_movers_side side)
{
	size_t n = candidates->movers.len;

	for (size_t i = 0; i < n; i++) {
		const struct ep_mover *mover = *ep_vec_at(&candidates->movers, struct ep_mover *, i);
		double all = (double)movers->sums[side].count;

		candidates->shares[i] = (double)mover->self.count[side] / all;
		candidates->shares[n + i] = (double)mover->total.count[side] / all;
	}
}

static int add_bursts(struct ep_movers *movers, struct candidates *candidates, const struct side_batch *batch)
{
	size_t n = candidates->movers.len;
	ep_autofree uint32_t *numbers = calloc((size_t)batch->batch->n_functions + 1, sizeof(*numbers));
	struct adding adding = {.movers = movers, .batch = batch->batch, .row = numbers};
	struct ep_bursts_choice choice = {
		.number_of = numbers,
		.n = (uint32_t)n,
		.self_share = candidates->shares,
		.total_share = candidates->shares + n,
	};
	int r = numbers ? find_rows(&adding) : -ENOMEM;

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < batch->batch->n_functions; i++)
		numbers[i] = candidates->number_of[numbers[i]];
	choice.no_file = candidates->number_of[adding.no_name];
	return ep_bursts_add(batch->batch, &choice, candidates->bursts, candidates->bursts + n);
}

static double bounded(struct ep_bursts *bursts)
{
	bursts->n_means = EP_MOVERS_SIDES;
	return EP_MIN(EP_MAX(ep_bursts_dispersion(bursts), 1.0), MAX_DISPERSION);
}

static int widen(struct ep_movers *movers)
{
	ep_cleanup(candidates_fini) struct candidates candidates = {0};
	size_t n;
	int r;

	ep_vec_init(&candidates.movers, sizeof(struct ep_mover *), MAX_FUNCTIONS);
	r = find_candidates(movers, &candidates);
	n = candidates.movers.len;
	for (int side = 0; side < EP_MOVERS_SIDES && r == 0 && n; side++) {
		const struct side_batch *batch;

		set_shares(movers, &candidates, (enum ep_movers_side)side);
		ep_vec_each(&movers->batches, batch) {
			if (r == 0 && (int)batch->side == side)
				r = add_bursts(movers, &candidates, batch);
		}
	}
	for (size_t i = 0; i < n && r == 0; i++) {
		struct ep_mover *mover = *ep_vec_at(&candidates.movers, struct ep_mover *, i);

		compare_change(movers, &mover->self, bounded(&candidates.bursts[i]));
		compare_change(movers, &mover->total, bounded(&candidates.bursts[n + i]));
	}
	return r;
}

/* --- all ------------------------------------------------------------------------------------- */

static bool can_compare(const struct ep_movers *movers)
{
	for (int side = 0; side < EP_MOVERS_SIDES; side++)
		if (!movers->sums[side].count || !movers->sums[side].weight ||
		    (movers->options.amount == EP_MOVERS_PER_SECOND &&
		     !movers->sums[side].duration_ns))
			return false;
	return true;
}

int ep_movers_compare(struct ep_movers *movers)
{
	struct ep_mover *mover;
	double n = 1;
	int r;

	if (!can_compare(movers))
		return -ENODATA;
	r = take_rows(movers);
	if (r == 0)
		r = count_comparisons(movers, &n);
	if (r < 0)
		return r;
	movers->alpha = movers->options.alpha / n;
	movers->z = ep_chance_deviations(movers->alpha);
	ep_vec_each(&movers->movers, mover) {
		compare_change(movers, &mover->self, 1);
		compare_change(movers, &mover->total, 1);
	}
	r = widen(movers);
	if (r < 0)
		return r;
	ep_vec_fini(&movers->batches);
	ep_vec_each(&movers->movers, mover)
		movers->n_moved += mover->self.moved || mover->total.moved;
	ep_movers_sort(movers, false);
	return 0;
}

/* --- power ----------------------------------------------------------------------------------- */

static struct ep_movers_change change_of(const struct ep_movers *movers, uint64_t a, uint64_t b)
{
	const struct ep_movers_sum *sums = movers->sums;
	struct ep_movers_change change = {
		.count = {a, b},
		.weight = {(uint64_t)((double)a * weight_per_sample(&sums[EP_MOVERS_A])),
			   (uint64_t)((double)b * weight_per_sample(&sums[EP_MOVERS_B]))},
	};

	compare_change(movers, &change, 1);
	return change;
}

double ep_movers_least_change(const struct ep_movers *movers, double share)
{
	uint64_t all_b = movers->sums[EP_MOVERS_B].count;
	uint64_t a = (uint64_t)(share * (double)movers->sums[EP_MOVERS_A].count + 0.5);
	uint64_t low = 0, high = is_share(movers) ? all_b : 1000 + 10 * (a + all_b);
	struct ep_movers_change change = change_of(movers, a, high);

	if (change.difference.low <= 0)
		return INFINITY;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (change_of(movers, a, middle).difference.low > 0)
			high = middle;
		else
			low = middle + 1;
	}
	change = change_of(movers, a, high);
	return change.b - change.a;
}

/* --- reading --------------------------------------------------------------------------------- */

enum ep_mover_fate ep_mover_fate(const struct ep_mover *mover)
{
	if (!mover->total.moved)
		return EP_MOVER_STAYS;
	if (!mover->total.count[EP_MOVERS_A])
		return EP_MOVER_NEW;
	return mover->total.count[EP_MOVERS_B] ? EP_MOVER_STAYS : EP_MOVER_GONE;
}

static int by_change(const struct ep_movers_change *a, const struct ep_movers_change *b)
{
	double in_a = fabs(a->b - a->a), in_b = fabs(b->b - b->a);

	if (a->moved != b->moved)
		return a->moved ? -1 : 1;
	return in_a > in_b ? -1 : in_a < in_b;
}

static int by_self(const void *left, const void *right)
{
	const struct ep_mover *a = left, *b = right;
	int order = by_change(&a->self, &b->self);

	order = order ? order : by_change(&a->total, &b->total);
	return order ? order : strcmp(a->name, b->name);
}

static int by_total(const void *left, const void *right)
{
	const struct ep_mover *a = left, *b = right;
	int order = by_change(&a->total, &b->total);

	order = order ? order : by_change(&a->self, &b->self);
	return order ? order : strcmp(a->name, b->name);
}

void ep_movers_sort(struct ep_movers *movers, bool total)
{
	if (movers->movers.len > 1)
		qsort(movers->movers.data, movers->movers.len, sizeof(struct ep_mover), total ? by_total : by_self);
}

const struct ep_vec *ep_movers_rows(const struct ep_movers *movers)
{
	return &movers->movers;
}

size_t ep_movers_moved(const struct ep_movers *movers)
{
	return movers->n_moved;
}

struct ep_movers_sum ep_movers_sum(const struct ep_movers *movers, enum ep_movers_side side)
{
	return movers->sums[side];
}
