/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A language in a process. Events say what has happened and set flags; one function,
 * ep_instance_next, says what follows from all that is known: a job begins now, or it is asked
 * again at a time, or when something else has happened. ep_instance_act does it, and is the only
 * place that starts attach and refresh.
 *
 *	event                                        what it leaves
 *	a runtime was found in the process           WANTED: it is attached to
 *	its mappings have changed                    REFRESH; attach is tried again soon
 *	its BPF program asks                         REFRESH
 *	frames want names, a sample a cell           WANTED, where it waits
 *	a job has ended                              what the plugin has set, `retry`
 *	its program was loaded, or was not           -
 *	a time has come                              -
 */
#include "core/base/backoff.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/bpf/language_maps.h"
#include "core/language/internal.h"
#include "core/plugin/job.h"
#include "core/proc/process.h"

#include <errno.h>

/*
 * A runtime that is not initialised yet is asked again, soon at first, and each wait is a quarter
 * longer than the one before: it runs unseen for a quarter of the time it took to start, at most.
 * What is sampled meanwhile cannot be walked from copies of stacks.
 */
static const struct ep_backoff retry_backoff = {
	.first = 2 * EP_NS_PER_MS, .longest = 10 * EP_NS_PER_SEC, .percent = 125};
#define MAX_FAILED 3			 /* attaches in a row; tried again they are all the same */
#define YOUNG_NS   (2 * EP_NS_PER_SEC) /* while it maps what it needs */
/*
 * In the first second of an instance the unwind tables of what runs come before its language's
 * program.
 */
#define TABLES_FIRST_NS EP_NS_PER_SEC
/*
 * A process that maps all the time is looked at so often; its names have their turn in between. A
 * recently started one is looked at after a quarter of its age, as a short program may have ended
 * by then, but not for more than a ninth of the time.
 */
#define REFRESH_REST_NS (50 * EP_NS_PER_MS)
#define REFRESH_SHARE	8
/* The longest that one waits whose process has no budget. */
#define NO_BUDGET_MAX_NS EP_NS_PER_SEC
/*
 * So many processes that were never sampled are attached to at once: thousands of them do not
 * delay a process that is sampled.
 */
#define MAX_UNSAMPLED 2

/* --- budgets ---------------------------------------------------------------------------------- */

uint64_t ep_instance_budget_wait_ns(const struct ep_instance *instance)
{
	return ep_account_wait_ns(&instance->languages->accounts, instance->account,
				  ep_clock_mono_ns());
}

bool ep_instance_is_within_budget(const struct ep_instance *instance)
{
	return ep_account_is_within_budget(&instance->languages->accounts, instance->account,
					   ep_clock_mono_ns());
}

uint64_t ep_instance_spent_ns(const struct ep_instance *instance)
{
	return ep_instance_is_within_budget(instance)
		       ? 0
		       : ep_account_spent_ns(instance->account, ep_clock_mono_ns());
}

bool ep_instance_has_budget(const struct ep_instance *instance)
{
	return ep_instance_budget_wait_ns(instance) == 0;
}

/* Who is charged as well, where that is not known: /proc says it. */
static void find_owner(const struct ep_instance *instance)
{
	uint32_t uid;

	if (!instance->account->owner && ep_process_read_owner(instance->pid, &uid) == 0)
		instance->account->owner = ep_subuids_owner(&instance->languages->subuids, uid);
}

/* --- what comes next ------------------------------------------------------------------------- */

static struct ep_plan wait_until(enum ep_wait why, uint64_t at_ns)
{
	return (struct ep_plan){.step = EP_STEP_NONE, .why = why, .at_ns = at_ns};
}

/*
 * When the time of its next look has come that something asks for; UINT64_MAX: nothing does. A
 * change is looked at after a rest, what the plugin could not read yet after its back-off.
 */
static uint64_t refresh_at_ns(const struct ep_instance *instance, uint64_t now_ns)
{
	uint64_t rest_ns =
		EP_MAX((now_ns - instance->born_ns) / 4, REFRESH_SHARE * instance->last.took_ns);
	uint64_t at_ns = instance->job.again ? instance->retry.at_ns : UINT64_MAX;

	rest_ns = EP_MIN(EP_MAX(rest_ns, retry_backoff.first), REFRESH_REST_NS);
	if (instance->flags & EP_INSTANCE_REFRESH)
		at_ns = EP_MIN(at_ns, instance->last.began_ns + rest_ns);
	return at_ns;
}

