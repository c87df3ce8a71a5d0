/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole exporter: folded stacks, "comm;root;...;leaf count". docs/exporters.md explains it, and
 * tests/abi/run builds it out of tree with nothing but pkg-config.
 */
#include <ebpf-profiler/plugin.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct folded {
	const struct ep_host *host;
	FILE *file;
	const struct ep_batch *batch; /* under way, there is never more than one */
	ep_export_done done;
	void *done_arg;
};

static int folded_open(const struct ep_host *host, const struct ep_options *options, void **ret)
{
	const char *path = host->option_string(options, "path");
	struct folded *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->host = host;
	f->file = fopen(path, "wx");
	if (!f->file) {
		host->log(EP_HOST_ERROR, "folded: cannot create %s: choose another path", path);
		free(f);
		return -EEXIST;
	}
	*ret = f;
	return 0;
}

static void write_stack(FILE *file, const struct ep_batch *b, uint32_t stack)
{
	for (uint32_t i = b->stack_location_first[stack + 1]; i > b->stack_location_first[stack];) {
		uint32_t location = b->stack_location[--i];

		for (uint32_t line = b->location_line_first[location + 1];
		     line > b->location_line_first[location];) {
			uint32_t name = b->function_name[b->line_function[--line]];

			fprintf(file, ";%s", b->string_text[name]);
		}
	}
}

/* On a worker thread. */
static void folded_write(void *arg)
{
	struct folded *f = arg;
	const struct ep_batch *b = f->batch;

	for (uint32_t i = 0; i < b->n_samples; i++) {
		fputs(b->string_text[b->process_comm[b->sample_process[i]]], f->file);
		write_stack(f->file, b, b->sample_stack[i]);
		fprintf(f->file, " %" PRIu32 "\n", b->sample_count[i]);
	}
}

static void folded_written(void *arg)
{
	struct folded *f = arg;

	f->host->batch_unref(f->batch);
	f->done(f->done_arg, fflush(f->file) ? -EIO : 0);
}

static void folded_export(void *arg, const struct ep_batch *batch, ep_export_done done,
			  void *done_arg)
{
	struct folded *f = arg;
	int r;

	f->batch = batch;
	f->done = done;
	f->done_arg = done_arg;
	f->host->batch_ref(batch);
	r = f->host->run(folded_write, folded_written, f);
	if (r < 0) {
		f->host->batch_unref(batch);
		done(done_arg, r);
	}
}

static void folded_close(void *arg)
{
	struct folded *f = arg;

	fclose(f->file);
	free(f);
}

static const struct ep_option_spec options[] = {
	{.name = "path", .type = EP_OPTION_STRING, .help = "file to write"},
	{.name = NULL},
};

static const struct ep_exporter_ops ops = {
	.size = sizeof(ops),
	.options = options,
	.open = folded_open,
	.export_batch = folded_export,
	.close = folded_close,
};

EP_PLUGIN_DEFINE = {
	.size = sizeof(struct ep_plugin),
	.abi_major = EP_ABI_MAJOR,
	.abi_minor = EP_ABI_MINOR,
	.kind = EP_PLUGIN_EXPORTER,
	.name = "folded",
	.version = "1.0",
	.exporter = &ops,
};
