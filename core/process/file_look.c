/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/file_look.h"
#include "core/base/clock.h"
#include "core/elf/file.h"
#include "core/plugin/job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#define MAX_WAITING 4096
#define MAX_PER_JOB 64
#define MAX_JOBS    2
#define TOGETHER_NS (20 * EP_NS_PER_MS)

struct look_job {
	struct ep_file_looks *looks;
	struct ep_file_look_list list;
};

static void on_due(void *arg);

struct ep_file_key ep_file_key_of(const struct ep_mapping_event *event, uint64_t mount_ns)
{
	struct ep_file_key key = {.mount_ns = mount_ns};

	if (event->build_id) {
		key.build_id_bytes = (uint32_t)EP_MIN(event->build_id_bytes, sizeof(key.build_id));
		memcpy(key.build_id, event->build_id, key.build_id_bytes);
	} else if (event->has_inode) {
		key.inode = event->inode;
		key.generation = event->inode_generation;
		key.dev_major = event->device_major;
		key.dev_minor = event->device_minor;
	}
	return key;
}

void ep_file_looks_init(struct ep_file_looks *looks, struct uv_loop_s *loop, struct ep_timer *timer,
			void (*done)(void *arg, struct ep_file_look *look), void *arg)
{
	*looks = (struct ep_file_looks){.loop = loop, .timer = timer, .done = done, .arg = arg};
	TAILQ_INIT(&looks->waiting);
	ep_map_init(&looks->waiting_by_pid, 2 * MAX_WAITING);
	looks->tick = (struct ep_timeout){.run = on_due, .arg = looks};
}

static bool is_same(const struct ep_file_look *a, const struct ep_file_look *b)
{
	return a->program.pid == b->program.pid && a->program.image == b->program.image &&
	       a->program.start_ns == b->program.start_ns &&
	       memcmp(&a->key, &b->key, sizeof(a->key)) == 0 && strcmp(a->path, b->path) == 0;
}

/* --- how many of a process wait -------------------------------------------------------------- */

static size_t waiting_of(const struct ep_file_looks *looks, uint32_t pid)
{
	const uint64_t *n = ep_map_find(&looks->waiting_by_pid, pid);

	return n ? (size_t)*n : 0;
}

/* Without memory for the count nobody is refused for it. */
static void add_waiting(struct ep_file_looks *looks, const struct ep_file_look *look)
{
	uint32_t pid = look->program.pid;

	looks->n_waiting++;
	(void)ep_map_set(&looks->waiting_by_pid, pid, waiting_of(looks, pid) + 1);
}

static void drop_waiting(struct ep_file_looks *looks, const struct ep_file_look *look)
{
	uint32_t pid = look->program.pid;
	size_t n = waiting_of(looks, pid);

	looks->n_waiting--;
	if (n > 1)
		(void)ep_map_set(&looks->waiting_by_pid, pid, n - 1);
	else
		(void)ep_map_remove(&looks->waiting_by_pid, pid);
}

/*
 * A process may ask while fewer looks of its own wait than more may come: alone it gets half, and
 * leaves half to others.
 */
static bool may_ask(const struct ep_file_looks *looks, uint32_t pid)
{
	return looks->n_waiting < MAX_WAITING &&
	       waiting_of(looks, pid) < MAX_WAITING - looks->n_waiting;
}

static void move(struct ep_file_look *look, struct ep_file_look_list *from,
		 struct ep_file_look_list *to)
{
	TAILQ_REMOVE(from, look, link);
	TAILQ_INSERT_TAIL(to, look, link);
}

static void move_to_waiting(struct ep_file_looks *looks, struct ep_file_look *look)
{
	ep_due_unset(&looks->later, &look->later);
	looks->n_later--;
	TAILQ_INSERT_TAIL(&looks->waiting, look, link);
	add_waiting(looks, look);
}

/* Those that are due soon go together: each wake-up costs more than a look. */
static void on_due(void *arg)
{
	struct ep_file_looks *looks = arg;
	uint64_t end_ns = ep_clock_mono_ns() + TOGETHER_NS;

	while (looks->later.first && looks->later.first->at_ns <= end_ns)
		move_to_waiting(looks,
				EP_CONTAINER(looks->later.first, struct ep_file_look, later));
	ep_file_looks_run(looks);
	if (looks->later.first)
		ep_timer_set(looks->timer, &looks->tick, looks->later.first->at_ns);
}

static void free_list(struct ep_file_look_list *list)
{
	struct ep_file_look *look;

	while ((look = TAILQ_FIRST(list)) != NULL) {
		struct ep_file_use *use;

		TAILQ_REMOVE(list, look, link);
		while ((use = LIST_FIRST(&look->waiters)) != NULL)
			ep_file_use_set(use, NULL);
		ep_proc_file_close(&look->file);
		free(look);
	}
}

