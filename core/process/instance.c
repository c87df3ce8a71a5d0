/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/job.h"
#include "core/process/rows.h"
#include "core/process/unwinders.h"
#include "core/process/unwinders_internal.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/bpf/language_maps.h"
#include "core/bpf/unwinder_program.h"
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
/* A process that maps all the time is looked at so often; its names have their turn in between. */
#define CHANGE_REST_NS (50 * EP_NS_PER_MS)

/* --- what the plugin says, on a worker ------------------------------------------------------- */

static int set_state(void *arg, const void *state, size_t bytes)
{
	struct ep_instance *instance = arg;
	struct ep_said *said = &instance->said;

	if (said->has_state && said->state_bytes == bytes && memcmp(said->state, state, bytes) == 0)
		return 0;
	memcpy(said->state, state, bytes);
	said->state_bytes = bytes;
	said->has_state = true;
	said->changed = true;
	return 0;
}

static bool is_same(const struct ep_said *said, const struct ep_vec *exact, bool anonymous)
{
	return said->anonymous == anonymous && said->ranges.len == exact->len &&
	       (exact->len == 0 || memcmp(said->ranges.data, exact->data,
					  exact->len * sizeof(struct ep_range)) == 0);
}

static int set_ranges(void *arg, const struct ep_range *ranges, size_t n)
{
	struct ep_instance *instance = arg;
	struct ep_said *said = &instance->said;
	struct ep_vec exact;
	bool anonymous;
	int r;

	ep_vec_init(&exact, sizeof(struct ep_range), EP_MAX_RANGES);
	r = ep_ranges_take(ranges, n, &exact, &anonymous);
	if (r == 0 && !is_same(said, &exact, anonymous)) {
		struct ep_vec old = said->ranges;

		said->ranges = exact;
		exact = old;
		said->anonymous = anonymous;
		said->changed = true;
	}
	ep_vec_fini(&exact);
	return r;
}

static int target_map_fd(void *arg, const char *name)
{
	struct ep_instance *instance = arg;

	return ep_unwinder_program_map_fd(instance->claim->plugin->program, name);
}

static void target_count(void *arg, uint32_t counter, uint64_t n)
{
	struct ep_instance *instance = arg;

	if (counter < EP_MAX_PLUGIN_COUNTERS)
		atomic_fetch_add(&instance->claim->plugin->counters[counter], n);
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

	return ep_process_target_mappings(instance->pid, visit, visit_arg);
}

static int target_tls_variable(void *arg, uint64_t tls_off, struct ep_tls *ret)
{
	struct ep_instance *instance = arg;

	return ep_process_target_tls_variable(instance->pid, NULL, instance->module_addr,
					      instance->target.bias, tls_off, ret);
}

static int target_tls_key(void *arg, uint32_t key, struct ep_tls *ret)
{
	struct ep_instance *instance = arg;

	return ep_process_target_tls_key(instance->pid, key, ret);
}

static const struct ep_target_ops target_ops = {
	.read = target_read,
	.mappings = target_mappings,
	.tls_variable = target_tls_variable,
	.tls_key = target_tls_key,
	.set_state = set_state,
	.set_ranges = set_ranges,
	.map_fd = target_map_fd,
	.count = target_count,
};

/* --- jobs ------------------------------------------------------------------------------------ */

static void run_attach(void *arg)
{
	struct ep_instance *instance = arg;
	struct ep_language_plugin *plugin = instance->claim->plugin;

	instance->result = ep_language_plugin_load(plugin);
	if (instance->result == 0)
		instance->result = plugin->ops->attach(instance->claim->executable,
						       &instance->target, &instance->handle);
	if (instance->result != 0)
		instance->handle = NULL;
}

static void run_changed(void *arg)
{
	struct ep_instance *instance = arg;

	instance->result = instance->claim->plugin->ops->refresh(instance->handle);
}

