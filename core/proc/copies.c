/* SPDX-License-Identifier: Apache-2.0 */
#include "core/proc/copies.h"
#include "core/base/work.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#define MAX_COPIES 512

struct copy {
	int fd;
	uint64_t inode, bytes;
	size_t charged;
};

/* One for the process, as are the readers. */
static struct {
	pthread_mutex_t mutex;
	struct copy copies[MAX_COPIES];
	size_t n;
	uint64_t bytes;
	struct ep_memory_budget *memory;
} all = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* The descriptor may have been closed, and its number given to another file. */
static bool is_open(const struct copy *copy)
{
	struct stat st;

	return fstat(copy->fd, &st) == 0 && st.st_ino == copy->inode && st.st_uid == geteuid();
}

/* Under the mutex. */
static void forget_closed(void)
{
	size_t n = 0;

	all.bytes = 0;
	for (size_t i = 0; i < all.n; i++) {
		if (!is_open(&all.copies[i])) {
			ep_memory_budget_give(all.memory, all.copies[i].charged);
			continue;
		}
		all.bytes += all.copies[i].bytes;
		all.copies[n++] = all.copies[i];
	}
	all.n = n;
}

void ep_copies_set_memory(struct ep_memory_budget *memory)
{
	pthread_mutex_lock(&all.mutex);
	for (size_t i = 0; i < all.n; i++)
		all.copies[i].charged = 0;
	all.memory = memory;
	pthread_mutex_unlock(&all.mutex);
}

void ep_copies_forget_memory(const struct ep_memory_budget *memory)
{
	pthread_mutex_lock(&all.mutex);
	for (size_t i = 0; all.memory == memory && i < all.n; i++)
		all.copies[i].charged = 0;
	all.memory = all.memory == memory ? NULL : all.memory;
	pthread_mutex_unlock(&all.mutex);
}

int ep_copies_charge(size_t bytes)
{
	int r;

	pthread_mutex_lock(&all.mutex);
	forget_closed();
	r = ep_memory_budget_take(all.memory, bytes);
	pthread_mutex_unlock(&all.mutex);
	return r < 0 ? -EAGAIN : 0;
}

void ep_copies_give_back(size_t bytes)
{
	pthread_mutex_lock(&all.mutex);
	ep_memory_budget_give(all.memory, bytes);
	pthread_mutex_unlock(&all.mutex);
}

/* Call it with the mutex locked. Holes were charged as well: their bytes are given back. */
static int add(struct copy copy, size_t charged)
{
	forget_closed();
	if (all.n == MAX_COPIES || all.bytes + copy.bytes > EP_COPIES_BYTES) {
		ep_memory_budget_give(all.memory, charged);
		return -EAGAIN;
	}
	copy.charged = (size_t)EP_MIN(copy.bytes, (uint64_t)charged);
	ep_memory_budget_give(all.memory, charged - copy.charged);
	all.copies[all.n++] = copy;
	all.bytes += copy.bytes;
	return 0;
}

int ep_copies_add(int fd, const struct ep_proc_file *file, size_t charged)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0 || (uint64_t)st.st_size != file->bytes ||
	    (fcntl(fd, F_GET_SEALS) & seals) != seals) {
		ep_copies_give_back(charged);
		return -EBADMSG;
	}
	pthread_mutex_lock(&all.mutex);
	r = add((struct copy){.fd = fd, .inode = st.st_ino, .bytes = (uint64_t)st.st_blocks * 512}, charged);
	pthread_mutex_unlock(&all.mutex);
	return r;
}

void ep_copies_move(int from, int to)
{
	pthread_mutex_lock(&all.mutex);
	for (size_t i = 0; i < all.n; i++) {
		if (all.copies[i].fd == from && is_open(&all.copies[i]))
			all.copies[i].fd = to;
	}
	pthread_mutex_unlock(&all.mutex);
}

uint64_t ep_copies_bytes(void)
{
	uint64_t bytes;

	pthread_mutex_lock(&all.mutex);
	forget_closed();
	bytes = all.bytes;
	pthread_mutex_unlock(&all.mutex);
	return bytes;
}
