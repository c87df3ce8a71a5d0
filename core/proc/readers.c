/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader belongs to the thread that asks it, from reader_acquire to reader_release; the rest is
 * under the mutex. Nobody waits for a process: the zygote does, and for the zygote nobody, since it
 * ends by itself.
 */
#include "core/proc/readers.h"
#include "core/base/log.h"
#include "core/proc/process.h"
#include "core/proc/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#define FREE_WAIT_NS   (50 * EP_NS_PER_MS) /* for a reader that others have */
#define WAIT_MS	       20 /* between two looks whether anybody still wants the answer */
#define MAX_TIMES_LATE 10 /* a reader may be so many times as long at it while it makes progress   \
			   */
#define ZYGOTE_WAIT_MS 1000
#define END_TRIES      40 /* looks whether the zygote has ended */
#define END_STEP_US    5000
#define MAX_SILENT     256
#define MAX_COPIES     512

struct reader {
	int channel;
	pid_t pid; /* 0: there is none */
	struct ep_reader_shared *shared;
	bool is_busy;
};

/* A process or a device that did not answer once. */
struct silent {
	pid_t pid; /* 0: a device */
	uint64_t start_ns, dev;
};

/* A copy that was handed out, to be found by its descriptor as long as that is open. */
struct copy {
	int fd;
	uint64_t inode, bytes;
};

/* One for the process, as is who forks, and as are pids: whoever reads memory has nothing but a
 * pid. */
static struct {
	pthread_mutex_t mutex, zygote_mutex;
	pthread_cond_t released;
	int zygote; /* channel, -1: none */
	pid_t zygote_pid;
	_Atomic bool is_there;
	_Atomic uint64_t late_ns;
	struct reader readers[EP_READERS];
	struct silent silent[MAX_SILENT];
	size_t n_silent;
	uint64_t free_ns; /* while this is far ahead of now, too many were late */
	struct copy copies[MAX_COPIES];
	size_t n_copies;
	uint64_t copies_bytes;
	struct ep_readers_stats stats;
} pool = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.zygote_mutex = PTHREAD_MUTEX_INITIALIZER,
	.released = PTHREAD_COND_INITIALIZER,
	.zygote = -1,
	.late_ns = EP_READER_LATE_NS,
};

/* --- the zygote ------------------------------------------------------------------------------ */

int ep_readers_prepare(void (*limit)(void))
{
	pid_t parent = getpid(), pid;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		ep_zygote_run(ends[1], parent, limit);
	close(ends[1]);
	if (pid < 0) {
		int r = -errno;

		close(ends[0]);
		return r;
	}
	pool.zygote = ends[0];
	pool.zygote_pid = pid;
	atomic_store(&pool.late_ns, EP_READER_LATE_NS);
	atomic_store(&pool.is_there, true);
	return 0;
}

bool ep_readers_are_there(void)
{
	return atomic_load_explicit(&pool.is_there, memory_order_relaxed) && !ep_reader_is_one();
}

void ep_readers_wait_at_most(uint64_t ns)
{
	atomic_store(&pool.late_ns, ns);
}

static void kill_reader(pid_t pid)
{
	const struct ep_zygote_request request = {.op = EP_ZYGOTE_KILL, .pid = pid};

	pthread_mutex_lock(&pool.zygote_mutex);
	(void)ep_reader_send(pool.zygote, &request, sizeof(request), NULL, 0);
	pthread_mutex_unlock(&pool.zygote_mutex);
}

/* A pid, or -errno. */
static int ask_zygote(const int fds[2])
{
	const struct ep_zygote_request request = {.op = EP_ZYGOTE_START};
	struct pollfd answer = {.fd = pool.zygote, .events = POLLIN};
	struct ep_zygote_reply reply;
	int r;

	pthread_mutex_lock(&pool.zygote_mutex);
	r = ep_reader_send(pool.zygote, &request, sizeof(request), fds, 2);
	if (r == 0 && poll(&answer, 1, ZYGOTE_WAIT_MS) <= 0)
		r = -ETIME;
	if (r == 0)
		r = ep_reader_receive(pool.zygote, &reply, sizeof(reply), NULL, 0);
	pthread_mutex_unlock(&pool.zygote_mutex);
	return r < 0 ? r : reply.pid ? reply.pid : -EBADMSG;
}

/* --- readers --------------------------------------------------------------------------------- */

static struct ep_reader_shared *map_shared(int memory)
{
	void *shared = MAP_FAILED;

