/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of reads is what makes a name true: the code object, what it points to, the code object
 * again. It owns a reference to each of its parts and never changes them, so if it is the same and
 * alive at the end, its parts were valid all the time in between.
 *
 * "The same" is the check. "Alive" is what memory that was given back would lack: its type, and a
 * reference count. pymalloc and malloc put a link to the next free block where the count was, a
 * pointer or 0 (Objects/obmalloc.c: pymalloc_free; glibc malloc/malloc.c: tcache_put, which has a
 * random key where the type was). A count has no bits in 32 to 47: before 3.14 it is smaller, and
 * from then on these are ob_overflow, 0 (Include/object.h v3.14.0).
 */
#include "plugins/python/symbolize/names.h"

#include "core/base/util.h"
#include "plugins/python/python_shared.h"
#include "plugins/python/symbolize/lines.h"
#include "plugins/python/symbolize/text.h"

#include <errno.h>
#include <string.h>

#define HEAD_MAX_BYTES 1024

/* A code object being read. */
struct reader {
	const struct memory *memory;
	const struct py_code_layout *layout;
	uint64_t code_addr;
	uint32_t check;
	bool lacks_lines; /* they cannot be read: of a process that is gone names alone were kept */
	size_t head_bytes;
	_Alignas(8) uint8_t head[HEAD_MAX_BYTES];
	char function[PY_FUNCTION_BYTES], file[PY_FILE_BYTES];
};

static uint64_t get_word(const struct reader *reader, uint16_t off)
{
	return ep_get_u64(reader->head + off);
}

size_t py_code_head_bytes(const struct py_code_layout *layout)
{
	const uint16_t offs[] = {
		layout->ob_refcnt, layout->ob_type,	layout->co_firstlineno, layout->co_filename,
		layout->co_name,   layout->co_qualname, layout->co_lines,
	};
	size_t end = layout->check_off + (size_t)PY_CHECK_BYTES;

	for (size_t i = 0; i < EP_LEN(offs); i++)
		end = EP_MAX(end, offs[i] + sizeof(uint64_t));
	return end;
}

static bool is_alive(const struct reader *reader)
{
	const struct py_code_layout *layout = reader->layout;
	uint64_t count = get_word(reader, layout->ob_refcnt);
	__u64 words[PY_CHECK_WORDS];

	memcpy(words, reader->head + layout->check_off, sizeof(words));
	if (py_code_check(words, layout->check_mask) != reader->check)
		return false;
	if (layout->code_type_addr && get_word(reader, layout->ob_type) != layout->code_type_addr)
		return false;
	return !layout->has_refcnt || ((uint32_t)count && !(uint16_t)(count >> 32));
}

/* 0 or EP_FRAME_GONE, or -ESRCH, -EPERM, -E2BIG. */
static int read_object(struct reader *reader)
{
	int r;

	if (reader->head_bytes > HEAD_MAX_BYTES)
		return -E2BIG;
	r = memory_read(reader->memory, reader->code_addr, reader->head, reader->head_bytes);
	if (r == -EFAULT)
		return EP_FRAME_GONE;
	if (r < 0)
		return r;
	return is_alive(reader) ? 0 : EP_FRAME_GONE;
}

static int read_names(struct reader *reader)
{
	const struct py_code_layout *layout = reader->layout;
	uint16_t name = layout->co_qualname ? layout->co_qualname : layout->co_name;
	int r;

	r = py_text_read(reader->memory, layout, get_word(reader, name), reader->function,
			 sizeof(reader->function));
	if (r < 0)
		return r;
	return py_text_read(reader->memory, layout, get_word(reader, layout->co_filename),
			    reader->file, sizeof(reader->file));
}

/* The first PY_LINES_MAX_BYTES of the table: instructions after them have no line. */
static int read_lines(struct reader *reader, int32_t first_line, struct py_lines *ret_lines)
{
	const struct py_code_layout *layout = reader->layout;
	uint64_t addr = get_word(reader, layout->co_lines), size;
	ep_autofree uint8_t *bytes = NULL;
	int r;

	r = memory_read(reader->memory, addr + layout->bytes_size, &size, sizeof(size));
	if (r < 0)
		return r;
	if (size > INT64_MAX)
		return -EBADMSG;
	size = EP_MIN(size, (uint64_t)PY_LINES_MAX_BYTES);
	bytes = malloc(size + 1);
	if (!bytes)
		return -ENOMEM;
	r = size ? memory_read(reader->memory, addr + layout->bytes_data, bytes, size) : 0;
	if (r < 0)
		return r;
	return py_lines_parse(layout->lines_format, bytes, size, first_line, ret_lines);
}