/* Another wait for the same is not put off by this one. */
static void schedule(struct ep_instance *instance, uint64_t wait_ns)
{
	struct ep_unwinders *unwinders = instance->unwinders;
	uint64_t at_ns = ep_clock_mono_ns() + wait_ns, wait_ms = wait_ns / EP_NS_PER_MS + 1;
	uv_timer_t *timer = &unwinders->retry_timer;

	if (!instance->retry_ns || at_ns < instance->retry_ns)
		instance->retry_ns = at_ns;
	if (!unwinders->stopped &&
	    (!uv_is_active((uv_handle_t *)timer) || uv_timer_get_due_in(timer) > wait_ms))
		uv_timer_start(timer, ep_instance_on_retry, wait_ms, 0);
}

/* What it said is taken when another process has let go of its cell. */
static void wait_for_cell(struct ep_instance *instance)
{
	if (ep_log_limit_ok(&instance->unwinders->full_lines))
		ep_log(EP_LOG_WARN,
		       "%s: pid %d: more than %d processes at once, its frames stay "
		       "native for now",
		       instance->claim->plugin->name, (int)instance->pid, EP_MAX_STATES);
	instance->said.changed = true;
	schedule(instance, RETRY_MAX_NS);
}

/* The loop's copy of what the plugin said; true when BPF is to be told. */
static bool take_said(struct ep_instance *instance)
{
	struct ep_said *said = &instance->said;
	struct ep_language_maps *maps = instance->unwinders->maps;
	int state = 0;

	if (!said->changed)
		return false;
	said->changed = false;
	instance->ranges.len = 0;
	if (said->ranges.len > 0)
		(void)ep_vec_append(&instance->ranges, said->ranges.data, said->ranges.len);
	instance->anonymous = said->anonymous;
	if (said->has_state)
		state = ep_language_maps_get_state(maps, said->state, said->state_bytes);
	if (state < 0)
		wait_for_cell(instance);
	ep_language_maps_put_state(maps, instance->state);
	instance->state = state > 0 ? (uint32_t)state : 0;
	return true;
}

/* BPF must not go on with a state that does not hold. */
static bool forget_said(struct ep_instance *instance)
{
	bool told = instance->state != 0 || instance->ranges.len > 0 || instance->anonymous;

	ep_language_maps_put_state(instance->unwinders->maps, instance->state);
	instance->state = 0;
	instance->ranges.len = 0;
	instance->said.ranges.len = 0;
	instance->anonymous = instance->said.anonymous = false;
	instance->said.has_state = instance->said.changed = false;
	return told;
}

static void schedule_retry(struct ep_instance *instance)
{
	uint64_t wait_ns = EP_MAX(instance->wait_ns, RETRY_MIN_NS);

	if (instance->result < 0)
		ep_log(EP_LOG_DEBUG, "%s: pid %d: %s: tried again", instance->claim->plugin->name,
		       (int)instance->pid, ep_strerror(instance->result));
	schedule(instance, wait_ns);
	instance->wait_ns = EP_MIN(wait_ns + wait_ns / 4, RETRY_MAX_NS);
}

static void detach(struct ep_instance *instance)
{
	if (instance->handle)
		instance->claim->plugin->ops->detach(instance->handle);
	instance->handle = NULL;
}

static void free_instance(struct ep_instance *instance)
{
	detach(instance);
	(void)forget_said(instance);
	LIST_REMOVE(instance, link);
	if (instance->first)
		instance->unwinders->attaching--;
	ep_claim_unref(instance->claim);
	ep_vec_fini(&instance->ranges);
	ep_vec_fini(&instance->said.ranges);
	free(instance);
}

static void tell(struct ep_instance *instance)
{
	struct ep_unwinders *unwinders = instance->unwinders;

	if (!unwinders->stopped)
		unwinders->options.changed(unwinders->options.arg, instance->pid);
}

static void start_changed_soon(struct ep_instance *instance);

/* Also while it looked for names a plugin may have come to know more. */
void ep_instance_end_job(struct ep_instance *instance)
{
	instance->busy = false;
	instance->unwinders->busy--;
	if (instance->released) {
		free_instance(instance);
		return;
	}
	if (instance->handle && instance->result == 0 && take_said(instance))
		tell(instance);
	if (instance->remap && instance->handle)
		start_changed_soon(instance);
}

/* What will not be otherwise before an exec: a layout that is not known, or no process. */
static bool is_final(int result)
{
	return result == -ENOTSUP || result == -ESRCH;
}

