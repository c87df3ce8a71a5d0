/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a fixture smaller: what its stacks do not need of what was read becomes zeros, or, of code, int3
 * (which is what lies between functions), and takes no space any more. What is left out is found by
 * trying: a piece, then its halves. The stack itself stays as it is: late.c walks copies of it.
 */
#include "tests/replay/replay.h"
#include "core/base/parse.h"
#include "core/replay/shim/helpers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT_BYTES	(16u << 20)
#define LONG_BYTES	4096u /* shorter answers stay */
#define LEAST_DATA	2048u /* pieces are made no smaller */
#define LEAST_MEMORY	1024u
#define SMALL_FRAMES	5
#define MAX_DEPTH	32

static const struct replay_way ways[] = {{.frames = 0}, {.frames = SMALL_FRAMES}};

#define N_WAYS EP_LEN(ways)

struct shrink {
	const struct ep_replay_plugins *plugins;
	struct ep_fixture *fixture;
	struct ep_vec wanted[N_WAYS], text;
	uint8_t *saved; /* what a try has overwritten */
	size_t saved_bytes, tries;
};

struct piece {
	uint8_t *at;
	size_t bytes;
};

static int print_stacks(struct shrink *s, struct replay_way way, struct ep_vec *text)
{
	ep_cleanup(ep_replay_freep) struct ep_replay *replay = NULL;
	int r = ep_replay_new(s->fixture, NULL, ep_shim_objects, &replay);

	if (r == 0 && way.frames)
		r = ep_replay_limit_frames(replay, way.frames);
	for (size_t i = 0; r == 0 && i < s->plugins->n; i++)
		r = ep_replay_add_language(replay, s->plugins->plugins[i]);
	if (r == 0)
		r = ep_replay_attach(replay);
	if (r == 0) {
		text->len = 0;
		r = ep_replay_print(replay, text);
	}
	return r == 0 && ep_replay_faults(replay)->unanswered > 0 ? -ENODATA : r;
}

static bool is_same(struct shrink *s)
{
	s->tries++;
	for (size_t i = 0; i < N_WAYS; i++) {
		if (print_stacks(s, ways[i], &s->text) != 0 || s->text.len != s->wanted[i].len ||
		    memcmp(s->text.data, s->wanted[i].data, s->text.len) != 0)
			return false;
	}
	return true;
}

static bool try_fill(struct shrink *s, const struct piece *piece, uint8_t byte)
{
	memcpy(s->saved, piece->at, piece->bytes);
	memset(piece->at, byte, piece->bytes);
	if (is_same(s))
		return true;
	memcpy(piece->at, s->saved, piece->bytes);
	return false;
}

static bool is_zero(const struct piece *piece)
{
	for (size_t i = 0; i < piece->bytes; i++) {
		if (piece->at[i])
			return false;
	}
	return true;
}

static void shrink_piece(struct shrink *s, struct piece whole, size_t least, uint8_t other)
{
	struct piece stack[MAX_DEPTH] = {whole};
	size_t n = 1;

	while (n > 0) {
		struct piece piece = stack[--n];
		size_t half = EP_ALIGN_DOWN(piece.bytes / 2, least);

		if (is_zero(&piece) || try_fill(s, &piece, 0) || (other && try_fill(s, &piece, other)))
			continue;
		if (half == 0 || n + 2 > MAX_DEPTH)
			continue;
		stack[n++] = (struct piece){piece.at, half};
		stack[n++] = (struct piece){piece.at + half, piece.bytes - half};
	}
}

/* --- of files -------------------------------------------------------------------------------- */

/* Strings were read with what lies after them. */
static void cut_strings(struct shrink *s)
{
	struct ep_vec *data = &s->fixture->data;
	const struct ep_fixture_executable *executable;
	const struct ep_fixture_answer *answer;

	memcpy(s->saved, data->data, data->len);
	ep_vec_each (&s->fixture->executables, executable) {
		ep_vec_each (&executable->answers, answer) {
			uint8_t *bytes = (uint8_t *)data->data + answer->data, *end;

			if (answer->question != EP_FIXTURE_READ || answer->result != 0 ||
			    answer->bytes < 32 || answer->bytes >= LONG_BYTES)
				continue;
			end = memchr(bytes, 0, answer->bytes);
			if (end)
				memset(end, 0, (size_t)(bytes + answer->bytes - end));
		}
	}
	if (!is_same(s))
		memcpy(data->data, s->saved, data->len);
}