	if (ftruncate(memory, sizeof(struct ep_reader_shared)) == 0)
		shared = mmap(NULL, sizeof(struct ep_reader_shared), PROT_READ | PROT_WRITE,
			      MAP_SHARED, memory, 0);
	return shared == MAP_FAILED ? NULL : shared;
}

static int reader_start(struct reader *reader)
{
	ep_autoclose int memory = memfd_create("reader", MFD_CLOEXEC), theirs = -1;
	struct ep_reader_shared *shared = memory < 0 ? NULL : map_shared(memory);
	int ends[2], r;

	if (!shared)
		return -errno;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
		r = -errno;
		munmap(shared, sizeof(*shared));
		return r;
	}
	theirs = ends[1];
	r = ask_zygote((int[]){theirs, memory});
	if (r < 0) {
		munmap(shared, sizeof(*shared));
		close(ends[0]);
		return r;
	}
	*reader = (struct reader){.channel = ends[0], .pid = r, .shared = shared, .is_busy = true};
	return 0;
}

/* It is killed, and whatever it is at is its own from here on. */
static void reader_drop(struct reader *reader)
{
	kill_reader(reader->pid);
	close(reader->channel);
	munmap(reader->shared, sizeof(*reader->shared));
	reader->pid = 0;
}

/* One that is there before one that is not. NULL: all of them are busy. */
static struct reader *find_free(void)
{
	struct reader *found = NULL;

	for (size_t i = 0; i < EP_READERS; i++) {
		struct reader *reader = &pool.readers[i];

		if (!reader->is_busy && (!found || (!found->pid && reader->pid)))
			found = reader;
	}
	return found;
}

static void reader_release(struct reader *reader)
{
	pthread_mutex_lock(&pool.mutex);
	reader->is_busy = false;
	pthread_cond_signal(&pool.released);
	pthread_mutex_unlock(&pool.mutex);
}

static void wait_for_release(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += WAIT_MS * (long)EP_NS_PER_MS;
	if (until.tv_nsec >= (long)EP_NS_PER_SEC) {
		until.tv_sec++;
		until.tv_nsec -= (long)EP_NS_PER_SEC;
	}
	(void)pthread_cond_timedwait(&pool.released, &pool.mutex, &until);
}

static int reader_acquire(struct reader **ret_reader)
{
	uint64_t since_ns = ep_clock_mono_ns();
	struct reader *reader;
	int r = 0;

	pthread_mutex_lock(&pool.mutex);
	pool.stats.requests++;
	while (!(reader = find_free()) && r == 0) {
		wait_for_release();
		if (ep_clock_mono_ns() - since_ns >= FREE_WAIT_NS)
			r = -EAGAIN;
	}
	if (reader)
		reader->is_busy = true;
	pthread_mutex_unlock(&pool.mutex);
	if (!reader)
		return r;
	if (!reader->pid) {
		r = reader_start(reader);
		if (r < 0) {
			reader_release(reader);
			return r;
		}
		pthread_mutex_lock(&pool.mutex);
		pool.stats.started++;
		pthread_mutex_unlock(&pool.mutex);
	}
	*ret_reader = reader;
	return 0;
}

/* 0 there is an answer, or the reader has ended; -ETIMEDOUT, -ECANCELED. */
static int reader_wait(const struct reader *reader)
{
	uint64_t begin_ns = ep_clock_mono_ns(), since_ns = begin_ns,
		 progress = atomic_load(&reader->shared->progress);
	struct pollfd answer = {.fd = reader->channel, .events = POLLIN};

	for (;;) {
		uint64_t late_ns = atomic_load(&pool.late_ns), now_ns, is;

		if (!late_ns)
			return -ECANCELED;
		if (poll(&answer, 1, WAIT_MS) > 0)
			return 0;
		now_ns = ep_clock_mono_ns();
		is = atomic_load(&reader->shared->progress);
		if (is != progress)
			since_ns = now_ns;
		progress = is;
		if (now_ns - since_ns >= late_ns || now_ns - begin_ns >= MAX_TIMES_LATE * late_ns)
			return -ETIMEDOUT;
	}
}

/* --- what does not answer -------------------------------------------------------------------- */

static bool is_same(const struct silent *a, const struct silent *b)
{
	return a->pid == b->pid && a->dev == b->dev &&
	       (!a->pid || ep_process_same_start(a->start_ns, b->start_ns));
}

static bool is_silent(const struct silent *asked)
{
	bool found = false;

	pthread_mutex_lock(&pool.mutex);
	for (size_t i = 0; i < EP_MIN(pool.n_silent, (size_t)MAX_SILENT) && !found; i++)
		found = is_same(&pool.silent[i], asked);
	pthread_mutex_unlock(&pool.mutex);
	return found;
}

