/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Helpers of the runtime, by their bytes. Each stands once in libcoreclr.so and in single-file
 * programs of 8.0.31, 9.0.20 and 10.0.12; what stands twice, or not at all, is not known.
 *
 *	trip	vm/amd64/asmhelpers.S: OnHijackTripThread: pushes rax, for the return address, the
 *		registers that a called function saves, and those that return values
 *	funclet	vm/amd64/ehhelpers.S: CallEHFunclet: mov [rcx], rsp; call rsi
 *	thread	a variable of thread storage, through __tls_get_addr: data16 lea rdi, [rip + n];
 *		data16 data16 rex call. The one that is asked for most often (1 200 times; the next one 84) is
 *		t_CurrentThreadInfo. In an executable: mov rax, fs:0; lea rax, [rax + n]
 */
#include "plugins/dotnet/helpers.h"

#include "core/base/util.h"
#include "plugins/shared/read/file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MAX_THREAD_VARIABLES 64
#define LEAST_USES	     256 /* of t_CurrentThreadInfo */
#define OVERLAP		     32

static const uint8_t trip[] = {0x50, 0x55, 0x53, 0x41, 0x57, 0x41, 0x56, 0x41, 0x55, 0x41, 0x54};
static const uint8_t trip_short[] = {0x52, 0x50, 0x48, 0x89, 0xe7},
		     trip_long[] = {0x51, 0x52, 0x50, 0x48, 0x89, 0xe7};
static const uint8_t funclet[] = {0x48, 0x89, 0x21, 0xff, 0xd6};
static const uint8_t by_index[] = {0x66, 0x48, 0x8d, 0x3d}, index_call[] = {0x66, 0x66, 0x48, 0xe8};
static const uint8_t by_offset[] = {0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0, 0x48, 0x8d, 0x80};

struct finding {
	struct dotnet_helpers *helpers;
	uint32_t n_trips, n_funclets;
	uint64_t last[4]; /* where each pattern was found last: pieces overlap */
	/* Variables of thread storage, and how often each is used. */
	struct {
		int64_t at;
		bool is_index;
		uint32_t n;
	} variables[MAX_THREAD_VARIABLES];
	uint32_t n_variables;
};

/* Each place of a piece that a pattern begins at. */
#define FOR_EACH_FOUND(at, bytes, len, pattern)                                                    \
	for (const uint8_t *at = (bytes);                                                          \
	     (at = memmem(at, (size_t)((bytes) + (len) - at), (pattern),           \
			  sizeof(pattern))) != NULL;                                               \
	     at++)

static void see_variable(struct finding *finding, int64_t at, bool is_index)
{
	uint32_t i = 0;

	while (i < finding->n_variables &&
	       (finding->variables[i].at != at || finding->variables[i].is_index != is_index))
		i++;
	if (i == MAX_THREAD_VARIABLES)
		return;
	if (i == finding->n_variables) {
		finding->variables[i].at = at;
		finding->variables[i].is_index = is_index;
		finding->n_variables++;
	}
	finding->variables[i].n++;
}

static int32_t read_int(const uint8_t *at)
{
	int32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static bool is_at(const uint8_t *at, const uint8_t *end, const uint8_t *pattern, size_t bytes)
{
	return (size_t)(end - at) >= bytes && memcmp(at, pattern, bytes) == 0;
}

/* What begins in the last bytes of a piece is in the next one, too. */
static bool is_new(struct finding *finding, uint32_t pattern, uint64_t va)
{
	bool is = va > finding->last[pattern];

	if (is)
		finding->last[pattern] = va;
	return is;
}

static int find_in(void *arg, uint64_t va, const uint8_t *bytes, size_t len)
{
	struct finding *finding = arg;
	const uint8_t *end = bytes + len;
	uint64_t addr;

	FOR_EACH_FOUND(at, bytes, len, trip) {
		const uint8_t *rest = at + sizeof(trip);

		addr = va + (uint64_t)(at - bytes);
		if ((is_at(rest, end, trip_short, sizeof(trip_short)) ||
		     is_at(rest, end, trip_long, sizeof(trip_long))) &&
		    is_new(finding, 0, addr)) {
			finding->helpers->trip = addr;
			finding->n_trips++;
		}
	}
	FOR_EACH_FOUND(at, bytes, len, funclet) {
		addr = va + (uint64_t)(at - bytes);
		if (is_new(finding, 1, addr)) {
			finding->helpers->funclet = addr + sizeof(funclet);
			finding->n_funclets++;
		}
	}
	FOR_EACH_FOUND(at, bytes, len, by_index) {
		addr = va + (uint64_t)(at - bytes);
		if (is_at(at + 8, end, index_call, sizeof(index_call)) && is_new(finding, 2, addr))
			see_variable(finding, (int64_t)addr + 8 + read_int(at + sizeof(by_index)),
				     true);
	}
	FOR_EACH_FOUND(at, bytes, len, by_offset) {
		addr = va + (uint64_t)(at - bytes);
		if (end - at >= 16 && is_new(finding, 3, addr))
			see_variable(finding, read_int(at + sizeof(by_offset)), false);
	}
	return 0;
}

static void take_variable(const struct finding *finding, struct dotnet_helpers *helpers)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < finding->n_variables; i++) {
		if (finding->variables[i].n > finding->variables[best].n)
			best = i;
	}
	if (!finding->n_variables || finding->variables[best].n < LEAST_USES)
		return;
	helpers->thread = (struct ep_variable){
		.kind = finding->variables[best].is_index ? EP_VARIABLE_PAIR : EP_VARIABLE_POINTER,
		.value = (uint64_t)finding->variables[best].at,
	};
}

