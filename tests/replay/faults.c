/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that cannot be read, one piece after the other: each read of a run from attach to the last
 * name fails once, then each page of the fixture is taken away (of very many reads or pages each
 * second, third, .., and of these the caller may want a part); from each read of those that name
 * frames on the process says something else; at last attaching fails when all has been reported.
 * What must hold of every stack:
 *
 * 1. Its native frames are the first ones of the stack without faults, unless no frame of a
 * language is left: what it hides of its runtime is there then. Where a language takes frames back
 * that it has led through, an incomplete stack may end in these. After a read that failed only
 * frames found by frame pointer may differ, and they are marked. (A frame that a language marks
 * says less than one it does not: where attaching failed they are equal but for that. Code in no
 * file that its language could not unwind is one more frame.)
 * 2. Fewer of them: the sample says that it is incomplete.
 * 3. The frames of a language are among those of the stack without faults, in that order; of one
 *    that could not be read whole only the address it begins with, of what it runs, or there is one
 *    that has one word, where it runs, and so says nothing of it. Fewer of
 *    them: the sample says that it is incomplete, or one of them has another flag: its language
 *    says that it is not sure what is after it; none at all: native frames stand there.
 * 4. What is printed of a language's frame is a line of the stack without faults, or has a "?", or
 *    it is such a line with another place, and a mark says so: "[...]" after its system name; or
 *    such a line without its place, or without the class before the function's name: where
 * that cannot be read a name is better than none.
 * 5. There is no frame of a language whose attach did not return 0, whatever it reported before;
 * nor of
 *    one whose refresh says that its layout is not known or its process is gone: it is detached.
 */
#include "tests/replay/replay.h"
#include "core/replay/replay_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_TEXT_BYTES	(16u << 20)
#define MAX_EVENT_BYTES (sizeof(struct ep_sample) + EP_RECORD_WORDS * 8)
#define MAX_COMPLAINTS	20
#define PAGE_BYTES	4096u
#define MAX_READS	1000
#define MAX_PAGES	400
#define ADDRESS_MASK	((1ull << 48) - 1)

struct faults {
	const struct replay *replay;
	const char *path;
	unsigned int every; /* of the faults only each such one */
	struct ep_vec *events; /* without faults: one for each thread */
	struct ep_vec *seen;   /* the same before frames were taken back */
	struct ep_vec *seeing; /* of these, while a stack is walked without faults */
	struct ep_vec text;
	struct ep_vec event, faulty_text;
	char what[64]; /* the fault in hand */
	unsigned int complaints;
};

static void complain(struct faults *f, uint32_t tid, const char *why)
{
	if (f->complaints++ < MAX_COMPLAINTS)
		fprintf(stderr, "%s: %s: thread %u: %s\n", f->path, f->what, tid, why);
}

static uint32_t tid_of(const struct faults *f, size_t i)
{
	return ep_vec_at(&f->replay->fixture->threads, struct ep_replay_thread, i)->tid;
}

/* --- frames of an event ---------------------------------------------------------------------- */

static const struct ep_sample *sample_of(const struct ep_vec *event)
{
	return event->data;
}

/* The next frame from *at on that is native (or that is a language's); NULL: none. */
static const uint64_t *next_frame(const struct ep_vec *event, bool native, uint32_t *at)
{
	const uint64_t *words = (const uint64_t *)(sample_of(event) + 1) + sample_of(event)->n_kernel;

	while (*at < sample_of(event)->n_words) {
		const uint64_t *frame = words + *at;
		uint32_t kind = EP_FRAME_KIND(*frame);

		*at += 1 + EP_FRAME_WORDS(*frame);
		if (native ? kind == EP_FRAME_NATIVE : kind >= EP_FRAME_FIRST_DYNAMIC)
			return frame;
	}
	return NULL;
}

static uint32_t marker_of(const uint64_t *frame)
{
	return EP_FRAME_FLAGS(*frame) >> EP_FRAME_SLOT_SHIFT;
}

static bool is_same_native(const uint64_t *a, const uint64_t *b)
{
	if (EP_FRAME_AUX(*a) != EP_FRAME_AUX(*b))
		return false;
	if (marker_of(a) != marker_of(b))
		return true; /* one of them does not say more */
	/* What is a signal trampoline is seen by reading its code. */
	return ((*a ^ *b) & ~((uint64_t)EP_FRAME_SIGNAL << 8)) == 0 && a[1] == b[1];
}

