/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dynamic section is an array of Elf64_Dyn up to DT_NULL, where PT_DYNAMIC points; texts are
 * offsets into the table at the virtual address DT_STRTAB, of DT_STRSZ bytes (System V gABI,
 * chapter 5 "Dynamic Section"). RPATH is ignored where there is a RUNPATH (glibc elf/get-dynamic-info.h,
 * elf_get_dynamic_info).
 */
#include "core/elf/needed.h"

#include <errno.h>
#include <string.h>

#define MAX_ENTRIES 4096u

struct dynamic {
	Elf64_Dyn *entries; /* owned */
	size_t n;
	uint64_t strings_va, strings_bytes;
};

static void free_dynamic(struct dynamic *dynamic)
{
	free(dynamic->entries);
}

static void find_strings(struct dynamic *dynamic)
{
	for (size_t i = 0; i < dynamic->n; i++) {
		const Elf64_Dyn *entry = &dynamic->entries[i];

		if (entry->d_tag == DT_NULL)
			dynamic->n = i;
		else if (entry->d_tag == DT_STRTAB)
			dynamic->strings_va = entry->d_un.d_ptr;
		else if (entry->d_tag == DT_STRSZ)
			dynamic->strings_bytes = entry->d_un.d_val;
	}
}

/* 0, -ENODATA in a file without a dynamic section. */
static int read_dynamic(const struct ep_elf *elf, struct dynamic *dynamic)
{
	struct ep_elf_segment segment;
	size_t bytes;
	int r = ep_elf_find_segment(elf, PT_DYNAMIC, &segment);

	if (r < 0)
		return r;
	dynamic->n = EP_MIN(segment.file_bytes / sizeof(Elf64_Dyn), (uint64_t)MAX_ENTRIES);
	bytes = dynamic->n * sizeof(Elf64_Dyn);
	dynamic->entries = malloc(bytes ? bytes : 1);
	if (!dynamic->entries)
		return -ENOMEM;
	r = ep_elf_read_at(elf, segment.file_off, dynamic->entries, bytes);
	if (r < 0)
		return r;
	find_strings(dynamic);
	return 0;
}

/* A text that ends within `bytes` bytes. 0, -EBADMSG, -ENOMEM. */
static int take_text(const char *text, size_t bytes, char **ret_text)
{
	if (strnlen(text, bytes) == bytes)
		return -EBADMSG;
	*ret_text = strdup(text);
	return *ret_text ? 0 : -ENOMEM;
}

/* A text that is none is as if it were not there; what is there twice counts as its last. */
static int read_text(const struct ep_elf *elf, const struct dynamic *dynamic, uint64_t off,
		     char **text)
{
	char buf[EP_ELF_MAX_LOADER_TEXT], *fresh = NULL;
	uint64_t va;
	size_t bytes;
	int r;

	if (off >= dynamic->strings_bytes ||
	    __builtin_add_overflow(dynamic->strings_va, off, &va))
		return 0;
	bytes = EP_MIN(dynamic->strings_bytes - off, (uint64_t)sizeof(buf));
	if (ep_elf_read_va(elf, va, buf, bytes) < 0)
		return 0;
	r = take_text(buf, bytes, &fresh);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	free(*text);
	*text = fresh;
	return 0;
}

static int read_name(const struct ep_elf *elf, const struct dynamic *dynamic, uint64_t off,
		     struct ep_elf_needed *needed)
{
	char *name = NULL;
	int r;

	if (needed->n_names == EP_ELF_MAX_NEEDED)
		return 0;
	r = read_text(elf, dynamic, off, &name);
	if (r < 0)
		return r;
	if (name && *name)
		needed->names[needed->n_names++] = name;
	else
		free(name);
	return 0;
}

static int read_entry(const struct ep_elf *elf, const struct dynamic *dynamic,
		      const Elf64_Dyn *entry, struct ep_elf_needed *needed)
{
	switch (entry->d_tag) {
	case DT_NEEDED:
		return read_name(elf, dynamic, entry->d_un.d_val, needed);
	case DT_RPATH:
		return read_text(elf, dynamic, entry->d_un.d_val, &needed->rpath);
	case DT_RUNPATH:
		return read_text(elf, dynamic, entry->d_un.d_val, &needed->runpath);
	default:
		return 0;
	}
}

static int read_entries(const struct ep_elf *elf, struct ep_elf_needed *needed)
{
	ep_cleanup(free_dynamic) struct dynamic dynamic = {0};
	int r = read_dynamic(elf, &dynamic);

	if (r == -ENODATA)
		return 0;
	for (size_t i = 0; r == 0 && i < dynamic.n; i++)
		r = read_entry(elf, &dynamic, &dynamic.entries[i], needed);
	if (r == 0 && needed->runpath) {
		free(needed->rpath);
		needed->rpath = NULL;
	}
	return r;
}

/* The kernel refuses a program whose PT_INTERP has no NUL at its end (fs/binfmt_elf.c). */
static int read_interp(const struct ep_elf *elf, struct ep_elf_needed *needed)
{
	char buf[EP_ELF_MAX_LOADER_TEXT];
	struct ep_elf_segment segment;
	int r;

	if (ep_elf_find_segment(elf, PT_INTERP, &segment) < 0 || segment.file_bytes < 2 ||
	    segment.file_bytes > sizeof(buf) ||
	    ep_elf_read_at(elf, segment.file_off, buf, segment.file_bytes) < 0)
		return 0;
	r = take_text(buf, segment.file_bytes, &needed->interp);
	return r == -ENOMEM ? r : 0;
}

int ep_elf_needed_read(const struct ep_elf *elf, struct ep_elf_needed *ret_needed)
{
	struct ep_elf_needed needed = {0};
	int r = read_interp(elf, &needed);

	if (r == 0)
		r = read_entries(elf, &needed);
	if (r < 0) {
		ep_elf_needed_fini(&needed);
		return r;
	}
	*ret_needed = needed;
	return 0;
}

void ep_elf_needed_fini(struct ep_elf_needed *needed)
{
	free(needed->interp);
	free(needed->rpath);
	free(needed->runpath);
	for (size_t i = 0; i < needed->n_names; i++)
		free(needed->names[i]);
	*needed = (struct ep_elf_needed){0};
}
