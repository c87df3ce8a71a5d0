/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/strings.h"
#include "core/base/vec.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include <xxhash.h>

#define BLOCK_BYTES 16384

struct string {
	const char *text;
	uint32_t len;
	uint32_t hash;
};

struct ep_strings {
	struct ep_vec strings; /* struct string, indexed by id */
	struct ep_vec blocks;  /* char * */
	uint32_t *slots;       /* id + 1, 0 is free; open addressing */
	size_t slot_cap;       /* a power of two */
	size_t block_used, block_cap;
	size_t bytes, max_bytes;
};

int ep_strings_new(size_t max_bytes, struct ep_strings **ret_strings)
{
	struct ep_strings *s = calloc(1, sizeof(*s));
	uint32_t id;
	int r;

	if (!s)
		return -ENOMEM;
	s->max_bytes = max_bytes;
	ep_vec_init(&s->strings, sizeof(struct string), UINT32_MAX / 2);
	ep_vec_init(&s->blocks, sizeof(char *), UINT32_MAX / 2);
	r = ep_strings_add(s, "", 0, &id);
	if (r < 0) {
		ep_strings_free(s);
		return r;
	}
	*ret_strings = s;
	return 0;
}

void ep_strings_free(struct ep_strings *s)
{
	char **block;

	if (!s)
		return;
	ep_vec_each(&s->blocks, block)
		free(*block);
	ep_vec_fini(&s->blocks);
	ep_vec_fini(&s->strings);
	free(s->slots);
	free(s);
}

/* The slot holding this string, or the free one where it belongs. */
static size_t slot_of(const struct ep_strings *s, const char *str, size_t len, uint32_t hash)
{
	size_t i = hash & (s->slot_cap - 1);

	for (; s->slots[i]; i = (i + 1) & (s->slot_cap - 1)) {
		const struct string *have = ep_vec_at(&s->strings, struct string, s->slots[i] - 1);

		if (have->hash == hash && have->len == len && memcmp(have->text, str, len) == 0)
			break;
	}
	return i;
}

static int grow_slots(struct ep_strings *s)
{
	size_t cap = s->slot_cap ? s->slot_cap * 2 : 64;
	uint32_t *slots = calloc(cap, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t id = 0; id < s->strings.len; id++) {
		size_t i = ep_vec_at(&s->strings, struct string, id)->hash & (cap - 1);

		while (slots[i])
			i = (i + 1) & (cap - 1);
		slots[i] = (uint32_t)id + 1;
	}
	s->bytes += (cap - s->slot_cap) * sizeof(*slots);
	free(s->slots);
	s->slots = slots;
	s->slot_cap = cap;
	return 0;
}

static char *reserve_text(struct ep_strings *s, size_t bytes)
{
	char **block;
	char *text;

	if (s->block_used + bytes > s->block_cap) {
		size_t cap = EP_MAX(bytes, (size_t)BLOCK_BYTES);

		text = malloc(cap);
		block = text ? ep_vec_push(&s->blocks) : NULL;
		if (!block) {
			free(text);
			return NULL;
		}
		*block = text;
		s->block_used = 0;
		s->block_cap = cap;
		s->bytes += cap + sizeof(char *);
	}
	text = *ep_vec_at(&s->blocks, char *, s->blocks.len - 1) + s->block_used;
	s->block_used += bytes;
	return text;
}

int ep_strings_add(struct ep_strings *s, const char *str, size_t len, uint32_t *ret_id)
{
	uint32_t hash = (uint32_t)XXH3_64bits(str, len);
	struct string *entry;
	char *text;
	size_t slot;

	if (len > INT_MAX)
		return -E2BIG;
	if ((s->strings.len + 1) * 4 > s->slot_cap * 3 && grow_slots(s) < 0)
		return -ENOMEM;
	slot = slot_of(s, str, len, hash);
	if (s->slots[slot]) {
		*ret_id = s->slots[slot] - 1;
		return 0;
	}
	if (s->bytes + len + 1 > s->max_bytes)
		return -E2BIG;
	text = reserve_text(s, len + 1);
	entry = text ? ep_vec_push(&s->strings) : NULL;
	if (!entry)
		return -ENOMEM;
	memcpy(text, str, len);
	text[len] = '\0';
	*entry = (struct string){.text = text, .len = (uint32_t)len, .hash = hash};
	s->slots[slot] = (uint32_t)s->strings.len;
	s->bytes += sizeof(*entry);
	*ret_id = (uint32_t)s->strings.len - 1;
	return 0;
}

const char *ep_strings_get(const struct ep_strings *s, uint32_t id)
{
	return id < s->strings.len ? ep_vec_at(&s->strings, struct string, id)->text : "";
}

size_t ep_strings_len_of(const struct ep_strings *s, uint32_t id)
{
	return id < s->strings.len ? ep_vec_at(&s->strings, struct string, id)->len : 0;
}

uint32_t ep_strings_count(const struct ep_strings *s)
{
	return (uint32_t)s->strings.len;
}

size_t ep_strings_bytes(const struct ep_strings *s)
{
	return s->bytes;
}
