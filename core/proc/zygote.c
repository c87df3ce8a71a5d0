/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The zygote forks readers, waits for those that ended and kills those that are late: their pids
 * are its children's and cannot be another's. It ends when its channel does, or with the profiler
 * (PR_SET_PDEATHSIG), and its readers with it: those that hang in the kernel as soon as that lets
 * go of them.
 */
#include "core/base/clock.h"
#include "core/proc/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define CHANNEL_FD  3 /* of the zygote and of a reader */
#define END_TRIES   10
#define END_STEP_US 5000
#define DEATH_NS    (50 * EP_NS_PER_MS) /* so long one that was killed may take to end, if it does not hang */

/* Others' memory, files whoever may read them, /proc/PID/map_files; before Linux 5.9 the latter was
 * CAP_SYS_ADMIN's. */
static uint64_t kept_capabilities(void)
{
	bool has_checkpoint = prctl(PR_CAPBSET_READ, CAP_CHECKPOINT_RESTORE, 0, 0, 0) >= 0;

	return 1ull << CAP_SYS_PTRACE | 1ull << CAP_DAC_READ_SEARCH |
	       1ull << (has_checkpoint ? CAP_CHECKPOINT_RESTORE : CAP_SYS_ADMIN);
}

static void keep_capabilities(uint64_t caps)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	if (syscall(SYS_capget, &header, data) < 0)
		return;
	for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		data[i].permitted &= (uint32_t)(caps >> 32 * i);
		data[i].effective &= (uint32_t)(caps >> 32 * i);
		data[i].inheritable = 0;
	}
	(void)syscall(SYS_capset, &header, data);
}

static void drop_privileges(void)
{
	static const struct rlimit none = {0, 0};

	keep_capabilities(kept_capabilities());
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	(void)setrlimit(RLIMIT_CORE, &none);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* Changes of capabilities and of being dumpable may clear the signal of the parent's death: it is
 * set after them. */
static bool die_with(pid_t parent)
{
	return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 && getppid() == parent;
}

/* Those of the terminal are for the profiler, after which the zygote ends. */
static void ignore_signals(void)
{
	static const int numbers[] = {SIGINT,  SIGQUIT, SIGTERM, SIGHUP,
				      SIGPIPE, SIGUSR1, SIGUSR2, SIGTSTP};

	for (size_t i = 0; i < EP_LEN(numbers); i++)
		(void)signal(numbers[i], SIG_IGN);
	(void)signal(SIGCHLD, SIG_DFL);
}

/* Nothing of the profiler's stays open: who waits for the end of its output would wait for a reader
 * that hangs. */
static void keep_channel(int channel)
{
	int null;

	if (channel != CHANNEL_FD)
		(void)dup2(channel, CHANNEL_FD);
	(void)syscall(SYS_close_range, CHANNEL_FD + 1, ~0u, 0);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd < CHANNEL_FD && null >= 0; fd++)
		(void)dup2(null, fd);
	if (null > CHANNEL_FD)
		close(null);
}

static void reader_start(int channel, int memory, pid_t zygote, void (*limit)(void))
{
	struct ep_reader_shared *shared =
		mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);

	keep_channel(channel);
	(void)prctl(PR_SET_NAME, "profiler-reader", 0, 0, 0);
	if (shared == MAP_FAILED || !die_with(zygote))
		_exit(1);
	if (limit)
		limit();
	ep_reader_run(CHANNEL_FD, shared);
}

struct zygote {
	size_t n_readers;
	uint64_t killed_ns; /* when the last one was */
	void (*limit)(void);
};

static void zygote_reap_ended(struct zygote *zygote)
{
	while (zygote->n_readers > 0 && waitpid(-1, NULL, WNOHANG) > 0)
		zygote->n_readers--;
}

static int zygote_start_reader(struct zygote *zygote, int channel, int memory)
{
	pid_t self = getpid(), pid;

	if (channel < 0 || memory < 0)
		return -EBADMSG;
	while (zygote->n_readers >= EP_ZYGOTE_MAX_READERS &&
	       ep_clock_mono_ns() - zygote->killed_ns < DEATH_NS) {
		(void)usleep(END_STEP_US);
		zygote_reap_ended(zygote);
	}
	if (zygote->n_readers >= EP_ZYGOTE_MAX_READERS)
		return -EAGAIN;
	pid = fork();
	if (pid == 0)
		reader_start(channel, memory, self, zygote->limit);
	zygote->n_readers += pid > 0;
	return pid < 0 ? -errno : pid;
}

/* What is no child any more is not killed: its pid may be another's. */
static void zygote_kill_reader(struct zygote *zygote, pid_t pid)
{
	pid_t ended = waitpid(pid, NULL, WNOHANG);

	if (ended == 0)
		(void)kill(pid, SIGKILL);
	zygote->killed_ns = ep_clock_mono_ns();
	zygote->n_readers -= ended == pid;
}

/* Readers end with their channels, and are nobody's to wait for then. Those that hang are left. */
static void zygote_reap_all(struct zygote *zygote)
{
	for (int i = 0; i < END_TRIES && zygote->n_readers > 0; i++) {
		(void)usleep(END_STEP_US);
		zygote_reap_ended(zygote);
	}
}

void ep_zygote_run(int channel, pid_t parent, void (*limit)(void))
{
	struct ep_zygote_request request;
	struct zygote zygote = {.limit = limit};
	int fds[2];

	ignore_signals();
	keep_channel(channel);
	drop_privileges();
	(void)prctl(PR_SET_NAME, "profiler-zygote", 0, 0, 0);
	if (!die_with(parent))
		_exit(1);
	while (ep_reader_receive(CHANNEL_FD, &request, sizeof(request), fds, 2) == 0) {
		struct ep_zygote_reply reply = {.number = request.number};

		zygote_reap_ended(&zygote);
		if (request.op == EP_ZYGOTE_START) {
			reply.pid = zygote_start_reader(&zygote, fds[0], fds[1]);
			(void)ep_reader_send(CHANNEL_FD, &reply, sizeof(reply), NULL, 0);
		} else if (request.pid > 0) {
			zygote_kill_reader(&zygote, request.pid);
		}
		ep_closep(&fds[0]);
		ep_closep(&fds[1]);
	}
	zygote_reap_all(&zygote);
	_exit(0);
}
