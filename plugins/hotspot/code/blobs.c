/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blobs that are made once: runtime stubs, StubRoutines, deoptimization and others. Heaps are
 * walked block by block (src/hotspot/share/memory/heap.hpp, code/codeBlob.hpp, 8 to 27):
 *
 *	| HeapBlock: length in segments, used | CodeBlob ... | code           | data | HeapBlock ...
 *
 * Methods, adapters and vtable chunks come and go; the walk knows them by their block.
 */
#include "plugins/hotspot/code/stubs_internal.h"
#include "plugins/hotspot/code/heaps.h"
#include "plugins/shared/search.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define MAX_BLOCKS	 16384
#define MAX_HEAP_BYTES	 (12u << 20) /* what one heap's blocks are looked for in */
#define WINDOW_BYTES	 (64u << 10) /* read at once */
#define METHODS_AT_FIRST 64 /* a heap that begins with so many methods holds nothing else */
#define HEAD_BYTES	 192 /* HeapBlock and CodeBlob */
#define MAX_ENTRIES	 1024
#define MAX_NAME_CACHE	 256
#define ENTRY_ALIGNMENT	 16 /* the least CodeEntryAlignment, globals_x86.hpp */

/* A blob's name is a constant of the VM: blobs share it. */
struct known_name {
	uint64_t addr;
	char text[HS_NAME_BYTES];
};

struct entry {
	uint64_t addr;
	const char *name;
	size_t len;
};

struct blobs {
	struct hotspot_stubs *stubs;
	struct hs_reader *reader;
	struct known_name *names;
	size_t n_names;
	struct entry entries[MAX_ENTRIES];
	size_t n_entries;
	uint64_t call_stub_return;
	uint8_t *window;
	uint64_t window_addr;
	size_t window_bytes;
	uint32_t n_blobs;
};

struct heap {
	uint64_t low, high;
	unsigned int log2_segment;
};

struct blob {
	uint64_t code;
	size_t bytes;
	const char *name;
};

/* --- names of stubs */

/* "StubRoutines::_dsin", or as the file's symbol table has it ("_ZN12StubRoutines5_dsinE"):
 * "dsin". */
static void plain_name(const char *name, struct entry *ret)
{
	const char *last = NULL;
	size_t len;

	if (!strncmp(name, "_ZN", 3)) {
		const char *at = name + 3;

		while (*at >= '1' && *at <= '9') {
			char *end;
			unsigned long n = strtoul(at, &end, 10);

			if (n > strlen(end))
				break;
			last = end;
			at = end + n;
			ret->len = n;
		}
	}
	if (last) {
		len = ret->len;
	} else {
		for (const char *at = name; (at = strstr(at, "::")); last = at)
			at += 2;
		last = last ? last : name;
		len = strlen(last);
	}
	while (len && *last == '_') {
		last++;
		len--;
	}
	ret->name = last;
	ret->len = len;
}

static bool contains(const struct entry *entry, const char *part)
{
	size_t len = strlen(part);

	for (size_t i = 0; i + len <= entry->len; i++)
		if (!strncmp(entry->name + i, part, len))
			return true;
	return false;
}

/*
 * Variables of StubRoutines that do not point to where a stub begins: tables and masks, which lie
 * among the stubs (stubRoutines_x86.hpp, stubRoutines.hpp, 8 to 27).
 */
static bool is_entry(const struct entry *entry)
{
	static const char *const no[] = {
		"mask",	     "table",	"_tbl",	   "_addr", "_adr",    "return_address",
		"return_pc", "cntrl",	"mxcsr",   "flip",  "shuffle", "const",
		"_lut",	     "k256",	"k512",	   "sign",  "code",    "count",
		"perm",	     "vector_", "log_two", "by128", "ones",    "iota",
		"data",	     "lookup",	"shuf",	   "PI",    "_inv",    "initialized"};

	if (!entry->len || entry->len >= HS_NAME_BYTES)
		return false;
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		if (contains(entry, no[i]) && !contains(entry, "_entry"))
			return contains(entry, "encode") || contains(entry, "decode") ||
			       contains(entry, "code_point");
	return true;
}

