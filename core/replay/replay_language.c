/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/log.h"
#include "core/replay/capture_files.h"
#include "core/replay/replay_internal.h"
#include "core/trace/kinds.h"
#include "ebpf-profiler/bpf/self.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define COUNTERS_PER_LANGUAGE 16 /* as struct ep_unwinder_ops allows */

/* --- what a plugin asks of a process --------------------------------------------------------- */

static int replay_read(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	const struct ep_replay_language *language = arg;

	return ep_replay_read(language->replay, addr, buf, bytes);
}

static int replay_mappings(void *arg,
			   int (*visit)(void *arg, const struct ep_target_mapping *mapping),
			   void *visit_arg)
{
	const struct ep_replay_language *language = arg;
	const struct ep_fixture_mapping *mapping;

	ep_vec_each (&language->replay->fixture->mappings, mapping) {
		struct ep_target_mapping target = {
			.start = mapping->start,
			.end = mapping->end,
			.file_off = mapping->file_off,
			.prot = mapping->prot,
			.is_file = mapping->is_file,
			.path = mapping->path,
		};

		if (visit(visit_arg, &target))
			break;
	}
	return 0;
}

static int replay_tls_variable(void *arg, uint64_t tls_off, struct ep_tls *ret)
{
	struct ep_replay_language *language = arg;

	return ep_replay_tls(language->replay, EP_FIXTURE_TLS_VARIABLE, language->executable,
			     language->attached.target.bias, tls_off, ret);
}

static int replay_tls_key(void *arg, uint32_t key, struct ep_tls *ret)
{
	struct ep_replay_language *language = arg;

	return ep_replay_tls(language->replay, EP_FIXTURE_TLS_KEY, language->executable,
			     language->attached.target.bias, key, ret);
}

static int replay_file(void *arg, struct ep_target_file *file, uint64_t off, void *buf, size_t bytes)
{
	const struct ep_replay_language *language = arg;

	return ep_replay_beside(language->replay, file, off, buf, bytes);
}

static const struct ep_target_ops source_ops = {
	.read = replay_read,
	.mappings = replay_mappings,
	.file = replay_file,
	.tls_variable = replay_tls_variable,
	.tls_key = replay_tls_key,
};

/* --- loading --------------------------------------------------------------------------------- */

static const struct ep_shim_object *find_shim(const struct ep_replay *replay, const char *name)
{
	for (size_t i = 1; replay->shims && replay->shims[i]; i++) {
		if (strcmp(replay->shims[i]->name, name) == 0)
			return replay->shims[i];
	}
	return NULL;
}

static int load_image(struct ep_replay_language *language, const struct ep_bpf_image *image, const char *name,
		      const struct ep_shim_object *shim, uint32_t slot)
{
	struct ep_kernel *kernel = language->replay->kernel;
	struct ep_self self = {
		.bpf_abi = EP_BPF_ABI,
		.slot = language->slot,
		.kind = EP_FRAME_FIRST_DYNAMIC + language->slot,
		.first_error = language->first_error,
		.first_counter = (language->slot - EP_SLOT_FIRST_DYNAMIC) * COUNTERS_PER_LANGUAGE,
		.frames_per_run = image->max_frames_per_run,
		.task_tls_off = ep_kernel_config.task_tls_off,
		.abi_minor = EP_ABI_MINOR,
	};
	int r;

	if (language->replay->frames_per_run)
		self.frames_per_run =
			EP_MIN(self.frames_per_run, language->replay->frames_per_run);
	r = ep_kernel_add_object(kernel, name, shim, image->object, image->object_bytes);
	if (r == 0)
		r = ep_kernel_set_constants(kernel, name, "ep_self", &self, sizeof(self));
	if (r == 0)
		r = ep_kernel_set_program(kernel, slot, name, image->program);
	return r;
}

