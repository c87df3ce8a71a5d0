/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/unwinders.h"
#include "bpf/shared.h"
#include "core/process/job.h"
#include "core/process/unwinders_internal.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/bpf/language_maps.h"
#include "core/bpf/unwinder_program.h"
#include "core/elf/file.h"
#include "core/plugin/elf_file.h"
#include "core/trace/languages.h"
#include "ebpf-profiler/bpf/self.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* --- plugins --------------------------------------------------------------------------------- */

static size_t count_texts(const char *const *texts, size_t max)
{
	size_t n = 0;

	while (texts && n < max && texts[n])
		n++;
	return n;
}

/* Slots, kinds, error codes and counters are given in the order in which plugins are found. */
static int add_plugin(struct ep_unwinders *unwinders, struct ep_module *module)
{
	const struct ep_plugin *descriptor = ep_module_plugin(module);
	const struct ep_unwinder_ops *ops = descriptor->unwinder;
	struct ep_language_plugin *plugin = &unwinders->plugins[unwinders->n_plugins];
	uint32_t slot = EP_SLOT_FIRST_DYNAMIC + (uint32_t)unwinders->n_plugins;
	size_t n_counters = count_texts(EP_HAS(ops, counters) ? ops->counters : NULL,
					EP_MAX_PLUGIN_COUNTERS);
	int r;

	if (slot >= EP_ROW_SLOT_ANY ||
	    unwinders->n_counters + n_counters > EP_MAX_LANGUAGE_COUNTERS)
		return -E2BIG;
	plugin->unwinders = unwinders;
	plugin->ops = ops;
	plugin->name = descriptor->name;
	plugin->slot = slot;
	plugin->first_counter = (uint32_t)unwinders->n_counters;
	plugin->n_counters = (uint32_t)n_counters;
	r = ep_language_add(slot, plugin->name, EP_HAS(ops, errors) ? ops->errors : NULL,
			    &plugin->first_error);
	if (r < 0)
		return r;
	ep_language_set_frame_type(slot, EP_HAS(ops, frame_type) ? ops->frame_type : NULL);
	r = uv_mutex_init(&plugin->mutex);
	if (r < 0)
		return r;
	plugin->module = module;
	unwinders->n_counters += n_counters;
	unwinders->n_plugins++;
	return 0;
}

bool ep_unwinders_have(const struct ep_unwinders *unwinders, const char *name)
{
	for (size_t i = 0; i < unwinders->n_plugins; i++) {
		if (strcmp(unwinders->plugins[i].name, name) == 0)
			return true;
	}
	return false;
}

/* Exporters are loaded by who asks for them; here they are only passed over. */
static void visit_plugin(void *arg, const struct ep_plugin_entry *entry)
{
	struct ep_unwinders *unwinders = arg;
	const struct ep_unwinders_options *options = &unwinders->options;
	char reason[EP_REASON_BYTES] = "";
	struct ep_module *module;
	int r;

	if (options->enabled && !options->enabled(options->arg, entry->name))
		return;
	if (entry->result < 0)
		ep_log(EP_LOG_WARN, "languages: %s", entry->reason);
	if (strcmp(entry->kind, "unwinder") != 0 || ep_unwinders_have(unwinders, entry->name))
		return;
	r = ep_module_load(options->plugin_dir, entry->name, &module, reason);
	if (r < 0) {
		ep_log(EP_LOG_WARN, "languages: %s", reason);
		return;
	}
	r = add_plugin(unwinders, module);
	if (r < 0) {
		ep_log(EP_LOG_WARN, "languages: plugin %s: %s", entry->name, ep_strerror(r));
		ep_module_unload(module);
	}
}

