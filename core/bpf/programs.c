/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bpf/programs.h"
#include "core/bpf/loads.h"
#include "core/base/log.h"
#include "core/base/pages.h"
#include "core/bpf/cpus.h"
#include "core/bpf/descriptors.h"
#include "core/bpf/loaded.h"
#include "core/bpf/offsets.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "core_bpf.inc.h"

#define VERIFIER_LOG_TAIL 1500

/*
 * The verifier's time grows with the frames: 36 take it twelve times as long as 4. So few are
 * loaded first, and a program of more takes the place of that one once samples are taken. Until
 * then 32 runs of it walk 128 frames.
 */
#define FIRST_FRAMES 4
/* Tried in turn: the verifiers of some kernels walk far more paths than those of others. */
static const uint32_t frames_per_run[] = {36, 24, 12, 6};
#define NATIVE_NAME "ep_native"
#define ENTRY_NAME  "ep_entry"

struct ep_bpf {
	struct ep_bpf_descriptors descriptors;
	int links[8]; /* + 1; 0: not attached */
	struct ep_control *control;
	struct ep_rule *rules;
	size_t rules_bytes;
	struct ep_marks *marks;
	struct ep_others_line *others;
	size_t others_bytes;
	struct ep_counts *counts; /* by CPU */
	uint32_t n_counts;
	size_t map_bytes; /* none of the maps grows */
	_Atomic uint32_t frames_per_run; /* written by the worker that makes it more */
	struct ep_config config;
	struct ep_loads *loads; /* those of workers */
};

static int quiet_print(enum libbpf_print_level level, const char *fmt, va_list args)
{
	if (level == LIBBPF_DEBUG || ep_log_get_level() < EP_LOG_DEBUG)
		return 0;
	return vfprintf(stderr, fmt, args);
}

/* Kernels before 5.11 charge BPF memory to this limit; later ones do not mind. */
static void raise_memlock(void)
{
	struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};

	(void)setrlimit(RLIMIT_MEMLOCK, &limit);
}

/* A power of two of pages: what the kernel wants. */
static size_t ring_size(size_t bytes)
{
	size_t size = (size_t)getpagesize();

	while (size < bytes && size < (1u << 31))
		size *= 2;
	return size;
}

static int set_entries(struct bpf_object *object, const char *name, uint32_t entries)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, name);

	return map ? bpf_map__set_max_entries(map, entries) : -ENOENT;
}

/* Of maps that are looked into by a CPU's number. */
static int set_cpu_sizes(struct ep_bpf *bpf, struct bpf_object *object)
{
	uint32_t cpus = ep_cpus_possible_end();
	int r;

	bpf->n_counts = cpus > 0 ? cpus : EP_MAX_CPUS;
	r = set_entries(object, "ep_counters", bpf->n_counts);
	/* Where nobody says how many there are the first one alone has a memo. */
	if (r == 0 && cpus > 0)
		r = set_entries(object, "ep_memo", cpus * EP_MEMO_SETS);
	if (r == 0 && cpus > 0)
		r = set_entries(object, "ep_recent", cpus * EP_RECENT_LEN);
	return r;
}

#define MAX_CHOICES 32768

static int set_filter_sizes(struct bpf_object *object, const struct ep_bpf_options *options)
{
	int r = set_entries(object, "ep_filter", options->filter ? options->max_processes : 1);

	if (r == 0)
		r = set_entries(object, "ep_verdicts", options->filter ? options->max_processes : 1);
	if (r == 0)
		r = set_entries(object, "ep_others", options->filter ? EP_OTHERS_LINES : 1);
	if (r == 0)
		r = set_entries(object, "ep_choices", options->filter ? MAX_CHOICES : 1);
	return r;
}

static int set_sizes(struct ep_bpf *bpf, struct bpf_object *object, const struct ep_bpf_options *options)
{
	int r = set_entries(object, "ep_ring", bpf->config.ring_bytes);

	if (r == 0)
		r = set_cpu_sizes(bpf, object);
	if (r == 0)
		r = set_entries(object, "ep_procs", options->max_processes);
	if (r == 0)
		r = set_filter_sizes(object, options);
	return r;
}

static int set_config(struct bpf_object *object, const struct ep_config *config)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object) {
		if (strstr(bpf_map__name(map), ".rodata"))
			return bpf_map__set_initial_value(map, config, sizeof(*config));
	}
	return -ENOENT;
}

