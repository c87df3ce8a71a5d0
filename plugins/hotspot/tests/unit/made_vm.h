/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A VM that is made up: a piece of memory with classes, methods and compiled code in it, in the
 * layouts of four families of releases.
 */
#ifndef HOTSPOT_TESTS_MADE_VM_H
#define HOTSPOT_TESTS_MADE_VM_H

#include "plugins/hotspot/code/stubs.h"
#include "plugins/hotspot/hotspot_shared.h"
#include "plugins/hotspot/layout.h"
#include "tests/kit/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MADE_BASE  0x7f1200000000ull
#ifndef MADE_BYTES
#define MADE_BYTES (64u << 10)
#endif

enum made_family {
	MADE_8,	 /* all in the block, offsets */
	MADE_17, /* the scopes by address */
	MADE_25, /* apart; byte 0 excluded */
	MADE_23, /* the same, but for the metadata, which are in the block */
	MADE_FAMILIES,
};

struct made_vm {
	enum made_family family;
	uint32_t excluded;
	struct hotspot_layout layout;
	uint8_t memory[MADE_BYTES];
	size_t used;
	struct fake_memory reads; /* of `memory` */
	uint64_t a, b; /* of a change */
};

static inline void made_set(struct made_vm *vm, enum hotspot_field_id id, uint32_t off,
			    uint32_t bytes)
{
	vm->layout.fields[id] = (struct hotspot_member){
		.off = (uint16_t)off, .bytes = (uint8_t)bytes, .has = true};
}

static inline void made_layout_common(struct made_vm *vm)
{
	struct hotspot_layout *layout = &vm->layout;
	bool is_old = vm->family == MADE_8;

	made_set(vm, HOTSPOT_F_block_used, 4, 1);
	layout->sizes[HOTSPOT_Z_block_bytes] = 16;
	made_set(vm, HOTSPOT_F_names_oop_maps, 0, 8);
	made_set(vm, HOTSPOT_F_blob_size, 24, 4);
	made_set(vm, HOTSPOT_F_nmethod_method, 80, 8);
	made_set(vm, HOTSPOT_F_nmethod_compile_id, 204, 4);
	made_set(vm, HOTSPOT_F_names_oop_map_count, 0, 4);
	made_set(vm, HOTSPOT_F_names_pc_off, 0, 4);
	made_set(vm, HOTSPOT_F_names_pc_scope, 4, 4);
	layout->sizes[HOTSPOT_Z_names_pc_bytes] = 16;
	made_set(vm, HOTSPOT_F_names_method_const, 8, 8);
	made_set(vm, HOTSPOT_F_names_const_pool, 8, 8);
	made_set(vm, HOTSPOT_F_names_const_words, 24, 4);
	made_set(vm, HOTSPOT_F_names_const_flags, 28, is_old ? 2 : 4);
	made_set(vm, HOTSPOT_F_names_const_code_bytes, 32, 2);
	made_set(vm, HOTSPOT_F_names_const_name, 34, 2);
	made_set(vm, HOTSPOT_F_names_const_signature, 36, 2);
	layout->sizes[HOTSPOT_Z_names_const_bytes] = 48;
	layout->has_constant[is_old ? HOTSPOT_C_names_has_lines_20 : HOTSPOT_C_names_has_lines] =
		true;
	layout->constants[is_old ? HOTSPOT_C_names_has_lines_20 : HOTSPOT_C_names_has_lines] = 1;
	made_set(vm, HOTSPOT_F_names_pool_holder, 24, 8);
	made_set(vm, HOTSPOT_F_names_pool_len, 60, 4);
	layout->sizes[HOTSPOT_Z_names_pool_bytes] = 72;
	made_set(vm, HOTSPOT_F_names_class_name, 24, 8);
	made_set(vm, HOTSPOT_F_names_class_pool, 200, 8);
	made_set(vm, HOTSPOT_F_names_class_debug, 232, 8);
	if (is_old)
		made_set(vm, HOTSPOT_F_names_class_file, 258, 2);
	else
		made_set(vm, HOTSPOT_F_names_pool_file, 54, 2);
	made_set(vm, HOTSPOT_F_names_symbol_bytes, is_old ? 0 : 4, 2);
	made_set(vm, HOTSPOT_F_names_symbol_body, is_old ? 8 : 6, 1);
}

