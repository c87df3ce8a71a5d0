/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	language.c	the plugins that are loaded, claims
 *	instance.c	one claim in one process
 *	instance_names.c	its frames' names
 */
#ifndef EP_PROCESS_LANGUAGE_INTERNAL_H
#define EP_PROCESS_LANGUAGE_INTERNAL_H

#include "core/process/attachment.h"
#include "core/process/language.h"
#include "core/process/said.h"
#include "core/base/log.h"
#include "core/plugin/host.h"
#include "core/plugin/process_target.h"
#include "core/plugin/unwinder.h"

#include <stdatomic.h>
#include <sys/queue.h>
#include <uv.h>

#define EP_MAX_PLUGIN_COUNTERS 16

struct ep_language_maps;
struct ep_unwinder_program;

struct ep_language {
	struct ep_languages *languages;
	struct ep_module *module;
	const struct ep_unwinder_ops *ops;
	const char *name;
	uint32_t slot, first_error, first_counter, n_counters;
	uv_mutex_t mutex; /* of program and failed, which workers write */
	struct ep_unwinder_program *program;
	bool failed;
	bool tried; /* loop's thread: its program was loaded, or refused */
	bool loading; /* loop's thread: a worker does, now */
	_Atomic uint64_t counters[EP_MAX_PLUGIN_COUNTERS]; /* those of user space */
};

struct ep_claim {
	_Atomic uint32_t refs;
	struct ep_language *language;
	void *executable;
	bool code_only; /* nobody attaches to it */
};

struct ep_languages {
	struct ep_languages_options options;
	struct ep_language_maps *maps; /* NULL until the first attach */
	size_t n, n_counters;
	struct ep_language all[EP_SLOT_COUNT]; /* n of them */
	LIST_HEAD(, ep_instance) instances;
	size_t busy, attaching;
	uv_timer_t retry_timer;
	bool stopped, in_use;
	struct ep_log_limit full_lines, left_out_lines;
	uint64_t attached, refused, symbolized, gone, unnamed, lines_left_out;
};

struct ep_instance {
	LIST_ENTRY(ep_instance) link;
	struct ep_languages *languages;
	struct ep_claim *claim; /* a reference */
	struct ep_target target;
	struct ep_process_target process; /* belongs to the job while busy */
	pid_t pid;
	uint64_t module_addr; /* where the probed file is mapped */
	enum ep_attachment attachment;
	void *handle; /* the plugin's; NULL: it has no instance of this process */
	/* These belong to the job while one is under way. */
	struct ep_said call;  /* by the call under way */
	struct ep_said holds; /* by those that returned 0 */
	bool untold;	      /* some of that since BPF was told */
	int result;	      /* of attach or refresh */
	/* What BPF is told: the cell of the state, 0 when there is none, and the ranges. */
	uint32_t state;
	struct ep_vec ranges;
	bool anonymous;
	bool busy;	     /* a job is under way */
	bool released;	     /* while it was: the instance goes with it */
	bool refresh_wanted; /* since the job began */
	bool first;	     /* counted in `attaching`, until the first attach has ended */
	uint64_t born_ns;      /* CLOCK_MONOTONIC */
	uint64_t used_ns;      /* CLOCK_MONOTONIC: attached, or asked for names; 0: never attached */
	uint64_t refreshed_ns; /* CLOCK_MONOTONIC: when the last refresh began */
	uint64_t wait_ns; /* before it is asked again; 0: as short as it may be */
	uint64_t retry_ns; /* CLOCK_MONOTONIC; 0: nothing to retry */
};

/* language.c */
/* On a worker: 0 when its program is loaded. */
int ep_language_load(struct ep_language *language);
/* On the loop, before the first job. */
int ep_languages_prepare(struct ep_languages *languages);

/* instance.c: on the loop, at the end of a job. */
void ep_instance_end_job(struct ep_instance *instance);
void ep_instance_on_retry(uv_timer_t *timer);
/* On the worker, after each call of the plugin: what it said holds if it returned 0. */
void ep_instance_end_call(struct ep_instance *instance, int result);
/*
 * On the loop, with what symbolize said of one frame of a job; `was` is the state before the first.
 * True: the frame is to be asked for again.
 */
bool ep_instance_end_frame(struct ep_instance *instance, enum ep_attachment was, int result);
/* 0: the plugin can be asked, and nothing is under way. -EBUSY: not now. -ENODATA: never. */
int ep_instance_wake(struct ep_instance *instance);
/* Begins a job; its `after` ends with ep_instance_end_job. 0 or a negative errno. */
int ep_instance_start_job(struct ep_instance *instance, void (*work)(void *arg),
			  void (*after)(void *arg), void *arg);

#endif
