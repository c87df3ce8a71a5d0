/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/dotnet/symbolize/debug_info.h"

#include "core/base/util.h"
#include "plugins/dotnet/symbolize/bytes.h"

#include <errno.h>
#include <string.h>

#define MAX_INFO_BYTES (1u << 20) /* of one method */
#define MAX_LOCALS     (1u << 16)
#define MAX_ENTRIES    (1u << 17)
#define MAX_NODES      4096

enum flag {
	HAS_PATCHPOINT = 1,
	HAS_RICH = 2,
	FLAGS = 3,
};

#define UNINSTRUMENTED 0xffffffffu /* in place of the bounds' size: two more numbers (10) */
#define FAT_SIZES      5 /* variables, uninstrumented bounds, patchpoint, rich, async (11) */
#define FAT_RICH       3
#define IL_BIAS	       3u	   /* enum ICorDebugInfo::MappingTypes begins with -3 */

#define RICH_IL_FIRST                                                                              \
	((uint32_t)-2) /* what differences of IL offsets begin at: ICorDebugInfo::PROLOG */

/* --- bounds --------------------------------------------------------------------------------- */

/* The entry that holds is the last one at or below `native` that has an IL offset; before the
 * first: 0. */
static int find_in_bounds(struct dotnet_bytes *bytes, const struct dotnet_debug_info *info,
			  uint32_t native, uint32_t *ret_il)
{
	uint32_t n = dotnet_nibbles(bytes), native_bits = 0, il_bits = 0, at = 0, found = 0;

	if (info->is_packed) {
		native_bits = dotnet_nibbles(bytes) + 1;
		il_bits = dotnet_nibbles(bytes) + 1;
		dotnet_bytes_align(bytes);
	}
	if (bytes->result < 0 || n > MAX_ENTRIES || native_bits > 32 || il_bits > 32)
		return bytes->result < 0 ? bytes->result : -EBADMSG;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t il;

		if (info->is_packed) {
			(void)dotnet_bits(bytes, info->has_sizes ? 3 : 2);
			at += dotnet_bits(bytes, native_bits);
			il = dotnet_bits(bytes, il_bits);
		} else {
			at += dotnet_nibbles(bytes);
			il = dotnet_nibbles(bytes);
			(void)dotnet_nibbles(bytes);
		}
		if (bytes->result < 0)
			return bytes->result;
		if (at > native)
			break;
		if (il >= IL_BIAS)
			found = il - IL_BIAS;
	}
	*ret_il = found;
	return 0;
}

/* --- rich debug info ------------------------------------------------------------------------ */

struct node {
	uint64_t method;
	uint32_t child, sibling, parent;
};

static int read_nodes(struct dotnet_bytes *bytes, uint32_t n, struct node *nodes)
{
	int32_t child = 0, sibling = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t method = 0;

		for (uint32_t j = 0; j < 16; j++)
			method |= (uint64_t)dotnet_nibble(bytes) << (4 * j);
		(void)dotnet_nibbles_signed(bytes); /* where it was inlined: garbage in 10 */
		child = (int32_t)((uint32_t)child + (uint32_t)dotnet_nibbles_signed(bytes));
		sibling = (int32_t)((uint32_t)sibling + (uint32_t)dotnet_nibbles_signed(bytes));
		nodes[i] = (struct node){method, (uint32_t)child, (uint32_t)sibling, n};
	}
	for (uint32_t i = 0; bytes->result == 0 && i < n; i++) {
		uint32_t child_at = nodes[i].child;

		for (uint32_t steps = 0; child_at > 0 && child_at < n && steps < n; steps++) {
			if (nodes[child_at].parent != n) /* somebody's already: a circle */
				return -EBADMSG;
			nodes[child_at].parent = i;
			child_at = nodes[child_at].sibling;
		}
	}
	return bytes->result;
}

/*
 * The node at an offset, and in `ils` the IL offset that each node had last before it: what a
 * method was at when it went into one that is inlined in it.
 */
