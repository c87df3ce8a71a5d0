/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What it costs to write a large profile as a file: CPU, and memory above the batch; and to read it again.
 *
 *	bench_profile_file [SAMPLES [FRAMES [STACKS [DEPTH]]]]	1000000 200000 100000 30
 */
#include "core/base/clock.h"
#include "core/trace/batch.h"
#include "exporters/pprof/encode.h"
#include "exporters/shared/file.h"
#include "exporters/shared/otlp/file.h"
#include "readers/reader.h"
#include "tests/otlp/batch.h"

#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct format {
	const char *name;
	int (*encode)(const struct ep_batch *batch, const char *version, struct ep_sink *sink);
} formats[] = {
	{"pprof", pprof_encode},
	{"otlp_file", otlp_file_write},
};

/* Of /proc/self/status, in kB. */
static uint64_t status_of(const char *field)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[256];
	uint64_t kb = 0;

	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, field, strlen(field)) == 0)
			kb = strtoull(line + strlen(field) + 1, NULL, 10);
	}
	if (file)
		fclose(file);
	return kb;
}

/* The peak begins anew. */
static void reset_peak(void)
{
	int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "5", 1) != 1)
		fprintf(stderr, "the peak of memory cannot be reset: it is that of all so far\n");
	if (fd >= 0)
		close(fd);
}

static const char path[] = "/tmp/bench_profile_file";

static void measure_reading(void)
{
	ep_cleanup(ep_profile_builder_freep) struct ep_profile_builder *builder = NULL;
	ep_cleanup(ep_batch_unrefp) struct ep_batch *batch = NULL;
	struct ep_input *input = NULL;
	char why[EP_READ_WHY_BYTES] = "";
	uint64_t start_ns, before_kb;
	int r;

	malloc_trim(0);
	before_kb = status_of("VmRSS");
	reset_peak();
	start_ns = ep_clock_thread_cpu_ns();
	r = ep_profile_builder_new(&builder);
	if (r == 0)
		r = ep_input_open(path, &input, why);
	if (r == 0)
		r = ep_input_read(input, builder, why);
	if (r == 0)
		r = ep_profile_finish(builder, &batch);
	ep_input_close(input);
	printf("  read again: %5.2f s CPU  %6.1f MiB in all, of which the batch %6.1f MiB%s\n",
	       (double)(ep_clock_thread_cpu_ns() - start_ns) / 1e9,
	       ((double)status_of("VmHWM") - (double)before_kb) / 1024,
	       r == 0 ? (double)ep_batch_bytes(batch) / (1 << 20) : 0, r == 0 ? "" : why);
}

static void measure(const struct ep_batch *batch, const struct format *format, int level)
{
	struct ep_sink sink = {.write = ep_file_write};
	struct ep_file *file = NULL;
	uint64_t bytes = 0, before_kb, start_ns;
	int r = ep_file_create(path, level, &file);

	malloc_trim(0);
	before_kb = status_of("VmRSS");
	reset_peak();
	start_ns = ep_clock_thread_cpu_ns();
	sink.arg = file;
	if (r == 0)
		r = format->encode(batch, "bench", &sink);
	if (r == 0)
		r = ep_file_publish(file, path, true, &bytes);
	printf("%-10s level %d  %5.2f s CPU  %6.1f MiB above the batch  %6.1f MiB file%s\n", format->name, level,
	       (double)(ep_clock_thread_cpu_ns() - start_ns) / 1e9,
	       ((double)status_of("VmHWM") - (double)before_kb) / 1024, (double)bytes / (1 << 20),
	       r == 0 ? "" : "  FAILED");
	ep_file_close(file);
	measure_reading();
	unlink(path);
}

int main(int argc, char **argv)
{
	uint32_t number[] = {1000000, 200000, 100000, 30};
	struct test_shape shape = {.processes = 200, .events = 1, .name_bytes = 40};
	struct ep_batch *batch;

	for (int i = 0; i < 4 && i + 1 < argc; i++)
		number[i] = (uint32_t)strtoul(argv[i + 1], NULL, 10);
	shape.samples = number[0];
	shape.functions = number[1];
	shape.stacks = number[2];
	shape.depth = number[3];
	batch = test_batch_new(&shape);
	printf("%u samples, %u functions, %u stacks of %u\n", shape.samples, shape.functions, shape.stacks, shape.depth);
	for (int level = 0; level <= 1; level++) {
		for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
			measure(batch, &formats[i], level);
	}
	test_batch_unref(batch);
	return 0;
}
