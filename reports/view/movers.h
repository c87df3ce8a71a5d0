/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which functions differ between two profiles, A and B, by more than the noise of counting samples.
 *
 *	struct ep_movers *movers;
 *	ep_movers_new(&options, &movers);
 *	ep_movers_add(movers, EP_MOVERS_A, batch);	each side: one batch or several
 *	ep_movers_add(movers, EP_MOVERS_B, other);
 *	ep_movers_compare(movers);			then rows, most moved first
 *
 * Amounts are sums of weights; how certain they are follows from counts. Each function is compared
 * by what it takes itself and by what it takes with all it calls; functions of equal name are one,
 * and recursion counts once. Where samples of a function come in bursts, its intervals are wider
 * (bursts.h). The intervals hold together: the probability that chance makes a mover of any function
 * is at most `alpha`. Functions that have too few samples in both to be ever found different do not
 * count among those compared (Tarone, "A modified Bonferroni method for discrete data", Biometrics
 * 46, 1990), and those that are in the same stacks, as a program's main and what calls it, are one
 * comparison.
 */
#ifndef EP_VIEW_MOVERS_H
#define EP_VIEW_MOVERS_H

#include "core/base/util.h"
#include "core/base/vec.h"
#include "reports/view/chance.h"

struct ep_batch;
struct ep_movers;

enum ep_movers_side { EP_MOVERS_A, EP_MOVERS_B, EP_MOVERS_SIDES };

/* What is compared of a function. */
enum ep_movers_amount {
	EP_MOVERS_SHARE,      /* of all weight: 0 to 1 */
	EP_MOVERS_PER_SECOND, /* weight per second of recording: of services, whose work has no end
			       */
	EP_MOVERS_TOTAL, /* weight of the whole recording: of equal work, however long it took */
};

struct ep_movers_options {
	double alpha; /* 0: 0.05 */
	enum ep_movers_amount amount;
};

/* Of one function, its own part or all of it; a, b, low and high are such amounts. */
struct ep_movers_change {
	uint64_t count[EP_MOVERS_SIDES], weight[EP_MOVERS_SIDES];
	uint64_t stacks; /* a sum over the stacks that were counted: equal for an equal set of them
			  */
	double a, b;
	struct ep_chance_range difference; /* of b - a */
	bool moved;			   /* it does not contain 0 */
};

struct ep_mover {
	const char *name; /* of movers */
	struct ep_movers_change self, total;
};

/* It calls nothing that was sampled: both changes are the same. */
bool ep_mover_is_leaf(const struct ep_mover *mover);

/* What is sampled only in A or only in B and has moved; the others are in both. */
enum ep_mover_fate { EP_MOVER_STAYS, EP_MOVER_NEW, EP_MOVER_GONE };
enum ep_mover_fate ep_mover_fate(const struct ep_mover *mover);

struct ep_movers_sum {
	uint64_t count, weight, duration_ns;
	char unit[32]; /* of weights: "nanoseconds" */
	char type[32]; /* of samples: "cpu"; of several files the last one's */
};

int ep_movers_new(const struct ep_movers_options *options, struct ep_movers **ret_movers);
void ep_movers_free(struct ep_movers *movers); /* accepts NULL */
static inline void ep_movers_freep(struct ep_movers **movers)
{
	ep_movers_free(*movers);
}
/* 0, -EINVAL: weights are of another unit than those before; -E2BIG, -ENOMEM. The batch is borrowed until the compare. */
int ep_movers_add(struct ep_movers *movers, enum ep_movers_side side, const struct ep_batch *batch);
/*
 * Once, when all is added. 0, or -ENODATA: a side has no samples, or, of amounts per second, says
 * nothing of how long it was recorded.
 */
int ep_movers_compare(struct ep_movers *movers);

/*
 * After the compare: the least that a function must take more in B to be a mover, as an amount, if
 * it has this share of A's samples (0: it is new). INFINITY: no number of samples of B would do.
 */
double ep_movers_least_change(const struct ep_movers *movers, double share);

/*
 * struct ep_mover: all functions; those first that moved by what they take themselves (after a sort by total:
 * with all they call), the largest change first.
 */
const struct ep_vec *ep_movers_rows(const struct ep_movers *movers);
void ep_movers_sort(struct ep_movers *movers, bool total);
size_t ep_movers_moved(const struct ep_movers *movers); /* how many of these moved */
struct ep_movers_sum ep_movers_sum(const struct ep_movers *movers, enum ep_movers_side side);

#endif
