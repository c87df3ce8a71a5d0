/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this kernel's verifier says of a BPF object, the core's or a language's:
 *
 *	load LABEL OBJECT FRAMES[:MOST]...
 *
 * loads the object with each number of frames in one run and prints a line for each:
 *
 *	load LABEL FRAMES MILLISECONDS ep_native=INSNS ep_entry=INSNS ...
 *	long LABEL FRAMES MILLISECONDS ep_native=INSNS ep_entry=INSNS ...
 *	refused LABEL FRAMES MILLISECONDS REASON
 *
 * "long": a program took more than MOST INSNS.
 * INSNS are the instructions the verifier processed, from the statistics it logs: every kernel has
 * them, while bpf_prog_info.verified_insns came with 5.16.
 */
#include "core/base/util.h"
#include "core/bpf/offsets.h"
#include "ebpf-profiler/bpf/self.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define MAX_PROGRAMS 16
#define LOG_BYTES    (1u << 20)
#define LOG_STATS    4 /* BPF_LOG_STATS, linux/include/linux/bpf_verifier.h */
#define ALL_KEYS     (EP_FILTER_BITS & ~EP_FILTER_BOTH(EP_FILTER_EXE))

static char *logs[MAX_PROGRAMS];

static int print_nothing(enum libbpf_print_level level, const char *fmt, va_list args)
{
	(void)level, (void)fmt, (void)args;
	return 0;
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static struct bpf_map *find_map(struct bpf_object *object, const char *part_of_name)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object) {
		if (strstr(bpf_map__name(map), part_of_name))
			return map;
	}
	return NULL;
}

/* The filter is on, with all keys but the longest, paths: that is the longer entry program. A language's maps are its own, and empty. */
static int set_config(struct bpf_object *object, uint32_t frames)
{
	struct ep_config config = {.frames_per_run = frames, .filter = 1,
				   .filter_need = ALL_KEYS & 0x55555555,
				   .filter_never = ALL_KEYS & 0xaaaaaaaa,
				   .names_start = {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u},
				   .n_users = EP_FILTER_LISTED + 1, .n_threads = EP_FILTER_LISTED + 1};
	struct ep_self self = {.slot = EP_SLOT_FIRST_DYNAMIC,
			       .kind = EP_FRAME_FIRST_DYNAMIC + EP_SLOT_FIRST_DYNAMIC,
			       .first_error = EP_ERROR_FIRST_DYNAMIC,
			       .frames_per_run = frames};
	struct bpf_map *map = find_map(object, ".rodata.ep_self");
	int r = ep_bpf_read_offsets(&config);

	if (r < 0)
		return r;
	self.task_tls_off = config.task_tls_off;
	if (map)
		return bpf_map__set_initial_value(map, &self, sizeof(self));
	map = find_map(object, ".rodata");
	return map ? bpf_map__set_initial_value(map, &config, sizeof(config)) : -ENOENT;
}

static void collect_logs(struct bpf_object *object)
{
	struct bpf_program *prog;
	size_t i = 0;

	bpf_object__for_each_program(prog, object) {
		if (i == MAX_PROGRAMS)
			return;
		logs[i][0] = '\0';
		bpf_program__set_log_buf(prog, logs[i++], LOG_BYTES);
		bpf_program__set_log_level(prog, LOG_STATS);
	}
}

/* "processed 1234 insns (limit 1000000) max_states_per_insn ..." is the last line of a log. */
static unsigned long insns_of(size_t program)
{
	const char *at = program < MAX_PROGRAMS ? strstr(logs[program], "processed ") : NULL;

	return at ? strtoul(at + strlen("processed "), NULL, 10) : 0;
}

static unsigned long most_insns(const struct bpf_object *object)
{
	struct bpf_program *prog;
	unsigned long most = 0;
	size_t i = 0;

	bpf_object__for_each_program(prog, object) {
		most = EP_MAX(most, insns_of(i));
		i++;
	}
	return most;
}

static void print_insns(struct bpf_object *object)
{
	struct bpf_program *prog;
	size_t i = 0;

	bpf_object__for_each_program(prog, object) {
		printf(" %s=%lu", bpf_program__name(prog), insns_of(i));
		i++;
	}
	putchar('\n');
}

static void print_reason(struct bpf_object *object, int error)
{
	struct bpf_program *prog;
	size_t i = 0;

	printf(" error %d", error);
	bpf_object__for_each_program(prog, object) {
		size_t len = i < MAX_PROGRAMS ? strlen(logs[i]) : 0;

		if (len && !strstr(logs[i], "processed "))
			printf(" %s: %s", bpf_program__name(prog), logs[i] + (len > 400 ? len - 400 : 0));
		else if (len && bpf_program__fd(prog) < 0)
			printf(" %s: %s", bpf_program__name(prog), logs[i]);
		i++;
	}
	putchar('\n');
}

static const char *verdict(const struct bpf_object *object, int r, unsigned long most)
{
	if (r < 0)
		return "refused";
	return most_insns(object) > most ? "long" : "load";
}

static int load(const char *label, const char *path, uint32_t frames, unsigned long most)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	double started, ms;
	int r;

	if (!object || set_config(object, frames) < 0) {
		printf("refused %s %u 0 cannot open %s, or the kernel has no BTF\n", label, frames, path);
		bpf_object__close(object);
		return 1;
	}
	collect_logs(object);
	started = now_ms();
	r = bpf_object__load(object);
	ms = now_ms() - started;
	printf("%s %s %u %.0f", verdict(object, r, most), label, frames, ms);
	if (r < 0)
		print_reason(object, r);
	else
		print_insns(object);
	fflush(stdout);
	bpf_object__close(object);
	return 0;
}

int main(int argc, char **argv)
{
	struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
	int failed = 0;

	if (argc < 4) {
		fputs("usage: load LABEL OBJECT FRAMES[:MOST]...\n", stderr);
		return 2;
	}
	(void)setrlimit(RLIMIT_MEMLOCK, &limit);
	libbpf_set_print(print_nothing);
	for (size_t i = 0; i < MAX_PROGRAMS; i++) {
		logs[i] = calloc(1, LOG_BYTES);
		if (!logs[i])
			return 1;
	}
	for (int i = 3; i < argc; i++) {
		char *end;
		uint32_t frames = (uint32_t)strtoul(argv[i], &end, 10);

		failed |= load(argv[1], argv[2], frames,
			       *end == ':' ? strtoul(end + 1, NULL, 10) : ULONG_MAX);
	}
	return failed;
}
