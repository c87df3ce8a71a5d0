/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/golang/golang.h"

#include "core/base/util.h"
#include "plugins/shared/read/file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OLDEST 15 /* 1.15 */

/* g.m and g.sched are where they always were (runtime2.go at go1.12 to go1.27); gobuf lost `ret` in
 * 1.25. */
void go_offsets_of(uint32_t minor, struct go_offsets *ret)
{
	*ret = (struct go_offsets){
		.g_m = 48,
		.g_sched_sp = 56,
		.g_sched_bp = minor >= 25 ? 96 : 104,
		.m_curg = minor >= 25 ? 184 : 192,
	};
}

/*
 * Nearly every file has none of Go's sections. In one without any section the host looks for the
 * note that Go's linker leaves, before it looks for a table.
 */
static bool may_be_go(const struct ep_unwinder_host *host, const struct ep_file *file)
{
	static const char *const sections[] = {".gopclntab", ".data.rel.ro.gopclntab",
					       ".go.buildinfo"};
	struct ep_symbol found;

	for (size_t i = 0; i < EP_LEN(sections); i++) {
		if (host->file_section(file, sections[i], &found) == 0)
			return true;
	}
	return host->file_section(file, ".shstrtab", &found) == -ENODATA;
}

/*
 * The 1.N of Go that made the file; 0: not known. debug/buildinfo: magic, bytes of a pointer,
 * flags; from 1.18 on with 2 in the flags, and at 32 the version with its length.
 */
static uint32_t version_of(const struct ep_unwinder_host *host, const struct ep_file *file)
{
	struct ep_symbol section;
	uint8_t info[48];
	unsigned minor = 0;
	char text[16] = "";

	if (host->file_section(file, ".go.buildinfo", &section) < 0 ||
	    host->file_read(file, section.va, info, sizeof(info)) < 0 ||
	    memcmp(info, "\xff Go buildinf:", 14) != 0 || !(info[15] & 2))
		return 0;
	memcpy(text, info + 33, sizeof(text) - 1);
	if (sscanf(text, "go1.%3u", &minor) != 1)
		return 0;
	return minor;
}

static int read_function(const struct ep_unwinder_host *host, const struct ep_file *file,
			 const char *name, struct x86_code *ret)
{
	struct ep_symbol symbol;
	int r = host->file_named(file, name, &symbol);

	if (r < 0)
		return r;
	ret->va = symbol.va;
	ret->n = EP_MIN(symbol.bytes, sizeof(ret->bytes));
	return host->file_read(file, ret->va, ret->bytes, ret->n);
}

static void add_switched(struct go_executable *exe, const struct x86_code *function,
			 uint32_t kind)
{
	exe->n_codes += go_code_switched(function, kind, exe->codes + exe->n_codes,
					 GO_MAX_CODES - exe->n_codes);
}

/* What the code says goes before what its version should have. */
static int choose_offsets(struct go_executable *exe, const struct ep_file *file, bool decoded)
{
	const struct ep_unwinder_host *host = exe->host;
	uint32_t minor = version_of(host, file);
	struct go_offsets known;

	if (minor < OLDEST)
		return decoded ? 0 : -ENOTSUP;
	go_offsets_of(minor, &known);
	if (!decoded) {
		exe->offsets = known;
		return 0;
	}
	if (memcmp(&known, &exe->offsets, sizeof(known)) != 0)
		host->host->log(EP_HOST_DEBUG,
				"golang: the code has other offsets than Go 1.%u had: "
				"m %u, sched.sp %u, sched.bp %u, curg %u",
				minor, exe->offsets.g_m, exe->offsets.g_sched_sp,
				exe->offsets.g_sched_bp, exe->offsets.m_curg);
	return 0;
}

static int read_systemstack(struct go_executable *exe, const struct ep_file *file,
			    struct x86_code *function, bool *decoded)
{
	int r = read_function(exe->host, file, "runtime.systemstack", function);

	if (r == 0)
		r = go_code_g(function, &exe->g);
	if (r < 0)
		return r;
	exe->frame_bytes = go_code_has_frame(function) ? 8 : 0;
	*decoded = go_code_offsets(function, &exe->offsets) == 0;
	add_switched(exe, function, GO_CODE_SYSTEMSTACK);
	return 0;
}

/* Files without C have some of them, but never use them. */
static int read_others(struct go_executable *exe, const struct ep_file *file,
		       struct x86_code *function, bool *decoded)
{
	int r = read_function(exe->host, file, "runtime.morestack", function);

	if (r < 0)
		return r;
	*decoded = *decoded && go_code_bp(function, &exe->offsets.g_sched_bp) == 0;
	add_switched(exe, function, GO_CODE_MORESTACK);
	r = read_function(exe->host, file, "runtime.asmcgocall", function);
	if (r == 0 && go_code_depth(function, &exe->depth_off) == 0)
		add_switched(exe, function, GO_CODE_ASMCGOCALL);
	/* To 1.15 cgocallback is another function, which calls this one. */
	r = read_function(exe->host, file, "runtime.cgocallback_gofunc", function);
	if (r == -ENODATA)
		r = read_function(exe->host, file, "runtime.cgocallback", function);
	if (r == 0)
		add_switched(exe, function, GO_CODE_CGOCALLBACK);
	return 0;
}

static int probe(void *executable, const struct ep_file *file)
{
	struct go_executable *exe = executable;
	struct x86_code function;
	bool decoded = false;
	int r;

	if (!may_be_go(exe->host, file))
		return EP_NOT_MINE;
	r = read_systemstack(exe, file, &function, &decoded);
	if (r == 0)
		r = read_others(exe, file, &function, &decoded);
	if (r == 0)
		r = choose_offsets(exe, file, decoded);
	return r == -ENODATA ? EP_NOT_MINE : r;
}

int go_probe(const struct ep_unwinder_host *host, const struct ep_file *file, void **ret_executable)
{
	return file_probe(host, file, sizeof(struct go_executable), probe, ret_executable);
}

void go_unload(void *executable)
{
	free(executable);
}