int ep_unwinders_new(const struct ep_unwinders_options *options, struct ep_unwinders **ret)
{
	struct ep_unwinders *unwinders = calloc(1, sizeof(*unwinders));

	if (!unwinders)
		return -ENOMEM;
	unwinders->options = *options;
	unwinders->full_lines = (struct ep_log_limit){.interval_ns = 60 * EP_NS_PER_SEC, .burst = 1};
	unwinders->left_out_lines = (struct ep_log_limit){.interval_ns = 60 * EP_NS_PER_SEC, .burst = 4};
	LIST_INIT(&unwinders->instances);
	uv_timer_init(options->loop, &unwinders->retry_timer);
	unwinders->retry_timer.data = unwinders;
	if (options->plugin_dir)
		(void)ep_plugin_list(options->plugin_dir, visit_plugin, unwinders);
	*ret = unwinders;
	return 0;
}

int ep_unwinders_prepare(struct ep_unwinders *unwinders)
{
	return unwinders->maps ? 0 : ep_language_maps_new(&unwinders->maps);
}

static int load_program(struct ep_language_plugin *plugin)
{
	struct ep_unwinder_program_options options = {
		.name = plugin->name,
		.image = plugin->ops->bpf,
		.slot = plugin->slot,
		.first_error = plugin->first_error,
		.first_counter = plugin->first_counter,
	};
	uint64_t start_ns = ep_clock_mono_ns();
	char reason[512] = "";
	int r = ep_unwinder_program_load(plugin->unwinders->options.bpf,
					 plugin->unwinders->maps, &options, &plugin->program,
					 reason);

	if (r < 0) {
		ep_log(EP_LOG_WARN,
		       "%s: its unwinder cannot be loaded, its frames stay native: %s",
		       plugin->name, reason);
		return r;
	}
	ep_log(EP_LOG_INFO, "%s: unwinder loaded in %" PRIu64 " ms, %u frames per run",
	       plugin->name, (uint64_t)((ep_clock_mono_ns() - start_ns) / EP_NS_PER_MS),
	       ep_unwinder_program_frames_per_run(plugin->program));
	return 0;
}

int ep_language_plugin_load(struct ep_language_plugin *plugin)
{
	int r = 0;

	uv_mutex_lock(&plugin->mutex);
	if (plugin->failed)
		r = -ENOTSUP;
	else if (!plugin->program)
		r = load_program(plugin);
	plugin->failed = r < 0;
	uv_mutex_unlock(&plugin->mutex);
	return r;
}

void ep_unwinders_stop(struct ep_unwinders *unwinders)
{
	if (!unwinders->stopped)
		uv_close((uv_handle_t *)&unwinders->retry_timer, NULL);
	unwinders->stopped = true;
}

void ep_unwinders_free(struct ep_unwinders *unwinders)
{
	if (!unwinders)
		return;
	for (size_t i = 0; i < unwinders->n_plugins; i++) {
		struct ep_language_plugin *plugin = &unwinders->plugins[i];

		ep_unwinder_program_free(plugin->program);
		uv_mutex_destroy(&plugin->mutex);
		ep_module_unload(plugin->module);
	}
	ep_language_maps_free(unwinders->maps);
	free(unwinders);
}

size_t ep_unwinders_busy(const struct ep_unwinders *unwinders)
{
	return unwinders->busy;
}

size_t ep_unwinders_attaching(const struct ep_unwinders *unwinders)
{
	return unwinders->attaching;
}

bool ep_unwinders_in_use(const struct ep_unwinders *unwinders)
{
	return unwinders->in_use;
}

size_t ep_unwinders_bpf_bytes(const struct ep_unwinders *unwinders)
{
	return unwinders->maps ? ep_language_maps_bytes(unwinders->maps) : 0;
}

static void print_plugin(const struct ep_language_plugin *plugin, FILE *out)
{
	const struct ep_unwinders *unwinders = plugin->unwinders;

	for (uint32_t i = 0; i < plugin->n_counters; i++) {
		uint64_t value = atomic_load(&plugin->counters[i]);

		if (unwinders->maps)
			value += ep_language_maps_counter(unwinders->maps,
						      plugin->first_counter + i);
		fprintf(out, "%12" PRIu64 "  %s: %s\n", value, plugin->name,
			plugin->ops->counters[i]);
	}
}

