/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bpf/events.h"
#include "core/base/log.h"
#include "core/base/parse.h"
#include "core/base/vec.h"
#include "core/bpf/cpus.h"
#include "core/bpf/idle.h"
#include "core/bpf/period.h"
#include "core/bpf/sideband.h"
#include "core/bpf/sideband_set.h"
#include "core/bpf/ticker.h"
#include "core/bpf/ticks.h"
#include "core/bpf/uevents.h"

#include <errno.h>
#include <inttypes.h>

/*
 * Nobody tells that an event stands still since a suspend, and /sys may know what no message
 * reported: all is looked at each so many calls, and after a message.
 */
#define LOOK_EVERY 10

#define MAX_RATE_PATH "/proc/sys/kernel/perf_event_max_sample_rate"

/* What a CPU has done until some moment: how long it was busy, and what its ticks found. */
struct cpu_done {
	uint64_t busy_ns;
	uint64_t came, missed; /* ticks that hit a program, and those of a busy CPU that never came */
};

struct cpu_events {
	uint32_t cpu;
	struct ep_ticker ticker;
	struct cpu_done done; /* at the last look */
};

/* A CPU whose clock has stopped, since it went off line. */
struct cpu_away {
	uint32_t cpu;
	struct cpu_done done; /* when its clock was last seen to run */
};

struct ep_events {
	struct ep_events_options options;
	struct ep_vec cpus; /* struct cpu_events, sorted by cpu */
	struct ep_sideband_set *sidebands; /* NULL: not wanted */
	bool running;
	struct ep_periods *periods;
	struct ep_tick_reader *ticks; /* NULL: nobody counts them */
	struct ep_vec idle;	      /* by CPU, see idle.h */
	bool throttles;		      /* the kernel allows fewer samples than we want */
	struct ep_events_missed gone; /* of CPUs that went */
	struct ep_vec away;	      /* struct cpu_away */
	int uevents_fd;		      /* negative: no such socket */
	unsigned int news;	      /* enum ep_uevent: not looked at yet */
	unsigned int calls; /* of ep_events_follow_cpus */
};

/* --- missed ticks ---------------------------------------------------------------------------- */

static struct ep_ticks ticks_of(const struct ep_events *events, uint32_t cpu)
{
	return events->ticks ? ep_tick_reader_get(events->ticks, cpu) : (struct ep_ticks){0};
}

/* False: nobody counts them. */
static bool read_ticks(struct ep_events *events)
{
	if (!events->ticks)
		return false;
	/* Without it a CPU counts as never idle. */
	if (ep_idle_read(&events->idle) < 0)
		events->idle.len = 0;
	ep_tick_reader_read(events->ticks);
	return true;
}

static struct cpu_done done_by(const struct ep_events *events, uint32_t cpu, uint64_t missed)
{
	struct ep_ticks ticks = ticks_of(events, cpu);

	return (struct cpu_done){
		.busy_ns = ep_idle_get(&events->idle, cpu).busy_ns,
		.came = ticks.sampled + ticks.filtered,
		.missed = missed,
	};
}

static void end_look(const struct ep_events *events, struct cpu_events *cpu, bool is_last)
{
	struct ep_ticks ticks = ticks_of(events, cpu->cpu);

	ep_ticker_end_look(&cpu->ticker, &ticks, ep_idle_get(&events->idle, cpu->cpu).idle_ns, is_last);
}

struct ep_events_missed ep_events_count_missed(struct ep_events *events)
{
	struct ep_events_missed sum = events->gone;
	struct cpu_events *cpu;
	bool is_read;

	ep_vec_each(&events->cpus, cpu)
		ep_ticker_begin_look(&cpu->ticker, events->throttles);
	is_read = read_ticks(events);
	ep_vec_each(&events->cpus, cpu) {
		if (is_read) {
			end_look(events, cpu, !events->running);
			cpu->done = done_by(events, cpu->cpu, cpu->ticker.missed.busy_ticks);
		}
		sum.ticks += ep_missed_ticks(&cpu->ticker.missed);
		sum.samples += ep_missed_lost(&cpu->ticker.missed);
	}
	return sum;
}

