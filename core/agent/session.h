/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profiling session: BPF programs, perf events, process manager, trace stores and namer, wired
 * to one libuv loop. `record` and the agent are both a session with something that takes batches.
 *
 *	ring ──► held? ──► stores (one for each interval length) ─finish─► names ──► batch ──► you
 *
 * Loop's thread only.
 */
#ifndef EP_AGENT_SESSION_H
#define EP_AGENT_SESSION_H

#include "core/base/util.h"

#include <stdio.h>
#include <sys/types.h>

struct ep_batch;
struct ep_filter;
struct ep_session;
struct uv_loop_s;

struct ep_session_options {
	struct uv_loop_s *loop;
	uint32_t freq_hz;
	size_t ring_bytes;
	size_t memory_bytes; /* heap and BPF memory together */
	size_t held_bytes;   /* of it, for samples that wait for what is not known yet */
	bool filter;	     /* only processes given with ep_session_add_pid, and their children */
	/* And of them, or of all, what this says; NULL: everything. Borrowed while the session lives. */
	const struct ep_filter *choice;
	bool native_names, kernel_names;
	/*
	 * Tables of large libraries are made of those parts that stacks lead to: less memory, for
	 * later stacks.
	 */
	bool divides;
	/* Where language plugins are; NULL: none are used. `languages` names those that are wanted,
	 * NULL: each that is found. Borrowed until ep_session_new returns. */
	const char *plugin_dir;
	char *const *languages;
	size_t n_languages;
	/* Names of processes and executables that are gone are kept so long: more than the longest
	 * interval. 0: two and a half minutes. */
	uint64_t keep_gone_ns;
	/* NULL or the command that is recorded, NULL-terminated: batches have it as their title.
	 * Borrowed while the session lives. */
	char *const *command;
};

/* What was tried when ep_session_new failed, for an explanation. */
enum ep_session_stage {
	EP_STAGE_MEMORY,
	EP_STAGE_BTF,
	EP_STAGE_PROGRAMS,
	EP_STAGE_ATTACH,
	EP_STAGE_STORE,
	EP_STAGE_PERF,
};

/* 0 and a session that does not sample yet; or a negative errno and the stage it happened in. */
int ep_session_new(const struct ep_session_options *options, struct ep_session **ret_session,
		   enum ep_session_stage *ret_stage);

/*
 * With a filter: a process, running or not, and the children it makes from here on, if they inherit.
 * Those it has are for the caller to add (core/cli/targets.h). The other one is for those that the
 * choice excludes. 0, -E2BIG when the filter is full, -errno.
 */
int ep_session_add_pid(struct ep_session *session, pid_t pid);
int ep_session_exclude_pid(struct ep_session *session, pid_t pid);

/* Begins to read all processes and to follow what becomes of them. */
int ep_session_start(struct ep_session *session);
/* Begins to sample. Who waits for ep_session_is_settled before gets whole stacks at once. */
int ep_session_sample(struct ep_session *session);
/*
 * A command will be started: its executable, its loader and the libraries they need are analysed,
 * and their languages loaded, before ep_session_is_settled is true again. argv and envp are borrowed
 * until then. What is not found within two seconds is not looked for any more. Between start and
 * stop. 0 or a negative errno.
 */
int ep_session_prepare(struct ep_session *session, char *const *argv, char *const *envp);
/* True when every process that is known was read and its executables are analysed. */
bool ep_session_is_settled(const struct ep_session *session);
/* Ends sampling and takes in what the ring still has. Batches can still be finished. */
void ep_session_stop(struct ep_session *session);
/* Closes everything; done(arg) when nothing is under way any more and `session` is freed. */
void ep_session_close(struct ep_session *session, void (*done)(void *arg), void *arg);

/* A store of its own, which sees every sample; -ENOMEM or its number, from 0. */
int ep_session_add_store(struct ep_session *session, size_t max_interval_bytes);

/*
 * Ends the interval of a store. The batch is given to `take`, now or when its frames have names,
 * at most `wait_ns` later; it is released afterwards. NULL when there was no memory for it.
 */
typedef void (*ep_take_batch)(void *arg, const struct ep_batch *batch);
int ep_session_seal(struct ep_session *session, uint32_t store, uint64_t wait_ns,
		    ep_take_batch take, void *arg);
/* Gives all batches that wait for names as they are: somebody wants to end now. */
void ep_session_hasten(struct ep_session *session);

/*
 * After sampling: names that are still wanted may cost so much CPU time beyond what each program may spend
 * (core/language/account.h). What the budget does not cover then is given up.
 */
void ep_session_drain(struct ep_session *session, uint64_t cpu_ns);

/* How the current interval of a store gets on. Cheap enough for once a second. */
struct ep_session_progress {
	uint64_t samples, complete; /* in the store */
	uint64_t lost;		    /* as far as is known: missed ticks are looked for every few seconds */
	uint64_t due;		    /* batch.h, due_samples */
};
struct ep_session_progress ep_session_progress(struct ep_session *session, uint32_t store);

/* Counters of the agent itself, one line each: on SIGUSR1, and at exit. */
void ep_session_print_counters(struct ep_session *session, FILE *out);

struct ep_session_cost {
	uint64_t samples;	  /* recorded in BPF */
	uint64_t lost;		  /* ring full, or the tick never came */
	uint64_t walked;	  /* of those, while a stack was walked */
	uint64_t bpf_ns; /* in BPF, all CPUs; 0: kernel.bpf_stats_enabled is off */
	size_t heap_bytes, bpf_bytes;
	uint32_t n_cpus;
};
struct ep_session_cost ep_session_cost(struct ep_session *session);

#endif
