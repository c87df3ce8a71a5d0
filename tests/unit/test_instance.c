/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A language in one process: what its plugin's answers lead to. The plugin is a script of answers; its
 * BPF program is never run, but the cells of its state are BPF's: without privileges this is a skip.
 */
#include "core/process/language_internal.h"
#include "core/process/process_languages.h"
#include "core/process/table.h"
#include "core/base/clock.h"
#include "core/bpf/language_maps.h"
#include "core/bpf/unwinder_program.h"
#include "core/trace/frames.h"
#include "tests/kit/test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define SKIP 77
#define SLOT 2
#define END  INT32_MAX /* of a script */
#define MAX_ANSWERS 8

static struct script {
	/* Results, in turn; the last one before END for ever. Without any: it succeeds. */
	int attach[MAX_ANSWERS], changed[MAX_ANSWERS];
	int load[MAX_ANSWERS], lengthen[MAX_ANSWERS];
	int symbolize[MAX_ANSWERS]; /* without any: as the frame says */
	int says[MAX_ANSWERS]; /* which calls set a state; without any: all but symbolize */
	uint64_t state;	   /* what is set; counted up before that */
	bool stays;	   /* it is not */
	bool no_instance;
	struct ep_target *target;
	int n_attached, n_changed, n_symbolized, n_detached;
	int n_told, n_named, n_read;
	int n_loaded, n_lengthened;
	bool is_short, loads_slowly; /* until there is an attach */
	uint64_t reads_ns; /* so long symbolize reads, or until it cannot */
	bool waits;	   /* between two of its reads, as on a machine where others have the CPUs */
} script;

static bool has_any(const int answers[MAX_ANSWERS])
{
	return answers[0] || answers[1];
}

static int next(int answers[MAX_ANSWERS])
{
	int result = answers[0];

	if (answers[1] != END)
		memmove(answers, answers + 1, (MAX_ANSWERS - 1) * sizeof(*answers));
	return result;
}

static int see_mapping(void *arg, const struct ep_target_mapping *mapping)
{
	assert_true(mapping->start < mapping->end);
	return 0;
}

static void say(struct ep_target *target, bool by_default)
{
	if (has_any(script.says) ? !next(script.says) : !by_default)
		return;
	script.state += !script.stays;
	assert_int_equal(target->ops->set_state(target->arg, &script.state, sizeof(script.state)), 0);
}

static int attach(void *executable, struct ep_target *target, void **ret_instance)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* two workers may attach at once */
	int result;

	assert_int_equal(target->ops->mappings(target->arg, see_mapping, NULL), 0);
	pthread_mutex_lock(&lock);
	__atomic_add_fetch(&script.n_attached, 1, __ATOMIC_RELAXED);
	script.target = target;
	*ret_instance = script.no_instance ? NULL : &script;
	say(target, true);
	result = next(script.attach);
	pthread_mutex_unlock(&lock);
	return result;
}

static int changed(void *instance)
{
	script.n_changed++;
	say(script.target, true);
	return next(script.changed);
}

static int symbolize_as_set(struct ep_names *names)
{
	struct ep_name name = {.size = sizeof(name), .function = "f"};
	int result = next(script.symbolize);

	script.n_symbolized++;
	say(script.target, false);
	if (result == 0)
		assert_int_equal(names->add(names->arg, &name), 0);
	return result;
}

static void detach(void *instance)
{
	script.n_detached++;
}

static void unload(void *executable)
{
}

/* Two lines with all there is. Of what begins at LONG_NAMES, more and longer ones than may be, and
 * every other time no word of it when they do not fit. */
#define LONG_NAMES 1000
#define SLOW	   1000000 /* it reads first */
#define STAND_IN   900	   /* it says of a name that it is none */
#define KEPT	   901	   /* and up to LONG_NAMES: it reads the word at KEPT_ADDR, where nothing is mapped */
#define KEPT_ADDR  0x1000
#define NAMED	   800	   /* it names what it reads there */
#define HALF_NAMED 801	   /* the same, and fails after that; if nothing is there it says STAND_IN's */

static int add_long_names(uint64_t frame, struct ep_names *names)
{
	static char text[3 * EP_FRAME_MAX_NAME_BYTES];
	struct ep_name name = {.size = sizeof(name), .function = text, .file = text};
	int r = 0;

	memset(text, 'n', sizeof(text) - 1);
	for (name.line = 1; r == 0 && name.line <= 2 * EP_FRAME_MAX_LINES; name.line++)
		r = names->add(names->arg, &name);
	return frame % 2 ? r : 0;
}

static int read_for_long(void)
{
	uint64_t end_ns = ep_clock_mono_ns() + script.reads_ns, word;
	int r = 0;

	while (r == 0 && ep_clock_mono_ns() < end_ns) {
		if (script.waits)
			usleep(1000);
		r = script.target->ops->read(script.target->arg, (uintptr_t)&end_ns, &word, 8);
	}
	return r;
}

static bool is_kept(const struct ep_raw_frame *frame)
{
	return frame->words[0] >= KEPT && frame->words[0] < LONG_NAMES;
}

static int read_kept(void)
{
	uint64_t word;

	script.n_read++;
	return script.target->ops->read(script.target->arg, KEPT_ADDR, &word, sizeof(word));
}

static int say_freed(struct ep_names *names)
{
	return names->add(names->arg, &(struct ep_name){.size = sizeof(struct ep_name),
							.function = "(freed)",
							.unnamed = EP_UNNAMED_GONE});
}

static int name_by_read(uint64_t frame, struct ep_names *names)
{
	char text[8];
	int r = script.target->ops->read(script.target->arg, KEPT_ADDR, text, sizeof(text));

	if (r < 0)
		return frame == NAMED ? r : say_freed(names);
	r = names->add(names->arg, &(struct ep_name){.size = sizeof(struct ep_name), .function = text});
	return frame == NAMED ? r : -EFAULT;
}

static int symbolize(void *instance, const struct ep_raw_frame *frame, struct ep_names *names)
{
	static const struct ep_name inner = {.size = sizeof(inner), .line = 3, .column = 5,
					     .start_line = 2, .function = "C.m",
					     .system_name = "C.m(I)V", .file = "C.java"};
	static const struct ep_name outer = {.size = sizeof(outer), .function = "D.m"};

	if (has_any(script.symbolize))
		return symbolize_as_set(names);
	script.n_symbolized++;
	say(script.target, false);
	if ((int64_t)frame->words[0] < 0)
		return (int)frame->words[0];
	if (is_kept(frame) && read_kept() < 0)
		return EP_FRAME_GONE;
	if (frame->words[0] >= SLOW)
		(void)read_for_long();
	else if (frame->words[0] >= LONG_NAMES)
		return add_long_names(frame->words[0], names);
	else if (frame->words[0] == STAND_IN)
		return say_freed(names);
	else if (frame->words[0] == NAMED || frame->words[0] == HALF_NAMED)
		return name_by_read(frame->words[0], names);
	assert_int_equal(names->add(names->arg, &inner), 0);
	assert_int_equal(names->add(names->arg, &outer), 0);
	return frame->words[0] >= SLOW || is_kept(frame) ? 0 : (int)frame->words[0];
}

