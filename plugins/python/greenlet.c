/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From 2.0.0 on the module is C++ and its classes' functions are dynamic symbols (2.0.2
 * src/greenlet/greenlet.cpp, 3.0.0 to 3.5.3 src/greenlet/TUserGreenlet.cpp): g_initialstub
 * switches, and calls inner_bootstrap in the new greenlet alone.
 *
 * Before, it is C, and one static function does both (0.4.17 greenlet.c, 1.1.3
 * src/greenlet/greenlet.c: g_initialstub):
 *
 *	err = g_switchstack();				the caller's stack
 *	if (err == 1) {					the new greenlet's, from here
 *		self->stack_start = (char*)1;
 *		...
 *		result = PyObject_Call(run, args, kwargs);
 *		...
 *		Py_FatalError("greenlets cannot continue");	to here: it does not return
 *	}
 *
 * The text tells which function it is, and the only store of 1 where the greenlet's part begins;
 * what can be reached from there is that part.
 */
#include "plugins/python/greenlet.h"
#include "core/base/util.h"
#include "plugins/shared/read/file.h"
#include "plugins/shared/x86/accessor.h"

#include <stdlib.h>
#include <string.h>

#define BOOTSTRAP "_ZN8greenlet12UserGreenlet15inner_bootstrapE"
#define LAST_WORDS "greenlets cannot continue"
#define LEA_BYTES  7

static void add_part(struct py_greenlet *greenlet, uint64_t va, uint64_t bytes)
{
	if (greenlet->n_parts < PY_MAX_GREENLET_PARTS)
		greenlet->parts[greenlet->n_parts++] = (struct ep_symbol){va, bytes};
}

/* --- C++ -------------------------------------------------------------------------------------- */

struct bootstrap {
	const struct ep_unwinder_host *host;
	const struct ep_file *file;
	struct py_greenlet *greenlet;
};

/* Its arguments, and so the rest of its name, differ between versions. */
static int take_bootstrap(void *arg, const char *name, const struct ep_symbol *symbol)
{
	struct bootstrap *bootstrap = arg;
	struct py_greenlet *greenlet = bootstrap->greenlet;

	(void)name;
	if (symbol->bytes)
		greenlet->n_parts += bootstrap->host->file_parts(
			bootstrap->file, symbol, greenlet->parts + greenlet->n_parts,
			PY_MAX_GREENLET_PARTS - greenlet->n_parts);
	return greenlet->n_parts > 0;
}

static void find_bootstrap(const struct ep_unwinder_host *host, const struct ep_file *file,
			   struct py_greenlet *ret)
{
	struct bootstrap bootstrap = {host, file, ret};

	(void)host->file_symbols(file, BOOTSTRAP, take_bootstrap, &bootstrap);
}

/* --- C ---------------------------------------------------------------------------------------- */

static int find_words(void *arg, uint64_t va, const uint8_t *bytes, size_t len)
{
	const uint8_t *found = memmem(bytes, len, LAST_WORDS, sizeof(LAST_WORDS));

	if (found)
		*(uint64_t *)arg = va + (uint64_t)(found - bytes);
	return found != NULL;
}

/* lea ADDRESS(%rip),%reg: 0, or the address. */
static uint64_t lea_address(const uint8_t *code, uint64_t va)
{
	int32_t off;

	if ((code[0] & 0xfb) != 0x48 || code[1] != 0x8d || (code[2] & 0xc7) != 0x05)
		return 0;
	memcpy(&off, code + 3, sizeof(off));
	return va + LEA_BYTES + (uint64_t)(int64_t)off;
}

struct use {
	uint64_t words_va, va;
};

static int find_use(void *arg, uint64_t va, const uint8_t *bytes, size_t len)
{
	struct use *use = arg;

	for (size_t i = 0; i + LEA_BYTES <= len; i++) {
		if (lea_address(bytes + i, va + i) == use->words_va) {
			use->va = va + i;
			return 1;
		}
	}
	return 0;
}

/* movq $1,OFF(%reg) */
static bool is_store_of_1(const uint8_t *code, size_t n)
{
	static const uint8_t one[] = {1, 0, 0, 0};
	size_t modrm = 2, end;

	if (n < 8 || (code[0] & 0xfe) != 0x48 || code[1] != 0xc7 || (code[modrm] & 0xf8) != 0x40)
		return false;
	end = modrm + 2 + ((code[modrm] & 7) == 4); /* a SIB byte */
	return n == end + sizeof(one) && memcmp(code + end, one, sizeof(one)) == 0;
}

