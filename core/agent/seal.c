/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/executables.h"
#include "core/process/identity.h"
#include "core/language/languages.h"
#include "core/agent/namer.h"
#include "core/process/processes.h"
#include "core/agent/session_internal.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/utf8.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TITLE_BYTES 240

static int describe_executable(void *arg, uint32_t id, struct ep_batch_executable *ret)
{
	struct ep_session *session = arg;
	struct ep_executable *executable = ep_processes_executable(session->processes, id);

	if (!executable)
		return -ENODATA;
	executable->hit_ns = ep_clock_mono_ns();
	ret->path = executable->path;
	ret->build_id = executable->build_id;
	ret->file_id = executable->file_id;
	ret->go_build_id = executable->go_build_id;
	ret->n_segments = (uint32_t)EP_MIN(executable->n_segments,
					   (size_t)EP_EXECUTABLE_MAX_SEGMENTS);
	for (uint32_t i = 0; i < ret->n_segments; i++) {
		const struct ep_elf_segment *segment = &executable->segments[i];

		ret->segments[i].start_va = EP_ALIGN_DOWN(segment->va, EP_PAGE_BYTES);
		ret->segments[i].limit_va =
			EP_ALIGN_UP(segment->va + segment->mem_bytes, EP_PAGE_BYTES);
		ret->segments[i].file_off = EP_ALIGN_DOWN(segment->file_off, EP_PAGE_BYTES);
	}
	return 0;
}

static int describe_process(void *arg, struct ep_program program, struct ep_batch_process *ret)
{
	struct ep_session *session = arg;
	const struct ep_identity *identity = ep_processes_identity(session->processes, program);

	if (!identity)
		return -ENODATA;
	ret->comm = identity->comm;
	ret->exe_path = identity->exe_path;
	ret->container_id = identity->container_id;
	ret->cgroup = identity->cgroup_path;
	if (identity->user != EP_NO_USER)
		ret->user = ep_users_name(&session->users, identity->user, ep_clock_mono_ns(),
					  session->user_name);
	ret->environment = identity->environment;
	ret->environment_bytes = identity->environment_bytes;
	return 0;
}

static uint64_t period_of(void *arg, uint32_t cpu)
{
	struct ep_session *session = arg;

	return ep_events_period_ns(session->events, cpu);
}

/*
 * A process is known by its start, so that it must be the same in every batch: not another one by what two
 * clocks differ when they are read. A wall clock that was set is followed.
 */
static int64_t steady(struct ep_session *session, int64_t boot_to_wall_ns)
{
	if (llabs(boot_to_wall_ns - session->boot_to_wall_ns) > (int64_t)EP_NS_PER_SEC)
		session->boot_to_wall_ns = boot_to_wall_ns;
	return session->boot_to_wall_ns;
}

/* With blanks between its words; "": there is none. */
static const char *title_of(char *const *command, char *buf, size_t size)
{
	size_t n = 0;

	buf[0] = '\0';
	for (size_t i = 0; command && command[i] && n < size; i++)
		n += (size_t)snprintf(buf + n, size - n, "%s%s", i ? " " : "", command[i]);
	if (n >= size) {
		n = ep_utf8_cut(buf, size - 1, size - sizeof("…"));
		memcpy(buf + n, "…", sizeof("…"));
	}
	for (char *c = buf; *c; c++)
		*c = *c == '\n' || *c == '\t' ? ' ' : *c; /* a script after -c */
	return buf;
}

static struct ep_batch *build_batch(struct ep_session *session, const struct ep_seal *seal)
{
	char host_name[HOST_NAME_MAX + 1] = "", title[TITLE_BYTES];
	struct ep_batch_source source = {
		.arg = session,
		.executable = describe_executable,
		.process = describe_process,
		.kernel_build_id = ep_namer_kernel_build_id(session->namer),
		.host_name = host_name,
		.title = title_of(session->options.command, title, sizeof(title)),
		.period_hz = session->options.freq_hz,
		.period_ns = ep_events_mean_period_ns(session->events),
		.cpu_period = period_of,
		.agent_cpu_ns = seal->spent.agent_ns,
		.bpf_ns = seal->spent.bpf_ns,
		.n_cpus = seal->n_cpus,
	};
	struct ep_batch *batch = NULL;
	int r;

