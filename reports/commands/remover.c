/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/commands/remover.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Another file that somebody gave the name meanwhile stays. */
struct file {
	const char *path;
	dev_t device;
	ino_t inode;
};

static void remember(const char *path, struct file *file)
{
	struct stat st;

	if (!path || lstat(path, &st) < 0)
		return;
	*file = (struct file){.path = path, .device = st.st_dev, .inode = st.st_ino};
}

static void remove_file(const struct file *file)
{
	struct stat st;

	if (file->path && lstat(file->path, &st) == 0 && st.st_dev == file->device && st.st_ino == file->inode)
		(void)unlink(file->path);
}

static void run(const struct file *files, size_t n, int fd)
{
	uint64_t keep = 0;
	ssize_t got;

	(void)signal(SIGINT, SIG_IGN); /* a terminal's Ctrl-C ends the other process, and then this one */
	(void)signal(SIGHUP, SIG_IGN);
	do {
		got = read(fd, &keep, sizeof(keep));
	} while (got < 0 && errno == EINTR);
	for (size_t i = 0; i < n; i++) {
		if (got != sizeof(keep) || !(keep >> i & 1))
			remove_file(&files[i]);
	}
	_exit(0);
}

int ep_remover_start(const char *const *paths, size_t n, struct ep_remover *ret_remover)
{
	struct file files[EP_REMOVER_MAX] = {0};
	int ends[2];
	pid_t pid;

	if (n > EP_REMOVER_MAX)
		return -E2BIG;
	for (size_t i = 0; i < n; i++)
		remember(paths[i], &files[i]);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		close(ends[1]);
		run(files, n, ends[0]);
	}
	close(ends[0]);
	if (pid < 0) {
		int r = -errno;

		close(ends[1]);
		return r;
	}
	*ret_remover = (struct ep_remover){.pid = pid, .fd = ends[1]};
	return 0;
}

void ep_remover_finish(struct ep_remover *remover, uint64_t keep)
{
	if (!remover->pid)
		return;
	(void)!write(remover->fd, &keep, sizeof(keep));
	close(remover->fd);
	while (waitpid(remover->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*remover = (struct ep_remover){0};
}
