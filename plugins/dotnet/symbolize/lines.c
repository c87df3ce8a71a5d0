/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/dotnet/symbolize/lines.h"

#include "core/base/util.h"
#include "plugins/shared/names/cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 1024

struct place_item {
	struct names_item item;
	struct dotnet_pdb_place place;
	bool is_there;
};

struct pdb_item {
	struct names_item item;
	bool is_there; /* else it is known that it is not */
	struct dotnet_metadata metadata;
	uint8_t *plain; /* of one in an image */
	uint32_t plain_bytes;
	struct ep_target_file file; /* or one beside it */
	char name[DOTNET_PDB_NAME_BYTES];
};

/* --- reading one -------------------------------------------------------------------------------------------- */

struct source {
	const struct dotnet_lines *lines;
	struct pdb_item *pdb;
};

/* Addresses are offsets. Behind its end are zeros, to the end of a page. */
static int read_plain(const struct pdb_item *pdb, uint64_t off, void *buf, size_t bytes)
{
	size_t inside = off < pdb->plain_bytes ? EP_MIN(bytes, pdb->plain_bytes - (size_t)off) : 0;

	if (off > pdb->plain_bytes || bytes - inside > MEMORY_PAGE)
		return -EFAULT;
	memcpy(buf, pdb->plain + off, inside);
	memset((char *)buf + inside, 0, bytes - inside);
	return 0;
}

static int source_read(void *arg, uint64_t off, void *buf, size_t bytes)
{
	const struct source *source = arg;
	const struct dotnet_files *files = &source->lines->files;

	return source->pdb->plain ? read_plain(source->pdb, off, buf, bytes)
				  : files->read(files->arg, &source->pdb->file, off, buf, bytes);
}

static struct dotnet_reader source_reader(struct source *source)
{
	return (struct dotnet_reader){.memory = {source_read, source}, .layout = source->lines->reader->layout};
}

/* --- opening one -------------------------------------------------------------------------------------------- */

static void free_pdb(struct names_item *item)
{
	struct pdb_item *pdb = (struct pdb_item *)item;

	free(pdb->plain);
	free(pdb);
}

static int open_beside(const struct dotnet_lines *lines, const struct dotnet_pdb_place *place, uint64_t addr,
		       struct pdb_item *pdb)
{
	struct source source = {lines, pdb};
	struct dotnet_reader reader = source_reader(&source);

	if (!lines->files.read || !addr)
		return -ENODATA;
	memcpy(pdb->name, place->name, sizeof(pdb->name));
	pdb->file = (struct ep_target_file){.addr = addr, .name = pdb->name};
	return dotnet_pdb_read(&reader, place->id, &pdb->metadata);
}

static int open_embedded(const struct dotnet_lines *lines, const struct dotnet_pdb_place *place, struct pdb_item *pdb)
{
	struct source source = {lines, pdb};
	struct dotnet_reader reader = source_reader(&source);
	int r = dotnet_pdb_inflate(lines->reader, place, &pdb->plain);

	if (r < 0)
		return r;
	pdb->plain_bytes = place->plain_bytes;
	pdb->item.bytes += place->plain_bytes;
	return dotnet_pdb_read(&reader, place->id, &pdb->metadata);
}

/* In the image; beside what it is mapped from; of a bundle whose images are copies, beside the program. */
static int open_pdb(const struct dotnet_lines *lines, const struct dotnet_pdb_place *place, struct pdb_item *pdb)
{
	int r = place->embedded ? open_embedded(lines, place, pdb) : open_beside(lines, place, place->image, pdb);

	return r == -ENODATA && !place->embedded ? open_beside(lines, place, lines->files.program, pdb) : r;
}

static bool may_pass(int r)
{
	return r != -ENODATA && r != -EBADMSG && r != -E2BIG && r != -EFAULT && r != -EINVAL;
}

