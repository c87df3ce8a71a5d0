/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/child.h"
#include "core/base/elevated.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>

#define END_TRIES   50
#define END_WAIT_NS 20000000

/* Becomes the user who called sudo: groups first, while that is still allowed. */
static int drop_to_sudo_user(void)
{
	const struct passwd *user;
	struct ep_sudo_caller caller;
	int r = ep_sudo_caller(&caller);

	if (r != 0)
		return r < 0 ? r : 0;
	user = getpwuid(caller.uid);
	if (user ? initgroups(user->pw_name, caller.gid) < 0 : setgroups(1, &caller.gid) < 0)
		return -errno;
	if (setgid(caller.gid) < 0 || setuid(caller.uid) < 0)
		return -errno;
	if (user) {
		(void)setenv("HOME", user->pw_dir, 1);
		(void)setenv("USER", user->pw_name, 1);
		(void)setenv("LOGNAME", user->pw_name, 1);
	}
	return 0;
}

/* A setuid profiler's privileges are not for what it starts; those of a file end with the exec. */
static int drop_setuid(void)
{
	uid_t uid = getuid();
	gid_t gid = getgid();

	return setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0 ? -errno : 0;
}

static void fail_child(int failure_fd, int err)
{
	(void)!write(failure_fd, &err, sizeof(err));
	_exit(127);
}

static void run_child(char **argv, bool keep_root, int go_fd, int failure_fd)
{
	char go;
	int r;

	if (read(go_fd, &go, 1) != 1) /* the profiler gave up */
		_exit(127);
	(void)signal(SIGPIPE, SIG_DFL); /* we ignore it, and an exec keeps what is ignored */
	r = drop_setuid();
	if (r == 0 && !keep_root)
		r = drop_to_sudo_user();
	if (r < 0)
		fail_child(failure_fd, -r);
	execvp(argv[0], argv);
	fail_child(failure_fd, errno);
}

int ep_child_fork(char **argv, bool keep_root, struct ep_child *ret_child)
{
	int go[2], failure[2];
	pid_t pid;

	if (pipe2(go, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(failure, O_CLOEXEC) < 0) {
		int r = -errno;

		close(go[0]);
		close(go[1]);
		return r;
	}
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		run_child(argv, keep_root, go[0], failure[1]);
	}
	close(go[0]);
	close(failure[1]);
	*ret_child = (struct ep_child){.pid = pid, .go_fd = go[1], .failure_fd = failure[0]};
	return pid < 0 ? -errno : 0;
}

/* A successful exec closes the pipe, so the read ends with nothing. */
int ep_child_go(struct ep_child *child)
{
	int err = 0;
	ssize_t n;

	(void)!write(child->go_fd, "g", 1);
	do {
		n = read(child->failure_fd, &err, sizeof(err));
	} while (n < 0 && errno == EINTR);
	ep_closep(&child->go_fd);
	ep_closep(&child->failure_fd);
	return n == sizeof(err) ? -err : 0;
}

bool ep_child_reap(struct ep_child *child)
{
	if (!child->ended && child->pid > 0)
		child->ended = waitpid(child->pid, &child->status, WNOHANG) == child->pid;
	return child->ended;
}

void ep_child_end(struct ep_child *child)
{
	const struct timespec wait = {.tv_nsec = END_WAIT_NS};

	if (child->pid <= 0 || ep_child_reap(child))
		return;
	child->stopped = true;
	(void)kill(child->pid, SIGTERM);
	for (int i = 0; i < END_TRIES && !ep_child_reap(child); i++)
		nanosleep(&wait, NULL);
}

int ep_child_exit_status(const struct ep_child *child)
{
	if (!child->ended || (child->stopped && WIFSIGNALED(child->status)))
		return 0;
	return WIFSIGNALED(child->status) ? 128 + WTERMSIG(child->status)
					  : WEXITSTATUS(child->status);
}
