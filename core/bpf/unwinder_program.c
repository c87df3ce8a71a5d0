/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bpf/unwinder_program.h"
#include "core/base/log.h"
#include "core/base/pages.h"
#include "core/bpf/descriptors.h"
#include "core/bpf/language_maps.h"
#include "core/bpf/programs.h"
#include "ebpf-profiler/abi.h"
#include "ebpf-profiler/bpf/self.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#define LOG_BYTES 65536

#define QUICK_NICE (-15)

struct ep_unwinder_program {
	struct ep_bpf_descriptors descriptors;
	const struct ep_bpf_descriptors *shares; /* whose maps are its own; NULL: it has new ones */
	struct ep_bpf_descriptors keeper;	 /* or none */
	int fd;			  /* of the program: one of `descriptors` */
	uint32_t n_instructions;
	int progs_fd; /* borrowed */
	uint32_t slot, frames_per_run;
	bool is_short; /* a longer one was not tried yet */
};

/*
 * The map that a map of the plugin stands for, or -ENOENT. What a program is given of itself is not
 * shared.
 */
static int shared_map(const struct ep_unwinder_program *program, const struct ep_bpf *bpf,
		      const struct ep_language_maps *maps, const char *name)
{
	int fd = ep_language_maps_map_fd(maps, name);

	if (strcmp(name, "ep_records") == 0 || strcmp(name, "ep_progs") == 0 ||
	    strcmp(name, "ep_chunks") == 0 || strcmp(name, "ep_memo") == 0 ||
	    strcmp(name, "ep_ring") == 0)
		return ep_bpf_map_fd(bpf, name);
	return fd < 0 && program->shares && !strstr(name, ".rodata")
		       ? ep_bpf_descriptors_fd(program->shares, EP_BPF_MAP, name)
		       : fd;
}

static int share_maps(const struct ep_unwinder_program *program, struct bpf_object *object, const struct ep_bpf *bpf,
		      const struct ep_language_maps *maps)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object) {
		int fd = shared_map(program, bpf, maps, bpf_map__name(map)), r;

		if (fd < 0)
			continue;
		r = bpf_map__reuse_fd(map, fd);
		if (r < 0)
			return r;
	}
	return 0;
}

static int set_self(struct bpf_object *object, const struct ep_self *self)
{
	struct bpf_map *map;
	size_t bytes;

	bpf_object__for_each_map(map, object) {
		if (!strstr(bpf_map__name(map), EP_SELF_SECTION))
			continue;
		if (!bpf_map__initial_value(map, &bytes) || bytes < sizeof(*self))
			return -EBADMSG;
		return bpf_map__set_initial_value(map, self, bytes);
	}
	return -EBADMSG;
}

static int prepare(const struct ep_unwinder_program *program, struct bpf_object *object, const struct ep_bpf *bpf,
		   const struct ep_language_maps *maps,
		   const struct ep_unwinder_program_options *options, char *log)
{
	struct ep_self self = {
		.bpf_abi = EP_BPF_ABI, /* as it was: ep_unwinder_check has looked */
		.slot = options->slot,
		.kind = EP_FRAME_FIRST_DYNAMIC + options->slot,
		.first_error = options->first_error,
		.first_counter = options->first_counter,
		.frames_per_run = program->frames_per_run,
		.task_tls_off = ep_bpf_config(bpf)->task_tls_off,
		.abi_minor = EP_ABI_MINOR,
	};
	struct bpf_program *entry = bpf_object__find_program_by_name(object, options->image->program);
	int r;

	if (!entry)
		return -ENOENT;
	(void)bpf_program__set_log_buf(entry, log, LOG_BYTES);
	r = set_self(object, &self);
	return r < 0 ? r : share_maps(program, object, bpf, maps);
}

/* Copies the descriptors of the loaded object, which its caller closes. */
static int take_descriptors(struct ep_unwinder_program *program, const struct bpf_object *object, const char *name)
{
	const struct ep_bpf_descriptor *entry;
	int r = ep_bpf_descriptors_init(&program->descriptors, object);

	if (r < 0)
		return r;
	entry = ep_bpf_descriptors_find(&program->descriptors, EP_BPF_PROGRAM, name);
	program->fd = entry ? entry->fd : -1; /* there is one: prepare() found it */
	program->n_instructions = entry ? entry->n_instructions : 0;
	return 0;
}