void ep_file_looks_stop(struct ep_file_looks *looks)
{
	looks->stopped = true;
	while (looks->later.first)
		move_to_waiting(looks,
				EP_CONTAINER(looks->later.first, struct ep_file_look, later));
	free_list(&looks->waiting);
	looks->n_waiting = looks->n_later = 0;
	ep_map_fini(&looks->waiting_by_pid);
	ep_timer_unset(looks->timer, &looks->tick);
}

/* A copy, in the queue. NULL: no memory. */
static struct ep_file_look *add(struct ep_file_looks *looks, const struct ep_file_look *asked,
				uint64_t due_ns)
{
	struct ep_file_look *look = malloc(sizeof(*look));

	if (!look)
		return NULL;
	*look = *asked;
	look->file.fd = -1;
	LIST_INIT(&look->waiters);
	looks->asked++;
	if (due_ns == 0) {
		TAILQ_INSERT_TAIL(&looks->waiting, look, link);
		add_waiting(looks, look);
		return look;
	}
	looks->n_later++;
	ep_due_set(&looks->later, &look->later, due_ns);
	if (looks->later.first == &look->later)
		ep_timer_set(looks->timer, &looks->tick, due_ns);
	return look;
}

/*
 * A program may map one file thousands of times before it is looked at once: that is one look, at
 * the area that is most likely still there.
 */
int ep_file_looks_add(struct ep_file_looks *looks, const struct ep_file_look *asked,
		      uint64_t due_ns, struct ep_file_look **ret_look)
{
	struct ep_file_look *last = TAILQ_LAST(&looks->waiting, ep_file_look_list);

	if (looks->stopped)
		return -ESHUTDOWN;
	if (due_ns == 0 && last && is_same(last, asked)) {
		last->addr = asked->addr;
		last->end = asked->end;
		last->time_ns = asked->time_ns;
		*ret_look = last;
		return 0;
	}
	if (due_ns ? looks->n_later >= MAX_WAITING : !may_ask(looks, asked->program.pid)) {
		looks->refused++;
		return -E2BIG;
	}
	*ret_look = add(looks, asked, due_ns);
	return *ret_look ? 0 : -ENOMEM;
}

/* --- on a worker ----------------------------------------------------------------------------- */

static bool has_build_id(const struct ep_file_look *look, int fd)
{
	ep_cleanup(ep_elf_closep) struct ep_elf *elf = NULL;
	uint8_t build_id[EP_ELF_BUILD_ID_MAX];
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0), n;

	if (copy < 0 || ep_elf_open_fd(copy, &elf) < 0)
		return false;
	n = ep_elf_build_id(elf, build_id);
	return n > 0 && (uint32_t)n == look->key.build_id_bytes &&
	       memcmp(build_id, look->key.build_id, (size_t)n) == 0;
}

/*
 * A file that took the place of one that was deleted may have its inode, but not its generation.
 * Records have i_generation (kernel/events/core.c, perf_event_mmap_event). Maps and records may
 * name another device than stat does: core/proc/open.c, is_mapped_file; on overlayfs records name
 * that of a layer.
 */
static bool has_inode(const struct ep_file_key *key, const struct ep_proc_file *file)
{
	if (!key->inode || file->inode != key->inode ||
	    (file->generation && file->generation != (uint32_t)key->generation))
		return false;
	return major(file->dev) == 0 ||
	       (major(file->dev) == key->dev_major && minor(file->dev) == key->dev_minor);
}

/*
 * A process in which files are looked for: the root of the last one stays open for the next
 * look.
 */
struct visited {
	struct ep_program program; /* pid 0: none yet */
	int result;
	struct ep_proc_root root;
};

/*
 * A program's view does not become ours again: one that is younger than the look is as good as
 * that of its time.
 */
static int visit(struct visited *visited, struct ep_program program)
{
	if (visited->program.pid == program.pid && visited->program.start_ns == program.start_ns)
		return visited->result;
	ep_proc_root_close(&visited->root);
	visited->program = program;
	visited->result = ep_proc_root_open((pid_t)program.pid, program.start_ns, &visited->root);
	if (visited->result < 0)
		visited->root.view = ep_proc_view_alone((pid_t)program.pid, program.start_ns);
	return visited->result;
}

static bool speaks(const struct ep_file_look *look, struct ep_program program)
{
	return look->mount_ns &&
	       ep_proc_speaks_for((pid_t)program.pid, program.start_ns, look->mount_ns);
}