static void add_entry(struct blobs *blobs, uint64_t addr, const char *name)
{
	struct entry entry = { .addr = addr };

	plain_name(name, &entry);
	if (entry.len > 6 && !strncmp(entry.name + entry.len - 6, "_entry", 6) &&
	    !contains(&entry, "throw"))
		entry.len -= 6; /* call_stub_entry */
	if (addr && is_entry(&entry) && blobs->n_entries < MAX_ENTRIES)
		blobs->entries[blobs->n_entries++] = entry;
}

/* By address; of names for one, that which says the least first: jbyte_arraycopy, not
 * arrayof_jbyte_... */
static int compare_entries(const void *a, const void *b)
{
	const struct entry *left = a, *right = b;

	if (left->addr != right->addr)
		return left->addr < right->addr ? -1 : 1;
	if (left->len != right->len)
		return left->len < right->len ? -1 : 1;
	return strncmp(left->name, right->name, left->len);
}

static void find_entries(struct blobs *blobs)
{
	static const struct {
		enum hotspot_static_id id;
		const char *name;
	} published[] = {
#define HOTSPOT_STUB(name) { HOTSPOT_S_stub_##name, #name },
#include "plugins/hotspot/code/stub_names.def"
#undef HOTSPOT_STUB
	};
	struct hs_reader *reader = blobs->reader;
	uint64_t addr;

	for (size_t i = 0; i < sizeof(published) / sizeof(published[0]); i++) {
		uint64_t at = reader->layout->statics[published[i].id];

		if (at && !hs_read(reader, at, &addr, sizeof(addr)))
			add_entry(blobs, addr, published[i].name);
	}
	for (size_t i = 0; i < reader->n_names; i++)
		add_entry(blobs, reader->names[i].addr, reader->names[i].name);
	qsort(blobs->entries, blobs->n_entries, sizeof(blobs->entries[0]), compare_entries);
	if (reader->layout->statics[HOTSPOT_S_call_stub_return] &&
	    !hs_read(reader, reader->layout->statics[HOTSPOT_S_call_stub_return], &addr,
		     sizeof(addr)))
		blobs->call_stub_return = addr;
}

/* --- rules of a blob */

/*
 * Does code make space for the return address before all else (push rbx, push 0)? A signal handler
 * or a thrower jumps there: SharedRuntime::generate_handler_blob, generate_deopt_blob;
 * OptoRuntime:: generate_exception_blob has it in rdx (sharedRuntime_x86_64.cpp,
 * runtime_x86_64.cpp, 8 to 27).
 */
static enum hs_start start_at(const uint8_t *code, size_t bytes, bool is_trapped)
{
	size_t at = 0;

	for (int i = 0; i < 8 && at < bytes; i++) {
		if (bytes - at >= 2 && code[at] == 0x6a && !code[at + 1])
			return HS_START_THROWN;
		if (is_trapped && code[at] == 0x52)
			return HS_START_THROWN;
		if (is_trapped && code[at] == 0x53)
			return HS_START_TRAPPED;
		if (bytes - at >= 3 && code[at] == 0x49 && code[at + 1] == 0x8b &&
		    code[at + 2] == 0xa7)
			return HS_START_CONTINUATION; /* mov rsp, [r15 + ...]: generate_cont_thaw */
		/* Only moves lie before: 4x 8b, 4x 89, 4x c7. */
		if (bytes - at < 8 || (code[at] & 0xf8) != 0x48)
			break;
		if (code[at + 1] == 0xc7 && (code[at + 2] & 0xc0) == 0x80)
			at += 11;
		else if ((code[at + 1] == 0x89 || code[at + 1] == 0x8b) &&
			 (code[at + 2] & 0xc0) == 0x80)
			at += 7;
		else
			break;
	}
	return HS_START_CALLED;
}