static const struct ep_unwinder_ops ops = {
	.size = sizeof(ops),
	.attach = attach,
	.refresh = changed,
	.symbolize = symbolize,
	.detach = detach,
	.unload = unload,
};

/* --- its host ---------------------------------------------------------------------------------- */

static struct {
	uv_loop_t loop;
	pid_t pid;
	struct ep_languages *languages;
	struct ep_claim *claim;
	struct ep_instance *instance;
	struct ep_frames *frames;
} host;

static void on_changed(void *arg, pid_t pid)
{
	assert_int_equal(pid, host.pid);
	script.n_told++;
}

static void on_named(void *arg)
{
	script.n_named++;
}

static bool is_hurried(void *arg)
{
	return false;
}

/* A process with the script's answers: those that are named differ from all succeeding. */
#define begin(...) begin_of(getpid(), __VA_ARGS__)
#define begin_of(pid, ...) begin_as(pid, &(const struct script){.state = 0, __VA_ARGS__})
static void begin_as(pid_t pid, const struct script *answers)
{
	struct ep_languages_options options = {
		.loop = &host.loop, .changed = on_changed, .named = on_named, .hurried = is_hurried};
	struct ep_language *language;

	script = *answers;
	host.pid = pid;
	assert_int_equal(uv_loop_init(&host.loop), 0);
	assert_int_equal(ep_languages_new(&options, &host.languages), 0);
	language = &host.languages->all[0];
	*language = (struct ep_language){
		.languages = host.languages, .ops = &ops, .name = "script", .slot = SLOT};
	host.claim = calloc(1, sizeof(*host.claim));
	host.claim->refs = 1;
	host.claim->language = language;
	host.instance = ep_instance_new(host.languages, host.claim, pid, NULL, 0, 0);
	assert_non_null(host.instance);
	assert_int_equal(ep_frames_new(1000, 8 << 20, 1 << 20, &host.frames), 0);
}

/* What a test does itself that looks at what comes of it. */
static void end(void)
{
	ep_instance_release(host.instance);
	ep_frames_unref(host.frames);
	ep_claim_unref(host.claim);
	ep_languages_stop(host.languages);
	(void)uv_run(&host.loop, UV_RUN_DEFAULT);
	host.languages->n = 0; /* the script has no module */
	ep_languages_free(host.languages);
	assert_int_equal(uv_loop_close(&host.loop), 0);
	memset(&host, 0, sizeof(host));
}

static int end_if_begun(void **state)
{
	if (host.languages)
		end();
	return 0;
}

/* And waits until it is attached. It is told once more where the program is loaded after that. */
#define begin_attached(...)                                                                        \
	do {                                                                                       \
		begin(__VA_ARGS__);                                                                \
		run_until(&script.n_told, 1);                                                      \
		script.n_told = 1;                                                                 \
	} while (0)

#define HOST_TEST(name) EP_TEST_WITH(name, NULL, end_if_begun)

/* Until a count is reached, and nothing is under way. */
static void run_until(const int *count, int wanted)
{
	while (*count < wanted || ep_languages_busy(host.languages) > 0)
		(void)uv_run(&host.loop, UV_RUN_ONCE);
}

static uint32_t add_frame(uint64_t word)
{
	uint64_t header = EP_FRAME_HEADER(EP_FRAME_FIRST_DYNAMIC + SLOT, 0, 1, 0);
	uint32_t id;

	assert_int_equal(ep_frames_add(host.frames, header, &word,
				       (struct ep_program){.pid = (uint32_t)getpid()}, &id), 0);
	return id;
}

/* The kernel, as far as it loads the program of the script. */
int __wrap_ep_unwinder_program_load(const struct ep_bpf *bpf, const struct ep_language_maps *maps,
				    const struct ep_unwinder_program_options *options,
				    struct ep_unwinder_program **ret_program, char reason[512])
{
	int r = next(script.load);

	while (script.loads_slowly && __atomic_load_n(&script.n_attached, __ATOMIC_RELAXED) == 0)
		usleep(1000);
	__atomic_add_fetch(&script.n_loaded, 1, __ATOMIC_RELEASE);
	if (r == 0)
		*ret_program = (void *)&script;
	return r;
}

bool __wrap_ep_unwinder_program_is_short(const struct ep_unwinder_program *program)
{
	assert_ptr_equal(program, &script);
	return script.is_short;
}

int __wrap_ep_unwinder_program_lengthen(struct ep_unwinder_program *program,
					const struct ep_bpf *bpf,
					const struct ep_language_maps *maps,
					const struct ep_unwinder_program_options *options,
					char reason[512])
{
	int r = next(script.lengthen);

	script.is_short = r == -ENOMEM;
	script.n_lengthened++;
	return r;
}

void __wrap_ep_unwinder_program_free(struct ep_unwinder_program *program)
{
}

uint32_t __wrap_ep_unwinder_program_frames_per_run(const struct ep_unwinder_program *program)
{
	assert_ptr_equal(program, &script);
	return 1;
}

/* Asks for the name of a frame, and waits for the end of that. The frame's state. */
static enum ep_frame_state ask(struct ep_instance *instance, uint32_t id)
{
	int wanted = script.n_named + 1;
	uint32_t taken = ep_frames_take(host.frames);

	while (taken != id && taken != 0) /* one that an earlier call put back */
		taken = ep_frames_take(host.frames);
	assert_int_equal(taken, id);
	assert_int_equal(ep_instance_symbolize(instance, host.frames, &id, 1), 0);
	run_until(&script.n_named, wanted);
	return ep_frames_state(host.frames, id);
}

/* One job for all that have no names yet. */
static void run_names(void)
{
	uint32_t ids[100], id;
	size_t n = 0;

	while ((id = ep_frames_take(host.frames)) != 0)
		ids[n++] = id;
	assert_int_equal(ep_instance_symbolize(host.instance, host.frames, ids, n), 0);
	run_until(&script.n_told, 1);
}

/* And as many more as it takes: who has spent its share goes on after others, of whom there are none here. */
static void name_all(void)
{
	while (ep_frames_unresolved(host.frames) > 0) {
		host.languages->purses.greedy_ns = 0;
		run_names();
	}
}

/* --- tests --------------------------------------------------------------------------------------- */

HOST_TEST(what_may_pass_is_tried_again)
{
	begin(.attach = {-EFAULT, -ENOMEM, EP_NOT_YET, -EIO});
	run_until(&script.n_attached, 4);
	assert_int_equal(ep_instance_state(host.instance), 0);
	assert_int_equal(script.n_told, 0);
	run_until(&script.n_told, 1);
	assert_int_equal(script.n_attached, 5);
	assert_true(ep_instance_state(host.instance) > 0);
	assert_int_equal(host.languages->refused, 0);
	end();
	assert_int_equal(script.n_detached, 1);
}

