/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers over children of this test. One that is stopped (SIGSTOP) is one that hangs in the
 * kernel, as far as who asks can see.
 */
#include "core/base/clock.h"
#include "core/base/work.h"
#include "core/proc/copies.h"
#include "core/proc/process.h"
#include "core/proc/reader.h"
#include "core/proc/readers.h"
#include "core/proc/suspects.h"
#include "tests/kit/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Nobody is late by accident on a busy machine. */
#define LONG_NS	 (120 * EP_NS_PER_SEC)
#define SHORT_NS (50 * EP_NS_PER_MS)

static const char text[] = "what a process has in its memory";

/* --- a world of a child whose memory is ours, and of readers ---------------------------------- */

struct world {
	pid_t children[2];
};

static pid_t start_child(void)
{
	pid_t parent = getpid(), pid = fork();

	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == parent)
		pause();
	_exit(0);
}

static int start_world(void **state)
{
	static struct world world;

	for (size_t i = 0; i < EP_LEN(world.children); i++)
		world.children[i] = start_child();
	if (ep_readers_prepare(NULL) < 0)
		return -1;
	ep_readers_wait_at_most(LONG_NS);
	*state = &world;
	return 0;
}

static int end_world(void **state)
{
	struct world *world = *state;

	ep_readers_end();
	for (size_t i = 0; i < EP_LEN(world->children); i++)
		kill(world->children[i], SIGKILL);
	while (waitpid(-1, NULL, 0) > 0) /* the zygote as well: it ends with its channel */
		;
	return 0;
}

/* How many children of a process have this name and have not ended. */
static size_t find_children(pid_t parent, const char *comm, pid_t *ret_last)
{
	struct ep_process_info info;
	struct ep_vec pids;
	size_t n = 0;
	pid_t *pid;

	*ret_last = 0;

	ep_vec_init(&pids, sizeof(pid_t), 1 << 20);
	assert_int_equal(ep_process_list(&pids), 0);
	ep_vec_each (&pids, pid) {
		if (ep_process_read_stat(*pid, &info) == 0 && strcmp(info.comm, comm) == 0 &&
		    info.state != 'Z' && info.parent_pid == parent) {
			*ret_last = *pid;
			n++;
		}
	}
	ep_vec_fini(&pids);
	return n;
}

static pid_t find_zygote(void)
{
	pid_t pid;

	while (find_children(getpid(), "profiler-zygote", &pid) == 0) /* until it has its name */
		usleep(1000);
	return pid;
}

/* 0: none. */
static pid_t find_reader(void)
{
	pid_t pid;

	(void)find_children(find_zygote(), "profiler-reader", &pid);
	return pid;
}

static void stop(pid_t pid)
{
	struct ep_process_info info = {0};

	assert_true(pid > 0);
	assert_int_equal(kill(pid, SIGSTOP), 0);
	while (info.state != 'T') {
		usleep(1000);
		assert_int_equal(ep_process_read_stat(pid, &info), 0);
	}
}

static void stop_reader(void)
{
	stop(find_reader());
}

static int read_text(pid_t pid)
{
	char buf[sizeof(text)] = "";
	size_t n = 0;
	int r = ep_readers_memory(pid, (uintptr_t)text, buf, sizeof(buf), &n);

	if (r == 0) {
		assert_int_equal(n, sizeof(text));
		assert_string_equal(buf, text);
	}
	return r;
}

/* One in memory, by a path that others see as well. */
static int make_file(char path[64])
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	assert_true(fd >= 0);
	snprintf(path, 64, "/proc/%d/fd/%d", (int)getpid(), fd);
	return fd;
}

/* What a reader says when it is asked for a file of a device. */
static int open_once(const char *path, uint64_t dev)
{
	struct ep_proc_file file;
	int r = ep_readers_open_below(0, path, dev, &file);

	if (r == 0)
		ep_proc_file_close(&file);
	return r;
}

/* The one that there is does not answer; then all are waited for again. */
static void be_late(const char *path, uint64_t dev)
{
	stop_reader();
	ep_readers_wait_at_most(SHORT_NS);
	assert_int_equal(open_once(path, dev), -ETIMEDOUT);
	ep_readers_wait_at_most(LONG_NS);
}

#define READERS_TEST(name) EP_TEST_ON(name, struct world *w, start_world, end_world)

/* --- memory ---------------------------------------------------------------------------------- */

READERS_TEST(nobody_is_started_before_somebody_asks)
{
	assert_true(ep_readers_are_there());
	assert_int_equal(find_reader(), 0);
	assert_int_equal(read_text(w->children[0]), 0);
	assert_true(find_reader() > 0);
	assert_int_equal(ep_readers_stats().started, 1);
}

