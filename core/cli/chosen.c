/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/chosen.h"
#include "core/agent/chooser.h"
#include "core/agent/renamed.h"
#include "core/cli/commands.h"
#include "core/cli/targets.h"
#include "core/config/config.h"

#include <stdio.h>
#include <unistd.h>

#define MEMORY_BYTES   (512u << 20)
#define RING_MIN_BYTES (4u << 20)
#define RING_MAX_BYTES (32u << 20)
#define SAMPLE_BYTES   2048 /* a deep one; some have a copy of their stack beside it */
#define HELD_BYTES     (64u << 20)

bool ep_chosen_is_command(const struct ep_args *args)
{
	return args->child_argv && !args->all_cpus && !args->n_pids &&
	       !ep_filter_asks(&args->filter, EP_FILTER_TID);
}

bool ep_chosen_explain(const struct ep_filter *filter, bool is_start, char text[EP_CHOSEN_TEXT_BYTES])
{
	struct ep_renamed renamed;

	text[0] = '\0';
	if (ep_renamed_find(filter, &renamed) < 0 || !renamed.n || (is_start && renamed.n_named))
		return false;
	ep_renamed_print(&renamed, text, EP_CHOSEN_TEXT_BYTES);
	return true;
}

static bool can_choose(const struct ep_filter *filter)
{
	char sentence[EP_CHOSEN_TEXT_BYTES] = "";
	int r = ep_chooser_check(filter, sentence, sizeof(sentence));

	if (!*sentence && r == 0)
		ep_chosen_explain(filter, true, sentence);
	if (*sentence)
		fprintf(stderr, "ebpf-profiler: %s\n", sentence);
	return r == 0;
}

/* A second of samples: a machine that is busy lets us read them late. A ring takes a power of two. */
static size_t ring_bytes(uint32_t freq_hz)
{
	uint64_t n_cpus = (uint64_t)EP_MAX(sysconf(_SC_NPROCESSORS_ONLN), 1);
	size_t bytes = RING_MIN_BYTES;

	while (bytes < RING_MAX_BYTES && bytes < freq_hz * n_cpus * SAMPLE_BYTES)
		bytes *= 2;
	return bytes;
}

enum ep_exit ep_chosen_open(const struct ep_args *args, const struct ep_config_file *config, struct uv_loop_s *loop,
			    uint64_t keep_gone_ns, struct ep_session **ret_session)
{
	struct ep_session_options options = {
		.loop = loop,
		.freq_hz = args->freq_hz,
		.ring_bytes = ring_bytes(args->freq_hz),
		.memory_bytes = MEMORY_BYTES,
		.held_bytes = HELD_BYTES,
		.filter = ep_chosen_is_command(args),
		.choice = &args->filter,
		.native_names = true,
		.kernel_names = true,
		.keep_gone_ns = keep_gone_ns,
		.command = args->child_argv,
	};

	if (!can_choose(&args->filter))
		return EP_EXIT_USAGE;
	ep_cmd_set_languages(&options, config);
	return ep_cmd_open_session(&options, ret_session);
}

enum ep_exit ep_chosen_add_targets(const struct ep_args *args, struct ep_session *session,
				   const struct ep_child *child)
{
	int r = 0;

	if (ep_chosen_is_command(args))
		r = ep_session_add_pid(session, child->pid);
	if (r == 0)
		r = ep_targets_choose(session, &args->filter);
	if (r < 0)
		fprintf(stderr, "ebpf-profiler: no such process; see `ps -e` for those there are\n");
	return r < 0 ? EP_EXIT_FAILED : EP_EXIT_OK;
}

bool ep_chosen_can_end(const struct ep_args *args)
{
	return args->child_argv || (args->n_pids && !args->all_cpus);
}

bool ep_chosen_has_ended(const struct ep_args *args, struct ep_child *child)
{
	if (args->child_argv && ep_child_reap(child))
		return true;
	return args->n_pids && !args->all_cpus && ep_targets_all_gone(args->pids, args->n_pids);
}

int ep_chosen_exit(const struct ep_args *args, const struct ep_child *child, enum ep_exit status)
{
	int command = args->child_argv ? ep_child_exit_status(child) : 0;

	if (command && (status == EP_EXIT_OK || status == EP_EXIT_NO_SAMPLES || status == EP_EXIT_QUALITY))
		return command;
	return status;
}
