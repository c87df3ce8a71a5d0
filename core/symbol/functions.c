/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An address is looked up as the runtime does for its tracebacks (src/runtime/symtabinl.go at
 * go1.21 to go1.26, traceback.go before):
 *
 *	pc = va
 *	call = inlined at pc ── none ──► the function itself: its name, file and line at pc
 *	   │
 *	   ▼
 *	the call's function: its name, file and line at pc; pc = where the call is in its parent;
 * again
 *
 * So files and lines are those of the address within the code of each, not of where it was defined.
 * Each step needs the three tables at another address, mostly a lower one: values are decoded once,
 * up to the highest address that was asked for.
 */
#include "core/symbol/functions.h"

#include "core/base/bisect.h"
#include "core/elf/file.h"
#include "core/trace/lines.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_BYTES	   ((size_t)64 << 10)
#define READER_BYTES	   ((size_t)24 << 10) /* beside that and a word for so many functions */
#define FUNCTIONS_PER_WORD 256
#define MAX_VALUES	   ((size_t)1 << 16) /* of a table; the longest seen has some 5000 */
#define KEEP_VALUES	   ((size_t)1 << 12) /* memory for that many is used again */

struct value {
	uint32_t end; /* from the function's start */
	int32_t value;
};

struct ep_functions {
	struct ep_elf *elf;
	struct ep_pclntab *tab;
	pthread_mutex_t lock; /* of tab */
	uint64_t text, text_end;
	bool has_pairs; /* ep_function_name_shown */
};

/* ---- values ---- */

void ep_function_memo_init(struct ep_function_memo *memo)
{
	memo->func = (struct ep_pclntab_func){0};
	for (size_t i = 0; i < EP_FUNCTION_TABLES; i++) {
		ep_vec_init(&memo->tables[i].values, sizeof(struct value), MAX_VALUES);
		memo->tables[i].begun = memo->tables[i].ended = false;
	}
}

void ep_function_memo_fini(struct ep_function_memo *memo)
{
	for (size_t i = 0; i < EP_FUNCTION_TABLES; i++)
		ep_vec_fini(&memo->tables[i].values);
}

static void forget_values(struct ep_function_memo *memo)
{
	for (size_t i = 0; i < EP_FUNCTION_TABLES; i++) {
		struct ep_function_values *table = &memo->tables[i];

		table->values.len = 0;
		if (table->values.cap > KEEP_VALUES)
			ep_vec_fini(&table->values);
		table->begun = table->ended = false;
	}
}

static uint32_t table_of(const struct ep_pclntab_func *func, enum ep_function_table table)
{
	return table == EP_FUNCTION_FILE   ? func->pcfile
	       : table == EP_FUNCTION_LINE ? func->pcln
					   : func->inline_index;
}

/* Decodes one more. False when there is none, or no use for it. */
static bool extend(struct ep_function_memo *memo, struct ep_function_values *table)
{
	struct value *slot;
	int32_t value;
	uint64_t end;

	if (ep_pclntab_values_next(&table->cursor, &end, &value) != 0)
		return false;
	slot = ep_vec_push(&table->values);
	if (!slot)
		return false;
	*slot = (struct value){.end = (uint32_t)(end - memo->func.start), .value = value};
	return true;
}

static uint32_t end_of(const struct ep_vec *values)
{
	return values->len ? ep_vec_at(values, struct value, values->len - 1)->end : 0;
}

static void decode_to(struct ep_functions *f, struct ep_function_memo *memo,
		      enum ep_function_table which, uint32_t off)
{
	struct ep_function_values *table = &memo->tables[which];

	if (!table->begun) {
		table->begun = true;
		table->ended =
			ep_pclntab_values_begin(f->tab, &memo->func, table_of(&memo->func, which),
						&table->cursor) != 0;
	}
	while (!table->ended && end_of(&table->values) <= off)
		table->ended = !extend(memo, table);
}

/* The value at an address of the memo's function; -1: none. */
static int32_t value_at(struct ep_functions *f, struct ep_function_memo *memo,
			enum ep_function_table which, uint64_t va)
{
	const struct ep_vec *values = &memo->tables[which].values;
	uint32_t off = (uint32_t)(va - memo->func.start);
	size_t at;

	decode_to(f, memo, which, off);
	at = ep_bisect(values->len, i, ep_vec_at(values, struct value, i)->end <= off);
	return at < values->len ? ep_vec_at(values, struct value, at)->value : -1;
}

