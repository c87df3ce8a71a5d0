/* SPDX-License-Identifier: Apache-2.0 */
/* Each outcome of each call in each state of a language in a process, and what a call reported. */
#include "core/plugin/attached.h"
#include "core/plugin/unwinder.h"
#include "tests/kit/test.h"

#include <limits.h>

static const char letters[EP_ATTACHMENT_COUNT + 1] = "WADRG"; /* of the states, in their order */

/* The letter of the new state, then a, d, f: again, detach, forget. */
static void print_step(char text[8], struct ep_attachment_step step)
{
	snprintf(text, 8, "%c%s%s%s", letters[step.state],
		 step.actions & EP_ATTACHMENT_AGAIN ? "a" : "",
		 step.actions & EP_ATTACHMENT_DETACH ? "d" : "",
		 step.actions & EP_ATTACHMENT_FORGET ? "f" : "");
}

struct row {
	enum ep_attachment_call call;
	int result;
	const char *after[EP_ATTACHMENT_COUNT]; /* in WAITING, ATTACHED, DORMANT, REFUSED, GONE */
};

#define ATTACH	  EP_ATTACHMENT_ATTACH
#define REFRESH	  EP_ATTACHMENT_REFRESH
#define SYMBOLIZE EP_ATTACHMENT_SYMBOLIZE
#define REST	  EP_ATTACHMENT_REST

/*
 * What is not distinguished: EP_FRAME_GONE to INT_MAX, and errors from -EPERM to INT_MIN but for
 * three.
 */
static const struct row rows[] = {
	/*			       W      A      D      R    G */
	{ATTACH, 0,		     {"A",   "A",   "A",   "R", "G"}},
	{ATTACH, EP_NOT_YET,	     {"Wa",  "A",   "Wa",  "R", "G"}},
	{ATTACH, EP_FRAME_GONE,	     {"Wa",  "A",   "Wa",  "R", "G"}},
	{ATTACH, INT_MAX,	     {"Wa",  "A",   "Wa",  "R", "G"}},
	{ATTACH, -EFAULT,	     {"Wa",  "A",   "Wa",  "R", "G"}},
	{ATTACH, -EPERM,	     {"Wa",  "A",   "Wa",  "R", "G"}},
	{ATTACH, INT_MIN,	     {"Wa",  "A",   "Wa",  "R", "G"}},
	{ATTACH, -ENOTSUP,	     {"Rf",  "A",   "Rf",  "R", "G"}},
	{ATTACH, -ETIMEDOUT,	     {"Rf",  "A",   "Rf",  "R", "G"}},
	{ATTACH, -ESRCH,	     {"Gf",  "A",   "Gf",  "R", "G"}},

	{REFRESH, 0,		     {"W",   "A",   "D",   "R", "G"}},
	{REFRESH, EP_NOT_YET,	     {"W",   "Aa",  "D",   "R", "G"}},
	{REFRESH, EP_FRAME_GONE,     {"W",   "Aa",  "D",   "R", "G"}},
	{REFRESH, INT_MAX,	     {"W",   "Aa",  "D",   "R", "G"}},
	{REFRESH, -EFAULT,	     {"W",   "Aa",  "D",   "R", "G"}},
	{REFRESH, -EPERM,	     {"W",   "Aa",  "D",   "R", "G"}},
	{REFRESH, INT_MIN,	     {"W",   "Aa",  "D",   "R", "G"}},
	{REFRESH, -ENOTSUP,	     {"W",   "Rdf", "D",   "R", "G"}},
	{REFRESH, -ETIMEDOUT,	     {"W",   "Rdf", "D",   "R", "G"}},
	{REFRESH, -ESRCH,	     {"W",   "Gdf", "D",   "R", "G"}},

	{SYMBOLIZE, 0,		     {"W",   "A",   "D",   "R", "G"}},
	{SYMBOLIZE, EP_NOT_YET,	     {"W",   "Aa",  "D",   "R", "G"}},
	{SYMBOLIZE, EP_FRAME_GONE,   {"W",   "A",   "D",   "R", "G"}},
	{SYMBOLIZE, INT_MAX,	     {"W",   "A",   "D",   "R", "G"}},
	{SYMBOLIZE, -EFAULT,	     {"W",   "A",   "D",   "R", "G"}},
	{SYMBOLIZE, -EPERM,	     {"W",   "A",   "D",   "R", "G"}},
	{SYMBOLIZE, INT_MIN,	     {"W",   "A",   "D",   "R", "G"}},
	{SYMBOLIZE, -ENOTSUP,	     {"W",   "A",   "D",   "R", "G"}},
	{SYMBOLIZE, -ETIMEDOUT,	     {"W",   "A",   "D",   "R", "G"}},
	{SYMBOLIZE, -ESRCH,	     {"W",   "Ga",  "D",   "R", "G"}},

	{REST, 0,		     {"W",   "Dd",  "D",   "R", "Gd"}},
};

