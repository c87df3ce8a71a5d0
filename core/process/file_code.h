/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instructions of executables, from their files, for deferred unwinding. A file may lie on a disk,
 * in a network, or in somebody's FUSE: the loop's thread takes only what the kernel has in its page
 * cache, and a worker reads the rest. Those bytes are remembered, for whoever asks again.
 *
 * Loop's thread only.
 */
#ifndef EP_PROCESS_FILE_CODE_H
#define EP_PROCESS_FILE_CODE_H

#include "core/base/util.h"

#include <sys/types.h>

struct ep_file_code;
struct ep_executables;
struct uv_loop_s;

struct ep_file_code_options {
	struct uv_loop_s *loop; /* NULL: nothing but the page cache is asked */
	struct ep_executables *executables;
	/* Reads as pread does; with `at_once` only what needs no wait. Any thread calls it. NULL: pread itself. */
	ssize_t (*read)(int fd, void *buf, size_t bytes, off_t off, bool at_once);
	void (*done)(void *arg); /* what a worker was to read is there, or will never be */
	void *arg;
};

int ep_file_code_new(const struct ep_file_code_options *options, struct ep_file_code **ret_code);
void ep_file_code_free(
	struct ep_file_code *code); /* no worker may be at it: ep_file_code_busy; accepts NULL */

/*
 * Eight bytes or less, at an ELF virtual address of an executable. All or nothing: 0, -EFAULT, or
 * -EAGAIN: a worker reads it, ask again after `done`.
 */
int ep_file_code_read(struct ep_file_code *code, uint32_t executable, uint64_t va, void *buf,
		      size_t bytes);
bool ep_file_code_busy(const struct ep_file_code *code);
/* How often a worker was done. */
uint64_t ep_file_code_turn(const struct ep_file_code *code);

#endif
