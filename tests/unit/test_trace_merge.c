/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events are written as words, one per frame, and the merged stack is read back the same way:
 *
 *	N1	native frame			A1 B1	native frame that runs language a, b
 *	a1 b1	frame of a language, leaf first	a1.	the same, entered from native code
 *	x	an error of the core		xa xb	an error that a language registered
 *
 * c is a language that has no markers: one that unwinds its code itself.
 */
#include "core/base/map.h"
#include "core/trace/kinds.h"
#include "core/trace/merge.h"
#include "tests/unit/trace_order.h"
#include "tests/unit/trace_store.h"

#define SLOT_OF(letter) ((uint32_t)(letter) - 'a' + EP_SLOT_FIRST_DYNAMIC)
#define KIND_OF(letter) (EP_FRAME_FIRST_DYNAMIC + SLOT_OF(letter))

static uint32_t first_errors['z' + 1];

static int add_languages(void **state)
{
	static const char *const errors[] = {"out of luck", NULL};

	for (char letter = 'a'; letter <= 'c'; letter++) {
		char name[2] = {letter, 0};

		if (ep_kind_add(SLOT_OF(letter), name, errors, &first_errors[(size_t)letter]) < 0)
			return -1;
	}
	return 0;
}

static int clear_languages(void **state)
{
	ep_kind_clear();
	return 0;
}

static uint64_t header_of(const char *token)
{
	char kind = token[0];

	if (kind == 'x')
		return EP_FRAME_HEADER(EP_FRAME_ERROR, 0, 1,
				       token[1] ? first_errors[(size_t)token[1]]
						: EP_ERROR_BAD_READ);
	if (kind == '-')
		return EP_FRAME_HEADER(EP_FRAME_GAP, 0, 0, EP_ERROR_BAD_READ);
	if (kind == 'N')
		return EP_FRAME_HEADER(EP_FRAME_NATIVE, EP_FRAME_RETURN_ADDRESS, 1, 5);
	if (kind >= 'A' && kind <= 'Z')
		return EP_FRAME_HEADER(EP_FRAME_NATIVE,
				       SLOT_OF(kind - 'A' + 'a') << EP_FRAME_SLOT_SHIFT, 1, 5);
	return EP_FRAME_HEADER(KIND_OF(kind), strchr(token, '.') ? EP_FRAME_ENTRY : 0, 2, 1) |
	       (strchr(token, '?') ? EP_FRAME_DOUBTFUL : 0);
}

struct stack {
	uint64_t words[EP_MAX_WORDS];
	uint32_t n_words, n_frames;
	char tokens[EP_MAX_WORDS][8]; /* by offset of the frame */
};

static void parse(const char *text, struct stack *stack)
{
	char copy[512], *save = NULL;

	snprintf(copy, sizeof(copy), "%s", text);
	stack->n_words = stack->n_frames = 0;
	for (char *token = strtok_r(copy, " ", &save); token; token = strtok_r(NULL, " ", &save)) {
		uint64_t header = header_of(token);

		snprintf(stack->tokens[stack->n_words], sizeof(stack->tokens[0]), "%s", token);
		stack->words[stack->n_words] = header;
		stack->words[stack->n_words + 1] = strtoul(token + 1, NULL, 10);
		stack->words[stack->n_words + 2] = 0;
		stack->n_words += 1 + EP_FRAME_WORDS(header);
		stack->n_frames++;
	}
}

static struct ep_merge merge;

/* The merged stack as text, and what must hold of any. */
static const char *merged(const struct stack *stack, bool failed)
{
	static char text[512];
	size_t used = 0;
	uint32_t n = ep_merge_frames(&merge, stack->words, stack->n_words, failed);
	const char *wrong = order_violation(&merge, stack->words, stack->n_words, n);

	if (wrong)
		fail_msg("%s", wrong);
	text[0] = 0;
	for (uint32_t i = 0; i < n && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? " " : "",
					 stack->tokens[merge.order[i]]);
	return text;
}

struct row {
	const char *label, *event, *expected;
};

static void check_rows(const struct row *rows, size_t n, bool failed)
{
	static struct stack stack;

	for (size_t i = 0; i < n; i++) {
		const char *text;

		parse(rows[i].event, &stack);
		text = merged(&stack, failed);
		if (strcmp(text, rows[i].expected) != 0)
			fail_msg("%s: \"%s\" became \"%s\", not \"%s\"", rows[i].label,
				 rows[i].event, text, rows[i].expected);
	}
}

