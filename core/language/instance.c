/* SPDX-License-Identifier: Apache-2.0 */
#include "core/language/languages.h"
#include "core/plugin/job.h"
#include "core/language/internal.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/bpf/language_maps.h"

#include <errno.h>

/*
 * A runtime that is not initialised yet is asked again, soon at first, and each wait is a quarter
 * longer than the one before: it runs unseen for a quarter of the time it took to start, at most.
 * What is sampled meanwhile cannot be walked from copies of stacks.
 */
#define RETRY_MIN_NS (2 * EP_NS_PER_MS)
#define LOAD_WAIT_NS EP_NS_PER_SEC
#define RETRY_MAX_NS (10 * EP_NS_PER_SEC)
#define MAX_FAILED   3 /* attaches in a row; tried again they are all the same */
#define YOUNG_NS     (2 * EP_NS_PER_SEC) /* while it maps what it needs */
/*
 * A process that maps all the time is looked at so often; its names have their turn in between. A young one is
 * looked at after a quarter of its age, as a short program may have ended by then, but not for more than a
 * ninth of the time.
 */
#define REFRESH_REST_NS (50 * EP_NS_PER_MS)
#define REFRESH_SHARE	8
/* The longest that one waits whose process has no budget. */
#define EXHAUSTED_MAX_NS EP_NS_PER_SEC
/* Attaches at once to processes that were never sampled: who is sampled does not wait behind thousands of them. */
#define MAX_ASLEEP 2

/* --- what it costs --------------------------------------------------------------------------- */

/*
 * Attach of one whose budget is exhausted. Samples wait for languages that are attached to; they do not wait
 * for this one.
 */
static bool is_exhausted(struct ep_instance *instance)
{
	uint64_t wait_ns = ep_instance_budget_wait_ns(instance);

	if (!wait_ns && instance->languages->n_over_budget > 0 && !ep_instance_is_within_budget(instance))
		wait_ns = REFRESH_REST_NS;
	if (!wait_ns)
		return false;
	instance->languages->put_off++;
	ep_instance_schedule(instance, EP_MIN(EP_MAX(wait_ns, RETRY_MIN_NS), EXHAUSTED_MAX_NS));
	return true;
}

/* --- whose turn it is ------------------------------------------------------------------------- */

static void leave_line(struct ep_instance *instance)
{
	if (instance->is_in_line)
		TAILQ_REMOVE(&instance->languages->asleep, instance, asleep);
	instance->is_in_line = false;
}

/* True: it waits until its turn comes, or its first sample. */
static bool must_stand_in_line(struct ep_instance *instance)
{
	struct ep_languages *languages = instance->languages;

	leave_line(instance);
	if (instance->account->was_sampled || languages->n_asleep < MAX_ASLEEP)
		return false;
	TAILQ_INSERT_HEAD(&languages->asleep, instance, asleep);
	instance->is_in_line = true;
	return true;
}

static void start_attach(struct ep_instance *instance);

static void call_next(struct ep_languages *languages)
{
	struct ep_instance *next;

	while (!languages->stopped && languages->n_asleep < MAX_ASLEEP &&
	       (next = TAILQ_FIRST(&languages->asleep)) != NULL) {
		leave_line(next);
		start_attach(next);
	}
}

/* --- jobs ------------------------------------------------------------------------------------ */

/* The one that costs much is not asked for more than a ninth of the time. */
static void schedule_retry(struct ep_instance *instance)
{
	uint64_t cost_ns = EP_MAX(instance->cost.cheap_ns + instance->cost.expensive_ns, instance->refresh_took_ns);
	uint64_t wait_ns = EP_MAX(instance->wait_ns, EP_MAX(REFRESH_SHARE * cost_ns, RETRY_MIN_NS));

	if (instance->attached.result < 0)
		ep_log(EP_LOG_DEBUG, "%s: pid %d: %s: tried again", instance->claim->language->name,
		       (int)instance->pid, ep_strerror(instance->attached.result));
	ep_instance_schedule(instance, wait_ns);
	instance->wait_ns = EP_MIN(wait_ns + wait_ns / 4, RETRY_MAX_NS);
}

