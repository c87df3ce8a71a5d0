/* SPDX-License-Identifier: Apache-2.0 */
/* core/base/system_calls.c: each test filters a child of its own. What the whole agent calls: tests/live. */
#include "core/base/system_calls.h"
#include "core/base/util.h"
#include "tests/kit/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CANNOT 77

/* In a child: the number of the line where it was wrong, as far as a status can say it; 0: right. */
typedef int (*body_fn)(void);
#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                                        \
			return 1;                                                                                      \
		}                                                                                                      \
	} while (0)

static void run_limited(enum ep_callers callers, body_fn body)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		int r = ep_system_calls_limit(callers);

		if (r == -EINVAL || r == -EPERM || r == -ENOSYS) /* a kernel without filters, a container that forbids them */
			_exit(CANNOT);
		_exit(r < 0 ? 2 : body());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status)); /* not by a signal */
	if (WEXITSTATUS(status) == CANNOT)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int personality_is_refused(void)
{
	struct ep_refused_call call;

	for (int i = 0; i < 3; i++) {
		errno = 0;
		CHECK(syscall(SYS_personality, 0xffffffff) == -1 && errno == ENOSYS);
	}
	CHECK(ep_system_calls_refused() == 3);
	CHECK(ep_system_calls_next_refused(&call));
	CHECK(call.number == SYS_personality && strcmp(call.name, "personality") == 0);
	CHECK(!ep_system_calls_next_refused(&call));
	return 0;
}

EP_TEST(a_call_outside_the_list_does_nothing_and_is_counted)
{
	run_limited(EP_CALLERS_AGENT, personality_is_refused);
}

static int numbers_nobody_knows(void)
{
	struct ep_refused_call call;

	CHECK(syscall(1000, 0) == -1 && errno == ENOSYS);
	CHECK(ep_system_calls_refused() == 1);
	CHECK(ep_system_calls_next_refused(&call));
	CHECK(strcmp(call.name, "unknown") == 0);
	return 0;
}

EP_TEST(a_number_that_no_list_knows_is_counted)
{
	run_limited(EP_CALLERS_AGENT, numbers_nobody_knows);
}

static int dangerous_calls(void)
{
	const char *const argv[] = {"true", NULL}, *const envp[] = {NULL};
	long results[] = {
		syscall(SYS_execve, "/bin/true", argv, envp),
		syscall(SYS_mount, NULL, NULL, NULL, 0, NULL),
		syscall(SYS_ptrace, 0, 0, 0, 0),
		syscall(SYS_process_vm_writev, getpid(), NULL, 0, NULL, 0, 0),
		syscall(SYS_setuid, getuid()),
		syscall(SYS_unshare, 0),
		syscall(SYS_kill, getpid(), SIGKILL),
		syscall(SYS_tgkill, getppid(), getppid(), 0),
		syscall(SYS_socket, AF_PACKET, SOCK_RAW, 0),
		syscall(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0),
		syscall(SYS_prlimit64, getppid(), 0, NULL, NULL),
	};

	for (size_t i = 0; i < EP_LEN(results); i++)
		CHECK(results[i] == -1);
	CHECK(ep_system_calls_refused() == EP_LEN(results));
	return 0;
}

EP_TEST(what_would_change_the_machine_or_ourselves_is_outside)
{
	run_limited(EP_CALLERS_AGENT, dangerous_calls);
}

static void *answer(void *arg)
{
	*(int *)arg = 42;
	return arg;
}

/* glibc blocks all signals while it makes threads and processes: a trap would end us there. */
static int threads_and_no_processes(void)
{
	pthread_t thread;
	int got = 0;

	CHECK(pthread_create(&thread, NULL, answer, &got) == 0);
	CHECK(pthread_join(thread, NULL) == 0 && got == 42);
	CHECK(fork() == -1 && errno == ENOSYS);
	CHECK(syscall(SYS_io_uring_setup, 1, NULL) == -1 && errno == ENOSYS);
	CHECK(ep_system_calls_refused() == 0);
	return 0;
}

EP_TEST(threads_begin_and_processes_do_not)
{
	run_limited(EP_CALLERS_AGENT, threads_and_no_processes);
}

static void *call_personality(void *arg)
{
	*(int *)arg = syscall(SYS_personality, 0xffffffff) == -1 ? errno : 0;
	return arg;
}

static int refused_in_a_thread(void)
{
	pthread_t threads[4];
	int errors[4] = {0};

	for (size_t i = 0; i < EP_LEN(threads); i++)
		CHECK(pthread_create(&threads[i], NULL, call_personality, &errors[i]) == 0);
	for (size_t i = 0; i < EP_LEN(threads); i++)
		CHECK(pthread_join(threads[i], NULL) == 0 && errors[i] == ENOSYS);
	CHECK(ep_system_calls_refused() == EP_LEN(threads));
	return 0;
}

EP_TEST(threads_are_filtered_too)
{
	run_limited(EP_CALLERS_AGENT, refused_in_a_thread);
}

static int n_woken;

static void wake(void *arg)
{
	n_woken += *(int *)arg;
}

static int watched(void)
{
	int one = 1;

	ep_system_calls_watch(wake, &one);
	CHECK(syscall(SYS_personality, 0xffffffff) == -1 && n_woken == 1);
	ep_system_calls_watch(NULL, NULL);
	CHECK(syscall(SYS_personality, 0xffffffff) == -1 && n_woken == 1);
	CHECK(raise(SIGSYS) == 0 && ep_system_calls_refused() == 2); /* that of kill(1) is not one */
	return 0;
}

EP_TEST(who_watches_is_woken)
{
	run_limited(EP_CALLERS_AGENT, watched);
}

static int files_sockets_and_signals(void)
{
	int pair[2];
	char byte;

	CHECK(open("/proc/self/stat", O_RDONLY | O_CLOEXEC) >= 0);
	CHECK(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0 || errno == EAFNOSUPPORT);
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	CHECK(write(pair[0], "x", 1) == 1 && read(pair[1], &byte, 1) == 1);
	CHECK(kill(getppid(), 0) == 0);
	CHECK(ep_system_calls_refused() == 0);
	return 0;
}

EP_TEST(what_the_agent_does_is_allowed)
{
	run_limited(EP_CALLERS_AGENT, files_sockets_and_signals);
}

static int ends_its_command(void)
{
	CHECK(kill(getpid(), SIGCONT) == 0);
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
	CHECK(fork() == -1 && ep_system_calls_refused() == 0);
	return 0;
}

EP_TEST(a_command_may_be_ended_and_none_started)
{
	run_limited(EP_CALLERS_COMMAND, ends_its_command);
}

static int reads_and_no_more(void)
{
	pthread_t thread;
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC), got = 0;
	char byte;

	CHECK(fd >= 0 && pread(fd, &byte, 1, 0) == 1);
	CHECK(pthread_create(&thread, NULL, answer, &got) == 0 && pthread_join(thread, NULL) == 0);
	CHECK(socket(AF_UNIX, SOCK_STREAM, 0) == -1 && errno == ENOSYS);
	CHECK(unlink("/nonexistent") == -1 && errno == ENOSYS);
	CHECK(kill(getppid(), 0) == -1 && errno == ENOSYS);
	CHECK(ep_system_calls_refused() == 0);
	return 0;
}

EP_TEST(a_reader_may_less)
{
	run_limited(EP_CALLERS_READER, reads_and_no_more);
	assert_true(ep_system_calls_allowed(EP_CALLERS_READER) < ep_system_calls_allowed(EP_CALLERS_AGENT));
}