static inline void made_init(struct made_vm *vm, enum made_family family)
{
	memset(vm, 0, sizeof(*vm));
	vm->family = family;
	vm->excluded = family >= MADE_25;
	vm->used = 64;
	fake_memory_add(&vm->reads, MADE_BASE, vm->memory, MADE_BYTES);
	vm->reads.change_arg = vm;
	made_layout_common(vm);
	made_set(vm, HOTSPOT_F_names_pcs_off, 180, 4);
	made_set(vm, HOTSPOT_F_names_null_checks_off, 192, 4);
	if (family >= MADE_25) {
		made_set(vm, HOTSPOT_F_blob_code_offset, 36, 4);
		if (family == MADE_25) {
			made_set(vm, HOTSPOT_F_names_mutable_data, 16, 8);
			made_set(vm, HOTSPOT_F_names_mutable_bytes, 48, 4);
			made_set(vm, HOTSPOT_F_names_relocation_bytes, 28, 4);
		} else {
			made_set(vm, HOTSPOT_F_blob_data_offset, 40, 4);
			made_set(vm, HOTSPOT_F_names_metadata_off, 172, 4);
		}
		made_set(vm, HOTSPOT_F_names_scopes_off, 200, 4);
		made_set(vm, HOTSPOT_F_names_handlers_off, 196, 4);
		made_set(vm, HOTSPOT_F_names_immutable_data, 96, 8);
		made_set(vm, HOTSPOT_F_names_immutable_bytes, 160, 4);
		made_set(vm, HOTSPOT_F_names_class_fields, 448, 8);
		return;
	}
	made_set(vm, HOTSPOT_F_names_metadata_off, 172, 4);
	made_set(vm, HOTSPOT_F_names_dependencies_off, 184, 4);
	made_set(vm, HOTSPOT_F_names_end_off, 196, 4);
	if (family == MADE_17) {
		made_set(vm, HOTSPOT_F_names_scopes_begin, 120, 8);
		made_set(vm, HOTSPOT_F_blob_code_begin, 32, 8);
	} else {
		made_set(vm, HOTSPOT_F_names_scopes_off, 176, 4);
		made_set(vm, HOTSPOT_F_blob_code_offset, 36, 4);
	}
}

static inline uint64_t made_alloc(struct made_vm *vm, size_t bytes)
{
	uint64_t addr = MADE_BASE + vm->used;

	vm->used = (vm->used + bytes + 15) & ~(size_t)15;
	if (vm->used > MADE_BYTES)
		abort();
	return addr;
}

static inline void made_poke(struct made_vm *vm, uint64_t addr, const void *from, size_t bytes)
{
	fake_memory_put(&vm->reads, addr, from, bytes);
}

static inline void made_put(struct made_vm *vm, uint64_t addr, enum hotspot_field_id id,
			    uint64_t value)
{
	if (vm->layout.fields[id].has)
		made_poke(vm, addr + vm->layout.fields[id].off, &value,
			  vm->layout.fields[id].bytes);
}

/* Not counted; what cannot be read is 0. */
static inline uint64_t made_word(struct made_vm *vm, uint64_t addr)
{
	uint64_t value = 0;

	if (addr >= MADE_BASE && addr - MADE_BASE <= sizeof(vm->memory) - sizeof(value))
		memcpy(&value, vm->memory + (addr - MADE_BASE), sizeof(value));
	return value;
}