static int open_object(const struct ep_config *config, struct bpf_object **ret_object)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "ep");
	struct bpf_object *object;
	int r;

	object = bpf_object__open_mem(core_bpf_object, sizeof(core_bpf_object), &opts);
	if (!object)
		return -errno;
	r = set_config(object, config);
	if (r < 0) {
		bpf_object__close(object);
		return r;
	}
	*ret_object = object;
	return 0;
}

static int set_filter(struct ep_config *config, const struct ep_bpf_options *options)
{
	uint32_t used = options->need | options->never;

	config->filter = options->filter;
	config->filter_need = options->filter && !used ? EP_FILTER_IN(EP_FILTER_PID) : options->need;
	config->filter_never = options->never;
	config->no_inherit = options->no_inherit;
	config->n_users = options->n_users;
	config->n_threads = options->n_threads;
	memcpy(config->users, options->users, sizeof(config->users));
	memcpy(config->threads, options->threads, sizeof(config->threads));
	memcpy(config->names_start, options->names_start, sizeof(config->names_start));
	return used & config->filter_cannot ? -ENOTSUP : 0;
}

static int load_first(struct ep_bpf *bpf, const struct ep_bpf_options *options)
{
	struct bpf_object *object = NULL;
	int r;

	bpf->config.frames_per_run = FIRST_FRAMES;
	r = set_filter(&bpf->config, options);
	if (r < 0)
		return r;
	bpf->config.ring_bytes = (uint32_t)ring_size(options->ring_bytes);
	r = open_object(&bpf->config, &object);
	if (r == 0)
		r = set_sizes(bpf, object, options);
	if (r == 0)
		r = bpf_object__load(object);
	if (r == 0)
		r = ep_bpf_descriptors_init(&bpf->descriptors, object);
	bpf_object__close(object);
	atomic_store(&bpf->frames_per_run, FIRST_FRAMES);
	return r;
}

static void *map_memory(const struct ep_bpf *bpf, const char *name, size_t bytes)
{
	int fd = ep_bpf_map_fd(bpf, name);
	void *memory;

	if (fd < 0)
		return NULL;
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

/* As bpf/filter.bpf.h's: does BPF keep who is not wanted, since a cgroup, a name or a pid says so? */
static bool keeps_others(const struct ep_config *config)
{
	return (config->filter_need | config->filter_never) & EP_FILTER_BITS &
	       ~(EP_FILTER_BOTH(EP_FILTER_TID) | EP_FILTER_BOTH(EP_FILTER_USER));
}

static int program_fd(const struct ep_bpf *bpf, const char *name)
{
	return ep_bpf_descriptors_fd(&bpf->descriptors, EP_BPF_PROGRAM, name);
}

static int put_entry(const struct ep_bpf *bpf)
{
	int fd = program_fd(bpf, ENTRY_NAME);
	uint32_t slot = 0;

	return fd < 0 || bpf_map_update_elem(ep_bpf_map_fd(bpf, "ep_starts"), &slot, &fd, BPF_ANY) < 0 ? -EINVAL
													 : 0;
}

static int fill_program_array(const struct ep_bpf *bpf)
{
	static const char *const names[] = {"ep_finish", NATIVE_NAME}; /* by enum ep_slot */
	int array = ep_bpf_map_fd(bpf, "ep_progs");

	for (uint32_t slot = 0; slot < EP_LEN(names); slot++) {
		int fd = program_fd(bpf, names[slot]);

		if (fd < 0 || bpf_map_update_elem(array, &slot, &fd, BPF_ANY) < 0)
			return -EINVAL;
	}
	return put_entry(bpf);
}

static size_t counts_bytes(const struct ep_bpf *bpf)
{
	return EP_ALIGN_UP(sizeof(*bpf->counts) * bpf->n_counts, (size_t)getpagesize());
}

static int map_all(struct ep_bpf *bpf)
{
	bpf->rules_bytes = EP_ALIGN_UP(sizeof(struct ep_rule) * EP_MAX_RULES, getpagesize());
	bpf->control = map_memory(bpf, "ep_control", (size_t)getpagesize());
	bpf->rules = map_memory(bpf, "ep_rules", bpf->rules_bytes);
	bpf->counts = map_memory(bpf, "ep_counters", counts_bytes(bpf));
	bpf->marks = map_memory(bpf, "ep_marks", sizeof(*bpf->marks));
	bpf->others_bytes = EP_ALIGN_UP(sizeof(*bpf->others) * (bpf->config.filter ? EP_OTHERS_LINES : 1),
					(size_t)getpagesize());
	bpf->others = map_memory(bpf, "ep_others", bpf->others_bytes);
	return bpf->control && bpf->rules && bpf->counts && bpf->marks && bpf->others ? 0 : -ENOMEM;
}

/* The kernel tells the memory of a map in /proc/self/fdinfo. */
static size_t map_memlock(int fd)
{
	char path[64], line[128];
	unsigned long long bytes = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "memlock: %llu", &bytes) == 1)
			break;
	}
	fclose(file);
	return (size_t)bytes;
}