static void end_first(struct ep_instance *instance)
{
	instance->languages->attaching -= instance->first;
	instance->first = false;
}

static void free_instance(struct ep_instance *instance)
{
	ep_attached_fini(&instance->attached);
	ep_instance_forget_kept(instance);
	ep_instance_view_fini(instance);
	LIST_REMOVE(instance, link);
	leave_line(instance);
	end_first(instance);
	ep_claim_unref(instance->claim);
	free(instance);
}

static void start_refresh_soon(struct ep_instance *instance);

static void take_failure(struct ep_instance *instance)
{
	instance->languages->refused += instance->attached.state == EP_ATTACHMENT_REFUSED;
	ep_log(EP_LOG_DEBUG, "%s: pid %d: %s", instance->claim->language->name, (int)instance->pid,
	       ep_strerror(instance->attached.result));
}

/* Without its language's program what was read is in vain: for good, or until another load. */
static void do_without_program(struct ep_instance *instance)
{
	const struct ep_language *language = instance->claim->language;

	if (language->loading || language->program)
		return;
	if (!language->failed) {
		ep_attached_rest(&instance->attached);
		ep_instance_schedule(instance, language->pause_ns);
	} else if (instance->attached.state != EP_ATTACHMENT_REFUSED) {
		ep_attached_refuse(&instance->attached);
		take_failure(instance);
		ep_instance_update_view(instance);
	}
}

/* What they have set while it was loaded is told now. */
void ep_instances_end_load(const struct ep_language *language)
{
	const struct ep_languages *languages = language->languages;
	struct ep_instance *instance;

	LIST_FOREACH (instance, &languages->instances, link) {
		if (instance->claim->language != language || instance->released)
			continue;
		if (ep_instance_state(instance) && !languages->stopped)
			languages->options.changed(languages->options.arg, instance->pid);
		if (!instance->busy)
			do_without_program(instance);
	}
}

/* Also while it looked for names a plugin may have come to know more. */
void ep_instance_end_job(struct ep_instance *instance)
{
	instance->busy = false;
	instance->languages->busy--;
	ep_instance_charge(instance);
	ep_process_target_end_job(&instance->process);
	instance->languages->n_asleep -= instance->is_asleep;
	instance->is_asleep = false;
	call_next(instance->languages);
	if (instance->released) {
		free_instance(instance);
		return;
	}
	instance->attached.is_changed |= instance->view.wants_cell && instance->sampled_ns;
	ep_instance_update_view(instance);
	do_without_program(instance);
	if (instance->refresh_wanted && instance->attached.state == EP_ATTACHMENT_ATTACHED)
		start_refresh_soon(instance);
}

static void take_success(struct ep_instance *instance)
{
	struct ep_languages *languages = instance->languages;

	if (instance->used_ns == 0)
		ep_log(EP_LOG_DEBUG, "%s: pid %d: attached", instance->claim->language->name,
		       (int)instance->pid);
	languages->attached += instance->used_ns == 0;
	instance->used_ns = ep_clock_mono_ns();
	instance->wait_ns = 0;
}

/* From here on the pid's memory is another program's, or nobody's. */
static void stop_looking(struct ep_instance *instance)
{
	instance->retry_ns = 0;
	leave_line(instance);
	if (instance->attached.state == EP_ATTACHMENT_WAITING || instance->attached.state == EP_ATTACHMENT_DORMANT)
		instance->attached.state = EP_ATTACHMENT_GONE;
}

/* Of attach and refresh. */
static void take_result(struct ep_instance *instance)
{
	instance->retry_ns = 0;
	instance->n_failed = instance->attached.state == EP_ATTACHMENT_WAITING ? instance->n_failed + 1 : 0;
	if (instance->again && !instance->ended)
		schedule_retry(instance);
	else if (instance->attached.state == EP_ATTACHMENT_ATTACHED)
		take_success(instance);
	else
		take_failure(instance);
	if (instance->ended)
		stop_looking(instance);
	ep_instance_end_job(instance);
}

