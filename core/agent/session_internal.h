/* SPDX-License-Identifier: Apache-2.0 */
/* The session's own fields, shared by session.c, wanted.c, limits.c, seal.c, prepare.c and counters.c. */
#ifndef EP_AGENT_SESSION_INTERNAL_H
#define EP_AGENT_SESSION_INTERNAL_H

#include "core/plugin/job.h"
#include "core/agent/coverage.h"
#include "core/agent/session.h"
#include "core/agent/watch.h"
#include "core/plugin/timer.h"
#include "core/base/work.h"
#include "core/bpf/events.h"
#include "core/proc/users.h"
#include "core/trace/batch.h"
#include "core/trace/store.h"

#include <sys/queue.h>
#include <uv.h>

#define EP_SESSION_MAX_STORES 8

/* CPU time of the profiler: its own, and in BPF. */
struct ep_spent {
	uint64_t agent_ns, bpf_ns;
};

struct ep_chooser;
struct ep_cpus;
struct ep_kernel_code;
struct ep_kernel_records;

/* An interval that has ended and waits for the names of its frames. */
struct ep_seal {
	TAILQ_ENTRY(ep_seal) link;
	struct ep_interval *interval;
	uint64_t deadline_ns;
	struct ep_spent spent;
	uint32_t n_cpus;
	ep_take_batch take;
	void *arg;
};

struct ep_session {
	struct ep_memory_budget files; /* what workers hold of files */
	struct ep_session_options options;
	struct ep_bpf *bpf;
	struct ep_chooser *chooser; /* NULL: nothing was chosen but processes by pid */
	struct ep_cpus *cpus;	    /* NULL: all of them are sampled */
	struct ep_delta_store *deltas;
	struct ep_languages *languages;
	struct ep_processes *processes;
	struct ep_namer *namer;
	struct ep_kernel_code *kernel_code;
	size_t name_jobs; /* its jobs, and those of languages */
	struct ep_events *events;
	struct ep_kernel_records *records;
	struct ep_store *stores[EP_SESSION_MAX_STORES];
	struct ep_spent spent[EP_SESSION_MAX_STORES]; /* when the interval of this store began */
	size_t n_stores;
	TAILQ_HEAD(, ep_seal) seals;

	struct ep_watch watch;
	struct ep_timer timer; /* of processes and languages */
	uv_timer_t closing;
	uv_timer_t breaking; /* loads of programs off, after the end of sampling */
	bool is_breaking;    /* it was started; closed when the session closes */
	bool handles_ready, sampling, collecting, lengthening;
	bool trimming; /* while it is collecting: so is the heap */
	bool draining; /* names are all that is still looked for */
	unsigned int preparing; /* ep_session_prepare, not done yet */
	bool cancelled;		/* it closes: workers need not find anything more; atomic */
	int n_cpus;
	uint64_t ticks; /* two a second */
	bool workers_hang;
	struct ep_coverage coverage; /* as it was reported to the stores */
	struct ep_users users;	 /* their names, for batches */
	char user_name[EP_USER_NAME_BYTES]; /* of the process that a batch asks for */
	int64_t boot_to_wall_ns; /* of the first batch, see seal.c */
	unsigned int closing_turns;
	void (*closed)(void *arg);
	void *closed_arg;
};

/* seal.c */
int ep_session_add_seal(struct ep_session *session, uint32_t store, uint64_t wait_ns,
			ep_take_batch take, void *arg);
/* Gives away the batches whose frames have names, or whose time is up. */
void ep_session_finish_seals(struct ep_session *session);
void ep_session_hasten_seals(struct ep_session *session); /* their time is up */
void ep_session_drop_seals(struct ep_session *session);

/* counters.c */
struct ep_spent ep_session_spent(struct ep_session *session);
struct ep_memory {
	size_t heap_bytes; /* what malloc and mmap hold for us */
	size_t bpf_bytes;
};
struct ep_memory ep_session_memory(struct ep_session *session);

/* limits.c */
/* Lets workers hold for files what is left of the memory limit. */
void ep_session_share_memory(struct ep_session *session);
/* Drops tables until memory will be within its limit. */
void ep_session_keep_limit(struct ep_session *session);
/* Starts to tidy the unwind tables' memory, where some of it was freed. */
void ep_session_collect(struct ep_session *session);
/* What one store may hold. */
struct ep_store_limits ep_session_store_limits(size_t memory_bytes);
/* Takes as many descriptors as the system allows. */
void ep_session_raise_files(void);
/* How many of these descriptors executables may keep open. */
size_t ep_session_max_files(void);

/* wanted.c */
struct ep_bpf_options;
void ep_session_choose(const struct ep_filter *choice, struct ep_bpf_options *options);
/* NULL: all of them. 0, -ENOMEM. */
int ep_session_choose_cpus(const struct ep_filter *choice, struct ep_cpus **ret_cpus);
/* arg: the session, in both. */
bool ep_session_is_wanted(void *arg, pid_t pid);
bool ep_session_on_peek(void *arg);

#endif