/* The first word begins with an address; what else is in it may be unknown in one of them. */
static bool is_same_language(const uint64_t *a, const uint64_t *b)
{
	if (EP_FRAME_WORDS(*a) == 0)
		return *a == *b;
	if (EP_FRAME_KIND(*a) != EP_FRAME_KIND(*b))
		return false;
	return ((a[1] ^ b[1]) & ADDRESS_MASK) == 0;
}

/* --- checks ---------------------------------------------------------------------------------- */

static uint32_t count_language(const struct ep_vec *event)
{
	uint32_t at = 0, n = 0;

	while (next_frame(event, false, &at))
		n++;
	return n;
}

/* What is wrong, or NULL. */
static const char *check_native(const struct faults *f, const struct ep_vec *whole)
{
	uint32_t at = 0, whole_at = 0;
	const uint64_t *frame, *wanted;

	/* A language may take frames away that its runtime's rules lead through. */
	if (count_language(&f->event) == 0 && count_language(whole) > 0)
		return NULL;
	for (;;) {
		wanted = next_frame(whole, true, &whole_at);
		/* Code of a JIT that its language could not unwind is shown by its address. */
		do {
			frame = next_frame(&f->event, true, &at);
		} while (frame && EP_FRAME_AUX(*frame) == 0 &&
			 !(wanted && is_same_native(frame, wanted)));
		if (!frame || (EP_FRAME_FLAGS(*frame) & EP_FRAME_POINTER_WALK))
			break;
		if (!wanted || !is_same_native(frame, wanted))
			return "a native frame that is not there without the fault";
	}
	return !frame && wanted && !sample_of(&f->event)->error
		       ? "native frames are missing, and nothing says so"
		       : NULL;
}

static const char *check_language(const struct faults *f, const struct ep_vec *whole)
{
	uint32_t at = 0, whole_at = 0, n, more = 0;
	const uint64_t *frame, *wanted;
	bool is_flagged = false;

	while ((frame = next_frame(&f->event, false, &at)) != NULL) {
		uint32_t before = whole_at;

		do {
			wanted = next_frame(whole, false, &whole_at);
		} while (wanted && !is_same_language(frame, wanted));
		if (!wanted && EP_FRAME_WORDS(*frame) == 1) {
			whole_at = before;
			is_flagged = true;
			more++;
			continue;
		}
		if (!wanted)
			return "a language's frame that is not there without the fault";
		is_flagged |= EP_FRAME_FLAGS(*frame) != EP_FRAME_FLAGS(*wanted);
	}
	n = count_language(&f->event) - more;
	return n > 0 && !is_flagged && n < count_language(whole) && !sample_of(&f->event)->error
		       ? "a language's frames are missing, and nothing says so"
		       : NULL;
}

static void check_stack(struct faults *f, size_t i)
{
	const char *(*const checks[])(const struct faults *f,
				      const struct ep_vec *whole) = {check_native, check_language};
	bool may_be_seen = sample_of(&f->event)->error && f->seen[i].len > 0;

	for (size_t c = 0; c < EP_LEN(checks); c++) {
		const char *why = checks[c](f, &f->events[i]);

		if (why && may_be_seen)
			why = checks[c](f, &f->seen[i]);
		if (why)
			complain(f, tid_of(f, i), why);
	}
}

static void check_text(struct faults *f)
{
	const char *at = f->faulty_text.data, *end = at + f->faulty_text.len;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((newline ? newline : end) - at);

		if (!replay_is_line_of(&f->text, at, n)) {
			complain(f, 0, "a line that is not there without the fault:");
			fprintf(stderr, "\t%.*s\n", (int)n, at);
		}
		at += n + 1;
	}
}

/* --- runs ------------------------------------------------------------------------------------ */

/* The fault is set. */
static void try_fault(struct faults *f)
{
	struct ep_replay *replay = f->replay->replay;

	if (ep_replay_attach(replay) < 0)
		complain(f, 0, "cannot be attached");
	for (size_t i = 0; i < f->replay->fixture->threads.len; i++) {
		int r = ep_replay_walk(replay, i, &f->event);

		if (r < 0) {
			complain(f, tid_of(f, i), strerror(-r));
			continue;
		}
		check_stack(f, i);
	}
	if (ep_replay_print(replay, &f->faulty_text) < 0)
		complain(f, 0, "cannot be printed");
	else
		check_text(f);
}

/* Does a record still have all frames of an event? */
static bool has_all(const struct ep_record *rec, const struct ep_vec *event)
{
	const struct ep_sample *sample = sample_of(event);

	return rec->sample.n_words >= sample->n_words &&
	       memcmp(rec->words + sample->n_kernel,
		      (const uint64_t *)(sample + 1) + sample->n_kernel, 8 * sample->n_words) == 0;
}