/* Slots and error numbers are the process's, and stay: the same plugin has the same ones again. */
static int get_numbers(struct ep_replay_language *language)
{
	static uint32_t first_errors[EP_SLOT_COUNT];
	const char *const *errors = EP_HAS(language->ops, errors) ? language->ops->errors : NULL;
	uint32_t slot = language->slot, kind = EP_FRAME_FIRST_DYNAMIC + slot;
	const char *known = ep_kind_name(kind);
	int r = 0;

	if (!known)
		r = ep_kind_add(slot, language->name, errors, &first_errors[slot]);
	else if (strcmp(known, language->name) != 0)
		r = -EEXIST;
	language->first_error = first_errors[slot];
	return r;
}

int ep_replay_add_language(struct ep_replay *replay, const struct ep_plugin *plugin)
{
	struct ep_replay_language *language = &replay->languages[replay->n_languages];
	int r;

	if (replay->n_languages == EP_REPLAY_MAX_PLUGINS)
		return -E2BIG;
	*language = (struct ep_replay_language){
		.replay = replay,
		.name = plugin->name,
		.ops = plugin->unwinder,
		.shim = find_shim(replay, plugin->name),
		.slot = EP_SLOT_FIRST_DYNAMIC + (uint32_t)replay->n_languages,
	};
	if (replay->shims && !language->shim) {
		ep_log(EP_LOG_ERROR, "replay: %s: it is not compiled in: use --bytecode", plugin->name);
		return -ENOTSUP;
	}
	r = get_numbers(language);
	if (r == 0)
		r = load_image(language, language->ops->bpf, language->name, language->shim, language->slot);
	if (r < 0)
		return r;
	replay->n_languages++;
	for (uint32_t i = 0; i < replay->fixture->executables.len && !language->claim; i++) {
		struct ep_replay_file arg = {.replay = replay, .executable = i};
		struct ep_file file = ep_replay_file(&arg);
		void *claim = NULL;

		r = language->ops->probe(ep_unwinder_host_get(), &file, &claim);
		if (r == EP_CODE_ONLY)
			language->ops->unload(claim);
		if (r != 0)
			continue;
		language->claim = claim;
		language->executable = i;
	}
	if (!language->claim || !replay->source || !EP_HAS(language->ops, describe))
		return 0;
	ep_capture_files_describe(replay->source->files, language->executable, language->ops,
				  language->claim);
	return ep_replay_put_table(replay, language->executable);
}

static void keep(void *arg, const struct ep_kept *kept, size_t bytes)
{
	struct ep_replay *replay = arg;
	struct ep_replay_language *language =
		ep_replay_language_of_kind(replay, EP_FRAME_FIRST_DYNAMIC + kept->slot);

	if (!language || ep_kept_memory_add(&language->kept, kept, bytes) < 0)
		ep_log(EP_LOG_ERROR, "replay: what a keeper sent is not understood, or too much");
}

int ep_replay_keep(struct ep_replay *replay)
{
	int r = -ENOENT;

	ep_kernel_set_keep(replay->kernel, keep);
	replay->names_of_kept = true;
	replay->untold = true; /* that it is recently started */
	for (size_t i = 0; i < replay->n_languages; i++) {
		struct ep_replay_language *language = &replay->languages[i];

		if (!language->claim || !EP_HAS(language->ops, keeper) || !language->ops->keeper)
			continue;
		ep_kept_memory_init(&language->kept);
		snprintf(language->keeper_name, sizeof(language->keeper_name), "%s_keep", language->name);
		r = load_image(language, language->ops->keeper, language->keeper_name, NULL,
			       EP_SLOT_FIRST_KEEPER + language->slot);
		if (r < 0)
			break;
	}
	return r;
}

/* --- attaching ------------------------------------------------------------------------------- */

int ep_replay_find_bias(const struct ep_replay *replay, uint32_t index, uint64_t *ret_bias)
{
	const struct ep_fixture_mapping *mapping;
	uint64_t va;

	ep_vec_each (&replay->fixture->mappings, mapping) {
		if (mapping->executable != index + 1 || !(mapping->prot & PROT_EXEC) ||
		    ep_executable_find_va(&replay->executables[index], mapping->file_off, &va) < 0)
			continue;
		*ret_bias = mapping->start - va;
		return 0;
	}
	return -ENODATA;
}