static size_t count_map_bytes(const struct ep_bpf *bpf)
{
	const struct ep_bpf_descriptor *descriptor;
	size_t bytes = 0;

	ep_vec_each (&bpf->descriptors.all, descriptor) {
		if (descriptor->kind == EP_BPF_MAP)
			bytes += map_memlock(descriptor->fd);
	}
	return bytes;
}

int ep_bpf_load(const struct ep_bpf_options *options, struct ep_bpf **ret_bpf)
{
	ep_cleanup(ep_bpf_freep) struct ep_bpf *bpf = calloc(1, sizeof(*bpf));
	int r;

	if (!bpf)
		return -ENOMEM;
	libbpf_set_print(quiet_print);
	raise_memlock();
	r = ep_loads_new(&bpf->loads);
	if (r == 0)
		r = ep_bpf_read_offsets(&bpf->config);
	if (r == 0)
		r = load_first(bpf, options);
	if (r == 0)
		r = fill_program_array(bpf);
	if (r == 0)
		r = map_all(bpf);
	if (r < 0)
		return r;
	bpf->map_bytes = count_map_bytes(bpf);
	bpf->control->epoch = 1;
	bpf->control->generation = 1;
	*ret_bpf = ep_take(bpf);
	return 0;
}

/* --- a program that walks more frames at a time ------------------------------------------------ */

/* All but what says how many frames it walks is the first object's. */
static int share_maps(const struct ep_bpf *bpf, struct bpf_object *object)
{
	struct bpf_map *map;
	int r = 0;

	bpf_object__for_each_map(map, object) {
		if (r == 0 && !strstr(bpf_map__name(map), ".rodata"))
			r = bpf_map__reuse_fd(map, ep_bpf_map_fd(bpf, bpf_map__name(map)));
	}
	return r;
}

static int load_object(void *arg)
{
	return bpf_object__load(arg);
}

int ep_bpf_load_object(const struct ep_bpf *bpf, struct bpf_object *object)
{
	return ep_loads_run(bpf->loads, load_object, object);
}

size_t ep_bpf_stop_loads(const struct ep_bpf *bpf)
{
	return ep_loads_stop(bpf->loads);
}

static int load_native(const struct ep_bpf *bpf, struct bpf_object *object)
{
	struct bpf_program *prog;
	int r = share_maps(bpf, object);

	bpf_object__for_each_program(prog, object)
		(void)bpf_program__set_autoload(prog,
						strcmp(bpf_program__name(prog), NATIVE_NAME) == 0);
	return r < 0 ? r : ep_bpf_load_object(bpf, object);
}

/* The array keeps the program; the object may go. */
static int put_native(struct ep_bpf *bpf, struct bpf_object *object)
{
	int fd = bpf_program__fd(bpf_object__find_program_by_name(object, NATIVE_NAME));
	uint32_t slot = EP_SLOT_NATIVE;

	if (bpf_map_update_elem(ep_bpf_map_fd(bpf, "ep_progs"), &slot, &fd, BPF_ANY) < 0)
		return -errno;
	ep_bpf_descriptors_close(&bpf->descriptors, EP_BPF_PROGRAM, NATIVE_NAME);
	return 0;
}

static int replace_native(struct ep_bpf *bpf, uint32_t frames)
{
	struct ep_config config = bpf->config;
	struct bpf_object *object = NULL;
	int r;

	config.frames_per_run = frames;
	r = open_object(&config, &object);
	if (r == 0)
		r = load_native(bpf, object);
	if (r == 0)
		r = put_native(bpf, object);
	bpf_object__close(object);
	if (r < 0)
		ep_log(EP_LOG_DEBUG, "bpf: %u frames per run refused: %s", frames, ep_strerror(r));
	else
		atomic_store(&bpf->frames_per_run, frames);
	return r;
}

