/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/read/otlp/keys.h"
#include "core/base/util.h"
#include "exporters/shared/otlp/file_names.h"

#include <string.h>

static const char *const names[N_KEYS] = {
	[KEY_FRAME_TYPE] = "profile.frame.type",
	[KEY_BUILD_ID_GNU] = "process.executable.build_id.gnu",
	[KEY_BUILD_ID_GO] = "process.executable.build_id.go",
	[KEY_FILE_ID] = "process.executable.build_id.htlhash",
	[KEY_HAS_FUNCTIONS] = "pprof.mapping.has_functions",
	[KEY_THREAD_NAME] = "thread.name",
	[KEY_THREAD_ID] = "thread.id",
	[KEY_CPU] = "cpu.logical_number",
	[KEY_PID] = "process.pid",
	[KEY_EXE_PATH] = "process.executable.path",
	[KEY_EXE_NAME] = "process.executable.name",
	[KEY_CONTAINER_ID] = "container.id",
	[KEY_OWNER] = "process.owner",
	[KEY_CGROUP] = "process.linux.cgroup",
	[KEY_HOST_NAME] = "host.name",
	[KEY_FORMAT] = OTLP_NAME_FORMAT,
	[KEY_MESSAGES] = OTLP_NAME_MESSAGES,
	[KEY_PROCESS_START] = OTLP_NAME_PROCESS_START,
	[KEY_PROCESS_IMAGE] = OTLP_NAME_PROCESS_IMAGE,
	[KEY_PROCESS_COMM] = OTLP_NAME_PROCESS_COMM,
	[KEY_SAMPLE_TYPE] = OTLP_NAME_SAMPLE_TYPE,
	[KEY_WEIGHT_UNIT] = OTLP_NAME_WEIGHT_UNIT,
	[KEY_START] = OTLP_NAME_START,
	[KEY_DURATION] = OTLP_NAME_DURATION,
	[KEY_PERIOD] = OTLP_NAME_PERIOD,
	[KEY_FREQUENCY] = OTLP_NAME_FREQUENCY,
	[KEY_LOST_SAMPLES] = OTLP_NAME_LOST_SAMPLES,
	[KEY_DUE_SAMPLES] = OTLP_NAME_DUE_SAMPLES,
	[KEY_COST_AGENT] = OTLP_NAME_COST_AGENT,
	[KEY_COST_BPF] = OTLP_NAME_COST_BPF,
	[KEY_CPUS] = OTLP_NAME_CPUS,
	[KEY_TITLE] = OTLP_NAME_TITLE,
	[KEY_UNNAMED] = OTLP_NAME_UNNAMED,
	[KEY_UNNAMED_REASON] = OTLP_NAME_UNNAMED_REASON,
	[KEY_STACK_ERROR] = OTLP_NAME_STACK_ERROR,
	[KEY_STACK_ERROR_TEXT] = OTLP_NAME_STACK_ERROR_TEXT,
	[KEY_COUNT] = OTLP_NAME_COUNT,
	[KEY_KIND] = OTLP_NAME_KIND,
	[KEY_POINTER_WALK] = OTLP_NAME_POINTER_WALK,
	[KEY_ERROR] = OTLP_NAME_ERROR,
	[KEY_MADE_UP_NAME] = OTLP_NAME_MADE_UP_NAME,
	[KEY_GAP] = OTLP_NAME_GAP,
	[KEY_KERNEL] = OTLP_NAME_KERNEL,
	[KEY_MAPPING_START] = OTLP_NAME_MAPPING_START,
	[KEY_MAPPING_LIMIT] = OTLP_NAME_MAPPING_LIMIT,
};

enum otlp_key otlp_key_find(const char *text, size_t len)
{
	for (size_t i = 1; i < EP_LEN(names); i++) {
		if (strlen(names[i]) == len && memcmp(names[i], text, len) == 0)
			return (enum otlp_key)i;
	}
	return KEY_NONE;
}