EP_TEST(what_may_not_run_yet_is_no_frame_without_a_marker)
{
	static const struct row rows[] = {
		{"runs", "N1 A2 N3 A4 N5 a6?. a7 a8.", "N1 a6?. N3 a7 a8. N5"},
		{"does not", "N1 N3 A4 N5 a6?. a7 a8.", "N1 N3 a7 a8. N5"},
		{"alone", "N1 N5 a6?.", "N1 N5"},
		{"alone, and runs", "N1 A2 N5 a6?.", "N1 a6?. N5"},
		{"more than one frame", "N1 A2 a6? a7. a8.", "N1 a6? a7. a8."},
		{"only the innermost", "N1 A2 a6. a7?. a8.", "N1 a6. a7?. a8."},
		{"of another language", "N1 A2 B3 a4. b5?. b6.", "N1 a4. b6."},
		{"the walk failed", "N1 x a6?. a7.", "N1 x a7."},
	};

	check_rows(rows, EP_LEN(rows), false);
}

EP_TEST(complete_walks_meet_at_the_root)
{
	static const struct row rows[] = {
		{"nothing", "", ""},
		{"native only", "N1 N2", "N1 N2"},
		{"one to one", "N1 A2 N3 A4 N5 a1 a2. a3.", "N1 a1 a2. N3 a3. N5"},
		{"neighbours", "A1 A2 a1. a2.", "a1. a2."},
		{"leafmost has no frame yet", "A1 N2 A3 N4 a1.", "A1 N2 a1. N4"},
		{"two have none", "A1 A2 N3 A4 a1 a2.", "A1 A2 N3 a1 a2."},
		{"none has any", "N1 A2 N3 A4", "N1 A2 N3 A4"},
		{"a group more", "N1 A2 N3 a1. a2.", "N1 a1. a2. N3"},
		{"two groups more", "A1 N2 A3 a1. a2. a3 a4. a5.", "a1. a2. a3 a4. N2 a5."},
		{"last group is not closed", "A1 N2 A3 N4 a1. a2 a3", "a1. N2 a2 a3 N4"},
		{"no marker", "N1 N2 a1 a2.", "N1 N2 a1 a2."},
		{"frames and nothing else", "a1 a2.", "a1 a2."},
	};

	check_rows(rows, EP_LEN(rows), false);
}

EP_TEST(incomplete_walks_meet_at_the_leaf)
{
	static const struct row rows[] = {
		{"native, one to one", "N1 A2 x a1.", "N1 a1. x"},
		{"native, group beyond it", "N1 A2 N3 x a1. a2. a3.", "N1 a1. N3 x a2. a3."},
		{"native, marker without group", "A1 N2 A3 x a1.", "a1. N2 A3 x"},
		{"native, no marker", "N1 x a1 a2.", "N1 x a1 a2."},
		{"native, no frame of it", "x a1.", "x a1."},
		{"language, its own error", "A1 N2 A3 N4 a1. xa", "a1. xa N2 A3 N4"},
		{"language, an error of the core", "A1 N2 A3 N4 a1. x", "a1. x N2 A3 N4"},
		{"language, in a group", "A1 N2 A3 N4 a1. a2 xa", "a1. N2 a2 xa N4"},
		{"language, no frame", "N0 A1 N2 A3 xa", "N0 xa A1 N2 A3"},
		{"language, groups beyond", "A1 N2 a1. a2. a3 xa", "a1. a2. a3 xa N2"},
		{"both, groups beyond", "A1 N2 x a1. a2. xa", "a1. N2 x a2. xa"},
		{"both, markers beyond", "A1 N2 A3 x a1. xa", "a1. xa N2 A3 x"},
		{"both, no frame", "A1 x xa", "xa A1 x"},
		{"errors only", "x x", "x x"},
	};
	static const struct row header_rows[] = {
		{"only the header says so", "A1 N2 A3 a1.", "a1. N2 A3"},
	};

	check_rows(rows, EP_LEN(rows), false);
	check_rows(header_rows, EP_LEN(header_rows), true);
}

