/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver for fuzz targets that needs no libFuzzer: mutates the given seed files.
 *
 *	fuzz_x [-n RUNS] [-t SECONDS] [-s SEED] [-r RUN] [-w FILE] CORPUS_FILE...
 *
 * First every file as it is, then RUNS mutated inputs: 20 000 with EBPF_PROFILER_TEST_FULL in the environment, else 500. What run number R does depends on SEED and
 * R alone, so a failure, which prints both, is repeated by `-s SEED -r R`; -w also saves its input.
 * -w DIRECTORY/ saves it there by the target's name. With -t inputs that reached something new are mutated further, until the time is over (guide.h;
 * scripts/fuzz builds for it); a failure is then repeated by the input that -w saved.
 * A run that takes more than ten seconds of CPU time is a failure too. Links with gcc, with or without
 * -fsanitize=address,undefined. Input is handed over in a block of exactly its size, so that a
 * sanitizer sees a read one byte too far.
 */
#include "tests/fuzz/guide.h"
#include "tests/kit/fuzz.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

#define MAX_SEED_BYTES ((size_t)16 << 20)
#define MAX_SEEDS      256
#define RUN_SECONDS    10
#define NO_RUN	       UINT64_MAX

struct seed {
	uint8_t *data;
	size_t size;
	const char *path;
};

struct options {
	uint64_t runs;
	uint64_t seconds; /* for guided runs; 0: `runs` that are not */
	uint64_t seed;
	uint64_t only; /* the one run to do, or NO_RUN */
	const char *save_path;
};

/* What is being run, for the message of a crash: a signal handler has no other way to know. */
static struct {
	uint64_t seed;
	uint64_t run;
	const char *path;
	const uint8_t *data;
	size_t size;
	const char *save_path;
} current;

static uint64_t rng_state;

