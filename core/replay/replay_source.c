/* SPDX-License-Identifier: Apache-2.0 */
#include "core/replay/capture_files.h"
#include "core/replay/replay_internal.h"
#include "core/elf/lookup.h"
#include "core/trace/lines.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* --- memory ---------------------------------------------------------------------------------- */

static int take_block(struct ep_replay *replay, uint64_t addr)
{
	uint8_t block[EP_FIXTURE_BLOCK_BYTES];
	int r;

	if (ep_fixture_has_block(replay->fixture, addr))
		return 0;
	if (!replay->source)
		return -EFAULT;
	r = replay->source->read_block(replay->source->arg, addr, block);
	return r < 0 ? r : ep_fixture_add_block(replay->fixture, addr, block);
}

static bool is_failing(const struct ep_replay *replay, uint64_t addr, uint64_t last)
{
	const struct ep_replay_faults *faults = &replay->faults;

	return faults->reads == faults->fail_read ||
	       (addr < faults->fail_end && last >= faults->fail_start);
}

/* The process has gone on while its frames are named. */
static bool has_changed(const struct ep_replay *replay)
{
	const struct ep_replay_faults *faults = &replay->faults;

	return replay->is_naming && faults->change_read &&
	       faults->name_reads >= faults->change_read;
}

int ep_replay_read(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	struct ep_replay *replay = arg;
	uint64_t last, block;
	int r;

	if (bytes == 0)
		return 0;
	if (__builtin_add_overflow(addr, (uint64_t)bytes - 1, &last))
		return -EFAULT;
	replay->faults.reads++;
	replay->faults.name_reads += replay->is_naming;
	if (is_failing(replay, addr, last))
		return -EFAULT;
	if (replay->source && replay->source->read)
		return replay->source->read(replay->source->arg, addr, buf, bytes);
	for (block = EP_ALIGN_DOWN(addr, EP_FIXTURE_BLOCK_BYTES); block <= last;
	     block += EP_FIXTURE_BLOCK_BYTES) {
		r = take_block(replay, block);
		if (r < 0)
			return r == -ESRCH ? r : -EFAULT;
		if (block > UINT64_MAX - EP_FIXTURE_BLOCK_BYTES)
			break;
	}
	r = ep_fixture_read(replay->fixture, addr, buf, bytes);
	for (size_t i = 0; r == 0 && has_changed(replay) && i < bytes; i++)
		((uint8_t *)buf)[i] ^= 0x41;
	return r;
}

/* --- questions about files ------------------------------------------------------------------- */

/* From *next on, which is then what is after it, and around. */
static struct ep_fixture_answer *find_answer(const struct ep_vec *answers, size_t *next,
					     uint32_t question, const char *name, uint64_t va,
					     uint32_t bytes)
{
	for (size_t n = 0; n < answers->len; n++) {
		size_t i = (*next + n) % answers->len;
		struct ep_fixture_answer *answer = ep_vec_at(answers, struct ep_fixture_answer, i);

		if (answer->question != question || answer->va != va || answer->bytes != bytes ||
		    strcmp(answer->name, name) != 0)
			continue;
		*next = i + 1;
		return answer;
	}
	return NULL;
}

static struct ep_fixture_answer *keep_answer(struct ep_fixture *fixture, struct ep_vec *answers,
					     struct ep_fixture_answer answer, const char *name)
{
	struct ep_fixture_answer *slot = ep_vec_push(answers);

	if (!slot)
		return NULL;
	*slot = answer;
	slot->name = ep_fixture_string(fixture, name);
	return slot;
}

/* What a visit of symbols sees, on its way into the fixture. */
struct keeping {
	struct ep_vec *data;
	int result;
};

static int keep_symbol(void *arg, const char *name, const struct ep_symbol *symbol)
{
	struct keeping *keeping = arg;
	uint64_t words[2] = {symbol->va, symbol->bytes};

	keeping->result = ep_vec_append(keeping->data, words, sizeof(words));
	if (keeping->result == 0)
		keeping->result = ep_vec_append(keeping->data, name, strlen(name) + 1);
	return keeping->result;
}

/* Asks the source's file. Bytes and symbols are appended to the fixture's data. */
static int ask(const struct ep_file *file, const char *name, struct ep_vec *data,
	       struct ep_fixture_answer *answer)
{
	struct keeping keeping = {.data = data};
	int r;

