/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EP_ABI_H
#define EP_ABI_H

#include <stddef.h>
#include <stdint.h>

#define EP_ABI_MAJOR 1
#define EP_ABI_MINOR 0

#define EP_HAS(ptr, member)                                                                        \
	((ptr)->size >= offsetof(__typeof__(*(ptr)), member) + sizeof((ptr)->member) &&            \
	 (ptr)->member)

#endif