EP_TEST(each_outcome_leads_where_the_table_says)
{
	for (size_t i = 0; i < EP_LEN(rows); i++) {
		for (int from = 0; from < EP_ATTACHMENT_COUNT; from++) {
			char text[8];

			print_step(text, ep_attachment_after((enum ep_attachment)from, rows[i].call,
							     rows[i].result));
			if (strcmp(text, rows[i].after[from]) != 0)
				fail_msg("call %d in %c, result %d: %s, not %s", (int)rows[i].call,
					 letters[from], rows[i].result, text, rows[i].after[from]);
		}
	}
}

/*
 * --- calls of a plugin that does as it is asked -------------------------------------------------
 */

static const struct ep_range two[] = {
	{.start = 0x3000, .end = 0x4000, .data = 3},
	{.start = 0x1000, .end = 0x2000, .mode = EP_RANGE_ENTER, .data = 1},
};
#define ANONYMOUS {.end = UINT64_MAX, .mode = EP_RANGE_ENTER, .flags = EP_RANGE_ANONYMOUS}
static const struct ep_range anonymous = ANONYMOUS;

static struct {
	int result;
	void *instance; /* of attach */
	const char *state; /* what is set, if anything */
	const struct ep_range *ranges;
	size_t n_ranges;
	struct ep_target *target;
	bool reads;
	int n_calls, n_detached;
} script;

static int answer(void)
{
	const struct ep_target_ops *ops = script.target->ops;

	char byte;

	script.n_calls++;
	if (script.reads)
		(void)ops->read(script.target->arg, 8, &byte, 1);
	if (script.state)
		assert_int_equal(ops->set_state(script.target->arg, script.state, strlen(script.state)), 0);
	if (script.ranges)
		assert_int_equal(ops->set_ranges(script.target->arg, script.ranges, script.n_ranges), 0);
	return script.result;
}

static int attach(void *executable, struct ep_target *target, void **ret_instance)
{
	assert_ptr_equal(executable, &script);
	script.target = target;
	*ret_instance = script.instance;
	return answer();
}

static int refresh(void *instance)
{
	assert_ptr_equal(instance, &script);
	return answer();
}

static int symbolize(void *instance, const struct ep_raw_frame *frame, struct ep_names *names)
{
	assert_ptr_equal(instance, &script);
	return answer();
}

static void detach(void *instance)
{
	assert_ptr_equal(instance, &script);
	script.n_detached++;
}

static const struct ep_unwinder_ops ops = {
	.size = sizeof(ops), .attach = attach, .refresh = refresh, .symbolize = symbolize, .detach = detach};

/* Attached; its state is "first", its ranges are two. */
static void begin(struct ep_attached *attached)
{
	memset(&script, 0, sizeof(script));
	script.instance = &script;
	script.state = "first";
	script.ranges = two;
	script.n_ranges = 2;
	ep_attached_init(attached, &ops, &script, NULL, NULL, 7, 0);
	assert_false(ep_attached_attach(attached));
	assert_true(attached->is_changed);
	attached->is_changed = false;
	script.ranges = NULL;
	script.state = NULL;
}

static void assert_first(const struct ep_attached *attached)
{
	const struct ep_range *ranges = attached->holds.ranges.data;

	assert_true(attached->holds.has_state);
	assert_int_equal(attached->holds.state_bytes, 5);
	assert_memory_equal(attached->holds.state, "first", 5);
	assert_int_equal(attached->holds.ranges.len, 2);
	assert_int_equal(ranges[0].data, 1);
	assert_int_equal(ranges[1].data, 3);
	assert_false(attached->holds.anonymous);
	assert_false(attached->is_changed);
}

