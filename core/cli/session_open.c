/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/log.h"
#include "core/cli/commands.h"
#include "core/cli/parts/explain.h"
#include "core/config/config.h"

#include <stdio.h>
#include <string.h>

static enum ep_attempt attempt_of(enum ep_session_stage stage)
{
	switch (stage) {
	case EP_STAGE_BTF:
		return EP_ATTEMPT_BTF;
	case EP_STAGE_PROGRAMS:
		return EP_ATTEMPT_PROGRAM;
	case EP_STAGE_ATTACH:
		return EP_ATTEMPT_ATTACH;
	case EP_STAGE_PERF:
		return EP_ATTEMPT_PERF;
	default:
		return EP_ATTEMPT_MAP;
	}
}

void ep_cmd_set_languages(struct ep_session_options *options, const struct ep_config_file *config)
{
	const struct ep_config_strings *wanted = &config->plugins.languages;
	static char *const none[] = {NULL};

	options->plugin_dir = config->plugins.dir;
	options->languages = wanted->len ? wanted->items : none;
	options->n_languages = wanted->len;
	for (size_t i = 0; i < wanted->len; i++) {
		if (strcmp(wanted->items[i], "all") == 0)
			options->languages = NULL;
	}
	if (!options->languages)
		options->n_languages = 0;
}

enum ep_exit ep_cmd_open_session(const struct ep_session_options *options,
				 struct ep_session **ret_session)
{
	enum ep_session_stage stage;
	enum ep_exit status;
	char sentence[512];
	int r = ep_session_new(options, ret_session, &stage);

	if (r == 0)
		return EP_EXIT_OK;
	status = ep_explain(attempt_of(stage), r, sentence, sizeof(sentence));
	fprintf(stderr, "ebpf-profiler: %s\nrun: ebpf-profiler doctor\n", sentence);
	return status;
}
