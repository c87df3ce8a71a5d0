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
#include "core/language/languages.h"
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

/* What nothing is asked of: it says 0, or nothing. */
long parts_say_nothing(void)
{
	return 0;
}
__asm__(".irp name, "
	"bpf_map_update_elem, ep_bpf_counts, ep_bpf_free, ep_bpf_lengthen_runs, "
	"ep_bpf_list_code, ep_bpf_remove_chunk, ep_bpf_rules, ep_bpf_stop_loads, "
	"ep_chooser_follow, ep_chooser_free, ep_chooser_look, ep_chooser_new, "
	"ep_copies_forget_memory, ep_copies_set_memory, ep_delta_store_free, ep_delta_store_new, "
	"ep_events_close, ep_executables_restore_one, ep_filter_is_used, "
	"ep_host_tell_left_out, ep_jobs_hang_ns, ep_kernel_records_are_waiting, "
	"ep_kernel_records_free, ep_kernel_records_new, ep_languages_busy, "
	"ep_languages_drain, ep_languages_free, ep_languages_lengthen, "
	"ep_languages_stop, ep_namer_busy, ep_namer_drain, ep_namer_free, "
	"ep_namer_give_up, ep_namer_let_go, ep_namer_name_executable, "
	"ep_namer_name_program, ep_namer_say_slow, ep_namer_stop, ep_namer_sweep, "
	"ep_processes_executable, ep_processes_executables, ep_processes_free, "
	"ep_processes_identity, ep_processes_on_language, ep_processes_scan, "
	"ep_processes_stop, ep_timer_init, ep_timer_stop, ep_session_choose, ep_session_choose_cpus, "
	"ep_session_collect, ep_session_keep_limit, ep_session_raise_files, "
	"ep_session_share_memory, ep_users_fini, ep_users_init, ep_watch_close, ep_watch_start"
	"\n\t.globl \\name\n\t.set \\name, parts_say_nothing\n.endr");

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

/* Time; --wrap. */
GIVES(uint64_t, __wrap_ep_clock_mono_ns, (void), parts.now_ns)

/* core/bpf */
GIVES(int, ep_bpf_load, (const struct ep_bpf_options *options, struct ep_bpf **ret), parts.load)
GIVES(int, ep_bpf_attach_process_events, (struct ep_bpf * bpf), parts.attach)
GIVES(const struct ep_config *, ep_bpf_config, (const struct ep_bpf *bpf), &parts.config)
GIVES(struct ep_control *, ep_bpf_control, (const struct ep_bpf *bpf), &parts.control)
GIVES(uint64_t, ep_bpf_counter, (const struct ep_bpf *bpf, enum ep_counter i), parts.counters[i])
GIVES(int, ep_bpf_entry_fd, (const struct ep_bpf *bpf), -1)
GIVES(int, ep_bpf_map_fd, (const struct ep_bpf *bpf, const char *name), -1)
GIVES(uint32_t, ep_bpf_frames_per_run, (const struct ep_bpf *bpf), 1)
GIVES(int, ep_bpf_add_chunk, (void *bpf, uint32_t index, void **ret_memory), -ENOMEM)
GIVES(int, bpf_map_lookup_elem, (int fd, const void *key, void *value), -ENOENT)
GIVES(int, ep_events_open, (const struct ep_events_options *options, struct ep_events **ret),
      parts.open)
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
DOES(ep_readers_wait_at_most, (uint64_t ns), parts.reader_wait_ns = ns)
GIVES(int, ep_job_run,
      (struct uv_loop_s * loop, void (*work)(void *arg), void (*after)(void *arg), void *arg),
      -EAGAIN)

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

GIVES(size_t, ep_processes_busy, (const struct ep_processes *processes), parts.busy)
GIVES(uint64_t, ep_processes_age_ns,
      (const struct ep_processes *processes, struct ep_program program), parts.age_ns)

int ep_languages_new(const struct ep_languages_options *options, struct ep_languages **ret)
{
	parts.languages = *options;
	*ret = (struct ep_languages *)&parts;
	return 0;
}

GIVES(bool, ep_languages_have, (const struct ep_languages *languages, const char *name), true)
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

DOES(ep_kernel_records_look_for_lost, (struct ep_kernel_records * records), parts.looked_for_lost++)
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

GIVES(const char *, ep_users_name,
      (struct ep_users *users, uint32_t user, uint64_t now_ns, char name[EP_USER_NAME_BYTES]), "")
GIVES(const char *, ep_namer_kernel_build_id, (const struct ep_namer *namer), "")

int ep_watch_init(struct ep_watch *watch, const struct ep_watch_options *options)
{
	parts.watch = *options;
	return 0;
}

/* limits.c, counters.c, wanted.c */
GIVES(size_t, ep_session_max_files, (void), 64)
GIVES(struct ep_store_limits, ep_session_store_limits, (size_t memory_bytes),
      EP_STORE_DEFAULT_LIMITS)
GIVES(struct ep_spent, ep_session_spent, (struct ep_session * session), parts.spent)
GIVES(bool, ep_session_is_wanted, (void *arg, pid_t pid), true)
GIVES(bool, ep_session_on_peek, (void *arg), true)

#endif
