/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/v8/symbolize/wasm.h"

#include "core/base/map.h"
#include "core/base/util.h"
#include "plugins/v8/symbolize/codes.h"
#include "plugins/v8/symbolize/names.h"
#include "plugins/v8/symbolize/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAX_MODULE  (64u << 20) /* bytes */
#define MAX_CODES   65536u
#define MAX_CODE    (16u << 20) /* bytes of one */
#define AT_A_TIME   512u
#define ALL_ANEW    64u
#define HEAD_BYTES  64u /* of a WasmCode that are looked at */
/* of a module's ends that tell it from another: types and imports, names */
#define EDGE_BYTES 2048u
#define SECTION_CUSTOM	 0
#define SECTION_IMPORT	 2
#define SECTION_FUNCTION 3
#define NAMES_OF_FUNCTIONS 1 /* WebAssembly Core Specification, appendix "Name Section" */

/* ---- the module's bytes ---- */

struct bytes {
	const uint8_t *at, *end;
	bool is_bad;
};

static uint32_t get_leb(struct bytes *bytes)
{
	uint32_t at = 0;
	uint64_t value;

	if (!v8_number(bytes->at, (uint32_t)(bytes->end - bytes->at), &at, 35, &value)) {
		bytes->is_bad = true;
		bytes->at = bytes->end;
		return 0;
	}
	bytes->at += at;
	return (uint32_t)value;
}

static uint8_t get_byte(struct bytes *bytes)
{
	if (bytes->at < bytes->end)
		return *bytes->at++;
	bytes->is_bad = true;
	return 0;
}

/* A part of so many bytes, which are passed over. */
static struct bytes get_part(struct bytes *bytes, uint32_t n)
{
	struct bytes part = {.at = bytes->at, .end = bytes->at};

	if (n > (size_t)(bytes->end - bytes->at)) {
		bytes->is_bad = true;
		bytes->at = bytes->end;
	} else {
		part.end = bytes->at += n;
	}
	return part;
}

/* The next section with its id; false at the end. */
static bool get_section(struct bytes *module, uint8_t *id, struct bytes *ret)
{
	if (module->at == module->end)
		return false;
	*id = get_byte(module);
	*ret = get_part(module, get_leb(module));
	return !module->is_bad;
}

static struct bytes open_module(const uint8_t *bytes, size_t n)
{
	struct bytes module = {.at = bytes, .end = bytes + n};

	if (n < 8 || memcmp(bytes, "\0asm", 4) != 0)
		module.at = module.end;
	else
		module.at += 8; /* magic, version */
	return module;
}

/* UTF-8 by the specification; what would end the line is "?". */
static void copy_name(const struct bytes *from, char *buf, size_t size)
{
	size_t n = (size_t)(from->end - from->at), len = EP_MIN(n, size - 1);

	while (len < n && len > 0 && (from->at[len] & 0xc0) == 0x80)
		len--;
	for (size_t i = 0; i < len; i++)
		buf[i] = from->at[i] < 0x20 || from->at[i] == 0x7f ? '?' : (char)from->at[i];
	buf[len] = '\0';
}

static void find_in_names(struct bytes names, uint32_t index, char *buf, size_t size)
{
	while (names.at < names.end && !names.is_bad) {
		uint8_t id = get_byte(&names);
		struct bytes part = get_part(&names, get_leb(&names));
		uint32_t n = id == NAMES_OF_FUNCTIONS ? get_leb(&part) : 0;

		for (uint32_t i = 0; i < n && !part.is_bad; i++) {
			uint32_t of = get_leb(&part);
			struct bytes name = get_part(&part, get_leb(&part));

			if (of == index && !part.is_bad) {
				copy_name(&name, buf, size);
				return;
			}
		}
	}
}

/* What is in the section "name"; nothing where there is none. */
static struct bytes find_names(const uint8_t *bytes, size_t n)
{
	struct bytes module = open_module(bytes, n), section;
	uint8_t id;

	while (get_section(&module, &id, &section)) {
		struct bytes name;

		if (id != SECTION_CUSTOM)
			continue;
		name = get_part(&section, get_leb(&section));
		if (name.end - name.at == 4 && memcmp(name.at, "name", 4) == 0)
			return section;
	}
	return (struct bytes){.at = bytes, .end = bytes};
}

