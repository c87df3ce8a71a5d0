/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of a fixture: one zstd frame, in which
 *
 *	u32 magic "EPFX"   u32 version   then sections, in any order, each
 *	u32 tag            u32 0         u64 bytes          contents
 *
 *	PROC  machine, pid, start, origin, languages, answers about the process
 *	THRD  threads: tid, comm, thread pointer, registers in DWARF order
 *	MAPS  mappings: start, end, file offset, protection, executable, path
 *	EXEC  executables: path, build id, segments, text, rules of text pages, answers, names
 *	      (of one address: those of inlined functions, innermost first)
 *	DATA  bytes and symbols of files that answers refer to
 *	MEMO  memory: the addresses of all blocks, then their contents
 *	LINE  optional, after EXEC: for each executable a list, empty or of as many as it has names:
 *	      source file and line
 *
 * Numbers are little-endian; a list is a u32 count and its elements; a string is a u32 count and
 * its bytes, without a NUL. A reader skips sections it does not know. A section may grow at its
 * end, and there may be new ones; any other change makes a new version.
 *
 * 1. Mappings ascend and are disjoint.	2. Text segments of an executable ascend and are disjoint;
 * text pages ascend and lie in them. 3. Deltas of a text page ascend, the first is at offset 0.
 * 4. Rules are numbered within their executable. All of it is checked: fixtures are sent by mail.
 *
 * Reading and writing are one description: each function below does both.
 */
#include "core/replay/fixture.h"

#include <errno.h>
#include <string.h>

#include <zstd.h>