/* What BPF reads of an interpreted method, and word 1 of its frames. */
static inline struct hotspot_way made_way(struct made_vm *vm, uint64_t method)
{
	const uint64_t mask = HOTSPOT_SYMBOL_MASK(vm->family == MADE_8 ? 16 : 0);
	struct hotspot_way way = {.const_method = made_word(vm, method + 8)};

	way.quad = made_word(vm, way.const_method + 32);
	way.pool = made_word(vm, way.const_method + 8);
	way.version = made_word(vm, way.pool + 60);
	way.class = made_word(vm, way.pool + 24);
	way.class_name = made_word(vm, way.class + 24);
	way.name = made_word(vm, way.pool + 72 + 8 * HOTSPOT_NAME_INDEX(way.quad));
	way.class_symbol = made_word(vm, way.class_name) & mask;
	way.symbol = made_word(vm, way.name) & mask;
	return way;
}

static inline uint64_t made_interpreted_word(struct made_vm *vm, uint64_t method)
{
	const struct hotspot_way way = made_way(vm, method);

	return hotspot_interpreted_word(&way);
}

static inline uint64_t made_symbol(struct made_vm *vm, const char *text)
{
	uint64_t addr = made_alloc(vm, strlen(text) + 16);

	made_put(vm, addr, HOTSPOT_F_names_symbol_bytes, strlen(text));
	made_poke(vm, addr + (vm->family == MADE_8 ? 2 : 0), &(uint16_t){1}, 2); /* references */
	made_poke(vm, addr + vm->layout.fields[HOTSPOT_F_names_symbol_body].off, text,
		  strlen(text));
	return addr;
}

struct made_class {
	uint64_t class, pool;
	uint32_t n;
};

#define MADE_POOL 16

static inline uint32_t made_entry(struct made_vm *vm, struct made_class *class, const char *text)
{
	uint64_t symbol = made_symbol(vm, text);

	if (class->n >= MADE_POOL)
		abort();
	made_poke(vm, class->pool + 72 + 8ull * class->n, &symbol, 8);
	return class->n++;
}

static inline struct made_class made_class(struct made_vm *vm, const char *name, const char *file,
					   const char *debug)
{
	struct made_class class = {.n = 1};
	uint32_t entry;
	uint64_t text;

	class.class = made_alloc(vm, 520);
	class.pool = made_alloc(vm, 72 + 8 * MADE_POOL);
	made_put(vm, class.class, HOTSPOT_F_names_class_name, made_symbol(vm, name));
	made_put(vm, class.class, HOTSPOT_F_names_class_pool, class.pool);
	made_put(vm, class.pool, HOTSPOT_F_names_pool_holder, class.class);
	made_put(vm, class.pool, HOTSPOT_F_names_pool_len, MADE_POOL);
	if (file) {
		entry = made_entry(vm, &class, file);
		made_put(vm, class.class, HOTSPOT_F_names_class_file, entry);
		made_put(vm, class.pool, HOTSPOT_F_names_pool_file, entry);
	}
	if (debug) {
		text = made_alloc(vm, strlen(debug) + 1);
		made_poke(vm, text, debug, strlen(debug));
		made_put(vm, class.class, HOTSPOT_F_names_class_debug, text);
	}
	return class;
}

static inline size_t made_unsigned5(const struct made_vm *vm, uint32_t value, uint8_t *out)
{
	uint32_t low = 192 - vm->excluded;

	for (size_t i = 0;; i++) {
		if (value < low || i == 4) {
			out[i] = (uint8_t)(value + vm->excluded);
			return i + 1;
		}
		value -= low;
		out[i] = (uint8_t)(192 + value % 64);
		value /= 64;
	}
}

struct made_pair {
	int bci, line;
};

