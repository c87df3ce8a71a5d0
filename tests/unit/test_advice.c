/* SPDX-License-Identifier: Apache-2.0 */
/* Made-up languages that run in this program and its child, and what they advise about them. */
#include "core/process/advice.h"
#include "core/base/clock.h"
#include "core/plugin/unwinder.h"
#include "tests/kit/test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define A_MINUTE (60 * EP_NS_PER_SEC)
#define MAX_SAID 16

/* The runtime: a variable that processes have different values in. */
extern uint64_t advice_test_runtime;
uint64_t advice_test_runtime = 1;

/* --- the plugin ------------------------------------------------------------------------------ */

struct runtime {
	const struct ep_unwinder_host *host;
	uint64_t va;
};

struct instance {
	struct ep_target *target;
	uint64_t value;
};

static struct {
	int probed, claimed, unloaded, attached, detached;
	int probe_result, attach_result, advise_result;
	bool is_silent;
} plugin_state;

static int probe(const struct ep_unwinder_host *host, const struct ep_file *file,
		 void **ret_executable)
{
	static struct runtime runtime;
	struct ep_symbol symbol;

	plugin_state.probed++;
	if (host->file_symbol(file, "advice_test_runtime", &symbol) < 0)
		return EP_NOT_MINE;
	plugin_state.claimed++;
	runtime = (struct runtime){host, symbol.va};
	*ret_executable = &runtime;
	return plugin_state.probe_result;
}

static int count_mapping(void *arg, const struct ep_target_mapping *mapping)
{
	return ++*(int *)arg == 2;
}

static int attach(void *executable, struct ep_target *target, void **ret_instance)
{
	const struct runtime *runtime = executable;
	const struct ep_unwinder_host *host = runtime->host;
	struct ep_range range = {.start = 4096, .end = 8192};
	struct instance *instance = calloc(1, sizeof(*instance));
	int n = 0, r;

	instance->target = target;
	r = host->target_read(target, host->target_bias(target) + runtime->va, &instance->value,
			      sizeof(instance->value));
	if (r == 0)
		r = host->target_mappings(target, count_mapping, &n);
	assert_true(r < 0 || n == 2);
	assert_int_equal(host->set_state(target, &instance->value, 8), 0);
	assert_int_equal(host->set_ranges(target, &range, 1), 0);
	host->count(target, 0, 1);
	if (r == 0)
		r = plugin_state.attach_result;
	if (r != 0) {
		free(instance);
		return r;
	}
	plugin_state.attached++;
	*ret_instance = instance;
	return 0;
}

static int advise(void *arg, void (*say)(void *arg, const char *found, const char *fix),
		  void *say_arg)
{
	const struct instance *instance = arg;
	char text[32];

	if (plugin_state.is_silent || plugin_state.advise_result)
		return plugin_state.advise_result;
	snprintf(text, sizeof(text), "value %d", (int)instance->value);
	say(say_arg, text, "set it");
	say(say_arg, "another thing", "");
	say(say_arg, NULL, "nothing was found");
	return 0;
}

static int symbolize(void *instance, const struct ep_raw_frame *frame, struct ep_names *names)
{
	return EP_FRAME_GONE;
}

static void detach(void *instance)
{
	plugin_state.detached++;
	free(instance);
}

static void unload(void *executable)
{
	plugin_state.unloaded++;
}

static struct ep_unwinder_ops ops = {
	.size = sizeof(ops),
	.probe = probe,
	.attach = attach,
	.symbolize = symbolize,
	.detach = detach,
	.unload = unload,
	.advise = advise,
};

static const struct ep_plugin plugin = {
	.size = sizeof(plugin),
	.kind = EP_PLUGIN_UNWINDER,
	.name = "made_up",
	.unwinder = &ops,
};

static const struct ep_plugin exporter = {
	.size = sizeof(exporter),
	.kind = EP_PLUGIN_EXPORTER,
	.name = "another",
};

/* --- asking ---------------------------------------------------------------------------------- */

struct said {
	size_t n;
	struct {
		pid_t pid;
		int result;
		char text[64];
	} all[MAX_SAID];
};

static void say(void *arg, const struct ep_advice *advice)
{
	struct said *said = arg;

	assert_string_equal(advice->language, "made_up");
	assert_true(said->n < MAX_SAID);
	said->all[said->n].pid = advice->pid;
	said->all[said->n].result = advice->result;
	snprintf(said->all[said->n++].text, 64, "%s|%s", advice->found ? advice->found : "-",
		 advice->fix ? advice->fix : "-");
}

static struct ep_advice_stats ask(struct said *said, uint64_t max_ns)
{
	const struct ep_plugin *const plugins[] = {&exporter, &plugin};
	struct ep_advice_question question = {
		.plugins = plugins, .n = 2, .max_ns = max_ns, .say = say, .arg = said};
	struct ep_advice_stats stats = {0};

	assert_int_equal(ep_advice_ask(&question, &stats), 0);
	return stats;
}

/* How often it was reported of a process. */
static size_t count_said(const struct said *said, pid_t pid, int result, const char *text)
{
	size_t n = 0;

	for (size_t i = 0; i < said->n; i++)
		n += said->all[i].pid == pid && said->all[i].result == result &&
		     strcmp(said->all[i].text, text) == 0;
	return n;
}

