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
	struct ep_cursor body; /* behind the CIE id */
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
/* The CIE at an offset, valid until the next call. Errors as ep_cfi_parse_cie. */
int ep_cie_cache_get(struct ep_cie_cache *cache, const struct ep_cfi_section *sec, uint64_t off,
		     struct ep_cie **ret_cie);

/* An FDE whose CIE the cache knows or learns. 0, 1 when the entry is a CIE, and the errors above. */
int ep_cfi_parse_fde(const struct ep_cfi_section *sec, const struct ep_cfi_entry *entry,
		     struct ep_cie_cache *cache, struct ep_fde *ret_fde);

#endif
