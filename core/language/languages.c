/* SPDX-License-Identifier: Apache-2.0 */
#include "core/language/languages.h"
#include "bpf/shared.h"
#include "core/plugin/job.h"
#include "core/language/internal.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/bpf/language_maps.h"
#include "core/elf/file.h"
#include "core/plugin/description.h"
#include "core/plugin/elf_file.h"
#include "core/trace/kinds.h"
#include "ebpf-profiler/bpf/self.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* --- languages ------------------------------------------------------------------------------- */

/* Slots, kinds, error codes and counters are given in the order in which plugins are found. */
static int add_plugin(struct ep_languages *languages, struct ep_module *module)
{
	const struct ep_plugin *descriptor = ep_module_plugin(module);
	const struct ep_unwinder_ops *ops = descriptor->unwinder;
	struct ep_language *language = &languages->all[languages->n];
	uint32_t slot = ep_kind_find_slot(descriptor->name);
	const char *const *counters = EP_HAS(ops, counters) ? ops->counters : NULL;
	size_t n_counters = 0;
	int r;

	while (counters && n_counters < EP_MAX_PLUGIN_COUNTERS && counters[n_counters])
		n_counters++;
	if (slot >= EP_ROW_SLOT_ANY ||
	    languages->n_counters + n_counters > EP_MAX_LANGUAGE_COUNTERS)
		return -E2BIG;
	language->languages = languages;
	language->ops = ops;
	language->name = descriptor->name;
	language->slot = slot;
	language->n_counters = (uint32_t)n_counters;
	language->options = (struct ep_unwinder_program_options){
		.name = language->name,
		.image = ops->bpf,
		.keeper = EP_HAS(ops, keeper) ? ops->keeper : NULL,
		.slot = slot,
		.first_counter = (uint32_t)languages->n_counters,
	};
	r = ep_kind_add(slot, language->name, EP_HAS(ops, errors) ? ops->errors : NULL,
			&language->options.first_error);
	if (r < 0)
		return r;
	ep_kind_set_frame_type(slot, EP_HAS(ops, frame_type) ? ops->frame_type : NULL);
	language->module = ep_module_ref(module);
	languages->n_counters += n_counters;
	languages->n++;
	return 0;
}

bool ep_languages_have(const struct ep_languages *languages, const char *name)
{
	for (size_t i = 0; i < languages->n; i++) {
		if (strcmp(languages->all[i].name, name) == 0)
			return true;
	}
	return false;
}

/* Exporters are loaded by who asks for them; here they are only passed over. */
static void visit_plugin(void *arg, const struct ep_plugin_entry *entry)
{
	struct ep_languages *languages = arg;
	const struct ep_languages_options *options = &languages->options;
	int r;

	if (options->enabled && !options->enabled(options->arg, entry->name))
		return;
	if (!entry->module)
		ep_log(EP_LOG_WARN, "languages: %s", entry->reason);
	if (!entry->module || !ep_module_unwinder(entry->module) ||
	    ep_languages_have(languages, entry->name))
		return;
	r = add_plugin(languages, entry->module);
	if (r < 0)
		ep_log(EP_LOG_WARN, "languages: plugin %s: %s", entry->name, ep_strerror(r));
}

static void on_names_due(void *arg)
{
	struct ep_languages *languages = arg;

	if (!languages->stopped)
		languages->options.named(languages->options.arg);
}

int ep_languages_new(const struct ep_languages_options *options, struct ep_languages **ret)
{
	struct ep_languages *languages = calloc(1, sizeof(*languages));

	if (!languages)
		return -ENOMEM;
	languages->options = *options;
	languages->max_naming = EP_MAX_NAME_JOBS;
	languages->naming = options->name_jobs ? options->name_jobs : &languages->own_naming;
	languages->full_lines =
		(struct ep_log_limit){.rate = {.unit_ns = 60 * EP_NS_PER_SEC, .burst = 1}};
	languages->left_out_lines =
		(struct ep_log_limit){.rate = {.unit_ns = 15 * EP_NS_PER_SEC, .burst = 4}};
	ep_subuids_read("/etc/subuid", &languages->subuids);
	languages->accounts.n_cpus = (uint32_t)EP_MAX(sysconf(_SC_NPROCESSORS_ONLN), 0l);
	LIST_INIT(&languages->instances);
	TAILQ_INIT(&languages->line);
	languages->names_due = (struct ep_timeout){.run = on_names_due, .arg = languages};
	if (options->plugin_dir)
		(void)ep_plugin_list(options->plugin_dir, visit_plugin, languages);
	*ret = languages;
	return 0;
}

