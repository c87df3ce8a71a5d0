/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/outputs.h"
#include "core/base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define MAX_OUTPUTS 64

struct output {
	struct ep_module *module;
	struct ep_exporter *exporter;
	char *place; /* where it puts what it writes; NULL: it does not say */
};

void ep_outputs_init(struct ep_outputs *outputs, const char *plugin_dir)
{
	*outputs = (struct ep_outputs){.plugin_dir = plugin_dir};
	ep_vec_init(&outputs->list, sizeof(struct output), MAX_OUTPUTS);
}

void ep_outputs_fini(struct ep_outputs *outputs)
{
	struct output *output;

	ep_vec_each(&outputs->list, output) {
		ep_exporter_close(output->exporter);
		ep_module_unload(output->module);
		free(output->place);
	}
	ep_vec_fini(&outputs->list);
}

static void print_option_error(const char *where, const struct ep_option_error *error)
{
	if (where && error->line)
		fprintf(stderr, "%s:%" PRIu32 ":%" PRIu32 ": %s\n", where, error->line,
			error->column, error->text);
	else
		fprintf(stderr, "ebpf-profiler: %s\n", error->text);
}

static int load(const char *plugin_dir, const char *type, struct ep_module **ret_module)
{
	char reason[EP_REASON_BYTES];
	int r = ep_module_load(plugin_dir, type, ret_module, reason);

	if (r == 0 && !ep_module_exporter(*ret_module)) {
		fprintf(stderr, "ebpf-profiler: plugin %s is no exporter\n", type);
		ep_module_unload(*ret_module);
		return -ENOTSUP;
	}
	if (r < 0)
		fprintf(stderr, "ebpf-profiler: %s\n", reason);
	return r;
}

static int make_options(const struct ep_module *module, const char *type, const char *where,
			const char *const *common, const struct ep_value *values, size_t n_values,
			struct ep_options **ret_options)
{
	const struct ep_exporter_ops *ops = ep_module_exporter(module);
	struct ep_option_error error = {0};
	int r = ep_options_new(type, ops->options, common, values, n_values, &error, ret_options);

	if (r < 0)
		print_option_error(where, &error);
	return r;
}

/* Options that exporters have for this output. */
static char *find_place(const struct ep_options *options)
{
	static const char *const names[] = {"directory", "path", "endpoint"};
	const char *place = "";

	for (size_t i = 0; i < EP_LEN(names) && !place[0]; i++)
		place = ep_options_string(options, names[i]);
	return strdup(place);
}

int ep_outputs_open(struct ep_outputs *outputs, const char *type, const char *where,
		    const char *const *common, const struct ep_value *values, size_t n_values)
{
	struct ep_options *options = NULL;
	struct output output = {0}, *slot;
	int r = load(outputs->plugin_dir, type, &output.module);

	if (r < 0)
		return r;
	r = make_options(output.module, type, where, common, values, n_values, &options);
	if (r == 0)
		output.place = find_place(options);
	if (r == 0)
		r = ep_exporter_open(ep_module_plugin(output.module), output.module, options,
				     EP_EXPORTER_QUEUE, &output.exporter);
	slot = r == 0 ? ep_vec_push(&outputs->list) : NULL;
	if (!slot) {
		ep_exporter_close(output.exporter);
		ep_module_unload(output.module);
		free(output.place);
		return r < 0 ? r : -E2BIG;
	}
	*slot = output;
	return (int)outputs->list.len - 1;
}

int ep_outputs_check(const char *plugin_dir, const char *type, const char *where,
		     const char *const *common, const struct ep_value *values, size_t n_values)
{
	struct ep_options *options = NULL;
	struct ep_module *module;
	int r = load(plugin_dir, type, &module);

	if (r < 0)
		return r;
	r = make_options(module, type, where, common, values, n_values, &options);
	ep_options_free(options);
	ep_module_unload(module);
	return r;
}

void ep_outputs_submit(struct ep_outputs *outputs, size_t number, const struct ep_batch *batch)
{
	ep_exporter_submit(ep_vec_at(&outputs->list, struct output, number)->exporter, batch);
}

static void on_flushed(void *arg)
{
	struct ep_outputs *outputs = arg;

	if (--outputs->flushing == 0)
		outputs->flushed(outputs->arg);
}

void ep_outputs_flush(struct ep_outputs *outputs, void (*flushed)(void *arg), void *arg)
{
	struct output *output;

	outputs->flushed = flushed;
	outputs->arg = arg;
	outputs->flushing = 1; /* until all have been asked */
	ep_vec_each(&outputs->list, output) {
		outputs->flushing++;
		ep_exporter_flush(output->exporter, on_flushed, outputs);
	}
	on_flushed(outputs);
}

const char *ep_outputs_name(const struct ep_outputs *outputs, size_t number)
{
	return ep_exporter_name(ep_vec_at(&outputs->list, struct output, number)->exporter);
}

const char *ep_outputs_place(const struct ep_outputs *outputs, size_t number)
{
	const char *place = ep_vec_at(&outputs->list, struct output, number)->place;

	return place ? place : "";
}

int ep_outputs_result_of(const struct ep_outputs *outputs, size_t number)
{
	const struct output *output = ep_vec_at(&outputs->list, struct output, number);
	const struct ep_exporter_stats *stats = ep_exporter_stats(output->exporter);

	if (!stats->failed)
		return 0;
	return stats->last_result < 0 ? stats->last_result : -EIO;
}

int ep_outputs_result(const struct ep_outputs *outputs)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < outputs->list.len; i++)
		r = ep_outputs_result_of(outputs, i);
	return r;
}

void ep_outputs_print_counters(const struct ep_outputs *outputs, FILE *out)
{
	const struct output *output;

	ep_vec_each(&outputs->list, output) {
		const struct ep_exporter_stats *stats = ep_exporter_stats(output->exporter);
		const char *name = ep_exporter_name(output->exporter);

		ep_put_count_of(out, name, "batches exported", stats->exported);
		ep_put_count_of(out, name, "batches failed", stats->failed);
		ep_put_count_of(out, name, "batches dropped", stats->dropped);
	}
}