EP_TEST(there_is_an_instance_when_attach_says_0)
{
	static const int results[] = {EP_NOT_YET, -ENOTSUP, -ESRCH, -EFAULT, 99};
	struct ep_attached attached;

	begin(&attached);
	assert_ptr_equal(attached.instance, &script);
	ep_attached_fini(&attached);
	assert_int_equal(script.n_detached, 1);
	script.instance = NULL;
	ep_attached_init(&attached, &ops, &script, NULL, NULL, 7, 0);
	assert_false(ep_attached_attach(&attached));
	assert_int_equal(attached.result, -ENOTSUP);
	assert_int_equal(attached.state, EP_ATTACHMENT_REFUSED);
	ep_attached_fini(&attached);
	script.instance = &script;
	for (size_t i = 0; i < EP_LEN(results); i++) {
		script.result = results[i];
		ep_attached_init(&attached, &ops, &script, NULL, NULL, 7, 0);
		(void)ep_attached_attach(&attached);
		assert_int_equal(attached.result, results[i]);
		assert_null(attached.instance);
		ep_attached_fini(&attached);
	}
	assert_int_equal(script.n_detached, 1);
}

static int read_late(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	(void)arg, (void)addr, (void)buf, (void)bytes;
	return -ETIMEDOUT;
}

/* Whatever the plugin says of it. */
EP_TEST(a_process_whose_memory_does_not_come_is_given_up)
{
	static const struct ep_target_ops late = {.read = read_late};
	static const int results[] = {EP_NOT_YET, -EFAULT, -ENODATA, -EAGAIN};
	struct ep_attached attached;

	for (size_t i = 0; i < EP_LEN(results); i++) {
		begin(&attached);
		attached.source = &late;
		script.reads = true;
		assert_false(ep_attached_refresh(&attached)); /* it did without */
		script.result = results[i];
		assert_false(ep_attached_symbolize(&attached, NULL, NULL));
		assert_int_equal(attached.result, -ETIMEDOUT);
		assert_int_equal(attached.state, EP_ATTACHMENT_ATTACHED);
		assert_false(ep_attached_refresh(&attached));
		assert_int_equal(attached.result, -ETIMEDOUT);
		assert_int_equal(attached.state, EP_ATTACHMENT_REFUSED);
		assert_int_equal(script.n_detached, 1);
		ep_attached_fini(&attached);
		ep_attached_init(&attached, &ops, &script, &late, NULL, 7, 0);
		assert_false(ep_attached_attach(&attached));
		assert_int_equal(attached.state, EP_ATTACHMENT_REFUSED);
		ep_attached_fini(&attached);
	}
}

EP_TEST(what_a_refresh_that_fails_set_is_forgotten)
{
	static const int results[] = {EP_NOT_YET, -EFAULT, 99};
	ep_cleanup(ep_attached_fini) struct ep_attached attached;

	begin(&attached);
	for (size_t i = 0; i < EP_LEN(results); i++) {
		script.state = "other";
		script.ranges = &anonymous;
		script.n_ranges = 1;
		script.result = results[i];
		assert_true(ep_attached_refresh(&attached));
		assert_first(&attached);
		/* nor does it come with the next one */
		script.state = NULL;
		script.ranges = NULL;
		script.result = 0;
		assert_false(ep_attached_refresh(&attached));
		assert_first(&attached);
	}
}

EP_TEST(what_is_not_set_still_holds_until_the_next_attach)
{
	ep_cleanup(ep_attached_fini) struct ep_attached attached;

	begin(&attached);
	script.ranges = &anonymous;
	script.n_ranges = 1;
	assert_false(ep_attached_refresh(&attached));
	assert_memory_equal(attached.holds.state, "first", 5);
	assert_int_equal(attached.holds.ranges.len, 0);
	assert_true(attached.holds.anonymous);
	script.ranges = NULL;
	script.state = "2nd";
	assert_false(ep_attached_refresh(&attached));
	assert_int_equal(attached.holds.state_bytes, 3);
	assert_true(attached.holds.anonymous);
	ep_attached_rest(&attached);
	assert_int_equal(script.n_detached, 1);
	assert_true(attached.holds.anonymous);
	assert_false(ep_attached_attach(&attached));
	assert_false(attached.holds.anonymous);
}

