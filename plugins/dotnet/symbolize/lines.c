/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/dotnet/symbolize/lines.h"

#include "core/base/clock.h"
#include "core/base/util.h"
#include "plugins/dotnet/symbolize/plain.h"
#include "plugins/shared/names/cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 1024

struct pdb_item {
	struct names_item item;
	bool is_there; /* else it is known that it is not */
	struct dotnet_metadata metadata;
	uint64_t plain; /* of one in an image: its number, under which it was there */
	struct ep_target_file file; /* or one beside it */
	char name[DOTNET_PDB_NAME_BYTES];
};

/* --- reading one ---------------------------------------------------------------------------- */

struct source {
	const struct dotnet_lines *lines;
	struct pdb_item *pdb;		   /* a reference */
	const struct dotnet_plain *plain; /* of one in an image: a reference */
};

/* Addresses are offsets. After its end are zeros, to the end of a page. */
static int read_plain(const struct dotnet_plain *plain, uint64_t off, void *buf, size_t bytes)
{
	size_t inside = off < plain->n ? EP_MIN(bytes, plain->n - (size_t)off) : 0;

	if (off > plain->n || bytes - inside > MEMORY_PAGE)
		return -EFAULT;
	memcpy(buf, plain->bytes + off, inside);
	memset((char *)buf + inside, 0, bytes - inside);
	return 0;
}

static int source_read(void *arg, uint64_t off, void *buf, size_t bytes)
{
	const struct source *source = arg;
	const struct dotnet_files *files = &source->lines->files;

	return source->plain ? read_plain(source->plain, off, buf, bytes)
			     : files->read(files->arg, &source->pdb->file, off, buf, bytes);
}

static struct dotnet_reader source_reader(struct source *source)
{
	return (struct dotnet_reader){.memory = {source_read, source},
				      .layout = source->lines->reader->layout};
}

static void source_close(struct source *source)
{
	dotnet_plain_unref(source->plain);
	names_item_unref(&source->pdb->item);
}

/* --- opening one ---------------------------------------------------------------------------- */

static int open_beside(struct source *source, const struct dotnet_pdb_place *place, uint64_t addr)
{
	struct dotnet_reader reader = source_reader(source);
	struct pdb_item *pdb = source->pdb;

	if (!source->lines->files.read || !addr)
		return -ENODATA;
	memcpy(pdb->name, place->name, sizeof(pdb->name));
	pdb->file = (struct ep_target_file){.addr = addr, .name = pdb->name};
	return dotnet_pdb_read(&reader, place->id, &pdb->metadata);
}

/* What was inflated before may have gone meanwhile. */
static int open_embedded(struct source *source, const struct dotnet_pdb_place *place)
{
	struct dotnet_reader reader = source_reader(source);
	uint64_t now_ns = ep_clock_mono_ns();
	uint8_t *bytes;
	int r;

	source->plain = dotnet_plain_get(source->pdb->plain, now_ns);
	if (source->plain)
		return 0;
	r = dotnet_pdb_inflate(source->lines->reader, place, &bytes);
	if (r < 0)
		return r;
	source->plain = dotnet_plain_put(bytes, place->plain_bytes, now_ns);
	if (!source->plain)
		return -ENOMEM;
	source->pdb->plain = source->plain->number;
	return dotnet_pdb_read(&reader, place->id, &source->pdb->metadata);
}

/* In the image; beside what it is mapped from; of a bundle whose images are copies, beside the
 * program. */
static int open_pdb(struct source *source, const struct dotnet_pdb_place *place)
{
	int r = place->embedded ? open_embedded(source, place)
				: open_beside(source, place, place->image);

	return r == -ENODATA && !place->embedded
		       ? open_beside(source, place, source->lines->files.program)
		       : r;
}

static bool may_pass(int r)
{
	return r != -ENODATA && r != -EBADMSG && r != -E2BIG && r != -EFAULT && r != -EINVAL;
}

/* To be closed, also where there is none (is_there). */
static int open_source(const struct dotnet_lines *lines, const struct dotnet_pdb_place *place,
		       struct source *ret)
{
	struct source source = {.lines = lines};
	uint64_t key[3] = {0};
	struct pdb_item *pdb;
	int r;

