/* SPDX-License-Identifier: Apache-2.0 */
/* Small things every file needs: scope-bound cleanup, array length, bounded arithmetic. */
#ifndef EP_BASE_UTIL_H
#define EP_BASE_UTIL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define EP_LEN(array)	     (sizeof(array) / sizeof((array)[0]))
#define EP_MIN(a, b)	     ((a) < (b) ? (a) : (b))
#define EP_MAX(a, b)	     ((a) > (b) ? (a) : (b))
#define EP_ALIGN_UP(x, a)    (((x) + (a)-1) & ~((uint64_t)(a)-1))
#define EP_ALIGN_DOWN(x, a)  ((x) & ~((uint64_t)(a)-1))
#define EP_CONTAINER(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

#define EP_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* A local declared with ep_cleanup(fn) is released when it goes out of scope: fn gets its address. */
#define ep_cleanup(fn) __attribute__((cleanup(fn)))
#define ep_autofree    ep_cleanup(ep_freep)
#define ep_autoclose   ep_cleanup(ep_closep)

/* Moves a pointer out of an owning local, which is NULL afterwards. */
#define ep_take(ptr)                                                                               \
	({                                                                                         \
		__typeof__(ptr) ep_taken_ = (ptr);                                                 \
		(ptr) = NULL;                                                                      \
		ep_taken_;                                                                         \
	})
/* The same for a file descriptor, which is -1 afterwards. */
#define ep_take_fd(fd)                                                                             \
	({                                                                                         \
		int ep_taken_ = (fd);                                                              \
		(fd) = -1;                                                                         \
		ep_taken_;                                                                         \
	})

static inline void ep_freep(void *ptr)
{
	free(*(void **)ptr);
}

static inline void ep_closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

/* Memory or descriptors ran out: the same call may succeed a moment later. */
static inline bool ep_is_transient(int r)
{
	return r == -ENOMEM || r == -EMFILE || r == -ENFILE || r == -EAGAIN;
}

/* Numbers that need not be aligned. */
static inline uint32_t ep_get_u32(const void *from)
{
	uint32_t value;

	__builtin_memcpy(&value, from, sizeof(value));
	return value;
}

static inline uint64_t ep_get_u64(const void *from)
{
	uint64_t value;

	__builtin_memcpy(&value, from, sizeof(value));
	return value;
}

/* True when [off, off + len) lies within a thing of `size` bytes; safe against overflow. */
static inline bool ep_in_bounds(uint64_t off, uint64_t len, uint64_t size)
{
	uint64_t end;

	return !__builtin_add_overflow(off, len, &end) && end <= size;
}

#endif
