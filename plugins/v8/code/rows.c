/* SPDX-License-Identifier: Apache-2.0 */
/* How the frame is left in each builtin: its code in the file ──► flow.c ──► rows. */
#include "plugins/v8/code/file.h"
#include "plugins/v8/code/flow.h"

#include "core/base/util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Entered in a frame, and do not leave it: what their own code does not tell (builtins-x64.cc,
 * Generate_*). */
static const char *const in_frame_names[] = {
	"InterpreterEnterAtBytecode",		"InterpreterEnterAtNextBytecode",
	"InterpreterEnterBytecodeAdvance",	"InterpreterEnterBytecodeDispatch",
	"BaselineOrInterpreterEnterAtBytecode", "BaselineOrInterpreterEnterAtNextBytecode",
};

static bool is_in_frame(const char *name)
{
	for (size_t i = 0; i < EP_LEN(in_frame_names); i++)
		if (!strcmp(name, in_frame_names[i]))
			return true;
	return false;
}

static int run(struct v8_flow *flow, const struct v8_builtin *builtin, const uint8_t *code,
	       bool *ret_makes_frame)
{
	bool in_frame = is_in_frame(builtin->name);
	int r = v8_flow_run(flow, builtin->va, code, builtin->bytes, in_frame);

	if (!r && !in_frame && flow->left_frame) {
		in_frame = true;
		r = v8_flow_run(flow, builtin->va, code, builtin->bytes, true);
	}
	*ret_makes_frame = !r && !in_frame && flow->keeps_frame;
	return r;
}

static bool is_same(const struct v8_builtin_row *a, const struct v8_builtin_row *b)
{
	return a->base == b->base && a->offset == b->offset && a->rbp_at == b->rbp_at &&
	       a->return_in == b->return_in && a->makes_frame == b->makes_frame;
}

/*
 * Rows as they are made: whether the next one touches the last, with nothing between them but what
 * fills up, and whether they are of a builtin that makes its caller's frame.
 */
struct making {
	struct ep_vec *rows;
	bool touches, makes_frame;
};

static int add_row(struct making *making, uint64_t va, unsigned int bytes,
		   const struct v8_flow_rule *rule)
{
	struct v8_builtin_row row = {
		.va = va,
		.va_end = va + bytes,
		.offset = rule->offset,
		.rbp_at = rule->rbp_at,
		.base = rule->base,
		.return_in = rule->return_in,
		.makes_frame = making->makes_frame,
	};
	struct ep_vec *rows = making->rows;
	struct v8_builtin_row *last =
		rows->len ? ep_vec_at(rows, struct v8_builtin_row, rows->len - 1) : NULL;

	if (last && making->touches && is_same(last, &row)) {
		last->va_end = row.va_end;
		return 0;
	}
	making->touches = true;
	return ep_vec_append(rows, &row, 1);
}

static int add_rows(struct making *making, const struct v8_flow *flow,
		    const struct v8_builtin *builtin, const uint8_t *code)
{
	const struct x86_node *last = NULL;
	struct v8_flow_rule rule;

	for (size_t at = 0, bytes; at < builtin->bytes; at += bytes) {
		const struct x86_node *node = x86_flow_at(&flow->flow, at);
		int r;

		if (!node) {
			bytes = x86_fill(code + at, builtin->bytes - at);
			making->touches &= bytes != 0;
			bytes += !bytes;
			continue;
		}
		bytes = node->insn.bytes;
		/* Most instructions leave all as it was before them. */
		if (!last || memcmp(&node->state, &last->state, sizeof(node->state)))
			rule = v8_flow_rule(flow, &node->state);
		last = node;
		r = add_row(making, builtin->va + at, node->insn.bytes, &rule);
		if (r)
			return r;
	}
	return 0;
}

#define MAX_EXITS 16

/* "CEntry_Return1_ArgvOnStack_NoBuiltinExit", before 20 with DontSaveFPRegs or SaveFPRegs in it;
 * WasmCEntry is such a one, too (Generate_WasmCEntry, builtins-x64.cc, 22 and up). */
static bool is_exit(const char *name)
{
	return (!strncmp(name, "CEntry_Return", 13) && strstr(name, "_ArgvOnStack")) ||
	       !strcmp(name, "WasmCEntry");
}

static size_t find_exits(const struct v8_builtins *builtins, uint64_t vas[MAX_EXITS])
{
	size_t n = 0;

	for (size_t i = 0; i < v8_builtins_count(builtins) && n < MAX_EXITS; i++)
		if (is_exit(v8_builtins_get(builtins, i)->name))
			vas[n++] = v8_builtins_get(builtins, i)->va;
	return n;
}

static int make_rows(const struct v8_builtins *builtins, const uint8_t *code, struct ep_vec *rows)
{
	uint64_t exits[MAX_EXITS], va = v8_builtins_va(builtins);
	struct making making = { .rows = rows };
	struct v8_flow flow = { .exits = exits, .n_exits = find_exits(builtins, exits) };
	int r = 0;

	for (size_t i = 0; i < v8_builtins_count(builtins) && !r; i++) {
		const struct v8_builtin *builtin = v8_builtins_get(builtins, i);

		if (builtin->bytes > V8_MAX_BUILTIN_BYTES) {
			making.touches = false;
			continue;
		}
		r = run(&flow, builtin, code + (builtin->va - va), &making.makes_frame);
		if (!r)
			r = add_rows(&making, &flow, builtin, code + (builtin->va - va));
	}
	x86_flow_fini(&flow.flow);
	return r == -E2BIG ? 0 : r;
}

int v8_builtins_make_rows(const struct v8_builtins *builtins, const struct ep_unwinder_host *host,
			  const struct ep_file *file, struct ep_vec *ret_rows)
{
	size_t bytes = (size_t)v8_builtins_bytes(builtins);
	ep_autofree uint8_t *code = malloc(bytes);
	struct ep_vec rows;
	int r = code ? file_read_long(host, file, v8_builtins_va(builtins), code, bytes) : -ENOMEM;

	ep_vec_init(&rows, sizeof(struct v8_builtin_row), V8_MAX_BUILTIN_ROWS);
	if (!r)
		r = make_rows(builtins, code, &rows);
	if (r)
		ep_vec_fini(&rows);
	else
		*ret_rows = rows;
	return r;
}