	memcpy(key, place->id, sizeof(place->id));
	source.pdb = names_cache_find(lines->cache, DOTNET_KIND_PDB, key[0], key[1], key[2]);
	if (source.pdb) {
		r = place->embedded && source.pdb->is_there ? open_embedded(&source, place) : 0;
		source.pdb->is_there &= r == 0 || may_pass(r);
		if (r < 0)
			source_close(&source);
		else
			*ret = source;
		return r;
	}
	source.pdb = pdb = calloc(1, sizeof(*pdb));
	if (!pdb)
		return -ENOMEM;
	pdb->item = (struct names_item){
		.key = {key[0], key[1], key[2]},
		.kind = DOTNET_KIND_PDB,
		.class = DOTNET_CLASS_PDBS,
		.bytes = sizeof(*pdb),
	};
	r = open_pdb(&source, place);
	if (may_pass(r) && r < 0) {
		dotnet_plain_unref(source.plain);
		free(pdb);
		return r;
	}
	pdb->is_there = r == 0;
	names_cache_put(lines->cache, &pdb->item);
	*ret = source;
	return 0;
}

/* One without an id is known, too: -ENODATA. */
static int find_place(const struct dotnet_lines *lines, uint64_t module, bool keeps,
		      struct dotnet_pdb_place *ret)
{
	const struct dotnet_pdb_place *known =
		keeps ? names_cache_kept(lines->cache, DOTNET_KIND_PLACE, module, 0, NULL) : NULL;
	int r;

	if (known) {
		*ret = *known;
		return known->has_id ? 0 : -ENODATA;
	}
	r = dotnet_pdb_place_of(lines->reader, module, ret);
	if ((r == 0 || r == -ENODATA) && keeps)
		(void)names_cache_keep(lines->cache, DOTNET_KIND_PLACE, DOTNET_CLASS_MODULES,
				       module, 0, ret, sizeof(*ret));
	return r;
}

/* --- points --------------------------------------------------------------------------------- */

static int find_document(struct source *source, uint32_t rid, struct names_function **ret)
{
	const struct dotnet_reader reader = source_reader(source);
	struct names_cache *cache = source->lines->cache;
	char path[PATH_BYTES];
	struct text_writer writer = {.buf = path, .size = sizeof(path)};
	const uint64_t *id = source->pdb->item.key;
	int r;

	*ret = names_cache_find(cache, DOTNET_KIND_DOCUMENT, id[0], id[1], rid);
	if (*ret)
		return 0;
	r = dotnet_pdb_document(&reader, &source->pdb->metadata, rid, &writer);
	text_end(&writer, false);
	if (r == 0)
		r = names_function_new(path, "", NULL, 0, ret);
	if (r < 0)
		return r;
	(*ret)->item.kind = DOTNET_KIND_DOCUMENT;
	(*ret)->item.class = DOTNET_CLASS_NAMES;
	memcpy((*ret)->item.key, (uint64_t[3]){id[0], id[1], rid}, sizeof((*ret)->item.key));
	names_cache_put(cache, &(*ret)->item);
	return 0;
}

int dotnet_lines_find(const struct dotnet_lines *lines, uint64_t module, bool keeps, uint32_t rid,
		      uint32_t il, struct dotnet_point *ret, struct names_function **ret_document)
{
	struct dotnet_pdb_place place;
	struct dotnet_reader reader;
	struct source source;
	int r = find_place(lines, module, keeps, &place);

	if (r == 0)
		r = open_source(lines, &place, &source);
	if (r < 0)
		return r;
	reader = source_reader(&source);
	r = source.pdb->is_there ? dotnet_pdb_find(&reader, &source.pdb->metadata, rid, il, ret)
				 : -ENODATA;
	if (r == 0)
		r = find_document(&source, ret->document, ret_document);
	if (r == -ESTALE) /* another one was put in its place */
		names_cache_remove(&source.pdb->item);
	source_close(&source);
	return r;
}

bool dotnet_lines_are_absent(const struct dotnet_lines *lines, uint64_t module)
{
	const struct dotnet_pdb_place *place =
		names_cache_kept(lines->cache, DOTNET_KIND_PLACE, module, 0, NULL);
	const struct pdb_item *pdb;
	uint64_t key[3] = {0};

	if (!place || !place->has_id)
		return place != NULL;
	memcpy(key, place->id, sizeof(place->id));
	pdb = names_cache_peek(lines->cache, DOTNET_KIND_PDB, key[0], key[1], key[2]);
	return pdb && !pdb->is_there;
}

int dotnet_lines_has_pdb(const struct dotnet_lines *lines, uint64_t module)
{
	struct dotnet_pdb_place place;
	struct source source;
	int r = find_place(lines, module, true, &place);

	if (r == 0)
		r = open_source(lines, &place, &source);
	if (r < 0)
		return r;
	r = source.pdb->is_there ? 0 : -ENOENT;
	source_close(&source);
	return r;
}
