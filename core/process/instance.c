/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/language.h"
#include "core/process/job.h"
#include "core/process/language_internal.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/bpf/language_maps.h"
#include "core/plugin/process_target.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/*
 * A runtime that is not initialised yet is asked again, soon at first, and each wait is a quarter
 * longer than the one before: it runs unseen for a quarter of the time it took to start, at most.
 * What is sampled meanwhile cannot be walked from copies of stacks.
 */
#define RETRY_MIN_NS (2 * EP_NS_PER_MS)
#define LOAD_WAIT_NS EP_NS_PER_SEC
#define RETRY_MAX_NS (10 * EP_NS_PER_SEC)
#define YOUNG_NS     (2 * EP_NS_PER_SEC) /* while it maps what it needs */
/* A process that maps all the time is looked at so often; its names have their turn in between. */
#define REFRESH_REST_NS (50 * EP_NS_PER_MS)

/* --- what the plugin says, on a worker ------------------------------------------------------- */

static int target_set_state(void *arg, const void *state, size_t bytes)
{
	struct ep_instance *instance = arg;

	return ep_said_set_state(&instance->call, state, bytes);
}

static int target_set_ranges(void *arg, const struct ep_range *ranges, size_t n)
{
	struct ep_instance *instance = arg;

	return ep_said_set_ranges(&instance->call, ranges, n);
}

static void target_count(void *arg, uint32_t counter, uint64_t n)
{
	struct ep_instance *instance = arg;

	if (counter < EP_MAX_PLUGIN_COUNTERS)
		atomic_fetch_add(&instance->claim->language->counters[counter], n);
}

static int target_read(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	struct ep_instance *instance = arg;

	return ep_process_target_read(instance->pid, addr, buf, bytes);
}

static int target_mappings(void *arg,
			   int (*visit)(void *arg, const struct ep_target_mapping *mapping),
			   void *visit_arg)
{
	struct ep_instance *instance = arg;

	return ep_process_target_mappings(&instance->process, visit, visit_arg);
}

static int target_tls_variable(void *arg, uint64_t tls_off, struct ep_tls *ret)
{
	struct ep_instance *instance = arg;

	return ep_process_target_tls_variable(&instance->process, NULL, instance->module_addr,
					      instance->target.bias, tls_off, ret);
}

static int target_tls_key(void *arg, uint32_t key, struct ep_tls *ret)
{
	struct ep_instance *instance = arg;

	return ep_process_target_tls_key(&instance->process, key, ret);
}

static const struct ep_target_ops target_ops = {
	.read = target_read,
	.mappings = target_mappings,
	.tls_variable = target_tls_variable,
	.tls_key = target_tls_key,
	.set_state = target_set_state,
	.set_ranges = target_set_ranges,
	.count = target_count,
};

static int attach(struct ep_instance *instance)
{
	struct ep_language *language = instance->claim->language;
	int r = ep_language_load(language);

	if (r < 0)
		return r;
	return ep_attachment_attach(language->ops, instance->claim->executable, &instance->target,
				    &instance->handle);
}

/* What an attach does not say does not hold, whatever an earlier one or a parent's said. */
static void run_attach(void *arg)
{
	struct ep_instance *instance = arg;

	instance->result = attach(instance);
	if (instance->result == 0) {
		ep_said_clear(&instance->holds);
		instance->untold = true;
	}
	ep_instance_end_call(instance, instance->result);
}

static void run_refresh(void *arg)
{
	struct ep_instance *instance = arg;

	instance->result = instance->claim->language->ops->refresh(instance->handle);
	ep_instance_end_call(instance, instance->result);
}

void ep_instance_end_call(struct ep_instance *instance, int result)
{
	instance->untold |= ep_said_end(&instance->holds, &instance->call, result);
}

/* --- what BPF is told ------------------------------------------------------------------------ */