static void take_failure(struct ep_instance *instance)
{
	struct ep_unwinders *unwinders = instance->unwinders;

	detach(instance);
	unwinders->refused += !instance->refused && instance->result != -ESRCH;
	instance->refused = true;
	ep_log(EP_LOG_DEBUG, "%s: pid %d: %s", instance->claim->plugin->name, (int)instance->pid,
	       ep_strerror(instance->result));
	if (forget_said(instance))
		tell(instance);
}

static void take_success(struct ep_instance *instance)
{
	struct ep_unwinders *unwinders = instance->unwinders;

	unwinders->attached += !instance->attached;
	unwinders->in_use = instance->attached = true;
	instance->used_ns = ep_clock_mono_ns();
	instance->wait_ns = 0;
}

static void finish_attach(void *arg)
{
	struct ep_instance *instance = arg;

	if (instance->first)
		instance->unwinders->attaching--;
	instance->first = false;
	instance->claim->plugin->tried = true;
	instance->retry_ns = 0;
	if (is_final(instance->result))
		take_failure(instance);
	else if (instance->result != 0)
		schedule_retry(instance);
	else if (instance->handle)
		take_success(instance);
	ep_instance_end_job(instance);
}

int ep_instance_start_job(struct ep_instance *instance, void (*work)(void *arg),
			  void (*after)(void *arg), void *arg)
{
	struct ep_unwinders *unwinders = instance->unwinders;
	int r = unwinders->stopped ? -ECANCELED
				   : ep_job_run(unwinders->options.loop, work, after, arg);

	if (r < 0)
		return r;
	instance->busy = true;
	unwinders->busy++;
	return 0;
}

/* The result of refresh is taken as attach's. */
static void start_changed(struct ep_instance *instance)
{
	instance->remap = false;
	instance->changed_ns = ep_clock_mono_ns();
	if (EP_HAS(instance->claim->plugin->ops, refresh))
		(void)ep_instance_start_job(instance, run_changed, finish_attach, instance);
}

static void start_changed_soon(struct ep_instance *instance)
{
	uint64_t since_ns = ep_clock_mono_ns() - instance->changed_ns;

	if (since_ns >= CHANGE_REST_NS)
		start_changed(instance);
	else
		schedule(instance, CHANGE_REST_NS - since_ns);
}

/*
 * A program takes the verifier 70 ms and more of CPU time. When the profiler starts, the unwind
 * tables of what runs come first.
 */
static bool must_wait(const struct ep_instance *instance)
{
	const struct ep_unwinders *unwinders = instance->unwinders;

	return !instance->claim->plugin->tried &&
	       ep_clock_mono_ns() - instance->born_ns < LOAD_WAIT_NS &&
	       unwinders->options.hurried(unwinders->options.arg);
}

static void start_attach(struct ep_instance *instance)
{
	if (must_wait(instance)) {
		schedule(instance, RETRY_MIN_NS);
		return;
	}
	instance->dormant = false;
	if (ep_instance_start_job(instance, run_attach, finish_attach, instance) < 0)
		schedule_retry(instance);
}

/* --- the public calls ------------------------------------------------------------------------ */

static struct ep_instance *new_instance(struct ep_unwinders *unwinders, struct ep_claim *claim,
					pid_t pid, uint64_t bias, uint64_t module_addr)
{
	struct ep_instance *instance = calloc(1, sizeof(*instance));

	if (!instance)
		return NULL;
	instance->unwinders = unwinders;
	instance->claim = claim;
	atomic_fetch_add(&claim->refs, 1);
	instance->pid = pid;
	instance->module_addr = module_addr;
	instance->born_ns = ep_clock_mono_ns();
	instance->target = (struct ep_target){
		.ops = &target_ops,
		.arg = instance,
		.pid = pid,
		.bias = bias,
	};
	ep_vec_init(&instance->ranges, sizeof(struct ep_range), EP_MAX_RANGES);
	ep_vec_init(&instance->said.ranges, sizeof(struct ep_range), EP_MAX_RANGES);
	LIST_INSERT_HEAD(&unwinders->instances, instance, link);
	return instance;
}

