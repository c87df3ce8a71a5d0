/* SPDX-License-Identifier: Apache-2.0 */
#include "core/agent/kernel_names.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/vec.h"
#include "core/bpf/loaded.h"
#include "core/plugin/job.h"
#include "core/symbol/kernel.h"
#include "core/trace/frames.h"
#include "core/trace/kernel_code.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define KALLSYMS_PATH "/proc/kallsyms"
/*
 * An address in no symbol: modules or BPF programs came. A new snapshot is read, soon at first; the
 * wait doubles while snapshots are wanted all the time. A batch that is to be written waits for a
 * part of that.
 */
#define RELOAD_MIN_NS EP_NS_PER_SEC
#define RELOAD_MAX_NS (64 * EP_NS_PER_SEC)
#define HURRY	      8
#define MAX_CODES     8192 /* functions of BPF programs that are there at the start */
/* Samples may wait until their process is known. Their frames are named up to this much later. */
#define KEEP_PICTURE_NS (5 * EP_NS_PER_SEC)

struct ep_kernel_names {
	struct ep_kernel_names_options options;
	struct ep_kernel_symbols *picture; /* NULL: not loaded yet, or not readable */
	struct ep_kernel_symbols *before;  /* the one before, while names are unsure; else NULL */
	uint64_t picture_ns; /* when we began to read `picture` */
	bool is_loading, is_refused, has_warned;
	uint64_t turn;	   /* how many snapshots were read, or could not be */
	uint64_t began_ns; /* to read the last one, or the one that is read */
	uint64_t wait_ns;  /* from there to the next */
	char build_id[2 * EP_ELF_BUILD_ID_MAX + 1];
};

struct picture_job {
	struct ep_kernel_names *names;
	struct ep_kernel_symbols *symbols;
	bool is_first;
	struct ep_vec codes; /* struct ep_loaded_code: with the first snapshot */
	int result;
};

static void run_picture(void *arg)
{
	struct picture_job *job = arg;
	const char *path = job->names->options.kallsyms;

	if (job->is_first && !path)
		(void)ep_loaded_programs(&job->codes); /* what has no end reaches to the next symbol */
	job->result = ep_kernel_symbols_load(path ? path : KALLSYMS_PATH, &job->symbols);
}

/* The one before is kept while it may be needed to name what was sampled around a change of modules. */
static void take_picture(struct ep_kernel_names *names, struct ep_kernel_symbols *symbols)
{
	struct ep_kernel_code *code = names->options.code;
	uint64_t start_addr, end_addr;

	ep_kernel_symbols_free(names->before);
	names->before = names->picture;
	names->picture = symbols;
	if (code && ep_kernel_symbols_own(symbols, &start_addr, &end_addr))
		ep_kernel_code_set_own(code, start_addr, end_addr);
	if (!code || ep_kernel_code_unsure_until_ns(code) < names->picture_ns) {
		ep_kernel_symbols_free(names->before);
		names->before = NULL;
	}
	names->picture_ns = names->began_ns;
}

static void finish_picture(void *arg)
{
	struct picture_job *job = arg;
	struct ep_kernel_names *names = job->names;
	struct ep_loaded_code *loaded;

	ep_vec_each(&job->codes, loaded) {
		if (names->options.code)
			ep_kernel_code_add_old(names->options.code, loaded->addr, loaded->bytes);
	}
	ep_vec_fini(&job->codes);
	names->is_loading = false;
	names->turn++;
	names->is_refused = job->result < 0 && !ep_is_transient(job->result);
	if (job->result == 0) {
		take_picture(names, job->symbols);
	} else if (names->is_refused && !names->has_warned) {
		names->has_warned = true;
		ep_log(EP_LOG_WARN,
		       "kernel: no names for kernel functions (%s: %s); run as root with "
		       "`sysctl kernel.kptr_restrict=1`",
		       KALLSYMS_PATH, ep_strerror(job->result));
	}
	free(job);
	names->options.progress(names->options.arg);
}

void ep_kernel_names_want(struct ep_kernel_names *names, uint64_t now_ns, bool in_a_hurry)
{
	uint64_t since_ns = now_ns - names->began_ns;
	struct picture_job *job;

	if (names->is_loading || since_ns < names->wait_ns / (in_a_hurry ? HURRY : 1))
		return;
	job = calloc(1, sizeof(*job));
	if (!job)
		return;
	job->names = names;
	job->is_first = names->turn == 0;
	ep_vec_init(&job->codes, sizeof(struct ep_loaded_code), MAX_CODES);
	names->is_loading = true;
	if (ep_job_run(names->options.loop, run_picture, finish_picture, job) < 0) {
		names->is_loading = false;
		free(job);
		return;
	}
	names->wait_ns = since_ns > RELOAD_MAX_NS ? RELOAD_MIN_NS
						  : EP_MIN(2 * names->wait_ns, RELOAD_MAX_NS);
	names->began_ns = now_ns;
}

