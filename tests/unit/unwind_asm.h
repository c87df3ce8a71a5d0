/* SPDX-License-Identifier: Apache-2.0 */
/* Call frame information assembled byte by byte, for the tests of core/unwind. */
#ifndef EP_TESTS_UNWIND_ASM_H
#define EP_TESTS_UNWIND_ASM_H

#include "core/unwind/build.h"

#include <assert.h>
#include <string.h>

#define ASM_SECTION_VA 0x100000ull
#define ASM_TEXT_VA    0x1000ull
#define ASM_TEXT_END   0x5000ull

struct bytes {
	uint8_t data[80];
	size_t len;
};
/* A byte string as a struct bytes; its NUL at the end does not count. */
#define BYTES(str) ((struct bytes){ .data = str, .len = sizeof(str) - 1 })

struct image {
	uint8_t data[32768];
	size_t len;
	bool eh;
	bool is64; /* 64-bit lengths */
};

static inline void asm_bytes(struct image *image, const void *data, size_t len)
{
	assert(image->len + len <= sizeof(image->data));
	memcpy(image->data + image->len, data, len);
	image->len += len;
}

static inline void asm_int(struct image *image, uint64_t value, size_t len)
{
	asm_bytes(image, &value, len);
}

/* Begins an entry; asm_end writes its length. Returns where the length is. */
static inline size_t asm_begin(struct image *image)
{
	size_t at = image->len;

	if (image->is64)
		asm_int(image, UINT32_MAX, 4);
	asm_int(image, 0, image->is64 ? 8 : 4);
	return at;
}

static inline void asm_end(struct image *image, size_t at)
{
	uint64_t len;

	while (image->len % 8)
		asm_int(image, 0, 1); /* DW_CFA_nop */
	len = image->len - at - (image->is64 ? 12 : 4);
	memcpy(image->data + at + (image->is64 ? 4 : 0), &len, image->is64 ? 8 : 4);
}

struct cie {
	uint8_t version;
	const char *augmentation;
	struct bytes augmentation_data; /* after its length, for 'z' */
	struct bytes between;		/* version 4: address and segment size; "eh": the pointer */
	struct bytes insns;
	uint8_t code_align, data_align, ra_reg; /* LEB128 of one byte */
};

/* What gcc writes for x86-64: zR, pcrel sdata4, CFA = rsp + 8, return address at CFA - 8. */
#define CIE_GCC                                                                                    \
	{                                                                                          \
		.version = 1, .augmentation = "zR", .augmentation_data = BYTES("\x1b"),            \
		.insns = BYTES("\x0c\x07\x08\x90\x01"), .code_align = 1, .data_align = 0x78,       \
		.ra_reg = 16                                                                       \
	}

static inline size_t asm_cie(struct image *image, const struct cie *cie)
{
	size_t at = asm_begin(image);

	asm_int(image, image->eh ? 0 : UINT64_MAX, image->is64 && !image->eh ? 8 : 4);
	asm_int(image, cie->version, 1);
	asm_bytes(image, cie->augmentation, strlen(cie->augmentation) + 1);
	asm_bytes(image, cie->between.data, cie->between.len);
	asm_int(image, cie->code_align, 1);
	asm_int(image, cie->data_align, 1);
	asm_int(image, cie->ra_reg, 1);
	if (cie->augmentation[0] == 'z') {
		asm_int(image, cie->augmentation_data.len, 1);
		asm_bytes(image, cie->augmentation_data.data, cie->augmentation_data.len);
	}
	asm_bytes(image, cie->insns.data, cie->insns.len);
	asm_end(image, at);
	return at;
}

/* An FDE's first fields; the caller adds the pointers. */
static inline size_t asm_fde_begin(struct image *image, size_t cie_at)
{
	size_t at = asm_begin(image);

	if (image->eh)
		asm_int(image, image->len - cie_at, 4);
	else
		asm_int(image, cie_at, image->is64 ? 8 : 4);
	return at;
}

/* An FDE of a zR CIE with pcrel sdata4, or of a .debug_frame CIE. */
static inline size_t asm_fde(struct image *image, size_t cie_at, uint64_t start, uint64_t bytes,
			     const struct bytes *insns)
{
	size_t at = asm_fde_begin(image, cie_at);

	if (image->eh)
		asm_int(image, start - (ASM_SECTION_VA + image->len), 4);
	else
		asm_int(image, start, 8);
	asm_int(image, bytes, image->eh ? 4 : 8);
	if (image->eh)
		asm_int(image, 0, 1); /* no augmentation data */
	asm_bytes(image, insns->data, insns->len);
	asm_end(image, at);
	return at;
}

static inline struct ep_cfi_section asm_section(const struct image *image)
{
	return (struct ep_cfi_section){ .data = image->data,
					.bytes = image->len,
					.va = image->eh ? ASM_SECTION_VA : 0,
					.eh = image->eh };
}

static inline struct ep_build_input asm_input(void)
{
	return (struct ep_build_input){
		.machine = &ep_machine_x86_64,
		.ranges = { { .start = ASM_TEXT_VA, .end = ASM_TEXT_END } },
		.n_ranges = 1,
	};
}

/* An address, and its rule in a table. */
struct rule_at {
	uint64_t va;
	uint32_t rule;
};

static inline void check_rules(const struct ep_unwind_table *table, const struct rule_at *want, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t rule = ep_unwind_table_find(table, want[i].va);

		if (rule != want[i].rule)
			fail_msg("0x%" PRIx64 ": rule 0x%x, not 0x%x", want[i].va, rule, want[i].rule);
	}
}

#define assert_rules(table, ...)                                                                   \
	check_rules(table, (const struct rule_at[]){__VA_ARGS__},                                  \
		    sizeof((const struct rule_at[]){__VA_ARGS__}) / sizeof(struct rule_at))
#define assert_rule(table, va, rule) assert_rules(table, {va, rule})

#endif
