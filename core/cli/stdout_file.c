/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/stdout_file.h"
#include "core/base/elevated.h"
#include "core/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define NAME "/profile"

static char *make_directory(void)
{
	const char *top = secure_getenv("TMPDIR");
	ep_autofree char *directory = NULL;
	char *path;

	if (asprintf(&directory, "%s/ebpf-profiler-XXXXXX", top && *top ? top : "/tmp") < 0)
		return NULL;
	if (!mkdtemp(directory))
		return NULL;
	return asprintf(&path, "%s" NAME, directory) < 0 ? NULL : path;
}

char *ep_stdout_file_new(void)
{
	struct ep_rights rights;
	char *path;

	if (ep_rights_of_caller(&rights) < 0) /* as the file in it is made */
		return NULL;
	path = make_directory();
	ep_rights_restore(&rights);
	return path;
}

static int write_all(int to, const char *data, size_t bytes)
{
	while (bytes > 0) {
		ssize_t n = write(to, data, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		bytes -= (size_t)n;
	}
	return 0;
}

static int copy(int fd, int to)
{
	char buf[16384];
	ssize_t n;
	int r = 0;

	while (r == 0 && (n = read(fd, buf, sizeof(buf))) > 0)
		r = write_all(to, buf, (size_t)n);
	return r;
}

void ep_stdout_file_discard(const char *path)
{
	ep_autofree char *directory = strndup(path, strlen(path) - strlen(NAME));
	struct ep_rights rights;

	if (ep_rights_of_caller(&rights) < 0)
		return;
	(void)unlink(path);
	if (directory)
		(void)rmdir(directory);
	ep_rights_restore(&rights);
}

int ep_stdout_file_finish_to(const char *path, int to)
{
	ep_autoclose int fd = ep_open_as_caller(path, 0);
	int r = fd >= 0 ? copy(fd, to) : 0; /* no samples: no file */

	ep_stdout_file_discard(path);
	return r;
}

int ep_stdout_file_finish(const char *path)
{
	int r = ep_stdout_file_finish_to(path, STDOUT_FILENO);

	if (r < 0 && r != -EPIPE)
		fprintf(stderr, "ebpf-profiler: standard output: %s: the profile is not there\n", ep_strerror(r));
	return r;
}