/* Another wait for the same is not put off by this one. */
static void schedule(struct ep_instance *instance, uint64_t wait_ns)
{
	struct ep_languages *languages = instance->languages;
	uint64_t at_ns = ep_clock_mono_ns() + wait_ns, wait_ms = wait_ns / EP_NS_PER_MS + 1;
	uv_timer_t *timer = &languages->retry_timer;

	if (!instance->retry_ns || at_ns < instance->retry_ns)
		instance->retry_ns = at_ns;
	if (!languages->stopped &&
	    (!uv_is_active((uv_handle_t *)timer) || uv_timer_get_due_in(timer) > wait_ms))
		uv_timer_start(timer, ep_instance_on_retry, wait_ms, 0);
}

/* What it said is taken when another process has let go of its cell. */
static void wait_for_cell(struct ep_instance *instance)
{
	if (ep_log_limit_ok(&instance->languages->full_lines))
		ep_log(EP_LOG_WARN,
		       "%s: pid %d: more than %d processes at once, its frames stay "
		       "native for now",
		       instance->claim->language->name, (int)instance->pid, EP_MAX_STATES);
	instance->untold = true;
	schedule(instance, RETRY_MAX_NS);
}

/* Equal states share a cell: it is another one when the state is. */
static bool take_state(struct ep_instance *instance)
{
	const struct ep_said *holds = &instance->holds;
	struct ep_language_maps *maps = instance->languages->maps;
	uint32_t old = instance->state;
	int state = 0;

	if (holds->has_state)
		state = ep_language_maps_get_state(maps, holds->state, holds->state_bytes);
	if (state < 0)
		wait_for_cell(instance);
	instance->state = state > 0 ? (uint32_t)state : 0;
	ep_language_maps_put_state(maps, old);
	return instance->state != old;
}

static bool take_ranges(struct ep_instance *instance)
{
	const struct ep_vec *said = &instance->holds.ranges;
	struct ep_vec *told = &instance->ranges;

	if (instance->anonymous == instance->holds.anonymous && told->len == said->len &&
	    (said->len == 0 ||
	     memcmp(told->data, said->data, said->len * sizeof(struct ep_range)) == 0))
		return false;
	instance->anonymous = instance->holds.anonymous;
	told->len = 0;
	if (said->len > 0)
		(void)ep_vec_append(told, said->data, said->len);
	return true;
}

/* The loop's copy of what holds; true when BPF is to be told. */
static bool take_said(struct ep_instance *instance)
{
	bool state, ranges;

	if (!instance->untold)
		return false;
	instance->untold = false;
	state = take_state(instance);
	ranges = take_ranges(instance);
	return state || ranges;
}

/* BPF must not go on with a state that does not hold. */
static bool forget_said(struct ep_instance *instance)
{
	bool told = instance->state != 0 || instance->ranges.len > 0 || instance->anonymous;

	ep_language_maps_put_state(instance->languages->maps, instance->state);
	instance->state = 0;
	instance->ranges.len = 0;
	instance->anonymous = false;
	instance->untold = false;
	ep_said_clear(&instance->holds);
	return told;
}

static void tell(struct ep_instance *instance)
{
	struct ep_languages *languages = instance->languages;

	if (!languages->stopped)
		languages->options.changed(languages->options.arg, instance->pid);
}

/* --- jobs ------------------------------------------------------------------------------------ */

static void schedule_retry(struct ep_instance *instance)
{
	uint64_t wait_ns = EP_MAX(instance->wait_ns, RETRY_MIN_NS);

	if (instance->result < 0)
		ep_log(EP_LOG_DEBUG, "%s: pid %d: %s: tried again", instance->claim->language->name,
		       (int)instance->pid, ep_strerror(instance->result));
	schedule(instance, wait_ns);
	instance->wait_ns = EP_MIN(wait_ns + wait_ns / 4, RETRY_MAX_NS);
}

static void detach(struct ep_instance *instance)
{
	if (instance->handle)
		instance->claim->language->ops->detach(instance->handle);
	instance->handle = NULL;
}

