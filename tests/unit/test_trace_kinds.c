/* SPDX-License-Identifier: Apache-2.0 */
#include "core/trace/kinds.h"
#include "tests/kit/test.h"
#include "tests/unit/trace_events.h"

#define FIRST EP_SLOT_FIRST_DYNAMIC

static const char *const toy_errors[] = {"no thread state", "code object unreadable", NULL};

static int clear(void **state)
{
	ep_kind_clear();
	return 0;
}

EP_TEST_WITH(numbers_are_handed_out_in_order, clear, clear)
{
	static const char *const one[] = {"stack torn", NULL};
	uint32_t toy = 0, none = 0, other = 0;

	assert_int_equal(ep_kind_add(FIRST, "toy", toy_errors, &toy), 0);
	assert_int_equal(ep_kind_add(FIRST + 1, "silent", NULL, &none), 0);
	assert_int_equal(ep_kind_add(FIRST + 4, "other", one, &other), 0);
	assert_int_equal(toy, EP_ERROR_FIRST_DYNAMIC);
	assert_int_equal(other, EP_ERROR_FIRST_DYNAMIC + 2);
	assert_string_equal(ep_error_text(toy + 1), "toy: code object unreadable");
	assert_string_equal(ep_error_text(other), "other: stack torn");
	assert_int_equal(ep_error_slot(toy + 1), FIRST);
	assert_int_equal(ep_error_slot(other), FIRST + 4);
	assert_string_equal(ep_kind_name(EP_FRAME_FIRST_DYNAMIC + FIRST + 1), "silent");
	ep_kind_set_frame_type(FIRST, "ctoy");
	ep_kind_set_frame_type(FIRST + 1, NULL);
	ep_kind_set_frame_type(EP_SLOT_COUNT, "nobody");
	assert_string_equal(ep_kind_frame_type(EP_FRAME_FIRST_DYNAMIC + FIRST), "ctoy");
	assert_string_equal(ep_kind_frame_type(EP_FRAME_FIRST_DYNAMIC + FIRST + 1), "silent");
	assert_null(ep_kind_frame_type(EP_FRAME_FIRST_DYNAMIC + FIRST + 2));
}

EP_TEST_WITH(what_nobody_was_given_is_unknown, clear, clear)
{
	static const uint32_t kinds[] = {
		0,   EP_FRAME_ERROR, EP_FRAME_FIRST_DYNAMIC, EP_FRAME_FIRST_DYNAMIC + FIRST + 1,
		255, UINT32_MAX};
	static const uint32_t errors[] = {
		0,   EP_ERROR_COUNT, EP_ERROR_FIRST_DYNAMIC - 1, EP_ERROR_FIRST_DYNAMIC + 2, 255,
		256, UINT32_MAX};
	uint32_t first;

	assert_int_equal(ep_kind_add(FIRST, "toy", toy_errors, &first), 0);
	for (size_t i = 0; i < EP_LEN(kinds); i++)
		assert_null(ep_kind_name(kinds[i]));
	for (size_t i = 0; i < EP_LEN(errors); i++) {
		assert_null(ep_error_text(errors[i]));
		assert_int_equal(ep_error_slot(errors[i]), 0);
	}
	assert_string_equal(ep_error_text(EP_ERROR_BAD_READ), "stack memory unreadable");
	assert_int_equal(ep_error_slot(EP_ERROR_BAD_READ), 0);
}

