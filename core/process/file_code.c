/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/file_code.h"
#include "core/base/map.h"
#include "core/process/executables.h"
#include "core/plugin/job.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>

#define MAX_BYTES  8
#define MAX_WANTED 64	/* pieces that wait for the worker */
#define MAX_KNOWN  1024 /* pieces it has read: by a hash, the last one stays */

struct piece {
	uint32_t executable;
	uint32_t bytes;
	uint64_t va;
	int result;
	uint8_t data[MAX_BYTES];
};

struct wanted {
	struct piece piece;
	int fd; /* of its own */
	off_t off;
};

struct ep_file_code {
	struct ep_file_code_options options;
	struct piece known[MAX_KNOWN]; /* bytes 0: none */
	struct wanted wanted[MAX_WANTED], taken[MAX_WANTED];
	size_t n_wanted, n_taken; /* taken: they belong to the worker */
	uint64_t turn;
};

static ssize_t read_file(int fd, void *buf, size_t bytes, off_t off, bool at_once)
{
	struct iovec iov = {.iov_base = buf, .iov_len = bytes};

	return preadv2(fd, &iov, 1, off, at_once ? RWF_NOWAIT : 0);
}

int ep_file_code_new(const struct ep_file_code_options *options, struct ep_file_code **ret_code)
{
	struct ep_file_code *code = calloc(1, sizeof(*code));

	if (!code)
		return -ENOMEM;
	code->options = *options;
	if (!options->read)
		code->options.read = read_file;
	*ret_code = code;
	return 0;
}

void ep_file_code_free(struct ep_file_code *code)
{
	for (size_t i = 0; code && i < code->n_wanted; i++)
		close(code->wanted[i].fd);
	free(code);
}

bool ep_file_code_busy(const struct ep_file_code *code)
{
	return code->n_taken > 0;
}

uint64_t ep_file_code_turn(const struct ep_file_code *code)
{
	return code->turn;
}

static struct piece *known_at(struct ep_file_code *code, const struct piece *piece)
{
	return &code->known[ep_mix64(piece->va ^ (uint64_t)piece->executable << 40) % MAX_KNOWN];
}

static bool is_same(const struct piece *a, const struct piece *b)
{
	return a->executable == b->executable && a->va == b->va && a->bytes == b->bytes;
}

static void run_reads(void *arg)
{
	struct ep_file_code *code = arg;

	for (size_t i = 0; i < code->n_taken; i++) {
		struct wanted *wanted = &code->taken[i];
		struct piece *piece = &wanted->piece;
		ssize_t n = code->options.read(wanted->fd, piece->data, piece->bytes, wanted->off,
					       false);

		piece->result = n == (ssize_t)piece->bytes ? 0 : -EFAULT;
	}
}

static void start_reads(struct ep_file_code *code);

static void finish_reads(void *arg)
{
	struct ep_file_code *code = arg;

	for (size_t i = 0; i < code->n_taken; i++) {
		*known_at(code, &code->taken[i].piece) = code->taken[i].piece;
		close(code->taken[i].fd);
	}
	code->n_taken = 0;
	code->turn++;
	start_reads(code);
	code->options.done(code->options.arg);
}

static void start_reads(struct ep_file_code *code)
{
	size_t n = code->n_wanted;

	if (code->n_taken > 0 || n == 0)
		return;
	memcpy(code->taken, code->wanted, n * sizeof(*code->wanted));
	code->n_taken = n;
	code->n_wanted = 0;
	if (ep_job_run(code->options.loop, run_reads, finish_reads, code) == 0)
		return;
	code->n_taken = 0;
	code->n_wanted = n;
}

/* The process may end meanwhile, and with it our descriptor of the file. */
static int want(struct ep_file_code *code, const struct piece *piece, int fd, off_t off)
{
	struct wanted *wanted = &code->wanted[code->n_wanted];

	for (size_t i = 0; i < code->n_wanted + code->n_taken; i++) {
		if (is_same(i < code->n_wanted ? &code->wanted[i].piece
					       : &code->taken[i - code->n_wanted].piece,
			    piece))
			return -EAGAIN;
	}
	if (!code->options.loop || code->n_wanted == MAX_WANTED)
		return -EFAULT;
	*wanted = (struct wanted){.piece = *piece, .fd = fcntl(fd, F_DUPFD_CLOEXEC, 0), .off = off};
	if (wanted->fd < 0)
		return -EFAULT;
	code->n_wanted++;
	start_reads(code);
	return -EAGAIN;
}

int ep_file_code_read(struct ep_file_code *code, uint32_t executable, uint64_t va, void *buf,
		      size_t bytes)
{
	const struct ep_executable *of = ep_executables_find(code->options.executables, executable);
	struct piece piece = {.executable = executable, .va = va, .bytes = (uint32_t)bytes};
	const struct piece *known = known_at(code, &piece);

	if (is_same(known, &piece)) {
		if (known->result == 0)
			memcpy(buf, known->data, bytes);
		return known->result;
	}
	for (size_t i = 0; of && bytes <= MAX_BYTES && i < of->n_segments; i++) {
		const struct ep_elf_segment *segment = &of->segments[i];
		off_t off = (off_t)(segment->file_off + va - segment->va);

		if (!ep_in_bounds(va - segment->va, bytes, segment->file_bytes))
			continue;
		if (code->options.read(of->file.fd, buf, bytes, off, true) == (ssize_t)bytes)
			return 0;
		return want(code, &piece, of->file.fd, off);
	}
	return -EFAULT;
}
