/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The BPF program of a language. It is loaded beside the first attach: a short one at first, which
 * the verifier takes at once, then the snapshot program (core/bpf/unwinder_program.h), then a
 * longer one. Each is a job on a worker.
 */
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/bpf/language_maps.h"
#include "core/language/internal.h"
#include "core/plugin/job.h"

#include <errno.h>
#include <inttypes.h>

/*
 * After a load that found no memory or descriptors; each pause is twice as long as the one before.
 */
#define LOAD_PAUSE_MIN_NS (250 * EP_NS_PER_MS)
#define LOAD_PAUSE_MAX_NS (256 * EP_NS_PER_SEC)
#define LENGTHEN_AFTER_NS EP_NS_PER_SEC

static void pause_loads(struct ep_language *language)
{
	language->pause_ns =
		EP_MIN(EP_MAX(2 * language->pause_ns, LOAD_PAUSE_MIN_NS), LOAD_PAUSE_MAX_NS);
	language->load_after_ns = ep_clock_mono_ns() + language->pause_ns;
}

static void run_load(void *arg)
{
	struct ep_language *language = arg;
	uint64_t start_ns = ep_clock_mono_ns();
	char reason[512] = "";
	int r = ep_unwinder_program_load(language->languages->options.bpf,
					 language->languages->maps, &language->options,
					 &language->program, reason);

	language->failed = r < 0 && !ep_unwinder_program_may_pass(r);
	if (r < 0)
		pause_loads(language);
	if (r == -ECANCELED)
		return;
	if (r < 0) {
		ep_log(EP_LOG_WARN,
		       "%s: its unwinder cannot be loaded%s, its frames stay native: %s",
		       language->name, language->failed ? "" : " now and will be tried again",
		       reason);
		return;
	}
	language->loaded_ns = ep_clock_mono_ns();
	ep_log(EP_LOG_INFO, "%s: unwinder loaded in %" PRIu64 " ms, %u frames per run%s",
	       language->name, (uint64_t)((language->loaded_ns - start_ns) / EP_NS_PER_MS),
	       ep_unwinder_program_frames_per_run(language->program),
	       ep_unwinder_program_is_short(language->program) ? ", a longer one follows" : "");
}

static void run_lengthen(void *arg)
{
	struct ep_language *language = arg;
	uint64_t start_ns = ep_clock_mono_ns();
	char reason[512] = "";
	int r = ep_unwinder_program_lengthen(language->program, language->languages->options.bpf,
					     language->languages->maps, &language->options,
					     reason);

	if (r < 0)
		pause_loads(language);
	if (r == -ECANCELED)
		return;
	if (r < 0) {
		ep_log(EP_LOG_INFO, "%s: no longer unwinder: %s", language->name, reason);
		return;
	}
	ep_log(EP_LOG_INFO, "%s: longer unwinder loaded in %" PRIu64 " ms, %u frames per run",
	       language->name, (uint64_t)((ep_clock_mono_ns() - start_ns) / EP_NS_PER_MS),
	       ep_unwinder_program_frames_per_run(language->program));
}

static void finish_lengthen(void *arg)
{
	struct ep_language *language = arg;
	struct ep_languages *languages = language->languages;

	languages->lengthening = false;
	languages->busy--;
	languages->attaching -= language->is_awaited;
	language->is_awaited = false;
}

/* One after the other: each takes a worker for seconds on a busy machine. */
static void language_lengthen(struct ep_language *language, bool is_urgent)
{
	struct ep_languages *languages = language->languages;
	uint64_t now_ns = ep_clock_mono_ns();

	if (languages->lengthening || languages->stopped || language->loading ||
	    language->loading_keeper || !language->program ||
	    !ep_unwinder_program_is_short(language->program) || now_ns < language->load_after_ns ||
	    (!is_urgent && now_ns < language->loaded_ns + LENGTHEN_AFTER_NS) ||
	    ep_job_run(languages->options.loop, run_lengthen, finish_lengthen, language) < 0)
		return;
	languages->lengthening = true;
	languages->busy++;
	languages->attaching += language->is_awaited;
}

void ep_languages_lengthen(struct ep_languages *languages, bool is_urgent)
{
	for (size_t i = 0; i < languages->n; i++)
		language_lengthen(&languages->all[i], is_urgent);
}

static void run_load_keeper(void *arg)
{
	struct ep_language *language = arg;
	uint64_t start_ns = ep_clock_mono_ns();
	char reason[512] = "";
	int r = ep_unwinder_program_load_keeper(language->program, language->languages->options.bpf,
						language->languages->maps, &language->options,
						reason);

	language->keeps = r == 0;
	if (r < 0 && r != -ECANCELED)
		ep_log(EP_LOG_INFO, "%s: no names come with samples: %s", language->name, reason);
	else if (r == 0)
		ep_log(EP_LOG_DEBUG, "%s: keeper loaded in %" PRIu64 " ms", language->name,
		       (uint64_t)((ep_clock_mono_ns() - start_ns) / EP_NS_PER_MS));
}

static void finish_load_keeper(void *arg)
{
	struct ep_language *language = arg;

	language->loading_keeper = false;
	language->keeps_ns = ep_clock_mono_ns();
	language->languages->busy--;
	language->languages->attaching--;
	if (language->is_awaited)
		language_lengthen(language, true);
}

/* Frames come first: its snapshot program is loaded when the program is in use. */
static void finish_load(void *arg)
{
	struct ep_language *language = arg;
	struct ep_languages *languages = language->languages;

	language->loading = false;
	ep_instances_end_load(language);
	language->loading_keeper = language->program && EP_HAS(language->ops, keeper) &&
				   !languages->stopped &&
				   ep_job_run(languages->options.loop, run_load_keeper,
					      finish_load_keeper, language) == 0;
	if (!language->loading_keeper)
		finish_load_keeper(language);
}

int ep_language_load(struct ep_language *language)
{
	struct ep_languages *languages = language->languages;
	int r;

	if (language->loading || language->program || language->failed)
		return 0;
	r = languages->stopped ? -ECANCELED : 0;
	if (r == 0 && !languages->maps)
		r = ep_language_maps_new(&languages->maps);
	if (r == 0)
		r = ep_job_run(languages->options.loop, run_load, finish_load, language);
	language->loading = r == 0;
	languages->busy += r == 0;
	languages->attaching += r == 0;
	return r;
}

void ep_claim_load(const struct ep_claim *claim, bool waits)
{
	struct ep_language *language = claim->language;

	language->is_awaited |= waits && !language->loading && !language->program;
	(void)ep_language_load(language);
}
