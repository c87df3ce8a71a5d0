/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One drain:
 *
 *	begin ──► fill: each ring adds records to the index, up to its quota ◄──┐
 *	              │                                                         │
 *	              └► sort ─► hand over up to the time all rings are known to ┘ until all are read
 *	                             │
 *	                             └► keep: copy what is younger than the drain ─► release, settle
 *
 * A ring that has more than its quota is known up to the newest record it has added. Of all such
 * rings the one that is known least far is handed over wholly, so each round gets further.
 */
#include "core/bpf/order.h"
#include "core/base/clock.h"
#include "core/base/vec.h"
#include "core/bpf/cpus.h"
#include "core/bpf/floods.h"
#include "core/bpf/ring.h"
#include "core/bpf/sideband.h"
#include "core/bpf/sideband_set.h"
#include "core/bpf/timeline.h"

#include <errno.h>
#include <string.h>

#define DEFAULT_RECORDS	      4096
#define DEFAULT_WAITING_BYTES ((size_t)128 << 10)
/* So long others wait for a record that is being written: its virtual CPU may be gone for long. */
#define BUSY_NS (10 * EP_NS_PER_MS)
/* No record is that much ahead of us, but in a time namespace with another CLOCK_MONOTONIC. */
#define FAR_NS EP_NS_PER_SEC
#define WAITING UINT16_MAX /* instead of a source */

struct source {
	struct ep_sideband *sideband; /* NULL: the ring */
	uint64_t newest_ns;	      /* of what was added in this drain */
	size_t n_indexed;
	size_t n_mappings, n_crowding; /* in this drain; of processes with many */
	bool done;
};

struct ep_order {
	struct ep_order_options options;
	struct ep_timeline timeline;
	struct ep_vec sources;	  /* struct source: the ring, then side-band rings */
	uint8_t *waiting, *spare; /* records that wait; the next ones are copied to the other */
	size_t quota;		  /* of a side-band ring */
	uint64_t now_ns, known_ns;
	uint64_t last_ns;	  /* the newest that was handed over */
	uint64_t lost, crowded;	  /* not reported yet; crowded: few processes filled the ring */
	struct ep_floods *floods; /* NULL: nobody wants to know */
	bool busy;
	struct ep_order_stats stats;
};

int ep_order_new(const struct ep_order_options *options, struct ep_order **ret_order)
{
	struct ep_order *order = calloc(1, sizeof(*order));
	size_t max;

	if (!order)
		return -ENOMEM;
	order->options = *options;
	if (!options->max_records)
		order->options.max_records = DEFAULT_RECORDS;
	if (!options->max_waiting_bytes)
		order->options.max_waiting_bytes = DEFAULT_WAITING_BYTES;
	max = order->options.max_records;
	ep_timeline_init(&order->timeline, 3 * max + 2 * EP_MAX_CPUS);
	ep_vec_init(&order->sources, sizeof(struct source), 1 + 2 * EP_MAX_CPUS);
	order->waiting = malloc(order->options.max_waiting_bytes);
	order->spare = malloc(order->options.max_waiting_bytes);
	if (options->ops->flooded)
		order->floods = calloc(1, sizeof(*order->floods));
	if (!order->waiting || !order->spare || (options->ops->flooded && !order->floods) || ep_timeline_reserve(&order->timeline, 3 * max) ||
	    ep_vec_reserve(&order->sources, 1)) {
		ep_order_free(order);
		return -ENOMEM;
	}
	*ret_order = order;
	return 0;
}

void ep_order_free(struct ep_order *order)
{
	if (!order)
		return;
	ep_timeline_fini(&order->timeline);
	ep_vec_fini(&order->sources);
	free(order->waiting);
	free(order->spare);
	free(order->floods);
	free(order);
}

size_t ep_order_waiting(const struct ep_order *order)
{
	return ep_timeline_len(&order->timeline);
}

void ep_order_get_stats(const struct ep_order *order, struct ep_order_stats *ret_stats)
{
	*ret_stats = order->stats;
}

