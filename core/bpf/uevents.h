/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPUs and modules that come and go, reported by the kernel: a netlink socket costs one call to
 * look at, a list in /sys three. What nobody tells of, as a resume after a suspend, is not seen
 * here.
 */
#ifndef EP_BPF_UEVENTS_H
#define EP_BPF_UEVENTS_H

#include "core/base/util.h"

#define EP_UEVENT_MAX_BYTES 4096 /* more than UEVENT_BUFFER_SIZE, include/linux/kobject.h */

/* A descriptor that never blocks, or a negative errno. */
int ep_uevents_open(void);

enum ep_uevent {
	EP_UEVENT_CPU = 1 << 0,	   /* was added, removed, or went on or off line */
	EP_UEVENT_MODULE = 1 << 1, /* was loaded, or will be unloaded when the message is there */
	EP_UEVENT_ALL = EP_UEVENT_CPU | EP_UEVENT_MODULE,
};

/* Of these, what came or went since the last call, or may have: the kernel had to drop something. */
unsigned int ep_uevents_take(int fd);

/* What a message says that came or went; 0: something else. */
unsigned int ep_uevent_parse(const char *message, size_t bytes);

#endif
