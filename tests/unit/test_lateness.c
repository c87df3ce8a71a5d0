/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same lives, reported in order of time and reported with a few records that come some
 * milliseconds late: what is known in the end must be the same.
 */
#include "tests/kit/test.h"
#include "tests/unit/process_world.h"

#define LIVES	  50
#define PER_LIFE  9
#define RECORDS	  (LIVES * PER_LIFE)
#define SEEDS	  60
#define LATE_NS	  (5 * EP_NS_PER_MS)
#define SPAN_NS	  (40 * EP_NS_PER_MS)

static const struct ep_program shell = {.pid = PID(0), .image = 1, .start_ns = 1};

enum kind { FORK, EXEC, MAP, SAMPLE, EXIT };

struct record {
	enum kind kind;
	uint64_t time_ns, told_ns; /* told_ns: when it is handed over */
	uint32_t life, nth;
};

static uint64_t next_random(uint64_t *seed)
{
	*seed = ep_mix64(*seed + 0x9e3779b97f4a7c15u);
	return *seed;
}

static struct ep_program program_of_life(uint32_t life, uint32_t image)
{
	/* Two lives share a pid, one after the other. */
	return (struct ep_program){.pid = PID(1 + life / 2), .image = image, 
				   .start_ns = (1 + life) * 20 * EP_NS_PER_MS};
}

/* fork, a sample of the fork, exec, three mappings and samples of the new image, exit */
static void make_life(struct record *records, uint32_t life, uint64_t begin_ns, uint64_t *seed)
{
	static const enum kind kinds[PER_LIFE] = {FORK, SAMPLE, EXEC, MAP, MAP, SAMPLE,
						  MAP,	SAMPLE, EXIT};
	uint64_t time_ns = begin_ns + (life % 2) * SPAN_NS;

	for (uint32_t i = 0; i < PER_LIFE; i++) {
		time_ns += 1 + next_random(seed) % (SPAN_NS / PER_LIFE - 2);
		records[i] = (struct record){kinds[i], time_ns, time_ns, life, i};
	}
}

static int by_time(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	return x->told_ns < y->told_ns ? -1 : x->told_ns > y->told_ns;
}

static void tell(struct world *w, const struct record *record)
{
	struct ep_program old = program_of_life(record->life, 1);
	struct ep_program new = program_of_life(record->life, 2);
	uint64_t t = record->time_ns;
	char name[32];

	switch (record->kind) {
	case FORK:
		world_fork(w, t, shell.pid, old);
		break;
	case EXEC:
		snprintf(name, sizeof(name), "tool%u", record->life);
		world_exec(w, t, new, name);
		break;
	case MAP:
		snprintf(name, sizeof(name), "/nowhere/%u.%u", record->life, record->nth);
		ep_processes_on_mapping(w->processes, &(struct ep_mapping_event){
							      .pid = (pid_t)new.pid,
							      .time_ns = t,
							      .addr = 0x10000ull * record->nth,
							      .bytes = 0x1000,
							      .name = name});
		break;
	case SAMPLE:
		world_sample(w, t, record->nth == 1 ? old : new);
		break;
	case EXIT:
		world_exit(w, t, new);
		break;
	}
}

static void tell_all(struct world *w, const struct record *records)
{
	uint64_t begin_ns = records[0].time_ns - SPAN_NS; /* before what comes late */

	world_exec(w, begin_ns - 10, shell, "sh");
	world_map_anonymous(w, begin_ns - 9, shell.pid, 0x1000, 0x1000);
	for (size_t i = 0; i < RECORDS; i++)
		tell(w, &records[i]);
	world_turn(w);
}

static void check_life(struct world *w, uint32_t life)
{
	struct ep_program old = program_of_life(life, 1), new = program_of_life(life, 2);
	char comm[32], path[32];

	snprintf(comm, sizeof(comm), "tool%u", life);
	snprintf(path, sizeof(path), "/nowhere/%u.3", life);
	assert_described(w, old, "sh", "");
	assert_described(w, new, comm, path);
	assert_non_null(world_area(w, old, 0x1000));
	assert_int_equal(ep_process_areas(world_process(w, old))->len, 1);
	assert_int_equal(ep_process_areas(world_process(w, new))->len, 3);
	assert_non_null(world_area(w, new, 0x30000));
	assert_non_null(world_area(w, new, 0x40000));
	assert_non_null(world_area(w, new, 0x60000));
	assert_int_equal(world_process(w, old)->state, EP_PROCESS_ENDED);
	assert_int_equal(world_process(w, new)->state, EP_PROCESS_ENDED);
}

/* late: one record in so many. */
static void check_seed(uint64_t seed, uint32_t late, int only)
{
	struct record records[RECORDS];
	void *state = NULL;
	struct world *w;

	world_open(&state);
	w = state;
	for (uint32_t i = 0; i < LIVES; i++)
		make_life(records + PER_LIFE * i, i, world_now() - EP_NS_PER_SEC, &seed);
	for (size_t i = 0; i < RECORDS; i++) {
		if ((only < 0 || records[i].kind == (enum kind)only) &&
		    next_random(&seed) % late == 0)
			records[i].told_ns += next_random(&seed) % LATE_NS;
	}
	qsort(records, RECORDS, sizeof(*records), by_time);
	tell_all(w, records);
	for (uint32_t i = 0; i < LIVES; i++)
		check_life(w, i);
	assert_int_equal(w->processes->table.live.len, 1);
	world_close(&state);
}

EP_TEST(in_order)
{
	for (uint64_t seed = 1; seed <= 10; seed++)
		check_seed(seed, UINT32_MAX, -1);
}

static void check_late(int only)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		check_seed(seed, 4, only);
}

EP_TEST(late_forks)
{
	check_late(FORK);
}

EP_TEST(late_execs)
{
	check_late(EXEC);
}

EP_TEST(late_mappings)
{
	check_late(MAP);
}

EP_TEST(late_exits)
{
	check_late(EXIT);
}

EP_TEST(anything_late)
{
	check_late(-1);
}