/*
 * "StubRoutines (initial stubs)"; where they come from an AOT cache "Stub Generator initial_blob"
 * (26) or "initial_blob (stub gen)" (27, 28): StubRoutines::initialize_stubs, stubRoutines.cpp;
 * StubInfo, stubInfo.cpp.
 */
static bool is_stub_buffer(const char *name)
{
	return !strncmp(name, "StubRoutines", 12) || !strncmp(name, "Stub Generator", 14) ||
	       strstr(name, "_blob (stub gen)");
}

/* Where a signal handler or a thrower may lead to: by the name of the blob. */
static bool is_trapped(const char *name)
{
	return !strcmp(name, "SafepointBlob") || !strcmp(name, "ExceptionBlob") ||
	       strstr(name, "handler_blob") || strstr(name, "polling_page");
}

/*
 * C1's stubs jump there with their frames (StubAssembler::call_RT, c1_Runtime1_x86.cpp, 8 to 27).
 * Its name is "forward_exception Runtime1 stub", "C1 Runtime forward_exception_blob" from 25 on,
 * and "forward_exception_blob (C1 runtime)" from 27 on.
 */
static bool is_with_fp(const char *name)
{
	return strstr(name, "forward_exception") &&
	       (strstr(name, "Runtime1") || strstr(name, "C1 Runtime") ||
		strstr(name, "C1 runtime"));
}

static enum hs_start blob_start(const struct blobs *blobs, const struct blob *blob, size_t off)
{
	if (is_with_fp(blob->name))
		return HS_START_WITH_FP;
	return start_at(blobs->reader->code + off, blob->bytes - off, is_trapped(blob->name));
}

static const struct entry *first_entry(const struct blobs *blobs, uint64_t addr)
{
	return &blobs->entries[search_sorted(blobs->n_entries, i, blobs->entries[i].addr < addr)];
}

/* The stubs of a buffer whose names are known, each with what it leads to. */
static int follow_entries(struct blobs *blobs, const struct blob *blob)
{
	const struct entry *end = blobs->entries + blobs->n_entries;

	for (const struct entry *entry = first_entry(blobs, blob->code);
	     entry < end && entry->addr - blob->code < blob->bytes; entry++) {
		int r = hs_flow_follow(&blobs->reader->flow, (size_t)(entry->addr - blob->code),
				       HS_START_CALLED, true);

		if (r && r != -EBADMSG)
			return r;
	}
	return 0;
}

/*
 * Can a stub begin there? Most are aligned, with padding before (`behind`: no unknown code is right
 * before it); those of mathematics are not since 21, and make a frame at once.
 */
static bool may_begin(const struct blobs *blobs, const struct blob *blob, size_t off, bool behind)
{
	static const uint8_t enter[2][4] = {{0x55, 0x48, 0x8b, 0xec}, {0x55, 0x48, 0x89, 0xe5}};
	const uint8_t *code = blobs->reader->code + off;

	if (blob->bytes - off >= 4 && (!memcmp(code, enter[0], 4) || !memcmp(code, enter[1], 4)))
		return true;
	return behind && !((blob->code + off) % ENTRY_ALIGNMENT);
}

/* Operations on bytes of registers, input and output: no stub begins with these, data often seems
 * to. */
static bool is_odd(const uint8_t *code, const struct x86_insn *insn)
{
	uint8_t op = code[0] >= 0x40 && code[0] < 0x50 && insn->bytes > 1 ? code[1] : code[0];

	if (op < 0x38 && ((op & 7) == 0 || (op & 7) == 2 || (op & 7) == 4))
		return true;
	return (op >= 0x6c && op <= 0x6f) || (op >= 0xe4 && op <= 0xe7) ||
	       (op >= 0xec && op <= 0xef) || op == 0xc8 || op == 0xca || op == 0xcb || op == 0xcd ||
	       op == 0xcf || op == 0xd7 || op == 0x9f || op == 0x9e || op == 0xf4 || op == 0xfa ||
	       op == 0xfb || op == 0xe0 || op == 0xe1;
}