static struct ep_plan next_attach(const struct ep_instance *instance, uint64_t now_ns)
{
	const struct ep_languages *languages = instance->languages;
	const struct ep_language *language = instance->claim->language;
	bool has_program = language->loading || language->program;
	uint64_t wait_ns;

	if (instance->retry.at_ns > now_ns)
		return wait_until(EP_WAIT_RETRY, instance->retry.at_ns);
	if (!has_program && language->load_after_ns > now_ns)
		return wait_until(EP_WAIT_PROGRAM, language->load_after_ns);
	if (!has_program && now_ns - instance->born_ns < TABLES_FIRST_NS &&
	    languages->options.hurried(languages->options.arg))
		return wait_until(EP_WAIT_TABLES, now_ns + retry_backoff.first);
	wait_ns = ep_account_wait_ns(&languages->accounts, instance->account, now_ns);
	if (!wait_ns && languages->n_over_budget > 0 &&
	    !ep_account_is_within_budget(&languages->accounts, instance->account, now_ns))
		wait_ns = REFRESH_REST_NS; /* such jobs are done one after the other */
	if (wait_ns)
		return wait_until(EP_WAIT_BUDGET,
				  now_ns + EP_MIN(EP_MAX(wait_ns, retry_backoff.first),
						  NO_BUDGET_MAX_NS));
	if (!instance->account->was_sampled && languages->n_unsampled >= MAX_UNSAMPLED)
		return wait_until(EP_WAIT_SAMPLED, UINT64_MAX);
	return (struct ep_plan){.step = EP_STEP_ATTACH};
}

struct ep_plan ep_instance_next(const struct ep_instance *instance, uint64_t now_ns)
{
	const struct ep_language *language = instance->claim->language;
	enum ep_attachment state = instance->job.attached.state;
	uint64_t at_ns;

	if (instance->flags & (EP_INSTANCE_BUSY | EP_INSTANCE_RELEASED) ||
	    instance->languages->stopped || state == EP_ATTACHMENT_REFUSED ||
	    state == EP_ATTACHMENT_GONE)
		return wait_until(EP_WAIT_EVENT, UINT64_MAX);
	if (!language->loading && !language->program && language->failed)
		return (struct ep_plan){.step = EP_STEP_REFUSE};
	if (instance->flags & EP_INSTANCE_ENDED)
		return wait_until(EP_WAIT_EVENT, UINT64_MAX);
	if (state == EP_ATTACHMENT_ATTACHED) {
		if (!language->loading && !language->program)
			return (struct ep_plan){.step = EP_STEP_REST}; /* it is in vain for now */
		at_ns = refresh_at_ns(instance, now_ns);
		return at_ns <= now_ns ? (struct ep_plan){.step = EP_STEP_REFRESH}
				       : wait_until(EP_WAIT_RETRY, at_ns);
	}
	if (state == EP_ATTACHMENT_DORMANT && !(instance->flags & EP_INSTANCE_WANTED))
		return wait_until(EP_WAIT_EVENT, UINT64_MAX);
	return next_attach(instance, now_ns);
}

/* --- jobs ------------------------------------------------------------------------------------ */

/* The one that costs much is not asked for more than a ninth of the time. */
static void back_off(struct ep_instance *instance)
{
	const struct ep_cost *cost = &instance->job.cost;
	uint64_t cost_ns = EP_MAX(cost->cheap_ns + cost->expensive_ns, instance->last.took_ns);
	uint64_t wait_ns = EP_MAX(instance->retry.wait_ns,
				  EP_MAX(REFRESH_SHARE * cost_ns, retry_backoff.first));

	if (instance->job.attached.result < 0)
		ep_log(EP_LOG_DEBUG, "%s: pid %d: %s: tried again", instance->claim->language->name,
		       (int)instance->pid, ep_strerror(instance->job.attached.result));
	instance->retry.at_ns = ep_clock_mono_ns() + wait_ns;
	instance->retry.wait_ns = ep_backoff_after(retry_backoff, wait_ns);
}

