/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/view/chance.h"

#include <math.h>

double ep_chance_deviations(double alpha)
{
	double low = 0, high = 40; /* beyond what a double can tell from 0 */

	if (alpha >= 1)
		return 0;
	for (int i = 0; i < 100; i++) {
		double middle = (low + high) / 2;

		if (erfc(middle / sqrt(2)) > alpha)
			low = middle;
		else
			high = middle;
	}
	return high;
}

struct ep_chance_range ep_chance_of_count(double count, double n, double z)
{
	double share = n > 0 ? EP_MIN(count / n, 1.0) : 0;
	double middle = count + z * z / 2, half = z * sqrt(count * (1 - share) + z * z / 4);
	double shrink = n > 0 ? n / (n + z * z) : 1;

	return (struct ep_chance_range){
		.low = EP_MAX((middle - half) * shrink, 0.0),
		.high = n > 0 ? EP_MIN((middle + half) * shrink, n) : middle + half,
	};
}

static double length(double x, double y)
{
	return sqrt(x * x + y * y);
}

struct ep_chance_range ep_chance_of_difference(struct ep_chance_side a, struct ep_chance_side b, double z)
{
	struct ep_chance_range in_a = ep_chance_of_count(a.count, a.n, z), in_b = ep_chance_of_count(b.count, b.n, z);
	double difference = b.count / b.scale - a.count / a.scale;

	return (struct ep_chance_range){
		.low = difference -
		       length((b.count - in_b.low) / b.scale, (in_a.high - a.count) / a.scale),
		.high = difference +
			length((in_b.high - b.count) / b.scale, (a.count - in_a.low) / a.scale),
	};
}

static double log_choose(double n, double k)
{
	return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

/*
 * Sums a tail that falls from `from` on in steps of `step`: at most `n` terms, and none that no longer
 * counts. The first is exact, the others follow from it by their ratio, which `next` tells.
 */
struct split {
	double total, n_a, n_b; /* shares */
	double odds;		/* rates: scale_a / scale_b; 0: shares */
};

static double split_ratio(const struct split *split, double a, bool up)
{
	double b = split->total - a;

	if (split->odds > 0)
		return up ? b / (a + 1) * split->odds : a / (b + 1) / split->odds;
	return up ? b * (split->n_a - a) / ((a + 1) * (split->n_b - b + 1))
		  : a * (split->n_b - b) / ((b + 1) * (split->n_a - a + 1));
}

static double split_tail(const struct split *split, double a, double first, bool up)
{
	double sum = 0, term = first;

	for (double i = 0; i <= split->total && term > sum * 1e-12; i++) {
		sum += term;
		term *= split_ratio(split, up ? a + i : a - i, up);
	}
	return sum;
}

/* Towards the side that has more than its part. */
static double split_chance(const struct split *split, double a, double expected, double first)
{
	return EP_MIN(2 * split_tail(split, a, first, a > expected), 1.0);
}

double ep_chance_of_split(uint64_t a, uint64_t n_a, uint64_t b, uint64_t n_b)
{
	struct split split = {.total = (double)(a + b), .n_a = (double)n_a, .n_b = (double)n_b};
	double n = split.n_a + split.n_b;

	if (a > n_a || b > n_b || n_a == 0 || n_b == 0)
		return 1;
	return split_chance(&split, (double)a, split.total * split.n_a / n,
			    exp(log_choose(split.n_a, (double)a) + log_choose(split.n_b, (double)b) -
				log_choose(n, split.total)));
}

double ep_chance_of_rates(uint64_t a, double scale_a, uint64_t b, double scale_b)
{
	struct split split = {.total = (double)(a + b)};
	double p = scale_a / (scale_a + scale_b);

	if (!(scale_a > 0) || !(scale_b > 0))
		return 1;
	split.odds = scale_a / scale_b;
	return split_chance(&split, (double)a, split.total * p,
			    exp(log_choose(split.total, (double)a) + (double)a * log(p) +
				(double)b * log1p(-p)));
}
