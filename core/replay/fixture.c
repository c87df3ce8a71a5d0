/* SPDX-License-Identifier: Apache-2.0 */
#include "core/replay/fixture.h"

#include <errno.h>
#include <string.h>

#define MAX_STRING_BYTES (8u << 20)

int ep_fixture_new(struct ep_fixture **ret_fixture)
{
	struct ep_fixture *fixture = calloc(1, sizeof(*fixture));
	int r;

	if (!fixture)
		return -ENOMEM;
	r = ep_strings_new(MAX_STRING_BYTES, &fixture->strings);
	if (r < 0) {
		free(fixture);
		return r;
	}
	fixture->origin = fixture->languages = "";
	ep_vec_init(&fixture->threads, sizeof(struct ep_replay_thread), EP_FIXTURE_MAX_THREADS);
	ep_vec_init(&fixture->mappings, sizeof(struct ep_fixture_mapping), EP_FIXTURE_MAX_MAPPINGS);
	ep_vec_init(&fixture->executables, sizeof(struct ep_fixture_executable),
		    EP_FIXTURE_MAX_EXECUTABLES);
	ep_vec_init(&fixture->answers, sizeof(struct ep_fixture_answer), 4096);
	ep_vec_init(&fixture->data, 1, 32u << 20);
	ep_vec_init(&fixture->block_addrs, sizeof(uint64_t), EP_FIXTURE_MAX_BLOCKS);
	ep_vec_init(&fixture->block_bytes, EP_FIXTURE_BLOCK_BYTES, EP_FIXTURE_MAX_BLOCKS);
	ep_map_init(&fixture->block_index, EP_FIXTURE_MAX_BLOCKS);
	*ret_fixture = fixture;
	return 0;
}

void ep_fixture_free(struct ep_fixture *fixture)
{
	struct ep_fixture_executable *executable;

	if (!fixture)
		return;
	ep_vec_each (&fixture->executables, executable) {
		ep_vec_fini(&executable->segments);
		ep_vec_fini(&executable->text);
		ep_vec_fini(&executable->text_pages);
		ep_vec_fini(&executable->deltas);
		ep_vec_fini(&executable->rules);
		ep_vec_fini(&executable->answers);
		ep_vec_fini(&executable->names);
	}
	ep_vec_fini(&fixture->executables);
	ep_vec_fini(&fixture->threads);
	ep_vec_fini(&fixture->mappings);
	ep_vec_fini(&fixture->answers);
	ep_vec_fini(&fixture->data);
	ep_vec_fini(&fixture->block_addrs);
	ep_vec_fini(&fixture->block_bytes);
	ep_map_fini(&fixture->block_index);
	ep_strings_free(fixture->strings);
	free(fixture);
}

const char *ep_fixture_string(struct ep_fixture *fixture, const char *text)
{
	uint32_t id;

	if (ep_strings_add(fixture->strings, text, strlen(text), &id) < 0)
		return "";
	return ep_strings_get(fixture->strings, id);
}

struct ep_fixture_executable *ep_fixture_add_executable(struct ep_fixture *fixture)
{
	struct ep_fixture_executable *executable = ep_vec_push(&fixture->executables);

	if (!executable)
		return NULL;
	executable->path = executable->build_id = "";
	ep_vec_init(&executable->segments, sizeof(struct ep_elf_segment), 64);
	ep_vec_init(&executable->text, sizeof(struct ep_fixture_text), 256);
	ep_vec_init(&executable->text_pages, sizeof(struct ep_fixture_text_page),
		    EP_FIXTURE_MAX_TEXT_PAGES);
	ep_vec_init(&executable->deltas, sizeof(uint32_t), 1u << 22);
	ep_vec_init(&executable->rules, sizeof(struct ep_rule), EP_MAX_RULES);
	ep_vec_init(&executable->answers, sizeof(struct ep_fixture_answer),
		    EP_FIXTURE_MAX_ANSWERS);
	ep_vec_init(&executable->names, sizeof(struct ep_fixture_name), 65536);
	return executable;
}

int ep_fixture_add_block(struct ep_fixture *fixture, uint64_t addr, const uint8_t *bytes)
{
	uint64_t block = addr / EP_FIXTURE_BLOCK_BYTES;
	uint64_t *slot;
	int r;

	if (ep_map_find(&fixture->block_index, block))
		return 0;
	r = ep_map_set(&fixture->block_index, block, fixture->block_addrs.len);
	if (r < 0)
		return r;
	slot = ep_vec_push(&fixture->block_addrs);
	if (!slot)
		return -ENOMEM;
	*slot = block * EP_FIXTURE_BLOCK_BYTES;
	return ep_vec_append(&fixture->block_bytes, bytes, 1);
}

static const uint8_t *find_block(const struct ep_fixture *fixture, uint64_t addr)
{
	const uint64_t *index = ep_map_find(&fixture->block_index, addr / EP_FIXTURE_BLOCK_BYTES);

	if (!index || *index >= fixture->block_bytes.len)
		return NULL;
	return (const uint8_t *)fixture->block_bytes.data + *index * EP_FIXTURE_BLOCK_BYTES;
}

bool ep_fixture_has_block(const struct ep_fixture *fixture, uint64_t addr)
{
	return find_block(fixture, addr) != NULL;
}

int ep_fixture_read(const struct ep_fixture *fixture, uint64_t addr, void *buf, size_t bytes)
{
	uint8_t *to = buf;
	uint64_t end;

	if (__builtin_add_overflow(addr, (uint64_t)bytes, &end))
		return -EFAULT;
	while (bytes > 0) {
		const uint8_t *block = find_block(fixture, addr);
		size_t off = addr % EP_FIXTURE_BLOCK_BYTES;
		size_t n = EP_MIN(bytes, EP_FIXTURE_BLOCK_BYTES - off);

		if (!block)
			return -EFAULT;
		memcpy(to, block + off, n);
		to += n;
		addr += n;
		bytes -= n;
	}
	return 0;
}

const struct ep_fixture_name *ep_fixture_find_name(const struct ep_fixture_executable *executable,
						   uint64_t va, const struct ep_fixture_name *after)
{
	const struct ep_fixture_name *names = executable->names.data;

	for (size_t i = after ? (size_t)(after - names) + 1 : 0; i < executable->names.len; i++) {
		if (names[i].va == va)
			return &names[i];
	}
	return NULL;
}

bool ep_fixture_next_symbol(const struct ep_fixture *fixture,
			    const struct ep_fixture_answer *answer, uint64_t *at,
			    const char **ret_name, struct ep_symbol *ret_symbol)
{
	uint64_t words[2], left = answer->symbol.bytes - *at;
	const char *bytes, *end;

	if (*at >= answer->symbol.bytes || left <= sizeof(words))
		return false;
	bytes = (const char *)fixture->data.data + answer->data + *at;
	end = memchr(bytes + sizeof(words), '\0', left - sizeof(words));
	if (!end)
		return false;
	memcpy(words, bytes, sizeof(words));
	*ret_symbol = (struct ep_symbol){.va = words[0], .bytes = words[1]};
	*ret_name = bytes + sizeof(words);
	*at += (uint64_t)(end + 1 - bytes);
	return true;
}
