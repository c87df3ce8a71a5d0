/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The template interpreter: AbstractInterpreter::_code, a StubQueue of InterpreterCodelets
 * (src/hotspot/share/code/stubs.hpp, share/interpreter/interpreter.hpp, 8 to 27).
 *
 *	| codelet: size, description | padding | code              | codelet ...
 *	|<------------------- its size ------------------------->|
 *
 * Code begins at a multiple of CodeEntryAlignment (16 to 64, a flag that 8 does not publish):
 * after the zeros that the buffer has had since it was mapped.
 */
#include "plugins/hotspot/code/stubs_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define MAX_CODELETS  2048 /* 25 has 290 */
#define MIN_ALIGNMENT 16   /* CodeEntryAlignment, globals_x86.hpp: 16, 32 or 64 */
#define CODELET_BYTES 64   /* of its header, read at once */

int hs_read_code(struct hs_reader *reader, uint64_t addr, size_t bytes)
{
	if (bytes > HS_MAX_CODE)
		return -E2BIG;
	if (bytes > reader->code_bytes) {
		uint8_t *code = realloc(reader->code, bytes);

		if (!code)
			return -ENOMEM;
		reader->code = code;
		reader->code_bytes = bytes;
	}
	return hs_read(reader, addr, reader->code, bytes);
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/*
 * How the code of a codelet is entered, by its description (templateInterpreter.cpp 8,
 * templateInterpreterGenerator.cpp 11 to 27: CodeletMark). All others, bytecodes among them, run in
 * the frame of a method.
 */
static enum hs_start start_of(const char *description)
{
	if (begins(description, "method entry point") ||
	    begins(description, "native method entry point"))
		return HS_START_ENTRY;
	/* Called by the entries of native methods: generate_native_entry. */
	if (!strcmp(description, "slow signature handler") ||
	    !strcmp(description, "result handlers for native calls"))
		return HS_START_CALLED;
	return HS_START_FRAME;
}

/* Bytecodes' templates are named by the bytecode, "iload_0"; nobody asks which. */
static const char *shown_name(const char *description)
{
	return strchr(description, ' ') ? description : "Interpreter";
}

static int follow_all(struct x86_flow *flow, enum hs_start start)
{
	/* What nothing leads to in an entry runs in the frame that it made. */
	struct x86_state others = hs_flow_start(start == HS_START_ENTRY ? HS_START_FRAME : start);
	int r = hs_flow_follow(flow, 0, start, false);

	return r ? r : x86_flow_follow_rest(flow, &others);
}

static int read_codelet(struct hotspot_stubs *stubs, struct hs_reader *reader, uint64_t addr,
			const uint8_t *bytes, size_t size)
{
	char description[HS_NAME_BYTES];
	size_t header = reader->layout->sizes[HOTSPOT_Z_codelet_bytes];
	uint64_t name_addr =
		hotspot_get(reader->layout, HOTSPOT_F_codelet_description, bytes, size);
	uint64_t code = (addr + header + MIN_ALIGNMENT - 1) & ~(uint64_t)(MIN_ALIGNMENT - 1);
	static const uint8_t zeros[MIN_ALIGNMENT];
	size_t off = (size_t)(code - addr);
	struct hs_kept what;
	int r;

	while (off + MIN_ALIGNMENT < size && off < 128 &&
	       !memcmp(bytes + off, zeros, sizeof(zeros)))
		off += MIN_ALIGNMENT;
	if (off >= size)
		return 0;
	what = (struct hs_kept){
		.start = addr + off, .bytes = size - off, .hash = XXH3_64bits(bytes, size)};
	r = hs_take_earlier(stubs, reader->earlier, &what, HS_BLOB_INTERPRETER);
	if (r)
		return r < 0 ? r : 0;
	r = hs_read_string(reader, name_addr, description, sizeof(description));
	if (r == -EFAULT)
		return 0;
	if (!r)
		r = hs_add_piece(stubs, addr + off, addr + size, shown_name(description));
	if (!r)
		r = x86_flow_begin(&reader->flow, bytes + off, size - off);
	if (!r)
		r = follow_all(&reader->flow, start_of(description));
	if (!r)
		r = hs_add_rules(stubs, &reader->flow, addr + off, size - off, HS_BLOB_INTERPRETER);
	return r ? r : ep_vec_append(&stubs->kept, &what, 1);
}

static int read_codelets(struct hotspot_stubs *stubs, struct hs_reader *reader, uint64_t addr,
			 size_t bytes)
{
	size_t at = 0;
	int r = 0;

	for (unsigned int i = 0; i < MAX_CODELETS && bytes - at >= CODELET_BYTES && !r; i++) {
		uint64_t size = hotspot_get(reader->layout, HOTSPOT_F_codelet_size,
					    reader->code + at, CODELET_BYTES);

		if (size < CODELET_BYTES / 2 || size > bytes - at)
			break;
		r = read_codelet(stubs, reader, addr + at, reader->code + at, (size_t)size);
		at += (size_t)size;
	}
	return r;
}

int hs_read_interpreter(struct hotspot_stubs *stubs, struct hs_reader *reader)
{
	uint64_t queue_at = reader->layout->statics[HOTSPOT_S_interpreter], queue = 0, buffer, end;
	uint8_t bytes[64];
	int r;

	if (!queue_at || !hotspot_has(reader->layout, HOTSPOT_F_codelet_size) ||
	    !hotspot_has(reader->layout, HOTSPOT_F_codelet_description))
		return -ENOTSUP;
	r = hs_read(reader, queue_at, &queue, sizeof(queue));
	if (r)
		return r;
	if (!queue)
		return EP_NOT_YET;
	r = hs_read(reader, queue, bytes, sizeof(bytes));
	if (r)
		return r;
	buffer = hotspot_get(reader->layout, HOTSPOT_F_queue_buffer, bytes, sizeof(bytes));
	end = hotspot_get(reader->layout, HOTSPOT_F_queue_end, bytes, sizeof(bytes));
	if (!buffer || !end)
		return EP_NOT_YET;
	r = hs_read_code(reader, buffer, (size_t)end);
	return r ? r : read_codelets(stubs, reader, buffer, (size_t)end);
}
