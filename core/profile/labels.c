/* SPDX-License-Identifier: Apache-2.0 */
#include "core/profile/labels.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define MAX_KEYS    (8u << 20)
#define WHERE_BYTES 4352 /* a path and a line */

/* What a key is of, so that a name and a path are never one. */
enum key_of { OF_NAME = 1, OF_FILE, OF_LINE, OF_SIDE };

static uint64_t hash(const char *text, enum key_of of, uint64_t seed)
{
	return XXH3_64bits_withSeed(text, strlen(text), seed * 31 + of);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* From what many functions share to what is one's own. */
struct keys {
	uint64_t name, file, line; /* of the name; and of its file's last part; and of its line */
	uint64_t whole;		   /* with the whole path */
};

static struct keys keys_of(const struct ep_place *place)
{
	struct keys keys = {.name = hash(place->name, OF_NAME, 0)};

	keys.file = hash(base_name(place->file), OF_FILE, keys.name);
	keys.line = ep_mix64(keys.file + place->line + 1);
	keys.whole = hash(place->file, OF_LINE, keys.line);
	return keys;
}

void ep_labels_init(struct ep_labels *labels, bool is_compared)
{
	*labels = (struct ep_labels){.is_compared = is_compared};
	ep_map_init(&labels->first, MAX_KEYS);
	ep_map_init(&labels->several, MAX_KEYS);
}

void ep_labels_fini(struct ep_labels *labels)
{
	ep_map_fini(&labels->first);
	ep_map_fini(&labels->several);
}

/* Sides see for themselves; what is several on one of them is so for both. */
static int note(struct ep_labels *labels, uint64_t key, unsigned int side, uint64_t what)
{
	uint64_t key_of_side = ep_mix64(key ^ (OF_SIDE + side));
	const uint64_t *seen = ep_map_find(&labels->first, key_of_side);
	int r = 0;

	if (!seen)
		r = ep_map_set(&labels->first, key_of_side, what);
	else if (*seen != what && !ep_map_find(&labels->several, key))
		r = ep_map_set(&labels->several, key, 1);
	return r == -E2BIG ? 0 : r;
}

int ep_labels_learn_place(struct ep_labels *labels, unsigned int side, const struct ep_place *place)
{
	struct keys keys = keys_of(place);
	int r = note(labels, keys.name, side, keys.whole);

	r = r < 0 ? r : note(labels, keys.file, side, keys.whole);
	return r < 0 ? r : note(labels, keys.line, side, keys.whole);
}

static struct ep_place place_of(const struct ep_batch *batch, uint32_t function)
{
	return (struct ep_place){
		.name = batch->string_text[batch->function_name[function]],
		.file = batch->string_text[batch->function_file[function]],
		.line = batch->function_line[function],
	};
}

int ep_labels_learn(struct ep_labels *labels, unsigned int side, const struct ep_batch *batch)
{
	int r = 0;

	for (uint32_t i = 1; i < batch->n_functions && r == 0; i++) {
		struct ep_place place = place_of(batch, i);

		r = ep_labels_learn_place(labels, side, &place);
	}
	return r;
}

const char *ep_labels_where(const struct ep_labels *labels, const struct ep_place *place, char *buf,
			    size_t size)
{
	struct keys keys = keys_of(place);
	const char *file = base_name(place->file);
	uint32_t line = place->line;

	buf[0] = '\0';
	if (!place->file[0] || !ep_map_find(&labels->several, keys.name))
		return buf;
	if (ep_map_find(&labels->several, keys.line))
		file = place->file;
	else if (labels->is_compared && !ep_map_find(&labels->several, keys.file))
		line = 0;
	if (line)
		snprintf(buf, size, " (%s:%u)", file, line);
	else
		snprintf(buf, size, " (%s)", file);
	return buf;
}

/* --- a batch with these names ---------------------------------------------------------------- */

static int draw_function(const struct ep_labels *labels, const struct ep_batch *batch,
			 uint32_t function, struct ep_labelled *labelled, struct ep_map *rows)
{
	struct ep_place place = place_of(batch, function);
	char where[WHERE_BYTES], *text;
	const uint64_t *known;
	uint64_t key;
	int bytes;

	if (!*ep_labels_where(labels, &place, where, sizeof(where)))
		return 0;
	key = hash(where, OF_FILE, hash(place.name, OF_NAME, 0));
	known = ep_map_find(rows, key);
	if (known) {
		labelled->function_name[function] = (uint32_t)*known;
		return 0;
	}
	bytes = asprintf(&text, "%s%s", place.name, where);
	if (bytes < 0)
		return -ENOMEM;
	labelled->string_text[labelled->batch.n_strings] = text;
	labelled->string_bytes[labelled->batch.n_strings] = (uint32_t)bytes;
	labelled->function_name[function] = labelled->batch.n_strings++;
	return ep_map_set(rows, key, labelled->function_name[function]);
}

static void *copy(const void *column, size_t rows, size_t more, size_t bytes)
{
	void *grown = calloc(rows + more + 1, bytes);

	if (grown && rows)
		memcpy(grown, column, rows * bytes);
	return grown;
}

int ep_labels_draw(const struct ep_labels *labels, const struct ep_batch *batch,
		   struct ep_labelled *ret_labelled)
{
	ep_cleanup(ep_map_fini) struct ep_map rows = {0};
	struct ep_labelled labelled = {
		.batch = *batch,
		.string_text = copy(batch->string_text, batch->n_strings, batch->n_functions,
				    sizeof(char *)),
		.string_bytes = copy(batch->string_bytes, batch->n_strings, batch->n_functions,
				     sizeof(uint32_t)),
		.function_name =
			copy(batch->function_name, batch->n_functions, 0, sizeof(uint32_t)),
		.first_label = batch->n_strings,
	};
	int r = labelled.string_text && labelled.string_bytes && labelled.function_name ? 0
											: -ENOMEM;

	ep_map_init(&rows, UINT32_MAX);
	for (uint32_t i = 1; i < batch->n_functions && r == 0; i++)
		r = draw_function(labels, batch, i, &labelled, &rows);
	if (r < 0) {
		ep_labelled_fini(&labelled);
		return r;
	}
	labelled.batch.string_text = labelled.string_text;
	labelled.batch.string_bytes = labelled.string_bytes;
	labelled.batch.function_name = labelled.function_name;
	*ret_labelled = labelled;
	return 0;
}

void ep_labelled_fini(struct ep_labelled *labelled)
{
	for (uint32_t i = labelled->first_label;
	     labelled->string_text && i < labelled->batch.n_strings; i++)
		free((void *)(uintptr_t)labelled->string_text[i]);
	free(labelled->string_text);
	free(labelled->string_bytes);
	free(labelled->function_name);
	*labelled = (struct ep_labelled){0};
}
