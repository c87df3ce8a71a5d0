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

static int64_t count_came(const struct ep_missed *missed, const struct ep_ticks *now)
{
	const struct ep_ticks *first = &missed->first.ticks;

	return (int64_t)(now->sampled + now->filtered + now->idle) -
	       (int64_t)(first->sampled + first->filtered + first->idle);
}

/* Of `ticks`, how many the time out of idle has room for, beside those that came and went missing. */
static uint64_t count_busy(const struct ep_missed *missed, const struct ep_missed_look *look,
			   uint64_t ticks)
{
	const struct ep_missed_look *first = &missed->first;
	uint64_t passed_ns = since(since(look->before_ns, first->before_ns), missed->still_ns);
	uint64_t busy_ns = since(passed_ns, since(look->idle_ns, first->idle_ns));
	uint64_t came = look->ticks.sampled + look->ticks.filtered - first->ticks.sampled -
			first->ticks.filtered;

	return EP_MIN(ticks, since(busy_ns / missed->period_ns, came + missed->busy_ticks));
}

/*
 * A tick of the idle task is no sample. Of the others as many are lost samples as there were samples
 * among the ticks of programs.
 */
static void add_missing(struct ep_missed *missed, const struct ep_missed_look *look, uint64_t all)
{
	uint64_t sampled = look->ticks.sampled - missed->first.ticks.sampled;
	uint64_t filtered = look->ticks.filtered - missed->first.ticks.filtered;
	uint64_t ticks = count_busy(missed, look, all);

	missed->ticks += all;
	missed->busy_ticks += ticks;
	if (sampled)
		missed->lost_65536 +=
			(uint64_t)((double)ticks * 65536 * (double)sampled /
				   (double)(sampled + filtered));
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
	int64_t came = count_came(missed, &look->ticks), missing, certain;

	note_standing_still(missed, look);
	follow_grid(missed, look, came);
	missing = count_due(missed, look->before_ns) - came;
	certain = is_last ? missing : EP_MIN(missing, missed->missing);
	if (certain > (int64_t)missed->ticks)
		add_missing(missed, look, (uint64_t)certain - missed->ticks);
	missed->missing = missing;
	missed->last = *look;
}
