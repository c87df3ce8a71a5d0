/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plugin beside CPython itself: it probes and attaches to a process that runs live.py, and
 * names frames of it.
 *
 *	live.py | test_python_live
 *
 * First of some thousand code objects: their names and lines must be those that live.py says. Then
 * of code objects that come and go while they are named: function f_N on line N of N.py, at the
 * same addresses over and over. A name that comes out must fit together, and be that of the object
 * whose check was taken; everything else must be reported to be gone. run_live.py does this with
 * the interpreters of this machine.
 */
#include "core/base/clock.h"
#include "core/base/map.h"
#include "plugins/python/tests/unit/live.h"
#include "plugins/shared/attach/attach.h"

#define MAX_SHOWN 10 /* differences printed of one interpreter */
#define ARM_TRIES 200
#define RUN_NS	  (600 * EP_NS_PER_MS)
#define SLOW_NS	  (15 * EP_NS_PER_SEC) /* on a busy machine, where nothing came or went yet */
#define LATER	  4096 /* frames are named when so many others have been taken: some 10 ms */

struct test {
	struct live live;
	void *instance;
	uint64_t table_addr, n_rows; /* of code that comes and goes: address and N */
	uint64_t n_code, n_points, n_named, n_gone, n_wrong;
};

/* --- a process -------------------------------------------------------------------------------- */

/* Each path leads to the state of the main thread, which runs: by a variable only while it holds
 * the GIL. */
static bool check_paths(struct test *t)
{
	const struct py_state *state = &t->live.state;
	struct fake_host *host = &t->live.host;
	struct user_regs_struct regs;
	bool right = true;
	uint64_t thread;

	if (!process_registers(host->target.pid, &regs))
		return true; /* where ptrace is not allowed */
	for (uint32_t i = 0; i < PY_TLS_PATHS && state->paths[i].steps; i++) {
		thread = fake_host_read_tls(host, &state->paths[i], regs.fs_base);
		right &= expect(thread ? fake_host_word(host, thread + state->thread_id) ==
						 regs.fs_base
				       : t->live.exe->variables[i].kind,
				"a path leads to the thread's state");
	}
	return right;
}

/* All that there is to know of a process that has started is found, and holds. */
static bool check_process(struct test *t)
{
	const struct py_executable *exe = t->live.exe;
	uint64_t bytes = 0;
	int r = EP_NOT_YET;

	for (int i = 0; i < ARM_TRIES && r == EP_NOT_YET; i++) {
		fake_host_end_job(&t->live.host);
		r = t->instance ? attach_arm(t->instance)
				: py_attach(t->live.exe, &t->live.host.target, &t->instance);
		r = r == 0 && i == 0 ? EP_NOT_YET : r;
		usleep(5000);
	}
	for (uint32_t i = 0; i < exe->n_code; i++)
		bytes += exe->code[i].bytes;
	return expect(r == 0, "the process is attached to, and complete") &
	       expect(bytes > 20000, "the evaluation loop") &
	       expect(exe->type_type_va, "the type of types") &
	       expect(exe->debug_offsets == (exe->layout.version >= PY_VERSION(3, 13)),
		      "_Py_DebugOffsets") &
	       expect(t->live.state.holder_addr || t->live.state.paths[0].steps,
		      "the way to a thread's state") &
	       check_paths(t) & expect(t->live.host.n_warnings == 0, t->live.host.logged);
}

static int name_frame(struct test *t, uint64_t code, uint32_t check, int64_t instruction)
{
	const struct ep_raw_frame frame = {
		.aux = check, .n_words = 2, .words = {code, (uint64_t)instruction}};

	t->live.host.function[0] = t->live.host.file_name[0] = '\0';
	return py_symbolize(t->instance, &frame, &t->live.host.names);
}

/* --- code that stays -------------------------------------------------------------------------- */

static void unhex(const char *hex, char *text, size_t size)
{
	size_t n = 0;
	unsigned int byte;

	while (*hex != '-' && n + 1 < size && sscanf(hex + 2 * n, "%2x", &byte) == 1)
		text[n++] = (char)byte;
	text[n] = '\0';
}

/* off:line,off:line,... */
static void compare_points(struct test *t, uint64_t code, uint32_t first, const char *function,
			   const char *file, char *points)
{
	const struct fake_host *host = &t->live.host;
	uint32_t check = 0;
	int r;

	for (; live_check(&t->live, code, &check) && *points; points += *points == ',') {
		int64_t off = strtol(points, &points, 10);
		uint32_t line = *points ? (uint32_t)strtoul(points + 1, &points, 10) : 0;

		r = name_frame(t, code, check, off);
		t->n_points++;
		if (r == 0 && host->line == line && host->start_line == first &&
		    strcmp(host->function, function) == 0 && strcmp(host->file_name, file) == 0)
			continue;
		if (t->n_wrong++ < MAX_SHOWN)
			printf("    %s (%s, line %u) at %d: line %u\n"
			       "    got %d: %s (%s, line %u): line %u\n",
			       function, file, first, (int)off, line, r, host->function,
			       host->file_name, host->start_line, host->line);
	}
	t->n_wrong += *points != '\0';
}

