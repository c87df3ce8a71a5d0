/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a pprof profile of 100 MB uncompressed: time, and the most memory that the process had.
 *
 *	bench_read [FILE [distinct]]	makes a profile (at FILE, kept), and reads it
 *	bench_read FILE read		reads a profile of any format
 *
 * 200 000 functions and locations, stacks of 20 to 40 frames with common roots, labels as exporters/pprof writes
 * them; each stack is there for three threads, or with `distinct` for one. Compressed as files are. The bar: 2 s,
 * and 3 times the uncompressed file.
 */
#include "core/base/clock.h"
#include "core/trace/batch.h"
#include "exporters/shared/proto.h"
#include "readers/reader.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <zlib.h>

#define FILE_BYTES   (100u << 20)
#define N_FUNCTIONS  200000u
#define FIRST_STRING 16u

static const char *const strings[FIRST_STRING] = {
	"", "samples", "count", "cpu", "nanoseconds", "pid", "tid", "comm", "thread_name", "id", "server",
	"worker", "/src/server.cc", "/usr/bin/server", "abcdef", "other"};

static uint64_t state = 1;

static uint32_t rnd(uint32_t below)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((state >> 33) % below);
}

struct maker {
	gzFile file;
	size_t bytes;
	struct pb out, message, part;
};

static void hand_over(struct maker *m)
{
	if (gzwrite(m->file, m->out.bytes.data, (unsigned int)m->out.bytes.len) <= 0)
		exit(1);
	m->bytes += m->out.bytes.len;
	pb_clear(&m->out);
}

static void put_pair(struct maker *m, uint32_t field, uint64_t first, uint64_t second)
{
	pb_clear(&m->message);
	pb_uint(&m->message, 1, first);
	pb_uint(&m->message, 2, second);
	pb_message(&m->out, field, &m->message);
}

static void put_label(struct maker *m, uint64_t key, uint64_t string, uint64_t number)
{
	pb_clear(&m->part);
	pb_uint(&m->part, 1, key);
	pb_uint(&m->part, 2, string);
	pb_uint(&m->part, 3, number);
	if (!string)
		pb_uint(&m->part, 4, 9);
	pb_message(&m->message, 3, &m->part);
}

static void put_sample(struct maker *m, const struct pb *stack, uint32_t thread)
{
	pb_clear(&m->message);
	pb_message(&m->message, 1, stack);
	pb_clear(&m->part);
	pb_varint(&m->part, 3);
	pb_varint(&m->part, 30000000);
	pb_message(&m->message, 2, &m->part);
	put_label(m, 5, 0, 1234 + thread % 7);
	put_label(m, 6, 0, 4000 + thread);
	put_label(m, 3, 0, thread % 16);
	put_label(m, 7, 10, 0);
	put_label(m, 8, 11, 0);
	pb_message(&m->out, 2, &m->message);
}

/* The nearer to the root, the fewer functions there are. */
static void make_stack(struct pb *stack)
{
	uint32_t depth = 20 + rnd(21);

	pb_clear(stack);
	for (uint32_t i = 0; i < depth; i++) {
		uint32_t from_root = depth - i;

		pb_varint(stack, 1 + rnd(from_root < 12 ? 1u << from_root : N_FUNCTIONS));
	}
}

static void put_samples(struct maker *m, uint32_t per_stack)
{
	struct pb stack;

	pb_init(&stack, 1 << 16);
	/* what follows has 60 bytes a function */
	while (m->bytes < FILE_BYTES - N_FUNCTIONS * 60u) {
		make_stack(&stack);
		for (uint32_t i = 0; i < per_stack; i++)
			put_sample(m, &stack, rnd(200));
		if (m->out.bytes.len > 1 << 16)
			hand_over(m);
	}
	pb_fini(&stack);
}

static void put_location(struct maker *m, uint32_t id)
{
	pb_clear(&m->message);
	pb_uint(&m->message, 1, id);
	pb_uint(&m->message, 2, 1);
	pb_uint(&m->message, 3, 0x400000 + id * 64ull);
	pb_clear(&m->part);
	pb_uint(&m->part, 1, id);
	pb_uint(&m->part, 2, id % 5000 + 1);
	pb_message(&m->message, 4, &m->part);
	pb_message(&m->out, 4, &m->message);
}

