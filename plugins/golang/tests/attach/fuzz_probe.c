/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probe of a file in which everything may be anything: what is published to BPF of it keeps to its
 * bounds.
 *
 *	input	48 bytes of .go.buildinfo | for each name below: bytes of its code (2), 0: it is
 *		not there; its code
 */
#include "plugins/golang/golang.h"
#include "tests/kit/fuzz.h"
#include "tests/kit/host.h"

#define INFO_VA	   0x500000u
#define INFO_BYTES 48
#define CODE_VA	   0x401000u
#define CODE_ROOM  0x10000u /* two bytes say no more */

static const char *const names[] = {"runtime.systemstack", "runtime.morestack",
				    "runtime.asmcgocall", "runtime.cgocallback_gofunc",
				    "runtime.cgocallback"};

static struct fake_host host;
static struct fake_symbol found[EP_LEN(names)], info; /* of the input */

static void split(const uint8_t *data, size_t size)
{
	size_t at = EP_MIN(size, (size_t)INFO_BYTES);

	info = (struct fake_symbol){".go.buildinfo", {INFO_VA, at}};
	fake_memory_add(&host.contents, INFO_VA, (uint8_t *)data, at);
	for (size_t i = 0; i < EP_LEN(names) && size - at >= 2; i++) {
		size_t bytes = EP_MIN((size_t)(data[at] | data[at + 1] << 8), size - at - 2);
		uint64_t va = CODE_VA + i * CODE_ROOM;

		fake_memory_add(&host.contents, va, (uint8_t *)data + at + 2, bytes);
		if (bytes > 0)
			found[host.n_symbols++] = (struct fake_symbol){names[i], {va, bytes}};
		at += 2 + bytes;
	}
	host.symbols = found;
	host.sections = &info;
	host.n_sections = 1;
}

static void check(const struct go_executable *exe)
{
	assert(exe->n_codes <= GO_MAX_CODES && exe->depth_off < 256 && exe->frame_bytes <= 8);
	assert(exe->offsets.g_m && exe->offsets.g_m % 8 == 0 && exe->offsets.g_m < GO_G_BYTES);
	assert(exe->offsets.g_sched_sp % 8 == 0 && exe->offsets.g_sched_sp < GO_G_BYTES);
	assert(exe->offsets.g_sched_bp % 8 == 0 && exe->offsets.g_sched_bp < GO_G_BYTES);
	assert(exe->offsets.m_curg % 8 == 0 && exe->offsets.m_curg < 1024);
	for (uint32_t i = 0; i < exe->n_codes; i++) {
		uint64_t off = exe->codes[i].start - CODE_VA;

		assert(off / CODE_ROOM < EP_LEN(names) &&
		       exe->codes[i].kind <= GO_CODE_CGOCALLBACK);
		assert(off % CODE_ROOM + exe->codes[i].bytes <= 1024);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	void *executable = NULL;

	fake_host_init(&host, NULL, 0);
	split(data, size);
	if (go_probe(fake_host_services(&host), &host.file, &executable) == 0) {
		check(executable);
		go_unload(executable);
	}
	return 0;
}