/* An event is a record's first bytes. What was taken back is kept, once. */
static void see_record(void *arg)
{
	struct faults *f = arg;
	const struct ep_record *rec = ep_kernel_entry(f->replay->replay->kernel, "ep_records", 0);
	struct ep_vec *seen = f->seeing;

	if (seen->len > 0 && !has_all(rec, seen)) {
		ep_kernel_on_tail_call(f->replay->replay->kernel, NULL, NULL);
		return;
	}
	seen->len = 0;
	if (ep_vec_append(seen, rec,
			  sizeof(rec->sample) + 8 * (rec->sample.n_kernel + rec->sample.n_words)) <
	    0)
		seen->len = 0;
}

/* The run that faults are put into; *ret_reads are its reads. */
static int run_without(struct faults *f, uint64_t *ret_reads)
{
	struct ep_replay *replay = f->replay->replay;
	int r = ep_replay_attach(replay);

	for (size_t i = 0; r == 0 && i < f->replay->fixture->threads.len; i++) {
		ep_vec_init(&f->events[i], 1, MAX_EVENT_BYTES);
		ep_vec_init(&f->seen[i], 1, MAX_EVENT_BYTES);
		f->seeing = &f->seen[i];
		ep_kernel_on_tail_call(replay->kernel, see_record, f);
		r = ep_replay_walk(replay, i, &f->events[i]);
		ep_kernel_on_tail_call(replay->kernel, NULL, NULL);
	}
	if (r == 0)
		r = ep_replay_print(replay, &f->text);
	*ret_reads = ep_replay_faults(replay)->reads;
	return r;
}

static void try_reads(struct faults *f, uint64_t reads)
{
	for (uint64_t n = 1; n <= reads; n += (1 + reads / MAX_READS) * f->every) {
		snprintf(f->what, sizeof(f->what), "read %" PRIu64 " of %" PRIu64, n, reads);
		ep_replay_faults(f->replay->replay)->fail_read = n;
		try_fault(f);
	}
	ep_replay_faults(f->replay->replay)->fail_read = 0;
}

/* As of a process that goes on while its frames are named: what was read in part is not shown. */
static void try_changes(struct faults *f, uint64_t reads)
{
	for (uint64_t n = 1; n <= reads; n += (1 + reads / MAX_READS) * f->every) {
		snprintf(f->what, sizeof(f->what), "change before read %" PRIu64 " of %" PRIu64 " for names",
			 n, reads);
		ep_replay_faults(f->replay->replay)->change_read = n;
		try_fault(f);
	}
	ep_replay_faults(f->replay->replay)->change_read = 0;
}

/* Blocks of one page lie together, or count twice. */
static size_t count_pages(const struct faults *f)
{
	uint64_t last = 0;
	const uint64_t *addr;
	size_t n = 0;

	ep_vec_each (&f->replay->fixture->block_addrs, addr) {
		n += EP_ALIGN_DOWN(*addr, PAGE_BYTES) != last;
		last = EP_ALIGN_DOWN(*addr, PAGE_BYTES);
	}
	return n;
}

/* Returns how many pages. */
static size_t try_pages(struct faults *f)
{
	struct ep_replay_faults *faults = ep_replay_faults(f->replay->replay);
	uint64_t page, last = 0;
	const uint64_t *addr;
	size_t n = 0, step = (1 + count_pages(f) / MAX_PAGES) * f->every;

	ep_vec_each (&f->replay->fixture->block_addrs, addr) {
		page = EP_ALIGN_DOWN(*addr, PAGE_BYTES);
		if (page == last)
			continue;
		last = page;
		if (n++ % step)
			continue;
		snprintf(f->what, sizeof(f->what), "page 0x%" PRIx64, page);
		faults->fail_start = page;
		faults->fail_end = page + PAGE_BYTES;
		try_fault(f);
	}
	faults->fail_start = faults->fail_end = 0;
	return n;
}

static struct {
	const struct ep_unwinder_ops *ops; /* the plugin's */
	int result, n_detached;
} failing;

static int attach_and_fail(void *executable, struct ep_target *target, void **ret_instance)
{
	int r = failing.ops->attach(executable, target, ret_instance);

	if (r == 0)
		failing.ops->detach(*ret_instance);
	return r == 0 ? failing.result : r;
}