/* The verifier takes its time, and a process can be read meanwhile; BPF is told when there is a program. */
HOST_TEST(what_attaches_while_the_program_is_loaded_is_told_after_that)
{
	struct ep_instance *second;

	begin(.loads_slowly = true);
	second = ep_instance_new(host.languages, host.claim, getpid(), NULL, 0, 0);
	assert_int_equal(ep_languages_busy(host.languages), 3);
	while (host.languages->attached < 2) {
		/* The load may be over when the second one is attached. */
		assert_true(__atomic_load_n(&script.n_loaded, __ATOMIC_ACQUIRE) > 0 ||
			    ep_instance_state(host.instance) == 0);
		(void)uv_run(&host.loop, UV_RUN_ONCE);
	}
	run_until(&script.n_loaded, 1);
	assert_int_equal(script.n_loaded, 1);
	assert_true(script.n_told >= 2);
	assert_true(ep_instance_state(host.instance) > 0 && ep_instance_state(second) > 0);
	assert_int_equal(ep_languages_attaching(host.languages), 0);
	ep_instance_release(second);
}

/* One that is attached meanwhile waits as well, and nobody waits for it to be attached. */
HOST_TEST(a_load_without_memory_or_descriptors_is_repeated)
{
	uint64_t start_ns = ep_clock_mono_ns();
	struct ep_instance *second;

	begin(.load = {-ENOMEM, -EMFILE});
	run_until(&script.n_loaded, 1);
	second = ep_instance_new(host.languages, host.claim, getpid(), NULL, 0, 0);
	assert_int_equal(ep_languages_attaching(host.languages), 0);
	run_until(&script.n_loaded, 2);
	assert_int_equal(ep_instance_state(host.instance), 0);
	assert_int_equal(script.n_detached, script.n_attached);
	run_until(&script.n_loaded, 3);
	while (ep_instance_state(host.instance) == 0 || ep_instance_state(second) == 0)
		(void)uv_run(&host.loop, UV_RUN_ONCE);
	assert_int_equal(script.n_loaded, 3);
	assert_true(ep_clock_mono_ns() - start_ns > 700 * EP_NS_PER_MS); /* 250, then 500 */
	assert_int_equal(host.languages->refused, 0);
	ep_instance_release(second);
}

HOST_TEST(a_program_that_is_refused_is_not_loaded_again)
{
	struct ep_instance *second;

	begin(.load = {-EACCES});
	while (host.languages->refused == 0)
		(void)uv_run(&host.loop, UV_RUN_ONCE);
	second = ep_instance_new(host.languages, host.claim, getpid(), NULL, 0, 0);
	assert_int_equal(host.languages->refused, 2);
	assert_int_equal(script.n_loaded, 1);
	assert_int_equal(script.n_attached, 1); /* before that was known */
	assert_int_equal(script.n_detached, 1);
	assert_int_equal(ep_instance_state(host.instance), 0);
	assert_true(ep_instance_is_missed(host.instance, false));
	assert_true(ep_instance_is_missed(second, false));
	assert_int_equal(ep_languages_attaching(host.languages), 0);
	ep_instance_release(second);
}

#define begin_short(...)                                                                           \
	do {                                                                                       \
		begin_attached(.is_short = true, __VA_ARGS__);                                     \
		host.languages->n = 1;                                                             \
	} while (0)

HOST_TEST(a_longer_program_is_loaded_after_a_second)
{
	uint64_t start_ns;

	begin_short();
	start_ns = host.languages->all[0].loaded_ns;
	while (script.n_lengthened == 0) {
		ep_languages_lengthen(host.languages, false);
		(void)uv_run(&host.loop, UV_RUN_NOWAIT);
	}
	assert_true(ep_clock_mono_ns() - start_ns >= EP_NS_PER_SEC);
	run_until(&script.n_lengthened, 1);
	ep_languages_lengthen(host.languages, true);
	assert_int_equal(ep_languages_busy(host.languages), 0);
	assert_int_equal(script.n_loaded, 1);
	assert_true(ep_instance_state(host.instance) > 0);
}

HOST_TEST(a_command_that_waits_gets_the_longer_program)
{
	begin_short();
	host.languages->all[0].program = NULL; /* nobody has loaded it yet */
	ep_claim_load(host.claim, true);
	while (ep_languages_attaching(host.languages) > 0)
		(void)uv_run(&host.loop, UV_RUN_ONCE);
	assert_int_equal(script.n_loaded, 2);
	assert_int_equal(script.n_lengthened, 1);
	assert_int_equal(ep_languages_busy(host.languages), 0);
}

/* Not again when it is refused; when there was no memory for it, but after a while. */
HOST_TEST(a_stack_without_calls_does_not_wait_for_that)
{
	uint64_t start_ns;

	begin_short(.lengthen = {-ENOMEM, -E2BIG, END});
	ep_languages_lengthen(host.languages, false);
	assert_int_equal(ep_languages_busy(host.languages), 0);
	start_ns = ep_clock_mono_ns();
	ep_languages_lengthen(host.languages, true);
	ep_languages_lengthen(host.languages, true);
	assert_int_equal(ep_languages_busy(host.languages), 1);
	run_until(&script.n_lengthened, 1);
	assert_true(ep_clock_mono_ns() - start_ns < 500 * EP_NS_PER_MS);
	while (script.n_lengthened < 2) {
		ep_languages_lengthen(host.languages, true);
		(void)uv_run(&host.loop, UV_RUN_NOWAIT);
	}
	assert_true(ep_clock_mono_ns() - start_ns >= 250 * EP_NS_PER_MS);
	run_until(&script.n_lengthened, 2);
	ep_languages_lengthen(host.languages, true);
	assert_int_equal(ep_languages_busy(host.languages), 0);
	assert_true(ep_instance_state(host.instance) > 0);
}

/* Also of one that failed: the next one reads them anew. */
HOST_TEST(mappings_are_kept_until_the_job_ends)
{
	begin(.attach = {-EFAULT});
	run_until(&script.n_attached, 1);
	assert_false(host.instance->process.has_maps);
	run_until(&script.n_told, 1);
	assert_false(host.instance->process.has_maps);
}

HOST_TEST(a_layout_that_is_not_known_is_final)
{
	begin(.attach = {-ENOTSUP, END});
	run_until(&script.n_attached, 1);
	assert_int_equal(host.languages->refused, 1);
	assert_int_equal(host.instance->retry_ns, 0);
	assert_true(ep_instance_is_missed(host.instance, false));
	end();
	assert_int_equal(script.n_attached, 1);
}

/* What was set by a call that did not succeed is not what holds. */
HOST_TEST(a_change_takes_effect_when_it_succeeds)
{
	uint32_t told;

	begin_attached(.changed = {EP_NOT_YET, -EFAULT});
	told = ep_instance_state(host.instance);
	ep_instance_refresh(host.instance);
	run_until(&script.n_changed, 2);
	assert_int_equal(script.n_told, 1);
	assert_int_equal(ep_instance_state(host.instance), told);
	run_until(&script.n_told, 2);
	assert_int_equal(script.n_changed, 3);
	assert_int_not_equal(ep_instance_state(host.instance), told);
}

HOST_TEST(a_change_that_is_final_detaches)
{
	begin_attached(.changed = {-ENOTSUP, END});
	ep_instance_refresh(host.instance);
	run_until(&script.n_told, 2);
	assert_int_equal(ep_instance_state(host.instance), 0);
	assert_int_equal(script.n_detached, 1);
}

