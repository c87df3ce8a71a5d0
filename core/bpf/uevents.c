/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strings that each end with a 0 byte,
 *
 *	online@/devices/system/cpu/cpu1  ACTION=online  DEVPATH=...  SUBSYSTEM=cpu  SEQNUM=4711
 *
 * (lib/kobject_uevent.c; of modules kernel/module/main.c, do_init_module and free_module)
 * sent by port 0 to group 1. Group 2 is what udev passes on, and a program may send us what it
 * likes: neither is listened to.
 */
#include "core/bpf/uevents.h"

#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>

#define KERNEL_GROUP 1
/* Messages looked at in one go; whoever has more to say is taken to have reported it. */
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

static unsigned int subsystem_of(const char *text, size_t len)
{
	static const struct {
		const char *text;
		enum ep_uevent what;
	} rows[] = {{"SUBSYSTEM=cpu", EP_UEVENT_CPU}, {"SUBSYSTEM=module", EP_UEVENT_MODULE}};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		if (strlen(rows[i].text) == len && memcmp(rows[i].text, text, len) == 0)
			return rows[i].what;
	}
	return 0;
}

unsigned int ep_uevent_parse(const char *message, size_t bytes)
{
	static const char action[] = "ACTION=";
	const size_t action_len = sizeof(action) - 1;
	bool comes_or_goes = false;
	unsigned int what = 0;
	size_t len;

	for (size_t pos = 0; pos < bytes; pos += len + 1) {
		const char *text = message + pos;

		len = strnlen(text, bytes - pos);
		if (len == bytes - pos)
			return 0; /* cut off */
		what |= subsystem_of(text, len);
		if (len > action_len && memcmp(text, action, action_len) == 0)
			comes_or_goes = is_action(text + action_len, len - action_len);
	}
	return comes_or_goes ? what : 0;
}

/* Bits of enum ep_uevent, all of them for what was dropped; -EAGAIN: there is no message. */
static int take_one(int fd)
{
	char message[EP_UEVENT_MAX_BYTES];
	struct sockaddr_nl from = {0};
	socklen_t from_bytes = sizeof(from);
	ssize_t n = recvfrom(fd, message, sizeof(message), MSG_TRUNC, (struct sockaddr *)&from,
			     &from_bytes);

	if (n < 0)
		return errno == ENOBUFS ? EP_UEVENT_ALL : errno == EINTR ? 0 : -EAGAIN;
	if (from_bytes < sizeof(from) || from.nl_pid != 0 || (size_t)n > sizeof(message))
		return 0;
	return (int)ep_uevent_parse(message, (size_t)n);
}

unsigned int ep_uevents_take(int fd)
{
	unsigned int changed = 0;
	int r = 0;

	for (int i = 0; i < MAX_MESSAGES; i++) {
		r = take_one(fd);
		if (r < 0)
			return changed;
		changed |= (unsigned int)r;
	}
	return EP_UEVENT_ALL;
}