/* code ADDRESS FIRST-LINE NAME FILE POINTS */
static void compare_line(struct test *t, char *line)
{
	char function[1024], file[2048], *words[5], *save;

	for (size_t i = 0; i < EP_LEN(words); i++) {
		words[i] = strtok_r(i ? NULL : line + strlen("code"), " \n", &save);
		if (!words[i]) {
			t->n_wrong++;
			return;
		}
	}
	unhex(words[2], function, sizeof(function));
	unhex(words[3], file, sizeof(file));
	compare_points(t, strtoull(words[0], NULL, 10), (uint32_t)strtoul(words[1], NULL, 10),
		       function, file, words[4]);
	t->n_code++;
}

/* --- code that comes and goes ----------------------------------------------------------------- */

struct frame {
	uint64_t code;
	uint32_t check, n;
};

/* False when there is none, or it went while it was taken. */
static bool take_frame(struct test *t, uint64_t row, struct frame *ret)
{
	uint64_t at = t->table_addr + row * 16;

	ret->code = fake_host_word(&t->live.host, at);
	ret->n = (uint32_t)fake_host_word(&t->live.host, at + 8);
	return ret->code && live_check(&t->live, ret->code, &ret->check) &&
	       fake_host_word(&t->live.host, at) == ret->code &&
	       fake_host_word(&t->live.host, at + 8) == ret->n;
}

static void check_frame(struct test *t, const struct frame *frame)
{
	int r = name_frame(t, frame->code, frame->check, 0);
	char function[32], file[32];

	if (r == EP_FRAME_GONE) {
		t->n_gone++;
		return;
	}
	snprintf(function, sizeof(function), "f_%u", frame->n);
	snprintf(file, sizeof(file), "%u.py", frame->n);
	t->n_named++;
	if (r == 0 && t->live.host.start_line == frame->n &&
	    strcmp(t->live.host.function, function) == 0 &&
	    strcmp(t->live.host.file_name, file) == 0)
		return;
	if (t->n_wrong++ < MAX_SHOWN)
		printf("    %s in %s for %s: %d\n", t->live.host.function, t->live.host.file_name,
		       function, r);
}

/* What it remembers would be right without being read. */
static bool attach_anew(struct test *t)
{
	py_detach(t->instance);
	t->instance = NULL;
	fake_host_end_job(&t->live.host);
	return expect(py_attach(t->live.exe, &t->live.host.target, &t->instance) == 0 &&
			      attach_arm(t->instance) >= 0,
		      "attach again");
}

static bool churn(struct test *t)
{
	uint64_t start_ns = ep_clock_mono_ns(), n_frames = 0, n_tried = 0;
	static struct frame frames[LATER];

	while (ep_clock_mono_ns() - start_ns < (t->n_named && t->n_gone ? RUN_NS : SLOW_NS)) {
		struct frame frame;

		if (n_tried % 4096 == 0 && !attach_anew(t))
			return false;
		if (!take_frame(t, ep_mix64(n_tried++) % t->n_rows, &frame))
			continue;
		if (n_frames % 2) /* at once */
			check_frame(t, &frame);
		if (n_frames >= LATER)
			check_frame(t, &frames[n_frames % LATER]);
		frames[n_frames++ % LATER] = frame;
	}
	return expect(t->n_named && t->n_gone, "code that is named, and code that is gone");
}

/* --- all of it -------------------------------------------------------------------------------- */

/* Everything is read first: from "table" on what is to be compared stays. */
static char **read_lines(struct test *t)
{
	size_t n = 0, cap = 0, size = 0;
	char **lines = NULL, *line = NULL;

	while (!t->n_rows && getline(&line, &size, stdin) > 0) {
		if (sscanf(line, "table %" SCNu64 " %" SCNu64, &t->table_addr, &t->n_rows) == 2)
			break;
		if (n + 1 >= cap) {
			cap = cap ? 2 * cap : 4096;
			lines = realloc(lines, cap * sizeof(*lines));
			if (!lines)
				abort();
		}
		lines[n++] = line;
		lines[n] = line = NULL;
		size = 0;
	}
	free(line);
	return lines;
}

int main(void)
{
	static struct test t;
	bool right;
	int pid = 0;
	char **lines;

	/* Of a program that cannot run the script there is nothing to say. */
	if (scanf("python %d\n", &pid) != 1)
		return 77;
	lines = read_lines(&t);
	right = expect(t.n_rows > 0, "what the script says") &&
		expect(live_begin(&t.live, pid), "its file") && check_process(&t);
	for (size_t i = 0; lines && lines[i]; i++) {
		if (right)
			compare_line(&t, lines[i]);
		free(lines[i]);
	}
	free(lines);
	right = right && churn(&t) && expect(t.n_code >= 1000, "code objects") &&
		expect(!t.n_wrong, "names and lines");
	printf("  %" PRIu64 " code objects, %" PRIu64 " instructions; %" PRIu64 " named, %" PRIu64
	       " gone; %" PRIu64 " wrong\n",
	       t.n_code, t.n_points, t.n_named, t.n_gone, t.n_wrong);
	if (t.instance)
		py_detach(t.instance);
	live_end(&t.live);
	return right ? 0 : 1;
}