void ep_unwinders_print_counters(const struct ep_unwinders *unwinders, FILE *out)
{
	fprintf(out, "%12" PRIu64 "  language runtimes attached\n", unwinders->attached);
	fprintf(out, "%12" PRIu64 "  language runtimes not understood\n", unwinders->refused);
	fprintf(out, "%12" PRIu64 "  language frames named\n", unwinders->symbolized);
	fprintf(out, "%12" PRIu64 "  language frames whose code was gone\n", unwinders->gone);
	fprintf(out, "%12" PRIu64 "  language frames that got no name\n", unwinders->unnamed);
	fprintf(out, "%12" PRIu64 "  inlined functions of one frame left out: too many, or too long\n",
		unwinders->lines_left_out);
	for (size_t i = 0; i < unwinders->n_plugins; i++)
		print_plugin(&unwinders->plugins[i], out);
}

/* --- claims ---------------------------------------------------------------------------------- */

static struct ep_claim *probe(struct ep_language_plugin *plugin, const struct ep_file *file)
{
	struct ep_claim *claim = calloc(1, sizeof(*claim));
	int r = claim ? plugin->ops->probe(ep_unwinder_host_get(), file, &claim->executable)
		      : -ENOMEM;

	if (r == 0) {
		atomic_init(&claim->refs, 1);
		claim->plugin = plugin;
		return claim;
	}
	if (r < 0)
		ep_log(EP_LOG_DEBUG, "%s: %s: %s", plugin->name, file->path, ep_strerror(r));
	free(claim);
	return NULL;
}

size_t ep_unwinders_probe(struct ep_unwinders *unwinders, struct ep_elf *elf, const char *path,
			  struct ep_claim *claims[EP_MAX_CLAIMS])
{
	struct ep_elf_file file;
	size_t n = 0;

	if (unwinders->n_plugins == 0)
		return 0;
	ep_elf_file_init(&file, elf, path);
	for (size_t i = 0; i < unwinders->n_plugins && n < EP_MAX_CLAIMS; i++) {
		claims[n] = probe(&unwinders->plugins[i], &file.file);
		n += claims[n] != NULL;
	}
	ep_elf_file_fini(&file);
	return n;
}

void ep_claim_tell_left_out(struct ep_unwinders *unwinders, const struct ep_claim *claim, pid_t pid,
			    const char *why)
{
	if (ep_log_limit_ok(&unwinders->left_out_lines))
		ep_log(EP_LOG_INFO, "%s: pid %d: %s", claim->plugin->name, (int)pid, why);
}

void ep_claim_unref(struct ep_claim *claim)
{
	if (!claim || atomic_fetch_sub(&claim->refs, 1) != 1)
		return;
	claim->plugin->ops->unload(claim->executable);
	free(claim);
}

/* --- before anybody needs it ----------------------------------------------------------------- */

static void run_load(void *arg)
{
	(void)ep_language_plugin_load(arg);
}

static void finish_load(void *arg)
{
	struct ep_language_plugin *plugin = arg;

	plugin->tried = true;
	plugin->loading = false;
	plugin->unwinders->busy--;
	plugin->unwinders->attaching--;
}

void ep_claim_load(struct ep_unwinders *unwinders, const struct ep_claim *claim)
{
	struct ep_language_plugin *plugin = claim->plugin;

	if (unwinders->stopped || plugin->tried || plugin->loading ||
	    ep_unwinders_prepare(unwinders) < 0 ||
	    ep_job_run(unwinders->options.loop, run_load, finish_load, plugin) < 0)
		return;
	plugin->loading = true;
	unwinders->busy++;
	unwinders->attaching++;
}
