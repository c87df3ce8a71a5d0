/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/vec.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define VEC_FIRST_CAP 16

void ep_vec_init(struct ep_vec *vec, size_t elem_bytes, size_t max)
{
	assert(elem_bytes > 0 && max <= SIZE_MAX / 2 / elem_bytes);
	*vec = (struct ep_vec){.elem_bytes = elem_bytes, .max = max};
}

void ep_vec_fini(struct ep_vec *vec)
{
	free(vec->data);
	*vec = (struct ep_vec){.elem_bytes = vec->elem_bytes, .max = vec->max};
}

static int set_cap(struct ep_vec *vec, size_t cap)
{
	void *data = realloc(vec->data, cap * vec->elem_bytes);

	if (!data)
		return -ENOMEM;
	vec->data = data;
	vec->cap = cap;
	return 0;
}

int ep_vec_reserve(struct ep_vec *vec, size_t cap)
{
	if (cap > vec->max)
		return -E2BIG;
	if (cap <= vec->cap)
		return 0;
	return set_cap(vec, cap);
}

static int grow_for(struct ep_vec *vec, size_t more)
{
	size_t need, cap;

	if (__builtin_add_overflow(vec->len, more, &need) || need > vec->max)
		return -E2BIG;
	if (need <= vec->cap)
		return 0;
	cap = EP_MAX(vec->cap + vec->cap / 2, (size_t)VEC_FIRST_CAP);
	return set_cap(vec, EP_MIN(EP_MAX(cap, need), vec->max));
}

void *ep_vec_push(struct ep_vec *vec)
{
	char *slot;

	if (grow_for(vec, 1) < 0)
		return NULL;
	slot = (char *)vec->data + vec->len * vec->elem_bytes;
	memset(slot, 0, vec->elem_bytes);
	vec->len++;
	return slot;
}

int ep_vec_append(struct ep_vec *vec, const void *src, size_t len)
{
	char *slot;
	int r;

	if (len == 0)
		return 0;
	r = grow_for(vec, len);
	if (r < 0)
		return r;
	slot = (char *)vec->data + vec->len * vec->elem_bytes;
	if (src)
		memcpy(slot, src, len * vec->elem_bytes);
	else
		memset(slot, 0, len * vec->elem_bytes);
	vec->len += len;
	return 0;
}

void ep_vec_shrink(struct ep_vec *vec)
{
	if (vec->len == 0)
		ep_vec_fini(vec);
	else if (vec->len < vec->cap)
		(void)set_cap(vec, vec->len);
}

int ep_vec_printf(struct ep_vec *bytes, const char *fmt, ...)
{
	va_list args;
	int len, r;

	assert(bytes->elem_bytes == 1);
	va_start(args, fmt);
	len = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (len < 0)
		return -EINVAL;
	r = grow_for(bytes, (size_t)len + 1); /* vsnprintf writes a NUL that is not counted */
	if (r < 0)
		return r;
	va_start(args, fmt);
	vsnprintf((char *)bytes->data + bytes->len, (size_t)len + 1, fmt, args);
	va_end(args);
	bytes->len += (size_t)len;
	return 0;
}
