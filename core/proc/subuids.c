/* SPDX-License-Identifier: Apache-2.0 */
#include "core/proc/subuids.h"
#include "core/base/parse.h"

#include <errno.h>
#include <string.h>

#define FILE_MAX_BYTES (1u << 20)
#define CONTAINER_UIDS 65536

/* LOGIN:FIRST:COUNT, where LOGIN may be a number as well. */
struct line {
	const char *login;
	size_t login_bytes;
	uint32_t first, n;
};

static bool line_parse(const char *pos, const char *end, struct line *ret)
{
	const char *colon = memchr(pos, ':', (size_t)(end - pos));
	uint64_t first, n;

	if (!colon || colon == pos)
		return false;
	*ret = (struct line){.login = pos, .login_bytes = (size_t)(colon - pos)};
	pos = colon + 1;
	if (ep_parse_u64(&pos, end, 10, &first) < 0 || pos == end || *pos != ':')
		return false;
	pos++;
	if (ep_parse_u64(&pos, end, 10, &n) < 0 || first > UINT32_MAX || n > UINT32_MAX)
		return false;
	ret->first = (uint32_t)first;
	ret->n = (uint32_t)n;
	return first > 0 && n > 0;
}

static bool is_login(const struct line *line, const char *login, size_t bytes)
{
	return line->login_bytes == bytes && memcmp(line->login, login, bytes) == 0;
}

/* Each is compared with the lines before it: 4096 of them take some milliseconds, once. */
static int add_line(struct ep_subuids *subuids, struct ep_vec *lines, struct line line)
{
	struct ep_subuid_block *block = ep_vec_push(&subuids->blocks);
	struct line *slot = block ? ep_vec_push(lines) : NULL;

	if (!slot)
		return -ENOMEM;
	*slot = line;
	*block = (struct ep_subuid_block){.first = line.first, .n = line.n};
	block->is_roots = is_login(&line, "root", strlen("root")) || is_login(&line, "0", 1);
	for (size_t i = 0; i < lines->len; i++) {
		const struct line *before = ep_vec_at(lines, struct line, i);

		if (is_login(before, line.login, line.login_bytes)) {
			block->owner = before->first;
			break;
		}
	}
	return 0;
}

int ep_subuids_parse(const char *text, size_t bytes, struct ep_subuids *ret_subuids)
{
	ep_cleanup(ep_vec_fini) struct ep_vec lines;
	struct ep_subuids found;
	const char *end = text + bytes;
	struct line line;
	int r = 0;

	ep_vec_init(&lines, sizeof(struct line), EP_SUBUIDS_MAX);
	ep_vec_init(&found.blocks, sizeof(struct ep_subuid_block), EP_SUBUIDS_MAX);
	while (text < end && found.blocks.len < EP_SUBUIDS_MAX && r == 0) {
		const char *newline = memchr(text, '\n', (size_t)(end - text)),
			   *stop = newline ? newline : end;

		if (line_parse(text, stop, &line))
			r = add_line(&found, &lines, line);
		text = stop + 1;
	}
	if (r < 0)
		ep_subuids_fini(&found);
	else
		*ret_subuids = found;
	return r;
}

void ep_subuids_read(const char *path, struct ep_subuids *ret_subuids)
{
	ep_cleanup(ep_vec_fini) struct ep_vec text;
	int r;

	*ret_subuids = (struct ep_subuids){0};
	ep_vec_init(&text, 1, FILE_MAX_BYTES);
	r = ep_read_file(path, &text);
	if (r == 0 || r == -E2BIG)
		(void)ep_subuids_parse(text.data, text.len, ret_subuids);
}

void ep_subuids_fini(struct ep_subuids *subuids)
{
	ep_vec_fini(&subuids->blocks);
}

uint32_t ep_subuids_owner(const struct ep_subuids *subuids, uint32_t uid)
{
	const struct ep_subuid_block *block;

	ep_vec_each (&subuids->blocks, block) {
		if (uid < block->first || uid - block->first >= block->n)
			continue;
		return block->is_roots ? uid - (uid - block->first) % CONTAINER_UIDS : block->owner;
	}
	return uid;
}