static pid_t start_child(uint64_t value)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		advice_test_runtime = value;
		(void)!write(ready[1], "x", 1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static int setup(void **state)
{
	memset(&plugin_state, 0, sizeof(plugin_state));
	ops.size = sizeof(ops);
	return 0;
}

/* --- tests ----------------------------------------------------------------------------------- */

EP_TEST_WITH(each_process_is_asked_and_left, setup, NULL)
{
	struct said said = {0};
	pid_t child = start_child(42);
	struct ep_advice_stats stats = ask(&said, A_MINUTE);

	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_int_equal(count_said(&said, getpid(), 0, "value 1|set it"), 1);
	assert_int_equal(count_said(&said, child, 0, "value 42|set it"), 1);
	assert_int_equal(count_said(&said, child, 0, "another thing|-"), 1);
	assert_int_equal(said.n, 4);
	assert_int_equal(plugin_state.claimed, 1); /* one file, two processes */
	assert_int_equal(plugin_state.unloaded, 1);
	assert_int_equal(plugin_state.attached, 2);
	assert_int_equal(plugin_state.detached, 2);
	assert_false(stats.late);
	assert_true(stats.read >= 2 && stats.read + stats.closed <= stats.processes);
}

/* Where in the file some of this program's code is. */
static off_t find_file_off(uintptr_t code)
{
	char line[4352];
	FILE *maps = fopen("/proc/self/maps", "re");
	off_t found = -1;

	assert_non_null(maps);
	while (found < 0 && fgets(line, sizeof(line), maps)) {
		unsigned long start, end, off;

		if (sscanf(line, "%lx-%lx r-xp %lx", &start, &end, &off) == 3 && code >= start &&
		    code < end)
			found = (off_t)(off + (code - start));
	}
	fclose(maps);
	assert_true(found >= 0);
	return found;
}

/* A page of this program's code, n times more. Those are beside each other; how many there are. */
static size_t map_copies(uint8_t *at, size_t n)
{
	off_t off = find_file_off((uintptr_t)start_child & ~4095ul);
	ep_autoclose int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	size_t i = 0;

	assert_true(fd >= 0);
	while (i < n && mmap(at + i * 4096, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
			     off) != MAP_FAILED)
		i++;
	return i;
}

static void assert_asked_once_among(size_t n)
{
	uint8_t *at = mmap(NULL, n * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct said said = {0};

	assert_ptr_not_equal(at, MAP_FAILED);
	assert_true(map_copies(at, n) == n);
	(void)ask(&said, A_MINUTE);
	munmap(at, n * 4096);
	assert_int_equal(count_said(&said, getpid(), 0, "value 1|set it"), 1);
	for (size_t i = 0; i < said.n; i++)
		assert_int_equal(said.all[i].result, 0);
}

EP_TEST_WITH(a_copy_of_code_is_not_asked, setup, NULL)
{
	assert_asked_once_among(1);
}

static uint64_t user_cpu_ns(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
	return (uint64_t)usage.ru_utime.tv_sec * EP_NS_PER_SEC + (uint64_t)usage.ru_utime.tv_usec * 1000;
}

/*
 * Each against each takes 6 s of our own time, each once 0.4 s. What the kernel takes to say of each what it is, is no
 * part of that: it is more, and on a busy machine many times as much.
 */
EP_TEST_WITH(many_copies_cost_no_more_than_each_once, setup, NULL)
{
	uint64_t start_ns = user_cpu_ns();

	assert_asked_once_among(60000); /* vm.max_map_count is 65530 */
	assert_true(user_cpu_ns() - start_ns < 3 * EP_NS_PER_SEC);
}

EP_TEST_WITH(what_cannot_be_asked_is_told, setup, NULL)
{
	static const int results[] = {EP_NOT_YET, -ENOTSUP, -ESRCH, -EFAULT};

	for (size_t i = 0; i < EP_LEN(results); i++) {
		struct said said = {0};

		plugin_state.attach_result = results[i];
		ask(&said, A_MINUTE);
		assert_int_equal(said.n, 1);
		assert_int_equal(count_said(&said, getpid(), results[i], "-|-"), 1);
	}
	assert_int_equal(plugin_state.detached, 0);
	assert_int_equal(plugin_state.unloaded, EP_LEN(results));
}

EP_TEST_WITH(advise_may_fail_or_have_nothing_to_say, setup, NULL)
{
	struct said failed = {0}, silent = {0};

	plugin_state.advise_result = -EFAULT;
	ask(&failed, A_MINUTE);
	assert_int_equal(count_said(&failed, getpid(), -EFAULT, "-|-"), 1);
	plugin_state.advise_result = 0;
	plugin_state.is_silent = true;
	ask(&silent, A_MINUTE);
	assert_int_equal(count_said(&silent, getpid(), 0, "-|-"), 1);
	assert_int_equal(plugin_state.detached, 2);
}

EP_TEST_WITH(who_does_not_advise_is_not_asked, setup, NULL)
{
	struct said said = {0};
	struct ep_advice_stats stats;

	ops.size = offsetof(struct ep_unwinder_ops, advise); /* built before there was such a thing */
	stats = ask(&said, A_MINUTE);
	assert_int_equal(said.n, 0);
	assert_int_equal(plugin_state.probed, 0);
	assert_int_equal(stats.read, 0);
}

EP_TEST_WITH(of_what_is_only_code_nobody_is_asked, setup, NULL)
{
	struct said said = {0};

	plugin_state.probe_result = EP_CODE_ONLY;
	(void)ask(&said, A_MINUTE);
	assert_int_equal(said.n, 0);
	assert_int_equal(plugin_state.claimed, 1);
	assert_int_equal(plugin_state.attached, 0);
	assert_int_equal(plugin_state.unloaded, 1);
}

EP_TEST_WITH(time_is_bounded, setup, NULL)
{
	struct said said = {0};
	struct ep_advice_stats stats = ask(&said, 0);

	assert_true(stats.late);
	assert_int_equal(stats.read, 0);
	assert_int_equal(plugin_state.probed, 0);
}