/* Neither now nor with the next call, that says nothing and succeeds. */
HOST_TEST(what_a_failed_call_said_is_not_taken_later)
{
	begin(.attach = {-EFAULT}, .changed = {-EFAULT}, .says = {1, 0, 1, 0, END});
	run_until(&script.n_attached, 2);
	assert_int_equal(host.instance->attached.state, EP_ATTACHMENT_ATTACHED);
	assert_int_equal(ep_instance_state(host.instance), 0);
	ep_instance_refresh(host.instance);
	run_until(&script.n_changed, 2);
	assert_int_equal(ep_instance_state(host.instance), 0);
	assert_int_equal(script.n_told, 0);
}

HOST_TEST(a_success_without_an_instance_is_none)
{
	begin(.no_instance = true);
	run_until(&script.n_attached, 1);
	assert_int_equal(host.languages->refused, 1);
	assert_int_equal(ep_instance_state(host.instance), 0);
	assert_int_equal(ep_instance_symbolize(host.instance, host.frames, NULL, 0), -ENODATA);
	end();
	assert_int_equal(script.n_detached, 0);
}

HOST_TEST(what_is_refused_is_called_no_more)
{
	uint32_t id;

	begin_attached(.changed = {-ENOTSUP, END});
	ep_instance_refresh(host.instance);
	run_until(&script.n_told, 2);
	id = add_frame(1);
	assert_int_equal(ep_instance_symbolize(host.instance, host.frames, &id, 1), -ENODATA);
	ep_instance_refresh(host.instance);
	ep_instance_ask_refresh(host.instance);
	ep_languages_rest(host.languages, UINT64_MAX, 0);
	assert_int_equal(ep_languages_busy(host.languages), 0);
	assert_int_equal(host.instance->retry_ns, 0);
	assert_int_equal(host.instance->attached.state, EP_ATTACHMENT_REFUSED);
	assert_int_equal(script.n_attached, 1);
	assert_int_equal(script.n_changed, 1);
	assert_int_equal(host.languages->refused, 1);
}

HOST_TEST(frames_are_asked_for_again_when_it_is_too_early)
{
	uint32_t id;

	begin_attached(.symbolize = {EP_NOT_YET, EP_NOT_YET, 0, END});
	id = add_frame(1);
	assert_int_equal(ask(host.instance, id), EP_FRAME_PENDING);
	assert_int_equal(ask(host.instance, id), EP_FRAME_PENDING);
	assert_int_equal(ask(host.instance, id), EP_FRAME_RESOLVED);
	assert_int_equal(host.languages->symbolized, 1);
	assert_false(ep_instance_is_missed(host.instance, false));
}

/* What the plugin remembers still names frames, but its process is not looked at any more. */
HOST_TEST(a_process_that_is_gone_is_asked_for_names_only)
{
	uint32_t id, told;

	begin_attached(.symbolize = {-ESRCH, -ESRCH, EP_NOT_YET, 0, END});
	told = ep_instance_state(host.instance);
	id = add_frame(1);
	assert_int_equal(ask(host.instance, id), EP_FRAME_PENDING);
	assert_true(ep_instance_is_missed(host.instance, false));
	assert_int_equal(ask(host.instance, id), EP_FRAME_RESOLVED);
	assert_int_equal(ask(host.instance, add_frame(2)), EP_FRAME_RESOLVED);
	assert_int_equal(host.languages->unnamed, 2);
	assert_int_equal(ask(host.instance, add_frame(3)), EP_FRAME_RESOLVED);
	assert_int_equal(host.languages->symbolized, 1);
	ep_instance_refresh(host.instance);
	assert_int_equal(ep_languages_busy(host.languages), 0);
	assert_int_equal(script.n_changed, 0);
	assert_int_equal(ep_instance_state(host.instance), told);
	assert_int_equal(script.n_detached, 0);
	ep_languages_rest(host.languages, UINT64_MAX, 0);
	assert_int_equal(script.n_detached, 1);
	assert_int_equal(ep_frames_unnamed(host.frames, id), EP_UNNAMED_GONE);
	assert_int_equal(ep_instance_symbolize(host.instance, host.frames, &id, 1), -ESRCH);
	end();
	assert_int_equal(script.n_detached, 1);
}

/* It is of the process, and holds whatever becomes of the frame. */
HOST_TEST(what_is_said_with_a_name_is_told)
{
	begin_attached(.symbolize = {EP_FRAME_GONE, -EFAULT, 0, EP_NOT_YET, -ESRCH, END}, .says = {1, END});
	for (int i = 1; i <= 5; i++) {
		uint32_t told = ep_instance_state(host.instance);

		(void)ask(host.instance, add_frame((uint64_t)i));
		assert_int_equal(script.n_told, 1 + i);
		assert_int_not_equal(ep_instance_state(host.instance), told);
	}
}

/* Each of a job's frames sets the state; the last one's names do not fit any more. */
HOST_TEST(what_is_said_with_names_that_do_not_fit_is_told)
{
	begin_attached(.says = {1, END});
	for (uint64_t i = 0; i < 40; i++)
		(void)add_frame(LONG_NAMES + 2 * i);
	name_all();
	assert_true(script.n_symbolized >= 40); /* those that did not fit twice */
	assert_int_equal(script.state, 1 + script.n_symbolized);
	assert_int_equal(host.instance->attached.holds.state[0], script.state);
	assert_int_equal(script.n_told, 1 + script.n_named);
}

HOST_TEST(what_rests_is_attached_again_for_a_name)
{
	uint32_t id, told;

	begin_attached(.symbolize = {0, END}, .stays = true);
	told = ep_instance_state(host.instance);
	ep_languages_rest(host.languages, UINT64_MAX, 0);
	assert_int_equal(script.n_detached, 1);
	assert_int_equal(ep_instance_state(host.instance), told);
	assert_false(ep_instance_is_missed(host.instance, false));
	assert_true(ep_instance_is_missed(host.instance, true));
	ep_instance_ask_refresh(host.instance);
	assert_int_equal(ep_languages_busy(host.languages), 0);
	id = add_frame(1);
	assert_int_equal(ep_instance_symbolize(host.instance, host.frames, &id, 1), -EBUSY);
	run_until(&script.n_attached, 2);
	assert_int_equal(ask(host.instance, id), EP_FRAME_RESOLVED);
	assert_int_equal(script.n_told, 1); /* it is what BPF knows */
	assert_int_equal(ep_instance_state(host.instance), told);
	assert_int_equal(host.languages->attached, 1);
	end();
	assert_int_equal(script.n_detached, 2);
}

