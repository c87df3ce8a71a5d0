/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which stacks there can be: the program is gone through op by op, as an interpreter would,
 * without any code or table. Each place that burns CPU is the leaf of one stack; each other moment
 * of a run is in a function on the way to one. (Functions here call themselves as the programs do,
 * which are our own.)
 */
#include "runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct truth *truths[TRUTH_MAX];
size_t n_truths;

static struct truth path;

static void push(const char *name, uint32_t line)
{
	if (path.n == TRUTH_MAX_FRAMES)
		abort();
	path.frames[path.n++] = (struct truth_frame){name, line};
}

static void add_leaf(void)
{
	if (n_truths == TRUTH_MAX)
		abort();
	truths[n_truths] = malloc(sizeof(path));
	if (!truths[n_truths])
		abort();
	*truths[n_truths++] = path;
}

static void run_function(const struct jit_function *function, long argument);

static void enter(const struct jit_function *function, long argument)
{
	push("entry_stub", 1);
	run_function(function, argument);
	path.n--;
}

static void spin_in_c(void)
{
	push("native_spin", 0);
	add_leaf();
	path.n--;
}

static void run_native(const struct jit_native *native, long argument)
{
	size_t n = path.n;

	push("call_stub", 2);
	if (native->via)
		push(native->via, 0);
	if (native->kind == NATIVE_CALLS_BACK) {
		push(native->name, 0);
		if (argument > 0)
			enter(jit_program.called_back, argument - 1);
		else
			spin_in_c();
	} else {
		for (long i = 0; native->kind == NATIVE_DIVES && i < jit_program.between; i++)
			push(native->name, 0);
		spin_in_c();
	}
	path.n = n;
}

/* False: the function returns. */
static bool run_op(const struct jit_op *op, const struct jit_function *function, long argument)
{
	path.frames[path.n - 1].line = op->line;
	switch (op->kind) {
	case JIT_BURN:
	case JIT_SPILL:
		add_leaf();
		break;
	case JIT_CALL:
	case JIT_INLINE:
		run_function(op->what, argument);
		break;
	case JIT_NATIVE:
		run_native(op->what, argument);
		break;
	case JIT_DEEPER:
		if (argument)
			run_function(function, argument - 1);
		return argument == 0;
	case JIT_LAST:
		return argument == 0;
	case JIT_RETURN:
		return false;
	}
	return true;
}

static void run_function(const struct jit_function *function, long argument)
{
	push(function->name, function->line);
	for (const struct jit_op *op = function->ops; run_op(op, function, argument);)
		op++;
	path.n--;
}

void truth_find(void)
{
	for (long i = 0; i < jit_program.around; i++)
		push("around", 0);
	push("run", 0);
	enter(jit_program.first, jit_program.argument);
	path.n = 0;
}

/* Leaf first; the same function n times in a row is "name{n}". */
static void print_one(const struct truth *truth, const char *roots)
{
	size_t same = 0;

	printf("STACK");
	for (size_t i = truth->n; i-- > 0;) {
		const char *name = truth->frames[i].name;

		same++;
		if (i > 0 && strcmp(name, truth->frames[i - 1].name) == 0)
			continue;
		if (same > 1)
			printf(" %s{%zu}", name, same);
		else
			printf(" %s", name);
		same = 0;
	}
	printf(" %s\n", roots);
}

void truth_print(const char *roots)
{
	for (size_t i = 0; i < n_truths; i++)
		print_one(truths[i], roots);
}