/* Each that is late costs one time of refilling, of which so many may be owed. */
static bool are_too_many_late(void)
{
	bool are;

	pthread_mutex_lock(&pool.mutex);
	are = pool.free_ns > ep_clock_mono_ns() + (EP_READERS_MAX_LATE - 1) * EP_READERS_REFILL_NS;
	pthread_mutex_unlock(&pool.mutex);
	return are;
}

static void add_silent(const struct silent *silent)
{
	uint64_t now_ns = ep_clock_mono_ns();

	pthread_mutex_lock(&pool.mutex);
	pool.free_ns = EP_MAX(pool.free_ns, now_ns) + EP_READERS_REFILL_NS;
	pool.silent[pool.n_silent++ % MAX_SILENT] = *silent;
	pool.stats.late++;
	pthread_mutex_unlock(&pool.mutex);
	if (silent->pid)
		ep_log(EP_LOG_INFO,
		       "readers: pid %d: its memory does not come; it is not read again",
		       (int)silent->pid);
	else
		ep_log(EP_LOG_INFO,
		       "readers: device %u:%u does not answer; its files are not read again",
		       major(silent->dev), minor(silent->dev));
}

/* --- one request ----------------------------------------------------------------------------- */

/* Gives ret_reader in every case in which it was not dropped: 0, or what the reader said. */
static int reader_ask(struct reader *reader, const struct ep_reader_request *request,
		      struct ep_reader_reply *ret_reply, int *ret_fd)
{
	int r = ep_reader_send(reader->channel, request, sizeof(*request), NULL, 0);

	if (r == 0)
		r = reader_wait(reader);
	if (r == 0)
		r = ep_reader_receive(reader->channel, ret_reply, sizeof(*ret_reply), ret_fd, 1);
	if (r < 0)
		reader_drop(reader);
	return r == -ECONNRESET || r == -EPIPE ? -EIO : r;
}

/* What it says is one of the errors that we know, and never a success of another kind. */
static int result_of(const struct ep_reader_reply *reply)
{
	return reply->result > 0 || reply->result < -4095 ? -EBADMSG : reply->result;
}

static int ask(const struct ep_reader_request *request, const struct silent *who,
	       struct ep_reader_reply *ret_reply, int *ret_fd, void *buf)
{
	struct reader *reader;
	int r;

	*ret_fd = -1;
	if (!atomic_load(&pool.late_ns))
		return -ECANCELED;
	if (is_silent(who))
		return -ETIMEDOUT;
	if (are_too_many_late())
		return -EAGAIN;
	r = reader_acquire(&reader);
	if (r < 0)
		return r;
	r = reader_ask(reader, request, ret_reply, ret_fd);
	if (r == 0)
		r = result_of(ret_reply);
	if (r == 0 && buf && (ret_reply->bytes == 0 || ret_reply->bytes > request->bytes))
		r = -EBADMSG;
	if (r == 0 && buf)
		memcpy(buf, reader->shared->data, (size_t)ret_reply->bytes);
	if (r == -ETIMEDOUT && !reader->pid)
		add_silent(who);
	reader_release(reader);
	return r;
}

int ep_readers_memory(pid_t pid, uint64_t addr, void *buf, size_t bytes, size_t *ret_bytes)
{
	struct ep_reader_request request = {.op = EP_READER_MEMORY,
					    .pid = pid,
					    .addr = addr,
					    .bytes = EP_MIN(bytes, EP_READER_DATA_BYTES)};
	struct ep_process_info info;
	struct ep_reader_reply reply;
	struct silent who = {.pid = pid};
	int fd, r = ep_process_read_stat(pid, &info);

	if (r < 0)
		return r;
	who.start_ns = info.start_ns;
	r = ask(&request, &who, &reply, &fd, buf);
	ep_closep(&fd);
	if (r == 0)
		*ret_bytes = (size_t)reply.bytes;
	return r;
}

/* --- files ----------------------------------------------------------------------------------- */

static void forget_closed_copies(void)
{
	size_t n = 0;

	pool.copies_bytes = 0;
	for (size_t i = 0; i < pool.n_copies; i++) {
		struct stat st;

		if (fstat(pool.copies[i].fd, &st) < 0 || st.st_ino != pool.copies[i].inode ||
		    st.st_uid != geteuid())
			continue;
		pool.copies_bytes += pool.copies[i].bytes;
		pool.copies[n++] = pool.copies[i];
	}
	pool.n_copies = n;
}

