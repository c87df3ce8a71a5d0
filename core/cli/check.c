/* SPDX-License-Identifier: Apache-2.0 */
/* --check and --print-config, and doctor: commands that look and do nothing. */
#include "core/base/log.h"
#include "core/cli/advice.h"
#include "core/cli/commands.h"
#include "core/cli/config_outputs.h"
#include "core/cli/parts/doctor.h"
#include "core/config/config.h"

#include <errno.h>
#include <string.h>

/* All that is wrong at once, whoever finds it. */
int ep_cmd_check(const struct ep_args *args)
{
	bool is_wrong;
	ep_cleanup(ep_config_freep) struct ep_config_file *config =
		ep_cmd_inspect_config(args->config_path, &is_wrong);

	if (!config)
		return EP_EXIT_USAGE;
	is_wrong |= ep_config_outputs_check_names(config) < 0;
	is_wrong |= ep_config_outputs_check(config) < 0;
	is_wrong |= ep_config_outputs_check_places(config) < 0;
	if (is_wrong)
		return EP_EXIT_USAGE;
	if (!args->quiet)
		fprintf(stderr, "%s: ok\n", args->config_path);
	return EP_EXIT_OK;
}

int ep_cmd_print_config(const struct ep_args *args)
{
	ep_cleanup(ep_config_freep) struct ep_config_file *config =
		ep_cmd_load_config(args->config_path);

	if (!config)
		return EP_EXIT_USAGE;
	return ep_config_print(config, stdout) < 0 ? EP_EXIT_FAILED : EP_EXIT_OK;
}

int ep_cmd_doctor(const struct ep_args *args)
{
	ep_cleanup(ep_config_freep) struct ep_config_file *config = ep_cmd_load_config(NULL);
	struct ep_doctor_options options = {
		.json = args->json,
		.color = isatty(STDOUT_FILENO) && !getenv("NO_COLOR"),
		.plugin_dir = config ? config->plugins.dir : NULL,
		.memory_bytes = config ? config->limits.memory_bytes : 0,
		.advise = config ? ep_cmd_advise : NULL,
		.advise_arg = config,
	};

	return ep_doctor_run(&options, stdout);
}