/* A refusal for complexity is E2BIG, or EINVAL or ENOSPC on some kernels; EPERM is final. */
int ep_bpf_lengthen_runs(struct ep_bpf *bpf)
{
	int r = -EINVAL;

	for (size_t i = 0; i < EP_LEN(frames_per_run); i++) {
		r = replace_native(bpf, frames_per_run[i]);
		if (r == 0 || r == -EPERM || r == -EACCES || r == -ENOMEM || r == -ECANCELED)
			break;
	}
	ep_pages_give_back(core_bpf_object, sizeof(core_bpf_object));
	return r;
}

/* --- the rest ---------------------------------------------------------------------------------- */

void ep_bpf_free(struct ep_bpf *bpf)
{
	if (!bpf)
		return;
	for (size_t i = 0; i < EP_LEN(bpf->links); i++) {
		if (bpf->links[i] > 0)
			close(bpf->links[i] - 1);
	}
	if (bpf->control)
		munmap(bpf->control, (size_t)getpagesize());
	if (bpf->rules)
		munmap(bpf->rules, bpf->rules_bytes);
	if (bpf->marks)
		munmap(bpf->marks, sizeof(*bpf->marks));
	if (bpf->others)
		munmap(bpf->others, bpf->others_bytes);
	if (bpf->counts)
		munmap(bpf->counts, counts_bytes(bpf));
	ep_bpf_descriptors_fini(&bpf->descriptors);
	ep_loads_free(bpf->loads);
	free(bpf);
}

/* The last ones are for filters: of anything, and of cgroups. */
static size_t n_attached(const struct ep_config *config, size_t n)
{
	if (!config->filter)
		return n - 4;
	return (config->filter_need | config->filter_never) & EP_FILTER_CGROUPS ? n : n - 3;
}

int ep_bpf_attach_process_events(struct ep_bpf *bpf)
{
	static const struct {
		const char *program, *tracepoint; /* as its section says */
	} events[] = {
		{"ep_fork", "sched_process_fork"},     {"ep_exec", "task_rename"},
		{"ep_exec_done", "sched_process_exec"}, {"ep_exit", "sched_process_exit"},
		{"ep_free", "sched_process_free"},     {"ep_cgroup_mkdir", "cgroup_mkdir"},
		{"ep_cgroup_gone", "cgroup_release"},  {"ep_cgroup_move", "cgroup_attach_task"},
	};
	size_t n = n_attached(&bpf->config, EP_LEN(events));

	for (size_t i = 0; i < n; i++) {
		int fd = program_fd(bpf, events[i].program);

		fd = fd < 0 ? fd : bpf_raw_tracepoint_open(events[i].tracepoint, fd);
		if (fd < 0)
			return fd;
		bpf->links[i] = fd + 1;
	}
	return 0;
}

int ep_bpf_add_choice(struct ep_bpf *bpf, uint64_t choice, uint32_t bits)
{
	int r;

	__atomic_store_n(&bpf->marks->bytes[ep_mark_of(choice)], 1, __ATOMIC_RELEASE);
	r = bpf_map_update_elem(ep_bpf_map_fd(bpf, "ep_choices"), &choice, &bits, BPF_ANY);
	return r < 0 ? -errno : 0;
}

int ep_bpf_add_pid(struct ep_bpf *bpf, uint32_t pid, uint32_t bits)
{
	struct ep_filter_entry entry = {.bits = bits};
	int r;

	__atomic_store_n(&bpf->marks->bytes[ep_mark_of(EP_CHOICE(EP_FILTER_PID, pid))], 1,
			 __ATOMIC_RELEASE);
	r = bpf_map_update_elem(ep_bpf_map_fd(bpf, "ep_filter"), &pid, &entry, BPF_ANY);
	if (r < 0)
		return -errno;
	__atomic_fetch_add(&bpf->control->changes, 1, __ATOMIC_SEQ_CST);
	if (keeps_others(&bpf->config))
		__atomic_store_n(&bpf->others[EP_OTHER_LINE(pid)].entries[EP_OTHER_ENTRY(pid)], 0, __ATOMIC_RELAXED);
	return 0;
}