/* ---- names ---- */

/* The bracket that closes the one at `open`; NULL: none does. */
static const char *find_closing(const char *open)
{
	size_t depth = 0;

	for (const char *at = open; *at; at++) {
		depth += *at == '[';
		if (*at == ']' && --depth == 0)
			return at;
	}
	return NULL;
}

/*
 * funcNameForPrint, src/runtime/traceback.go. Up to go1.26 what is between the first bracket and
 * the last one; from go1.27 on methods of types that are generic can be generic themselves, and the
 * first pair is cut by itself.
 */
bool ep_function_name_shown(const char *name, bool has_pairs, char *shown, size_t bytes)
{
	const char *open = strchr(name, '['), *last = strrchr(name, ']');
	const char *closing = open ? find_closing(open) : NULL, *second = NULL;

	if (!closing)
		return false;
	if (closing < last && has_pairs)
		second = strchr(closing, '[');
	if (second)
		return snprintf(shown, bytes, "%.*s[...]%.*s[...]%s", (int)(open - name), name,
				(int)(second - closing - 1), closing + 1, last + 1) < (int)bytes;
	return snprintf(shown, bytes, "%.*s[...]%s", (int)(open - name), name, last + 1) <
	       (int)bytes;
}

static uint32_t flags_of(uint8_t role)
{
	switch (role) {
	case EP_PCLNTAB_WRAPPER:
		return EP_LINE_WRAPPER;
	case EP_PCLNTAB_GOPANIC:
	case EP_PCLNTAB_SIGPANIC:
	case EP_PCLNTAB_PANICWRAP:
		return EP_LINE_SHOWS_WRAPPER;
	default:
		return 0;
	}
}

/* One without a name is known by where the function begins that it is in. */
static void set_name(struct ep_functions *f, struct ep_function_memo *memo, uint32_t name,
		     struct ep_frame_line *line)
{
	if (ep_pclntab_name(f->tab, name, memo->name, sizeof(memo->name)) < 0) {
		line->start_va = memo->func.start;
		return;
	}
	line->function = memo->name;
	if (!ep_function_name_shown(memo->name, f->has_pairs, memo->shown, sizeof(memo->shown)))
		return;
	line->function = memo->shown;
	line->system_name = memo->name;
}

/* The runtime shows a line only where the file is known (funcline1, src/runtime/symtab.go). */
static void set_place(struct ep_functions *f, struct ep_function_memo *memo, uint64_t va,
		      struct ep_frame_line *line)
{
	int32_t file = value_at(f, memo, EP_FUNCTION_FILE, va);
	int32_t number = value_at(f, memo, EP_FUNCTION_LINE, va);

	if (file < 0 || number < 0 ||
	    ep_pclntab_file(f->tab, &memo->func, file, memo->file, sizeof(memo->file)) < 0)
		return;
	line->file = memo->file;
	line->line = (uint32_t)number;
}

static int add_line(struct ep_functions *f, struct ep_function_memo *memo, uint64_t va,
		    const struct ep_pclntab_call *call, struct ep_lines *lines)
{
	struct ep_frame_line line = {.start_line = call->start_line, .flags = flags_of(call->role)};

	set_name(f, memo, call->name, &line);
	set_place(f, memo, va, &line);
	return ep_lines_add(lines, &line);
}

static int add_lines(struct ep_functions *f, struct ep_function_memo *memo, uint64_t va,
		     struct ep_lines *lines)
{
	const struct ep_pclntab_func *func = &memo->func;
	struct ep_pclntab_call call;
	int r = 0;

	for (int n = 1; r == 0 && n < EP_PCLNTAB_MAX_INLINED; n++, va = call.parent_va) {
		int32_t number = value_at(f, memo, EP_FUNCTION_INLINED, va);

		if (number < 0 || ep_pclntab_inlined(f->tab, func, number, &call) != 0)
			break;
		r = add_line(f, memo, va, &call, lines);
	}
	call = (struct ep_pclntab_call){
		.name = func->name, .start_line = func->start_line, .role = func->role};
	return r < 0 ? r : add_line(f, memo, va, &call, lines);
}

/* ---- functions ---- */

/*
 * A signal's handler returns to the trampoline's first byte, and an address to return to is
 * looked up by the byte before, where nothing is ever called: each Go function ends with an
 * instruction that is not a call.
 */
