/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What two counts of samples say of a difference, and what only chance made of it. A sample hits a function
 * or does not, so a count c of n samples is binomial: that is the noise of counting, and no other. What
 * differs from run to run for reasons of its own (another layout of memory, another phase) is no noise here.
 *
 * Intervals are Wilson's for one share, and for a difference of two the square-and-add of these (Newcombe,
 * "Interval estimation for the difference between independent proportions", Statistics in Medicine 17, 1998,
 * method 10); n = infinity is the limit of Poisson counts, for rates. With few samples on one side only they
 * are too narrow, so the exact test (Fisher's; for rates the binomial one) is asked as well.
 */
#ifndef EP_VIEW_CHANCE_H
#define EP_VIEW_CHANCE_H

#include "core/base/util.h"

/* How many standard deviations a normal variable exceeds, up or down, with probability alpha: 1.96 for 0.05. */
double ep_chance_deviations(double alpha);

struct ep_chance_range {
	double low, high;
};

/* Of a count: the counts that are as likely as z standard deviations allow. n <= 0: Poisson. */
struct ep_chance_range ep_chance_of_count(double count, double n, double z);

/* One side: count/scale is what is compared, a share (scale = n) or a rate (n 0, scale the seconds or such). */
struct ep_chance_side {
	double count, n, scale;
};

/* b - a, with its interval. */
struct ep_chance_range ep_chance_of_difference(struct ep_chance_side a, struct ep_chance_side b, double z);

/*
 * Probability that chance alone deals `a + b` samples as unevenly as this, to either side: of shares, of n_a and
 * n_b samples in all; of rates by the two scales. Twice the smaller tail, at most 1.
 */
double ep_chance_of_split(uint64_t a, uint64_t n_a, uint64_t b, uint64_t n_b);
double ep_chance_of_rates(uint64_t a, double scale_a, uint64_t b, double scale_b);

#endif
