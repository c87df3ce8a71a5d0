/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process whose structures are anything: the range map, heaps, methods, images, metadata, the data
 * contract.
 *
 *	input	u8 release (8, 9, 10, 11) | u8 0 | records {u32 at, u64 word}
 *	or	u8 0xff | text of a data contract
 *	or	u8 0xfe | u8 parser | its input: DebugInfo of 9 and of 10, of images, an image's section 105, a PDB, one
 *		that is deflated, the name of a method, a signature, MethodTables that are type arguments
 *	or	u8 0xfd | code of the runtime, in which helpers are looked for
 *
 * A record changes a word of the made process; one of its upper bits says whether it becomes the address of
 * another place of it.
 */
#include "core/base/util.h"
#include "plugins/dotnet/symbolize/debug_info.h"
#include "plugins/dotnet/symbolize/friendly.h"
#include "plugins/dotnet/symbolize/pdb.h"
#include "plugins/dotnet/tests/unit/made_dotnet.h"
#include "plugins/dotnet/tests/unit/made_pdb.h"
#include "plugins/dotnet/tests/unit/made_signature.h"
#include "tests/kit/fuzz.h"

#include <stdlib.h>

#define RECORD	    12
#define MAX_RECORDS 64
#define IS_ADDR	    0x80000000u
#define MAX_READS   4000000u

static struct made_dotnet made;

static void change(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < MAX_RECORDS && size >= RECORD; i++, data += RECORD, size -= RECORD) {
		uint32_t at;
		uint64_t word;

		memcpy(&at, data, sizeof(at));
		memcpy(&word, data + 4, sizeof(word));
		if (at & IS_ADDR)
			word = MADE_DATA + (word & (MADE_BYTES - 1));
		made_put(&made, at % (MADE_BYTES - 8), &word, 8);
	}
}

static void name(void *instance, uint32_t what, uint64_t word0, uint64_t word1)
{
	const struct ep_raw_frame frame = {
		.n_words = what == DOTNET_FRAME_COLLECTIBLE ? 2 : 1,
		.flags = what << DOTNET_FRAME_SHIFT,
		.aux = 5,
		.words = {word0, word1},
	};

	(void)dotnet_symbolize(instance, &frame, &made.host.names);
}

static void name_all(void *instance)
{
	const struct dotnet_reader reader = {{fake_memory_read, &made.host.memory}, &made.layout, made.state.range_map};

	for (uint32_t i = 0; i < 3; i++) {
		name(instance, DOTNET_FRAME_JIT, i ? MADE_OTHER : MADE_START, 0);
		name(instance, DOTNET_FRAME_COLLECTIBLE, i ? MADE_OTHER : MADE_START,
		     dotnet_method_check(&reader, made_method(&made, i)));
	}
	name(instance, DOTNET_FRAME_R2R, MADE_IMAGE + MADE_FUNCTION, 0);
	name(instance, DOTNET_FRAME_R2R, MADE_IMAGE + MADE_FUNCLET + 4, 0);
	name(instance, DOTNET_FRAME_STUB, MADE_OTHER, 0);
}

static void read_contract(const uint8_t *data, size_t size)
{
	struct dotnet_layout layout;

	if (!dotnet_layout_find(10, &layout))
		abort();
	if (dotnet_layout_publish(&layout, (const char *)data, size, NULL) == 0 &&
	    (layout.table_module > 24 || layout.chunk_table > 16 || layout.token_bits > 15))
		abort();
}

/* --- parsers by themselves -------------------------------------------------------------------------------- */

#define AT	  0x10000ull
#define MAX_INPUT 65536u

enum parser {
	PARSER_DEBUG_9,
	PARSER_DEBUG_10,
	PARSER_DEBUG_IMAGE,
	PARSER_SECTION,
	PARSER_PDB,
	PARSER_DEFLATED,
	PARSER_NAME,
	PARSER_SIGNATURE,
	PARSER_ARGUMENTS,
	PARSERS,
};

static void parse_debug(const struct dotnet_reader *reader, const struct dotnet_debug_info *info)
{
	static const uint32_t offsets[] = {0, 1, 0x10, 0x100, 0x10000, UINT32_MAX};
	struct dotnet_il ils[1 + DOTNET_MAX_INLINED];
	uint32_t n;

	for (size_t i = 0; i < EP_LEN(offsets); i++) {
		if (dotnet_debug_find(reader, info, offsets[i], ils, &n) == 0 && (n == 0 || n > EP_LEN(ils)))
			abort();
	}
}

static void parse_pdb(const struct dotnet_reader *reader, const uint8_t *data, size_t size)
{
	struct dotnet_metadata pdb;
	struct dotnet_point point;
	char path[256];

	if (size < DOTNET_PDB_ID_BYTES || dotnet_pdb_read(reader, data, &pdb) < 0)
		return;
	for (uint32_t rid = 0; rid < 64; rid++) {
		struct text_writer writer = {.buf = path, .size = sizeof(path)};

		if (dotnet_pdb_find(reader, &pdb, rid, 7 * rid, &point) == 0 && !point.line)
			abort();
		(void)dotnet_pdb_document(reader, &pdb, rid, &writer);
	}
}

static void parse_name(const uint8_t *data, size_t size)
{
	char name[256], buf[300];

	snprintf(name, sizeof(name), "%.*s", (int)size, (const char *)data);
	for (enum dotnet_part part = DOTNET_PART_METHOD; part <= DOTNET_PART_STEP; part++) {
		struct text_writer writer = {.buf = buf, .size = sizeof(buf)};

		(void)dotnet_friendly_is(part, name);
		dotnet_friendly_put(part, name, &writer);
		text_end(&writer, false);
	}
}