EP_TEST(what_symbolize_sets_holds_whatever_it_returns)
{
	static const int results[] = {EP_FRAME_GONE, EP_NOT_YET, -ENOTSUP, -EFAULT, -ESRCH};
	ep_cleanup(ep_attached_fini) struct ep_attached attached;

	begin(&attached);
	for (size_t i = 0; i < EP_LEN(results); i++) {
		char text[] = {(char)('a' + i), 0};

		script.state = text;
		script.result = results[i];
		(void)ep_attached_symbolize(&attached, NULL, NULL);
		assert_int_equal(attached.holds.state[0], text[0]);
	}
	assert_int_equal(attached.state, EP_ATTACHMENT_ATTACHED); /* until the last frame */
	ep_attached_end_names(&attached);
	assert_int_equal(attached.state, EP_ATTACHMENT_GONE);
	assert_int_equal(script.n_detached, 0);
}

EP_TEST(who_is_refused_is_detached_and_forgotten)
{
	static const int results[] = {-ENOTSUP, -ESRCH};
	struct ep_attached attached;

	for (size_t i = 0; i < EP_LEN(results); i++) {
		begin(&attached);
		script.result = results[i];
		assert_false(ep_attached_refresh(&attached));
		assert_int_equal(script.n_detached, 1);
		assert_true(attached.is_changed);
		assert_false(attached.holds.has_state);
		assert_int_equal(attached.holds.ranges.len, 0);
		script.n_calls = 0;
		(void)ep_attached_refresh(&attached);
		(void)ep_attached_symbolize(&attached, NULL, NULL);
		assert_int_equal(attached.result, -ESRCH);
		assert_int_equal(script.n_calls, 0);
		ep_attached_fini(&attached);
		assert_int_equal(script.n_detached, 1);
	}
}

EP_TEST(what_cannot_be_set_changes_nothing)
{
	static const struct ep_range overlap[] = {{.start = 1, .end = 3}, ANONYMOUS, {.start = 2, .end = 4}};
	uint8_t too_much[EP_STATE_BYTES + 1] = {0};
	ep_cleanup(ep_attached_fini) struct ep_attached attached;
	const struct ep_target *target = &attached.target;

	begin(&attached);
	assert_int_equal(target->ops->set_state(target->arg, too_much, sizeof(too_much)), -E2BIG);
	assert_int_equal(target->ops->set_ranges(target->arg, overlap, 3), -EINVAL);
	assert_false(ep_attached_refresh(&attached));
	assert_first(&attached);
	assert_int_equal(target->ops->set_ranges(target->arg, overlap, 2), 0);
	assert_false(ep_attached_refresh(&attached));
	assert_int_equal(attached.holds.ranges.len, 1);
	assert_true(attached.holds.anonymous);
}

/* --- what came with samples ------------------------------------------------------------------ */

/* What the plugin below says of the word at an address: it must be "right"; and what was forwarded. */
static struct {
	const struct ep_target *target;
	int live;	    /* result of reads of the process */
	uint32_t flags, unnamed; /* of what stands in */
	uint32_t n_calls, n_added;
	char function[16];
} namer;

static int read_live(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	(void)arg, (void)addr;
	memset(buf, 0, bytes);
	return namer.live;
}

static int name_it(void *instance, const struct ep_raw_frame *frame, struct ep_names *names)
{
	struct ep_name name = {.size = sizeof(name), .function = "right"};
	char word[8], text[8];

	(void)instance;
	namer.n_calls++;
	if (namer.target->ops->read(namer.target->arg, frame->words[0], word, sizeof(word)) == 0 &&
	    namer.target->ops->read(namer.target->arg, frame->words[1], text, sizeof(text)) == 0 &&
	    strcmp(word, "code") == 0) {
		name.function = text;
		return names->add(names->arg, &name);
	}
	if (!namer.flags && !namer.unnamed)
		return EP_FRAME_GONE;
	name.function = "(gone)";
	name.flags = namer.flags;
	name.unnamed = namer.unnamed;
	return names->add(names->arg, &name);
}

