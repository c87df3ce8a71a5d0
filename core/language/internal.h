/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	languages.c		the plugins that are loaded, claims
 *	instance.c		one claim in one process
 *	names_job.c	its frames' names
 *	instance_costs.c	whose account is charged
 *	instance_view.c	what BPF is told of it
 *	instance_timer.c	when it is looked at again
 */
#ifndef EP_LANGUAGE_INTERNAL_H
#define EP_LANGUAGE_INTERNAL_H

#include "core/language/languages.h"
#include "core/language/instance.h"
#include "core/base/log.h"
#include "core/bpf/unwinder_program.h"
#include "core/plugin/attached.h"
#include "core/plugin/host.h"
#include "core/plugin/process_target.h"
#include "core/proc/subuids.h"
#include "core/language/account.h"

#include <sys/queue.h>
#include <uv.h>

struct ep_language_maps;

struct ep_language {
	struct ep_languages *languages;
	struct ep_module *module;
	const struct ep_unwinder_ops *ops;
	const char *name;
	uint32_t slot, n_counters;
	struct ep_unwinder_program_options options; /* of its program */
	bool loading; /* loop's thread: a worker loads the program, and what follows is that worker's */
	bool loading_keeper; /* loop's thread; of the program nothing else is loaded meanwhile */
	struct ep_unwinder_program *program;
	bool keeps; /* its keeper is loaded; the worker's while loading_keeper */
	uint64_t keeps_ns; /* since then; CLOCK_MONOTONIC */
	bool failed; /* its program was refused for good */
	bool is_awaited; /* who needs it waits for a program of all frames */
	uint64_t load_after_ns, pause_ns; /* CLOCK_MONOTONIC: it is not tried again before that */
	uint64_t loaded_ns; /* CLOCK_MONOTONIC */
	_Atomic uint64_t counters[EP_MAX_PLUGIN_COUNTERS]; /* those of user space */
	/* ep_languages_patient: frames of programs that are not young, since its last call, and those gone. */
	uint64_t waited, waited_gone, impatient_until_ns;
};

struct ep_claim {
	_Atomic uint32_t refs;
	struct ep_language *language;
	void *executable;     /* the plugin's; NULL for a launcher */
	int role;	      /* 0: a runtime; EP_CODE_ONLY, EP_LAUNCHER: nobody attaches to it */
};

struct ep_languages {
	struct ep_languages_options options;
	struct ep_language_maps *maps; /* NULL until the first attach */
	size_t n, n_counters;
	struct ep_language all[EP_SLOT_COUNT]; /* n of them */
	LIST_HEAD(, ep_instance) instances;
	size_t busy, attaching;
	uv_timer_t retry_timer;
	size_t own_naming, *naming; /* names jobs under way: options.name_jobs, else our own */
	size_t max_naming;
	uint64_t names_due_ns; /* CLOCK_MONOTONIC: names are asked for again; 0: nobody waits */
	struct ep_accounts accounts;
	struct ep_subuids subuids; /* as of the start */
	/* Programs that were never sampled are attached to one after the other: the last one that came is first. */
	TAILQ_HEAD(, ep_instance) asleep;
	size_t n_asleep; /* of them under way */
	size_t n_over_budget; /* jobs under way of programs that are: one at most, as it is paid when it has ended */
	atomic_bool stopped;   /* a job that runs ends soon */
	bool lengthening;
	struct ep_log_limit full_lines, left_out_lines;
	size_t kept_bytes; /* of what has arrived, of all instances */
	uint64_t attached, refused, symbolized, gone, unnamed, late, lines_left_out;
	uint64_t named_by_kept, kept_refused;
	uint64_t states_taken_back, states_refused;
	uint64_t put_off, slept; /* attaches: until they are paid for; of processes that did not run since the last one */
};

/* What BPF is told of an instance. */
struct ep_instance_view {
	uint32_t cell;	 /* of its state; 0: there is none */
	bool wants_cell; /* it was taken back, or there was none: its next sample asks for one */
	bool anonymous;
	struct ep_vec ranges;
};

