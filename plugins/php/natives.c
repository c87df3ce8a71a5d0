/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First the data of the file is copied and relocated. Then every word of it may begin a table. At
 * last the code says of which classes the tables of methods are.
 */
#include "plugins/php/natives.h"

#include "core/base/util.h"
#include "plugins/php/natives_class.h"
#include "plugins/php/natives_data.h"
#include "plugins/shared/read/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FUNCTIONS EP_MAX_CODE_SYMBOLS
#define MAX_TABLES    4096
#define MAX_ARGUMENTS 255
#define MAX_LOOKS     (16u << 20) /* at what may be an entry; php has some 200 000 words of data */
#define LONG_TABLE    8
#define NAMES_BYTES   256 /* of one function */

/* zend_function_entry */
#define FNAME	 0
#define HANDLER	 8
#define ARG_INFO 16
#define NUM_ARGS 24
#define MIN_ENTRY 32
#define MAX_FRAMELESS 4	 /* numbers of arguments: 0 to 3 */
#define VISIBLE	      7u /* ZEND_ACC_PUBLIC, PROTECTED, PRIVATE: of methods */
/* zend_internal_function_info.required_num_args of functions that say none */
#define NONE_REQUIRED UINT64_MAX

enum kind { KIND_FUNCTION, KIND_FRAMELESS, KIND_METHOD };

/* What differs: the words and the numbers are those of natives.h. 8.6: read in a binary, as its
 * sources were not at hand. */
struct format {
	uint8_t bytes, flags;
	uint8_t frameless; /* zend_frameless_function_info: handler, num_args; ends with zeros. 0:
			      there is none */
	uint8_t doc_comment;
};

static const struct format formats[] = {
	{32, 28, 0, 0},	  /* 7.4 to 8.3: read in 7.4.33, 8.2.32 */
	{48, 28, 32, 40}, /* 8.4, 8.5: read in 8.4.24 */
	{56, 32, 40, 48}, /* 8.6 */
};

struct function {
	uint64_t va;
	uint32_t order, table;
	uint8_t kind, n_args;
	const char *name;
};

struct tables {
	struct php_data data;
	const struct format *format;
	size_t left; /* entries that may yet be looked at */
	struct php_table *tables;
	struct function *functions;
	size_t n_tables, n_functions;
};

/* --- extensions ------------------------------------------------------------------------------- */

/* ZEND_MODULE_API_NO, a date: of PHP 7.3 to 8.6, and later ones. */
static bool is_api(uint32_t api)
{
	return api >= 20180000 && api < 21000000;
}

/* get_module: what it returns is a zend_module_entry (zend_modules.h: size, 16 bits, and at 4
 * zend_api). */
static bool is_module(const struct ep_unwinder_host *host, const struct ep_file *file, uint64_t va)
{
	static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa}, lea[] = {0x48, 0x8d, 0x05};
	uint8_t code[16], entry[8];
	int32_t distance;
	size_t at;

	if (host->file_read(file, va, code, 12) < 0)
		return false;
	at = memcmp(code, endbr, sizeof(endbr)) == 0 ? sizeof(endbr) : 0;
	if (memcmp(code + at, lea, sizeof(lea)) != 0)
		return false;
	memcpy(&distance, code + at + 3, sizeof(distance));
	if (host->file_read(file, va + at + 7 + (uint64_t)(int64_t)distance, entry, sizeof(entry)) <
	    0)
		return false;
	return (ep_get_u32(entry) & 0xffff) >= 152 && (ep_get_u32(entry) & 0xffff) < 512 &&
	       is_api(ep_get_u32(entry + 4));
}

/* extension_version_info: zend_extensions.h; 320190902, 420220829: what is before the date is 3 or
 * 4. */
static bool is_zend_extension(const struct ep_unwinder_host *host, const struct ep_file *file,
			      uint64_t va)
{
	uint8_t info[4];

	return host->file_read(file, va, info, sizeof(info)) == 0 &&
	       is_api(ep_get_u32(info) % 100000000);
}

bool php_tables_is_extension(const struct ep_unwinder_host *host, const struct ep_file *file)
{
	uint64_t va = file_va(host, file, "get_module");

	if (va && is_module(host, file, va))
		return true;
	va = file_va(host, file, "zend_extension_entry")
		     ? file_va(host, file, "extension_version_info")
		     : 0;
	return va && is_zend_extension(host, file, va);
}

/* --- is it one? ------------------------------------------------------------------------------- */

static bool is_zeros(const uint8_t *at, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		if (at[i])
			return false;
	}
	return true;
}

/* zend_internal_arg_info: the first one says how many arguments must be there. */
static bool is_arg_info(const struct php_data *data, uint64_t va)
{
	const uint8_t *info = php_data_find(data, va, 8);
	uint64_t required = info ? ep_get_u64(info) : MAX_ARGUMENTS + 1;

	return required <= MAX_ARGUMENTS || required == NONE_REQUIRED || required == UINT32_MAX;
}

