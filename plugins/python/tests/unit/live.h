/* SPDX-License-Identifier: Apache-2.0 */
/* A process that runs live.py, which says "python PID" first: its interpreter is probed, its memory
 * is read. */
#ifndef TEST_PYTHON_LIVE_H
#define TEST_PYTHON_LIVE_H

#include "core/base/util.h"
#include "core/elf/file.h"
#include "core/plugin/elf_file.h"
#include "plugins/python/python.h"
#include "tests/kit/host.h"
#include "tests/kit/process.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct live {
	struct fake_host host;
	struct ep_elf *elf;
	struct py_executable *exe;
	struct py_state state;
};

static inline int live_probe(struct live *live, const char *path)
{
	ep_cleanup(ep_elf_file_fini) struct ep_elf_file file = {0};
	void *executable = NULL;
	int r = ep_elf_open(path, &live->elf);

	if (r < 0)
		return r;
	ep_elf_file_init(&file, live->elf, NULL, path);
	r = py_probe(fake_host_services(&live->host), &file.file, &executable);
	live->exe = executable;
	if (r != 0) {
		ep_elf_close(live->elf);
		live->elf = NULL;
	}
	return r;
}

/* False: none of its mappings is that of an interpreter, or of libpython. */
static inline bool live_begin(struct live *live, pid_t pid)
{
	char path[128], line[4352], file[4608], *name;
	unsigned long start, off;
	bool found = false;
	FILE *maps;

	fake_host_init(&live->host, &live->state, sizeof(live->state));
	fake_host_be_live(&live->host, pid);
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	while (maps && !found && fgets(line, sizeof(line), maps)) {
		name = strchr(line, '/');
		if (!name || !strstr(name, "python") ||
		    sscanf(line, "%lx-%*x %*s %lx", &start, &off) != 2 || off)
			continue;
		name[strcspn(name, "\n")] = '\0';
		/* As it is called here, where a root of its own is below ours, or there. */
		snprintf(file, sizeof(file), "/proc/%d/root%s", (int)pid, name);
		found = live_probe(live, name) == 0 || live_probe(live, file) == 0;
	}
	if (maps)
		fclose(maps);
	if (!found)
		return false;
	live->host.elf = live->elf;
	live->host.module_addr = start;
	live->host.target.bias = ep_elf_type(live->elf) == ET_DYN ? start : 0;
	return true;
}

/* As the BPF program takes it. */
static inline bool live_check(const struct live *live, uint64_t code, uint32_t *ret)
{
	const struct py_code_layout *layout = &live->exe->layout.code;
	__u64 words[PY_CHECK_WORDS];

	if (ep_unwinder_host_get()->target_read(&live->host.target, code + layout->check_off, words,
						sizeof(words)) < 0)
		return false;
	*ret = py_code_check(words, layout->check_mask);
	return true;
}

static inline void live_end(struct live *live)
{
	fake_host_end_job(&live->host);
	py_unload(live->exe);
	ep_elf_close(live->elf);
}

#endif
