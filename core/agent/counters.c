/* SPDX-License-Identifier: Apache-2.0 */
#include "core/agent/session_internal.h"
#include "core/process/executables.h"
#include "core/bpf/order.h"
#include "core/agent/namer.h"
#include "core/process/language.h"
#include "core/process/processes.h"
#include "core/base/clock.h"
#include "core/bpf/programs.h"
#include "core/unwind/delta_store.h"

#include <inttypes.h>
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

static void print(FILE *out, const char *text, uint64_t value)
{
	fprintf(out, "%12" PRIu64 "  %s\n", value, text);
}

static void print_bpf(const struct ep_session *session, FILE *out)
{
	struct ep_bpf_cost cost = ep_bpf_cost(session->bpf);

	for (int i = 0; i < EP_COUNTER_COUNT; i++)
		print(out, ep_bpf_counter_text(i), ep_bpf_counter(session->bpf, i));
	print(out, "ticks of the sampling clocks that never came", session->missed.ticks);
	print(out, "samples lost with them", session->missed.samples);
	print(out, "frames walked in one run of the unwinder", ep_bpf_frames_per_run(session->bpf));
	if (cost.runs)
		print(out, "BPF ns per event, idle ones included", cost.run_ns / cost.runs);
}

static void print_stores(const struct ep_session *session, FILE *out)
{
	for (size_t i = 0; i < session->n_stores; i++) {
		const struct ep_store_counters *c = ep_store_counters(session->stores[i]);

		print(out, "samples stored", c->samples);
		print(out, "traces stored", c->traces);
		print(out, "samples whose stack was lost", c->unknown);
		print(out, "malformed events", c->malformed);
		print(out, "hash collisions kept apart", c->collisions);
		print(out, "samples over the interval's limit", c->over_limit + c->frames_full);
		print(out, "bytes of traces and names", ep_store_bytes(session->stores[i]));
	}
}

static void print_processes(struct ep_session *session, FILE *out)
{
	const struct ep_processes_stats stats = ep_processes_stats(session->processes), *p = &stats;
	struct ep_order_stats order;
	const struct ep_executables_stats *e = ep_processes_executables_stats(session->processes);

	ep_order_get_stats(session->order, &order);
	print(out, "processes known", p->live);
	print(out, "programs that ended and are remembered", p->ended);
	print(out, "processes read", p->reads);
	print(out, "processes gone while read", p->gone);
	print(out, "processes refused: too many", p->refused);
	print(out, "process reads put off", p->deferred);
	print(out, "process reads that waited more than 50 ms for a worker", p->late_reads);
	print(out, "forks", p->forks);
	print(out, "forks that copied no mappings: too many", p->disinherited);
	print(out, "execs", p->execs);
	print(out, "exits", p->exits);
	print(out, "new executable mappings", p->mappings);
	print(out, "new mappings of files that were known", p->mappings_placed);
	print(out, "files looked at for the others", p->files_asked);
	print(out, "files found", p->files_found);
	print(out, "files not looked at: too many at once", p->files_refused);
	print(out, "rows of processes written", p->published);
	print(out, "rows of processes with too many mappings", p->cut);
	print(out, "rows that had not changed", p->unchanged);
	print(out, "rows put off for want of budget", p->put_off);
	print(out, "samples walked to their root in user space", p->walked);
	print(out, "samples walked there as far as it went", p->incomplete);
	print(out, "samples of processes nobody knows", p->unknown);
	print(out, "samples that could not wait: too many", p->pushed_out);
	print(out, "samples dropped there: malformed, or no memory", p->dropped);
	print(out, "records of the kernel", order.records);
	print(out, "records that came late", order.late);
	print(out, "us of the latest", order.late_max_ns / 1000);
	print(out, "side-band records lost", order.lost);
	print(out, "times that nothing known was trusted", p->doubts);
	print(out, "times something woke the profiler", session->watch.wakes);
	print(out, "executables known", e->live);
	print(out, "executables analysed", e->analysed);
	print(out, "executables that are no ELF file we can read", e->failed);
	print(out, "executables whose tables were dropped for memory", e->evicted);
	print(out, "executables whose tables did not fit", e->over_limit);
	print(out, "executables whose described names did not fit", e->nameless);
}

static void print_memory(struct ep_session *session, FILE *out)
{
	struct ep_memory memory = ep_session_memory(session);

	print(out, "bytes of heap", memory.heap_bytes);
	print(out, "bytes of BPF memory", memory.bpf_bytes);
	print(out, "bytes of it in unwind tables", ep_delta_store_used_bytes(session->deltas));
	print(out, "bytes of symbol tables", ep_namer_bytes(session->namer));
	print(out, "bytes of samples waiting", ep_processes_held_bytes(session->processes));
	print(out, "ms of CPU used by the agent", ep_clock_cpu_ns() / EP_NS_PER_MS);
}

void ep_session_print_counters(struct ep_session *session, FILE *out)
{
	print_bpf(session, out);
	print_stores(session, out);
	print_processes(session, out);
	ep_languages_print_counters(session->languages, out);
	print_memory(session, out);
	fflush(out);
}

struct ep_session_cost ep_session_cost(struct ep_session *session)
{
	struct ep_bpf_cost cost = ep_bpf_cost(session->bpf);
	struct ep_memory memory = ep_session_memory(session);
	uint64_t samples = ep_bpf_counter(session->bpf, EP_COUNTER_SAMPLES);

	return (struct ep_session_cost){
		.samples = samples,
		.lost = ep_bpf_counter(session->bpf, EP_COUNTER_RING_FULL) +
			session->missed.samples,
		.bpf_ns = cost.run_ns,
		.heap_bytes = memory.heap_bytes,
		.bpf_bytes = memory.bpf_bytes,
		.n_cpus = session->n_cpus > 0 ? (uint32_t)session->n_cpus : 0,
	};
}