READERS_TEST(a_reader_reads_what_we_would)
{
	char buf[16];
	size_t n;

	assert_int_equal(read_text(w->children[0]), 0);
	assert_int_equal(ep_readers_memory(w->children[0], 8, buf, sizeof(buf), &n), -EFAULT);
	assert_int_equal(ep_readers_memory(INT32_MAX, 8, buf, sizeof(buf), &n), -ESRCH);
	assert_int_equal(ep_readers_stats().started, 1);
}

READERS_TEST(long_reads_are_cut)
{
	size_t bytes = 2 * EP_READER_DATA_BYTES, n = 0;
	char *area = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *buf = malloc(bytes);
	pid_t child;

	assert_true(area != MAP_FAILED && buf);
	memset(area, 7, bytes);
	child = start_child();
	assert_int_equal(ep_readers_memory(child, (uintptr_t)area, buf, bytes, &n), 0);
	assert_int_equal(n, EP_READER_DATA_BYTES);
	assert_memory_equal(buf, area, n);
	kill(child, SIGKILL);
	free(buf);
	munmap(area, bytes);
}

READERS_TEST(who_is_late_is_replaced_and_not_asked_again)
{
	uint64_t requests;

	assert_int_equal(read_text(w->children[0]), 0);
	stop_reader();
	ep_readers_wait_at_most(SHORT_NS);
	assert_int_equal(read_text(w->children[0]), -ETIMEDOUT);
	assert_int_equal(ep_readers_stats().late, 1);
	ep_readers_wait_at_most(LONG_NS);
	requests = ep_readers_stats().requests;
	assert_int_equal(read_text(w->children[0]), -ETIMEDOUT);
	assert_int_equal(ep_readers_stats().requests, requests);
	assert_int_equal(read_text(w->children[1]), 0);
	assert_int_equal(ep_readers_stats().started, 2);
}

/* Who makes processes that do not answer, one after the other, does not occupy us for ever. */
READERS_TEST(not_all_of_very_many_are_waited_for)
{
	char path[64];
	ep_autoclose int fd = make_file(path);
	uint64_t begin_ns = ep_clock_mono_ns();

	for (uint64_t dev = 1; dev <= EP_READERS_MAX_LATE; dev++) {
		ep_readers_wait_at_most(LONG_NS);
		assert_int_equal(open_once(path, 1000), 0);
		stop_reader();
		ep_readers_wait_at_most(1);
		assert_int_equal(open_once(path, dev), -ETIMEDOUT);
	}
	ep_readers_wait_at_most(LONG_NS);
	if (ep_clock_mono_ns() - begin_ns < EP_READERS_REFILL_NS)
		assert_int_equal(open_once(path, 1000), -EAGAIN);
}

static void *read_first(void *arg)
{
	struct world *w = arg;

	return (void *)(intptr_t)read_text(w->children[0]);
}

READERS_TEST(nobody_waits_when_all_ends)
{
	pthread_t thread;
	void *result;

	assert_int_equal(read_text(w->children[0]), 0);
	stop_reader();
	assert_int_equal(pthread_create(&thread, NULL, read_first, w), 0);
	while (ep_readers_stats().requests < 2)
		usleep(1000);
	ep_readers_wait_at_most(0);
	pthread_join(thread, &result);
	assert_int_equal((intptr_t)result, -ECANCELED);
	assert_int_equal(read_text(w->children[1]), -ECANCELED);
	assert_int_equal(ep_readers_stats().late, 0);
}

READERS_TEST(a_reader_that_dies_is_replaced)
{
	assert_int_equal(read_text(w->children[0]), 0);
	assert_int_equal(kill(find_reader(), SIGKILL), 0);
	assert_int_equal(read_text(w->children[0]), -EIO);
	assert_int_equal(read_text(w->children[0]), 0);
	assert_int_equal(ep_readers_stats().started, 2);
}

/* The reader that it starts then is nobody's, and not taken for that of the next request: the right one is killed. */
READERS_TEST(a_zygote_that_is_late_answers_who_asked)
{
	pid_t zygote = find_zygote(), late;

	stop(zygote);
	assert_int_equal(read_text(w->children[0]), -ETIME);
	kill(zygote, SIGCONT);
	assert_int_equal(read_text(w->children[0]), 0);
	while (find_children(zygote, "profiler-reader", &late) != 1)
		usleep(1000);
	stop(late);
	ep_readers_wait_at_most(SHORT_NS);
	assert_int_equal(read_text(w->children[0]), -ETIMEDOUT);
	while (find_reader() == late)
		usleep(1000);
}

/* --- files ----------------------------------------------------------------------------------- */

