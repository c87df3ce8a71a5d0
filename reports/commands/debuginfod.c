/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions are those of <elfutils/debuginfod.h>, elfutils 0.178 and newer, libdebuginfod.so.1:
 * debuginfod_find_debuginfo(3). A build id of length 0 is a text in hex there.
 */
#include "reports/commands/debuginfod.h"
#include "core/base/util.h"

#include <dlfcn.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#define LIBRARY "libdebuginfod.so.1"

typedef int find_function(void *client, const unsigned char *build_id, int build_id_bytes,
			  char **path);

struct ep_debuginfod {
	void *library, *client;
	find_function *find_debuginfo, *find_executable;
	void (*end)(void *client);
};

static int load(struct ep_debuginfod *debuginfod)
{
	void *(*begin)(void);

	debuginfod->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!debuginfod->library) {
		fprintf(stderr, "ebpf-profiler: --debuginfod needs " LIBRARY
				": apt install libdebuginfod1\n");
		return -ENOTSUP;
	}
	begin = (void *(*)(void))dlsym(debuginfod->library, "debuginfod_begin");
	debuginfod->end = (void (*)(void *))dlsym(debuginfod->library, "debuginfod_end");
	debuginfod->find_debuginfo =
		(find_function *)dlsym(debuginfod->library, "debuginfod_find_debuginfo");
	debuginfod->find_executable =
		(find_function *)dlsym(debuginfod->library, "debuginfod_find_executable");
	if (!begin || !debuginfod->end || !debuginfod->find_debuginfo ||
	    !debuginfod->find_executable) {
		fprintf(stderr, "ebpf-profiler: " LIBRARY
				" is not the one of elfutils: leave --debuginfod out\n");
		return -ENOTSUP;
	}
	debuginfod->client = begin();
	if (!debuginfod->client) {
		fprintf(stderr,
			"ebpf-profiler: " LIBRARY " cannot begin: leave --debuginfod out\n");
		return -ENOTSUP;
	}
	return 0;
}

/* Who was root a moment ago has root's HOME, where this user may not keep anything. */
static int choose_cache(void)
{
	const struct passwd *user = getpwuid(geteuid());
	static char directory[] = "/tmp/ebpf-profiler-debuginfod-XXXXXX";

	if (getenv("DEBUGINFOD_CACHE_PATH"))
		return 0;
	(void)unsetenv("XDG_CACHE_HOME");
	if (user && access(user->pw_dir, W_OK) == 0)
		return setenv("HOME", user->pw_dir, 1) < 0 ? -errno : 0;
	if (!mkdtemp(directory) || setenv("DEBUGINFOD_CACHE_PATH", directory, 1) < 0)
		return -errno;
	return 0;
}

int ep_debuginfod_open(struct ep_debuginfod **ret_client)
{
	ep_cleanup(ep_debuginfod_closep) struct ep_debuginfod *debuginfod = NULL;
	const char *urls = getenv("DEBUGINFOD_URLS"), *home = getenv("HOME");
	int r = 0;

	if (geteuid() == 0) {
		fprintf(stderr, "ebpf-profiler: --debuginfod is not for root: run it as a user\n");
		return -EPERM;
	}
	if (!urls || !*urls) {
		fprintf(stderr,
			"ebpf-profiler: --debuginfod asks the servers of DEBUGINFOD_URLS, which is not set: "
			"export DEBUGINFOD_URLS=https://...\n");
		return -EINVAL;
	}
	if (!home || access(home, W_OK) < 0)
		r = choose_cache();
	debuginfod = calloc(1, sizeof(*debuginfod));
	if (!debuginfod)
		return -ENOMEM;
	r = r == 0 ? load(debuginfod) : r;
	if (r == 0)
		*ret_client = ep_take(debuginfod);
	return r;
}

void ep_debuginfod_close(struct ep_debuginfod *debuginfod)
{
	if (!debuginfod)
		return;
	if (debuginfod->client)
		debuginfod->end(debuginfod->client);
	if (debuginfod->library)
		dlclose(debuginfod->library);
	free(debuginfod);
}

int ep_debuginfod_fetch(void *client, const char *build_id, bool executable)
{
	struct ep_debuginfod *debuginfod = client;
	find_function *find = executable ? debuginfod->find_executable : debuginfod->find_debuginfo;

	return find(debuginfod->client, (const unsigned char *)build_id, 0, NULL);
}
