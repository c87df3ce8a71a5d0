/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bpf/ticker.h"
#include "core/base/clock.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

/* What a read gives: read_format of perf_event_open(2). */
struct reading {
	uint64_t count;	     /* of the CPU clock: ns that its timer was armed */
	uint64_t enabled_ns; /* the same with the time it was throttled */
	uint64_t running_ns; /* the same, but none where its CPU does not know it any more */
};

/*
 * A period, not a frequency: the kernel would make 1/F of that (perf_swevent_init_hrtimer), and
 * refuse what is above kernel.perf_event_max_sample_rate.
 */
static int open_clock(uint32_t cpu, uint64_t period_ns)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period_ns,
		.disabled = 1,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* The ioctl works on every kernel; a link would need 5.15. */
int ep_ticker_open(uint32_t cpu, uint64_t period_ns, int program_fd, struct ep_ticker *ret_ticker)
{
	ep_autoclose int fd = open_clock(cpu, period_ns);

	if (fd < 0)
		return fd;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program_fd) < 0)
		return -errno;
	*ret_ticker = (struct ep_ticker){
		.cpu = cpu,
		.fd = ep_take_fd(fd),
		.period_ns = period_ns,
	};
	return 0;
}

void ep_ticker_close(struct ep_ticker *ticker)
{
	ep_closep(&ticker->fd);
}

static bool read_clock(const struct ep_ticker *ticker, struct reading *ret)
{
	return read(ticker->fd, ret, sizeof(*ret)) == sizeof(*ret);
}

int ep_ticker_start(struct ep_ticker *ticker, const struct ep_ticks *before, uint64_t idle_ns)
{
	struct ep_missed_look first = {.ticks = *before, .idle_ns = idle_ns};

	if (ioctl(ticker->fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		return -errno;
	first.before_ns = ep_clock_mono_ns();
	first.behind_ns = first.before_ns;
	ep_missed_begin(&ticker->missed, ticker->period_ns, &first);
	ticker->is_started = true;
	return 0;
}

void ep_ticker_stop(struct ep_ticker *ticker)
{
	ticker->stopped_ns = ep_clock_mono_ns();
	(void)ioctl(ticker->fd, PERF_EVENT_IOC_DISABLE, 0);
}

/*
 * A CPU that went away, for a moment too, has let go of its events (linux/kernel/events/core.c,
 * perf_event_exit_cpu_context). One that is enabled only then counts as enabled, but never runs.
 */
bool ep_ticker_is_alive(const struct ep_ticker *ticker)
{
	struct reading first, second;

	if (!ticker->is_started || !read_clock(ticker, &first) || !read_clock(ticker, &second))
		return true;
	return second.running_ns > first.running_ns;
}

void ep_ticker_begin_look(struct ep_ticker *ticker, bool throttles)
{
	struct reading reading = {0};

	ticker->look = (struct ep_missed_look){
		.before_ns = ticker->stopped_ns ? ticker->stopped_ns : ep_clock_mono_ns(),
	};
	if (read_clock(ticker, &reading))
		ticker->look.armed_ns = throttles ? reading.enabled_ns : reading.count;
}

void ep_ticker_end_look(struct ep_ticker *ticker, const struct ep_ticks *ticks, uint64_t idle_ns,
			bool is_last)
{
	if (!ticker->is_started)
		return;
	ticker->look.behind_ns = ep_clock_mono_ns();
	ticker->look.ticks = *ticks;
	ticker->look.idle_ns = idle_ns;
	ep_missed_look(&ticker->missed, &ticker->look, is_last);
}