/* With a reference. */
static int find_pdb(const struct dotnet_lines *lines, const struct dotnet_pdb_place *place, struct pdb_item **ret)
{
	uint64_t key[3] = {0};
	struct pdb_item *pdb;
	int r;

	memcpy(key, place->id, sizeof(place->id));
	pdb = names_cache_find(lines->cache, DOTNET_KIND_PDB, key[0], key[1], key[2]);
	if (!pdb) {
		pdb = calloc(1, sizeof(*pdb));
		if (!pdb)
			return -ENOMEM;
		pdb->item = (struct names_item){
			.key = {key[0], key[1], key[2]},
			.kind = DOTNET_KIND_PDB,
			.class = DOTNET_CLASS_PDBS,
			.bytes = sizeof(*pdb),
			.free = free_pdb,
		};
		r = open_pdb(lines, place, pdb);
		if (may_pass(r) && r < 0) {
			free_pdb(&pdb->item);
			return r;
		}
		pdb->is_there = r == 0;
		names_cache_put(lines->cache, &pdb->item);
	}
	*ret = pdb;
	return 0;
}

static int find_place(const struct dotnet_lines *lines, uint64_t module, bool keeps, struct dotnet_pdb_place *ret)
{
	const struct place_item *known =
		keeps ? names_cache_peek(lines->cache, DOTNET_KIND_PLACE, module, 0, 0) : NULL;
	struct place_item *made;
	int r;

	if (known) {
		*ret = known->place;
		return known->is_there ? 0 : -ENODATA;
	}
	r = dotnet_pdb_place_of(lines->reader, module, ret);
	if ((r < 0 && r != -ENODATA) || !keeps)
		return r;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->item.kind = DOTNET_KIND_PLACE;
	made->item.class = DOTNET_CLASS_MODULES;
	made->item.key[0] = module;
	made->item.bytes = sizeof(*made);
	made->place = *ret;
	made->is_there = r == 0;
	names_cache_put(lines->cache, &made->item);
	names_item_unref(&made->item);
	return r;
}

/* --- points --------------------------------------------------------------------------------------------------- */

static int find_document(const struct dotnet_lines *lines, struct pdb_item *pdb, uint32_t rid,
			 struct names_function **ret)
{
	struct source source = {lines, pdb};
	const struct dotnet_reader reader = source_reader(&source);
	char path[PATH_BYTES];
	struct text_writer writer = {.buf = path, .size = sizeof(path)};
	const uint64_t *id = pdb->item.key;
	int r;

	*ret = names_cache_find(lines->cache, DOTNET_KIND_DOCUMENT, id[0], id[1], rid);
	if (*ret)
		return 0;
	r = dotnet_pdb_document(&reader, &pdb->metadata, rid, &writer);
	text_end(&writer, false);
	if (r == 0)
		r = names_function_new(path, "", NULL, 0, ret);
	if (r < 0)
		return r;
	(*ret)->item.kind = DOTNET_KIND_DOCUMENT;
	(*ret)->item.class = DOTNET_CLASS_NAMES;
	memcpy((*ret)->item.key, (uint64_t[3]){id[0], id[1], rid}, sizeof((*ret)->item.key));
	names_cache_put(lines->cache, &(*ret)->item);
	return 0;
}

int dotnet_lines_find(const struct dotnet_lines *lines, uint64_t module, bool keeps, uint32_t rid, uint32_t il,
		      struct dotnet_point *ret, struct names_function **ret_document)
{
	struct dotnet_pdb_place place;
	struct dotnet_reader reader;
	struct pdb_item *pdb;
	struct source source;
	int r = find_place(lines, module, keeps, &place);

	if (r == 0)
		r = find_pdb(lines, &place, &pdb);
	if (r < 0)
		return r;
	source = (struct source){lines, pdb};
	reader = source_reader(&source);
	r = pdb->is_there ? dotnet_pdb_find(&reader, &pdb->metadata, rid, il, ret) : -ENODATA;
	if (r == 0)
		r = find_document(lines, pdb, ret->document, ret_document);
	if (r == -ESTALE) /* another one was put in its place */
		names_cache_remove(&pdb->item);
	names_item_unref(&pdb->item);
	return r;
}

int dotnet_lines_has_pdb(const struct dotnet_lines *lines, uint64_t module)
{
	struct dotnet_pdb_place place;
	struct pdb_item *pdb;
	int r = find_place(lines, module, true, &place);

	if (r == 0)
		r = find_pdb(lines, &place, &pdb);
	if (r < 0)
		return r;
	r = pdb->is_there ? 0 : -ENOENT;
	names_item_unref(&pdb->item);
	return r;
}
