/* SPDX-License-Identifier: Apache-2.0 */
/* The code of functions that probe reads: any bytes, which are read within their bounds and no
 * further. */
#include "plugins/php/code.h"
#include "plugins/php/fiber.h"
#include "tests/kit/fuzz.h"

/* A file that is all of one function. */
static const struct x86_code *file_code;

static int file_symbol(const struct ep_file *file, const char *name, struct ep_symbol *ret)
{
	(void)file;
	(void)name;
	*ret = (struct ep_symbol){file_code->va, file_code->n};
	return 0;
}

static int file_function(const struct ep_file *file, uint64_t va, struct ep_symbol *ret)
{
	(void)va;
	return file_symbol(file, "", ret);
}

static int file_read(const struct ep_file *file, uint64_t va, void *buf, size_t bytes)
{
	(void)file;
	if (va < file_code->va || va - file_code->va > sizeof(file_code->bytes) - bytes)
		return -EFAULT;
	memcpy(buf, file_code->bytes + (va - file_code->va), bytes);
	return 0;
}

static void check_fibers(void)
{
	const struct ep_unwinder_host host = {
		.file_symbol = file_symbol, .file_function = file_function, .file_read = file_read};
	struct php_fiber_code found = {0};

	php_fiber_find(&host, NULL, &found);
	assert(found.n_rows <= PHP_FIBER_ROWS);
	for (uint32_t i = 0; i < found.n_rows; i++)
		assert(found.rows[i].bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct x86_code code = {.va = 0x401000};
	uint64_t returns[4], va;
	uint32_t off, more;

	code.n = size < sizeof(code.bytes) ? size : sizeof(code.bytes);
	memcpy(code.bytes, data, code.n);
	if (php_code_current(&code, &off) == 0)
		assert(off && off < X86_MAX_MEMBER);
	if (php_code_filename(&code, &off) == 0)
		assert(off && off < X86_MAX_MEMBER);
	if (php_code_lineno(&code, &off, &more) == 0)
		assert(off && off < X86_MAX_MEMBER && more < off);
	if (php_code_generator(&code, &off, &more) == 0)
		assert(off && off < more && more < X86_MAX_MEMBER);
	if (php_code_number(&code, &off) == 0)
		assert(off);
	(void)php_code_finish(&code, &va);
	assert(php_code_returns(&code, returns, 4) <= 4);
	file_code = &code;
	check_fibers();
	return 0;
}