/* Samples that wait for whole stacks do not wait for this one, any more. */
static void end_first(struct ep_instance *instance)
{
	instance->languages->attaching -= (instance->flags & EP_INSTANCE_FIRST) != 0;
	instance->flags &= ~EP_INSTANCE_FIRST;
}

static void leave_line(struct ep_instance *instance)
{
	if (instance->flags & EP_INSTANCE_IN_LINE)
		TAILQ_REMOVE(&instance->languages->line, instance, line);
	instance->flags &= ~EP_INSTANCE_IN_LINE;
}

static void free_instance(struct ep_instance *instance)
{
	ep_attached_fini(&instance->job.attached);
	ep_instance_forget_kept(instance);
	ep_instance_view_fini(instance);
	LIST_REMOVE(instance, link);
	ep_timer_unset(instance->languages->options.timer, &instance->due);
	leave_line(instance);
	end_first(instance);
	ep_claim_unref(instance->claim);
	free(instance);
}

static void take_failure(struct ep_instance *instance)
{
	instance->languages->refused += instance->job.attached.state == EP_ATTACHMENT_REFUSED;
	ep_log(EP_LOG_DEBUG, "%s: pid %d: %s", instance->claim->language->name, (int)instance->pid,
	       ep_strerror(instance->job.attached.result));
}

int ep_instance_start_job(struct ep_instance *instance, void (*work)(void *arg),
			  void (*after)(void *arg), void *arg)
{
	struct ep_languages *languages = instance->languages;
	int r = languages->stopped ? -ECANCELED
				   : ep_job_run(languages->options.loop, work, after, arg);

	if (r < 0)
		return r;
	instance->flags |= EP_INSTANCE_BUSY;
	languages->busy++;
	if (!ep_instance_is_within_budget(instance)) {
		instance->flags |= EP_INSTANCE_OVER_BUDGET;
		languages->n_over_budget++;
	}
	return 0;
}

/*
 * Root's may be somebody else's by now: who forks from root and changes its user then is no
 * owner's until it is charged.
 */
void ep_instance_charge(struct ep_instance *instance)
{
	struct ep_languages *languages = instance->languages;

	if (instance->job.cost.owner_ns > 0 &&
	    !(instance->flags & (EP_INSTANCE_ENDED | EP_INSTANCE_RELEASED)))
		find_owner(instance);
	ep_account_charge(&languages->accounts, instance->account, &instance->job.cost,
			  ep_clock_mono_ns());
	instance->job.cost = (struct ep_cost){0};
	languages->n_over_budget -= (instance->flags & EP_INSTANCE_OVER_BUDGET) != 0;
}

/* Also while it looked for names a plugin may have come to know more. */
void ep_instance_end_job(struct ep_instance *instance)
{
	struct ep_languages *languages = instance->languages;
	struct ep_instance *next;

	languages->busy--;
	ep_instance_charge(instance);
	ep_process_target_end_job(&instance->job.target);
	languages->n_unsampled -= (instance->flags & EP_INSTANCE_UNSAMPLED) != 0;
	instance->flags &= ~(EP_INSTANCE_BUSY | EP_INSTANCE_OVER_BUDGET | EP_INSTANCE_UNSAMPLED);
	while (!languages->stopped && languages->n_unsampled < MAX_UNSAMPLED &&
	       (next = TAILQ_FIRST(&languages->line)) != NULL) {
		leave_line(next);
		ep_instance_act(next);
	}
	if (instance->flags & EP_INSTANCE_RELEASED) {
		free_instance(instance);
		return;
	}
	instance->job.attached.is_changed |= instance->view.wants_cell && instance->sampled_ns;
	ep_instance_update_view(instance);
	ep_instance_act(instance);
}

/* From here on the pid's memory is another program's, or nobody's. */
static void stop_looking(struct ep_instance *instance)
{
	struct ep_attached *attached = &instance->job.attached;

	if (attached->state == EP_ATTACHMENT_WAITING || attached->state == EP_ATTACHMENT_DORMANT)
		attached->state = EP_ATTACHMENT_GONE;
	ep_timer_unset(instance->languages->options.timer, &instance->due);
	leave_line(instance);
}

