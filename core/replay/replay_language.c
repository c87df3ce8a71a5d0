/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/log.h"
#include "core/replay/replay_internal.h"
#include "core/trace/kinds.h"
#include "ebpf-profiler/bpf/self.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define COUNTERS_PER_LANGUAGE 16 /* as struct ep_unwinder_ops allows */

/* --- what a plugin asks of a process --------------------------------------------------------- */

static int target_read(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	struct ep_replay_language *language = arg;

	return ep_replay_read(language->replay, addr, buf, bytes);
}

static int target_mappings(void *arg,
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

static int target_tls_variable(void *arg, uint64_t tls_off, struct ep_tls *ret)
{
	struct ep_replay_language *language = arg;

	return ep_replay_tls(language->replay, EP_FIXTURE_TLS_VARIABLE, language->executable,
			     language->target.bias, tls_off, ret);
}

static int target_tls_key(void *arg, uint32_t key, struct ep_tls *ret)
{
	struct ep_replay_language *language = arg;

	return ep_replay_tls(language->replay, EP_FIXTURE_TLS_KEY, language->executable,
			     language->target.bias, key, ret);
}

static int target_set_state(void *arg, const void *state, size_t bytes)
{
	struct ep_replay_language *language = arg;

	return ep_said_set_state(&language->call, state, bytes);
}

static int target_set_ranges(void *arg, const struct ep_range *ranges, size_t n)
{
	struct ep_replay_language *language = arg;

	return ep_said_set_ranges(&language->call, ranges, n);
}

static void target_count(void *arg, uint32_t counter, uint64_t n)
{
	(void)arg, (void)counter, (void)n;
}

static const struct ep_target_ops target_ops = {
	.read = target_read,
	.mappings = target_mappings,
	.tls_variable = target_tls_variable,
	.tls_key = target_tls_key,
	.set_state = target_set_state,
	.set_ranges = target_set_ranges,
	.count = target_count,
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

static int load_program(struct ep_replay_language *language)
{
	struct ep_kernel *kernel = language->replay->kernel;
	const struct ep_bpf_image *image = language->ops->bpf;
	struct ep_self self = {
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
	r = ep_kernel_add_object(kernel, language->name, language->shim, image->object,
				     image->object_bytes);

	if (r == 0)
		r = ep_kernel_set_constants(kernel, language->name, "ep_self", &self, sizeof(self));
	if (r == 0)
		r = ep_kernel_set_program(kernel, language->slot, language->name, image->program);
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

static int describe(struct ep_replay_language *language)
{
	struct ep_replay *replay = language->replay;

	if (!language->claim || !replay->source || !replay->source->describe ||
	    !EP_HAS(language->ops, describe))
		return 0;
	replay->source->describe(replay->source->arg, language->executable, language->ops,
				 language->claim);
	return ep_replay_put_table(replay, language->executable);
}

static void probe(struct ep_replay_language *language)
{
	struct ep_replay *replay = language->replay;

	for (uint32_t i = 0; i < replay->fixture->executables.len && !language->claim; i++) {
		struct ep_replay_file arg = {.replay = replay, .executable = i};
		struct ep_file file = ep_replay_file(&arg);
		void *claim = NULL;
		int r = language->ops->probe(ep_unwinder_host_get(), &file, &claim);

		if (r == EP_CODE_ONLY)
			language->ops->unload(claim);
		if (r != 0)
			continue;
		language->claim = claim;
		language->executable = i;
	}
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
	ep_said_init(&language->call);
	ep_said_init(&language->holds);
	r = get_numbers(language);
	if (r == 0)
		r = load_program(language);
	if (r < 0)
		return r;
	replay->n_languages++;
	probe(language);
	return describe(language);
}

/* --- attaching ------------------------------------------------------------------------------- */

/* As a process is before its languages are attached for the first time. */
static void begin(struct ep_replay_language *language)
{
	language->attachment = EP_ATTACHMENT_WAITING;
	language->instance = NULL;
	ep_said_clear(&language->call);
	ep_said_clear(&language->holds);
	language->state = 0;
}

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

/* Gives BPF the state that holds: the cell of a language is its own. */
static void put_state(struct ep_replay_language *language)
{
	const struct ep_said *holds = &language->holds;
	uint32_t index = 1 + (uint32_t)(language - language->replay->languages);
	uint8_t *cell = ep_kernel_entry(language->replay->kernel, "ep_states", index);

	language->state = 0;
	if (!cell || !holds->has_state)
		return;
	memset(cell, 0, EP_STATE_BYTES);
	memcpy(cell, holds->state, holds->state_bytes);
	language->state = index;
}

static void end_call(struct ep_replay_language *language, enum ep_attachment_call call, int result)
{
	struct ep_attachment_step next =
		ep_attachment_after(language->attachment, call, result);

	language->attachment = next.state;
	if (!ep_said_end(&language->holds, &language->call, result))
		return;
	put_state(language);
	language->replay->untold = true;
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
	language->target = (struct ep_target){
		.ops = &target_ops,
		.arg = language,
		.pid = (pid_t)replay->fixture->pid,
		.bias = bias,
	};
	r = ep_attachment_attach(language->ops, language->claim, &language->target,
				 &language->instance);
	end_call(language, EP_ATTACHMENT_ATTACH, r);
	if (r != 0)
		ep_log(EP_LOG_DEBUG, "replay: %s: attach: %s", language->name,
		       r > 0 ? "not yet" : ep_strerror(r));
}

int ep_replay_symbolize(struct ep_replay_language *language, const struct ep_raw_frame *frame,
			struct ep_names *names)
{
	int r = -ESRCH;

	if (!language->instance)
		return r;
	r = language->ops->symbolize(language->instance, frame, names);
	end_call(language, EP_ATTACHMENT_SYMBOLIZE, r);
	return r;
}

void ep_replay_detach(struct ep_replay *replay)
{
	for (size_t i = 0; i < replay->n_languages; i++) {
		struct ep_replay_language *language = &replay->languages[i];

		if (language->instance)
			language->ops->detach(language->instance);
		begin(language);
	}
}

int ep_replay_attach(struct ep_replay *replay)
{
	int r;

	ep_replay_detach(replay);
	r = replay->source ? ep_replay_walk_native(replay) : 0;
	if (r < 0)
		return r;
	replay->reads = 0;
	for (size_t i = 0; i < replay->n_languages; i++)
		attach(&replay->languages[i]);
	return ep_replay_publish(replay);
}

static void refresh(struct ep_replay_language *language)
{
	if (language->instance && EP_HAS(language->ops, refresh))
		end_call(language, EP_ATTACHMENT_REFRESH,
			 language->ops->refresh(language->instance));
}

int ep_replay_refresh(struct ep_replay *replay)
{
	for (size_t i = 0; i < replay->n_languages; i++)
		refresh(&replay->languages[i]);
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
