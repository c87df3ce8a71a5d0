/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/perl/natives.h"

#include "core/base/util.h"
#include "plugins/shared/x86/calls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BOOT_BYTES   (256u << 10)
#define MAX_SUBS     4096
#define NAME_BYTES   128
#define NAMES_BYTES  256 /* of one function */
#define PIECE_BYTES  32

struct sub {
	struct ep_symbol function;
	char name[NAMES_BYTES];
};

/* A walk through the boot function, in order of addresses. */
struct walk {
	const struct ep_unwinder_host *host;
	const struct ep_file *file;
	struct sub *subs;
	size_t n_subs;
};

/* --- which function it is --------------------------------------------------------------------- */

/* DynaLoader: auto/List/Util/Util.so has boot_List__Util. The part of the path, and its length. */
static const char *find_module(const char *path, size_t *ret_len)
{
	const char *at = path, *found = NULL, *end = strrchr(path, '/');

	while ((at = strstr(at, "/auto/")) != NULL) {
		at += strlen("/auto/");
		found = at;
	}
	if (!found || !end || end <= found || strlen(end) < 5 ||
	    strcmp(end + strlen(end) - 3, ".so") != 0)
		return NULL;
	*ret_len = (size_t)(end - found);
	return found;
}

bool pl_xs_find_boot(const struct ep_unwinder_host *host, const struct ep_file *file,
		     struct ep_symbol *ret_boot)
{
	char name[NAME_BYTES] = "boot_";
	size_t n = 0, used = strlen(name);
	const char *module = find_module(host->file_path(file), &n);

	for (size_t i = 0; module && i < n && used + 3 <= sizeof(name); i++) {
		if (module[i] == '/')
			name[used++] = '_';
		name[used++] = module[i] == '/' ? '_' : module[i];
	}
	if (!module || used + 3 > sizeof(name))
		return false;
	name[used] = '\0';
	return host->file_symbol(file, name, ret_boot) == 0 &&
	       (ret_boot->bytes || host->file_function(file, ret_boot->va, ret_boot) == 0);
}

/* --- its calls -------------------------------------------------------------------------------- */

/* "Package::name", which may be an operator: "(+". */
static bool is_name(const char *name)
{
	size_t n = strlen(name);
	const char *last = strstr(name, "::");

	for (size_t i = 0; i < n; i++) {
		if (name[i] <= ' ' || name[i] > '~')
			return false;
	}
	return last && last != name && last[2] && name[n - 1] != ':';
}

/* False when there is no such string. */
static bool read_name(const struct walk *walk, uint64_t va, char name[NAME_BYTES])
{
	for (size_t at = 0; at + PIECE_BYTES < NAME_BYTES; at += PIECE_BYTES) {
		size_t n = PIECE_BYTES;

		/* It may be the last one of its section. */
		while (n > 0 && walk->host->file_read(walk->file, va + at, name + at, n) < 0)
			n--;
		if (memchr(name + at, '\0', n))
			return is_name(name);
		if (n < PIECE_BYTES)
			return false;
	}
	return false;
}

static struct sub *find_sub(struct walk *walk, const struct ep_symbol *function)
{
	for (size_t i = 0; i < walk->n_subs; i++) {
		if (walk->subs[i].function.va == function->va)
			return &walk->subs[i];
	}
	if (walk->n_subs == MAX_SUBS)
		return NULL;
	walk->subs[walk->n_subs] = (struct sub){.function = *function};
	return &walk->subs[walk->n_subs++];
}

/* "A::" of "A::b|c". */
static size_t package_len(const char *name)
{
	size_t len = 0;

	for (size_t i = 0; name[i] && name[i] != '|'; i++) {
		if (name[i] == ':' && i > 0 && name[i - 1] == ':')
			len = i + 1;
	}
	return len;
}

/* One function may be several subs (ALIAS): which one runs its address does not tell. */
static void add_name(struct sub *sub, const char *name)
{
	size_t used = strlen(sub->name), package = package_len(name);

	if (used && package_len(sub->name) == package && strncmp(sub->name, name, package) == 0)
		name += package;
	if (used + strlen(name) + 6 > sizeof(sub->name)) {
		if (used >= 4 && strcmp(sub->name + used - 4, "|...") != 0)
			snprintf(sub->name + used, sizeof(sub->name) - used, "|...");
		return;
	}
	snprintf(sub->name + used, sizeof(sub->name) - used, "%s%s", used ? "|" : "", name);
}

static bool take_pair(struct walk *walk, uint64_t name_va, uint64_t function_va)
{
	struct ep_symbol function;
	char name[NAME_BYTES];
	struct sub *sub;

	if (!name_va || !function_va ||
	    walk->host->file_function(walk->file, function_va, &function) < 0 ||
	    function.va != function_va || !function.bytes || !read_name(walk, name_va, name))
		return false;
	sub = find_sub(walk, &function);
	if (sub)
		add_name(sub, name);
	return true;
}

static void take_call(void *arg, enum x86_event event, const struct x86_values *values,
		      const struct x86_insn *insn)
{
	const uint64_t *regs = values->regs;
	struct walk *walk = arg;

	(void)insn;
	if (event == X86_AT_CALL && !take_pair(walk, regs[X86_RSI], regs[X86_RDX]))
		(void)take_pair(walk, regs[X86_RDI], regs[X86_RSI]);
}

static int compare_subs(const void *a, const void *b)
{
	const struct sub *x = a, *y = b;

	return x->function.va < y->function.va ? -1 : x->function.va > y->function.va;
}

int pl_xs_names(const struct ep_unwinder_host *host, const struct ep_file *file,
		const struct ep_symbol *boot,
		int (*add)(void *arg, const struct ep_symbol *symbol, const char *name), void *arg)
{
	size_t bytes = EP_MIN(boot->bytes, (uint64_t)BOOT_BYTES);
	struct walk walk = {.host = host, .file = file};
	ep_autofree uint8_t *code = malloc(bytes ? bytes : 1);
	int r = -ENOMEM;

	walk.subs = calloc(MAX_SUBS, sizeof(*walk.subs));
	if (code && walk.subs)
		r = host->file_read(file, boot->va, code, bytes);
	if (r == 0)
		r = x86_calls_visit(code, bytes, boot->va, take_call, &walk);
	if (r == 0)
		qsort(walk.subs, walk.n_subs, sizeof(*walk.subs), compare_subs);
	for (size_t i = 0; i < walk.n_subs && r == 0; i++)
		r = add(arg, &walk.subs[i].function, walk.subs[i].name);
	free(walk.subs);
	return r;
}
