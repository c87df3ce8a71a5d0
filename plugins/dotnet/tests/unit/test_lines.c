/* SPDX-License-Identifier: Apache-2.0 */
/* From an offset in code to a line: DebugInfo in its forms, section 105 of images, portable PDBs. */
#include "core/base/util.h"
#include "plugins/dotnet/symbolize/debug_info.h"
#include "plugins/dotnet/symbolize/plain.h"
#include "plugins/dotnet/tests/unit/made_dotnet.h"
#include "plugins/dotnet/tests/unit/made_pdb.h"
#include "tests/kit/test.h"

#include <errno.h>
#include <zlib.h>

#define AT 0x5000ull
#define N_ENTRIES 6

static struct fake_memory memory;
static struct dotnet_layout layout;
static const struct dotnet_reader reader = {{fake_memory_read, &memory}, &layout, 0};

/* Native and IL offsets: a prologue, statements, code of none, a call far away, an epilogue. */
static const int32_t entries[N_ENTRIES][2] = {{0, -2}, {8, 0}, {0x20, 7}, {0x28, -1}, {0x400, 0x123}, {0x410, -3}};

/* source_bits: 0: nibbles; 10 has 2, 11 has 3. */
static void put_bounds(struct made_bytes *bounds, uint32_t source_bits)
{
	made_nibbles(bounds, N_ENTRIES);
	if (source_bits) {
		made_nibbles(bounds, 10 - 1);
		made_nibbles(bounds, 9 - 1);
		made_align(bounds);
	}
	for (uint32_t i = 0; i < N_ENTRIES; i++) {
		uint32_t delta = (uint32_t)(entries[i][0] - (i ? entries[i - 1][0] : 0));

		if (source_bits) {
			made_bits(bounds, 1, source_bits);
			made_bits(bounds, delta, 10);
			made_bits(bounds, (uint32_t)(entries[i][1] + 3), 9);
		} else {
			made_nibbles(bounds, delta);
			made_nibbles(bounds, (uint32_t)(entries[i][1] + 3));
			made_nibbles(bounds, 1);
		}
	}
}

/* After flags and what they say: `before` bytes, which are there already. */
static void put_info(struct made_bytes *info, bool is_packed)
{
	struct made_bytes bounds = {0};

	put_bounds(&bounds, is_packed ? 2 : 0);
	made_nibbles(info, bounds.n);
	made_nibbles(info, 0);
	made_align(info);
	memcpy(info->at + info->n, bounds.at, bounds.n);
	info->n += bounds.n;
}

static void give(struct made_bytes *info, uint32_t major)
{
	memset(&memory, 0, sizeof(memory));
	fake_memory_add(&memory, AT, info->at, sizeof(info->at));
	assert_true(dotnet_layout_find(major, &layout));
}

static int find(const struct dotnet_debug_info *info, uint32_t native, struct dotnet_il *ils, uint32_t *n)
{
	return dotnet_debug_find(&reader, info, native, ils, n);
}

static const uint32_t offsets[][2] = {{0, 0}, {7, 0}, {8, 0}, {0x1f, 0}, {0x20, 7}, {0x28, 7}, {0x3ff, 7},
				      {0x400, 0x123}, {0x410, 0x123}, {0x9999, 0x123}};

static void check_offsets(const struct dotnet_debug_info *info)
{
	struct dotnet_il ils[1 + DOTNET_MAX_INLINED];
	uint32_t n;

	for (size_t i = 0; i < EP_LEN(offsets); i++) {
		assert_int_equal(find(info, offsets[i][0], ils, &n), 0);
		assert_int_equal(n, 1);
		assert_int_equal(ils[0].offset, offsets[i][1]);
	}
}