/* What an event judged before the count either is here to be cleared, or the event sees the count (bpf/filter.bpf.h). */
void ep_bpf_judge_again(struct ep_bpf *bpf)
{
	__atomic_fetch_add(&bpf->control->changes, 1, __ATOMIC_SEQ_CST);
	for (size_t i = 0; i < bpf->others_bytes / sizeof(*bpf->others); i++) {
		for (size_t j = 0; j < EP_LEN(bpf->others[i].entries); j++)
			__atomic_store_n(&bpf->others[i].entries[j], 0, __ATOMIC_RELAXED);
	}
}

uint32_t ep_bpf_changes(const struct ep_bpf *bpf)
{
	return __atomic_load_n(&bpf->control->changes, __ATOMIC_SEQ_CST);
}

void ep_bpf_keep_other(struct ep_bpf *bpf, uint32_t pid, uint32_t changes)
{
	__u16 *entry = &bpf->others[EP_OTHER_LINE(pid)].entries[EP_OTHER_ENTRY(pid)];

	if (!keeps_others(&bpf->config) || __atomic_load_n(entry, __ATOMIC_SEQ_CST) == EP_OTHER_UNSURE(pid))
		return;
	__atomic_store_n(entry, EP_OTHER_NOT_WANTED(pid), __ATOMIC_SEQ_CST);
	if (ep_bpf_changes(bpf) != changes)
		__atomic_store_n(entry, 0, __ATOMIC_SEQ_CST);
}

int ep_bpf_set_glob(struct ep_bpf *bpf, enum ep_glob_of which, const struct ep_glob *glob)
{
	uint32_t key = which;

	return bpf_map_update_elem(ep_bpf_map_fd(bpf, "ep_globs"), &key, glob, BPF_ANY) < 0 ? -errno
											    : 0;
}

const struct ep_config *ep_bpf_config(const struct ep_bpf *bpf)
{
	return &bpf->config;
}

int ep_bpf_entry_fd(const struct ep_bpf *bpf)
{
	return program_fd(bpf, keeps_others(&bpf->config) ? "ep_front" : ENTRY_NAME);
}

int ep_bpf_map_fd(const struct ep_bpf *bpf, const char *name)
{
	return ep_bpf_descriptors_fd(&bpf->descriptors, EP_BPF_MAP, name);
}

struct ep_control *ep_bpf_control(const struct ep_bpf *bpf)
{
	return bpf->control;
}

struct ep_rule *ep_bpf_rules(const struct ep_bpf *bpf)
{
	return bpf->rules;
}

const struct ep_counts *ep_bpf_counts(const struct ep_bpf *bpf, uint32_t *ret_n)
{
	*ret_n = bpf->n_counts;
	return bpf->counts;
}

uint64_t ep_bpf_counter(const struct ep_bpf *bpf, enum ep_counter counter)
{
	uint64_t sum = 0;

	for (uint32_t cpu = 0; cpu < bpf->n_counts; cpu++)
		sum += atomic_load_explicit((_Atomic uint64_t *)&bpf->counts[cpu].n[counter],
					    memory_order_relaxed);
	return sum;
}

const char *ep_bpf_counter_text(enum ep_counter counter)
{
	static const char *const texts[] = {
#define EP_COUNTER(name, text) [EP_COUNTER_##name] = text,
#include "bpf/counters.def"
#undef EP_COUNTER
	};

	return texts[counter];
}

/*
 * Programs reached by tail calls run inside the entry program: the kernel charges their time to
 * the entry, whose run count is the number of events.
 */
struct ep_bpf_cost ep_bpf_cost(const struct ep_bpf *bpf)
{
	struct bpf_prog_info info = {0};
	uint32_t bytes = sizeof(info);

	if (bpf_obj_get_info_by_fd(ep_bpf_entry_fd(bpf), &info, &bytes) < 0)
		return (struct ep_bpf_cost){0};
	return (struct ep_bpf_cost){.run_ns = info.run_time_ns, .runs = info.run_cnt};
}

size_t ep_bpf_map_bytes(const struct ep_bpf *bpf)
{
	return bpf->map_bytes;
}

uint32_t ep_bpf_frames_per_run(const struct ep_bpf *bpf)
{
	return atomic_load(&bpf->frames_per_run);
}

void ep_bpf_list_code(const struct ep_bpf *bpf, struct ep_vec *codes)
{
	const struct ep_bpf_descriptor *descriptor;

	ep_vec_each (&bpf->descriptors.all, descriptor) {
		if (descriptor->kind == EP_BPF_PROGRAM && descriptor->fd >= 0)
			(void)ep_loaded_program(descriptor->fd, codes);
	}
}
