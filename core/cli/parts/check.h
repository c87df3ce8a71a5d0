/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the doctor: the facts that checks share, and the table of checks. */
#ifndef EP_CLI_CHECK_H
#define EP_CLI_CHECK_H

#include "core/cli/parts/doctor.h"

struct ep_kernel_version {
	unsigned int major, minor, patch;
};

/* Read once, before the checks. */
struct ep_check_env {
	const struct ep_doctor_options *options;
	const char *root;		  /* prefix of /proc and /sys, "" for none */
	char release[96];		  /* as uname -r says */
	struct ep_kernel_version version; /* upstream's, which is not always that of the release */
	uint64_t caps;			  /* effective capabilities, a bit each */
	int perf_paranoid;		  /* kernel.perf_event_paranoid; 2 when it cannot be read */
};

struct ep_check {
	const char *name;
	void (*run)(const struct ep_check_env *env, struct ep_check_result *ret);
};

extern const struct ep_check ep_privilege_checks[], ep_kernel_checks[], ep_machine_checks[];
extern const size_t ep_n_privilege_checks, ep_n_kernel_checks, ep_n_machine_checks;

void ep_check_env_read(const struct ep_doctor_options *options, struct ep_check_env *ret_env);
static inline bool ep_check_has_cap(const struct ep_check_env *env, int cap)
{
	return env->caps >> cap & 1;
}
bool ep_check_older_than(const struct ep_check_env *env, unsigned int major, unsigned int minor);

/* The start of a file below root, NUL-terminated, without a final newline. 0, -errno. */
int ep_check_read(const struct ep_check_env *env, const char *path, char *buf, size_t size);

void ep_check_ok(struct ep_check_result *result, const char *fmt, ...) EP_PRINTF(2, 3);
void ep_check_info(struct ep_check_result *result, const char *fmt, ...) EP_PRINTF(2, 3);
void ep_check_warn(struct ep_check_result *result, const char *fix, const char *fmt, ...)
	EP_PRINTF(3, 4);
void ep_check_fail(struct ep_check_result *result, enum ep_exit blame, const char *fix,
		   const char *fmt, ...) EP_PRINTF(4, 5);

/* The version in "6.1.0-50-amd64" or "Debian 6.1.176-1"; false when there is none. */
bool ep_kernel_version_parse(const char *text, struct ep_kernel_version *ret_version);

#endif
