/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the writer of a file (file.h) and its reader (reports/read/otlp) both know: names of attributes that no
 * convention has, and the version. A version is only raised when a file can no longer be read by what is
 * released; new attributes alone do not raise it.
 */
#ifndef OTLP_FILE_NAMES_H
#define OTLP_FILE_NAMES_H

#define OTLP_FILE_FORMAT   1
#define OTLP_FILE_MESSAGES "opentelemetry-proto 1.10" /* 1.11 is equal on the wire */

#define OTLP_OWN_PREFIX "ebpf_profiler."
#define OTLP_ENV_PREFIX "process.environment_variable."

/* of a scope */
#define OTLP_NAME_FORMAT   OTLP_OWN_PREFIX "file.format"
#define OTLP_NAME_MESSAGES OTLP_OWN_PREFIX "file.messages"

/* of a resource */
#define OTLP_NAME_PROCESS_START OTLP_OWN_PREFIX "process.start"
#define OTLP_NAME_PROCESS_IMAGE OTLP_OWN_PREFIX "process.image"
#define OTLP_NAME_PROCESS_COMM	OTLP_OWN_PREFIX "process.comm"

/* of the first Profile */
#define OTLP_NAME_SAMPLE_TYPE  OTLP_OWN_PREFIX "sample_type"
#define OTLP_NAME_WEIGHT_UNIT  OTLP_OWN_PREFIX "weight_unit"
#define OTLP_NAME_START	       OTLP_OWN_PREFIX "start"
#define OTLP_NAME_DURATION     OTLP_OWN_PREFIX "duration"
#define OTLP_NAME_PERIOD       OTLP_OWN_PREFIX "period"
#define OTLP_NAME_FREQUENCY    OTLP_OWN_PREFIX "frequency"
#define OTLP_NAME_LOST_SAMPLES OTLP_OWN_PREFIX "lost_samples"
#define OTLP_NAME_DUE_SAMPLES  OTLP_OWN_PREFIX "due_samples"
#define OTLP_NAME_COST_AGENT   OTLP_OWN_PREFIX "cost.agent_ns"
#define OTLP_NAME_COST_BPF     OTLP_OWN_PREFIX "cost.bpf_ns"
#define OTLP_NAME_CPUS	       OTLP_OWN_PREFIX "cpus"
#define OTLP_NAME_TITLE	       OTLP_OWN_PREFIX "title"

/* of samples, and the reason of locations as well */
#define OTLP_NAME_UNNAMED	   OTLP_OWN_PREFIX "unnamed"
#define OTLP_NAME_UNNAMED_REASON   OTLP_OWN_PREFIX "unnamed.reason"
#define OTLP_NAME_STACK_ERROR	   OTLP_OWN_PREFIX "stack.error"
#define OTLP_NAME_STACK_ERROR_TEXT OTLP_OWN_PREFIX "stack.error_text"
#define OTLP_NAME_UNVERIFIED	   OTLP_OWN_PREFIX "stack.unverified"
#define OTLP_NAME_COUNT		   OTLP_OWN_PREFIX "count"

/* of locations */
#define OTLP_NAME_KIND	       OTLP_OWN_PREFIX "kind"
#define OTLP_NAME_POINTER_WALK OTLP_OWN_PREFIX "pointer_walk"
#define OTLP_NAME_ERROR	       OTLP_OWN_PREFIX "error"
#define OTLP_NAME_MADE_UP_NAME OTLP_OWN_PREFIX "made_up_name"
#define OTLP_NAME_GAP	       OTLP_OWN_PREFIX "gap"

/* of mappings */
#define OTLP_NAME_KERNEL	OTLP_OWN_PREFIX "kernel"
#define OTLP_NAME_MAPPING_START OTLP_OWN_PREFIX "mapping.start"
#define OTLP_NAME_MAPPING_LIMIT OTLP_OWN_PREFIX "mapping.limit"

/* Of process.linux.cgroup: the hierarchy of cgroup v2 in a line of /proc/PID/cgroup. */
#define OTLP_CGROUP_PREFIX "0::"
#define OTLP_CGROUP_BYTES  4160

#endif
