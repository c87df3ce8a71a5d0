/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/pages.h"
#include "core/base/util.h"

#include <sys/mman.h>

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21 /* linux/include/uapi/asm-generic/mman-common.h, 5.4 */
#endif

void ep_pages_give_back(const void *data, size_t bytes)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t start = EP_ALIGN_UP((uintptr_t)data, page),
		  end = EP_ALIGN_DOWN((uintptr_t)data + bytes, page);

	if (start < end)
		(void)madvise((void *)start, end - start, MADV_PAGEOUT);
}
