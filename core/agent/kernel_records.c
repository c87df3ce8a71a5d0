/* SPDX-License-Identifier: Apache-2.0 */
#include "core/agent/kernel_records.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/bpf/events.h"
#include "core/bpf/order.h"
#include "core/bpf/programs.h"
#include "core/bpf/ring.h"
#include "core/language/instance.h"
#include "core/language/languages.h"
#include "core/process/processes.h"
#include "core/trace/kernel_code.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

struct ep_kernel_records {
	struct ep_bpf *bpf;
	struct ep_events *events;
	struct ep_kernel_code *kernel_code;
	struct ep_languages *languages;
	struct ep_processes *processes;
	struct ep_ring *ring, *wakes;
	struct ep_order *order;
	uint64_t looks_ns[2]; /* when modules were looked at last, and before that */
	uint32_t births[2];   /* control->births before the last drain, and before the one before */
	bool seen_complete;
};

/* How long a start took: tests/bench/bench_start.py reads this line. Our own stacks do not count. */
static void note_first_complete(struct ep_kernel_records *records, const struct ep_sample *sample)
{
	if (records->seen_complete || sample->error || !sample->n_frames ||
	    sample->pid == (uint32_t)getpid())
		return;
	records->seen_complete = true;
	ep_log(EP_LOG_DEBUG, "session: first complete sample at %" PRIu64 " ns, pid %" PRIu32,
	       (uint64_t)sample->event.time_ns, (uint32_t)sample->pid);
}

/* It is reported before the sample that it came with. */
static void on_kept(struct ep_kernel_records *records, const struct ep_kept *kept, size_t bytes)
{
	struct ep_program program = {
		.start_ns = kept->start_ns, .pid = kept->pid, .image = kept->image};
	struct ep_instance *instance =
		ep_processes_language(records->processes, program, kept->slot);

	if (instance)
		ep_instance_keep(instance, kept, bytes);
}

static void on_event(void *arg, const struct ep_event *event, size_t bytes)
{
	struct ep_kernel_records *records = arg;
	bool is_sample = event->type == EP_EVENT_TRACE || event->type == EP_EVENT_KNOWN;

	if (is_sample && bytes >= sizeof(struct ep_sample)) {
		note_first_complete(records, (const struct ep_sample *)event);
		if (((const struct ep_sample *)event)->error == EP_ERROR_TAIL_CALLS)
			ep_languages_lengthen(records->languages, true);
		ep_processes_on_sample(records->processes, (const struct ep_sample *)event, bytes);
	} else if (event->type == EP_EVENT_KEPT) {
		if (bytes >= sizeof(struct ep_kept))
			on_kept(records, (const struct ep_kept *)event, bytes);
	} else if (!is_sample && bytes >= sizeof(struct ep_process_event)) {
		ep_processes_on_event(records->processes, (const struct ep_process_event *)event);
	}
}

static void on_mapping(void *arg, const struct ep_mapping_event *event)
{
	struct ep_kernel_records *records = arg;

	ep_processes_on_mapping(records->processes, event);
}

static void on_lost(void *arg, uint64_t n)
{
	struct ep_kernel_records *records = arg;

	(void)n;
	ep_processes_on_lost(records->processes);
	ep_kernel_code_lose(records->kernel_code, records->looks_ns[1], ep_clock_mono_ns());
}

static void on_flooded(void *arg, uint32_t pid, uint64_t now_ns)
{
	struct ep_kernel_records *records = arg;

	ep_processes_on_flood(records->processes, (pid_t)pid, now_ns);
}

/* What is known of the kernel's own code is not one process's. */
static void on_crowded(void *arg, uint64_t n)
{
	struct ep_kernel_records *records = arg;

	(void)n;
	ep_processes_on_crowded(records->processes);
	ep_kernel_code_lose(records->kernel_code, records->looks_ns[1], ep_clock_mono_ns());
}

static void on_ksymbol(void *arg, const struct ep_ksymbol_event *event)
{
	struct ep_kernel_records *records = arg;
	const struct ep_kernel_change change = {
		.time_ns = event->time_ns,
		.addr = event->addr,
		.bytes = event->bytes,
		.is_gone = event->is_gone,
		.name = event->name,
		.module = event->module,
	};

	ep_kernel_code_change(records->kernel_code, &change);
}