/* False for most of what is data: its first instructions are none that HotSpot's stubs begin
 * with. */
static bool is_plausible(const uint8_t *code, size_t bytes)
{
	struct x86_insn insn;
	size_t off = 0;

	for (int i = 0; i < 8 && off < bytes; i++, off += insn.bytes) {
		if (x86_decode(code + off, bytes - off, &insn) || is_odd(code + off, &insn))
			return false;
		if (x86_is_end(&insn))
			break;
	}
	return true;
}

/*
 * Code that nothing leads to: another stub, or data. First what begins where stubs may begin: what
 * else is left may be a part of one that is not known yet.
 */
static int follow_rest(struct blobs *blobs, const struct blob *blob, bool anywhere)
{
	struct x86_flow *flow = &blobs->reader->flow;
	size_t off = 0, skipped = SIZE_MAX;

	for (;;) {
		int r;

		off = x86_flow_next(flow, off);
		if (off >= blob->bytes)
			return 0;
		if (!anywhere && !may_begin(blobs, blob, off, off != skipped)) {
			skipped = off = x86_flow_skip(flow, off);
			continue;
		}
		r = -EBADMSG;
		if (!is_stub_buffer(blob->name) ||
		    is_plausible(blobs->reader->code + off, blob->bytes - off))
			r = hs_flow_follow(flow, off, blob_start(blobs, blob, off), true);
		if (r == -EBADMSG)
			off += ENTRY_ALIGNMENT - (blob->code + off) % ENTRY_ALIGNMENT;
		else if (r)
			return r;
	}
}

static int add_stub(struct blobs *blobs, const struct blob *blob, const struct entry *entry,
		    uint64_t start, uint64_t end)
{
	char name[HS_NAME_BYTES];

	if (entry) {
		memcpy(name, entry->name, entry->len);
		name[entry->len] = 0;
		return hs_add_piece(blobs->stubs, start, end, name);
	}
	if (blobs->call_stub_return > start && blobs->call_stub_return <= end)
		return hs_add_piece(blobs->stubs, start, end, "call_stub");
	return hs_add_piece(blobs->stubs, start, end, blob->name);
}

/*
 * Names within a buffer of stubs: one goes up to the next known one, or to where code begins anew
 * at a place where stubs begin.
 */
static int name_stubs(struct blobs *blobs, const struct blob *blob)
{
	const struct entry *end = blobs->entries + blobs->n_entries,
			   *entry = first_entry(blobs, blob->code);
	const struct entry *current = NULL;
	uint64_t start = blob->code;
	int r = 0;

	for (size_t off = 0; off < blob->bytes && !r; off++) {
		const struct x86_node *node = may_begin(blobs, blob, off, true) ?
						      x86_flow_at(&blobs->reader->flow, off) : NULL;
		bool begins = node && !node->chain;
		const struct entry *here =
			entry < end && entry->addr == blob->code + off ? entry : NULL;

		if (here || (begins && off)) {
			r = add_stub(blobs, blob, current, start, blob->code + off);
			start = blob->code + off;
			current = here;
		}
		while (entry < end && entry->addr <= blob->code + off)
			entry++;
	}
	return r ? r : add_stub(blobs, blob, current, start, blob->code + blob->bytes);
}

/* Code that changes as long as the VM runs, and never pushes: one rule. */
static bool is_changing(const char *name)
{
	/* The handlers of native methods' signatures (interpreterRuntime.cpp), calls' inline caches
	 * (icBuffer.cpp, 8 to 21). */
	return !strcmp(name, "native signature handlers") || !strcmp(name, "InlineCacheBuffer");
}

