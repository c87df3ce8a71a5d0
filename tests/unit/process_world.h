/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A world for the process manager without privileges: a real loop, a delta store in the heap, and a
 * map ep_procs that does what the kernel's programs do (a fork copies an entry, exec and exit
 * remove it). Records are fed by hand; what was published to BPF and which samples were passed is
 * seen.
 */
#ifndef TESTS_UNIT_PROCESS_WORLD_H
#define TESTS_UNIT_PROCESS_WORLD_H

#include "core/base/clock.h"
#include "core/bpf/events.h"
#include "core/elf/file.h"
#include "core/process/internal.h"
#include "core/unwind/delta_store.h"
#include "tests/kit/test.h"
#include "tests/unit/areas.h"
#include "tests/unit/heap_chunks.h"

#include <fcntl.h>
#include <signal.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <uv.h>

#define KEEP_NS (60 * EP_NS_PER_SEC)
/* Pids that no machine has: pid_max is at most 2^22 (include/linux/threads.h). */
#define PID(n) (0x500000u + (n))

static const struct ep_program prog = {.pid = PID(1), .image = 1, .start_ns = 1000000000};
/* Another one, or its child. */
static const struct ep_program other = {.pid = PID(2), .image = 1, .start_ns = 2000000000};

/* --- live processes -------------------------------------------------------------------------- */

/* One that maps what we map, until the test ends; its start is what /proc says. */
static inline struct ep_program world_child(void)
{
	ep_cleanup(ep_process_info_fini) struct ep_process_info info = {0};
	pid_t pid = ep_test_child();

	assert_int_equal(ep_process_read(pid, &info), 0);
	return (struct ep_program){.pid = (uint32_t)pid, .image = 7, .start_ns = info.start_ns};
}

struct world {
	uv_loop_t loop;
	struct ep_timer timer;
	struct ep_rule rules[EP_MAX_RULES];
	struct ep_delta_store *store;
	bool may_not_grow;
	struct ep_control control;
	struct ep_processes *processes;
	struct ep_map procs; /* pid -> struct ep_proc *, owned */
	uint32_t updates, removes;
	bool refuses; /* updates */
	uint64_t mount_ns; /* of programs that are executed; 1 */
	uint32_t user; /* of execs */
	uint64_t cgroup;
	uint32_t mount_inode; /* the same; our own */
	uint32_t passed;
	struct ep_sample last; /* that was passed */
	uint64_t last_words[8];
};

/* --- what the manager is given --------------------------------------------------------------- */

static inline int world_add_chunk(void *arg, uint32_t index, void **ret_memory)
{
	const struct world *w = arg;

	return w->may_not_grow ? -ENOMEM : heap_add_chunk(NULL, index, ret_memory);
}

static inline struct ep_proc *world_proc(struct world *w, uint32_t pid)
{
	const uint64_t *value = ep_map_find(&w->procs, pid);

	return value ? (struct ep_proc *)(uintptr_t)*value : NULL;
}

static inline void put_proc(struct world *w, uint32_t pid, const struct ep_proc *proc)
{
	struct ep_proc *to = world_proc(w, pid);

	if (!to) {
		to = calloc(1, sizeof(*to));
		assert_int_equal(ep_map_set(&w->procs, pid, (uintptr_t)to), 0);
	}
	*to = *proc;
}

static inline bool drop_proc(struct world *w, uint32_t pid)
{
	free(world_proc(w, pid));
	return ep_map_remove(&w->procs, pid);
}

static inline int world_update(void *arg, uint32_t pid, const struct ep_proc *proc)
{
	struct world *w = arg;

	w->updates++;
	if (w->refuses)
		return -ENOMEM;
	put_proc(w, pid, proc);
	return 0;
}

static inline int world_find(void *arg, uint32_t pid, struct ep_proc *ret_proc)
{
	const struct ep_proc *proc = world_proc(arg, pid);

	if (!proc)
		return -ENOENT;
	*ret_proc = *proc;
	return 0;
}

static inline int world_remove(void *arg, uint32_t pid)
{
	struct world *w = arg;

	w->removes++;
	return drop_proc(w, pid) ? 0 : -ENOENT;
}

static inline void world_pass(void *arg, const void *event, size_t bytes)
{
	struct world *w = arg;

	assert_true(bytes >= sizeof(w->last));
	memcpy(&w->last, event, sizeof(w->last));
	memcpy(w->last_words, (const char *)event + sizeof(w->last),
	       EP_MIN(bytes - sizeof(w->last), sizeof(w->last_words)));
	w->passed++;
}

static inline void world_catch_up(void *arg)
{
	struct world *w = arg;

	ep_processes_end_turn(w->processes, ep_clock_mono_ns());
}

/* Of the namespace in which we and the processes of tests are. */
static inline uint32_t world_mount_inode(void)
{
	struct stat st;

	assert_int_equal(stat("/proc/self/ns/mnt", &st), 0);
	return (uint32_t)st.st_ino;
}

/* --- its life -------------------------------------------------------------------------------- */