/* While it cannot be attached to BPF goes on with what it was told of the parent. */
HOST_TEST(a_child_has_what_its_parent_has_until_it_is_refused)
{
	struct ep_instance *child;
	uint32_t id;

	begin_attached(.attach = {0, -EFAULT, EP_NOT_YET, -ENOTSUP, END});
	child = ep_instance_fork(host.instance, getpid(), NULL);
	assert_non_null(child);
	assert_int_equal(ep_instance_state(child), ep_instance_state(host.instance));
	assert_int_equal(script.n_attached, 1);
	id = add_frame(1);
	assert_int_equal(ep_instance_symbolize(child, host.frames, &id, 1), -EBUSY);
	run_until(&script.n_attached, 3);
	assert_int_equal(ep_instance_state(child), ep_instance_state(host.instance));
	assert_int_equal(ep_instance_symbolize(child, host.frames, &id, 1), -EBUSY);
	run_until(&script.n_told, 2);
	assert_int_equal(ep_instance_state(child), 0);
	assert_true(ep_instance_is_missed(child, false));
	assert_true(ep_instance_state(host.instance) > 0);
	ep_instance_release(child);
}

/* What a child's attach does not say is not its parent's any more. */
HOST_TEST(a_child_that_is_attached_has_its_own)
{
	struct ep_instance *child;

	begin_attached(.says = {1, 0, END});
	child = ep_instance_fork(host.instance, getpid(), NULL);
	assert_non_null(child);
	assert_true(ep_instance_state(child) > 0);
	ep_instance_refresh(child);
	run_until(&script.n_told, 2);
	assert_int_equal(ep_instance_state(child), 0);
	ep_instance_release(child);
}

/* As many processes that only sleep as anybody may start, each with a state of its own. */
#define SLEEPERS 4200

static struct ep_instance *sleepers[SLEEPERS];

static struct ep_instance *new_attached(void)
{
	uint64_t wanted = host.languages->attached + 1;
	struct ep_instance *instance = ep_instance_new(host.languages, host.claim, getpid(), NULL, 0, 0);

	assert_non_null(instance);
	while (host.languages->attached < wanted || ep_languages_busy(host.languages) > 0)
		(void)uv_run(&host.loop, UV_RUN_ONCE);
	return instance;
}

/* Whoever is sampled meanwhile has a state all the time. */
static void start_sleepers(struct ep_instance *sampled)
{
	for (size_t i = 0; i < SLEEPERS; i++) {
		sleepers[i] = new_attached();
		ep_instance_on_sample(sampled, ep_clock_mono_ns());
		assert_true(ep_instance_state(sampled) > 0);
	}
}

static void end_sleepers(void)
{
	for (size_t i = 0; i < SLEEPERS; i++)
		ep_instance_release(sleepers[i]);
}

HOST_TEST(processes_that_sleep_leave_states_to_those_that_run)
{
	struct ep_instance *asleep, *parent, *child, *late;

	begin_attached(.stays = false);
	asleep = new_attached();
	parent = new_attached();
	child = ep_instance_fork(parent, getpid(), NULL);
	ep_instance_on_sample(child, ep_clock_mono_ns());
	start_sleepers(host.instance);
	assert_true(host.languages->states_taken_back > 0);
	assert_int_equal(ep_instance_state(asleep), 0);
	/* Of those that share a state one that is sampled keeps it for all. */
	assert_true(ep_instance_state(parent) > 0);
	assert_int_equal(ep_instance_state(child), ep_instance_state(parent));
	/* One that starts now has what it needs with its first sample, at the latest, and so has the next one. */
	for (int i = 0; i < 100; i++) {
		late = new_attached();
		ep_instance_on_sample(late, ep_clock_mono_ns());
		assert_true(ep_instance_state(late) > 0);
		ep_instance_release(late);
	}
	ep_instance_release(asleep);
	ep_instance_release(parent);
	ep_instance_release(child);
	end_sleepers();
}

/* It was forgotten while it slept, and runs again. */
HOST_TEST(a_state_that_was_taken_back_comes_with_the_next_sample)
{
	struct ep_instance *child;
	uint64_t n = 0;

	begin_attached(.stays = false);
	start_sleepers(host.instance);
	while (n < SLEEPERS && ep_instance_state(sleepers[n]) > 0)
		n++;
	assert_true(n < SLEEPERS);
	script.n_told = 0;
	ep_instance_on_sample(sleepers[n], ep_clock_mono_ns());
	assert_true(ep_instance_state(sleepers[n]) > 0);
	assert_true(script.n_told > 0);
	for (n++; n < SLEEPERS && ep_instance_state(sleepers[n]) > 0;)
		n++;
	assert_true(n < SLEEPERS);
	/* A child of one that is forgotten is attached to when it is sampled. */
	child = ep_instance_fork(sleepers[n], getpid(), NULL);
	assert_non_null(child);
	assert_int_equal(ep_languages_busy(host.languages), 0);
	script.n_told = 0;
	ep_instance_on_sample(child, ep_clock_mono_ns());
	run_until(&script.n_told, 1);
	assert_true(ep_instance_state(child) > 0);
	ep_instance_release(child);
	end_sleepers();
}

HOST_TEST(what_an_earlier_instance_said_does_not_hold)
{
	begin_attached(.says = {1, 0, END});
	ep_languages_rest(host.languages, UINT64_MAX, 0);
	ep_instance_refresh(host.instance);
	run_until(&script.n_told, 2);
	assert_int_equal(script.n_attached, 2);
	assert_int_equal(ep_instance_state(host.instance), 0);
}

HOST_TEST(a_runtime_is_told_by_where_it_is_loaded)
{
	struct ep_claim other = {.refs = 1};

	begin_attached();
	assert_true(ep_instance_is(host.instance, host.claim, 0));
	assert_false(ep_instance_is(host.instance, host.claim, 0x1000));
	assert_false(ep_instance_is(host.instance, &other, 0));
}

HOST_TEST(what_changes_meanwhile_is_looked_at_afterwards)
{
	begin();
	assert_int_equal(ep_languages_busy(host.languages), 2); /* one loads the program */
	ep_instance_refresh(host.instance);
	ep_instance_ask_refresh(host.instance);
	run_until(&script.n_changed, 1);
	assert_int_equal(script.n_changed, 1);
}

HOST_TEST(what_is_released_meanwhile_is_detached_afterwards)
{
	begin();
	ep_instance_release(host.instance);
	host.instance = NULL;
	run_until(&script.n_detached, 1);
	assert_int_equal(ep_languages_attaching(host.languages), 0);
	assert_int_equal(script.n_told, 0);
	end();
	assert_int_equal(script.n_detached, 1);
}

HOST_TEST(a_process_that_is_gone_is_not_refused)
{
	begin(.attach = {-EFAULT, -ESRCH, END});
	run_until(&script.n_attached, 2);
	assert_int_equal(host.languages->refused, 0);
	assert_int_equal(host.instance->retry_ns, 0);
	assert_true(ep_instance_is_missed(host.instance, false));
	end();
	assert_int_equal(script.n_attached, 2);
}

/* --- names --------------------------------------------------------------------------------------- */

static int begin_names(void **state)
{
	begin_attached();
	return 0;
}

#define NAMES_TEST(name) EP_TEST_WITH(name, begin_names, end_if_begun)

static const char *text_of(uint32_t string)
{
	return ep_strings_get(ep_frames_strings(host.frames), string);
}