static int load_with(struct ep_unwinder_program *program, const struct ep_bpf *bpf,
		     const struct ep_language_maps *maps,
		     const struct ep_unwinder_program_options *options, uint32_t frames, char *log)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "ep");
	struct bpf_object *object;
	int r;

	program->frames_per_run = frames;
	object = bpf_object__open_mem(options->image->object, options->image->object_bytes, &opts);
	if (!object)
		return ep_unwinder_program_may_pass(-errno) ? -errno : -EBADMSG;
	r = prepare(program, object, bpf, maps, options, log);
	if (r == 0)
		r = ep_bpf_load_object(bpf, object);
	if (r < 0)
		ep_log(EP_LOG_DEBUG, "%s: %u frames per run refused: %s", options->name, frames,
		       ep_strerror(r));
	else
		r = take_descriptors(program, object, options->image->program);
	bpf_object__close(object);
	return r;
}

/* The verifier's last words say what it did not like. */
static void explain(const char *log, int error, char reason[512])
{
	size_t len = strnlen(log, LOG_BYTES);
	const char *tail = len > 300 ? log + len - 300 : log;

	snprintf(reason, 512, "%s%s%.300s", ep_strerror(error), len ? ": the kernel says: " : "",
		 tail);
	for (char *c = reason; *c; c++) {
		if (*c == '\n')
			*c = ' ';
	}
}

bool ep_unwinder_program_may_pass(int r)
{
	return r == -ENOMEM || r == -EMFILE || r == -ENFILE || r == -EAGAIN || r == -EINTR || r == -ECANCELED;
}

static bool is_final(int r)
{
	return r == 0 || r == -EPERM || r == -EACCES || r == -EBADMSG || r == -ENOENT;
}

/*
 * Refused programs are tried with shorter loops, down to more than `least` frames: some kernels'
 * verifiers walk far more paths.
 */
static int load_any(struct ep_unwinder_program *program, const struct ep_bpf *bpf,
		    const struct ep_language_maps *maps,
		    const struct ep_unwinder_program_options *options, uint32_t most,
		    uint32_t least, char reason[512])
{
	ep_autofree char *log = calloc(1, LOG_BYTES);
	uint32_t frames = most;
	int r;

	if (!log)
		return -ENOMEM;
	do {
		r = load_with(program, bpf, maps, options, frames, log);
		/* Some refusals are reported as EACCES or EPERM: only the longest is trusted. */
		if (ep_unwinder_program_may_pass(r) || (is_final(r) && (r == 0 || frames == most)))
			break;
		frames /= 2;
	} while (frames > least);
	ep_pages_give_back(options->image->object, options->image->object_bytes);
	if (r < 0)
		explain(log, r, reason);
	return r;
}

/* The kernel puts it in the place of what was there; who runs that runs it to its end. */
static int put(const struct ep_unwinder_program *program, char reason[512])
{
	int r = bpf_map_update_elem(program->progs_fd, &program->slot, &program->fd, BPF_ANY);

	if (r < 0)
		explain("", r, reason);
	return r;
}

/*
 * No frame of the language is walked before its program is loaded, and the target's threads may keep
 * every CPU busy, so the loading thread runs at a higher priority (where we may raise it) for that
 * tenth of a second. Sets the calling thread's nice value and returns the old one.
 */
static int set_nice(int nice)
{
	int old = getpriority(PRIO_PROCESS, 0);

	(void)setpriority(PRIO_PROCESS, 0, nice);
	return old;
}

int ep_unwinder_program_load(const struct ep_bpf *bpf, const struct ep_language_maps *maps,
			     const struct ep_unwinder_program_options *options,
			     struct ep_unwinder_program **ret_program, char reason[512])
{
	struct ep_unwinder_program *program = calloc(1, sizeof(*program));
	uint32_t most = EP_MAX(options->image->max_frames_per_run, 1u);
	int r, nice;

