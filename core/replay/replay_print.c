/* SPDX-License-Identifier: Apache-2.0 */
#include "core/replay/replay_internal.h"
#include "core/trace/kinds.h"
#include "core/trace/lines.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A name is bytes of the target: one that breaks the line would break the form of the text. */
static int put_word(struct ep_vec *text, const char *word)
{
	int r = 0;

	for (; r == 0 && *word; word++)
		r = (unsigned char)*word < ' ' ? ep_vec_printf(text, "\\x%02x", *word)
					       : ep_vec_append(text, word, 1);
	return r;
}

/* A word, and ":line" after it where that is not 0. NULL: there is none. */
struct column {
	const char *word;
	uint32_t line;
};

static int put_line(struct ep_vec *text, const char *kind, const struct column columns[3])
{
	int r = ep_vec_printf(text, "%s", kind);

	for (size_t i = 0; r == 0 && i < 3 && columns[i].word; i++) {
		r = ep_vec_printf(text, "  ");
		if (r == 0)
			r = put_word(text, columns[i].word);
		if (r == 0 && columns[i].line)
			r = ep_vec_printf(text, ":%u", columns[i].line);
	}
	return r == 0 ? ep_vec_printf(text, "\n") : r;
}

/* The functions at va, innermost first; the address when there is no name. */
static int print_names(struct ep_replay *replay, struct ep_vec *text, const char *kind,
		       uint32_t index, uint64_t va)
{
	const struct ep_fixture_executable *executable = ep_replay_executable(replay, index);
	const char *file = base_name(executable->path);
	const struct ep_fixture_name *name;
	char number[32];
	int r = 0;

	ep_replay_keep_names(replay, index, va);
	name = ep_fixture_find_name(executable, va, NULL);
	snprintf(number, sizeof(number), "+0x%" PRIx64, va);
	if (!name)
		return put_line(text, kind, (struct column[3]){{file, 0}, {number, 0}});
	for (int n = 0; r == 0 && name && n < EP_FRAME_MAX_LINES; n++) {
		const char *source = *name->source ? name->source : NULL;

		r = put_line(text, kind,
			     (struct column[3]){{file, 0}, {name->name, 0}, {source, name->line}});
		name = ep_fixture_find_name(executable, va, name);
	}
	return r;
}

static int print_native(struct ep_replay *replay, struct ep_vec *text, uint64_t header,
			uint64_t word)
{
	uint32_t flags = EP_FRAME_FLAGS(header), id = EP_FRAME_AUX(header);
	bool marker = flags >> EP_FRAME_SLOT_SHIFT;
	uint64_t va = word - (!marker && (flags & EP_FRAME_RETURN_ADDRESS) ? 1 : 0);
	const char *kind = !marker && (flags & EP_FRAME_POINTER_WALK) ? "native~" : "native";
	char number[32];

	if (id > 0 && id <= replay->fixture->executables.len)
		return print_names(replay, text, kind, id - 1, va);
	snprintf(number, sizeof(number), "0x%" PRIx64, word);
	return put_line(text, kind, (struct column[3]){{"-", 0}, {number, 0}});
}

static int add_name(void *arg, const struct ep_name *name)
{
	return ep_lines_add_name(arg, name);
}

static int print_language(struct ep_replay *replay, struct ep_vec *text, const uint64_t *words)
{
	struct ep_replay_language *language =
		ep_replay_language_of_kind(replay, EP_FRAME_KIND(words[0]));
	const char *name = language ? language->name : "unknown";
	ep_cleanup(ep_lines_fini) struct ep_lines lines = {0};
	struct ep_frame_line line[EP_FRAME_MAX_LINES];
	struct ep_raw_frame frame = {
		.aux = EP_FRAME_AUX(words[0]),
		.n_words = EP_MIN(EP_FRAME_WORDS(words[0]), EP_FRAME_MAX_WORDS),
		.flags = EP_FRAME_FLAGS(words[0]) & ~(uint32_t)EP_FRAME_ENTRY,
	};
	struct ep_names names = {.add = add_name, .arg = &lines};
	int r = ep_lines_init(&lines, 1);
	size_t n = 0; /* names; none where the frame is no longer known */

	if (r < 0)
		return r;
	memcpy(frame.words, words + 1, frame.n_words * sizeof(words[0]));
	if (language && ep_replay_symbolize(language, &frame, &names) == 0) {
		ep_lines_end(&lines);
		n = ep_lines_get(&lines, 0, line);
	}
	for (size_t i = 0; r == 0 && i < n; i++)
		r = put_line(text, name,
			     (struct column[3]){{line[i].function ? line[i].function : "?", 0},
						{line[i].file ? line[i].file : "?", line[i].line},
						{line[i].system_name, 0}});
	return n ? r : ep_vec_printf(text, "%s  ?\n", name);
}

/* What ep_replay_hold has written of it. */
static int print_held(struct ep_replay *replay, struct ep_vec *text)
{
	const char *name = (const char *)replay->held_names.data + replay->held_at;

	if (replay->held_at >= replay->held_names.len)
		return -EBADMSG;
	replay->held_at += strlen(name) + 1;
	return ep_vec_append(text, name, strlen(name));
}

