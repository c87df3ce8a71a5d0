/* SPDX-License-Identifier: Apache-2.0 */
#include "core/agent/session_internal.h"
#include "core/agent/chooser.h"
#include "core/agent/kernel_records.h"
#include "core/agent/namer.h"
#include "core/process/executables.h"
#include "core/process/processes.h"
#include "core/language/languages.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/bpf/chunks.h"
#include "core/bpf/events.h"
#include "core/bpf/loaded.h"
#include "core/bpf/programs.h"
#include "core/plugin/host.h"
#include "core/proc/copies.h"
#include "core/proc/readers.h"
#include "core/trace/kernel_code.h"
#include "core/unwind/delta_store.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#define MAX_PROCESSES 16384
#define HELD_MIN_BYTES (2u << 20)
/* Of the memory limit, for all but the delta store and the ring: maps, symbols, traces. */
#define OTHER_BYTES   (16u << 20)
/* Names of processes and executables that are gone, for batches that are not written yet. */
#define KEEP_GONE_NS (150 * EP_NS_PER_SEC)
/* Between these is the longest rest from the kernel's records. */
#define REST_LEAST_MS 10
#define REST_MOST_MS  200
/* After the end of sampling, for what a process that does not answer is still asked. */
#define LAST_ANSWER_NS (250 * EP_NS_PER_MS)
/* Between two signals to those who load programs. */
#define BREAK_MS       5
#define MAX_OWN_CODES  256 /* functions of our own BPF programs */
/* Analyses and attaches have limits of some seconds of CPU time: a worker that takes longer waits for something. */
#define WORKERS_HANG_NS (60 * EP_NS_PER_SEC)

/* Others may live a moment longer, and what they read is still waited for. Loop's thread. */
static size_t n_sessions;

static void wait_for_readers_at_most(uint64_t ns)
{
	if (n_sessions <= 1)
		ep_readers_wait_at_most(ns);
}

/* --- looks and ticks ------------------------------------------------------------------------- */

static void start_names(struct ep_session *session, enum ep_namer_when when)
{
	for (size_t i = 0; i < session->n_stores; i++)
		ep_namer_run(session->namer, ep_store_frames(session->stores[i]), when);
}

static void drain(void *arg)
{
	struct ep_session *session = arg;

	ep_kernel_records_drain(session->records);
	start_names(session, EP_NAMER_DUE);
}

static bool on_look(void *arg)
{
	struct ep_session *session = arg;

	drain(session);
	return ep_kernel_records_are_waiting(session->records);
}

static void add_due(struct ep_session *session)
{
	uint64_t due = ep_coverage_add_due(&session->coverage, session->bpf);

	for (size_t i = 0; i < session->n_stores; i++)
		ep_store_add_due(session->stores[i], due);
}

static void add_lost(struct ep_session *session)
{
	uint64_t lost = ep_coverage_add_lost(&session->coverage, session->bpf, session->events);

	for (size_t i = 0; i < session->n_stores; i++)
		ep_store_add_lost(session->stores[i], lost);
	add_due(session);
}

/* Once each time that they do. */
static void say_hanging(struct ep_session *session)
{
	bool hang = ep_jobs_hang_ns(ep_clock_mono_ns()) >= WORKERS_HANG_NS;

	if (hang && !session->workers_hang)
		ep_log(EP_LOG_ERROR,
		       "session: no worker has come back for a minute, so nothing new is read, analysed or named: they "
		       "most likely wait for a file system that does not answer; unmount it (umount -f), or restart the "
		       "profiler");
	session->workers_hang = hang;
}