static void shrink_answers(struct shrink *s)
{
	const struct ep_fixture_executable *executable;
	const struct ep_fixture_answer *answer;

	cut_strings(s);
	ep_vec_each (&s->fixture->executables, executable) {
		ep_vec_each (&executable->answers, answer) {
			struct piece piece = {(uint8_t *)s->fixture->data.data + answer->data,
					      answer->bytes};

			if (answer->question == EP_FIXTURE_READ && answer->result == 0 &&
			    answer->bytes >= LONG_BYTES)
				shrink_piece(s, piece, LEAST_DATA, 0xcc);
		}
	}
}

/* --- of memory ------------------------------------------------------------------------------- */

static const struct ep_fixture_mapping *find_mapping(const struct ep_fixture *fixture,
						     uint64_t addr)
{
	const struct ep_fixture_mapping *mapping;

	ep_vec_each (&fixture->mappings, mapping) {
		if (addr - mapping->start < mapping->end - mapping->start)
			return mapping;
	}
	return NULL;
}

static bool is_stack(const struct ep_fixture *fixture, uint64_t addr)
{
	const struct ep_fixture_mapping *mapping = find_mapping(fixture, addr);
	const struct ep_replay_thread *thread;

	ep_vec_each (&fixture->threads, thread) {
		if (mapping && thread->regs[EP_REG_SP] - mapping->start < mapping->end - mapping->start)
			return true;
	}
	return false;
}

/* Blocks lie in the order in which they were read. */
static void shrink_memory(struct shrink *s)
{
	struct ep_fixture *fixture = s->fixture;
	uint8_t *blocks = fixture->block_bytes.data;
	size_t first = 0, n = fixture->block_addrs.len;

	for (size_t i = 0; i <= n; i++) {
		if (i < n && !is_stack(fixture, *ep_vec_at(&fixture->block_addrs, uint64_t, i)))
			continue;
		if (i > first)
			shrink_piece(s, (struct piece){blocks + first * EP_FIXTURE_BLOCK_BYTES,
						       (i - first) * EP_FIXTURE_BLOCK_BYTES},
				     LEAST_MEMORY, 0);
		first = i + 1;
	}
}

/* --------------------------------------------------------------------------------------------- */

static int prepare(struct shrink *s, const char *path)
{
	ep_cleanup(ep_vec_fini) struct ep_vec file = {0};
	int r;

	ep_vec_init(&file, 1, EP_FIXTURE_MAX_BYTES);
	r = ep_read_file(path, &file);
	if (r == 0)
		r = ep_fixture_decode(file.data, file.len, &s->fixture);
	if (r < 0)
		return r;
	s->saved_bytes = EP_MAX(s->fixture->data.len,
				s->fixture->block_bytes.len * EP_FIXTURE_BLOCK_BYTES);
	s->saved = malloc(s->saved_bytes + 1);
	ep_vec_init(&s->text, 1, MAX_TEXT_BYTES);
	for (size_t i = 0; i < N_WAYS; i++) {
		ep_vec_init(&s->wanted[i], 1, MAX_TEXT_BYTES);
		if (r == 0)
			r = print_stacks(s, ways[i], &s->wanted[i]);
	}
	return s->saved ? r : -ENOMEM;
}

static int write_file(const char *path, const struct ep_fixture *fixture)
{
	ep_cleanup(ep_vec_fini) struct ep_vec file = {0};
	FILE *out;
	int r;

	ep_vec_init(&file, 1, EP_FIXTURE_MAX_BYTES);
	r = ep_fixture_encode(fixture, &file);
	if (r < 0)
		return r;
	out = fopen(path, "we");
	if (!out)
		return -errno;
	if (fwrite(file.data, 1, file.len, out) != file.len)
		r = -EIO;
	if (fclose(out) != 0)
		r = -EIO;
	fprintf(stderr, "replay: %s: %zu bytes\n", path, file.len);
	return r;
}

int replay_shrink(const char *path, const struct ep_replay_plugins *plugins)
{
	struct shrink s = {.plugins = plugins};
	int r = prepare(&s, path);

	if (r == 0) {
		shrink_answers(&s);
		shrink_memory(&s);
		r = write_file(path, s.fixture);
	}
	for (size_t i = 0; i < N_WAYS; i++)
		ep_vec_fini(&s.wanted[i]);
	ep_vec_fini(&s.text);
	free(s.saved);
	ep_fixture_free(s.fixture);
	return r;
}
