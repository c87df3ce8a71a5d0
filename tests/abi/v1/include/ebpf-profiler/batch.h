/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EP_BATCH_H
#define EP_BATCH_H

#include "ebpf-profiler/abi.h"

#include <stdbool.h>
#include <stdint.h>

enum ep_mapping_flag {
	EP_MAPPING_KERNEL = 1 << 0,
	EP_MAPPING_HAS_FUNCTIONS = 1 << 1,
};

enum ep_location_flag {
	EP_LOCATION_POINTER_WALK = 1 << 0,
	EP_LOCATION_ERROR = 1 << 1,
	EP_LOCATION_UNNAMED = 1 << 2,
	EP_LOCATION_GAP = 1 << 3,
};

struct ep_batch {
	uint32_t size;
	uint32_t period_hz;

	uint64_t start_ns;
	uint64_t duration_ns;
	uint64_t period_ns;
	const char *host_name;
	const char *sample_type;

	uint32_t n_strings;
	const char *const *string_text;
	const uint32_t *string_bytes;

	uint32_t n_functions;
	const uint32_t *function_name;
	const uint32_t *function_system_name;
	const uint32_t *function_file;
	const uint32_t *function_line;

	uint32_t n_mappings;
	const uint64_t *mapping_start_va;
	const uint64_t *mapping_limit_va;
	const uint64_t *mapping_file_off;
	const uint32_t *mapping_path;
	const uint32_t *mapping_build_id;
	const uint32_t *mapping_go_build_id;
	const uint32_t *mapping_file_id;
	const uint32_t *mapping_flags;

	uint32_t n_locations;
	const uint64_t *location_address;
	const uint32_t *location_mapping;
	const uint32_t *location_kind;
	const uint32_t *location_flags;
	const uint32_t *location_line_first;

	uint32_t n_lines;
	const uint32_t *line_function;
	const uint32_t *line_line;
	const uint32_t *line_column;

	uint32_t n_stacks;
	const uint32_t *stack_location_first;
	const uint8_t (*stack_hash)[16];
	const uint32_t *stack_error;
	const uint32_t *stack_error_text;
	uint32_t n_stack_locations;
	const uint32_t *stack_location;

	uint32_t n_processes;
	const uint32_t *process_pid;
	const uint64_t *process_start_ns;
	const uint32_t *process_comm;
	const uint32_t *process_exe_path;
	const uint32_t *process_container_id;
	const uint32_t *process_image;
	uint32_t n_process_env;
	uint32_t pad;
	const uint32_t *process_env_first;
	const uint32_t *process_env_name;
	const uint32_t *process_env_value;

	uint32_t n_samples;
	const uint32_t *sample_stack;
	const uint32_t *sample_process;
	const uint32_t *sample_tid;
	const uint32_t *sample_thread_name;
	const uint32_t *sample_cpu;
	const uint32_t *sample_count;
	const uint32_t *sample_time_first;
	const uint64_t *sample_time_ns;
	const uint64_t *sample_weight_ns;

	uint64_t lost_samples;
};

static inline uint64_t ep_batch_weight_ns(const struct ep_batch *batch, uint32_t row)
{
	return EP_HAS(batch, sample_weight_ns) ? batch->sample_weight_ns[row]
					       : batch->sample_count[row] * batch->period_ns;
}

static inline bool ep_batch_has_raw_code(const struct ep_batch *batch, uint32_t stack)
{
	for (uint32_t i = batch->stack_location_first[stack];
	     i < batch->stack_location_first[stack + 1]; i++) {
		uint32_t location = batch->stack_location[i];

		if ((batch->location_flags[location] & EP_LOCATION_UNNAMED) &&
		    batch->location_mapping[location] == 0)
			return true;
	}
	return false;
}

#endif
