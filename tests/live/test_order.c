/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/bpf/order.h over real rings: children that exec, and more mappings than a side-band ring has
 * space for. Needs root and bpf(); skipped without.
 */
#include "core/bpf/events.h"
#include "core/bpf/order.h"
#include "core/bpf/programs.h"
#include "core/bpf/ring.h"
#include "core/bpf/sideband.h"
#include "core/bpf/sideband_set.h"
#include "tests/kit/test.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>

#define CHILDREN 40
#define SKIP	 77
/* Records of about 128 bytes: they fill a ring of 64 KiB, but not one of 128. */
#define MAPPINGS 600
#define TRIES	 4

/* What was reported of one child, in this order: a letter each. */
struct child {
	pid_t pid;
	char told[32];
};

struct machine {
	struct ep_bpf *bpf;
	struct ep_events *events;
	struct ep_ring *ring;
	struct ep_order *order;
	struct child children[CHILDREN];
	size_t n_children;
	uint64_t last_ns;
	uint64_t n_own, n_lost; /* mappings of this process */
	uint64_t n_known_file;	/* those that were recognised by the right build id or inode */
	struct stat program;	/* of /bin/true */
};

/* False: it is no child of ours. */
static bool tell(struct machine *machine, uint32_t pid, char letter)
{
	bool is_child = false;

	for (size_t i = 0; i < machine->n_children; i++) {
		struct child *child = &machine->children[i];
		size_t len = strlen(child->told);

		if (child->pid != (pid_t)pid)
			continue;
		is_child = true;
		if (len + 1 < sizeof(child->told))
			child->told[len] = letter;
	}
	return is_child;
}

static void on_event(void *arg, const struct ep_event *event, size_t bytes)
{
	struct ep_process_event process;
	struct machine *machine = arg;

	machine->last_ns = event->time_ns;
	if (event->type < EP_EVENT_FORK || event->type > EP_EVENT_EXIT || bytes < sizeof(process))
		return;
	memcpy(&process, event, sizeof(process));
	if (event->type == EP_EVENT_FORK && process.parent_pid == (uint32_t)getpid() &&
	    machine->n_children < CHILDREN)
		machine->children[machine->n_children++].pid = (pid_t)process.pid;
	(void)tell(machine, process.pid, "fex"[event->type - EP_EVENT_FORK]);
}

static void on_mapping(void *arg, const struct ep_mapping_event *event)
{
	struct machine *machine = arg;

	machine->last_ns = event->time_ns;
	machine->n_own += event->pid == getpid();
	if (!tell(machine, (uint32_t)event->pid, 'm') ||
	    (strcmp(event->name, "/usr/bin/true") != 0 && strcmp(event->name, "/bin/true") != 0))
		return;
	machine->n_known_file +=
		event->build_id_bytes == 20 ||
		(event->has_inode && event->inode == machine->program.st_ino &&
		 makedev(event->device_major, event->device_minor) == machine->program.st_dev);
}

static void on_lost(void *arg, uint64_t records)
{
	((struct machine *)arg)->n_lost += records;
}

static const struct ep_order_ops ops = {on_event, on_mapping, on_lost, NULL, NULL, NULL};

static int open_machine(struct machine *machine)
{
	struct ep_bpf_options bpf_options = {
		.ring_bytes = 1 << 20,
		.max_processes = 1024,
		.filter = true,
	};
	struct ep_events_options events_options = {.freq_hz = 99, .sideband = true};
	struct ep_order_options options = {.ops = &ops, .arg = machine};
	uint32_t pid = (uint32_t)getpid();
	int r = ep_bpf_load(&bpf_options, &machine->bpf);

	if (r < 0)
		return r;
	events_options.program_fd = ep_bpf_entry_fd(machine->bpf);
	r = ep_bpf_add_pid(machine->bpf, pid, EP_FILTER_IN(EP_FILTER_PID));
	if (r == 0)
		r = ep_bpf_attach_process_events(machine->bpf);
	if (r == 0)
		r = ep_events_open(&events_options, &machine->events);
	if (r == 0)
		r = ep_ring_open(ep_bpf_map_fd(machine->bpf, "ep_ring"), &machine->ring);
	if (r < 0)
		return r;
	options.ring = machine->ring;
	options.sidebands = ep_events_sidebands(machine->events);
	return ep_order_new(&options, &machine->order);
}