static int read_mappings(struct dotnet_bytes *bytes, uint32_t n, uint32_t n_nodes, uint32_t native,
			 uint32_t *ils, uint32_t *ret_node)
{
	uint32_t at = 0, node = 0, il = RICH_IL_FIRST;

	*ret_node = 0;
	for (uint32_t i = 0; i < n; i++) {
		at += dotnet_nibbles(bytes);
		node += (uint32_t)dotnet_nibbles_signed(bytes);
		il += (uint32_t)dotnet_nibbles_signed(bytes);
		(void)dotnet_nibbles(bytes);
		if (bytes->result < 0)
			return bytes->result;
		if (at > native)
			break;
		if (node >= n_nodes || (int32_t)il < 0)
			continue;
		ils[node] = il;
		*ret_node = node;
	}
	return 0;
}

static int find_inlined(struct dotnet_bytes *bytes, uint32_t native, struct dotnet_il *ret,
			uint32_t *ret_n)
{
	uint32_t n_nodes = dotnet_nibbles(bytes), n_mappings = dotnet_nibbles(bytes), at = 0, n = 0;
	ep_autofree struct node *nodes = NULL;
	ep_autofree uint32_t *ils = NULL;
	int r;

	if (bytes->result < 0 || n_nodes == 0 || n_nodes > MAX_NODES || n_mappings > MAX_ENTRIES)
		return bytes->result < 0 ? bytes->result : -EBADMSG;
	nodes = calloc(n_nodes, sizeof(*nodes));
	ils = calloc(n_nodes, sizeof(*ils));
	if (!nodes || !ils)
		return -ENOMEM;
	r = read_nodes(bytes, n_nodes, nodes);
	if (r == 0)
		r = read_mappings(bytes, n_mappings, n_nodes, native, ils, &at);
	if (r < 0)
		return r;
	while (at > 0 && at < n_nodes && n < DOTNET_MAX_INLINED) {
		ret[n++] = (struct dotnet_il){nodes[at].method, ils[at]};
		at = nodes[at].parent;
	}
	*ret_n = n;
	return 0;
}

/* --- both ----------------------------------------------------------------------------------- */

/* vm/ inc/patchpointinfo.h: PatchpointInfo; 10 has one more word. */
static uint32_t patchpoint_bytes(const struct dotnet_reader *reader, uint64_t addr, int *ret)
{
	uint32_t head = reader->layout->major >= 10 ? 40 : 32, n;

	*ret = memory_read(&reader->memory, addr + (head == 40 ? 16 : 8), &n, sizeof(n));
	if (*ret == 0 && n > MAX_LOCALS)
		*ret = -EBADMSG;
	return *ret == 0 ? head + 4 * n : 0;
}

/* What stands before the bounds. *ret_rich: 0, or where it begins. */
static int pass_extras(const struct dotnet_reader *reader, uint64_t *addr, uint64_t *ret_rich,
		       uint32_t *ret_bytes)
{
	uint8_t flags;
	int r = memory_read(&reader->memory, *addr, &flags, sizeof(flags));

	*ret_rich = 0;
	*addr += 1;
	if (r == 0 && flags & ~FLAGS)
		r = -EBADMSG;
	if (r == 0 && flags & HAS_PATCHPOINT)
		*addr += patchpoint_bytes(reader, *addr, &r);
	if (r == 0 && flags & HAS_RICH) {
		r = memory_read(&reader->memory, *addr, ret_bytes, sizeof(*ret_bytes));
		if (r == 0 && *ret_bytes > MAX_INFO_BYTES)
			r = -EBADMSG;
		*ret_rich = *addr + 4;
		*addr += 4ull + *ret_bytes;
	}
	return r;
}

/*
 * The sizes that 11 has in place of flags: of bounds and variables, or 0, and those of all parts.
 * The bounds are next. *ret_rich: 0, or where it begins.
 */
static uint32_t read_sizes(struct dotnet_bytes *bytes, uint64_t *ret_rich, uint32_t *ret_bytes)
{
	uint32_t n_bytes = dotnet_nibbles(bytes), others[FAT_SIZES] = {0};
	bool is_fat = n_bytes == 0;

	*ret_rich = 0;
	n_bytes = is_fat ? dotnet_nibbles(bytes) : n_bytes;
	for (uint32_t i = 0; i < (is_fat ? FAT_SIZES : 1); i++)
		others[i] = dotnet_nibbles(bytes);
	dotnet_bytes_align(bytes);
	*ret_bytes = others[FAT_RICH];
	if (bytes->result < 0 || !others[FAT_RICH] || others[FAT_RICH] > MAX_INFO_BYTES)
		return n_bytes;
	*ret_rich = dotnet_bytes_addr(bytes) + n_bytes;
	for (uint32_t i = 0; i < FAT_RICH; i++)
		*ret_rich += others[i];
	return n_bytes;
}

