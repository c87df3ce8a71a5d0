/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EP_UNWINDER_H
#define EP_UNWINDER_H

#include "ebpf-profiler/abi.h"
#include "ebpf-profiler/bpf/code.h"
#include "ebpf-profiler/bpf/record.h"
#include "ebpf-profiler/bpf/tls.h"
#include "ebpf-profiler/host.h"

struct ep_file;
struct ep_description;
struct ep_target;
struct ep_names;

#define EP_NOT_MINE    1
#define EP_NOT_YET     2
#define EP_FRAME_GONE  3
#define EP_CODE_ONLY   4
#define EP_LAUNCHER    5

struct ep_symbol {
	uint64_t va;
	uint64_t bytes;
};

#define EP_MAX_SYMBOLS	 4096
#define EP_MAX_FILE_READ (1u << 20)

enum ep_variable_kind {
	EP_VARIABLE_NONE = 0,
	EP_VARIABLE_SEGMENT = 1,
	EP_VARIABLE_POINTER = 2,
	EP_VARIABLE_WORD = 3,
	EP_VARIABLE_PAIR = 4,
};

struct ep_variable {
	uint32_t kind;
	uint32_t add;
	uint64_t value;
};

enum ep_code_place {
	EP_CODE_SAME = 0,
	EP_CODE_AT_CFA = 1,
	EP_CODE_IN_REG = 2,
	EP_CODE_LOST = 3,
};

enum ep_code_flag {
	EP_CODE_KEEPS = 1 << 0,
	EP_CODE_UNKNOWN = 1 << 1,
};

struct ep_code_row {
	uint64_t va;
	uint32_t bytes;
	uint8_t flags;
	uint8_t cfa_reg;
	uint8_t ra_place;
	uint8_t fp_place;
	int32_t cfa_off;
	int32_t ra, fp;
	uint32_t pad;
};

#define EP_MAX_CODE_ROWS    65536
#define EP_MAX_CODE_SYMBOLS 16384
#define EP_MAX_CODE_NAMES   (1u << 20)

enum ep_range_mode {
	EP_RANGE_MARK = 0,
	EP_RANGE_ENTER = 1,
};

enum ep_range_flag {
	EP_RANGE_ANONYMOUS = 1 << 0,
};

struct ep_range {
	uint64_t start, end;
	uint32_t mode;
	uint32_t flags;
	uint64_t data;
};

struct ep_target_mapping {
	uint64_t start, end, file_off;
	uint32_t prot;
	uint32_t is_file;
	const char *path;
};

struct ep_name {
	uint32_t size;
	uint32_t line, column;
	uint32_t start_line;
	const char *function;
	const char *system_name;
	const char *file;
};

struct ep_raw_frame {
	uint32_t aux;
	uint32_t n_words;
	uint32_t flags;
	uint32_t pad;
	uint64_t words[EP_FRAME_MAX_WORDS];
};

struct ep_unwinder_host {
	uint32_t size;
	uint32_t pad;
	const struct ep_host *host;

	int (*file_symbol)(const struct ep_file *file, const char *name, struct ep_symbol *ret);
	uint64_t (*target_bias)(const struct ep_target *target);
	int (*target_read)(const struct ep_target *target, uint64_t addr, void *buf, size_t bytes);
	int (*set_state)(struct ep_target *target, const void *state, size_t bytes);
	int (*set_ranges)(struct ep_target *target, const struct ep_range *ranges, size_t n);
	int (*add_name)(struct ep_names *names, const struct ep_name *name);

	int (*tls_variable)(const struct ep_target *target, uint64_t tls_off, struct ep_tls *ret);
	int (*tls_key)(const struct ep_target *target, uint32_t key, struct ep_tls *ret);
	int (*tls_path)(const struct ep_target *target, const struct ep_variable *variable,
			struct ep_tls *ret);

	int32_t (*target_pid)(const struct ep_target *target);
	int (*target_string)(const struct ep_target *target, uint64_t addr, char *buf, size_t size);
	int (*target_mappings)(const struct ep_target *target,
			       int (*visit)(void *arg, const struct ep_target_mapping *mapping),
			       void *arg);
	void (*count)(const struct ep_target *target, uint32_t counter, uint64_t n);

	const char *(*file_path)(const struct ep_file *file);
	int (*file_read)(const struct ep_file *file, uint64_t va, void *buf, size_t bytes);
	int (*file_section)(const struct ep_file *file, const char *name, struct ep_symbol *ret);
	int (*file_symbols)(const struct ep_file *file, const char *prefix,
			    int (*visit)(void *arg, const char *name,
					 const struct ep_symbol *symbol),
			    void *arg);
	int (*file_function)(const struct ep_file *file, uint64_t va, struct ep_symbol *ret);
	int (*file_named)(const struct ep_file *file, const char *name, struct ep_symbol *ret);
	uint32_t (*file_parts)(const struct ep_file *file, const struct ep_symbol *function,
			       struct ep_symbol *parts, uint32_t max);
	int (*file_variable)(const struct ep_file *file, uint64_t va, struct ep_variable *ret);
	int (*file_argument)(const struct ep_file *file, uint64_t va, uint64_t *ret_va);

	int (*add_rows)(struct ep_description *description, const struct ep_code_row *rows, size_t n);
	int (*add_symbol)(struct ep_description *description, const struct ep_symbol *symbol,
			  const char *name);
};

enum ep_bpf_flag {
	EP_BPF_RESUMES = 1 << 0,
};

struct ep_bpf_image {
	uint32_t size;
	uint32_t max_frames_per_run;
	const void *object;
	size_t object_bytes;
	const char *program;
	uint32_t flags;
	uint32_t pad;
};

struct ep_unwinder_ops {
	uint32_t size;
	uint32_t pad;
	const char *const *errors;
	const char *const *counters;
	const struct ep_bpf_image *bpf;

	int (*probe)(const struct ep_unwinder_host *host, const struct ep_file *file,
		     void **ret_executable);
	int (*attach)(void *executable, struct ep_target *target, void **ret_instance);
	int (*refresh)(void *instance);
	int (*symbolize)(void *instance, const struct ep_raw_frame *frame, struct ep_names *names);
	void (*detach)(void *instance);
	void (*unload)(void *executable);
	const char *frame_type;
	int (*advise)(void *instance, void (*say)(void *arg, const char *found, const char *fix),
		      void *arg);
	int (*describe)(void *executable, const struct ep_file *file, struct ep_description *description);
	uint32_t names_stay_ms;
	uint32_t pad2;
};

#endif