/* After attach and refresh. */
static void take_result(struct ep_instance *instance)
{
	struct ep_languages *languages = instance->languages;
	enum ep_attachment state = instance->job.attached.state;

	instance->retry.at_ns = 0;
	instance->retry.n_failed =
		state == EP_ATTACHMENT_WAITING ? instance->retry.n_failed + 1 : 0;
	if (instance->job.again && !(instance->flags & EP_INSTANCE_ENDED)) {
		back_off(instance);
	} else if (state == EP_ATTACHMENT_ATTACHED) {
		if (instance->used_ns == 0)
			ep_log(EP_LOG_DEBUG, "%s: pid %d: attached",
			       instance->claim->language->name, (int)instance->pid);
		languages->attached += instance->used_ns == 0;
		instance->used_ns = ep_clock_mono_ns();
		instance->retry.wait_ns = 0;
	} else {
		take_failure(instance);
	}
	/* Samples may wait for it. */
	if (ep_instance_is_given_up(instance) && !languages->stopped)
		languages->options.changed(languages->options.arg, instance->pid);
	if (instance->flags & EP_INSTANCE_ENDED)
		stop_looking(instance);
	ep_instance_end_job(instance);
}

/* What is found is what it was at the begin, or later. The CPU time of this thread. */
static uint64_t begin_look(struct ep_instance *instance)
{
	if (ep_process_read_cpu(instance->pid, &instance->last.ran_ns) < 0)
		instance->last.ran_ns = 0;
	return ep_clock_thread_cpu_ns();
}

static void run_attach(void *arg)
{
	struct ep_instance *instance = arg;
	struct ep_instance_job *job = &instance->job;
	uint64_t start_ns = begin_look(instance), took_ns;
	bool is_first = !job->has_looked;

	job->has_looked = true;
	job->again = ep_attached_attach(&job->attached);
	took_ns = ep_clock_thread_cpu_ns() - start_ns;
	ep_cost_add(&job->cost, took_ns, is_first ? EP_ATTACH_WORTH_NS : EP_AGAIN_WORTH_NS);
	job->cost.owner_ns += took_ns;
}

static void finish_attach(void *arg)
{
	struct ep_instance *instance = arg;

	end_first(instance);
	take_result(instance);
}

/*
 * Not charged to the account: code that moves is an honest program's, and refreshes have a rate of
 * their own.
 */
static void run_refresh(void *arg)
{
	struct ep_instance *instance = arg;

	(void)begin_look(instance);
	instance->job.again = ep_attached_refresh(&instance->job.attached);
}

static void finish_refresh(void *arg)
{
	struct ep_instance *instance = arg;

	instance->last.took_ns = ep_clock_mono_ns() - instance->last.began_ns;
	take_result(instance);
}

/* --- what is done ---------------------------------------------------------------------------- */

/*
 * Since its last look, after which it was to be called again, there is not a nanosecond more in the
 * CPU time of its process: its memory is what it was. 0 is not known.
 */
static bool has_slept(const struct ep_instance *instance)
{
	uint64_t ran_ns;

	return instance->last.ran_ns && instance->job.again &&
	       !ep_is_transient(instance->job.attached.result) &&
	       ep_process_read_cpu(instance->pid, &ran_ns) == 0 && ran_ns == instance->last.ran_ns;
}

/*
 * A program takes the verifier 70 ms and more of CPU time: one worker loads it, another attaches
 * meanwhile.
 */
static int start_attach(struct ep_instance *instance)
{
	int r = ep_language_load(instance->claim->language);

	instance->job.attached.result = r;
	if (r == 0)
		r = ep_instance_start_job(instance, run_attach, finish_attach, instance);
	if (r < 0)
		return r;
	instance->flags &= ~EP_INSTANCE_WANTED;
	if (!instance->account->was_sampled) {
		instance->flags |= EP_INSTANCE_UNSAMPLED;
		instance->languages->n_unsampled++;
	}
	return 0;
}

