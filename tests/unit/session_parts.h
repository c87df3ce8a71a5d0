/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a session is made of, for tests of core/agent/session.c, seal.c and coverage.c alone: the
 * rest of the agent, the process manager, languages and BPF are here, and do nothing but what
 * `parts` says. Stores and batches are the real ones.
 */
#ifndef EP_TEST_SESSION_PARTS_H
#define EP_TEST_SESSION_PARTS_H

#include "core/agent/chooser.h"
#include "core/agent/kernel_records.h"
#include "core/agent/namer.h"
#include "core/agent/session_internal.h"
#include "core/bpf/chunks.h"
#include "core/bpf/loaded.h"
#include "core/bpf/programs.h"
#include "core/plugin/host.h"
#include "core/proc/copies.h"
#include "core/proc/readers.h"
#include "core/process/executables.h"
#include "core/process/language.h"
#include "core/process/processes.h"
#include "core/unwind/delta_store.h"
#include "tests/unit/trace_events.h"

#include <bpf/bpf.h>

static struct {
	uint64_t now_ns;
	uint64_t counters[EP_COUNTER_COUNT];
	struct ep_events_missed missed;
	struct ep_control control;
	struct ep_config config;
	struct ep_spent spent;
	/* What each part was made with. */
	struct ep_watch_options watch;
	struct ep_processes_options processes;
	struct ep_languages_options languages;
	struct ep_namer_options namer;
	/* Samples that a drain, a flush and a release of the pending ones pass on; NULL: none. */
	const struct event *on_ring, *young, *pending;
	size_t ring_bytes;
	uint64_t age_ns;		/* of every program */
	uint32_t patient, keeping;	/* slots */
	size_t busy, attaching;		/* processes, languages */
	int load, attach, open, sample; /* what these return */
	int n_cpus;
	bool names; /* the namer resolves what it is asked for */
	/* What was asked. */
	unsigned int swept, looked_for_lost;
	uint64_t keep_gone_ns, reader_wait_ns;
	uint32_t epoch_of_drain;
	char order[64]; /* a letter for each: d(rain), f(lush), r(elease), S(top of the events) */
} parts;

static inline void parts_note(char letter)
{
	size_t len = strlen(parts.order);

	if (len + 1 < sizeof(parts.order))
		parts.order[len] = letter;
}

static inline void parts_pass(const struct event **event)
{
	const struct event *passed = *event;

	*event = NULL;
	if (passed)
		parts.processes.pass(parts.processes.arg, passed, passed->bytes);
}

/* A function that says always the same, or what `parts` says. */
#define GIVES(type, name, parameters, value)                                                       \
	type name parameters                                                                       \
	{                                                                                          \
		return value;                                                                      \
	}
#define DOES(name, parameters, what)                                                               \
	void name parameters                                                                       \
	{                                                                                          \
		what;                                                                              \
	}
#define NOTHING (void)0

/* Time; --wrap. */
GIVES(uint64_t, __wrap_ep_clock_mono_ns, (void), parts.now_ns)

/* core/bpf */
GIVES(int, ep_bpf_load, (const struct ep_bpf_options *options, struct ep_bpf **ret), parts.load)
DOES(ep_bpf_free, (struct ep_bpf * bpf), NOTHING)
GIVES(int, ep_bpf_attach_process_events, (struct ep_bpf * bpf), parts.attach)
GIVES(const struct ep_config *, ep_bpf_config, (const struct ep_bpf *bpf), &parts.config)
GIVES(struct ep_control *, ep_bpf_control, (const struct ep_bpf *bpf), &parts.control)
GIVES(struct ep_rule *, ep_bpf_rules, (const struct ep_bpf *bpf), NULL)
GIVES(uint64_t, ep_bpf_counter, (const struct ep_bpf *bpf, enum ep_counter i), parts.counters[i])
GIVES(const struct ep_counts *, ep_bpf_counts, (const struct ep_bpf *bpf, uint32_t *ret_n), NULL)
GIVES(int, ep_bpf_entry_fd, (const struct ep_bpf *bpf), -1)
GIVES(int, ep_bpf_map_fd, (const struct ep_bpf *bpf, const char *name), -1)
GIVES(int, ep_bpf_lengthen_runs, (struct ep_bpf * bpf), 0)
GIVES(uint32_t, ep_bpf_frames_per_run, (const struct ep_bpf *bpf), 1)
GIVES(size_t, ep_bpf_stop_loads, (const struct ep_bpf *bpf), 0)
DOES(ep_bpf_list_code, (const struct ep_bpf *bpf, struct ep_vec *codes), NOTHING)
GIVES(int, ep_bpf_add_chunk, (void *bpf, uint32_t index, void **ret_memory), -ENOMEM)
DOES(ep_bpf_remove_chunk, (void *bpf, uint32_t index, void *memory), NOTHING)
GIVES(int, bpf_map_lookup_elem, (int fd, const void *key, void *value), -ENOENT)
GIVES(int, bpf_map_update_elem, (int fd, const void *key, const void *value, __u64 flags), 0)
GIVES(int, ep_events_open, (const struct ep_events_options *options, struct ep_events **ret),
      parts.open)