/* Part of a function, followed from one instruction on. */
struct reach {
	const struct x86_code *code;
	uint64_t words_va;
	uint16_t todo[X86_CODE_BYTES]; /* each offset is in it once at most */
	size_t n_todo;
	bool is_known[X86_CODE_BYTES]; /* an instruction that is, or was, in todo begins there */
	bool is_code[X86_CODE_BYTES];  /* bytes of instructions that were reached */
};

static void reach_add(struct reach *reach, uint64_t off)
{
	if (off >= reach->code->n || reach->is_known[off])
		return;
	reach->is_known[off] = true;
	reach->todo[reach->n_todo++] = (uint16_t)off;
}

/* A call that has the text as an argument does not return. */
static void reach_run(struct reach *reach, size_t off)
{
	struct x86_reading reading = {.code = reach->code, .at = off};
	bool says_words = false;

	while (x86_reading_next(&reading)) {
		const struct x86_insn *insn = &reading.insn;
		size_t at = reading.at - insn->bytes;

		memset(reach->is_code + at, true, insn->bytes);
		if (insn->bytes == LEA_BYTES)
			says_words |= lea_address(reach->code->bytes + at, reach->code->va + at) ==
				      reach->words_va;
		if ((insn->kind == X86_JUMP || insn->kind == X86_BRANCH) && insn->has_target)
			reach_add(reach, x86_target(&reading) - reach->code->va);
		if (insn->kind == X86_JUMP || insn->kind == X86_RETURN || insn->kind == X86_TRAP ||
		    (insn->kind == X86_CALL && says_words))
			return;
		if (reading.at >= reach->code->n || reach->is_known[reading.at])
			return;
		reach->is_known[reading.at] = true;
	}
}

static void reach_take(const struct reach *reach, struct py_greenlet *ret)
{
	size_t n = reach->code->n;

	for (size_t begin = 0, end; begin < n; begin = end + 1) {
		end = begin;
		while (end < n && reach->is_code[end])
			end++;
		if (end > begin)
			add_part(ret, reach->code->va + begin, end - begin);
	}
}

/* SIZE_MAX: there is none, or more than one. */
static size_t find_store(const struct x86_code *code)
{
	struct x86_reading reading = {.code = code};
	size_t found = SIZE_MAX;

	while (x86_reading_next(&reading)) {
		size_t at = reading.at - reading.insn.bytes;

		if (!is_store_of_1(code->bytes + at, reading.insn.bytes))
			continue;
		if (found != SIZE_MAX)
			return SIZE_MAX;
		found = at;
	}
	return found;
}

static void find_stub(const struct ep_unwinder_host *host, const struct ep_file *file,
		      struct py_greenlet *ret)
{
	ep_autofree struct x86_code *code = malloc(sizeof(*code));
	ep_autofree struct reach *reach = calloc(1, sizeof(*reach));
	struct ep_symbol function;
	struct use use = {0};
	size_t begin;

	if (!code || !reach ||
	    file_scan(host, file, ".rodata", sizeof(LAST_WORDS), find_words, &use.words_va) != 1 ||
	    file_scan(host, file, ".text", LEA_BYTES, find_use, &use) != 1 ||
	    host->file_function(file, use.va, &function) < 0 ||
	    x86_code_read(host, file, function.va, code) < 0)
		return;
	begin = find_store(code);
	if (begin == SIZE_MAX)
		return;
	reach->code = code;
	reach->words_va = use.words_va;
	reach_add(reach, begin);
	while (reach->n_todo)
		reach_run(reach, reach->todo[--reach->n_todo]);
	reach_take(reach, ret);
}

/* A module's file is called as the module is, or Python would not find it. */
static bool is_called_greenlet(const struct ep_unwinder_host *host, const struct ep_file *file)
{
	const char *path = host->file_path(file), *slash = strrchr(path, '/'),
		   *name = slash ? slash + 1 : path;

	return strncmp(name + (name[0] == '_'), "greenlet.", strlen("greenlet.")) == 0;
}

bool py_greenlet_find(const struct ep_unwinder_host *host, const struct ep_file *file,
		      struct py_greenlet *ret)
{
	*ret = (struct py_greenlet){0};
	if (!EP_HAS(host, add_rows) || !is_called_greenlet(host, file) ||
	    (!file_va(host, file, "PyInit__greenlet") && !file_va(host, file, "PyInit_greenlet")))
		return false;
	find_bootstrap(host, file, ret);
	if (!ret->n_parts)
		find_stub(host, file, ret);
	return ret->n_parts > 0;
}
