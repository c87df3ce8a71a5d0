/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPUs that come and go, told by the kernel: a netlink socket costs one call to look at, a list in
 * /sys three. What nobody tells of, as a resume after a suspend, is not seen here.
 */
#ifndef EP_BPF_UEVENTS_H
#define EP_BPF_UEVENTS_H

#include "core/base/util.h"

#define EP_UEVENT_MAX_BYTES 4096 /* more than UEVENT_BUFFER_SIZE, include/linux/kobject.h */

/* A descriptor that never blocks, or a negative errno. */
int ep_uevents_open(void);

/* True when a CPU came or went since the last call, or may have: the kernel had to drop something. */
bool ep_uevents_take(int fd);

/* Whether a message says that a CPU was added, removed, or went on or off line. */
bool ep_uevent_is_cpu(const char *message, size_t bytes);

#endif