DOES(ep_events_close, (struct ep_events * events), NOTHING)
GIVES(int, ep_events_start, (struct ep_events * events), parts.sample)
DOES(ep_events_stop, (struct ep_events * events), parts_note('S'))
GIVES(int, ep_events_sync_cpus, (struct ep_events * events), parts.n_cpus)
GIVES(int, ep_events_follow_cpus, (struct ep_events * events), parts.n_cpus)
GIVES(struct ep_events_missed, ep_events_count_missed, (struct ep_events * events), parts.missed)
GIVES(uint64_t, ep_events_mean_period_ns, (const struct ep_events *events), 10 * EP_NS_PER_MS)
GIVES(uint64_t, ep_events_period_ns, (const struct ep_events *events, uint32_t cpu),
      10 * EP_NS_PER_MS)
GIVES(int, ep_events_poll_fd, (const struct ep_events *events), -1)

/* core/proc, core/plugin, core/unwind, core/config */
DOES(ep_copies_set_memory, (struct ep_memory_budget * memory), NOTHING)
DOES(ep_readers_wait_at_most, (uint64_t ns), parts.reader_wait_ns = ns)
DOES(ep_host_tell_left_out, (uint64_t now_ns), NOTHING)
GIVES(int, ep_job_run,
      (struct uv_loop_s * loop, void (*work)(void *arg), void (*after)(void *arg), void *arg),
      -EAGAIN)
GIVES(int, ep_delta_store_new,
      (const struct ep_delta_store_ops *ops, size_t max_bytes, struct ep_delta_store **ret), 0)
DOES(ep_delta_store_free, (struct ep_delta_store * store), NOTHING)
GIVES(bool, ep_filter_is_used, (const struct ep_filter *filter), false)

/* core/process */
int ep_processes_new(const struct ep_processes_options *options, struct ep_processes **ret)
{
	parts.processes = *options;
	*ret = (struct ep_processes *)&parts;
	return 0;
}

void ep_processes_release(struct ep_processes *processes)
{
	parts_note('r');
	parts_pass(&parts.pending);
}

void ep_processes_sweep(struct ep_processes *processes, uint64_t keep_ns)
{
	parts.swept++;
	parts.keep_gone_ns = keep_ns;
}

DOES(ep_processes_stop, (struct ep_processes * processes), NOTHING)
DOES(ep_processes_free, (struct ep_processes * processes), NOTHING)
GIVES(int, ep_processes_scan, (struct ep_processes * processes), 0)
GIVES(size_t, ep_processes_busy, (const struct ep_processes *processes), parts.busy)
GIVES(struct ep_executables *, ep_processes_executables, (struct ep_processes * processes), NULL)
GIVES(struct ep_executable *, ep_processes_executable,
      (struct ep_processes * processes, uint32_t id), NULL)
GIVES(const struct ep_identity *, ep_processes_identity,
      (const struct ep_processes *processes, struct ep_program program), NULL)
GIVES(uint64_t, ep_processes_age_ns,
      (const struct ep_processes *processes, struct ep_program program), parts.age_ns)
DOES(ep_processes_on_language, (struct ep_processes * processes, pid_t pid), NOTHING)
DOES(ep_executables_restore_one, (struct ep_executables * executables, uint64_t now_ns), NOTHING)

int ep_languages_new(const struct ep_languages_options *options, struct ep_languages **ret)
{
	parts.languages = *options;
	*ret = (struct ep_languages *)&parts;
	return 0;
}

DOES(ep_languages_stop, (struct ep_languages * languages), NOTHING)
DOES(ep_languages_free, (struct ep_languages * languages), NOTHING)
DOES(ep_languages_drain, (struct ep_languages * languages, uint64_t cpu_ns), NOTHING)
DOES(ep_languages_lengthen, (struct ep_languages * languages, bool is_urgent), NOTHING)
GIVES(bool, ep_languages_have, (const struct ep_languages *languages, const char *name), true)
GIVES(size_t, ep_languages_busy, (const struct ep_languages *languages), 0)
GIVES(size_t, ep_languages_attaching, (const struct ep_languages *languages), parts.attaching)
GIVES(uint32_t, ep_languages_patient, (struct ep_languages * languages, uint64_t now_ns),
      parts.patient)