static int take_name(void *arg, const struct ep_name *name)
{
	(void)arg;
	namer.n_added++;
	snprintf(namer.function, sizeof(namer.function), "%s", name->function);
	return 0;
}

static void keep(struct ep_kept_memory *memory, const char *code, const char *name)
{
	struct {
		struct ep_kept kept;
		struct {
			struct ep_kept_piece head;
			char text[8];
		} pieces[2];
	} event = {.pieces = {{.head = {.addr = 0x1000, .bytes = 8}}, {.head = {.addr = 0x2000, .bytes = 8}}}};

	event.kept.bytes = name ? sizeof(event.pieces) : sizeof(*event.pieces);
	snprintf(event.pieces[0].text, 8, "%s", code);
	snprintf(event.pieces[1].text, 8, "%s", name ? name : "");
	assert_int_equal(ep_kept_memory_add(memory, &event.kept, sizeof(event)), 0);
}

/* Attached by a plugin whose names are those of `symbolize`; what came with samples is empty. */
static void begin_naming(struct ep_attached *attached, struct ep_unwinder_ops *naming,
			 const struct ep_target_ops *source, struct ep_kept_memory *kept)
{
	memset(&script, 0, sizeof(script));
	script.instance = &script;
	memset(&namer, 0, sizeof(namer));
	ep_attached_init(attached, naming, &script, source, NULL, 7, 0);
	assert_false(ep_attached_attach(attached));
	namer.target = script.target;
	ep_kept_memory_init(kept);
	attached->kept = kept;
}

/* Reads as symbolize does for a process that can be read, and one that cannot. */
EP_TEST(what_came_with_samples_says_more_than_what_stands_in)
{
	static const struct {
		const char *label;
		uint32_t flags, unnamed;
		int first;	      /* result of the process itself */
		bool whole;
		const char *codes[3]; /* kept, one after the other, with names that are "1", "2", "3" */
		const char *expected; /* NULL: nothing */
	} cases[] = {
		{"gone, nothing kept", 0, 0, EP_FRAME_GONE, true, {NULL}, NULL},
		{"gone, kept", 0, 0, EP_FRAME_GONE, true, {"code"}, "1"},
		{"a text that stands in, nothing kept", 0, EP_UNNAMED_GONE, 0, true, {NULL}, NULL},
		{"a text that stands in, kept", 0, EP_UNNAMED_GONE, 0, true, {"code"}, "1"},
		{"a name that stands in, kept", EP_NAME_STANDS_IN, 0, 0, true, {"code"}, "1"},
		{"kept at the last sample", EP_NAME_STANDS_IN, 0, 0, true, {"code", "code"}, "2"},
		{"other code since then", EP_NAME_STANDS_IN, 0, 0, true, {"code", "other"}, "1"},
		{"the same, in parts", EP_NAME_STANDS_IN, 0, 0, false, {"code", "other"}, "1"},
		{"other code only", EP_NAME_STANDS_IN, 0, 0, true, {"other", "other"}, NULL},
	};
	struct ep_raw_frame frame = {.n_words = 2, .words = {0x1000, 0x2000}};
	struct ep_bpf_image keeper = {.size = sizeof(keeper)};
	struct ep_unwinder_ops naming = ops;
	const struct ep_target_ops source = {.read = read_live};
	struct ep_names names = {.add = take_name};

	naming.symbolize = name_it;
	naming.keeper = &keeper;
	for (size_t i = 0; i < EP_LEN(cases); i++) {
		ep_cleanup(ep_attached_fini) struct ep_attached attached;
		struct ep_kept_memory kept;
		char text[2] = "1";

		keeper.flags = cases[i].whole ? EP_BPF_KEEPS_WHOLE : 0;
		begin_naming(&attached, &naming, &source, &kept);
		namer.live = -EFAULT;
		namer.flags = cases[i].flags;
		namer.unnamed = cases[i].unnamed;
		for (int k = 0; k < 3 && cases[i].codes[k]; k++, text[0]++)
			keep(&kept, cases[i].codes[k], text);
		(void)ep_attached_symbolize(&attached, &frame, &names);
		assert_int_equal(attached.result, cases[i].first);
		namer.n_added = 0;
		if (ep_attached_symbolize_kept(&attached, &frame, &names) != (cases[i].expected != NULL))
			fail_msg("%s", cases[i].label);
		assert_int_equal(namer.n_added, cases[i].expected ? 1 : 0);
		if (cases[i].expected)
			assert_string_equal(namer.function, cases[i].expected);
		assert_int_equal(attached.result, cases[i].expected ? 0 : cases[i].first);
		ep_kept_memory_fini(&kept);
	}
}

