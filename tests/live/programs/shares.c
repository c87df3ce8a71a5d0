/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spends CPU time in functions a to e in known shares, and measures them itself: prints
 * "SHARE name percent" at the end, of the CPU time of its thread. A round takes about 0.7 s: much
 * longer than a sampling period, so that what is measured is the profiler's bias. (3000 samples at
 * random moments would err by 0.9 points for a share of one half, whoever takes them.)
 */
#include "zoo.h"

#define LEN(x) (sizeof(x) / sizeof((x)[0]))

ZOO_DEFINE_SPIN(share_a)
ZOO_DEFINE_SPIN(share_b)
ZOO_DEFINE_SPIN(share_c)
ZOO_DEFINE_SPIN(share_d)
ZOO_DEFINE_SPIN(share_e)

static struct share {
	const char *name;
	void (*burn)(unsigned int n);
	unsigned int parts; /* of a round */
	uint64_t cpu_ns;
} shares[] = {
	{"share_a", share_a, 50, 0}, {"share_b", share_b, 25, 0}, {"share_c", share_c, 15, 0},
	{"share_d", share_d, 8, 0},  {"share_e", share_e, 2, 0},
};

static uint64_t cpu_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

KEEP void run_share(struct share *share)
{
	uint64_t before = cpu_now_ns();

	share->burn(share->parts * (SPINS_PER_MS * 7));
	share->cpu_ns += cpu_now_ns() - before;
}

static void print_shares(void)
{
	uint64_t all = 0;

	for (size_t i = 0; i < LEN(shares); i++)
		all += shares[i].cpu_ns;
	for (size_t i = 0; i < LEN(shares); i++)
		printf("SHARE %s %.3f\n", shares[i].name,
		       100.0 * (double)shares[i].cpu_ns / (double)all);
}

int main(int argc, char **argv)
{
	zoo_start(argc, argv, "STACK share_? run_share main\n");
	for (size_t i = 0; zoo_time_left(); i = (i + 1) % LEN(shares))
		run_share(&shares[i]);
	print_shares();
	return 0;
}
