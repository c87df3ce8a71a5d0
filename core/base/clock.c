/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/clock.h"
#include "core/base/parse.h"
#include "core/base/util.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#define OFFSETS_PATH "/proc/self/timens_offsets"
#define OFFSETS_BYTES 256

/* The offsets of our own time namespace: a process has one, and it does not change. */
static struct ep_clock_offsets own_offsets;
static pthread_once_t offsets_are_read = PTHREAD_ONCE_INIT;

/* --- time namespaces -------------------------------------------------------------------------- */

static void skip_spaces(const char **pos, const char *end)
{
	while (*pos < end && **pos == ' ')
		(*pos)++;
}

/* "NAME   -SECONDS   NANOSECONDS" of a line. */
static int parse_offset(const char *pos, const char *end, const char *name, int64_t *ret_ns)
{
	uint64_t seconds, ns;
	bool is_negative;

	if ((size_t)(end - pos) < strlen(name) || memcmp(pos, name, strlen(name)) != 0)
		return -ENODATA;
	pos += strlen(name);
	skip_spaces(&pos, end);
	is_negative = pos < end && *pos == '-';
	pos += is_negative;
	if (ep_parse_u64(&pos, end, 10, &seconds) < 0 || seconds > INT64_MAX / EP_NS_PER_SEC - 1)
		return -EBADMSG;
	skip_spaces(&pos, end);
	if (ep_parse_u64(&pos, end, 10, &ns) < 0 || ns >= EP_NS_PER_SEC)
		return -EBADMSG;
	*ret_ns = (is_negative ? -(int64_t)seconds : (int64_t)seconds) * (int64_t)EP_NS_PER_SEC + (int64_t)ns;
	return 0;
}

int ep_clock_parse_offsets(const char *text, size_t bytes, struct ep_clock_offsets *ret)
{
	struct ep_clock_offsets found = {0};
	const char *end = text + bytes;

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text)), *stop = newline ? newline : end;

		if (parse_offset(text, stop, "monotonic ", &found.mono_ns) == -EBADMSG ||
		    parse_offset(text, stop, "boottime ", &found.boot_ns) == -EBADMSG)
			return -EBADMSG;
		text = stop + 1;
	}
	*ret = found;
	return 0;
}

/* A kernel without time namespaces has no such file. */
static void read_offsets(void)
{
	ep_autoclose int fd = open(OFFSETS_PATH, O_RDONLY | O_CLOEXEC);
	char text[OFFSETS_BYTES];
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text));

	if (n > 0)
		(void)ep_clock_parse_offsets(text, (size_t)n, &own_offsets);
}

struct ep_clock_offsets ep_clock_offsets(void)
{
	(void)pthread_once(&offsets_are_read, read_offsets);
	return own_offsets;
}

/* --- clocks ----------------------------------------------------------------------------------- */

static uint64_t read_clock(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * EP_NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

uint64_t ep_clock_mono_ns(void)
{
	return read_clock(CLOCK_MONOTONIC) - (uint64_t)ep_clock_offsets().mono_ns;
}

uint64_t ep_clock_passed_ns(uint64_t since_ns)
{
	return since_ns ? ep_clock_mono_ns() - since_ns : 0;
}

uint64_t ep_clock_boot_ns(void)
{
	return read_clock(CLOCK_BOOTTIME) - (uint64_t)ep_clock_offsets().boot_ns;
}

uint64_t ep_clock_wall_ns(void)
{
	return read_clock(CLOCK_REALTIME);
}

uint64_t ep_clock_cpu_ns(void)
{
	return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t ep_clock_thread_cpu_ns(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}
