/* SPDX-License-Identifier: Apache-2.0 */
/* The periods of the sampling clocks: who beats with what, and what a periodic program gets. */
#include "core/base/clock.h"
#include "core/bpf/period.h"
#include "tests/kit/test.h"

#define N_CPUS 64
#define SHORTEST_NS 10000

static const uint64_t program_periods_ns[] = {
	1000000, 4000000, 10000000, 16666667, 20000000, 50000000, 100000000, 1000000000,
};
static const uint32_t freqs_hz[] = {
	1,   7,	  10,  19,  20,	 21,  49,  50,	 97,   99,   100,
	127, 199, 250, 499, 997, 999, 1000, 4000, 9999, 10000,
};

static struct ep_periods *new_periods(uint32_t freq_hz, uint32_t n_cpus)
{
	struct ep_periods *periods = NULL;

	assert_int_equal(ep_periods_new(freq_hz, n_cpus, &periods), 0);
	return periods;
}

EP_TEST(what_beats)
{
	static const struct {
		const char *label;
		uint64_t period_ns, other_ns;
		bool beats;
	} rows[] = {
		{"the same", 50000000, 50000000, true},
		{"a per mille off", 50050000, 50000000, true},
		{"half of it", 25000000, 50000000, true},
		{"twice", 100100000, 50000000, true},
		{"3 to 2", 75000000, 50000000, true},
		{"a bit less than 5 times", 49990000, 10000000, true},
		{"7 to 16", 7000001, 16000000, true},
		{"golden", 80901699, 50000000, false},
		{"golden, below", 30901699, 50000000, false},
		{"4.7 % off", 52347000, 50000000, false},
		{"5 % off is 21 to 20", 52500000, 50000000, true},
		{"many ticks in one period", 1000000, 1000000000, false},
		{"the shortest in the longest", SHORTEST_NS, UINT64_C(3600000000000), false},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		if (ep_period_beats(rows[i].period_ns, rows[i].other_ns) != rows[i].beats)
			fail_msg("%s", rows[i].label);
	}
}

/* By trying every fraction, where the code has Euclid's algorithm. */
EP_TEST(no_period_is_near_a_small_fraction)
{
	for (size_t f = 0; f < EP_LEN(freqs_hz); f++) {
		struct ep_periods *periods = new_periods(freqs_hz[f], N_CPUS);

		for (uint32_t cpu = 0; cpu < N_CPUS; cpu++) {
			for (size_t i = 0; i < EP_LEN(program_periods_ns); i++) {
				double ratio = (double)ep_periods_get(periods, cpu) /
					       (double)program_periods_ns[i];

				for (int q = 1; q <= 32; q++) {
					double p = (double)(uint64_t)(q * ratio + 0.5);
					double off = q * ratio > p ? q * ratio - p : p - q * ratio;

					if (p > 0 && off * q < 0.0199)
						fail_msg("%u Hz, CPU %u: %.0f to %d of %" PRIu64
							 " ns", freqs_hz[f], cpu, p, q,
							 program_periods_ns[i]);
				}
			}
		}
		ep_periods_free(periods);
	}
}

EP_TEST(periods_stay_near_the_frequency)
{
	for (size_t f = 0; f < EP_LEN(freqs_hz); f++) {
		struct ep_periods *periods = new_periods(freqs_hz[f], N_CPUS);
		uint64_t mean_ns = EP_NS_PER_SEC / freqs_hz[f], sum_ns = 0;

		for (uint32_t cpu = 0; cpu < N_CPUS; cpu++) {
			uint64_t ns = ep_periods_get(periods, cpu);
			uint64_t off_ns = ns > mean_ns ? ns - mean_ns : mean_ns - ns;

			sum_ns += ns;
			assert_in_range(off_ns, mean_ns * 3 / 100, mean_ns / 10);
			assert_true(ns >= SHORTEST_NS);
			/* of any even number of CPUs the mean is that of the frequency */
			if (cpu % 2)
				assert_int_equal(sum_ns, (cpu + 1) * mean_ns);
			/* of an odd number it is off by what one CPU is, divided by all */
			else
				assert_in_range(sum_ns, cpu * mean_ns + mean_ns * 9 / 10,
						cpu * mean_ns + mean_ns * 11 / 10);
		}
		ep_periods_free(periods);
	}
}

EP_TEST(one_cpu_is_not_on_the_frequency_either)
{
	struct ep_periods *periods = new_periods(20, 1);

	assert_in_range(ep_periods_get(periods, 0), 51500000, 53000000);
	assert_int_equal(ep_periods_get(periods, 2), 50000000); /* not among those given */
	ep_periods_free(periods);
}