static inline size_t made_lines(const struct made_vm *vm, const struct made_pair *pairs, size_t n,
				uint8_t *out)
{
	int bci = 0, line = 0;
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		int bcis = pairs[i].bci - bci, lines = pairs[i].line - line;

		if (bcis >= 0 && bcis < 31 && lines >= 0 && lines < 8 && bcis + lines) {
			out[at++] = (uint8_t)(bcis << 3 | lines);
		} else {
			out[at++] = 0xff;
			at += made_unsigned5(vm, (uint32_t)bcis << 1 ^ (uint32_t)(bcis >> 31),
					     out + at);
			at += made_unsigned5(vm, (uint32_t)lines << 1 ^ (uint32_t)(lines >> 31),
					     out + at);
		}
		bci = pairs[i].bci;
		line = pairs[i].line;
	}
	out[at++] = 0;
	return at;
}

static inline uint64_t made_method(struct made_vm *vm, struct made_class *class, const char *name,
				   const char *signature, uint32_t code_bytes,
				   const struct made_pair *pairs, size_t n_pairs)
{
	uint8_t table[1024];
	size_t lines = n_pairs ? made_lines(vm, pairs, n_pairs, table) : 0;
	size_t bytes = (48 + code_bytes + lines + 7) & ~(size_t)7;
	uint64_t method = made_alloc(vm, 88), const_method = made_alloc(vm, bytes);

	made_put(vm, method, HOTSPOT_F_names_method_const, const_method);
	made_put(vm, const_method, HOTSPOT_F_names_const_pool, class->pool);
	made_put(vm, const_method, HOTSPOT_F_names_const_words, bytes / 8);
	made_put(vm, const_method, HOTSPOT_F_names_const_flags, n_pairs ? 1 : 0);
	made_put(vm, const_method, HOTSPOT_F_names_const_code_bytes, code_bytes);
	made_put(vm, const_method, HOTSPOT_F_names_const_name, made_entry(vm, class, name));
	made_put(vm, const_method, HOTSPOT_F_names_const_signature,
		 made_entry(vm, class, signature));
	if (n_pairs)
		made_poke(vm, const_method + 48 + code_bytes, table, lines);
	return method;
}

/* A scope: its caller's number in the array or -1, its method's number in the metadata from 1
 * on. */
struct made_scope {
	int caller, method, bci;
};

struct made_pc {
	int off, scope; /* number or -1 */
};

struct made_nmethod {
	const struct made_scope *scopes;
	size_t n_scopes;
	const struct made_pc *pcs;
	size_t n_pcs;
	const uint64_t *metadata;
	size_t n_metadata;
	uint32_t null_off, null_to; /* 0: no null check */
	uint32_t oop_maps;
};

#define MADE_CODE_OFF 256
#define MADE_DATA_OFF 1000

static inline size_t made_scope_data(const struct made_vm *vm, const struct made_nmethod *n,
				     uint8_t *out, uint32_t *offs)
{
	size_t at = 0;

	out[at++] = 0xff;
	for (size_t i = 0; i < n->n_scopes; i++) {
		const struct made_scope *scope = &n->scopes[i];

		offs[i] = (uint32_t)at;
		at += made_unsigned5(vm, scope->caller < 0 ? 0 : offs[scope->caller], out + at);
		at += made_unsigned5(vm, (uint32_t)scope->method, out + at);
		at += made_unsigned5(vm, (uint32_t)(scope->bci + 1), out + at);
		for (int k = 0; k < 3; k++)
			at += made_unsigned5(vm, 0, out + at);
	}
	return (at + 7) & ~(size_t)7;
}

static inline size_t made_pc_data(const struct made_nmethod *n, const uint32_t *offs,
				  int32_t (*out)[4])
{
	out[0][0] = -1;
	for (size_t i = 0; i < n->n_pcs; i++) {
		out[i + 1][0] = n->pcs[i].off;
		out[i + 1][1] = n->pcs[i].scope < 0 ? 0 : (int32_t)offs[n->pcs[i].scope];
	}
	out[n->n_pcs + 1][0] = 0x4001;
	return (n->n_pcs + 2) * sizeof(*out);
}

