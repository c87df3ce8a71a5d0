/* SPDX-License-Identifier: Apache-2.0 */
#include "core/replay/replay_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "core_bpf.inc.h"

#define MAX_STORE_BYTES ((size_t)256 << 20)
#define MAX_RANGE_BYTES (1u << 20)
#define ROW_ROOM	(EP_CHUNK_WORDS / 2 + 64)

static int load_core(struct ep_replay *replay)
{
	const struct ep_shim_object *shim = replay->shims ? replay->shims[0] : NULL;
	struct ep_kernel *kernel;
	int r = ep_kernel_new(ep_replay_read, replay, &replay->kernel);

	if (r < 0)
		return r;
	kernel = replay->kernel;
	r = ep_kernel_add_object(kernel, "core", shim, core_bpf_object, sizeof(core_bpf_object));
	if (r == 0)
		r = ep_kernel_set_constants(kernel, "core", "ep_config", &ep_kernel_config,
					    sizeof(ep_kernel_config));
	if (r == 0)
		r = ep_kernel_set_program(kernel, EP_SLOT_FINISH, "core", "ep_finish");
	if (r == 0)
		r = ep_kernel_set_program(kernel, EP_SLOT_NATIVE, "core", "ep_native");
	return r;
}

static int make_store(struct ep_replay *replay)
{
	struct ep_control *control = ep_kernel_entry(replay->kernel, "ep_control", 0);
	struct ep_delta_store_ops ops = {
		.arg = replay->kernel,
		.add_chunk = ep_kernel_add_chunk,
		.remove_chunk = ep_kernel_remove_chunk,
		.rules = ep_kernel_entry(replay->kernel, "ep_rules", 0),
		.generation = control ? &control->generation : NULL,
	};

	if (control)
		control->generation = 1;
	return ops.rules ? ep_delta_store_new(&ops, MAX_STORE_BYTES, &replay->store) : -ENOENT;
}

static int make_executables(struct ep_replay *replay)
{
	size_t n = replay->fixture->executables.len;
	int r = 0;

	replay->executables = calloc(n + 1, sizeof(*replay->executables));
	replay->uses = calloc(n + 1, sizeof(*replay->uses));
	if (!replay->executables || !replay->uses)
		return -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		const struct ep_fixture_executable *recorded = ep_replay_executable(replay, i);
		struct ep_executable *executable = &replay->executables[i];

		replay->uses[i].executable = executable;
		executable->id = i + 1;
		executable->n_segments =
			EP_MIN(recorded->segments.len, EP_LEN(executable->segments));
		/* What is no ELF file, as a runtime's image, a language may say is its own. */
		executable->state =
			executable->n_segments ? EP_EXECUTABLE_READY : EP_EXECUTABLE_FAILED;
		if (executable->n_segments > 0)
			memcpy(executable->segments, recorded->segments.data,
			       executable->n_segments * sizeof(executable->segments[0]));
		r = ep_replay_put_table(replay, i);
	}
	return r;
}

int ep_replay_new(struct ep_fixture *fixture, const struct ep_replay_source *source,
		  const struct ep_shim_object *const *shims, struct ep_replay **ret_replay)
{
	ep_cleanup(ep_replay_freep) struct ep_replay *replay = calloc(1, sizeof(*replay));
	int r;

	if (!replay)
		return -ENOMEM;
	replay->fixture = fixture;
	replay->source = source;
	replay->shims = shims;
	ep_vec_init(&replay->areas, sizeof(struct ep_area), EP_FIXTURE_MAX_MAPPINGS);
	ep_row_set_init(&replay->set);
	ep_vec_init(&replay->event, 1, EP_REPLAY_EVENT_BYTES);
	ep_vec_init(&replay->held_events, sizeof(struct ep_vec), EP_FIXTURE_MAX_THREADS);
	ep_vec_init(&replay->held_names, 1, EP_REPLAY_MAX_HELD);
	r = load_core(replay);
	if (r == 0)
		r = make_store(replay);
	if (r == 0)
		r = make_executables(replay);
	if (r == 0)
		*ret_replay = ep_take(replay);
	return r;
}