/* Twice a second; most of it every other time. */
static void on_tick(void *arg)
{
	struct ep_session *session = arg;
	struct ep_control *control = ep_bpf_control(session->bpf);

	ep_kernel_records_look_for_lost(session->records);
	if (session->chooser)
		ep_chooser_follow(session->chooser, control->cgroups);
	ep_languages_lengthen(session->languages, false);
	if (session->sampling)
		session->n_cpus = ep_events_follow_cpus(session->events);
	if (++session->ticks % 2)
		return;
	ep_host_tell_left_out(ep_clock_mono_ns());
	say_hanging(session);
	ep_processes_sweep(session->processes,
			   EP_MAX(KEEP_GONE_NS, session->options.keep_gone_ns));
	ep_session_finish_seals(session);
	ep_namer_sweep(session->namer);
	for (size_t i = 0; i < session->n_stores; i++)
		ep_store_rest(session->stores[i], ep_clock_mono_ns());
	control->patient = ep_languages_patient(session->languages, ep_clock_mono_ns());
	control->keeping = ep_languages_keeping(session->languages, ep_clock_mono_ns());
	if (ep_processes_busy(session->processes) > 0 || ep_namer_busy(session->namer) > 0)
		ep_session_share_memory(session);
	if (session->ticks % 10 == 0) {
		add_lost(session);
		ep_session_keep_limit(session);
		ep_session_share_memory(session);
		ep_executables_restore_one(ep_processes_executables(session->processes),
					   ep_clock_mono_ns());
	}
	ep_session_collect(session);
}

/* --- from the parts -------------------------------------------------------------------------- */

static void pass_sample(void *arg, const void *event, size_t bytes)
{
	struct ep_session *session = arg;

	for (size_t i = 0; i < session->n_stores; i++)
		(void)ep_store_add(session->stores[i], event, bytes);
}

static void on_names(void *arg)
{
	start_names(arg, EP_NAMER_FREE);
	ep_session_finish_seals(arg);
}

/* As BPF decides whether to wake us (bpf/send.bpf.h). */
static bool is_patient(void *arg, uint32_t slot, struct ep_program program)
{
	struct ep_session *session = arg;
	const struct ep_control *control = ep_bpf_control(session->bpf);
	uint64_t age_ns = ep_processes_age_ns(session->processes, program);

	if (age_ns < EP_YOUNG_NS)
		return ep_languages_keeping(session->languages, ep_clock_mono_ns()) >> slot & 1;
	return age_ns >= EP_PATIENT_AGE_NS && control->patient >> slot & 1;
}

static void on_leaving(void *arg, struct ep_program program, uint32_t slot)
{
	struct ep_session *session = arg;

	for (size_t i = 0; i < session->n_stores; i++)
		ep_namer_name_program(session->namer, ep_store_frames(session->stores[i]), program, slot);
}

static void on_executable_leaving(void *arg, struct ep_executable *executable)
{
	struct ep_session *session = arg;

	for (size_t i = 0; session->namer && i < session->n_stores; i++)
		ep_namer_name_executable(session->namer, ep_store_frames(session->stores[i]), executable->id);
	if (session->namer)
		ep_namer_let_go(session->namer, executable->id);
}

static void on_language(void *arg, pid_t pid)
{
	struct ep_session *session = arg;
	uint32_t key = (uint32_t)pid, one = 1;
	struct ep_exec exec;

	/* What it executed wakes us when it is executed again. */
	if (bpf_map_lookup_elem(ep_bpf_map_fd(session->bpf, "ep_execs"), &key, &exec) == 0)
		(void)bpf_map_update_elem(ep_bpf_map_fd(session->bpf, "ep_runtimes"), &exec.inode,
					  &one, BPF_ANY);
	ep_processes_on_language(session->processes, pid);
}

static bool is_hurried(void *arg)
{
	struct ep_session *session = arg;

	return ep_processes_busy(session->processes) > 0;
}

static bool is_language_wanted(void *arg, const char *name)
{
	struct ep_session *session = arg;
	const struct ep_session_options *options = &session->options;

	for (size_t i = 0; i < options->n_languages; i++) {
		if (strcmp(options->languages[i], name) == 0)
			return true;
	}
	return options->languages == NULL;
}

/* --- building -------------------------------------------------------------------------------- */

