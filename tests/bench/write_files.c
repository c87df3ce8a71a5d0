/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_files DIRECTORY [PROCESSES,FUNCTIONS,STACKS,DEPTH,SAMPLES,EVENTS]
 *
 * Writes a batch made of numbers in each format, as DIRECTORY/NAME: what that took is a line "NAME
 * CPU_MS PEAK_KIB BYTES", with what was allocated at once beside the batch.
 */
#include "core/base/clock.h"
#include "core/base/util.h"
#include "exporters/html/page.h"
#include "exporters/pprof/encode.h"
#include "exporters/shared/file.h"
#include "exporters/shared/otlp/file.h"
#include "tests/otlp/batch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

size_t test_heap_bytes(void);
size_t test_heap_peak(bool reset);

static int write_page(const struct ep_batch *batch, const char *version, struct ep_sink *sink)
{
	static const struct html_page_options options = {.level = 1, .base = ""};

	return html_page_write(batch, version, &options, sink);
}

static const struct format {
	const char *name;
	int level; /* of compression; a page compresses its parts itself */
	int (*write)(const struct ep_batch *batch, const char *version, struct ep_sink *sink);
} formats[] = {
	{"x.html", 0, write_page},
	{"x.pprof", 0, pprof_encode},
	{"x.pb.gz", 1, pprof_encode},
	{"x.otlp.gz", 1, otlp_file_write},
};

static int measure(const struct format *format, const struct ep_batch *batch, const char *directory)
{
	size_t before = test_heap_bytes();
	uint64_t start = ep_clock_cpu_ns(), bytes = 0;
	struct ep_sink sink = {.write = ep_file_write};
	struct ep_file *file = NULL;
	char path[4096];
	int r;

	(void)test_heap_peak(true);
	snprintf(path, sizeof(path), "%s/%s", directory, format->name);
	r = ep_file_create(path, format->level, &file);
	sink.arg = file;
	if (r == 0)
		r = format->write(batch, "bench", &sink);
	if (r == 0)
		r = ep_file_publish(file, path, true, &bytes);
	if (r < 0)
		fprintf(stderr, "%s: %d: %s\n", path, r, sink.why);
	printf("%s %.1f %zu %" PRIu64 "\n", format->name, (double)(ep_clock_cpu_ns() - start) / 1e6,
	       (test_heap_peak(false) - before) / 1024, bytes);
	ep_file_close(file);
	return r;
}

int main(int argc, char **argv)
{
	struct test_shape shape = {.processes = 200, .functions = 200000, .stacks = 100000, .depth = 30,
				   .samples = 500000, .events = 2, .name_bytes = 40};
	struct ep_batch *batch;
	int failed = 0;

	if (argc < 2 ||
	    (argc > 2 && sscanf(argv[2], "%u,%u,%u,%u,%u,%u", &shape.processes, &shape.functions,
				&shape.stacks, &shape.depth, &shape.samples, &shape.events) != 6))
		return 2;
	batch = test_batch_new(&shape);
	for (size_t i = 0; i < EP_LEN(formats); i++)
		failed |= measure(&formats[i], batch, argv[1]) < 0;
	test_batch_unref(batch);
	return failed;
}
