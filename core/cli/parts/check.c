/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/parts/check.h"
#include "core/base/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define KNOWN_PARANOID 2 /* the kernel's own default, kernel/events/core.c */

static void set_result(struct ep_check_result *result, enum ep_check_status status, const char *fix,
		       const char *fmt, va_list args)
{
	*result = (struct ep_check_result){.status = status};
	vsnprintf(result->detail, sizeof(result->detail), fmt, args);
	snprintf(result->fix, sizeof(result->fix), "%s", fix);
}

void ep_check_ok(struct ep_check_result *result, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	set_result(result, EP_CHECK_OK, "", fmt, args);
	va_end(args);
}

void ep_check_info(struct ep_check_result *result, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	set_result(result, EP_CHECK_INFO, "", fmt, args);
	va_end(args);
}

void ep_check_warn(struct ep_check_result *result, const char *fix, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	set_result(result, EP_CHECK_WARN, fix, fmt, args);
	va_end(args);
}

void ep_check_fail(struct ep_check_result *result, enum ep_exit blame, const char *fix,
		   const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	set_result(result, EP_CHECK_FAIL, fix, fmt, args);
	va_end(args);
	result->blame = blame;
}

int ep_check_read(const struct ep_check_env *env, const char *path, char *buf, size_t size)
{
	char full[512];
	ep_autoclose int fd = -1;
	ssize_t n;

	if (snprintf(full, sizeof(full), "%s%s", env->root, path) >= (int)sizeof(full))
		return -ENAMETOOLONG;
	fd = open(full, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, buf, size - 1);
	if (n < 0)
		return -errno;
	if (n > 0 && buf[n - 1] == '\n')
		n--;
	buf[n] = '\0';
	return 0;
}

bool ep_kernel_version_parse(const char *text, struct ep_kernel_version *ret_version)
{
	struct ep_kernel_version version = {0};
	const char *at = text + strcspn(text, "0123456789");

	if (sscanf(at, "%u.%u.%u", &version.major, &version.minor, &version.patch) < 2)
		return false;
	*ret_version = version;
	return true;
}

/*
 * Distributions freeze the release and put upstream's version elsewhere: Debian into the build
 * text ("#1 SMP Debian 6.1.176-1 (...)"), Ubuntu into /proc/version_signature, third word.
 */
static void read_version(struct ep_check_env *env)
{
	char text[256], *at;

	if (ep_check_read(env, "/proc/sys/kernel/osrelease", env->release, sizeof(env->release)) ==
	    0)
		ep_kernel_version_parse(env->release, &env->version);
	if (ep_check_read(env, "/proc/sys/kernel/version", text, sizeof(text)) == 0) {
		at = strstr(text, "Debian ");
		if (at)
			ep_kernel_version_parse(at, &env->version);
	}
	if (ep_check_read(env, "/proc/version_signature", text, sizeof(text)) == 0) {
		at = strrchr(text, ' ');
		if (at)
			ep_kernel_version_parse(at, &env->version);
	}
}

static uint64_t read_caps(const struct ep_check_env *env)
{
	char text[4096];
	const char *at, *end;
	uint64_t caps = 0;

	if (ep_check_read(env, "/proc/self/status", text, sizeof(text)) < 0)
		return 0;
	at = strstr(text, "\nCapEff:\t");
	if (!at)
		return 0;
	at += strlen("\nCapEff:\t");
	end = at + strlen(at);
	return ep_parse_u64(&at, end, 16, &caps) == 0 ? caps : 0;
}

static int read_paranoid(const struct ep_check_env *env)
{
	char text[32];
	int level;

	if (ep_check_read(env, "/proc/sys/kernel/perf_event_paranoid", text, sizeof(text)) < 0 ||
	    sscanf(text, "%d", &level) != 1)
		return KNOWN_PARANOID;
	return level;
}

void ep_check_env_read(const char *root, struct ep_check_env *ret_env)
{
	*ret_env = (struct ep_check_env){.root = root ? root : ""};
	read_version(ret_env);
	ret_env->caps = read_caps(ret_env);
	ret_env->perf_paranoid = read_paranoid(ret_env);
}

bool ep_check_older_than(const struct ep_check_env *env, unsigned int major, unsigned int minor)
{
	return env->version.major != major ? env->version.major < major
					   : env->version.minor < minor;
}