static inline struct world *world_new(uint32_t max_processes, size_t store_bytes)
{
	static const struct ep_procs_ops procs = {world_update, world_find, world_remove};
	struct world *w = calloc(1, sizeof(*w));
	struct ep_delta_store_ops ops = {.arg = w, .add_chunk = world_add_chunk,
					 .remove_chunk = heap_remove_chunk, .rules = w->rules};
	struct ep_processes_options options = {
		.loop = &w->loop,
		.timer = &w->timer,
		.rules = w->rules,
		.control = &w->control,
		.procs_fd = -1,
		.procs = &procs,
		.procs_arg = w,
		.reads_per_second = 1000,
		.max_processes = max_processes,
		.held_bytes = 1 << 20,
		.hears_mappings = true,
		.pass = world_pass,
		.catch_up = world_catch_up,
		.arg = w,
	};

	w->mount_ns = 1;
	w->mount_inode = world_mount_inode();
	ep_map_init(&w->procs, 1u << 22);
	assert_int_equal(uv_loop_init(&w->loop), 0);
	ep_timer_init(&w->timer, &w->loop);
	assert_int_equal(ep_delta_store_new(&ops, store_bytes, &w->store), 0);
	assert_int_equal(ep_delta_store_add_room(w->store, 1 << 17), 0);
	options.store = w->store;
	assert_int_equal(ep_processes_new(&options, &w->processes), 0);
	return w;
}

static inline int world_open(void **state)
{
	*state = world_new(100000, 64u << 20);
	return 0;
}

static inline void world_stop(struct world *w)
{
	ep_processes_stop(w->processes);
	ep_timer_stop(&w->timer);
	uv_run(&w->loop, UV_RUN_DEFAULT);
	ep_processes_free(w->processes);
	assert_int_equal(uv_loop_close(&w->loop), 0);
}

static inline int world_close(void **state)
{
	ep_autofree struct world *w = *state;
	struct ep_map_slot *slot;
	size_t pos = 0;

	world_stop(w);
	ep_delta_store_free(w->store);
	while ((slot = ep_map_next(&w->procs, &pos)) != NULL)
		free((void *)(uintptr_t)slot->value);
	ep_map_fini(&w->procs);
	return 0;
}

/* --- what happens in it ---------------------------------------------------------------------- */

static inline uint64_t world_now(void)
{
	return ep_clock_mono_ns();
}

static inline void world_turn(struct world *w)
{
	ep_processes_end_turn(w->processes, world_now());
}

/* Until nothing is being found out any more; two seconds at most. */
static inline void world_settle(struct world *w)
{
	uint64_t end_ns = world_now() + 2 * EP_NS_PER_SEC;

	world_turn(w);
	while (ep_processes_busy(w->processes) > 0 && world_now() < end_ns)
		uv_run(&w->loop, UV_RUN_ONCE);
	assert_int_equal(ep_processes_busy(w->processes), 0);
	world_turn(w);
}

/* Until what is dirty is written: a process may have to rest before. */
static inline void world_publish(struct world *w)
{
	uint64_t end_ns = world_now() + 2 * EP_NS_PER_SEC;

	do
		world_turn(w);
	while (w->processes->publisher.n_dirty > 0 && world_now() < end_ns);
	assert_int_equal(w->processes->publisher.n_dirty, 0);
}

static inline struct ep_process_event event_of(uint32_t type, uint64_t time_ns,
					       struct ep_program program)
{
	return (struct ep_process_event){
		.event = {.type = type, .time_ns = time_ns},
		.start_ns = program.start_ns,
		.pid = program.pid,
		.image = program.image,
	};
}

static inline void world_fork(struct world *w, uint64_t time_ns, uint32_t parent_pid,
			      struct ep_program child)
{
	struct ep_process_event event = event_of(EP_EVENT_FORK, time_ns, child);
	const struct ep_proc *parent = world_proc(w, parent_pid);
	struct ep_proc copy = parent ? *parent : (struct ep_proc){0};

	copy.start_ns = child.start_ns;
	copy.image = child.image;
	copy.born_ns = time_ns;
	if (parent)
		put_proc(w, child.pid, &copy);
	event.parent_pid = parent_pid;
	ep_processes_on_event(w->processes, &event);
}

static inline void world_exec(struct world *w, uint64_t time_ns, struct ep_program program,
			      const char *comm)
{
	struct ep_process_event event = event_of(EP_EVENT_EXEC, time_ns, program);

	event.mount_ns = w->mount_ns;
	event.mount_inode = w->mount_inode;
	event.user = w->user;
	event.cgroup = w->cgroup;
	drop_proc(w, program.pid);
	memcpy(event.comm, comm, EP_MIN(strlen(comm), sizeof(event.comm) - 1));
	ep_processes_on_event(w->processes, &event);
}

static inline void world_exit(struct world *w, uint64_t time_ns, struct ep_program program)
{
	struct ep_process_event event = event_of(EP_EVENT_EXIT, time_ns, program);

	drop_proc(w, program.pid);
	ep_processes_on_event(w->processes, &event);
}

