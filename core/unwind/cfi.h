/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries of .eh_frame and .debug_frame: CIEs (what many functions share) and FDEs (one code range
 * with its instructions). Works on plain bytes; nothing is allocated. Facts: DWARF 5 section 6.4,
 * Linux Standard Base 5.0 "Exception Frames" (.eh_frame, augmentations, pointer encodings).
 *
 *	entry  | length 4 | or | 0xffffffff | length 8 |
 *	       | CIE id: eh 0, debug all ones / FDE: where its CIE is |   4 bytes (8: 64-bit .debug_frame)
 *	CIE    | version | augmentation string | [v4: address size, segment size] | code alignment
 *	       | data alignment | RA register | [z: length, data] | initial instructions
 *	FDE    | first address | address range | [z: length, data] | instructions
 */
#ifndef EP_UNWIND_CFI_H
#define EP_UNWIND_CFI_H

#include "core/base/work.h"
#include "core/unwind/cursor.h"
#include "core/unwind/row.h"

/* DW_EH_PE_*: low four bits the format, next three what it is relative to, top bit indirect. */
#define EP_PE_ABSPTR   0x00
#define EP_PE_ULEB     0x01
#define EP_PE_UDATA2   0x02
#define EP_PE_UDATA4   0x03
#define EP_PE_UDATA8   0x04
#define EP_PE_SLEB     0x09
#define EP_PE_SDATA2   0x0a
#define EP_PE_SDATA4   0x0b
#define EP_PE_SDATA8   0x0c
#define EP_PE_PCREL    0x10
#define EP_PE_DATAREL  0x30
#define EP_PE_ALIGNED  0x50
#define EP_PE_INDIRECT 0x80
#define EP_PE_OMIT     0xff

struct ep_cfi_section {
	const uint8_t *data;
	size_t bytes;
	uint64_t va;	  /* of data[0], for pcrel pointers */
	uint64_t data_va; /* what datarel pointers are relative to */
	bool eh;	  /* .eh_frame; false: .debug_frame */
	struct ep_work *work; /* what is made of it is charged to that; NULL: nobody counts */
};

enum ep_cie_state {
	EP_CIE_FRESH, /* its instructions have not run yet */
	EP_CIE_READY,
	EP_CIE_BAD,
};

struct ep_cie {
	uint64_t off; /* in the section */
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_reg;
	const uint8_t *insns, *insns_end;
	uint8_t fde_encoding; /* EP_PE_* */
	uint8_t lsda_encoding;
	bool sized;  /* 'z': FDEs have augmentation data with its length */
	bool signal; /* 'S' */
	bool eh_data; /* "eh" of gcc 2: one more pointer */
	uint8_t state; /* enum ep_cie_state */
	bool common;   /* sized, fde_encoding is pcrel sdata4: see ep_cfi_parse_common_fde */
	uint32_t first_rule; /* that row as an immediate rule; 0: FDEs need the general interpreter */
	struct ep_cfi_row initial; /* the row its instructions make; see run.c */
};

struct ep_fde {
	struct ep_cie *cie; /* in the cache: until the next look-up there */
	uint64_t start; /* va */
	uint64_t end;
	const uint8_t *insns, *insns_end;
};

/* An entry's frame: what is common to CIE and FDE. */
struct ep_cfi_entry {
	struct ep_cursor body; /* after the CIE id */
	uint64_t off;
	uint64_t next_off;
	uint64_t cie_off; /* FDE only */
	bool is_cie;
};

/*
 * An encoded pointer at the cursor. 0, -EBADMSG (short), -ENOTSUP (textrel, funcrel, aligned,
 * indirect: their base is not in the section, and no x86-64 or aarch64 compiler emits them here).
 */
int ep_cfi_read_pointer(const struct ep_cfi_section *sec, struct ep_cursor *cur, uint8_t encoding,
			uint64_t *ret_va);

/* 0, 1 at the end of the section (or its zero terminator), -EBADMSG when the length is wrong. */
int ep_cfi_read_entry(const struct ep_cfi_section *sec, uint64_t off, struct ep_cfi_entry *ret);

/* 0, -EBADMSG, -ENOTSUP (version, augmentation or encoding we do not know). */
int ep_cfi_parse_cie(const struct ep_cfi_section *sec, uint64_t off, struct ep_cie *ret_cie);

/* Parsed CIEs by their offset: direct mapped, since linkers merge equal CIEs to a handful. */
#define EP_CIE_CACHE 64
struct ep_cie_cache {
	struct ep_cie cies[EP_CIE_CACHE];
	bool valid[EP_CIE_CACHE];
};
static inline size_t ep_cie_cache_slot(uint64_t off)
{
	return (off >> 3 ^ off >> 9) % EP_CIE_CACHE;
}
/* The CIE at an offset, valid until the next call. Errors as ep_cfi_parse_cie. */
int ep_cie_cache_get(struct ep_cie_cache *cache, const struct ep_cfi_section *sec, uint64_t off,
		     struct ep_cie **ret_cie);

/* An FDE whose CIE the cache knows or learns. 0, 1 when the entry is a CIE, and the errors above. */
int ep_cfi_parse_fde(const struct ep_cfi_section *sec, const struct ep_cfi_entry *entry,
		     struct ep_cie_cache *cache, struct ep_fde *ret_fde);

/*
 * The FDE at an offset, in the form that compilers for x86-64 and aarch64 give nearly all of them:
 * .eh_frame, 32-bit length, CIE in the cache, "z" with 'R' pcrel sdata4. False for all others and
 * for malformed ones: ep_cfi_read_entry and ep_cfi_parse_fde know what it is.
 */
static inline bool ep_cfi_parse_common_fde(const struct ep_cfi_section *sec, uint64_t off,
					   struct ep_cie_cache *cache, struct ep_fde *ret_fde)
{
	const uint8_t *pos = sec->data + off;
	struct ep_cie *cie;
	uint32_t words[4]; /* length, CIE pointer, start, range */
	uint64_t cie_off;

	if (!sec->eh || off >= sec->bytes || sec->bytes - off < sizeof(words) + 1)
		return false;
	memcpy(words, pos, sizeof(words));
	cie_off = off + 4 - words[1];
	cie = &cache->cies[ep_cie_cache_slot(cie_off)];
	/* The length is 13 at least, and wraps around here when it is less. */
	if ((uint64_t)words[0] - 13 > sec->bytes - off - 17 || words[0] == UINT32_MAX ||
	    words[1] == 0 || !cie->common || cie->off != cie_off || pos[16] >= 0x80 ||
	    13u + pos[16] > words[0])
		return false;
	ret_fde->cie = cie;
	ret_fde->start = sec->va + off + 8 + (uint64_t)(int64_t)(int32_t)words[2];
	/* The range of this encoding is signed too; a negative one is left to the general parser. */
	ret_fde->end = ret_fde->start + words[3];
	ret_fde->insns = pos + 17 + pos[16];
	ret_fde->insns_end = pos + 4 + words[0];
	return words[3] <= INT32_MAX && ret_fde->end >= ret_fde->start;
}

#endif