static int print_frame(struct ep_replay *replay, struct ep_vec *text, const uint64_t *words)
{
	const char *error;

	switch (EP_FRAME_KIND(words[0])) {
	case EP_FRAME_NATIVE:
		return print_native(replay, text, words[0], words[1]);
	case EP_FRAME_ERROR:
		error = ep_error_text(EP_FRAME_AUX(words[0]));
		return ep_vec_printf(text, "error  %s\n", error ? error : "unknown");
	case EP_FRAME_GAP:
		error = ep_error_text(EP_FRAME_AUX(words[0]));
		return ep_vec_printf(text, "gap  %s\n", error ? error : "unknown");
	case EP_FRAME_TASK:
		return ep_vec_printf(text, "task  %s\n", ep_task_text(EP_FRAME_AUX(words[0])));
	default:
		return replay->held_events.len ? print_held(replay, text)
					       : print_language(replay, text, words);
	}
}

static int print_event(struct ep_replay *replay, struct ep_vec *text)
{
	const struct ep_sample *sample = replay->event.data;
	const uint64_t *words = (const uint64_t *)(sample + 1) + sample->n_kernel;
	uint32_t n = ep_merge_frames(&replay->merge, words, sample->n_words, sample->error != 0);
	int r = 0;

	/* Where a language's frames are missing its markers are frames: their names are kept, too. */
	for (uint32_t at = 0; replay->source && at < sample->n_words;
	     at += 1 + EP_FRAME_WORDS(words[at])) {
		uint32_t id = EP_FRAME_AUX(words[at]);

		if (EP_FRAME_KIND(words[at]) == EP_FRAME_NATIVE && id > 0 &&
		    id <= replay->fixture->executables.len &&
		    EP_FRAME_FLAGS(words[at]) >> EP_FRAME_SLOT_SHIFT)
			ep_replay_keep_names(replay, id - 1, words[at + 1]);
	}
	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = print_frame(replay, text, words + replay->merge.order[i]);
	return r;
}

static int get_event(struct ep_replay *replay, size_t i)
{
	const struct ep_vec *held;

	if (!replay->held_events.len)
		return ep_replay_walk(replay, i, &replay->event);
	held = ep_vec_at(&replay->held_events, struct ep_vec, i);
	replay->event.len = 0;
	return held->len ? ep_vec_append(&replay->event, held->data, held->len) : -EIO;
}

static int print_thread(struct ep_replay *replay, size_t i, struct ep_vec *text)
{
	const struct ep_replay_thread *thread =
		ep_vec_at(&replay->fixture->threads, struct ep_replay_thread, i);
	int r = ep_vec_printf(text, "%sthread %u ", i ? "\n" : "", thread->tid);

	if (r == 0)
		r = put_word(text, thread->comm);
	if (r == 0)
		r = ep_vec_printf(text, "\n");
	if (r < 0)
		return r;
	r = get_event(replay, i);
	if (r == -EIO)
		return ep_vec_printf(text, "trouble  %s\n", ep_kernel_trouble(replay->kernel));
	return r < 0 ? r : print_event(replay, text);
}

int ep_replay_print(struct ep_replay *replay, struct ep_vec *text)
{
	int r = 0;

	text->len = 0;
	replay->held_at = 0;
	for (size_t i = 0; r == 0 && i < replay->fixture->threads.len; i++)
		r = print_thread(replay, i, text);
	return r;
}

/* The frames of languages, as print_event comes to them. */
static int hold_names(struct ep_replay *replay)
{
	const struct ep_sample *sample = replay->event.data;
	const uint64_t *words = (const uint64_t *)(sample + 1) + sample->n_kernel;
	uint32_t n = ep_merge_frames(&replay->merge, words, sample->n_words, sample->error != 0);
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < n; i++) {
		const uint64_t *frame = words + replay->merge.order[i];

		if (EP_FRAME_KIND(frame[0]) < EP_FRAME_FIRST_DYNAMIC)
			continue;
		r = print_language(replay, &replay->held_names, frame);
		if (r == 0)
			r = ep_vec_append(&replay->held_names, "", 1);
	}
	return r;
}

/* An empty event: the thread could not be walked. */
static int hold_thread(struct ep_replay *replay, size_t i, struct ep_vec *held)
{
	int r = ep_replay_walk(replay, i, &replay->event);

	ep_vec_init(held, 1, EP_REPLAY_EVENT_BYTES);
	if (r == -EIO)
		return 0;
	if (r == 0)
		r = ep_vec_append(held, replay->event.data, replay->event.len);
	return r < 0 ? r : hold_names(replay);
}

int ep_replay_hold(struct ep_replay *replay)
{
	int r = ep_replay_publish(replay);

	for (size_t i = 0; r == 0 && i < replay->fixture->threads.len; i++) {
		struct ep_vec *held = ep_vec_push(&replay->held_events);

		r = held ? hold_thread(replay, i, held) : -ENOMEM;
	}
	return r;
}
