/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	ffffffff81000000 T _text
 *	ffffffffc0201000 t ftrace_trampoline	[__builtin__ftrace]
 *
 * kernel/kallsyms.c, s_show (Linux 6.1): address, type as in nm(1), name, and after a tab the
 * module. The kernel's own symbols come first and sorted; the rest is in no order.
 */
#include "core/symbol/kallsyms.h"

#include "core/base/parse.h"
#include "core/symbol/aliases.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define MAX_SYMBOLS	 ((size_t)4 << 20)
#define MAX_NAMES_BYTES	 ((size_t)128 << 20)
#define MAX_MODULE_BYTES ((size_t)4 << 20)
#define READ_BYTES	 ((size_t)256 << 10)
#define FIRST_SYMBOLS	 ((size_t)160 << 10)
#define FIRST_NAMES	 ((size_t)4 << 20)

struct line {
	uint64_t addr;
	char type;
	const char *name;
	size_t name_bytes;
	const char *module;
	size_t module_bytes;
};

/* The same as ep_parse_u64, for 16 digits at a time: this is most of the work of a load. */
static const char *hex_parse(const char *at, const char *end, uint64_t *ret_value)
{
	uint64_t value = 0;

	for (; at < end; at++) {
		unsigned int c = (unsigned char)*at;
		unsigned int digit = c - '0' < 10 ? c - '0' : (c | 0x20) - 'a' + 10;

		if (digit > 15 || (c - '0' >= 10 && (c | 0x20) < 'a'))
			break;
		value = value << 4 | digit;
	}
	*ret_value = value;
	return at;
}

static bool line_parse(const char *at, const char *end, struct line *line)
{
	const char *digits = at, *tab;

	at = hex_parse(at, end, &line->addr);
	if (at == digits || at - digits > 16 || end - at < 4 || at[0] != ' ' || at[2] != ' ')
		return false;
	line->type = at[1];
	line->name = at + 3;
	tab = memchr(line->name, '\t', (size_t)(end - line->name));
	line->name_bytes = (size_t)((tab ? tab : end) - line->name);
	line->module = tab ? tab + 1 : end;
	line->module_bytes = (size_t)(end - line->module);
	if (line->module_bytes >= 2 && line->module[0] == '[' && end[-1] == ']') {
		line->module++;
		line->module_bytes -= 2;
	}
	return line->name_bytes > 0;
}

static bool name_is(const struct line *line, const char *name)
{
	return line->name_bytes == strlen(name) && !memcmp(line->name, name, line->name_bytes);
}

/* _etext and _einittext have the type of code, but stand where it ends (vmlinux.lds.h). */
static bool line_is_code(const struct line *line)
{
	return memchr("tTwW", line->type, 4) && !name_is(line, "_etext") &&
	       !name_is(line, "_einittext");
}

static int name_add(struct kallsyms *kallsyms, const struct line *line, uint32_t *ret_off)
{
	uint32_t off = (uint32_t)kallsyms->names.len;
	int r;

	r = ep_vec_append(&kallsyms->names, line->name, line->name_bytes);
	if (r == 0)
		r = ep_vec_append(&kallsyms->names, "", 1);
	*ret_off = off;
	return r;
}

static int module_add(struct kallsyms *kallsyms, const struct line *line, uint16_t *ret_module)
{
	uint32_t id = 0;
	int r = 0;

	if (line->module_bytes)
		r = ep_strings_add(kallsyms->modules, line->module, line->module_bytes, &id);
	if (r == 0 && id > UINT16_MAX)
		r = -E2BIG;
	*ret_module = (uint16_t)id;
	return r;
}

static int line_add(struct kallsyms *kallsyms, const struct line *line)
{
	struct kallsyms_symbol symbol = {.addr = line->addr, .is_code = line_is_code(line)};
	struct kallsyms_symbol *slot;
	int r;

	kallsyms->any_code |= symbol.is_code;
	kallsyms->any_address |= line->addr != 0;
	/* absolute symbols are offsets of per-CPU data; an undefined weak one is at 0 */
	if (!line->addr || line->type == 'a' || line->type == 'A')
		return 0;
	symbol.rank = ep_symbol_rank(symbol.is_code ? EP_SYMBOL_FUNCTION : EP_SYMBOL_END,
				     line->type == 'T'	 ? EP_SYMBOL_GLOBAL
				     : line->type == 't' ? EP_SYMBOL_LOCAL
							 : EP_SYMBOL_WEAK);
	r = module_add(kallsyms, line, &symbol.module);
	if (r == 0 && symbol.is_code)
		r = name_add(kallsyms, line, &symbol.name_off);
	if (r < 0)
		return r;
	slot = ep_vec_push(&kallsyms->symbols);
	if (!slot)
		return kallsyms->symbols.len == MAX_SYMBOLS ? -E2BIG : -ENOMEM;
	*slot = symbol;
	return 0;
}