/* After a call that ended; nothing is under way then. Returns the new state's actions. */
static uint32_t step(struct ep_instance *instance, enum ep_attachment_call call, int result)
{
	struct ep_attachment_step next = ep_attachment_after(instance->attachment, call, result);

	instance->attachment = next.state;
	if (next.actions & EP_ATTACHMENT_DETACH)
		detach(instance);
	if ((next.actions & EP_ATTACHMENT_FORGET) && forget_said(instance))
		tell(instance);
	return next.actions;
}

static void free_instance(struct ep_instance *instance)
{
	detach(instance);
	(void)forget_said(instance);
	LIST_REMOVE(instance, link);
	if (instance->first)
		instance->languages->attaching--;
	ep_claim_unref(instance->claim);
	ep_vec_fini(&instance->ranges);
	ep_said_fini(&instance->call);
	ep_said_fini(&instance->holds);
	free(instance);
}

static void start_refresh_soon(struct ep_instance *instance);

/* Also while it looked for names a plugin may have come to know more. */
void ep_instance_end_job(struct ep_instance *instance)
{
	instance->busy = false;
	instance->languages->busy--;
	ep_process_target_end_job(&instance->process);
	if (instance->released) {
		free_instance(instance);
		return;
	}
	if (take_said(instance))
		tell(instance);
	if (instance->refresh_wanted && instance->attachment == EP_ATTACHMENT_ATTACHED)
		start_refresh_soon(instance);
}

static void take_success(struct ep_instance *instance)
{
	struct ep_languages *languages = instance->languages;

	if (instance->used_ns == 0)
		ep_log(EP_LOG_DEBUG, "%s: pid %d: attached", instance->claim->language->name,
		       (int)instance->pid);
	languages->attached += instance->used_ns == 0;
	languages->in_use = true;
	instance->used_ns = ep_clock_mono_ns();
	instance->wait_ns = 0;
}

static void take_failure(struct ep_instance *instance)
{
	instance->languages->refused += instance->attachment == EP_ATTACHMENT_REFUSED;
	ep_log(EP_LOG_DEBUG, "%s: pid %d: %s", instance->claim->language->name, (int)instance->pid,
	       ep_strerror(instance->result));
}

/* Of attach and refresh. */
static void take_result(struct ep_instance *instance, enum ep_attachment_call call)
{
	instance->retry_ns = 0;
	if (step(instance, call, instance->result) & EP_ATTACHMENT_AGAIN)
		schedule_retry(instance);
	else if (instance->attachment == EP_ATTACHMENT_ATTACHED)
		take_success(instance);
	else
		take_failure(instance);
	ep_instance_end_job(instance);
}

static void finish_attach(void *arg)
{
	struct ep_instance *instance = arg;

	if (instance->first)
		instance->languages->attaching--;
	instance->first = false;
	instance->claim->language->tried = true;
	instance->claim->language->loading = false;
	take_result(instance, EP_ATTACHMENT_ATTACH);
}

static void finish_refresh(void *arg)
{
	take_result(arg, EP_ATTACHMENT_REFRESH);
}

bool ep_instance_end_frame(struct ep_instance *instance, enum ep_attachment was, int result)
{
	struct ep_attachment_step next =
		ep_attachment_after(was, EP_ATTACHMENT_SYMBOLIZE, result);

	if (next.state != was)
		instance->attachment = next.state;
	return next.actions & EP_ATTACHMENT_AGAIN;
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
	return 0;
}

static void start_refresh(struct ep_instance *instance)
{
	instance->refresh_wanted = false;
	instance->refreshed_ns = ep_clock_mono_ns();
	if (EP_HAS(instance->claim->language->ops, refresh))
		(void)ep_instance_start_job(instance, run_refresh, finish_refresh, instance);
}

static void start_refresh_soon(struct ep_instance *instance)
{
	uint64_t since_ns = ep_clock_mono_ns() - instance->refreshed_ns;

	if (since_ns >= REFRESH_REST_NS)
		start_refresh(instance);
	else
		schedule(instance, REFRESH_REST_NS - since_ns);
}

