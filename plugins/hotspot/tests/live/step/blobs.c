/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A heap of code has a byte for each segment: 0 where a block begins, else how many segments to go
 * back, in steps, to come nearer to where it does; 0xff where none is used
 * (CodeHeap::find_block_for, src/hotspot/share/memory/heap.cpp, 8 to 27).
 */
#include "core/base/util.h"
#include "core/proc/memory.h"
#include "plugins/hotspot/tests/live/step/step.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_HEAPS     8
#define MAX_HOPS      100000
#define FREE_SEGMENT  0xff
#define BLOB_BYTES    512
#define MAX_KEY_BYTES 32

struct heap {
	uint64_t low, high, segmap, shift;
};

/* Members of struct CodeBlob and struct nmethod: offset, bytes. */
struct member {
	uint64_t off, bytes;
};

struct blobs {
	pid_t pid;
	struct heap heaps[MAX_HEAPS];
	size_t n_heaps;
	uint64_t header_bytes, used_off;
	struct member name, size, code, frame_size, frame_complete, comp_level;
	struct blob last;
};

struct key {
	const char *name;
	size_t off;
};

static const struct key members[] = {
	{"name", offsetof(struct blobs, name)},
	{"size", offsetof(struct blobs, size)},
	{"code", offsetof(struct blobs, code)},
	{"frame_size", offsetof(struct blobs, frame_size)},
	{"frame_complete", offsetof(struct blobs, frame_complete)},
	{"comp_level", offsetof(struct blobs, comp_level)},
};

static bool take_line(struct blobs *blobs, const char *line)
{
	struct heap *heap = &blobs->heaps[blobs->n_heaps];
	char key[MAX_KEY_BYTES];
	struct member member;

	if (sscanf(line, "heap %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNu64, &heap->low,
		   &heap->high, &heap->segmap, &heap->shift) == 4)
		return ++blobs->n_heaps < MAX_HEAPS;
	if (sscanf(line, "block %" SCNu64 " %" SCNu64, &blobs->header_bytes, &blobs->used_off) == 2)
		return true;
	if (sscanf(line, "%31s %" SCNu64 " %" SCNu64, key, &member.off, &member.bytes) != 3 ||
	    member.bytes > 8 || member.off > BLOB_BYTES - 8)
		return false;
	for (size_t i = 0; i < EP_LEN(members); i++) {
		if (strcmp(members[i].name, key) == 0)
			memcpy((char *)blobs + members[i].off, &member, sizeof(member));
	}
	return true;
}

struct blobs *blobs_new(const char *path, pid_t pid)
{
	struct blobs *blobs = calloc(1, sizeof(*blobs));
	FILE *file = fopen(path, "re");
	char line[256];
	bool good = blobs && file;

	while (good && fgets(line, sizeof(line), file))
		good = take_line(blobs, line);
	if (file)
		fclose(file);
	if (good && blobs->n_heaps > 0 && blobs->size.bytes) {
		blobs->pid = pid;
		return blobs;
	}
	free(blobs);
	return NULL;
}

void blobs_free(struct blobs *blobs)
{
	free(blobs);
}

static const struct heap *find_heap(const struct blobs *blobs, uint64_t addr)
{
	for (size_t i = 0; i < blobs->n_heaps; i++) {
		if (addr >= blobs->heaps[i].low && addr < blobs->heaps[i].high)
			return &blobs->heaps[i];
	}
	return NULL;
}

static uint64_t find_block(const struct blobs *blobs, uint64_t addr)
{
	const struct heap *heap = find_heap(blobs, addr);
	uint64_t segment = heap ? (addr - heap->low) >> heap->shift : 0;
	uint8_t back = 0;

	for (int i = 0; heap && i < MAX_HOPS; i++) {
		if (ep_memory_read(blobs->pid, heap->segmap + segment, &back, 1) < 0 ||
		    back == FREE_SEGMENT || back > segment)
			return 0;
		if (back == 0)
			return heap->low + (segment << heap->shift);
		segment -= back;
	}
	return 0;
}

static int64_t get(const uint8_t *bytes, struct member member)
{
	unsigned int shift = 64 - 8 * (unsigned int)member.bytes;
	uint64_t value = 0;

	memcpy(&value, bytes + member.off, 8);
	return member.bytes ? (int64_t)(value << shift) >> shift : 0;
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

static const char *level_name(int64_t level)
{
	static const char *const names[] = {"native", "C1", "C1", "C1", "C2"};

	return level >= 0 && level < (int64_t)EP_LEN(names) ? names[level] : "nmethod";
}

/* Names of blobs: src/hotspot/share/code/codeBlob.cpp and nmethod.cpp, 8 to 27. */
static void classify(const struct blobs *blobs, const uint8_t *bytes, struct blob *blob)
{
	static const struct {
		const char *name;
		enum blob_kind kind;
	} kinds[] = {
		{"Interpreter", BLOB_INTERPRETER},   {"I2C/C2I", BLOB_ADAPTER},
		{"DeoptimizationBlob", BLOB_DEOPT},  {"UncommonTrapBlob", BLOB_DEOPT},
		{"SafepointBlob", BLOB_SAFEPOINT},   {"ExceptionBlob", BLOB_EXCEPTION},
	};

	if (strcmp(blob->name, "nmethod") == 0 || strcmp(blob->name, "native nmethod") == 0) {
		blob->kind = BLOB_NMETHOD;
		snprintf(blob->name, sizeof(blob->name), "%s",
			 strcmp(blob->name, "nmethod") ? "native"
						       : level_name(get(bytes, blobs->comp_level)));
	}
	for (size_t i = 0; i < EP_LEN(kinds); i++) {
		if (strncmp(blob->name, kinds[i].name, strlen(kinds[i].name)) == 0)
			blob->kind = kinds[i].kind;
	}
	trim(blob->name);
}

bool blobs_find(struct blobs *blobs, uint64_t addr, struct blob *ret)
{
	struct blob blob = {0};
	uint8_t bytes[BLOB_BYTES], used = 0;
	uint64_t block;

	if (addr >= blobs->last.start && addr < blobs->last.end) {
		*ret = blobs->last;
		return true;
	}
	block = find_block(blobs, addr);
	blob.start = block + blobs->header_bytes;
	if (!block || ep_memory_read(blobs->pid, block + blobs->used_off, &used, 1) < 0 || !used ||
	    ep_memory_read(blobs->pid, blob.start, bytes, sizeof(bytes)) < 0)
		return false;
	blob.end = blob.start + (uint64_t)get(bytes, blobs->size);
	blob.code = (uint64_t)get(bytes, blobs->code);
	if (blobs->code.bytes == 4)
		blob.code += blob.start;
	blob.frame_bytes = 8 * get(bytes, blobs->frame_size);
	blob.frame_complete = get(bytes, blobs->frame_complete);
	if (ep_memory_read_string(blobs->pid, (uint64_t)get(bytes, blobs->name), blob.name,
				  sizeof(blob.name)) < 0)
		blob.name[sizeof(blob.name) - 1] = '\0';
	classify(blobs, bytes, &blob);
	if (addr >= blob.end)
		return false;
	blobs->last = *ret = blob;
	return true;
}
