/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader belongs to the thread that asks it, from reader_acquire to reader_release; the rest is
 * under the mutex. Nobody waits for a process: the zygote does, and for the zygote nobody, since it
 * ends by itself.
 */
#include "core/proc/readers.h"
#include "core/base/log.h"
#include "core/proc/copies.h"
#include "core/proc/process.h"
#include "core/proc/reader.h"
#include "core/proc/silent.h"

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
#define PAGE_BYTES     4096

struct reader {
	int channel;
	pid_t pid; /* 0: there is none */
	struct ep_reader_shared *shared;
	bool is_busy;
};

/* One for the process, as is who forks, and as are pids: whoever reads memory has nothing but a
 * pid. */
static struct {
	pthread_mutex_t mutex, zygote_mutex;
	pthread_cond_t released;
	int zygote; /* channel, -1: none */
	pid_t zygote_pid;
	uint64_t zygote_requests; /* under zygote_mutex */
	_Atomic bool is_there;
	_Atomic uint64_t late_ns;
	struct reader readers[EP_READERS];
	struct ep_silents silents;
	uint64_t free_ns; /* while this is far ahead of now, too many were late */
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

void ep_readers_try_after(uint64_t ns)
{
	pthread_mutex_lock(&pool.mutex);
	pool.silents.first_ns = ns;
	pthread_mutex_unlock(&pool.mutex);
}

/* The caller has zygote_mutex. */
static void zygote_kill(pid_t pid)
{
	const struct ep_zygote_request request = {.op = EP_ZYGOTE_KILL, .pid = pid};

	(void)ep_reader_send(pool.zygote, &request, sizeof(request), NULL, 0);
}

static void kill_reader(pid_t pid)
{
	pthread_mutex_lock(&pool.zygote_mutex);
	zygote_kill(pid);
	pthread_mutex_unlock(&pool.zygote_mutex);
}

/*
 * The reply to this request: a pid, or -errno; -ETIME: it is late. The reply to an earlier request, which came late, is
 * of a reader that nobody wants any more.
 */
static int zygote_wait(uint64_t number)
{
	uint64_t end_ns = ep_clock_mono_ns() + ZYGOTE_WAIT_MS * EP_NS_PER_MS, now_ns;
	struct pollfd answer = {.fd = pool.zygote, .events = POLLIN};
	struct ep_zygote_reply reply;
	int r;

	while ((now_ns = ep_clock_mono_ns()) < end_ns) {
		if (poll(&answer, 1, (int)((end_ns - now_ns) / EP_NS_PER_MS) + 1) <= 0)
			continue;
		r = ep_reader_receive(pool.zygote, &reply, sizeof(reply), NULL, 0);
		if (r < 0)
			return r;
		if (reply.number == number)
			return reply.pid ? reply.pid : -EBADMSG;
		if (reply.pid > 0)
			zygote_kill(reply.pid);
	}
	return -ETIME;
}

/* Starts a reader. Its pid, or -errno. */
static int ask_zygote(const int fds[2])
{
	struct ep_zygote_request request = {.op = EP_ZYGOTE_START};
	int r;

	pthread_mutex_lock(&pool.zygote_mutex);
	request.number = ++pool.zygote_requests;
	r = ep_reader_send(pool.zygote, &request, sizeof(request), fds, 2);
	if (r == 0)
		r = zygote_wait(request.number);
	pthread_mutex_unlock(&pool.zygote_mutex);
	return r;
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

static enum ep_silent_answer ask_silents(const struct ep_silent *who)
{
	enum ep_silent_answer answer;

	pthread_mutex_lock(&pool.mutex);
	answer = ep_silents_ask(&pool.silents, who, ep_clock_mono_ns());
	pthread_mutex_unlock(&pool.mutex);
	return answer;
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

static void add_silent(const struct ep_silent *silent, bool is_try, pid_t reader)
{
	uint64_t now_ns = ep_clock_mono_ns(), wait_ns;
	struct ep_process_info info = {0};

	if (ep_process_read_stat(reader, &info) < 0)
		reader = 0;
	pthread_mutex_lock(&pool.mutex);
	pool.free_ns = EP_MAX(pool.free_ns, now_ns) + EP_READERS_REFILL_NS;
	wait_ns = ep_silents_add(&pool.silents, silent, is_try, reader, info.start_ns, now_ns);
	pool.stats.late++;
	pthread_mutex_unlock(&pool.mutex);
	if (silent->pid)
		ep_log(EP_LOG_INFO,
		       "readers: pid %d: its memory does not come; it is not read again",
		       (int)silent->pid);
	else
		ep_log(EP_LOG_INFO,
		       "readers: device %u:%u does not answer; it is asked again in %.0f s",
		       major(silent->dev), minor(silent->dev), (double)wait_ns / EP_NS_PER_SEC);
}

/* The device was tried again and was not late. */
static void end_try(const struct ep_silent *silent, bool has_answered)
{
	pthread_mutex_lock(&pool.mutex);
	ep_silents_tried(&pool.silents, silent, has_answered);
	pthread_mutex_unlock(&pool.mutex);
	if (has_answered)
		ep_log(EP_LOG_INFO, "readers: device %u:%u answers again", major(silent->dev),
		       minor(silent->dev));
}

/* --- one request ----------------------------------------------------------------------------- */

/* Gives ret_reader in every case in which it was not dropped: 0, or what the reader reported. */
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

/* ret_answered: whether it was the reader who reported it. */
static int ask_reader(const struct ep_reader_request *request, const struct ep_silent *who, bool is_try,
		      struct ep_reader_reply *ret_reply, int *ret_fd, void *buf, bool *ret_answered)
{
	struct reader *reader;
	pid_t pid;
	int r = reader_acquire(&reader);

	if (r < 0)
		return r;
	pid = reader->pid;
	r = reader_ask(reader, request, ret_reply, ret_fd);
	*ret_answered = r == 0;
	if (r == 0)
		r = result_of(ret_reply);
	if (r == 0 && buf && (ret_reply->bytes == 0 || ret_reply->bytes > request->bytes))
		r = -EBADMSG;
	if (r == 0 && buf)
		memcpy(buf, reader->shared->data, (size_t)ret_reply->bytes);
	if (r == -ETIMEDOUT && !*ret_answered)
		add_silent(who, is_try, pid);
	reader_release(reader);
	return r;
}

static int ask(const struct ep_reader_request *request, const struct ep_silent *who,
	       struct ep_reader_reply *ret_reply, int *ret_fd, void *buf)
{
	enum ep_silent_answer silent;
	bool has_answered = false;
	int r;

	*ret_fd = -1;
	if (!atomic_load(&pool.late_ns))
		return -ECANCELED;
	silent = ask_silents(who);
	if (silent == EP_SILENT_YES)
		return -ETIMEDOUT;
	if (are_too_many_late())
		r = -EAGAIN;
	else
		r = ask_reader(request, who, silent == EP_SILENT_TRY, ret_reply, ret_fd, buf,
			       &has_answered);
	if (silent == EP_SILENT_TRY && (has_answered || r != -ETIMEDOUT))
		end_try(who, has_answered);
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
	struct ep_silent who = {.pid = pid};
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

/* By its size, since nobody knows its holes yet. 0, -EAGAIN there is no memory for it now, and others. */
static int charge_copy(struct ep_reader_request *request, const struct ep_silent *who,
		       size_t *ret_charged)
{
	struct ep_reader_reply reply;
	ep_autoclose int fd = -1;
	uint64_t bytes;
	int r;

	request->bytes = 0;
	r = ask(request, who, &reply, &fd, NULL);
	if (r < 0)
		return r;
	bytes = EP_MAX(EP_MIN(reply.file.bytes, EP_READER_FILE_BYTES), (uint64_t)PAGE_BYTES);
	bytes = EP_ALIGN_UP(bytes, (uint64_t)PAGE_BYTES);
	r = fd >= 0 ? -EBADMSG : ep_copies_charge((size_t)bytes);
	if (r < 0)
		return r;
	request->bytes = bytes;
	*ret_charged = (size_t)bytes;
	return 0;
}

static int ask_for_copy(struct ep_reader_request *request, const struct ep_silent *who,
			struct ep_reader_reply *ret_reply, int *ret_fd)
{
	size_t charged = 0;
	int r = charge_copy(request, who, &charged);

	if (r < 0)
		return r;
	r = ask(request, who, ret_reply, ret_fd, NULL);
	if (r == 0 && *ret_fd >= 0)
		return ep_copies_add(*ret_fd, &ret_reply->file, charged);
	ep_copies_give_back(charged);
	return r < 0 ? r : -EBADMSG;
}

static int ask_for_file(struct ep_reader_request *request, uint64_t dev, bool is_identity_only,
			struct ep_proc_file *ret_file)
{
	const struct ep_silent who = {.dev = dev};
	struct ep_reader_reply reply;
	ep_autoclose int fd = -1;
	int r = is_identity_only ? ask(request, &who, &reply, &fd, NULL)
				 : ask_for_copy(request, &who, &reply, &fd);

	if (r < 0)
		return r;
	if ((fd < 0) != is_identity_only)
		return -EBADMSG;
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
	pool.silents = (struct ep_silents){0};
	pool.free_ns = 0;
	pool.stats = (struct ep_readers_stats){0};
}