static void look_last(struct ep_events *events, struct cpu_events *cpu)
{
	ep_ticker_begin_look(&cpu->ticker, events->throttles);
	if (read_ticks(events))
		end_look(events, cpu, true);
	events->gone.ticks += ep_missed_ticks(&cpu->ticker.missed);
	events->gone.samples += ep_missed_lost(&cpu->ticker.missed);
}

/* Its clock has stopped, and the time is not known: since it was last seen to run its CPU may have been busy. */
static void note_away(struct ep_events *events, const struct cpu_events *cpu)
{
	struct cpu_away away = {.cpu = cpu->cpu, .done = cpu->done};

	/* What the clock itself is known to have missed until it stopped is not missing once more. */
	away.done.missed = cpu->ticker.missed.busy_ticks - cpu->done.missed;
	(void)ep_vec_append(&events->away, &away, 1);
}

/*
 * A CPU is back, and has a clock again: until now it was busy without one. /proc/stat tells for how long, by the
 * hundredth of a second. The share of lost samples among those ticks is that of samples among the ticks that came.
 */
static void count_away(struct ep_events *events, size_t i, uint64_t period_ns)
{
	const struct cpu_away *away = ep_vec_at(&events->away, struct cpu_away, i);
	struct cpu_done now = done_by(events, away->cpu, 0);
	struct ep_ticks ticks = ticks_of(events, away->cpu);
	uint64_t busy = now.busy_ns > away->done.busy_ns ? (now.busy_ns - away->done.busy_ns) / period_ns : 0;
	uint64_t known = now.came - away->done.came + away->done.missed;

	if (!away->done.busy_ns || busy <= known)
		return;
	events->gone.ticks += busy - known;
	if (now.came)
		events->gone.samples += (uint64_t)((double)(busy - known) * (double)ticks.sampled / (double)now.came);
}

/* The current ticks of all CPUs were read. */
static void end_away(struct ep_events *events, uint32_t cpu, uint64_t period_ns)
{
	for (size_t i = 0; i < events->away.len; i++) {
		struct cpu_away *away = ep_vec_at(&events->away, struct cpu_away, i);

		if (away->cpu != cpu)
			continue;
		count_away(events, i, period_ns);
		*away = *ep_vec_at(&events->away, struct cpu_away, --events->away.len);
		return;
	}
}

/*
 * The kernel allows so many samples per second and CPU, counted per clock tick of its own
 * (max_samples_per_tick, linux/kernel/events/core.c), and suppresses the rest. It also does that to
 * an idle CPU without such ticks, where nothing is lost.
 */
static bool is_throttled_at(uint32_t freq_hz)
{
	uint64_t max_hz = UINT64_MAX;
	const char *pos;
	struct ep_vec text;

	ep_vec_init(&text, 1, 64);
	if (ep_read_file(MAX_RATE_PATH, &text) == 0) {
		pos = text.data;
		(void)ep_parse_u64(&pos, pos + text.len, 10, &max_hz);
	}
	ep_vec_fini(&text);
	if (max_hz >= freq_hz + freq_hz / 8)
		return false;
	ep_log(EP_LOG_WARN,
	       "events: kernel.perf_event_max_sample_rate is %" PRIu64 ": samples are lost at %"
	       PRIu32 " Hz; sysctl -w kernel.perf_event_max_sample_rate=%" PRIu32,
	       max_hz, freq_hz, freq_hz * 2);
	return true;
}

/* --- CPUs ------------------------------------------------------------------------------------ */

static int start_ticker(const struct ep_events *events, struct ep_ticker *ticker)
{
	struct ep_ticks before = ticks_of(events, ticker->cpu);

	if (ticker->fd < 0)
		return 0;
	return ep_ticker_start(ticker, &before, ep_idle_get(&events->idle, ticker->cpu).idle_ns);
}