READERS_TEST(a_file_is_copied_with_its_identity)
{
	struct ep_proc_file file, direct;
	char path[64], buf[sizeof(text)];
	ep_autoclose int fd = make_file(path);
	struct stat st;

	assert_int_equal(ftruncate(fd, 3 << 20), 0);
	assert_int_equal(pwrite(fd, text, sizeof(text), 2 << 20), sizeof(text));
	assert_int_equal(ep_proc_open_path(path, &direct), 0);
	assert_int_equal(ep_readers_open_below(0, path, 1, &file), 0);
	assert_true(ep_proc_file_is_same(&file, &direct));
	assert_int_equal(fstat(file.fd, &st), 0);
	assert_int_equal(st.st_size, 3 << 20);
	assert_int_equal(st.st_mtim.tv_sec * (int64_t)EP_NS_PER_SEC + st.st_mtim.tv_nsec,
			 direct.mtime_ns);
	assert_true((uint64_t)st.st_blocks * 512 <= 128 << 10); /* holes are holes */
	assert_int_equal(pread(file.fd, buf, sizeof(buf), 2 << 20), sizeof(buf));
	assert_string_equal(buf, text);
	assert_int_equal(write(file.fd, "x", 1), -1);
	ep_proc_file_close(&file);
	ep_proc_file_close(&direct);
}

READERS_TEST(a_mapped_file_is_found)
{
	struct ep_proc_file file, direct;
	const struct ep_mapping *mapping;
	struct ep_maps maps;

	ep_maps_init(&maps, 4096);
	assert_int_equal(ep_maps_read(&maps, w->children[0], EP_MAPS_ALL), 0);
	mapping = ep_maps_find(&maps, (uintptr_t)text);
	assert_non_null(mapping);
	assert_int_equal(ep_readers_open_mapping(w->children[0], mapping, 1, false, &file), 0);
	assert_int_equal(ep_proc_open_mapping(w->children[0], mapping, &direct), 0);
	assert_true(ep_proc_file_is_same(&file, &direct));
	ep_proc_file_close(&file);
	assert_int_equal(ep_readers_open_mapping(w->children[0], mapping, 1, true, &file), 0);
	assert_int_equal(file.fd, -1);
	assert_true(ep_proc_file_is_same(&file, &direct));
	ep_proc_file_close(&direct);
	ep_maps_fini(&maps);
}

READERS_TEST(too_large_a_file_is_refused)
{
	char path[64];
	ep_autoclose int fd = make_file(path);
	char *block = malloc(1 << 20);

	memset(block, 1, 1 << 20);
	for (uint64_t at = 0; at <= EP_READER_FILE_BYTES; at += 1 << 20)
		assert_int_equal(pwrite(fd, block, 1 << 20, (off_t)at), 1 << 20);
	free(block);
	assert_int_equal(open_once(path, 1), -E2BIG);
	assert_int_equal(open_once("/nowhere/at/all", 1), -ENOENT);
}

READERS_TEST(a_device_that_is_late_is_not_asked_again)
{
	char path[64];
	ep_autoclose int fd = make_file(path);

	assert_int_equal(open_once(path, 1), 0);
	be_late(path, 1);
	assert_int_equal(open_once(path, 1), -ETIMEDOUT);
	assert_int_equal(open_once(path, 2), 0);
}

READERS_TEST(a_device_that_answers_again_is_read)
{
	char path[64];
	ep_autoclose int fd = make_file(path);
	int r;

	ep_readers_try_after(1);
	assert_int_equal(open_once(path, 1), 0);
	be_late(path, 1);
	/* Until the one that was late has ended. */
	while ((r = open_once(path, 1)) == -ETIMEDOUT)
		usleep(1000);
	assert_int_equal(r, 0);
	assert_int_equal(open_once(path, 1), 0);
	assert_int_equal(ep_readers_stats().late, 1);
}

/* --- memory of copies ------------------------------------------------------------------------ */

#define MIB ((size_t)1 << 20)

/* Of so much data, the rest of its size is a hole. */
static int make_large_file(char path[64], size_t data_bytes, size_t bytes)
{
	int fd = make_file(path);
	char *block = malloc(data_bytes);

	memset(block, 1, data_bytes);
	assert_int_equal(pwrite(fd, block, data_bytes, 0), data_bytes);
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	free(block);
	return fd;
}

