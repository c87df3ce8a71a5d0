/* SPDX-License-Identifier: Apache-2.0 */
#include "core/profile/unit.h"
#include "core/base/util.h"

#include <string.h>

static bool ends_in(const char *name, size_t len, const char *type)
{
	size_t n = strlen(type);

	return len > n && memcmp(name + len - n, type, n) == 0;
}

/* What runs programs, but slices (systemd.unit(5)). */
static bool is_unit(const char *name, size_t len)
{
	static const char *const types[] = {".service", ".scope", ".socket", ".mount", ".swap"};

	for (size_t i = 0; i < EP_LEN(types); i++) {
		if (ends_in(name, len, types[i]))
			return true;
	}
	return false;
}

size_t ep_unit_of_cgroup(const char *path, const char **ret_unit)
{
	size_t unit_len = strlen(path), len;
	bool is_found = false;

	*ret_unit = path;
	for (const char *name = path + strspn(path, "/"); *name;
	     name += len + strspn(name + len, "/")) {
		len = strcspn(name, "/");
		if (!is_unit(name, len) && (is_found || !ends_in(name, len, ".slice")))
			continue;
		is_found |= is_unit(name, len);
		*ret_unit = name;
		unit_len = len;
	}
	return unit_len;
}
