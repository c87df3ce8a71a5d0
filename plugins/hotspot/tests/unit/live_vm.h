/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A running JVM for programs that look into it: its file, what the plugin makes of its tables, and
 * its heaps of code. Whatever does not hold ends the program.
 */
#ifndef HOTSPOT_TESTS_LIVE_VM_H
#define HOTSPOT_TESTS_LIVE_VM_H

#include "core/base/clock.h"
#include "core/base/util.h"
#include "core/elf/file.h"
#include "core/plugin/elf_file.h"
#include "plugins/hotspot/code/heaps.h"
#include "plugins/hotspot/hotspot.h"
#include "plugins/hotspot/symbolize/names.h"
#include "plugins/hotspot/symbolize/nmethods.h"
#include "plugins/shared/names/cache.h"
#include "tests/kit/host.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIVE_WAIT_MS 30000

struct live_vm {
	struct fake_host host;
	struct hotspot_state state;
	char path[64];
	struct ep_elf *elf;
	struct ep_elf_file file;
	void *executable;
	struct memory memory;
	struct hotspot_layout layout;
	struct hotspot_heap heaps[HOTSPOT_MAX_HEAPS];
	size_t n_heaps;
	struct hotspot_names *names; /* after live_begin_names */
	struct hotspot_methods methods;
	uint32_t excluded; /* unsigned5.h */
};

#define LIVE_CHECK(what)                                                                           \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);                 \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static inline bool live_find_library(struct live_vm *vm)
{
	char path[64], line[4352];
	bool found = false;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)vm->host.target.pid);
	maps = fopen(path, "re");
	while (maps && !found && fgets(line, sizeof(line), maps)) {
		unsigned long start, end, off;

		if (!strstr(line, "/libjvm.so") ||
		    sscanf(line, "%lx-%lx %*s %lx", &start, &end, &off) != 3 || off)
			continue;
		vm->host.target.bias = vm->host.module_addr = start;
		snprintf(vm->path, sizeof(vm->path), "/proc/%d/map_files/%lx-%lx",
			 (int)vm->host.target.pid, start, end);
		found = ep_elf_open(vm->path, &vm->elf) == 0;
	}
	if (maps)
		fclose(maps);
	return found;
}

/* Waits for the library, which a JVM loads first. */
static inline void live_vm_open(struct live_vm *vm, pid_t pid)
{
	fake_host_init(&vm->host, &vm->state, sizeof(vm->state));
	fake_host_be_live(&vm->host, pid);
	for (unsigned int i = 0; !live_find_library(vm); i++) {
		LIVE_CHECK(i < LIVE_WAIT_MS);
		usleep(1000);
	}
	vm->host.elf = vm->elf;
	vm->memory = (struct memory){.read = vm->host.ops.read, .arg = &vm->host};
	ep_elf_file_init(&vm->file, vm->elf, NULL, vm->path);
	LIVE_CHECK(hotspot_probe(fake_host_services(&vm->host), &vm->file.file, &vm->executable) ==
		   0);
}

/* What a JVM has that has started. */
static inline void live_vm_read(struct live_vm *vm)
{
	const struct hotspot_executable *exe = vm->executable;

	LIVE_CHECK(hotspot_tables_read(exe->tables, &vm->memory, vm->host.target.bias,
				       &vm->layout) == 0);
	LIVE_CHECK(hotspot_heaps_read(&vm->memory, &vm->layout, vm->heaps, &vm->n_heaps) == 0);
}

static inline void live_vm_close(struct live_vm *vm)
{
	if (vm->methods.cache)
		names_cache_free(vm->methods.cache);
	hotspot_names_free(vm->names);
	if (vm->executable)
		hotspot_unload(vm->executable);
	fake_host_end_job(&vm->host);
	ep_elf_file_fini(&vm->file);
	ep_elf_close(vm->elf);
}

/* A field of what begins at an address; its sign is not extended. */
static inline uint64_t live_field(struct live_vm *vm, uint64_t addr, enum hotspot_field_id id)
{
	const struct hotspot_member *member = &vm->layout.fields[id];
	uint64_t value = 0;

	LIVE_CHECK(member->has && member->bytes);
	LIVE_CHECK(memory_read(&vm->memory, addr + member->off, &value, member->bytes) == 0);
	return value;
}

static inline void live_blob_name(struct live_vm *vm, uint64_t blob, char *name, size_t size)
{
	LIVE_CHECK(memory_read_string(&vm->memory, live_field(vm, blob, HOTSPOT_F_blob_name), name,
				      size, 64) == 0);
}

/* All compiled methods, one after the other, that the VM holds in its heaps. */
static inline void live_each_nmethod(struct live_vm *vm,
				     void (*look_at)(uint64_t blob, bool is_native))
{
	for (size_t i = 0; i < vm->n_heaps; i++) {
		uint64_t length, at = vm->heaps[i].start;

		for (; at < vm->heaps[i].end; at += length << vm->heaps[i].log2_segment) {
			uint64_t blob = at + vm->layout.sizes[HOTSPOT_Z_block_bytes], word;
			char name[64];

			/* After the last block nothing was ever used, nor mapped. */
			if (memory_read(&vm->memory, at, &word, sizeof(word)) < 0 || !word)
				break;
			length = live_field(vm, at, HOTSPOT_F_block_length);
			if (!length || !live_field(vm, at, HOTSPOT_F_block_used))
				continue;
			live_blob_name(vm, blob, name, sizeof(name));
			if (strcmp(name, "nmethod") == 0 || strcmp(name, "native nmethod") == 0)
				look_at(blob, name[1] == 'a');
		}
	}
}

/* ---- its names ---- */

static inline void live_begin_names(struct live_vm *vm)
{
	vm->methods = (struct hotspot_methods){
		.memory = &vm->memory, .layout = &vm->layout, .excluded = &vm->excluded};
	LIVE_CHECK(hotspot_names_new(&vm->memory, &vm->layout, &vm->names) == 0);
	LIVE_CHECK(names_cache_new(&(struct names_budget){.classes = {64u << 20}},
				   &vm->methods.cache) == 0);
}

/* 0, EP_FRAME_GONE or a negative errno; the method's word, 0: it is dead, not swept yet. */
static inline int live_read_nmethod(struct live_vm *vm, uint64_t blob,
				    struct hotspot_nmethod **ret_nmethod, uint64_t *ret_method)
{
	uint64_t method = live_field(vm, blob, HOTSPOT_F_nmethod_method);
	uint32_t id = (uint32_t)live_field(vm, blob, HOTSPOT_F_nmethod_compile_id);

	*ret_method = method;
	return hotspot_nmethod_get(&vm->methods, blob, HOTSPOT_COMPILED_WORD(id, method),
				   ret_nmethod);
}

#endif
