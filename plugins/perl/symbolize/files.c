/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/perl/symbolize/files.h"

#include "core/base/clock.h"
#include "core/base/map.h"
#include "core/base/util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS	    1024
#define MAX_ENTRIES 8192 /* of %INC that are looked at */
#define MAX_CHAIN   64	 /* of one of its buckets */
#define SCAN_NS	    3000000ull

/* The same in v5.28.3 to v5.44.0: gv.h, hv.h. */
#define GP_HV  32 /* struct gp: gp_hv */
#define HV_MAX 24 /* struct xpvhv: xhv_max */

struct file {
	struct file *chain;
	uint64_t hash;
	char name[];
};

struct pl_files {
	struct file *buckets[BUCKETS];
	uint32_t n;
	uint64_t scanned_ns;
};

/* hv.h: struct he. */
struct he {
	uint64_t next, hek, value;
};

int pl_files_new(struct pl_files **ret_files)
{
	*ret_files = calloc(1, sizeof(**ret_files));
	return *ret_files ? 0 : -ENOMEM;
}

void pl_files_free(struct pl_files *files)
{
	if (!files)
		return;
	for (size_t i = 0; i < BUCKETS; i++) {
		while (files->buckets[i]) {
			struct file *file = files->buckets[i];

			files->buckets[i] = file->chain;
			free(file);
		}
	}
	free(files);
}

const char *pl_files_find(const struct pl_files *files, uint64_t hash)
{
	const struct file *file = files->buckets[ep_mix64(hash) % BUCKETS];

	while (file && file->hash != hash)
		file = file->chain;
	return file ? file->name : NULL;
}

static uint64_t hash_name(const char *name, size_t n)
{
	__u64 words[PL_FILE_WORDS] = {0};

	memcpy(words, name, EP_MIN(n, (size_t)PL_FILE_NAME_BYTES - 1));
	return pl_hash_file(words);
}

void pl_files_learn(struct pl_files *files, const char *name)
{
	size_t n = strlen(name);
	uint64_t hash = hash_name(name, n);
	struct file *file, **bucket = &files->buckets[ep_mix64(hash) % BUCKETS];

	if (!n || files->n >= PL_MAX_FILES || pl_files_find(files, hash))
		return;
	file = malloc(sizeof(*file) + n + 1);
	if (!file)
		return;
	file->hash = hash;
	memcpy(file->name, name, n + 1);
	file->chain = *bucket;
	*bucket = file;
	files->n++;
}

/* An entry's value: a string, the path. */
static void learn_value(struct pl_files *files, const struct pl_reader *reader, uint64_t value)
{
	char name[1024];
	struct pl_sv sv;

	if (pl_read(reader, value, &sv, sizeof(sv)) < 0 || PL_SV_TYPE(sv.flags) < PL_SVT_PV ||
	    PL_SV_TYPE(sv.flags) > PL_SVT_PVMG || !(sv.flags & PL_SVF_POK) ||
	    memory_read_string(reader->memory, sv.u, name, sizeof(name), MEMORY_PAGE) < 0)
		return;
	pl_files_learn(files, name);
}

static uint32_t scan_bucket(struct pl_files *files, const struct pl_reader *reader, uint64_t entry)
{
	uint32_t n = 0;
	struct he he;

	while (entry && n < MAX_CHAIN && pl_read(reader, entry, &he, sizeof(he)) == 0) {
		learn_value(files, reader, he.value);
		entry = he.next;
		n++;
	}
	return n;
}

static void scan_hash(struct pl_files *files, const struct pl_reader *reader, uint64_t hash)
{
	uint64_t max, entry;
	uint32_t n = 0;
	struct pl_sv hv;

	if (pl_read(reader, hash, &hv, sizeof(hv)) < 0 || PL_SV_TYPE(hv.flags) != PL_SVT_PVHV ||
	    !hv.u || pl_read(reader, hv.any + HV_MAX, &max, sizeof(max)) < 0)
		return;
	for (uint64_t i = 0; i <= max && i < MAX_ENTRIES && n < MAX_ENTRIES; i++) {
		if (pl_read(reader, hv.u + 8 * i, &entry, sizeof(entry)) < 0)
			return;
		n += scan_bucket(files, reader, entry);
	}
}

void pl_files_scan(struct pl_files *files, const struct pl_reader *reader, uint64_t incgv_addr)
{
	uint64_t gv, hash;
	struct pl_sv glob;

	if (pl_read(reader, incgv_addr, &gv, sizeof(gv)) == 0 && gv &&
	    pl_read(reader, gv, &glob, sizeof(glob)) == 0 &&
	    PL_SV_TYPE(glob.flags) == PL_SVT_PVGV &&
	    pl_read(reader, glob.u + GP_HV, &hash, sizeof(hash)) == 0)
		scan_hash(files, reader, hash);
}

bool pl_files_may_scan(struct pl_files *files)
{
	uint64_t now = ep_clock_mono_ns();

	if (files->scanned_ns && now - files->scanned_ns < SCAN_NS)
		return false;
	files->scanned_ns = now;
	return true;
}