/* splitmix64, Sebastiano Vigna, public domain: https://prng.di.unimi.it/splitmix64.c */
static uint64_t rng_next(void)
{
	uint64_t z = rng_state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static size_t rng_below(size_t limit)
{
	return limit ? (size_t)(rng_next() % limit) : 0;
}

/* ---- mutations: each changes the bytes in place and may shorten or lengthen them ---- */

static const uint64_t interesting[] = {
	0,	    1,		2,
	3,	    4,		7,
	8,	    16,		31,
	32,	    63,		64,
	100,	    127,	128,
	255,	    256,	511,
	4095,	    4096,	32767,
	32768,	    65535,	65536,
	0x7fffffff, 0x80000000, 0xfffffff0,
	0xffffffff, 1ULL << 32, 1ULL << 47,
	1ULL << 62, 1ULL << 63, UINT64_MAX - 7,
	UINT64_MAX,
};

static void mutate_bit(uint8_t *data, size_t *size)
{
	data[rng_below(*size)] ^= (uint8_t)(1u << rng_below(8));
}

static void mutate_byte(uint8_t *data, size_t *size)
{
	data[rng_below(*size)] = (uint8_t)rng_next();
}

static void mutate_interesting(uint8_t *data, size_t *size)
{
	size_t width = (size_t)1 << rng_below(4);
	uint64_t value = interesting[rng_below(sizeof(interesting) / sizeof(interesting[0]))];
	size_t pos;

	if (*size < width)
		return;
	pos = rng_below(*size - width + 1);
	if (rng_next() & 1)
		pos &= ~(width - 1);
	memcpy(data + pos, &value, width); /* little-endian: the low bytes */
}

static void mutate_add(uint8_t *data, size_t *size)
{
	size_t width = (size_t)1 << rng_below(4);
	uint64_t value = 0, delta = 1 + rng_below(35);
	size_t pos;

	if (*size < width)
		return;
	pos = rng_below(*size - width + 1);
	memcpy(&value, data + pos, width);
	value = rng_next() & 1 ? value + delta : value - delta;
	memcpy(data + pos, &value, width);
}

static void mutate_constant(uint8_t *data, size_t *size)
{
	size_t width = (size_t)1 << rng_below(4);
	uint64_t value;

	if (*size < width || !guide_constant(rng_next(), &value))
		return;
	memcpy(data + rng_below(*size - width + 1), &value, width);
}

static void mutate_copy_block(uint8_t *data, size_t *size)
{
	size_t len = 1 + rng_below(*size < 256 ? *size : 256);

	memmove(data + rng_below(*size - len + 1), data + rng_below(*size - len + 1), len);
}

static void mutate_fill_block(uint8_t *data, size_t *size)
{
	size_t len = 1 + rng_below(*size < 64 ? *size : 64);

	memset(data + rng_below(*size - len + 1), rng_next() & 1 ? 0 : 0xff, len);
}

/* A piece of the input once more, at some place: more lines, more records. */
static void mutate_insert_block(uint8_t *data, size_t *size, size_t room)
{
	size_t len = 1 + rng_below(*size < 128 ? *size : 128);
	size_t from = rng_below(*size - len + 1), to = rng_below(*size + 1);
	uint8_t block[128];

	if (len > room - *size)
		return;
	memcpy(block, data + from, len);
	memmove(data + to + len, data + to, *size - to);
	memcpy(data + to, block, len);
	*size += len;
}

static void mutate_once(uint8_t *data, size_t *size, size_t room)
{
	static void (*const in_place[])(uint8_t *, size_t *) = {
		mutate_bit,	    mutate_bit, mutate_byte,	   mutate_interesting,
		mutate_interesting, mutate_add, mutate_copy_block, mutate_fill_block,
	};
	size_t choice = rng_below(20);

	if (!*size)
		return;
	if (guide_n_kept() && rng_below(6) == 0)
		mutate_constant(data, size);
	else if (choice == 0)
		*size = rng_next() & 1 ? rng_below(*size) : *size - rng_below(*size < 64 ? *size : 64);
	else if (choice < 3)
		mutate_insert_block(data, size, room);
	else
		in_place[rng_below(sizeof(in_place) / sizeof(in_place[0]))](data, size);
}

/* ---- running ---- */

static void save_input(void)
{
	int fd = open(current.save_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0)
		return;
	if (write(fd, current.data, current.size) < 0)
		perror("fuzz: saving the input");
	close(fd);
}

/* Not async-signal-safe in the letter (dprintf), but the process is lost anyway. */
static void report_failure(void)
{
	if (current.run == NO_RUN)
		dprintf(2, "fuzz: failed on %s as it is\n", current.path);
	else if (guide_n_kept())
		dprintf(2, "fuzz: failed in guided run %" PRIu64 ", from one of %s%s\n", current.run, current.path,
			current.save_path ? "; its input was saved" : "; -w FILE saves its input");
	else
		dprintf(2, "fuzz: failed, repeat with -s %" PRIu64 " -r %" PRIu64 " (from %s)\n",
			current.seed, current.run, current.path);
	if (current.save_path && current.data)
		save_input();
}

static void on_signal(int sig)
{
	if (sig == SIGPROF)
		dprintf(2, "fuzz: more than %d s for one input\n", RUN_SECONDS);
	report_failure();
	signal(sig == SIGPROF ? SIGABRT : sig, SIG_DFL);
	raise(sig == SIGPROF ? SIGABRT : sig);
}

/* Of CPU time: other work may take the CPUs. 0: no limit. */
static void limit_cpu(time_t seconds)
{
	struct itimerval limit = {.it_value.tv_sec = seconds};

	(void)setitimer(ITIMER_PROF, &limit, NULL);
}

static void catch_failures(void)
{
	signal(SIGPROF, on_signal);
	signal(SIGABRT, on_signal);
	if (__sanitizer_set_death_callback) {
		__sanitizer_set_death_callback(report_failure);
		return; /* its own handlers print the stack */
	}
	signal(SIGSEGV, on_signal);
	signal(SIGBUS, on_signal);
	signal(SIGFPE, on_signal);
	signal(SIGILL, on_signal);
}

static void run_input(const struct seed *seed, const uint8_t *data, size_t size, uint64_t run)
{
	uint8_t *exact = malloc(size ? size : 1);

	if (!exact)
		abort();
	memcpy(exact, data, size);
	current.run = run;
	current.path = seed->path;
	current.data = exact;
	current.size = size;
	limit_cpu(RUN_SECONDS);
	(void)LLVMFuzzerTestOneInput(exact, size);
	limit_cpu(0);
	current.data = NULL;
	free(exact);
}

static void run_mutated(const struct seed *seeds, size_t n_seeds, const struct options *options,
			uint64_t run)
{
	const struct seed *seed;
	size_t size, room, n_mutations;
	uint8_t *data;

	rng_state = options->seed * 0x2545f4914f6cdd1dULL + run;
	seed = &seeds[rng_below(n_seeds)];
	size = seed->size;
	room = size + 1024;
	data = malloc(room);
	if (!data)
		abort();
	memcpy(data, seed->data, size);
	n_mutations = (size_t)1 << rng_below(6);
	while (n_mutations--)
		mutate_once(data, &size, room);
	run_input(seed, data, size, run);
	free(data);
}

/* From one that was kept, the last ones more often; a quarter has a piece of another one in it. */
static void run_guided(const char *path, uint64_t run)
{
	size_t n = guide_n_kept(), back = rng_below(rng_next() & 1 ? n : n / 8 + 1);
	const struct guide_input *from = guide_kept(n - 1 - back), *other = guide_kept(rng_below(n));
	struct seed seed = {.path = path};
	size_t size = from->size, room = size + 1024, n_mutations = (size_t)1 << rng_below(5);
	uint8_t *data = malloc(room);

	if (!data)
		abort();
	memcpy(data, from->data, size);
	if (rng_below(4) == 0 && other->size && size) {
		size_t len = 1 + rng_below(other->size < size ? other->size : size);

		memcpy(data + rng_below(size - len + 1), other->data + rng_below(other->size - len + 1), len);
	}
	while (n_mutations--)
		mutate_once(data, &size, room);
	guide_begin();
	run_input(&seed, data, size, run);
	if (guide_end())
		guide_keep(data, size);
	free(data);
}

static int run_for(const struct seed *seeds, size_t n_seeds, const struct options *options)
{
	time_t end = time(NULL) + (time_t)options->seconds;
	uint64_t run = 0;

	for (size_t i = 0; i < n_seeds; i++) {
		guide_begin();
		run_input(&seeds[i], seeds[i].data, seeds[i].size, NO_RUN);
		guide_end();
		guide_keep(seeds[i].data, seeds[i].size);
	}
	if (!guide_n_features() || !guide_n_kept()) {
		fprintf(stderr, "fuzz: -t needs a build that tells what is reached; scripts/fuzz makes one\n");
		return 2;
	}
	rng_state = options->seed;
	while (time(NULL) < end)
		run_guided(seeds[0].path, run++);
	printf("%" PRIu64 " runs, %zu inputs kept, %zu features\n", run, guide_n_kept(), guide_n_features());
	return 0;
}

static int read_seed(const char *path, struct seed *ret_seed)
{
	struct stat st;
	ssize_t got;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size > (off_t)MAX_SEED_BYTES)
		goto fail;
	ret_seed->path = path;
	ret_seed->data = malloc((size_t)st.st_size + 1);
	if (!ret_seed->data)
		goto fail;
	got = read(fd, ret_seed->data, (size_t)st.st_size);
	if (got != st.st_size)
		goto fail;
	ret_seed->size = (size_t)got;
	close(fd);
	return 0;

fail:
	fprintf(stderr, "fuzz: %s: cannot be read, or is above %zu bytes\n", path, MAX_SEED_BYTES);
	if (fd >= 0)
		close(fd);
	return -EIO;
}