void v8_wasm_name_in(const uint8_t *bytes, size_t n, uint32_t index, char *buf, size_t size)
{
	buf[0] = '\0';
	find_in_names(find_names(bytes, n), index, buf, size);
}

static void skip_limits(struct bytes *bytes)
{
	uint8_t flags = get_byte(bytes);

	(void)get_leb(bytes);
	if (flags & 1)
		(void)get_leb(bytes);
}

/* "ref null ht" and "ref ht" have a heap type after them. */
static void skip_type(struct bytes *bytes)
{
	uint8_t type = get_byte(bytes);

	if (type == 0x63 || type == 0x64)
		(void)get_leb(bytes);
}

static bool skip_import(struct bytes *bytes)
{
	uint8_t kind;

	(void)get_part(bytes, get_leb(bytes));
	(void)get_part(bytes, get_leb(bytes));
	kind = get_byte(bytes);
	if (kind == 0) {
		(void)get_leb(bytes);
	} else if (kind == 1) {
		skip_type(bytes);
		skip_limits(bytes);
	} else if (kind == 2) {
		skip_limits(bytes);
	} else if (kind == 3) {
		skip_type(bytes);
		(void)get_byte(bytes);
	} else {
		(void)get_byte(bytes);
		(void)get_leb(bytes);
	}
	return kind == 0;
}

void v8_wasm_counts(const uint8_t *bytes, size_t n, uint32_t *ret_imported, uint32_t *ret_own)
{
	struct bytes module = open_module(bytes, n), section;
	uint8_t id;

	*ret_imported = *ret_own = 0;
	while (get_section(&module, &id, &section)) {
		if (id == SECTION_FUNCTION) {
			*ret_own = get_leb(&section);
		} else if (id == SECTION_IMPORT) {
			uint32_t count = get_leb(&section);

			for (uint32_t i = 0; i < count && !section.is_bad; i++)
				*ret_imported += skip_import(&section);
		}
	}
}

/* ---- the engine's objects ---- */

static int read_word(struct v8_heap *heap, uint64_t addr, uint64_t *ret)
{
	return v8_heap_read(heap, addr, ret, sizeof(*ret));
}

static int follow_field(struct v8_heap *heap, uint64_t *object, int32_t off)
{
	int r = v8_field(heap, *object, off, object);
	uint16_t type;

	return r < 0 ? r : v8_object_type(heap, object, &type);
}

/*
 * Managed<NativeModule> is a Foreign whose address is that of a ManagedPtrDestructor; the word at
 * 24 of that is a std::shared_ptr's address (objects/managed.h, 7.8 to 14.6).
 */
static int follow_managed(struct v8_heap *heap, uint64_t object, int32_t off, uint64_t *ret)
{
	uint64_t word;
	int r = follow_field(heap, &object, off);

	if (r == 0)
		r = v8_field(heap, object, 8, &word);
	if (r == 0)
		r = read_word(heap, word + 24, &word);
	return r < 0 ? r : read_word(heap, word, ret);
}

static int find_native_module(struct v8_heap *heap, uint64_t object, uint64_t *ret)
{
	const struct v8_layout *layout = heap->layout;
	int r = 0;

	if (v8_has(layout->wasm_data_module))
		return follow_managed(heap, object, layout->wasm_data_module, ret);
	if (v8_has(layout->wasm_data_instance))
		r = follow_field(heap, &object, layout->wasm_data_instance);
	if (r == 0)
		r = follow_field(heap, &object, layout->wasm_instance_module);
	return r < 0 ? r : follow_managed(heap, object, layout->wasm_module_native, ret);
}

struct wire {
	uint64_t at, n;
	uint64_t id; /* of all of these, and of what is at the ends */
	uint64_t names_off, n_names; /* of the section "name" in it */
	bool has_names;		     /* that is known, if only that there is none */
};

static int mix_edge(struct v8_heap *heap, uint64_t at, uint32_t n, uint64_t *id)
{
	uint64_t words[EDGE_BYTES / 8] = {0};
	int r = v8_heap_read_now(heap, at, words, n);

	for (uint32_t i = 0; r == 0 && i < EP_LEN(words); i++)
		*id = ep_mix64(*id ^ words[i]);
	return r;
}