/* Attach and refresh look at all there is: what changes from now on is looked at after them. */
static void start_look(struct ep_instance *instance, enum ep_step step)
{
	const struct ep_unwinder_ops *ops = instance->claim->language->ops;
	uint32_t before = instance->flags;
	int r = 0;

	instance->flags &= ~EP_INSTANCE_REFRESH;
	if (has_slept(instance)) {
		instance->languages->slept++;
		back_off(instance);
		return;
	}
	instance->last.began_ns = ep_clock_mono_ns();
	instance->retry.at_ns = 0;
	if (step == EP_STEP_ATTACH)
		r = start_attach(instance);
	else if (EP_HAS(ops, refresh))
		r = ep_instance_start_job(instance, run_refresh, finish_refresh, instance);
	if (r < 0) {
		instance->flags = before;
		back_off(instance);
	}
}

/* It waits until a time, or for its turn. */
static void take_wait(struct ep_instance *instance, enum ep_wait why)
{
	struct ep_languages *languages = instance->languages;

	leave_line(instance);
	if (why == EP_WAIT_PROGRAM || why == EP_WAIT_BUDGET)
		end_first(instance);
	languages->put_off += why == EP_WAIT_BUDGET;
	if (why == EP_WAIT_SAMPLED) { /* the last one that came is the first */
		TAILQ_INSERT_HEAD(&languages->line, instance, line);
		instance->flags |= EP_INSTANCE_IN_LINE;
	}
}

void ep_instance_act(struct ep_instance *instance)
{
	struct ep_plan plan;

	if (instance->flags & EP_INSTANCE_BUSY) {
		ep_timer_unset(instance->languages->options.timer, &instance->due);
		return; /* the end of its job asks again */
	}
	if (instance->view.again_ns && ep_clock_mono_ns() >= instance->view.again_ns)
		ep_instance_update_view(instance);
	while ((plan = ep_instance_next(instance, ep_clock_mono_ns())).step != EP_STEP_NONE) {
		leave_line(instance);
		switch (plan.step) {
		case EP_STEP_REFUSE:
			end_first(instance);
			ep_attached_refuse(&instance->job.attached);
			take_failure(instance);
			ep_instance_update_view(instance);
			break;
		case EP_STEP_REST:
			ep_attached_rest(&instance->job.attached);
			instance->flags |= EP_INSTANCE_WANTED;
			break;
		default:
			start_look(instance, plan.step);
		}
	}
	if (instance->flags & EP_INSTANCE_BUSY)
		return;
	take_wait(instance, plan.why);
	ep_timer_set(instance->languages->options.timer, &instance->due,
		     instance->view.again_ns ? EP_MIN(plan.at_ns, instance->view.again_ns)
					     : plan.at_ns);
}

static void on_due(void *arg)
{
	ep_instance_act(arg);
}

/* What they have set while it was loaded is published now. */
void ep_instances_end_load(const struct ep_language *language)
{
	const struct ep_languages *languages = language->languages;
	struct ep_instance *instance;

	LIST_FOREACH (instance, &languages->instances, link) {
		if (instance->claim->language != language || instance->flags & EP_INSTANCE_RELEASED)
			continue;
		if (ep_instance_state(instance) && !languages->stopped)
			languages->options.changed(languages->options.arg, instance->pid);
		ep_instance_act(instance);
	}
}

/* --- the public calls ------------------------------------------------------------------------ */

static struct ep_instance *new_instance(struct ep_languages *languages, struct ep_claim *claim,
					pid_t pid, struct ep_account *account, uint64_t bias,
					uint64_t module_addr)
{
	struct ep_instance *instance = calloc(1, sizeof(*instance));
	struct ep_attached *attached;

	if (!instance)
		return NULL;
	instance->languages = languages;
	instance->claim = ep_claim_ref(claim);
	instance->pid = pid;
	instance->account = account ? account : &instance->own_account;
	instance->born_ns = ep_clock_mono_ns();
	instance->due = (struct ep_timeout){.run = on_due, .arg = instance};
	ep_process_target_init(&instance->job.target, pid);
	instance->job.target.module_addr = module_addr;
	instance->job.target.bias = bias;
	attached = &instance->job.attached;
	ep_attached_init(attached, claim->language->ops, claim->executable, &ep_process_target_ops,
			 &instance->job.target, pid, bias);
	attached->counters = claim->language->counters;
	attached->stopped = &languages->stopped;
	attached->frame_ns = EP_FRAME_READS_NS;
	attached->kept = &instance->job.kept;
	ep_kept_memory_init(&instance->job.kept);
	ep_kept_memory_init(&instance->arrived.memory);
	ep_instance_view_init(instance);
	LIST_INSERT_HEAD(&languages->instances, instance, link);
	return instance;
}