struct ep_instance *ep_instance_new(struct ep_unwinders *unwinders, struct ep_claim *claim,
				    pid_t pid, uint64_t bias, uint64_t module_addr)
{
	struct ep_instance *instance = NULL;

	if (!unwinders->stopped && ep_unwinders_prepare(unwinders) == 0)
		instance = new_instance(unwinders, claim, pid, bias, module_addr);
	if (!instance)
		return NULL;
	instance->first = true;
	unwinders->attaching++;
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
	struct ep_unwinders *unwinders = parent->unwinders;
	struct ep_instance *instance;

	if (unwinders->stopped || !parent->claim)
		return NULL;
	instance = new_instance(unwinders, parent->claim, pid, parent->target.bias,
				parent->module_addr);
	if (!instance)
		return NULL;
	if (parent->ranges.len > 0)
		(void)ep_vec_append(&instance->ranges, parent->ranges.data, parent->ranges.len);
	instance->anonymous = parent->anonymous;
	if (parent->state)
		instance->state = ep_language_maps_share_state(unwinders->maps, parent->state);
	instance->dormant = instance->state != 0;
	if (!instance->dormant)
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

void ep_instance_refresh(struct ep_instance *instance)
{
	if (instance->busy)
		instance->remap = true;
	else if (instance->handle)
		start_changed_soon(instance);
	else if (instance->dormant)
		start_attach(instance);
	else if (instance->retry_ns)
		instance->wait_ns = 0;
}

void ep_instance_ask_refresh(struct ep_instance *instance)
{
	if (instance->busy)
		instance->remap = true;
	else if (instance->handle)
		start_changed_soon(instance);
}

bool ep_instance_is_missed(const struct ep_instance *instance, bool ended)
{
	if (instance->busy)
		return false;
	return instance->gone ||
	       (!instance->handle && (instance->refused || (ended && instance->dormant)));
}

int ep_instance_wake(struct ep_instance *instance)
{
	if (instance->handle && !instance->busy)
		return 0;
	if (instance->dormant && !instance->busy)
		start_attach(instance);
	return instance->refused ? -ENODATA : -EBUSY;
}

/* What a plugin remembers of a process costs memory; BPF goes on without it. */
static bool may_rest(const struct ep_instance *instance, uint64_t now_ns, uint64_t idle_ns)
{
	return instance->handle && instance->state && !instance->busy && !instance->remap &&
	       !instance->retry_ns && now_ns - instance->used_ns >= idle_ns;
}

void ep_unwinders_rest(struct ep_unwinders *unwinders, uint64_t now_ns, uint64_t idle_ns)
{
	struct ep_instance *instance;

	LIST_FOREACH (instance, &unwinders->instances, link) {
		if (!may_rest(instance, now_ns, idle_ns))
			continue;
		detach(instance);
		instance->dormant = true;
	}
}

static void retry(struct ep_instance *instance)
{
	instance->retry_ns = 0;
	if (instance->result == 0 && instance->said.changed && take_said(instance))
		tell(instance);
	if (instance->handle)
		start_changed(instance);
	else
		start_attach(instance);
}

/* The timer runs for the one that is due first; one that is due earlier does not wait long. */
void ep_instance_on_retry(uv_timer_t *timer)
{
	struct ep_unwinders *unwinders = timer->data;
	uint64_t now_ns = ep_clock_mono_ns(), next_ns = UINT64_MAX;
	struct ep_instance *instance;

	LIST_FOREACH (instance, &unwinders->instances, link) {
		if (!instance->retry_ns)
			continue;
		if (!instance->busy && now_ns >= instance->retry_ns)
			retry(instance);
		else
			next_ns = EP_MIN(next_ns, EP_MAX(instance->retry_ns, now_ns));
	}
	if (next_ns != UINT64_MAX && !unwinders->stopped)
		uv_timer_start(timer, ep_instance_on_retry, (next_ns - now_ns) / EP_NS_PER_MS + 2,
			       0);
}

uint32_t ep_instance_slot(const struct ep_instance *instance)
{
	return instance->claim->plugin->slot;
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
	return ep_bpf_image_resumes(instance->claim->plugin->ops->bpf);
}