/* A second variant of a module may be where the first one was, and as large. */
static int identify(struct v8_heap *heap, struct wire *wire)
{
	uint32_t n = EP_MIN((uint32_t)wire->n, EDGE_BYTES);
	int r;

	wire->id = ep_mix64(wire->at ^ ep_mix64(wire->n));
	r = mix_edge(heap, wire->at, n, &wire->id);
	return r < 0 ? r : mix_edge(heap, wire->at + wire->n - n, n, &wire->id);
}

/* The bytes are an OwnedVector after a shared_ptr: a pointer to pointer and size. */
static int find_wire(struct v8_heap *heap, uint64_t native, struct wire *ret)
{
	uint64_t vector, words[2];
	int r = read_word(heap, native + (uint32_t)heap->layout->wasm_native_bytes, &vector);

	if (r == 0)
		r = v8_heap_read(heap, vector, words, sizeof(words));
	if (r < 0)
		return r;
	*ret = (struct wire){.at = words[0], .n = words[1]};
	return ret->n < 8 || ret->n > MAX_MODULE ? -EBADMSG : identify(heap, ret);
}

static int read_wire(struct v8_heap *heap, const struct wire *wire, uint8_t **ret)
{
	ep_autofree uint8_t *bytes = malloc(wire->n);
	int r = bytes ? v8_heap_read_now(heap, wire->at, bytes, wire->n) : -ENOMEM;

	if (r == 0 && memcmp(bytes, "\0asm", 4) != 0)
		r = -EBADMSG;
	if (r == 0)
		*ret = ep_take(bytes);
	return r;
}

/* ---- what is kept of a module ---- */

struct code {
	uint64_t object; /* WasmCode */
	uint64_t start;
	uint32_t bytes, index;
};

struct module {
	struct names_item item; /* key: the NativeModule, its bytes' id */
	struct wire wire;
	uint32_t n_own; /* functions that are not imported */
	struct code *codes; /* of each of them; object 0: none */
	uint32_t n_missed;  /* addresses in none of them */
};

/* What is larger is not kept, and would be made for each frame: functions after those have no
 * name. */
_Static_assert(MAX_CODES * sizeof(struct code) + 1024 <= V8_NAMES_MAX_LARGE,
	       "tables of code are too large");

static void free_module(struct names_item *item)
{
	struct module *module = EP_CONTAINER(item, struct module, item);

	free(module->codes);
	free(module);
}

/* -EBADMSG: no code of the module. */
static int read_code(struct v8_heap *heap, uint64_t object, uint64_t native, struct code *ret)
{
	const struct v8_layout *layout = heap->layout;
	uint8_t head[HEAD_BYTES];
	uint64_t of;
	int r = object ? v8_heap_read(heap, object, head, sizeof(head)) : -EBADMSG;

	if (r < 0)
		return r;
	ret->object = object;
	memcpy(&ret->start, head + layout->wasm_code_start, sizeof(ret->start));
	memcpy(&of, head + layout->wasm_code_native, sizeof(of));
	memcpy(&ret->bytes, head + layout->wasm_code_bytes, sizeof(ret->bytes));
	memcpy(&ret->index, head + layout->wasm_code_index, sizeof(ret->index));
	return of != native || ret->bytes > MAX_CODE ? -EBADMSG : 0;
}

/* Reads those that are others than the last time: one that is compiled or replaced costs no reading
 * of all. */
static int read_codes(struct v8_heap *heap, uint64_t native, struct module *module)
{
	uint64_t table, some[AT_A_TIME];
	int r = read_word(heap, native + (uint32_t)heap->layout->wasm_native_codes, &table);

	for (uint32_t i = 0; r == 0 && i < module->n_own; i += AT_A_TIME) {
		uint32_t len = EP_MIN(module->n_own - i, AT_A_TIME);

		r = v8_heap_read_now(heap, table + 8ull * i, some, 8ull * len);
		for (uint32_t k = 0; r == 0 && k < len; k++) {
			struct code *code = &module->codes[i + k];

			if (code->object == some[k])
				continue;
			code->object = 0;
			r = read_code(heap, some[k], native, code);
			if (r < 0)
				code->object = 0;
			r = r == -ESRCH ? r : 0;
		}
	}
	return r;
}