/* 0, or -ENOENT after it was closed. */
static int take_if_meant(struct ep_file_look *look, struct ep_program program,
			 struct ep_proc_file *file)
{
	bool is_meant =
		look->key.build_id_bytes > 0
			? (look->known.bytes && ep_proc_file_has_same_bytes(&look->known, file)) ||
				  has_build_id(look, file->fd)
			: has_inode(&look->key, file);

	if (!is_meant) {
		ep_proc_file_close(file);
		return -ENOENT;
	}
	look->file = *file;
	look->file.start_ns = program.start_ns;
	look->root = (pid_t)program.pid;
	return 0;
}

/*
 * What the process maps. It is its own; whether it is that of others as well is another look.
 */
static int look_at_mapping(struct ep_file_look *look, struct visited *visited)
{
	struct ep_program program = look->program;
	struct ep_proc_file file;
	int r = ep_proc_open_range((pid_t)program.pid, look->addr, look->end, &file);

	if (r < 0)
		return r;
	(void)visit(visited, program);
	ep_proc_file_set_view(&file, &visited->root, look->path);
	r = take_if_meant(look, program, &file);
	look->counts = r == 0 && look->key.mount_ns && speaks(look, program);
	return r;
}

/* Since it was mapped. A modification time in the future is none that says so. */
static bool was_written_since(const struct ep_file_look *look, const struct ep_proc_file *file)
{
	struct timespec now;
	int64_t now_ns, mapped_ns;

	clock_gettime(CLOCK_REALTIME, &now);
	now_ns = (int64_t)now.tv_sec * (int64_t)EP_NS_PER_SEC + now.tv_nsec;
	mapped_ns = now_ns - (int64_t)(ep_clock_mono_ns() - look->time_ns);

	return file->mtime_ns > mapped_ns && file->mtime_ns <= now_ns;
}

/*
 * What has its path in the root of a process. Anybody can put a file of that build id under that
 * path in a view of his own: where it is known which mount namespace is meant, no other is looked
 * at.
 */
static int look_at_path(struct ep_file_look *look, struct visited *visited,
			struct ep_program program)
{
	bool counts = speaks(look, program);
	struct ep_proc_file file;
	int r = look->mount_ns && !counts ? -ENOENT : visit(visited, program);

	if (r == 0)
		r = ep_proc_open_below(&visited->root, look->path, &file);
	if (r < 0)
		return r;
	if (was_written_since(look, &file)) {
		ep_proc_file_close(&file);
		return -ENOENT;
	}
	ep_proc_file_set_view(&file, &visited->root, look->path);
	r = take_if_meant(look, program, &file);
	look->counts = r == 0 && counts;
	return r;
}

static void answer(struct ep_file_look *look, struct visited *visited)
{
	struct ep_program ours = {.pid = (uint32_t)getpid()};
	int r;

	look->looked_ns = ep_clock_mono_ns();
	r = look_at_mapping(look, visited);
	for (size_t i = 0; r < 0 && i < EP_LEN(look->roots) && look->roots[i].pid; i++)
		r = look_at_path(look, visited, look->roots[i]);
	if (r < 0 && look->mount_ns)
		r = look_at_path(look, visited, ours);
	look->result = r;
}

static void run_looks(void *arg)
{
	struct look_job *job = arg;
	struct ep_file_look *look;
	struct visited visited = {.root.fd = -1};

	TAILQ_FOREACH (look, &job->list, link)
		answer(look, &visited);
	ep_proc_root_close(&visited.root);
}

/* --- on the loop ----------------------------------------------------------------------------- */

static void finish_looks(void *arg)
{
	struct look_job *job = arg;
	struct ep_file_looks *looks = job->looks;
	struct ep_file_look *look;

	looks->running--;
	TAILQ_FOREACH (look, &job->list, link) {
		looks->found += look->result == 0;
		looks->done(looks->arg, look);
	}
	free_list(&job->list);
	free(job);
	ep_file_looks_run(looks);
}

void ep_file_looks_run(struct ep_file_looks *looks)
{
	while (looks->n_waiting > 0 && looks->running < MAX_JOBS) {
		struct look_job *job = calloc(1, sizeof(*job));

		if (!job)
			return;
		job->looks = looks;
		TAILQ_INIT(&job->list);
		for (size_t i = 0; i < MAX_PER_JOB && looks->n_waiting > 0; i++) {
			drop_waiting(looks, TAILQ_FIRST(&looks->waiting));
			move(TAILQ_FIRST(&looks->waiting), &looks->waiting, &job->list);
		}
		looks->running++;
		if (ep_job_run(looks->loop, run_looks, finish_looks, job) < 0) {
			struct ep_file_look *look;

			TAILQ_FOREACH (look, &job->list, link)
				look->result = -ENOMEM;
			finish_looks(job);
			return;
		}
	}
}