void ep_languages_stop(struct ep_languages *languages)
{
	ep_timer_unset(languages->options.timer, &languages->names_due);
	languages->stopped = true;
}

void ep_languages_free(struct ep_languages *languages)
{
	if (!languages)
		return;
	for (size_t i = 0; i < languages->n; i++) {
		ep_unwinder_program_free(languages->all[i].program);
		ep_module_unload(languages->all[i].module);
	}
	ep_language_maps_free(languages->maps);
	ep_subuids_fini(&languages->subuids);
	free(languages);
}

void ep_languages_name_later(struct ep_languages *languages, uint64_t wait_ns)
{
	uint64_t at_ns = ep_clock_mono_ns() + wait_ns;

	if (!ep_timeout_is_set(&languages->names_due) || at_ns < languages->names_due.due.at_ns)
		ep_timer_set(languages->options.timer, &languages->names_due, at_ns);
}

size_t ep_languages_busy(const struct ep_languages *languages)
{
	return languages->busy;
}

size_t ep_languages_attaching(const struct ep_languages *languages)
{
	return languages->attaching;
}

void ep_languages_drain(struct ep_languages *languages, uint64_t cpu_ns)
{
	languages->max_naming = EP_LAST_NAME_JOBS;
	ep_accounts_drain(&languages->accounts, cpu_ns);
}

size_t ep_languages_bytes(const struct ep_languages *languages)
{
	const struct ep_instance *instance;
	size_t bytes = sizeof(*languages) + languages->kept_bytes;

	LIST_FOREACH (instance, &languages->instances, link)
		bytes += sizeof(*instance) +
			 instance->view.ranges.cap * instance->view.ranges.elem_bytes;
	return bytes;
}

size_t ep_languages_bpf_bytes(const struct ep_languages *languages)
{
	return languages->maps ? ep_language_maps_bytes(languages->maps) : 0;
}

/* More than this part of its names was gone: for some time none waits. */
#define GONE_PART    64
#define IMPATIENT_NS (10 * EP_NS_PER_SEC)
#define STAY_MS	     1000

uint32_t ep_languages_patient(struct ep_languages *languages, uint64_t now_ns)
{
	uint32_t patient = 0;

	for (size_t i = 0; i < languages->n; i++) {
		struct ep_language *language = &languages->all[i];
		const struct ep_unwinder_ops *ops = language->ops;

		if (language->waited_gone * GONE_PART > language->waited)
			language->impatient_until_ns = now_ns + IMPATIENT_NS;
		language->waited = language->waited_gone = 0;
		if (EP_HAS(ops, names_stay_ms) && ops->names_stay_ms >= STAY_MS &&
		    now_ns >= language->impatient_until_ns)
			patient |= 1u << language->slot;
	}
	return patient;
}

/*
 * All of a program's new traces were kept if it began after the snapshot program was loaded, as
 * those that are recently started now did.
 */
static bool keeps_of_young(const struct ep_language *language, uint64_t now_ns)
{
	return !language->loading_keeper && language->keeps &&
	       now_ns >= language->keeps_ns + EP_YOUNG_NS;
}

uint32_t ep_languages_keeping(const struct ep_languages *languages, uint64_t now_ns)
{
	uint32_t keeping = 0;

	if (languages->kept_bytes > EP_KEPT_MUCH_BYTES)
		return 0;
	for (size_t i = 0; i < languages->n; i++) {
		const struct ep_language *language = &languages->all[i];

		if (keeps_of_young(language, now_ns) && EP_HAS(language->ops, keeper) &&
		    language->ops->keeps_all)
			keeping |= 1u << language->slot;
	}
	return keeping;
}

void ep_languages_print_counters(const struct ep_languages *languages, FILE *out)
{
	ep_put_count(out, "language runtimes attached", languages->attached);
	ep_put_count(out, "language runtimes not understood", languages->refused);
	ep_put_count(out, "of them that BPF forgot since others were sampled later",
		     languages->states_taken_back);
	ep_put_count(out, "times that one had to wait for its first sample",
		     languages->states_refused);
	ep_put_count(out, "language frames named", languages->symbolized);
	ep_put_count(out, "of them since what names are made of came with their samples",
		     languages->named_by_kept);
	ep_put_count(out, "times that there was no room for what came", languages->kept_refused);
	ep_put_count(out, "language frames whose code was gone", languages->gone);
	ep_put_count(out, "language frames that got no name", languages->unnamed);
	ep_put_count(out, "of them since reading about one took too long", languages->late);
	ep_put_count(out, "ms of CPU for language runtimes and frames",
		     languages->accounts.spent_ns / EP_NS_PER_MS);
	ep_put_count(out, "of it by processes over their share",
		     languages->accounts.shared_spent_ns / EP_NS_PER_MS);
	ep_put_count(out, "times that attaching was put off until it is paid for",
		     languages->put_off);
	ep_put_count(out, "times that a process was not looked at since it slept",
		     languages->slept);
	ep_put_count(out, "inlined functions of one frame left out: too many, or too long",
		     languages->lines_left_out);
	for (size_t i = 0; i < languages->n; i++) {
		const struct ep_language *language = &languages->all[i];

		for (uint32_t j = 0; j < language->n_counters; j++) {
			uint64_t value = atomic_load(&language->counters[j]);

			if (languages->maps)
				value += ep_language_maps_counter(
					languages->maps, language->options.first_counter + j);
			ep_put_count_of(out, language->name, language->ops->counters[j], value);
		}
	}
}

