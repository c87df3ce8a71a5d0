/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/advice.h"
#include "core/process/loaded.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/vec.h"
#include "core/elf/file.h"
#include "core/plugin/attached.h"
#include "core/plugin/elf_file.h"
#include "core/plugin/process_target.h"
#include "core/proc/maps.h"
#include "core/proc/open.h"
#include "core/proc/process.h"

#include <errno.h>
#include <stdio.h>

#define MAX_PROCESSES 65536
#define MAX_MAPPINGS  65536 /* executable ones of a process */
#define MAX_FILES     16384 /* on the whole machine */
#define MAX_PLUGINS   EP_MAX_LANGUAGES

struct claim {
	const struct ep_plugin *plugin;
	void *executable;
};

/* An executable that some process maps: asked about once. */
struct file {
	struct ep_executable known; /* its identity and segments; the rest is zero */
	struct ep_file_use use;	    /* leads to it */
	struct claim claims[MAX_PLUGINS];
	size_t n_claims;
};

struct advisor {
	const struct ep_advice_question *question;
	struct ep_advice_stats stats;
	uint64_t end_ns;
	struct ep_vec files; /* struct file * */
	struct ep_maps maps; /* of the process that is looked at */
	struct ep_vec areas; /* of them, struct ep_area: what somebody claims */
};

/* One language in one process, from attach to detach. */
struct consultation {
	const struct advisor *advisor;
	const struct claim *claim;
	struct ep_attached attached; /* nobody walks: what it sets is of no use */
	struct ep_process_target process;
	bool has_said;
};

static bool is_late(struct advisor *advisor)
{
	advisor->stats.late |= ep_clock_mono_ns() >= advisor->end_ns;
	return advisor->stats.late;
}

/* --- asking ---------------------------------------------------------------------------------- */

static void tell(const struct consultation *c, int result, const char *found, const char *fix)
{
	const struct ep_advice_question *question = c->advisor->question;
	struct ep_advice advice = {
		.language = c->claim->plugin->name,
		.pid = c->process.pid,
		.result = result,
		.found = found,
		.fix = fix,
	};

	question->say(question->arg, &advice);
}

static void say(void *arg, const char *found, const char *fix)
{
	struct consultation *c = arg;

	if (!found || !*found)
		return;
	c->has_said = true;
	tell(c, 0, found, fix && *fix ? fix : NULL);
}

static void consult(const struct advisor *advisor, const struct claim *claim, pid_t pid,
		    uint64_t bias, uint64_t module_addr)
{
	const struct ep_unwinder_ops *ops = claim->plugin->unwinder;
	struct consultation c = {.advisor = advisor, .claim = claim};
	int r;

	ep_process_target_init(&c.process, pid);
	c.process.bias = bias;
	c.process.module_addr = module_addr;
	ep_attached_init(&c.attached, ops, claim->executable, &ep_process_target_ops, &c.process,
			 pid, bias);
	(void)ep_attached_attach(&c.attached);
	r = c.attached.result;
	if (r == 0)
		r = ops->advise(c.attached.instance, say, &c);
	ep_attached_fini(&c.attached);
	if (r != 0 || !c.has_said)
		tell(&c, r, NULL, NULL);
	ep_process_target_end_job(&c.process);
}

/* --- files ----------------------------------------------------------------------------------- */

static bool is_same(const struct ep_proc_file *a, const struct ep_proc_file *b)
{
	return a->inode == b->inode && a->dev == b->dev && a->ctime_ns == b->ctime_ns &&
	       a->bytes == b->bytes && ep_proc_view_is_same(&a->view, &b->view);
}

static struct file *find_file(const struct advisor *advisor, const struct ep_proc_file *identity)
{
	struct file **file;

	ep_vec_each (&advisor->files, file) {
		if (is_same(&(*file)->known.file, identity))
			return *file;
	}
	return NULL;
}

static bool advises(const struct ep_plugin *plugin)
{
	return plugin->kind == EP_PLUGIN_UNWINDER && EP_HAS(plugin->unwinder, advise);
}

static void probe(const struct advisor *advisor, struct file *file, const struct ep_elf *elf,
		  const char *root, const char *path)
{
	struct ep_elf_file elf_file;

	ep_elf_file_init(&elf_file, elf, root, path);
	for (size_t i = 0; i < advisor->question->n && file->n_claims < MAX_PLUGINS; i++) {
		const struct ep_plugin *plugin = advisor->question->plugins[i];
		void *executable = NULL;
		int r = advises(plugin) ? plugin->unwinder->probe(ep_unwinder_host_get(),
								  &elf_file.file, &executable)
					: EP_NOT_MINE;

		if (r == 0)
			file->claims[file->n_claims++] = (struct claim){plugin, executable};
		else if (r == EP_CODE_ONLY)
			plugin->unwinder->unload(executable);
	}
	ep_elf_file_fini(&elf_file);
}