int dotnet_helpers_find(const struct ep_unwinder_host *host, const struct ep_file *file,
			struct dotnet_helpers *ret)
{
	struct finding *finding = calloc(1, sizeof(*finding));
	struct dotnet_helpers helpers = {0};
	int r;

	if (!finding)
		return -ENOMEM;
	finding->helpers = &helpers;
	r = file_scan(host, file, ".text", OVERLAP, find_in, finding);
	if (finding->n_trips != 1)
		helpers.trip = 0;
	if (finding->n_funclets != 1)
		helpers.funclet = 0;
	take_variable(finding, &helpers);
	free(finding);
	if (r == 0)
		*ret = helpers;
	return r;
}

/* --- rules of OnHijackTripThread ------------------------------------------------------------ */

/* How far an instruction moves rsp down, and its length; 0: it is none of these. */
static uint32_t read_instruction(const uint8_t *code, uint32_t left, int32_t *ret_down)
{
	*ret_down = 0;
	if (left < 9)
		return 0;
	if ((code[0] & 0xf0) == 0x50) { /* push, pop */
		*ret_down = code[0] & 8 ? -8 : 8;
		return 1;
	}
	if (code[0] == 0x41 && (code[1] & 0xf0) == 0x50) { /* of r8 to r15 */
		*ret_down = code[1] & 8 ? -8 : 8;
		return 2;
	}
	if (memcmp(code, (const uint8_t[]){0x48, 0x8d, 0x64, 0x24}, 4) ==
	    0) { /* lea rsp, [rsp + n] */
		*ret_down = -(int8_t)code[4];
		return 5;
	}
	if (code[0] == 0x66 && code[1] == 0x0f &&
	    (code[2] == 0x6f || code[2] == 0x7f)) /* movdqa [rsp + n] */
		return code[3] >> 6 == 1 ? 6 : 5;
	if (code[0] == 0x48 && code[1] == 0x89 && code[2] == 0xe7) /* mov rdi, rsp */
		return 3;
	return code[0] == 0xe8 ? 5 : 0; /* call */
}

uint32_t dotnet_helpers_trip_rows(uint64_t va, const uint8_t *code, uint32_t bytes,
				  struct ep_code_row *rows, uint32_t max)
{
	int32_t down = 8, more = 0; /* after push rax */
	uint32_t n = 0;
	bool has_fp = false; /* rbp is pushed second, and popped last */

	for (uint32_t at = 1, next; n < max && at < bytes; at = next) {
		uint32_t len =
			code[at] == 0xc3 ? 1 : read_instruction(code + at, bytes - at, &more);

		rows[n++] = (struct ep_code_row){
			.va = va + at,
			.bytes = len,
			.flags = EP_CODE_INSTEAD,
			.cfa_reg = 7,
			.cfa_off = down,
			.ra_place = EP_CODE_AT_CFA,
			.ra = -8,
			.fp_place = has_fp ? EP_CODE_AT_CFA : EP_CODE_SAME,
			.fp = has_fp ? -16 : 0,
		};
		if (code[at] == 0xc3)
			return down == 8 ? n : 0;
		next = at + len;
		down += more;
		if (!len || down < 8 || down > 512)
			return 0;
		has_fp = down >= 16;
	}
	return 0;
}
