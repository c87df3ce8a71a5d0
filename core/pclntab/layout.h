/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layouts of the table. All numbers are little-endian. Sources: Go's src/debug/gosym/pclntab.go,
 * src/runtime/symtab.go (pcHeader, moduledata), src/runtime/runtime2.go (_func), src/internal/abi/symtab.go,
 * at the tags named; src/cmd/link/internal/ld/pcln.go writes it.
 *
 *	header    | magic u32 | 0 | 0 | instruction quantum 1 | pointer bytes 8 | functions u64 | ...
 *	  1.2     | functab begins here; names, values and functions are anywhere after it
 *	  1.16    | files | names | units | files' names | values | functab          u64, from the header
 *	  1.18    | files | text start | names | units | files' names | values | functab
 *	  1.26      the same, text start is 0: only the module data has it
 *	functab   | entry, function | entry, function | ... | end of text |   pairs of u64, from 1.18 of u32
 *	            entry: an address, from 1.18 the distance from the text's start; function: from the
 *	            functab, in 1.2 from the header
 *	function  | entry | name | args | deferreturn | pcsp | pcfile | pcln | n values | ... |
 *	          | values u32 * n | data, of 8 bytes (aligned) or, from 1.18, 4
 *	values    | value's difference, zigzag uvarint | bytes of code, uvarint | ... | 0 |
 *	            the first value's difference is from -1; equal tables are there once
 *	unit      | file's offset among the names, u32 | ... |    from 1.16; before that one list of all
 *	inline tree entry     1.13: parent s16, id u8, 0, file, line, name, parent's pc   20 bytes
 *	                      1.20: id u8, 0, 0, 0, name, parent's pc, start line         16 bytes
 */
#ifndef EP_PCLNTAB_LAYOUT_H
#define EP_PCLNTAB_LAYOUT_H

#include "core/pclntab/pages.h"
#include "core/pclntab/pclntab.h"

#define EP_PCLNTAB_ABSENT 0xff /* in struct ep_pclntab_layout: there is no such thing */

struct ep_pclntab_layout {
	uint32_t magic;
	uint8_t header_bytes;
	uint8_t tables; /* in the header: names, units, files, values, functab; 0: see 1.2 above */
	uint8_t word;	/* bytes of a functab's number, and of a function's entry */
	/* Offsets in a function. */
	uint8_t name, pcsp, pcfile, pcln, n_values, unit, start_line, id, flags, n_data, values;
	uint8_t data_word;
	/* Which of the values and data are about inlining, and an entry's form. */
	uint8_t inline_value, inline_data;
	uint8_t call_bytes, call_id, call_name, call_pc, call_start_line;
};

#define EP_PCLNTAB_IDS 4 /* functions whose ids tell the wrappers': see survey */
#define EP_PCLNTAB_MAX_SEGMENTS 16

struct ep_pclntab {
	const struct ep_elf *elf;
	const struct ep_pclntab_layout *layout;
	struct ep_pages pages;
	uint64_t va, off; /* of the header, in memory and in the file */
	uint32_t bytes;	  /* from there to the section's or segment's end */
	uint32_t n_funcs, n_files;
	uint32_t names, units, files, values, functab; /* from the header */
	uint64_t text, text_end; /* text: 0 where entries are addresses */
	uint64_t inline_base; /* what inline trees' offsets count from; 0: not known */
	uint64_t header_text; /* what the header says */
	uint64_t goexit; /* entry of runtime.goexit as the functab has it; UINT64_MAX: not seen */
	uint32_t ids[EP_PCLNTAB_IDS]; /* UINT32_MAX: not seen */
	uint32_t wrapper_id;  /* UINT32_MAX: not known */
	bool has_ids, has_flags, has_trees;
	/* Addresses in the table are zero in the file: .rela.dyn has them. */
	uint64_t relocs_off;
	uint32_t n_relocs; /* 0: they are in the file */
	uint32_t reloc;	   /* the one found last */
	uint64_t *index; /* entry of every 256th function */
	size_t n_segments;
	struct ep_pclntab_range {
		uint64_t va, off, bytes;
	} segments[EP_PCLNTAB_MAX_SEGMENTS]; /* what is loaded from the file */
};

/* Bytes of the table by their offset from the header. 0, -EBADMSG, -errno. */
int ep_pclntab_read(struct ep_pclntab *tab, uint64_t off, void *buf, size_t bytes);
/* Bytes of the file by their address. 0, -EBADMSG, -errno. */
int ep_pclntab_read_va(struct ep_pclntab *tab, uint64_t va, void *buf, size_t bytes);
/* A function's entry as the functab has it. */
int ep_pclntab_entry(struct ep_pclntab *tab, uint32_t index, uint64_t *ret_entry);
/* Reads a function, whatever its place in text is. 0, -EBADMSG, -errno. */
int ep_pclntab_func_at(struct ep_pclntab *tab, uint32_t index, struct ep_pclntab_func *ret_func,
		       uint8_t *ret_id);

/* Role of a function's name, and flags for tables that have none. */
struct ep_pclntab_known {
	const char *name;
	uint8_t role, flags;
};
const struct ep_pclntab_known *ep_pclntab_known(struct ep_pclntab *tab, uint32_t name);

/*
 * Where the table is: a section of that name, or, in a file that Go made, the first header in its data
 * from *pos on that may be one; *pos is then after it. 0 with va, off and bytes set; -ENODATA,
 * -errno.
 */
int ep_pclntab_locate(struct ep_pclntab *tab, uint64_t *pos);
/*
 * Finds the relocations of a table whose addresses the system's linker left to them. 0, -ENODATA: there
 * are none.
 */
int ep_pclntab_find_relocations(struct ep_pclntab *tab);
/* Puts the addresses that belong into these bytes of the table. */
void ep_pclntab_relocate(struct ep_pclntab *tab, uint64_t off, uint8_t *buf, size_t bytes);
/* What the module data says: where text begins, what inline trees count from. 0, -ENODATA, -errno. */
int ep_pclntab_read_module(struct ep_pclntab *tab, uint64_t *ret_text, uint64_t *ret_inline_base);

#endif
