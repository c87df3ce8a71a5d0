/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	languages.c	the plugins that are loaded, claims
 *	program.c	their BPF programs
 *	instance.c	one claim in one process: what is done when
 *	instance_view.c	what BPF knows of it
 *	names_job.c	names of its frames
 *	account.c	what all that may cost
 */
#ifndef EP_LANGUAGE_INTERNAL_H
#define EP_LANGUAGE_INTERNAL_H

#include "core/language/account.h"
#include "core/language/instance.h"
#include "core/language/languages.h"
#include "core/base/log.h"
#include "core/bpf/unwinder_program.h"
#include "core/plugin/attached.h"
#include "core/plugin/host.h"
#include "core/plugin/process_target.h"
#include "core/plugin/timer.h"
#include "core/proc/subuids.h"

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
	bool loading;	     /* a worker loads the program, and what follows is its own */
	bool loading_keeper; /* loop's thread; of the program nothing else is loaded meanwhile */
	struct ep_unwinder_program *program;
	bool keeps; /* its snapshot program is loaded; the worker's while loading_keeper */
	uint64_t keeps_ns; /* since then; CLOCK_MONOTONIC */
	bool failed; /* its program was refused for good */
	bool is_awaited; /* who needs it waits for a program of all frames */
	uint64_t load_after_ns, pause_ns; /* CLOCK_MONOTONIC: it is not tried again before that */
	uint64_t loaded_ns; /* CLOCK_MONOTONIC */
	_Atomic uint64_t counters[EP_MAX_PLUGIN_COUNTERS]; /* those of user space */
	/*
	 * ep_languages_patient: frames of programs that are not recently started, since its last
	 * call, and those gone.
	 */
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
	size_t own_naming, *naming; /* names jobs under way: options.name_jobs, else our own */
	size_t max_naming;
	struct ep_timeout names_due; /* `named` is called */
	struct ep_accounts accounts;
	struct ep_subuids subuids; /* as of the start */
	/*
	 * Programs that were never sampled are attached to one after the other: the last one that
	 * came is first.
	 */
	TAILQ_HEAD(, ep_instance) line;
	size_t n_unsampled; /* attaches to such that are under way */
	size_t n_over_budget;  /* jobs under way of programs that are: one at most, as it is charged
				  when it has ended */
	atomic_bool stopped;   /* a job that runs ends soon */
	bool lengthening;
	struct ep_log_limit full_lines, left_out_lines;
	size_t kept_bytes; /* of what has arrived, of all instances */
	uint64_t attached, refused, symbolized, gone, unnamed, late, lines_left_out;
	uint64_t named_by_kept, kept_refused;
	uint64_t states_taken_back, states_refused;
	uint64_t put_off, slept; /* attaches: until the budget covers them; of processes that did
				    not run since the last one */
};

/* What BPF knows of an instance. */
struct ep_instance_view {
	uint32_t cell;	 /* of its state; 0: there is none */
	bool wants_cell; /* it was taken back, or there was none: its next sample asks for one */
	bool anonymous;
	struct ep_vec ranges;
	uint64_t again_ns; /* CLOCK_MONOTONIC: a cell is looked for again; 0: not */
};

enum ep_instance_flags {
	EP_INSTANCE_BUSY = 1 << 0,     /* a job is under way */
	EP_INSTANCE_RELEASED = 1 << 1, /* while it was: the instance goes with it */
	EP_INSTANCE_ENDED = 1 << 2,    /* the process has: see ep_instance_end */
	EP_INSTANCE_WANTED = 1 << 3,   /* where it waits: somebody wants it attached */
	EP_INSTANCE_REFRESH = 1 << 4,  /* something has changed since its last look began */
	EP_INSTANCE_FIRST = 1 << 5,   /* counted in `attaching`, until its first attach has ended */
	EP_INSTANCE_IN_LINE = 1 << 6, /* of languages->line */
	EP_INSTANCE_UNSAMPLED = 1 << 7,	  /* its job is counted in n_unsampled */
	EP_INSTANCE_OVER_BUDGET = 1 << 8, /* its job is counted in n_over_budget */
};

/* The worker's while BUSY. */
struct ep_instance_job {
	struct ep_process_target target;
	struct ep_attached attached;
	struct ep_kept_memory kept; /* attached.kept */
	size_t kept_bytes;	    /* of the events that have it */
	uint64_t kept_ns;	    /* CLOCK_MONOTONIC: when the first of it was taken */
	struct ep_cost cost;
	bool again;	 /* attach or refresh is to be called again */
	bool has_looked; /* attach was called */
};

