/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One configuration of the agent at work: a session, and for each length of intervals a store,
 * whose batches go to exporters. A new configuration begins when its session knows the machine, and
 * only then the one before it ends:
 *
 *	new ── start ──► settled ── begin ──► samples ── end ──► last batches ──► done
 *
 * So two are there for a moment. They share exporters where both say the same of them. Loop's
 * thread only.
 */
#ifndef EP_CLI_AGENT_RUN_H
#define EP_CLI_AGENT_RUN_H

#include "core/base/util.h"
#include "core/cli/parts/exit.h"

#include <stdio.h>

struct ep_agent_run;
struct ep_config_file;
struct uv_loop_s;

/*
 * Opens what `config`, a reference that it takes in every case, asks for. `before`: whose exporters
 * may be shared; NULL: there is none. EP_EXIT_OK, or another status after a line that says why.
 */
enum ep_exit ep_agent_run_new(struct uv_loop_s *loop, struct ep_config_file *config,
			      struct ep_agent_run *before, struct ep_agent_run **ret_run);
/* Looks at all processes. 0 or a negative errno. */
int ep_agent_run_start(struct ep_agent_run *run);
bool ep_agent_run_is_settled(const struct ep_agent_run *run);
/* Begins to sample. 0 or a negative errno. */
int ep_agent_run_begin(struct ep_agent_run *run);
/* What was sampled is written now, and the next intervals begin. */
void ep_agent_run_write(struct ep_agent_run *run);
/*
 * Ends sampling, if it has begun, and writes what was sampled; done(arg, run) when all is done,
 * before `run` is freed. is_last: the agent ends, too, so names are not waited for that long.
 */
void ep_agent_run_end(struct ep_agent_run *run, bool is_last,
		      void (*done)(void *arg, struct ep_agent_run *run), void *arg);
/* While it ends: does not wait for names any more. */
void ep_agent_run_hasten(struct ep_agent_run *run);

const struct ep_config_file *ep_agent_run_config(const struct ep_agent_run *run);
void ep_agent_run_print_counters(const struct ep_agent_run *run, FILE *out);
/* Where batches go, for people: "otlp_file: /var/lib/ebpf-profiler; otlp: http://localhost:4317".
 */
void ep_agent_run_describe(const struct ep_agent_run *run, char *text, size_t bytes);

#endif