void ep_replay_free(struct ep_replay *replay)
{
	struct ep_vec *event;

	if (!replay)
		return;
	ep_replay_detach(replay);
	for (size_t i = 0; i < replay->n_languages; i++) {
		if (replay->languages[i].claim)
			replay->languages[i].ops->unload(replay->languages[i].claim);
		ep_kept_memory_fini(&replay->languages[i].kept);
	}
	for (size_t i = 0; replay->executables && i < replay->fixture->executables.len; i++)
		ep_delta_store_drop_text(replay->store, replay->executables[i].text);
	free(replay->executables);
	free(replay->uses);
	ep_delta_store_free(replay->store);
	ep_kernel_free(replay->kernel);
	ep_vec_fini(&replay->areas);
	ep_row_set_fini(&replay->set);
	ep_vec_fini(&replay->event);
	ep_vec_each (&replay->held_events, event)
		ep_vec_fini(event);
	ep_vec_fini(&replay->held_events);
	ep_vec_fini(&replay->held_names);
	free(replay);
}

int ep_replay_limit_frames(struct ep_replay *replay, uint32_t frames)
{
	struct ep_config config = ep_kernel_config;

	if (frames == 0 || replay->n_languages > 0)
		return -EINVAL;
	replay->frames_per_run = frames;
	config.frames_per_run = EP_MIN(frames, config.frames_per_run);
	return ep_kernel_set_constants(replay->kernel, "core", "ep_config", &config,
				       sizeof(config));
}

/* --- walking --------------------------------------------------------------------------------- */

static int make_areas(struct ep_replay *replay)
{
	const struct ep_fixture_mapping *mapping;

	replay->areas.len = 0;
	ep_vec_each (&replay->fixture->mappings, mapping) {
		struct ep_area *area;

		if (!(mapping->prot & PROT_EXEC))
			continue;
		area = ep_vec_push(&replay->areas);
		if (!area)
			return -ENOMEM;
		*area = (struct ep_area){
			.start = mapping->start,
			.end = mapping->end,
			.file_off = mapping->file_off,
		};
		if (mapping->executable)
			area->use = &replay->uses[mapping->executable - 1];
	}
	return 0;
}

static int put_entries(struct ep_replay *replay, const struct ep_vec *entries)
{
	if (!entries)
		return -ENOMEM;
	if (entries->len == 0)
		return 0;
	return ep_delta_store_put_rows(replay->store, entries->data, entries->len,
				       &replay->rows_ref);
}

int ep_replay_publish(struct ep_replay *replay)
{
	struct ep_proc proc = {
		.start_ns = replay->fixture->start_ns,
		.image = EP_IMAGE_ANY,
		.flags = EP_PROC_FINAL,
		.born_ns = replay->names_of_kept, /* the clock says 1 */
	};
	struct ep_language_view views[EP_MAX_LANGUAGES];
	const struct ep_vec *entries;
	size_t n_views = 0;
	int r = make_areas(replay);

	for (size_t i = 0; i < replay->n_languages && n_views < EP_MAX_LANGUAGES; i++) {
		const struct ep_replay_language *language = &replay->languages[i];
		const struct ep_attached_set *holds = &language->attached.holds;

		if (language->state)
			views[n_views++] = (struct ep_language_view){
				.ranges = holds->ranges.data,
				.n_ranges = holds->ranges.len,
				.slot = language->slot,
				.state = language->state,
				.anonymous = holds->anonymous,
				.resumes = ep_bpf_image_resumes(language->ops->bpf),
			};
	}
	ep_delta_store_drop_rows(replay->store, replay->rows_ref, replay->n_entries);
	replay->n_entries = 0;
	replay->untold = false;
	ep_delta_store_collect(replay->store);
	ep_delta_store_collect(replay->store);
	if (r == 0 && !ep_row_set_make(&replay->set, &replay->areas, views, n_views))
		r = -E2BIG;
	if (r < 0)
		return r;
	entries = ep_row_set_entries(&replay->set, views, n_views);
	r = put_entries(replay, entries);
	if (r == -ENOSPC) {
		r = ep_delta_store_add_room(replay->store, ROW_ROOM);
		if (r == 0)
			r = put_entries(replay, entries);
	}
	if (r < 0)
		return r;
	replay->n_entries = entries->len;
	proc.rows = replay->rows_ref;
	proc.rows_serial = ++replay->rows_serial;
	proc.n_rows = (uint16_t)replay->set.rows.len;
	ep_language_views_fill_proc(views, n_views, &proc);
	return ep_kernel_update(replay->kernel, "ep_procs", &replay->fixture->pid, &proc);
}