	(void)gethostname(host_name, sizeof(host_name) - 1);
	ep_batch_read_clocks(&source.mono_to_wall_ns, &source.boot_to_wall_ns);
	source.boot_to_wall_ns = steady(session, source.boot_to_wall_ns);
	r = ep_batch_build(seal->interval, &source, &batch);
	if (r < 0)
		ep_log(EP_LOG_ERROR, "session: cannot build a batch: %s", ep_strerror(r));
	return batch;
}

/* Since the interval before was finished, or sampling began. The counter of BPF can be switched off
 * and on. */
static struct ep_spent spend(struct ep_session *session, uint32_t store)
{
	struct ep_spent now = ep_session_spent(session), *last = &session->spent[store];
	struct ep_spent spent = {
		.agent_ns = now.agent_ns - last->agent_ns,
		.bpf_ns = now.bpf_ns - EP_MIN(last->bpf_ns, now.bpf_ns),
	};

	*last = now;
	return spent;
}

int ep_session_add_seal(struct ep_session *session, uint32_t store, uint64_t wait_ns,
			ep_take_batch take, void *arg)
{
	struct ep_seal *seal = calloc(1, sizeof(*seal));
	int r;

	if (!seal)
		return -ENOMEM;
	r = ep_store_seal(session->stores[store], ep_clock_mono_ns(), &seal->interval);
	if (r < 0) {
		free(seal);
		return r;
	}
	seal->deadline_ns = ep_clock_mono_ns() + wait_ns;
	seal->spent = spend(session, store);
	seal->n_cpus = session->n_cpus > 0 ? (uint32_t)session->n_cpus : 0;
	seal->take = take;
	seal->arg = arg;
	TAILQ_INSERT_TAIL(&session->seals, seal, link);
	ep_session_finish_seals(session);
	return 0;
}

void ep_session_drain(struct ep_session *session, uint64_t cpu_ns)
{
	session->draining = true;
	ep_languages_drain(session->languages, cpu_ns);
	ep_namer_drain(session->namer);
}

static void finish(struct ep_session *session, struct ep_seal *seal, const struct ep_batch *batch)
{
	TAILQ_REMOVE(&session->seals, seal, link);
	ep_interval_unref(seal->interval);
	seal->take(seal->arg, batch);
	free(seal);
}

void ep_session_finish_seals(struct ep_session *session)
{
	struct ep_seal *seal, *next;

	for (seal = TAILQ_FIRST(&session->seals); seal; seal = next) {
		struct ep_frames *frames = ep_interval_frames(seal->interval);
		struct ep_batch *batch;

		next = TAILQ_NEXT(seal, link);
		ep_namer_run(session->namer, frames, EP_NAMER_ALL);
		if (session->draining)
			ep_namer_give_up(session->namer, frames);
		if (!ep_interval_is_named(seal->interval)) {
			if (ep_clock_mono_ns() < seal->deadline_ns)
				continue;
			ep_namer_say_slow(session->namer, frames);
		}
		batch = build_batch(session, seal);
		finish(session, seal, batch);
		ep_batch_unref(batch);
	}
}

void ep_session_hasten_seals(struct ep_session *session)
{
	struct ep_seal *seal;

	TAILQ_FOREACH (seal, &session->seals, link)
		seal->deadline_ns = 0;
	ep_session_finish_seals(session);
}

void ep_session_drop_seals(struct ep_session *session)
{
	struct ep_seal *seal;

	while ((seal = TAILQ_FIRST(&session->seals)) != NULL)
		finish(session, seal, NULL);
}
