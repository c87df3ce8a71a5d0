/* SPDX-License-Identifier: Apache-2.0 */
/* When names are looked for, and what comes back after a failure: files and languages are ours. */
#include "core/agent/namer.h"
#include "core/plugin/job.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/process/executables.h"
#include "core/trace/frames.h"
#include "core/trace/kernel_code.h"
#include "tests/kit/test.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <uv.h>

#define SLOT	 2
#define LANGUAGE (EP_FRAME_FIRST_DYNAMIC + SLOT)
#define FILE_ID	 7
#define ADDRESS	 0xffffffff81000010ull
#define OLD	 1ull /* when a program started that is not recently started */
#define PROGRAMS 4

static struct {
	uv_loop_t loop;
	uv_timer_t timer; /* so that the loop comes back now and then */
	struct ep_namer *namer;
	struct ep_frames *frames;
	struct ep_kernel_code *code;
	struct ep_executable executable;
	char kallsyms[64];
	bool patient;
	uint64_t impatient_start_ns; /* of the program that does not wait */
	int result;	/* of ep_instance_symbolize */
	int n_asked;	/* calls of it */
	size_t n_frames; /* of the last one */
	/* Of the programs that started at 2, 3 ...: what each has spent; whether they have a budget; who was asked, in turn. */
	uint64_t spent_ns[PROGRAMS];
	bool are_exhausted;
	size_t order[PROGRAMS], n_order;
	int n_warnings;
	size_t name_jobs;
} world;

/* --- what the namer asks ------------------------------------------------------------------------ */

struct ep_executable *__wrap_ep_processes_executable(struct ep_processes *processes, uint32_t id)
{
	return id == FILE_ID ? &world.executable : NULL;
}

struct ep_instance *__wrap_ep_processes_language(struct ep_processes *processes,
						 struct ep_program program, uint32_t slot)
{
	size_t i = program.start_ns >= OLD && program.start_ns < OLD + PROGRAMS
			   ? (size_t)(program.start_ns - OLD)
			   : 0;

	assert_int_equal(slot, SLOT);
	return (struct ep_instance *)(void *)&world.spent_ns[i];
}

/* Code of an old program is in regions of 64 KiB. */
uint64_t __wrap_ep_processes_region(const struct ep_processes *processes, struct ep_program program, uint64_t addr)
{
	return program.start_ns == OLD ? addr & ~0xffffull : 0;
}

uint64_t __wrap_ep_instance_spent_ns(const struct ep_instance *instance)
{
	return *(const uint64_t *)(const void *)instance;
}

bool __wrap_ep_instance_has_budget(const struct ep_instance *instance)
{
	return !world.are_exhausted || *(const uint64_t *)(const void *)instance == 0;
}

int __wrap_ep_instance_symbolize(struct ep_instance *instance, struct ep_frames *frames,
				 const uint32_t *ids, size_t n)
{
	struct ep_frame_line line = {.function = "f"};

	if (!__wrap_ep_instance_has_budget(instance))
		return -EDQUOT;
	if (world.n_order < PROGRAMS)
		world.order[world.n_order++] = (size_t)((const uint64_t *)(const void *)instance - world.spent_ns);
	world.n_asked++;
	world.n_frames = n;
	for (size_t i = 0; world.result == 0 && i < n; i++)
		ep_frames_resolve(frames, ids[i], &line, 1, NULL);
	return world.result;
}

void __wrap_ep_log_write(enum ep_log_level level, const char *fmt, ...)
{
	world.n_warnings += level == EP_LOG_WARN && strstr(fmt, "kernel functions");
}

/* --- its world ---------------------------------------------------------------------------------- */

static void progress(void *arg)
{
	ep_namer_run(world.namer, world.frames, EP_NAMER_FREE);
}

static bool is_patient(void *arg, uint32_t slot, struct ep_program program)
{
	return slot == SLOT && world.patient && program.start_ns != world.impatient_start_ns;
}

static void on_timer(uv_timer_t *timer)
{
}

