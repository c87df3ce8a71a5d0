/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp_send, otlp_bench [-n BATCHES] [-e EVERY_MS] [-s SHAPE] [-w WAIT_MS] [-q] [-F] [-l MODULE]
 * KEY=VALUE...
 *
 * Opens the exporter with these options, exports BATCHES (1) batches of SHAPE (small, 379k, large
 * or PROCESSES,FUNCTIONS,STACKS,DEPTH,SAMPLES,EVENTS), one every EVERY_MS, waits WAIT_MS,
 * flushes (not with -F), closes, and prints what became of them, a "name value" a line:
 * exported_events is what the batches held, the rest are the exporter's own counters, and what it
 * cost this process without the making and freeing of batches: CPU, memory that is resident at the
 * end, and in otlp_bench the most that one batch had allocated at once. -l loads the module and
 * leaves out the counters, so that its libraries count as memory too. Exits with 0 when the flush
 * found all sent, 3 when not, 1 otherwise.
 */
#include "core/base/clock.h"
#include "exporters/otlp/otlp.h"
#include "exporters/otlp/sender.h"
#include "tests/otlp/batch.h"
#include "tests/otlp/host.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POOL_THREADS   4 /* libuv's default */
#define POOL_USE_US    20000
#define POOL_USE_BYTES 100000

extern const struct ep_plugin ep_plugin;

/* Of otlp_bench (heap.c): bytes allocated now, and the most since the last call with reset. */
size_t test_heap_bytes(void) __attribute__((weak));
size_t test_heap_peak(bool reset) __attribute__((weak));

struct driver {
	struct test_host host;
	const struct ep_exporter_ops *ops;
	void *exporter;
	struct test_shape shape;
	uint32_t n_batches, n_sent, n_done, n_failed;
	uint64_t every_ms, wait_ms;
	uint64_t events; /* of all batches */
	uint64_t cpu_ns; /* before the first one, without what batches cost */
	long rss_kb;
	size_t heap_bytes, heap_peak; /* before a batch is exported; the most any took */
	const char *module;
	struct otlp_sender_stats stats;
	bool no_flush, is_exporting;
	uv_timer_t timer;
	int result;
};

static long read_rss_kb(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	long pages = 0;

	if (file && fscanf(file, "%*d %ld", &pages) != 1)
		pages = 0;
	if (file)
		fclose(file);
	return pages * 4;
}

/* Batches are made and freed on this thread: what is left is the exporter's. */
static uint64_t exporter_cpu_ns(void)
{
	return ep_clock_cpu_ns() - test_batch_cpu_ns();
}

static void note_heap(struct driver *driver)
{
	size_t peak = test_heap_peak ? test_heap_peak(false) : 0;

	if (peak > driver->heap_bytes)
		driver->heap_peak = EP_MAX(driver->heap_peak, peak - driver->heap_bytes);
}

static void on_flushed(void *arg, int result)
{
	struct driver *driver = arg;

	driver->result = result < 0 ? 3 : 0;
	if (!driver->module)
		driver->stats = *otlp_exporter_stats(driver->exporter);
	note_heap(driver);
	malloc_trim(0);
	driver->rss_kb = read_rss_kb() - driver->rss_kb;
	driver->ops->close(driver->exporter);
	uv_close((uv_handle_t *)&driver->timer, NULL);
}

static void on_waited(uv_timer_t *timer)
{
	struct driver *driver = timer->data;

	if (driver->no_flush)
		on_flushed(driver, 0);
	else
		driver->ops->flush(driver->exporter, on_flushed, driver);
}

static void on_exported(void *arg, int result)
{
	struct driver *driver = arg;

	driver->is_exporting = false;
	driver->n_failed += result < 0;
	if (++driver->n_done < driver->n_batches)
		return;
	uv_timer_start(&driver->timer, on_waited, driver->wait_ms, 0);
}

static void on_time(uv_timer_t *timer)
{
	struct driver *driver = timer->data;
	struct ep_batch *batch;

	if (driver->is_exporting || driver->n_sent == driver->n_batches)
		return;
	note_heap(driver);
	driver->shape.seed = driver->n_sent++;
	batch = test_batch_new(&driver->shape);
	if (test_heap_peak) {
		driver->heap_bytes = test_heap_bytes();
		(void)test_heap_peak(true);
	}
	driver->events += test_batch_events(batch);
	driver->is_exporting = true;
	driver->ops->export_batch(driver->exporter, batch, on_exported, driver);
	test_batch_unref(batch);
}