struct ep_instance {
	LIST_ENTRY(ep_instance) link;
	TAILQ_ENTRY(ep_instance) asleep;
	bool is_in_line; /* of those */
	bool is_asleep;	 /* it is counted in n_asleep */
	struct ep_languages *languages;
	struct ep_claim *claim; /* a reference */
	pid_t pid;
	/* These belong to the job while one is under way. */
	struct ep_process_target process;
	struct ep_attached attached;
	struct ep_kept_memory kept; /* attached.kept */
	bool again; /* attach or refresh is to be called again */
	bool has_looked; /* attach was called */
	struct ep_kept_memory arrived; /* since the last job for names began */
	size_t kept_bytes, arrived_bytes; /* of the events that each of both has */
	uint64_t kept_ns; /* CLOCK_MONOTONIC: when the first of `kept` was taken */
	struct ep_instance_view view;
	uint64_t sampled_ns; /* CLOCK_MONOTONIC, its process's last sample; 0: none yet */
	bool busy;	     /* a job is under way */
	bool released;	     /* while it was: the instance goes with it */
	bool ended;	     /* the process has: see ep_instance_end */
	bool refresh_wanted; /* since the job began */
	uint32_t n_failed;   /* attaches in a row that were to be tried again */
	bool first;	     /* counted in `attaching`, until the first attach has ended */
	uint64_t born_ns;      /* CLOCK_MONOTONIC */
	uint64_t used_ns;      /* CLOCK_MONOTONIC: attached, or asked for names; 0: never attached */
	struct ep_account *account; /* its process's, borrowed until it is released; without one its own */
	struct ep_account own_account;
	struct ep_cost cost;   /* the job's, of the job that runs */
	bool is_over_budget;	       /* it is counted in n_over_budget */
	uint64_t refreshed_ns; /* CLOCK_MONOTONIC: when the last attach or refresh began */
	uint64_t refresh_took_ns; /* the last one, with its wait for a worker */
	uint64_t ran_ns; /* the job's: CPU time of its process, when the last attach or refresh began */
	uint64_t wait_ns; /* before it is asked again; 0: as short as it may be */
	uint64_t retry_ns; /* CLOCK_MONOTONIC; 0: nothing to retry */
};

/* What was kept of a process is forgotten after this time: the process is older, or names have been asked for since. */
#define EP_KEPT_NS (5 * EP_NS_PER_SEC)
#define EP_KEPT_ALL_BYTES ((size_t)8 << 20) /* of all processes */
/* With more than that no name waits, and what a job has read of a process that has ended is dropped. */
#define EP_KEPT_MUCH_BYTES (EP_KEPT_ALL_BYTES / 2)
#define EP_FRAME_READS_NS (100 * EP_NS_PER_MS)
/* What they are worth, see account.h. A frame mostly takes 5 to 50 us, an attach 1 to 5 ms. */
#define EP_FRAME_WORTH_NS   (EP_NS_PER_MS / 2)
#define EP_AGAIN_WORTH_NS   (EP_NS_PER_MS / 2) /* an attach that is tried again, a refresh */
#define EP_FRAME_FREE_NS    (EP_NS_PER_MS / 10) /* of that the owner is charged nothing */
#define EP_ATTACH_WORTH_NS  (10 * EP_NS_PER_MS)

/* language.c */
/* Loop: begins to load its program, if that was not tried yet. 0 or a negative errno. */
int ep_language_load(struct ep_language *language);

/* instance.c: on the loop, at the end of a job; of one that has loaded a program. */
void ep_instance_end_job(struct ep_instance *instance);
void ep_instances_end_load(const struct ep_language *language);
/* What it waited for is due. */
void ep_instance_retry(struct ep_instance *instance);
/* 0: the plugin can be asked, and nothing is under way. -EBUSY: not now. Never:
 * -ESRCH, its process has gone; -ENODATA. */
int ep_instance_wake(struct ep_instance *instance);
/* instance_timer.c: it is retried after that, or earlier if it waits for less already. */
void ep_instance_schedule(struct ep_instance *instance, uint64_t wait_ns);
/* `named` is called after that, at the latest. */
void ep_languages_name_later(struct ep_languages *languages, uint64_t wait_ns);
void ep_instances_on_retry(uv_timer_t *timer);
/* instance_view.c: a child has all that BPF was told of its parent. */
void ep_instance_view_init(struct ep_instance *instance);
void ep_instance_view_inherit(struct ep_instance *instance, const struct ep_instance *parent);
void ep_instance_view_fini(struct ep_instance *instance);
/* Tells BPF what is new in what its plugin has set. */
void ep_instance_update_view(struct ep_instance *instance);
/* names_job.c: no job is under way. */
void ep_instance_forget_kept(struct ep_instance *instance);
/* 0: its process has a budget for a job; else after that time, UINT64_MAX: not any more. */
uint64_t ep_instance_budget_wait_ns(const struct ep_instance *instance);
bool ep_instance_is_within_budget(const struct ep_instance *instance);
/* Who is charged as well, where that is not known: /proc says it. */
void ep_instance_find_owner(struct ep_instance *instance);
/* A job has ended: its process is charged. */
void ep_instance_charge(struct ep_instance *instance);
/* Worker: attach or refresh begins. CPU time of this thread. */
uint64_t ep_instance_begin_look(struct ep_instance *instance);
/* Since then nothing of its process has run, and it was to be called again. */
bool ep_instance_has_slept(const struct ep_instance *instance);
/* Begins a job; its `after` ends with ep_instance_end_job. 0 or a negative errno. */
int ep_instance_start_job(struct ep_instance *instance, void (*work)(void *arg),
			  void (*after)(void *arg), void *arg);

#endif