/* The range that a marked frame is in, of which it says only where it begins. */
static int keep_range_text(struct ep_replay *replay, uint32_t executable, uint64_t va)
{
	const struct ep_row *row;
	int r = 0;

	ep_vec_each (&replay->set.rows, row) {
		uint64_t bytes = EP_MIN(row->end - row->start, (uint64_t)MAX_RANGE_BYTES);

		if (EP_ROW_ID(row->executable) != executable + 1 || row->va != va)
			continue;
		for (uint64_t off = 0; r == 0 && off < bytes + EP_PAGE_BYTES; off += EP_PAGE_BYTES)
			r = ep_replay_keep_text(replay, executable, va + EP_MIN(off, bytes - 1));
	}
	return r;
}

/* The text pages of a stack's native frames: where a look-up was, with and without the minus 1. */
static int keep_words_text(struct ep_replay *replay, const uint64_t *words, uint32_t n_words)
{
	const struct ep_row *row;
	bool has_enter = false;
	int r = 0;

	ep_vec_each (&replay->set.rows, row)
		has_enter |= row->executable & EP_ROW_ENTER ? true : false;
	for (uint32_t at = 0; r == 0 && at < n_words; at += 1 + EP_FRAME_WORDS(words[at])) {
		uint32_t id = EP_FRAME_AUX(words[at]);

		if (EP_FRAME_KIND(words[at]) != EP_FRAME_NATIVE || id == 0 ||
		    id > replay->fixture->executables.len)
			continue;
		r = ep_replay_keep_text(replay, id - 1, words[at + 1]);
		if (r == 0 && EP_FRAME_FLAGS(words[at]) >> EP_FRAME_SLOT_SHIFT && has_enter)
			r = keep_range_text(replay, id - 1, words[at + 1]);
		if (r == 0)
			r = ep_replay_keep_text(replay, id - 1, words[at + 1] - 1);
	}
	return r;
}

static int keep_stack_text(struct ep_replay *replay, const struct ep_vec *event)
{
	const struct ep_sample *sample = event->data;

	return keep_words_text(replay, (const uint64_t *)(sample + 1) + sample->n_kernel,
			       sample->n_words);
}

/* While it is walked: a language may take frames back, and their rules led on. */
static void keep_text_so_far(void *arg)
{
	struct ep_replay *replay = arg;
	const struct ep_record *rec = ep_kernel_entry(replay->kernel, "ep_records", 0);
	uint32_t n_kernel = rec ? rec->sample.n_kernel : 0, n_words = rec ? rec->sample.n_words : 0;

	if (n_kernel <= EP_RECORD_WORDS && n_words <= EP_RECORD_WORDS - n_kernel)
		(void)keep_words_text(replay, (const uint64_t *)rec->words + n_kernel, n_words);
}

int ep_replay_walk(struct ep_replay *replay, size_t i, struct ep_vec *event)
{
	const struct ep_replay_thread *thread =
		ep_vec_at(&replay->fixture->threads, struct ep_replay_thread, i);
	int r = replay->untold ? ep_replay_publish(replay) : 0;

	bool keeps = replay->source && !replay->source->read;

	if (keeps)
		ep_kernel_on_tail_call(replay->kernel, keep_text_so_far, replay);
	if (r == 0)
		r = ep_kernel_run(replay->kernel, thread, event);
	if (r == 0 && keeps)
		r = keep_stack_text(replay, event);
	return r;
}

/*
 * A frame that a language replaces does not say which of its instructions it was at, but its rules
 * are needed: without languages the same frames do. Where a language must be entered to get on,
 * keep_range_text takes all that may be needed.
 */
int ep_replay_walk_native(struct ep_replay *replay)
{
	int r = ep_replay_publish(replay);

	for (size_t i = 0; r == 0 && i < replay->fixture->threads.len; i++)
		r = ep_replay_walk(replay, i, &replay->event);
	return r == -EIO ? 0 : r;
}

struct ep_replay_faults *ep_replay_faults(struct ep_replay *replay)
{
	return &replay->faults;
}