/* A CPU that nobody asked for has a clock that never ticks: its mappings are still wanted. */
static int open_ticker(struct ep_events *events, uint32_t cpu, struct ep_ticker *ret_ticker)
{
	struct ep_ticker ticker = {.cpu = cpu, .fd = -1};
	int r = 0;

	if (!events->options.cpus || ep_cpus_has(events->options.cpus, cpu))
		r = ep_ticker_open(cpu, ep_periods_get(events->periods, cpu),
				   events->options.program_fd, &ticker);
	if (r < 0)
		return r;
	if (events->running) {
		bool is_read = read_ticks(events);

		r = start_ticker(events, &ticker);
		if (is_read && r == 0)
			end_away(events, cpu, ticker.period_ns);
	}
	if (r < 0)
		ep_ticker_close(&ticker);
	else
		*ret_ticker = ticker;
	return r;
}

static void open_sideband(struct ep_events *events, uint32_t cpu)
{
	int r = ep_sideband_set_add(events->sidebands, cpu);

	if (r < 0)
		ep_log(EP_LOG_DEBUG, "events: CPU %u: no side-band records: %s", cpu,
		       ep_strerror(r));
}

static void close_cpu(struct ep_events *events, struct cpu_events *cpu)
{
	ep_ticker_close(&cpu->ticker);
	if (events->sidebands)
		ep_sideband_set_remove(events->sidebands, cpu->cpu);
}

/* A CPU that went away between the list and the call is no error. */
static int add_cpu(struct ep_events *events, uint32_t number)
{
	struct cpu_events *cpu;
	struct ep_ticker ticker;
	int r = open_ticker(events, number, &ticker);

	if (r == -ENODEV)
		return 0;
	if (r < 0)
		return r;
	cpu = ep_vec_push(&events->cpus);
	if (!cpu) {
		ep_ticker_close(&ticker);
		return -ENOMEM;
	}
	*cpu = (struct cpu_events){.cpu = number, .ticker = ticker};
	if (events->running)
		cpu->done = done_by(events, number, 0);
	if (events->sidebands)
		open_sideband(events, number);
	return 0;
}

static bool has_cpu(const struct ep_events *events, uint32_t number)
{
	const struct cpu_events *cpu;

	ep_vec_each(&events->cpus, cpu) {
		if (cpu->cpu == number)
			return true;
	}
	return false;
}

static void drop_cpus(struct ep_events *events, const struct ep_cpus *online)
{
	size_t kept = 0;

	for (size_t i = 0; i < events->cpus.len; i++) {
		struct cpu_events *cpu = ep_vec_at(&events->cpus, struct cpu_events, i);

		if (ep_cpus_has(online, cpu->cpu) && ep_ticker_is_alive(&cpu->ticker)) {
			*ep_vec_at(&events->cpus, struct cpu_events, kept++) = *cpu;
			continue;
		}
		look_last(events, cpu);
		note_away(events, cpu);
		close_cpu(events, cpu);
	}
	events->cpus.len = kept;
}

int ep_events_sync_cpus(struct ep_events *events)
{
	struct ep_cpus online;
	int r = ep_cpus_read_online(&online);

	if (r < 0)
		return r;
	drop_cpus(events, &online);
	for (uint32_t cpu = 0; cpu < EP_MAX_CPUS; cpu++) {
		if (!ep_cpus_has(&online, cpu) || has_cpu(events, cpu))
			continue;
		r = add_cpu(events, cpu);
		if (r < 0)
			return r;
	}
	return (int)events->cpus.len;
}

static void take_uevents(struct ep_events *events)
{
	if (events->uevents_fd >= 0)
		events->news |= ep_uevents_take(events->uevents_fd);
}

