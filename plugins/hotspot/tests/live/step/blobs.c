/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A heap of code has a byte for each segment: 0 where a block begins, else how many segments to go
 * back, in steps, to come nearer to where it does; 0xff where none is used
 * (CodeHeap::find_block_for, src/hotspot/share/memory/heap.cpp, 8 to 27).
 */
#include "plugins/hotspot/tests/live/step/step.h"
#include "plugins/hotspot/tests/unit/live_vm.h"

#define MAX_HOPS     100000
#define FREE_SEGMENT 0xff

struct blobs {
	struct live_vm vm;
	struct blob last;
};

struct blobs *blobs_new(pid_t pid)
{
	struct blobs *blobs = calloc(1, sizeof(*blobs));

	if (blobs) {
		live_vm_open(&blobs->vm, pid);
		live_vm_read(&blobs->vm);
	}
	return blobs;
}

void blobs_free(struct blobs *blobs)
{
	if (blobs)
		live_vm_close(&blobs->vm);
	free(blobs);
}

static const struct hotspot_heap *find_heap(const struct live_vm *vm, uint64_t addr)
{
	for (size_t i = 0; i < vm->n_heaps; i++) {
		if (addr >= vm->heaps[i].start && addr < vm->heaps[i].end)
			return &vm->heaps[i];
	}
	return NULL;
}

static uint64_t find_block(const struct live_vm *vm, uint64_t addr)
{
	const struct hotspot_heap *heap = find_heap(vm, addr);
	uint64_t segment = heap ? (addr - heap->start) >> heap->log2_segment : 0;
	uint8_t back = 0;

	for (int i = 0; heap && i < MAX_HOPS; i++) {
		if (memory_read(&vm->memory, heap->segmap + segment, &back, 1) < 0 ||
		    back == FREE_SEGMENT || back > segment)
			return 0;
		if (back == 0)
			return heap->start + (segment << heap->log2_segment);
		segment -= back;
	}
	return 0;
}

/* "StubRoutines (2)", "fast_new_instance Runtime1 stub": to where numbers begin. */
static void trim(char *name)
{
	char *end = strpbrk(name, "(0@");

	if (end && end > name)
		*end = '\0';
	for (size_t n = strlen(name); n > 0 && name[n - 1] == ' '; n--)
		name[n - 1] = '\0';
}

/* Names of blobs: src/hotspot/share/code/codeBlob.cpp and nmethod.cpp, 8 to 27. */
static void classify(struct blob *blob)
{
	static const struct {
		const char *name;
		enum blob_kind kind;
	} kinds[] = {
		{"Interpreter", BLOB_INTERPRETER},  {"I2C/C2I", BLOB_ADAPTER},
		{"DeoptimizationBlob", BLOB_DEOPT}, {"UncommonTrapBlob", BLOB_DEOPT},
		{"SafepointBlob", BLOB_SAFEPOINT},  {"ExceptionBlob", BLOB_EXCEPTION},
		{"nmethod", BLOB_NMETHOD},	    {"native nmethod", BLOB_NMETHOD},
	};

	for (size_t i = 0; i < EP_LEN(kinds); i++) {
		if (strncmp(blob->name, kinds[i].name, strlen(kinds[i].name)) == 0)
			blob->kind = kinds[i].kind;
	}
	trim(blob->name);
}

bool blobs_find(struct blobs *blobs, uint64_t addr, struct blob *ret)
{
	struct live_vm *vm = &blobs->vm;
	const struct hotspot_layout *layout = &vm->layout;
	uint8_t bytes[HOTSPOT_BLOB_BYTES];
	struct blob blob = {0};
	uint64_t block;

	if (addr >= blobs->last.start && addr < blobs->last.end) {
		*ret = blobs->last;
		return true;
	}
	block = find_block(vm, addr);
	blob.start = block + layout->sizes[HOTSPOT_Z_block_bytes];
	if (!block || !live_field(vm, block, HOTSPOT_F_block_used) ||
	    memory_read(&vm->memory, blob.start, bytes, sizeof(bytes)) < 0)
		return false;
	blob.end = blob.start + hotspot_get(layout, HOTSPOT_F_blob_size, bytes, sizeof(bytes));
	blob.code = hotspot_has(layout, HOTSPOT_F_blob_code_begin)
			    ? hotspot_get(layout, HOTSPOT_F_blob_code_begin, bytes, sizeof(bytes))
			    : blob.start + hotspot_get(layout, HOTSPOT_F_blob_code_offset, bytes,
						       sizeof(bytes));
	blob.frame_bytes =
		8 * (int64_t)hotspot_get(layout, HOTSPOT_F_blob_frame_size, bytes, sizeof(bytes));
	blob.frame_complete =
		(int64_t)hotspot_get(layout, HOTSPOT_F_blob_frame_complete, bytes, sizeof(bytes));
	live_blob_name(vm, blob.start, blob.name, sizeof(blob.name));
	classify(&blob);
	if (addr >= blob.end)
		return false;
	blobs->last = *ret = blob;
	return true;
}