NAMES_TEST(names_have_all_that_was_said)
{
	uint32_t named = add_frame(0), gone = add_frame(EP_FRAME_GONE), module;
	uint32_t waits = add_frame(EP_NOT_YET), after = add_frame(0);
	const struct ep_frame_name *names;

	run_names();
	assert_int_equal(ep_frames_names(host.frames, gone, &names, &module), 0);
	assert_int_equal(ep_frames_state(host.frames, gone), EP_FRAME_RESOLVED);
	assert_int_equal(ep_frames_state(host.frames, waits), EP_FRAME_PENDING);
	assert_int_equal(ep_frames_names(host.frames, after, &names, &module), 2);
	assert_int_equal(ep_frames_names(host.frames, named, &names, &module), 2);
	assert_string_equal(text_of(names[0].function), "C.m");
	assert_string_equal(text_of(names[0].system_name), "C.m(I)V");
	assert_string_equal(text_of(names[0].file), "C.java");
	assert_int_equal(names[0].line, 3);
	assert_int_equal(names[0].column, 5);
	assert_int_equal(names[0].start_line, 2);
	assert_string_equal(text_of(names[1].function), "D.m");
	assert_string_equal(text_of(names[1].system_name), "D.m");
	assert_int_equal(names[1].file, 0);
}

NAMES_TEST(what_never_comes_is_not_asked_for_for_ever)
{
	uint32_t id = add_frame(EP_NOT_YET);

	for (uint32_t i = 0; i < 5; i++) {
		run_names();
		assert_int_equal(ep_frames_state(host.frames, id), EP_FRAME_PENDING);
		assert_int_equal(ep_frames_tries(host.frames, id), i + 1);
	}
	run_names();
	assert_int_equal(ep_frames_state(host.frames, id), EP_FRAME_RESOLVED);
	assert_int_equal(ep_frames_unnamed(host.frames, id), EP_UNNAMED_GONE);
}

NAMES_TEST(a_name_that_is_not_known_says_why)
{
	static const struct {
		int result;
		enum ep_unnamed why;
	} rows[] = {
		{0, EP_UNNAMED_NONE},		       {EP_FRAME_GONE, EP_UNNAMED_GONE},
		{STAND_IN, EP_UNNAMED_GONE},	       {-EFAULT, EP_UNNAMED_UNREADABLE},
		{-EBADMSG, EP_UNNAMED_UNREADABLE},     {-ENOTSUP, EP_UNNAMED_UNREADABLE},
		{EP_NOT_YET, EP_UNNAMED_PENDING},
	};
	uint32_t ids[EP_LEN(rows)];

	for (size_t i = 0; i < EP_LEN(rows); i++)
		ids[i] = add_frame((uint64_t)rows[i].result);
	run_names();
	for (size_t i = 0; i < EP_LEN(rows); i++)
		if (ep_frames_unnamed(host.frames, ids[i]) != rows[i].why)
			fail_msg("%d: %d", rows[i].result, ep_frames_unnamed(host.frames, ids[i]));
}

NAMES_TEST(what_does_not_fit_is_asked_for_again)
{
	const struct ep_frame_name *names;
	uint32_t first = 0, module;

	for (uint64_t i = 0; i < 40; i++)
		first = add_frame(LONG_NAMES + i) - (uint32_t)i;
	name_all();
	assert_int_equal(ep_frames_unresolved(host.frames), 0);
	assert_true(script.n_named >= 3); /* 15 frames of 1 MiB each, kept for the way */
	for (uint32_t i = 0; i < 40; i++) {
		size_t n = ep_frames_names(host.frames, first + i, &names, &module);

		assert_int_equal(n, 3); /* of 16 KiB: 64 KiB are one frame's */
		assert_int_equal(names[1].line, 2);
		assert_int_equal(names[2].line, 2 * EP_FRAME_MAX_LINES);
		assert_int_equal(strlen(text_of(names[0].function)), EP_FRAME_MAX_NAME_BYTES);
	}
	assert_int_equal(host.languages->symbolized, 40);
	assert_int_equal(host.languages->unnamed, 0);
	assert_int_equal(host.languages->lines_left_out, 40 * (2 * EP_FRAME_MAX_LINES - 3));
	assert_false(ep_frames_is_full(host.frames));
}

/* --- budgets ------------------------------------------------------------------------------------- */

/* All are named, a few in each turn: what others want of the workers comes between two. */
NAMES_TEST(a_job_of_many_frames_makes_room_for_others)
{
	uint64_t asked_ns;

	script.reads_ns = 5 * EP_NS_PER_MS;
	for (uint64_t i = 0; i < 40; i++)
		(void)add_frame(SLOW + i);
	asked_ns = ep_clock_mono_ns();
	name_all();
	assert_int_equal(ep_frames_unresolved(host.frames), 0);
	assert_in_range(script.n_named, 40 / 5, 40);
	assert_int_equal(host.languages->symbolized, 40);
	assert_in_range(host.languages->purses.spent_ns, 1, ep_clock_mono_ns() - asked_ns);
}

NAMES_TEST(a_frame_that_takes_long_stays_unnamed)
{
	const struct ep_frame_name *names;
	uint64_t start_ns = ep_clock_mono_ns();
	uint32_t id = add_frame(SLOW), other = add_frame(0), module;

	script.reads_ns = 60 * EP_NS_PER_SEC;
	name_all();
	assert_in_range(ep_clock_mono_ns() - start_ns, 100 * EP_NS_PER_MS, 10 * EP_NS_PER_SEC);
	assert_int_equal(ep_frames_state(host.frames, id), EP_FRAME_RESOLVED);
	assert_int_equal(ep_frames_names(host.frames, id, &names, &module), 0);
	assert_true(ep_frames_names(host.frames, other, &names, &module) > 0);
	assert_int_equal(host.languages->late, 1);
	assert_int_equal(host.languages->unnamed, 1);
}

/* Time passes where the agent gets little of a CPU: that says nothing of the frame. */
NAMES_TEST(a_frame_is_late_by_its_cpu_time)
{
	const struct ep_frame_name *names;
	uint64_t start_ns = ep_clock_mono_ns();
	uint32_t id = add_frame(SLOW), module;

	script.waits = true;
	script.reads_ns = 200 * EP_NS_PER_MS;
	name_all();
	if (ep_clock_mono_ns() - start_ns >= EP_FRAME_WALL_NS)
		return; /* then it is late, by rights: see below */
	assert_true(ep_frames_names(host.frames, id, &names, &module) > 0);
	assert_int_equal(host.languages->late, 0);
	assert_true(host.languages->purses.spent_ns < script.reads_ns / 2);
}

/* But nobody may have a worker for longer than a second, and who has is no better than who computes. */
NAMES_TEST(a_frame_is_late_after_a_second)
{
	uint64_t start_ns = ep_clock_mono_ns();
	uint32_t id = add_frame(SLOW);

	script.waits = true;
	script.reads_ns = 60 * EP_NS_PER_SEC;
	name_all();
	assert_in_range(ep_clock_mono_ns() - start_ns, EP_FRAME_WALL_NS, 30 * EP_NS_PER_SEC);
	assert_int_equal(ep_frames_unnamed(host.frames, id), EP_UNNAMED_SLOW);
	assert_int_equal(host.languages->late, 1);
	assert_true(ep_instance_spent_ns(host.instance) >= EP_FRAME_WALL_NS / 2);
	assert_true(host.languages->purses.spent_ns < EP_FRAME_WALL_NS);
}