static bool is_frameless(const struct php_data *data, uint64_t va)
{
	const uint8_t *info = va ? php_data_find(data, va, 16) : NULL;

	return !va || (info && php_data_is_code(data, ep_get_u64(info)) &&
		       ep_get_u64(info + 8) < MAX_FRAMELESS);
}

/*
 * An abstract method has no handler; nor has what another file brings. To 7.4 arguments may be left
 * out; of the first function they must be there, as a setting has a name and a function, too
 * (zend_ini_entry_def).
 */
static bool is_entry(const struct tables *tables, const uint8_t *at, bool is_first)
{
	uint64_t handler = ep_get_u64(at + HANDLER), info = ep_get_u64(at + ARG_INFO), doc;
	const struct format *format = tables->format;
	const struct php_data *data = &tables->data;
	uint32_t n_args = ep_get_u32(at + NUM_ARGS);

	if (handler && !php_data_is_code(data, handler))
		return false;
	/* sizeof(NULL) / sizeof(zend_internal_arg_info) - 1 */
	if (info ? !is_arg_info(data, info) || n_args > MAX_ARGUMENTS :
		   (is_first && !(ep_get_u32(at + format->flags) & VISIBLE)) || n_args + 1 > 1)
		return false;
	if (format->frameless) {
		doc = ep_get_u64(at + format->doc_comment);
		if (!is_frameless(data, ep_get_u64(at + format->frameless)) ||
		    (doc && !php_data_find(data, doc, 1)))
			return false;
	}
	return php_data_find_name(data, ep_get_u64(at + FNAME)) != NULL;
}

/* How many entries the table at an offset has, 0: it is none. */
static size_t count_entries(struct tables *tables, const struct php_area *area, size_t off)
{
	size_t bytes = tables->format->bytes;

	for (size_t n = 0; tables->left && off + bytes <= area->bytes; n++, off += bytes) {
		tables->left--;
		if (is_zeros(area->at + off, bytes))
			return n;
		if (!is_entry(tables, area->at + off, n == 0))
			return 0;
	}
	return 0;
}

/* --- what it says ----------------------------------------------------------------------------- */

static void take_function(struct tables *tables, uint64_t va, enum kind kind, uint64_t n_args,
			  const char *name)
{
	if (!va || tables->n_functions == MAX_FUNCTIONS)
		return;
	tables->functions[tables->n_functions] = (struct function){
		.va = va,
		.order = (uint32_t)tables->n_functions,
		.kind = (uint8_t)kind,
		.n_args = (uint8_t)n_args,
		.name = name,
		.table = (uint32_t)tables->n_tables,
	};
	tables->n_functions++;
}

static void take_frameless(struct tables *tables, uint64_t va, const char *name)
{
	for (size_t i = 0; i < MAX_FRAMELESS; i++, va += 16) {
		const uint8_t *info = php_data_find(&tables->data, va, 16);

		if (!info || !php_data_is_code(&tables->data, ep_get_u64(info)) ||
		    ep_get_u64(info + 8) >= MAX_FRAMELESS)
			break;
		take_function(tables, ep_get_u64(info), KIND_FRAMELESS, ep_get_u64(info + 8), name);
	}
}

static void take_table(struct tables *tables, const struct php_area *area, size_t off, size_t n)
{
	const struct format *format = tables->format;
	const uint8_t *at = area->at + off;

	if (tables->n_tables == MAX_TABLES)
		return;
	for (size_t i = 0; i < n; i++, at += format->bytes) {
		const char *name = php_data_find_name(&tables->data, ep_get_u64(at + FNAME));
		bool is_method = ep_get_u32(at + format->flags) & VISIBLE;

		take_function(tables, ep_get_u64(at + HANDLER),
			      is_method ? KIND_METHOD : KIND_FUNCTION, 0, name);
		if (format->frameless && ep_get_u64(at + format->frameless))
			take_frameless(tables, ep_get_u64(at + format->frameless), name);
	}
	tables->tables[tables->n_tables++] = (struct php_table){.va = area->va + off};
}

/* How many entries they have; `take`: takes them, too. Without, a long table is enough: it can be
 * read in one format only. */
static size_t find_tables(struct tables *tables, const struct php_area *area, bool take)
{
	size_t n = 0, all = 0;

	for (size_t off = 0; off + MIN_ENTRY <= area->bytes;
	     off += n ? n * tables->format->bytes : 8) {
		n = ep_get_u64(area->at + off) ? count_entries(tables, area, off) : 0;
		if (n && take)
			take_table(tables, area, off, n);
		else if (n >= LONG_TABLE)
			return SIZE_MAX;
		all += n;
	}
	return all;
}