/* False where the snapshot before says something else: nobody knows which the sample saw. */
static bool is_agreed(const struct ep_kernel_names *names, uint64_t addr, const struct ep_kernel_name *name)
{
	struct ep_kernel_name before;

	return !names->before ||
	       ep_kernel_symbols_find(names->before, addr, &before) < 0 ||
	       (strcmp(before.name, name->name) == 0 && strcmp(before.module, name->module) == 0);
}

/* What a snapshot says of an address, if it may say something of that code. */
static bool find_in_picture(const struct ep_kernel_names *names, uint64_t addr, const struct ep_kernel_source *source,
			    struct ep_kernel_name *ret_name)
{
	const struct ep_kernel_code *code = names->options.code;
	bool is_new = ep_kernel_symbols_find(names->picture, addr, ret_name) == 0;

	if (!is_new && (!source->is_unsure || !names->before ||
			ep_kernel_symbols_find(names->before, addr, ret_name) < 0))
		return false;
	if (is_new && source->is_unsure && !is_agreed(names, addr, ret_name))
		return false;
	return !code || ep_kernel_code_may_name(code, ret_name->start_addr, addr);
}

static void resolve_to(struct ep_frames *frames, uint32_t id, const char *name, const char *module)
{
	struct ep_frame_line line = {.function = name};

	ep_frames_resolve(frames, id, &line, 1, *module ? module : NULL);
}

bool ep_kernel_names_resolve(struct ep_kernel_names *names, struct ep_frames *frames, uint32_t id,
			     uint64_t seen_ns)
{
	const struct ep_kernel_code *code = names->options.code;
	struct ep_kernel_source source = {0};
	struct ep_kernel_name name;
	struct ep_frame frame;
	bool is_known, is_young;
	uint64_t addr;

	ep_frames_get(frames, id, &frame);
	addr = ep_frame_lookup_addr(&frame);
	is_known = names->options.wanted &&
		   (!frame.aux || (code && ep_kernel_code_source(code, addr, frame.aux, &source) == 0));
	if (is_known && source.name) {
		resolve_to(frames, id, source.name, source.module);
		return true;
	}
	is_young = names->picture && (!source.since_ns || names->picture_ns > source.since_ns);
	if (is_known && is_young && find_in_picture(names, addr, &source, &name)) {
		resolve_to(frames, id, name.name, name.module);
		return true;
	}
	if (is_known && !names->is_refused && (!is_young || seen_ns >= names->picture_ns))
		return false;
	ep_frames_resolve(frames, id, NULL, 0, NULL);
	return true;
}

static void read_build_id(struct ep_kernel_names *names)
{
	uint8_t id[EP_ELF_BUILD_ID_MAX];
	int n = ep_kernel_build_id(id);

	for (int i = 0; i < n; i++)
		snprintf(names->build_id + 2 * i, 3, "%02x", id[i]);
}

int ep_kernel_names_new(const struct ep_kernel_names_options *options, struct ep_kernel_names **ret_names)
{
	struct ep_kernel_names *names = calloc(1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	names->options = *options;
	read_build_id(names);
	if (options->wanted)
		ep_kernel_names_want(names, ep_clock_mono_ns(), false);
	names->wait_ns = RELOAD_MIN_NS;
	*ret_names = names;
	return 0;
}

void ep_kernel_names_free(struct ep_kernel_names *names)
{
	if (!names)
		return;
	ep_kernel_symbols_free(names->picture);
	ep_kernel_symbols_free(names->before);
	free(names);
}

void ep_kernel_names_rest(struct ep_kernel_names *names, uint64_t now_ns)
{
	if (names->picture_ns + KEEP_PICTURE_NS >= now_ns)
		return;
	ep_kernel_symbols_free(names->before);
	names->before = NULL;
}

uint64_t ep_kernel_names_turn(const struct ep_kernel_names *names)
{
	return names->turn;
}

size_t ep_kernel_names_busy(const struct ep_kernel_names *names)
{
	return names->is_loading;
}

size_t ep_kernel_names_bytes(const struct ep_kernel_names *names)
{
	return (names->picture ? ep_kernel_symbols_bytes(names->picture) : 0) +
	       (names->before ? ep_kernel_symbols_bytes(names->before) : 0);
}

const char *ep_kernel_names_build_id(const struct ep_kernel_names *names)
{
	return names->build_id;
}