/* Each release, with and without PatchpointInfo of three locals before it. */
EP_TEST_EACH(the_last_entry_with_an_offset_holds, uint32_t, i, 6)
{
	uint32_t major = 8 + i % 3, head = major >= 10 ? 40 : 32;
	const struct dotnet_debug_info info = {.addr = AT, .has_flags = true, .is_packed = major >= 10};
	struct made_bytes bytes = {0};

	made_byte(&bytes, i >= 3);
	if (i >= 3) {
		bytes.at[bytes.n + (major >= 10 ? 16 : 8)] = 3;
		bytes.n += head + 4 * 3;
	}
	put_info(&bytes, major >= 10);
	give(&bytes, major);
	check_offsets(&info);
}

/* 11: the sizes of two parts, or of all: then bounds that were not instrumented and the others follow. */
EP_TEST_EACH(the_sizes_of_11_come_before_its_bounds, uint32_t, is_fat, 2)
{
	const struct dotnet_debug_info info = {.addr = AT, .has_flags = true, .is_packed = true, .has_sizes = true};
	struct made_bytes bytes = {0}, bounds = {0};

	put_bounds(&bounds, 3);
	if (is_fat)
		made_nibbles(&bytes, 0);
	made_nibbles(&bytes, bounds.n);
	made_nibbles(&bytes, 5); /* of variables */
	for (uint32_t i = 0; is_fat && i < 4; i++)
		made_nibbles(&bytes, i == 2 ? 0 : 9);
	made_align(&bytes);
	memcpy(bytes.at + bytes.n, bounds.at, bounds.n);
	bytes.n += bounds.n;
	give(&bytes, 11);
	check_offsets(&info);
	assert_int_equal(dotnet_debug_is_rich(&reader, &info), 0);
}

/* Each byte that is missing is an error, and nothing else. */
EP_TEST_EACH(what_ends_early_has_no_line, uint32_t, i, 2)
{
	const struct dotnet_debug_info info = {.addr = AT, .has_flags = true, .is_packed = i};
	struct dotnet_il ils[1 + DOTNET_MAX_INLINED];
	struct made_bytes bytes = {0};
	uint32_t n, whole;

	made_byte(&bytes, 0);
	put_info(&bytes, i);
	whole = bytes.n;
	for (bytes.n = 0; bytes.n < whole; bytes.n++) {
		memset(&memory, 0, sizeof(memory));
		assert_true(dotnet_layout_find(9 + i, &layout));
		fake_memory_add(&memory, AT + 4096 - bytes.n, bytes.at, bytes.n);
		assert_true(find(&(struct dotnet_debug_info){AT + 4096 - bytes.n, true, i, false}, 0x9999, ils, &n) < 0);
	}
	bytes.n = 1;
	bytes.at[0] = 4; /* a flag of a later release */
	give(&bytes, 9 + i);
	assert_int_equal(find(&info, 0, ils, &n), -EBADMSG);
	assert_int_equal(find(&(struct dotnet_debug_info){0}, 0, ils, &n), -ENODATA);
}

struct mapping {
	uint32_t native;
	int32_t node, il;
};

/* Node 1 is inlined at IL 7 of the method, node 2 in it; node 3 in the method again. */
static void put_rich(struct made_bytes *info, const uint64_t methods[4])
{
	static const int32_t links[4][2] = {{1, 0}, {2, 3}, {0, 0}, {0, 0}}; /* child, sibling */
	static const struct mapping mappings[] = {{0, 0, -2}, {8, 0, 7}, {0x10, 1, 1}, {0x18, 2, 5}, {0x20, 1, 2},
						  {0x28, 0, 9}, {0x30, 3, 0}, {0x38, 3, -1}, {0x40, 0, 11}};
	struct made_bytes rich = {0};
	struct mapping last = {.il = -2};
	int32_t child = 0, sibling = 0;

	made_nibbles(&rich, 4);
	made_nibbles(&rich, EP_LEN(mappings));
	for (uint32_t i = 0; i < 4; i++) {
		for (uint32_t j = 0; j < 16; j++)
			made_one_nibble(&rich, methods[i] >> (4 * j) & 15);
		made_nibbles_signed(&rich, -12345); /* garbage */
		made_nibbles_signed(&rich, links[i][0] - child);
		made_nibbles_signed(&rich, links[i][1] - sibling);
		child = links[i][0];
		sibling = links[i][1];
	}
	for (uint32_t i = 0; i < EP_LEN(mappings); i++) {
		made_nibbles(&rich, mappings[i].native - last.native);
		made_nibbles_signed(&rich, mappings[i].node - last.node);
		made_nibbles_signed(&rich, mappings[i].il - last.il);
		made_nibbles(&rich, 0);
		last = mappings[i];
	}
	made_byte(info, 2);
	made_u32(info->at + info->n, rich.n);
	info->n += 4;
	memcpy(info->at + info->n, rich.at, rich.n);
	info->n += rich.n;
}