/*
 * Before the samples that are handed over next. The kernel tells that a module will go before its memory is free,
 * so what comes to its place is sampled only after we could have heard of it.
 */
static void follow_modules(struct ep_kernel_records *records)
{
	records->looks_ns[1] = records->looks_ns[0];
	records->looks_ns[0] = ep_clock_mono_ns();
	if (ep_events_take_modules(records->events))
		ep_kernel_code_doubt(records->kernel_code, records->looks_ns[1], records->looks_ns[0]);
}

/* What woke us has reported all there is: the records are on the other ring. */
static void take_wakes(struct ep_kernel_records *records)
{
	const void *wake;
	size_t bytes;

	ep_ring_begin(records->wakes);
	while (ep_ring_next(records->wakes, &wake, &bytes) == EP_RING_RECORD)
		;
	ep_ring_release(records->wakes);
}

void ep_kernel_records_drain(struct ep_kernel_records *records)
{
	records->births[1] = records->births[0];
	records->births[0] = __atomic_load_n(&ep_bpf_control(records->bpf)->births, __ATOMIC_ACQUIRE);
	take_wakes(records);
	follow_modules(records);
	ep_processes_end_turn(records->processes, ep_order_drain(records->order));
}

void ep_kernel_records_flush(struct ep_kernel_records *records)
{
	ep_order_flush(records->order);
	ep_processes_end_turn(records->processes, ep_clock_mono_ns());
}

void ep_kernel_records_look_for_lost(struct ep_kernel_records *records)
{
	if (__atomic_exchange_n(&ep_bpf_control(records->bpf)->dropped, 0, __ATOMIC_ACQ_REL))
		ep_processes_on_lost(records->processes);
}

bool ep_kernel_records_are_waiting(const struct ep_kernel_records *records)
{
	return ep_order_waiting(records->order) > 0;
}

bool ep_kernel_records_had_births(const struct ep_kernel_records *records)
{
	return __atomic_load_n(&ep_bpf_control(records->bpf)->births, __ATOMIC_ACQUIRE) != records->births[1];
}

size_t ep_kernel_records_bytes(const struct ep_kernel_records *records)
{
	return sizeof(*records) + ep_order_bytes(records->order);
}

void ep_kernel_records_get_stats(const struct ep_kernel_records *records, struct ep_order_stats *ret_stats)
{
	ep_order_get_stats(records->order, ret_stats);
}

int ep_kernel_records_fd(const struct ep_kernel_records *records)
{
	return ep_ring_fd(records->ring);
}

int ep_kernel_records_wakes_fd(const struct ep_kernel_records *records)
{
	return ep_ring_fd(records->wakes);
}

size_t ep_kernel_records_ring_bytes(const struct ep_kernel_records *records)
{
	return ep_ring_bytes(records->ring);
}

static int open_rings(struct ep_kernel_records *records)
{
	static const struct ep_order_ops ops = {
		.event = on_event,
		.mapping = on_mapping,
		.lost = on_lost,
		.ksymbol = on_ksymbol,
		.flooded = on_flooded,
		.crowded = on_crowded,
	};
	struct ep_order_options options = {
		.sidebands = ep_events_sidebands(records->events),
		.ops = &ops,
		.arg = records,
	};
	int r = ep_ring_open(ep_bpf_map_fd(records->bpf, "ep_ring"), &records->ring);

	if (r == 0)
		r = ep_ring_open(ep_bpf_map_fd(records->bpf, "ep_wakes"), &records->wakes);
	options.ring = records->ring;
	return r < 0 ? r : ep_order_new(&options, &records->order);
}

int ep_kernel_records_new(const struct ep_kernel_records_options *options,
			  struct ep_kernel_records **ret_records)
{
	struct ep_kernel_records *records = calloc(1, sizeof(*records));
	int r;

	if (!records)
		return -ENOMEM;
	records->bpf = options->bpf;
	records->events = options->events;
	records->kernel_code = options->kernel_code;
	records->languages = options->languages;
	records->processes = options->processes;
	records->looks_ns[0] = options->since_ns;
	r = open_rings(records);
	if (r < 0) {
		ep_kernel_records_free(records);
		return r;
	}
	*ret_records = records;
	return 0;
}

void ep_kernel_records_free(struct ep_kernel_records *records)
{
	if (!records)
		return;
	ep_order_free(records->order);
	ep_ring_close(records->ring);
	ep_ring_close(records->wakes);
	free(records);
}