static void put_function(struct maker *m, uint32_t id)
{
	pb_clear(&m->message);
	pb_uint(&m->message, 1, id);
	pb_uint(&m->message, 2, FIRST_STRING + id - 1);
	pb_uint(&m->message, 3, FIRST_STRING + id - 1);
	pb_uint(&m->message, 4, 12);
	pb_message(&m->out, 5, &m->message);
}

static void put_tables(struct maker *m)
{
	const uint64_t mapping[] = {1, 0x400000, 0x40000000, 0, 13, 14, 1};
	char name[64];

	pb_clear(&m->message);
	for (uint32_t i = 0; i < EP_LEN(mapping); i++)
		pb_uint(&m->message, i + 1, mapping[i]);
	pb_message(&m->out, 3, &m->message);
	for (uint32_t id = 1; id <= N_FUNCTIONS; id++) {
		put_location(m, id);
		put_function(m, id);
	}
	for (uint32_t i = 0; i < FIRST_STRING; i++)
		pb_bytes(&m->out, 6, strings[i], strlen(strings[i]));
	for (uint32_t id = 1; id <= N_FUNCTIONS; id++) {
		snprintf(name, sizeof(name), "namespace_%u::function_%u", id % 997, id);
		pb_bytes(&m->out, 6, name, strlen(name));
	}
	hand_over(m);
}

static int make_file(const char *path, uint32_t per_stack)
{
	struct maker m = {.file = gzopen(path, "wb1")};

	if (!m.file)
		return -errno;
	pb_init(&m.out, 1u << 30);
	pb_init(&m.message, 1 << 20);
	pb_init(&m.part, 1 << 20);
	put_pair(&m, 1, 1, 2);
	put_pair(&m, 1, 3, 4);
	put_pair(&m, 11, 3, 4);
	pb_uint(&m.out, 12, 10000000);
	pb_uint(&m.out, 14, 3);
	put_samples(&m, per_stack);
	put_tables(&m);
	pb_fini(&m.out);
	pb_fini(&m.message);
	pb_fini(&m.part);
	printf("made: %.1f MB uncompressed\n", (double)m.bytes / 1e6);
	return gzclose(m.file) == Z_OK ? 0 : -EIO;
}

static int read_file(const char *path, struct ep_batch **ret_batch)
{
	struct ep_profile_builder *builder = NULL;
	struct ep_input *input = NULL;
	char why[EP_READ_WHY_BYTES] = "no memory";
	int r = ep_profile_builder_new(&builder);

	if (r == 0)
		r = ep_input_open(path, &input, why);
	if (r == 0)
		r = ep_input_read(input, builder, why);
	if (r == 0)
		r = ep_profile_finish(builder, ret_batch);
	if (r < 0)
		fprintf(stderr, "%s\n", why);
	ep_input_close(input);
	ep_profile_builder_free(builder);
	return r;
}

/* In a process of its own, so that its memory is what reading took. */
static int measure(const char *path)
{
	uint64_t start_ns = ep_clock_mono_ns();
	struct ep_batch *batch;
	struct rusage usage;
	int r = read_file(path, &batch);

	if (r < 0)
		return 1;
	getrusage(RUSAGE_SELF, &usage);
	printf("read: %.2f s, CPU %.2f s, at most %.1f MB, the batch %.1f MB: %" PRIu32
	       " samples, %" PRIu32 " stacks, %" PRIu32 " functions\n",
	       (double)(ep_clock_mono_ns() - start_ns) / 1e9,
	       (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6 +
		       (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6,
	       (double)usage.ru_maxrss * 1024 / 1e6, (double)ep_batch_bytes(batch) / 1e6,
	       batch->n_samples, batch->n_stacks, batch->n_functions);
	ep_batch_unref(batch);
	return 0;
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "/tmp/bench_read.pb.gz";
	const char *what = argc > 2 ? argv[2] : "";
	int status;
	pid_t pid;

	if (strcmp(what, "read") != 0 && make_file(path, strcmp(what, "distinct") == 0 ? 1 : 3) < 0) {
		perror(path);
		return 1;
	}
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		exit(measure(path));
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return 1;
	if (argc < 2)
		unlink(path);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
