/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/commands.h"
#include "core/config/config.h"

#include <errno.h>

extern char **environ;

struct ep_config_file *ep_cmd_load_config(const char *path)
{
	struct ep_config_file *config = NULL;
	struct ep_config_problems problems;
	int r;

	ep_config_problems_init(&problems);
	r = ep_config_load(path, environ, &problems, &config);
	if (r < 0) {
		config = NULL;
		ep_config_problems_print(&problems, stderr);
		if (r == -ENOMEM)
			fprintf(stderr, "ebpf-profiler: out of memory\n");
	}
	ep_config_problems_fini(&problems);
	return config;
}