EP_TEST(what_is_inlined_is_found_with_its_callers)
{
	static const uint64_t methods[4] = {0x1000, 0x2008, 0x7f0012345678, 0x4018};
	static const struct {
		uint32_t native, n;
		struct dotnet_il ils[2];
	} rows[] = {
		{0x8, 1, {{0}}},
		{0x10, 2, {{0x2008, 1}}},
		{0x1f, 3, {{0x7f0012345678, 5}, {0x2008, 1}}},
		{0x20, 2, {{0x2008, 2}}},
		{0x28, 1, {{0}}},
		{0x30, 2, {{0x4018, 0}}},
		{0x3c, 2, {{0x4018, 0}}},
		{0x44, 1, {{0}}},
	};
	const struct dotnet_debug_info info = {.addr = AT, .has_flags = true, .is_packed = true};
	struct dotnet_il ils[1 + DOTNET_MAX_INLINED];
	struct made_bytes bytes = {0};
	uint32_t n;

	put_rich(&bytes, methods);
	put_info(&bytes, true);
	give(&bytes, 10);
	for (size_t i = 0; i < EP_LEN(rows); i++) {
		assert_int_equal(find(&info, rows[i].native, ils, &n), 0);
		assert_int_equal(n, rows[i].n);
		for (uint32_t j = 0; j + 1 < n; j++) {
			assert_int_equal(ils[j].method, rows[i].ils[j].method);
			assert_int_equal(ils[j].offset, rows[i].ils[j].offset);
		}
		assert_int_equal(ils[n - 1].method, 0);
	}
}

/* 11: what was inlined is after bounds, variables, and PatchpointInfo. */
EP_TEST(inlined_methods_of_11_are_behind_the_bounds)
{
	static const uint64_t methods[] = {0x1000, 0x2008, 0x7f0012345678, 0x4018};
	const struct dotnet_debug_info info = {.addr = AT, .has_flags = true, .is_packed = true, .has_sizes = true};
	struct dotnet_il ils[1 + DOTNET_MAX_INLINED];
	struct made_bytes bytes = {0}, bounds = {0}, rich = {0};
	uint32_t n;

	put_bounds(&bounds, 3);
	put_rich(&rich, methods);
	made_nibbles(&bytes, 0);
	made_nibbles(&bytes, bounds.n);
	made_nibbles(&bytes, 2);
	made_nibbles(&bytes, 0);
	made_nibbles(&bytes, 3);
	made_nibbles(&bytes, rich.n - 5); /* without 10's flags and size */
	made_nibbles(&bytes, 0);
	made_align(&bytes);
	memcpy(bytes.at + bytes.n, bounds.at, bounds.n);
	bytes.n += bounds.n + 2 + 3;
	memcpy(bytes.at + bytes.n, rich.at + 5, rich.n - 5);
	bytes.n += rich.n - 5;
	give(&bytes, 11);
	assert_int_equal(dotnet_debug_is_rich(&reader, &info), 1);
	assert_int_equal(find(&info, 0x1f, ils, &n), 0);
	assert_int_equal(n, 3);
	assert_int_equal(ils[0].method, 0x7f0012345678);
	assert_int_equal(ils[1].method, 0x2008);
	assert_int_equal(ils[2].offset, 0);
}

