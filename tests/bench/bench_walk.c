/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU time of a late walk: stacks of this very process, of two depths, over its own tables. Prints rows
 * for scripts/bench; fails when a frame costs more than a microsecond, ten times what it should.
 */
#include "core/base/clock.h"
#include "tests/unit/walk_own.h"

#include <stdio.h>

#define WALKED_FRAMES 2000000

static double measure(struct walk_world *world, const struct own *own, const struct ep_row *rows,
		      size_t n_rows)
{
	ep_cleanup(ep_vec_fini) struct ep_vec out;
	uint64_t start_ns, frames = 0;
	double ns;

	ep_vec_init(&out, 1, EP_WALK_MAX_BYTES);
	start_ns = ep_clock_cpu_ns();
	while (frames < WALKED_FRAMES) {
		if (ep_walker_run(world->walker, own->event.flat, own->event.bytes, rows, n_rows,
				  NULL, &out) != 0)
			abort();
		frames += ((const struct ep_sample *)out.data)->n_frames;
	}
	ns = (double)(ep_clock_cpu_ns() - start_ns) / (double)frames;
	return ns;
}

int main(void)
{
	static const unsigned int depths[] = {4, 60, 150};
	static struct walk_world world;
	static struct own own;
	struct ep_row rows[OWN_MAX_ROWS];
	double worst = 0;

	walk_world_init(&world);
	for (size_t i = 0; i < EP_LEN(depths); i++) {
		static size_t n_rows;
		double ns;

		own_sample(&own, depths[i]);
		if (n_rows == 0)
			n_rows = own_rows(&world, rows);
		ns = measure(&world, &own, rows, n_rows);
		printf("late walk of %d frames, each\t%.0f\tns\t<= 100\t%s\n", own.n_frames, ns,
		       ns <= 100 ? "met" : "missed");
		worst = EP_MAX(worst, ns);
	}
	walk_world_fini(&world);
	return worst > 1000;
}
