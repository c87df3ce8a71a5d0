/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much more the samples of a function vary in time than independent samples would: what comes in bursts
 * (interrupts, a garbage collection) is fewer events than samples, and a count of it says less. A recording is cut
 * into blocks of equally many samples, in their order in time; the variance of a function's counts in the blocks,
 * divided by that of a binomial count, is its dispersion: 1 for independent samples, more for bursts.
 *
 * A program that does one thing after the other has a large dispersion, too, without being less certain. So the
 * caller bounds it.
 */
#ifndef EP_VIEW_BURSTS_H
#define EP_VIEW_BURSTS_H

#include "core/base/util.h"

struct ep_batch;

#define EP_BURSTS_BLOCKS 20
#define EP_BURSTS_NONE	 UINT32_MAX

/* The sum of squares of one function, over the blocks of all batches of both sides. */
struct ep_bursts {
	double squares;	   /* (count - expected)^2 / variance */
	uint32_t n_blocks; /* that were added */
	uint32_t n_means;  /* that were estimated of them: one for each side */
};

/* What is looked at in a batch: numbers of functions, each with its share of the side's samples. */
struct ep_bursts_choice {
	const uint32_t *number_of; /* by function of the batch: EP_BURSTS_NONE or below n */
	uint32_t no_file;	   /* the number of code of no file, likewise */
	uint32_t n;
	const double *self_share, *total_share; /* by number */
};

/*
 * Adds a batch to `self` and `total`, arrays by number. 0 or -ENOMEM; a batch without times, or with fewer samples
 * than blocks are worth, adds nothing.
 */
int ep_bursts_add(const struct ep_batch *batch, const struct ep_bursts_choice *choice, struct ep_bursts *self,
		  struct ep_bursts *total);
/* 1 where nothing is known. */
double ep_bursts_dispersion(const struct ep_bursts *bursts);

#endif
