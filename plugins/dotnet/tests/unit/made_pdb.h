/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A portable PDB that is made up: two documents, and of the second of two methods points in both. And numbers as .NET
 * writes them.
 */
#ifndef DOTNET_MADE_PDB_H
#define DOTNET_MADE_PDB_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct made_bytes {
	uint8_t at[1024];
	uint32_t n;
	bool has_nibble;
	uint32_t n_bits;
};

static inline void made_byte(struct made_bytes *bytes, uint32_t value)
{
	bytes->at[bytes->n++] = (uint8_t)value;
	bytes->has_nibble = false;
	bytes->n_bits = 0;
}

/* Of 7, 14 or 29 bits. */
static inline void made_number(struct made_bytes *bytes, uint32_t value, uint32_t bits)
{
	if (bits == 29) {
		made_byte(bytes, 0xc0 | value >> 24);
		made_byte(bytes, value >> 16);
	}
	if (bits > 7)
		made_byte(bytes, (bits == 14 ? 0x80 : 0) | value >> 8);
	made_byte(bytes, value);
}

static inline void made_compressed(struct made_bytes *bytes, uint32_t value)
{
	made_number(bytes, value, value < 0x80 ? 7 : value < 0x4000 ? 14 : 29);
}

static inline void made_signed(struct made_bytes *bytes, int32_t value)
{
	uint32_t bits = value >= -64 && value < 64 ? 7 : value >= -8192 && value < 8192 ? 14 : 29;

	made_number(bytes, ((uint32_t)value << 1 | (value < 0)) & ((1u << bits) - 1), bits);
}

static inline void made_one_nibble(struct made_bytes *bytes, uint32_t nibble)
{
	if (bytes->has_nibble)
		bytes->at[bytes->n - 1] |= (uint8_t)(nibble << 4);
	else
		bytes->at[bytes->n++] = (uint8_t)nibble;
	bytes->has_nibble = !bytes->has_nibble;
}

static inline void made_nibbles(struct made_bytes *bytes, uint32_t value)
{
	uint32_t shift = 30;

	while (shift && !(value >> shift))
		shift -= 3;
	for (; shift; shift -= 3)
		made_one_nibble(bytes, 8 | (value >> shift & 7));
	made_one_nibble(bytes, value & 7);
}

static inline void made_nibbles_signed(struct made_bytes *bytes, int32_t value)
{
	made_nibbles(bytes, value < 0 ? (uint32_t)-value << 1 | 1 : (uint32_t)value << 1);
}

static inline void made_bits(struct made_bytes *bytes, uint32_t value, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (bytes->n_bits == 0)
			bytes->at[bytes->n++] = 0;
		bytes->at[bytes->n - 1] |= (uint8_t)((value >> i & 1) << bytes->n_bits);
		bytes->n_bits = (bytes->n_bits + 1) & 7;
	}
}

static inline void made_align(struct made_bytes *bytes)
{
	bytes->has_nibble = false;
	bytes->n_bits = 0;
}

/* --- the file --------------------------------------------------------------------------------------------- */

#define MADE_PDB_BYTES 1024u
#define MADE_PDB_PDB   0x100u
#define MADE_PDB_ROWS  0x180u
#define MADE_PDB_BLOBS 0x200u

static inline void made_u32(uint8_t *at, uint32_t value)
{
	memcpy(at, &value, 4);
}

/* The next blob of the heap: its index. */
static inline uint32_t made_blob(struct made_bytes *heap, const struct made_bytes *blob)
{
	uint32_t index = heap->n;

	made_compressed(heap, blob->n);
	memcpy(heap->at + heap->n, blob->at, blob->n);
	heap->n += blob->n;
	return index;
}

static inline uint32_t made_text_blob(struct made_bytes *heap, const char *text)
{
	struct made_bytes blob = {.n = (uint32_t)strlen(text)};

	memcpy(blob.at, text, blob.n);
	return made_blob(heap, &blob);
}

/* /src/one.cs, whose parts are blobs each. */
static inline uint32_t made_path_blob(struct made_bytes *heap, const char *name)
{
	uint32_t part = made_text_blob(heap, "src"), file = made_text_blob(heap, name);
	struct made_bytes blob = {0};

	made_byte(&blob, '/');
	made_compressed(&blob, 0);
	made_compressed(&blob, part);
	made_compressed(&blob, file);
	return made_blob(heap, &blob);
}

/*
 * Of the second method: IL 0 line 10; 3 line 12; 5 hidden; 9 line 7 of the other document; 0x80 line 300.
 */
static inline uint32_t made_points_blob(struct made_bytes *heap)
{
	static const struct {
		int32_t value;
		bool is_signed;
	} numbers[] = {
		{0, false}, {1, false}, /* signature, document */
		{0, false}, {0, false}, {20, false}, {10, false}, {5, false}, /* IL 0: lines, columns, line, column */
		{3, false}, {1, false}, {-3, true}, {2, true}, {4, true}, /* IL 3, and differences */
		{2, false}, {0, false}, {0, false}, /* IL 5 */
		{0, false}, {2, false}, /* another document */
		{4, false}, {0, false}, {8, false}, {-5, true}, {-8, true}, /* IL 9 */
		{0x77, false}, {0, false}, {8, false}, {293, true}, {0, true}, /* IL 0x80 */
	};
	struct made_bytes blob = {0};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (numbers[i].is_signed)
			made_signed(&blob, numbers[i].value);
		else
			made_compressed(&blob, (uint32_t)numbers[i].value);
	}
	return made_blob(heap, &blob);
}

static inline void made_stream(uint8_t *header, uint32_t off, uint32_t bytes, const char *name)
{
	made_u32(header, off);
	made_u32(header + 4, bytes);
	memcpy(header + 8, name, strlen(name) + 1);
}

/* As an image's that has three types, two methods and one nested class. */
static inline void made_pdb(uint8_t file[MADE_PDB_BYTES], const uint8_t id[20])
{
	struct made_bytes heap = {.n = 1};
	uint8_t *rows = file + MADE_PDB_ROWS, *pdb = file + MADE_PDB_PDB;
	uint32_t one, two, points;
	uint64_t valid = 1ull << 48 | 1ull << 49, referenced = 1ull << 2 | 1ull << 6 | 1ull << 41;

	memset(file, 0, MADE_PDB_BYTES);
	one = made_path_blob(&heap, "one.cs");
	two = made_path_blob(&heap, "two.cs");
	points = made_points_blob(&heap);
	memcpy(file, "BSJB", 4);
	made_u32(file + 12, 12);
	file[16 + 12 + 2] = 4; /* streams */
	made_stream(file + 32, MADE_PDB_PDB, 64, "#Pdb");
	made_stream(file + 48, MADE_PDB_ROWS, 0x80, "#~");
	made_stream(file + 60, 0xf0, 1, "#Strings");
	made_stream(file + 80, MADE_PDB_BLOBS, heap.n, "#Blob");
	memcpy(pdb, id, 20);
	memcpy(pdb + 24, &referenced, 8);
	made_u32(pdb + 32, 3);
	made_u32(pdb + 36, 2);
	made_u32(pdb + 40, 1);
	memcpy(rows + 8, &valid, 8);
	made_u32(rows + 24, 2);
	made_u32(rows + 28, 2);
	rows += 32;
	rows[0] = (uint8_t)one; /* Document: name, algorithm, hash, language */
	rows[8] = (uint8_t)two;
	rows += 16;
	rows[6] = (uint8_t)points; /* MethodDebugInformation: document, points */
	memcpy(file + MADE_PDB_BLOBS, heap.at, heap.n);
}

#endif
