/* SPDX-License-Identifier: Apache-2.0 */
/* What a check finds; the facts that checks share, and the tables of checks, which the doctor runs. */
#ifndef EP_CLI_CHECK_H
#define EP_CLI_CHECK_H

#include "core/base/util.h"
#include "core/cli/parts/exit.h"

enum ep_check_status {
	EP_CHECK_OK,
	EP_CHECK_INFO, /* a fact, neither good nor bad */
	EP_CHECK_WARN, /* profiling works, something is worse or will be */
	EP_CHECK_FAIL, /* profiling cannot work */
};

struct ep_check_result {
	enum ep_check_status status;
	enum ep_exit blame; /* of a failure: EP_EXIT_PERMISSION, EP_EXIT_KERNEL, EP_EXIT_FAILED */
	char detail[256];   /* what was found and what it means */
	char fix[256];	    /* what to type; "" when there is nothing to do */
};

struct ep_kernel_version {
	unsigned int major, minor, patch;
};

/* Read once, before the checks. */
struct ep_check_env {
	const char *root;		  /* prefix of /proc and /sys, "" for none */
	const char *plugin_dir;		  /* NULL: not checked */
	uint64_t memory_bytes;		  /* the limit that will apply; 0: not checked */
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

/* All but what is 0 or NULL to begin with. root: NULL for none. */
void ep_check_env_read(const char *root, struct ep_check_env *ret_env);
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
