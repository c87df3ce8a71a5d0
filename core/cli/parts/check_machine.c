/* SPDX-License-Identifier: Apache-2.0 */
/* What surrounds the profiler: memory, cgroups, its plugins. */
#include "core/base/clock.h"
#include "core/base/parse.h"
#include "core/cli/parts/check.h"
#include "core/config/units.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool read_available(const struct ep_check_env *env, uint64_t *ret_bytes)
{
	char text[2048];
	const char *at;
	uint64_t kib;

	if (ep_check_read(env, "/proc/meminfo", text, sizeof(text)) < 0)
		return false;
	at = strstr(text, "MemAvailable:");
	if (!at || sscanf(at, "MemAvailable: %" SCNu64, &kib) != 1)
		return false;
	*ret_bytes = kib << 10;
	return true;
}

static void check_memory(const struct ep_check_env *env, struct ep_check_result *ret)
{
	uint64_t available, limit = env->memory_bytes;
	char size[32];

	ep_format_bytes(limit, size, sizeof(size));
	if (!read_available(env, &available))
		ep_check_info(ret, "MemAvailable cannot be read");
	else if (limit && available < 2 * limit)
		ep_check_warn(ret, "set [limits] memory lower (32MiB at least)",
			      "%" PRIu64 " MiB of memory are available, and the limit is %s",
			      available >> 20, size);
	else
		ep_check_ok(ret, "%" PRIu64 " MiB of memory are available%s%s", available >> 20,
			    limit ? ", and the limit is " : "", limit ? size : "");
}

static void check_cgroup(const struct ep_check_env *env, struct ep_check_result *ret)
{
	bool v1 = false, v2 = false;
	char path[512], line[1024];
	FILE *mounts;

	snprintf(path, sizeof(path), "%s/proc/self/mountinfo", env->root);
	mounts = fopen(path, "re");
	while (mounts && fgets(line, sizeof(line), mounts)) {
		v1 |= strstr(line, " - cgroup ") != NULL;
		v2 |= strstr(line, " - cgroup2 ") != NULL;
	}
	if (mounts)
		fclose(mounts);
	ep_check_info(ret, "%s: container ids come from /proc/PID/cgroup",
		      v1 && v2 ? "cgroup v1 and v2"
		      : v2     ? "cgroup v2"
		      : v1     ? "cgroup v1"
			       : "no cgroups mounted");
}

/* Where clocks cannot be read they are the machine's. */
static void check_clocks(const struct ep_check_env *env, struct ep_check_result *ret)
{
	struct ep_clock_offsets offsets = {0};
	char text[256];

	if (ep_check_read(env, "/proc/self/timens_offsets", text, sizeof(text)) == 0)
		(void)ep_clock_parse_offsets(text, strlen(text), &offsets);
	if (!offsets.mono_ns && !offsets.boot_ns)
		ep_check_ok(ret, "they are the machine's own");
	else
		ep_check_info(ret,
			      "this is a time namespace: its clocks are %.0f s and %.0f s from the kernel's, which "
			      "is taken into account",
			      (double)offsets.mono_ns / EP_NS_PER_SEC, (double)offsets.boot_ns / EP_NS_PER_SEC);
}

static unsigned int count_plugins(DIR *dir)
{
	const struct dirent *entry;
	unsigned int n = 0;

	while ((entry = readdir(dir))) {
		const char *dot = strrchr(entry->d_name, '.');

		n += dot && strcmp(dot, ".so") == 0;
	}
	return n;
}

static void check_plugins(const struct ep_check_env *env, struct ep_check_result *ret)
{
	const char *path = env->plugin_dir;
	struct stat st = {0};
	unsigned int n;
	DIR *dir = path ? opendir(path) : NULL;

	if (!path) {
		ep_check_info(ret, "the plugin directory was not checked");
		return;
	}
	if (!dir) {
		ep_check_warn(ret, "meson install, or set [plugins] dir",
			      "%s cannot be opened: there is no output format", path);
		return;
	}
	n = count_plugins(dir);
	if (fstat(dirfd(dir), &st) < 0 || st.st_uid != 0 || (st.st_mode & (S_IWGRP | S_IWOTH)))
		ep_check_warn(
			ret, "sudo chown root DIR; sudo chmod go-w DIR",
			"%s is not root's, or others can write it: plugins there are not loaded",
			path);
	else if (n == 0)
		ep_check_warn(ret, "meson install, or set [plugins] dir", "%s has no plugins",
			      path);
	else
		ep_check_ok(ret, "%u plugin%s in %s", n, n == 1 ? "" : "s", path);
	closedir(dir);
}

const struct ep_check ep_machine_checks[] = {
	{"memory", check_memory},
	{"cgroup", check_cgroup},
	{"clocks", check_clocks},
	{"plugins", check_plugins},
};
const size_t ep_n_machine_checks = EP_LEN(ep_machine_checks);