/* So much dear work was done for it, and so much for all that have had more than their share. */
static void spend(struct ep_purse *purse, uint64_t own_ns, uint64_t shared_ns)
{
	const struct ep_cost cost = {.dear_ns = own_ns};

	ep_purse_pay(NULL, purse, &cost, ep_clock_mono_ns());
	host.languages->purses.greedy_ns = ep_clock_mono_ns() + 25 * shared_ns;
}

NAMES_TEST(who_has_spent_its_share_waits_until_it_is_paid)
{
	uint32_t id = add_frame(0);
	uint64_t start_ns = ep_clock_mono_ns();

	assert_int_equal(ep_instance_spent_ns(host.instance), 0);
	host.instance->purse->was_sampled = true;
	spend(host.instance->purse, 100 * EP_NS_PER_MS, EP_PURSE_SHARED_NS + 8 * EP_NS_PER_MS);
	assert_true(ep_instance_spent_ns(host.instance) > 0);
	assert_int_equal(ep_instance_symbolize(host.instance, host.frames, &id, 1), -EDQUOT);
	run_until(&script.n_named, 1);
	assert_true(ep_clock_mono_ns() - start_ns >= 200 * EP_NS_PER_MS);
	assert_int_equal(ep_instance_symbolize(host.instance, host.frames, &id, 1), 0);
	run_until(&script.n_named, 2);
	assert_int_equal(ep_frames_state(host.frames, id), EP_FRAME_RESOLVED);
}

NAMES_TEST(who_is_greedy_leaves_a_worker_to_others)
{
	uint32_t id = add_frame(0);

	*host.languages->naming = 2; /* of two other processes */
	assert_int_equal(ep_instance_symbolize(host.instance, host.frames, &id, 1), -EBUSY);
	*host.languages->naming = 1;
	spend(host.instance->purse, 100 * EP_NS_PER_MS, 0);
	assert_int_equal(ep_instance_symbolize(host.instance, host.frames, &id, 1), -EBUSY);
	*host.languages->naming = 0;
	host.languages->n_greedy = 1; /* it is attached to */
	assert_int_equal(ep_instance_symbolize(host.instance, host.frames, &id, 1), -EBUSY);
	host.languages->n_greedy = 0;
	assert_int_equal(ep_instance_symbolize(host.instance, host.frames, &id, 1), 0);
	assert_int_equal(host.languages->n_greedy, 1);
	run_until(&script.n_named, 1);
	assert_int_equal(*host.languages->naming, 0);
	assert_int_equal(host.languages->n_greedy, 0);
}

HOST_TEST(a_process_that_cannot_pay_is_attached_to_later)
{
	struct ep_instance *second;
	struct ep_purse poor = {0};

	begin_attached();
	spend(&poor, 100 * EP_NS_PER_MS, EP_PURSE_SHARED_NS / 2 + 8 * EP_NS_PER_MS);
	second = ep_instance_new(host.languages, host.claim, getpid(), &poor, 0, 0);
	assert_int_equal(ep_languages_busy(host.languages), 0);
	assert_int_equal(ep_languages_attaching(host.languages), 0); /* no sample waits for it */
	run_until(&script.n_attached, 2);
	assert_int_equal(host.languages->put_off, 1);
	assert_true(ep_instance_state(second) > 0);
	ep_instance_release(second);
}

/* As many as there may be that sleep: whoever runs is attached to before them. */
HOST_TEST(who_is_sampled_does_not_stand_in_line)
{
	struct ep_instance *asleep[50];

	begin_attached(.stays = true);
	for (size_t i = 0; i < EP_LEN(asleep); i++)
		asleep[i] = ep_instance_new(host.languages, host.claim, getpid(), NULL, 0, 0);
	assert_int_equal(ep_languages_busy(host.languages), 2);
	assert_int_equal(ep_languages_attaching(host.languages), EP_LEN(asleep));
	ep_instance_on_sample(asleep[10], ep_clock_mono_ns());
	assert_int_equal(ep_languages_busy(host.languages), 3);
	ep_instance_release(asleep[20]); /* while it waits */
	asleep[20] = NULL;
	while (ep_languages_attaching(host.languages) > 0)
		(void)uv_run(&host.loop, UV_RUN_ONCE);
	assert_int_equal(script.n_attached, EP_LEN(asleep)); /* without one, and with the first of all */
	for (size_t i = 0; i < EP_LEN(asleep); i++)
		ep_instance_release(asleep[i]);
}

/* A child that runs when a byte is written, and ends when the test does. */
static pid_t start_sleeper(int *ret_wake_fd)
{
	int wakes[2];
	pid_t child;
	char byte;

	assert_int_equal(pipe(wakes), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		close(wakes[1]);
		while (read(wakes[0], &byte, 1) == 1)
			;
		_exit(0);
	}
	close(wakes[0]);
	*ret_wake_fd = wakes[1];
	return child;
}