bool ep_events_take_modules(struct ep_events *events)
{
	bool changed;

	take_uevents(events);
	changed = events->news & EP_UEVENT_MODULE;
	events->news &= ~(unsigned int)EP_UEVENT_MODULE;
	return changed;
}

static bool is_look_due(struct ep_events *events)
{
	if (events->uevents_fd < 0)
		return true;
	take_uevents(events);
	if (events->news & EP_UEVENT_CPU) {
		events->news &= ~(unsigned int)EP_UEVENT_CPU;
		return true;
	}
	return ++events->calls % LOOK_EVERY == 0;
}

int ep_events_follow_cpus(struct ep_events *events)
{
	return is_look_due(events) ? ep_events_sync_cpus(events) : (int)events->cpus.len;
}

static int open_periods(struct ep_events *events)
{
	uint32_t cpus = ep_cpus_possible_end();

	return ep_periods_new(events->options.freq_hz, cpus ? cpus : EP_MAX_CPUS, &events->periods);
}

int ep_events_open(const struct ep_events_options *options, struct ep_events **ret_events)
{
	struct ep_events *events = calloc(1, sizeof(*events));
	int r = 0;

	if (!events)
		return -ENOMEM;
	events->options = *options;
	ep_vec_init(&events->cpus, sizeof(struct cpu_events), EP_MAX_CPUS);
	ep_idle_init(&events->idle);
	ep_vec_init(&events->away, sizeof(struct cpu_away), EP_MAX_CPUS);
	events->throttles = is_throttled_at(options->freq_hz);
	events->uevents_fd = ep_uevents_open(); /* before CPUs are looked at: nothing is missed */
	if (options->counts)
		(void)ep_tick_reader_new(options->counts, options->n_counts, &events->ticks);
	r = open_periods(events);
	if (r == 0 && options->sideband)
		r = ep_sideband_set_new(ep_sideband_open, &events->sidebands);
	if (r == 0)
		r = ep_events_sync_cpus(events);
	if (r < 0) {
		ep_events_close(events);
		return r;
	}
	*ret_events = events;
	return 0;
}

void ep_events_close(struct ep_events *events)
{
	struct cpu_events *cpu;

	if (!events)
		return;
	ep_vec_each(&events->cpus, cpu)
		ep_ticker_close(&cpu->ticker);
	ep_vec_fini(&events->cpus);
	ep_vec_fini(&events->idle);
	ep_vec_fini(&events->away);
	ep_sideband_set_free(events->sidebands);
	ep_periods_free(events->periods);
	ep_tick_reader_free(events->ticks);
	ep_closep(&events->uevents_fd);
	free(events);
}

int ep_events_start(struct ep_events *events)
{
	struct cpu_events *cpu;

	events->running = true;
	(void)read_ticks(events);
	ep_vec_each(&events->cpus, cpu) {
		int r = start_ticker(events, &cpu->ticker);

		if (r < 0)
			return r;
		cpu->done = done_by(events, cpu->cpu, 0);
	}
	return 0;
}

void ep_events_stop(struct ep_events *events)
{
	struct cpu_events *cpu;

	events->running = false;
	ep_vec_each(&events->cpus, cpu)
		ep_ticker_stop(&cpu->ticker);
}

uint64_t ep_events_period_ns(const struct ep_events *events, uint32_t cpu)
{
	return ep_periods_get(events->periods, cpu);
}

uint64_t ep_events_mean_period_ns(const struct ep_events *events)
{
	const struct cpu_events *cpu;
	uint64_t sum = 0, n = 0;

	ep_vec_each(&events->cpus, cpu) {
		sum += cpu->ticker.period_ns;
		n += cpu->ticker.fd >= 0;
	}
	return n ? sum / n : 0;
}

int ep_events_poll_fd(const struct ep_events *events)
{
	return events->sidebands ? ep_sideband_set_fd(events->sidebands) : -1;
}

struct ep_sideband_set *ep_events_sidebands(const struct ep_events *events)
{
	return events->sidebands;
}
