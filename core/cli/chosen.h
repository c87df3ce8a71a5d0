/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `record` and `top` have in common: a session of what the command line asks for. A command that is to
 * be run is a target by itself; with -p, -t or -a it only says how long, as with perf.
 */
#ifndef EP_CLI_CHOSEN_H
#define EP_CLI_CHOSEN_H

#include "core/agent/session.h"
#include "core/cli/child.h"
#include "core/cli/parts/args.h"
#include "core/cli/parts/exit.h"

#define EP_CHOSEN_TEXT_BYTES 768

struct ep_config_file;

/* With processes, threads or the whole machine a command only says how long, as with perf. */
bool ep_chosen_is_command(const struct ep_args *args);
/*
 * keep_gone_ns: as in the session's options. EP_EXIT_OK, or another status after one line on stderr. `args` and
 * `config` must outlive the session.
 */
enum ep_exit ep_chosen_open(const struct ep_args *args, const struct ep_config_file *config, struct uv_loop_s *loop,
			    uint64_t keep_gone_ns, struct ep_session **ret_session);
/* Before the session is started. The same. */
enum ep_exit ep_chosen_add_targets(const struct ep_args *args, struct ep_session *session,
				   const struct ep_child *child);
/*
 * Why --comm finds nothing: a text without an end about programs that changed their names (core/agent/renamed.h).
 * False and "" when there are none; at the start also when a process has such a name.
 */
bool ep_chosen_explain(const struct ep_filter *filter, bool is_start, char text[EP_CHOSEN_TEXT_BYTES]);
/* The exit status: the command's, unless we failed ourselves. */
int ep_chosen_exit(const struct ep_args *args, const struct ep_child *child, enum ep_exit status);
/* Does anything but its time, or the user, end it? */
bool ep_chosen_can_end(const struct ep_args *args);
/* The command has ended, or all processes of -p have: nothing comes any more. */
bool ep_chosen_has_ended(const struct ep_args *args, struct ep_child *child);

#endif
