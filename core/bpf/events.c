/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bpf/events.h"
#include "core/base/log.h"
#include "core/base/vec.h"
#include "core/bpf/cpus.h"
#include "core/bpf/sideband.h"
#include "core/bpf/sideband_set.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

struct cpu_events {
	uint32_t cpu;
	int sample_fd;
	uint64_t enabled_ns; /* how long the event has been enabled, when it was last looked at */
};

struct ep_events {
	struct ep_events_options options;
	struct ep_vec cpus; /* struct cpu_events, sorted by cpu */
	struct ep_sideband_set *sidebands; /* NULL: not wanted */
	bool running;
};

static int open_clock(uint32_t cpu, uint32_t freq_hz)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq = freq_hz,
		.freq = 1,
		.disabled = 1,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* The ioctl works on every kernel; a link would need 5.15. */
static int open_sampling(const struct ep_events *events, uint32_t cpu)
{
	ep_autoclose int fd = open_clock(cpu, events->options.freq_hz);

	if (fd < 0)
		return fd;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, events->options.program_fd) < 0)
		return -errno;
	if (events->running && ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		return -errno;
	return ep_take_fd(fd);
}

static void open_sideband(struct ep_events *events, uint32_t cpu)
{
	int r = ep_sideband_set_add(events->sidebands, cpu);

	if (r < 0)
		ep_log(EP_LOG_DEBUG, "events: CPU %u: no side-band records: %s", cpu,
		       ep_strerror(r));
}

static void close_cpu(struct ep_events *events, struct cpu_events *cpu)
{
	ep_closep(&cpu->sample_fd);
	if (events->sidebands)
		ep_sideband_set_remove(events->sidebands, cpu->cpu);
}

/* A CPU that went away between the list and the call is no error. */
static int add_cpu(struct ep_events *events, uint32_t number)
{
	struct cpu_events *cpu;
	int fd = open_sampling(events, number);

	if (fd == -ENODEV)
		return 0;
	if (fd < 0)
		return fd;
	cpu = ep_vec_push(&events->cpus);
	if (!cpu) {
		close(fd);
		return -ENOMEM;
	}
	*cpu = (struct cpu_events){.cpu = number, .sample_fd = fd};
	if (events->sidebands)
		open_sideband(events, number);
	return 0;
}

static bool has_cpu(const struct ep_events *events, uint32_t number)
{
	const struct cpu_events *cpu;

	ep_vec_each(&events->cpus, cpu) {
		if (cpu->cpu == number)
			return true;
	}
	return false;
}

/*
 * An event does not survive its CPU going offline, even if the CPU is back before anybody looks: it
 * then stands still. A running one gets older.
 */
static bool is_alive(const struct ep_events *events, struct cpu_events *cpu)
{
	uint64_t values[2]; /* count, time enabled: perf_event_open(2), read_format */
	uint64_t before_ns = cpu->enabled_ns;

	if (!events->running || read(cpu->sample_fd, values, sizeof(values)) != sizeof(values))
		return true;
	cpu->enabled_ns = values[1];
	return values[1] > before_ns;
}

static void drop_cpus(struct ep_events *events, const struct ep_cpus *online)
{
	size_t kept = 0;

	for (size_t i = 0; i < events->cpus.len; i++) {
		struct cpu_events *cpu = ep_vec_at(&events->cpus, struct cpu_events, i);

		if (ep_cpus_has(online, cpu->cpu) && is_alive(events, cpu))
			*ep_vec_at(&events->cpus, struct cpu_events, kept++) = *cpu;
		else
			close_cpu(events, cpu);
	}
	events->cpus.len = kept;
}

int ep_events_sync_cpus(struct ep_events *events)
{
	struct ep_cpus online;
	int r = ep_cpus_read_online(&online);

	if (r < 0)
		return r;
	drop_cpus(events, &online);
	for (uint32_t cpu = 0; cpu < EP_MAX_CPUS; cpu++) {
		if (!ep_cpus_has(&online, cpu) || has_cpu(events, cpu))
			continue;
		r = add_cpu(events, cpu);
		if (r < 0)
			return r;
	}
	return (int)events->cpus.len;
}

int ep_events_open(const struct ep_events_options *options, struct ep_events **ret_events)
{
	struct ep_events *events = calloc(1, sizeof(*events));
	int r = 0;

	if (!events)
		return -ENOMEM;
	events->options = *options;
	ep_vec_init(&events->cpus, sizeof(struct cpu_events), EP_MAX_CPUS);
	if (options->sideband)
		r = ep_sideband_set_new(ep_sideband_open, &events->sidebands);
	if (r == 0)
		r = ep_events_sync_cpus(events);
	if (r < 0) {
		ep_events_close(events);
		return r;
	}
	*ret_events = events;
	return 0;
}

void ep_events_close(struct ep_events *events)
{
	struct cpu_events *cpu;

	if (!events)
		return;
	ep_vec_each(&events->cpus, cpu)
		ep_closep(&cpu->sample_fd);
	ep_vec_fini(&events->cpus);
	ep_sideband_set_free(events->sidebands);
	free(events);
}

static int control_all(struct ep_events *events, unsigned long request)
{
	struct cpu_events *cpu;

	ep_vec_each(&events->cpus, cpu) {
		if (ioctl(cpu->sample_fd, request, 0) < 0)
			return -errno;
	}
	return 0;
}

int ep_events_start(struct ep_events *events)
{
	events->running = true;
	return control_all(events, PERF_EVENT_IOC_ENABLE);
}

void ep_events_stop(struct ep_events *events)
{
	events->running = false;
	(void)control_all(events, PERF_EVENT_IOC_DISABLE);
}

int ep_events_poll_fd(const struct ep_events *events)
{
	return events->sidebands ? ep_sideband_set_fd(events->sidebands) : -1;
}

struct ep_sideband_set *ep_events_sidebands(const struct ep_events *events)
{
	return events->sidebands;
}

uint64_t ep_events_drain(struct ep_events *events, ep_mapping_visit visit, void *arg)
{
	size_t n = events->sidebands ? ep_sideband_set_len(events->sidebands) : 0;
	uint64_t lost = 0;

	for (size_t i = 0; i < n; i++)
		lost += ep_sideband_drain(ep_sideband_set_at(events->sidebands, i), visit, arg);
	if (events->sidebands)
		ep_sideband_set_settle(events->sidebands);
	return lost;
}
