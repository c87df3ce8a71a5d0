/* SPDX-License-Identifier: Apache-2.0 */
/*
 * .eh_frame of a file without section headers and without PT_GNU_EH_FRAME. What gcc links statically
 * has none, since its own start-up code tells libgcc where .eh_frame is (crtbeginT.o, frame_dummy).
 * It is found by what it is: a chain of entries, the first of them a CIE, the last of length 0, all
 * between the borders of a segment that is not writable.
 *
 *	entry	length, a multiple of 4 | id | ...
 *	CIE	id 0 | version 1 | "z" and of R, P, L, S, B | code alignment 1 | data alignment -8 |
 *		return address 16 | length of what follows | for each letter its data: R is 0x1b,
 *		pcrel sdata4
 *	FDE	id: distance to a CIE of this chain | first address | bytes: in executable segments
 *
 * So gcc and clang write it for x86-64. Whatever is not so is not trusted, as a whole: MIN_FDES
 * entries in a row that agree by chance do not exist.
 */
#include "core/elf/internal.h"

#include <errno.h>
#include <string.h>

#define MIN_FDES     16
#define MAX_CIES     1024
#define MIN_ENTRY    12 /* bytes after the length */
#define MAX_CIE	     256
#define MAX_LETTERS  8
#define PCREL_SDATA4 0x1b

struct search {
	const struct ep_elf *elf;
	const uint8_t *data; /* the segment's */
	size_t bytes;
	uint64_t va;
	uint32_t cies[MAX_CIES]; /* where the chain's begin, ascending */
	size_t n_cies;
	uint64_t steps; /* entries that may be looked at yet, in all chains */
};

static uint32_t word_at(const struct search *search, size_t off)
{
	return ep_get_u32(search->data + off);
}

/* Bytes of an encoded pointer, which is not read; 0: of another encoding than is met. */
static size_t pointer_bytes(uint8_t encoding)
{
	switch (encoding & 0x0f) {
	case 0x0: /* absptr */
	case 0x4: /* udata8 */
	case 0xc: /* sdata8 */
		return 8;
	case 0x3: /* udata4 */
	case 0xb: /* sdata4 */
		return 4;
	default:
		return 0;
	}
}

/* `data` has what letters[1..] say: what FDEs begin with is pcrel sdata4. */
static bool has_usual_pointers(const char *letters, const uint8_t *data, size_t bytes)
{
	bool is_usual = false;
	size_t at = 0;

	for (const char *letter = letters + 1; *letter; letter++) {
		if (*letter == 'S' || *letter == 'B')
			continue;
		if (at >= bytes)
			return false;
		if (*letter == 'P') {
			size_t pointer = pointer_bytes(data[at]);

			if (!pointer)
				return false;
			at += pointer;
		} else if (*letter == 'R') {
			is_usual = data[at] == PCREL_SDATA4;
		} else if (*letter != 'L') {
			return false;
		}
		at++;
	}
	return is_usual && at <= bytes;
}

/* An entry whose id is 0, at `off`; it is `len` bytes after its length. */
static bool is_cie(const struct search *search, size_t off, uint32_t len)
{
	/* code and data alignment, return address */
	static const uint8_t aligned[] = {1, 0x78, 16};
	const uint8_t *body = search->data + off + 8, *end = search->data + off + 4 + len,
		      *letters = body + 1, *at;

	if (len > MAX_CIE || body[0] != 1 || letters[0] != 'z')
		return false;
	at = memchr(letters, '\0', EP_MIN((size_t)(end - letters), (size_t)MAX_LETTERS));
	if (!at || (size_t)(end - ++at) < sizeof(aligned) + 1 ||
	    memcmp(at, aligned, sizeof(aligned)) != 0)
		return false;
	at += sizeof(aligned);
	/* A length below 128 is a byte. */
	return at[0] < 0x80 && at[0] <= end - at - 1 &&
	       has_usual_pointers((const char *)letters, at + 1, at[0]);
}

static bool is_code(const struct ep_elf *elf, uint64_t va, uint32_t bytes)
{
	for (size_t i = 0; i < elf->n_segments; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_X &&
		    va - segment->p_vaddr < segment->p_filesz &&
		    bytes <= segment->p_filesz - (va - segment->p_vaddr))
			return true;
	}
	return false;
}