/* Its code, name, and the names in it: all that rules and pieces come from. */
static uint64_t hash_blob(const struct blobs *blobs, const struct blob *blob)
{
	const struct entry *end = blobs->entries + blobs->n_entries;
	uint64_t seed = is_stub_buffer(blob->name) ? blobs->call_stub_return : 0;
	uint64_t hash = XXH3_64bits_withSeed(blobs->reader->code, blob->bytes, seed);

	hash = XXH3_64bits_withSeed(blob->name, strlen(blob->name), hash);
	for (const struct entry *entry = first_entry(blobs, blob->code);
	     entry < end && entry->addr - blob->code < blob->bytes; entry++)
		hash = XXH3_64bits_withSeed(entry->name, entry->len, hash ^ entry->addr);
	return hash;
}

static int follow_blob(struct blobs *blobs, const struct blob *blob, uint32_t number)
{
	struct hs_reader *reader = blobs->reader;
	int r = x86_flow_begin(&reader->flow, reader->code, blob->bytes);

	if (!r && is_stub_buffer(blob->name))
		r = follow_entries(blobs, blob);
	if (!r)
		r = follow_rest(blobs, blob, false);
	if (!r)
		r = follow_rest(blobs, blob, true);
	if (!r)
		r = is_stub_buffer(blob->name) ? name_stubs(blobs, blob)
					       : hs_add_piece(blobs->stubs, blob->code,
							      blob->code + blob->bytes, blob->name);
	return r ? r : hs_add_rules(blobs->stubs, &reader->flow, blob->code, blob->bytes, number);
}

static int read_blob(struct blobs *blobs, const struct blob *blob)
{
	struct hs_reader *reader = blobs->reader;
	uint32_t number = ++blobs->n_blobs;
	struct hs_kept what;
	int r;

	if (is_changing(blob->name)) {
		uint64_t rule = HOTSPOT_RULE(1, 7, 0, HOTSPOT_RULE_ON_STACK, HOTSPOT_METHOD_NONE);

		r = hs_add_piece(blobs->stubs, blob->code, blob->code + blob->bytes, blob->name);
		return r ? r
			 : hs_add_range(blobs->stubs, blob->code, blob->code + blob->bytes, rule,
					number);
	}
	r = hs_read_code(reader, blob->code, blob->bytes);
	if (r)
		return r == -EFAULT ? 0 : r;
	what = (struct hs_kept){
		.start = blob->code, .bytes = blob->bytes, .hash = hash_blob(blobs, blob)};
	r = hs_take_earlier(blobs->stubs, reader->earlier, &what, number);
	if (r)
		return r < 0 ? r : 0;
	r = follow_blob(blobs, blob, number);
	return r ? r : ep_vec_append(&blobs->stubs->kept, &what, 1);
}

/* --- blocks */

/* Some bytes of a heap; NULL: cannot be read. */
static const uint8_t *at_window(struct blobs *blobs, const struct heap *heap, uint64_t addr,
				size_t bytes)
{
	size_t want = heap->high - addr < WINDOW_BYTES ? (size_t)(heap->high - addr) : WINDOW_BYTES;

	if (addr >= blobs->window_addr && addr - blobs->window_addr <= blobs->window_bytes &&
	    blobs->window_bytes - (addr - blobs->window_addr) >= bytes)
		return blobs->window + (addr - blobs->window_addr);
	if (want < bytes)
		return NULL;
	blobs->window_bytes = 0;
	if (hs_read(blobs->reader, addr, blobs->window, want))
		return NULL;
	blobs->window_addr = addr;
	blobs->window_bytes = want;
	return blobs->window;
}