static int new_bpf(struct ep_session *session, enum ep_session_stage *stage)
{
	struct ep_bpf_options options = {
		.ring_bytes = session->options.ring_bytes,
		.max_processes = MAX_PROCESSES,
		.filter = session->options.filter,
	};
	const struct ep_filter *choice = session->options.choice;
	int r;

	if (choice)
		ep_session_choose(choice, &options);
	r = ep_bpf_load(&options, &session->bpf);
	*stage = r == -ENOENT || r == -ENODATA || r == -ENOTSUP ? EP_STAGE_BTF : EP_STAGE_PROGRAMS;
	if (r < 0)
		return r;
	*stage = EP_STAGE_ATTACH;
	if (choice && ep_filter_is_used(choice))
		r = ep_chooser_new(choice, session->bpf, &session->chooser);
	if (r == 0)
		r = ep_bpf_attach_process_events(session->bpf);
	if (r == 0 && session->chooser)
		r = ep_chooser_look(session->chooser);
	return r;
}

static int new_deltas(struct ep_session *session)
{
	struct ep_delta_store_ops ops = {
		.arg = session->bpf,
		.add_chunk = ep_bpf_add_chunk,
		.remove_chunk = ep_bpf_remove_chunk,
		.rules = ep_bpf_rules(session->bpf),
		.generation = &ep_bpf_control(session->bpf)->generation,
	};

	size_t rest = OTHER_BYTES + session->options.ring_bytes;
	size_t memory = session->options.memory_bytes;

	return ep_delta_store_new(&ops, EP_MAX(memory / 2, memory > rest ? memory - rest : 0),
				  &session->deltas);
}

static int new_languages(struct ep_session *session)
{
	struct ep_languages_options options = {
		.loop = session->options.loop,
		.timer = &session->timer,
		.bpf = session->bpf,
		.plugin_dir = session->options.plugin_dir,
		.enabled = is_language_wanted,
		.changed = on_language,
		.named = on_names,
		.leaving = on_leaving,
		.name_jobs = &session->name_jobs,
		.hurried = is_hurried,
		.arg = session,
	};
	int r = ep_languages_new(&options, &session->languages);

	for (size_t i = 0; r == 0 && i < session->options.n_languages; i++) {
		const char *name = session->options.languages[i];

		if (!ep_languages_have(session->languages, name))
			ep_log(EP_LOG_WARN, "languages: no plugin \"%s\" in %s: its frames stay "
			       "native", name, session->options.plugin_dir);
	}
	return r;
}

static int new_processes(struct ep_session *session)
{
	struct ep_processes_options options = {
		.loop = session->options.loop,
		.timer = &session->timer,
		.store = session->deltas,
		.rules = ep_bpf_rules(session->bpf),
		.languages = session->languages,
		.control = ep_bpf_control(session->bpf),
		.procs_fd = ep_bpf_map_fd(session->bpf, "ep_procs"),
		.reads_per_second = 20 + session->options.freq_hz,
		.max_processes = MAX_PROCESSES,
		.hears_mappings = ep_events_poll_fd(session->events) >= 0,
		.held_bytes = EP_MAX(session->options.held_bytes, (size_t)HELD_MIN_BYTES),
		.max_files = ep_session_max_files(),
		.divides = session->options.divides,
		.memory = &session->files,
		.leaving = on_executable_leaving,
		.pass = pass_sample,
		.catch_up = drain,
		.wanted = ep_bpf_config(session->bpf)->filter ? ep_session_is_wanted : NULL,
		.arg = session,
	};

	return ep_processes_new(&options, &session->processes);
}

static int new_records(struct ep_session *session, uint64_t since_ns)
{
	struct ep_kernel_records_options options = {
		.bpf = session->bpf,
		.events = session->events,
		.kernel_code = session->kernel_code,
		.languages = session->languages,
		.processes = session->processes,
		.since_ns = since_ns,
	};

	return ep_kernel_records_new(&options, &session->records);
}