	switch (answer->question) {
	case EP_FIXTURE_SYMBOL:
		return file->ops->symbol(file->arg, name, &answer->symbol);
	case EP_FIXTURE_SECTION:
		return file->ops->section(file->arg, name, &answer->symbol);
	case EP_FIXTURE_NAMED:
		return file->ops->named(file->arg, name, &answer->symbol);
	case EP_FIXTURE_FUNCTION:
		return file->ops->function(file->arg, answer->va, &answer->symbol);
	}
	answer->data = (uint32_t)data->len;
	if (answer->question == EP_FIXTURE_SYMBOLS) {
		r = file->ops->symbols(file->arg, name, keep_symbol, &keeping);
		r = r < 0 ? r : keeping.result;
	} else {
		r = ep_vec_append(data, NULL, answer->bytes);
		if (r == 0)
			r = file->ops->read(file->arg, answer->va,
					    (char *)data->data + answer->data, answer->bytes);
	}
	if (r < 0)
		data->len = answer->data;
	if (answer->question == EP_FIXTURE_SYMBOLS)
		answer->symbol.bytes = data->len - answer->data;
	return r;
}

/* Completes a question by what the fixture has, or by the source's answer, which is kept. */
static int get_answer(struct ep_replay_file *file, const char *name,
		      struct ep_fixture_answer *answer)
{
	struct ep_replay *replay = file->replay;
	struct ep_vec *answers = &ep_replay_executable(replay, file->executable)->answers;
	const struct ep_fixture_answer *found =
		find_answer(answers, &file->next_answer, answer->question, name, answer->va,
			    answer->bytes);
	const struct ep_file *real;

	if (found) {
		*answer = *found;
		return answer->result;
	}
	replay->faults.unanswered += !replay->source;
	if (!replay->source)
		return -ENODATA;
	/* Of a file that cannot be read, such as memory that a runtime maps as one, that is the answer. */
	real = ep_capture_files_file(replay->source->files, file->executable);
	answer->result = real ? ask(real, name, &replay->fixture->data, answer) : -ENODATA;
	return keep_answer(replay->fixture, answers, *answer, name) ? answer->result : -ENOMEM;
}

static int get(void *arg, uint32_t question, const char *name, uint64_t va, struct ep_symbol *ret)
{
	struct ep_fixture_answer answer = {.question = question, .va = va};
	int r = get_answer(arg, name, &answer);

	if (r == 0)
		*ret = answer.symbol;
	return r;
}

static int file_symbol(void *arg, const char *name, struct ep_symbol *ret)
{
	return get(arg, EP_FIXTURE_SYMBOL, name, 0, ret);
}

static int file_section(void *arg, const char *name, struct ep_symbol *ret)
{
	return get(arg, EP_FIXTURE_SECTION, name, 0, ret);
}

static int file_function(void *arg, uint64_t va, struct ep_symbol *ret)
{
	return get(arg, EP_FIXTURE_FUNCTION, "", va, ret);
}

static int file_named(void *arg, const char *name, struct ep_symbol *ret)
{
	return get(arg, EP_FIXTURE_NAMED, name, 0, ret);
}

static int file_read(void *arg, uint64_t va, void *buf, size_t bytes)
{
	struct ep_replay_file *file = arg;
	struct ep_fixture_answer answer = {
		.question = EP_FIXTURE_READ, .va = va, .bytes = (uint32_t)bytes};
	int r = bytes > EP_MAX_FILE_READ ? -E2BIG : get_answer(file, "", &answer);

	if (r == 0)
		memcpy(buf, (char *)file->replay->fixture->data.data + answer.data, bytes);
	return r;
}

/* What visit asks in its turn may move all that the fixture has: it is given copies. */
static int file_symbols(void *arg, const char *prefix,
			int (*visit)(void *arg, const char *name, const struct ep_symbol *symbol),
			void *visit_arg)
{
	struct ep_replay_file *file = arg;
	struct ep_fixture_answer answer = {.question = EP_FIXTURE_SYMBOLS};
	char name[EP_ELF_MAX_SYMBOL];
	struct ep_symbol symbol;
	const char *kept;
	uint64_t at = 0;
	int r = get_answer(file, prefix, &answer);

	if (r < 0)
		return r;
	while (ep_fixture_next_symbol(file->replay->fixture, &answer, &at, &kept, &symbol)) {
		snprintf(name, sizeof(name), "%s", kept);
		if (visit(visit_arg, name, &symbol) != 0)
			break;
	}
	return 0;
}

struct ep_file ep_replay_file(struct ep_replay_file *file)
{
	static const struct ep_file_ops ops = {
		.symbol = file_symbol,
		.symbols = file_symbols,
		.section = file_section,
		.read = file_read,
		.function = file_function,
		.named = file_named,
	};

	return (struct ep_file){
		.ops = &ops,
		.arg = file,
		.path = ep_replay_executable(file->replay, file->executable)->path,
		.machine = file->replay->fixture->arch->machine,
	};
}

/* --- thread storage and names ---------------------------------------------------------------- */

