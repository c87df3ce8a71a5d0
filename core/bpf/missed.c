/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bpf/missed.h"

/*
 * The clocks that are compared differ by up to 500 ppm (adjtimex(2)), and by what a look takes.
 * What is armed for less than that has stood still.
 */
#define CLOCK_ERROR(ns) ((ns) / 1024 + 200000)

void ep_missed_begin(struct ep_missed *missed, uint64_t period_ns,
		     const struct ep_missed_look *first)
{
	*missed = (struct ep_missed){.period_ns = period_ns, .first = *first, .last = *first};
}

static uint64_t since(uint64_t now, uint64_t then)
{
	return now > then ? now - then : 0;
}

static void note_standing_still(struct ep_missed *missed, const struct ep_missed_look *look)
{
	uint64_t passed_ns = since(look->before_ns, missed->last.before_ns);
	uint64_t armed_ns = since(look->armed_ns, missed->last.armed_ns);

	if (passed_ns > armed_ns + CLOCK_ERROR(passed_ns))
		missed->still_ns += passed_ns - armed_ns;
}

static int64_t count_due(const struct ep_missed *missed, uint64_t now_ns)
{
	uint64_t armed_ns = since(since(now_ns, missed->first.before_ns), missed->still_ns);

	return (int64_t)(armed_ns / missed->period_ns) + missed->extra;
}

/* What came, or would have if no stack had been walked: all that is not in question. */
static struct ep_ticks count_ticks(const struct ep_missed *missed, const struct ep_ticks *now)
{
	const struct ep_ticks *first = &missed->first.ticks;

	return (struct ep_ticks){
		.sampled = now->sampled + now->overrun - first->sampled - first->overrun,
		.filtered = now->filtered - first->filtered,
		.idle = now->idle - first->idle,
		.overrun = now->overrun - first->overrun,
	};
}

static int64_t sum_ticks(const struct ep_ticks *ticks)
{
	return (int64_t)(ticks->sampled + ticks->filtered + ticks->idle);
}

/*
 * Of `all`, how many the time out of idle has space for, beside those that came and went missing.
 */
static uint64_t count_busy(const struct ep_missed *missed, const struct ep_missed_look *look,
			   const struct ep_ticks *ticks, uint64_t all)
{
	const struct ep_missed_look *first = &missed->first;
	uint64_t passed_ns = since(since(look->before_ns, first->before_ns), missed->still_ns);
	uint64_t busy_ns = since(passed_ns, since(look->idle_ns, first->idle_ns));
	uint64_t came = ticks->sampled + ticks->filtered;

	return EP_MIN(all, since(busy_ns / missed->period_ns, came + missed->busy_ticks));
}

/*
 * A tick of the idle task is no sample. Of the others as many are lost samples as there were samples
 * among the ticks of programs.
 */
static void add_missing(struct ep_missed *missed, const struct ep_missed_look *look,
			const struct ep_ticks *ticks, uint64_t all)
{
	uint64_t busy = count_busy(missed, look, ticks, all);

	missed->ticks += all;
	missed->busy_ticks += busy;
	if (ticks->sampled)
		missed->lost_65536 +=
			(uint64_t)((double)busy * 65536 * (double)ticks->sampled /
				   (double)(ticks->sampled + ticks->filtered));
}

/*
 * A clock that was throttled and goes on ticks at once (perf_swevent_start_hrtimer): its grid has
 * moved. More than one tick too many is taken for that.
 */
static void follow_grid(struct ep_missed *missed, const struct ep_missed_look *look, int64_t came)
{
	int64_t most = count_due(missed, look->behind_ns) - (int64_t)missed->ticks + 1;

	if (came > most)
		missed->extra += came - most;
}

/* The kernel tells nothing of a CPU that is offline. Its idle time does not go back: it is not 0. */
static struct ep_missed_look keep_idle(const struct ep_missed *missed,
				       const struct ep_missed_look *look)
{
	struct ep_missed_look kept = *look;

	kept.idle_ns = EP_MAX(kept.idle_ns, missed->last.idle_ns);
	return kept;
}

void ep_missed_look(struct ep_missed *missed, const struct ep_missed_look *raw, bool is_last)
{
	const struct ep_missed_look kept = keep_idle(missed, raw), *look = &kept;
	const struct ep_ticks ticks = count_ticks(missed, &look->ticks);
	int64_t came = sum_ticks(&ticks), missing, certain;

	note_standing_still(missed, look);
	follow_grid(missed, look, came);
	missing = count_due(missed, look->before_ns) - came;
	certain = is_last ? missing : EP_MIN(missing, missed->missing);
	if (certain > (int64_t)missed->ticks)
		add_missing(missed, look, &ticks, (uint64_t)certain - missed->ticks);
	missed->overrun = ticks.overrun;
	missed->missing = missing;
	missed->last = *look;
}