static void print(const struct driver *driver)
{
	const struct otlp_sender_stats *s = &driver->stats;

	printf("exported_events %" PRIu64 "\n", driver->events);
	printf("failed_batches %u\n", driver->n_failed);
	printf("accepted_requests %" PRIu64 "\naccepted_events %" PRIu64 "\n", s->accepted_requests,
	       s->accepted_events);
	printf("dropped_requests %" PRIu64 "\ndropped_events %" PRIu64 "\n", s->dropped_requests,
	       s->dropped_events);
	printf("refused_requests %" PRIu64 "\nrefused_events %" PRIu64 "\n", s->refused_requests,
	       s->refused_events);
	printf("rejected_profiles %" PRIu64 "\nretries %" PRIu64 "\nsent_bytes %" PRIu64 "\n",
	       s->rejected_profiles, s->retries, s->sent_bytes);
	printf("max_queued_bytes %" PRIu64 "\n", s->max_queued_bytes);
#ifdef __SANITIZE_ADDRESS__
	printf("sanitized 1\n");
#else
	printf("sanitized 0\n");
#endif
	printf("cpu_us %" PRIu64 "\n", (exporter_cpu_ns() - driver->cpu_ns) / 1000);
	printf("rss_kb %ld\nheap_peak %zu\n", driver->rss_kb, driver->heap_peak);
}

static int parse_shape(const char *text, struct test_shape *shape)
{
	*shape = test_shape_small;
	if (strcmp(text, "small") == 0)
		return 0;
	*shape = test_shape_379k;
	if (strcmp(text, "379k") == 0)
		return 0;
	if (strcmp(text, "large") == 0) { /* about 9 MB: several requests */
		*shape = (struct test_shape){.processes = 300,
					     .functions = 60000,
					     .stacks = 15000,
					     .depth = 40,
					     .samples = 30000,
					     .events = 6,
					     .name_bytes = 40};
		return 0;
	}
	return sscanf(text, "%u,%u,%u,%u,%u,%u", &shape->processes, &shape->functions,
		      &shape->stacks, &shape->depth, &shape->samples, &shape->events) == 6
		       ? 0
		       : -1;
}

static int parse_args(struct driver *driver, int argc, char **argv)
{
	int opt;

	driver->n_batches = 1;
	driver->shape = test_shape_small;
	while ((opt = getopt(argc, argv, "n:e:s:w:l:qF")) != -1) {
		if (opt == 'n')
			driver->n_batches = (uint32_t)strtoul(optarg, NULL, 10);
		else if (opt == 'e')
			driver->every_ms = strtoull(optarg, NULL, 10);
		else if (opt == 'w')
			driver->wait_ms = strtoull(optarg, NULL, 10);
		else if (opt == 's' && parse_shape(optarg, &driver->shape) < 0)
			return -1;
		else if (opt == 'l')
			driver->module = optarg;
		else if (opt == 'q')
			driver->host.quiet = true;
		else if (opt == 'F')
			driver->no_flush = true;
		else if (opt == '?')
			return -1;
	}
	return 0;
}

/*
 * The host's workers, whose stacks and heaps are there before an exporter gives them work: each has
 * one of these jobs, as it lasts.
 */
static void use_memory(void *arg)
{
	ep_autofree char *data = malloc(POOL_USE_BYTES);

	(void)arg;
	if (data)
		memset(data, 1, POOL_USE_BYTES);
	__asm__ volatile("" ::"r"(data) : "memory"); /* it is used */
	usleep(POOL_USE_US);
}

static void after_use(void *arg)
{
	(void)arg;
}

static const struct ep_exporter_ops *find_ops(const char *module)
{
	void *handle = module ? dlopen(module, RTLD_NOW | RTLD_LOCAL) : NULL;
	const struct ep_plugin *plugin = handle ? dlsym(handle, "ep_plugin") : &ep_plugin;

	if (module && !handle)
		fprintf(stderr, "%s\n", dlerror());
	return module && !handle ? NULL : plugin->exporter;
}

int main(int argc, char **argv)
{
	static struct driver driver;
	uv_loop_t *loop = uv_default_loop();
	struct ep_options *options;
	int r;

	if (parse_args(&driver, argc, argv) < 0)
		return 1;
	test_host_init(&driver.host, loop, driver.host.quiet);
	/* a batch that has been made and freed, so that what is measured is the exporter */
	test_batch_unref(test_batch_new(&driver.shape));
	for (int i = 0; i < POOL_THREADS; i++)
		(void)driver.host.host.run(use_memory, after_use, NULL);
	uv_run(loop, UV_RUN_DEFAULT);
	malloc_trim(0);
	driver.rss_kb = read_rss_kb();
	driver.ops = find_ops(driver.module);
	if (!driver.ops)
		return 1;
	options = test_options_new(driver.ops->options, (const char *const *)argv + optind,
				   (size_t)(argc - optind));
	if (!options)
		return 1;
	r = driver.ops->open(&driver.host.host, options, &driver.exporter);
	if (r == 0) {
		uv_timer_init(loop, &driver.timer);
		driver.timer.data = &driver;
		driver.cpu_ns = exporter_cpu_ns();
		if (driver.n_batches)
			uv_timer_start(&driver.timer, on_time, 0, EP_MAX(driver.every_ms, 1ull));
		else
			uv_timer_start(&driver.timer, on_waited, driver.wait_ms, 0);
		uv_run(loop, UV_RUN_DEFAULT);
		print(&driver);
	}
	test_options_free(options);
	if (test_batch_references()) {
		fprintf(stderr, "%zu references to batches leaked\n", test_batch_references());
		return 1;
	}
	return r < 0 ? 1 : driver.result;
}
