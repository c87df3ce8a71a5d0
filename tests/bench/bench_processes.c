/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the process manager costs for each record, beside many live processes: 30 000 of them, and
 * 100 000 more that are forked, execute something, map and exit; and one that executes itself so
 * often. BPF is told by a map in the heap, so the system calls of the real one (about a microsecond
 * each) are not in it. Prints rows for scripts/bench; fails when a record costs more beside many live processes
 * than a few times what it does beside few.
 */
#include "core/base/clock.h"
#include "tests/unit/process_world.h"

#define PID(n)	  (0x500000u + (n))
#define LIVE	  30000u
#define FEW	  100u
#define SHORT	  100000u
#define PER_TURN  50u

static const struct ep_program root = {.pid = PID(0), .image = 1, .start_ns = 1};

/* A record beside many processes may cost so many times what it does beside few, and so much more. */
#define MAX_TIMES 4
#define MAX_MORE  1000

enum step { FORK, EXEC, MAP, EXIT, TURN, SWEEP, AGAIN, STEPS };
static const char *const names[STEPS] = {"fork", "exec", "mapping", "exit", "turn, per process",
					 "sweep, per process", "exec again"};

struct times {
	uint64_t ns[STEPS];
};

static void fork_one(struct world *w, uint32_t i)
{
	world_fork(w, world_now(), root.pid,
		   (struct ep_program){.pid = PID(1 + i), .image = 1, .start_ns = 2 + i});
}

static void map_some(struct world *w, uint32_t pid)
{
	for (uint64_t i = 1; i <= 3; i++)
		world_map_anonymous(w, world_now(), pid, i << 20, 0x1000);
}

/* CPU time of this thread: others use the machine, too. */
static void run_batch(struct world *w, uint32_t first, struct times *times)
{
	uint64_t at[STEPS + 1] = {ep_clock_thread_cpu_ns()};
	struct ep_program program = {.image = 2};

	for (uint32_t i = first; i < first + PER_TURN; i++)
		fork_one(w, i);
	at[1] = ep_clock_thread_cpu_ns();
	for (uint32_t i = first; i < first + PER_TURN; i++) {
		program.pid = PID(1 + i);
		program.start_ns = 2 + i;
		world_exec(w, world_now(), program, "tool");
	}
	at[2] = ep_clock_thread_cpu_ns();
	for (uint32_t i = first; i < first + PER_TURN; i++)
		map_some(w, PID(1 + i));
	at[3] = ep_clock_thread_cpu_ns();
	world_turn(w);
	at[4] = ep_clock_thread_cpu_ns();
	for (uint32_t i = first; i < first + PER_TURN; i++) {
		program.pid = PID(1 + i);
		program.start_ns = 2 + i;
		world_exit(w, world_now(), program);
	}
	at[5] = ep_clock_thread_cpu_ns();
	times->ns[FORK] += at[1] - at[0];
	times->ns[EXEC] += at[2] - at[1];
	times->ns[MAP] += (at[3] - at[2]) / 3;
	times->ns[TURN] += at[4] - at[3];
	times->ns[EXIT] += at[5] - at[4];
}

/* A program that executes itself over and over. */
static void exec_again(struct world *w, struct times *times)
{
	struct ep_program program = {.pid = PID(LIVE + SHORT + 1), .start_ns = 1};
	uint64_t begin_ns = ep_clock_thread_cpu_ns();

	for (program.image = 1; program.image <= SHORT; program.image++) {
		world_exec(w, world_now(), program, "again");
		world_map_anonymous(w, world_now(), program.pid, 0x10000, 0x1000);
	}
	times->ns[AGAIN] += ep_clock_thread_cpu_ns() - begin_ns;
}

static struct times run(uint32_t live)
{
	struct times times = {0};
	struct world *w = world_new(100000, 256u << 20);
	void *state = w;
	uint64_t begin_ns;

	world_exec(w, world_now(), root, "root");
	map_some(w, root.pid);
	world_turn(w);
	for (uint32_t i = 0; i < live; i++)
		fork_one(w, i);
	world_turn(w);
	for (uint32_t i = 0; i < SHORT; i += PER_TURN) {
		run_batch(w, live + i, &times);
		if (i % 5000 == 0)
			ep_delta_store_collect(w->store);
	}
	exec_again(w, &times);
	usleep(600000); /* what has ended is let go half a second later */
	world_turn(w);
	begin_ns = ep_clock_thread_cpu_ns();
	ep_processes_sweep(w->processes, KEEP_NS);
	times.ns[SWEEP] += ep_clock_thread_cpu_ns() - begin_ns;
	world_close(&state);
	for (int i = 0; i < STEPS; i++)
		times.ns[i] /= SHORT;
	return times;
}

int main(void)
{
	struct times few = run(FEW), many = run(LIVE);
	int r = 0;

	for (int i = 0; i < STEPS; i++) {
		uint64_t bar = MAX_TIMES * few.ns[i] + MAX_MORE;

		printf("%s, beside %u processes\t%" PRIu64 "\tns\t\tfor information\n", names[i],
		       FEW, few.ns[i]);
		printf("%s, beside %u\t%" PRIu64 "\tns\t<= %" PRIu64 "\t%s\n", names[i], LIVE,
		       many.ns[i], bar, many.ns[i] <= bar ? "met" : "missed");
		if (many.ns[i] > bar)
			r = 1;
	}
	return r;
}
