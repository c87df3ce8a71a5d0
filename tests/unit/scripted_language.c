/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/scripted_language.h"
#include "core/base/clock.h"
#include "core/bpf/language_maps.h"
#include "core/bpf/unwinder_program.h"

#include <pthread.h>

#define SKIP 77

struct script script;
struct script_host host;

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
	*ret_instance = &script;
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

void begin_as(pid_t pid, const struct script *answers)
{
	struct ep_languages_options options = {
		.loop = &host.loop, .timer = &host.timer, .changed = on_changed, .named = on_named, .hurried = is_hurried};
	struct ep_language *language;

	script = *answers;
	host.pid = pid;
	assert_int_equal(uv_loop_init(&host.loop), 0);
	ep_timer_init(&host.timer, &host.loop);
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

void end_host(void)
{
	ep_instance_release(host.instance);
	ep_frames_unref(host.frames);
	ep_claim_unref(host.claim);
	ep_languages_stop(host.languages);
	ep_timer_stop(&host.timer);
	(void)uv_run(&host.loop, UV_RUN_DEFAULT);
	host.languages->n = 0; /* the script has no module */
	ep_languages_free(host.languages);
	assert_int_equal(uv_loop_close(&host.loop), 0);
	memset(&host, 0, sizeof(host));
}

int end_if_begun(void **state)
{
	if (host.languages)
		end_host();
	return 0;
}

void run_until(const int *count, int wanted)
{
	while (*count < wanted || ep_languages_busy(host.languages) > 0)
		(void)uv_run(&host.loop, UV_RUN_ONCE);
}

uint32_t add_frame(uint64_t word)
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

enum ep_frame_state ask(struct ep_instance *instance, uint32_t id)
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

void run_names(void)
{
	uint32_t ids[100], id;
	size_t n = 0;

	while ((id = ep_frames_take(host.frames)) != 0)
		ids[n++] = id;
	assert_int_equal(ep_instance_symbolize(host.instance, host.frames, ids, n), 0);
	run_until(&script.n_told, 1);
}

void name_all(void)
{
	while (ep_frames_unresolved(host.frames) > 0) {
		host.languages->accounts.shared = (struct ep_bucket){0};
		run_names();
	}
}

int begin_names(void **state)
{
	begin_attached();
	return 0;
}

const char *text_of(uint32_t string)
{
	return ep_strings_get(ep_frames_strings(host.frames), string);
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