/* The CodeBlob's address. Sections: metadata, scopes' data, pcs, null checks. */
static inline uint64_t made_nmethod(struct made_vm *vm, uint32_t id, const struct made_nmethod *n)
{
	uint8_t data[2048] = {0};
	int32_t (*pcs)[4] = calloc(n->n_pcs + 2, sizeof(*pcs));
	uint32_t offs[64], checks[3] = {1, n->null_off, n->null_to};
	size_t data_bytes = made_scope_data(vm, n, data, offs);
	size_t pcs_bytes = made_pc_data(n, offs, pcs);
	size_t meta = 8 * n->n_metadata, check_bytes = n->null_off ? sizeof(checks) : 0;
	uint64_t blob = made_alloc(vm, 16 + 1024 + meta + data_bytes + pcs_bytes + 64) + 16;
	uint64_t maps = made_alloc(vm, 8), base = blob + 1024, mutable = base;
	uint64_t at_meta, at_data, at_pcs, at_checks, end;

	made_poke(vm, blob - 16 + 4, &(uint8_t){1}, 1);
	made_poke(vm, maps, &n->oop_maps, 4);
	made_put(vm, blob, HOTSPOT_F_names_oop_maps, maps);
	made_put(vm, blob, HOTSPOT_F_nmethod_method, n->metadata[0]);
	made_put(vm, blob, HOTSPOT_F_nmethod_compile_id, id);
	made_put(vm, blob, HOTSPOT_F_blob_code_offset, MADE_CODE_OFF);
	made_put(vm, blob, HOTSPOT_F_blob_code_begin, blob + MADE_CODE_OFF);
	at_meta = base;
	if (vm->family >= MADE_25) {
		base = made_alloc(vm, check_bytes + 8 + pcs_bytes + data_bytes);
		at_checks = base;
		at_pcs = base + ((check_bytes + 7) & ~(size_t)7);
		at_data = at_pcs + pcs_bytes;
		end = at_data + data_bytes;
	} else {
		base = blob;
		at_data = at_meta + meta;
		at_pcs = at_data + data_bytes;
		at_checks = at_pcs + pcs_bytes;
		end = at_checks + check_bytes;
	}
	made_put(vm, blob, HOTSPOT_F_names_mutable_data, mutable);
	made_put(vm, blob, HOTSPOT_F_names_mutable_bytes, meta);
	made_put(vm, blob, HOTSPOT_F_names_immutable_data, base);
	made_put(vm, blob, HOTSPOT_F_names_immutable_bytes, end - base);
	made_put(vm, blob, HOTSPOT_F_names_handlers_off, at_checks + check_bytes - base);
	made_put(vm, blob, HOTSPOT_F_blob_data_offset, MADE_DATA_OFF);
	made_put(vm, blob, HOTSPOT_F_blob_size, at_meta + meta - blob);
	made_put(vm, blob, HOTSPOT_F_names_metadata_off,
		 at_meta - blob - (vm->family == MADE_23 ? MADE_DATA_OFF : 0));
	made_put(vm, blob, HOTSPOT_F_names_scopes_off, at_data - base);
	made_put(vm, blob, HOTSPOT_F_names_scopes_begin, at_data);
	made_put(vm, blob, HOTSPOT_F_names_pcs_off, at_pcs - base);
	made_put(vm, blob, HOTSPOT_F_names_dependencies_off, at_checks - base);
	made_put(vm, blob, HOTSPOT_F_names_null_checks_off, at_checks - base);
	made_put(vm, blob, HOTSPOT_F_names_end_off, end - base);
	made_poke(vm, at_meta, n->metadata, meta);
	made_poke(vm, at_data, data, data_bytes);
	made_poke(vm, at_pcs, pcs, pcs_bytes);
	made_poke(vm, at_checks, checks, check_bytes);
	free(pcs);
	return blob;
}

#endif
