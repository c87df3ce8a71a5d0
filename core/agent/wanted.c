/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes are recorded: what is published to BPF of it, and the same judgement where user
 * space has to ask.
 */
#include "core/agent/chooser.h"
#include "core/agent/kernel_records.h"
#include "core/agent/session_internal.h"
#include "core/bpf/cpus.h"
#include "core/bpf/events.h"
#include "core/bpf/programs.h"
#include "core/bpf/sideband.h"
#include "core/bpf/sideband_set.h"
#include "core/process/processes.h"

#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>

void ep_session_choose(const struct ep_filter *choice, struct ep_bpf_options *options)
{
	struct ep_glob names;

	if (ep_filter_compile(choice, EP_FILTER_COMM, &names) == 0)
		ep_filter_glob_start(&names, options->names_start);
	options->need = ep_filter_need(choice) | (options->filter ? EP_FILTER_IN(EP_FILTER_PID) : 0);
	options->never = ep_filter_never(choice);
	options->no_inherit = choice->no_inherit;
	options->filter |= ep_filter_is_used(choice);
	options->n_users = ep_filter_numbers(choice, EP_FILTER_USER, options->users, EP_FILTER_LISTED);
	options->n_threads =
		ep_filter_numbers(choice, EP_FILTER_TID, options->threads, EP_FILTER_LISTED);
}

int ep_session_choose_cpus(const struct ep_filter *choice, struct ep_cpus **ret_cpus)
{
	struct ep_cpus *cpus;

	if (!choice || !ep_filter_has(choice, EP_FILTER_CPU)) {
		*ret_cpus = NULL;
		return 0;
	}
	cpus = calloc(1, sizeof(*cpus));
	if (!cpus)
		return -ENOMEM;
	for (uint32_t cpu = 0; cpu < EP_MAX_CPUS; cpu++) {
		if (ep_filter_takes_number(choice, EP_FILTER_CPU, cpu))
			cpus->bits[cpu / 64] |= 1ull << cpu % 64;
	}
	*ret_cpus = cpus;
	return 0;
}

static uint32_t pid_bits(const struct ep_session *session, pid_t pid)
{
	struct ep_filter_entry value;
	uint32_t key = (uint32_t)pid;

	return bpf_map_lookup_elem(ep_bpf_map_fd(session->bpf, "ep_filter"), &key, &value) == 0
		       ? value.bits
		       : 0;
}

/* As BPF will judge it. */
bool ep_session_is_wanted(void *arg, pid_t pid)
{
	struct ep_session *session = arg;
	const struct ep_config *config = ep_bpf_config(session->bpf);
	uint32_t changes = ep_bpf_changes(session->bpf);
	uint32_t bits = config->filter_need | config->filter_never ? pid_bits(session, pid) : 0;
	uint32_t used = (config->filter_need | config->filter_never) & EP_FILTER_BOTH(EP_FILTER_PID);

	if ((bits & used) == (config->filter_need & used) &&
	    (!session->chooser || ep_chooser_may_be_named(session->chooser, pid)))
		return !session->chooser || ep_chooser_wants(session->chooser, pid);
	ep_bpf_keep_other(session->bpf, (uint32_t)pid, changes);
	return false;
}

static int add_pid_bits(struct ep_session *session, pid_t pid, uint32_t bits)
{
	return ep_bpf_add_pid(session->bpf, (uint32_t)pid, bits | pid_bits(session, pid));
}

int ep_session_add_pid(struct ep_session *session, pid_t pid)
{
	return add_pid_bits(session, pid, EP_FILTER_IN(EP_FILTER_PID));
}

int ep_session_exclude_pid(struct ep_session *session, pid_t pid)
{
	return add_pid_bits(session, pid, EP_FILTER_OUT(EP_FILTER_PID));
}

static bool is_known(void *arg, pid_t pid)
{
	struct ep_session *session = arg;

	return ep_processes_know(session->processes, pid);
}

/*
 * With a filter: is there a mapping of a process that is recorded, or may there be one? BPF counts new processes
 * before their mappings are written, or meanwhile. A look may come too early for the count, the next one does not.
 */
bool ep_session_on_peek(void *arg)
{
	struct ep_session *session = arg;
	struct ep_sideband_set *rings = ep_events_sidebands(session->events);
	size_t n = rings ? ep_sideband_set_len(rings) : 0;

	if (ep_kernel_records_had_births(session->records))
		return true;
	for (size_t i = 0; i < n; i++) {
		if (ep_sideband_peek(ep_sideband_set_at(rings, i), is_known, session))
			return true;
	}
	for (size_t i = 0; i < n; i++)
		ep_sideband_drop_peeked(ep_sideband_set_at(rings, i));
	return false;
}