/* Takes the whole lines at the start of `text`. Bytes taken, or a negative errno. */
static ssize_t lines_take(struct kallsyms *kallsyms, const char *text, size_t bytes)
{
	const char *at = text, *end = text + bytes, *newline;
	struct line line;
	int r;

	while (at < end && (newline = memchr(at, '\n', (size_t)(end - at)))) {
		if (line_parse(at, newline, &line)) {
			r = line_add(kallsyms, &line);
			if (r < 0)
				return r;
		}
		at = newline + 1;
	}
	return at - text;
}

static int lines_read(struct kallsyms *kallsyms, int fd)
{
	ep_autofree char *buf = malloc(READ_BYTES);
	size_t have = 0;
	ssize_t got, taken;

	if (!buf)
		return -ENOMEM;
	for (;;) {
		got = read(fd, buf + have, READ_BYTES - have);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : 0;
		have += (size_t)got;
		taken = lines_take(kallsyms, buf, have);
		if (taken < 0)
			return (int)taken;
		if (!taken && have == READ_BYTES)
			taken = (ssize_t)have; /* a line longer than the buffer is no symbol */
		have -= (size_t)taken;
		memmove(buf, buf + taken, have);
	}
}

/* ---- order ---- */

static int symbol_compare(const void *a, const void *b)
{
	const struct kallsyms_symbol *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->name_off < y->name_off ? -1 : x->name_off > y->name_off;
}

static size_t sorted_prefix(const struct kallsyms_symbol *symbols, size_t n)
{
	size_t i = 1;

	while (i < n && symbols[i - 1].addr <= symbols[i].addr)
		i++;
	return EP_MIN(i, n);
}

static void merge(const struct kallsyms_symbol *all, size_t split, size_t n,
		  struct kallsyms_symbol *to)
{
	size_t a = 0, b = split;

	while (a < split || b < n) {
		if (b == n || (a < split && all[a].addr <= all[b].addr))
			*to++ = all[a++];
		else
			*to++ = all[b++];
	}
}

/* The kernel's part is sorted already: only the modules' part is, and the two are merged. */
static int symbols_sort(struct ep_vec *symbols)
{
	struct kallsyms_symbol *all = symbols->data, *merged;
	size_t n = symbols->len, split = sorted_prefix(all, n);

	if (split == n)
		return 0;
	qsort(all + split, n - split, sizeof(*all), symbol_compare);
	merged = malloc(n * sizeof(*merged));
	if (!merged)
		return -ENOMEM;
	merge(all, split, n, merged);
	free(all);
	symbols->data = merged;
	symbols->cap = n;
	return 0;
}

int ep_kallsyms_read(const char *path, struct kallsyms *ret)
{
	ep_autoclose int fd = -1;
	int r;

	*ret = (struct kallsyms){0};
	ep_vec_init(&ret->symbols, sizeof(struct kallsyms_symbol), MAX_SYMBOLS);
	ep_vec_init(&ret->names, 1, MAX_NAMES_BYTES);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = ep_strings_new(MAX_MODULE_BYTES, &ret->modules);
	if (r == 0)
		r = ep_vec_reserve(&ret->symbols, FIRST_SYMBOLS);
	if (r == 0)
		r = ep_vec_reserve(&ret->names, FIRST_NAMES);
	if (r == 0)
		r = lines_read(ret, fd);
	if (r == 0)
		r = symbols_sort(&ret->symbols);
	return r;
}

void ep_kallsyms_fini(struct kallsyms *kallsyms)
{
	ep_vec_fini(&kallsyms->symbols);
	ep_vec_fini(&kallsyms->names);
	ep_strings_free(kallsyms->modules);
	kallsyms->modules = NULL;
}