static int see_none(void *arg, const struct ep_target_mapping *mapping)
{
	(void)arg, (void)mapping;
	return 0;
}

static struct {
	const struct ep_target *target;
	int results[3]; /* of the last call */
} asker;

static int ask_all(void *instance, const struct ep_raw_frame *frame, struct ep_names *names)
{
	const struct ep_target *target = asker.target;
	struct ep_tls tls;

	(void)instance, (void)frame, (void)names;
	asker.results[0] = target->ops->mappings(target->arg, see_none, NULL);
	asker.results[1] = target->ops->tls_variable(target->arg, 8, &tls);
	asker.results[2] = target->ops->tls_key(target->arg, 1, &tls);
	return EP_FRAME_GONE;
}

static int live_mappings(void *arg, int (*visit)(void *arg, const struct ep_target_mapping *mapping),
			 void *visit_arg)
{
	(void)arg, (void)visit, (void)visit_arg;
	return 0;
}

static int live_variable(void *arg, uint64_t tls_off, struct ep_tls *ret)
{
	(void)arg, (void)tls_off, (void)ret;
	return 0;
}

static int live_key(void *arg, uint32_t key, struct ep_tls *ret)
{
	(void)arg, (void)key, (void)ret;
	return 0;
}

/* Another process may have the pid by now. */
EP_TEST(what_came_with_samples_is_all_that_can_be_asked)
{
	const struct ep_target_ops source = {.read = read_live,
					     .mappings = live_mappings,
					     .tls_variable = live_variable,
					     .tls_key = live_key};
	struct ep_unwinder_ops asking = ops;
	struct ep_raw_frame frame = {.n_words = 1};
	struct ep_names names = {.add = take_name};
	ep_cleanup(ep_attached_fini) struct ep_attached attached;
	struct ep_kept_memory kept;

	asking.symbolize = ask_all;
	begin_naming(&attached, &asking, &source, &kept);
	asker.target = script.target;
	keep(&kept, "code", "1");
	(void)ep_attached_symbolize(&attached, &frame, &names);
	for (int i = 0; i < 3; i++)
		assert_int_equal(asker.results[i], 0);
	assert_false(ep_attached_symbolize_kept(&attached, &frame, &names));
	for (int i = 0; i < 3; i++)
		assert_int_equal(asker.results[i], -ESRCH);
	ep_kept_memory_fini(&kept);
}

/* The code was sent first, what is at its name's address now later. */
EP_TEST(a_keeper_that_sends_all_is_not_read_in_parts)
{
	struct ep_raw_frame frame = {.n_words = 2, .words = {0x1000, 0x2000}};
	struct ep_bpf_image keeper = {.size = sizeof(keeper)};
	struct ep_unwinder_ops naming = ops;
	const struct ep_target_ops source = {.read = read_live};
	struct ep_names names = {.add = take_name};

	naming.symbolize = name_it;
	naming.keeper = &keeper;
	for (int whole = 0; whole < 2; whole++) {
		ep_cleanup(ep_attached_fini) struct ep_attached attached;
		struct ep_kept_memory kept;

		keeper.flags = whole ? EP_BPF_KEEPS_WHOLE : 0;
		begin_naming(&attached, &naming, &source, &kept);
		namer.live = -ESRCH;
		keep(&kept, "other", "later");
		keep(&kept, "code", NULL);
		(void)ep_attached_symbolize(&attached, &frame, &names);
		assert_int_equal(ep_attached_symbolize_kept(&attached, &frame, &names), !whole);
		assert_int_equal(namer.n_added, !whole);
		ep_kept_memory_fini(&kept);
	}
}