static uint32_t count(const char *text, char c)
{
	uint32_t n = 0;

	for (; *text; text++)
		n += *text == c;
	return n;
}

/* Whatever it is of: lists are whole or left out, and not everything is read. */
static void parse_signature(bool is_table, const uint8_t *data, size_t size)
{
	static struct made_signature of;
	char text[8192];

	made_signature_init(&of, 8 + size % 3);
	size = EP_MIN(size, (size_t)MADE_PARTS);
	if (is_table) {
		memcpy(of.types, data, size);
		of.method.kind = DOTNET_METHOD_INSTANTIATED;
	} else {
		made_say(&of, data, size);
	}
	if (made_text(&of, text, sizeof(text)) == 0 && strlen(text) < sizeof(text) - 8 &&
	    (count(text, '[') != count(text, ']') || count(text, '(') != count(text, ')')))
		abort();
	if (of.n_asked > 2 * 64 || of.memory.n_reads > 16384)
		abort();
}

static void parse(uint32_t parser, const uint8_t *data, size_t size)
{
	static uint8_t bytes[MAX_INPUT];
	struct dotnet_layout layout;
	struct fake_memory memory = {0};
	const struct dotnet_reader reader = {{fake_memory_read, &memory}, &layout, 0};
	struct dotnet_debug_info info = {.addr = AT, .has_flags = parser < PARSER_DEBUG_IMAGE, .is_packed = parser > 0};
	struct dotnet_pdb_place place = {.embedded = AT, .embedded_bytes = (uint32_t)size, .plain_bytes = MADE_PDB_BYTES};
	uint8_t *plain = NULL;
	uint64_t header = AT;

	size = EP_MIN(size, sizeof(bytes));
	memset(bytes, 0, sizeof(bytes));
	memcpy(bytes, data, size);
	if (!dotnet_layout_find(parser == PARSER_DEBUG_9 ? 9 : 10, &layout))
		abort();
	fake_memory_add(&memory, parser == PARSER_PDB ? 0 : AT, bytes, sizeof(bytes));
	fake_memory_add(&memory, AT + MAX_INPUT + layout.r2r_header, &header, sizeof(header));
	if (parser <= PARSER_DEBUG_IMAGE) {
		parse_debug(&reader, &info);
		info.has_sizes = info.has_flags && info.is_packed; /* the same bytes, as 11 has them */
		if (info.has_sizes)
			parse_debug(&reader, &info);
	} else if (parser == PARSER_SECTION) {
		for (uint32_t i = 0; i < 40; i++) {
			if (dotnet_debug_of_function(&reader, AT + MAX_INPUT, AT, i, &info) == 0)
				parse_debug(&reader, &info);
		}
	} else if (parser == PARSER_PDB) {
		parse_pdb(&reader, bytes + MADE_PDB_PDB, size);
	} else if (parser == PARSER_DEFLATED) {
		if (dotnet_pdb_inflate(&reader, &place, &plain) == 0)
			free(plain);
	} else if (parser == PARSER_NAME) {
		parse_name(data, size);
	} else {
		parse_signature(parser == PARSER_ARGUMENTS, data, size);
	}
}

/* Rules stay within the code. */
static void look_for_helpers(const uint8_t *data, size_t size)
{
	const struct fake_symbol section = {".text", {MADE_DATA, size}};
	struct ep_code_row rows[DOTNET_MAX_TRIP_ROWS];
	struct dotnet_helpers helpers;
	uint8_t *copy;
	int r;
	uint32_t n = dotnet_helpers_trip_rows(MADE_DATA, data, (uint32_t)size, rows, DOTNET_MAX_TRIP_ROWS);

	for (uint32_t i = 0; i < n; i++) {
		if (rows[i].va - MADE_DATA + rows[i].bytes > size || rows[i].cfa_off < 8)
			abort();
	}
	fake_host_init(&made.host, NULL, 0);
	made.host.sections = &section;
	made.host.n_sections = 1;
	copy = size ? malloc(size) : NULL;
	if (!copy)
		return;
	memcpy(copy, data, size);
	fake_memory_add(&made.host.contents, MADE_DATA, copy, size);
	r = dotnet_helpers_find(fake_host_services(&made.host), &made.host.file, &helpers);
	free(copy);
	if (r != 0)
		return;
	if ((helpers.trip && helpers.trip - MADE_DATA >= size) || (helpers.funclet && helpers.funclet - MADE_DATA > size))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	void *instance = NULL;

	if (size < 2)
		return 0;
	if (data[0] == 0xfe) {
		parse(data[1] % PARSERS, data + 2, size - 2);
		return 0;
	}
	if (data[0] == 0xfd) {
		look_for_helpers(data + 1, size - 1);
		return 0;
	}
	if (data[0] == 0xff) {
		read_contract(data + 1, size - 1);
		return 0;
	}
	made_init(&made, 8 + data[0] % 4);
	made.exe.is_host = data[1] & 1;
	if (data[1] & 2) { /* it is changed after it was attached to */
		if (dotnet_attach(&made.exe, &made.host.target, &instance) != 0)
			abort();
		change(data + 2, size - 2);
	} else {
		change(data + 2, size - 2);
		(void)dotnet_attach(&made.exe, &made.host.target, &instance);
	}
	if (instance) {
		name_all(instance);
		(void)dotnet_refresh(instance);
		name_all(instance);
		dotnet_detach(instance);
	}
	if (made.host.memory.n_reads > MAX_READS)
		abort();
	return 0;
}