/* The same of 8, 9 and 10. */
static uint32_t read_size(struct dotnet_bytes *bytes)
{
	uint32_t n_bytes = dotnet_nibbles(bytes);

	if (n_bytes == UNINSTRUMENTED) {
		n_bytes = dotnet_nibbles(bytes);
		(void)dotnet_nibbles(bytes);
	}
	(void)dotnet_nibbles(bytes); /* of variables */
	dotnet_bytes_align(bytes);
	return n_bytes;
}

int dotnet_debug_find(const struct dotnet_reader *reader, const struct dotnet_debug_info *info,
		      uint32_t native, struct dotnet_il *ret, uint32_t *ret_n)
{
	struct dotnet_bytes bytes, rich_part;
	uint64_t addr = info->addr, rich = 0;
	uint32_t n_bytes, rich_bytes = 0;
	int r = 0;

	*ret_n = 0;
	if (!addr)
		return -ENODATA;
	if (info->has_flags && !info->has_sizes)
		r = pass_extras(reader, &addr, &rich, &rich_bytes);
	if (r < 0)
		return r;
	dotnet_bytes_init(&bytes, &reader->memory, addr, MAX_INFO_BYTES);
	n_bytes = info->has_sizes ? read_sizes(&bytes, &rich, &rich_bytes) : read_size(&bytes);
	if (rich) {
		dotnet_bytes_init(&rich_part, &reader->memory, rich, rich_bytes);
		r = find_inlined(&rich_part, native, ret, ret_n);
		if (r == -ESRCH || r == -ETIME)
			return r;
		if (r < 0) /* the lines of the method are there all the same */
			*ret_n = 0;
	}
	if (bytes.result < 0 || n_bytes > MAX_INFO_BYTES)
		return bytes.result < 0 ? bytes.result : -EBADMSG;
	if (!n_bytes)
		return -ENODATA;
	ret[*ret_n] = (struct dotnet_il){0};
	r = find_in_bounds(&bytes, info, native, &ret[*ret_n].offset);
	*ret_n += 1;
	return r;
}

int dotnet_debug_is_rich(const struct dotnet_reader *reader, const struct dotnet_debug_info *info)
{
	uint8_t flags = 0;
	struct dotnet_bytes bytes;
	uint64_t rich = 0;
	uint32_t n_bytes;
	int r;

	if (info->addr && info->has_sizes) {
		dotnet_bytes_init(&bytes, &reader->memory, info->addr, MAX_INFO_BYTES);
		(void)read_sizes(&bytes, &rich, &n_bytes);
		return bytes.result < 0 ? bytes.result : rich != 0;
	}
	r = info->addr && info->has_flags
			? memory_read(&reader->memory, info->addr, &flags, sizeof(flags))
			: 0;

	return r < 0 ? r : (flags & HAS_RICH) != 0;
}

int dotnet_debug_of_header(const struct dotnet_reader *reader, uint64_t header,
			   struct dotnet_debug_info *ret)
{
	*ret = (struct dotnet_debug_info){
		.has_flags = true,
		.is_packed = reader->layout->major >= 10,
		.has_sizes = reader->layout->major >= 11,
	};
	return dotnet_read_word(reader, header + reader->layout->header_debug, &ret->addr);
}

/* --- images --------------------------------------------------------------------------------- */

#define R2R_SIGNATURE	0x00525452u /* "RTR" */
#define R2R_DEBUG_INFO	105u
#define R2R_PACKED	16u /* major version of the image from which bounds are packed */
#define R2R_NEWEST	16u /* whose form is known: 10's; 11's images have 26 */
#define R2R_HEAD_WORDS	4
#define MAX_SECTIONS	64u
#define BLOCK_ENTRIES	16u /* vm/nativeformatreader.h: NativeArray::_blockSize */

/* vm/nativeformatreader.h: NativeReader::DecodeUnsigned: low bits that are 1 say how many bytes
 * follow. */