/* What a file has is of one release: the format in which most can be read. */
static void choose_format(struct tables *tables)
{
	size_t best = 0, most = 0, n;

	for (size_t i = 0; i < EP_LEN(formats) && most < SIZE_MAX; i++) {
		tables->format = &formats[i];
		tables->left = MAX_LOOKS;
		n = 0;
		for (size_t k = 0; k < PHP_AREAS && n < SIZE_MAX; k++)
			n = EP_MAX(n, find_tables(tables, &tables->data.areas[k], false));
		if (n > most) {
			best = i;
			most = n;
		}
	}
	tables->format = &formats[best];
	tables->left = MAX_LOOKS;
}

/* --- names ------------------------------------------------------------------------------------ */

/* By address; of one function plain names come first, as they are in the files. */
static int compare_functions(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->va != y->va)
		return x->va < y->va ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind - y->kind;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void write_name(const struct tables *tables, const struct function *function, char *buf,
		       size_t size)
{
	const char *class =
		function->kind == KIND_METHOD ? tables->tables[function->table].class : NULL;

	if (function->kind == KIND_FRAMELESS)
		snprintf(buf, size, "zflf_%s_%u", function->name, function->n_args);
	else if (function->kind == KIND_FUNCTION)
		snprintf(buf, size, "zif_%s", function->name);
	else
		snprintf(buf, size, "zim_%s%s%s", class ? class : "", class ? "_" : "",
			 function->name);
	for (char *at = buf; *at; at++) {
		if (*at == '\\')
			*at = '_';
	}
}

/* "zif_implode|join"; what does not fit is "|...". */
static void add_alias(char *names, const char *name)
{
	size_t used = strlen(names);
	const char *last = strrchr(names, '|');

	last = last ? last + 1 : names;
	if (strcmp(last, "...") == 0 || strcmp(last, name) == 0)
		return;
	if (used + strlen(name) + strlen("||...") < NAMES_BYTES)
		snprintf(names + used, NAMES_BYTES - used, "%s%s", used ? "|" : "", name);
	else
		snprintf(names + used, NAMES_BYTES - used, "|...");
}

/* Of those from `at` on at one address: how many, and what they are called. What has a plain name
 * is called so. */
static size_t write_names(const struct tables *tables, size_t at, char names[NAMES_BYTES])
{
	const struct function *first = &tables->functions[at], *function = first;
	char name[2 * PHP_MAX_NAME + 16];
	size_t skip;

	names[0] = '\0';
	for (; at < tables->n_functions && function->va == first->va; at++, function++) {
		if (function->kind != first->kind)
			continue;
		write_name(tables, function, name, sizeof(name));
		skip = function == first || function->kind == KIND_METHOD ? 0 : strlen("zif_");
		add_alias(names, name + (function->kind == KIND_FRAMELESS ? 0 : skip));
	}
	return (size_t)(function - first);
}

static int add_names(const struct tables *tables,
		int (*add)(void *arg, const struct ep_symbol *symbol, const char *name), void *arg)
{
	const struct php_data *data = &tables->data;
	char names[NAMES_BYTES];
	struct ep_symbol symbol;
	int r = 0;

	for (size_t i = 0; i < tables->n_functions && r == 0;) {
		uint64_t va = tables->functions[i].va;

		i += write_names(tables, i, names);
		if (data->host->file_function(data->file, va, &symbol) == 0 && symbol.va == va &&
		    symbol.bytes)
			r = add(arg, &symbol, names);
	}
	return r;
}

static int find_all(struct tables *tables)
{
	int r;

	choose_format(tables);
	for (size_t i = 0; i < PHP_AREAS; i++)
		find_tables(tables, &tables->data.areas[i], true);
	r = php_tables_find_classes(&tables->data, tables->tables, tables->n_tables);
	/* To 7.4 methods need not say that they are public. */
	for (size_t i = 0; i < tables->n_functions; i++) {
		if (tables->tables[tables->functions[i].table].class &&
		    tables->functions[i].kind == KIND_FUNCTION)
			tables->functions[i].kind = KIND_METHOD;
	}
	qsort(tables->functions, tables->n_functions, sizeof(*tables->functions),
	      compare_functions);
	return r;
}

int php_tables_names(const struct ep_unwinder_host *host, const struct ep_file *file,
		     int (*add)(void *arg, const struct ep_symbol *symbol, const char *name),
		     void *arg)
{
	struct tables tables = {0};
	int r = php_data_init(&tables.data, host, file);

	tables.tables = calloc(MAX_TABLES, sizeof(*tables.tables));
	tables.functions = calloc(MAX_FUNCTIONS, sizeof(*tables.functions));
	if (r == 0 && (!tables.tables || !tables.functions))
		r = -ENOMEM;
	if (r == 0)
		r = find_all(&tables);
	if (r == 0)
		r = add_names(&tables, add, arg);
	php_data_fini(&tables.data);
	free(tables.tables);
	free(tables.functions);
	return r;
}
