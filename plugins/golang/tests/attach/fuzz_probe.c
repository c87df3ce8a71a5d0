/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probe of a file in which everything may be anything: what BPF is told of it keeps to its bounds.
 *
 *	input	48 bytes of .go.buildinfo | for each name below: bytes of its code (2), 0: it is not there; its code
 */
#include "core/base/util.h"
#include "core/plugin/unwinder.h"
#include "plugins/golang/golang.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define INFO_VA	   0x500000u
#define INFO_BYTES 48
#define CODE_VA	   0x401000u
#define CODE_ROOM  0x10000u /* two bytes say no more */

static const char *const names[] = {"runtime.systemstack", "runtime.morestack", "runtime.asmcgocall",
				    "runtime.cgocallback_gofunc", "runtime.cgocallback"};

struct input {
	const uint8_t *info;
	size_t info_bytes;
	const uint8_t *codes[EP_LEN(names)];
	size_t bytes[EP_LEN(names)];
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int input_section(void *arg, const char *name, struct ep_symbol *ret)
{
	const struct input *input = arg;

	if (strcmp(name, ".go.buildinfo") != 0)
		return -ENODATA;
	*ret = (struct ep_symbol){.va = INFO_VA, .bytes = input->info_bytes};
	return 0;
}

static int input_named(void *arg, const char *name, struct ep_symbol *ret)
{
	const struct input *input = arg;

	for (size_t i = 0; i < EP_LEN(names); i++) {
		if (strcmp(name, names[i]) == 0 && input->bytes[i] > 0) {
			*ret = (struct ep_symbol){.va = CODE_VA + i * CODE_ROOM, .bytes = input->bytes[i]};
			return 0;
		}
	}
	return -ENODATA;
}

static int input_read(void *arg, uint64_t va, void *buf, size_t bytes)
{
	const struct input *input = arg;
	size_t i = (va - CODE_VA) / CODE_ROOM;

	if (va >= INFO_VA && ep_in_bounds(va - INFO_VA, bytes, input->info_bytes))
		memcpy(buf, input->info + (va - INFO_VA), bytes);
	else if (va >= CODE_VA && i < EP_LEN(names) && ep_in_bounds((va - CODE_VA) % CODE_ROOM, bytes, input->bytes[i]))
		memcpy(buf, input->codes[i] + (va - CODE_VA) % CODE_ROOM, bytes);
	else
		return -ENODATA;
	return 0;
}

EP_PRINTF(2, 3) static void no_log(enum ep_host_level level, const char *fmt, ...)
{
	(void)level, (void)fmt;
}

static const struct ep_unwinder_host *quiet_host(void)
{
	static const struct ep_host host = {.size = sizeof(host), .log = no_log};
	static struct ep_unwinder_host unwinder_host;

	unwinder_host = *ep_unwinder_host_get();
	unwinder_host.host = &host;
	return &unwinder_host;
}

static void split(const uint8_t *data, size_t size, struct input *input)
{
	size_t at = EP_MIN(size, (size_t)INFO_BYTES);

	*input = (struct input){.info = data, .info_bytes = at};
	for (size_t i = 0; i < EP_LEN(names) && size - at >= 2; i++) {
		size_t bytes = EP_MIN((size_t)(data[at] | data[at + 1] << 8), size - at - 2);

		input->codes[i] = data + at + 2;
		input->bytes[i] = bytes;
		at += 2 + bytes;
	}
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

		assert(off / CODE_ROOM < EP_LEN(names) && exe->codes[i].kind <= GO_CODE_CGOCALLBACK);
		assert(off % CODE_ROOM + exe->codes[i].bytes <= 1024);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct ep_file_ops ops = {.section = input_section, .read = input_read, .named = input_named};
	struct input input;
	struct ep_file file = {.ops = &ops, .arg = &input, .path = "fuzz"};
	void *executable = NULL;

	split(data, size, &input);
	if (go_probe(quiet_host(), &file, &executable) == 0) {
		check(executable);
		go_unload(executable);
	}
	return 0;
}
