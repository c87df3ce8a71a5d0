/* SPDX-License-Identifier: Apache-2.0 */
/* The code of functions that probe reads: any bytes, which are read within their bounds and no
 * further. */
#include "plugins/ruby/code.h"
#include "tests/kit/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct x86_code code = {.va = 0x401000};
	struct ruby_main_thread main;
	struct ruby_collector collector;
	struct ruby_symbols symbols = {0};
	uint64_t targets[4];
	uint32_t off;

	code.n = size < sizeof(code.bytes) ? size : sizeof(code.bytes);
	memcpy(code.bytes, data, code.n);
	if (ruby_code_thread(&code, &off) == 0)
		assert(off && off < 0x10000);
	if (ruby_code_collector(&code, &collector) == 0)
		assert(collector.objspace_off < 0x10000 && collector.flag_off < 0x10000 &&
		       collector.bit < 32);
	if (ruby_code_main_thread(&code, &main) == 0)
		assert(main.thread_off && main.thread_off < 0x10000);
	if (ruby_code_blocking(&code, &off) == 0)
		assert(off && off < 0x10000);
	(void)ruby_code_symbols(&code, &symbols);
	assert(x86_code_leaves(&code, X86_JUMP, targets, 4) <= 4);
	return 0;
}