struct ep_instance {
	LIST_ENTRY(ep_instance) link;
	TAILQ_ENTRY(ep_instance) line;
	struct ep_languages *languages;
	struct ep_claim *claim; /* a reference */
	pid_t pid;
	struct ep_account *account; /* its process's, borrowed; without one its own */
	struct ep_account own_account;
	uint32_t flags;
	/*
	 * CLOCK_MONOTONIC: since when; its process's last sample; attached, or asked for names. 0:
	 * never.
	 */
	uint64_t born_ns, sampled_ns, used_ns;
	struct ep_timeout due; /* ep_instance_act is called */
	struct {
		uint64_t at_ns;	  /* neither attach nor what is to be called again before that */
		uint64_t wait_ns; /* the next one; 0: as short as it may be */
		uint32_t n_failed; /* attaches in a row that were to be tried again */
	} retry;
	struct {
		uint64_t began_ns; /* CLOCK_MONOTONIC, of attach or refresh */
		uint64_t took_ns;  /* a refresh, with its wait for a worker */
		uint64_t ran_ns;   /* its process's CPU time then; the worker's while BUSY */
	} last;
	struct ep_instance_view view;
	struct {
		struct ep_kept_memory memory;
		size_t bytes;
	} arrived; /* memory of its process, since the last job for names began */
	struct ep_instance_job job;
};

/*
 * What was kept of a process is forgotten after this time: the process is older, or names have been
 * asked for since.
 */
#define EP_KEPT_NS (5 * EP_NS_PER_SEC)
#define EP_KEPT_ALL_BYTES ((size_t)8 << 20) /* of all processes */
/*
 * With more than that no name waits, and what a job has read of a process that has ended is
 * dropped.
 */
#define EP_KEPT_MUCH_BYTES (EP_KEPT_ALL_BYTES / 2)
#define EP_FRAME_READS_NS (100 * EP_NS_PER_MS)
/* What they are worth, see account.h. A frame mostly takes 5 to 50 us, an attach 1 to 5 ms. */
#define EP_FRAME_WORTH_NS   (EP_NS_PER_MS / 2)
#define EP_AGAIN_WORTH_NS   (EP_NS_PER_MS / 2) /* an attach that is tried again, a refresh */
#define EP_FRAME_FREE_NS    (EP_NS_PER_MS / 10) /* of that the owner is charged nothing */
#define EP_ATTACH_WORTH_NS  (10 * EP_NS_PER_MS)

enum ep_step {
	EP_STEP_NONE,
	EP_STEP_ATTACH,
	EP_STEP_REFRESH,
	EP_STEP_REST,	/* attached in vain: detached until its language's program can be loaded */
	EP_STEP_REFUSE, /* that never can */
};

enum ep_wait {
	EP_WAIT_EVENT,	 /* nothing is to be done */
	EP_WAIT_RETRY,	 /* the plugin was too early, or looked a moment ago */
	EP_WAIT_PROGRAM, /* there was no memory to load the language's program */
	EP_WAIT_TABLES,	 /* unwind tables come first */
	EP_WAIT_BUDGET,
	EP_WAIT_SAMPLED, /* or until it is its turn */
};

struct ep_plan {
	enum ep_step step;
	enum ep_wait why; /* of NONE */
	uint64_t at_ns; /* of NONE: asked again then; UINT64_MAX: at the next event */
};

/* What is to be done for it. Changes nothing. */
struct ep_plan ep_instance_next(const struct ep_instance *instance, uint64_t now_ns);
/* Does it: after each event. */
void ep_instance_act(struct ep_instance *instance);
/* Begins a job; its `after` ends with ep_instance_end_job. 0 or a negative errno. */
int ep_instance_start_job(struct ep_instance *instance, void (*work)(void *arg),
			  void (*after)(void *arg), void *arg);
void ep_instance_end_job(struct ep_instance *instance);
/* Its process, for the job that has ended. */
void ep_instance_charge(struct ep_instance *instance);
/* The job ended that loads the program of this language, or could not load it. */
void ep_instances_end_load(const struct ep_language *language);
/*
 * 0: the plugin can be asked, and nothing is under way. -EBUSY: not now. -EDQUOT: its process has
 * no budget. Never: -ESRCH, its process has gone; -ENODATA.
 */
int ep_instance_wake(struct ep_instance *instance);
/* 0: its process has a budget for a job; else after that time, UINT64_MAX: not any more. */
uint64_t ep_instance_budget_wait_ns(const struct ep_instance *instance);
bool ep_instance_is_within_budget(const struct ep_instance *instance);

/* `named` is called after that, at the latest. */
void ep_languages_name_later(struct ep_languages *languages, uint64_t wait_ns);

/* program.c: begins to load its program, if that was not tried yet. 0 or a negative errno. */
int ep_language_load(struct ep_language *language);

/* instance_view.c: a child has all that BPF knows of its parent. */
void ep_instance_view_init(struct ep_instance *instance);
void ep_instance_view_inherit(struct ep_instance *instance, const struct ep_instance *parent);
void ep_instance_view_fini(struct ep_instance *instance);
/* BPF gets what is new in what its plugin has set. No job is under way. */
void ep_instance_update_view(struct ep_instance *instance);

/* names_job.c: no job is under way. */
void ep_instance_forget_kept(struct ep_instance *instance);

#endif
