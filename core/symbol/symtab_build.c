/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the two halves of building, then finds the names a place to stay. */
#include "core/symbol/symtab_builder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_BLOCK_BYTES	  ((size_t)16 << 20)
#define SMALL_BLOCK_BYTES ((size_t)64 << 10)

/* ---- names: where they stay ---- */

static struct symtab_candidate entry_candidate(const struct symtab_entry *entry)
{
	return (struct symtab_candidate){.name_off = entry->name_off,
					 .source = (uint8_t)SYMTAB_SOURCE(entry->meta)};
}

/* Counts up to `enough`: names in address order are scattered over the string table. */
static size_t names_bytes(struct symtab_builder *builder, size_t source, size_t enough)
{
	const struct ep_symtab *symtab = builder->symtab;
	size_t bytes = 0;

	for (size_t i = 0; i < symtab->n_entries && bytes <= enough; i++) {
		struct symtab_candidate candidate = entry_candidate(&symtab->entries[i]);
		const char *name;

		if (candidate.source == source)
			bytes += ep_symtab_candidate_name(builder, &candidate, builder->name[0],
							  &name) +
				 1;
	}
	return bytes;
}

/* Copies the names of one source into a block, and turns its entries' offsets to it. */
static int names_to_block(struct symtab_builder *builder, size_t source, size_t bytes)
{
	struct ep_symtab *symtab = builder->symtab;
	size_t used = 0;
	char *block;

	if (bytes > MAX_BLOCK_BYTES)
		return -E2BIG;
	block = malloc(EP_MAX(bytes, (size_t)1));
	if (!block)
		return -ENOMEM;
	symtab->names[source].block = block;
	symtab->names[source].bytes = bytes;
	for (size_t i = 0; i < symtab->n_entries; i++) {
		struct symtab_candidate candidate = entry_candidate(&symtab->entries[i]);
		const char *name;
		size_t len;

		if (candidate.source != source)
			continue;
		len = ep_symtab_candidate_name(builder, &candidate, builder->name[0], &name);
		if (len >= bytes - used) /* the file changed between the two passes */
			return -EBADMSG;
		memcpy(block + used, name, len);
		block[used + len] = '\0';
		symtab->entries[i].name_off = (uint32_t)used;
		used += len + 1;
	}
	return 0;
}

static int names_to_file(struct symtab_builder *builder, size_t index)
{
	const struct symtab_source *source = &builder->sources[index];
	struct symtab_names *names = &builder->symtab->names[index];
	struct stat st;

	names->fd = fcntl(ep_elf_fd(source->elf), F_DUPFD_CLOEXEC, 0);
	if (names->fd < 0 || fstat(names->fd, &st) < 0)
		return -errno;
	names->file_off = source->strings.file_off;
	names->bytes = source->strings.bytes;
	names->file_bytes = (uint64_t)st.st_size;
	names->mtime = st.st_mtim;
	return 0;
}

static int names_place(struct symtab_builder *builder)
{
	int r = 0;

	for (size_t i = 0; i < builder->n_sources && r == 0; i++) {
		const struct symtab_source *source = &builder->sources[i];
		bool in_file =
			ep_elf_fd(source->elf) >= 0 && !(source->strings.flags & SHF_COMPRESSED);
		size_t bytes =
			names_bytes(builder, i, in_file ? SMALL_BLOCK_BYTES : MAX_BLOCK_BYTES);

		if (!bytes)
			continue;
		if (in_file && bytes > SMALL_BLOCK_BYTES)
			r = names_to_file(builder, i);
		else
			r = names_to_block(builder, i, bytes);
	}
	return r;
}

/* ---- all of it ---- */

static int builder_run(struct symtab_builder *builder, const struct ep_elf *elf,
		       const struct ep_elf *debug)
{
	int r;

	r = ep_symtab_collect(builder, elf, debug);
	if (r < 0)
		return r;
	if (!builder->candidates.len)
		return -ENODATA;
	r = ep_symtab_choose(builder);
	if (r < 0)
		return r;
	r = names_place(builder);
	/* A look at a name that was not covered by the budget any more gave none. */
	return r < 0 ? r : ep_work_result(ep_elf_work(elf));
}

static void builder_free(struct symtab_builder *builder)
{
	for (size_t i = 0; i < builder->n_sources; i++)
		ep_elf_bytes_fini(&builder->sources[i].bytes);
	ep_vec_fini(&builder->candidates);
	ep_elf_close(builder->debugdata);
	ep_memory_budget_give(builder->budget, builder->held);
	free(builder);
}

int ep_symtab_build(const struct ep_elf *elf, const struct ep_elf *debug,
		    struct ep_symtab **ret_symtab)
{
	ep_cleanup(ep_symtab_freep) struct ep_symtab *symtab = NULL;
	struct symtab_builder *builder;
	int r;

	if (ep_elf_type(elf) == ET_REL) /* its addresses are offsets in sections */
		return -ENODATA;
	symtab = calloc(1, sizeof(*symtab));
	builder = calloc(1, sizeof(*builder));
	if (!symtab || !builder) {
		free(builder);
		return -ENOMEM;
	}
	for (size_t i = 0; i < SYMTAB_SOURCES; i++)
		symtab->names[i].fd = -1;
	builder->symtab = symtab;
	ep_vec_init(&builder->candidates, sizeof(struct symtab_candidate), BUILDER_MAX_CANDIDATES);
	r = builder_run(builder, elf, debug);
	builder_free(builder);
	if (r < 0)
		return r;
	*ret_symtab = ep_take(symtab);
	return 0;
}

bool ep_symtab_is_complete(const struct ep_elf *elf)
{
	struct ep_elf_section section;

	return ep_elf_find_section_type(elf, SHT_SYMTAB, &section) == 0 &&
	       section.bytes > sizeof(Elf64_Sym);
}