static void skip_to_trampoline(struct ep_functions *f, uint64_t va, struct ep_pclntab_func *func)
{
	struct ep_pclntab_func next;

	if (va + 1 == func->end && ep_pclntab_find(f->tab, va + 1, &next) == 0 &&
	    next.role == EP_PCLNTAB_SIGRETURN)
		*func = next;
}

/* Makes the memo that of the function at *va. 0, EP_FUNCTIONS_NONE. */
static int find_function(struct ep_functions *f, uint64_t *va, struct ep_function_memo *memo)
{
	struct ep_pclntab_func func;

	if (*va >= memo->func.start && *va + 1 < memo->func.end)
		return 0;
	if (ep_pclntab_find(f->tab, *va, &func) != 0 || func.end - func.start > UINT32_MAX)
		return EP_FUNCTIONS_NONE;
	skip_to_trampoline(f, *va, &func);
	*va = EP_MAX(*va, func.start);
	if (func.start != memo->func.start)
		forget_values(memo);
	memo->func = func;
	return 0;
}

/* Of a function that Go's compiler and assembler did not make nothing is known but where it is. */
static bool is_external(const struct ep_pclntab_func *func)
{
	return func->pcsp == 0 && func->pcfile == 0 && func->pcln == 0;
}

int ep_functions_add(struct ep_functions *f, uint64_t va, struct ep_function_memo *memo,
		     struct ep_lines *lines)
{
	int r = EP_FUNCTIONS_NONE;

	if (va < f->text || va >= f->text_end)
		return r;
	pthread_mutex_lock(&f->lock);
	r = find_function(f, &va, memo);
	if (r == 0)
		r = is_external(&memo->func) ? EP_FUNCTIONS_EXTERNAL
					     : add_lines(f, memo, va, lines);
	pthread_mutex_unlock(&f->lock);
	return r;
}

int ep_functions_add_external(struct ep_functions *f, struct ep_function_memo *memo,
			      struct ep_lines *lines)
{
	struct ep_frame_line line = {0};

	pthread_mutex_lock(&f->lock);
	set_name(f, memo, memo->func.name, &line);
	pthread_mutex_unlock(&f->lock);
	return ep_lines_add(lines, &line);
}

/* ---- open ---- */

/* "go1.27.1", "devel go1.28-1234abcd ...": the number after "go1."; 0: none. */
static unsigned int minor_version(const char *text)
{
	const char *at = strstr(text, "go1.");

	return at ? (unsigned int)strtoul(at + strlen("go1."), NULL, 10) : 0;
}

/*
 * .go.buildinfo from go1.18 on: a magic of 14 bytes, the bytes of a pointer, flags, of which bit 1
 * says that at 32 is a text with its length before it (src/debug/buildinfo/buildinfo.go).
 */
static unsigned int read_minor_version(const struct ep_elf *elf)
{
	struct ep_elf_section section;
	char bytes[64] = {0};

	if (ep_elf_find_section(elf, ".go.buildinfo", &section) < 0 ||
	    section.bytes < sizeof(bytes) ||
	    ep_elf_read_at(elf, section.file_off, bytes, sizeof(bytes) - 1) < 0 ||
	    memcmp(bytes, "\xff Go buildinf:", 14) != 0 || !(bytes[15] & 2))
		return 0;
	return minor_version(bytes + 33);
}

int ep_functions_open(struct ep_elf *elf, struct ep_functions **ret_functions)
{
	struct ep_functions *f = calloc(1, sizeof(*f));
	int r = f ? ep_pclntab_open(elf, CACHE_BYTES, &f->tab) : -ENOMEM;

	if (r < 0) {
		free(f);
		return r;
	}
	f->elf = elf;
	pthread_mutex_init(&f->lock, NULL);
	ep_pclntab_text(f->tab, &f->text, &f->text_end);
	f->has_pairs = read_minor_version(elf) >= 27;
	*ret_functions = f;
	return 0;
}

void ep_functions_close(struct ep_functions *f)
{
	if (!f)
		return;
	ep_pclntab_close(f->tab);
	ep_elf_close(f->elf);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

size_t ep_functions_bytes(const struct ep_functions *f)
{
	return f ? sizeof(*f) + CACHE_BYTES + READER_BYTES +
			       ep_pclntab_count(f->tab) / FUNCTIONS_PER_WORD * sizeof(uint64_t)
		 : 0;
}
