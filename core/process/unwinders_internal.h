/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	unwinders.c	plugins, claims
 *	instance.c	one claim in one process
 *	instance_names.c	its frames' names
 */
#ifndef EP_PROCESS_UNWINDERS_INTERNAL_H
#define EP_PROCESS_UNWINDERS_INTERNAL_H

#include "core/process/unwinders.h"
#include "core/base/log.h"
#include "core/plugin/host.h"
#include "core/plugin/unwinder.h"

#include <stdatomic.h>
#include <sys/queue.h>
#include <uv.h>

#define EP_MAX_PLUGIN_COUNTERS 16

struct ep_language_maps;
struct ep_unwinder_program;

struct ep_language_plugin {
	struct ep_unwinders *unwinders;
	struct ep_module *module;
	const struct ep_unwinder_ops *ops;
	const char *name;
	uint32_t slot, first_error, first_counter, n_counters;
	uv_mutex_t mutex; /* of program and failed, which workers write */
	struct ep_unwinder_program *program;
	bool failed;
	bool tried; /* loop's thread: its program was loaded, or refused */
	bool loading; /* loop's thread: by ep_claim_load, now */
	_Atomic uint64_t counters[EP_MAX_PLUGIN_COUNTERS]; /* those of user space */
};

struct ep_claim {
	_Atomic uint32_t refs;
	struct ep_language_plugin *plugin;
	void *executable;
};

struct ep_unwinders {
	struct ep_unwinders_options options;
	struct ep_language_maps *maps; /* NULL until the first attach */
	size_t n_plugins, n_counters;
	struct ep_language_plugin plugins[EP_SLOT_COUNT];
	LIST_HEAD(, ep_instance) instances;
	size_t busy, attaching;
	uv_timer_t retry_timer;
	bool stopped, in_use;
	struct ep_log_limit full_lines, left_out_lines;
	uint64_t attached, refused, symbolized, gone, unnamed, lines_left_out;
};

/* What a plugin says of a process. */
struct ep_said {
	bool has_state, changed;
	uint8_t state[EP_STATE_BYTES];
	size_t state_bytes;
	struct ep_vec ranges; /* struct ep_range: the exact ones */
	bool anonymous;	      /* it takes anonymous code */
};

struct ep_instance {
	LIST_ENTRY(ep_instance) link;
	struct ep_unwinders *unwinders;
	struct ep_claim *claim; /* a reference */
	struct ep_target target;
	pid_t pid;
	uint64_t module_addr; /* where the probed file is mapped */
	void *handle;	     /* the plugin's; NULL: not attached */
	struct ep_said said; /* belongs to the job while busy */
	uint32_t state;	     /* what BPF is told */
	struct ep_vec ranges;
	bool anonymous;
	bool busy, released, remap, refused, first;
	bool attached;	     /* it was, once: counted */
	bool gone;	     /* its process cannot be read any more */
	/* Not attached until its frames want names: what BPF was told is its parent's, or is left
	 * from when it was. */
	bool dormant;
	uint64_t born_ns;    /* CLOCK_MONOTONIC */
	uint64_t used_ns;    /* CLOCK_MONOTONIC: attached, or asked for names */
	uint64_t changed_ns; /* CLOCK_MONOTONIC, of the last refresh */
	int result; /* of the last job */
	uint64_t wait_ns; /* before it is asked again; 0: as short as it may be */
	uint64_t retry_ns; /* CLOCK_MONOTONIC; 0: nothing to retry */
};

/* unwinders.c */
/* On a worker: 0 when its program is loaded. */
int ep_language_plugin_load(struct ep_language_plugin *plugin);
/* On the loop, before the first job. */
int ep_unwinders_prepare(struct ep_unwinders *unwinders);

/* instance.c: on the loop, at the end of a job. */
void ep_instance_end_job(struct ep_instance *instance);
void ep_instance_on_retry(uv_timer_t *timer);
/* 0: attached, and nothing is under way. -EBUSY: not now. -ENODATA: never. */
int ep_instance_wake(struct ep_instance *instance);
/* Begins a job; its `after` ends with ep_instance_end_job. 0 or a negative errno. */
int ep_instance_start_job(struct ep_instance *instance, void (*work)(void *arg),
			  void (*after)(void *arg), void *arg);

#endif