/* Its memory is what it was. */
HOST_TEST(a_process_that_sleeps_is_not_looked_at_again)
{
	pid_t child;
	int wake_fd;

	child = start_sleeper(&wake_fd);
	begin_of(child, .attach = {EP_NOT_YET, EP_NOT_YET, EP_NOT_YET, 0, END});
	while (host.languages->slept < 4)
		(void)uv_run(&host.loop, UV_RUN_ONCE);
	assert_in_range(script.n_attached, 1, 3); /* it may just have begun to sleep */
	while (host.languages->attached == 0) {
		assert_int_equal(write(wake_fd, "", 1), 1);
		(void)uv_run(&host.loop, UV_RUN_ONCE);
	}
	assert_int_equal(script.n_attached, 4);
	end();
	close(wake_fd);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

NAMES_TEST(the_end_waits_for_no_frame)
{
	uint64_t start_ns;
	uint32_t ids[40];

	script.reads_ns = 60 * EP_NS_PER_SEC;
	for (size_t i = 0; i < EP_LEN(ids); i++) {
		(void)add_frame(SLOW + i);
		ids[i] = ep_frames_take(host.frames);
	}
	assert_int_equal(ep_instance_symbolize(host.instance, host.frames, ids, EP_LEN(ids)), 0);
	while (!*(volatile int *)&script.n_symbolized)
		(void)uv_run(&host.loop, UV_RUN_NOWAIT);
	start_ns = ep_clock_mono_ns();
	ep_languages_stop(host.languages);
	while (ep_languages_busy(host.languages) > 0)
		(void)uv_run(&host.loop, UV_RUN_ONCE);
	assert_true(ep_clock_mono_ns() - start_ns < 90 * EP_NS_PER_MS);
	assert_true(ep_frames_unresolved(host.frames) > 0);
}

static void keep_text(const char text[8])
{
	struct {
		struct ep_kept kept;
		struct ep_kept_piece piece;
		char text[8];
	} event = {.piece = {.addr = KEPT_ADDR, .bytes = 8}};

	event.kept.bytes = sizeof(event) - sizeof(event.kept);
	memcpy(event.text, text, sizeof(event.text));
	ep_instance_keep(host.instance, &event.kept, sizeof(event));
}

NAMES_TEST(what_was_kept_names_frames_of_young_programs)
{
	uint32_t young = add_frame(NAMED), half = add_frame(HALF_NAMED), old, module;
	const struct ep_frame_name *names;

	keep_text("kept\0\0\0");
	run_names();
	assert_int_equal(ep_frames_names(host.frames, young, &names, &module), 1);
	assert_string_equal(text_of(names[0].function), "kept");
	/* What fails half way leaves nothing but what stands in. */
	assert_int_equal(ep_frames_names(host.frames, half, &names, &module), 1);
	assert_string_equal(text_of(names[0].function), "(freed)");
	assert_int_equal(host.languages->named_by_kept, 1);
	host.instance->kept_ns -= EP_KEPT_NS;
	assert_int_equal(ep_frames_add(host.frames,
				       EP_FRAME_HEADER(EP_FRAME_FIRST_DYNAMIC + SLOT, 0, 1, 1),
				       &(uint64_t){NAMED},
				       (struct ep_program){.pid = (uint32_t)getpid()}, &old), 0);
	assert_int_equal(ask(host.instance, old), EP_FRAME_RESOLVED);
	assert_int_equal(ep_frames_names(host.frames, old, &names, &module), 0);
}

/* Code that lives for a moment is kept however old its process is (ep_ask_keep), but not for ever. */
NAMES_TEST(what_was_kept_names_frames_of_old_programs)
{
	const struct ep_frame_name *names;
	uint32_t frame, module;

	host.instance->born_ns -= 2 * EP_KEPT_NS;
	frame = add_frame(NAMED);
	keep_text("kept\0\0\0");
	run_names();
	assert_int_equal(ep_frames_names(host.frames, frame, &names, &module), 1);
	assert_string_equal(text_of(names[0].function), "kept");
	assert_true(host.instance->kept_bytes > 0);
	host.instance->kept_ns -= EP_KEPT_NS;
	assert_int_equal(ask(host.instance, add_frame(HALF_NAMED)), EP_FRAME_RESOLVED);
	assert_int_equal(host.instance->kept_bytes, 0);
	assert_int_equal(host.languages->kept_bytes, 0);
}

NAMES_TEST(what_is_kept_is_given_back)
{
	keep_text("kept\0\0\0");
	assert_true(host.instance->arrived_bytes > 0);
	assert_int_equal(host.languages->kept_bytes, host.instance->arrived_bytes);
	ep_instance_forget_kept(host.instance);
	assert_int_equal(host.instance->arrived_bytes, 0);
	assert_int_equal(host.languages->kept_bytes, 0);
	host.languages->kept_bytes = EP_KEPT_ALL_BYTES; /* of others */
	keep_text("kept\0\0\0");
	assert_int_equal(host.languages->kept_refused, 1);
	host.languages->kept_bytes = 0;
}

/* It ended before anybody looked into it; its parent can still be read. */
HOST_TEST(frames_of_a_child_that_has_ended_are_its_parents)
{
	const struct ep_program parent_is = {.pid = 1000, .image = 1, .start_ns = 10};
	const struct ep_program child_is = {.pid = 1001, .image = 1, .start_ns = 20};
	struct ep_process *parent = ep_process_new(parent_is), *child = ep_process_new(child_is);
	struct ep_table table;

	begin_attached();
	ep_table_init(&table, 10);
	assert_int_equal(ep_table_add(&table, parent), 0);
	assert_int_equal(ep_table_add(&table, child), 0);
	parent->languages[parent->n_languages++] = host.instance;
	ep_process_languages_fork(child, parent);
	assert_int_equal(child->n_languages, 1);
	assert_ptr_equal(ep_process_languages_find(&table, child_is, SLOT), child->languages[0]);
	ep_process_languages_end(child);
	ep_table_end(&table, child, 30);
	assert_ptr_equal(ep_process_languages_find(&table, child_is, SLOT), host.instance);
	ep_process_languages_drop(child);
	parent->n_languages = 0;
	ep_table_remove_ended(&table, child, &table.recent);
	ep_table_fini(&table);
	ep_process_free(child);
	ep_process_free(parent);
}

int main(void)
{
	struct ep_language_maps *maps = NULL;
	int r = ep_language_maps_new(&maps);

	ep_language_maps_free(maps);
	if (r == -EPERM || r == -EACCES) {
		printf("skip: no BPF maps for who is not root\n");
		return SKIP;
	}
	return ep_test_run(NULL, NULL);
}

/* --- what was kept of a process ------------------------------------------------------------------ */

/* One piece of so many bytes, at KEPT_ADDR. */
static void keep(uint32_t bytes)
{
	static struct {
		struct ep_kept kept;
		struct ep_kept_piece piece;
		uint8_t bytes[EP_KEPT_PIECE_BYTES];
	} event;

	event.kept.bytes = (uint32_t)sizeof(event.piece) + bytes;
	event.piece = (struct ep_kept_piece){.addr = KEPT_ADDR, .bytes = bytes};
	ep_instance_keep(host.instance, &event.kept, sizeof(event.kept) + event.kept.bytes);
}

HOST_TEST(what_was_kept_names_a_frame_that_is_gone)
{
	begin_attached();
	assert_int_equal(ask(host.instance, add_frame(KEPT)), EP_FRAME_RESOLVED);
	assert_int_equal(host.languages->gone, 1);
	keep(8);
	assert_int_equal(ask(host.instance, add_frame(KEPT + 1)), EP_FRAME_RESOLVED);
	assert_int_equal(host.languages->named_by_kept, 1);
	assert_int_equal(script.n_read, 3); /* the process first */
}

HOST_TEST(a_process_that_has_ended_is_not_looked_at)
{
	begin_attached();
	ep_instance_end(host.instance);
	keep(8);
	assert_int_equal(ask(host.instance, add_frame(KEPT)), EP_FRAME_RESOLVED);
	assert_int_equal(host.languages->named_by_kept, 1);
	assert_int_equal(script.n_read, 1);
	ep_instance_refresh(host.instance);
	ep_instance_ask_refresh(host.instance);
	assert_int_equal(ep_languages_busy(host.languages), 0);
	assert_int_equal(script.n_changed, 0);
}

HOST_TEST(where_much_is_kept_of_others_an_ended_process_is_forgotten_once_it_is_named)
{
	begin_attached();
	ep_instance_end(host.instance);
	for (uint64_t i = 0; i < 2; i++) {
		keep(EP_KEPT_PIECE_BYTES);
		assert_int_equal(ask(host.instance, add_frame(KEPT + i)), EP_FRAME_RESOLVED);
		assert_true(host.instance->kept_bytes > 0);
	}
	host.languages->kept_bytes += EP_KEPT_MUCH_BYTES;
	assert_int_equal(ask(host.instance, add_frame(KEPT + 2)), EP_FRAME_RESOLVED);
	assert_int_equal(host.languages->named_by_kept, 3);
	assert_int_equal(host.instance->kept_bytes, 0);
	assert_int_equal(host.languages->kept_bytes, EP_KEPT_MUCH_BYTES);
	host.languages->kept_bytes = 0;
}
