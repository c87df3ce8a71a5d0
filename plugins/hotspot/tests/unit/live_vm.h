/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A running JVM, read by a test in the plainest way: all rows of its tables as text, then its nmethods, one
 * after the other, and what names them. Whatever it does not understand ends the test.
 */
#ifndef HOTSPOT_TESTS_LIVE_VM_H
#define HOTSPOT_TESTS_LIVE_VM_H

#include "core/base/clock.h"
#include "core/base/util.h"
#include "plugins/hotspot/hotspot_shared.h"
#include "plugins/hotspot/symbolize/names.h"
#include "plugins/hotspot/symbolize/nmethods.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#define LIVE_MAX_ROWS 8192
#define LIVE_NAME     96

struct live_row {
	char type[LIVE_NAME], field[LIVE_NAME], type_string[LIVE_NAME];
	bool is_static;
	uint64_t value; /* offset, address, size or constant */
};

struct live_vm {
	pid_t pid;
	uint64_t base;
	char *file; /* libjvm.so, whole */
	size_t file_bytes;
	struct live_row *fields, *types, *constants;
	size_t n_fields, n_types, n_constants;
	uint64_t reads;
};

#define LIVE_CHECK(what)                                                                           \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);                 \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static inline int live_read(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	struct live_vm *vm = arg;
	struct iovec to = {buf, bytes}, from = {(void *)(uintptr_t)addr, bytes};
	ssize_t n = process_vm_readv(vm->pid, &to, 1, &from, 1, 0);

	vm->reads++;
	if (n < 0 && errno == ESRCH)
		return -ESRCH;
	return n == (ssize_t)bytes ? 0 : -EFAULT;
}

static inline uint64_t live_word(struct live_vm *vm, uint64_t addr)
{
	uint64_t word = 0;

	LIVE_CHECK(live_read(vm, addr, &word, sizeof(word)) == 0);
	return word;
}

static inline void live_string(struct live_vm *vm, uint64_t addr, char *buf, size_t size)
{
	size_t n = 0;

	buf[0] = '\0';
	while (addr && n + 1 < size && live_read(vm, addr + n, &buf[n], 1) == 0 && buf[n])
		n++;
	buf[n] = '\0';
}

/* The first mapping of libjvm.so, and the file as the process sees it. */
static inline void live_open(struct live_vm *vm)
{
	char path[PATH_MAX], line[PATH_MAX + 128];
	uint64_t start = 0, end = 0;
	FILE *maps;
	ep_autoclose int fd = -1;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)vm->pid);
	maps = fopen(path, "re");
	LIVE_CHECK(maps);
	while (!start && fgets(line, sizeof(line), maps)) {
		if (strstr(line, "/libjvm.so"))
			LIVE_CHECK(sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) == 2);
	}
	fclose(maps);
	LIVE_CHECK(start);
	vm->base = start;
	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)vm->pid, start,
		 end);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	LIVE_CHECK(fd >= 0);
	vm->file_bytes = (size_t)lseek(fd, 0, SEEK_END);
	vm->file = malloc(vm->file_bytes);
	LIVE_CHECK(vm->file && pread(fd, vm->file, vm->file_bytes, 0) == (ssize_t)vm->file_bytes);
}

/* Of .dynsym, in the process. */
static inline uint64_t live_symbol(const struct live_vm *vm, const char *name)
{
	const Elf64_Ehdr *header = (const void *)vm->file;
	const Elf64_Shdr *sections = (const void *)(vm->file + header->e_shoff);

	for (size_t i = 0; i < header->e_shnum; i++) {
		const Elf64_Sym *symbols = (const void *)(vm->file + sections[i].sh_offset);
		const char *names = vm->file + sections[sections[i].sh_link].sh_offset;

		if (sections[i].sh_type != SHT_DYNSYM)
			continue;
		for (size_t k = 0; k < sections[i].sh_size / sizeof(*symbols); k++) {
			if (strcmp(names + symbols[k].st_name, name) == 0)
				return vm->base + symbols[k].st_value;
		}
	}
	fprintf(stderr, "no symbol %s\n", name);
	exit(1);
}