EP_TEST(languages_do_not_mix)
{
	static const struct row rows[] = {
		{"both complete", "A1 N2 B3 A4 N5 a1. a2. b1 b2.", "a1. N2 b1 b2. a2. N5"},
		{"the other order", "A1 B2 A3 b1. a1. a2.", "a1. b1. a2."},
		{"one is incomplete", "A1 B2 A3 B4 N5 a1. xa b1.", "a1. xa B2 A3 b1. N5"},
		{"an error is its language's", "A1 B2 N3 a1. xb", "a1. xb B2 N3"},
		{"error before frames", "A1 B2 N3 xa b1.", "xa A1 b1. N3"},
		{"asked without a marker", "A1 x a1. b1. b2. xb", "a1. x b1. b2. xb"},
		{"a third one's markers", "A1 C2 B3 a1. b1.", "a1. C2 b1."},
	};

	check_rows(rows, EP_LEN(rows), false);
}

EP_TEST(frames_pushed_in_place_stay_there)
{
	static const struct row rows[] = {
		{"between native frames", "N1 c1 c2 N3 A4 N5 a1.", "N1 c1 c2 N3 a1. N5"},
		{"at the leaf", "c1 N2 A3 a1.", "c1 N2 a1."},
		{"at the root", "N1 A2 c1 c2 a1.", "N1 a1. c1 c2"},
		{"their walk failed", "A1 N2 A3 N4 c1 xc a1.", "a1. N2 A3 N4 c1 xc"},
		{"the native walk behind failed", "A1 c1 N2 A3 x a1.", "a1. c1 N2 A3 x"},
		{"with marks of its own", "N1 a1 a2. N3 A4 a3.", "N1 a1 a2. N3 a3."},
	};

	check_rows(rows, EP_LEN(rows), false);
}

EP_TEST(gaps_may_hide_markers)
{
	static const struct row rows[] = {
		{"none hidden", "A1 N2 - N3 A4 N5 a1. a2.", "a1. N2 - N3 a2. N5"},
		{"one hidden", "A1 N2 - N3 A4 N5 a1. a2. a3.", "a1. N2 - a2. N3 a3. N5"},
		{"all hidden", "N1 - N2 a1. a2.", "N1 - a1. a2. N2"},
		{"leafmost has no frame yet", "A1 A2 - A3 a1. a2.", "A1 a1. - a2."},
		{"none before, one hidden", "N1 - N2 A3 a1. a2.", "N1 - a1. N2 a2."},
		{"none behind, one hidden", "A1 N2 - N3 a1. a2.", "a1. N2 - a2. N3"},
		{"fewer than are behind", "A1 - A2 A3 a1.", "A1 - A2 a1."},
		{"two gaps", "A1 - A2 - A3 a1. a2. a3.", "a1. - a2. - a3."},
		{"two gaps, none for the middle", "A1 - A2 - A3 a1. a2.", "a1. - A2 - a2."},
		{"two gaps, one hidden", "A1 - A2 - A3 a1. a2. a3. a4.", "a1. - a2. a3. - a4."},
		{"the walk failed behind it", "A1 - A2 x a1. a2. a3.", "a1. - a2. a3. A2 x"},
		{"the language failed", "A1 N2 - A3 N4 a1. a2. xa", "a1. N2 - a2. A3 N4 xa"},
		{"in place", "A1 N2 c1 - c2 N3 A4 a1. a2. a3.", "a1. N2 c1 - a2. c2 N3 a3."},
		{"two languages", "A1 B2 - N3 A4 B5 a1. a2. b1. b2. b3.",
		 "a1. b1. - b2. N3 a2. b3."},
	};

	check_rows(rows, EP_LEN(rows), false);
}

EP_TEST(malformed_events_lose_nothing)
{
	static const struct row rows[] = {
		{"a language twice", "A1 N2 A3 B4 a1. b1. a2.", "a1. N2 a2. b1."},
		{"not closed before another", "A1 B2 A3 a1 b1 a2", "a1 b1 a2"},
		{"error between groups", "A1 N2 A3 a1. xa a2.", "a1. xa N2 a2."},
		{"two errors", "A1 N2 a1. xa xa", "a1. xa xa N2"},
		{"the kernel's part is short", "x N1 A2 N3 A4 N5 a1. a2.", "x N1 a1. N3 a2. N5"},
		{"errors between native frames", "N1 x A2 x N3 a1.", "N1 x a1. x N3"},
	};
	uint64_t words[] = {EP_FRAME_HEADER(255, EP_FRAME_ENTRY, 0, 0),
			    EP_FRAME_HEADER(EP_FRAME_FIRST_DYNAMIC, 0, 0, 0)};

	check_rows(rows, EP_LEN(rows), false);
	assert_int_equal(ep_merge_frames(&merge, words, 2, false), 2); /* slots there are not */
	assert_int_equal(merge.order[0], 0);
}