GIVES(uint32_t, ep_languages_keeping, (const struct ep_languages *languages, uint64_t now_ns),
      parts.keeping)

/* core/agent */
void ep_kernel_records_drain(struct ep_kernel_records *records)
{
	parts_note('d');
	parts.epoch_of_drain = parts.control.epoch;
	parts_pass(&parts.on_ring);
}

void ep_kernel_records_flush(struct ep_kernel_records *records)
{
	parts_note('f');
	parts_pass(&parts.young);
}

GIVES(int, ep_kernel_records_new,
      (const struct ep_kernel_records_options *options, struct ep_kernel_records **ret), 0)
DOES(ep_kernel_records_free, (struct ep_kernel_records * records), NOTHING)
DOES(ep_kernel_records_look_for_lost, (struct ep_kernel_records * records), parts.looked_for_lost++)
GIVES(bool, ep_kernel_records_are_waiting, (const struct ep_kernel_records *records), false)
GIVES(int, ep_kernel_records_fd, (const struct ep_kernel_records *records), -1)
GIVES(int, ep_kernel_records_wakes_fd, (const struct ep_kernel_records *records), -1)
GIVES(size_t, ep_kernel_records_ring_bytes, (const struct ep_kernel_records *records),
      parts.ring_bytes)

int ep_namer_new(const struct ep_namer_options *options, struct ep_namer **ret)
{
	parts.namer = *options;
	*ret = (struct ep_namer *)&parts;
	return 0;
}

void ep_namer_run(struct ep_namer *namer, struct ep_frames *frames, enum ep_namer_when when)
{
	uint32_t id;

	while (parts.names && (id = ep_frames_take(frames)) != 0)
		ep_frames_resolve(frames, id, NULL, 0, NULL);
}

DOES(ep_namer_free, (struct ep_namer * namer), NOTHING)
DOES(ep_namer_stop, (struct ep_namer * namer), NOTHING)
DOES(ep_namer_drain, (struct ep_namer * namer), NOTHING)
DOES(ep_namer_sweep, (struct ep_namer * namer), NOTHING)
DOES(ep_namer_give_up, (struct ep_namer * namer, struct ep_frames *frames), NOTHING)
DOES(ep_namer_say_slow, (struct ep_namer * namer, struct ep_frames *frames), NOTHING)
DOES(ep_namer_let_go, (struct ep_namer * namer, uint32_t executable), NOTHING)
DOES(ep_namer_name_executable,
     (struct ep_namer * namer, struct ep_frames *frames, uint32_t executable), NOTHING)
DOES(ep_namer_name_program,
     (struct ep_namer * namer, struct ep_frames *frames, struct ep_program program, uint32_t slot),
     NOTHING)
GIVES(size_t, ep_namer_busy, (const struct ep_namer *namer), 0)
GIVES(const char *, ep_namer_kernel_build_id, (const struct ep_namer *namer), "")
GIVES(int, ep_chooser_new,
      (const struct ep_filter *filter, struct ep_bpf *bpf, struct ep_chooser **ret), 0)
DOES(ep_chooser_free, (struct ep_chooser * chooser), NOTHING)
GIVES(int, ep_chooser_look, (struct ep_chooser * chooser), 0)
DOES(ep_chooser_follow, (struct ep_chooser * chooser, uint32_t cgroups), NOTHING)

int ep_watch_init(struct ep_watch *watch, const struct ep_watch_options *options)
{
	parts.watch = *options;
	return 0;
}

DOES(ep_watch_start, (struct ep_watch * watch), NOTHING)
DOES(ep_watch_close, (struct ep_watch * watch), NOTHING)

/* limits.c, counters.c, wanted.c */
DOES(ep_session_share_memory, (struct ep_session * session), NOTHING)
DOES(ep_session_keep_limit, (struct ep_session * session), NOTHING)
DOES(ep_session_collect, (struct ep_session * session), NOTHING)
DOES(ep_session_raise_files, (void), NOTHING)
GIVES(size_t, ep_session_max_files, (void), 64)
GIVES(struct ep_store_limits, ep_session_store_limits, (size_t memory_bytes),
      EP_STORE_DEFAULT_LIMITS)
GIVES(struct ep_spent, ep_session_spent, (struct ep_session * session), parts.spent)
DOES(ep_session_choose, (const struct ep_filter *choice, struct ep_bpf_options *options), NOTHING)
GIVES(int, ep_session_choose_cpus, (const struct ep_filter *choice, struct ep_cpus **ret), 0)
GIVES(bool, ep_session_is_wanted, (void *arg, pid_t pid), true)
GIVES(bool, ep_session_on_peek, (void *arg), true)

#endif