/* --- reading the rings ----------------------------------------------------------------------- */

static struct source *source_at(const struct ep_order *order, size_t i)
{
	return ep_vec_at(&order->sources, struct source, i);
}

/* Without memory for more of them, the last rings have to wait until there is some. */
static size_t reserve_sources(struct ep_order *order)
{
	const struct ep_order_options *options = &order->options;
	size_t n = options->sidebands ? ep_sideband_set_len(options->sidebands) : 0;
	size_t max = options->max_records;

	if (ep_timeline_reserve(&order->timeline, 2 * max + EP_MAX(max, n)) < 0)
		n = max;
	return ep_vec_reserve(&order->sources, 1 + n) < 0 ? order->sources.cap - 1 : n;
}

static void begin(struct ep_order *order)
{
	size_t n = reserve_sources(order);

	order->quota = EP_MAX((size_t)1, order->options.max_records / EP_MAX((size_t)1, n));
	order->busy = false;
	if (order->floods)
		ep_floods_begin(order->floods, order->now_ns);
	order->sources.len = 1 + n;
	*source_at(order, 0) = (struct source){0};
	ep_ring_begin(order->options.ring);
	for (size_t i = 0; i < n; i++) {
		struct ep_sideband *sideband = ep_sideband_set_at(order->options.sidebands, i);

		*source_at(order, 1 + i) = (struct source){.sideband = sideband};
		ep_sideband_begin(sideband);
	}
}

static void add(struct ep_order *order, size_t i, const struct ep_moment *moment)
{
	struct source *source = source_at(order, i);

	if (!ep_timeline_add(&order->timeline, moment)) { /* cannot be: quotas are of its space */
		order->lost++;
		return;
	}
	source->n_indexed++;
	source->newest_ns = EP_MAX(source->newest_ns, moment->time_ns);
}

/* The header of order.h says why. */
enum rank { RANK_FORK, RANK_EXEC, RANK_MAPPING, RANK_SAMPLE, RANK_EXIT };

static enum rank rank_of(uint32_t type)
{
	switch (type) {
	case EP_EVENT_FORK:
		return RANK_FORK;
	case EP_EVENT_EXEC:
		return RANK_EXEC;
	case EP_EVENT_EXIT:
		return RANK_EXIT;
	default:
		return RANK_SAMPLE;
	}
}

static void fill_from_ring(struct ep_order *order)
{
	struct source *source = source_at(order, 0);
	const void *record;
	size_t bytes;

	while (source->n_indexed < order->options.max_records) {
		int r = ep_ring_next(order->options.ring, &record, &bytes);
		const struct ep_event *event = record;

		if (r != EP_RING_RECORD) {
			source->done = true;
			order->busy = r == EP_RING_BUSY;
			order->lost += r < 0;
			return;
		}
		if (bytes < sizeof(*event))
			continue;
		add(order, 0, &(struct ep_moment){.time_ns = event->time_ns,
						  .record = record,
						  .bytes = (uint32_t)bytes,
						  .rank = rank_of(event->type)});
	}
}

/* Whether this record is to be handed over: most are, and it takes a moment to tell. */
static bool is_followed(struct ep_order *order, struct source *source, const void *record)
{
	uint32_t pid;
	bool is_one_of_many, is_followed;

	if (!order->floods || !ep_sideband_mapping_pid(record, &pid))
		return true;
	is_followed = ep_floods_take(order->floods, pid, &is_one_of_many);
	source->n_mappings++;
	source->n_crowding += is_one_of_many;
	order->stats.skipped += !is_followed;
	return is_followed;
}

/* Half of what is in the ring, or more: so is what was lost. */
static void take_lost(struct ep_order *order, struct source *source)
{
	uint64_t lost = ep_sideband_take_lost(source->sideband);

	if (order->floods && source->n_mappings && source->n_crowding >= source->n_mappings / 2)
		order->crowded += lost;
	else
		order->lost += lost;
}