static uint32_t native_number(struct dotnet_bytes *bytes)
{
	uint32_t first = dotnet_byte(bytes), n = (uint32_t)__builtin_ctz(~first);
	uint32_t value = first >> (n + 1);

	if (n >= 4) /* all of it follows */
		return dotnet_u32(bytes);
	for (uint32_t i = 0; i < n; i++)
		value |= (uint32_t)dotnet_byte(bytes) << (8 * i + 7 - n);
	return value;
}

static int number_at(const struct dotnet_reader *reader, uint64_t addr, uint32_t *ret,
		     uint64_t *ret_next)
{
	struct dotnet_bytes bytes;

	dotnet_bytes_init(&bytes, &reader->memory, addr, 5);
	*ret = native_number(&bytes);
	*ret_next = dotnet_bytes_addr(&bytes);
	return bytes.result;
}

/* A block of 16 is a binary tree, whose nodes say whether they have a left and a right part, and
 * where that is. */
static int find_element(const struct dotnet_reader *reader, uint64_t at, uint32_t index,
			uint64_t *ret)
{
	for (uint32_t bit = BLOCK_ENTRIES >> 1; bit; bit >>= 1) {
		uint32_t value;
		uint64_t next;
		int r = number_at(reader, at, &value, &next);

		if (r < 0)
			return r;
		if (index & bit && value & 2) {
			at += value >> 2;
		} else if (!(index & bit) && value & 1) {
			at = next;
		} else if (!(value & 3) &&
			   value >> 2 == (index & (BLOCK_ENTRIES - 1))) { /* the only one below */
			at = next;
			break;
		} else {
			return -ENODATA;
		}
	}
	*ret = at;
	return 0;
}

static int find_in_array(const struct dotnet_reader *reader, uint64_t array, uint32_t index,
			 uint64_t *ret)
{
	uint32_t head, width, off = 0;
	uint64_t blocks;
	int r = number_at(reader, array, &head, &blocks);

	if (r < 0)
		return r;
	if (index >= head >> 2 || (head & 3) > 2)
		return index >= head >> 2 ? -ENODATA : -EBADMSG;
	width = 1u << (head & 3);
	r = memory_read(&reader->memory, blocks + (uint64_t)(index / BLOCK_ENTRIES) * width, &off,
			width);
	return r == 0 ? find_element(reader, blocks + off, index, ret) : r;
}

/* inc/readytorun.h: READYTORUN_HEADER, READYTORUN_SECTION, v8.0.0. */
static int find_section(const struct dotnet_reader *reader, uint64_t header, uint32_t kind,
			uint32_t *ret_rva, uint32_t *ret_major)
{
	uint32_t head[R2R_HEAD_WORDS], sections[3 * MAX_SECTIONS];
	int r = memory_read(&reader->memory, header, head, sizeof(head));

	if (r == 0 && (head[0] != R2R_SIGNATURE || head[3] > MAX_SECTIONS))
		r = -EBADMSG;
	if (r == 0)
		r = memory_read(&reader->memory, header + sizeof(head), sections,
				12 * (size_t)head[3]);
	if (r < 0)
		return r;
	*ret_major = head[1] & 0xffff;
	for (uint32_t i = 0; i < head[3]; i++) {
		if (sections[3 * i] == kind) {
			*ret_rva = sections[3 * i + 1];
			return 0;
		}
	}
	return -ENODATA;
}

int dotnet_debug_of_function(const struct dotnet_reader *reader, uint64_t info, uint64_t base,
			     uint32_t index, struct dotnet_debug_info *ret)
{
	uint64_t header, entry, next;
	uint32_t rva, major, back;
	int r = dotnet_read_word(reader, info + reader->layout->r2r_header, &header);

	if (r == 0)
		r = find_section(reader, header, R2R_DEBUG_INFO, &rva, &major);
	if (r == 0 && major > R2R_NEWEST)
		r = -ENOTSUP;
	if (r == 0)
		r = find_in_array(reader, base + rva, index, &entry);
	if (r == 0)
		r = number_at(reader, entry, &back, &next);
	if (r == 0)
		*ret = (struct dotnet_debug_info){.addr = back ? entry - back : next,
						  .is_packed = major >= R2R_PACKED};
	return r;
}
