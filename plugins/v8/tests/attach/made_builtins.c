/* SPDX-License-Identifier: Apache-2.0 */
/* Embedded builtins for tests of what uses them: three, where made_builtins says that there are
 * any. */
#include "plugins/v8/tests/attach/made_v8.h"

#include <stdlib.h>
#include <string.h>

struct v8_builtins {
	int unused;
};

bool made_builtins;

static struct v8_builtins the_builtins;

static const struct v8_builtin builtins[] = {
	{.name = "DeoptimizationEntry_Eager", .va = MADE_BLOB, .bytes = 0x60, .id = 0},
	{.name = "DeoptimizationEntry_Lazy", .va = MADE_BLOB + 0x80, .bytes = 0x60, .id = 1},
	{.name = "InterpreterEntryTrampoline", .va = MADE_BLOB + 0x100, .bytes = 0x80, .id = 2},
};

static const struct v8_builtin_row rows[] = {
	{MADE_BLOB, MADE_BLOB + 0x60, 8, 0, V8_ROW_RSP, V8_RETURN_ON_STACK, false},
	{MADE_BLOB + 0x100, MADE_BLOB + 0x110, 16, -16, V8_ROW_RBP, V8_RETURN_ON_STACK, false},
	{MADE_BLOB + 0x110, MADE_BLOB + 0x112, 0, 0, V8_ROW_RSP, 10, false},
	{MADE_BLOB + 0x112, MADE_BLOB + 0x180, 0, 0, V8_ROW_NONE, V8_RETURN_ON_STACK, false},
};

int v8_builtins_read(const struct ep_unwinder_host *host, const struct ep_file *file,
		     struct v8_builtins **ret_builtins)
{
	if (!made_builtins)
		return -ENODATA;
	*ret_builtins = &the_builtins;
	return 0;
}

void v8_builtins_free(struct v8_builtins *unused)
{
}

uint64_t v8_builtins_va(const struct v8_builtins *unused)
{
	return MADE_BLOB;
}

uint64_t v8_builtins_bytes(const struct v8_builtins *unused)
{
	return MADE_BLOB_BYTES;
}

size_t v8_builtins_count(const struct v8_builtins *unused)
{
	return EP_LEN(builtins);
}

const struct v8_builtin *v8_builtins_get(const struct v8_builtins *unused, size_t index)
{
	return &builtins[index];
}

const struct v8_builtin *v8_builtins_find(const struct v8_builtins *unused, const char *name)
{
	for (size_t i = 0; i < EP_LEN(builtins); i++) {
		if (strcmp(builtins[i].name, name) == 0)
			return &builtins[i];
	}
	return NULL;
}

uint64_t v8_builtins_dispatch_return(const struct v8_builtins *unused)
{
	return MADE_BLOB + 0x140;
}

void v8_builtins_entry_offsets(const struct v8_builtins *unused, struct v8_entry_offsets *ret)
{
	*ret = (struct v8_entry_offsets){.isolate = -128, .c_entry_fp = 0x90, .js_entry_sp = 0x128};
}

int v8_builtins_make_rows(const struct v8_builtins *unused, const struct ep_unwinder_host *host,
			  const struct ep_file *file, struct ep_vec *ret_rows)
{
	ep_vec_init(ret_rows, sizeof(rows[0]), EP_LEN(rows));
	return ep_vec_append(ret_rows, rows, EP_LEN(rows));
}

/* Those that are in the heap have names in the file, too. */
int v8_metadata_read(const struct v8_reader *reader, struct v8_metadata_table *ret)
{
	ret->rows = calloc(2, sizeof(*ret->rows));
	ret->names = strdup("RecordWrite");
	if (!ret->rows || !ret->names)
		return -ENOMEM;
	ret->rows[1].name = strlen("Record");
	ret->n = 2;
	return 0;
}

void v8_metadata_free(struct v8_metadata_table *table)
{
	free(table->rows);
	free(table->names);
	*table = (struct v8_metadata_table){0};
}
