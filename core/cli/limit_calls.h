/* SPDX-License-Identifier: Apache-2.0 */
/* The filter of system calls as the configuration wants it, and one line in the log for each call that it refused. */
#ifndef EP_CLI_LIMIT_CALLS_H
#define EP_CLI_LIMIT_CALLS_H

#include "core/base/system_calls.h"

struct ep_config_file;
struct uv_loop_s;

/*
 * Unless the configuration says no. Before there is a loop: what libuv finds out about the kernel there must be true
 * afterwards. A kernel that cannot is a warning.
 */
void ep_cmd_limit_calls(const struct ep_config_file *config, enum ep_callers callers);
/* In a process that reads for us (core/proc/readers.h): always, and as well as the kernel can. */
void ep_cmd_limit_reader(void);
/* Says what was refused, when it was, until the other function is called; that is the loop's to do. */
void ep_cmd_watch_calls(struct uv_loop_s *loop);
void ep_cmd_unwatch_calls(void);
/* Says what was not reported yet. */
void ep_cmd_say_refused_calls(void);

#endif