static inline void world_sample_with(struct world *w, uint64_t time_ns, struct ep_program program,
				     uint8_t flags, uint32_t copy_bytes)
{
	struct {
		struct ep_sample sample;
		uint64_t room[64];
	} event = {.sample = {.event = {.type = EP_EVENT_TRACE, .time_ns = time_ns},
			      .start_ns = program.start_ns,
			      .pid = program.pid,
			      .tid = program.pid,
			      .image = program.image,
			      .hash = 1,
			      .flags = flags,
			      .copy_bytes = copy_bytes}};

	assert_true(copy_bytes <= sizeof(event.room));
	ep_processes_on_sample(w->processes, &event.sample, sizeof(event.sample) + copy_bytes);
}

static inline void world_sample(struct world *w, uint64_t time_ns, struct ep_program program)
{
	world_sample_with(w, time_ns, program, 0, 0);
}

static inline void world_map_anonymous(struct world *w, uint64_t time_ns, uint32_t pid,
				       uint64_t addr, uint64_t bytes)
{
	struct ep_mapping_event event = {.pid = (pid_t)pid, .time_ns = time_ns, .addr = addr,
					 .bytes = bytes, .name = "//anon"};

	ep_processes_on_mapping(w->processes, &event);
}

/* A live one whose mappings are known, and are none that it has: a read would tell. */
static inline struct ep_program world_known_child(struct world *w)
{
	struct ep_program child = world_child();

	world_exec(w, world_now(), child, "child");
	world_map_anonymous(w, world_now(), child.pid, 0x10000, 0x1000);
	world_publish(w);
	return child;
}

/* --- files ----------------------------------------------------------------------------------- */

/* As a record names it: by build id, where it has one and is to tell it; else by its inode. */
struct world_file {
	char path[256];
	uint8_t build_id[EP_ELF_BUILD_ID_MAX];
	size_t build_id_bytes;
	uint32_t major, minor;
	uint64_t inode, generation;
};

static inline struct world_file world_file(const char *path)
{
	struct world_file file = {0};
	ep_cleanup(ep_elf_closep) struct ep_elf *elf = NULL;
	unsigned int generation;
	struct stat st;
	int fd, n;

	snprintf(file.path, sizeof(file.path), "%s", path);
	assert_int_equal(stat(path, &st), 0);
	file.major = major(st.st_dev);
	file.minor = minor(st.st_dev);
	file.inode = st.st_ino;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (ioctl(fd, FS_IOC_GETVERSION, &generation) == 0)
		file.generation = generation;
	assert_int_equal(ep_elf_open_fd(fd, &elf), 0);
	n = ep_elf_build_id(elf, file.build_id);
	file.build_id_bytes = n > 0 ? (size_t)n : 0;
	return file;
}

static inline void world_map(struct world *w, uint64_t time_ns, uint32_t pid, uint64_t addr,
			     const struct world_file *file)
{
	struct ep_mapping_event event = {
		.pid = (pid_t)pid,
		.time_ns = time_ns,
		.addr = addr,
		.bytes = 0x1000,
		.build_id = file->build_id_bytes ? file->build_id : NULL,
		.build_id_bytes = file->build_id_bytes,
		.has_inode = !file->build_id_bytes,
		.device_major = file->major,
		.device_minor = file->minor,
		.inode = file->inode,
		.inode_generation = file->generation,
		.name = file->path,
	};

	ep_processes_on_mapping(w->processes, &event);
}

/* Analysed before anybody maps it. */
static inline void world_prepare(struct world *w, const char *path)
{
	struct ep_proc_file file;

	assert_int_equal(ep_proc_open_path(path, &file), 0);
	assert_int_equal(ep_executables_prepare(w->processes->executables, path, &file), 0);
	world_settle(w);
}

/* --- what is known --------------------------------------------------------------------------- */

static inline struct ep_process *world_process(struct world *w, struct ep_program program)
{
	return ep_table_find(&w->processes->table, program);
}

static inline struct ep_process *world_live(struct world *w, uint32_t pid)
{
	return ep_table_find_live(&w->processes->table, (pid_t)pid);
}

static inline void assert_described(struct world *w, struct ep_program program, const char *comm,
				    const char *exe_path)
{
	const struct ep_identity *identity = ep_processes_identity(w->processes, program);

	assert_non_null(identity);
	assert_string_equal(identity->comm, comm);
	assert_string_equal(identity->exe_path, exe_path);
}

enum world_area_state { AREA_KNOWN, AREA_ASKED, AREA_GONE };

static inline enum world_area_state world_state(const struct ep_area *area)
{
	if (ep_area_is_looked_for(area))
		return AREA_ASKED;
	return ep_area_is_gone(area) ? AREA_GONE : AREA_KNOWN;
}

static inline struct ep_area *world_area(struct world *w, struct ep_program program, uint64_t addr)
{
	struct ep_process *process = world_process(w, program);

	return process ? ep_areas_find(ep_process_areas(process), addr) : NULL;
}

#define WORLD_TEST(name) EP_TEST_ON(name, struct world *w, world_open, world_close)

#endif