static bool has_cie(const struct search *search, uint64_t off)
{
	size_t low = 0, high = search->n_cies;

	while (low < high) {
		size_t half = low + (high - low) / 2;

		if (search->cies[half] < off)
			low = half + 1;
		else
			high = half;
	}
	return low < search->n_cies && search->cies[low] == off;
}

static bool is_fde(const struct search *search, size_t off, uint32_t id)
{
	size_t id_off = off + 4, first_off = off + 8;
	uint64_t first =
		search->va + first_off + (uint64_t)(int64_t)(int32_t)word_at(search, first_off);
	uint32_t bytes = word_at(search, first_off + 4);

	return id <= id_off && has_cie(search, id_off - id) && bytes > 0 &&
	       is_code(search->elf, first, bytes);
}

/* The bytes of a chain that begins at `start`, with its end; 0: there is none. */
static size_t follow(struct search *search, size_t start)
{
	size_t off = start, n_fdes = 0;

	search->n_cies = 0;
	while (search->steps > 0 && search->bytes - off >= 4) {
		uint32_t len = word_at(search, off), id;

		search->steps--;
		if (len == 0)
			return n_fdes >= MIN_FDES ? off + 4 - start : 0;
		if (len % 4 || len < MIN_ENTRY || len > search->bytes - off - 4)
			return 0;
		id = word_at(search, off + 4);
		if (id != 0 ? !is_fde(search, off, id)
			    : search->n_cies == MAX_CIES || !is_cie(search, off, len))
			return 0;
		if (id == 0)
			search->cies[search->n_cies++] = (uint32_t)off;
		else
			n_fdes++;
		off += 4 + len;
	}
	return 0;
}

/* The first chain is the longest one: a later one is its end. */
static bool search_segment(struct search *search, uint64_t *ret_va, uint64_t *ret_bytes)
{
	for (size_t off = 0; search->steps > 0 && search->bytes >= 16 && off <= search->bytes - 16;
	     off += 4) {
		size_t bytes;

		if (word_at(search, off + 4) != 0 || search->data[off + 8] != 1 ||
		    search->data[off + 9] != 'z')
			continue;
		bytes = follow(search, off);
		if (!bytes)
			continue;
		*ret_va = search->va + off;
		*ret_bytes = bytes;
		return true;
	}
	return false;
}

static int read_segment(const struct ep_elf *elf, const Elf64_Phdr *segment,
			struct ep_elf_bytes *ret_bytes)
{
	int r;

	if (segment->p_filesz > EP_ELF_MAX_SECTION ||
	    !ep_in_bounds(segment->p_offset, segment->p_filesz, elf->bytes))
		return -E2BIG;
	r = ep_elf_bytes_new(elf->work, segment->p_filesz, ret_bytes);
	return r < 0 ? r
		     : ep_elf_read_at(elf, segment->p_offset, (void *)(uintptr_t)ret_bytes->data,
				      ret_bytes->bytes);
}

int ep_elf_search_eh_frame(const struct ep_elf *elf, uint64_t *ret_va, uint64_t *ret_bytes)
{
	int r = -ENODATA;

	if (elf->header.e_machine != EM_X86_64)
		return -ENODATA;
	for (size_t i = 0; i < elf->n_segments && r == -ENODATA; i++) {
		ep_cleanup(ep_elf_bytes_fini) struct ep_elf_bytes bytes = {0};
		const Elf64_Phdr *segment = &elf->segments[i];
		ep_autofree struct search *search = NULL;

		if (segment->p_type != PT_LOAD || segment->p_flags & PF_W ||
		    read_segment(elf, segment, &bytes) < 0)
			continue;
		search = calloc(1, sizeof(*search));
		if (!search)
			return -ENOMEM;
		*search = (struct search){
			.elf = elf,
			.data = bytes.data,
			.bytes = bytes.bytes,
			.va = segment->p_vaddr,
			.steps = bytes.bytes / MIN_ENTRY, /* of the longest chain there can be */
		};
		r = search_segment(search, ret_va, ret_bytes) ? 0 : -ENODATA;
	}
	return r;
}
