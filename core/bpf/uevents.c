/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lib/kobject_uevent.c: strings that each end with a 0 byte,
 *
 *	online@/devices/system/cpu/cpu1  ACTION=online  DEVPATH=...  SUBSYSTEM=cpu  SEQNUM=4711
 *
 * sent by port 0 to group 1. Group 2 is what udev passes on, and a program may send us what it
 * likes: neither is listened to.
 */
#include "core/bpf/uevents.h"

#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>

#define KERNEL_GROUP 1
/* Messages looked at in one go; whoever has more to say is taken to have said it. */
#define MAX_MESSAGES 256

static const char *const actions[] = {"add", "remove", "online", "offline"};

int ep_uevents_open(void)
{
	struct sockaddr_nl own = {.nl_family = AF_NETLINK, .nl_groups = KERNEL_GROUP};
	ep_autoclose int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
				     NETLINK_KOBJECT_UEVENT);

	if (fd < 0 || bind(fd, (struct sockaddr *)&own, sizeof(own)) < 0)
		return -errno;
	return ep_take_fd(fd);
}

static bool is_action(const char *text, size_t len)
{
	for (size_t i = 0; i < EP_LEN(actions); i++) {
		if (strlen(actions[i]) == len && memcmp(actions[i], text, len) == 0)
			return true;
	}
	return false;
}

bool ep_uevent_is_cpu(const char *message, size_t bytes)
{
	static const char action[] = "ACTION=", subsystem[] = "SUBSYSTEM=cpu";
	const size_t action_len = sizeof(action) - 1;
	bool of_cpu = false, comes_or_goes = false;
	size_t len;

	for (size_t pos = 0; pos < bytes; pos += len + 1) {
		const char *text = message + pos;

		len = strnlen(text, bytes - pos);
		if (len == bytes - pos)
			return false; /* cut off */
		if (len == sizeof(subsystem) - 1 && memcmp(text, subsystem, len) == 0)
			of_cpu = true;
		if (len > action_len && memcmp(text, action, action_len) == 0)
			comes_or_goes = is_action(text + action_len, len - action_len);
	}
	return of_cpu && comes_or_goes;
}

/* 1: of a CPU, or of what was dropped; 0: of something else; -EAGAIN: there is none. */
static int take_one(int fd)
{
	char message[EP_UEVENT_MAX_BYTES];
	struct sockaddr_nl from = {0};
	socklen_t from_bytes = sizeof(from);
	ssize_t n = recvfrom(fd, message, sizeof(message), MSG_TRUNC, (struct sockaddr *)&from,
			     &from_bytes);

	if (n < 0)
		return errno == ENOBUFS ? 1 : errno == EINTR ? 0 : -EAGAIN;
	if (from_bytes < sizeof(from) || from.nl_pid != 0 || (size_t)n > sizeof(message))
		return 0;
	return ep_uevent_is_cpu(message, (size_t)n);
}

bool ep_uevents_take(int fd)
{
	bool changed = false;
	int r = 0;

	for (int i = 0; i < MAX_MESSAGES; i++) {
		r = take_one(fd);
		if (r < 0)
			return changed;
		changed |= r > 0;
	}
	return true;
}
