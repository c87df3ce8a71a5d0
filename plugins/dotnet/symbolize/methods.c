/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/dotnet/symbolize/methods.h"

#include "core/base/util.h"
#include "plugins/shared/search.h"

#include <errno.h>
#include <string.h>

#define MAX_BUCKETS	 (1u << 24)
#define MAX_PROBES	 64
#define MAX_FUNCLETS_BACK 64

/* MethodTable's flags (vm/methodtable.h: WFLAGS_HIGH_ENUM, WFLAGS2_ENUM, v8.0.0). */
#define HAS_COMPONENT_SIZE 0x80000000u
#define GENERICS_MASK	   0x30u
#define SLOTS_MASK	   0xfu
#define HAS_MODULE_SLOT	   0x10u
#define RID_UNKNOWN_8	   0xffffu /* it did not fit into 16 bits */

static uint16_t get_u16(const void *bytes, size_t off)
{
	uint16_t value;

	memcpy(&value, (const char *)bytes + off, sizeof(value));
	return value;
}

static uint32_t get_u32(const void *bytes, size_t off)
{
	return ep_get_u32((const char *)bytes + off);
}

static uint64_t get_u64(const void *bytes, size_t off)
{
	return ep_get_u64((const char *)bytes + off);
}

/* --- a method and its owner ----------------------------------------------------------------- */

/*
 * To 8 the word is the loader's module, another one than the definition's where a type argument is
 * collectible. Then the canonical MethodTable has a slot for it among its optional members
 * (vm/methodtable.h: GetModuleOverridePtr, v8.0.0).
 */
static int find_module_8(const struct dotnet_reader *reader, struct dotnet_method *method)
{
	const struct dotnet_layout *layout = reader->layout;
	struct dotnet_method owner = *method;
	uint32_t slots, virtuals;
	uint64_t canonical;
	int r = 0;

	if (!(get_u32(method->table_words, layout->table_flags) &
	      (HAS_COMPONENT_SIZE | GENERICS_MASK)))
		return 0;
	r = dotnet_read_word(reader, method->table + layout->table_canonical, &canonical);
	if (r == 0 && canonical & 1) {
		owner.table = canonical & ~1ull;
		r = dotnet_method_read_table(reader, &owner);
	}
	if (r < 0)
		return r;
	slots = get_u16(owner.table_words, layout->table_flags2);
	virtuals = get_u16(owner.table_words, layout->table_virtuals);
	if (!(slots & HAS_MODULE_SLOT)) {
		method->module = get_u64(owner.table_words, layout->table_module);
		return 0;
	}
	slots = (uint32_t)__builtin_popcount(slots & SLOTS_MASK);
	return dotnet_read_word(
		reader,
		owner.table + (slots < 2 ? 0x30 + 8 * slots
					 : 0x40 + 8 * ((virtuals + 7) / 8) + 8 * (slots - 2)),
		&method->module);
}

int dotnet_method_read_table(const struct dotnet_reader *reader, struct dotnet_method *method)
{
	return memory_read(&reader->memory, method->table, method->table_words,
			   sizeof(method->table_words));
}

int dotnet_method_find_owner(const struct dotnet_reader *reader, struct dotnet_method *method)
{
	const struct dotnet_layout *layout = reader->layout;

	method->module = get_u64(method->table_words, layout->table_module);
	if (layout->major == 8) {
		method->type_rid = get_u16(method->table_words, layout->table_flags2 + 2);
		if (method->type_rid == RID_UNKNOWN_8)
			method->type_rid = 0;
		return find_module_8(reader, method);
	}
	method->type_rid = get_u32(method->table_words, layout->table_flags2) >> 8;
	return 0;
}

int dotnet_method_read(const struct dotnet_reader *reader, uint64_t addr, struct dotnet_method *ret)
{
	const struct dotnet_layout *layout = reader->layout;
	uint32_t low = (1u << layout->token_bits) - 1, high = (1u << (24 - layout->token_bits)) - 1;
	struct dotnet_method method = {0};
	uint8_t chunk[DOTNET_CHUNK_BYTES];
	uint64_t chunk_addr;
	int r = dotnet_read_word(reader, addr, &method.words);

	if (r < 0)
		return r;
	if (addr & 7)
		return -EBADMSG;
	method.kind = get_u16(&method.words, layout->method_flags) & DOTNET_METHOD_KIND;
	chunk_addr = addr - layout->chunk_bytes -
		     8ull * ((const uint8_t *)&method.words)[layout->method_chunk];
	r = memory_read(&reader->memory, chunk_addr, chunk, sizeof(chunk));
	if (r < 0)
		return r;
	method.table = get_u64(chunk, layout->chunk_table);
	method.rid = (get_u16(chunk, layout->chunk_token) & high) << layout->token_bits |
		     (get_u16(&method.words, layout->method_token) & low);
	if (!method.table || method.table & 7)
		return -EBADMSG;
	if (method.kind != DOTNET_METHOD_DYNAMIC)
		r = dotnet_method_read_table(reader, &method);
	if (r == 0 && method.kind != DOTNET_METHOD_DYNAMIC)
		r = dotnet_method_find_owner(reader, &method);
	if (r == 0)
		*ret = method;
	return r;
}