/*
 * A program takes the verifier 70 ms and more of CPU time: seconds on a busy machine. Who wants it
 * while a worker loads it does not keep another from looking at files. When the profiler starts, the
 * unwind tables of what runs come first.
 */
static bool must_wait(const struct ep_instance *instance)
{
	const struct ep_languages *languages = instance->languages;
	const struct ep_language *language = instance->claim->language;

	if (language->tried || language->loading)
		return language->loading;
	return ep_clock_mono_ns() - instance->born_ns < LOAD_WAIT_NS &&
	       languages->options.hurried(languages->options.arg);
}

static void start_attach(struct ep_instance *instance)
{
	struct ep_language *language = instance->claim->language;

	if (must_wait(instance)) {
		schedule(instance, RETRY_MIN_NS);
		return;
	}
	instance->refresh_wanted = false; /* it looks at all there is */
	if (ep_instance_start_job(instance, run_attach, finish_attach, instance) < 0)
		schedule_retry(instance);
	else
		language->loading = !language->tried;
}

/* --- the public calls ------------------------------------------------------------------------ */

static struct ep_instance *new_instance(struct ep_languages *languages, struct ep_claim *claim,
					pid_t pid, uint64_t bias, uint64_t module_addr)
{
	struct ep_instance *instance = calloc(1, sizeof(*instance));

	if (!instance)
		return NULL;
	instance->languages = languages;
	instance->claim = ep_claim_ref(claim);
	instance->pid = pid;
	instance->module_addr = module_addr;
	instance->born_ns = ep_clock_mono_ns();
	ep_process_target_init(&instance->process, pid);
	instance->target = (struct ep_target){
		.ops = &target_ops,
		.arg = instance,
		.pid = pid,
		.bias = bias,
	};
	ep_vec_init(&instance->ranges, sizeof(struct ep_range), EP_MAX_RANGES);
	ep_said_init(&instance->call);
	ep_said_init(&instance->holds);
	LIST_INSERT_HEAD(&languages->instances, instance, link);
	return instance;
}

