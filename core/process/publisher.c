/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/publisher.h"
#include "core/base/clock.h"
#include "core/process/process_languages.h"
#include "core/process/rows.h"
#include "core/unwind/delta_store.h"

#include <string.h>

#include <bpf/bpf.h>

/*
 * A process pauses so many times as long as its rows took: they cost it 2 % of a CPU at most. It is
 * CPU time that counts: a loop that was preempted while it wrote has not spent more. Where a
 * virtual CPU is stolen its clock runs on all the same, hence the limit.
 */
#define REST_FACTOR 50
#define REST_MAX_NS (200 * EP_NS_PER_MS)

static int update_map(void *arg, uint32_t pid, const struct ep_proc *proc)
{
	return bpf_map_update_elem(*(const int *)arg, &pid, proc, BPF_ANY);
}

static int find_in_map(void *arg, uint32_t pid, struct ep_proc *ret_proc)
{
	return bpf_map_lookup_elem(*(const int *)arg, &pid, ret_proc);
}

static int remove_from_map(void *arg, uint32_t pid)
{
	return bpf_map_delete_elem(*(const int *)arg, &pid);
}

static const struct ep_procs_ops map_ops = {update_map, find_in_map, remove_from_map};

void ep_publisher_init(struct ep_publisher *publisher, struct ep_room *room,
		       const struct ep_procs_ops *ops, void *arg)
{
	*publisher = (struct ep_publisher){
		.room = room,
		.procs = ops ? ops : &map_ops,
		.procs_arg = arg,
	};
	TAILQ_INIT(&publisher->dirty);
	ep_row_set_init(&publisher->set);
}

void ep_publisher_fini(struct ep_publisher *publisher)
{
	ep_row_set_fini(&publisher->set);
}

void ep_publisher_mark(struct ep_publisher *publisher, struct ep_process *process)
{
	if (process->published.is_dirty || process->state == EP_PROCESS_ENDED)
		return;
	process->published.is_dirty = true;
	TAILQ_INSERT_TAIL(&publisher->dirty, process, published.dirty);
	publisher->n_dirty++;
}

void ep_publisher_unmark(struct ep_publisher *publisher, struct ep_process *process)
{
	if (!process->published.is_dirty)
		return;
	process->published.is_dirty = false;
	TAILQ_REMOVE(&publisher->dirty, process, published.dirty);
	publisher->n_dirty--;
}

/* False when there are too many. */
static bool make_rows(struct ep_publisher *publisher, const struct ep_process *process,
		      const struct ep_language_view *views, size_t n)
{
	bool all = ep_row_set_make(&publisher->set, ep_process_areas(process), views, n);

	if (process->search.end)
		ep_row_set_await(&publisher->set, process->search.start, process->search.end,
				 process->search.is_moving);
	return all;
}

const struct ep_vec *ep_publisher_build(struct ep_publisher *publisher,
					const struct ep_process *process)
{
	struct ep_language_view views[EP_MAX_LANGUAGES];
	size_t n = ep_process_languages_views(process, views);

	(void)make_rows(publisher, process, views, n);
	return &publisher->set.rows;
}

void ep_publisher_forget_pid(struct ep_publisher *publisher, uint32_t pid)
{
	(void)publisher->procs->remove(publisher->procs_arg, pid);
}

static void tell_bpf(struct ep_publisher *publisher, struct ep_process *process,
		     struct ep_row_block *block, const struct ep_language_view *views, size_t n_views)
{
	struct ep_proc proc = {
		.start_ns = process->program.start_ns,
		.image = process->program.image,
		.born_ns = process->born_ns,
		.rows = block->ref,
		.rows_serial = block->serial,
		.n_rows = (uint16_t)block->n_rows,
		.flags = process->is_final ? EP_PROC_FINAL : 0,
	};
	uint32_t pid = process->program.pid;
	int r;

	if (n_views == 0 && ep_process_languages_await(process))
		proc.flags |= EP_PROC_AWAITS;
	ep_language_views_fill_proc(views, n_views, &proc);
	/* Its rows are what they were, and nothing else of it is new. */
	if (block == process->published.rows &&
	    memcmp(&process->published.proc, &proc, sizeof(proc)) == 0) {
		ep_room_unref(publisher->room, block);
		return;
	}
	r = publisher->procs->update(publisher->procs_arg, pid, &proc);
	process->published.proc = r < 0 ? (struct ep_proc){0} : proc;
	if (r == 0 && !process->languages.told_ns && proc.slots[0])
		process->languages.told_ns = ep_clock_mono_ns();
	if (r == 0 && !proc.slots[0]) /* it had been given one, which was taken back */
		process->languages.told_ns = 0;
	if (r < 0) {
		publisher->stats.refused++;
		ep_publisher_forget_pid(publisher, pid);
	}
	ep_room_unref(publisher->room, process->published.rows);
	process->published.rows = block;
	publisher->stats.published++;
}

