/* SPDX-License-Identifier: Apache-2.0 */
/* Time namespaces: what the kernel says of ours, and clocks in one that is made. */
#include "core/base/clock.h"
#include "core/base/util.h"
#include "tests/kit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DAY_NS ((int64_t)(86400 * EP_NS_PER_SEC))

EP_TEST(offsets_are_read)
{
	static const struct {
		const char *text;
		int r;
		int64_t mono_ns, boot_ns;
	} rows[] = {
		{"monotonic           0         0\nboottime            0         0\n", 0, 0, 0},
		{"monotonic       86400         0\nboottime      -86400         0\n", 0, DAY_NS, -DAY_NS},
		{"monotonic          -2 500000000\nboottime    7 1", 0, -1500000000, 7000000001},
		{"boottime 3 0\n", 0, 0, 3000000000},
		{"", 0, 0, 0},
		{"realtime 5 5\n", 0, 0, 0},
		{"monotonic x 0\n", -EBADMSG, 0, 0},
		{"monotonic 1 1000000000\n", -EBADMSG, 0, 0},
		{"monotonic 9999999999 0\n", -EBADMSG, 0, 0},
		{"monotonic 1", -EBADMSG, 0, 0},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct ep_clock_offsets offsets = {1, 1};

		assert_int_equal(ep_clock_parse_offsets(rows[i].text, strlen(rows[i].text), &offsets), rows[i].r);
		if (rows[i].r == 0) {
			assert_int_equal(offsets.mono_ns, rows[i].mono_ns);
			assert_int_equal(offsets.boot_ns, rows[i].boot_ns);
		}
	}
}

static uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * EP_NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

static bool write_offsets(const char *text)
{
	ep_autoclose int fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* Clocks are the kernel's own, whatever the namespace adds: a child of it reads what we read. */
EP_TEST(clocks_are_the_kernels)
{
	uint64_t mono_ns, boot_ns;
	int status;
	pid_t pid = fork();

	if (pid == 0) { /* children of this one are in the namespace */
		if (unshare(CLONE_NEWTIME) < 0 || !write_offsets("monotonic 864000 7\nboottime 86400 9\n"))
			_exit(77);
		mono_ns = clock_ns(CLOCK_MONOTONIC);
		boot_ns = clock_ns(CLOCK_BOOTTIME);
		pid = fork();
		if (pid == 0)
			_exit(ep_clock_mono_ns() - mono_ns < 3600 * EP_NS_PER_SEC &&
				      ep_clock_boot_ns() - boot_ns < 3600 * EP_NS_PER_SEC &&
				      ep_clock_offsets().boot_ns == DAY_NS + 9
				      ? 0
				      : 1);
		_exit(waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip(); /* no privilege, or no time namespaces */
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Of what did not begin it is not the time since the machine did. Last: it reads our offsets, for good. */
EP_TEST(nothing_passes_before_the_begin)
{
	uint64_t begin_ns = ep_clock_mono_ns();

	assert_int_equal(ep_clock_passed_ns(0), 0);
	assert_in_range(ep_clock_passed_ns(begin_ns - EP_NS_PER_MS), EP_NS_PER_MS, 3600 * EP_NS_PER_SEC);
}

int main(void)
{
	return ep_test_run(NULL, NULL);
}