static int read_module(struct v8_heap *heap, struct names_cache *cache, uint64_t native,
		       const struct wire *wire, struct module **ret)
{
	ep_autofree uint8_t *bytes = NULL;
	struct module *module;
	uint32_t imported, own;
	struct bytes names;
	int r = read_wire(heap, wire, &bytes);

	if (r < 0)
		return r;
	v8_wasm_counts(bytes, wire->n, &imported, &own);
	own = EP_MIN(own, MAX_CODES);
	names = find_names(bytes, wire->n);
	module = calloc(1, sizeof(*module));
	if (module)
		module->codes = calloc(own + 1ull, sizeof(*module->codes));
	if (!module || !module->codes) {
		free(module);
		return -ENOMEM;
	}
	module->n_own = own;
	module->wire = *wire;
	module->wire.has_names = true;
	module->wire.names_off = (uint64_t)(names.at - bytes);
	module->wire.n_names = (uint64_t)(names.end - names.at);
	module->item = (struct names_item){.kind = V8_ITEM_MODULE, .key = {native, wire->id},
					   .free = free_module};
	module->item.bytes = sizeof(*module) + (own + 1ull) * sizeof(*module->codes);
	names_cache_put(cache, &module->item);
	*ret = module;
	return 0;
}

static const struct code *find_code(const struct module *module, uint64_t pc)
{
	const struct code *found = NULL;

	for (uint32_t i = 0; i < module->n_own; i++) {
		const struct code *code = &module->codes[i];

		if (code->object && pc >= code->start && pc - code->start < code->bytes &&
		    (!found || code->start > found->start))
			found = code;
	}
	return found;
}

/* The code that is known may have gone, so it is read again. */
static bool find_index(struct v8_heap *heap, const struct module *module, uint64_t native,
		       uint64_t pc, uint32_t *ret)
{
	const struct code *code = find_code(module, pc);
	struct code now;

	if (!code || read_code(heap, code->object, native, &now) < 0 || now.start != code->start ||
	    now.index != code->index)
		return false;
	*ret = now.index;
	return true;
}

/* Its names' place is known then, too. */
static int get_index(struct v8_heap *heap, struct names_cache *cache, uint64_t native,
		     struct wire *wire, uint64_t pc, uint32_t *ret)
{
	struct module *module = names_cache_find(cache, V8_ITEM_MODULE, native, wire->id, 0);
	bool is_found = false;
	int r = 0;

	if (!module)
		r = read_module(heap, cache, native, wire, &module);
	if (r < 0)
		return r;
	is_found = find_index(heap, module, native, pc, ret);
	if (!is_found) {
		/* Now and then all of them: another may be at the same address, for the same
		 * function. */
		if (++module->n_missed % ALL_ANEW == 0)
			memset(module->codes, 0, module->n_own * sizeof(*module->codes));
		r = read_codes(heap, native, module);
		is_found = find_index(heap, module, native, pc, ret);
	}
	*wire = module->wire;
	names_item_unref(&module->item);
	if (is_found)
		return 0;
	return r < 0 ? r : -EBADMSG;
}

/* ---- names that were asked for ---- */

struct name {
	struct names_item item; /* key: the module's bytes' id, the function's index */
	char text[];
};

static int read_name(struct v8_heap *heap, const struct wire *wire, uint32_t index, char *buf,
		     size_t size)
{
	ep_autofree uint8_t *bytes = NULL;
	int r;

	if (!wire->has_names) {
		r = read_wire(heap, wire, &bytes);
		if (r == 0)
			v8_wasm_name_in(bytes, wire->n, index, buf, size);
		return r;
	}
	buf[0] = '\0';
	if (!wire->n_names)
		return 0;
	bytes = malloc(wire->n_names);
	r = bytes ? v8_heap_read_now(heap, wire->at + wire->names_off, bytes, wire->n_names)
		  : -ENOMEM;
	if (r == 0)
		find_in_names((struct bytes){.at = bytes, .end = bytes + wire->n_names}, index, buf,
			      size);
	return r;
}

static int get_name(struct v8_heap *heap, struct names_cache *cache, const struct wire *wire,
		    uint32_t index, char *buf, size_t size)
{
	struct name *name = names_cache_find(cache, V8_ITEM_WASM, wire->id, index, 0);
	int r;

	if (name) {
		snprintf(buf, size, "%s", name->text);
		names_item_unref(&name->item);
		return 0;
	}
	r = read_name(heap, wire, index, buf, size);
	if (r < 0)
		return r;
	if (!buf[0])
		snprintf(buf, size, "wasm-function[%u]", index);
	name = calloc(1, sizeof(*name) + strlen(buf) + 1);
	if (!name)
		return -ENOMEM;
	memcpy(name->text, buf, strlen(buf));
	name->item = (struct names_item){.kind = V8_ITEM_WASM,
					 .key = {wire->id, index},
					 .bytes = sizeof(*name) + strlen(buf) + 1};
	names_cache_put(cache, &name->item);
	names_item_unref(&name->item);
	return 0;
}

