/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of frames in a process whose memory is anything: functions, classes, strings, oplines.
 *
 *	input	64 bytes | struct head | memory, from IMAGE on, over and over again
 *
 * Each frame has the check that its parts have there: reading goes on. Strings whose hash is 0 are
 * trusted.
 */
#include "plugins/php/php_shared.h"
#include "plugins/php/symbolize/names.h"
#include "plugins/php/tests/frames.h"
#include "tests/kit/fuzz.h"
#include "tests/kit/fuzz_process.h"

#define IMAGE  0x101000u
#define FRAMES 16

/* Places are words of the memory. */
struct head {
	uint8_t release, pad[7];
	struct {
		uint16_t function, name, class, file, opcodes, index, kind, came;
	} frames[FRAMES];
};

static struct fuzz_process process;

static int read_memory(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	return bytes > 1 << 12 ? -EFAULT : fuzz_process_read(arg, addr, buf, bytes);
}

static uint64_t at(uint16_t place)
{
	return place ? IMAGE + place * 8ull : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t releases[] = {703, 704, 800, 802, 803, 804, 806};
	static const char *const names[FUZZ_SYMBOLS] = {"a"};
	const struct memory memory = {fuzz_process_read, &process};
	struct php_layout layout;
	struct php_namer namer;
	struct head head;

	if (!fuzz_process_init(&process, names, data, size, NULL, 0) ||
	    process.size <= sizeof(head))
		return 0;
	memcpy(&head, process.bytes, sizeof(head));
	process.bytes += sizeof(head);
	process.size -= sizeof(head);
	process.origin = IMAGE;
	if (!php_layout_find(releases[head.release % 7] / 100, releases[head.release % 7] % 100,
			     &layout))
		abort();
	namer = (struct php_namer){
		.host = fake_host_services(&process.host),
		.target = &process.host.target,
		.memory = {read_memory, &process},
		.layout = &layout,
	};
	if (php_namer_init(&namer) < 0)
		abort();
	for (size_t i = 0; i < FRAMES; i++) {
		uint32_t kind = head.frames[i].kind % (PHP_N_KINDS + 1);
		struct php_parts parts = {.opcodes = at(head.frames[i].opcodes)};
		struct ep_raw_frame frame;

		if (kind == PHP_KIND_FUNCTION) {
			parts = parts_of(&memory, &layout, at(head.frames[i].function));
		} else {
			parts.name = kind == PHP_KIND_CODE ? 0 : at(head.frames[i].name);
			parts.class = kind == PHP_KIND_CODE ? 0 : at(head.frames[i].class);
			parts.file = kind == PHP_KIND_INTERNAL ? 0 : at(head.frames[i].file);
		}
		take_strings(&memory, &parts);
		frame = frame_of(&parts, at(head.frames[i].function), kind, head.frames[i].index);
		frame.flags = (uint32_t)(head.frames[i].came & 7) << PHP_CAME_SHIFT;
		for (int again = 0; again < 2; again++) {
			if (php_names_add(&namer, &frame, &process.host.names) == 0 &&
			    process.host.unnamed && process.host.line)
				abort();
		}
	}
	php_namer_fini(&namer);
	return 0;
}
