/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who did not answer a reader (core/proc/readers.h) in time: processes, which are not asked again,
 * and devices, which are, since the server of a file system comes back. After each try in vain the
 * wait is twice as long:
 *
 *	late ──15 s──► asked again ──30 s──► ... ──64 min──► asked again ──64 min──► ...
 *
 * One thread makes a try, for all. While the reader that was abandoned last at a device is still in
 * the kernel, the device has not answered, and nobody tries: a dead one holds no more readers than
 * hung at first. The caller has a lock around all of it.
 */
#ifndef EP_PROC_SILENT_H
#define EP_PROC_SILENT_H

#include "core/base/clock.h"

#include <stdbool.h>
#include <sys/types.h>

#define EP_SILENT_FIRST_NS (15 * EP_NS_PER_SEC)
#define EP_SILENT_LAST_NS  (3840 * EP_NS_PER_SEC)
#define EP_MAX_SILENT	   256 /* of more the oldest are forgotten */

/* A process or a device. */
struct ep_silent {
	pid_t pid; /* 0: a device */
	uint64_t start_ns, dev;
};

struct ep_silent_entry {
	struct ep_silent who;
	uint64_t due_ns, wait_ns; /* until the next try, and for how long; 0: it is free */
	pid_t reader;		  /* that was abandoned at it, and when that started */
	uint64_t reader_start_ns;
	bool is_tried; /* by somebody, now */
};

struct ep_silents {
	struct ep_silent_entry entries[EP_MAX_SILENT];
	size_t n; /* that ever were */
	uint64_t first_ns; /* 0: EP_SILENT_FIRST_NS */
};

enum ep_silent_answer {
	EP_SILENT_NOT, /* it may be asked */
	EP_SILENT_TRY, /* it may be asked by this thread: ep_silents_tried must be called */
	EP_SILENT_YES, /* it is not asked */
};
enum ep_silent_answer ep_silents_ask(struct ep_silents *silents, const struct ep_silent *who, uint64_t now_ns);

/*
 * It was late, in a try or not; `reader`: the abandoned one. Gives the time until it is asked again,
 * 0: never.
 */
uint64_t ep_silents_add(struct ep_silents *silents, const struct ep_silent *who, bool is_try, pid_t reader,
			uint64_t reader_start_ns, uint64_t now_ns);
/* A try was not late: it answered, or there was nobody to ask it. */
void ep_silents_tried(struct ep_silents *silents, const struct ep_silent *who, bool has_answered);

#endif