static void fill_from_sideband(struct ep_order *order, size_t i)
{
	struct source *source = source_at(order, i);
	struct ep_moment moment = {.source = (uint16_t)i, .rank = RANK_MAPPING};
	size_t bytes;

	while (source->n_indexed < order->quota) {
		if (!ep_sideband_next(source->sideband, &moment.record, &bytes, &moment.time_ns)) {
			source->done = true;
			break;
		}
		moment.bytes = (uint32_t)bytes;
		if (is_followed(order, source, moment.record))
			add(order, i, &moment);
	}
	take_lost(order, source);
}

/* True when a ring has more. */
static bool fill(struct ep_order *order)
{
	bool more = false;

	if (!source_at(order, 0)->done)
		fill_from_ring(order);
	for (size_t i = 1; i < order->sources.len; i++) {
		if (!source_at(order, i)->done)
			fill_from_sideband(order, i);
	}
	for (size_t i = 0; i < order->sources.len; i++)
		more |= !source_at(order, i)->done;
	return more;
}

/* --- handing over ---------------------------------------------------------------------------- */

static void tell_flooded(void *arg, uint32_t pid)
{
	const struct ep_order *order = arg;

	order->options.ops->flooded(order->options.arg, pid, order->floods->now_ns);
}

static void tell_floods(struct ep_order *order)
{
	uint64_t crowded = order->crowded;

	order->crowded = 0;
	order->stats.crowded += crowded;
	order->lost += order->floods->forgotten;
	order->floods->forgotten = 0;
	ep_floods_each(order->floods, crowded > 0, tell_flooded, order);
	if (crowded)
		order->options.ops->crowded(order->options.arg, crowded);
}

static void tell_lost(struct ep_order *order)
{
	uint64_t lost;

	if (order->floods)
		tell_floods(order);
	lost = order->lost;
	order->lost = 0;
	order->stats.lost += lost;
	if (lost)
		order->options.ops->lost(order->options.arg, lost);
}

static void note_time(struct ep_order *order, uint64_t time_ns)
{
	struct ep_order_stats *stats = &order->stats;

	stats->records++;
	if (time_ns == 0) /* it has none */
		return;
	if (time_ns < order->last_ns) {
		stats->late++;
		stats->late_max_ns = EP_MAX(stats->late_max_ns, order->last_ns - time_ns);
	} else if (time_ns <= order->now_ns) {
		order->last_ns = time_ns;
	}
}

static void pass_mapping(void *arg, const struct ep_mapping_event *event)
{
	const struct ep_order *order = arg;

	order->options.ops->mapping(order->options.arg, event);
}

static void hand_over_sideband(struct ep_order *order, const struct ep_moment *moment)
{
	struct ep_ksymbol_event ksymbol;

	if (!ep_sideband_parse_ksymbol(moment->record, moment->bytes, &ksymbol))
		(void)ep_sideband_parse(moment->record, moment->bytes, pass_mapping, order);
	else if (order->options.ops->ksymbol)
		order->options.ops->ksymbol(order->options.arg, &ksymbol);
}

static void hand_over(struct ep_order *order, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct ep_moment *moment = ep_timeline_at(&order->timeline, i);

		note_time(order, moment->time_ns);
		if (moment->source != WAITING)
			source_at(order, moment->source)->n_indexed--;
		if (moment->rank == RANK_MAPPING)
			hand_over_sideband(order, moment);
		else
			order->options.ops->event(order->options.arg, moment->record,
						  moment->bytes);
	}
	ep_timeline_drop(&order->timeline, n);
}

/* Up to when records are handed over in this drain, as far as is known now. */
static uint64_t drain_limit(const struct ep_order *order)
{
	uint64_t now_ns = order->now_ns, written_ns = source_at(order, 0)->newest_ns;

	if (!order->busy)
		return now_ns;
	written_ns = EP_MAX(written_ns, now_ns - EP_MIN(now_ns, BUSY_NS));
	return EP_MIN(now_ns, EP_MAX(written_ns, order->known_ns));
}