static inline uint64_t live_layout_of(struct live_vm *vm, const char *table, const char *what)
{
	char name[128];

	snprintf(name, sizeof(name), "gHotSpotVM%s%s", table, what);
	return live_word(vm, live_symbol(vm, name));
}

static inline void live_read_fields(struct live_vm *vm)
{
	uint64_t at = live_layout_of(vm, "Structs", "");
	uint64_t stride = live_layout_of(vm, "StructEntry", "ArrayStride");
	uint64_t type = live_layout_of(vm, "StructEntry", "TypeNameOffset");
	uint64_t field = live_layout_of(vm, "StructEntry", "FieldNameOffset");
	uint64_t text = live_layout_of(vm, "StructEntry", "TypeStringOffset");
	uint64_t is_static = live_layout_of(vm, "StructEntry", "IsStaticOffset");
	uint64_t off = live_layout_of(vm, "StructEntry", "OffsetOffset");
	uint64_t addr = live_layout_of(vm, "StructEntry", "AddressOffset");

	for (; live_word(vm, at + type); at += stride) {
		struct live_row *row = &vm->fields[vm->n_fields++];

		LIVE_CHECK(vm->n_fields < LIVE_MAX_ROWS);
		live_string(vm, live_word(vm, at + type), row->type, LIVE_NAME);
		live_string(vm, live_word(vm, at + field), row->field, LIVE_NAME);
		live_string(vm, live_word(vm, at + text), row->type_string, LIVE_NAME);
		row->is_static = (uint32_t)live_word(vm, at + is_static);
		row->value = live_word(vm, at + (row->is_static ? addr : off));
	}
}

/* A table of names with one value each; how many it has. */
static inline size_t live_read_values(struct live_vm *vm, const char *table, const char *entry,
				      const char *name, const char *value, struct live_row *rows)
{
	uint64_t at = live_layout_of(vm, table, "");
	uint64_t stride = live_layout_of(vm, entry, "ArrayStride");
	uint64_t name_off = live_layout_of(vm, entry, name), value_off = live_layout_of(vm, entry, value);
	size_t n = 0;

	for (; live_word(vm, at + name_off); at += stride, n++) {
		LIVE_CHECK(n + 1 < LIVE_MAX_ROWS);
		live_string(vm, live_word(vm, at + name_off), rows[n].type, LIVE_NAME);
		rows[n].value = live_word(vm, at + value_off);
	}
	return n;
}

static inline const struct live_row *live_find(const struct live_row *rows, size_t n,
					       const char *type, const char *field)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(rows[i].type, type) == 0 && strcmp(rows[i].field, field) == 0)
			return &rows[i];
	}
	return NULL;
}

static inline uint8_t live_width(const char *type)
{
	static const char *const bytes_of[] = {"bool", "u1", "jbyte", "jboolean"};
	static const char *const shorts[] = {"u2", "int16_t", "short", "jshort"};
	static const char *const ints[] = {"int", "u4", "jint", "uint", "uint32_t", "unsigned int"};

	if (strchr(type, '*'))
		return 8;
	for (size_t i = 0; i < EP_LEN(bytes_of); i++) {
		if (strcmp(type, bytes_of[i]) == 0)
			return 1;
	}
	for (size_t i = 0; i < EP_LEN(shorts); i++) {
		if (strcmp(type, shorts[i]) == 0)
			return 2;
	}
	if (strcmp(type, "unsigned short") == 0)
		return 2;
	for (size_t i = 0; i < EP_LEN(ints); i++) {
		if (strcmp(type, ints[i]) == 0)
			return 4;
	}
	return strcmp(type, "address") == 0 || strcmp(type, "uint64_t") == 0 ? 8 : 0;
}