EP_TEST(every_cpu_is_different)
{
	struct ep_periods *periods = new_periods(20, N_CPUS);

	for (uint32_t a = 0; a < N_CPUS; a++) {
		for (uint32_t b = 0; b < a; b++) {
			uint64_t one = ep_periods_get(periods, a), two = ep_periods_get(periods, b);
			uint64_t apart_ns = one > two ? one - two : two - one;

			assert_true(apart_ns > 10000); /* 1 in 5000: apart within a few minutes */
		}
	}
	ep_periods_free(periods);
}

/* A CPU that comes back, or a machine that was given more, changes no period. */
EP_TEST(a_cpu_has_its_period_for_ever)
{
	struct ep_periods *few = new_periods(99, 3), *many = new_periods(99, N_CPUS);

	for (uint32_t cpu = 0; cpu < 4; cpu++)
		assert_int_equal(ep_periods_get(few, cpu), ep_periods_get(many, cpu));
	ep_periods_free(few);
	ep_periods_free(many);
}

EP_TEST(impossible_frequencies_are_refused)
{
	struct ep_periods *periods = NULL;

	assert_int_equal(ep_periods_new(0, 1, &periods), -EINVAL);
	assert_int_equal(ep_periods_new(10001, 1, &periods), -EINVAL);
	assert_null(periods);
}

/* --- what a program gets that works for a while in each period ------------------------------- */

#define RUN_NS	 (60 * EP_NS_PER_SEC)
#define BURST_NS 5000000ull
#define N_PHASES 20

/* How far the profile is off the program's CPU time: 0.1 is 10 % too much. */
static double error_of(uint64_t tick_ns, uint64_t first_ns, uint64_t program_ns, uint64_t phase_ns)
{
	uint64_t hits = 0;

	for (uint64_t now_ns = first_ns; now_ns < RUN_NS; now_ns += tick_ns)
		hits += (now_ns + program_ns - phase_ns) % program_ns < BURST_NS;
	return (double)(hits * tick_ns) / ((double)RUN_NS / (double)program_ns * BURST_NS) - 1;
}

struct errors {
	double least, most, mean;
};

static struct errors errors_of(uint64_t tick_ns, uint64_t program_ns)
{
	struct errors errors = {.least = 1000, .most = -1000};

	for (uint64_t i = 0; i < N_PHASES; i++) {
		double error = error_of(tick_ns, tick_ns + 1234567, program_ns,
					program_ns * i / N_PHASES);

		errors.least = EP_MIN(errors.least, error);
		errors.most = EP_MAX(errors.most, error);
		errors.mean += error / N_PHASES;
	}
	return errors;
}

static bool is_within_bars(const struct errors *errors)
{
	return errors->least > -0.25 && errors->most < 0.25 && errors->mean > -0.05 &&
	       errors->mean < 0.05;
}

static const uint64_t bursts_each_ns[] = {50000000, 100000000, 20000000, 10000000};

/* On each CPU by itself: a program that moves between CPUs is better off. */
EP_TEST(bursts_get_their_cpu_time)
{
	struct ep_periods *periods = new_periods(20, N_CPUS);

	for (size_t i = 0; i < EP_LEN(bursts_each_ns); i++) {
		struct errors worst = {0};

		for (uint32_t cpu = 0; cpu < N_CPUS; cpu++) {
			struct errors errors =
				errors_of(ep_periods_get(periods, cpu), bursts_each_ns[i]);

			if (!is_within_bars(&errors))
				fail_msg("CPU %u, bursts each %" PRIu64 " ns: %.3f to %.3f, mean "
					 "%.3f", cpu, bursts_each_ns[i], errors.least, errors.most,
					 errors.mean);
			worst.least = EP_MIN(worst.least, errors.least);
			worst.most = EP_MAX(worst.most, errors.most);
		}
		print_message("bursts each %3" PRIu64 " ms: %+.1f %% to %+.1f %%\n",
			      bursts_each_ns[i] / 1000000, 100 * worst.least,
			      100 * worst.most);
	}
	ep_periods_free(periods);
}

/* What this is all for: all phases but a few are never seen, and these tenfold. */
EP_TEST(exact_clocks_would_not_give_it)
{
	struct errors errors = errors_of(50000000, 50000000);

	assert_false(is_within_bars(&errors));
	assert_true(errors.least == -1);
	assert_true(errors.most > 8);
	/* bursts each 10 ms are half of the time: all samples, or none */
	errors = errors_of(50000000, 10000000);
	assert_true(errors.least == -1);
	assert_true(errors.most > 0.9);
}