/* What is no ELF file that we can read is nobody's; it is not asked about again. */
static void look_into(const struct advisor *advisor, struct file *file, pid_t pid,
		      const struct ep_mapping *mapping)
{
	ep_cleanup(ep_elf_closep) struct ep_elf *elf = NULL;
	struct ep_proc_file opened = {.fd = -1};
	ep_cleanup(ep_proc_root_close) struct ep_proc_root opened_root = {.fd = -1};
	char root[EP_ROOT_NAME_BYTES];

	if (ep_proc_open_mapping(pid, mapping, &opened) < 0)
		return;
	opened.view = file->known.file.view;
	if (!is_same(&opened, &file->known.file)) {
		ep_proc_file_close(&opened);
		return;
	}
	if (ep_elf_open_fd(opened.fd, &elf) < 0)
		return;
	file->known.n_segments = ep_elf_exec_segments(elf, file->known.segments,
						      EP_LEN(file->known.segments));
	file->known.n_segments = EP_MIN(file->known.n_segments, EP_LEN(file->known.segments));
	(void)ep_proc_file_open_root(&file->known.file, pid, &opened_root, root);
	probe(advisor, file, elf, root, mapping->path);
}

/* NULL: it cannot be known which file that is, or there is no time or memory for another one. */
static struct file *get_file(struct advisor *advisor, pid_t pid, const struct ep_proc_root *root,
			     const struct ep_mapping *mapping)
{
	struct ep_proc_file identity;
	struct file *file, **slot;

	if (ep_proc_stat_mapping(pid, mapping, &identity) < 0)
		return NULL;
	ep_proc_file_set_view(&identity, root, mapping->deleted ? "" : mapping->path);
	file = find_file(advisor, &identity);
	if (file || is_late(advisor))
		return file;
	file = calloc(1, sizeof(*file));
	slot = file ? ep_vec_push(&advisor->files) : NULL;
	if (!slot) {
		free(file);
		return NULL;
	}
	*slot = file;
	file->known.file = identity;
	file->use.executable = &file->known;
	look_into(advisor, file, pid, mapping);
	return file;
}

/* --- processes ------------------------------------------------------------------------------- */

static bool is_claimed(const struct ep_executable *executable)
{
	return EP_CONTAINER(executable, struct file, known)->n_claims > 0;
}

static void look_at_mappings(struct advisor *advisor, pid_t pid)
{
	ep_cleanup(ep_proc_root_close) struct ep_proc_root root = {.fd = -1};
	struct ep_loaded loaded[EP_MAX_LOADED];
	const struct ep_mapping *mapping;
	size_t n;

	if (ep_proc_root_open(pid, 0, &root) < 0)
		root.view = ep_proc_view_alone(pid, 0);
	advisor->areas.len = 0;
	ep_vec_each (&advisor->maps.mappings, mapping) {
		struct file *file =
			mapping->kind == EP_MAPPING_FILE || mapping->kind == EP_MAPPING_MEMFD
				? get_file(advisor, pid, &root, mapping)
				: NULL;
		struct ep_area *area =
			file && file->n_claims > 0 ? ep_vec_push(&advisor->areas) : NULL;

		if (area)
			*area = (struct ep_area){.start = mapping->start,
						 .end = mapping->end,
						 .file_off = mapping->file_off,
						 .use = &file->use};
	}
	n = ep_areas_find_loaded(&advisor->areas, is_claimed, loaded);
	for (size_t i = 0; i < n; i++) {
		const struct file *file = EP_CONTAINER(loaded[i].executable, struct file, known);

		for (size_t j = 0; j < file->n_claims; j++)
			consult(advisor, &file->claims[j], pid, loaded[i].bias, loaded[i].addr);
	}
}

static void look_at(struct advisor *advisor, pid_t pid)
{
	int r = ep_maps_read(&advisor->maps, pid, EP_MAPS_EXECUTABLE);

	advisor->stats.closed += r == -EACCES || r == -EPERM;
	if (r < 0)
		return;
	advisor->stats.read++;
	look_at_mappings(advisor, pid);
}

static int look_at_all(struct advisor *advisor)
{
	struct ep_vec pids;
	pid_t *pid;
	int r;

	ep_vec_init(&pids, sizeof(pid_t), MAX_PROCESSES);
	r = ep_process_list(&pids);
	advisor->stats.processes = pids.len;
	ep_vec_each (&pids, pid) {
		if (r < 0 || is_late(advisor))
			break;
		look_at(advisor, *pid);
	}
	ep_vec_fini(&pids);
	return r;
}

static void release(struct advisor *advisor)
{
	struct file **file;

	ep_vec_each (&advisor->files, file) {
		for (size_t i = 0; i < (*file)->n_claims; i++) {
			const struct claim *claim = &(*file)->claims[i];

			claim->plugin->unwinder->unload(claim->executable);
		}
		free(*file);
	}
	ep_vec_fini(&advisor->files);
	ep_maps_fini(&advisor->maps);
	ep_vec_fini(&advisor->areas);
}

int ep_advice_ask(const struct ep_advice_question *question, struct ep_advice_stats *ret_stats)
{
	struct advisor advisor = {
		.question = question,
		.end_ns = ep_clock_mono_ns() + question->max_ns,
	};
	bool is_anybody_there = false;
	int r = 0;

	for (size_t i = 0; i < question->n; i++)
		is_anybody_there |= advises(question->plugins[i]);
	ep_vec_init(&advisor.files, sizeof(struct file *), MAX_FILES);
	ep_maps_init(&advisor.maps, MAX_MAPPINGS);
	ep_vec_init(&advisor.areas, sizeof(struct ep_area), MAX_MAPPINGS);
	if (is_anybody_there)
		r = look_at_all(&advisor);
	release(&advisor);
	if (r == 0)
		*ret_stats = advisor.stats;
	return r;
}