static const char *name_at(struct blobs *blobs, uint64_t addr)
{
	struct known_name *name;

	for (size_t i = 0; i < blobs->n_names; i++)
		if (blobs->names[i].addr == addr)
			return blobs->names[i].text;
	if (blobs->n_names == MAX_NAME_CACHE)
		blobs->n_names--;
	name = &blobs->names[blobs->n_names];
	if (!addr || hs_read_string(blobs->reader, addr, name->text, sizeof(name->text)))
		return NULL;
	name->addr = addr;
	blobs->n_names++;
	return name->text;
}

static bool is_method(const char *name)
{
	return !strcmp(name, "nmethod") || !strcmp(name, "native nmethod");
}

/*
 * Buffers that compilers work in: no code runs there, and others', methods' too, take their places
 * at once (opto/output.cpp, to 11 compile.cpp: Compile::Fill_buffer, Compile::scratch_buffer;
 * c1_Compiler.cpp; jvmciCodeInstaller.cpp: "JVMCI Compiler CodeBuffer"; 8 to 27).
 */
static bool is_workplace(const char *name)
{
	return !strncmp(name, "Compile::", 9) || !strncmp(name, "JVMCI Compiler", 14) ||
	       !strcmp(name, "C1 temporary CodeBuffer") ||
	       !strcmp(name, "Signature Handler Temp Buffer");
}