static bool parse_options(int argc, char **argv, struct options *options)
{
	int opt;

	while ((opt = getopt(argc, argv, "n:t:s:r:w:")) != -1) {
		if (opt == 'n')
			options->runs = strtoull(optarg, NULL, 0);
		else if (opt == 't')
			options->seconds = strtoull(optarg, NULL, 0);
		else if (opt == 's')
			options->seed = strtoull(optarg, NULL, 0);
		else if (opt == 'r')
			options->only = strtoull(optarg, NULL, 0);
		else if (opt == 'w')
			options->save_path = optarg;
		else
			return false;
	}
	return optind < argc && argc - optind <= MAX_SEEDS;
}

static void run_all(const struct seed *seeds, size_t n_seeds, const struct options *options)
{
	if (options->only != NO_RUN) {
		run_mutated(seeds, n_seeds, options, options->only);
		return;
	}
	for (size_t i = 0; i < n_seeds; i++)
		run_input(&seeds[i], seeds[i].data, seeds[i].size, NO_RUN);
	for (uint64_t run = 0; run < options->runs; run++)
		run_mutated(seeds, n_seeds, options, run);
}

static const char *save_path(const char *option)
{
	static char path[4096];
	size_t len = option ? strlen(option) : 0;

	if (!len || option[len - 1] != '/')
		return option;
	snprintf(path, sizeof(path), "%s%s", option, program_invocation_short_name);
	return path;
}

int main(int argc, char **argv)
{
	struct options options = {.runs = getenv("EBPF_PROFILER_TEST_FULL") ? 20000 : 500, .seed = 1, .only = NO_RUN};
	static struct seed seeds[MAX_SEEDS];
	size_t n_seeds = 0;
	int status = 0;

	if (!parse_options(argc, argv, &options)) {
		fprintf(stderr, "usage: %s [-n RUNS] [-t SECONDS] [-s SEED] [-r RUN] [-w FILE] FILE...\n",
			argv[0]);
		return 2;
	}
	if (LLVMFuzzerInitialize)
		LLVMFuzzerInitialize(&argc, &argv);
	for (int i = optind; i < argc; i++)
		if (read_seed(argv[i], &seeds[n_seeds++]) < 0)
			return 1;
	current.seed = options.seed;
	current.save_path = save_path(options.save_path);
	catch_failures();
	if (options.seconds)
		status = run_for(seeds, n_seeds, &options);
	else
		run_all(seeds, n_seeds, &options);
	for (size_t i = 0; i < n_seeds; i++)
		free(seeds[i].data);
	return status;
}
