/* SPDX-License-Identifier: Apache-2.0 */
#include "core/symbol/symtab.h"

#include "core/base/bisect.h"
#include "core/symbol/symtab_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* How many functions that begin before `va` but end before it too are skipped: nested ones. */
#define MAX_NESTED 32

/* Index of the last entry that starts at or before `start`, or -1. */
static ssize_t entry_before(const struct ep_symtab *symtab, uint32_t start)
{
	return (ssize_t)ep_bisect(symtab->n_entries, i, symtab->entries[i].start <= start) - 1;
}

int ep_symtab_find(const struct ep_symtab *symtab, uint64_t va, struct ep_symtab_hit *ret_hit)
{
	uint64_t start = va - symtab->base_va;
	ssize_t i, stop;

	if (va < symtab->base_va || start > UINT32_MAX)
		return -ENODATA;
	i = entry_before(symtab, (uint32_t)start);
	stop = EP_MAX(i - MAX_NESTED, -1);
	for (; i > stop; i--) {
		const struct symtab_entry *entry = &symtab->entries[i];

		if (start - entry->start >= SYMTAB_SIZE(entry->meta))
			continue;
		*ret_hit = (struct ep_symtab_hit){
			.start_va = symtab->base_va + entry->start,
			.size = SYMTAB_SIZE(entry->meta),
			.index = (uint32_t)i,
		};
		return 0;
	}
	return -ENODATA;
}

/* ---- names ---- */

static bool file_is_unchanged(const struct symtab_names *names)
{
	struct stat st;

	return fstat(names->fd, &st) == 0 && (uint64_t)st.st_size == names->file_bytes &&
	       st.st_mtim.tv_sec == names->mtime.tv_sec &&
	       st.st_mtim.tv_nsec == names->mtime.tv_nsec;
}

/* Length of the name, at most bytes - 1. */
static int name_from_file(const struct symtab_names *names, uint32_t off, char *buf, size_t bytes)
{
	size_t want = EP_MIN(bytes - 1, names->bytes - off);
	size_t first = EP_MIN(want, (size_t)128); /* nearly every name is shorter */
	ssize_t got;

	if (!file_is_unchanged(names))
		return -ESTALE;
	got = pread(names->fd, buf, first, (off_t)(names->file_off + off));
	if (got == (ssize_t)first && strnlen(buf, first) == first && want > first)
		got = pread(names->fd, buf, want, (off_t)(names->file_off + off));
	if (got < 0)
		return -errno;
	buf[got] = '\0';
	return (int)strlen(buf);
}

static int name_from_block(const struct symtab_names *names, uint32_t off, char *buf, size_t bytes)
{
	size_t len = strnlen(names->block + off, EP_MIN(bytes - 1, names->bytes - off));

	memcpy(buf, names->block + off, len);
	buf[len] = '\0';
	return (int)len;
}

int ep_symtab_name(const struct ep_symtab *symtab, const struct ep_symtab_hit *hit, char *buf,
		   size_t bytes)
{
	static const char plt[] = "@plt";
	const struct symtab_entry *entry;
	const struct symtab_names *names;
	int len;

	if (hit->index >= symtab->n_entries || bytes <= sizeof(plt))
		return -EINVAL;
	entry = &symtab->entries[hit->index];
	names = &symtab->names[SYMTAB_SOURCE(entry->meta)];
	if (entry->name_off >= names->bytes)
		return -EINVAL;
	if (SYMTAB_PLT(entry->meta))
		bytes -= sizeof(plt) - 1;
	len = (names->block ? name_from_block : name_from_file)(names, entry->name_off, buf, bytes);
	if (len < 0 || !SYMTAB_PLT(entry->meta))
		return len;
	memcpy(buf + len, plt, sizeof(plt));
	return len + (int)sizeof(plt) - 1;
}

/* ---- accounting ---- */

size_t ep_symtab_len(const struct ep_symtab *symtab)
{
	return symtab->n_entries;
}

size_t ep_symtab_bytes(const struct ep_symtab *symtab)
{
	size_t bytes = sizeof(*symtab) + symtab->n_entries * sizeof(*symtab->entries);

	for (size_t i = 0; i < SYMTAB_SOURCES; i++)
		if (symtab->names[i].block)
			bytes += symtab->names[i].bytes;
	return bytes;
}

size_t ep_symtab_fds(const struct ep_symtab *symtab)
{
	size_t n = 0;

	for (size_t i = 0; i < SYMTAB_SOURCES; i++)
		n += symtab->names[i].fd >= 0;
	return n;
}

void ep_symtab_free(struct ep_symtab *symtab)
{
	if (!symtab)
		return;
	for (size_t i = 0; i < SYMTAB_SOURCES; i++) {
		if (symtab->names[i].fd >= 0)
			close(symtab->names[i].fd);
		free(symtab->names[i].block);
	}
	free(symtab->entries);
	free(symtab);
}