static int read_function(struct reader *reader, struct names_function **ret)
{
	struct py_lines lines = {0};
	int32_t first_line;
	int r;

	memcpy(&first_line, reader->head + reader->layout->co_firstlineno, sizeof(first_line));
	r = read_names(reader);
	if (r < 0)
		return r;
	r = read_lines(reader, first_line, &lines);
	reader->lacks_lines = r == -EFAULT;
	if (r == 0 || reader->lacks_lines)
		r = names_function_new(reader->function, reader->file, lines.runs,
				       lines.len * sizeof(*lines.runs), ret);
	py_lines_fini(&lines);
	if (r < 0)
		return r;
	(*ret)->item.key[0] = reader->code_addr;
	(*ret)->item.key[1] = reader->check;
	(*ret)->start_line = first_line > 0 ? (uint32_t)first_line : 0;
	return 0;
}

/* 0 with what the caller owns; EP_FRAME_GONE; or a negative errno. */
static int read_checked(struct reader *reader, struct names_function **ret)
{
	ep_autofree struct names_function *function = NULL;
	int r, again;

	r = read_object(reader);
	if (r != 0)
		return r;
	r = read_function(reader, &function);
	if (r == -ENOMEM || r == -ESRCH)
		return r;
	again = read_object(reader);
	if (again != 0)
		return again;
	if (r < 0)
		return r == -EFAULT ? -EBADMSG : r;
	*ret = ep_take(function);
	return 0;
}

static int add_name(const struct ep_unwinder_host *host, const struct names_function *function,
		    uint32_t instruction_off, struct ep_names *names)
{
	struct ep_name more = {0};
	const struct names_run *runs = (const void *)function->table;

	if ((int32_t)instruction_off < 0)
		more.line = function->start_line;
	else if (instruction_off != PY_INSTRUCTION_UNKNOWN)
		more.line = names_find_line(runs, function->table_bytes / sizeof(*runs),
					  instruction_off);
	return names_add(host, names, function, more);
}

/* A function of its own, for its large frame. */
static __attribute__((noinline)) int add_new(const struct py_namer *namer, uint64_t code_addr,
					     uint32_t check, uint32_t instruction_off,
					     struct ep_names *names)
{
	struct names_function *function = NULL;
	struct reader reader = {
		.memory = &namer->memory,
		.layout = &namer->layout,
		.code_addr = code_addr,
		.check = check,
		.head_bytes = py_code_head_bytes(&namer->layout),
	};
	int r;

	r = read_checked(&reader, &function);
	if (r != 0)
		return r;
	if (!reader.lacks_lines)
		names_cache_put(namer->cache, &function->item);
	r = add_name(namer->host, function, instruction_off, names);
	if (reader.lacks_lines)
		free(function);
	else
		names_item_unref(&function->item);
	return r;
}

int py_namer_init(struct py_namer *namer)
{
	return names_cache_new(&(struct names_budget){.classes = {PY_CACHE_MAX_BYTES},
						      .oversized = PY_CACHE_MAX_LARGE},
			       &namer->cache);
}

void py_namer_fini(struct py_namer *namer)
{
	names_cache_free(namer->cache);
	namer->cache = NULL;
}

int py_names_add(const struct py_namer *namer, const struct ep_raw_frame *frame,
		 struct ep_names *names)
{
	uint64_t code = frame->words[0];
	uint32_t instruction = (uint32_t)frame->words[1];
	const struct names_function *known;

	if (frame->n_words < 1)
		return -EBADMSG;
	if (frame->n_words == 1) {
		instruction = (uint32_t)(code >> PY_INSTRUCTION_SHIFT);
		code &= PY_ADDRESS_MASK;
	}
	if (frame->words[0] == PY_FRAME_CLEANUP)
		return names_add_text(namer->host, names, "<frame cleanup>", EP_UNNAMED_NONE, 0);
	known = names_cache_peek(namer->cache, 0, code, frame->aux, 0);
	return known ? add_name(namer->host, known, instruction, names)
		     : add_new(namer, code, frame->aux, instruction, names);
}
