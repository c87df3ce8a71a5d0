/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/php/natives_class.h"

#include "core/base/util.h"
#include "plugins/shared/read/file.h"
#include "plugins/shared/search.h"
#include "plugins/shared/x86/calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CODE (256u << 10) /* bytes of a function that registers classes */

struct finding_classes {
	const struct php_data *data;
	struct php_table *tables;
	size_t n;
	uint64_t end_va; /* up to here code was looked at */
	/* In a function: a class that has its name and waits for its table. */
	const char *class;
	struct php_table *table; /* that was put beside it */
};

static struct php_table *find_table(const struct finding_classes *finding, uint64_t va)
{
	size_t at = search_sorted(finding->n, i, finding->tables[i].va < va);

	return at < finding->n && finding->tables[at].va == va ? &finding->tables[at] : NULL;
}

static void set_class(struct php_table *table, const char *class)
{
	if (table->class && strcmp(table->class, class) != 0)
		table->is_shared = true;
	table->class = class;
}

/* zend_string_init_interned(name, its length, ..) */
static const char *find_made_name(const struct finding_classes *finding,
				  const struct x86_values *values)
{
	const char *name = php_data_find_name(finding->data, values->regs[X86_RDI]);

	return name && values->regs[X86_RSI] == strlen(name) ? name : NULL;
}

/* Both are arguments. */
static void take_arguments(struct finding_classes *finding, const struct x86_values *values)
{
	static const uint8_t arguments[] = {X86_RDI, X86_RSI, X86_RDX, X86_RCX, X86_R8, X86_R9};
	struct php_table *table = NULL;
	const char *name = NULL;

	for (size_t i = 0; i < EP_LEN(arguments); i++) {
		uint64_t value = values->regs[arguments[i]];

		if (!name)
			name = php_data_find_name(finding->data, value);
		else if (!table)
			table = find_table(finding, value);
	}
	if (name && table)
		set_class(table, name);
}

static void take_call(struct finding_classes *finding, const struct x86_values *values,
		      const struct x86_insn *insn)
{
	/* It is a pointer to a function. */
	const char *name = insn->has_target ? NULL : find_made_name(finding, values);

	if (!name) {
		take_arguments(finding, values);
		if (finding->class && finding->table)
			set_class(finding->table, finding->class);
	}
	finding->class = name;
	finding->table = NULL;
}

static void take_event(void *arg, enum x86_event event, const struct x86_values *values,
		       const struct x86_insn *insn)
{
	struct finding_classes *finding = arg;
	struct php_table *table;

	if (event == X86_AT_CALL) {
		take_call(finding, values, insn);
	} else if (event == X86_AT_MEET) {
		finding->class = NULL;
	} else if (finding->class) {
		table = find_table(finding, values->regs[insn->to]);
		/* Two: which one is whose? */
		if (table && finding->table)
			finding->class = NULL;
		if (table)
			finding->table = table;
	}
}

/* The function around an instruction that loads a table's address. */
static int look_at_function(struct finding_classes *finding, uint64_t va)
{
	const struct php_data *data = finding->data;
	struct ep_symbol function;
	uint8_t *code;
	int r;

	if (va < finding->end_va || data->host->file_function(data->file, va, &function) < 0 ||
	    function.bytes > MAX_CODE)
		return 0;
	finding->end_va = function.va + function.bytes;
	finding->class = NULL;
	code = malloc(function.bytes ? function.bytes : 1);
	if (!code)
		return -ENOMEM;
	r = data->host->file_read(data->file, function.va, code, function.bytes);
	if (r == 0)
		r = x86_calls_visit(code, function.bytes, function.va, take_event, finding);
	free(code);
	return r == -ENOMEM ? r : 0;
}

/* lea disp32(%rip), reg; pieces overlap by less than it has. */
#define LEA_BYTES 7

static int look_at_code(void *arg, uint64_t va, const uint8_t *bytes, size_t len)
{
	struct finding_classes *finding = arg;
	const uint8_t *opcode = bytes;
	int32_t distance;
	int r = 0;

	while (r == 0 && len >= LEA_BYTES &&
	       (opcode =
			memchr(opcode + 1, 0x8d, (size_t)(bytes + len - LEA_BYTES + 1 - opcode)))) {
		uint64_t next_va = va + (uint64_t)(opcode - bytes) + LEA_BYTES - 1;

		if ((opcode[-1] & 0xfb) != 0x48 || (opcode[1] & 0xc7) != 5)
			continue;
		memcpy(&distance, opcode + 2, sizeof(distance));
		if (find_table(finding, next_va + (uint64_t)(int64_t)distance))
			r = look_at_function(finding, next_va - LEA_BYTES);
	}
	return r;
}

int php_tables_find_classes(const struct php_data *data, struct php_table *tables, size_t n)
{
	struct finding_classes finding = {.data = data, .tables = tables, .n = n};
	int r = file_scan(data->host, data->file, ".text", LEA_BYTES - 1, look_at_code, &finding);

	for (size_t i = 0; i < n; i++) {
		if (tables[i].is_shared)
			tables[i].class = NULL;
	}
	return r;
}