struct ep_instance *ep_instance_new(struct ep_languages *languages, struct ep_claim *claim,
				    pid_t pid, struct ep_account *account, uint64_t bias,
				    uint64_t module_addr)
{
	struct ep_instance *instance =
		languages->stopped
			? NULL
			: new_instance(languages, claim, pid, account, bias, module_addr);

	if (!instance)
		return NULL;
	find_owner(instance);
	instance->flags = EP_INSTANCE_FIRST;
	languages->attaching++;
	ep_instance_act(instance);
	return instance;
}

/*
 * What is reported of the parent belongs to a job while one is under way: the loop's copy is taken.
 * Many children end or execute something else before they are sampled: with what was published to
 * BPF of the parent, one is attached to only when its frames want names.
 */
struct ep_instance *ep_instance_fork(const struct ep_instance *parent, pid_t pid,
				     struct ep_account *account)
{
	struct ep_languages *languages = parent->languages;
	const struct ep_process_target *target = &parent->job.target;
	struct ep_instance *instance;

	if (languages->stopped || !parent->claim)
		return NULL;
	instance = new_instance(languages, parent->claim, pid, account, target->bias,
				target->module_addr);
	if (!instance)
		return NULL;
	ep_instance_view_inherit(instance, parent);
	if (instance->view.cell || instance->view.wants_cell)
		instance->job.attached.state = EP_ATTACHMENT_DORMANT;
	ep_instance_act(instance);
	return instance;
}

void ep_instance_release(struct ep_instance *instance)
{
	if (!instance)
		return;
	instance->flags |= EP_INSTANCE_RELEASED;
	instance->account = &instance->own_account;
	if (!(instance->flags & EP_INSTANCE_BUSY))
		free_instance(instance);
}

void ep_instance_leave(struct ep_instance *instance, struct ep_program program)
{
	struct ep_languages *languages = instance->languages;

	if (languages->options.leaving && instance->job.attached.instance &&
	    !(instance->flags & EP_INSTANCE_BUSY) && !languages->stopped)
		languages->options.leaving(languages->options.arg, program,
					   ep_instance_slot(instance));
	ep_instance_release(instance);
}

void ep_instance_end(struct ep_instance *instance)
{
	instance->flags |= EP_INSTANCE_ENDED;
	if (!(instance->flags & EP_INSTANCE_BUSY))
		stop_looking(instance);
}

bool ep_instance_is(const struct ep_instance *instance, const struct ep_claim *claim, uint64_t bias)
{
	return instance->claim == claim && instance->job.target.bias == bias;
}

void ep_instance_ask_refresh(struct ep_instance *instance)
{
	if (!(instance->flags & EP_INSTANCE_BUSY) &&
	    instance->job.attached.state != EP_ATTACHMENT_ATTACHED)
		return;
	instance->flags |= EP_INSTANCE_REFRESH;
	ep_instance_act(instance);
}

/* What is mapped may be what was waited for: a runtime's code, right before it runs. */
void ep_instance_refresh(struct ep_instance *instance)
{
	uint64_t now_ns = ep_clock_mono_ns();

	if (instance->flags & EP_INSTANCE_BUSY ||
	    instance->job.attached.state == EP_ATTACHMENT_ATTACHED) {
		ep_instance_ask_refresh(instance);
		return;
	}
	instance->retry.wait_ns = 0;
	if (now_ns - instance->born_ns < YOUNG_NS)
		instance->retry.at_ns = EP_MIN(instance->retry.at_ns, now_ns + retry_backoff.first);
	instance->flags |= EP_INSTANCE_WANTED;
	ep_instance_act(instance);
}

