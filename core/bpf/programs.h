/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The core's BPF object: opened from memory, sized, loaded; its maps and programs. One thread.
 */
#ifndef EP_BPF_PROGRAMS_H
#define EP_BPF_PROGRAMS_H

#include "bpf/shared.h"
#include "core/base/util.h"

struct bpf_object;
struct ep_bpf;
struct ep_vec;

struct ep_bpf_options {
	size_t ring_bytes;	/* rounded up to a power of two of pages */
	uint32_t max_processes;
	bool filter;		/* only processes in the filter map are sampled, or what `need` says */
	uint32_t need, never;	/* bits of bpf/filter.h; both 0: those of the filter map */
	/* Those that ep_choices will have, as in struct ep_config. */
	uint32_t n_users, n_threads, users[EP_FILTER_LISTED], threads[EP_FILTER_LISTED];
	uint32_t names_start[8];
	bool no_inherit;	/* children of processes in the filter map are not in it */
};

/*
 * Loads the programs. 0; -EPERM when privileges miss; -ENOENT or -ENODATA when the kernel's BTF
 * lacks what is needed, -ENOTSUP when it lacks what the filter needs; otherwise what the kernel
 * reported. One log line says why.
 */
int ep_bpf_load(const struct ep_bpf_options *options, struct ep_bpf **ret_bpf);
void ep_bpf_free(struct ep_bpf *bpf);
static inline void ep_bpf_freep(struct ep_bpf **bpf)
{
	ep_bpf_free(*bpf);
}

/*
 * What the programs go by, before processes' events are attached: numbers and globs. 0, -E2BIG,
 * -errno.
 */
int ep_bpf_add_choice(struct ep_bpf *bpf, uint64_t choice, uint32_t bits);
int ep_bpf_add_pid(struct ep_bpf *bpf, uint32_t pid, uint32_t bits); /* at any time */
/* After choices of what may run by now: BPF is to judge all processes anew. At any time. */
void ep_bpf_judge_again(struct ep_bpf *bpf);
/*
 * A process is not wanted by its pid or its name, as it was found since ep_bpf_changes() was asked: BPF need not judge
 * it at its first event. At any time.
 */
uint32_t ep_bpf_changes(const struct ep_bpf *bpf);
void ep_bpf_keep_other(struct ep_bpf *bpf, uint32_t pid, uint32_t changes);
int ep_bpf_set_glob(struct ep_bpf *bpf, enum ep_glob_of which, const struct ep_glob *glob);

/*
 * The programs that were loaded walk few frames in one run, for the verifier is quick with those.
 * This loads one that walks as many as the verifier takes and puts it in the place of the first, at
 * any time and once. 0, or a negative errno: things stay as they are. It takes a tenth of a second
 * or more: for a worker, which nobody must have the object freed under.
 */
int ep_bpf_lengthen_runs(struct ep_bpf *bpf);

/*
 * bpf_object__load(), on a worker; -ECANCELED after ep_bpf_stop_loads. The latter breaks off what is loaded, for
 * nothing is sampled any more: so many loads have not ended yet, and it is to be called again (core/bpf/loads.h).
 */
int ep_bpf_load_object(const struct ep_bpf *bpf, struct bpf_object *object);
size_t ep_bpf_stop_loads(const struct ep_bpf *bpf);

/* Where the code of the programs lies: appends struct ep_loaded_code (core/bpf/loaded.h). */
void ep_bpf_list_code(const struct ep_bpf *bpf, struct ep_vec *codes);

/* Attaches fork, exec and exit. 0 or a negative errno. */
int ep_bpf_attach_process_events(struct ep_bpf *bpf);

/* What the programs were given of this kernel. */
const struct ep_config *ep_bpf_config(const struct ep_bpf *bpf);
int ep_bpf_entry_fd(const struct ep_bpf *bpf); /* the program for perf events */
int ep_bpf_map_fd(const struct ep_bpf *bpf, const char *name); /* -ENOENT for an unknown name */

/* Mapped memory of the two maps that user space writes; valid as long as bpf is. */
struct ep_control *ep_bpf_control(const struct ep_bpf *bpf);
struct ep_rule *ep_bpf_rules(const struct ep_bpf *bpf);

/* What each CPU has counted, by its number: BPF writes there. */
const struct ep_counts *ep_bpf_counts(const struct ep_bpf *bpf, uint32_t *ret_n);
/* Sums a counter over all CPUs. */
uint64_t ep_bpf_counter(const struct ep_bpf *bpf, enum ep_counter counter);
const char *ep_bpf_counter_text(enum ep_counter counter);

/* Time and runs of the sampling programs; zero unless kernel.bpf_stats_enabled is set. */
struct ep_bpf_cost {
	uint64_t run_ns;
	uint64_t runs;
};
struct ep_bpf_cost ep_bpf_cost(const struct ep_bpf *bpf);

/* Bytes the kernel holds for the programs' maps, without the chunks of the delta store. */
size_t ep_bpf_map_bytes(const struct ep_bpf *bpf);
/* Native frames in one run, as the verifier accepted it so far. Any thread. */
uint32_t ep_bpf_frames_per_run(const struct ep_bpf *bpf);

#endif