#define MAGIC	0x58465045u /* "EPFX" */
#define VERSION 1u
#define TAG(a, b, c, d)                                                                            \
	((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define MAX_STRING  65536
#define COMPRESSION 19

struct codec {
	struct ep_fixture *fixture;
	struct ep_vec *out; /* NULL: reading */
	const uint8_t *pos, *end;
	int error; /* the first; from then on everything is zero */
};

static void fail(struct codec *c, int error)
{
	if (!c->error)
		c->error = error;
}

static void code_bytes(struct codec *c, void *bytes, size_t n)
{
	if (c->out) {
		int r = ep_vec_append(c->out, bytes, n);

		if (r < 0)
			fail(c, r);
		return;
	}
	if (c->error || (size_t)(c->end - c->pos) < n) {
		fail(c, -EBADMSG);
		memset(bytes, 0, n);
		return;
	}
	if (n > 0)
		memcpy(bytes, c->pos, n);
	c->pos += n;
}

/* Host and file are both little-endian: bpf/ supports no other machine. */
static void code_u64(struct codec *c, uint64_t *value)
{
	code_bytes(c, value, sizeof(*value));
}

static void code_u32(struct codec *c, uint32_t *value)
{
	code_bytes(c, value, sizeof(*value));
}

static void code_string(struct codec *c, const char **text)
{
	uint32_t n = c->out ? (uint32_t)EP_MIN(strlen(*text), (size_t)MAX_STRING) : 0, id = 0;
	int r = 0;

	code_u32(c, &n);
	if (c->out) {
		code_bytes(c, (void *)*text, n);
		return;
	}
	*text = "";
	if (c->error || n > MAX_STRING || n > (size_t)(c->end - c->pos)) {
		fail(c, -EBADMSG);
		return;
	}
	r = ep_strings_add(c->fixture->strings, (const char *)c->pos, n, &id);
	c->pos += n;
	if (r < 0)
		fail(c, r);
	else
		*text = ep_strings_get(c->fixture->strings, id);
}

/* The count of a list. Reading makes zeroed elements, each of which has `min_bytes` in the file. */
static void code_len(struct codec *c, struct ep_vec *vec, size_t min_bytes)
{
	uint32_t n = (uint32_t)vec->len;
	int r = 0;

	code_u32(c, &n);
	if (c->out)
		return;
	if (c->error || (uint64_t)n * min_bytes > (size_t)(c->end - c->pos)) {
		fail(c, -EBADMSG);
		return;
	}
	r = ep_vec_append(vec, NULL, n);
	if (r < 0)
		fail(c, r);
}

/* A list of elements without strings, as they are in memory. */
static void code_raw(struct codec *c, struct ep_vec *vec)
{
	code_len(c, vec, vec->elem_bytes);
	if (!c->error)
		code_bytes(c, vec->data, vec->len * vec->elem_bytes);
}

static void code_answers(struct codec *c, struct ep_vec *answers)
{
	struct ep_fixture_answer *answer;

	code_len(c, answers, 60);
	ep_vec_each (answers, answer) {
		code_u32(c, &answer->question);
		code_bytes(c, &answer->result, sizeof(answer->result));
		code_string(c, &answer->name);
		code_u64(c, &answer->va);
		code_u32(c, &answer->bytes);
		code_u32(c, &answer->data);
		code_bytes(c, &answer->symbol, sizeof(answer->symbol));
		code_bytes(c, &answer->tls, sizeof(answer->tls));
	}
}

static void code_process(struct codec *c)
{
	struct ep_fixture *fixture = c->fixture;
	uint32_t machine = fixture->arch ? fixture->arch->machine : 0;

	code_u32(c, &machine);
	code_u32(c, &fixture->pid);
	code_u64(c, &fixture->start_ns);
	code_string(c, &fixture->origin);
	code_string(c, &fixture->languages);
	code_answers(c, &fixture->answers);
	fixture->arch = ep_replay_arch_find((uint16_t)machine);
	if (!fixture->arch)
		fail(c, -ENOTSUP);
}

static void code_thread(struct codec *c, struct ep_replay_thread *thread)
{
	uint32_t flags = thread->in_syscall, n_regs = thread->arch ? thread->arch->n_regs : 0;

	code_u32(c, &thread->tid);
	code_u32(c, &flags);
	code_bytes(c, thread->comm, sizeof(thread->comm));
	code_u64(c, &thread->thread_pointer);
	code_u32(c, &n_regs);
	if (n_regs > EP_LEN(thread->regs)) {
		fail(c, -EBADMSG);
		return;
	}
	code_bytes(c, thread->regs, n_regs * sizeof(thread->regs[0]));
	thread->in_syscall = flags & 1;
	thread->comm[sizeof(thread->comm) - 1] = '\0';
}

static void code_threads(struct codec *c)
{
	struct ep_replay_thread *thread;

	code_len(c, &c->fixture->threads, 36);
	ep_vec_each (&c->fixture->threads, thread)
		code_thread(c, thread);
}

static void code_mappings(struct codec *c)
{
	struct ep_fixture_mapping *mapping;

	code_len(c, &c->fixture->mappings, 40);
	ep_vec_each (&c->fixture->mappings, mapping) {
		code_u64(c, &mapping->start);
		code_u64(c, &mapping->end);
		code_u64(c, &mapping->file_off);
		code_u32(c, &mapping->prot);
		code_u32(c, &mapping->is_file);
		code_u32(c, &mapping->executable);
		code_string(c, &mapping->path);
	}
}

static void code_text(struct codec *c, struct ep_fixture_executable *executable)
{
	struct ep_fixture_text *text;
	struct ep_fixture_text_page *page;

	code_len(c, &executable->text, 12);
	ep_vec_each (&executable->text, text) {
		code_u64(c, &text->va);
		code_u32(c, &text->n_pages);
	}
	code_len(c, &executable->text_pages, 20);
	ep_vec_each (&executable->text_pages, page) {
		code_u64(c, &page->va);
		code_u32(c, &page->rule);
		code_u32(c, &page->first);
		code_u32(c, &page->n_deltas);
	}
}

static void code_executable(struct codec *c, struct ep_fixture_executable *executable)
{
	struct ep_fixture_name *name;

	code_string(c, &executable->path);
	code_string(c, &executable->build_id);
	code_raw(c, &executable->segments);
	code_text(c, executable);
	code_raw(c, &executable->deltas);
	code_raw(c, &executable->rules);
	code_answers(c, &executable->answers);
	code_len(c, &executable->names, 12);
	ep_vec_each (&executable->names, name) {
		code_u64(c, &name->va);
		code_string(c, &name->name);
		name->source = c->out ? name->source : "";
	}
}

static void code_executables(struct codec *c)
{
	uint32_t n = (uint32_t)c->fixture->executables.len;

	code_u32(c, &n);
	for (uint32_t i = 0; i < n && !c->error; i++) {
		struct ep_fixture_executable *executable =
			c->out ? ep_vec_at(&c->fixture->executables, struct ep_fixture_executable,
					   i)
			       : ep_fixture_add_executable(c->fixture);

		if (executable)
			code_executable(c, executable);
		else
			fail(c, -E2BIG);
	}
}

static void code_executable_lines(struct codec *c, struct ep_fixture_executable *executable)
{
	struct ep_fixture_name *name;
	uint32_t n = 0;

	ep_vec_each (&executable->names, name) {
		if (c->out && (*name->source || name->line))
			n = (uint32_t)executable->names.len;
	}
	code_u32(c, &n);
	if (!n)
		return;
	if (n != executable->names.len) {
		fail(c, -EBADMSG);
		return;
	}
	ep_vec_each (&executable->names, name) {
		code_string(c, &name->source);
		code_u32(c, &name->line);
	}
}

static void code_lines(struct codec *c)
{
	uint32_t n = (uint32_t)c->fixture->executables.len;
	struct ep_fixture_executable *executable;

	code_u32(c, &n);
	if (n != c->fixture->executables.len) {
		fail(c, -EBADMSG);
		return;
	}
	ep_vec_each (&c->fixture->executables, executable)
		code_executable_lines(c, executable);
}

static void code_data(struct codec *c)
{
	code_raw(c, &c->fixture->data);
}

static void code_memory(struct codec *c)
{
	code_raw(c, &c->fixture->block_addrs);
	code_raw(c, &c->fixture->block_bytes);
}

static const struct {
	uint32_t tag;
	void (*code)(struct codec *c);
} sections[] = {
	{TAG('P', 'R', 'O', 'C'), code_process},  {TAG('T', 'H', 'R', 'D'), code_threads},
	{TAG('M', 'A', 'P', 'S'), code_mappings}, {TAG('E', 'X', 'E', 'C'), code_executables},
	{TAG('D', 'A', 'T', 'A'), code_data},	  {TAG('M', 'E', 'M', 'O'), code_memory},
	{TAG('L', 'I', 'N', 'E'), code_lines},
};

/* --- the file -------------------------------------------------------------------------------- */

static int write_section(struct codec *c, uint32_t tag, void (*code)(struct codec *c))
{
	uint32_t zero = 0;
	uint64_t bytes = 0;
	size_t length_at;

	code_u32(c, &tag);
	code_u32(c, &zero);
	length_at = c->out->len;
	code_u64(c, &bytes);
	code(c);
	if (c->error)
		return c->error;
	bytes = c->out->len - length_at - sizeof(bytes);
	memcpy((char *)c->out->data + length_at, &bytes, sizeof(bytes));
	return 0;
}

int ep_fixture_encode(const struct ep_fixture *fixture, struct ep_vec *bytes)
{
	ep_cleanup(ep_vec_fini) struct ep_vec plain = {0};
	struct codec c = {.fixture = (struct ep_fixture *)fixture, .out = &plain};
	uint32_t magic = MAGIC, version = VERSION;
	size_t n;
	int r = 0;

	ep_vec_init(&plain, 1, EP_FIXTURE_MAX_BYTES);
	code_u32(&c, &magic);
	code_u32(&c, &version);
	for (size_t i = 0; r == 0 && i < EP_LEN(sections); i++)
		r = write_section(&c, sections[i].tag, sections[i].code);
	if (r == 0)
		r = ep_vec_append(bytes, NULL, ZSTD_compressBound(plain.len));
	if (r < 0)
		return r;
	n = ZSTD_compress(bytes->data, bytes->len, plain.data, plain.len, COMPRESSION);
	bytes->len = ZSTD_isError(n) ? 0 : n;
	return ZSTD_isError(n) ? -ENOMEM : 0;
}

static int read_section(struct codec *all, bool seen[EP_LEN(sections)])
{
	uint32_t tag = 0, zero = 0;
	uint64_t bytes = 0;
	struct codec c = *all;

	code_u32(all, &tag);
	code_u32(all, &zero);
	code_u64(all, &bytes);
	if (all->error || bytes > (size_t)(all->end - all->pos))
		return -EBADMSG;
	c.pos = all->pos;
	c.end = all->pos + bytes;
	all->pos += bytes;
	for (size_t i = 0; i < EP_LEN(sections); i++) {
		if (sections[i].tag != tag)
			continue;
		if (seen[i])
			return -EBADMSG;
		seen[i] = true;
		sections[i].code(&c);
	}
	return c.error;
}

int ep_fixture_decompress(const void *data, size_t bytes, struct ep_vec *plain)
{
	unsigned long long size = ZSTD_getFrameContentSize(data, bytes);
	size_t n;
	int r;

	if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN)
		return -EBADMSG;
	if (size > plain->max)
		return -E2BIG;
	r = ep_vec_append(plain, NULL, size);
	if (r < 0)
		return r;
	n = ZSTD_decompress(plain->data, plain->len, data, bytes);
	return ZSTD_isError(n) || n != size ? -EBADMSG : 0;
}

int ep_fixture_parse(const void *plain, size_t bytes, struct ep_fixture **ret_fixture)
{
	ep_cleanup(ep_fixture_freep) struct ep_fixture *fixture = NULL;
	struct codec c = {.pos = plain, .end = (const uint8_t *)plain + bytes};
	bool seen[EP_LEN(sections)] = {false};
	uint32_t magic = 0, version = 0;
	int r = ep_fixture_new(&fixture);

	if (r < 0)
		return r;
	c.fixture = fixture;
	code_u32(&c, &magic);
	code_u32(&c, &version);
	if (magic != MAGIC)
		return -EBADMSG;
	if (version != VERSION)
		return -ENOTSUP;
	while (r == 0 && c.pos < c.end)
		r = read_section(&c, seen);
	if (r == 0)
		r = ep_fixture_check(fixture);
	if (r == 0)
		*ret_fixture = ep_take(fixture);
	return r;
}

int ep_fixture_decode(const void *data, size_t bytes, struct ep_fixture **ret_fixture)
{
	ep_cleanup(ep_vec_fini) struct ep_vec plain = {0};
	int r;

	ep_vec_init(&plain, 1, EP_FIXTURE_MAX_BYTES);
	r = ep_fixture_decompress(data, bytes, &plain);
	return r < 0 ? r : ep_fixture_parse(plain.data, plain.len, ret_fixture);
}
