/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/shared/read/memory.h"

#include "core/base/util.h"

#include <string.h>

int memory_read_head(const struct memory *memory, uint64_t addr, void *buf, size_t bytes,
		     size_t *ret_bytes)
{
	size_t in_page = MEMORY_PAGE - addr % MEMORY_PAGE;
	int r = memory_read(memory, addr, buf, bytes);

	*ret_bytes = bytes;
	if (r != -EFAULT || in_page >= bytes)
		return r;
	memset(buf, 0, bytes);
	*ret_bytes = in_page;
	return memory_read(memory, addr, buf, in_page);
}

int memory_read_string(const struct memory *memory, uint64_t addr, char *buf, size_t size,
		       size_t piece)
{
	size_t len = 0;

	while (len < size - 1) {
		size_t n = EP_MIN(size - 1 - len, piece - (addr + len) % piece);
		int r = memory_read(memory, addr + len, buf + len, n);

		if (r < 0)
			return r;
		if (memchr(buf + len, 0, n))
			return 0;
		len += n;
	}
	buf[len] = '\0';
	return 0;
}
