/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bpf/sideband_set.h"
#include "core/base/log.h"
#include "core/base/vec.h"
#include "core/bpf/cpus.h"
#include "core/bpf/sideband.h"

#include <errno.h>
#include <sys/epoll.h>

struct member {
	struct ep_sideband *ring;
	bool stopped;	 /* only to be emptied */
	bool no_growing; /* the kernel refused once: locked memory has a limit */
};

struct ep_sideband_set {
	struct ep_vec members; /* struct member */
	ep_sideband_opener opener;
	int epoll_fd;
};

int ep_sideband_set_new(ep_sideband_opener opener, struct ep_sideband_set **ret_set)
{
	struct ep_sideband_set *set = calloc(1, sizeof(*set));

	if (!set)
		return -ENOMEM;
	set->opener = opener;
	ep_vec_init(&set->members, sizeof(struct member), 2 * EP_MAX_CPUS);
	set->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (set->epoll_fd < 0) {
		int r = -errno;

		free(set);
		return r;
	}
	*ret_set = set;
	return 0;
}

void ep_sideband_set_free(struct ep_sideband_set *set)
{
	struct member *member;

	if (!set)
		return;
	ep_vec_each(&set->members, member)
		ep_sideband_close(member->ring);
	ep_vec_fini(&set->members);
	ep_closep(&set->epoll_fd);
	free(set);
}

int ep_sideband_set_fd(const struct ep_sideband_set *set)
{
	return set->epoll_fd;
}

size_t ep_sideband_set_len(const struct ep_sideband_set *set)
{
	return set->members.len;
}

struct ep_sideband *ep_sideband_set_at(const struct ep_sideband_set *set, size_t i)
{
	return ep_vec_at(&set->members, struct member, i)->ring;
}

static int add_ring(struct ep_sideband_set *set, uint32_t cpu, size_t bytes)
{
	struct epoll_event event = {.events = EPOLLIN};
	struct ep_sideband *ring;
	struct member *member;
	int r = set->opener(cpu, bytes, &ring);

	if (r < 0)
		return r;
	member = ep_vec_push(&set->members);
	if (!member) {
		ep_sideband_close(ring);
		return -ENOMEM;
	}
	member->ring = ring;
	if (ep_sideband_fd(ring) >= 0)
		(void)epoll_ctl(set->epoll_fd, EPOLL_CTL_ADD, ep_sideband_fd(ring), &event);
	return 0;
}

/*
 * perf_event_mlock_kb and RLIMIT_MEMLOCK, or its pages are not to be had in a piece
 * (kernel/events/core.c, perf_mmap).
 */
static bool is_too_large(int r)
{
	return r == -EPERM || r == -ENOMEM;
}

int ep_sideband_set_add(struct ep_sideband_set *set, uint32_t cpu)
{
	size_t bytes = EP_SIDEBAND_MIN_BYTES;
	int r = add_ring(set, cpu, bytes);

	while (is_too_large(r) && bytes > EP_SIDEBAND_LEAST_BYTES) {
		bytes /= 2;
		r = add_ring(set, cpu, bytes);
	}
	return r;
}

static void stop(struct member *member)
{
	member->stopped = true;
	ep_sideband_stop(member->ring);
}

void ep_sideband_set_remove(struct ep_sideband_set *set, uint32_t cpu)
{
	struct member *member;

	ep_vec_each(&set->members, member) {
		if (ep_sideband_cpu(member->ring) == cpu && !member->stopped)
			stop(member);
	}
}

/* The vector may move when a ring is added. */
static void grow(struct ep_sideband_set *set, size_t i)
{
	struct ep_sideband *ring = ep_sideband_set_at(set, i);
	uint32_t cpu = ep_sideband_cpu(ring);
	size_t bytes = 2 * ep_sideband_bytes(ring);
	int r = add_ring(set, cpu, bytes);

	if (r < 0) {
		ep_log(EP_LOG_DEBUG, "sideband: CPU %u: no ring of %zu KiB: %s", cpu, bytes >> 10,
		       ep_strerror(r));
		ep_vec_at(&set->members, struct member, i)->no_growing = true;
		return;
	}
	ep_log(EP_LOG_DEBUG, "sideband: CPU %u: lost records, its ring has %zu KiB now", cpu,
	       bytes >> 10);
	stop(ep_vec_at(&set->members, struct member, i));
}

static bool should_grow(const struct member *member)
{
	return !member->stopped && !member->no_growing && ep_sideband_is_lossy(member->ring) &&
	       ep_sideband_bytes(member->ring) < EP_SIDEBAND_MAX_BYTES;
}

static bool is_done(const struct member *member)
{
	return member->stopped && ep_sideband_used_bytes(member->ring) == 0;
}

void ep_sideband_set_settle(struct ep_sideband_set *set)
{
	size_t kept = 0, len = set->members.len;

	for (size_t i = 0; i < len; i++) {
		struct member *member = ep_vec_at(&set->members, struct member, i);

		if (is_done(member))
			ep_sideband_close(member->ring);
		else
			*ep_vec_at(&set->members, struct member, kept++) = *member;
	}
	set->members.len = len = kept;
	for (size_t i = 0; i < len; i++) {
		if (should_grow(ep_vec_at(&set->members, struct member, i)))
			grow(set, i);
	}
}