/* Gives BPF the state that holds: the cell of a language is its own. Rows come with the next walk.
 */
static void tell_set(struct ep_replay_language *language)
{
	const struct ep_attached_set *holds = &language->attached.holds;
	uint32_t index = 1 + (uint32_t)(language - language->replay->languages);
	uint8_t *cell = ep_kernel_entry(language->replay->kernel, "ep_states", index);

	if (!language->attached.is_changed)
		return;
	language->attached.is_changed = false;
	language->replay->untold = true;
	language->state = cell && holds->has_state ? index : 0;
	if (!language->state)
		return;
	memset(cell, 0, EP_STATE_BYTES);
	memcpy(cell, holds->state, holds->state_bytes);
}

/*
 * What may pass does not pass in a process that stands still: it is not attached again before all
 * are.
 */
static void attach(struct ep_replay_language *language)
{
	struct ep_replay *replay = language->replay;
	uint64_t bias;
	int r;

	if (!language->claim || ep_replay_find_bias(replay, language->executable, &bias) < 0)
		return;
	ep_attached_init(&language->attached, language->ops, language->claim, &source_ops, language,
			 (pid_t)replay->fixture->pid, bias);
	language->attached.kept = &language->kept;
	(void)ep_attached_attach(&language->attached);
	tell_set(language);
	r = language->attached.result;
	if (r != 0)
		ep_log(EP_LOG_DEBUG, "replay: %s: attach: %s", language->name,
		       r > 0 ? "not yet" : ep_strerror(r));
}

int ep_replay_symbolize(struct ep_replay_language *language, const struct ep_raw_frame *frame,
			struct ep_names *names)
{
	if (language->replay->names_of_kept) {
		language->attached.result = -ESRCH;
		return ep_attached_symbolize_kept(&language->attached, frame, names) ? 0 : -ESRCH;
	}
	language->replay->is_naming = true;
	(void)ep_attached_symbolize(&language->attached, frame, names);
	ep_attached_end_names(&language->attached);
	language->replay->is_naming = false;
	tell_set(language);
	return language->attached.result;
}

void ep_replay_detach(struct ep_replay *replay)
{
	for (size_t i = 0; i < replay->n_languages; i++) {
		struct ep_replay_language *language = &replay->languages[i];

		ep_attached_fini(&language->attached);
		language->attached = (struct ep_attached){0};
		language->state = 0;
	}
}

int ep_replay_attach(struct ep_replay *replay)
{
	int r;

	ep_replay_detach(replay);
	r = replay->source ? ep_replay_walk_native(replay) : 0;
	if (r < 0)
		return r;
	replay->faults.reads = replay->faults.name_reads = 0;
	for (size_t i = 0; i < replay->n_languages; i++)
		attach(&replay->languages[i]);
	return ep_replay_publish(replay);
}

bool ep_replay_is_attached(const struct ep_replay *replay)
{
	for (size_t i = 0; i < replay->n_languages; i++) {
		const struct ep_replay_language *language = &replay->languages[i];

		if (language->claim && language->attached.state != EP_ATTACHMENT_ATTACHED)
			return false;
	}
	return true;
}

int ep_replay_refresh(struct ep_replay *replay)
{
	for (size_t i = 0; i < replay->n_languages; i++) {
		(void)ep_attached_refresh(&replay->languages[i].attached);
		tell_set(&replay->languages[i]);
	}
	return replay->untold ? ep_replay_publish(replay) : 0;
}

int ep_replay_languages(const struct ep_replay *replay, struct ep_vec *text)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < replay->n_languages; i++) {
		if (replay->languages[i].claim)
			r = ep_vec_printf(text, "%s%s", text->len ? " " : "",
					  replay->languages[i].name);
	}
	return r;
}

struct ep_replay_language *ep_replay_language_of_kind(struct ep_replay *replay, uint32_t kind)
{
	for (size_t i = 0; i < replay->n_languages; i++) {
		if (kind == EP_FRAME_FIRST_DYNAMIC + replay->languages[i].slot)
			return &replay->languages[i];
	}
	return NULL;
}
