/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CoreCLR is what exports g_dacTable, for debuggers: libcoreclr.so, and the executables of
 * single-file programs. Its version is a text in .data (eng/native/version: sccsid, in all releases
 * since 6).
 */
#include "core/base/util.h"
#include "plugins/dotnet/dotnet.h"
#include "plugins/shared/read/file.h"

#include <stdlib.h>
#include <string.h>

#define VERSION	      "@(#)Version "
#define VERSION_LEN   (sizeof(VERSION) - 1)
#define VERSION_BYTES 64 /* with what follows: 8.0.3126.42015 @Commit: */
#define MAX_NUMBER    9999u
#define TRIP_BYTES    128 /* OnHijackTripThread has 68 */

/* Up to four digits; NULL: none. */
static const uint8_t *read_number(const uint8_t *at, const uint8_t *end, uint32_t *ret)
{
	const uint8_t *begin = at;

	*ret = 0;
	while (at < end && *at >= '0' && *at <= '9' && *ret <= MAX_NUMBER / 10)
		*ret = *ret * 10 + (*at++ - '0');
	return at > begin ? at : NULL;
}

static int find_version(void *arg, uint64_t va, const uint8_t *bytes, size_t len)
{
	struct dotnet_executable *exe = arg;
	const uint8_t *end = bytes + len, *at = bytes;

	(void)va;
	while ((at = memmem(at, (size_t)(end - at), VERSION, VERSION_LEN)) != NULL) {
		const uint8_t *dot = read_number(at + VERSION_LEN, end, &exe->major);

		if (dot && dot < end && *dot == '.' && read_number(dot + 1, end, &exe->minor))
			return 1;
		exe->major = exe->minor = 0;
		at += VERSION_LEN;
	}
	return 0;
}

int dotnet_probe(const struct ep_unwinder_host *host, const struct ep_file *file,
		 void **ret_executable)
{
	struct dotnet_executable *exe;
	struct ep_symbol table, host_info;
	int r;

#ifndef __x86_64__
	return EP_NOT_MINE; /* structures and unwind codes of other machines are not known */
#endif
	if (host->file_symbol(file, "g_dacTable", &table) < 0)
		return EP_NOT_MINE;
	exe = calloc(1, sizeof(*exe));
	if (!exe)
		return -ENOMEM;
	exe->host = host;
	exe->table_va = table.va;
	exe->descriptor_va = file_va(host, file, "DotNetRuntimeContractDescriptor");
	exe->is_host = host->file_symbol(file, "DotNetRuntimeInfo", &host_info) == 0;
	r = file_scan(host, file, ".data", VERSION_BYTES, find_version, exe);
	if (r >= 0)
		r = dotnet_helpers_find(host, file, &exe->helpers);
	if (r < 0) {
		free(exe);
		return r;
	}
	*ret_executable = exe;
	return 0;
}

/* A thread that suspension stops where it returns: the rules of that code say where it would have
 * returned to. */
int dotnet_describe(void *executable, const struct ep_file *file,
		    struct ep_description *description)
{
	const struct dotnet_executable *exe = executable;
	struct ep_code_row rows[DOTNET_MAX_TRIP_ROWS];
	uint8_t code[TRIP_BYTES];
	uint32_t n;
	int r;

	if (!exe->helpers.trip)
		return 0;
	r = exe->host->file_read(file, exe->helpers.trip, code, sizeof(code));
	if (r < 0)
		return r;
	n = dotnet_helpers_trip_rows(exe->helpers.trip, code, sizeof(code), rows,
				     DOTNET_MAX_TRIP_ROWS);
	return n ? exe->host->add_rows(description, rows, n) : 0;
}

void dotnet_unload(void *executable)
{
	free(executable);
}
