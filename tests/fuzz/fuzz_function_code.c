/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the code of a function tells, where the code, the bounds of functions and the process may be
 * anything.
 *
 *	input	4 functions, each with its va and size (2 bytes each), the first is asked about | bytes
 *
 * The bytes are the file's from FILE_VA on, all of them .text, and the process's memory.
 */
#include "core/base/code.h"
#include "core/plugin/unwinder.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <string.h>

#define FILE_VA	    0x1000u
#define N_FUNCTIONS 4
#define MAX_PARTS   4

struct input {
	struct ep_symbol functions[N_FUNCTIONS];
	const uint8_t *bytes;
	size_t size;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int input_section(void *arg, const char *name, struct ep_symbol *ret)
{
	(void)name;
	*ret = (struct ep_symbol){.va = FILE_VA, .bytes = ((struct input *)arg)->size};
	return 0;
}

static int input_read(void *arg, uint64_t va, void *buf, size_t bytes)
{
	const struct input *input = arg;

	if (va < FILE_VA || !ep_in_bounds(va - FILE_VA, bytes, input->size))
		return -ENODATA;
	memcpy(buf, input->bytes + (va - FILE_VA), bytes);
	return 0;
}

static int input_function(void *arg, uint64_t va, struct ep_symbol *ret)
{
	const struct input *input = arg;

	for (size_t i = 0; i < N_FUNCTIONS; i++) {
		*ret = input->functions[i];
		if (va - ret->va < ret->bytes)
			return 0;
	}
	return -ENODATA;
}

static int target_variable(void *arg, uint64_t off, struct ep_tls *ret)
{
	(void)arg;
	*ret = (struct ep_tls){.steps = 1, .off = {(int32_t)off}};
	return 0;
}

static void try_bytes(const struct input *input)
{
	struct ep_variable variable;
	uint64_t va;

	if (ep_code_variable(input->bytes, input->size, FILE_VA, &variable) == 0)
		assert(variable.kind > EP_VARIABLE_SEGMENT && variable.kind <= EP_VARIABLE_PAIR);
	(void)ep_code_argument(input->bytes, input->size, FILE_VA, &va);
	for (size_t i = 0; i < input->size + 8; i++)
		(void)ep_code_jump(input->bytes, input->size, i, FILE_VA, &va);
}

static void try_services(struct input *input)
{
	static const struct ep_file_ops file_ops = {
		.section = input_section,
		.read = input_read,
		.function = input_function,
	};
	static const struct ep_target_ops target_ops = {
		.read = input_read,
		.tls_variable = target_variable,
	};
	const struct ep_unwinder_host *host = ep_unwinder_host_get();
	struct ep_file file = {.ops = &file_ops, .arg = input, .machine = EM_X86_64};
	struct ep_target target = {.ops = &target_ops, .arg = input};
	struct ep_symbol parts[MAX_PARTS];
	struct ep_variable variable;
	struct ep_tls tls;
	uint32_t n;

	n = host->file_parts(&file, input->functions, parts, MAX_PARTS);
	assert(n >= 1 && n <= MAX_PARTS && parts[0].va == input->functions[0].va);
	if (host->file_variable(&file, input->functions[0].va, &variable) == 0 &&
	    host->tls_path(&target, &variable, &tls) == 0)
		assert(tls.steps == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint16_t words[2 * N_FUNCTIONS];
	struct input input;

	if (size < sizeof(words))
		return 0;
	memcpy(words, data, sizeof(words));
	for (size_t i = 0; i < N_FUNCTIONS; i++)
		input.functions[i] = (struct ep_symbol){words[2 * i], words[2 * i + 1]};
	input.bytes = data + sizeof(words);
	input.size = size - sizeof(words);
	try_bytes(&input);
	try_services(&input);
	return 0;
}
