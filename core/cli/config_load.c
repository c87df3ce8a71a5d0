/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/elevated.h"
#include "core/cli/commands.h"
#include "core/config/config.h"

#include <errno.h>
#include <string.h>

extern char **environ;

/* The environment that may configure us; NULL: none may, and who tries is informed. */
static char **trusted_environment(void)
{
	static const char prefix[] = "EBPF_PROFILER_";

	if (!ep_is_elevated())
		return environ;
	for (char **variable = environ; *variable; variable++) {
		if (strncmp(*variable, prefix, sizeof(prefix) - 1) == 0) {
			fprintf(stderr, "ebpf-profiler: EBPF_PROFILER_... in the environment is "
					"ignored, since this program may do more than you: run it "
					"as root, or use --config\n");
			break;
		}
	}
	return NULL;
}

struct ep_config_file *ep_cmd_inspect_config(const char *path, bool *ret_wrong)
{
	struct ep_config_file *config = NULL;
	struct ep_config_problems problems;
	int r;

	ep_config_problems_init(&problems);
	r = ep_config_inspect(path, trusted_environment(), &problems, &config);
	if (r != 0)
		ep_config_problems_print(&problems, stderr);
	if (r == -ENOMEM)
		fprintf(stderr, "ebpf-profiler: out of memory\n");
	ep_config_problems_fini(&problems);
	*ret_wrong = r != 0;
	return r < 0 ? NULL : config;
}

struct ep_config_file *ep_cmd_load_config(const char *path)
{
	bool is_wrong;
	struct ep_config_file *config = ep_cmd_inspect_config(path, &is_wrong);

	if (!is_wrong)
		return config;
	ep_config_free(config);
	return NULL;
}
