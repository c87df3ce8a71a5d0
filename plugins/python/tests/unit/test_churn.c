/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code objects that come and go while they are named: churn.py puts function f_N on line N
 * of N.py, at the same addresses over and over. A name that comes out must fit together, and be that
 * of the object whose check was taken; everything else must be said to be gone.
 *
 *	test_python_churn SCRIPT [INTERPRETER...]
 */
#include "core/base/clock.h"
#include "core/base/map.h"
#include "plugins/python/tests/unit/child.h"

#define RUN_NS (600 * EP_NS_PER_MS)
#define SLOW_NS (15 * EP_NS_PER_SEC) /* on a machine so busy that nothing came or went until then */
#define LATER  4096 /* frames are named when so many others have been taken: some 10 ms */

struct frame {
	uint64_t addr;
	uint32_t check;
	uint32_t n;
};

struct churn {
	struct session session; /* the first: functions get its address */
	uint64_t table_addr, n_rows;
	uint64_t n_named, n_gone, n_wrong;
};

static int read_table(struct churn *churn, FILE *out)
{
	char line[64];

	if (!fgets(line, sizeof(line), out) ||
	    sscanf(line, "table %" SCNu64 " %" SCNu64, &churn->table_addr, &churn->n_rows) != 2)
		return -ENODATA;
	return churn->n_rows ? 0 : -ENODATA;
}

/* As the BPF program does. False when there is none, or it went while it was taken. */
static bool take_frame(struct churn *churn, uint64_t row, struct frame *ret)
{
	const struct ep_target *target = &churn->session.target;
	const struct py_code_layout *layout = &churn->session.layout;
	uint64_t at = churn->table_addr + row * 16, before[2], after[2];
	__u64 words[PY_CHECK_WORDS];

	if (target_read(target, at, before, sizeof(before)) < 0 || !before[0] ||
	    target_read(target, before[0] + layout->check_off, words, sizeof(words)) < 0 ||
	    target_read(target, at, after, sizeof(after)) < 0 ||
	    memcmp(before, after, sizeof(before)) != 0)
		return false;
	*ret = (struct frame){
		.addr = before[0],
		.n = (uint32_t)before[1],
		.check = py_code_check(words, layout->check_mask),
	};
	return true;
}

static void name_frame(struct churn *churn, const struct frame *frame)
{
	const struct session *of = &churn->session;
	static struct ep_names names;
	char function[32], file[32];
	int r;

	r = py_code_symbolize(of->cache, &test_host, &of->target, &of->layout, frame->addr,
			      frame->check, 0, &names);
	if (r == EP_FRAME_GONE) {
		churn->n_gone++;
		return;
	}
	snprintf(function, sizeof(function), "f_%u", frame->n);
	snprintf(file, sizeof(file), "%u.py", frame->n);
	churn->n_named++;
	if (r == 0 && names.start_line == frame->n && strcmp(names.function, function) == 0 &&
	    strcmp(names.file, file) == 0)
		return;
	if (churn->n_wrong++ < 5)
		printf("    %s in %s for %s: %d\n", names.function, names.file, function, r);
}

/* The cache is emptied now and then: what it knows would be right without being read. */
static int churn_for_a_while(struct session *session, FILE *out)
{
	struct churn *churn = (struct churn *)session;
	uint64_t start_ns = ep_clock_mono_ns(), n_frames = 0, n_tried = 0;
	static struct frame frames[LATER];
	int r = read_table(churn, out);

	if (r < 0)
		return r;
	for (;;) {
		uint64_t since_ns = ep_clock_mono_ns() - start_ns;
		bool has_both = churn->n_named && churn->n_gone;
		uint64_t row = ep_mix64(n_tried++) % churn->n_rows;
		struct frame frame;

		if (since_ns >= (has_both ? RUN_NS : SLOW_NS))
			return 0;
		if (n_tried % 1024 == 1) {
			names_cache_free(churn->session.cache);
			churn->session.cache = NULL;
			if (py_code_cache_new(&churn->session.cache) < 0)
				return -ENOMEM;
		}
		if (!take_frame(churn, row, &frame))
			continue;
		if (n_frames % 2) /* at once */
			name_frame(churn, &frame);
		if (n_frames >= LATER)
			name_frame(churn, &frames[n_frames % LATER]);
		frames[n_frames++ % LATER] = frame;
	}
}

static int test_interpreter(const char *path, const char *script, unsigned int *ret_minor)
{
	struct churn churn = {0};
	int r = run_session(path, script, &churn.session, churn_for_a_while);

	names_cache_free(churn.session.cache);
	*ret_minor = churn.session.python.minor;
	if (r == 0 && (churn.n_wrong || !churn.n_named || !churn.n_gone))
		r = -EBADMSG;
	if (r == CANNOT_RUN)
		printf("  SKIPPED: %s cannot run the script\n", path);
	else if (r != SEEN)
		printf("  %s: %" PRIu64 " named, %" PRIu64 " wrong, %" PRIu64 " gone%s\n", path,
		       churn.n_named, churn.n_wrong, churn.n_gone, r < 0 ? ": failed" : "");
	return r;
}

int main(int argc, char **argv)
{
	return test_interpreters(argc, argv, test_interpreter);
}