static int new_namer(struct ep_session *session)
{
	struct ep_namer_options options = {
		.loop = session->options.loop,
		.processes = session->processes,
		.native = session->options.native_names,
		.kernel = session->options.kernel_names,
		.kernel_code = session->kernel_code,
		.max_bytes = session->options.memory_bytes / 16,
		.memory = &session->files,
		.is_patient = is_patient,
		.progress = on_names,
		.name_jobs = &session->name_jobs,
		.arg = session,
	};

	return ep_namer_new(&options, &session->namer);
}

/* Our own programs were loaded before their coming and going was followed. */
static int new_kernel_code(struct ep_session *session)
{
	int r = ep_kernel_code_new(&session->kernel_code);
	struct ep_loaded_code *loaded;
	struct ep_vec codes;

	if (r < 0)
		return r;
	ep_vec_init(&codes, sizeof(*loaded), MAX_OWN_CODES);
	ep_bpf_list_code(session->bpf, &codes);
	ep_vec_each(&codes, loaded)
		ep_kernel_code_add_old(session->kernel_code, loaded->addr, loaded->bytes);
	ep_vec_fini(&codes);
	return 0;
}

static int new_events(struct ep_session *session)
{
	struct ep_events_options options = {
		.freq_hz = session->options.freq_hz,
		.program_fd = ep_bpf_entry_fd(session->bpf),
		.sideband = true,
	};
	int r = ep_session_choose_cpus(session->options.choice, &session->cpus);

	if (r < 0)
		return r;
	options.cpus = session->cpus;
	options.counts = ep_bpf_counts(session->bpf, &options.n_counts);
	return ep_events_open(&options, &session->events);
}

/* If each sample had a copy of its stack, a quarter of the ring would be full by then. */
static uint32_t max_rest_ms(const struct ep_session *session)
{
	uint64_t copy_bytes = EP_COPY_PAGES * EP_COPY_PAGE_BYTES + 1024;
	uint64_t n_cpus = (uint64_t)EP_MAX(sysconf(_SC_NPROCESSORS_ONLN), 1);
	uint64_t per_second = session->options.freq_hz * n_cpus * copy_bytes;
	uint64_t ms = 1000 * (uint64_t)ep_kernel_records_ring_bytes(session->records) / 4 / per_second;

	return (uint32_t)EP_MIN(EP_MAX(ms, (uint64_t)REST_LEAST_MS), (uint64_t)REST_MOST_MS);
}

static int init_watch(struct ep_session *session)
{
	struct ep_watch_options options = {
		.loop = session->options.loop,
		.control = ep_bpf_control(session->bpf),
		.ring_fd = ep_kernel_records_fd(session->records),
		.side_fd = ep_events_poll_fd(session->events),
		.exec_fd = ep_kernel_records_wakes_fd(session->records),
		.max_rest_ms = max_rest_ms(session),
		.look = on_look,
		.matters = ep_bpf_config(session->bpf)->filter ? ep_session_on_peek : NULL,
		.tick = on_tick,
		.arg = session,
	};
	int r = ep_watch_init(&session->watch, &options);

	session->handles_ready = true;
	return r;
}

static void free_parts(struct ep_session *session)
{
	ep_copies_forget_memory(&session->files);
	ep_namer_free(session->namer);
	for (size_t i = 0; i < session->n_stores; i++)
		ep_store_free(session->stores[i]);
	ep_processes_free(session->processes);
	ep_languages_free(session->languages);
	ep_delta_store_free(session->deltas);
	ep_kernel_records_free(session->records);
	ep_events_close(session->events);
	ep_chooser_free(session->chooser);
	ep_bpf_free(session->bpf);
	ep_kernel_code_free(session->kernel_code);
	ep_users_fini(&session->users);
	free(session->cpus);
	free(session);
	n_sessions--;
}

