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
#include "tests/kit/fuzz.h"
#include "tests/kit/host.h"

#define FILE_VA	    0x1000u
#define N_FUNCTIONS 4
#define MAX_PARTS   4

struct input {
	struct ep_symbol functions[N_FUNCTIONS];
	const uint8_t *bytes;
	size_t size;
};

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
	const struct fake_symbol sections[] = {{".text", {FILE_VA, input->size}}};
	const struct ep_unwinder_host *services = ep_unwinder_host_get();
	static struct fake_host host;
	struct ep_symbol parts[MAX_PARTS];
	struct ep_variable variable;
	struct ep_tls tls;
	uint32_t n;

	fake_host_init(&host, NULL, 0);
	fake_memory_add(&host.contents, FILE_VA, (uint8_t *)input->bytes, input->size);
	host.memory = host.contents;
	host.sections = sections;
	host.n_sections = EP_LEN(sections);
	host.functions = input->functions;
	host.n_functions = N_FUNCTIONS;
	n = services->file_parts(&host.file, input->functions, parts, MAX_PARTS);
	assert(n >= 1 && n <= MAX_PARTS && parts[0].va == input->functions[0].va);
	if (services->file_variable(&host.file, input->functions[0].va, &variable) == 0 &&
	    services->tls_path(&host.target, &variable, &tls) == 0)
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