struct ep_instance *ep_instance_new(struct ep_languages *languages, struct ep_claim *claim,
				    pid_t pid, uint64_t bias, uint64_t module_addr)
{
	struct ep_instance *instance = NULL;

	if (!languages->stopped && ep_languages_prepare(languages) == 0)
		instance = new_instance(languages, claim, pid, bias, module_addr);
	if (!instance)
		return NULL;
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
struct ep_instance *ep_instance_fork(const struct ep_instance *parent, pid_t pid)
{
	struct ep_languages *languages = parent->languages;
	struct ep_instance *instance;

	if (languages->stopped || !parent->claim)
		return NULL;
	instance = new_instance(languages, parent->claim, pid, parent->target.bias,
				parent->module_addr);
	if (!instance)
		return NULL;
	if (parent->ranges.len > 0)
		(void)ep_vec_append(&instance->ranges, parent->ranges.data, parent->ranges.len);
	instance->anonymous = parent->anonymous;
	if (parent->state)
		instance->state = ep_language_maps_share_state(languages->maps, parent->state);
	if (instance->state)
		instance->attachment = EP_ATTACHMENT_DORMANT;
	else
		start_attach(instance);
	return instance;
}

void ep_instance_release(struct ep_instance *instance)
{
	if (!instance)
		return;
	instance->released = true;
	if (!instance->busy)
		free_instance(instance);
}

bool ep_instance_is(const struct ep_instance *instance, const struct ep_claim *claim, uint64_t bias)
{
	return instance->claim == claim && instance->target.bias == bias;
}

/* What is mapped may be what was waited for: a runtime's code, right before it runs. */
static void try_again_soon(struct ep_instance *instance)
{
	instance->wait_ns = 0;
	if (ep_clock_mono_ns() - instance->born_ns < YOUNG_NS)
		schedule(instance, RETRY_MIN_NS);
}

void ep_instance_refresh(struct ep_instance *instance)
{
	if (instance->busy)
		instance->refresh_wanted = true;
	else if (instance->attachment == EP_ATTACHMENT_ATTACHED)
		start_refresh_soon(instance);
	else if (instance->attachment == EP_ATTACHMENT_DORMANT)
		start_attach(instance);
	else if (instance->attachment == EP_ATTACHMENT_WAITING)
		try_again_soon(instance);
}

void ep_instance_ask_refresh(struct ep_instance *instance)
{
	if (instance->busy)
		instance->refresh_wanted = true;
	else if (instance->attachment == EP_ATTACHMENT_ATTACHED)
		start_refresh_soon(instance);
}

/* Until its process executes something. */
static bool is_final(const struct ep_instance *instance)
{
	return instance->attachment == EP_ATTACHMENT_REFUSED ||
	       instance->attachment == EP_ATTACHMENT_GONE;
}

bool ep_instance_is_missed(const struct ep_instance *instance, bool ended)
{
	if (instance->busy)
		return false;
	return is_final(instance) ||
	       (ended && instance->attachment == EP_ATTACHMENT_DORMANT);
}

int ep_instance_wake(struct ep_instance *instance)
{
	if (instance->busy)
		return -EBUSY;
	if (instance->handle)
		return 0;
	if (instance->attachment == EP_ATTACHMENT_DORMANT)
		start_attach(instance);
	return is_final(instance) ? -ENODATA : -EBUSY;
}

/* What a plugin remembers of a process costs memory; BPF goes on without it. */
static bool may_rest(const struct ep_instance *instance, uint64_t now_ns, uint64_t idle_ns)
{
	return instance->handle && instance->state && !instance->busy && !instance->refresh_wanted &&
	       !instance->retry_ns && now_ns - instance->used_ns >= idle_ns;
}

void ep_languages_rest(struct ep_languages *languages, uint64_t now_ns, uint64_t idle_ns)
{
	struct ep_instance *instance;

	LIST_FOREACH (instance, &languages->instances, link) {
		if (may_rest(instance, now_ns, idle_ns))
			(void)step(instance, EP_ATTACHMENT_REST, 0);
	}
}

static void retry(struct ep_instance *instance)
{
	instance->retry_ns = 0;
	if (take_said(instance))
		tell(instance);
	if (instance->attachment == EP_ATTACHMENT_ATTACHED)
		start_refresh(instance);
	else if (instance->attachment == EP_ATTACHMENT_WAITING ||
		 instance->attachment == EP_ATTACHMENT_DORMANT)
		start_attach(instance);
}

/* The timer runs for the one that is due first; one that is due earlier does not wait long. */
void ep_instance_on_retry(uv_timer_t *timer)
{
	struct ep_languages *languages = timer->data;
	uint64_t now_ns = ep_clock_mono_ns(), next_ns = UINT64_MAX;
	struct ep_instance *instance;

	LIST_FOREACH (instance, &languages->instances, link) {
		if (!instance->retry_ns)
			continue;
		if (!instance->busy && now_ns >= instance->retry_ns)
			retry(instance);
		else
			next_ns = EP_MIN(next_ns, EP_MAX(instance->retry_ns, now_ns));
	}
	if (next_ns != UINT64_MAX && !languages->stopped)
		uv_timer_start(timer, ep_instance_on_retry, (next_ns - now_ns) / EP_NS_PER_MS + 2,
			       0);
}

uint32_t ep_instance_slot(const struct ep_instance *instance)
{
	return instance->claim->language->slot;
}

uint32_t ep_instance_state(const struct ep_instance *instance)
{
	return instance->state;
}

size_t ep_instance_ranges(const struct ep_instance *instance, const struct ep_range **ret_ranges)
{
	*ret_ranges = instance->ranges.data;
	return instance->ranges.len;
}

bool ep_instance_takes_anonymous(const struct ep_instance *instance)
{
	return instance->anonymous;
}

bool ep_instance_resumes(const struct ep_instance *instance)
{
	return ep_bpf_image_resumes(instance->claim->language->ops->bpf);
}