READERS_TEST(a_copy_is_taken_from_the_budget_while_it_is_open)
{
	struct ep_memory_budget memory = {.limit = 4 * MIB};
	struct ep_proc_file first;
	char path[64];
	ep_autoclose int fd = make_large_file(path, 3 * MIB, 3 * MIB);
	uint64_t requests;

	ep_copies_set_memory(&memory);
	assert_int_equal(ep_readers_open_below(0, path, 1, &first), 0);
	assert_int_equal(memory.used, 3 * MIB);
	assert_true(ep_copies_bytes() >= 3 * MIB);
	requests = ep_readers_stats().requests;
	assert_int_equal(open_once(path, 1), -EAGAIN);
	assert_int_equal(ep_readers_stats().requests, requests + 1); /* nothing was copied */
	assert_int_equal(memory.used, 3 * MIB);
	assert_int_equal(memory.refused, 1);
	ep_proc_file_close(&first);
	assert_int_equal(open_once(path, 1), 0);
	assert_int_equal(ep_copies_bytes(), 0);
	assert_int_equal(memory.used, 0);
	ep_copies_set_memory(NULL);
}

READERS_TEST(what_fits_never_is_refused_for_now)
{
	struct ep_memory_budget memory = {.limit = MIB};
	char path[64];
	ep_autoclose int fd = make_large_file(path, 2 * MIB, 2 * MIB);

	ep_copies_set_memory(&memory);
	assert_int_equal(open_once(path, 1), -EAGAIN);
	assert_int_equal(memory.used, 0);
	memory.limit = 2 * MIB; /* others need less by now */
	assert_int_equal(open_once(path, 1), 0);
	ep_copies_set_memory(NULL);
}

READERS_TEST(holes_are_given_back)
{
	struct ep_memory_budget memory = {.limit = 4 * MIB};
	struct ep_proc_file file;
	char path[64];
	ep_autoclose int fd = make_large_file(path, 4096, 4 * MIB);

	ep_copies_set_memory(&memory);
	assert_int_equal(ep_readers_open_below(0, path, 1, &file), 0);
	assert_true(memory.used > 0 && memory.used <= 128 << 10);
	assert_int_equal(open_once("/nowhere/at/all", 1), -ENOENT);
	assert_true(memory.used <= 128 << 10);
	ep_proc_file_close(&file);
	ep_copies_set_memory(NULL);
}

/* --- the other side -------------------------------------------------------------------------- */

EP_TEST(a_request_that_makes_no_sense_is_refused)
{
	struct ep_reader_request *request = calloc(1, sizeof(*request));
	struct ep_reader_shared *shared = calloc(1, sizeof(*shared));
	struct ep_reader_reply reply;
	int fd;

	request->op = 99;
	ep_reader_handle(request, shared, &reply, &fd);
	assert_int_equal(reply.result, -EINVAL);
	request->op = EP_READER_MEMORY;
	request->pid = getpid();
	request->bytes = EP_READER_DATA_BYTES + 1;
	ep_reader_handle(request, shared, &reply, &fd);
	assert_int_equal(reply.result, -EINVAL);
	request->op = EP_READER_OPEN_BELOW;
	request->pid = 0;
	memset(request->path, 'a', sizeof(request->path));
	ep_reader_handle(request, shared, &reply, &fd);
	assert_true(reply.result < 0);
	assert_int_equal(fd, -1);
	free(request);
	free(shared);
}

EP_TEST(messages_keep_their_bounds)
{
	int ends[2], fds[2];
	char buf[8];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	assert_int_equal(ep_reader_send(ends[0], "1234", 4, ends, 2), 0);
	assert_int_equal(ep_reader_receive(ends[1], buf, 4, fds, 1), -EBADMSG);
	assert_int_equal(ep_reader_send(ends[0], "1234", 4, NULL, 0), 0);
	assert_int_equal(ep_reader_receive(ends[1], buf, 8, NULL, 0), -EBADMSG);
	assert_int_equal(ep_reader_send(ends[0], "12345678", 8, NULL, 0), 0);
	assert_int_equal(ep_reader_receive(ends[1], buf, 4, NULL, 0), -EBADMSG);
	assert_int_equal(ep_reader_send(ends[0], "1234", 4, ends, 1), 0);
	assert_int_equal(ep_reader_receive(ends[1], buf, 4, fds, 2), 0);
	assert_true(fds[0] >= 0 && fds[1] == -1);
	close(fds[0]);
	close(ends[0]);
	assert_int_equal(ep_reader_receive(ends[1], buf, 4, NULL, 0), -ECONNRESET);
	close(ends[1]);
}

EP_TEST(suspects_are_remembered)
{
	for (pid_t pid = 100000; pid < 100500; pid++)
		ep_suspects_add(pid);
	for (pid_t pid = 100000; pid < 100500; pid++)
		assert_true(ep_suspects_has(pid));
	assert_false(ep_suspects_has(99));
	assert_false(ep_suspects_has(0));
}
