/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/child.h"
#include "core/base/elevated.h"
#include "core/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define ADOPTED_MS 100 /* adopted processes that ended are waited for so often */

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
	(void)signal(SIGPIPE, SIG_DFL); /* we ignore these, and an exec keeps what is ignored */
	(void)signal(SIGXFSZ, SIG_DFL);
	r = drop_setuid();
	if (r == 0 && !keep_root)
		r = drop_to_sudo_user();
	if (r < 0)
		fail_child(failure_fd, -r);
	execvp(argv[0], argv);
	fail_child(failure_fd, errno);
}

/* --- the waiter ------------------------------------------------------------------------------ */

struct pipes {
	int go[2], failure[2], report[2];
};

static void report(const struct pipes *pipes, int value)
{
	(void)!write(pipes->report[1], &value, sizeof(value));
}

/* Signals of the terminal and of who ends the profiler are for the others: the waiter ends after them. */
static void ignore_signals(void)
{
	static const int numbers[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};

	for (size_t i = 0; i < EP_LEN(numbers); i++)
		(void)signal(numbers[i], SIG_IGN);
	(void)signal(SIGCHLD, SIG_DFL); /* ignored, nobody could be waited for */
}

/* poll(2): the writing end of a pipe has POLLERR once nobody has the reading end. */
static void adopt_until_told(const struct pipes *pipes)
{
	struct pollfd profiler = {.fd = pipes->report[1]};

	while (poll(&profiler, 1, ADOPTED_MS) <= 0) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}

static void run_waiter(char **argv, bool keep_root, const struct pipes *pipes)
{
	int status = 0;
	pid_t pid, ended;

	close(pipes->go[1]);
	close(pipes->failure[0]);
	close(pipes->report[0]);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid = fork();
	if (pid == 0)
		run_child(argv, keep_root, pipes->go[0], pipes->failure[1]);
	report(pipes, pid < 0 ? -errno : pid);
	ignore_signals();
	close(pipes->go[0]);
	close(pipes->failure[1]);
	do {
		ended = waitpid(-1, &status, 0);
	} while (ended != pid && (ended > 0 || errno == EINTR));
	report(pipes, status);
	adopt_until_told(pipes);
	_exit(0);
}

/* --- the profiler ---------------------------------------------------------------------------- */

static void close_once(int *fd)
{
	if (*fd >= 0)
		close(ep_take_fd(*fd));
}

static void close_pair(int pair[2])
{
	close_once(&pair[0]);
	close_once(&pair[1]);
}

static int open_pipes(struct pipes *pipes)
{
	int r = 0;

	*pipes = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}};
	if (pipe2(pipes->go, O_CLOEXEC) < 0 || pipe2(pipes->failure, O_CLOEXEC) < 0 ||
	    pipe2(pipes->report, O_CLOEXEC) < 0)
		r = -errno;
	return r;
}

static int read_int(int fd, int *ret_value)
{
	int value;
	ssize_t n;

	do {
		n = read(fd, &value, sizeof(value));
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (n != sizeof(value))
		return -EPIPE;
	*ret_value = value;
	return 0;
}

static int fork_both(char **argv, bool keep_root, struct pipes *pipes, struct ep_child *ret_child)
{
	struct ep_child child = {0};
	int r = open_pipes(pipes);

	if (r < 0)
		return r;
	child.waiter_pid = fork();
	if (child.waiter_pid == 0)
		run_waiter(argv, keep_root, pipes);
	if (child.waiter_pid < 0)
		return -errno;
	close_once(&pipes->report[1]);
	r = read_int(pipes->report[0], &child.pid);
	if (r == 0 && child.pid < 0)
		r = child.pid;
	if (r == 0 && fcntl(pipes->report[0], F_SETFL, O_NONBLOCK) < 0)
		r = -errno;
	if (r < 0)
		return r;
	child.go_fd = ep_take_fd(pipes->go[1]);
	child.failure_fd = ep_take_fd(pipes->failure[0]);
	child.status_fd = ep_take_fd(pipes->report[0]);
	*ret_child = child;
	return 0;
}

int ep_child_fork(char **argv, bool keep_root, struct ep_child *ret_child)
{
	struct pipes pipes;
	int r = fork_both(argv, keep_root, &pipes, ret_child);

	close_pair(pipes.go);
	close_pair(pipes.failure);
	close_pair(pipes.report);
	if (r < 0)
		fprintf(stderr,
			"ebpf-profiler: cannot start a process for %s: %s; see the limits of processes, memory "
			"and files (ulimit -a, pids.max of the cgroup)\n",
			argv[0], ep_strerror(r));
	return r;
}

/* A successful exec closes the pipe, so the read ends with nothing. */
int ep_child_go(struct ep_child *child)
{
	int err = 0, r;

	(void)!write(child->go_fd, "g", 1);
	r = read_int(child->failure_fd, &err);
	close_once(&child->go_fd);
	close_once(&child->failure_fd);
	return r == 0 ? -err : 0;
}

enum ep_exit ep_child_say_refused(const char *name, int r)
{
	fprintf(stderr, "ebpf-profiler: cannot run %s: %s\n", name, ep_strerror(r));
	return r == -ENOENT ? EP_EXIT_NOT_FOUND : EP_EXIT_CANNOT_RUN;
}

/* A waiter that somebody killed says nothing: then its signal is taken for the command's. */
bool ep_child_reap(struct ep_child *child)
{
	int r;

	if (child->ended || child->pid <= 0)
		return child->ended;
	r = read_int(child->status_fd, &child->status);
	if (r == -EAGAIN)
		return false;
	if (r < 0)
		child->status = SIGKILL;
	child->ended = true;
	if (!child->stopped)
		close_once(&child->status_fd);
	return true;
}

int ep_child_exit_status(const struct ep_child *child)
{
	if (!child->ended || (child->stopped && WIFSIGNALED(child->status)))
		return 0;
	return WIFSIGNALED(child->status) ? 128 + WTERMSIG(child->status)
					  : WEXITSTATUS(child->status);
}