static bool is_known(const struct v8_layout *layout)
{
	return v8_has(layout->wasm_native_bytes) && v8_has(layout->wasm_native_codes) &&
	       v8_has(layout->wasm_code_start) && layout->wasm_code_start <= (int)HEAD_BYTES - 8 &&
	       layout->wasm_code_native <= (int)HEAD_BYTES - 8 &&
	       layout->wasm_code_bytes <= (int)HEAD_BYTES - 4 &&
	       layout->wasm_code_index <= (int)HEAD_BYTES - 4;
}

/* ---- 6.2 ---- */

/*
 * Functions are code in the heap, whose deoptimization data are an instance, weakly, and an index
 * (GetOwningWasmInstance, wasm/wasm-module.cc; wasm/wasm-objects.h):
 *
 *	WeakCell ──► WasmInstanceObject ──► WasmCompiledModule[0]
 *						──► WasmSharedModuleData[1]: the module, a string
 */
#define WEAK_CELL_VALUE	 8
#define INSTANCE_MODULE	 24
#define MODULE_SHARED	 0
#define SHARED_BYTES	 1
#define MAX_OF_CODE	 (1u << 16)

static int get_element(struct v8_heap *heap, uint64_t *object, uint32_t i)
{
	uint32_t n;
	int r = v8_array_length(heap, object, MAX_OF_CODE, &n);

	return r < 0 ? r : v8_array_get(heap, *object, n, i, object);
}

static int find_in_heap(struct v8_heap *heap, uint64_t pc, struct wire *wire, uint32_t *ret_index)
{
	struct v8_code_object code;
	struct v8_flat flat;
	uint64_t data = 0, index, object;
	int r = v8_code_find(heap, pc, &code);

	if (r == 0 && code.kind != V8_CODE_WASM)
		r = -EBADMSG;
	if (r == 0)
		r = v8_field(heap, code.object, heap->layout->code_deopt, &data);
	object = index = data;
	if (r == 0)
		r = get_element(heap, &index, 1);
	if (r == 0 && (!v8_is_smi(index) || v8_smi(index) < 0))
		r = -EBADMSG;
	if (r == 0)
		r = get_element(heap, &object, 0);
	if (r == 0)
		r = follow_field(heap, &object, WEAK_CELL_VALUE);
	if (r == 0)
		r = follow_field(heap, &object, INSTANCE_MODULE);
	if (r == 0)
		r = get_element(heap, &object, MODULE_SHARED);
	if (r == 0)
		r = get_element(heap, &object, SHARED_BYTES);
	if (r == 0)
		r = v8_string_flat(heap, object, &flat);
	if (r < 0)
		return r;
	if (flat.two_bytes || flat.length < 8 || flat.length > MAX_MODULE)
		return -EBADMSG;
	*wire = (struct wire){.at = flat.chars, .n = flat.length};
	*ret_index = (uint32_t)v8_smi(index);
	return identify(heap, wire);
}

int v8_wasm_name(struct v8_heap *heap, struct names_cache *cache, uint64_t instance, uint64_t pc,
		 bool is_return, char *buf, size_t size)
{
	uint64_t object = instance + V8_TAG, native = 0;
	struct wire wire;
	uint32_t index;
	uint16_t type;
	int r = is_known(heap->layout) ? v8_object_type(heap, &object, &type) : -ENOTSUP;

	if (heap->layout->version.major == 6 && heap->layout->version.minor < 3) {
		r = find_in_heap(heap, pc, &wire, &index);
		return r < 0 ? r : get_name(heap, cache, &wire, index, buf, size);
	}
	if (r == 0)
		r = find_native_module(heap, object, &native);
	if (r == 0)
		r = find_wire(heap, native, &wire);
	if (r == 0)
		r = get_index(heap, cache, native, &wire, pc - is_return, &index);
	return r < 0 ? r : get_name(heap, cache, &wire, index, buf, size);
}
