/* SPDX-License-Identifier: Apache-2.0 */
/* When somebody who did not answer is asked again. An abandoned reader is a child of this test. */
#include "core/proc/silent.h"
#include "core/proc/process.h"
#include "tests/kit/test.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static const struct ep_silent device = {.dev = 42}, other = {.dev = 43}, process = {.pid = 7, .start_ns = EP_NS_PER_SEC};

static struct ep_silents *new_silents(void)
{
	struct ep_silents *silents = calloc(1, sizeof(*silents));

	assert_non_null(silents);
	return silents;
}

EP_TEST(a_device_is_tried_later_and_later)
{
	struct ep_silents *silents = new_silents();
	uint64_t now_ns = 5 * EP_NS_PER_SEC, wait_ns = EP_SILENT_FIRST_NS;

	assert_int_equal(ep_silents_ask(silents, &device, now_ns), EP_SILENT_NOT);
	assert_int_equal(ep_silents_add(silents, &device, false, 0, 0, now_ns), wait_ns);
	for (int i = 0; i < 12; i++) {
		assert_int_equal(ep_silents_ask(silents, &device, now_ns + wait_ns - 1), EP_SILENT_YES);
		now_ns += wait_ns;
		wait_ns = EP_MIN(2 * wait_ns, EP_SILENT_LAST_NS);
		assert_int_equal(ep_silents_ask(silents, &device, now_ns), EP_SILENT_TRY);
		assert_int_equal(ep_silents_ask(silents, &device, now_ns), EP_SILENT_YES); /* one at a time */
		assert_int_equal(ep_silents_add(silents, &device, true, 0, 0, now_ns), wait_ns);
	}
	assert_int_equal(wait_ns, EP_SILENT_LAST_NS);
	assert_int_equal(ep_silents_ask(silents, &other, now_ns), EP_SILENT_NOT);
	free(silents);
}

EP_TEST(one_that_answers_is_as_all_others)
{
	struct ep_silents *silents = new_silents();

	(void)ep_silents_add(silents, &device, false, 0, 0, 0);
	assert_int_equal(ep_silents_ask(silents, &device, EP_SILENT_FIRST_NS), EP_SILENT_TRY);
	ep_silents_tried(silents, &device, false); /* nobody could be asked */
	assert_int_equal(ep_silents_ask(silents, &device, EP_SILENT_FIRST_NS), EP_SILENT_TRY);
	ep_silents_tried(silents, &device, true);
	assert_int_equal(ep_silents_ask(silents, &device, 0), EP_SILENT_NOT);
	assert_int_equal(ep_silents_add(silents, &device, false, 0, 0, 0), EP_SILENT_FIRST_NS);
	free(silents);
}

/* Of two that were late at once neither has tried again. */
EP_TEST(who_is_late_at_once_waits_once)
{
	struct ep_silents *silents = new_silents();

	assert_int_equal(ep_silents_add(silents, &device, false, 0, 0, 0), EP_SILENT_FIRST_NS);
	assert_int_equal(ep_silents_add(silents, &device, false, 0, 0, 0), EP_SILENT_FIRST_NS);
	assert_int_equal(ep_silents_ask(silents, &device, EP_SILENT_FIRST_NS), EP_SILENT_TRY);
	free(silents);
}

EP_TEST(a_process_is_never_asked_again)
{
	struct ep_silents *silents = new_silents();
	struct ep_silent next = {.pid = 7, .start_ns = 9 * EP_NS_PER_SEC};

	assert_int_equal(ep_silents_add(silents, &process, false, 0, 0, 0), 0);
	assert_int_equal(ep_silents_ask(silents, &process, 1ull << 60), EP_SILENT_YES);
	assert_int_equal(ep_silents_ask(silents, &next, 1ull << 60), EP_SILENT_NOT);
	free(silents);
}

EP_TEST(nobody_tries_while_the_last_reader_hangs)
{
	struct ep_silents *silents = new_silents();
	struct ep_process_info info;
	pid_t pid = ep_test_child();

	assert_int_equal(ep_process_read_stat(pid, &info), 0);
	(void)ep_silents_add(silents, &device, false, pid, info.start_ns, 0);
	assert_int_equal(ep_silents_ask(silents, &device, EP_SILENT_FIRST_NS), EP_SILENT_YES);
	/* Another process that has its pid by now does not count. */
	(void)ep_silents_add(silents, &other, false, pid, info.start_ns + EP_NS_PER_SEC, 0);
	assert_int_equal(ep_silents_ask(silents, &other, EP_SILENT_FIRST_NS), EP_SILENT_TRY);
	kill(pid, SIGKILL);
	do
		assert_int_equal(ep_process_read_stat(pid, &info), 0);
	while (info.state != 'Z');
	assert_int_equal(ep_silents_ask(silents, &device, EP_SILENT_FIRST_NS), EP_SILENT_TRY);
	free(silents);
}

EP_TEST(of_very_many_the_oldest_are_forgotten)
{
	struct ep_silents *silents = new_silents();

	for (uint64_t dev = 100; dev < 100 + 3 * EP_MAX_SILENT; dev++)
		(void)ep_silents_add(silents, &(struct ep_silent){.dev = dev}, false, 0, 0, 0);
	assert_int_equal(ep_silents_ask(silents, &(struct ep_silent){.dev = 100}, 0), EP_SILENT_NOT);
	assert_int_equal(ep_silents_ask(silents, &(struct ep_silent){.dev = 99 + 3 * EP_MAX_SILENT}, 0),
			 EP_SILENT_YES);
	free(silents);
}