static int refresh_and_fail(void *instance)
{
	(void)instance;
	return failing.result;
}

static void detach_and_count(void *instance)
{
	failing.n_detached++;
	failing.ops->detach(instance);
}

static bool has_kind(const struct ep_vec *event, uint32_t kind)
{
	const uint64_t *frame;
	uint32_t at = 0;

	while ((frame = next_frame(event, false, &at)) != NULL) {
		if (EP_FRAME_KIND(*frame) == kind)
			return true;
	}
	return false;
}

static void check_absent(struct faults *f, const struct ep_replay_language *language)
{
	uint32_t kind = EP_FRAME_FIRST_DYNAMIC + language->slot;

	for (size_t i = 0; i < f->replay->fixture->threads.len; i++) {
		if (ep_replay_walk(f->replay->replay, i, &f->event) == 0 &&
		    has_kind(&f->event, kind))
			complain(f, tid_of(f, i), "a frame of a language that is not attached");
	}
}

static void try_attaches(struct faults *f)
{
	static const int results[] = {EP_NOT_YET, -EFAULT, -ENOTSUP, -ESRCH};
	struct ep_replay *replay = f->replay->replay;

	for (size_t i = 0; i < replay->n_languages * EP_LEN(results); i++) {
		struct ep_replay_language *language = &replay->languages[i / EP_LEN(results)];
		struct ep_unwinder_ops ops = *language->ops;

		failing.ops = language->ops;
		failing.result = results[i % EP_LEN(results)];
		ops.attach = attach_and_fail;
		language->ops = &ops;
		snprintf(f->what, sizeof(f->what), "%s: attach returns %d", language->name,
			 failing.result);
		try_fault(f);
		check_absent(f, language);
		ep_replay_detach(replay);
		language->ops = failing.ops;
	}
}

static void try_refreshes(struct faults *f)
{
	static const int results[] = {-ENOTSUP, -ESRCH};
	struct ep_replay *replay = f->replay->replay;

	for (size_t i = 0; i < replay->n_languages * EP_LEN(results); i++) {
		struct ep_replay_language *language = &replay->languages[i / EP_LEN(results)];
		struct ep_unwinder_ops ops = *language->ops;
		bool was_attached;

		failing.ops = language->ops;
		failing.result = results[i % EP_LEN(results)];
		failing.n_detached = 0;
		ops.refresh = refresh_and_fail;
		ops.detach = detach_and_count;
		language->ops = &ops;
		snprintf(f->what, sizeof(f->what), "%s: refresh returns %d", language->name,
			 failing.result);
		if (ep_replay_attach(replay) < 0)
			complain(f, 0, "cannot be attached");
		was_attached = language->attached.instance;
		if (ep_replay_refresh(replay) < 0 || failing.n_detached != was_attached)
			complain(f, 0, "is not detached");
		check_absent(f, language);
		ep_replay_detach(replay);
		language->ops = failing.ops;
	}
}

int replay_faults(const char *path, const struct replay *replay, unsigned int every)
{
	struct faults f = {.replay = replay, .path = path, .every = every};
	size_t n_threads = replay->fixture->threads.len, n_pages;
	uint64_t reads = 0, name_reads;
	int r;

	f.events = calloc(n_threads + 1, sizeof(*f.events));
	f.seen = calloc(n_threads + 1, sizeof(*f.seen));
	if (!f.events || !f.seen)
		return 1;
	ep_vec_init(&f.text, 1, MAX_TEXT_BYTES);
	ep_vec_init(&f.faulty_text, 1, MAX_TEXT_BYTES);
	ep_vec_init(&f.event, 1, MAX_EVENT_BYTES);
	r = run_without(&f, &reads);
	if (r == 0) {
		name_reads = ep_replay_faults(replay->replay)->name_reads;
		try_reads(&f, reads);
		try_changes(&f, name_reads);
		n_pages = try_pages(&f);
		try_attaches(&f);
		try_refreshes(&f);
		printf("%s: %" PRIu64 " reads and %zu pages, %u complaints\n", path, reads, n_pages,
		       f.complaints);
	} else {
		complain(&f, 0, strerror(-r));
	}
	for (size_t i = 0; i < n_threads; i++)
		ep_vec_fini(&f.events[i]);
	for (size_t i = 0; i < n_threads; i++)
		ep_vec_fini(&f.seen[i]);
	free(f.seen);
	free(f.events);
	ep_vec_fini(&f.text);
	ep_vec_fini(&f.faulty_text);
	ep_vec_fini(&f.event);
	return f.complaints > 0;
}
