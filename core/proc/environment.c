/* SPDX-License-Identifier: Apache-2.0 */
#include "core/proc/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_wanted(const char *entry, size_t len, const char *const *names, size_t n)
{
	const char *equals = memchr(entry, '=', len);
	size_t name_len = equals ? (size_t)(equals - entry) : 0;

	if (name_len == 0 || len - name_len > EP_ENVIRONMENT_MAX_VALUE)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (strlen(names[i]) == name_len && memcmp(names[i], entry, name_len) == 0)
			return true;
	}
	return false;
}

int ep_environment_parse(const char *data, size_t bytes, const char *const *names, size_t n,
			 struct ep_vec *text)
{
	size_t at = 0;

	while (at < bytes) {
		const char *end = memchr(data + at, 0, bytes - at);
		size_t len;

		if (!end)
			return 0;
		len = (size_t)(end - data) - at;
		if (is_wanted(data + at, len, names, n)) {
			int r = ep_vec_append(text, data + at, len + 1);

			if (r < 0)
				return r;
		}
		at += len + 1;
	}
	return 0;
}

static ssize_t read_all(int fd, char *buf, size_t size)
{
	size_t at = 0;

	while (at < size) {
		ssize_t n = read(fd, buf + at, size - at);

		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		at += (size_t)n;
	}
	return (ssize_t)at;
}

int ep_environment_read(pid_t pid, const char *const *names, size_t n, struct ep_vec *text)
{
	ep_autofree char *buf = NULL;
	ep_autoclose int fd = -1;
	char path[64];
	ssize_t bytes;

	if (n == 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	buf = malloc(EP_ENVIRONMENT_MAX_BYTES);
	if (!buf)
		return -ENOMEM;
	bytes = read_all(fd, buf, EP_ENVIRONMENT_MAX_BYTES);
	return bytes < 0 ? (int)bytes : ep_environment_parse(buf, (size_t)bytes, names, n, text);
}