static void run_attach(void *arg)
{
	struct ep_instance *instance = arg;
	uint64_t start_ns = ep_instance_begin_look(instance), took_ns;
	bool is_first = !instance->has_looked;

	instance->has_looked = true;
	instance->again = ep_attached_attach(&instance->attached);
	took_ns = ep_clock_thread_cpu_ns() - start_ns;
	ep_cost_add(&instance->cost, took_ns, is_first ? EP_ATTACH_WORTH_NS : EP_AGAIN_WORTH_NS);
	instance->cost.owner_ns += took_ns;
}

static void finish_attach(void *arg)
{
	struct ep_instance *instance = arg;

	end_first(instance);
	take_result(instance);
}

/* Not paid from the account: code that moves is an honest program's, and refreshes have a rate of their own. */
static void run_refresh(void *arg)
{
	struct ep_instance *instance = arg;

	(void)ep_instance_begin_look(instance);
	instance->again = ep_attached_refresh(&instance->attached);
}

static void finish_refresh(void *arg)
{
	struct ep_instance *instance = arg;

	instance->refresh_took_ns = ep_clock_mono_ns() - instance->refreshed_ns;
	take_result(instance);
}

int ep_instance_start_job(struct ep_instance *instance, void (*work)(void *arg),
			  void (*after)(void *arg), void *arg)
{
	struct ep_languages *languages = instance->languages;
	int r = languages->stopped ? -ECANCELED
				   : ep_job_run(languages->options.loop, work, after, arg);

	if (r < 0)
		return r;
	instance->busy = true;
	languages->busy++;
	instance->is_over_budget = !ep_instance_is_within_budget(instance);
	languages->n_over_budget += instance->is_over_budget;
	return 0;
}

static void start_refresh(struct ep_instance *instance)
{
	instance->refresh_wanted = false;
	if (instance->ended)
		return;
	instance->refreshed_ns = ep_clock_mono_ns();
	if (EP_HAS(instance->claim->language->ops, refresh))
		(void)ep_instance_start_job(instance, run_refresh, finish_refresh, instance);
}

static void start_refresh_soon(struct ep_instance *instance)
{
	uint64_t now_ns = ep_clock_mono_ns(), since_ns = now_ns - instance->refreshed_ns;
	uint64_t rest_ns = EP_MAX((now_ns - instance->born_ns) / 4, REFRESH_SHARE * instance->refresh_took_ns);

	rest_ns = EP_MIN(EP_MAX(rest_ns, RETRY_MIN_NS), REFRESH_REST_NS);

	if (instance->ended || since_ns >= rest_ns)
		start_refresh(instance);
	else
		ep_instance_schedule(instance, rest_ns - since_ns);
}

/* When the profiler starts, the unwind tables of what runs come before programs. 0: it need not wait. */
static uint64_t load_wait_ns(const struct ep_instance *instance)
{
	const struct ep_languages *languages = instance->languages;
	const struct ep_language *language = instance->claim->language;
	uint64_t now_ns = ep_clock_mono_ns();

	if (language->loading || language->program || language->failed)
		return 0;
	if (now_ns < language->load_after_ns)
		return language->load_after_ns - now_ns;
	return now_ns - instance->born_ns < LOAD_WAIT_NS &&
			       languages->options.hurried(languages->options.arg)
		       ? RETRY_MIN_NS
		       : 0;
}

/* A program takes the verifier 70 ms and more of CPU time: one worker loads it, another attaches meanwhile. */
static void start_attach(struct ep_instance *instance)
{
	struct ep_language *language = instance->claim->language;
	uint64_t wait_ns = load_wait_ns(instance);

	if (instance->ended)
		return;
	if (wait_ns) {
		if (language->pause_ns)
			end_first(instance); /* nobody waits for that */
		ep_instance_schedule(instance, wait_ns);
		return;
	}
	if (language->failed) {
		end_first(instance);
		do_without_program(instance);
		return;
	}
	if (is_exhausted(instance)) {
		end_first(instance);
		return;
	}
	if (must_stand_in_line(instance))
		return;
	instance->refresh_wanted = false; /* it looks at all there is */
	instance->refreshed_ns = ep_clock_mono_ns();
	instance->attached.result = ep_language_load(language);
	if (instance->attached.result < 0 ||
	    ep_instance_start_job(instance, run_attach, finish_attach, instance) < 0) {
		schedule_retry(instance);
		return;
	}
	instance->is_asleep = !instance->account->was_sampled;
	instance->languages->n_asleep += instance->is_asleep;
}