	if (!program)
		return -ENOMEM;
	program->slot = options->slot;
	program->progs_fd = ep_bpf_map_fd(bpf, "ep_progs");
	program->is_short = ep_unwinder_program_first_frames(most) < most;
	nice = set_nice(QUICK_NICE);
	r = load_any(program, bpf, maps, options, ep_unwinder_program_first_frames(most), 0,
		     reason);
	(void)set_nice(nice);
	if (r == 0)
		r = put(program, reason);
	if (r < 0) {
		ep_bpf_descriptors_fini(&program->descriptors);
		free(program);
		return r;
	}
	*ret_program = program;
	return 0;
}

int ep_unwinder_program_lengthen(struct ep_unwinder_program *program, const struct ep_bpf *bpf,
				 const struct ep_language_maps *maps,
				 const struct ep_unwinder_program_options *options,
				 char reason[512])
{
	struct ep_unwinder_program longer = {.shares = &program->descriptors,
					     .progs_fd = program->progs_fd,
					     .slot = program->slot};
	int r = load_any(&longer, bpf, maps, options, options->image->max_frames_per_run,
			 program->frames_per_run, reason);

	if (r == 0)
		r = put(&longer, reason);
	program->is_short = ep_unwinder_program_may_pass(r);
	if (r < 0) {
		ep_bpf_descriptors_fini(&longer.descriptors);
		return r;
	}
	ep_bpf_descriptors_fini(&program->descriptors);
	longer.keeper = program->keeper;
	*program = longer;
	program->shares = NULL;
	return 0;
}

int ep_unwinder_program_load_keeper(struct ep_unwinder_program *program, const struct ep_bpf *bpf,
				    const struct ep_language_maps *maps,
				    const struct ep_unwinder_program_options *options,
				    char reason[512])
{
	struct ep_unwinder_program_options keeper_options = *options;
	struct ep_unwinder_program keeper = {.progs_fd = program->progs_fd,
					     .slot = EP_SLOT_FIRST_KEEPER + program->slot};
	int r;

	keeper_options.image = options->keeper;
	if (!options->keeper)
		return 0;
	r = load_any(&keeper, bpf, maps, &keeper_options, 1, 0, reason);
	if (r == 0)
		r = put(&keeper, reason);
	if (r < 0)
		ep_bpf_descriptors_fini(&keeper.descriptors);
	else
		program->keeper = keeper.descriptors;
	return r;
}

bool ep_unwinder_program_is_short(const struct ep_unwinder_program *program)
{
	return program->is_short;
}

void ep_unwinder_program_free(struct ep_unwinder_program *program)
{
	uint32_t keeper_slot;

	if (!program)
		return;
	keeper_slot = EP_SLOT_FIRST_KEEPER + program->slot;
	(void)bpf_map_delete_elem(program->progs_fd, &program->slot);
	(void)bpf_map_delete_elem(program->progs_fd, &keeper_slot);
	ep_bpf_descriptors_fini(&program->keeper);
	ep_bpf_descriptors_fini(&program->descriptors);
	free(program);
}

uint32_t ep_unwinder_program_frames_per_run(const struct ep_unwinder_program *program)
{
	return program->frames_per_run;
}

uint32_t ep_unwinder_program_instructions(const struct ep_unwinder_program *program)
{
	return program->n_instructions;
}

static uint32_t verified_of(int fd)
{
	struct bpf_prog_info info = {0};
	uint32_t bytes = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &bytes) < 0)
		return 0;
	return info.verified_insns;
}

uint32_t ep_unwinder_program_verified(const struct ep_unwinder_program *program)
{
	return verified_of(program->fd);
}

uint32_t ep_unwinder_program_verified_keeper(const struct ep_unwinder_program *program)
{
	const struct ep_bpf_descriptor *descriptor;

	ep_vec_each (&program->keeper.all, descriptor) {
		if (descriptor->kind == EP_BPF_PROGRAM)
			return verified_of(descriptor->fd);
	}
	return 0;
}