static bool is_far_ahead(const struct ep_order *order)
{
	size_t len = ep_timeline_len(&order->timeline);
	uint64_t time_ns = len ? ep_timeline_at(&order->timeline, len - 1)->time_ns : 0;

	return time_ns > order->now_ns && time_ns - order->now_ns > FAR_NS;
}

/* Up to when all rings are known in this round. */
static uint64_t round_limit(const struct ep_order *order, uint64_t limit_ns)
{
	const struct source *source;

	if (is_far_ahead(order))
		limit_ns = UINT64_MAX;
	ep_vec_each(&order->sources, source) {
		if (!source->done)
			limit_ns = EP_MIN(limit_ns, source->newest_ns);
	}
	return limit_ns;
}

static bool has_room(const struct ep_order *order)
{
	for (size_t i = 0; i < order->sources.len; i++) {
		const struct source *source = source_at(order, i);

		if (!source->done &&
		    source->n_indexed < (i ? order->quota : order->options.max_records))
			return true;
	}
	return false;
}

/* One round. True when another one is needed. */
static bool turn(struct ep_order *order)
{
	bool more = fill(order);

	order->stats.rounds++;
	tell_lost(order);
	ep_timeline_sort(&order->timeline);
	hand_over(order, ep_timeline_count_until(&order->timeline,
						 round_limit(order, drain_limit(order))));
	if (more && !has_room(order)) /* full of what should wait: go on all the same */
		hand_over(order, ep_timeline_len(&order->timeline));
	return more;
}

/* --- between drains -------------------------------------------------------------------------- */

/* How many of the youngest can wait. */
static size_t count_that_fit(const struct ep_order *order)
{
	size_t len = ep_timeline_len(&order->timeline), n = 0, bytes = 0;

	while (n < len && n < order->options.max_records) {
		bytes += EP_ALIGN_UP(ep_timeline_at(&order->timeline, len - n - 1)->bytes, 8);
		if (bytes > order->options.max_waiting_bytes)
			break;
		n++;
	}
	return n;
}

static void keep_younger(struct ep_order *order)
{
	uint8_t *kept = order->spare, *to = kept;

	hand_over(order, ep_timeline_len(&order->timeline) - count_that_fit(order));
	for (size_t i = 0; i < ep_timeline_len(&order->timeline); i++) {
		struct ep_moment *moment = ep_timeline_at(&order->timeline, i);

		memcpy(to, moment->record, moment->bytes);
		order->stats.waited += moment->source != WAITING;
		moment->record = to;
		moment->source = WAITING;
		to += EP_ALIGN_UP(moment->bytes, 8);
	}
	order->spare = order->waiting;
	order->waiting = kept;
}

static void release(struct ep_order *order)
{
	ep_ring_release(order->options.ring);
	for (size_t i = 1; i < order->sources.len; i++)
		ep_sideband_release(source_at(order, i)->sideband);
	if (order->options.sidebands)
		ep_sideband_set_settle(order->options.sidebands);
}

uint64_t ep_order_drain_to(struct ep_order *order, uint64_t now_ns)
{
	order->now_ns = now_ns;
	begin(order);
	while (turn(order))
		;
	order->known_ns = EP_MAX(order->known_ns, drain_limit(order));
	keep_younger(order);
	release(order);
	return order->known_ns;
}

uint64_t ep_order_drain(struct ep_order *order)
{
	return ep_order_drain_to(order, ep_clock_mono_ns());
}

void ep_order_flush(struct ep_order *order)
{
	uint64_t known_ns = order->known_ns;

	(void)ep_order_drain_to(order, UINT64_MAX);
	order->known_ns = EP_MAX(known_ns, order->last_ns);
}

size_t ep_order_bytes(const struct ep_order *order)
{
	const struct ep_timeline *timeline = &order->timeline;

	return sizeof(*order) + 2 * order->options.max_waiting_bytes + order->sources.cap * order->sources.elem_bytes +
	       (order->floods ? sizeof(*order->floods) : 0) +
	       (timeline->moments.cap + timeline->scratch.cap) * sizeof(struct ep_moment);
}