int ep_replay_tls(struct ep_replay *replay, uint32_t question, uint32_t executable, uint64_t bias,
		  uint64_t value, struct ep_tls *ret)
{
	struct ep_vec *answers = &replay->fixture->answers;
	const struct ep_fixture_answer *found;
	struct ep_fixture_answer answer = {.question = question, .va = value, .bytes = executable};
	size_t first = 0;

	found = find_answer(answers, &first, question, "", value, executable);
	if (!found && !replay->source) {
		replay->faults.unanswered++;
		return -ENODATA;
	}
	if (!found) {
		answer.result = ep_capture_files_tls(replay->source->files, question, executable, bias,
						     value, &answer.tls);
		found = keep_answer(replay->fixture, answers, answer, "");
	}
	if (!found)
		return -ENOMEM;
	if (found->result == 0)
		*ret = found->tls;
	return found->result;
}

/* The path of a file in the directory of what the fixture has mapped at an address. */
static int path_beside(const struct ep_fixture *fixture, const struct ep_target_file *file, char path[PATH_MAX])
{
	const struct ep_fixture_mapping *mapping;

	ep_vec_each (&fixture->mappings, mapping) {
		const char *slash = strrchr(mapping->path, '/');

		if (file->addr - mapping->start >= mapping->end - mapping->start)
			continue;
		return slash && snprintf(path, PATH_MAX, "%.*s/%s", (int)(slash - mapping->path), mapping->path,
					 file->name) < PATH_MAX
			       ? 0
			       : -ENODATA;
	}
	return -ENODATA;
}

static int ask_beside(struct ep_replay *replay, const struct ep_target_file *file, struct ep_fixture_answer *answer)
{
	struct ep_target_file found = {.addr = file->addr, .name = file->name};
	struct ep_vec *data = &replay->fixture->data;
	int r = ep_vec_append(data, NULL, answer->bytes);

	answer->data = (uint32_t)(data->len - (r == 0 ? answer->bytes : 0));
	if (r == 0)
		r = ep_capture_files_beside(replay->source->files, &found, answer->va,
					    (char *)data->data + answer->data, answer->bytes);
	if (r < 0)
		data->len = answer->data;
	answer->symbol = (struct ep_symbol){found.content, found.bytes};
	return r;
}

int ep_replay_beside(struct ep_replay *replay, struct ep_target_file *file, uint64_t off, void *buf, size_t bytes)
{
	struct ep_fixture_answer answer = {.question = EP_FIXTURE_BESIDE, .va = off, .bytes = (uint32_t)bytes};
	struct ep_vec *answers = &replay->fixture->answers;
	const struct ep_fixture_answer *found;
	char path[PATH_MAX];
	size_t first = 0;
	int r = path_beside(replay->fixture, file, path);

	if (r < 0)
		return r;
	found = find_answer(answers, &first, EP_FIXTURE_BESIDE, path, off, (uint32_t)bytes);
	replay->faults.unanswered += !found && !replay->source;
	if (!found && !replay->source)
		return -ENODATA;
	if (!found) {
		answer.result = ask_beside(replay, file, &answer);
		found = keep_answer(replay->fixture, answers, answer, path);
	}
	if (!found)
		return -ENOMEM;
	if (found->result < 0)
		return found->result;
	if (file->content && file->content != found->symbol.va)
		return -ESTALE;
	file->content = found->symbol.va;
	file->bytes = found->symbol.bytes;
	memcpy(buf, (char *)replay->fixture->data.data + found->data, bytes);
	return 0;
}

void ep_replay_keep_names(struct ep_replay *replay, uint32_t executable, uint64_t va)
{
	ep_cleanup(ep_lines_fini) struct ep_lines lines = {0};
	struct ep_frame_line line[EP_FRAME_MAX_LINES];
	size_t n;

	if (!replay->source || !replay->source->has_names ||
	    ep_fixture_find_name(ep_replay_executable(replay, executable), va, NULL))
		return;
	if (ep_lines_init(&lines, 1) < 0 ||
	    ep_capture_files_names(replay->source->files, executable, va, &lines) < 0)
		return;
	n = ep_lines_frames(&lines) ? ep_lines_get(&lines, 0, line) : 0;
	for (size_t i = 0; i < n; i++) {
		struct ep_fixture_name *slot =
			line[i].function
				? ep_vec_push(&ep_replay_executable(replay, executable)->names)
				: NULL;

		if (slot)
			*slot = (struct ep_fixture_name){
				.va = va,
				.name = ep_fixture_string(replay->fixture, line[i].function),
				.source = ep_fixture_string(replay->fixture,
							    line[i].file ? line[i].file : ""),
				.line = line[i].line,
			};
	}
}