static int new_parts(struct ep_session *session, enum ep_session_stage *stage)
{
	int r = new_bpf(session, stage);
	uint64_t since_ns = ep_clock_mono_ns();

	if (r < 0)
		return r;
	*stage = EP_STAGE_PERF;
	r = new_events(session);
	if (r < 0)
		return r;
	*stage = EP_STAGE_STORE;
	r = new_kernel_code(session);
	if (r == 0)
		r = new_deltas(session);
	if (r == 0)
		r = new_languages(session);
	if (r == 0)
		r = new_processes(session);
	if (r == 0)
		r = new_records(session, since_ns);
	if (r == 0)
		r = new_namer(session);
	if (r < 0)
		return r;
	ep_session_share_memory(session);
	ep_copies_set_memory(&session->files);
	return init_watch(session);
}

int ep_session_new(const struct ep_session_options *options, struct ep_session **ret_session,
		   enum ep_session_stage *ret_stage)
{
	struct ep_session *session = calloc(1, sizeof(*session));
	int r;

	*ret_stage = EP_STAGE_MEMORY;
	if (!session)
		return -ENOMEM;
	n_sessions++;
	ep_readers_wait_at_most(EP_READER_LATE_NS);
	session->options = *options;
	TAILQ_INIT(&session->seals);
	ep_users_init(&session->users, "/etc/passwd");
	ep_timer_init(&session->timer, options->loop);
	ep_session_raise_files();
	r = new_parts(session, ret_stage);
	if (r < 0) {
		ep_session_close(session, NULL, NULL);
		return r;
	}
	*ret_session = session;
	return 0;
}

static void lengthen_work(void *arg)
{
	struct ep_session *session = arg;

	(void)ep_bpf_lengthen_runs(session->bpf);
}

static void lengthen_after(void *arg)
{
	struct ep_session *session = arg;

	session->lengthening = false;
	ep_log(EP_LOG_DEBUG, "session: %" PRIu32 " frames walked in one run",
	       ep_bpf_frames_per_run(session->bpf));
}

/* After the first reads of processes: the verifier holds a worker for a while. */
int ep_session_start(struct ep_session *session)
{
	int r;

	uv_update_time(session->options.loop); /* loading took a while; timers count from now */
	ep_watch_start(&session->watch);
	r = ep_processes_scan(session->processes);
	session->lengthening =
		ep_job_run(session->options.loop, lengthen_work, lengthen_after, session) == 0;
	return r;
}

int ep_session_sample(struct ep_session *session)
{
	int r = ep_events_start(session->events);

	session->sampling = r == 0;
	for (size_t i = 0; i < session->n_stores; i++) {
		ep_store_begin(session->stores[i], ep_clock_mono_ns());
		session->spent[i] = ep_session_spent(session);
	}
	session->n_cpus = ep_events_sync_cpus(session->events);
	if (r == 0)
		ep_log(EP_LOG_INFO, "sampling at %" PRIu32 " Hz", session->options.freq_hz);
	return r;
}

bool ep_session_is_settled(const struct ep_session *session)
{
	return !session->preparing && !session->lengthening &&
	       ep_processes_busy(session->processes) == 0 &&
	       ep_languages_attaching(session->languages) == 0;
}

static void on_breaking(uv_timer_t *timer)
{
	struct ep_session *session = timer->data;

	if (ep_bpf_stop_loads(session->bpf) == 0)
		uv_timer_stop(timer);
}

/* A program that is still being loaded will not be used any more, but it keeps a worker that names need. */
static void break_loads(struct ep_session *session)
{
	session->is_breaking = true;
	uv_timer_init(session->options.loop, &session->breaking);
	session->breaking.data = session;
	uv_timer_start(&session->breaking, on_breaking, 0, BREAK_MS);
}

void ep_session_stop(struct ep_session *session)
{
	if (!session->sampling)
		return;
	wait_for_readers_at_most(LAST_ANSWER_NS);
	ep_events_stop(session->events);
	session->sampling = false;
	break_loads(session);
	drain(session);
	ep_kernel_records_flush(session->records);
	add_lost(session);
	ep_host_tell_left_out(UINT64_MAX); /* before a summary is printed */
}

