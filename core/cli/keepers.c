/* SPDX-License-Identifier: Apache-2.0 */
/* Doctor's row about snapshot programs: whether this kernel takes the programs by which short
 * programs keep their names. */
#include "core/cli/keepers.h"
#include "core/base/log.h"
#include "core/bpf/language_maps.h"
#include "core/bpf/programs.h"
#include "core/bpf/unwinder_program.h"
#include "core/plugin/host.h"

#include <stdio.h>

#define RING_BYTES    (1u << 20)
#define MAX_PROCESSES 16

/* What it belongs to is loaded first, since that makes space for it. */
static int load(const struct ep_bpf *bpf, const struct ep_language_maps *maps, const struct ep_plugin *plugin,
		char reason[512])
{
	struct ep_unwinder_program_options options = {
		.name = plugin->name,
		.image = plugin->unwinder->bpf,
		.keeper = plugin->unwinder->keeper,
		.slot = EP_SLOT_FIRST_DYNAMIC,
		.first_error = EP_ERROR_FIRST_DYNAMIC,
	};
	struct ep_unwinder_program *program = NULL;
	int r = ep_unwinder_program_load(bpf, maps, &options, &program, reason);

	if (r == 0)
		r = ep_unwinder_program_load_keeper(program, bpf, maps, &options, reason);
	ep_unwinder_program_free(program);
	return r;
}

static void say_refused(const struct ep_plugin *plugin, const char *why, const struct ep_doctor_rows *rows)
{
	struct ep_check_result result = {.status = EP_CHECK_WARN};

	snprintf(result.detail, sizeof(result.detail),
		 "names of programs that end at once are missing, the kernel refuses its keeper: %s", why);
	snprintf(result.fix, sizeof(result.fix), "`ebpf-profiler plugins --check` of its file says more");
	rows->say(rows, plugin->name, &result);
}

static void say_all(const struct ep_bpf *bpf, const struct ep_language_maps *maps, const struct ep_plugin *const *plugins,
		    size_t n, const struct ep_doctor_rows *rows)
{
	struct ep_check_result result = {.status = EP_CHECK_OK};
	size_t at = (size_t)snprintf(result.detail, sizeof(result.detail), "names come with their samples:");
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		char reason[512] = "";
		int r;

		if (!plugins[i]->unwinder || !EP_HAS(plugins[i]->unwinder, keeper) || !plugins[i]->unwinder->keeper)
			continue;
		r = load(bpf, maps, plugins[i], reason);
		if (r < 0)
			say_refused(plugins[i], *reason ? reason : ep_strerror(r), rows);
		else if (at < sizeof(result.detail))
			at += (size_t)snprintf(result.detail + at, sizeof(result.detail) - at, "%s %s", any ? "," : "",
					       plugins[i]->name);
		any |= r == 0;
	}
	if (any)
		rows->say(rows, "short programs", &result);
}

void ep_cmd_say_keepers(const struct ep_plugin *const *plugins, size_t n, const struct ep_doctor_rows *rows)
{
	struct ep_bpf_options options = {.ring_bytes = RING_BYTES, .max_processes = MAX_PROCESSES};
	struct ep_language_maps *maps = NULL;
	struct ep_bpf *bpf = NULL;

	if (ep_bpf_load(&options, &bpf) == 0 && ep_language_maps_new(&maps) == 0)
		say_all(bpf, maps, plugins, n, rows);
	ep_language_maps_free(maps);
	ep_bpf_free(bpf);
}
