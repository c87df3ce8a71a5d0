/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bpf/period.h"
#include "core/base/clock.h"

#include <errno.h>

/*
 * How far off 1/F a period may be. Not less than the lower: 1/F itself is most often a round
 * number, as the periods of programs are. Not more than the upper: F is what was asked for.
 */
#define MIN_OFF_PERMILLE 30
#define MAX_OFF_PERMILLE 100
/* 2^64 divided by the golden ratio: multiples of it, modulo 2^64, fill the range evenly. */
#define GOLDEN 0x9e3779b97f4a7c15ull
#define FIRST_STEP 2 /* the first one gives 7.3 %, which is a lot for a machine with one CPU */
/* Up to 10 kHz never more than 34 in a row are left out; at 21 Hz five of six are. */
#define MAX_STEPS 256

/*
 * |period / other - p / q| < 1 / (CLOSE * q * q) is too near: the clock then looks at q places of
 * the other's period for so long that a minute's samples do not reach those between them.
 */
#define CLOSE	     50
#define MAX_QUOTIENT 32

/* Timers, frames, ticks and polls of the programs there are: 1000 Hz to 1 Hz. */
static const uint64_t usual_ns[] = {
	1000000, 4000000, 10000000, 16666667, 20000000, 50000000, 100000000, 1000000000,
};

struct ep_periods {
	uint64_t mean_ns;
	uint32_t n_pairs;
	uint64_t off_ns[]; /* of CPU 2 * i; CPU 2 * i + 1 has as much less */
};

/*
 * The best approximations of period / other are the convergents of its continued fraction, which
 * Euclid's algorithm runs through: p / q with a rest of |q * period - p * other|. It ends at a rest
 * of 0, when one is a fraction of the other: p is not 0 then, since period is not.
 */
bool ep_period_beats(uint64_t period_ns, uint64_t other_ns)
{
	uint64_t last_p = 1, p = period_ns / other_ns;
	uint64_t last_q = 0, q = 1;
	uint64_t last_rest = other_ns, rest = period_ns % other_ns;

	while (q <= MAX_QUOTIENT) {
		uint64_t turns, next_p, next_q, next_rest;

		if (p > 0 && q * rest * CLOSE < other_ns)
			return true;
		turns = last_rest / rest;
		next_p = turns * p + last_p;
		next_q = turns * q + last_q;
		next_rest = last_rest - turns * rest;
		last_p = p, last_q = q, last_rest = rest;
		p = next_p, q = next_q, rest = next_rest;
	}
	return false;
}

static bool is_good(uint64_t period_ns)
{
	for (size_t i = 0; i < EP_LEN(usual_ns); i++) {
		if (ep_period_beats(period_ns, usual_ns[i]))
			return false;
	}
	return true;
}

static uint64_t off_at(uint64_t mean_ns, uint64_t step)
{
	uint64_t least = mean_ns * MIN_OFF_PERMILLE / 1000;
	uint64_t range = mean_ns * (MAX_OFF_PERMILLE - MIN_OFF_PERMILLE) / 1000;

	return least + (range * (step * GOLDEN >> 32) >> 32); /* range is below 2^27 */
}

/* From a step on, the next that is good on both sides of the mean; moves the step after it. */
static uint64_t next_off(uint64_t mean_ns, uint64_t *step)
{
	uint64_t first = *step;

	for (unsigned int i = 0; i < MAX_STEPS; i++) {
		uint64_t off = off_at(mean_ns, (*step)++);

		if (is_good(mean_ns + off) && is_good(mean_ns - off))
			return off;
	}
	return off_at(mean_ns, first); /* off 1/F is better than on it */
}

int ep_periods_new(uint32_t freq_hz, uint32_t n_cpus, struct ep_periods **ret_periods)
{
	uint32_t n_pairs = n_cpus / 2 + n_cpus % 2;
	struct ep_periods *periods;
	uint64_t step = FIRST_STEP;

	if (freq_hz == 0 || freq_hz > EP_PERIOD_MAX_FREQ_HZ)
		return -EINVAL;
	periods = calloc(1, sizeof(*periods) + n_pairs * sizeof(periods->off_ns[0]));
	if (!periods)
		return -ENOMEM;
	periods->mean_ns = EP_NS_PER_SEC / freq_hz;
	periods->n_pairs = n_pairs;
	for (uint32_t i = 0; i < n_pairs; i++)
		periods->off_ns[i] = next_off(periods->mean_ns, &step);
	*ret_periods = periods;
	return 0;
}

void ep_periods_free(struct ep_periods *periods)
{
	free(periods);
}

uint64_t ep_periods_get(const struct ep_periods *periods, uint32_t cpu)
{
	if (cpu / 2 >= periods->n_pairs)
		return periods->mean_ns;
	return cpu % 2 ? periods->mean_ns - periods->off_ns[cpu / 2]
		       : periods->mean_ns + periods->off_ns[cpu / 2];
}