/* --- claims ---------------------------------------------------------------------------------- */

static struct ep_claim *probe(struct ep_language *language, const struct ep_file *file)
{
	struct ep_claim *claim = calloc(1, sizeof(*claim));
	int r = claim ? language->ops->probe(ep_unwinder_host_get(), file, &claim->executable)
		      : -ENOMEM;

	if (r == 0 || (r == EP_CODE_ONLY && claim->executable) || (r == EP_LAUNCHER && claim)) {
		atomic_init(&claim->refs, 1);
		claim->language = language;
		claim->role = r;
		ep_log(EP_LOG_DEBUG, "%s: its %s is %s", language->name,
		       r == EP_LAUNCHER	   ? "launcher"
		       : r == EP_CODE_ONLY ? "code"
					   : "runtime",
		       file->path);
		return claim;
	}
	if (r < 0)
		ep_log(EP_LOG_DEBUG, "%s: %s: %s", language->name, file->path, ep_strerror(r));
	free(claim);
	return NULL;
}

size_t ep_languages_probe(struct ep_languages *languages, struct ep_elf *elf, const char *root,
			  const char *path, struct ep_claim *claims[EP_MAX_CLAIMS])
{
	struct ep_elf_file file;
	size_t n = 0;

	if (languages->n == 0)
		return 0;
	ep_elf_file_init(&file, elf, root, path);
	for (size_t i = 0; i < languages->n && n < EP_MAX_CLAIMS; i++) {
		claims[n] = probe(&languages->all[i], &file.file);
		n += claims[n] != NULL;
	}
	ep_elf_file_fini(&file);
	return n;
}

bool ep_claims_describe(struct ep_claim *const *claims, size_t n, struct ep_elf *elf,
			const char *root, const char *path, struct ep_description *description)
{
	struct ep_elf_file file;
	bool all = true;

	for (size_t i = 0; i < n; i++) {
		const struct ep_language *language = claims[i]->language;
		size_t n_rows = description->rows.len;
		uint64_t start_ns = ep_clock_mono_ns();
		int r;

		if (claims[i]->role == EP_LAUNCHER || !EP_HAS(language->ops, describe))
			continue;
		ep_elf_file_init(&file, elf, root, path);
		r = ep_description_ask(description, language->ops, claims[i]->executable,
				       &file.file);
		ep_elf_file_fini(&file);
		all &= r == 0;
		if (r < 0)
			ep_log(EP_LOG_DEBUG, "%s: %s: its code is not described: %s",
			       language->name, path, ep_strerror(r));
		else
			ep_log(EP_LOG_DEBUG, "%s: %s: described by %zu rows in %" PRIu64 " us",
			       language->name, path, description->rows.len - n_rows,
			       (uint64_t)((ep_clock_mono_ns() - start_ns) / 1000));
	}
	ep_description_end(description);
	return all;
}

void ep_claim_tell_left_out(struct ep_languages *languages, const struct ep_claim *claim, pid_t pid,
			    const char *why)
{
	if (ep_log_limit_ok(&languages->left_out_lines))
		ep_log(EP_LOG_INFO, "%s: pid %d: %s", claim->language->name, (int)pid, why);
}

bool ep_claim_is_runtime(const struct ep_claim *claim)
{
	return claim->role == 0;
}

bool ep_claim_is_launcher(const struct ep_claim *claim)
{
	return claim->role == EP_LAUNCHER;
}

struct ep_claim *ep_claim_ref(struct ep_claim *claim)
{
	atomic_fetch_add(&claim->refs, 1);
	return claim;
}

void ep_claim_unref(struct ep_claim *claim)
{
	if (!claim || atomic_fetch_sub(&claim->refs, 1) != 1)
		return;
	if (claim->role != EP_LAUNCHER)
		claim->language->ops->unload(claim->executable);
	free(claim);
}