/* --- closing --------------------------------------------------------------------------------- */

static bool is_busy(const struct ep_session *session)
{
	return session->collecting || session->preparing || session->lengthening ||
	       (session->languages && ep_languages_busy(session->languages)) ||
	       (session->namer && ep_namer_busy(session->namer)) ||
	       (session->processes && ep_processes_busy(session->processes));
}

static void on_closed(uv_handle_t *handle)
{
	struct ep_session *session = handle->data;
	void (*done)(void *arg) = session->closed;
	void *arg = session->closed_arg;

	ep_host_tell_left_out(UINT64_MAX);
	free_parts(session);
	if (done)
		done(arg);
}

/*
 * Jobs cannot be taken back; each turn of the loop some end. The first turn may be the one in which
 * the handles were closed, and the loop still needs their memory at its end.
 */
static void on_closing(uv_timer_t *timer)
{
	struct ep_session *session = timer->data;

	if (session->bpf)
		(void)ep_bpf_stop_loads(session->bpf);
	if (session->closing_turns++ == 0 || is_busy(session))
		return;
	ep_session_drop_seals(session);
	uv_close((uv_handle_t *)timer, on_closed);
}

void ep_session_close(struct ep_session *session, void (*done)(void *arg), void *arg)
{
	session->closed = done;
	session->closed_arg = arg;
	__atomic_store_n(&session->cancelled, true, __ATOMIC_RELAXED);
	if (session->sampling)
		ep_session_stop(session);
	wait_for_readers_at_most(0);
	if (session->is_breaking)
		uv_close((uv_handle_t *)&session->breaking, NULL);
	if (session->handles_ready)
		ep_watch_close(&session->watch);
	if (session->processes)
		ep_processes_stop(session->processes);
	if (session->languages)
		ep_languages_stop(session->languages);
	if (session->namer)
		ep_namer_stop(session->namer);
	ep_timer_stop(&session->timer);
	uv_timer_init(session->options.loop, &session->closing);
	session->closing.data = session;
	uv_timer_start(&session->closing, on_closing, 0, 1);
}

/* --- stores and batches ---------------------------------------------------------------------- */

int ep_session_add_store(struct ep_session *session, size_t max_interval_bytes)
{
	struct ep_store_limits limits = ep_session_store_limits(session->options.memory_bytes);
	int r;

	if (session->n_stores == EP_SESSION_MAX_STORES)
		return -E2BIG;
	limits.max_interval_bytes = max_interval_bytes;
	r = ep_store_new_beside(session->n_stores ? session->stores[0] : NULL, &limits, ep_clock_mono_ns(),
				&session->stores[session->n_stores]);
	if (r < 0)
		return r;
	ep_store_set_kernel_code(session->stores[session->n_stores], session->kernel_code);
	return (int)session->n_stores++;
}

struct ep_session_progress ep_session_progress(struct ep_session *session, uint32_t store)
{
	const struct ep_interval *interval = ep_store_current(session->stores[store]);

	add_due(session);
	return (struct ep_session_progress){
		.samples = ep_interval_samples(interval),
		.complete = ep_interval_complete(interval),
		.lost = ep_interval_lost(interval),
		.due = ep_interval_due(interval),
	};
}

int ep_session_seal(struct ep_session *session, uint32_t store, uint64_t wait_ns,
		    ep_take_batch take, void *arg)
{
	/* From here on traces come with their frames again; what is on the ring is still ours. */
	ep_bpf_control(session->bpf)->epoch++;
	drain(session);
	if (!session->sampling)
		ep_processes_release(session->processes);
	add_lost(session);
	return ep_session_add_seal(session, store, wait_ns, take, arg);
}

void ep_session_hasten(struct ep_session *session)
{
	wait_for_readers_at_most(0);
	ep_session_hasten_seals(session);
}