EP_TEST_WITH(what_does_not_fit_is_refused_whole, clear, clear)
{
	const char *many[EP_ERROR_LAST_DYNAMIC + 2] = {0};
	char long_name[300];
	uint32_t first = 77;

	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = 0;
	for (size_t i = 0; i < 192; i++)
		many[i] = long_name;
	many[192] = "one too many";
	assert_int_equal(ep_kind_add(FIRST, "toy", many, &first), -E2BIG);
	assert_int_equal(ep_kind_add(FIRST - 1, "toy", NULL, &first), -EINVAL);
	assert_int_equal(ep_kind_add(EP_SLOT_COUNT, "toy", NULL, &first), -EINVAL);
	assert_int_equal(ep_kind_add(FIRST, "", NULL, &first), -EINVAL);
	assert_int_equal(ep_kind_add(FIRST, NULL, NULL, &first), -EINVAL);
	assert_int_equal(first, 77);
	assert_null(ep_kind_name(EP_FRAME_FIRST_DYNAMIC + FIRST));
	many[192] = NULL;
	assert_int_equal(ep_kind_add(FIRST, long_name, many, &first), 0);
	assert_int_equal(strlen(ep_kind_name(EP_FRAME_FIRST_DYNAMIC + FIRST)),
			 EP_KIND_MAX_NAME - 1);
	assert_int_equal(strlen(ep_error_text(EP_ERROR_LAST_DYNAMIC)), EP_KIND_MAX_TEXT - 1);
	assert_int_equal(ep_kind_add(FIRST, "again", NULL, &first), -EEXIST);
	assert_int_equal(ep_kind_add(FIRST + 1, "late", toy_errors, &first), -E2BIG);
}

/* Another session of the same process loads languages again, maybe fewer. */
EP_TEST_WITH(language_that_comes_again_has_its_numbers, clear, clear)
{
	uint32_t toy, other, again;

	assert_int_equal(ep_kind_find_slot("toy"), FIRST);
	assert_int_equal(ep_kind_add(FIRST, "silent", NULL, &again), 0);
	assert_int_equal(ep_kind_add(FIRST + 1, "toy", toy_errors, &toy), 0);
	assert_int_equal(ep_kind_add(FIRST + 2, "other", toy_errors, &other), 0);
	assert_int_equal(ep_kind_find_slot("toy"), FIRST + 1);
	assert_int_equal(ep_kind_find_slot("new"), FIRST + 3);
	assert_int_equal(ep_kind_add(FIRST + 1, "toy", toy_errors, &again), 0);
	assert_int_equal(again, toy);
	assert_int_equal(ep_kind_add(FIRST + 2, "other", toy_errors, &again), 0);
	assert_int_equal(again, other);
	assert_int_equal(ep_kind_add(FIRST, "silent", NULL, &again), 0);
	assert_int_equal(ep_kind_add(FIRST + 1, "toy", NULL, &again), -EEXIST);
	assert_int_equal(ep_kind_add(FIRST + 1, "other", toy_errors, &again), -EEXIST);
}

/* The store takes an error number when its language was added, as a frame and in the header. */
EP_TEST_WITH(store_takes_errors_of_languages, clear, clear)
{
	struct ep_store_limits limits = EP_STORE_DEFAULT_LIMITS;
	static struct event said, sent;
	struct ep_interval *iv = NULL;
	struct ep_store *store;
	uint32_t first;

	assert_int_equal(ep_store_new(&limits, 0, &store), 0);
	event_init(&said, EP_EVENT_TRACE, 1, 7);
	event_user(&said, EP_FRAME_NATIVE, 0, 5, 0x1000);
	said.sample.error = EP_ERROR_FIRST_DYNAMIC + 1;
	event_init(&sent, EP_EVENT_TRACE, 2, 7);
	event_user(&sent, EP_FRAME_NATIVE, 0, 5, 0x1000);
	event_user(&sent, EP_FRAME_ERROR, 0, EP_ERROR_FIRST_DYNAMIC + 1, 0xdead);
	assert_int_equal(event_add(store, &sent), -EBADMSG);
	assert_int_equal(ep_kind_add(FIRST, "toy", toy_errors, &first), 0);
	assert_int_equal(event_add(store, &said), 0);
	assert_int_equal(event_add(store, &sent), 0);
	assert_int_equal(ep_store_seal(store, 1, &iv), 0);
	for (uint32_t id = 1; id <= 2; id++) {
		const struct ep_trace *trace = ep_interval_trace(iv, id);
		struct ep_frame frame;

		assert_int_equal(trace->n_frames, 2);
		assert_int_equal(trace->error, EP_ERROR_FIRST_DYNAMIC + 1);
		ep_frames_get(ep_interval_frames(iv), ep_interval_frame_ids(iv, trace)[1], &frame);
		assert_int_equal(frame.kind, EP_FRAME_ERROR);
		assert_int_equal(frame.aux, EP_ERROR_FIRST_DYNAMIC + 1);
	}
	ep_interval_unref(iv);
	ep_store_free(store);
}