/* Until its process executes something. */
static bool is_final(const struct ep_instance *instance)
{
	return instance->job.attached.state == EP_ATTACHMENT_REFUSED ||
	       instance->job.attached.state == EP_ATTACHMENT_GONE;
}

bool ep_instance_is_missed(const struct ep_instance *instance, bool ended)
{
	if (instance->flags & EP_INSTANCE_BUSY)
		return false;
	return is_final(instance) ||
	       (ended && instance->job.attached.state == EP_ATTACHMENT_DORMANT);
}

/* A runtime that starts is not ready yet, however often it is asked. */
bool ep_instance_is_given_up(const struct ep_instance *instance)
{
	return ep_instance_is_missed(instance, false) ||
	       (instance->retry.n_failed >= MAX_FAILED &&
		ep_clock_mono_ns() - instance->born_ns >= YOUNG_NS);
}

bool ep_instance_is_awaited(const struct ep_instance *instance)
{
	struct ep_plan plan;

	if (ep_instance_state(instance) || ep_instance_is_given_up(instance))
		return false;
	if (instance->flags & EP_INSTANCE_BUSY)
		return true;
	if (instance->job.attached.state == EP_ATTACHMENT_ATTACHED)
		return instance->claim->language->loading;
	plan = ep_instance_next(instance, ep_clock_mono_ns());
	return plan.step == EP_STEP_ATTACH ||
	       (plan.step == EP_STEP_NONE &&
		(plan.why == EP_WAIT_RETRY || plan.why == EP_WAIT_TABLES));
}

int ep_instance_wake(struct ep_instance *instance)
{
	if (instance->flags & EP_INSTANCE_BUSY)
		return -EBUSY;
	if (instance->job.attached.instance)
		return 0;
	if (instance->job.attached.state == EP_ATTACHMENT_DORMANT) {
		instance->flags |= EP_INSTANCE_WANTED;
		ep_instance_act(instance);
	}
	if (is_final(instance))
		return instance->job.attached.state == EP_ATTACHMENT_GONE ? -ESRCH : -ENODATA;
	return !(instance->flags & EP_INSTANCE_BUSY) && ep_instance_budget_wait_ns(instance)
		       ? -EDQUOT
		       : -EBUSY;
}

/*
 * A cell that was taken back while nobody sampled it, or that it never had, is asked for by the
 * sample.
 */
void ep_instance_on_sample(struct ep_instance *instance, uint64_t time_ns)
{
	bool may_ask;

	instance->sampled_ns = time_ns;
	instance->account->was_sampled = true;
	if (instance->flags & EP_INSTANCE_IN_LINE)
		ep_instance_act(instance);
	may_ask = !(instance->flags & EP_INSTANCE_BUSY) && !ep_timeout_is_set(&instance->due) &&
		  !instance->languages->stopped;
	if (instance->view.cell) {
		ep_language_maps_touch_state(instance->languages->maps, instance->view.cell,
					     time_ns);
	} else if (instance->view.wants_cell && may_ask && instance->job.attached.holds.has_state) {
		instance->job.attached.is_changed = true;
		ep_instance_update_view(instance);
		ep_instance_act(instance);
	} else if (instance->view.wants_cell && may_ask &&
		   instance->job.attached.state == EP_ATTACHMENT_DORMANT) {
		instance->view.wants_cell = false;
		instance->flags |= EP_INSTANCE_WANTED;
		ep_instance_act(instance);
	}
}

/* What a plugin remembers of a process costs memory; BPF goes on without it. */
static bool may_rest(const struct ep_instance *instance, uint64_t now_ns, uint64_t idle_ns)
{
	return !(instance->flags & (EP_INSTANCE_BUSY | EP_INSTANCE_REFRESH)) &&
	       instance->job.attached.instance &&
	       (instance->view.cell || instance->view.wants_cell) &&
	       !ep_timeout_is_set(&instance->due) && now_ns - instance->used_ns >= idle_ns;
}

void ep_languages_rest(struct ep_languages *languages, uint64_t now_ns, uint64_t idle_ns)
{
	struct ep_instance *instance;

	LIST_FOREACH (instance, &languages->instances, link) {
		if (may_rest(instance, now_ns, idle_ns))
			ep_attached_rest(&instance->job.attached);
	}
}
