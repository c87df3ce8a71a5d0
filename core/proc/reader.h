/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other side of core/proc/readers.h: the zygote and its readers, and what is sent between them
 * and us. All messages have one size each, on sockets that keep their bounds (SOCK_SEQPACKET); what
 * is in them is checked on both sides, since a reader looks into hostile files.
 */
#ifndef EP_PROC_READER_H
#define EP_PROC_READER_H

#include "core/proc/open.h"

#include <limits.h>
#include <stdatomic.h>

enum ep_reader_op {
	EP_READER_MEMORY,
	EP_READER_OPEN_MAPPING,
	EP_READER_STAT_MAPPING,
	EP_READER_OPEN_RANGE,
	EP_READER_OPEN_BELOW, /* by its path below the root of pid; 0: by a path of ours */
};

struct ep_reader_request {
	uint32_t op; /* enum ep_reader_op */
	int32_t pid;
	uint64_t addr, bytes;	   /* of memory; bytes of a file: what its copy may take, 0: none is made */
	struct ep_mapping mapping; /* its path is below */
	char path[PATH_MAX + 16];  /* with a NUL */
};

struct ep_reader_reply {
	int32_t result;
	uint32_t pad;
	uint64_t bytes;		  /* of memory, in the shared memory */
	struct ep_proc_file file; /* fd -1: it comes beside */
};

#define EP_READER_DATA_BYTES ((size_t)256 << 10)

/* Shared memory of a reader and us. */
struct ep_reader_shared {
	_Atomic uint64_t progress; /* steps; it is not late while they go on */
	uint8_t pad[4096 - sizeof(uint64_t)];
	uint8_t data[EP_READER_DATA_BYTES];
};

/* To the zygote. */
enum ep_zygote_op {
	EP_ZYGOTE_START, /* with two descriptors: the reader's end of its channel, its shared memory
			  */
	EP_ZYGOTE_KILL,	 /* that reader; no answer */
};
struct ep_zygote_request {
	uint32_t op;
	int32_t pid;
	uint64_t number; /* of EP_ZYGOTE_START; its reply has the same */
};
struct ep_zygote_reply {
	uint64_t number;
	int32_t pid; /* or -errno */
	uint32_t pad;
};
#define EP_ZYGOTE_MAX_READERS 8 /* at once, those that hang in the kernel included */

/* One message with at most two descriptors, which stay the caller's. 0, -errno. */
int ep_reader_send(int fd, const void *message, size_t bytes, const int *fds, size_t n_fds);
/*
 * Gives descriptors, at most `max_fds` <= 2; the others are -1. 0, -ECONNRESET the other side has
 * ended, -EBADMSG another size than `bytes`, -EAGAIN, -errno.
 */
int ep_reader_receive(int fd, void *message, size_t bytes, int *ret_fds, size_t max_fds);

/* Both do not return. */
void ep_zygote_run(int channel, pid_t parent, void (*limit)(void)) __attribute__((noreturn));
void ep_reader_run(int channel, struct ep_reader_shared *shared) __attribute__((noreturn));
/* True in a reader: there all is read directly. */
bool ep_reader_is_one(void);
/* What is done for one request; for tests. Gives the copy's descriptor, or -1. */
void ep_reader_handle(struct ep_reader_request *request, struct ep_reader_shared *shared,
		      struct ep_reader_reply *ret_reply, int *ret_fd);

#endif