/* The same rows need not be written again: something else of the process may be new to BPF. */
static bool has_entries(const struct ep_publisher *publisher, const struct ep_process *process,
			const struct ep_vec *entries)
{
	const struct ep_row_block *rows = process->published.rows;
	const char *chunk;

	if (!rows || rows->n_entries != entries->len || rows->n_rows != publisher->set.rows.len)
		return false;
	if (entries->len == 0)
		return true;
	chunk = ep_delta_store_chunk(publisher->room->store, EP_REF_CHUNK(rows->ref));
	return memcmp(chunk + 4 * (size_t)EP_REF_WORD(rows->ref), entries->data,
		      entries->len * sizeof(struct ep_row)) == 0;
}

/* False when there is no space in this turn. */
static bool publish(struct ep_publisher *publisher, struct ep_process *process)
{
	struct ep_language_view views[EP_MAX_LANGUAGES];
	size_t n_views = ep_process_languages_views(process, views);
	bool all = make_rows(publisher, process, views, n_views);
	const struct ep_vec *entries = ep_row_set_entries(&publisher->set, views, n_views);
	struct ep_row_block *block = NULL;

	if (entries && has_entries(publisher, process, entries)) {
		publisher->stats.unchanged++;
		block = ep_room_ref(process->published.rows);
	} else if (entries) {
		block = ep_room_put(publisher->room, entries->data, entries->len,
				    publisher->set.rows.len);
	}
	if (!block) {
		process->published.no_room = publisher->room->turn;
		return false;
	}
	tell_bpf(publisher, process, block, views, n_views);
	publisher->stats.cut += !all;
	return true;
}

bool ep_publisher_run(struct ep_publisher *publisher, uint64_t now_ns)
{
	struct ep_process *process, *next;
	bool any = false;

	for (process = TAILQ_FIRST(&publisher->dirty); process; process = next) {
		uint64_t start_ns, rest_ns;

		next = TAILQ_NEXT(process, published.dirty);
		if (now_ns < process->published.rests_until_ns) {
			publisher->stats.put_off++;
			continue;
		}
		start_ns = ep_clock_thread_cpu_ns();
		if (process->published.no_room == publisher->room->turn ||
		    !publish(publisher, process))
			continue;
		rest_ns = REST_FACTOR * (ep_clock_thread_cpu_ns() - start_ns);
		process->published.at_ns = ep_clock_mono_ns();
		process->published.rests_until_ns =
			process->published.at_ns + EP_MIN(rest_ns, REST_MAX_NS);
		ep_publisher_unmark(publisher, process);
		any = true;
	}
	return any;
}

static void drop_rows(struct ep_publisher *publisher, struct ep_process *process)
{
	ep_room_unref(publisher->room, ep_take(process->published.rows));
	process->published.at_ns = 0;
}

void ep_publisher_forget(struct ep_publisher *publisher, struct ep_process *process)
{
	ep_publisher_forget_pid(publisher, process->program.pid);
	drop_rows(publisher, process);
}

/* The entry under this pid may be another's by now, which BPF made at its fork. */
void ep_publisher_end(struct ep_publisher *publisher, struct ep_process *process)
{
	uint32_t pid = process->program.pid;
	struct ep_proc proc;

	ep_publisher_unmark(publisher, process);
	if (process->published.at_ns >= process->ended_ns &&
	    publisher->procs->find(publisher->procs_arg, pid, &proc) == 0 &&
	    proc.start_ns == process->program.start_ns && proc.image == process->program.image)
		ep_publisher_forget_pid(publisher, pid);
	drop_rows(publisher, process);
}

void ep_publisher_fork(struct ep_publisher *publisher, struct ep_process *child,
		       const struct ep_process *parent)
{
	child->is_final = parent->is_final;
	if (!parent->published.rows || parent->published.at_ns > child->born_ns) {
		ep_publisher_mark(publisher, child);
		return;
	}
	child->published.rows = ep_room_ref(parent->published.rows);
	child->published.at_ns = child->born_ns;
	if (parent->published.is_dirty)
		ep_publisher_mark(publisher, child);
}

void ep_publisher_forget_starved(struct ep_publisher *publisher)
{
	struct ep_process *process;

	TAILQ_FOREACH (process, &publisher->dirty, published.dirty) {
		if (process->published.no_room == publisher->room->turn)
			ep_publisher_forget(publisher, process);
	}
}