/* --- the public calls ------------------------------------------------------------------------ */

static struct ep_instance *new_instance(struct ep_languages *languages, struct ep_claim *claim,
					pid_t pid, struct ep_account *account, uint64_t bias,
					uint64_t module_addr)
{
	struct ep_instance *instance = calloc(1, sizeof(*instance));

	if (!instance)
		return NULL;
	instance->languages = languages;
	instance->claim = ep_claim_ref(claim);
	instance->pid = pid;
	instance->account = account ? account : &instance->own_account;
	instance->born_ns = ep_clock_mono_ns();
	ep_process_target_init(&instance->process, pid);
	instance->process.module_addr = module_addr;
	instance->process.bias = bias;
	ep_attached_init(&instance->attached, claim->language->ops, claim->executable,
			 &ep_process_target_ops, &instance->process, pid, bias);
	instance->attached.counters = claim->language->counters;
	instance->attached.stopped = &languages->stopped;
	instance->attached.frame_ns = EP_FRAME_READS_NS;
	instance->attached.kept = &instance->kept;
	ep_kept_memory_init(&instance->kept);
	ep_kept_memory_init(&instance->arrived);
	ep_instance_view_init(instance);
	LIST_INSERT_HEAD(&languages->instances, instance, link);
	return instance;
}

struct ep_instance *ep_instance_new(struct ep_languages *languages, struct ep_claim *claim,
				    pid_t pid, struct ep_account *account, uint64_t bias,
				    uint64_t module_addr)
{
	struct ep_instance *instance =
		languages->stopped ? NULL : new_instance(languages, claim, pid, account, bias, module_addr);

	if (!instance)
		return NULL;
	ep_instance_find_owner(instance);
	instance->first = true;
	languages->attaching++;
	start_attach(instance);
	return instance;
}

/*
 * What is said of the parent belongs to a job while one is under way: the loop's copy is taken.
 * Many children end or execute something else before they are sampled: with what BPF was told of
 * the parent, one is attached to only when its frames want names.
 */
struct ep_instance *ep_instance_fork(const struct ep_instance *parent, pid_t pid,
				     struct ep_account *account)
{
	struct ep_languages *languages = parent->languages;
	struct ep_instance *instance;

	if (languages->stopped || !parent->claim)
		return NULL;
	instance = new_instance(languages, parent->claim, pid, account, parent->process.bias,
				parent->process.module_addr);
	if (!instance)
		return NULL;
	ep_instance_view_inherit(instance, parent);
	if (instance->view.cell || instance->view.wants_cell)
		instance->attached.state = EP_ATTACHMENT_DORMANT;
	else
		start_attach(instance);
	return instance;
}

void ep_instance_release(struct ep_instance *instance)
{
	if (!instance)
		return;
	instance->released = true;
	instance->account = &instance->own_account;
	if (!instance->busy)
		free_instance(instance);
}

void ep_instance_leave(struct ep_instance *instance, struct ep_program program)
{
	struct ep_languages *languages = instance->languages;

	if (languages->options.leaving && instance->attached.instance && !instance->busy && !languages->stopped)
		languages->options.leaving(languages->options.arg, program, ep_instance_slot(instance));
	ep_instance_release(instance);
}

void ep_instance_end(struct ep_instance *instance)
{
	instance->ended = true;
	if (!instance->busy)
		stop_looking(instance);
}

bool ep_instance_is(const struct ep_instance *instance, const struct ep_claim *claim, uint64_t bias)
{
	return instance->claim == claim && instance->process.bias == bias;
}

/* What is mapped may be what was waited for: a runtime's code, right before it runs. */
static void try_again_soon(struct ep_instance *instance)
{
	instance->wait_ns = 0;
	if (ep_clock_mono_ns() - instance->born_ns < YOUNG_NS)
		ep_instance_schedule(instance, RETRY_MIN_NS);
}