static inline void live_set_field(const struct live_vm *vm, struct hotspot_member *member,
				  const char *type, const char *field)
{
	const struct live_row *row = live_find(vm->fields, vm->n_fields, type, field);
	static const char *const is_signed[] = {"int", "int16_t", "jint", "short", "jshort"};

	if (!row || member->has)
		return;
	*member = (struct hotspot_member){
		.off = (uint16_t)row->value,
		.bytes = live_width(row->type_string),
		.has = true,
	};
	for (size_t i = 0; i < EP_LEN(is_signed); i++) {
		if (strcmp(row->type_string, is_signed[i]) == 0)
			member->is_signed = 1;
	}
}

static inline void live_set_static(const struct live_vm *vm, uint64_t *to, const char *type,
				   const char *field)
{
	const struct live_row *row = live_find(vm->fields, vm->n_fields, type, field);

	if (row && !*to)
		*to = row->value;
}

/* The order of fields.def is that of the enumerators; "also" goes to the one before. */
static inline void live_fill(const struct live_vm *vm, struct hotspot_layout *layout)
{
	const struct live_row *row;
	int field = -1, at = -1;

#define HOTSPOT_FIELD(member, type, name)                                                          \
	field = HOTSPOT_F_##member;                                                                \
	live_set_field(vm, &layout->fields[field], type, name);
#define HOTSPOT_ALSO(member, type, name)                                                           \
	live_set_field(vm, &layout->fields[HOTSPOT_F_##member], type, name);
#define HOTSPOT_STATIC(member, type, name)                                                         \
	at = HOTSPOT_S_##member;                                                                   \
	live_set_static(vm, &layout->statics[at], type, name);
#define HOTSPOT_ALSO_STATIC(member, type, name)                                                    \
	live_set_static(vm, &layout->statics[HOTSPOT_S_##member], type, name);
#define HOTSPOT_SIZE(member, type)                                                                 \
	row = live_find(vm->types, vm->n_types, type, "");                                         \
	layout->sizes[HOTSPOT_Z_##member] = row ? (uint32_t)row->value : 0;
#define HOTSPOT_CONSTANT(member, name)                                                             \
	row = live_find(vm->constants, vm->n_constants, name, "");                                 \
	layout->has_constant[HOTSPOT_C_##member] = row != NULL;                                    \
	layout->constants[HOTSPOT_C_##member] = row ? (int32_t)row->value : 0;
#include "plugins/hotspot/fields.def"
	(void)field;
	(void)at;
}

static inline void live_vm_init(struct live_vm *vm, pid_t pid, struct hotspot_layout *layout)
{
	*vm = (struct live_vm){.pid = pid};
	vm->fields = calloc(LIVE_MAX_ROWS, sizeof(struct live_row));
	vm->types = calloc(LIVE_MAX_ROWS, sizeof(struct live_row));
	vm->constants = calloc(LIVE_MAX_ROWS, sizeof(struct live_row));
	LIVE_CHECK(vm->fields && vm->types && vm->constants);
	live_open(vm);
	live_read_fields(vm);
	vm->n_types = live_read_values(vm, "Types", "TypeEntry", "TypeNameOffset", "SizeOffset", vm->types);
	vm->n_constants = live_read_values(vm, "IntConstants", "IntConstantEntry", "NameOffset", "ValueOffset",
					   vm->constants);
	*layout = (struct hotspot_layout){0};
	live_fill(vm, layout);
}

static inline void live_vm_fini(struct live_vm *vm)
{
	free(vm->fields);
	free(vm->types);
	free(vm->constants);
	free(vm->file);
}

/* The heaps of code: addresses of struct CodeHeap. */
static inline size_t live_heaps(struct live_vm *vm, const struct hotspot_layout *layout,
				uint64_t heaps[8])
{
	const struct live_row *len, *data;
	uint64_t list, from;
	uint32_t n;

	if (layout->statics[HOTSPOT_S_heap]) {
		heaps[0] = live_word(vm, layout->statics[HOTSPOT_S_heap]);
		return 1;
	}
	list = live_word(vm, layout->statics[HOTSPOT_S_heaps]);
	len = live_find(vm->fields, vm->n_fields, "GrowableArrayBase", "_len");
	if (!len)
		len = live_find(vm->fields, vm->n_fields, "GenericGrowableArray", "_len");
	data = live_find(vm->fields, vm->n_fields, "GrowableArray<int>", "_data");
	LIVE_CHECK(len && data);
	n = (uint32_t)live_word(vm, list + len->value);
	from = live_word(vm, list + data->value);
	LIVE_CHECK(n <= 8);
	for (uint32_t i = 0; i < n; i++)
		heaps[i] = live_word(vm, from + 8ull * i);
	return n;
}

/* ---- its names ---- */

/* File-level: the program is about one JVM. */
static struct live_vm vm;
static struct hotspot_layout layout;
static struct hotspot_names *names;
static struct hotspot_methods methods;

/* No stubs here. */
const char *hotspot_stubs_name(const struct hotspot_stubs *stubs, uint64_t addr)
{
	return stubs && addr ? "" : NULL;
}

/* 0, EP_FRAME_GONE or a negative errno; the method's word, 0: it is dead, not swept yet. */
static int read_nmethod(uint64_t blob, struct hotspot_nmethod **ret_nmethod, uint64_t *ret_method)
{
	uint64_t method = live_word(&vm, blob + layout.fields[HOTSPOT_F_nmethod_method].off);
	uint64_t id = (uint32_t)live_word(&vm, blob + layout.fields[HOTSPOT_F_nmethod_compile_id].off);

	*ret_method = method;
	return hotspot_nmethod_get(&methods, blob, HOTSPOT_COMPILED_WORD(id, method), ret_nmethod);
}

static void look_through(uint64_t heap, void (*look_at)(uint64_t blob, bool is_native))
{
	uint64_t memory = heap + layout.fields[HOTSPOT_F_heap_memory].off;
	uint32_t shift = (uint32_t)live_word(&vm, heap + layout.fields[HOTSPOT_F_heap_log2_segment].off);
	uint64_t at = live_word(&vm, memory + layout.fields[HOTSPOT_F_space_low].off);
	uint64_t end = live_word(&vm, memory + layout.fields[HOTSPOT_F_space_high].off);
	uint32_t block = layout.sizes[HOTSPOT_Z_block_bytes];

	LIVE_CHECK(shift < 16 && block);
	while (at < end) {
		uint64_t length = live_word(&vm, at + layout.fields[HOTSPOT_F_block_length].off);
		uint8_t used;
		char name[64];

		LIVE_CHECK(live_read(&vm, at + layout.fields[HOTSPOT_F_block_used].off, &used, 1) == 0);
		length &= layout.fields[HOTSPOT_F_block_length].bytes == 4 ? 0xffffffffull : ~0ull;
		if (!length)
			return;
		live_string(&vm, live_word(&vm, at + block + layout.fields[HOTSPOT_F_blob_name].off), name,
			    sizeof(name));
		if (used && (strcmp(name, "nmethod") == 0 || strcmp(name, "native nmethod") == 0))
			look_at(at + block, name[1] == 'a');
		at += length << shift;
	}
}

/* Looks at all nmethods of the JVM that has this id. `guess`: see unsigned5.h. */
static void look_at_all(const char *pid, uint32_t (*guess)(void),
			void (*look_at)(uint64_t blob, bool is_native))
{
	static struct memory memory = {.read = live_read, .arg = &vm};
	static uint32_t excluded;
	uint64_t heaps[8];
	size_t n;

	live_vm_init(&vm, atoi(pid), &layout);
	excluded = guess();
	methods = (struct hotspot_methods){
		.memory = &memory, .layout = &layout, .excluded = &excluded};
	LIVE_CHECK(hotspot_names_new(&memory, &layout, &names) == 0);
	LIVE_CHECK(names_cache_new(&(struct names_budget){.classes = {64u << 20}},
				   &methods.cache) == 0);
	n = live_heaps(&vm, &layout, heaps);
	for (size_t i = 0; i < n; i++)
		look_through(heaps[i], look_at);
}

static void stop_looking(void)
{
	names_cache_free(methods.cache);
	hotspot_names_free(names);
	live_vm_fini(&vm);
}

#endif