/* A tree that is a circle: the method's lines stay. */
EP_TEST(a_circle_of_inlined_methods_is_left_out)
{
	const struct dotnet_debug_info info = {.addr = AT, .has_flags = true, .is_packed = true};
	struct dotnet_il ils[1 + DOTNET_MAX_INLINED];
	struct made_bytes bytes = {0}, rich = {0};
	uint32_t n;

	made_nibbles(&rich, 3);
	made_nibbles(&rich, 0);
	for (uint32_t i = 0; i < 3; i++) {
		for (uint32_t j = 0; j < 16; j++)
			made_one_nibble(&rich, 1);
		made_nibbles_signed(&rich, 0);
		made_nibbles_signed(&rich, i == 0 ? 1 : 0); /* everybody's child is node 1, its sibling is it itself */
		made_nibbles_signed(&rich, i == 1 ? 1 : 0);
	}
	made_byte(&bytes, 2);
	made_u32(bytes.at + bytes.n, rich.n);
	bytes.n += 4;
	memcpy(bytes.at + bytes.n, rich.at, rich.n);
	bytes.n += rich.n;
	put_info(&bytes, true);
	give(&bytes, 10);
	assert_int_equal(find(&info, 0x20, ils, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(ils[0].offset, 7);
}

/* Of functions 0, 2 and 17 of 18; that of 2 is a reference to that of 0. */
EP_TEST_EACH(images_have_theirs_in_section_105, uint32_t, i, 2)
{
	const uint64_t base = 0x100000, header = base + 0x100, section = base + 0x200;
	static uint8_t image[0x1000];
	struct made_bytes debug = {0}, other = {0};
	struct dotnet_debug_info found;
	uint64_t info_word = header;
	uint8_t info[0x40] = {0};

	memset(image, 0, sizeof(image));
	memset(&memory, 0, sizeof(memory));
	assert_true(dotnet_layout_find(10, &layout));
	memcpy(info + layout.r2r_header, &info_word, 8);
	made_u32(image + 0x100, 0x00525452);
	image[0x104] = i ? 16 : 10;
	made_u32(image + 0x10c, 2);
	made_u32(image + 0x110, 102);
	made_u32(image + 0x11c, 105);
	made_u32(image + 0x120, 0x200);
	image[0x200] = 18 << 3; /* 18 entries << 2 of u8 offsets, and bit 0: one byte */
	image[0x201] = 2;	/* of two blocks, from here on */
	image[0x202] = 0x60;
	/* The first one: 8, 4: left alone; 2: left, and right at 0x40; 1: only number 0 */
	image[0x203] = 1 << 1;
	image[0x204] = 1 << 1;
	image[0x205] = (uint8_t)((3 | 0x10 << 2) << 1);
	image[0x206] = (0 << 2) << 1;
	image[0x207] = 0; /* data follows */
	put_info(&debug, i);
	put_info(&other, i);
	memcpy(image + 0x300, debug.at, debug.n);
	image[0x215] = (2 << 2) << 1; /* only number 2 */
	image[0x216] = (uint8_t)(0x0f << 1);
	/* The second one: only number 17, at once */
	image[0x261] = (1 << 2) << 1;
	image[0x262] = 0;
	memcpy(image + 0x263, other.at, other.n);
	fake_memory_add(&memory, base, image, sizeof(image));
	fake_memory_add(&memory, AT, info, sizeof(info));
	assert_int_equal(dotnet_debug_of_function(&reader, AT, base, 0, &found), 0);
	assert_int_equal(found.addr, base + 0x208);
	assert_int_equal(found.is_packed, i);
	assert_int_equal(dotnet_debug_of_function(&reader, AT, base, 2, &found), 0);
	assert_int_equal(found.addr, base + 0x216 - 0x0f);
	assert_int_equal(dotnet_debug_of_function(&reader, AT, base, 17, &found), 0);
	assert_int_equal(found.addr, section + 0x63);
	check_offsets(&found);
	assert_int_equal(dotnet_debug_of_function(&reader, AT, base, 1, &found), -ENODATA);
	assert_int_equal(dotnet_debug_of_function(&reader, AT, base, 16, &found), -ENODATA);
	assert_int_equal(dotnet_debug_of_function(&reader, AT, base, 18, &found), -ENODATA);
	image[0x104] = 26; /* 11's, whose form is not known */
	assert_int_equal(dotnet_debug_of_function(&reader, AT, base, 0, &found), -ENOTSUP);
}

/* --- PDBs ------------------------------------------------------------------------------------------------------ */

static uint8_t pdb_bytes[MADE_PDB_BYTES];
static const uint8_t id[20] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};

static void begin_pdb(struct dotnet_metadata *pdb)
{
	made_pdb(pdb_bytes, id);
	memset(&memory, 0, sizeof(memory));
	fake_memory_add(&memory, 0, pdb_bytes, sizeof(pdb_bytes));
	assert_int_equal(dotnet_pdb_read(&reader, id, pdb), 0);
}

EP_TEST(an_offset_of_il_has_the_last_point_that_is_shown)
{
	static const uint32_t points[][4] = {/* IL, line, column, document */
					     {0, 10, 5, 1}, {2, 10, 5, 1}, {3, 12, 9, 1}, {5, 12, 9, 1}, {8, 12, 9, 1},
					     {9, 7, 1, 2}, {0x7f, 7, 1, 2}, {0x80, 300, 1, 2}, {0xffff, 300, 1, 2}};
	struct dotnet_metadata pdb;
	struct dotnet_point point;
	char path[64];
	struct text_writer writer = {.buf = path, .size = sizeof(path)};

	begin_pdb(&pdb);
	for (size_t i = 0; i < EP_LEN(points); i++) {
		assert_int_equal(dotnet_pdb_find(&reader, &pdb, 2, points[i][0], &point), 0);
		assert_int_equal(point.line, points[i][1]);
		assert_int_equal(point.column, points[i][2]);
		assert_int_equal(point.document, points[i][3]);
		assert_int_equal(point.start_line, 10);
	}
	assert_int_equal(dotnet_pdb_find(&reader, &pdb, 1, 0, &point), -ENODATA);
	assert_int_equal(dotnet_pdb_find(&reader, &pdb, 3, 0, &point), -EBADMSG);
	assert_int_equal(dotnet_pdb_document(&reader, &pdb, 2, &writer), 0);
	text_end(&writer, false);
	assert_string_equal(path, "/src/two.cs");
}

EP_TEST(another_ones_pdb_is_none)
{
	struct dotnet_metadata pdb;
	uint8_t other[20];

	begin_pdb(&pdb);
	memcpy(other, id, sizeof(other));
	other[19]++;
	assert_int_equal(dotnet_pdb_read(&reader, other, &pdb), -EBADMSG);
	memcpy(pdb_bytes + 40, "#Pdx", 4);
	assert_int_equal(dotnet_pdb_read(&reader, id, &pdb), -EBADMSG);
}

/* What says that it will have more bytes than it has, or has more, or is much too large. */
EP_TEST(what_is_deflated_has_the_bytes_that_it_says)
{
	static uint8_t packed[2048];
	struct dotnet_pdb_place place = {.embedded = AT, .plain_bytes = MADE_PDB_BYTES};
	ep_autofree uint8_t *plain = NULL;
	z_stream stream = {.next_in = pdb_bytes, .avail_in = MADE_PDB_BYTES, .next_out = packed, .avail_out = sizeof(packed)};

	made_pdb(pdb_bytes, id);
	assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	place.embedded_bytes = (uint32_t)stream.total_out;
	deflateEnd(&stream);
	memset(&memory, 0, sizeof(memory));
	fake_memory_add(&memory, AT, packed, sizeof(packed));
	assert_int_equal(dotnet_pdb_inflate(&reader, &place, &plain), 0);
	assert_memory_equal(plain, pdb_bytes, MADE_PDB_BYTES);
	free(ep_take(plain));
	place.plain_bytes--;
	assert_int_equal(dotnet_pdb_inflate(&reader, &place, &plain), -EBADMSG);
	place.plain_bytes += 2;
	assert_int_equal(dotnet_pdb_inflate(&reader, &place, &plain), -EBADMSG);
	place.plain_bytes = DOTNET_PDB_MAX_PLAIN + 1;
	assert_int_equal(dotnet_pdb_inflate(&reader, &place, &plain), -E2BIG);
}

/* --- those that were inflated ------------------------------------------------------------------------------------- */

static const struct dotnet_plain *put(uint8_t first, uint32_t n, uint64_t now_ns)
{
	uint8_t *bytes = calloc(1, n);

	assert_non_null(bytes);
	bytes[n - 1] = first;
	return dotnet_plain_put(bytes, n, now_ns);
}

EP_TEST(what_is_equal_is_there_once)
{
	const struct dotnet_plain *one, *same, *other;

	dotnet_plain_enter();
	one = put(1, 1000, 1);
	same = put(1, 1000, 1);
	other = put(2, 1000, 1);
	assert_ptr_equal(one, same);
	assert_ptr_not_equal(one, other);
	assert_int_equal(dotnet_plain_total(), 2000);
	assert_null(dotnet_plain_get(0, 1));
	assert_ptr_equal(dotnet_plain_get(one->number, 1), one);
	for (uint32_t i = 0; i < 3; i++)
		dotnet_plain_unref(one);
	dotnet_plain_unref(other);
	assert_int_equal(dotnet_plain_total(), 2000);
	dotnet_plain_leave();
	assert_int_equal(dotnet_plain_total(), 0);
}

/* What was used longest ago goes first, and is whole as long as somebody reads it. */
EP_TEST(all_that_was_inflated_has_a_bound)
{
	const struct dotnet_plain *of[4];
	uint64_t numbers[4];

	dotnet_plain_enter();
	for (uint8_t i = 0; i < 2; i++) {
		of[i] = put(i, DOTNET_PDB_MAX_PLAIN, i);
		numbers[i] = of[i]->number;
	}
	assert_int_equal(dotnet_plain_total(), DOTNET_PLAIN_BYTES);
	dotnet_plain_unref(of[0]);
	dotnet_plain_unref(dotnet_plain_get(numbers[0], 2)); /* so the other one is older */
	of[2] = put(2, 1, 3);
	assert_int_equal(dotnet_plain_total(), DOTNET_PLAIN_BYTES + 1);
	assert_int_equal(of[1]->bytes[DOTNET_PDB_MAX_PLAIN - 1], 1);
	assert_null(dotnet_plain_get(numbers[1], 3));
	dotnet_plain_unref(of[1]);
	assert_int_equal(dotnet_plain_total(), DOTNET_PDB_MAX_PLAIN + 1);
	of[0] = dotnet_plain_get(numbers[0], 3);
	assert_non_null(of[0]);
	dotnet_plain_leave();
	assert_int_equal(of[0]->bytes[0], 0);
	dotnet_plain_unref(of[0]);
	dotnet_plain_unref(of[2]);
	assert_int_equal(dotnet_plain_total(), 0);
}

/* A clock that another thread read earlier is no reason. */
EP_TEST(what_was_not_used_for_a_minute_goes)
{
	uint64_t one, other;
	const struct dotnet_plain *plain;

	dotnet_plain_enter();
	plain = put(1, 1000, 1000);
	one = plain->number;
	dotnet_plain_unref(plain);
	plain = put(2, 1000, 500);
	other = plain->number;
	dotnet_plain_unref(plain);
	plain = dotnet_plain_get(one, 1000 + DOTNET_PLAIN_STAY_NS);
	assert_non_null(plain);
	dotnet_plain_unref(plain);
	assert_int_equal(dotnet_plain_total(), 1000);
	assert_null(dotnet_plain_get(other, 500));
	assert_null(dotnet_plain_get(0, 1001 + 2 * DOTNET_PLAIN_STAY_NS));
	assert_int_equal(dotnet_plain_total(), 0);
	dotnet_plain_leave();
}