EP_TEST(any_event_keeps_its_frames)
{
	static const char *const tokens[] = {"N1", "N2",  "A1", "A2", "B1", "a1", "a2.",
					     "b1", "b2.", "c1", "x",  "xa", "xb", "xc"};
	static struct stack stack;
	uint64_t random = 1;

	for (int round = 0; round < 50000; round++) {
		char text[256] = "";
		size_t used = 0;
		uint64_t n = (random = ep_mix64(random)) % 24;

		for (uint64_t i = 0; i < n; i++) {
			random = ep_mix64(random + i);
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s ",
						 tokens[random % EP_LEN(tokens)]);
		}
		parse(text, &stack);
		(void)merged(&stack, round % 8 == 0);
	}
}

EP_TEST(the_longest_event_fits)
{
	static uint64_t words[EP_MAX_WORDS];
	uint32_t n;

	for (size_t i = 0; i < EP_MAX_WORDS; i++) /* groups of one frame of no words */
		words[i] = EP_FRAME_HEADER(KIND_OF('a'), EP_FRAME_ENTRY, 0, 0);
	n = ep_merge_frames(&merge, words, EP_MAX_WORDS, false);
	assert_int_equal(n, EP_MAX_WORDS);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(merge.order[i], i);
}

static void add_stack(struct ep_store *store, uint64_t hash, const char *text)
{
	static struct stack stack;
	static struct event event;

	parse(text, &stack);
	event_init(&event, EP_EVENT_TRACE, hash, 7);
	memcpy(event.words, stack.words, stack.n_words * sizeof(*stack.words));
	event.sample.n_words = (uint16_t)stack.n_words;
	event.sample.n_frames = (uint16_t)stack.n_frames;
	event.bytes += stack.n_words * sizeof(*stack.words);
	add_event(store, &event);
}

/* In the frame table neither the mark nor the entry make another frame of it. */
EP_TEST(store_files_merged_frames)
{
	struct ep_store *store = new_store(0, NULL);
	const uint32_t *a, *b;
	struct ep_interval *iv;
	struct ep_frame frame;

	add_stack(store, 1, "A9 N2 A9 N4 a1 a3.");
	add_stack(store, 2, "A9 N2 a1. N4");
	iv = seal(store, 1);
	assert_int_equal(ep_interval_trace(iv, 1)->n_frames, 5);
	assert_int_equal(ep_interval_trace(iv, 1)->error, 0);
	a = ep_interval_frame_ids(iv, ep_interval_trace(iv, 1)); /* A9 N2 a1 a3. N4 */
	b = ep_interval_frame_ids(iv, ep_interval_trace(iv, 2)); /* A9 N2 a1. N4 */
	assert_int_equal(a[0], b[0]);
	assert_int_equal(a[1], b[1]);
	assert_int_equal(a[2], b[2]);
	assert_int_equal(a[4], b[3]);
	ep_frames_get(ep_interval_frames(iv), a[0], &frame);
	assert_int_equal(frame.kind, EP_FRAME_NATIVE);
	assert_int_equal(frame.flags, 0);
	assert_int_equal(frame.words[0], 9);
	ep_frames_get(ep_interval_frames(iv), a[3], &frame);
	assert_int_equal(frame.kind, KIND_OF('a'));
	assert_int_equal(frame.flags, 0);
	assert_int_equal(frame.words[0], 3);
	assert_int_equal(frame.program.pid, 7);
}

/* The first error of the event is the stack's, wherever its frame went. */
EP_TEST(store_keeps_errors_of_both)
{
	struct ep_store *store = new_store(0, NULL);
	struct ep_interval *iv;
	const uint32_t *ids;

	add_stack(store, 1, "A1 N2 x a1. a2. xa");
	iv = seal(store, 1);
	assert_int_equal(ep_interval_trace(iv, 1)->n_frames, 5);
	assert_int_equal(ep_interval_trace(iv, 1)->error, EP_ERROR_BAD_READ);
	ids = ep_interval_frame_ids(iv, ep_interval_trace(iv, 1)); /* a1. N2 x a2. xa */
	assert_int_equal(ids[2], EP_ERROR_BAD_READ);
}

int main(void)
{
	return ep_test_run(add_languages, clear_languages);
}
