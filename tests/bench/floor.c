/* SPDX-License-Identifier: Apache-2.0 */
/*
 * floor OBJECT HZ: runs the program of floor.bpf.c on every CPU until it is killed, on the
 * same kind of event as ours, and empties its ring now and then. Says "sampling" when it does.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DRAIN_US 100000 /* core/agent/session.c: as often as ours */

static int on_event(void *context, void *data, size_t bytes)
{
	(void)context, (void)data, (void)bytes;
	return 0;
}

static int attach(struct bpf_program *prog, int cpu, unsigned long hz)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq = hz,
		.freq = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return errno == ENODEV ? 0 : -errno;
	return ioctl(fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(prog)) < 0 ? -errno : 0;
}

static struct bpf_object *load(const char *path)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);

	return object && bpf_object__load(object) < 0 ? NULL : object;
}

int main(int argc, char **argv)
{
	struct bpf_object *object = argc > 2 ? load(argv[1]) : NULL;
	struct bpf_program *prog = object ? bpf_object__find_program_by_name(object, "cost_floor") : NULL;
	struct ring_buffer *ring;
	int r = 0;

	if (!prog) {
		fputs("usage: floor OBJECT HZ; or the object was refused\n", stderr);
		return 2;
	}
	for (int cpu = 0; r == 0 && cpu < libbpf_num_possible_cpus(); cpu++)
		r = attach(prog, cpu, strtoul(argv[2], NULL, 10));
	ring = ring_buffer__new(bpf_object__find_map_fd_by_name(object, "ring"), on_event, NULL, NULL);
	if (r < 0 || !ring) {
		fprintf(stderr, "floor: cannot attach: %s\n", strerror(-r));
		return 1;
	}
	puts("sampling");
	fflush(stdout);
	for (;;) {
		usleep(DRAIN_US);
		(void)ring_buffer__consume(ring);
	}
}