static void write_kallsyms(const char *text)
{
	FILE *file = fopen(world.kallsyms, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int set_up(void **state)
{
	struct ep_namer_options options = {
		.loop = &world.loop,
		.native = true,
		.kernel = true,
		.max_bytes = 1 << 20,
		.is_patient = is_patient,
		.progress = progress,
		.name_jobs = &world.name_jobs,
		.kallsyms = world.kallsyms,
		.kernel_code = NULL,
	};

	memset(&world, 0, sizeof(world));
	snprintf(world.kallsyms, sizeof(world.kallsyms), "/tmp/test_namer.%d", (int)getpid());
	write_kallsyms("ffffffff80000000 T first\nffffffff80001000 T last\n");
	world.executable = (struct ep_executable){.id = FILE_ID, .path = (char *)"/proc/self/exe"};
	world.executable.file.fd = -1;
	uv_loop_init(&world.loop);
	uv_timer_init(&world.loop, &world.timer);
	uv_timer_start(&world.timer, on_timer, 5, 5);
	assert_int_equal(ep_frames_new(10000, 1 << 16, 1 << 20, &world.frames), 0);
	assert_int_equal(ep_kernel_code_new(&world.code), 0);
	options.kernel_code = world.code;
	assert_int_equal(ep_namer_new(&options, &world.namer), 0);
	return 0;
}

static int tear_down(void **state)
{
	while (ep_namer_busy(world.namer) > 0)
		(void)uv_run(&world.loop, UV_RUN_ONCE);
	ep_namer_free(world.namer);
	ep_kernel_code_free(world.code);
	ep_frames_unref(world.frames);
	uv_close((uv_handle_t *)&world.timer, NULL);
	(void)uv_run(&world.loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&world.loop), 0);
	ep_closep(&world.executable.file.fd);
	unlink(world.kallsyms);
	return 0;
}

static uint32_t add_frame(uint32_t kind, uint32_t aux, uint64_t word, uint64_t start_ns)
{
	struct ep_program program = {.pid = 9, .image = 1, .start_ns = start_ns};
	uint32_t id = 0;

	assert_int_equal(ep_frames_add(world.frames, EP_FRAME_HEADER(kind, 0, 1, aux), &word, program,
				       &id), 0);
	return id;
}

/* As the agent does: it looks now and then. False: the frame has not all the names it will get. */
static bool run(uint32_t id, uint64_t ms, enum ep_namer_when when)
{
	uint64_t end_ns = ep_clock_mono_ns() + ms * EP_NS_PER_MS;

	do {
		ep_namer_run(world.namer, world.frames, when);
		if (ep_frames_state(world.frames, id) == EP_FRAME_RESOLVED)
			return true;
		(void)uv_run(&world.loop, UV_RUN_ONCE);
	} while (ep_clock_mono_ns() < end_ns);
	return false;
}

static bool has_name(uint32_t id)
{
	const struct ep_frame_name *names;
	uint32_t module;

	return ep_frames_names(world.frames, id, &names, &module) > 0;
}

/* --- programs that have spent more than their share --------------------------------------------- */

/* A frame of each program, the greediest first. */
static void add_frames_over_budget(uint32_t ids[PROGRAMS])
{
	for (size_t i = 0; i < PROGRAMS; i++) {
		world.spent_ns[i] = (PROGRAMS - 1 - i) * 1000;
		ids[i] = add_frame(LANGUAGE, 0, 1, OLD + i);
	}
}

EP_TEST_WITH(who_has_spent_least_is_asked_first, set_up, tear_down)
{
	uint32_t ids[PROGRAMS];

	add_frames_over_budget(ids);
	for (int i = 0; i < PROGRAMS; i++)
		ep_namer_run(world.namer, world.frames, EP_NAMER_FREE);
	assert_int_equal(world.n_order, PROGRAMS);
	assert_int_equal(world.order[0], PROGRAMS - 1); /* that one is within its budget */
	for (size_t i = 1; i < PROGRAMS; i++)
		assert_int_equal(world.order[i], PROGRAMS - 1 - i);
	assert_int_equal(ep_frames_unresolved(world.frames), 0);
}

EP_TEST_WITH(what_cannot_be_paid_is_given_up_when_nothing_else_is_left, set_up, tear_down)
{
	uint32_t ids[PROGRAMS], file;

	world.are_exhausted = true;
	add_frames_over_budget(ids);
	file = add_frame(EP_FRAME_NATIVE, FILE_ID, 1, 0);
	ep_namer_run(world.namer, world.frames, EP_NAMER_DUE);
	assert_int_equal(ep_frames_state(world.frames, ids[PROGRAMS - 1]), EP_FRAME_RESOLVED);
	ep_namer_give_up(world.namer, world.frames); /* the file is left */
	assert_int_equal(ep_frames_unresolved(world.frames), PROGRAMS);
	assert_true(run(file, 10000, EP_NAMER_ALL));
	assert_int_equal(ep_frames_unnamed(world.frames, ids[0]), EP_UNNAMED_PENDING);
	ep_namer_say_slow(world.namer, world.frames);
	assert_int_equal(ep_frames_unnamed(world.frames, ids[0]), EP_UNNAMED_SLOW);
	assert_int_equal(ep_frames_unresolved(world.frames), PROGRAMS - 1);
	ep_namer_give_up(world.namer, world.frames);
	assert_int_equal(ep_frames_unresolved(world.frames), 0);
	assert_int_equal(ep_frames_unnamed(world.frames, ids[0]), EP_UNNAMED_SLOW);
	assert_int_equal(ep_frames_unnamed(world.frames, ids[PROGRAMS - 1]), EP_UNNAMED_NONE);
}

EP_TEST_WITH(a_name_that_comes_late_is_a_name, set_up, tear_down)
{
	uint32_t ids[PROGRAMS];

	world.are_exhausted = true;
	add_frames_over_budget(ids);
	ep_namer_run(world.namer, world.frames, EP_NAMER_DUE);
	ep_namer_say_slow(world.namer, world.frames);
	world.are_exhausted = false;
	for (int i = 0; i < PROGRAMS; i++)
		ep_namer_run(world.namer, world.frames, EP_NAMER_FREE);
	assert_int_equal(ep_frames_unnamed(world.frames, ids[0]), EP_UNNAMED_NONE);
	assert_true(has_name(ids[0]));
}

/* --- the kernel --------------------------------------------------------------------------------- */

EP_TEST_WITH(frame_waits_for_a_picture_that_is_younger, set_up, tear_down)
{
	uint32_t known = add_frame(EP_FRAME_KERNEL, 0, 0xffffffff80000010ull, 0), id;

	assert_true(run(known, 1000, EP_NAMER_DUE));
	assert_true(has_name(known));
	/* A module comes, and is sampled. */
	write_kallsyms("ffffffff80000000 T first\nffffffff81000000 t fresh\t[module]\n"
		       "ffffffff81000100 t other\t[module]\n");
	id = add_frame(EP_FRAME_KERNEL, 0, ADDRESS, 0);
	assert_false(run(id, 100, EP_NAMER_DUE)); /* not all the time */
	assert_true(run(id, 3000, EP_NAMER_DUE));
	assert_true(has_name(id));
}

EP_TEST_WITH(frame_gives_up_on_a_picture_that_is_younger, set_up, tear_down)
{
	uint32_t id = add_frame(EP_FRAME_KERNEL, 0, ADDRESS, 0);

	assert_true(run(id, 5000, EP_NAMER_DUE));
	assert_false(has_name(id));
}

EP_TEST_WITH(symbols_that_cannot_be_read_are_told_once, set_up, tear_down)
{
	uint64_t end_ns = ep_clock_mono_ns() + 2500 * EP_NS_PER_MS;
	uint32_t id;

	write_kallsyms("0000000000000000 T first\n0000000000000000 T last\n");
	for (uint64_t word = ADDRESS; ep_clock_mono_ns() < end_ns; word++) {
		id = add_frame(EP_FRAME_KERNEL, 0, word, 0);
		run(id, 50, EP_NAMER_DUE);
		(void)uv_run(&world.loop, UV_RUN_ONCE);
	}
	assert_int_equal(world.n_warnings, 1);
	/* And nothing waits for them. */
	assert_true(run(add_frame(EP_FRAME_KERNEL, 0, 1, 0), 0, EP_NAMER_DUE));
}

/* Waits for the first snapshot, "first" and "last". All of it may be replaced. */
static void see_first_picture(void)
{
	assert_true(run(add_frame(EP_FRAME_KERNEL, 0, 0xffffffff80000010ull, 0), 10000, EP_NAMER_DUE));
	ep_kernel_code_set_own(world.code, 0, 0);
}

static void tell(uint64_t addr, const char *name, bool is_gone, uint64_t time_ns)
{
	const struct ep_kernel_change change = {
		.time_ns = time_ns, .addr = addr, .bytes = 0x40, .is_gone = is_gone, .name = name, .module = "bpf"};

	ep_kernel_code_change(world.code, &change);
}

static uint32_t add_kernel_frame(uint64_t addr, uint64_t time_ns)
{
	return add_frame(EP_FRAME_KERNEL, ep_kernel_code_at(world.code, addr, time_ns), addr, 0);
}

/* With its module; "" for none. */
static const char *name_of(uint32_t id)
{
	const struct ep_strings *strings = ep_frames_strings(world.frames);
	const struct ep_frame_name *names;
	static char text[64];
	uint32_t module;

	assert_int_equal(ep_frames_state(world.frames, id), EP_FRAME_RESOLVED);
	if (ep_frames_names(world.frames, id, &names, &module) == 0)
		return "";
	snprintf(text, sizeof(text), "%s %s", ep_strings_get(strings, names[0].function),
		 module ? ep_strings_get(strings, module) : "");
	return text;
}

EP_TEST_WITH(code_that_the_kernel_told_of_needs_no_picture, set_up, tear_down)
{
	uint32_t old, fresh;

	see_first_picture();
	/* The snapshot's "first" reaches there. */
	tell(0xffffffff80000800ull, "program", false, 100);
	old = add_kernel_frame(0xffffffff80000810ull, 99);
	fresh = add_kernel_frame(0xffffffff80000810ull, 100);
	assert_int_not_equal(old, fresh);
	assert_true(run(old, 0, EP_NAMER_DUE));
	assert_string_equal(name_of(old), "first ");
	assert_string_equal(name_of(fresh), "program bpf");
	/* Whether it was named before its end or after. */
	tell(0xffffffff80000800ull, "program", true, 200);
	fresh = add_kernel_frame(0xffffffff80000820ull, 150);
	assert_true(run(fresh, 0, EP_NAMER_DUE));
	assert_string_equal(name_of(fresh), "program bpf");
}

EP_TEST_WITH(what_came_after_code_that_is_gone_waits_for_a_younger_picture, set_up, tear_down)
{
	uint64_t end_ns;
	uint32_t id;

	see_first_picture();
	end_ns = ep_clock_mono_ns();
	tell(0xffffffff80000800ull, "first", true, end_ns);
	id = add_kernel_frame(0xffffffff80000810ull, end_ns + EP_NS_PER_SEC);
	write_kallsyms("ffffffff80000000 T first\nffffffff80000700 t second\t[module]\n"
		       "ffffffff80001000 T last\t[module]\n");
	ep_namer_run(world.namer, world.frames, EP_NAMER_DUE);
	assert_int_not_equal(ep_frames_state(world.frames, id), EP_FRAME_RESOLVED);
	assert_true(run(id, 10000, EP_NAMER_DUE));
	assert_string_equal(name_of(id), "second module");
}

/* Code that nobody tells of, as a filter of seccomp, lies after a program: snapshots do not say
 * where that ends. */
EP_TEST_WITH(a_program_does_not_name_what_lies_behind_it, set_up, tear_down)
{
	uint32_t id;

	tell(0xffffffff80000000ull, "first", false, 100);
	see_first_picture();
	id = add_kernel_frame(0xffffffff80000050ull, 200);
	assert_true(run(id, 10000, EP_NAMER_DUE));
	assert_string_equal(name_of(id), "");
}

EP_TEST_WITH(around_a_change_of_modules_both_pictures_must_agree, set_up, tear_down)
{
	static const struct {
		const char *label;
		uint64_t addr;
		const char *unsure, *sure;
	} rows[] = {
		{"stays", 0xffffffff80000810ull, "first ", "first "},
		{"is replaced", 0xffffffff80001010ull, "", "fresh module"},
		{"comes", 0xffffffff90000010ull, "another module", "another module"},
		{"goes", 0xffffffff7fff0010ull, "gone old", ""},
	};
	uint32_t unsure[EP_LEN(rows)], sure[EP_LEN(rows)];
	uint64_t now_ns;

	see_first_picture();
	write_kallsyms("ffffffff7fff0000 t gone\t[old]\nffffffff7fff1000 d data\t[old]\n"
		       "ffffffff80000000 T first\nffffffff80001000 T last\n");
	unsure[0] = add_frame(EP_FRAME_KERNEL, 0, 0xffffffff7fff0020ull, 0);
	assert_true(run(unsure[0], 10000, EP_NAMER_DUE)); /* of the second snapshot */
	assert_string_equal(name_of(unsure[0]), "gone old");
	write_kallsyms("ffffffff80000000 T first\nffffffff80001000 t fresh\t[module]\n"
		       "ffffffff90000000 t another\t[module]\n");
	now_ns = ep_clock_mono_ns();
	ep_kernel_code_doubt(world.code, now_ns - 10, now_ns);
	ep_kernel_code_set_own(world.code, 0, 0);
	for (size_t i = 0; i < EP_LEN(rows); i++) {
		unsure[i] = add_kernel_frame(rows[i].addr, now_ns - 5);
		sure[i] = add_kernel_frame(rows[i].addr, now_ns + 5);
	}
	for (size_t i = 0; i < EP_LEN(rows); i++) {
		assert_true(run(unsure[i], 10000, EP_NAMER_DUE) && run(sure[i], 10000, EP_NAMER_DUE));
		print_message("%s\n", rows[i].label);
		assert_string_equal(name_of(unsure[i]), rows[i].unsure);
		assert_string_equal(name_of(sure[i]), rows[i].sure);
	}
}

/* --- files -------------------------------------------------------------------------------------- */

EP_TEST_WITH(frame_of_a_file_comes_back_when_there_are_descriptors, set_up, tear_down)
{
	uint64_t va = (uint64_t)(uintptr_t)&set_up; /* whatever: named or not, it was looked up */
	struct rlimit before, none;
	uint64_t failed_ns;
	uint32_t id = add_frame(EP_FRAME_NATIVE, FILE_ID, va, 0);

	world.executable.file.fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	while (ep_namer_busy(world.namer) > 0)
		(void)uv_run(&world.loop, UV_RUN_ONCE);
	getrlimit(RLIMIT_NOFILE, &before);
	none = before;
	none.rlim_cur = 3;
	setrlimit(RLIMIT_NOFILE, &none);
	assert_false(run(id, 200, EP_NAMER_ALL));
	failed_ns = ep_clock_mono_ns();
	setrlimit(RLIMIT_NOFILE, &before);
	/* Not at once: within a second, if we are run for a part of it. */
	assert_true(!run(id, 200, EP_NAMER_ALL) || ep_clock_mono_ns() - failed_ns > EP_NS_PER_SEC / 2);
	assert_true(run(id, 60000, EP_NAMER_DUE));
}

extern const char __executable_start[];

/* Names of what is in the file now are not those of the code that was sampled. */
EP_TEST_WITH(file_that_was_written_names_nothing, set_up, tear_down)
{
	uint64_t va = (uint64_t)((uintptr_t)&set_up - (uintptr_t)__executable_start);
	uint32_t id = add_frame(EP_FRAME_NATIVE, FILE_ID, va, 0);

	assert_int_equal(ep_proc_open_path("/proc/self/exe", &world.executable.file), 0);
	assert_true(run(id, 3000, EP_NAMER_ALL));
	assert_true(has_name(id));
	world.executable.file.mtime_ns--; /* and its size is the same */
	world.executable.id = FILE_ID + 1; /* its symbols are not known yet */
	id = add_frame(EP_FRAME_NATIVE, FILE_ID, va + 1, 0);
	assert_true(run(id, 3000, EP_NAMER_ALL));
	assert_false(has_name(id));
}

EP_TEST_WITH(frames_of_a_file_wait_for_each_other, set_up, tear_down)
{
	uint32_t id = add_frame(EP_FRAME_NATIVE, FILE_ID, 1, 0);

	assert_false(run(id, 300, EP_NAMER_DUE));
	assert_true(run(id, 1000, EP_NAMER_ALL));
}

EP_TEST_WITH(frames_of_a_file_wait_for_a_worker, set_up, tear_down)
{
	uint32_t id = add_frame(EP_FRAME_NATIVE, FILE_ID, 1, 0);

	world.name_jobs = EP_MAX_NAME_JOBS; /* of languages */
	assert_false(run(id, 200, EP_NAMER_ALL));
	world.name_jobs = 0;
	assert_true(run(id, 2000, EP_NAMER_DUE));
	assert_int_equal(world.name_jobs, 0);
}

/* The jobs stand in line for a worker, and it needs nobody who gives them to it. */
EP_TEST_WITH(at_the_end_frames_do_not_wait_for_a_job_to_end, set_up, tear_down)
{
	uint32_t id = add_frame(EP_FRAME_NATIVE, FILE_ID, 1, 0);

	world.name_jobs = EP_MAX_NAME_JOBS; /* of languages */
	assert_false(run(id, 200, EP_NAMER_ALL));
	ep_namer_drain(world.namer);
	assert_true(run(id, 20000, EP_NAMER_DUE));
	assert_int_equal(world.name_jobs, EP_MAX_NAME_JOBS);
}

/* --- languages ---------------------------------------------------------------------------------- */

EP_TEST_WITH(names_of_a_young_program_may_wait_as_the_language_says, set_up, tear_down)
{
	world.patient = true;
	world.impatient_start_ns = OLD + 1;
	assert_true(run(add_frame(LANGUAGE, 0, 1, OLD + 1), 0, EP_NAMER_DUE));
	assert_false(run(add_frame(LANGUAGE, 0, 2, OLD), 50, EP_NAMER_DUE));
	assert_true(run(add_frame(LANGUAGE, 0, 3, OLD), 1000, EP_NAMER_DUE));
	world.patient = false;
	assert_true(run(add_frame(LANGUAGE, 0, 4, OLD), 0, EP_NAMER_DUE));
}

EP_TEST_WITH(names_that_stay_are_looked_for_together, set_up, tear_down)
{
	uint32_t first = add_frame(LANGUAGE, 0, 1, OLD), last = 0;

	world.patient = true;
	assert_false(run(first, 50, EP_NAMER_DUE));
	for (uint64_t word = 2; word <= 20; word++)
		last = add_frame(LANGUAGE, 0, word, OLD);
	assert_int_equal(world.n_asked, 0);
	assert_true(run(last, 1000, EP_NAMER_DUE));
	assert_int_equal(world.n_asked, 1);
	assert_int_equal(world.n_frames, 20);
	/* A batch does not wait. */
	assert_true(run(add_frame(LANGUAGE, 0, 21, OLD), 0, EP_NAMER_ALL));
}

/* Its own frames alone. */
EP_TEST_WITH(names_of_a_runtime_that_is_left_do_not_wait, set_up, tear_down)
{
	uint32_t mine = add_frame(LANGUAGE, 0, 1, OLD), other = add_frame(LANGUAGE, 0, 1, OLD + 1);
	struct ep_frame frame;

	world.patient = true;
	assert_false(run(mine, 50, EP_NAMER_DUE));
	ep_frames_get(world.frames, mine, &frame);
	ep_namer_name_program(world.namer, world.frames, frame.program, SLOT + 1);
	assert_int_equal(world.n_asked, 0);
	ep_namer_name_program(world.namer, world.frames, frame.program, SLOT);
	assert_int_equal(world.n_asked, 1);
	assert_int_equal(world.n_frames, 1);
	assert_true(has_name(mine));
	assert_false(has_name(other));
}

EP_TEST_WITH(frame_of_a_language_comes_back_when_there_is_memory, set_up, tear_down)
{
	uint32_t id = add_frame(LANGUAGE, 0, 1, OLD);

	world.result = -ENOMEM;
	assert_false(run(id, 300, EP_NAMER_ALL));
	assert_int_equal(world.n_asked, 1);
	world.result = 0;
	assert_true(run(id, 2000, EP_NAMER_DUE));
	assert_int_equal(world.n_asked, 2);
	assert_true(has_name(id));
}

/* A caller's last byte is looked for, not the address that is returned to. */
EP_TEST_WITH(code_of_no_file_is_one_function_for_each_region, set_up, tear_down)
{
	static const struct {
		uint64_t address, start_ns, region;
		uint32_t flags;
	} rows[] = {
		{0x7f0000011234, OLD, 0x7f0000010000, 0},
		{0x7f0000015678, OLD, 0x7f0000010000, 0},
		{0x7f0000020000, OLD, 0x7f0000020000, 0},
		{0x7f0000020000, OLD, 0x7f0000010000, EP_FRAME_RETURN_ADDRESS},
		{0x7f0000011234, OLD + 1, 0, 0}, /* nobody knows its mappings */
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		const struct ep_frame_name *names;
		struct ep_program program = {.start_ns = rows[i].start_ns, .pid = 7};
		uint32_t id, module;
		size_t n;

		assert_int_equal(ep_frames_add(world.frames, EP_FRAME_HEADER(EP_FRAME_NATIVE, rows[i].flags, 1, 0),
					       &rows[i].address, program, &id), 0);
		ep_namer_run(world.namer, world.frames, EP_NAMER_DUE);
		assert_int_equal(ep_frames_state(world.frames, id), EP_FRAME_RESOLVED);
		assert_int_equal(ep_frames_unnamed(world.frames, id), EP_UNNAMED_NO_FILE);
		n = ep_frames_names(world.frames, id, &names, &module);
		assert_int_equal(n, rows[i].region ? 1 : 0);
		assert_true(n == 0 || (names[0].start_va == rows[i].region && !names[0].function));
	}
}

EP_TEST_WITH(frames_that_nobody_can_name_say_why, set_up, tear_down)
{
	static const struct {
		int result;
		enum ep_unnamed why;
	} rows[] = {
		{0, EP_UNNAMED_NONE},
		{-ESRCH, EP_UNNAMED_GONE},
		{-ENODATA, EP_UNNAMED_NOT_ATTACHED},
		{-EINVAL, EP_UNNAMED_UNREADABLE},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		uint32_t id = add_frame(LANGUAGE, 0, 0x1000 + i, OLD);

		world.result = rows[i].result;
		(void)run(id, 300, EP_NAMER_ALL);
		assert_int_equal(ep_frames_state(world.frames, id), EP_FRAME_RESOLVED);
		assert_int_equal(ep_frames_unnamed(world.frames, id), rows[i].why);
	}
}

EP_TEST_WITH(frames_wait_while_their_language_attaches, set_up, tear_down)
{
	uint32_t id = 0;

	world.result = -EBUSY;
	for (uint64_t word = 1; word <= 4000; word++)
		id = add_frame(LANGUAGE, 0, word, OLD);
	assert_false(run(id, 600, EP_NAMER_DUE));
	/* Less and less often, however many they are. */
	assert_in_range(world.n_asked, 3, 40);
	world.result = 0;
	assert_true(run(id, 50, EP_NAMER_FREE));
	assert_int_equal(world.n_frames, 4000);
}

EP_TEST_WITH(table_that_nobody_wants_goes, set_up, tear_down)
{
	struct ep_frames *old = world.frames;

	world.result = -EBUSY;
	add_frame(LANGUAGE, 0, 1, OLD);
	ep_namer_run(world.namer, old, EP_NAMER_DUE);
	assert_true(ep_frames_is_shared(old));
	ep_namer_sweep(world.namer);
	assert_true(ep_frames_is_shared(old));
	assert_int_equal(ep_frames_new(1000, 1 << 16, 1 << 20, &world.frames), 0);
	ep_frames_unref(old);
	ep_namer_sweep(world.namer); /* sanitizers tell */
}