/* --- the check ------------------------------------------------------------------------------ */

/* As bpf/check.bpf.h makes it. */
static uint64_t check_name(const struct dotnet_reader *reader, uint64_t check, uint64_t addr)
{
	uint64_t words[DOTNET_NAME_WORDS] = {0};
	char text[sizeof(words)];

	if (memory_read_string(&reader->memory, addr, text, sizeof(text), 64) < 0)
		return 0;
	memcpy(words, text, strlen(text));
	check = dotnet_check_word(check, addr);
	for (size_t i = 0; i < DOTNET_NAME_WORDS; i++)
		check = dotnet_check_word(check, words[i]);
	return check;
}

uint64_t dotnet_method_check(const struct dotnet_reader *reader, uint64_t addr)
{
	const struct dotnet_layout *layout = reader->layout;
	struct dotnet_method method;
	uint64_t check, name;

	if (dotnet_method_read(reader, addr, &method) < 0)
		return 0;
	check = dotnet_check_word(0, method.words);
	if (method.kind == DOTNET_METHOD_DYNAMIC)
		return dotnet_read_word(reader, addr + layout->dynamic_name, &name) < 0
			       ? 0
			       : check_name(reader, check, name);
	check = dotnet_check_word(check, method.table);
	for (size_t i = 0; i < DOTNET_TABLE_WORDS; i++)
		check = dotnet_check_word(check, method.table_words[i]);
	if (dotnet_read_word(
		    reader, get_u64(method.table_words, layout->table_module) + layout->module_name,
		    &name) < 0)
		return 0;
	return check_name(reader, check, name);
}

/* --- precodes ------------------------------------------------------------------------------- */

/*
 * Pages of code and of data take turns, and what belongs together is at the same place in both
 * (vm/precode.h: StubPrecodeData, FixupPrecodeData; vm/amd64/thunktemplates.S, v8.0.0, v9.0.0,
 * v10.0.0):
 *
 *	stub	mov r10, [record]; jmp [record + 8]		MethodDesc, target
 *	fixup	jmp [record]; mov r10, [record + 8]; jmp ..	target, MethodDesc
 */
#define PRECODE_BYTES 24u
#define PRECODE_PAGE  0x4000u /* 16 KiB, or a page if that is more */
#define STUB_CODE     0x00003ff9158b4cull
#define FIXUP_CODE    0x8b4c00003ffa25ffull

int dotnet_method_of_precode(const struct dotnet_reader *reader, uint64_t addr, uint32_t kind,
			     uint64_t *ret)
{
	struct dotnet_range range;
	uint64_t begin, code, record;
	uint32_t off;
	int r = dotnet_range_find(reader, addr, &range);

	if (r < 0)
		return r;
	off = (uint32_t)(addr - range.begin) % (2 * PRECODE_PAGE) / PRECODE_BYTES * PRECODE_BYTES;
	if (range.flags != DOTNET_RANGE_STUBS || off + PRECODE_BYTES > PRECODE_PAGE)
		return -ENODATA;
	begin = addr - (addr - range.begin) % (2 * PRECODE_PAGE) + off;
	record = begin + PRECODE_PAGE + (kind == DOTNET_STUB_FIXUP_PRECODE ? 8 : 0);
	r = dotnet_read_word(reader, begin, &code);
	if (r == 0 &&
	    (kind == DOTNET_STUB_FIXUP_PRECODE ? code != FIXUP_CODE : code << 8 != STUB_CODE << 8))
		r = -ENODATA;
	return r == 0 ? dotnet_read_word(reader, record, ret) : r;
}

/* --- code of an image ----------------------------------------------------------------------- */

int dotnet_module_r2r(const struct dotnet_reader *reader, uint64_t module, uint64_t *ret_info)
{
	uint64_t info, composite;
	int r = dotnet_read_word(reader, module + reader->layout->module_r2r, &info);

	if (r == 0)
		r = dotnet_read_word(reader, info + reader->layout->r2r_composite, &composite);
	if (r == 0)
		*ret_info = composite ? composite : info;
	return r;
}

/*
 * HashMap (vm/hash.cpp: HashMap::LookupValue, v8.0.0): the first 64 bytes of the buckets are for
 * their number, then 4 keys and 4 values each. A bucket whose first value has its top bit clear is
 * the last one that was looked through when the key was put.
 */