void ep_instance_refresh(struct ep_instance *instance)
{
	if (instance->busy)
		instance->refresh_wanted = true;
	else if (instance->attached.state == EP_ATTACHMENT_ATTACHED)
		start_refresh_soon(instance);
	else if (instance->attached.state == EP_ATTACHMENT_DORMANT)
		start_attach(instance);
	else if (instance->attached.state == EP_ATTACHMENT_WAITING)
		try_again_soon(instance);
}

void ep_instance_ask_refresh(struct ep_instance *instance)
{
	if (instance->busy)
		instance->refresh_wanted = true;
	else if (instance->attached.state == EP_ATTACHMENT_ATTACHED)
		start_refresh_soon(instance);
}

/* Until its process executes something. */
static bool is_final(const struct ep_instance *instance)
{
	return instance->attached.state == EP_ATTACHMENT_REFUSED ||
	       instance->attached.state == EP_ATTACHMENT_GONE;
}

bool ep_instance_is_missed(const struct ep_instance *instance, bool ended)
{
	if (instance->busy)
		return false;
	return is_final(instance) || (ended && instance->attached.state == EP_ATTACHMENT_DORMANT);
}

/* A runtime that starts is not ready yet, however often it is asked. */
bool ep_instance_is_given_up(const struct ep_instance *instance)
{
	return ep_instance_is_missed(instance, false) ||
	       (instance->n_failed >= MAX_FAILED && ep_clock_mono_ns() - instance->born_ns >= YOUNG_NS);
}

int ep_instance_wake(struct ep_instance *instance)
{
	if (instance->busy)
		return -EBUSY;
	if (instance->attached.instance)
		return 0;
	if (instance->attached.state == EP_ATTACHMENT_DORMANT)
		start_attach(instance);
	if (!is_final(instance))
		return !instance->busy && ep_instance_budget_wait_ns(instance) ? -EDQUOT : -EBUSY;
	return instance->attached.state == EP_ATTACHMENT_GONE ? -ESRCH : -ENODATA;
}

/* Its cell was taken back while nobody sampled it, or it is a child of such a one. */
static void ask_for_cell(struct ep_instance *instance)
{
	if (instance->busy || instance->retry_ns)
		return;
	if (instance->attached.holds.has_state) {
		instance->attached.is_changed = true;
		ep_instance_update_view(instance);
	} else if (instance->attached.state == EP_ATTACHMENT_DORMANT) {
		instance->view.wants_cell = false;
		start_attach(instance);
	}
}

void ep_instance_on_sample(struct ep_instance *instance, uint64_t time_ns)
{
	instance->sampled_ns = time_ns;
	instance->account->was_sampled = true;
	if (instance->is_in_line)
		start_attach(instance);
	if (instance->view.cell)
		ep_language_maps_touch_state(instance->languages->maps, instance->view.cell, time_ns);
	else if (instance->view.wants_cell && !instance->languages->stopped)
		ask_for_cell(instance);
}

/* What a plugin remembers of a process costs memory; BPF goes on without it. */
static bool may_rest(const struct ep_instance *instance, uint64_t now_ns, uint64_t idle_ns)
{
	return !instance->busy && instance->attached.instance &&
	       (instance->view.cell || instance->view.wants_cell) &&
	       !instance->refresh_wanted && !instance->retry_ns &&
	       now_ns - instance->used_ns >= idle_ns;
}

void ep_languages_rest(struct ep_languages *languages, uint64_t now_ns, uint64_t idle_ns)
{
	struct ep_instance *instance;

	LIST_FOREACH (instance, &languages->instances, link) {
		if (may_rest(instance, now_ns, idle_ns))
			ep_attached_rest(&instance->attached);
	}
}

void ep_instance_retry(struct ep_instance *instance)
{
	instance->retry_ns = 0;
	ep_instance_update_view(instance);
	if (ep_instance_has_slept(instance)) {
		instance->languages->slept++;
		schedule_retry(instance);
		return;
	}
	if (instance->attached.state == EP_ATTACHMENT_ATTACHED)
		start_refresh(instance);
	else if (instance->attached.state == EP_ATTACHMENT_WAITING ||
		 instance->attached.state == EP_ATTACHMENT_DORMANT)
		start_attach(instance);
}
