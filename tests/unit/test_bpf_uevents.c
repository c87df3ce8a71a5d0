/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bpf/uevents.h"
#include "tests/kit/test.h"

#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

struct row {
	const char *label, *message;
	size_t bytes;
	unsigned int what;
};

#define TEXT(text) (text), sizeof(text)

static const struct row rows[] = {
	{"online", TEXT("online@/devices/system/cpu/cpu1\0ACTION=online\0SUBSYSTEM=cpu\0SEQNUM=7"), EP_UEVENT_CPU},
	{"offline", TEXT("offline@/x\0ACTION=offline\0SUBSYSTEM=cpu"), EP_UEVENT_CPU},
	{"add", TEXT("add@/x\0ACTION=add\0SUBSYSTEM=cpu"), EP_UEVENT_CPU},
	{"remove", TEXT("remove@/x\0SUBSYSTEM=cpu\0ACTION=remove"), EP_UEVENT_CPU},
	{"change", TEXT("change@/x\0ACTION=change\0SUBSYSTEM=cpu"), 0},
	{"longer action", TEXT("x@/x\0ACTION=onlines\0SUBSYSTEM=cpu"), 0},
	{"shorter action", TEXT("x@/x\0ACTION=onlin\0SUBSYSTEM=cpu"), 0},
	{"no action", TEXT("x@/x\0ACTION=\0SUBSYSTEM=cpu"), 0},
	{"other subsystem", TEXT("add@/x\0ACTION=add\0SUBSYSTEM=cpuid"), 0},
	{"network", TEXT("add@/devices/virtual/net/veth0\0ACTION=add\0SUBSYSTEM=net"), 0},
	{"module comes", TEXT("add@/module/veth\0ACTION=add\0SUBSYSTEM=module"), EP_UEVENT_MODULE},
	{"module goes", TEXT("remove@/module/veth\0ACTION=remove\0SUBSYSTEM=module"), EP_UEVENT_MODULE},
	{"other modules", TEXT("add@/x\0ACTION=add\0SUBSYSTEM=modules"), 0},
	{"cut off", "add@/x\0ACTION=add\0SUBSYSTEM=cpu", sizeof("add@/x\0ACTION=add\0SUBSYSTEM=cpu") - 1, 0},
	{"empty", "", 0, 0},
	{"zeroes", "\0\0\0", 4, 0},
};

EP_TEST(says_what_messages_are_of)
{
	for (size_t i = 0; i < EP_LEN(rows); i++) {
		if (ep_uevent_parse(rows[i].message, rows[i].bytes) != rows[i].what)
			fail_msg("%s", rows[i].label);
	}
}

/* As the kernel, but from a port of its own. */
static int send_message(int to, const char *message, size_t bytes)
{
	struct sockaddr_nl addr = {0};
	socklen_t addr_bytes = sizeof(addr);
	ep_autoclose int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);
	ssize_t n;

	assert_true(fd >= 0);
	assert_int_equal(getsockname(to, (struct sockaddr *)&addr, &addr_bytes), 0);
	addr.nl_groups = 0;
	n = sendto(fd, message, bytes, 0, (struct sockaddr *)&addr, sizeof(addr));
	return n < 0 ? -errno : 0;
}

EP_TEST(listens_to_the_kernel_alone)
{
	int fd = ep_uevents_open(), r;

	if (fd < 0)
		skip();
	(void)ep_uevents_take(fd);
	r = send_message(fd, rows[0].message, rows[0].bytes);
	if (r < 0) {
		close(fd);
		skip(); /* this kernel lets nobody send: nothing to refuse */
	}
	assert_false(ep_uevents_take(fd));
	close(fd);
}

/* A datagram socket serves as the kernel's: its sender has no address that could be checked. */
EP_TEST(a_sender_without_a_port_is_nobody)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair), 0);
	assert_false(ep_uevents_take(pair[0]));
	assert_int_equal(send(pair[1], rows[0].message, rows[0].bytes, 0), rows[0].bytes);
	assert_false(ep_uevents_take(pair[0]));
	close(pair[0]);
	close(pair[1]);
}

EP_TEST(more_than_it_reads_counts_as_news)
{
	int pair[2], bytes = 212992; /* as much as everybody may have: net.core.wmem_max */

	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair), 0);
	assert_int_equal(setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)), 0);
	for (int i = 0; i < 300; i++)
		assert_int_equal(send(pair[1], "x", 1, 0), 1);
	assert_int_equal(ep_uevents_take(pair[0]), EP_UEVENT_ALL);
	close(pair[0]);
	close(pair[1]);
}
