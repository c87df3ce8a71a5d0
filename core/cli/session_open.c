/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/log.h"
#include "core/cli/commands.h"
#include "core/cli/parts/doctor.h"

#include <stdio.h>

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

enum ep_exit ep_cmd_open_session(const struct ep_session_options *options,
				 struct ep_session **ret_session)
{
	enum ep_session_stage stage;
	enum ep_exit status;
	char sentence[512];
	int r = ep_session_new(options, ret_session, &stage);

	if (r == 0)
		return EP_EXIT_OK;
	status = ep_doctor_explain(attempt_of(stage), r, sentence, sizeof(sentence));
	fprintf(stderr, "ebpf-profiler: %s\nrun: ebpf-profiler doctor\n", sentence);
	return status;
}
