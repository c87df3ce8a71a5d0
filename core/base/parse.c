/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/parse.h"

#include <errno.h>
#include <stdio.h>
#include <fcntl.h>
#include <string.h>

#define READ_CHUNK_BYTES 16384

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 16;
}

int ep_parse_u64(const char **pos, const char *end, unsigned int base, uint64_t *ret_value)
{
	const char *p = *pos;
	uint64_t value = 0;

	for (; p < end; p++) {
		unsigned int digit = (unsigned int)digit_of(*p);

		if (digit >= base)
			break;
		if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit, &value))
			return -ERANGE;
	}
	if (p == *pos)
		return -EBADMSG;
	*pos = p;
	*ret_value = value;
	return 0;
}

int ep_parse_u64_str(const char *str, uint64_t *ret_value)
{
	const char *pos = str, *end = str + strlen(str);
	uint64_t value;
	int r = ep_parse_u64(&pos, end, 10, &value);

	if (r < 0)
		return r;
	if (pos != end)
		return -EBADMSG;
	*ret_value = value;
	return 0;
}

int ep_read_fd(int fd, struct ep_vec *bytes)
{
	for (;;) {
		size_t room = EP_MIN(bytes->max - bytes->len, (size_t)READ_CHUNK_BYTES);
		ssize_t n;
		int r;

		if (room < 2)
			return -E2BIG;
		if (bytes->cap - bytes->len < room) {
			r = ep_vec_reserve(bytes, EP_MIN(bytes->max, bytes->len * 2 + room));
			if (r < 0)
				return r;
		}
		n = read(fd, (char *)bytes->data + bytes->len, bytes->cap - bytes->len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		bytes->len += (size_t)n;
	}
	((char *)bytes->data)[bytes->len] = '\0';
	return 0;
}

int ep_read_file(const char *path, struct ep_vec *bytes)
{
	ep_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return -errno;
	return ep_read_fd(fd, bytes);
}

void ep_to_hex(const uint8_t *bytes, size_t n, char *hex)
{
	for (size_t i = 0; i < n; i++)
		snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
	hex[2 * n] = '\0';
}
