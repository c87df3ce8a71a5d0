/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_write OUT.html [PROCESSES,FUNCTIONS,STACKS,DEPTH,SAMPLES,EVENTS]
 *
 * Writes a page of a batch made of numbers, and pprof of it for comparison, and prints "cpu_ms html",
 * "peak_kib html" and the same of pprof: CPU time, and what was allocated at once beside the batch.
 */
#include "core/base/clock.h"
#include "exporters/html/page.h"
#include "exporters/pprof/encode.h"
#include "exporters/shared/file.h"
#include "tests/otlp/batch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t test_heap_bytes(void);
size_t test_heap_peak(bool reset);

static const struct html_page_options page_options = {.level = 1, .base = ""};

static int encode_page(const struct ep_batch *batch, const char *version, struct ep_sink *sink)
{
	return html_page_write(batch, version, &page_options, sink);
}

static void measure(const char *name, const struct ep_batch *batch, const char *path, int level,
		    int (*encode)(const struct ep_batch *batch, const char *version, struct ep_sink *sink))
{
	size_t before = test_heap_bytes();
	uint64_t start = ep_clock_cpu_ns(), bytes = 0;
	struct ep_file *file = NULL;
	struct ep_sink sink = {.write = ep_file_write};

	(void)test_heap_peak(true);
	if (ep_file_create(path, level, &file) < 0)
		exit(1);
	sink.arg = file;
	if (encode(batch, "bench", &sink) < 0 || ep_file_publish(file, path, true, &bytes) < 0) {
		fprintf(stderr, "%s: %s\n", name, sink.why);
		exit(1);
	}
	printf("cpu_ms %s %.1f\n", name, (double)(ep_clock_cpu_ns() - start) / 1e6);
	printf("peak_kib %s %zu\n", name, (test_heap_peak(false) - before) / 1024);
	printf("bytes %s %" PRIu64 "\n", name, bytes);
	ep_file_close(file);
}

int main(int argc, char **argv)
{
	struct test_shape shape = {.processes = 200, .functions = 200000, .stacks = 60000, .depth = 32,
				   .samples = 500000, .events = 2};
	struct ep_batch *batch;
	char pprof[4096];

	if (argc < 2)
		return 2;
	if (argc > 2 && sscanf(argv[2], "%u,%u,%u,%u,%u,%u", &shape.processes, &shape.functions, &shape.stacks,
			       &shape.depth, &shape.samples, &shape.events) != 6)
		return 2;
	batch = test_batch_new(&shape);
	printf("events %" PRIu64 "\n", test_batch_events(batch));
	measure("html", batch, argv[1], 0, encode_page);
	snprintf(pprof, sizeof(pprof), "%s.pb.gz", argv[1]);
	measure("pprof", batch, pprof, 1, pprof_encode);
	(void)remove(pprof);
	test_batch_unref(batch);
	return 0;
}