/* A copy is as large as was said, and nobody changes it any more. 0, -EBADMSG, -EAGAIN. */
static int take_copy(int fd, const struct ep_proc_file *file)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
	struct stat st;
	uint64_t bytes;
	int r = 0;

	if (fstat(fd, &st) < 0 || (uint64_t)st.st_size != file->bytes ||
	    (fcntl(fd, F_GET_SEALS) & seals) != seals)
		return -EBADMSG;
	bytes = (uint64_t)st.st_blocks * 512;
	pthread_mutex_lock(&pool.mutex);
	if (pool.n_copies == MAX_COPIES || pool.copies_bytes + bytes > EP_READER_FILES_BYTES)
		forget_closed_copies();
	if (pool.n_copies == MAX_COPIES || pool.copies_bytes + bytes > EP_READER_FILES_BYTES)
		r = -EAGAIN;
	else
		pool.copies[pool.n_copies++] =
			(struct copy){.fd = fd, .inode = st.st_ino, .bytes = bytes};
	pool.copies_bytes += r == 0 ? bytes : 0;
	pthread_mutex_unlock(&pool.mutex);
	return r;
}

static int ask_for_file(const struct ep_reader_request *request, uint64_t dev,
			bool is_identity_only, struct ep_proc_file *ret_file)
{
	const struct silent who = {.dev = dev};
	struct ep_reader_reply reply;
	ep_autoclose int fd = -1;
	int r = ask(request, &who, &reply, &fd, NULL);

	if (r < 0)
		return r;
	if ((fd < 0) != is_identity_only)
		return -EBADMSG;
	r = is_identity_only ? 0 : take_copy(fd, &reply.file);
	if (r < 0)
		return r;
	*ret_file = reply.file;
	ret_file->view = (struct ep_proc_view){0};
	ret_file->start_ns = 0;
	ret_file->fd = ep_take_fd(fd);
	return 0;
}

static int fill(struct ep_reader_request *request, uint32_t op, pid_t pid, const char *path)
{
	*request = (struct ep_reader_request){.op = op, .pid = pid};
	if (strlen(path) >= sizeof(request->path))
		return -ENAMETOOLONG;
	memcpy(request->path, path, strlen(path));
	return 0;
}

int ep_readers_open_mapping(pid_t pid, const struct ep_mapping *mapping, uint64_t dev,
			    bool is_identity_only, struct ep_proc_file *ret_file)
{
	struct ep_reader_request request;
	int r = fill(&request, is_identity_only ? EP_READER_STAT_MAPPING : EP_READER_OPEN_MAPPING,
		     pid, mapping->path ? mapping->path : "");

	if (r < 0)
		return r;
	request.mapping = *mapping;
	request.mapping.path = NULL;
	return ask_for_file(&request, dev, is_identity_only, ret_file);
}

int ep_readers_open_range(pid_t pid, uint64_t start, uint64_t end, uint64_t dev,
			  struct ep_proc_file *ret_file)
{
	struct ep_reader_request request;

	(void)fill(&request, EP_READER_OPEN_RANGE, pid, "");
	request.mapping = (struct ep_mapping){.start = start, .end = end};
	return ask_for_file(&request, dev, false, ret_file);
}

int ep_readers_open_below(pid_t pid, const char *path, uint64_t dev, struct ep_proc_file *ret_file)
{
	struct ep_reader_request request;
	int r = fill(&request, EP_READER_OPEN_BELOW, pid, path);

	return r < 0 ? r : ask_for_file(&request, dev, false, ret_file);
}

/* --- the end --------------------------------------------------------------------------------- */

struct ep_readers_stats ep_readers_stats(void)
{
	struct ep_readers_stats stats;

	pthread_mutex_lock(&pool.mutex);
	stats = pool.stats;
	pthread_mutex_unlock(&pool.mutex);
	return stats;
}

void ep_readers_end(void)
{
	if (!atomic_exchange(&pool.is_there, false))
		return;
	for (size_t i = 0; i < EP_READERS; i++) {
		if (pool.readers[i].pid)
			reader_drop(&pool.readers[i]);
	}
	ep_closep(&pool.zygote);
	pool.zygote = -1;
	for (int i = 0; i < END_TRIES && waitpid(pool.zygote_pid, NULL, WNOHANG) == 0; i++)
		(void)usleep(END_STEP_US);
	pool.n_silent = 0;
	pool.free_ns = 0;
	pool.stats = (struct ep_readers_stats){0};
}
