/* SPDX-License-Identifier: Apache-2.0 */
#include "core/unwind/cfi.h"

#include <errno.h>

/*
 * Against files made to be slow, where each FDE names another CIE: real ones have augmentations of
 * up to 8 letters and less than 40 bytes of instructions.
 */
#define MAX_AUGMENTATION 64
#define MAX_CIE_INSNS	 1024

static uint64_t pointer_value(struct ep_cursor *cur, uint8_t format, bool *ret_known)
{
	*ret_known = true;
	switch (format) {
	case EP_PE_ABSPTR:
	case EP_PE_UDATA8:
	case EP_PE_SDATA8:
		return ep_cursor_u64(cur);
	case EP_PE_ULEB:
		return ep_cursor_uleb(cur);
	case EP_PE_UDATA2:
		return ep_cursor_u16(cur);
	case EP_PE_UDATA4:
		return ep_cursor_u32(cur);
	case EP_PE_SLEB:
		return (uint64_t)ep_cursor_sleb(cur);
	case EP_PE_SDATA2:
		return (uint64_t)(int16_t)ep_cursor_u16(cur);
	case EP_PE_SDATA4:
		return (uint64_t)(int32_t)ep_cursor_u32(cur);
	}
	*ret_known = false;
	return 0;
}

int ep_cfi_read_pointer(const struct ep_cfi_section *sec, struct ep_cursor *cur, uint8_t encoding,
			uint64_t *ret_va)
{
	uint64_t base = 0;
	uint64_t value;
	bool known;

	if ((encoding & 0x70) == EP_PE_PCREL)
		base = sec->va + (uint64_t)(cur->pos - sec->data);
	else if ((encoding & 0x70) == EP_PE_DATAREL)
		base = sec->data_va;
	else if (encoding & 0x70)
		return -ENOTSUP;
	value = pointer_value(cur, encoding & 0x0f, &known);
	if (!known || (encoding & EP_PE_INDIRECT))
		return -ENOTSUP;
	if (cur->bad)
		return -EBADMSG;
	*ret_va = base + value;
	return 0;
}

/* The CIE id is 4 bytes in .eh_frame even when the length is a 64-bit one (LSB 5.0, 10.6.1.1). */
static void entry_id(const struct ep_cfi_section *sec, struct ep_cfi_entry *entry, bool is64)
{
	struct ep_cursor *cur = &entry->body;
	uint64_t id_off = (uint64_t)(cur->pos - sec->data);
	uint64_t id;

	if (sec->eh) {
		id = ep_cursor_u32(cur);
		entry->is_cie = id == 0;
		entry->cie_off = id_off - id; /* wraps when it lies: refused as out of bounds */
		return;
	}
	id = is64 ? ep_cursor_u64(cur) : ep_cursor_u32(cur);
	entry->is_cie = id == (is64 ? UINT64_MAX : UINT32_MAX);
	entry->cie_off = id;
}

int ep_cfi_read_entry(const struct ep_cfi_section *sec, uint64_t off, struct ep_cfi_entry *ret)
{
	struct ep_cursor *cur = &ret->body;
	uint64_t len;
	bool is64 = false;

	if (off >= sec->bytes)
		return 1;
	*cur = (struct ep_cursor){ .pos = sec->data + off, .end = sec->data + sec->bytes };
	len = ep_cursor_u32(cur);
	if (len == UINT32_MAX) {
		is64 = true;
		len = ep_cursor_u64(cur);
	}
	if (cur->bad || len > ep_cursor_left(cur))
		return -EBADMSG;
	if (len == 0)
		return 1;
	cur->end = cur->pos + len;
	ret->off = off;
	ret->next_off = (uint64_t)(cur->end - sec->data);
	entry_id(sec, ret, is64);
	return cur->bad ? -EBADMSG : 0;
}

/* The personality routine is of no use here; its pointer may have any encoding but must be skipped. */
static int skip_personality(struct ep_cursor *cur)
{
	uint8_t encoding = ep_cursor_u8(cur);
	bool known;

	if (encoding == EP_PE_OMIT)
		return 0;
	if ((encoding & 0x70) == EP_PE_ALIGNED)
		return -ENOTSUP;
	(void)pointer_value(cur, encoding & 0x0f, &known);
	if (!known)
		return -ENOTSUP;
	return cur->bad ? -EBADMSG : 0;
}

/* Letters after 'z'. An unknown one ends the walk: 'z' gave the length, as libgcc does. */
static int parse_letters(struct ep_cie *cie, const char *letters, struct ep_cursor *data)
{
	int r = 0;

	for (; *letters && r == 0; letters++) {
		switch (*letters) {
		case 'L':
			cie->lsda_encoding = ep_cursor_u8(data);
			break;
		case 'R':
			cie->fde_encoding = ep_cursor_u8(data);
			break;
		case 'P':
			r = skip_personality(data);
			break;
		case 'S':
			cie->signal = true;
			break;
		case 'B': /* aarch64: return addresses signed with the B key */
			break;
		default:
			return data->bad ? -EBADMSG : 0;
		}
	}
	return r < 0 ? r : data->bad ? -EBADMSG : 0;
}

