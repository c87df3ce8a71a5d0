/* SPDX-License-Identifier: Apache-2.0 */
#include "core/agent/session_internal.h"
#include "core/agent/kernel_records.h"
#include "core/bpf/order.h"
#include "core/agent/namer.h"
#include "core/process/executables.h"
#include "core/language/languages.h"
#include "core/process/processes.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/bpf/programs.h"
#include "core/proc/readers.h"
#include "core/unwind/delta_store.h"

#include <malloc.h>

struct ep_memory ep_session_memory(struct ep_session *session)
{
	struct mallinfo2 info = mallinfo2();

	return (struct ep_memory){
		.heap_bytes = info.uordblks + info.hblkhd,
		.bpf_bytes = ep_bpf_map_bytes(session->bpf) +
			     ep_delta_store_bytes(session->deltas) +
			     ep_languages_bpf_bytes(session->languages),
	};
}

static void print_bpf(const struct ep_session *session, FILE *out)
{
	struct ep_bpf_cost cost = ep_bpf_cost(session->bpf);

	for (int i = 0; i < EP_COUNTER_COUNT; i++)
		ep_put_count(out, ep_bpf_counter_text(i), ep_bpf_counter(session->bpf, i));
	ep_put_count(out, "ticks of the sampling clocks that never came", session->coverage.missed.ticks);
	ep_put_count(out, "samples lost with them", session->coverage.missed.samples);
	ep_put_count(out, "frames walked in one run of the unwinder",
		     ep_bpf_frames_per_run(session->bpf));
	if (cost.runs)
		ep_put_count(out, "BPF ns per event, idle ones included", cost.run_ns / cost.runs);
}

static void print_stores(const struct ep_session *session, FILE *out)
{
	for (size_t i = 0; i < session->n_stores; i++) {
		const struct ep_store_counters *c = ep_store_counters(session->stores[i]);

		ep_put_count(out, "samples stored", c->samples);
		ep_put_count(out, "traces stored", c->traces);
		ep_put_count(out, "samples whose stack was lost", c->unknown);
		ep_put_count(out, "malformed events", c->malformed);
		ep_put_count(out, "hash collisions kept apart", c->collisions);
		ep_put_count(out, "samples over the interval's limit",
			     c->over_limit + c->frames_full);
		ep_put_count(out, "stacks cut since their process has its share of frames",
			     c->over_share);
		ep_put_count(out, "names left out since their process has its share of them",
			     c->names_over_share +
				     ep_frames_names_over_share(ep_store_frames(session->stores[i])));
	}
}

static void print_records(const struct ep_session *session, FILE *out)
{
	struct ep_order_stats order;

	ep_kernel_records_get_stats(session->records, &order);
	ep_put_count(out, "records of the kernel", order.records);
	ep_put_count(out, "records that came late", order.late);
	ep_put_count(out, "us of the latest", order.late_max_ns / 1000);
	ep_put_count(out, "side-band records lost", order.lost);
	ep_put_count(out, "times something woke the profiler", session->watch.wakes);
	ep_put_count(out, "times that a process was judged not to be recorded", ep_bpf_control(session->bpf)->judged);
	ep_put_count(out, "times it was woken for mappings of processes that are not recorded", session->watch.peeks);
}

/* A row for each owner of the heap, and one for the rest: libraries, plugins, exporters, what runs on workers. */
static void print_heap(struct ep_session *session, FILE *out)
{
	struct ep_processes_bytes processes = ep_processes_bytes(session->processes);
	struct mallinfo2 info = mallinfo2();
	struct row {
		const char *text;
		size_t bytes;
	} rows[] = {
		{"bytes of frames and their names", 0},
		{"bytes of traces and samples", 0},
		{"bytes of symbol tables", ep_namer_bytes(session->namer)},
		{"bytes of executables",
		 ep_executables_bytes(ep_processes_executables(session->processes))},
		{"bytes of lists of unwind tables", ep_delta_store_heap_bytes(session->deltas)},
		{"bytes of processes", processes.programs},
		{"bytes of their mappings", processes.mappings},
		{"bytes of language runtimes", ep_languages_bytes(session->languages)},
		{"bytes of samples waiting", ep_processes_waiting_bytes(session->processes)},
		{"bytes of the order of records", ep_kernel_records_bytes(session->records)},
	};
	size_t rest = info.uordblks + info.hblkhd;

	for (size_t i = 0; i < session->n_stores; i++) {
		size_t names = ep_store_frames_bytes(session->stores[i]);

		rows[0].bytes += names;
		rows[1].bytes += ep_store_bytes(session->stores[i]) - names;
	}
	ep_put_count(out, "bytes of heap", rest);
	for (size_t i = 0; i < EP_LEN(rows); i++) {
		ep_put_count_of(out, "heap", rows[i].text, rows[i].bytes);
		rest -= EP_MIN(rest, rows[i].bytes);
	}
	ep_put_count_of(out, "heap", "bytes of all others", rest);
	ep_put_count_of(out, "heap", "bytes that are free", info.fordblks);
}

static void print_memory(struct ep_session *session, FILE *out)
{
	struct ep_memory memory = ep_session_memory(session);

	print_heap(session, out);
	ep_put_count(out, "bytes of BPF memory", memory.bpf_bytes);
	ep_put_count(out, "bytes of it in unwind tables",
		     ep_delta_store_used_bytes(session->deltas));
	ep_put_count(out, "bytes held for files that were read, at most",
		     atomic_load(&session->files.peak));
	ep_put_count(out, "times that they were too many", atomic_load(&session->files.refused));
	ep_put_count(out, "requests to readers, for what may never come", ep_readers_stats().requests);
	ep_put_count(out, "processes and file systems that did not answer them", ep_readers_stats().late);
	ep_put_count(out, "ms of CPU used by the agent", ep_clock_cpu_ns() / EP_NS_PER_MS);
}

void ep_session_print_counters(struct ep_session *session, FILE *out)
{
	print_bpf(session, out);
	print_stores(session, out);
	print_records(session, out);
	ep_processes_print_counters(session->processes, out);
	ep_languages_print_counters(session->languages, out);
	print_memory(session, out);
	fflush(out);
}

struct ep_spent ep_session_spent(struct ep_session *session)
{
	return (struct ep_spent){
		.agent_ns = ep_clock_cpu_ns(),
		.bpf_ns = ep_bpf_cost(session->bpf).run_ns,
	};
}

struct ep_session_cost ep_session_cost(struct ep_session *session)
{
	struct ep_bpf_cost cost = ep_bpf_cost(session->bpf);
	struct ep_memory memory = ep_session_memory(session);
	uint64_t samples = ep_bpf_counter(session->bpf, EP_COUNTER_SAMPLES);

	return (struct ep_session_cost){
		.samples = samples,
		.lost = ep_bpf_counter(session->bpf, EP_COUNTER_RING_FULL) +
			session->coverage.missed.samples,
		.walked = ep_bpf_counter(session->bpf, EP_COUNTER_OVERRUN),
		.bpf_ns = cost.run_ns,
		.heap_bytes = memory.heap_bytes,
		.bpf_bytes = memory.bpf_bytes,
		.n_cpus = session->n_cpus > 0 ? (uint32_t)session->n_cpus : 0,
	};
}