int dotnet_method_of_entry(const struct dotnet_reader *reader, uint64_t info, uint64_t entry,
			   uint64_t *ret)
{
	uint64_t buckets, bucket[8];
	uint32_t seed = (uint32_t)(entry >> 2), n, step;
	int r = dotnet_read_word(
		reader, info + reader->layout->r2r_map + reader->layout->map_buckets, &buckets);

	if (r == 0)
		r = dotnet_read_word(reader, buckets, &bucket[0]);
	if (r < 0)
		return r;
	if (bucket[0] < 2 || bucket[0] > MAX_BUCKETS)
		return -EBADMSG;
	n = (uint32_t)bucket[0];
	step = 1 + ((uint32_t)(entry >> 5) + 1) % (n - 1);
	for (uint32_t i = 0; i < MAX_PROBES; i++, seed += step) {
		r = memory_read(&reader->memory, buckets + 64 + 64ull * (seed % n), bucket,
				sizeof(bucket));
		if (r < 0)
			return r;
		for (uint32_t j = 0; j < 4; j++) {
			if (bucket[j] == entry) {
				*ret = bucket[4 + j] << 1;
				return 0;
			}
		}
		if (!(bucket[4] >> 63))
			break;
	}
	return -ENODATA;
}

/* The functions of an image, and which of them holds an address: *ret_at; -ENODATA: none does. */
struct functions {
	uint64_t info, addr;
	uint32_t n;
};

static int read_functions(const struct dotnet_reader *reader, const struct dotnet_range *range,
			  struct functions *ret)
{
	int r = dotnet_module_r2r(reader, range->module, &ret->info);

	if (r == 0)
		r = dotnet_read_word(reader, ret->info + reader->layout->r2r_functions, &ret->addr);
	if (r == 0)
		r = memory_read(&reader->memory, ret->info + reader->layout->r2r_n_functions,
				&ret->n, sizeof(ret->n));
	return r == 0 && ret->n > DOTNET_MAX_R2R_FUNCTIONS ? -EBADMSG : r;
}

/* Does a function begin at or below an offset into the image? *r: the first failure. */
static bool begins_by(const struct dotnet_reader *reader, const struct functions *functions,
		      uint64_t i, uint32_t rva, int *r)
{
	uint32_t begin = 0;

	if (*r == 0)
		*r = memory_read(&reader->memory, functions->addr + DOTNET_FUNCTION_BYTES * i,
				 &begin, sizeof(begin));
	return *r == 0 && begin <= rva;
}

static int find_holder(const struct dotnet_reader *reader, const struct functions *functions,
		       uint32_t rva, uint32_t *ret_at, uint32_t function[3])
{
	int r = 0;
	uint32_t n =
		(uint32_t)search_sorted(functions->n, i, begins_by(reader, functions, i, rva, &r));

	if (r < 0 || n == 0)
		return r < 0 ? r : -ENODATA;
	*ret_at = n - 1;
	r = memory_read(&reader->memory,
			functions->addr + (uint64_t)DOTNET_FUNCTION_BYTES * *ret_at, function,
			DOTNET_FUNCTION_BYTES);
	return r == 0 && rva >= function[1] ? -ENODATA : r;
}

int dotnet_method_of_function(const struct dotnet_reader *reader, const struct dotnet_range *range,
			      uint64_t addr, struct dotnet_function *ret)
{
	struct functions functions;
	uint32_t at = 0, function[3];
	int r = read_functions(reader, range, &functions);

	if (r == 0 && addr - range->begin > UINT32_MAX)
		r = -EBADMSG;
	if (r == 0)
		r = find_holder(reader, &functions, (uint32_t)(addr - range->begin), &at, function);
	if (r < 0)
		return r;
	(void)memory_read(&reader->memory, range->begin + function[2], &function[1],
			  sizeof(function[1]));
	r = -ENODATA;
	for (uint32_t i = 0; r == -ENODATA && i < MAX_FUNCLETS_BACK && i <= at; i++) {
		r = memory_read(&reader->memory,
				functions.addr + (uint64_t)DOTNET_FUNCTION_BYTES * (at - i),
				function, sizeof(function[0]));
		if (r == 0)
			r = dotnet_method_of_entry(reader, functions.info,
						   range->begin + function[0], &ret->method);
		ret->begin = range->begin + function[0];
		ret->info = functions.info;
		ret->index = at - i;
	}
	return r;
}

void dotnet_functions_see(const struct dotnet_reader *reader, const struct dotnet_range *range)
{
	struct functions functions;
	uint32_t word;

	if (read_functions(reader, range, &functions) < 0)
		return;
	for (uint64_t at = 0; at < (uint64_t)functions.n * DOTNET_FUNCTION_BYTES;
	     at += MEMORY_PAGE) {
		if (memory_read(&reader->memory, functions.addr + at, &word, sizeof(word)) < 0)
			return;
	}
}