/* What the walk knows by its block. */
static bool is_of_block(const char *name)
{
	static const char *const names[] = {"I2C/C2I adapters", "vtable chunks",
					    "MethodHandles adapters", "Interpreter", "adapters"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	return is_method(name) || is_workplace(name);
}

static bool is_kind(const struct blobs *blobs, const uint8_t *bytes, enum hotspot_constant_id kind)
{
	const struct hotspot_layout *layout = blobs->reader->layout;

	return hotspot_has(layout, HOTSPOT_F_blob_kind) && layout->has_constant[kind] &&
	       hotspot_get(blobs->reader->layout, HOTSPOT_F_blob_kind, bytes, HEAD_BYTES) ==
		       (uint64_t)layout->constants[kind];
}

/* The same by its kind, where that is published: with an AOT cache the names of adapters are
 * signatures. */
static bool is_of_known_kind(const struct blobs *blobs, const uint8_t *bytes)
{
	return is_kind(blobs, bytes, HOTSPOT_C_kind_adapter) ||
	       is_kind(blobs, bytes, HOTSPOT_C_kind_vtable) ||
	       is_kind(blobs, bytes, HOTSPOT_C_kind_mh_adapter);
}

/* Where the code of a blob is; false: nowhere. */
static bool find_code(const struct blobs *blobs, const uint8_t *bytes, uint64_t addr, uint64_t room,
		      struct blob *ret)
{
	const struct hs_reader *reader = blobs->reader;
	uint64_t begin, end;

	if (hotspot_has(reader->layout, HOTSPOT_F_blob_code_begin)) {
		begin = hotspot_get(reader->layout, HOTSPOT_F_blob_code_begin, bytes, HEAD_BYTES);
		end = hotspot_get(reader->layout, HOTSPOT_F_blob_code_end, bytes, HEAD_BYTES);
	} else {
		begin = addr +
			hotspot_get(reader->layout, HOTSPOT_F_blob_code_offset, bytes, HEAD_BYTES);
		end = addr +
		      hotspot_get(reader->layout, HOTSPOT_F_blob_data_offset, bytes, HEAD_BYTES);
	}
	if (begin <= addr || end <= begin || begin - addr > room || end - addr > room)
		return false;
	ret->code = begin;
	ret->bytes = (size_t)(end - begin);
	return ret->bytes <= HS_MAX_CODE;
}

/* A used block. Whether it is a method; other outcomes: negative errno. */
static int read_block(struct blobs *blobs, const uint8_t *bytes, uint64_t addr, uint64_t room)
{
	uint64_t name = hotspot_get(blobs->reader->layout, HOTSPOT_F_blob_name, bytes, HEAD_BYTES);
	struct blob blob = { .name = name_at(blobs, name) };

	if (is_kind(blobs, bytes, HOTSPOT_C_kind_nmethod))
		return 1;
	if (!blob.name || is_of_known_kind(blobs, bytes))
		return 0;
	if (is_of_block(blob.name) || !find_code(blobs, bytes, addr, room, &blob))
		return is_method(blob.name);
	return read_blob(blobs, &blob);
}

static int read_blocks(struct blobs *blobs, const struct heap *heap)
{
	const struct hs_reader *reader = blobs->reader;
	size_t header = reader->layout->sizes[HOTSPOT_Z_block_bytes];
	unsigned int methods = 0;
	uint64_t addr = heap->low;

	for (unsigned int i = 0; i < MAX_BLOCKS && addr < heap->high; i++) {
		const uint8_t *bytes = at_window(blobs, heap, addr, header + HEAD_BYTES);
		uint64_t length =
			bytes ? hotspot_get(reader->layout, HOTSPOT_F_block_length, bytes, header)
			      : 0;
		int r = 0;

		/* After the last block the heap was never used. */
		if (!length || length > (heap->high - addr) >> heap->log2_segment)
			return 0;
		length <<= heap->log2_segment;
		if (hotspot_get(reader->layout, HOTSPOT_F_block_used, bytes, header) & 0xff &&
		    length > header)
			r = read_block(blobs, bytes + header, addr + header, length - header);
		if (r < 0)
			return r;
		methods += (unsigned int)r;
		if (methods == METHODS_AT_FIRST && methods == i + 1)
			return 0;
		addr += length;
	}
	return 0;
}

static int read_heap(struct blobs *blobs, uint64_t addr)
{
	struct hs_reader *reader = blobs->reader;
	uint8_t bytes[384];
	uint32_t memory = hotspot_off(reader->layout, HOTSPOT_F_heap_memory);
	struct heap heap;
	uint64_t log2;
	int r = hs_read(reader, addr, bytes, sizeof(bytes));

	if (r)
		return r == -EFAULT ? 0 : r;
	if (memory > sizeof(bytes) - 64)
		return -ENOTSUP;
	heap.low = hotspot_get(reader->layout, HOTSPOT_F_space_low, bytes + memory,
			       sizeof(bytes) - memory);
	heap.high = hotspot_get(reader->layout, HOTSPOT_F_space_high, bytes + memory,
				sizeof(bytes) - memory);
	log2 = hotspot_get(reader->layout, HOTSPOT_F_heap_log2_segment, bytes, sizeof(bytes));
	if (!heap.low || heap.high <= heap.low || log2 < 4 || log2 > 16)
		return 0;
	if (heap.high - heap.low > MAX_HEAP_BYTES)
		heap.high = heap.low + MAX_HEAP_BYTES;
	heap.log2_segment = (unsigned int)log2;
	blobs->window_bytes = 0;
	return read_blocks(blobs, &heap);
}

static int read_heaps(struct blobs *blobs)
{
	uint64_t heaps[HOTSPOT_MAX_HEAPS];
	size_t n = 0;
	int r = hotspot_heaps_find(blobs->reader->memory, blobs->reader->layout, heaps, &n);

	for (size_t i = 0; i < n && !r; i++)
		r = read_heap(blobs, heaps[i]);
	return r;
}

int hs_read_blobs(struct hotspot_stubs *stubs, struct hs_reader *reader)
{
	struct blobs *blobs = calloc(1, sizeof(*blobs));
	int r = -ENOMEM;

	if (!blobs)
		return -ENOMEM;
	blobs->stubs = stubs;
	blobs->reader = reader;
	blobs->names = malloc(MAX_NAME_CACHE * sizeof(*blobs->names));
	blobs->window = malloc(WINDOW_BYTES);
	if (blobs->names && blobs->window) {
		find_entries(blobs);
		r = read_heaps(blobs);
	}
	free(blobs->names);
	free(blobs->window);
	free(blobs);
	return r;
}