static int setup(void **state)
{
	struct machine *machine = calloc(1, sizeof(*machine));
	int r = machine ? open_machine(machine) : -ENOMEM;

	*state = machine;
	if (r == -EPERM || r == -EACCES || access("/sys/kernel/btf/vmlinux", R_OK) < 0) {
		printf("skip: no BPF here: %s\n", strerror(-r));
		exit(SKIP);
	}
	return r;
}

static int teardown(void **state)
{
	ep_autofree struct machine *machine = *state;

	ep_order_free(machine->order);
	ep_ring_close(machine->ring);
	ep_events_close(machine->events);
	ep_bpf_free(machine->bpf);
	return 0;
}

static void run_true(void)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(9);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static bool is_readable(int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

	return poll(&poll_fd, 1, 1000) == 1;
}

/* Each child: fork, exec, at least program, loader and C library, exit. */
EP_TEST(children_are_told_in_order)
{
	struct machine *machine = *state;
	struct ep_order_stats stats;

	assert_int_equal(stat("/bin/true", &machine->program), 0);
	ep_order_drain(machine->order);
	for (int i = 0; i < CHILDREN; i++) {
		run_true();
		if (i == 0) {
			assert_true(is_readable(ep_ring_fd(machine->ring)));
			assert_true(is_readable(ep_events_poll_fd(machine->events)));
		}
		if (i % 7 == 0)
			assert_true(ep_order_drain(machine->order) >= machine->last_ns);
	}
	ep_order_flush(machine->order);
	assert_int_equal(machine->n_children, CHILDREN);
	for (size_t i = 0; i < CHILDREN; i++) {
		const char *told = machine->children[i].told;

		if (strncmp(told, "femmm", 5) != 0 || told[strlen(told) - 1] != 'x')
			fail_msg("child %zu: %s", i, told);
	}
	assert_int_equal(machine->n_known_file, CHILDREN);
	ep_order_get_stats(machine->order, &stats);
	printf("%" PRIu64 " records, %" PRIu64 " waited, %" PRIu64 " late, at most %" PRIu64 " ns\n",
	       stats.records, stats.waited, stats.late, stats.late_max_ns);
	assert_int_equal(stats.lost, 0);
}

static void map_often(int fd, int times)
{
	for (int i = 0; i < times; i++) {
		void *memory = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

		assert_true(memory != MAP_FAILED);
		munmap(memory, 4096);
	}
}

static size_t bytes_of_cpu(const struct machine *machine, uint32_t cpu)
{
	const struct ep_sideband_set *set = ep_events_sidebands(machine->events);
	size_t bytes = 0;

	for (size_t i = 0; i < ep_sideband_set_len(set); i++) {
		const struct ep_sideband *sideband = ep_sideband_set_at(set, i);

		if (ep_sideband_cpu(sideband) == cpu)
			bytes = EP_MAX(bytes, ep_sideband_bytes(sideband));
	}
	return bytes;
}

/* The kernel tells nothing of a loss until a record fits again; we know at once. */
EP_TEST(losses_are_known_and_rings_grow)
{
	struct machine *machine = *state;
	ep_autoclose int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	cpu_set_t before, one;
	uint32_t cpu;

	assert_true(fd >= 0);
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	cpu = (uint32_t)sched_getcpu();
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	ep_order_flush(machine->order);
	machine->n_own = machine->n_lost = 0;
	assert_int_equal(bytes_of_cpu(machine, cpu), EP_SIDEBAND_MIN_BYTES);
	map_often(fd, MAPPINGS);
	ep_order_drain(machine->order);
	printf("%" PRIu64 " told, %" PRIu64 " lost\n", machine->n_own, machine->n_lost);
	assert_true(machine->n_lost > 0);
	/* Other processes lose some too. */
	assert_true(machine->n_own + machine->n_lost >= MAPPINGS);
	assert_int_equal(bytes_of_cpu(machine, cpu), 2 * EP_SIDEBAND_MIN_BYTES);
	/* Others write into the ring as well: it grows until all of that fits. */
	for (unsigned int i = 0; i == 0 || (i < TRIES && machine->n_lost > 0); i++) {
		machine->n_own = machine->n_lost = 0;
		map_often(fd, MAPPINGS);
		ep_order_drain(machine->order);
		ep_order_flush(machine->order);
	}
	assert_int_equal(machine->n_lost, 0);
	assert_int_equal(machine->n_own, MAPPINGS);
	sched_setaffinity(0, sizeof(before), &before);
}

int main(void)
{
	return ep_test_run(setup, teardown);
}