static int parse_augmentation(struct ep_cie *cie, const char *augmentation, struct ep_cursor *cur)
{
	struct ep_cursor data;
	uint64_t len;
	int r;

	if (augmentation[0] != 'z')
		return augmentation[0] == '\0' || cie->eh_data ? 0 : -ENOTSUP;
	cie->sized = true;
	len = ep_cursor_uleb(cur);
	if (cur->bad || len > ep_cursor_left(cur))
		return -EBADMSG;
	data = (struct ep_cursor){ .pos = cur->pos, .end = cur->pos + len };
	r = parse_letters(cie, augmentation + 1, &data);
	if (r < 0)
		return r;
	cur->pos += len;
	return 0;
}

/* Version 4 says the sizes of an address and of a segment selector: only flat 64 bits are known. */
static bool parse_sizes(struct ep_cursor *cur, uint8_t version)
{
	uint8_t address, segment;

	if (version < 4)
		return true;
	address = ep_cursor_u8(cur);
	segment = ep_cursor_u8(cur);
	return address == 8 && segment == 0;
}

int ep_cfi_parse_cie(const struct ep_cfi_section *sec, uint64_t off, struct ep_cie *ret_cie)
{
	struct ep_cie cie = { .off = off, .lsda_encoding = EP_PE_OMIT };
	struct ep_cfi_entry entry;
	struct ep_cursor *cur = &entry.body;
	const char *augmentation;
	uint8_t version;
	int r;

	r = ep_cfi_read_entry(sec, off, &entry);
	if (r != 0 || !entry.is_cie)
		return r < 0 ? r : -EBADMSG;
	version = ep_cursor_u8(cur);
	if (version != 1 && version != 3 && version != 4)
		return cur->bad ? -EBADMSG : -ENOTSUP;
	augmentation = (const char *)cur->pos;
	ep_cursor_skip(cur, strnlen(augmentation, EP_MIN(ep_cursor_left(cur), (size_t)MAX_AUGMENTATION)) + 1);
	if (cur->bad || cur->pos[-1] != '\0')
		return -EBADMSG;
	cie.eh_data = strcmp(augmentation, "eh") == 0;
	if (cie.eh_data)
		ep_cursor_skip(cur, 8);
	if (!parse_sizes(cur, version))
		return cur->bad ? -EBADMSG : -ENOTSUP;
	cie.code_align = ep_cursor_uleb(cur);
	cie.data_align = ep_cursor_sleb(cur);
	cie.ra_reg = version == 1 ? ep_cursor_u8(cur) : ep_cursor_uleb(cur);
	if (cur->bad)
		return -EBADMSG;
	r = parse_augmentation(&cie, augmentation, cur);
	if (r < 0)
		return r;
	if (ep_cursor_left(cur) > MAX_CIE_INSNS)
		return -ENOTSUP;
	cie.insns = cur->pos;
	cie.insns_end = cur->end;
	cie.common = cie.sized && cie.fde_encoding == (EP_PE_PCREL | EP_PE_SDATA4);
	*ret_cie = cie;
	return 0;
}

int ep_cie_cache_get(struct ep_cie_cache *cache, const struct ep_cfi_section *sec, uint64_t off,
		     struct ep_cie **ret_cie)
{
	size_t i = ep_cie_cache_slot(off);
	int r;

	if (!cache->valid[i] || cache->cies[i].off != off) {
		cache->valid[i] = cache->cies[i].common = false;
		r = ep_cfi_parse_cie(sec, off, &cache->cies[i]);
		if (r < 0)
			return r;
		cache->valid[i] = true;
	}
	*ret_cie = &cache->cies[i];
	return 0;
}

int ep_cfi_parse_fde(const struct ep_cfi_section *sec, const struct ep_cfi_entry *entry,
		     struct ep_cie_cache *cache, struct ep_fde *ret_fde)
{
	struct ep_cursor cur = entry->body;
	struct ep_fde fde;
	uint64_t bytes;
	int r;

	if (entry->is_cie)
		return 1;
	r = ep_cie_cache_get(cache, sec, entry->cie_off, &fde.cie);
	if (r < 0)
		return r;
	r = ep_cfi_read_pointer(sec, &cur, fde.cie->fde_encoding, &fde.start);
	if (r < 0)
		return r;
	r = ep_cfi_read_pointer(sec, &cur, fde.cie->fde_encoding & 0x0f, &bytes);
	if (r < 0)
		return r;
	if (fde.cie->sized)
		ep_cursor_skip(&cur, ep_cursor_uleb(&cur));
	else if (fde.cie->eh_data)
		ep_cursor_skip(&cur, 8);
	if (cur.bad || __builtin_add_overflow(fde.start, bytes, &fde.end))
		return -EBADMSG;
	fde.insns = cur.pos;
	fde.insns_end = cur.end;
	*ret_fde = fde;
	return 0;
}
