/* SPDX-License-Identifier: Apache-2.0 */
/* What `doctor` tells who runs PHP: what costs names. */
#include "plugins/php/php.h"

#include "core/base/util.h"

#include <string.h>
#include <sys/mman.h>

#define NAME_BYTES   32
/* opcache.memory_consumption is at least that (zend_accelerator_module.c) */
#define LEAST_MEMORY (8ull << 20)

struct looking {
	uint64_t code_start, code_end; /* the file's */
	bool has_opcache, is_moved;
};

/* Shared memory, as ext/opcache/shared_alloc_*.c makes it. */
static bool is_opcache(const struct ep_target_mapping *mapping)
{
	static const char *const begins[] = {"/dev/zero",      "/SYSV",
					     "/anon_hugepage", "/dev/shm/ZendAccelerator",
					     "/tmp/.ZendSem",  "/tmp/ZendAccelerator"};

	if (mapping->end - mapping->start < LEAST_MEMORY || !(mapping->prot & PROT_READ))
		return false;
	for (size_t i = 0; i < EP_LEN(begins); i++) {
		if (strncmp(mapping->path, begins[i], strlen(begins[i])) == 0)
			return true;
	}
	return false;
}

static int look(void *arg, const struct ep_target_mapping *mapping)
{
	struct looking *looking = arg;

	looking->has_opcache |= is_opcache(mapping);
	/* Whole pages of 2 MiB in the midst of it (ZendAccelerator.c: accel_remap_huge_pages). */
	looking->is_moved |= !mapping->is_file && mapping->prot & PROT_EXEC &&
			     mapping->start < looking->code_end &&
			     mapping->end > looking->code_start;
	return 0;
}

/* sapi_module.name (SAPI.h): these serve no requests, or all of them with code that they keep. */
static bool is_server(const char *name)
{
	static const char *const others[] = {"", "cli", "cli-server", "embed", "phpdbg", "fuzzer"};

	for (size_t i = 0; i < EP_LEN(others); i++) {
		if (strcmp(name, others[i]) == 0)
			return false;
	}
	return true;
}

int php_say_advice(const struct php_namer *namer, uint64_t sapi_addr, const struct php_state *state,
		   void (*say)(void *arg, const char *found, const char *fix), void *arg)
{
	struct looking looking = {.code_start = state->code_start, .code_end = state->code_end};
	char name[NAME_BYTES] = "";
	uint64_t name_addr;
	int r = namer->host->target_mappings(namer->target, look, &looking);

	if (r < 0)
		return r;
	if (sapi_addr && memory_read(&namer->memory, sapi_addr, &name_addr, sizeof(name_addr)) == 0)
		(void)namer->host->target_string(namer->target, name_addr, name, sizeof(name));
	if (is_server(name) && !looking.has_opcache)
		say(arg,
		    "opcache is off: code is gone after each request, and the names of what ran in "
		    "it may be, too",
		    "load the extension opcache and set opcache.enable=1, which also makes PHP "
		    "faster");
	if (looking.is_moved)
		say(arg,
		    "a part of its code was moved out of its file: what runs there has no names, "
		    "and may not be walked through",
		    "set opcache.huge_code_pages=0");
	return 0;
}
